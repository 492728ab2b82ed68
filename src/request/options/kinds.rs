//! What the value of an option may be, and how it is read. Pure.

use crate::base::errors::{shown, Failure};
use crate::base::text::written;
use crate::combinations::novelty;
use crate::request::numbers::{Argument, EPSILON};
use crate::request::option_words::{EpsilonWord, TruncationWord, AUTO};
use crate::request::words::{invalid, number_or_word, option_word, sql_float, whole_number, word};
use pgsvm_core::memory::{owned, Room as _};
use pgsvm_core::quantiles::{LEAST_QUANTILE, MOST_QUANTILES};
use pgsvm_expand::Frequency;
use serde_json::Value;
use std::fmt::Display;

/// What a value may be; of numbers the last but what they mean is what a hint proposes.
pub(super) enum OptionKind<T: 'static> {
    /// One of these words.
    Word(&'static [(&'static str, T)]),
    /// The same, in words of an argument.
    ArgumentWord(&'static [(&'static str, T)]),
    /// A whole number from the first to the second.
    Whole(u32, u32, u32, fn(u32) -> T),
    /// One of these words, or a whole number from 1 to this.
    WordOrWhole(&'static [(&'static str, T)], u32, u32, fn(u32) -> T),
    /// As this reads it.
    Read(fn(&JsonMember) -> Result<T, Failure>),
}

/// What a number means that stands for itself.
pub(super) fn as_it_is(number: u32) -> u32 {
    number
}

/// A member of the object: its value, and that as text.
pub(super) struct JsonMember<'a> {
    name: &'a str,
    value: &'a Value,
    text: String,
}

impl<T: Clone> OptionKind<T> {
    /// Reads the value of a member.
    pub(super) fn read(&self, it: &JsonMember) -> Result<T, Failure> {
        match self {
            Self::Word(known) => option_word(it.name, &it.text, known),
            Self::ArgumentWord(known) => word(it.name, &it.text, known),
            Self::Whole(least, most, usual, means) => {
                whole_number(it.name, it.value, *least..=*most, *usual).map(means)
            }
            Self::WordOrWhole(words, most, usual, means) => {
                it.or_number(words, *most, *usual, *means)
            }
            Self::Read(read) => read(it),
        }
    }
}

impl<'a> JsonMember<'a> {
    pub(super) fn new(name: &'a str, value: &'a Value) -> Result<Self, Failure> {
        let text = match value.as_str() {
            Some(text) => owned(text)?,
            None => written(format_args!("{value}"))?,
        };
        Ok(Self { name, value, text })
    }
}

