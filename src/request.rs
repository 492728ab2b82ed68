//! The arguments of `svm_train` and `svm_train_query`, checked into types before any work starts.
//!
//! Choices are words ('hinge', 'standard', 'stream'); an unknown word is an error that lists the
//! known ones. `svm_cross_validate` and `svm_train(c => 'auto')` try several C on the same folds.

mod choice;
mod class_weight;
pub mod deploy;
mod former;
pub mod given;
mod holding_out;
pub mod kernel;
pub mod multiclass;
pub mod no_effect;
pub mod novelty;
pub mod numbers;
mod option_words;
mod options;
pub mod reads;
pub mod regression;
pub mod scans;
mod solver;
pub mod source;
mod truncated;
mod watching;
pub mod words;

pub use class_weight::ClassWeight;
pub use holding_out::{scoring_words, ChoiceArguments};
pub use kernel::KernelArguments;
pub use option_words::{ExpansionTime, KernelMethod, CRAMMER_SINGER};
pub use options::{is_left_out_by_a_refresh, read_options};
pub use solver::{loss_named, SolvingArguments, SolvingTerms};
pub use words::{invalid, required};

use crate::base::errors::Failure;
use crate::catalog::rights;
use crate::combinations::{self, choosing, following};
use crate::features::{CategoryLimits, Nulls};
use crate::model::{ClassesBy, NOVELTY};
use crate::pg::json::JsonText;
use crate::request::class_weight::class_weight;
use crate::request::deploy::Deploy;
use crate::request::holding_out::{costs, folds, scoring, MOST_BEYOND};
use crate::request::kernel::KernelTerms;
use crate::request::numbers::Numbers;
use crate::request::options::{table, Choices};
use crate::request::regression::Amount;
use crate::request::solver::terms;
use crate::request::source::GivenSource;
use crate::request::words::{chosen, entries, excluded};
use pgsvm_core::memory::{copied, gathered, owned, OutOfMemory};
use pgsvm_core::plan::{Plan, Purpose};
use pgsvm_core::{CalibrationChoice, Scale, SolverChoice};
use pgsvm_expand::Limits;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::mem::take;

/// The SQL arguments as they came.
#[derive(Clone, Default)]
pub struct Arguments {
    pub source: Option<GivenSource>,
    pub columns: ColumnArguments,
    pub model: Option<String>,
    pub choice: ChoiceArguments,
    pub loss: Option<String>,
    pub intercept: Option<bool>,
    pub scale: Option<String>,
    pub nulls: Option<String>,
    pub bad_rows: Option<String>,
    pub solving: SolvingArguments,
    pub class_weight: Option<String>,
    pub probability: Option<bool>,
    /// Whether rows are held out beside the training on all of them, for probabilities of classes or intervals around numbers.
    pub holds_out: bool,
    pub options: Option<JsonText>,
    pub kernel: KernelArguments,
    pub task: Option<String>,
    /// One epsilon, or those to choose from.
    pub epsilon: Numbers,
    pub nu: Numbers,
}

/// The columns that it asks for, as they came.
#[derive(Clone, Default)]
pub struct ColumnArguments {
    pub label: Option<String>,
    pub features: Option<given::Names>,
    pub exclude: Option<given::Names>,
    pub weight: Option<String>,
    pub key: Option<String>,
}

/// A training that can start.
#[derive(Debug)]
pub struct Request {
    pub source: GivenSource,
    pub columns: AskedColumns,
    /// Empty where no model is to be stored.
    pub model: String,
    pub scale: ScaleWord,
    pub rows: RowTerms,
    pub texts: TextTerms,
    pub terms: SolvingTerms,
    /// The kernel machine that is asked for; None for a linear one.
    pub kernel: Option<KernelTerms>,
    pub plan: Plan,
    /// Of a regression, the epsilons to choose from; none: there is no choice.
    pub epsilons: Vec<f64>,
    /// The model from which to begin.
    pub warm_start: Option<String>,
    /// The relation on whose rows weights on the way are tested, written as SQL writes it.
    pub watch: Option<String>,
    /// The index from which numbers come of the rows that it knows.
    pub index: Option<String>,
    pub class_weight: ClassWeight,
    /// Whether the new version becomes the model's current one.
    pub deploy: Deploy,
    pub call: CallAsGiven,
}

