//! A feature set as models store it, in JSON. What is read may have been written by anybody who owns a model, and be of any
//! length: memory is asked for with a way to fail, which what serde derives for lists, and for enums that are told apart by
//! a field, does not do.

use super::category::{Dictionary, Hashed};
use super::made_form::Made;
use super::set::{FeaturePart, FeatureSet, ReadText, MOST_PARTS};
use super::text_form::{one, TextForm, Unit, MOST_CHARACTERS};
use crate::base::json::{self, JsonError};
use pgsvm_core::memory::{list, received, text, OutOfMemory, Written};
use pgsvm_core::Spread;
use pgsvm_expand::numbers::How;
use pgsvm_expand::{Vocabulary, Words};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::rc::Rc;

/// Every field that a part may have.
#[derive(Deserialize)]
pub struct StoredPart {
    #[serde(deserialize_with = "text")]
    kind: String,
    #[serde(default, deserialize_with = "received")]
    name: Option<String>,
    #[serde(default, rename = "type", deserialize_with = "received")]
    type_name: Option<String>,
    #[serde(default)]
    time: bool,
    reading: Option<ReadText>,
    length: Option<u32>,
    made: Option<Made>,
    #[serde(default, deserialize_with = "received")]
    crossed: Option<(String, String)>,
    #[serde(default)]
    by_number: bool,
    hash_bits: Option<u32>,
    #[serde(default, deserialize_with = "received")]
    index: Option<String>,
    #[serde(default, deserialize_with = "received")]
    index_type: Option<String>,
    #[serde(default, deserialize_with = "received")]
    value: Option<String>,
    #[serde(default, deserialize_with = "received")]
    value_type: Option<String>,
    #[serde(default)]
    asked: bool,
    #[serde(default, deserialize_with = "received")]
    values: Vec<Rc<str>>,
    #[serde(default, deserialize_with = "list")]
    codes: Vec<u32>,
    null_code: Option<u32>,
    hashed: Option<Hashed>,
    #[serde(default, deserialize_with = "received")]
    configuration: Option<String>,
    #[serde(default)]
    unit: Unit,
    #[serde(default = "one")]
    least: u32,
    #[serde(default, deserialize_with = "received")]
    alphabet: Option<String>,
    #[serde(default = "one")]
    runs: u32,
    #[serde(default)]
    sublinear: bool,
    #[serde(default)]
    words: Words,
    #[serde(default, deserialize_with = "list")]
    texts: Vec<u32>,
    #[serde(default)]
    all_texts: u64,
    collisions: Option<f64>,
}

impl TryFrom<StoredPart> for FeaturePart {
    type Error = String;

    fn try_from(part: StoredPart) -> Result<Self, String> {
        let given = |field: Option<String>| field.ok_or("a part of a feature set lacks a field");
        let (name, type_name) = (part.name, part.type_name);
        Ok(match part.kind.as_str() {
            "column" => Self::Column {
                name: given(name)?,
                type_name: given(type_name)?,
                time: part.time,
                reading: part.reading,
            },
            "array" if part.made.as_ref().is_some_and(|made| !made.is_sound()) => {
                return Err("a part of a feature set makes nothing".to_owned())
            }
            "array" => Self::Array {
                name: given(name)?,
                type_name: given(type_name)?,
                length: part.length,
                made: part.made,
            },
            "products" => Self::Products {
                name: given(name)?,
                type_name: given(type_name)?,
                made: part
                    .made
                    .filter(|made| made.how == How::Polynomial && made.is_sound())
                    .ok_or("a part of a feature set makes nothing")?,
                hash_bits: part
                    .hash_bits
                    .filter(|bits| (1..=24).contains(bits))
                    .ok_or("a part of a feature set lacks a field")?,
                collisions: part.collisions,
            },
            "sparse" => Self::Sparse {
                index: given(part.index)?,
                index_type: given(part.index_type)?,
                value: given(part.value)?,
                value_type: given(part.value_type)?,
                hash_bits: part.hash_bits.filter(|bits| (1..=24).contains(bits)),
                collisions: part.collisions,
            },
            "libsvm" => Self::Libsvm {
                name: given(name)?,
                type_name: given(type_name)?,
            },
            "sparsevec" => Self::Sparsevec {
                name: given(name)?,
                type_name: given(type_name)?,
            },
            "category" => Self::Category {
                name: given(name)?,
                type_name: given(type_name)?,
                asked: part.asked,
                by_number: part.by_number && part.crossed.is_some(),
                crossed: part.crossed,
                dictionary: Rc::new(Dictionary::stored(
                    part.values,
                    part.codes,
                    part.null_code,
                    part.hashed,
                )?),
            },
            "text"
                if !(1..=MOST_CHARACTERS).contains(&part.runs)
                    || !(1..=part.runs).contains(&part.least) =>
            {
                return Err("a part of a feature set has runs of no words".to_owned())
            }
            "text" => Self::Text {
                name: given(name)?,
                type_name: given(type_name)?,
                form: TextForm {
                    unit: part.unit,
                    least: part.least,
                    alphabet: part.alphabet,
                    configuration: part.configuration,
                    runs: part.runs,
                    sublinear: part.sublinear,
                    asked: part.asked,
                },
                vocabulary: Rc::new(
                    Vocabulary::stored(part.words, part.texts, part.all_texts)?
                        .with_collisions(part.collisions),
                ),
            },
            _ => return Err("a part of a feature set is of no kind".to_owned()),
        })
    }
}

/// The parts.
pub fn parts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<FeaturePart>, D::Error> {
    let parts: Vec<FeaturePart> = list(from)?;
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
pub fn read(json: &str) -> Result<Option<FeatureSet>, OutOfMemory> {
    match json::read(json) {
        Ok(features) => Ok(Some(features)),
        Err(JsonError::OutOfMemory(_)) => Err(OutOfMemory {
            bytes: json.len() as u64,
        }),
        Err(JsonError::Refused(_)) => Ok(None),
    }
}

/// The stored form.
pub fn write(features: &FeatureSet) -> Result<String, OutOfMemory> {
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