impl JsonMember<'_> {
    pub(super) fn copy(&self) -> Result<String, Failure> {
        Ok(owned(&self.text)?)
    }

    /// One of `words`, or a whole number from 1 to `most`.
    fn or_number<T: Clone>(
        &self,
        words: &[(&str, T)],
        most: u32,
        usual: u32,
        counted: fn(u32) -> T,
    ) -> Result<T, Failure> {
        if let Some((_, choice)) = words.iter().find(|(word, _)| *word == self.text) {
            return Ok(choice.clone());
        }
        let names: Vec<_> = words
            .iter()
            .map(|(word, _)| format!("\"{word}\""))
            .collect();
        number_or_word(self.name, self.value, most, &names.join(" or "), usual).map(counted)
    }

    /// Numbers to choose from, which are a list as `argument` too.
    pub(super) fn numbers(&self, argument: Argument) -> Result<Vec<f64>, Failure> {
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
    pub(super) fn share(&self, usual: f64) -> Result<f64, Failure> {
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

    /// Quantiles: one number, or a list of them, ascending.
    pub(super) fn quantiles(&self) -> Result<Vec<f64>, Failure> {
        let hint = match self.value.is_array() {
            true => "options => '{\"quantiles\": [0.1, 0.9]}'",
            false => "options => '{\"quantiles\": 0.9}'",
        };
        let one = std::slice::from_ref(self.value);
        let all = self.value.as_array().map_or(one, Vec::as_slice);
        if all.is_empty() || all.len() > MOST_QUANTILES {
            let message = format!(
                "quantiles must be 1 to {MOST_QUANTILES} numbers, not {}",
                all.len()
            );
            return Err(invalid(message).hint(hint));
        }
        let mut quantiles = Vec::new();
        for value in all {
            let range = LEAST_QUANTILE..=1.0 - LEAST_QUANTILE;
            let tau = value.as_f64().filter(|tau| range.contains(tau));
            let tau = tau.ok_or_else(|| {
                let failure = invalid(format!(
                    "quantiles must lie between 0 and 1, not {}",
                    shown(value)
                ));
                let near = value.as_f64().is_some_and(|tau| tau > 0.0 && tau < 1.0);
                match near {
                    true => failure.detail(format!(
                        "{LEAST_QUANTILE} is the least one, and {} the largest.",
                        1.0 - LEAST_QUANTILE
                    )),
                    false => failure,
                }
                .hint(hint)
            })?;
            if quantiles.contains(&tau) {
                let message = format!("quantiles have the value {tau} twice");
                return Err(invalid(message).hint(hint));
            }
            quantiles.room(1)?.push(tau);
        }
        quantiles.sort_unstable_by(f64::total_cmp);
        Ok(quantiles)
    }

    /// The width within which an error costs nothing: a number from 0 on, several to choose from, or 'auto'.
    pub(super) fn epsilon(&self) -> Result<EpsilonWord, Failure> {
        let read = |value: &Value| {
            let number = value.as_f64();
            let number = number.filter(|it| *it >= 0.0 && it.is_finite());
            number.ok_or_else(|| {
                let name = self.name;
                let message = format!("{name} must be a number from 0 on, not {}", shown(value));
                invalid(message).hint(format!("{name} => 0.1, {}", EPSILON.as_list()))
            })
        };
        let all = match self.value {
            Value::String(word) if word == AUTO => return Ok(EpsilonWord::Auto),
            Value::Array(all) => all,
            one => return read(one).map(EpsilonWord::Is),
        };
        EPSILON.check_count(all.len())?;
        let mut epsilons = Vec::new();
        for value in all {
            let epsilon = read(value)?;
            if epsilons.contains(&epsilon) {
                return Err(invalid(format!(
                    "epsilon has the value {} twice",
                    sql_float(epsilon)
                )));
            }
            epsilons.room(1)?.push(epsilon);
        }
        Ok(match epsilons.as_slice() {
            [one] => EpsilonWord::Is(*one),
            _ => EpsilonWord::Among(epsilons),
        })
    }

    /// The share of the rows that is strange.
    pub(super) fn nu(&self) -> Result<f64, Failure> {
        match self.value {
            Value::Array(all) if all.len() != 1 => Err(novelty::nu_chosen()),
            Value::Array(all) => JsonMember::new(self.name, &all[0])?.given_share(0.1),
            Value::String(word) if word == AUTO => Err(novelty::nu_chosen()),
            _ => self.given_share(0.1),
        }
    }

    /// A number above 0, and 1 at most, of an argument; `usual` is what a hint proposes.
    fn given_share(&self, usual: f64) -> Result<f64, Failure> {
        let number = self.value.as_f64().filter(|it| *it > 0.0 && *it <= 1.0);
        number.ok_or_else(|| {
            invalid(format!(
                "{} must be a number above 0, and 1 at most, not {}",
                self.name,
                shown(self.value)
            ))
            .hint(format!("{} => {usual}", self.name))
        })
    }

    /// A number above 0; `usual` is what a hint proposes.
    pub(super) fn positive(&self, usual: u32) -> Result<f64, Failure> {
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

    /// The same, or 1.
    pub(super) fn share_or_all(&self, usual: f64) -> Result<f64, Failure> {
        match self.value.as_f64() == Some(1.0) {
            true => Ok(1.0),
            false => self.share(usual),
        }
    }

    /// s of a truncated loss.
    pub(super) fn truncation(&self) -> Result<TruncationWord, Failure> {
        match self.value.as_str() {
            Some(word) if word.eq_ignore_ascii_case(AUTO) => {
                option_word(self.name, word, &[(AUTO, TruncationWord::Auto)])
            }
            _ => self.positive(1).map(TruncationWord::Is),
        }
    }

    pub(super) fn least_frequency(&self) -> Result<Frequency, Failure> {
        let least = self.frequency(2)?;
        Ok(match least < 1.0 {
            true => Frequency::Share(least),
            false => Frequency::Texts(least as u64),
        })
    }

    pub(super) fn greatest_frequency(&self) -> Result<Frequency, Failure> {
        let most = self.frequency(0.5)?;
        Ok(match most > 1.0 {
            true => Frequency::Texts(most as u64),
            false => Frequency::Share(most),
        })
    }

    /// Whether C is among what is to be chosen, and whether gamma is.
    pub(super) fn chosen(&self) -> Result<(bool, bool), Failure> {
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

    pub(super) fn signed(&self) -> Result<i32, Failure> {
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
