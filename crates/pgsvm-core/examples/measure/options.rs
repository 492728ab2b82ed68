//! `key=value` arguments; a key that nobody asks for is an error.

use std::collections::HashMap;
use std::fmt::Display;
use std::str::FromStr;

use crate::Result;

pub struct Options(HashMap<String, String>);

impl Options {
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Self> {
        arguments
            .map(|argument| match argument.split_once('=') {
                Some((key, value)) => Ok((key.into(), value.into())),
                None => Err(format!("{argument} is not of the form key=value").into()),
            })
            .collect::<Result<_>>()
            .map(Self)
    }

    /// The value of a key, which then counts as known.
    pub fn take(&mut self, key: &str) -> Option<String> {
        self.0.remove(key)
    }

    /// The same as a number, or `default`.
    pub fn number<T: FromStr<Err: Display>>(&mut self, key: &str, default: T) -> Result<T> {
        match self.take(key) {
            Some(value) => value
                .parse()
                .map_err(|error| format!("{key}={value}: {error}").into()),
            None => Ok(default),
        }
    }

    /// What the word of a key stands for; the first where the key is not given.
    pub fn word<T: Copy>(&mut self, key: &str, words: &[(&str, T)]) -> Result<T> {
        let Some(given) = self.take(key) else {
            return Ok(words[0].1);
        };
        let known = words.iter().find(|(word, _)| *word == given);
        known
            .map(|(_, value)| *value)
            .ok_or_else(|| format!("unknown {key} {given}").into())
    }

    /// Complains about keys that were not taken.
    pub fn finish(self) -> Result<()> {
        match self.0.keys().next() {
            Some(key) => Err(format!("unknown key {key}").into()),
            None => Ok(()),
        }
    }
}
