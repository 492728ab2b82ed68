//! The argument `options`: a JSON object, each of whose members is described once, in [`OPTIONS`]. Pure.
//!
//! A new option is a line of that table: its name, the solvers that know it, whether a retraining takes it over, and how
//! it is read. What it means together with others is said where it is used (`solver.rs`, `holding_out.rs`).

use crate::base::errors::{shortened, shown, Failure};
use crate::base::json;
use crate::base::near;
use crate::base::text::written;
use crate::features::{CategoryLimits, LANDMARKS};
use crate::model::{ClassesBy, CLASSES_BY};
use crate::pg::json::JsonText;
use crate::request::deploy::DeployChoice;
use crate::request::kernel::{Method, METHODS};
use crate::request::numbers::{Argument, C, GAMMA};
use crate::request::solver::Expansion;
use crate::request::words::{invalid, number_or_word, option_word, whole_number, word, ORDERS};
use pgrx::spi::quote_literal;
use pgsvm_core::memory::owned;
use pgsvm_core::{
    Blocks, CalibrationChoice, Compression, ForestShape, Inner, InteriorTerms, LandmarkChoice,
    LowRankJob, Order, Picks, Policy, Proximal, StopRule, Updates,
};
use pgsvm_expand::{Frequency, Limits};
use serde_json::Value;
use std::fmt::Display;

/// Solvers that know an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Solvers {
    All,
    Stream,
    Blocks,
    /// Those that solve a part of the rows at a time by something else.
    Inner,
    Block,
    InteriorPoint,
    Machines,
    Ocas,
    Indexed,
}

impl Solvers {
    /// As a hint names them; None: every one.
    pub(super) fn words(self) -> Option<&'static str> {
        match self {
            Self::All => None,
            Self::Stream => Some("'auto' or 'stream'"),
            Self::Blocks => Some("'block' or 'selective_block'"),
            Self::Inner => Some("'block', 'selective_block' or 'indexed'"),
            Self::Block => Some("'block'"),
            Self::InteriorPoint => Some("'interior_point'"),
            Self::Machines => Some("'interior_point', or 'scan' with \"average\""),
            Self::Ocas => Some("'ocas'"),
            Self::Indexed => Some("'indexed'"),
        }
    }
}

/// How more than two classes are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Multiclass {
    OneVsRest,
    OneVsOne,
    /// By one machine, of planes.
    Together,
}

/// What rows are filed by, so that passes leave chunks of them unread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunksWord {
    Slack,
    Forest,
}

/// Who trains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MachinesWord {
    /// So many, together.
    Count(usize),
    /// Each process that holds rows, alone; the weights found are averaged.
    Average,
    /// The processes that hold rows, together: each sums up its own, a scan at a time.
    Scans,
}

/// To whom an option belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    /// A retraining that does not give it takes it over.
    Model,
    /// Each training says it anew.
    Training,
}

/// One option.
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) solvers: Solvers,
    of: Of,
    read: fn(&mut Choices, &Member) -> Result<(), Failure>,
}

/// A member of the object: its value, and that as text.
struct Member<'a> {
    name: &'a str,
    value: &'a Value,
    text: String,
}

/// s of a truncated loss, chosen by cross-validation.
pub(super) const AUTO: &str = "auto";

/// What has an argument of its own too.
pub(super) const BAD_ROWS: &str = "bad_rows";
pub(super) const FOLDS: &str = "folds";
pub(super) const FOLD_COLUMN: &str = "fold_column";
pub(super) const FOLD_ORDER: &str = "fold_order";

pub(super) const MULTICLASS: &str = "multiclass";
/// Several classes told apart by one problem; and the loss of models that are trained so.
pub const CRAMMER_SINGER: &str = "crammer_singer";
pub const ONE_VS_ONE: &str = "one_vs_one";

const TRUTH: [(&str, bool); 2] = [("true", true), ("false", false)];

