//! The arguments of `svm_train` and `svm_train_query`, checked into types before any work starts.
//!
//! Choices are words ('hinge', 'standard', 'stream'); an unknown word is an error that lists the
//! known ones. `svm_cross_validate` and `svm_train(c => NULL)` try several C on the same folds.

pub mod deploy;
pub mod given;
pub mod reads;
pub mod source;

use crate::base::errors::{shortened, shown, Code, Failure};
use crate::base::json;
use crate::base::text::written;
use crate::catalog::rights;
use crate::features::{CategoryLimits, Nulls};
use crate::pg::json::JsonText;
use crate::request::deploy::{Deploy, DeployChoice};
use crate::request::source::Source;
use pgsvm_core::memory::{all_of, gathered, owned, OutOfMemory};
use pgsvm_core::plan::{Folds, Plan, Purpose, MOST_FOLDS};
use pgsvm_core::{
    Balance, Compression, Inner, Leader, Loss, Order, Picks, Policy, Problem, Proximal, Scale,
    Scoring, Spooling, StopRule, Updates,
};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Cap on passes when the user gives none: far above what a solvable problem takes.
const DEFAULT_MAX_PASSES: u32 = 1000;

/// Relative gap at which training stops where nothing says another.
const USUAL_TOLERANCE: f64 = 1e-3;
/// The same of the range of projected gradients: StreamSVM's.
const USUAL_RANGE: f64 = 1e-4;
/// C where nothing is given.
const USUAL_COST: f64 = 1.0;
/// The C that are tried where none is given: decades, as most searches do.
const USUAL_COSTS: [f64; 5] = [0.001, 0.01, 0.1, 1.0, 10.0];
/// Values of C beyond the usual ones that may be tried, each ten times the one before or a tenth.
const MOST_BEYOND: u32 = 3;
/// Most C in one cross-validation: each is a head for every fold and class.
const MOST_COSTS: usize = 100;
/// Folds where nothing says how many.
const USUAL_FOLDS: i32 = 5;

/// The SQL arguments as they came.
#[derive(Clone, Default)]
pub struct Arguments {
    pub source: Option<Source>,
    pub label: Option<String>,
    pub features: Option<Vec<Option<String>>>,
    pub model: Option<String>,
    /// One C, or those to choose from; None: the usual ones.
    pub c: Option<Vec<Option<f64>>>,
    /// Whether somebody said so.
    pub c_given: bool,
    pub folds: Option<i32>,
    pub fold_column: Option<String>,
    pub fold_order: Option<String>,
    pub metric: Option<String>,
    pub loss: Option<String>,
    pub intercept: Option<bool>,
    pub scale: Option<String>,
    pub nulls: Option<String>,
    pub tolerance: Option<f64>,
    pub max_passes: Option<i32>,
    pub solver: Option<String>,
    pub seed: Option<i32>,
    pub class_weight: Option<String>,
    pub weight: Option<String>,
    pub probability: Option<bool>,
    pub key: Option<String>,
    pub options: Option<JsonText>,
    pub exclude: Option<Vec<Option<String>>>,
}

/// The C of a training, as its argument says it: NaN where it is not given, NULL where it is to be chosen.
pub fn cost(argument: Option<f64>) -> Option<Vec<Option<f64>>> {
    argument.map(|c| vec![Some(if c.is_nan() { USUAL_COST } else { c })])
}

/// A training that can start.
#[derive(Debug)]
pub struct Request {
    pub source: Source,
    pub label: String,
    pub features: Option<Vec<String>>,
    /// Columns that are to be no features.
    pub exclude: Vec<String>,
    /// Empty where no model is to be stored.
    pub model: String,
    /// Whether the user gave that name.
    pub named: bool,
    pub scale: ScaleWord,
    /// Whether scaled rows are divided by their length.
    pub unit_rows: bool,
    pub nulls: Nulls,
    pub categories: CategoryLimits,
    pub terms: Terms,
    pub plan: Plan,
    pub fold_column: Option<String>,
    /// The column in whose order folds go forward.
    pub fold_order: Option<String>,
    pub weight_column: Option<String>,
    /// The column by which the model knows its rows.
    pub key: Option<String>,
    /// The model from which to begin.
    pub warm_start: Option<String>,
    /// The limit on passes as given.
    pub max_passes: Option<i32>,
    pub class_weight: ClassWeight,
    /// Whether the new version becomes the model's current one.
    pub deploy: Deploy,
    /// As given, stored with the model.
    pub options: serde_json::Value,
    /// The settings that somebody gave, which the next version takes over; None where that is not known.
    pub given: Option<JsonText>,
}

