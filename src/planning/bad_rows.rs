//! Rows that cannot be trained on: with a NaN, an infinite number, an array of another length, or a text that is no number. Such a row ends
//! the training, or is left out and counted where the user asked for that.

use crate::base::errors::Failure;
use pgsvm_core::memory::{received, text};
use serde::{Deserialize, Serialize};

/// The bad rows that were left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadRows {
    pub count: u64,
    /// What is wrong with the first of them.
    #[serde(deserialize_with = "text")]
    pub first: String,
    /// Which row that is; None where rows come in no order.
    #[serde(deserialize_with = "received")]
    pub place: Option<String>,
}

impl BadRows {
    /// Leaves a row out for what is wrong with it.
    pub fn leave_out(&mut self, failure: Failure, place: impl FnOnce() -> Option<String>) {
        if self.count == 0 {
            (self.first, self.place) = (failure.message, place());
        }
        self.count += 1;
    }

    /// Joins those among other rows.
    pub fn join(&mut self, more: Self) {
        if self.count == 0 {
            (self.first, self.place) = (more.first, more.place);
        }
        self.count = self.count.saturating_add(more.count);
    }
}

/// The same with how the others are trained on. `continues`: whether a model is, whose terms stand.
pub fn with_hint(failure: Failure, continues: bool) -> Failure {
    if !failure.is_of_bad_row() {
        return failure;
    }
    let how = match continues {
        false => "bad_rows => 'skip' leaves such rows out and counts them",
        true => "a model trained with bad_rows => 'skip' leaves such rows out",
    };
    let hint = match &failure.hint {
        Some(hint) => format!("{}; or {how}", hint.trim_end_matches('.')),
        None => how.to_owned(),
    };
    failure.hint(hint)
}