/// Every option, in the order in which messages name them.
static OPTIONS: [Entry; 51] = [
    entry("policy", Solvers::Stream, Of::Training, |all, it| {
        it.word(&[("cached", Policy::Cached), ("paper", Policy::Paper)])
            .map(|policy| all.policy = Some(policy))
    }),
    entry("picks", Solvers::Stream, Of::Training, |all, it| {
        it.or_number(&[("free", Picks::Free)], Picks::MOST, 2, Picks::Each)
            .map(|picks| all.picks = Some(picks))
    }),
    entry("stop", Solvers::All, Of::Training, |all, it| {
        it.word(&[
            ("gap", StopRule::Gap),
            ("projected_gradient", StopRule::ProjectedGradient),
            ("svmperf", StopRule::MeanLoss),
        ])
        .map(|stop| all.stop = stop)
    }),
    entry("blocks", Solvers::Blocks, Of::Training, |all, it| {
        it.number(1, Blocks::MOST, 40)
            .map(|blocks| all.blocks = Some(blocks))
    }),
    entry("inner_rounds", Solvers::Blocks, Of::Training, |all, it| {
        let most = Inner::MOST_ROUNDS;
        let rounds = match it.text.as_str() {
            "converged" => Ok(most),
            _ => it.number(1, most, 10),
        };
        rounds.map(|rounds| all.inner_rounds = Some(rounds))
    }),
    entry("inner", Solvers::Inner, Of::Training, |all, it| {
        it.word(&[
            ("dual", InnerWord::Dual),
            ("newton", InnerWord::Newton),
            ("pegasos", InnerWord::Pegasos),
        ])
        .map(|inner| all.inner = Some(inner))
    }),
    entry("inner_updates", Solvers::Block, Of::Training, |all, it| {
        let words = [("row", Updates::Row), ("block", Updates::Block)];
        it.or_number(&words, Updates::MOST_SETS, 100, Updates::Sets)
            .map(|updates| all.inner_updates = Some(updates))
    }),
    entry("intercept", Solvers::All, Of::Model, |all, it| {
        it.word(&[
            ("regularized", InterceptWord::Regularized),
            ("free", InterceptWord::Free),
        ])
        .map(|intercept| all.intercept = Some(intercept))
    }),
    entry("split", Solvers::Blocks, Of::Training, |all, it| {
        it.word(&ORDERS).map(|order| all.split = Some(order))
    }),
    entry("block_order", Solvers::Blocks, Of::Training, |all, it| {
        it.word(&ORDERS).map(|order| all.block_order = Some(order))
    }),
    entry("compression", Solvers::All, Of::Training, |all, it| {
        it.word(&[
            ("auto", Compression::Auto),
            ("on", Compression::On),
            ("off", Compression::Off),
        ])
        .map(|compression| all.compression = compression)
    }),
    entry("expansion", Solvers::All, Of::Training, |all, it| {
        it.word(&[
            ("auto", Expansion::Auto),
            ("stored", Expansion::Stored),
            ("visit", Expansion::Visit),
        ])
        .map(|expansion| all.expansion = expansion)
    }),
    entry("proximal", Solvers::All, Of::Training, |all, it| {
        it.word(&[
            ("auto", Proximal::Auto),
            ("on", Proximal::On),
            ("off", Proximal::Off),
        ])
        .map(|proximal| all.proximal = proximal)
    }),
    entry("duals", Solvers::All, Of::Model, |all, it| {
        it.word(&TRUTH).map(|duals| all.duals = duals)
    }),
    // read before, where the version before is looked for (`storing/predecessor.rs`)
    entry("inherit", Solvers::All, Of::Training, |_, it| {
        it.word(&TRUTH).map(|_| ())
    }),
    entry("deploy", Solvers::All, Of::Training, Choices::deployment),
    entry("relation", Solvers::All, Of::Training, Choices::deployment),
    entry("metric", Solvers::All, Of::Training, Choices::deployment),
    entry("costs", Solvers::All, Of::Model, |all, it| {
        it.numbers(C).map(|costs| all.costs = Some(costs))
    }),
    entry("choose", Solvers::All, Of::Model, |all, it| {
        (all.chooses_c, all.chooses_gamma) = it.chosen()?;
        Ok(())
    }),
    entry("gammas", Solvers::All, Of::Model, |all, it| {
        it.numbers(GAMMA).map(|gammas| all.gammas = Some(gammas))
    }),
    entry(FOLDS, Solvers::All, Of::Model, |all, it| {
        it.signed().map(|folds| all.folds = Some(folds))
    }),
    entry(FOLD_COLUMN, Solvers::All, Of::Model, |all, it| {
        it.copy().map(|column| all.fold_column = Some(column))
    }),
    entry(FOLD_ORDER, Solvers::All, Of::Model, |all, it| {
        it.copy().map(|column| all.fold_order = Some(column))
    }),
    entry("max_categories", Solvers::All, Of::Model, |all, it| {
        it.number(0, CategoryLimits::MOST, CategoryLimits::MOST)
            .map(|most| all.categories.most = most)
    }),
    entry("hash_bits", Solvers::All, Of::Model, |all, it| {
        all.categories.hash_bits = it.number(1, CategoryLimits::MOST_HASH_BITS, 18)?;
        all.categories.hash_keys = true;
        Ok(())
    }),
    entry(BAD_ROWS, Solvers::All, Of::Model, |all, it| {
        // as the argument, which is how it is mostly given
        word(it.name, &it.text, &[("error", false), ("skip", true)])
            .map(|skips| all.skips_bad_rows = skips)
    }),
    entry("min_df", Solvers::All, Of::Model, |all, it| {
        let least = it.frequency(2)?;
        all.texts.limits.least = match least < 1.0 {
            true => Frequency::Share(least),
            false => Frequency::Texts(least as u64),
        };
        Ok(())
    }),
    entry("max_df", Solvers::All, Of::Model, |all, it| {
        let most = it.frequency(0.5)?;
        all.texts.limits.greatest = match most > 1.0 {
            true => Frequency::Texts(most as u64),
            false => Frequency::Share(most),
        };
        Ok(())
    }),
    entry("sublinear", Solvers::All, Of::Model, |all, it| {
        it.word(&TRUTH)
            .map(|sublinear| all.texts.sublinear = sublinear)
    }),
    entry("max_words", Solvers::All, Of::Model, |all, it| {
        it.number(0, Limits::MOST, Limits::MOST)
            .map(|most| all.texts.limits.most = most)
    }),
    entry("normalize_rows", Solvers::All, Of::Model, |all, it| {
        it.word(&TRUTH).map(|unit| all.unit_rows = unit)
    }),
    entry("method", Solvers::All, Of::Model, |all, it| {
        it.word(&METHODS).map(|method| all.method = Some(method))
    }),
    entry("landmarks", Solvers::All, Of::Model, |all, it| {
        it.word(&LANDMARKS)
            .map(|landmarks| all.landmarks = Some(landmarks))
    }),
    entry("machines", Solvers::Machines, Of::Training, |all, it| {
        it.or_number(
            &[
                ("average", MachinesWord::Average),
                ("scans", MachinesWord::Scans),
            ],
            InteriorTerms::MOST_MACHINES,
            2,
            |machines| MachinesWord::Count(machines as usize),
        )
        .map(|machines| all.machines = Some(machines))
    }),
    entry(
        "rank_exponent",
        Solvers::InteriorPoint,
        Of::Training,
        |all, it| {
            it.share(InteriorTerms::POWER)
                .map(|power| all.rank_exponent = Some(power))
        },
    ),
    entry(
        "trace_tolerance",
        Solvers::InteriorPoint,
        Of::Training,
        |all, it| {
            it.share(LowRankJob::DEFAULT_TOLERANCE)
                .map(|part| all.trace_tolerance = Some(part))
        },
    ),
    entry("lambda", Solvers::Ocas, Of::Training, |all, it| {
        let part = if it.value.as_f64() == Some(1.0) {
            Ok(1.0)
        } else {
            it.share(0.1)
        };
        part.map(|part| all.lambda = Some(part))
    }),
    entry(MULTICLASS, Solvers::All, Of::Model, |all, it| {
        it.word(&[
            ("one_vs_rest", Multiclass::OneVsRest),
            (ONE_VS_ONE, Multiclass::OneVsOne),
            (CRAMMER_SINGER, Multiclass::Together),
        ])
        .map(|how| all.multiclass = Some(how))
    }),
    entry("truncation", Solvers::All, Of::Model, |all, it| {
        let given = match it.text.as_str() {
            AUTO => Ok(TruncationWord::Auto),
            _ => it.positive(1).map(TruncationWord::Is),
        };
        given.map(|given| all.truncation = Some(given))
    }),
    entry("classes_by", Solvers::All, Of::Model, |all, it| {
        it.word(&CLASSES_BY).map(|by| all.classes_by = Some(by))
    }),
    entry("calibration", Solvers::All, Of::Model, |all, it| {
        it.word(&[
            ("auto", CalibrationChoice::Auto),
            ("sigmoid", CalibrationChoice::Sigmoid),
            ("isotonic", CalibrationChoice::Isotonic),
        ])
        .map(|choice| all.calibration = Some(choice))
    }),
    entry("chunks_by", Solvers::Indexed, Of::Training, |all, it| {
        it.word(&[("slack", ChunksWord::Slack), ("forest", ChunksWord::Forest)])
            .map(|by| all.chunks_by = Some(by))
    }),
    entry("tree_size", Solvers::Indexed, Of::Training, |all, it| {
        it.number(1, ForestShape::MOST_TREE_SIZE, 10_000)
            .map(|rows| all.tree_size = Some(rows))
    }),
    entry("tree_width", Solvers::Indexed, Of::Training, |all, it| {
        it.number(2, ForestShape::MOST_TREE_WIDTH, 10)
            .map(|width| all.tree_width = Some(width))
    }),
    entry("query_size", Solvers::Indexed, Of::Training, |all, it| {
        it.number(1, ForestShape::MOST_QUERY_SIZE, 1000)
            .map(|rows| all.query_size = Some(rows))
    }),
    entry("query_end", Solvers::Indexed, Of::Training, |all, it| {
        it.number(1, ForestShape::MOST_QUERY_SIZE, 100)
            .map(|rows| all.query_end = Some(rows))
    }),
    entry("shrink_above", Solvers::Indexed, Of::Training, |all, it| {
        it.positive(1).map(|margin| all.shrink_above = Some(margin))
    }),
    entry("watch", Solvers::All, Of::Training, |all, it| {
        it.copy().map(|relation| all.watch = Some(relation))
    }),
    entry("index", Solvers::All, Of::Training, |all, it| {
        it.copy().map(|index| all.index = Some(index))
    }),
    entry("warm_start", Solvers::All, Of::Training, |all, it| {
        it.copy().map(|model| all.warm_start = Some(model))
    }),
];