/// How to go about the optimization problem; travels to the workers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    pub loss: Loss,
    pub intercept: bool,
    pub tolerance: f64,
    pub max_passes: u32,
    pub seed: u64,
    pub policy: Policy,
    pub leader: Leader,
    /// Whether the intercept's weight is left out of the norm.
    pub free_intercept: bool,
    pub proximal: Proximal,
    /// Rounds over a block, for the solvers that have blocks.
    pub inner_rounds: u32,
    /// How a block is solved.
    pub inner: Inner,
    /// Into how many blocks rows are split; None: as few as fit the cache.
    pub blocks: Option<u32>,
    /// How many rows of the cache the published form picks.
    pub picks: Picks,
    /// When training ends.
    pub stop: StopRule,
    /// How rows that do not fit the cache are spooled.
    pub spooling: Spooling,
    /// Whether the dual variables are stored with the model.
    pub keep_duals: bool,
}

/// How much the classes count.
#[derive(Debug, Clone, PartialEq)]
pub enum ClassWeight {
    /// All the same.
    Equal,
    /// Each as much as every other, whatever the number of its rows, in the head that takes it for positive.
    Balanced,
    /// The same in every head.
    BalancedExamples,
    /// By label, 1 for those not named.
    ByLabel(Vec<(String, f64)>),
}

/// What svm_version has for [`ClassWeight::Balanced`]: "balanced" there, which 0.2.0 wrote, is what
/// [`ClassWeight::BalancedExamples`] is.
const BALANCED_HEADS: &str = "balanced_heads";
const BALANCED_EXAMPLES: &str = "balanced_examples";

impl ClassWeight {
    /// The argument `class_weight` that stands for what svm_version has.
    pub fn argument(stored: &str) -> &str {
        match stored {
            "balanced" => BALANCED_EXAMPLES,
            other => other,
        }
    }

    /// Whether all classes count as much, whatever the number of their rows.
    pub fn is_balanced(&self) -> bool {
        matches!(self, Self::Balanced | Self::BalancedExamples)
    }

    /// What the pure reader is to balance.
    pub fn balance(&self) -> Balance {
        match self {
            Self::Balanced => Balance::Positives,
            Self::BalancedExamples => Balance::Examples,
            Self::Equal | Self::ByLabel(_) => Balance::None,
        }
    }

    /// As svm_version keeps it.
    pub fn json(&self) -> Option<serde_json::Value> {
        match self {
            Self::Equal => None,
            Self::Balanced => Some(BALANCED_HEADS.into()),
            Self::BalancedExamples => Some(BALANCED_EXAMPLES.into()),
            Self::ByLabel(weights) => {
                let entries = weights
                    .iter()
                    .map(|(label, weight)| (label.clone(), (*weight).into()));
                Some(serde_json::Value::Object(entries.collect()))
            }
        }
    }
}

impl Terms {
    /// The word for `solver`.
    pub fn solver(&self) -> &'static str {
        match (self.policy, self.leader) {
            (Policy::Cached, Leader::Auto) => "auto",
            (Policy::Cached, Leader::Newton) => "newton",
            _ => self.solver_taken(false),
        }
    }

    /// The word for what trained; `newton`: whether that was Newton's method.
    pub fn solver_taken(&self, newton: bool) -> &'static str {
        match self.policy {
            _ if newton => "newton",
            Policy::Cached | Policy::Paper => "stream",
            Policy::Block => "block",
            Policy::SelectiveBlock => "selective_block",
        }
    }
}

/// The word given for `scale`; 'auto' is resolved once the feature columns are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScaleWord {
    Auto,
    Fixed(Scale),
}

impl ScaleWord {
    /// The scaling for a model that has dense features or not: 'auto' standardizes dense columns
    /// and leaves sparse parts alone.
    pub fn resolve(self, has_dense: bool) -> Scale {
        match self {
            Self::Fixed(scale) => scale,
            Self::Auto if has_dense => Scale::Standard,
            Self::Auto => Scale::None,
        }
    }
}

impl Arguments {
    /// The same once more; what may be long is copied with a way to fail, or shared.
    pub fn copied(&mut self) -> Result<Self, OutOfMemory> {
        let lists = [self.features.take(), self.exclude.take()];
        let class_weight = self.class_weight.take();
        let copy = |list: &Option<given::Names>| {
            let names = list.as_ref().map(|list| gathered(list.iter().cloned()));
            names.transpose()
        };
        let (features, exclude) = (copy(&lists[0])?, copy(&lists[1])?);
        let copied = Self {
            features,
            exclude,
            class_weight: class_weight.as_deref().map(owned).transpose()?,
            ..self.clone()
        };
        [self.features, self.exclude] = lists;
        self.class_weight = class_weight;
        Ok(copied)
    }

    /// Checks every argument of a training.
    pub fn check(self) -> Result<Request, Failure> {
        self.check_for(Purpose::Train)
    }

    /// Checks every argument of a cross-validation.
    pub fn check_validation(self) -> Result<Request, Failure> {
        self.check_for(Purpose::Validate)
    }

