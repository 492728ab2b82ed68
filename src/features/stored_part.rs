//! A part of a feature set as models store it. What is read may have been written by anybody who owns a model, and be of any
//! length: memory is asked for with a way to fail, which what serde derives for enums that are told apart by a field does not do.

use super::category::Hashed;
use super::made_form::Made;
use super::read_text::ReadText;
use super::text_form::{one, Unit};
use pgsvm_core::memory::{list, received, text};
use pgsvm_expand::Words;
use serde::Deserialize;
use std::rc::Rc;

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
    pub made: Option<Made>,
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
    pub unit: Unit,
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