const fn entry(
    name: &'static str,
    solvers: Solvers,
    of: Of,
    read: fn(&mut Choices, &Member) -> Result<(), Failure>,
) -> Entry {
    Entry {
        name,
        solvers,
        of,
        read,
    }
}

/// Whether a retraining that does not give option `name` leaves it out.
pub(super) fn is_of_one_training(name: &str) -> bool {
    let mut entries = OPTIONS.iter();
    entries.any(|entry| entry.name == name && entry.of == Of::Training)
}

/// The word given for the option `intercept`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InterceptWord {
    /// Its weight is in the norm.
    Regularized,
    Free,
}

/// What is given for `truncation`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum TruncationWord {
    Is(f64),
    /// Chosen by cross-validation.
    Auto,
}

/// The word given for `inner`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InnerWord {
    Dual,
    Newton,
    Pegasos,
}

/// How words of texts are learned and weighted.
#[derive(Debug, Default, Clone, Copy)]
pub struct TextTerms {
    pub limits: Limits,
    pub sublinear: bool,
}

/// What `options` may choose. What belongs to some solvers only is None unless given.
#[derive(Default)]
pub(super) struct Choices {
    /// Those that were given.
    pub(super) given: Vec<&'static Entry>,
    pub(super) policy: Option<Policy>,
    pub(super) intercept: Option<InterceptWord>,
    pub(super) proximal: Proximal,
    pub(super) inner_rounds: Option<u32>,
    pub(super) inner: Option<InnerWord>,
    pub(super) inner_updates: Option<Updates>,
    pub(super) blocks: Option<u32>,
    pub(super) picks: Option<Picks>,
    pub(super) stop: StopRule,
    pub(super) split: Option<Order>,
    pub(super) block_order: Option<Order>,
    pub(super) compression: Compression,
    pub(super) expansion: Expansion,
    pub(super) duals: bool,
    pub(super) unit_rows: bool,
    pub(super) deploy: DeployChoice,
    pub(super) costs: Option<Vec<f64>>,
    /// What "choose" names.
    pub(super) chooses_c: bool,
    pub(super) chooses_gamma: bool,
    pub(super) gammas: Option<Vec<f64>>,
    pub(super) folds: Option<i32>,
    pub(super) fold_column: Option<String>,
    pub(super) fold_order: Option<String>,
    pub(super) categories: CategoryLimits,
    pub(super) skips_bad_rows: bool,
    pub(super) texts: TextTerms,
    pub(super) warm_start: Option<String>,
    pub(super) watch: Option<String>,
    pub(super) index: Option<String>,
    pub(super) landmarks: Option<LandmarkChoice>,
    pub(super) method: Option<Method>,
    pub(super) machines: Option<MachinesWord>,
    pub(super) rank_exponent: Option<f64>,
    pub(super) trace_tolerance: Option<f64>,
    pub(super) lambda: Option<f64>,
    pub(super) multiclass: Option<Multiclass>,
    pub(super) truncation: Option<TruncationWord>,
    pub(super) classes_by: Option<ClassesBy>,
    pub(super) calibration: Option<CalibrationChoice>,
    pub(super) chunks_by: Option<ChunksWord>,
    pub(super) tree_size: Option<u32>,
    pub(super) tree_width: Option<u32>,
    pub(super) query_size: Option<u32>,
    pub(super) query_end: Option<u32>,
    pub(super) shrink_above: Option<f64>,
}

