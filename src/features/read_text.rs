//! How the texts of a column are read as numbers or times. Pure.

use pgsvm_core::memory::{received, OutOfMemory, Room};
use pgsvm_expand::Reading;
use serde::{Deserialize, Serialize};

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
    /// A text whose point may part thousands, where all points may.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "received"
    )]
    pub thousands: Option<String>,
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
            thousands: None,
        }
    }

    /// The same before anything is known of how.
    pub fn first(time: bool) -> Self {
        Self::new(match time {
            true => Reading::Ymd,
            false => Reading::Number,
        })
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