    fn check_for(self, purpose: Purpose) -> Result<Request, Failure> {
        let settings = given::record(&self)?;
        let options = read_options(self.options.as_ref())?;
        let choices = Choices::of(&options)?;
        let terms = terms(&self, &choices)?;
        let source = required(self.source, "relation")?;
        let label = required(self.label, "label")?;
        let scale = chosen("scale", self.scale.as_deref(), &SCALES)?;
        let nulls = chosen("nulls", self.nulls.as_deref(), &NULLS)?;
        let class_weight = class_weight(self.class_weight.as_deref())?;
        // beyond the usual C there may be better ones; whoever names some wants these
        let usual = self.c.is_none() && choices.costs.is_none();
        let (costs, given) = costs(self.c, choices.costs)?;
        let mut plan = Plan {
            costs,
            folds: None,
            purpose,
            probability: self.probability.unwrap_or(false),
            scoring: scoring(self.metric.as_deref(), &class_weight)?,
            beyond: if usual { MOST_BEYOND } else { 0 },
        };
        if self.metric.is_some() && !plan.holds_out() {
            return Err(invalid("metric says by what c is chosen, but c is given")
                .hint("c => NULL chooses c; or leave metric out"));
        }
        let fold_column = self.fold_column.or(choices.fold_column);
        let fold_order = self.fold_order.or(choices.fold_order);
        if plan.holds_out() {
            let count = self.folds.or(choices.folds);
            plan.folds = Some(folds(count, fold_column.as_deref(), fold_order.as_deref())?);
        } else if choices.folds.is_some() || fold_column.is_some() || fold_order.is_some() || given
        {
            return Err(invalid("rows are held out only to choose c or to fit probabilities")
                .hint("c => NULL chooses c, probability => true fits probabilities; or leave folds out of the options"));
        }
        if let Some(name) = &choices.warm_start {
            check_warm_start(name, &plan, terms.inner)?;
        }
        let deploy = choices.deploy.check(plan.probability)?;
        let named = self.model.is_some();
        let model = match purpose {
            Purpose::Train => model_name(self.model, &source, &label)?,
            Purpose::Validate => String::new(),
        };
        Ok(Request {
            model,
            named,
            features: self.features.map(entries).transpose()?,
            exclude: excluded(self.exclude.unwrap_or_default())?,
            source,
            label,
            scale,
            unit_rows: choices.unit_rows,
            nulls,
            categories: choices.categories,
            terms,
            fold_column: fold_column.filter(|_| plan.holds_out()),
            fold_order: fold_order.filter(|_| plan.holds_out()),
            plan,
            weight_column: self.weight,
            key: self.key,
            warm_start: choices.warm_start,
            max_passes: self.max_passes,
            class_weight,
            deploy,
            options,
            given: settings,
        })
    }
}

/// How to go about the optimization problem.
fn terms(given: &Arguments, choices: &Choices) -> Result<Terms, Failure> {
    // what minimizes one loss only takes that where none is given
    let loss = match (&given.loss, choices.inner) {
        (None, Some(InnerWord::Pegasos)) => Loss::Hinge,
        (loss, _) => chosen(
            "loss",
            loss.as_deref(),
            &[
                ("squared_hinge", Loss::SquaredHinge),
                ("hinge", Loss::Hinge),
            ],
        )?,
    };
    let solver = given.solver.as_deref().unwrap_or("auto");
    Ok(Terms {
        loss,
        intercept: given.intercept.unwrap_or(true),
        tolerance: tolerance(given.tolerance, choices.stop)?,
        max_passes: max_passes(given.max_passes)?,
        seed: given.seed.unwrap_or(0) as u32 as u64,
        policy: choices.policy_of(solver)?,
        leader: choices.leader_of(solver, loss)?,
        free_intercept: choices.free_intercept(solver, loss, given.intercept)?,
        proximal: choices.proximal,
        inner_rounds: choices
            .inner_rounds
            .unwrap_or(Problem::DEFAULT_INNER_ROUNDS),
        inner: choices.inner()?,
        blocks: choices.blocks,
        picks: choices.picks()?,
        stop: choices.stop_of(given.solver.as_deref().unwrap_or("auto"))?,
        spooling: choices.spooling(),
        keep_duals: choices.duals,
    })
}

/// Refuses to begin from model `name` what cannot.
fn check_warm_start(name: &str, plan: &Plan, inner: Inner) -> Result<(), Failure> {
    if plan.costs.len() > 1 || plan.purpose == Purpose::Validate {
        return Err(invalid(format!(
            "a training that chooses c cannot begin from model \"{name}\""
        ))
        .hint("Choose c first, without \"warm_start\", or name one: c => 1"));
    }
    if matches!(inner, Inner::Pegasos(_)) {
        return Err(
            invalid(format!("Pegasos cannot begin from model \"{name}\""))
                .detail("The lengths of its steps are those of a beginning from nothing.")
                .hint("Leave \"warm_start\" or \"inner\" out of the options"),
        );
    }
    Ok(())
}

