//! How the rows of a training that begins from a version compare with those that the version knows.

/// What a training began from, and what became of its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Followed {
    /// The version, as name@version.
    pub model: String,
    /// Where rows are known by a key.
    pub rows: Option<RowCounts>,
    /// Rows that were neither decoded nor trained on, where that was tried.
    pub screened: Option<u64>,
    /// Rows among these that were looked at behind the training.
    pub rechecked: Option<u64>,
    /// Whether it began from nothing all the same, since so much has changed.
    pub from_nothing: bool,
}

/// How the rows taken compare with those remembered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowCounts {
    pub unchanged: u64,
    pub changed: u64,
    pub added: u64,
    /// Remembered, but not there any more.
    pub gone: u64,
    /// In the source, but not taken.
    pub unused: u64,
}

impl RowCounts {
    /// Rows that are trained on.
    pub fn taken(&self) -> u64 {
        self.unchanged + self.changed + self.added
    }
}
