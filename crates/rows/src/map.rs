//! What makes the rows that are visited out of those that are stored.
//!
//! A stored row is what a table's row became when it was read; a visited one is what products and steps see. They have the
//! same packed form, so that no loop over a row's words knows of it, and the same ordinal, group and cost. Q is that of the
//! visited row, and its feature ids are below [`RowMap::facts`]' features.
//!
//! | map | visited row |
//! |---|---|
//! | [`Identity`] | the stored one, where it lies; of a [`compact`] one what its string says |

use crate::compact;
use crate::facts::Facts;
use crate::row::Row;

/// Makes visited rows. A map that writes them has the room, which lives as long as the rows it gives out: those of a run
/// of visits, some of which are still in hand when others come.
pub trait RowMap: Sync {
    /// What is known of all visited rows, by what is known of the stored ones.
    fn facts(&self, stored: &Facts) -> Facts;

    /// The visited row of a stored one.
    fn visited<'a>(&'a self, stored: Row<'a>) -> Row<'a>;
}

/// Rows are visited as they are stored, compact ones with the entries that their strings stand for.
#[derive(Debug, Clone, Copy)]
pub struct Identity;

impl RowMap for Identity {
    fn facts(&self, stored: &Facts) -> Facts {
        *stored
    }

    #[inline(always)]
    fn visited<'a>(&'a self, stored: Row<'a>) -> Row<'a> {
        match stored.is_compact() {
            false => stored,
            true => compact::visited(stored),
        }
    }
}