pub fn invalid(message: impl Into<String>) -> Failure {
    Failure::new(Code::ERRCODE_INVALID_PARAMETER_VALUE, message)
}

/// An argument that must be given.
pub fn required<T>(value: Option<T>, name: &str) -> Result<T, Failure> {
    value.ok_or_else(|| {
        Failure::new(
            Code::ERRCODE_NULL_VALUE_NOT_ALLOWED,
            format!("argument \"{name}\" must not be NULL"),
        )
    })
}

/// The choice that `given` names.
pub fn word<T: Copy>(argument: &str, given: &str, known: &[(&str, T)]) -> Result<T, Failure> {
    known
        .iter()
        .find(|(name, _)| *name == given)
        .map(|(_, choice)| *choice)
        .ok_or_else(|| {
            let names: Vec<_> = known.iter().map(|(name, _)| format!("'{name}'")).collect();
            invalid(format!("unknown {argument} '{}'", shortened(given)))
                .hint(format!("{argument} => {}", names.join(" or ")))
        })
}

/// The choice that `given` names; the first of those known where nothing is given.
fn chosen<T: Copy>(argument: &str, given: Option<&str>, known: &[(&str, T)]) -> Result<T, Failure> {
    match given {
        None => Ok(known[0].1),
        Some(given) => word(argument, given, known),
    }
}

/// The C to train with, or those to choose from, and whether `options` gave them.
fn costs(
    c: Option<Vec<Option<f64>>>,
    choices: Option<Vec<f64>>,
) -> Result<(Vec<f64>, bool), Failure> {
    let chosen = choices.is_some();
    let costs = match (c, choices) {
        (Some(_), Some(_)) => {
            return Err(invalid(
                "\"costs\" are for c => NULL, which chooses among them",
            ))
        }
        (None, None) => USUAL_COSTS.to_vec(),
        (None, Some(costs)) => costs,
        (Some(given), None) => {
            let given = given.into_iter().map(|c| required(c, "c"));
            given.collect::<Result<Vec<_>, _>>()?
        }
    };
    if costs.is_empty() || costs.len() > MOST_COSTS {
        return Err(invalid(format!(
            "c must have 1 to {MOST_COSTS} values, not {}",
            costs.len()
        ))
        .hint("c => ARRAY[0.01, 0.1, 1, 10]"));
    }
    for (at, c) in costs.iter().enumerate() {
        if !(c.is_finite() && *c > 0.0) {
            return Err(invalid(format!(
                "c must be a positive finite number, not {}",
                sql_float(*c)
            ))
            .hint("c => 1.0 is where most searches start"));
        }
        if costs[..at].contains(c) {
            return Err(invalid(format!("c has the value {} twice", sql_float(*c))));
        }
    }
    Ok((costs, chosen))
}

/// What C is chosen by.
fn scoring(given: Option<&str>, class_weight: &ClassWeight) -> Result<Scoring, Failure> {
    let known = SCORINGS.map(|(word, _, scoring)| (word, scoring));
    match given {
        Some(given) => word("metric", given, &known),
        None if class_weight.is_balanced() => Ok(Scoring::BalancedAccuracy),
        None => Ok(Scoring::Accuracy),
    }
}

/// The words for what C is chosen by, as arguments and in messages.
const SCORINGS: [(&str, &str, Scoring); 5] = [
    ("accuracy", "accuracy", Scoring::Accuracy),
    (
        "balanced_accuracy",
        "balanced accuracy",
        Scoring::BalancedAccuracy,
    ),
    ("f1", "F1", Scoring::F1),
    ("auc", "AUC", Scoring::Auc),
    ("log_loss", "log loss", Scoring::LogLoss),
];

/// The words for a metric, as an argument and in a message.
pub fn scoring_words(scoring: Scoring) -> (&'static str, &'static str) {
    let mut known = SCORINGS.iter().filter(|(_, _, it)| *it == scoring);
    known
        .next()
        .map_or(("", ""), |(word, words, _)| (word, words))
}

