//! How a text becomes words, as models store it. Pure.

use pgsvm_expand::Degree;
use serde::{Deserialize, Serialize};

/// What the features of a text are.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextUnit {
    /// Words, lexemes, elements.
    #[default]
    Words,
    /// Runs of characters in lower case, of `least` to `runs` ones.
    Ngrams,
    /// Runs of `runs` characters as they are, counted without idf.
    Spectrum,
    /// Runs of up to `runs` letters of an alphabet, each at its place.
    Degree,
}

impl TextUnit {
    #[allow(clippy::trivially_copy_pass_by_ref)]
    fn is_words(&self) -> bool {
        *self == Self::Words
    }
}

/// How a text becomes words, and words become weights.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TextForm {
    #[serde(skip_serializing_if = "TextUnit::is_words")]
    pub unit: TextUnit,
    /// Of n-grams the shortest.
    #[serde(skip_serializing_if = "is_one")]
    pub least: u32,
    /// Of the weighted degree the letters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alphabet: Option<String>,
    /// The text search configuration whose lexemes are the words, with its schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<String>,
    /// Most words, or characters, of a run that is a feature.
    #[serde(skip_serializing_if = "is_one")]
    pub runs: u32,
    /// Whether 1 + ln tf is in the place of tf.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub sublinear: bool,
    /// Whether `features` must ask for words, as the column alone would be something else.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub asked: bool,
}

impl Default for TextForm {
    fn default() -> Self {
        Self {
            unit: TextUnit::Words,
            least: 1,
            alphabet: None,
            configuration: None,
            runs: 1,
            sublinear: false,
            asked: false,
        }
    }
}

impl TextForm {
    /// Of the weighted degree how strings are read; None of what is something else, or no such form.
    pub fn degree(&self) -> Option<Degree> {
        let alphabet = self.alphabet.as_deref().unwrap_or(Degree::USUAL);
        match self.unit {
            TextUnit::Degree => Degree::new(alphabet, self.runs),
            _ => None,
        }
    }
}

/// Longest runs of characters.
pub const MOST_CHARACTERS: u32 = 64;

/// Runs of one word.
pub fn one() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_one(runs: &u32) -> bool {
    *runs == 1
}
