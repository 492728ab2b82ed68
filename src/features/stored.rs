//! A feature set as models store it, in JSON. What is read may have been written by anybody who owns a model, and be of any
//! length: memory is asked for with a way to fail, which what serde derives for lists, and for enums that are told apart by
//! a field, does not do.

use super::kinds::category::dictionary::Hashed;
use super::kinds::made::MadeFeature;
use super::kinds::text::form::{one, TextUnit};
use super::read_text::ReadText;
use crate::base::json::{self, JsonError};
use pgsvm_core::memory::{list, received, text, OutOfMemory, Written};
use pgsvm_core::Spread;
use pgsvm_expand::Words;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use std::rc::Rc;

/// Most parts of a feature set: more than a table has columns, and few enough to go through them for each name.
pub const MOST_PARTS: usize = 10_000;

/// Every field that a part may have.
#[derive(Deserialize)]
pub struct StoredPart {
    #[serde(deserialize_with = "text")]
    pub kind: String,
    #[serde(default, deserialize_with = "received")]
    pub name: Option<String>,
    #[serde(default, rename = "type", deserialize_with = "received")]
    pub type_name: Option<String>,
    #[serde(default)]
    pub time: bool,
    pub reading: Option<ReadText>,
    pub length: Option<u32>,
    pub made: Option<MadeFeature>,
    #[serde(default, deserialize_with = "received")]
    pub crossed: Option<(String, String)>,
    #[serde(default)]
    pub by_number: bool,
    pub hash_bits: Option<u32>,
    #[serde(default, deserialize_with = "received")]
    pub index: Option<String>,
    #[serde(default, deserialize_with = "received")]
    pub index_type: Option<String>,
    #[serde(default, deserialize_with = "received")]
    pub value: Option<String>,
    #[serde(default, deserialize_with = "received")]
    pub value_type: Option<String>,
    #[serde(default)]
    pub asked: bool,
    #[serde(default, deserialize_with = "received")]
    pub values: Vec<Rc<str>>,
    #[serde(default, deserialize_with = "list")]
    pub codes: Vec<u32>,
    pub null_code: Option<u32>,
    pub hashed: Option<Hashed>,
    #[serde(default, deserialize_with = "received")]
    pub configuration: Option<String>,
    #[serde(default)]
    pub unit: TextUnit,
    #[serde(default = "one")]
    pub least: u32,
    #[serde(default, deserialize_with = "received")]
    pub alphabet: Option<String>,
    #[serde(default = "one")]
    pub runs: u32,
    #[serde(default)]
    pub sublinear: bool,
    #[serde(default)]
    pub words: Words,
    #[serde(default, deserialize_with = "list")]
    pub texts: Vec<u32>,
    #[serde(default)]
    pub all_texts: u64,
    pub collisions: Option<f64>,
}

/// What a part must have.
pub fn given<T>(field: Option<T>) -> Result<T, String> {
    field.ok_or_else(|| "a part of a feature set lacks a field".to_owned())
}

/// The parts.
pub fn parts<'de, D, Part>(from: D) -> Result<Vec<Part>, D::Error>
where
    D: Deserializer<'de>,
    Part: Deserialize<'de>,
{
    let parts: Vec<Part> = list(from)?;
    match parts.len() <= MOST_PARTS {
        true => Ok(parts),
        false => Err(D::Error::custom("a feature set has too many parts")),
    }
}

/// The means.
pub fn means<'de, D: Deserializer<'de>>(from: D) -> Result<Rc<Vec<f64>>, D::Error> {
    list(from).map(Rc::new)
}

/// Whether there are no means.
#[allow(clippy::rc_buffer)]
pub fn is_empty(means: &Rc<Vec<f64>>) -> bool {
    means.is_empty()
}

/// Whether nothing is known of how far features spread.
#[allow(clippy::rc_buffer)]
pub fn is_unknown(spread: &Rc<Spread>) -> bool {
    spread.is_empty()
}

/// Reads the stored form. None when it is none.
pub fn read<Set: DeserializeOwned>(json: &str) -> Result<Option<Set>, OutOfMemory> {
    match json::read(json) {
        Ok(features) => Ok(Some(features)),
        Err(JsonError::OutOfMemory(_)) => Err(OutOfMemory {
            bytes: json.len() as u64,
        }),
        Err(JsonError::Refused(_)) => Ok(None),
    }
}

/// The stored form.
pub fn write(features: &impl Serialize) -> Result<String, OutOfMemory> {
    let mut written = Written::default();
    let bytes = |written: &Written| OutOfMemory {
        bytes: written.0.len() as u64,
    };
    match serde_json::to_writer(&mut written, features) {
        Ok(()) => String::from_utf8(written.0).map_err(|_| OutOfMemory { bytes: 0 }),
        // nothing else can go wrong with plain values
        Err(_) => Err(bytes(&written)),
    }
}