fn folds(count: Option<i32>, column: Option<&str>, order: Option<&str>) -> Result<Folds, Failure> {
    match (count, column) {
        (_, Some(column)) if order.is_some() => Err(invalid(format!(
            "folds are the values of column \"{column}\", or go forward in the order of one, not both"
        ))
        .hint("Leave fold_column or fold_order out")),
        (_, Some(_)) => Ok(Folds::Column),
        (count, None) if order.is_some() => {
            let most = MOST_FOLDS - 1;
            let count = count.unwrap_or(USUAL_FOLDS);
            let known = u32::try_from(count).ok();
            // the first piece is only trained on
            match known.filter(|count| (1..=most).contains(count)) {
                Some(count) => Ok(Folds::Forward(count + 1)),
                None => Err(invalid(format!(
                    "folds in the order of a column must lie between 1 and {most}, not {count}"
                ))
                .hint("5 and 10 are usual")),
            }
        }
        (count, None) => {
            let count = count.unwrap_or(USUAL_FOLDS);
            u32::try_from(count)
                .ok()
                .filter(|count| (2..=MOST_FOLDS).contains(count))
                .map(Folds::Count)
                .ok_or_else(|| {
                    invalid(format!(
                        "folds must lie between 2 and {MOST_FOLDS}, not {count}"
                    ))
                    .hint("5 and 10 are usual")
                })
        }
    }
}

/// `class_weight`: NULL, a word, or a JSON object of labels and their weights.
fn class_weight(given: Option<&str>) -> Result<ClassWeight, Failure> {
    let Some(given) = given else {
        return Ok(ClassWeight::Equal);
    };
    match given.trim_matches('"') {
        "balanced" | BALANCED_HEADS => return Ok(ClassWeight::Balanced),
        BALANCED_EXAMPLES => return Ok(ClassWeight::BalancedExamples),
        _ => {}
    }
    let hint = "class_weight => 'balanced', or by label: class_weight => '{\"yes\": 5, \"no\": 1}'";
    if !json::is_small(given) {
        return Err(
            invalid(format!("class_weight cannot be read: {}", json::TOO_LARGE)).hint(hint),
        );
    }
    let map: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(given).map_err(|_| {
            invalid(format!(
                "class_weight '{}' is not understood",
                shortened(given)
            ))
            .hint(hint)
        })?;
    let weight = |(label, weight): (String, serde_json::Value)| {
        let number = weight
            .as_f64()
            .filter(|weight| *weight > 0.0 && weight.is_finite());
        number.map(|number| (label.clone(), number)).ok_or_else(|| {
            invalid(format!(
                "the class weight of \"{}\" must be a positive number, not {}",
                shortened(&label),
                shown(&weight)
            ))
            .hint(hint)
        })
    };
    let weights = all_of(map.into_iter().map(weight))?;
    Ok(ClassWeight::ByLabel(weights))
}

/// A float as SQL writes it.
fn sql_float(value: f64) -> String {
    match value {
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        value => value.to_string(),
    }
}

fn tolerance(tolerance: Option<f64>, stop: StopRule) -> Result<f64, Failure> {
    let (usual, bounds, hint) = match stop {
        StopRule::Gap => (
            USUAL_TOLERANCE,
            "It bounds the relative duality gap, (primal - dual) / primal.",
            "tolerance => 1e-3",
        ),
        StopRule::ProjectedGradient => (
            USUAL_RANGE,
            "It bounds the range of the projected gradients.",
            "tolerance => 1e-4",
        ),
    };
    match tolerance.unwrap_or(usual) {
        value if value > 0.0 && value < 1.0 => Ok(value),
        value => Err(invalid(format!(
            "tolerance must lie between 0 and 1, not {}",
            sql_float(value)
        ))
        .detail(bounds)
        .hint(hint)),
    }
}

fn max_passes(passes: Option<i32>) -> Result<u32, Failure> {
    match passes {
        None => Ok(DEFAULT_MAX_PASSES),
        Some(passes) if passes > 0 => Ok(passes as u32),
        Some(passes) => Err(
            invalid(format!("max_passes must be positive, not {passes}"))
                .hint("max_passes => NULL leaves the limit to pgsvm"),
        ),
    }
}

fn entries(features: Vec<Option<String>>) -> Result<Vec<String>, Failure> {
    if features.is_empty() {
        return Err(invalid("features is an empty array")
            .hint("features => NULL uses every usable column but the label"));
    }
    all_of(
        features
            .into_iter()
            .map(|entry| required(entry, "features[…]")),
    )
}

fn excluded(columns: Vec<Option<String>>) -> Result<Vec<String>, Failure> {
    let names = columns.into_iter();
    let names = names.map(|name| required(name, "exclude[…]"));
    all_of(names).map_err(|failure: Failure| {
        failure.hint("exclude => '{column, …}' names columns that are to be no features")
    })
}

fn model_name(given: Option<String>, source: &Source, label: &str) -> Result<String, Failure> {
    let name = match given {
        Some(name) => name,
        None => source.default_model_name(label)?,
    };
    rights::check_name(&name).map_err(|failure| failure.hint("model => 'name'"))?;
    Ok(name)
}

