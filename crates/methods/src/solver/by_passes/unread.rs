//! Rows that lie in chunks of an index: which chunks a pass leaves unread.
//!
//! Weights are fixed during a pass, so slack ([`Skippable`]) says exactly which rows have nothing for its sums. Of Newton's method:
//!
//! | pass | leaves out chunks | and adds of them |
//! |---|---|---|
//! | at w | all of whose rows have a = 0 and more slack than w is away from where they were looked at; where the last step led to a larger primal the best weights too | how many rows, how many on the right side, outliers and what those cost |
//! | over the way from the best weights to w | the same, of both ends | |
//! | for a product | none of whose rows has a dual variable | |
//!
//! A chunk is left out where all heads that take part can spare it. Passes of other methods read all rows.

use std::sync::Arc;

use crate::base::memory::OutOfMemory;
use crate::objective::loss::NO_LOSS_FROM;
use crate::rows::filing::{FiledRows, LeftOut};
use crate::rows::row::Row;
use crate::solver::head_sums::{HeadFound, HeadScan};
use crate::solver::newton::sums::Seen;
use crate::solver::single::skippable::{Look, Skippable};

/// What is known of the chunks for a head, and how the last row stood.
pub struct Unread {
    pub(super) head: usize,
    skippable: Skippable<f64>,
    last: Option<Look>,
}

impl Unread {
    /// Of so many rows, which lie in these chunks.
    pub(super) fn new(
        head: usize,
        (rows, features): (usize, usize),
        filed: Option<&Arc<FiledRows>>,
    ) -> Result<Self, OutOfMemory> {
        let mut skippable = Skippable::new(rows, features + 1)?;
        if let Some(filed) = filed {
            skippable.file(filed)?;
        }
        Ok(Self {
            head,
            skippable,
            last: None,
        })
    }

    /// Which chunks this pass may leave out as far as the head is concerned.
    pub(super) fn may_leave_out(
        &mut self,
        pass: &HeadScan,
        duals: &[f32],
    ) -> Result<LeftOut, OutOfMemory> {
        let Some(looks) = pass.looks() else {
            return Ok(LeftOut::NONE);
        };
        let skippable = &mut self.skippable;
        if skippable.kinks != looks.kinks {
            // other rows are outliers from now on
            skippable.forget();
            skippable.kinks = looks.kinks;
        }
        skippable.begin_newton(looks.at, duals, looks.constant)
    }

    /// This pass leaves these out.
    pub(super) fn leave_out(&mut self, pass: &HeadScan, left_out: &LeftOut) {
        self.skippable.leave_out(left_out, pass.evaluates());
    }

    /// A row has been visited.
    #[inline(always)]
    pub(super) fn look(&mut self, row: &Row<'_>, seen: Seen, dual: f32) {
        let kinks = self.skippable.kinks;
        let look = seen.stands.map(|(within, cost)| Look {
            margin: NO_LOSS_FROM - within,
            cost,
            is_out: kinks[1].is_some_and(|out| NO_LOSS_FROM - within < out),
            turns: false,
            has_dual: dual != 0.0,
        });
        match look {
            Some(look) => self.skippable.take(row, Some(look)),
            None => self.skippable.take_none(row),
        }
        self.last = look;
    }

    /// How far a row with this dual variable is from mattering, where it was last looked at.
    #[inline(always)]
    pub(super) fn file_of(&self, ordinal: usize, dual: f32) -> u8 {
        match dual == 0.0 {
            true => self.skippable.code(ordinal),
            false => 0,
        }
    }

    /// Whether the chunk of such a row would have to be read, were rows filed as they stand.
    pub(super) fn reads(&self, ordinal: usize, dual: f32) -> bool {
        self.file_of(ordinal, dual) < self.skippable.least_code
    }

    /// The row visited last has been filed in this chunk.
    #[inline(always)]
    pub(super) fn take_filed(&mut self, row: &Row<'_>, unit: u16) -> Result<(), OutOfMemory> {
        self.skippable.take_filed(row, self.last, unit)
    }

    /// All rows have been filed.
    pub fn file(&mut self, filed: &Arc<FiledRows>) -> Result<(), OutOfMemory> {
        self.skippable.file_seen(filed)
    }

    /// Adds to the sums of a pass what the chunks have that it has left out; how many rows those are.
    pub(super) fn add_unread(&self, pass: &HeadScan, sums: &mut HeadFound) -> u64 {
        match sums {
            HeadFound::Newton(sums) if pass.evaluates() => {
                let (counts, sorted) = self.skippable.unread();
                sums.add_unseen(counts, sorted);
                counts.0
            }
            _ => 0,
        }
    }
}
