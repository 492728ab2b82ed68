//! Which columns a model reads, and what training learned of them. Stored with the model.

use super::category::Dictionary;
use super::error::FeatureError;
use super::kernel_form::KernelForm;
use super::made_form::Made;
use super::quoted::quoted;
use super::stored;
use super::text_form::{TextForm, Unit};
use crate::base::text::listed;
use pgrx::spi::{quote_identifier, quote_literal};
use pgsvm_core::memory::{copied, gathered, list, received, OutOfMemory, Room};
use pgsvm_core::{Scaling, Spread};
use pgsvm_expand::{Reading, Vocabulary};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fmt;
use std::rc::Rc;

/// Most parts of a feature set: more than a table has columns, and few enough to go through them for each name.
pub const MOST_PARTS: usize = 10_000;

/// Types of arrays that may hold indices.
const INTEGER_ARRAYS: [&str; 3] = ["smallint[]", "integer[]", "bigint[]"];
/// Bytes that a part takes, with its names, about.
const PART_BYTES: usize = size_of::<FeaturePart>() + 64;

/// One source of features, as the model remembers it. Types are those of the training, by SQL name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "lowercase",
    try_from = "stored::StoredPart"
)]
pub enum FeaturePart {
    /// A number: one dense feature.
    Column {
        name: String,
        #[serde(rename = "type")]
        type_name: String,
        /// A date or timestamp, as seconds since 1970-01-01 00:00 UTC.
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        time: bool,
        /// Where the column is text, how that is read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reading: Option<ReadText>,
    },
    /// An array of numbers: as many dense features as it is long, which the first row tells.
    Array {
        name: String,
        #[serde(rename = "type")]
        type_name: String,
        length: Option<u32>,
        /// Where the numbers are made of those of the column.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        made: Option<Made>,
    },

    /// Two arrays of equal length: indices and values.
    Sparse {
        index: String,
        index_type: String,
        value: String,
        value_type: String,
        /// Where indices are hashed, into two to the power of this.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hash_bits: Option<u32>,
        /// Of the distinct indices that training met and hashed, the share whose feature is that of another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        collisions: Option<f64>,
    },
    /// Text in LIBSVM notation.
    Libsvm {
        name: String,
        #[serde(rename = "type")]
        type_name: String,
    },
    /// pgvector's `sparsevec`, whose indices count from 1.
    Sparsevec {
        name: String,
        #[serde(rename = "type")]
        type_name: String,
    },
    /// Products of numbers, hashed.
    Products {
        name: String,
        #[serde(rename = "type")]
        type_name: String,
        made: Made,
        hash_bits: u32,
        /// As those of sparse parts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        collisions: Option<f64>,
    },
    /// Categories: a feature each, 1 where a row has it.
    Category {
        name: String,
        #[serde(rename = "type")]
        type_name: String,
        /// Whether `features` must ask for categories, as the column alone would be a number.
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        asked: bool,
        /// The column whose values its own are paired with, and its type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        crossed: Option<(String, String)>,
        /// Whether that column is a number, which a row's category has for its value.
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        by_number: bool,
        #[serde(flatten)]
        dictionary: Rc<Dictionary>,
    },
    /// The words of a text: a feature each, with its tf-idf weight.
    Text {
        name: String,
        #[serde(rename = "type")]
        type_name: String,
        #[serde(flatten)]
        form: TextForm,
        #[serde(flatten)]
        vocabulary: Rc<Vocabulary>,
    },
}

/// How a text is a number or a time, and the texts that were none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReadText {
    pub by: Reading,
    /// Whether that is still for the values to say.
    #[serde(skip)]
    pub open: bool,
    /// How many rows had a text that says nothing, which counts as NULL.
    #[serde(default)]
    pub unread: u64,
    /// Some of these texts, or how they begin.
    #[serde(default, deserialize_with = "received")]
    pub such: Vec<String>,
}

impl ReadText {
    /// Texts that are kept, and how much of each.
    const MOST_KEPT: usize = 5;
    const LONGEST_KEPT: usize = 20;

    /// Before a row was read.
    pub fn new(by: Reading) -> Self {
        Self {
            by,
            open: false,
            unread: 0,
            such: Vec::new(),
        }
    }

