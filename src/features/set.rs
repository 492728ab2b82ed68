//! Which columns a model reads, and what training learned of them. Stored with the model.

use super::error::FeatureError;
use super::kernel_form::KernelForm;
use super::kinds::category::dictionary::Dictionary;
use super::kinds::text::form::TextUnit;
use super::kinds::{ArrayPart, CategoryPart, FeaturePart, TextPart};
use super::stored::{self, MOST_PARTS};
use crate::base::text::listed;
use core::ops::Range;
use pgrx::spi::quote_identifier;
use pgsvm_core::memory::{copied, gathered, list, received, OutOfMemory};
use pgsvm_core::{Scaling, Spread};
use pgsvm_expand::Vocabulary;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fmt;
use std::rc::Rc;

/// Bytes that a part takes, with its names, about.
const PART_BYTES: usize = size_of::<FeaturePart>() + 64;

/// Everything a model reads, in order.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FeatureSet {
    #[serde(deserialize_with = "stored::parts")]
    pub parts: Vec<FeaturePart>,
    /// NULLs that training met in each part; empty where nobody counted.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "list"
    )]
    pub nulls: Vec<u64>,
    /// With `Nulls::Mean` what stands for NULL in each dense feature; else empty.
    #[serde(
        default,
        skip_serializing_if = "stored::is_empty",
        deserialize_with = "stored::means"
    )]
    pub means: Rc<Vec<f64>>,
    /// Mean and deviation in the rows trained on, by feature id, as far as they are known.
    #[serde(default, skip_serializing_if = "stored::is_unknown")]
    pub spread: Rc<Spread>,
    /// Columns that nobody named, which training left out for what their values are.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "received"
    )]
    pub left_out: Vec<String>,
    /// Whether training left out rows that cannot be used; then there is no prediction of such a row, as of one with a NULL where
    /// those were left out.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub skips_bad_rows: bool,
    /// The same as `left_out` of those that had one value only.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "received"
    )]
    pub constant: Vec<String>,
    /// Where rows are divided by their length, how they are scaled before that: then weights are for such rows, and not for
    /// those that come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit_rows: Option<Rc<Scaling>>,
    /// Of a kernel machine: how rows are compared with landmarks, whose weights there are in place of the features'.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Rc<KernelForm>>,
}

/// A column that training leaves out because its type is none that features come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedColumn {
    pub name: String,
    pub type_name: String,
}

impl fmt::Display for SkippedColumn {
    /// With its type, and the cast by which it is a category where there is one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, type_name } = self;
        write!(f, "{name} ({type_name}")?;
        let bare = type_name.split('(').next().unwrap_or_default();
        let bare = bare.trim_matches('"');
        match bare {
            "bit" | "bit varying" | "inet" | "cidr" | "macaddr" | "macaddr8" => {
                write!(f, "; {}::text is a category", quote_identifier(name))?;
            }
            "json" | "jsonb" => {
                write!(f, "; {} ->> 'field' is a category", quote_identifier(name))?;
            }
            _ => {}
        }
        write!(f, ")")
    }
}

impl FeatureSet {
    /// Of which nothing but the parts is known.
    pub fn of(parts: Vec<FeaturePart>) -> Self {
        Self {
            parts,
            ..Self::default()
        }
    }

    /// The same error; where lengths of arrays differ, with the two columns that may be indices and their values.
    #[cold]
    pub(super) fn paired(&self, mut error: FeatureError) -> FeatureError {
        if let FeatureError::Length { column, pair, .. } = &mut error {
            let arrays = self.parts.iter().filter_map(|part| {
                let holds_integers = part.as_one::<ArrayPart>()?.holds_integers()?;
                Some((part.name(), holds_integers))
            });
            let arrays: Vec<_> = arrays.take(3).collect();
            if let [one, other] = &arrays[..] {
                let both = match (one.1, other.1) {
                    (true, false) => Some((one.0.clone(), other.0.clone())),
                    (false, true) => Some((other.0.clone(), one.0.clone())),
                    _ => None,
                };
                *pair = both.filter(|(index, value)| [index, value].contains(&&*column));
            }
        }
        error
    }