/// The words for `scale` and `nulls`, first what holds where nothing is given.
const SCALES: [(&str, ScaleWord); 5] = [
    ("auto", ScaleWord::Auto),
    ("none", ScaleWord::Fixed(Scale::None)),
    ("standard", ScaleWord::Fixed(Scale::Standard)),
    ("maxabs", ScaleWord::Fixed(Scale::MaxAbs)),
    ("minmax", ScaleWord::Fixed(Scale::MinMax)),
];
const NULLS: [(&str, Nulls); 4] = [
    ("error", Nulls::Error),
    ("skip", Nulls::Skip),
    ("zero", Nulls::Zero),
    ("mean", Nulls::Mean),
];

/// The words for an order.
const ORDERS: [(&str, Order); 2] = [("random", Order::Random), ("sequential", Order::Sequential)];

/// The word given for the option `intercept`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InterceptWord {
    /// Its weight is in the norm.
    Regularized,
    Free,
}

/// The word given for `inner`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InnerWord {
    Dual,
    Pegasos,
}

/// The options as JSON, `{}` for NULL.
pub fn read_options(options: Option<&JsonText>) -> Result<serde_json::Value, Failure> {
    match options {
        None => Ok(serde_json::json!({})),
        Some(options) => options
            .parse()
            .map_err(|error| invalid(format!("options cannot be read: {error}"))),
    }
}

/// What `options` may choose. What belongs to some solvers only is None unless given.
struct Choices {
    policy: Option<Policy>,
    intercept: Option<InterceptWord>,
    proximal: Proximal,
    inner_rounds: Option<u32>,
    inner: Option<InnerWord>,
    inner_updates: Option<Updates>,
    blocks: Option<u32>,
    picks: Option<Picks>,
    stop: StopRule,
    split: Option<Order>,
    block_order: Option<Order>,
    compression: Compression,
    duals: bool,
    unit_rows: bool,
    deploy: DeployChoice,
    costs: Option<Vec<f64>>,
    folds: Option<i32>,
    fold_column: Option<String>,
    fold_order: Option<String>,
    categories: CategoryLimits,
    warm_start: Option<String>,
}

impl Choices {
    fn of(options: &serde_json::Value) -> Result<Self, Failure> {
        let mut choices = Self {
            policy: None,
            intercept: None,
            proximal: Proximal::Auto,
            inner_rounds: None,
            inner: None,
            inner_updates: None,
            blocks: None,
            picks: None,
            stop: StopRule::Gap,
            split: None,
            block_order: None,
            compression: Compression::Auto,
            duals: false,
            unit_rows: false,
            deploy: DeployChoice::default(),
            costs: None,
            folds: None,
            fold_column: None,
            fold_order: None,
            categories: CategoryLimits::default(),
            warm_start: None,
        };
        let object = options
            .as_object()
            .ok_or_else(|| invalid("options must be a JSON object").hint("options => '{}'"))?;
        for (key, value) in object {
            choices.set(key, value)?;
        }
        Ok(choices)
    }

    /// The schedule that `solver` and the options choose together.
    fn policy_of(&self, solver: &str) -> Result<Policy, Failure> {
        let stream = self.policy.unwrap_or(Policy::Cached);
        let known = [
            ("auto", stream),
            ("stream", stream),
            ("block", Policy::Block),
            ("selective_block", Policy::SelectiveBlock),
            ("newton", Policy::Cached),
        ];
        let policy = word("solver", solver, &known)?;
        let (stream, blocks, block) = (
            "'auto' or 'stream'",
            "'block' or 'selective_block'",
            "'block'",
        );
        // what was given, and the solvers that know it
        let options = [
            ("policy", self.policy.is_some(), stream),
            ("picks", self.picks.is_some(), stream),
            ("blocks", self.blocks.is_some(), blocks),
            ("inner_rounds", self.inner_rounds.is_some(), blocks),
            ("split", self.split.is_some(), blocks),
            ("block_order", self.block_order.is_some(), blocks),
            ("inner", self.inner.is_some(), block),
            ("inner_updates", self.inner_updates.is_some(), block),
        ];
        let this = format!("'{solver}'");
        let mut foreign = options
            .iter()
            .filter(|(_, given, solvers)| *given && !solvers.contains(&this));
        if let Some((option, _, solvers)) = foreign.next() {
            return Err(
                invalid(format!("solver '{solver}' has no option \"{option}\""))
                    .hint(format!("solver => {solvers}")),
            );
        }
        Ok(policy)
    }

    /// Whether Newton's method leads.
    fn leader_of(&self, solver: &str, loss: Loss) -> Result<Leader, Failure> {
        match solver {
            "newton" if loss != Loss::SquaredHinge => Err(invalid(
                "solver 'newton' minimizes the squared hinge loss only",
            )
            .hint("loss => 'squared_hinge'")),
            "newton" => Ok(Leader::Newton),
            "auto" if self.intercept.is_some_and(|it| it == InterceptWord::Free) => {
                Ok(Leader::Newton)
            }
            "auto" => Ok(Leader::Auto),
            _ => Ok(Leader::Nobody),
        }
    }