    /// Notes a text that says nothing.
    pub fn note(&mut self, text: &str) -> Result<(), OutOfMemory> {
        self.unread = self.unread.saturating_add(1);
        if self.such.len() < Self::MOST_KEPT {
            let text: String = text.chars().take(Self::LONGEST_KEPT).collect();
            self.keep(text)?;
        }
        Ok(())
    }

    fn keep(&mut self, text: String) -> Result<(), OutOfMemory> {
        if self.such.len() < Self::MOST_KEPT && !self.such.contains(&text) {
            self.such.room(1)?.push(text);
        }
        Ok(())
    }

    /// Joins what was noted of other rows.
    pub fn join(&mut self, more: &Self) -> Result<(), OutOfMemory> {
        self.unread = self.unread.saturating_add(more.unread);
        for text in &more.such {
            self.keep(text.clone())?;
        }
        Ok(())
    }
}

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

impl FeaturePart {
    /// Whether its features have dense ids.
    pub fn is_dense(&self) -> bool {
        matches!(self, Self::Column { .. } | Self::Array { .. })
    }

    /// How the user names it in `features`: the column, or a form such as `sparse(idx, val)`.
    pub fn name(&self) -> String {
        match self {
            Self::Array {
                name,
                made: Some(made),
                ..
            } => made.name(&quoted(name)),
            Self::Products {
                name,
                made,
                hash_bits,
                ..
            } => format!("hash({}, {hash_bits})", made.name(&quoted(name))),
            Self::Column {
                name,
                reading: Some(_),
                time,
                ..
            } => match time {
                true => format!("time({})", quoted(name)),
                false => format!("number({})", quoted(name)),
            },
            Self::Column { name, .. } | Self::Array { name, .. } | Self::Sparsevec { name, .. } => {
                name.clone()
            }
            Self::Sparse {
                index,
                value,
                hash_bits: Some(bits),
                ..
            } => format!("hash(sparse({}, {}), {bits})", quoted(index), quoted(value)),
            Self::Sparse { index, value, .. } => format!("sparse({index}, {value})"),
            Self::Category {
                name,
                crossed: Some((second, _)),
                ..
            } => format!("cross({}, {})", quoted(name), quoted(second)),
            Self::Libsvm { name, .. } => format!("libsvm({name})"),
            Self::Category { name, asked, .. } => match asked {
                true => format!("category({})", quoted(name)),
                false => name.clone(),
            },
            Self::Text { name, form, .. } => text_name(name, form),
        }
    }

    /// The entry of `features` that makes it again: its name, with columns quoted that have to be.
    pub fn entry(&self) -> String {
        match self {
            Self::Sparse {
                index,
                value,
                hash_bits: None,
                ..
            } => format!("sparse({}, {})", quoted(index), quoted(value)),
            Self::Libsvm { name, .. } => format!("libsvm({})", quoted(name)),
            part => part.name(),
        }
    }

    /// Whether it is an array of numbers as they are; and whether these are integers.
    fn is_plain_array(&self) -> Option<bool> {
        match self {
            Self::Array {
                type_name,
                made: None,
                ..
            } => Some(INTEGER_ARRAYS.contains(&type_name.as_str())),
            _ => None,
        }
    }

