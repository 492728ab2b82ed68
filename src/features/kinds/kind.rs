//! What a kind of feature answers: all that others ask of a part of a feature set.

use super::category::dictionary::Dictionary;
use crate::features::by_name::ByName;
use crate::features::error::FeatureError;
use crate::features::part::Part;
use crate::pg::query::Column;
use pgsvm_core::PartForm;

/// A kind of feature.
pub trait FeatureKind {
    /// What a column is by its type alone.
    fn of_column(_: &Column) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// The columns that it reads.
    fn reads(&self) -> Vec<ReadColumn<'_>>;

    /// The first of them.
    fn column(&self) -> &str {
        self.reads().first().map_or("", |column| column.name)
    }

    /// Its SQL type; of indices and values that of the values.
    fn type_name(&self) -> &str {
        self.reads().first().map_or("", |column| column.type_name)
    }

    /// The SQL type, or those of several columns, for a listing.
    fn types(&self) -> String {
        self.type_name().to_owned()
    }

    /// How the user names it in `features`: the column, or a form such as `sparse(idx, val)`.
    fn name(&self) -> String;

    /// The entry of `features` that makes it again: its name, with columns quoted that have to be.
    fn entry(&self) -> String {
        self.name()
    }

    /// What is made of its columns, in a word or two.
    fn treatment(&self) -> &'static str;

    /// Where its values stand in a row.
    fn place(&self, columns: &ByName<'_>) -> Result<Part, FeatureError>;

    /// Forgets what rows have taught.
    fn forget(&mut self) {}

    /// Whether its features have dense ids.
    fn is_dense(&self) -> bool {
        false
    }

    /// How many dense features it has; None while that is unknown.
    fn width(&self) -> Option<u32> {
        Some(0)
    }

    /// Whether a row has one value of it.
    fn is_one_value(&self) -> bool {
        false
    }

    /// How many features it has; None where the data tell as they come.
    fn count(&self) -> Option<u64> {
        match self.hash_bits() {
            Some(bits) => Some(1 << bits),
            None => self.width().filter(|_| self.is_dense()).map(u64::from),
        }
    }

    /// How many values or words have features of their own, where it has such.
    fn known_values(&self) -> Option<u64> {
        None
    }

    /// Where indices are hashed, the bits of their hashes.
    fn hash_bits(&self) -> Option<u32> {
        None
    }

    /// Of the distinct values that training met and hashed, the share whose feature is that of another one; None where none is, or
    /// nobody counted.
    fn collisions(&self) -> Option<f64> {
        None
    }

    /// Notes that share of indices.
    fn note_collisions(&mut self, _: Option<f64>) {}

    /// The entry that hashes its indices, where it takes them as they are.
    fn hashed_entry(&self) -> Option<String> {
        None
    }

    /// Whether an index may keep it as a list.
    fn is_list(&self) -> bool {
        false
    }

    /// Whether an index may keep it.
    fn may_be_indexed(&self) -> bool {
        self.is_list()
    }

    /// The short form of its rows, where features may be made of one when a row is visited.
    fn compact_form(&self) -> Option<PartForm> {
        None
    }

    /// What it puts into a decision as SQL.
    ///
    /// # Errors
    /// Why it is not written.
    fn as_sql(&self) -> Result<Operands<'_>, &'static str>;
}

/// A column that a part reads.
#[derive(Clone, Copy)]
pub struct ReadColumn<'a> {
    pub name: &'a str,
    pub type_name: &'a str,
    pub by: ReadAs,
}

/// As what a column is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadAs {
    Number,
    /// A number of which something is made.
    Factor,
    Time,
    /// A text that is a number or a time.
    Written,
    Category,
    /// An array of numbers.
    Numbers,
    Indices,
    Libsvm,
    Sparsevec,
    Text,
    Vector,
    /// An array of texts.
    Words,
}

impl ReadAs {
    /// A column of this name and type, read so.
    pub fn of<'a>(self, name: &'a str, type_name: &'a str) -> ReadColumn<'a> {
        ReadColumn {
            name,
            type_name,
            by: self,
        }
    }
}

/// What a part puts into a decision as SQL.
pub enum Operand<'a> {
    /// A dense feature, as SQL, and whether it is a boolean.
    Number(String, bool),
    /// A column of categories, its type and their codes.
    Category(&'a str, &'a str, &'a Dictionary),
}

pub type Operands<'a> = Box<dyn Iterator<Item = Operand<'a>> + 'a>;

/// A name in quotes: without them other databases would read it in upper case, or as a keyword.
pub fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Why features that are made of several values are not written as SQL.
pub(super) const MADE_OF_SEVERAL: &str = "What is made of several values is not written.";
/// Why sparse features are not.
pub(super) const SPARSE: &str = "SQL has no short form for sparse features.";