    /// Whether the intercept's weight is left out of the norm.
    fn free_intercept(
        &self,
        solver: &str,
        loss: Loss,
        intercept: Option<bool>,
    ) -> Result<bool, Failure> {
        if self.intercept != Some(InterceptWord::Free) {
            return Ok(false);
        }
        if intercept == Some(false) {
            return Err(invalid("there is no intercept that could be free")
                .hint("intercept => true, or leave \"intercept\" out of the options"));
        }
        if !matches!(solver, "auto" | "newton") {
            return Err(
                invalid(format!("solver '{solver}' knows no free intercept"))
                    .hint("solver => 'newton'"),
            );
        }
        if loss != Loss::SquaredHinge {
            return Err(
                invalid("a free intercept is for the squared hinge loss only")
                    .hint("loss => 'squared_hinge'"),
            );
        }
        Ok(true)
    }

    /// How many rows of the cache are picked.
    fn picks(&self) -> Result<Picks, Failure> {
        match self.picks {
            Some(_) if self.policy != Some(Policy::Paper) => {
                Err(invalid("\"picks\" are those of policy \"paper\"")
                    .hint("options => '{\"policy\": \"paper\", \"picks\": 2}'"))
            }
            picks => Ok(picks.unwrap_or(Picks::Usual)),
        }
    }

    /// When training ends, if `solver` knows that.
    fn stop_of(&self, solver: &str) -> Result<StopRule, Failure> {
        if self.stop == StopRule::Gap {
            return Ok(self.stop);
        }
        let refused = |reason: &str, hint: &str| Err(invalid(reason).hint(hint));
        if self.inner == Some(InnerWord::Pegasos) {
            return refused(
                "Pegasos has no projected gradient to stop by",
                "Leave \"stop\" or \"inner\" out of the options",
            );
        }
        if self.proximal == Proximal::On {
            return refused(
                "with a proximal shift the projected gradient says nothing of the problem that was asked for",
                "Leave \"stop\" or \"proximal\" out of the options",
            );
        }
        if !self.policy_of(solver)?.is_published() {
            return refused(
                &format!("solver '{solver}' stops by the gap alone"),
                "options => '{\"policy\": \"paper\", \"stop\": \"projected_gradient\"}', or solver => 'block' or 'selective_block'",
            );
        }
        Ok(self.stop)
    }

    /// How a block is solved, by options that agree with each other.
    fn inner(&self) -> Result<Inner, Failure> {
        let pegasos = self.inner == Some(InnerWord::Pegasos);
        if !pegasos {
            return match self.inner_updates {
                None => Ok(Inner::CoordinateDescent),
                Some(_) => Err(invalid("\"inner_updates\" are those of Pegasos")
                    .hint("options => '{\"inner\": \"pegasos\", \"inner_updates\": \"row\"}'")),
            };
        }
        if self.inner_rounds.is_some() || self.proximal == Proximal::On {
            return Err(
                invalid("Pegasos goes over a block once, and has no proximal shift")
                    .hint("Leave \"inner_rounds\" and \"proximal\" out of the options"),
            );
        }
        Ok(Inner::Pegasos(self.inner_updates.unwrap_or(Updates::Row)))
    }

    fn spooling(&self) -> Spooling {
        Spooling {
            split: self.split.unwrap_or(Order::Random),
            block_order: self.block_order.unwrap_or(Order::Random),
            compression: self.compression,
        }
    }

