//! How a text becomes words, as models store it. Pure.

use serde::{Deserialize, Serialize};

/// How a text becomes words, and words become weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TextForm {
    /// The text search configuration whose lexemes are the words, with its schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<String>,
    /// Most words of a run that is a feature.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub runs: u32,
    /// Whether 1 + ln tf is in the place of tf.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub sublinear: bool,
    /// Whether `features` must ask for words, as the column alone would be something else.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub asked: bool,
}

impl Default for TextForm {
    fn default() -> Self {
        Self {
            configuration: None,
            runs: 1,
            sublinear: false,
            asked: false,
        }
    }
}

/// Runs of one word.
pub fn one() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_one(runs: &u32) -> bool {
    *runs == 1
}