/// The columns of the source that a training asks for.
#[derive(Debug)]
pub struct AskedColumns {
    pub label: String,
    pub features: Option<Vec<String>>,
    /// Those that are to be no features.
    pub exclude: Vec<String>,
    pub weight: Option<String>,
    /// The one by which the model knows its rows.
    pub key: Option<String>,
    /// The one whose value says the fold.
    pub fold_column: Option<String>,
    /// The one in whose order folds go forward.
    pub fold_order: Option<String>,
}

/// What somebody gave, as it is stored with the model and said again.
#[derive(Debug)]
pub struct CallAsGiven {
    /// Whether it gave the model's name, and a loss.
    pub named: bool,
    pub names_loss: bool,
    /// And what is chosen by.
    pub names_metric: bool,
    pub options: Value,
    /// Whether training by scans has all options that were given.
    pub knows_scans: bool,
    /// The solver that the model stays with, where its follow-up goes by another one.
    pub stays_with: Option<&'static str>,
    /// The settings that somebody gave, which the next version takes over; None where that is not known.
    pub given: Option<JsonText>,
    /// The arguments that were given, but for source, label, features, exclude and model, for a hint that has the call again.
    pub typed: String,
    /// Whether rows are held out for whatever the task does so for.
    pub holds_out: bool,
    /// Where the label said that it is a regression, by what.
    pub amount: Option<Amount>,
}