impl Choices {
    pub(super) fn of(options: &Value) -> Result<Self, Failure> {
        let mut choices = Self::default();
        let object = options
            .as_object()
            .ok_or_else(|| invalid("options must be a JSON object").hint("options => '{}'"))?;
        for (name, value) in object {
            choices.read(name, value)?;
        }
        Ok(choices)
    }

    fn read(&mut self, name: &str, value: &Value) -> Result<(), Failure> {
        let mut known = OPTIONS.iter();
        let entry = known
            .find(|entry| entry.name == name)
            .ok_or_else(|| unknown(name, value))?;
        let text = match value.as_str() {
            Some(text) => owned(text)?,
            None => written(format_args!("{value}"))?,
        };
        (entry.read)(self, &Member { name, value, text })?;
        self.given.push(entry);
        Ok(())
    }

    fn deployment(&mut self, it: &Member) -> Result<(), Failure> {
        self.deploy.set(it.name, &it.text)
    }
}

/// What is no option but an argument of a training.
const ARGUMENTS: [&str; 24] = [
    "bad_rows",
    "c",
    "class_weight",
    "coef0",
    "degree",
    "exclude",
    "features",
    "gamma",
    "intercept",
    "kernel",
    "key",
    "label",
    "loss",
    "max_passes",
    "metric",
    "model",
    "nulls",
    "probability",
    "rank",
    "scale",
    "seed",
    "solver",
    "tolerance",
    "weight",
];