    /// The columns it reads.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        let (first, second) = match self {
            Self::Column { name, .. }
            | Self::Array { name, .. }
            | Self::Products { name, .. }
            | Self::Libsvm { name, .. }
            | Self::Sparsevec { name, .. }
            | Self::Category { name, .. }
            | Self::Text { name, .. } => (name, None),
            Self::Sparse { index, value, .. } => (index, Some(value)),
        };
        let others = self.made().map_or(&[][..], |made| &made.others);
        let others = others.iter().chain(self.crossed());
        let others = others.map(|(name, _)| name.as_str());
        core::iter::once(first.as_str())
            .chain(second.map(String::as_str))
            .chain(others)
    }

    /// The SQL type of its first column.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Column { type_name, .. }
            | Self::Array { type_name, .. }
            | Self::Products { type_name, .. }
            | Self::Libsvm { type_name, .. }
            | Self::Sparsevec { type_name, .. }
            | Self::Category { type_name, .. }
            | Self::Text { type_name, .. } => type_name,
            Self::Sparse { value_type, .. } => value_type,
        }
    }

    /// The part as it is before the first row.
    fn unlearned(&self) -> Self {
        let mut part = self.clone();
        match &mut part {
            Self::Array { length, made, .. } => {
                *length = None;
                *made = made.as_ref().map(Made::unlearned);
            }
            Self::Category { dictionary, .. } => *dictionary = Rc::default(),
            Self::Text { vocabulary, .. } => *vocabulary = Rc::default(),
            Self::Sparse { collisions, .. } => *collisions = None,
            Self::Products {
                made, collisions, ..
            } => (*made, *collisions) = (made.unlearned(), None),
            Self::Column {
                reading: Some(reading),
                time,
                ..
            } => {
                *reading = ReadText::new(match time {
                    true => Reading::Ymd,
                    false => Reading::Number,
                });
            }
            Self::Column { .. } | Self::Sparsevec { .. } | Self::Libsvm { .. } => {}
        }
        part
    }

    /// Which texts are none that should be numbers or times, where there are such.
    pub fn unread_sentence(&self) -> Option<String> {
        match self {
            Self::Column {
                reading: Some(reading),
                ..
            } if reading.unread > 0 => {
                let such: Vec<_> = reading.such.iter().map(quote_literal).collect();
                let such = listed(&such);
                Some(format!("In {} {such} counts as NULL.", self.name()))
            }
            _ => None,
        }
    }

    /// Forgets which texts were none, before rows are read anew.
    pub fn begin_reading(&mut self) {
        if let Self::Column {
            reading: Some(reading),
            ..
        } = self
        {
            *reading = ReadText::new(reading.by);
        }
    }

    /// The entry of `features` that takes its column for categories.
    pub fn as_category(&self) -> String {
        format!(
            "category({})",
            quoted(self.columns().next().unwrap_or_default())
        )
    }

    /// The entry that reads its text as a number.
    pub fn as_number(&self) -> String {
        format!(
            "number({})",
            quoted(self.columns().next().unwrap_or_default())
        )
    }

    /// Whether it is a column that is a number, and no time.
    pub fn is_number(&self) -> bool {
        matches!(self, Self::Column { time: false, .. })
    }

    /// Whether another part reads the same columns in the same way, whatever rows have taught.
    pub fn same_as(&self, other: &Self) -> bool {
        self.unlearned() == other.unlearned()
    }

    /// Of a category column the one whose values its own are paired with.
    pub fn crossed(&self) -> Option<&(String, String)> {
        match self {
            Self::Category { crossed, .. } => crossed.as_ref(),
            _ => None,
        }
    }

    /// What it makes of numbers.
    pub fn made(&self) -> Option<&Made> {
        match self {
            Self::Array { made, .. } => made.as_ref(),
            Self::Products { made, .. } => Some(made),
            _ => None,
        }
    }

    /// The same text in a column of another name.
    pub fn renamed(&self, column: &str) -> Self {
        let mut part = self.clone();
        if let Self::Text { name, .. } = &mut part {
            column.clone_into(name);
        }
        part
    }

    /// Has the products that an array part makes of numbers hashed.
    pub fn hash_products(&mut self, bits: u32) {
        if let Self::Array {
            name,
            type_name,
            made: made @ Some(_),
            ..
        } = self
        {
            let (name, type_name) = (core::mem::take(name), core::mem::take(type_name));
            if let Some(made) = made.take() {
                *self = Self::Products {
                    name,
                    type_name,
                    made,
                    hash_bits: bits,
                    collisions: None,
                };
            }
        }
    }

    /// The words of its texts, where it holds such.
    pub fn vocabulary(&self) -> Option<&Vocabulary> {
        match self {
            Self::Text { vocabulary, .. } => Some(vocabulary),
            _ => None,
        }
    }

    /// Of the distinct values that training met and hashed, the share whose feature is that of another one; None where none is, or
    /// nobody counted.
    pub fn collisions(&self) -> Option<f64> {
        match self {
            Self::Text { vocabulary, .. } => vocabulary.collisions(),
            Self::Category { dictionary, .. } => dictionary.collisions(),
            Self::Sparse { collisions, .. } | Self::Products { collisions, .. } => *collisions,
            _ => None,
        }
    }

    /// Of the weighted degree the place from 0, and the letters, of the feature with this number.
    pub fn run(&self, number: u64) -> Option<(u64, String)> {
        match self {
            Self::Text { form, .. } => form.degree().map(|degree| degree.run(number)),
            _ => None,
        }
    }

    /// Whether it holds texts of which nothing is known yet.
    pub fn is_unlearned_text(&self) -> bool {
        match self {
            Self::Text {
                form, vocabulary, ..
            } => form.unit != Unit::Degree && !vocabulary.is_learned(),
            _ => false,
        }
    }

    /// The codes of its values, where it is a category column.
    pub fn dictionary(&self) -> Option<&Dictionary> {
        match self {
            Self::Category { dictionary, .. } => Some(dictionary),
            _ => None,
        }
    }
}

