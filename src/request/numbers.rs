//! Arguments that are a number, a list of numbers to choose from, or a word. In SQL they are of type `svm_numbers`, which is the
//! text of any of them (sql/added/0.3.0.sql). Pure.

use crate::base::errors::{shortened, Code, Failure};
use crate::base::near;
use crate::request::words::invalid;
use pgsvm_core::memory::{gathered, Room};
use serde_json::Value;

/// The words for a number that the training is to choose, and for one that is not given.
const AUTO: &str = "auto";
const DEFAULT: &str = "default";
/// scikit-learn's word for the gamma that holds where none is given.
const SCALE: &str = "scale";
/// Most numbers to choose from: each C is a head for every fold and class, and each gamma maps all rows anew.
const MOST: usize = 100;

/// What such an argument says.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Numbers {
    /// It is not given.
    #[default]
    Default,
    /// It is to be chosen.
    Auto,
    /// Of gamma: as where it is not given, and not as the version before has it.
    Scale,
    /// One number, or several to choose from; what they are is not checked.
    Are(Vec<Option<f64>>),
}

/// Such an argument: its name, and the numbers that hints show.
#[derive(Clone, Copy)]
pub struct Argument {
    pub name: &'static str,
    usual: &'static str,
}

pub const C: Argument = Argument {
    name: "c",
    usual: "0.01, 0.1, 1, 10",
};
pub const GAMMA: Argument = Argument {
    name: "gamma",
    usual: "0.01, 0.1, 1",
};
pub const EPSILON: Argument = Argument {
    name: "epsilon",
    usual: "0, 0.1, 0.2",
};
/// Of which one is given and none chosen: others are refused where it is read.
pub const NU: Argument = Argument {
    name: "nu",
    usual: "0.1",
};

impl Argument {
    /// Reads its text.
    pub fn read(self, text: &str) -> Result<Numbers, Failure> {
        let text = text.trim();
        let list = inside(text, '{', '}').or_else(|| inside(text, '[', ']'));
        match (text, list) {
            (AUTO, _) => Ok(Numbers::Auto),
            (DEFAULT, _) => Ok(Numbers::Default),
            (SCALE, _) if self.name == GAMMA.name => Ok(Numbers::Scale),
            (_, Some(list)) => self.list(list, text),
            (_, None) => self.number(text, text).map(Numbers::of),
        }
    }

    /// Reads the entries of a list, which `text` is.
    fn list(self, entries: &str, text: &str) -> Result<Numbers, Failure> {
        let count = match entries.trim().is_empty() {
            true => 0,
            false => entries.split(',').count(),
        };
        self.check_count(count)?;
        let mut numbers = Vec::new();
        for entry in entries.split(',') {
            let entry = entry.trim();
            let entry = inside(entry, '"', '"').unwrap_or(entry);
            let is_null = entry.eq_ignore_ascii_case("null");
            let number = (!is_null).then(|| self.number(entry, text)).transpose()?;
            numbers.room(1)?.push(number);
        }
        Ok(Numbers::Are(numbers))
    }

    fn number(self, entry: &str, text: &str) -> Result<f64, Failure> {
        entry.parse().map_err(|_| self.refused(text))
    }

    fn refused(self, text: &str) -> Failure {
        let Self { name, usual } = self;
        if name == NU.name {
            let message = format!("{name} must be a number, not '{}'", shortened(text));
            return invalid(message).hint(format!("{name} => {usual}"));
        }
        let (words, scale, known) = match name == GAMMA.name {
            true => (
                "a list of numbers, 'scale' or 'auto'",
                format!(", {name} => '{SCALE}' the default"),
                &[AUTO, SCALE][..],
            ),
            false => ("a list of numbers or 'auto'", String::new(), &[AUTO][..]),
        };
        let all = format!(
            "{name} => 1 is a number, {name} => '{{{usual}}}' a list to choose from{scale}, {name} => '{AUTO}' has it chosen"
        );
        let message = format!(
            "{name} must be a number, {words}, not '{}'",
            shortened(text)
        );
        invalid(message).hint(match near::meant(text, known) {
            Some(near) => format!("Perhaps '{near}' is meant. {all}"),
            None => all,
        })
    }

    /// A list of them, as a call has it.
    pub fn as_list(self) -> String {
        format!("{} => '{{{}}}'", self.name, self.usual)
    }

    /// A number of a list, which is not NULL.
    pub fn number_of(self, entry: Option<f64>) -> Result<f64, Failure> {
        entry.ok_or_else(|| {
            Failure::new(
                Code::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                format!("the list in argument \"{}\" has a NULL", self.name),
            )
            .hint(self.as_list())
        })
    }

    /// Refuses lists that are empty or too long.
    pub fn check_count(self, count: usize) -> Result<(), Failure> {
        let name = self.name;
        match count {
            1..=MOST => Ok(()),
            _ => Err(
                invalid(format!("{name} must have 1 to {MOST} values, not {count}"))
                    .hint(self.as_list()),
            ),
        }
    }
}

impl Numbers {
    pub fn of(number: f64) -> Self {
        Self::Are(vec![Some(number)])
    }

    /// The same with NaN for what is not given, which was the default of C in 0.2.0.
    pub fn or_default(self) -> Self {
        match &self {
            Self::Are(all) if matches!(all.as_slice(), [Some(c)] if c.is_nan()) => Self::Default,
            _ => self,
        }
    }

    /// Whether a setting, as [`Self::value`] has it, leaves a choice: 'auto', which was NULL at first, or a list.
    pub fn is_choice(value: &Value) -> bool {
        !value.is_number() && value != SCALE
    }

    /// One of them that is not finite.
    pub fn beyond_numbers(&self) -> Option<f64> {
        let Self::Are(all) = self else {
            return None;
        };
        all.iter().flatten().copied().find(|it| !it.is_finite())
    }

    pub fn is_given(&self) -> bool {
        *self != Self::Default
    }

    /// As JSON, for the record of what was given; None where it was not.
    pub fn value(&self) -> Option<Value> {
        match self {
            Self::Default => None,
            Self::Auto => Some(AUTO.into()),
            Self::Scale => Some(SCALE.into()),
            Self::Are(all) => Some(match all.as_slice() {
                [one] => (*one).into(),
                all => all.iter().copied().map(Value::from).collect(),
            }),
        }
    }

    /// Reads that again; what it is not is not given.
    pub fn of_value(value: &Value) -> Self {
        match value {
            Value::String(word) if word == AUTO => Self::Auto,
            Value::String(word) if word == SCALE => Self::Scale,
            Value::Number(number) => number.as_f64().map_or(Self::Default, Self::of),
            Value::Array(all) if all.len() <= MOST => {
                gathered(all.iter().map(Value::as_f64)).map_or(Self::Default, Self::Are)
            }
            _ => Self::Default,
        }
    }
}

/// What stands between the two; None where they are not there.
fn inside(text: &str, opens: char, closes: char) -> Option<&str> {
    text.strip_prefix(opens)?.strip_suffix(closes)
}
