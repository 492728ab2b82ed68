//! Everything that can be wrong with features; `error_words` says it.

use super::kinds::category::dictionary::{KeyCount, NumberUnit};
use crate::base::errors::{About, Code, Failure};
use pgsvm_core::OutOfMemory;

/// What is wrong with a list of features or with a row's values. Columns are named as the user
/// names them.
#[derive(Debug, Clone, PartialEq)]
pub enum FeatureError {
    /// A feature names a column that the source does not have; the nearest names that it has.
    MissingColumn { column: String, near: Vec<String> },
    /// Several of these.
    Several(Vec<FeatureError>),
    /// A column is both among the features and to be left out.
    Excluded { column: String },
    /// Two columns of the source have the name of a feature.
    AmbiguousColumn { column: String },
    /// An entry of `features` is neither a column nor a form that is known.
    Entry { entry: String },
    /// A comma of this entry has split it; all entries with their parentheses together again.
    Split { entry: String, entries: Vec<String> },
    /// An entry of `features` asks for runs of so many words.
    Runs { entry: String, given: i64 },
    /// An entry of `features` that makes too many numbers of numbers.
    TooManyMade { entry: String, most: usize },
    /// An entry of `features` that makes numbers of numbers with a degree, or buckets or knots, that cannot be.
    Making { entry: String },
    /// Columns to be crossed that do not go together.
    Crossed { entry: String },
    /// An entry of `features` hashes into so many bits.
    HashBits { entry: String },
    /// An entry of `features` asks for runs of so many characters.
    Characters { entry: String },
    /// A character of a string, at this place from 1, is no letter of the alphabet.
    Letter {
        column: String,
        place: u64,
        byte: u8,
        alphabet: String,
    },
    /// There is no text search configuration of this name; what PostgreSQL says.
    Configuration { name: String, reason: String },
    /// No word of a text column is in as many rows as it must be.
    NoWords { column: String },
    /// An entry of `features` appears twice.
    Duplicate { entry: String },
    /// `features` has so many entries.
    TooMany { entries: usize },
    /// The label column is among the features.
    Label { column: String },
    /// Category columns that look like keys; the columns that are left out already, None where `features` names them.
    Keys {
        keys: Vec<(String, KeyCount)>,
        /// Those that are numbers with a unit behind, and that unit.
        units: Vec<(String, NumberUnit)>,
        left_out: Option<Vec<String>>,
    },
    /// A text column that looks like a key because its values are numbers; values that are none.
    Numbers {
        column: String,
        others: Vec<String>,
        /// The features with it read as a number, and without it; nothing of very many.
        read: Vec<String>,
        without: Vec<String>,
        /// The columns that are left out already; None where somebody named the features.
        left_out: Option<Vec<String>>,
    },
    /// A category of so many bytes.
    LongCategory { column: String, bytes: usize },
    /// A category, class or fold that is no UTF-8, where the database has another encoding; its first bytes.
    NotUtf8 { column: String, bytes: Vec<u8> },
    /// Categories need more feature ids than there are.
    TooManyCategories { column: String },
    /// A column of a type that the part cannot read, and what it reads.
    Type {
        column: String,
        type_name: String,
        expected: &'static str,
    },
    /// `features` is NULL and no column can be used, or it is an empty array; the columns that are of other types.
    Nothing { columns: Vec<String> },
    /// All columns that could be features are left out, each for the reason that stands behind it.
    AllLeftOut { columns: Vec<String> },
    /// An array of another length than the first one.
    Length {
        column: String,
        length: usize,
        expected: usize,
        /// Two columns that may be one sparse vector.
        pair: Option<(String, String)>,
    },
    /// An array without elements.
    Empty { column: String },
    /// An array with this many dimensions.
    Dimensions { column: String, dimensions: i32 },
    /// NULL counts as zero, but how long the array is nobody knows yet.
    UnknownLength { column: String },
    /// Indices and values of a sparse part differ in number.
    SparseLength {
        part: String,
        indices: usize,
        values: usize,
    },
    /// An index that is negative, not whole or too large.
    Index { part: String, index: f64 },
    /// A position outside 1 to the number of dense features.
    Position { index: i64, features: usize },
    /// An index that stands twice in one row.
    DuplicateIndex { part: String, index: u32 },
    /// NaN, infinity or a value beyond the range of `real` where features are kept as such.
    NotFinite {
        column: String,
        element: Option<u64>,
        value: f64,
    },
    /// Text that is not in LIBSVM notation, from the token on.
    LibsvmSyntax { token: String },
    /// Text in LIBSVM notation that starts with a label.
    LibsvmLabel { token: String },
    /// A value's bytes contradict themselves.
    Damaged { column: String },
    /// A row of so many values, of which there may be fewer.
    LongRow { values: usize, most: usize },
    /// There is no memory for the numbers of a row.
    OutOfMemory(OutOfMemory),
    /// Any of the above, in this row (counted from 1) of the source.
    InRow { row: u64, error: Box<FeatureError> },
}

