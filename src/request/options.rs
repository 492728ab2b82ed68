//! The argument `options`: a JSON object, each of whose members is described once, in [`table`]. Pure.

mod kinds;
pub(super) mod table;

use crate::base::errors::{shortened, Failure};
use crate::base::json;
use crate::base::near;
use crate::pg::json::JsonText;
use crate::request::options::kinds::{JsonMember, OptionKind};
use crate::request::options::table::OPTIONS;
use crate::request::words::invalid;
use pgrx::spi::quote_literal;
use serde_json::{Map, Value};

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

/// Who takes an option over from the version before where it is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inheritance {
    /// A training under the model's name, and a refresh.
    Model,
    /// A training under the model's name; a refresh takes what was chosen.
    Choice,
    /// A refresh, which is the same training once more.
    Solving,
    /// Nobody.
    Once,
}

/// What is said of an option.
pub(super) struct OptionEntry {
    pub(super) name: &'static str,
    pub(super) solvers: Solvers,
    kept: Inheritance,
}

/// An option whose value means this.
pub(super) struct Opt<T: 'static> {
    entry: OptionEntry,
    kind: OptionKind<T>,
}

/// An option, whatever its value means.
trait KnownOption: Sync {
    fn entry(&self) -> &OptionEntry;

    /// Refuses what its value cannot be.
    fn check(&self, member: &JsonMember) -> Result<(), Failure>;
}

impl<T: Clone + Sync> KnownOption for Opt<T> {
    fn entry(&self) -> &OptionEntry {
        &self.entry
    }

    fn check(&self, member: &JsonMember) -> Result<(), Failure> {
        self.kind.read(member).map(|_| ())
    }
}

impl<T> Opt<T> {
    pub(super) fn name(&self) -> &'static str {
        self.entry.name
    }
}

fn known(name: &str) -> Option<&'static dyn KnownOption> {
    let mut options = OPTIONS.iter();
    options.find(|option| option.entry().name == name).copied()
}

/// Whether a training under the model's name that does not give option `name` leaves it out.
pub(super) fn is_of_one_training(name: &str) -> bool {
    let kept = known(name).map(|option| option.entry().kept);
    matches!(kept, Some(Inheritance::Solving | Inheritance::Once))
}

/// Whether a refresh leaves option `name` out.
pub fn is_left_out_by_a_refresh(name: &str) -> bool {
    let kept = known(name).map(|option| option.entry().kept);
    matches!(kept, Some(Inheritance::Choice | Inheritance::Once))
}

/// What `options` choose, checked one by one.
pub(super) struct Choices<'a> {
    given: &'a Map<String, Value>,
}

impl<'a> Choices<'a> {
    pub(super) fn of(options: &'a Value) -> Result<Self, Failure> {
        let given = options
            .as_object()
            .ok_or_else(|| invalid("options must be a JSON object").hint("options => '{}'"))?;
        for (name, value) in given {
            let option = known(name).ok_or_else(|| unknown(name, value))?;
            option.check(&JsonMember::new(name, value)?)?;
        }
        Ok(Self { given })
    }

    /// What an option says, where it is given.
    pub(super) fn get<T: Clone>(&self, option: &Opt<T>) -> Result<Option<T>, Failure> {
        let Some(value) = self.given.get(option.name()) else {
            return Ok(None);
        };
        option
            .kind
            .read(&JsonMember::new(option.name(), value)?)
            .map(Some)
    }

    pub(super) fn has<T>(&self, option: &Opt<T>) -> bool {
        self.given.contains_key(option.name())
    }

    /// Whether C is to be chosen by the option "choose", and whether gamma is.
    pub(super) fn chosen(&self) -> Result<(bool, bool), Failure> {
        Ok(self.get(&table::CHOOSE)?.unwrap_or_default())
    }

    /// The options that are given.
    pub(super) fn given(&self) -> impl Iterator<Item = &'static OptionEntry> + '_ {
        let options = self.given.keys().filter_map(|name| known(name));
        options.map(|option| option.entry())
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
    for (at, option) in OPTIONS.iter().enumerate() {
        names += match at {
            0 => "",
            _ if at + 1 == OPTIONS.len() => " and ",
            _ => ", ",
        };
        names += &format!("\"{}\"", option.entry().name);
    }
    let unknown = invalid(format!("unknown option \"{}\"", shortened(name)));
    let is_name = |known: &&str| name.eq_ignore_ascii_case(known);
    let elsewhere = ELSEWHERE
        .iter()
        .find(|(_, names)| names.iter().any(&is_name));
    if let Some((what, _)) = elsewhere {
        return unknown.hint(*what);
    }
    let options: Vec<_> = OPTIONS.iter().map(|option| option.entry().name).collect();
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

/// The options as JSON, `{}` for NULL.
pub fn read_options(options: Option<&JsonText>) -> Result<Value, Failure> {
    match options {
        None => Ok(serde_json::json!({})),
        Some(options) => options
            .parse()
            .map_err(|error| invalid(format!("options cannot be read: {error}"))),
    }
}
