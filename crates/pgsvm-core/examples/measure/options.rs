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

    /// Complains about keys that were not taken.
    pub fn finish(self) -> Result<()> {
        match self.0.keys().next() {
            Some(key) => Err(format!("unknown key {key}").into()),
            None => Ok(()),
        }
    }
}