/// Most bytes of a text that is no UTF-8 which an error shows.
const SHOWN_BYTES: usize = 40;

/// A value's bytes as text.
///
/// # Errors
/// `NotUtf8`, of the column.
#[inline]
pub fn utf8<'a>(column: &str, bytes: &'a [u8]) -> Result<&'a str, FeatureError> {
    core::str::from_utf8(bytes).map_err(|_| FeatureError::NotUtf8 {
        column: column.to_owned(),
        bytes: bytes[..bytes.len().min(SHOWN_BYTES)].to_vec(),
    })
}

impl FeatureError {
    /// Adds the row, counted from 1, in which it happened.
    pub fn in_row(self, row: u64) -> Self {
        Self::InRow {
            row,
            error: Box::new(self),
        }
    }

    /// What it is about: the values of one row that others can be trained on and predicted without, or what columns there are.
    fn about(&self) -> About {
        match self {
            Self::InRow { error, .. } => match error.about() {
                About::All => About::Row,
                about => about,
            },
            Self::Letter { .. }
            | Self::NotUtf8 { .. }
            | Self::Length { .. }
            | Self::Empty { .. }
            | Self::Dimensions { .. }
            | Self::SparseLength { .. }
            | Self::Index { .. }
            | Self::Position { .. }
            | Self::DuplicateIndex { .. }
            | Self::NotFinite { .. }
            | Self::LibsvmSyntax { .. }
            | Self::LibsvmLabel { .. } => About::BadRow,
            // a text too long for a category, as others of its column may be; an array before any other; no memory
            _ => About::All,
        }
    }

    fn code(&self) -> Code {
        match self {
            Self::MissingColumn { .. } => Code::ERRCODE_UNDEFINED_COLUMN,
            Self::AmbiguousColumn { .. } => Code::ERRCODE_AMBIGUOUS_COLUMN,
            Self::Duplicate { .. } => Code::ERRCODE_DUPLICATE_COLUMN,
            Self::Several(all) => all
                .first()
                .map_or(Code::ERRCODE_INTERNAL_ERROR, |first| first.code()),
            Self::Configuration { .. } => Code::ERRCODE_UNDEFINED_OBJECT,
            Self::NoWords { .. } => Code::ERRCODE_NO_DATA,
            Self::Entry { .. }
            | Self::Runs { .. }
            | Self::Making { .. }
            | Self::Crossed { .. }
            | Self::Split { .. }
            | Self::HashBits { .. }
            | Self::Characters { .. }
            | Self::Letter { .. }
            | Self::Label { .. }
            | Self::Nothing { .. }
            | Self::AllLeftOut { .. }
            | Self::Keys { .. }
            | Self::Numbers { .. }
            | Self::Excluded { .. } => Code::ERRCODE_INVALID_PARAMETER_VALUE,
            Self::LongCategory { .. } => Code::ERRCODE_STRING_DATA_RIGHT_TRUNCATION,
            Self::NotUtf8 { .. } => Code::ERRCODE_CHARACTER_NOT_IN_REPERTOIRE,
            Self::TooManyCategories { .. } | Self::TooMany { .. } | Self::TooManyMade { .. } => {
                Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED
            }
            Self::Type { .. } => Code::ERRCODE_DATATYPE_MISMATCH,
            Self::Length { .. }
            | Self::Empty { .. }
            | Self::Dimensions { .. }
            | Self::SparseLength { .. } => Code::ERRCODE_ARRAY_ELEMENT_ERROR,
            Self::UnknownLength { .. } => Code::ERRCODE_NULL_VALUE_NOT_ALLOWED,
            Self::Index { .. } | Self::Position { .. } | Self::NotFinite { .. } => {
                Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE
            }
            Self::DuplicateIndex { .. } => Code::ERRCODE_DATA_EXCEPTION,
            Self::LibsvmSyntax { .. } | Self::LibsvmLabel { .. } => {
                Code::ERRCODE_INVALID_TEXT_REPRESENTATION
            }
            Self::Damaged { .. } => Code::ERRCODE_DATA_CORRUPTED,
            Self::OutOfMemory(_) => Code::ERRCODE_OUT_OF_MEMORY,
            Self::LongRow { .. } => Code::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
            Self::InRow { error, .. } => error.code(),
        }
    }
}

impl From<OutOfMemory> for FeatureError {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory(error)
    }
}

impl From<FeatureError> for Failure {
    fn from(error: FeatureError) -> Self {
        Self {
            code: error.code(),
            message: error.message(),
            detail: error.detail(),
            hint: error.hint(),
            about: error.about(),
        }
    }
}