/// What is made of rows before they are trained on.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct RowTerms {
    /// What a NULL counts as.
    pub nulls: Nulls,
    /// Whether the rows say what that is, as nobody did: means where there are NULLs, and an error where there are none.
    pub nulls_by_rows: bool,
    /// Whether rows that something is wrong with are left out.
    pub skips_bad_rows: bool,
    pub categories: CategoryLimits,
    /// Whether scaled rows are divided by their length.
    pub unit_rows: bool,
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
        let lists = [self.columns.features.take(), self.columns.exclude.take()];
        let class_weight = self.class_weight.take();
        let copy = |list: &Option<given::Names>| {
            let names = list.as_ref().map(|list| gathered(list.iter().cloned()));
            names.transpose()
        };
        let (features, exclude) = (copy(&lists[0])?, copy(&lists[1])?);
        let copied = Self {
            columns: ColumnArguments {
                features,
                exclude,
                ..self.columns.clone()
            },
            class_weight: class_weight.as_deref().map(owned).transpose()?,
            ..self.clone()
        };
        [self.columns.features, self.columns.exclude] = lists;
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

    /// Puts the arguments that are kept as options among these.
    pub fn settle_options(&mut self) -> Result<(), Failure> {
        // which JSON has no numbers for
        if let Some(epsilon) = self.epsilon.beyond_numbers() {
            let said = format!("epsilon must be a number from 0 on, not {epsilon}");
            return Err(invalid(said).hint("epsilon => 0.1"));
        }
        if let Some(nu) = self.nu.beyond_numbers() {
            let said = format!("nu must be a number above 0, and 1 at most, not {nu}");
            return Err(invalid(said).hint("nu => 0.1"));
        }
        let arguments = [
            (
                table::BAD_ROWS.name(),
                self.bad_rows.take().map(Value::from),
            ),
            (
                table::FOLDS.name(),
                self.choice.folds.take().map(Value::from),
            ),
            (
                table::FOLD_COLUMN.name(),
                self.choice.fold_column.take().map(Value::from),
            ),
            (
                table::FOLD_ORDER.name(),
                self.choice.fold_order.take().map(Value::from),
            ),
            (table::TASK.name(), self.task.take().map(Value::from)),
            (table::EPSILON.name(), take(&mut self.epsilon).value()),
            (table::NU.name(), take(&mut self.nu).value()),
        ];
        let given = arguments.into_iter();
        let mut given = given
            .filter_map(|(name, value)| Some((name, value?)))
            .peekable();
        if given.peek().is_none() {
            return Ok(());
        }
        let mut options = read_options(self.options.as_ref())?;
        if let Some(options) = options.as_object_mut() {
            options.extend(given.map(|(name, value)| (name.to_owned(), value)));
        }
        self.options = Some(JsonText::of(&options)?);
        Ok(())
    }

    fn check_for(mut self, purpose: Purpose) -> Result<Request, Failure> {
        self.settle_options()?;
        let settings = given::record(&self)?;
        let typed = given::typed(&self)?;
        let options = read_options(self.options.as_ref())?;
        let choices = Choices::of(&options)?;
        let terms = terms(&self, &choices)?;
        let knows_scans = choices.are_for_scans()?;
        let is_novelty = terms.nu.is_some();
        if is_novelty {
            self.kernel.kind.get_or_insert_with(|| "rbf".to_owned());
        }
        let kernel = truncated::kernel(&terms, kernel::kernel(&self, &choices)?);
        let source = required(self.source, "relation")?;
        let label = match is_novelty {
            true => String::new(),
            false => required(self.columns.label, "label").map_err(|failure| {
                failure.hint("label => 'column' is what to predict; without one, and without loss, epsilon and task, strange rows are found")
            })?,
        };
        let scale = chosen("scale", self.scale.as_deref(), &SCALES)?;
        let scale = match (scale, &kernel) {
            // a plane parts rows from the origin, which centred ones lie around
            (ScaleWord::Auto, None) if is_novelty => ScaleWord::Fixed(Scale::MaxAbs),
            (scale, _) => scale,
        };
        let nulls = chosen("nulls", self.nulls.as_deref(), &NULLS)?;
        let (nulls, nulls_by_rows) = (nulls.unwrap_or(Nulls::Mean), nulls.is_none());
        let class_weight = class_weight(self.class_weight.as_deref())?;
        let is_grid = kernel.as_ref().is_some_and(KernelTerms::is_grid);
        let truncations = choices.truncations(&terms)?;
        let epsilons = choices.epsilons(&terms)?;
        // a user who names the measure, but no C and nothing else to choose, has C chosen
        let is_among = is_grid || !truncations.is_empty() || !epsilons.is_empty();
        let chooses_others = is_among || purpose == Purpose::Validate;
        let by_metric = self.choice.metric.is_some() && !chooses_others;
        let (chooses_c, _) = choices.chosen()?;
        let is_chosen = chooses_c || by_metric || purpose == Purpose::Validate;
        if is_novelty && (is_chosen || is_grid || self.choice.metric.is_some()) {
            return Err(combinations::novelty::choosing());
        }
        let c = match self.choice.c {
            Numbers::Default => match is_chosen {
                true => Numbers::Auto,
                false => Numbers::Default,
            },
            _ if is_novelty => return Err(combinations::novelty::c()),
            c => c,
        };
        if chooses_c {
            check_chosen(&c)?;
        }
        let pairs_up_to = choices.pairs_up_to(&terms, kernel.as_ref())?;
        // beyond the usual C there may be better ones; a user who names some wants these
        let usual = c == Numbers::Auto && !choices.has(&table::COSTS);
        let (costs, given) = costs(c, choices.get(&table::COSTS)?)?;
        // a label that turns out to be a number has intervals instead
        let probability = self.probability.unwrap_or(false) || self.holds_out;
        let mut plan = Plan {
            costs,
            truncations,
            folds: None,
            purpose,
            probability,
            intervals: choices.get(&table::INTERVALS)?.unwrap_or_default(),
            calibration: calibration(choices.get(&table::CALIBRATION)?, probability)?,
            by_probability: by_probability(
                choices.get(&table::CLASSES_FROM)?,
                probability,
                &class_weight,
            )?,
            pairs_up_to,
            scoring: scoring(self.choice.metric.as_deref(), &class_weight)?,
            beyond: if usual { MOST_BEYOND } else { 0 },
            final_stop: None,
            nu: terms.nu,
            nu_from: None,
            quantiles: copied(&terms.quantiles)?,
        };
        if is_grid && !plan.truncations.is_empty() {
            return Err(choosing::truncation_and_gamma());
        }
        let holds_out = plan.holds_out() || is_grid || !epsilons.is_empty();
        if self.choice.metric.is_some() && !holds_out {
            return Err(choosing::metric_without_choice());
        }
        let fold_column = choices.get(&table::FOLD_COLUMN)?;
        let fold_order = choices.get(&table::FOLD_ORDER)?;
        if holds_out {
            plan.folds = Some(folds(
                choices.get(&table::FOLDS)?,
                fold_column.as_deref(),
                fold_order.as_deref(),
            )?);
        } else {
            let all = [
                (table::FOLDS.name(), choices.has(&table::FOLDS)),
                (table::FOLD_COLUMN.name(), fold_column.is_some()),
                (table::FOLD_ORDER.name(), fold_order.is_some()),
                ("\"costs\"", given),
            ];
            if let Some((name, _)) = all.into_iter().find(|(_, is_given)| *is_given) {
                return Err(choosing::folds_without_choice(name));
            }
        }
        let warm_start = choices.get(&table::WARM_START)?;
        if let Some(name) = &warm_start {
            check_warm_start(name, (&plan, is_grid, !epsilons.is_empty()), &terms)?;
        }
        let deploy = choices.deploy(plan.probability)?;
        let (named, names_loss) = (self.model.is_some(), self.loss.is_some());
        let names_metric = self.choice.metric.is_some();
        let model = match purpose {
            Purpose::Train => model_name(self.model, &source, &label)?,
            Purpose::Validate => String::new(),
        };
        let mut request = Request {
            model,
            columns: AskedColumns {
                features: self.columns.features.map(entries).transpose()?,
                exclude: excluded(self.columns.exclude.unwrap_or_default())?,
                label,
                weight: self.columns.weight,
                key: self.columns.key,
                fold_column: fold_column.filter(|_| holds_out),
                fold_order: fold_order.filter(|_| holds_out),
            },
            source,
            scale,
            rows: RowTerms {
                nulls,
                nulls_by_rows,
                skips_bad_rows: choices.get(&table::BAD_ROWS)?.unwrap_or_default(),
                categories: choices.categories()?,
                unit_rows: choices.get(&table::NORMALIZE_ROWS)?.unwrap_or_default(),
            },
            texts: choices.texts()?,
            terms,
            kernel,
            plan,
            epsilons,
            warm_start,
            watch: choices.get(&table::WATCH)?,
            index: choices.get(&table::INDEX)?,
            class_weight,
            deploy,
            call: CallAsGiven {
                named,
                names_loss,
                names_metric,
                options,
                knows_scans,
                stays_with: None,
                given: settings,
                typed,
                holds_out: self.holds_out,
                amount: None,
            },
        };
        regression::settle(&mut request);
        novelty::check(&request)?;
        regression::check(&request)?;
        scans::check(&request)?;
        truncated::check(&request)?;
        watching::check(&request)?;
        Ok(request)
    }
}

