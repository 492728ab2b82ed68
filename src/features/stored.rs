//! A feature set as models store it, in JSON. What is read may have been written by anybody who owns a model, and be of any
//! length: memory is asked for with a way to fail, which what serde derives for lists does not do.

use super::kinds::FeaturePart;
use super::set::{FeatureSet, MOST_PARTS};
use crate::base::json::{self, JsonError};
use pgsvm_core::memory::{list, OutOfMemory, Written};
use pgsvm_core::Spread;
use serde::de::Error;
use serde::Deserializer;
use std::rc::Rc;

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
