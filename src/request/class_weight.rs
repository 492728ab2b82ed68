//! The argument `class_weight`. Pure.

use crate::base::errors::{shortened, shown, Failure};
use crate::base::json;
use crate::base::near;
use crate::request::words::invalid;
use pgsvm_core::memory::{all_of, received};
use pgsvm_core::Balance;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How much the classes count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ClassWeight {
    /// All the same.
    Equal,
    /// Each as much as every other, whatever the number of its rows, in the head that takes it for positive.
    Balanced,
    /// The same in every head.
    BalancedExamples,
    /// By label, 1 for those not named.
    ByLabel(#[serde(deserialize_with = "received")] Vec<(String, f64)>),
}

/// What svm_version has for [`ClassWeight::Balanced`]: "balanced" there, which 0.2.0 wrote, is what
/// [`ClassWeight::BalancedExamples`] is.
const BALANCED_HEADS: &str = "balanced_heads";

const BALANCED: &str = "balanced";
const BALANCED_EXAMPLES: &str = "balanced_examples";

impl ClassWeight {
    /// The argument `class_weight` that stands for what svm_version has.
    pub fn argument(stored: &str) -> &str {
        match stored {
            BALANCED => BALANCED_EXAMPLES,
            other => other,
        }
    }

    /// Whether all classes count as much, whatever the number of their rows.
    pub fn is_balanced(&self) -> bool {
        matches!(self, Self::Balanced | Self::BalancedExamples)
    }

    /// Whether all classes count as their rows do.
    pub fn is_equal(&self) -> bool {
        match self {
            Self::Equal => true,
            Self::Balanced | Self::BalancedExamples => false,
            Self::ByLabel(weights) => weights.iter().all(|(_, weight)| *weight == 1.0),
        }
    }

    /// Weights by label.
    pub fn by_label(&self) -> &[(String, f64)] {
        match self {
            Self::ByLabel(weights) => weights,
            Self::Equal | Self::Balanced | Self::BalancedExamples => &[],
        }
    }

    /// What the pure reader is to balance, where up to so many classes are told apart two by two.
    pub fn balance(&self, pairs_up_to: usize) -> Balance {
        match self {
            Self::Balanced => Balance::PositivesBeyond(pairs_up_to.max(2)),
            Self::BalancedExamples => Balance::Examples,
            Self::Equal | Self::ByLabel(_) => Balance::None,
        }
    }

    /// As svm_version keeps it.
    pub fn json(&self) -> Option<serde_json::Value> {
        match self {
            Self::Equal => None,
            Self::Balanced => Some(BALANCED_HEADS.into()),
            Self::BalancedExamples => Some(BALANCED_EXAMPLES.into()),
            Self::ByLabel(weights) => {
                let entries = weights
                    .iter()
                    .map(|(label, weight)| (label.clone(), (*weight).into()));
                Some(serde_json::Value::Object(entries.collect()))
            }
        }
    }
}

/// `class_weight`: NULL, a word, or a JSON object of labels and their weights.
pub(super) fn class_weight(given: Option<&str>) -> Result<ClassWeight, Failure> {
    let Some(given) = given else {
        return Ok(ClassWeight::Equal);
    };
    match given.trim_matches('"') {
        BALANCED | BALANCED_HEADS => Ok(ClassWeight::Balanced),
        BALANCED_EXAMPLES => Ok(ClassWeight::BalancedExamples),
        _ => by_label(given),
    }
}

const HINT: &str =
    "class_weight => 'balanced', or by label: class_weight => '{\"yes\": 5, \"no\": 1}'";

fn by_label(given: &str) -> Result<ClassWeight, Failure> {
    if !json::is_small(given) {
        let reason = json::TOO_LARGE;
        return Err(invalid(format!("class_weight cannot be read: {reason}")).hint(HINT));
    }
    let map: Map<String, Value> = json::read(given).map_err(|_| {
        let near = near::meant(given, &[BALANCED, BALANCED_EXAMPLES]);
        let given = shortened(given);
        invalid(format!("class_weight '{given}' is not understood")).hint(match near {
            Some(near) => format!("Perhaps '{near}' is meant. {HINT}"),
            None => HINT.to_owned(),
        })
    })?;
    let weights = all_of(map.into_iter().map(positive))?;
    Ok(ClassWeight::ByLabel(weights))
}

fn positive((label, weight): (String, Value)) -> Result<(String, f64), Failure> {
    let number = weight.as_f64();
    match number.filter(|number| *number > 0.0 && number.is_finite()) {
        Some(number) => Ok((label, number)),
        None => Err(invalid(format!(
            "the class weight of \"{}\" must be a positive number, not {}",
            shortened(&label),
            shown(&weight)
        ))
        .hint(HINT)),
    }
}