impl Request {
    /// The same training with each of so many folds held out, and no final model; `key` is an integer column by which rows are
    /// known.
    pub fn out_of_fold(mut self, folds: i32, key: &str) -> Result<Self, Failure> {
        if self.terms.together() {
            return Err(following::together_suspects());
        }
        if self.terms.scans() {
            self.terms.parameters.solver = SolverChoice::Auto;
        }
        if self.terms.by_interior_points() {
            // as where it has c chosen: by the machine of low rank that comes before it
            self.terms.parameters.solver = SolverChoice::Stream;
        }
        self.plan = Plan {
            folds: Some(holding_out::folds(Some(folds), None, None)?),
            purpose: Purpose::Validate,
            probability: false,
            intervals: false,
            truncations: Vec::new(),
            beyond: 0,
            final_stop: None,
            nu: None,
            ..self.plan
        };
        self.epsilons = Vec::new();
        (self.columns.fold_column, self.columns.fold_order) = (None, None);
        self.columns.key = Some(key.to_owned());
        Ok(self)
    }
}

/// How words of texts are learned and weighted.
#[derive(Debug, Default, Clone, Copy)]
pub struct TextTerms {
    pub limits: Limits,
    pub sublinear: bool,
}

impl Choices<'_> {
    fn texts(&self) -> Result<TextTerms, Failure> {
        let usual = Limits::default();
        Ok(TextTerms {
            limits: Limits {
                most: self.get(&table::MAX_WORDS)?.unwrap_or(usual.most),
                least: self.get(&table::MIN_DF)?.unwrap_or(usual.least),
                greatest: self.get(&table::MAX_DF)?.unwrap_or(usual.greatest),
                ..usual
            },
            sublinear: self.get(&table::SUBLINEAR)?.unwrap_or_default(),
        })
    }

    fn categories(&self) -> Result<CategoryLimits, Failure> {
        let usual = CategoryLimits::default();
        let hash_bits = self.get(&table::HASH_BITS)?;
        Ok(CategoryLimits {
            most: self.get(&table::MAX_CATEGORIES)?.unwrap_or(usual.most),
            hash_bits: hash_bits.unwrap_or(usual.hash_bits),
            hash_keys: hash_bits.is_some() || usual.hash_keys,
            ..usual
        })
    }
}