    /// A copy.
    pub fn copied(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            nulls: copied(&self.nulls)?,
            means: self.means.clone(),
            constant: gathered(self.constant.iter().cloned())?,
            unit_rows: self.unit_rows.clone(),
            kernel: self.kernel.clone(),
            ..self.without_data()?
        })
    }

    /// A copy without what is counted of the rows.
    pub fn without_data(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            parts: gathered(self.parts.iter().cloned())?,
            left_out: gathered(self.left_out.iter().cloned())?,
            spread: self.spread.clone(),
            skips_bad_rows: self.skips_bad_rows,
            ..Self::default()
        })
    }

    /// Whether training met a NULL.
    pub fn has_nulls(&self) -> bool {
        self.nulls.iter().any(|count| *count > 0)
    }

    /// Reads the stored form. None when it is none.
    pub fn from_json(json: &str) -> Result<Option<Self>, OutOfMemory> {
        let set: Option<Self> = stored::read(json)?;
        Ok(set.filter(|set| set.parts.len() <= MOST_PARTS))
    }

    /// The form in which models store it.
    pub fn to_json(&self) -> Result<String, OutOfMemory> {
        stored::write(self)
    }

    /// Columns that had one value in the rows trained on, as far as that is known.
    pub fn of_one_value(&self) -> Vec<String> {
        let constant = |(part, dense): &(&FeaturePart, Range<usize>)| match part.as_one() {
            Some(CategoryPart {
                by_number,
                dictionary,
                ..
            }) => !by_number && dictionary.len() == 1,
            None => part.is_one_value() && self.deviation(dense.start as u64) == Some(0.0),
        };
        let constant = self.dense_places().filter(constant);
        constant.map(|(part, _)| part.name()).collect()
    }

    /// The columns it reads, each once, in order of first use: what a source query must select.
    pub fn columns(&self) -> Vec<&str> {
        let mut known = HashSet::new();
        let all = self.parts.iter().flat_map(FeaturePart::columns);
        all.filter(|column| known.insert(*column)).collect()
    }

    /// Whether the other set reads the same columns, of the same types and in the same way; what was learned from rows
    /// may differ.
    pub fn same_columns(&self, other: &Self) -> bool {
        let same = |(one, other): (&FeaturePart, &FeaturePart)| one.same_as(other);
        self.parts.len() == other.parts.len() && self.parts.iter().zip(&other.parts).all(same)
    }

    /// Has texts count a word that comes often with 1 + ln tf in place of tf, or not.
    pub fn weigh_sublinearly(&mut self, sublinear: bool) {
        for part in &mut self.parts {
            if let Some(TextPart { form, .. }) = part.as_one_mut() {
                form.sublinear = sublinear && form.unit != TextUnit::Degree;
            }
        }
    }

    /// The parts as the user names them.
    pub fn names(&self) -> String {
        let names: Vec<_> = self.parts.iter().map(|part| part.name()).collect();
        listed(&names)
    }

    /// Number of dense features; None while the length of an array is unknown.
    pub fn dense_count(&self) -> Option<usize> {
        let mut widths = self.parts.iter().map(|part| part.width());
        widths.try_fold(0, |sum, width| Some(sum + width? as usize))
    }

    /// The parts, and the places of their dense features among all; those of unknown number count none.
    pub fn dense_places(&self) -> impl Iterator<Item = (&FeaturePart, Range<usize>)> {
        let mut next = 0;
        self.parts.iter().map(move |part| {
            let first = next;
            next += part.width().unwrap_or(0) as usize;
            (part, first..next)
        })
    }

    /// The sparse parts that have numbers of their own, which is all of them but the category columns.
    pub fn lone_sparse_parts(&self) -> impl Iterator<Item = &FeaturePart> {
        let parts = self.parts.iter();
        parts.filter(|part| !part.is_dense() && part.dictionary().is_none())
    }

    /// Number of parts with dense features.
    pub fn dense_parts(&self) -> usize {
        self.parts.iter().filter(|part| part.is_dense()).count()
    }

    /// Number of sparse parts, all category columns together being one: the S of the feature ids.
    pub fn sparse_parts(&self) -> usize {
        let categories = self.categories().count();
        self.parts.len() - self.dense_parts() - categories + usize::from(categories > 0)
    }

    /// The category columns and the codes of their values.
    pub fn categories(&self) -> impl Iterator<Item = (&str, &Dictionary)> {
        let categories = self.parts.iter().filter_map(FeaturePart::as_one);
        categories.map(|it: &CategoryPart| (it.name.as_str(), &*it.dictionary))
    }

    /// The mean of a feature in the rows trained on, where it is known.
    pub fn mean(&self, feature: u64) -> Option<f64> {
        self.spread
            .mean
            .get(usize::try_from(feature).ok()?)
            .copied()
    }

    /// The same of its standard deviation.
    pub fn deviation(&self, feature: u64) -> Option<f64> {
        let known = &self.spread.deviation;
        known.get(usize::try_from(feature).ok()?).copied()
    }

    /// Bytes it takes, about.
    pub fn bytes(&self) -> usize {
        let parts = self.parts.len() * PART_BYTES;
        let dictionaries = self.categories().map(|(_, dictionary)| dictionary.bytes());
        let words = self.parts.iter().filter_map(FeaturePart::vocabulary);
        let words: usize = words.map(Vocabulary::bytes).sum();
        let scaling = self
            .unit_rows
            .as_ref()
            .map_or(0, |scaling| 2 * scaling.dense + scaling.sparse_factor.len());
        let kernel = self.kernel.as_ref().map_or(0, |kernel| kernel.bytes());
        let numbers = self.means.len() + 2 * self.spread.deviation.len() + scaling;
        parts + kernel + words + dictionaries.sum::<usize>() + numbers * size_of::<f64>()
    }
}