/// What other systems' options are here, where they are neither options nor arguments.
const ELSEWHERE: [(&str, &[&str]); 7] = [
    ("The solver that is faster is taken; leave it out.", &["dual"]),
    (
        "Threads are a setting: SET pgsvm.trainers = 4.",
        &["n_jobs", "nthread", "nthreads", "n_threads", "num_threads", "threads", "workers"],
    ),
    (
        "The penalty is the squared length of the weights, as penalty='l2' is elsewhere, and there is no other; leave it out.",
        &["penalty", "regularization", "l1_ratio"],
    ),
    (
        "SELECT * FROM svm_progress, in another session, says how far a training is; leave it out.",
        &["verbose", "progress", "verbosity"],
    ),
    (
        "The cache is a setting: SET pgsvm.cache_size = '1GB'.",
        &["cache_size", "cachesize"],
    ),
    (
        "How several classes are told apart is \"multiclass\": options => '{\"multiclass\": \"one_vs_one\"}', or \"one_vs_rest\"",
        &["decision_function_shape"],
    ),
    (
        "Rows that cannot matter are left out by themselves; leave it out.",
        &["shrinking"],
    ),
];

fn unknown(name: &str, value: &Value) -> Failure {
    let mut names = String::new();
    for (at, entry) in OPTIONS.iter().enumerate() {
        names += match at {
            0 => "",
            _ if at + 1 == OPTIONS.len() => " and ",
            _ => ", ",
        };
        names += &format!("\"{}\"", entry.name);
    }
    let unknown = invalid(format!("unknown option \"{}\"", shortened(name)));
    let is_name = |known: &&str| name.eq_ignore_ascii_case(known);
    let elsewhere = ELSEWHERE
        .iter()
        .find(|(_, names)| names.iter().any(&is_name));
    if let Some((what, _)) = elsewhere {
        return unknown.hint(*what);
    }
    let options: Vec<_> = OPTIONS.iter().map(|entry| entry.name).collect();
    let of = |known: &[&str]| near::meant(name, known);
    let argument = ARGUMENTS.contains(&name).then(|| name.to_owned());
    let argument = argument.or_else(|| of(&options).is_none().then(|| of(&ARGUMENTS))?);
    if let Some(argument) = argument {
        let value = match value {
            Value::String(text) => quote_literal(shortened(text)),
            value => shortened(&json::typed(value)),
        };
        return unknown.hint(format!(
            "{argument} is an argument of its own: {argument} => {value}"
        ));
    }
    unknown.hint(match of(&options) {
        Some(near) => format!("Perhaps \"{near}\" is meant."),
        None => format!("options know {names}"),
    })
}

