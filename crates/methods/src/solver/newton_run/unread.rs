//! Heads that Newton's method solves and whose rows lie in chunks of an index: which chunks a pass leaves unread.
//!
//! Weights are fixed during a pass, so slack ([`Skippable`]) says exactly which rows have nothing for its sums
//! (`newton/unread.rs`):
//!
//! | pass | leaves out chunks | and adds of them |
//! |---|---|---|
//! | at w | all of whose rows have a = 0 and more slack than w is away from where they were looked at; where the last step led to a larger primal the best weights too | how many rows, how many on the right side, outliers and what those cost |
//! | over the way from the best weights to w | the same, of both ends | |
//! | for a product | none of whose rows has a dual variable | |
//!
//! A chunk is left out where all heads that take part can spare it.

use std::sync::Arc;

use crate::base::memory::OutOfMemory;
use crate::objective::loss::NO_LOSS_FROM;
use crate::rows::filing::{FiledRows, LeftOut};
use crate::rows::row::Row;
use crate::rows::visited::VisitedBatch;
use crate::simd::{Isa, Real};
use crate::solver::newton::head::Next;
use crate::solver::newton::sums::Seen;
use crate::solver::newton_run::{NewtonRun, BLOCK};
use crate::solver::single::skippable::{Look, Skippable};
use crate::solver::{share_of, Heads, Solver};

/// What a head knows of the chunks, and how the last row stood.
pub(super) struct Unread {
    skippable: Skippable<f64>,
    last: Option<Look>,
}

impl NewtonRun {
    /// Has it remember which of so many rows cannot have changed, which lie in these chunks.
    pub fn remember(
        &mut self,
        rows: usize,
        filed: Option<&Arc<FiledRows>>,
    ) -> Result<(), OutOfMemory> {
        let mut skippable = Skippable::new(rows, self.newton.best().len())?;
        if let Some(filed) = filed {
            skippable.file(filed)?;
        }
        self.unread = Some(Box::new(Unread {
            skippable,
            last: None,
        }));
        Ok(())
    }

    /// Which chunks the pass that comes may leave out as far as it is concerned.
    fn may_leave_out(&mut self, duals: &[f32]) -> Result<LeftOut, OutOfMemory> {
        let Some(unread) = &mut self.unread else {
            return Ok(LeftOut::NONE);
        };
        let skippable = &mut unread.skippable;
        let kinks = self.newton.kinks();
        if skippable.kinks != kinks {
            // other rows are outliers from now on
            skippable.forget();
            skippable.kinks = kinks;
        }
        let constant = self.newton.constant();
        skippable.begin_newton(self.newton.looks_at(self.next), duals, constant)
    }

    /// The pass that comes leaves these out.
    pub fn leave_out(&mut self, left_out: &LeftOut) {
        if let Some(unread) = &mut self.unread {
            unread
                .skippable
                .leave_out(left_out, self.next == Next::Pass);
        }
    }

    /// A row has been visited.
    #[inline(always)]
    pub(super) fn look(&mut self, row: &Row<'_>, seen: Seen, dual: f32) {
        let Some(unread) = &mut self.unread else {
            return;
        };
        let kinks = unread.skippable.kinks;
        let look = seen.stands.map(|(within, cost)| Look {
            margin: NO_LOSS_FROM - within,
            cost,
            is_out: kinks[1].is_some_and(|out| NO_LOSS_FROM - within < out),
            turns: false,
            has_dual: dual != 0.0,
        });
        match look {
            Some(look) => unread.skippable.take(row, Some(look)),
            None => unread.skippable.take_none(row),
        }
        unread.last = look;
    }

    /// How far a row with this dual variable is from mattering, where it was last looked at.
    #[inline(always)]
    fn file_of(&self, ordinal: usize, dual: f32) -> u8 {
        match &self.unread {
            Some(unread) if dual == 0.0 => unread.skippable.code(ordinal),
            _ => 0,
        }
    }

    /// The row visited last has been filed in this chunk.
    #[inline(always)]
    fn take_filed(&mut self, row: &Row<'_>, unit: u16) -> Result<(), OutOfMemory> {
        match &mut self.unread {
            Some(unread) if self.next == Next::Pass => {
                unread.skippable.take_filed(row, unread.last, unit)
            }
            _ => Ok(()),
        }
    }

    /// All rows have been filed.
    pub fn file(&mut self, filed: &Arc<FiledRows>) -> Result<(), OutOfMemory> {
        match &mut self.unread {
            Some(unread) => unread.skippable.file_seen(filed),
            None => Ok(()),
        }
    }

    /// Adds to the pass that ends what the chunks have that it has left out.
    pub fn add_unread(&mut self) {
        if let (Some(unread), Next::Pass) = (&self.unread, self.next) {
            let (counts, sorted) = unread.skippable.unread();
            self.newton.add_unseen(counts, sorted);
        }
    }
}

impl<T: Real> Solver<T> {
    /// The chunks that the pass that comes may leave out: those that no head needs which takes part.
    pub fn may_leave_out_newton(&self, all: &mut [NewtonRun]) -> Result<LeftOut, OutOfMemory> {
        let Heads::Single(singles) = &self.heads else {
            return Ok(LeftOut::NONE);
        };
        let mut left_out = LeftOut::ALL;
        for run in all.iter_mut().filter(|run| run.visits) {
            left_out.with(&run.may_leave_out(&singles.heads[run.head].alpha)?);
        }
        Ok(left_out)
    }

    /// As [`Self::visit_newton_batch`], in a pass that files rows: `file` is told how far each is from mattering, and says in which chunk it lies.
    #[inline(always)]
    pub fn visit_newton_filing<K: Isa>(
        &mut self,
        all: &mut [NewtonRun],
        rows: VisitedBatch<'_>,
        mut file: impl FnMut(&Row<'_>, u8) -> u16,
    ) -> Result<usize, OutOfMemory> {
        let mut values = 0;
        let Heads::Single(singles) = &mut self.heads else {
            return Ok(0);
        };
        for row in rows {
            let mut code = u8::MAX;
            for run in all.iter_mut().filter(|run| run.visits) {
                let block = (row.ordinal() / BLOCK) as u32;
                let own = &mut singles.heads[run.head].alpha[row.ordinal()];
                values += run.visit::<K>(&row, block, own);
                code = code.min(run.file_of(row.ordinal(), *own));
            }
            let unit = file(&row, code);
            for run in all.iter_mut().filter(|run| run.visits) {
                run.take_filed(&row, unit)?;
            }
        }
        Ok(values)
    }

    /// About the share of the rows that passes to come would read, were they filed as they stand.
    pub fn share_to_read_newton(&self, all: &[NewtonRun], rows: usize) -> f64 {
        let Heads::Single(singles) = &self.heads else {
            return 1.0;
        };
        let running = || all.iter().filter(|run| run.visits);
        share_of(rows, |row| {
            running().any(|run| {
                let dual = singles.heads[run.head].alpha[row];
                let least = run
                    .unread
                    .as_ref()
                    .map_or(u8::MAX, |it| it.skippable.least_code);
                run.file_of(row, dual) < least
            })
        })
    }
}