/// Whether the most probable one of more than two classes is predicted. Probabilities undo weights of classes, which decisions have.
fn by_probability(
    given: Option<ClassesBy>,
    probability: bool,
    class_weight: &ClassWeight,
) -> Result<bool, Failure> {
    if given == Some(ClassesBy::Probability) && !probability {
        return Err(choosing::classes_by_without());
    }
    Ok(match given {
        Some(by) => by == ClassesBy::Probability,
        None => probability && class_weight.is_equal(),
    })
}

/// What may say probabilities.
fn calibration(
    given: Option<CalibrationChoice>,
    probability: bool,
) -> Result<CalibrationChoice, Failure> {
    if given.is_some() && !probability {
        return Err(choosing::calibration_without());
    }
    Ok(given.unwrap_or_default())
}

/// Refuses one C where it is to be chosen.
fn check_chosen(given: &Numbers) -> Result<(), Failure> {
    match given {
        Numbers::Are(all) if all.len() == 1 => Err(choosing::c_given()),
        _ => Ok(()),
    }
}

/// Refuses to begin from model `name` what cannot.
fn check_warm_start(
    name: &str,
    (plan, chooses_gamma, chooses_epsilon): (&Plan, bool, bool),
    terms: &SolvingTerms,
) -> Result<(), Failure> {
    if plan.costs.len() > 1 || plan.purpose == Purpose::Validate {
        return Err(following::warm_start_chooses_c(name));
    }
    if chooses_gamma {
        return Err(following::warm_start_gammas(name));
    }
    if !plan.truncations.is_empty() {
        return Err(following::warm_start_chooses_truncation(name));
    }
    if chooses_epsilon {
        return Err(following::warm_start_chooses_epsilon(name));
    }
    if terms.solver().descends() {
        return Err(following::warm_start_pegasos(name));
    }
    Ok(())
}

/// What a model's name ends with where nobody gives one: the label, or what is found without one.
pub fn named_after(label: &str) -> &str {
    match label {
        "" => NOVELTY,
        label => label,
    }
}

fn model_name(given: Option<String>, source: &GivenSource, label: &str) -> Result<String, Failure> {
    let name = match given {
        Some(name) => name,
        None => source.default_model_name(named_after(label))?,
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
const NULLS: [(&str, Option<Nulls>); 5] = [
    ("auto", None),
    ("error", Some(Nulls::Error)),
    ("skip", Some(Nulls::Skip)),
    ("zero", Some(Nulls::Zero)),
    ("mean", Some(Nulls::Mean)),
];
