//! The columns of a part, and as what they are read.

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