impl FeatureSet {
    /// The same error; where lengths of arrays differ, with the two columns that may be indices and their values.
    #[cold]
    pub(super) fn paired(&self, mut error: FeatureError) -> FeatureError {
        if let FeatureError::Length { column, pair, .. } = &mut error {
            let arrays = self
                .parts
                .iter()
                .filter(|part| part.is_plain_array().is_some());
            let arrays: Vec<_> = arrays.take(3).collect();
            if let [one, other] = arrays[..] {
                let both = match (one.is_plain_array(), other.is_plain_array()) {
                    (Some(true), Some(false)) => Some((one.name(), other.name())),
                    (Some(false), Some(true)) => Some((other.name(), one.name())),
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
        let mut dense = 0;
        let constant = |part: &&FeaturePart| match part {
            FeaturePart::Column { .. } => {
                dense += 1;
                self.deviation(dense - 1) == Some(0.0)
            }
            FeaturePart::Array { length, .. } => {
                dense += length.map_or(0, u64::from);
                false
            }
            FeaturePart::Category {
                by_number: true, ..
            } => false,
            other => other.dictionary().is_some_and(|values| values.len() == 1),
        };
        self.parts
            .iter()
            .filter(constant)
            .map(FeaturePart::name)
            .collect()
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
            if let FeaturePart::Text { form, .. } = part {
                form.sublinear = sublinear && form.unit != Unit::Degree;
            }
        }
    }

    /// The parts as the user names them.
    pub fn names(&self) -> String {
        let names: Vec<_> = self.parts.iter().map(FeaturePart::name).collect();
        listed(&names)
    }

    /// Number of dense features; None while the length of an array is unknown.
    pub fn dense_count(&self) -> Option<usize> {
        self.parts.iter().try_fold(0usize, |sum, part| match part {
            FeaturePart::Column { .. } => Some(sum + 1),
            FeaturePart::Array { length, .. } => length.map(|length| sum + length as usize),
            _ => Some(sum),
        })
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
        self.parts.iter().filter_map(|part| match part {
            FeaturePart::Category {
                name, dictionary, ..
            } => Some((name.as_str(), &**dictionary)),
            _ => None,
        })
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

/// A text as `features` asks for it: a vector or an array of words by its column alone.
fn text_name(name: &str, form: &TextForm) -> String {
    let (name_given, last) = (quoted(name), form.runs);
    match (form.unit, &form.alphabet) {
        (Unit::Words, _) => {}
        (Unit::Ngrams, _) => return format!("ngrams({name_given}, {}, {last})", form.least),
        (Unit::Spectrum, _) => return format!("spectrum({name_given}, {last})"),
        (Unit::Degree, None) => return format!("weighted_degree({name_given}, {last})"),
        (Unit::Degree, Some(letters)) => {
            let letters = quoted(letters);
            return format!("weighted_degree({name_given}, {last}, {letters})");
        }
    }
    let configuration = form.configuration.iter().map(|it| quoted(it));
    let runs = (form.runs > 1).then(|| form.runs.to_string());
    let more: Vec<_> = configuration.chain(runs).collect();
    match (form.asked, more.is_empty()) {
        (false, _) => name.to_owned(),
        (true, true) => format!("text({})", quoted(name)),
        (true, false) => format!("text({}, {})", quoted(name), more.join(", ")),
    }
}