impl Member<'_> {
    fn word<T: Copy>(&self, known: &[(&str, T)]) -> Result<T, Failure> {
        option_word(self.name, &self.text, known)
    }

    fn copy(&self) -> Result<String, Failure> {
        Ok(owned(&self.text)?)
    }

    /// A whole number from `least` to `most`; `usual` is what a hint proposes.
    fn number(&self, least: u32, most: u32, usual: u32) -> Result<u32, Failure> {
        whole_number(self.name, self.value, least..=most, usual)
    }

    /// One of `words`, or a whole number from 1 to `most`.
    fn or_number<T: Copy>(
        &self,
        words: &[(&str, T)],
        most: u32,
        usual: u32,
        counted: fn(u32) -> T,
    ) -> Result<T, Failure> {
        if let Some((_, choice)) = words.iter().find(|(word, _)| *word == self.text) {
            return Ok(*choice);
        }
        let names: Vec<_> = words
            .iter()
            .map(|(word, _)| format!("\"{word}\""))
            .collect();
        number_or_word(self.name, self.value, most, &names.join(" or "), usual).map(counted)
    }

    /// Numbers to choose from, which are a list as `argument` too.
    fn numbers(&self, argument: Argument) -> Result<Vec<f64>, Failure> {
        let all = self.value.as_array();
        let numbers = all.and_then(|all| all.iter().map(Value::as_f64).collect());
        numbers.ok_or_else(|| {
            invalid(format!(
                "{} must be an array of numbers, not {}",
                self.name,
                shown(self.value)
            ))
            .hint(argument.as_list())
        })
    }

    /// In how many rows a word is: a share of them, or a whole number.
    fn frequency(&self, usual: impl Display) -> Result<f64, Failure> {
        let whole = |it: &f64| *it >= 0.0 && (*it <= 1.0 || it.fract() == 0.0);
        let number = self.value.as_f64().filter(whole);
        number.ok_or_else(|| {
            invalid(format!(
                "{} must be a share of the rows, from 0 to 1, or a number of them, not {}",
                self.name,
                shown(self.value)
            ))
            .hint(format!("options => '{{\"{}\": {usual}}}'", self.name))
        })
    }

    /// A number above 0 and below 1.
    fn share(&self, usual: f64) -> Result<f64, Failure> {
        let number = self.value.as_f64().filter(|it| *it > 0.0 && *it < 1.0);
        number.ok_or_else(|| {
            invalid(format!(
                "{} must lie between 0 and 1, not {}",
                self.name,
                shown(self.value)
            ))
            .hint(format!("options => '{{\"{}\": {usual}}}'", self.name))
        })
    }

    /// A number above 0; `usual` is what a hint proposes.
    fn positive(&self, usual: u32) -> Result<f64, Failure> {
        let number = self.value.as_f64().filter(|it| *it > 0.0 && it.is_finite());
        number.ok_or_else(|| {
            invalid(format!(
                "{} must be a number above 0, not {}",
                self.name,
                shown(self.value)
            ))
            .hint(format!("options => '{{\"{}\": {usual}}}'", self.name))
        })
    }

    /// Whether C is among what is to be chosen, and whether gamma is.
    fn chosen(&self) -> Result<(bool, bool), Failure> {
        let words = self.value.as_array();
        let words: Option<Vec<_>> = words.and_then(|all| all.iter().map(Value::as_str).collect());
        let known = |word: &&str| ["c", "gamma"].contains(word);
        match words.filter(|all| !all.is_empty() && all.iter().all(known)) {
            Some(all) => Ok((all.contains(&"c"), all.contains(&"gamma"))),
            None => Err(invalid(format!(
                "choose must be an array of \"c\" and \"gamma\", not {}",
                shown(self.value)
            ))
            .hint("options => '{\"choose\": [\"c\", \"gamma\"]}'")),
        }
    }

    fn signed(&self) -> Result<i32, Failure> {
        let number = self.value.as_i64();
        number
            .and_then(|number| i32::try_from(number).ok())
            .ok_or_else(|| {
                invalid(format!(
                    "{} must be a whole number, not {}",
                    self.name,
                    shown(self.value)
                ))
            })
    }
}

/// The options as JSON, `{}` for NULL.
pub fn read_options(options: Option<&JsonText>) -> Result<Value, Failure> {
    match options {
        None => Ok(serde_json::json!({})),
        Some(options) => options
            .parse()
            .map_err(|error| invalid(format!("options cannot be read: {error}"))),
    }
}
