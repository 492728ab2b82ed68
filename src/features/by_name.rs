//! The columns of a source by name.

use super::entry::unquoted;
use super::error::FeatureError;
use crate::base::near;
use crate::pg::query::Column;
use crate::pg::types::type_name;
use pgsvm_core::memory::{OutOfMemory, Room};
use std::collections::HashMap;

/// The columns of a source, found by name without going through all of them each time.
pub struct ByName<'a> {
    pub all: &'a [Column],
    /// Where the first of each name stands, and whether it is the only one.
    places: HashMap<&'a str, (usize, bool)>,
}

impl<'a> ByName<'a> {
    pub fn new(all: &'a [Column]) -> Result<Self, OutOfMemory> {
        let mut places = HashMap::new();
        places.room(all.len())?;
        for (at, column) in all.iter().enumerate() {
            places
                .entry(column.name.as_str())
                .and_modify(|(_, only)| *only = false)
                .or_insert((at, true));
        }
        Ok(Self { all, places })
    }

    pub fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// The only column of that name.
    pub fn find(&self, name: &str) -> Result<&'a Column, FeatureError> {
        Ok(&self.all[self.place(name)?])
    }

    /// Where it stands, and the column.
    pub fn place_of(&self, name: &str) -> Result<(usize, &'a Column), FeatureError> {
        let at = self.place(name)?;
        Ok((at, &self.all[at]))
    }

    /// Where it stands.
    pub fn place(&self, name: &str) -> Result<usize, FeatureError> {
        match self.places.get(name) {
            Some((at, true)) => Ok(*at),
            Some((_, false)) => Err(FeatureError::AmbiguousColumn {
                column: name.to_owned(),
            }),
            None => {
                let known = self.all.iter().map(|column| column.name.as_str());
                Err(FeatureError::MissingColumn {
                    column: name.to_owned(),
                    near: near::names(&unquoted(name), known),
                })
            }
        }
    }
}

/// The type's name as SQL writes it.
pub fn type_of(column: &Column) -> String {
    type_name(column.type_oid, column.typmod)
}

pub fn wrong_type(column: &Column, expected: &'static str) -> FeatureError {
    FeatureError::Type {
        column: column.name.clone(),
        type_name: type_of(column),
        expected,
    }
}