    fn set(&mut self, key: &str, value: &serde_json::Value) -> Result<(), Failure> {
        let text = match value.as_str() {
            Some(text) => owned(text)?,
            None => written(format_args!("{value}"))?,
        };
        match key {
            "policy" => {
                let known = [("cached", Policy::Cached), ("paper", Policy::Paper)];
                self.policy = Some(word(key, &text, &known)?);
            }
            "intercept" => {
                let known = [
                    ("regularized", InterceptWord::Regularized),
                    ("free", InterceptWord::Free),
                ];
                self.intercept = Some(word(key, &text, &known)?);
            }
            "inner_rounds" => {
                let most = Problem::MOST_INNER_ROUNDS;
                self.inner_rounds = Some(match text.as_str() {
                    "converged" => most,
                    _ => whole_number(key, value, 1..=most, 10)?,
                });
            }
            "inner" => {
                let known = [("dual", InnerWord::Dual), ("pegasos", InnerWord::Pegasos)];
                self.inner = Some(word(key, &text, &known)?);
            }
            "inner_updates" => {
                let most = Problem::MOST_INNER_UPDATES;
                self.inner_updates = Some(match text.as_str() {
                    "row" => Updates::Row,
                    "block" => Updates::Block,
                    _ => Updates::Sets(number_or_word(
                        key,
                        value,
                        most,
                        "\"row\" or \"block\"",
                        100,
                    )?),
                });
            }
            "blocks" => {
                self.blocks = Some(whole_number(key, value, 1..=Problem::MOST_BLOCKS, 40)?);
            }
            "picks" => {
                let most = Problem::MOST_PICKS;
                self.picks = Some(match text.as_str() {
                    "free" => Picks::Free,
                    _ => Picks::Each(number_or_word(key, value, most, "\"free\"", 2)?),
                });
            }
            "stop" => {
                let known = [
                    ("gap", StopRule::Gap),
                    ("projected_gradient", StopRule::ProjectedGradient),
                ];
                self.stop = word(key, &text, &known)?;
            }
            "split" => self.split = Some(word(key, &text, &ORDERS)?),
            "block_order" => self.block_order = Some(word(key, &text, &ORDERS)?),
            "compression" => {
                let known = [
                    ("auto", Compression::Auto),
                    ("on", Compression::On),
                    ("off", Compression::Off),
                ];
                self.compression = word(key, &text, &known)?;
            }
            "max_categories" => {
                let most = CategoryLimits::MOST;
                self.categories.most = whole_number(key, value, 0..=most, 1000)?;
            }
            "hash_bits" => {
                let most = CategoryLimits::MOST_HASH_BITS;
                self.categories.hash_bits = whole_number(key, value, 1..=most, 18)?;
                self.categories.hash_keys = true;
            }
            "proximal" => {
                let known = [
                    ("auto", Proximal::Auto),
                    ("on", Proximal::On),
                    ("off", Proximal::Off),
                ];
                self.proximal = word(key, &text, &known)?;
            }
            "normalize_rows" => {
                self.unit_rows = word(key, &text, &[("true", true), ("false", false)])?;
            }
            "duals" => self.duals = word(key, &text, &[("true", true), ("false", false)])?,
            "deploy" | "relation" | "metric" => self.deploy.set(key, &text)?,
            "inherit" => {
                word(key, &text, &[("true", true), ("false", false)])?;
            }
            "costs" => {
                let numbers = value
                    .as_array()
                    .and_then(|all| all.iter().map(|c| c.as_f64()).collect());
                let hint = "options => '{\"costs\": [0.01, 0.1, 1, 10]}'";
                let refused = || {
                    invalid(format!(
                        "costs must be an array of numbers, not {}",
                        shown(value)
                    ))
                    .hint(hint)
                };
                self.costs = Some(numbers.ok_or_else(refused)?);
            }
            "folds" => {
                let count = value.as_i64().and_then(|count| i32::try_from(count).ok());
                let refused = || {
                    invalid(format!(
                        "folds must be a whole number, not {}",
                        shown(value)
                    ))
                };
                self.folds = Some(count.ok_or_else(refused)?);
            }
            "fold_column" => self.fold_column = Some(text),
            "fold_order" => self.fold_order = Some(text),
            "warm_start" => self.warm_start = Some(text),
            _ => {
                return Err(invalid(format!("unknown option \"{}\"", shortened(key))).hint(
                    "options know \"policy\", \"picks\", \"stop\", \"blocks\", \"inner_rounds\", \"inner\", \"inner_updates\", \"intercept\", \"split\", \"block_order\", \
                     \"compression\", \"proximal\", \"duals\", \"inherit\", \"deploy\", \"relation\", \"metric\", \"costs\", \"folds\", \"fold_column\", \"fold_order\", \
                     \"max_categories\", \"hash_bits\", \"normalize_rows\" and \"warm_start\"",
                ));
            }
        }
        Ok(())
    }
}

/// An option's whole number within `range`; `usual` is what a hint proposes.
fn whole_number(
    key: &str,
    given: &serde_json::Value,
    range: RangeInclusive<u32>,
    usual: u32,
) -> Result<u32, Failure> {
    given
        .as_u64()
        .and_then(|number| u32::try_from(number).ok())
        .filter(|number| range.contains(number))
        .ok_or_else(|| {
            let (least, most) = range.into_inner();
            invalid(format!(
                "{key} must be a whole number from {least} to {most}, not {}",
                shown(given)
            ))
            .hint(format!("options => '{{\"{key}\": {usual}}}'"))
        })
}

/// The same where there are words too, named by `words`.
fn number_or_word(
    key: &str,
    given: &serde_json::Value,
    most: u32,
    words: &str,
    usual: u32,
) -> Result<u32, Failure> {
    whole_number(key, given, 1..=most, usual).map_err(|_| {
        invalid(format!(
            "{key} must be {words} or a whole number from 1 to {most}, not {given}"
        ))
        .hint(format!("options => '{{\"{key}\": {usual}}}'"))
    })
}
