//! What is asked of the heads of a training.
//!
//! [`Method`] is what a training asks of any method: whether every head has ended, reports, dual variables. [`Visits`] is what coordinate
//! descent asks besides: rows are visited, measured and checked, and passes begin and end. `single::heads` and `joint::groups` implement
//! it, for heads one by one and heads side by side.

use std::ops::Range;

use crate::base::memory::OutOfMemory;
use crate::objective::heads::Start;
use crate::objective::report::HeadReport;
use crate::rows::blocks::Blocks;
use crate::rows::map::RowMap;
use crate::rows::row::Row;
use crate::rows::visited::VisitedPage;
use crate::simd::Isa;
use crate::solver::certificate::state::HeadState;
use crate::solver::ledger::Ledgers;
use crate::solver::proximal::moments::ShiftMetric;
use crate::solver::sums::tally::Sums;
use crate::solver::weights::{Duals, Weights};

/// Blocks that a head visits before the next head does: few, so that they are still in the processor's cache then.
pub const BLOCKS_AT_A_TIME: usize = 128;

/// What a training asks of its method, however that finds the weights.
pub trait Method: Ledgers {
    /// Whether every head has ended.
    fn done(&self) -> bool {
        self.running_heads() == 0
    }
    /// Ends every head where it stands.
    fn stop(&mut self);
    /// How the heads ended, or stand.
    fn reports(&self, rows: usize) -> impl Iterator<Item = HeadReport> + '_;
    /// The dual variables of a head's certificate.
    fn duals(&self, head: usize) -> Duals<'_>;
}

/// Heads to whom rows are shown one by one: all of them, some, or what a member of a team has of them.
pub trait TakesRows {
    /// Visits a row in a full pass. True when some head still learns from it within `margin` of its bounds.
    fn visit_full<K: Isa>(&mut self, row: &Row<'_>, margin: f64) -> bool;
    /// Visits a row between full passes; otherwise as [`Self::visit_full`].
    fn visit_active<K: Isa>(&mut self, row: &Row<'_>, margin: f64) -> bool;
    /// Visits a row between full passes, shrunk or not, and grades it: how many of `margins`, ascending, are too small for
    /// any head to learn from it within them.
    fn visit_graded<K: Isa>(&mut self, row: &Row<'_>, margins: &[f64]) -> usize;
    /// Measures a row in a full pass without training it.
    fn measure<K: Isa>(&mut self, row: &Row<'_>);
    /// Checks a row in a verifying pass.
    fn check<K: Isa>(&mut self, row: &Row<'_>);
    /// Whether active passes leave this row out, for every head.
    fn shrunk(&self, ordinal: usize) -> bool;
    /// Whether weights are scattered: to be asked for one visit ahead.
    fn scattered(&self) -> bool;
    /// Asks for the weights that a visit of this row needs.
    fn ask<const FULL: bool>(&mut self, row: &Row<'_>);
}

/// Heads to whom rows of the arena are shown, block by block.
pub trait TakesBlocks: TakesRows {
    /// Blocks that are visited at a time.
    fn blocks_at_a_time(&self, full: bool) -> usize;
    /// Visits blocks of rows, all rows in a full pass and else those of the active set. Gives back the values visited, whatever the
    /// number of heads.
    fn visit_blocks<K: Isa, const FULL: bool>(&mut self, blocks: Blocks<'_, impl RowMap>) -> usize;
    /// Whether some head needs this row in a verifying pass that skips what it can.
    fn needs_check(&self, ordinal: usize) -> bool;
    /// Checks rows of the arena, or only those with a > 0 in some head. Gives back the values looked at.
    #[inline(always)]
    fn check_slots<K: Isa>(
        &mut self,
        page: VisitedPage<'_, impl RowMap>,
        slots: Range<usize>,
        everything: bool,
    ) -> usize {
        let mut values = 0;
        for slot in slots {
            values += 1;
            if everything || self.needs_check(slot) {
                let row = page.row(slot);
                values += row.values();
                self.check::<K>(&row);
            }
        }
        values
    }
    /// Lets sums for a metric learn from the rows of these blocks, where heads have any.
    #[inline(always)]
    fn learn_blocks(&mut self, _: Blocks<'_, impl RowMap>) {}
    /// The same from one row.
    #[inline(always)]
    fn learn_row(&mut self, _: &Row<'_>) {}
}

/// Heads whose rows are visited one by one: their passes. There is one at least.
#[allow(clippy::len_without_is_empty)]
pub trait Visits {
    fn len(&self) -> usize;
    fn state(&self, head: usize) -> &HeadState;
    fn state_mut(&mut self, head: usize) -> &mut HeadState;
    /// What visits have summed for a head since its state last heard of it.
    fn pending(&self, _head: usize) -> Sums {
        Sums::ZERO
    }

    /// Sets where a head begins.
    fn set_start(&mut self, head: usize, start: Start);
    /// Sets the dual variables of a head, of the rows from `first` on.
    fn put_duals(&mut self, head: usize, first: usize, duals: &[f32]);
    /// The weights of a head's certificate.
    fn weights(&self, head: usize) -> Weights<'_>;
    /// The dual variables of a head.
    fn duals(&self, head: usize) -> Duals<'_>;
    /// <w, x> + b of a head that has ended, at its certificate's weights.
    fn decision<K: Isa>(&self, head: usize, row: &Row<'_>, intercept: f64) -> f32;
    /// The dual at the present dual variables, summed over the heads; None where that takes a pass over the rows.
    fn dual(&mut self) -> Option<f64>;
    /// Ends a head as it stands: puts the dual variables of its best dual in the place of the present ones.
    fn take_best_duals(&mut self, head: usize);

    /// Bits of the rows `64 n..64 (n + 1)` in the active set of some head.
    fn active(&self, n: usize) -> u64;

    /// Begins a full pass. `undisturbed`: every row is visited once, and none between.
    fn begin_full(&mut self, undisturbed: bool) -> Result<(), OutOfMemory>;
    fn end_full(&mut self) -> Result<(), OutOfMemory>;

    /// How many heads must want a proof before a verifying pass is due. `at_hand`: all rows are in the cache.
    fn least_wanting(&self, at_hand: bool) -> usize;
    /// Begins a verifying pass, of the heads that want one or of `all`. False when rows with a = 0 need not be looked at.
    fn begin_verify(&mut self, all: bool, at_hand: bool) -> Result<bool, OutOfMemory>;
    /// Ends a verifying pass: heads whose gap is within the tolerance, or out of passes, end.
    fn end_verify(&mut self) -> Result<(), OutOfMemory>;

    /// Corrects kappa and moves the centres after a full pass; `metric` when columns have just been found to call for it,
    /// `mean_squares` of the columns once they are known.
    fn advance(
        &mut self,
        metric: Option<&ShiftMetric>,
        mean_squares: Option<&[f32]>,
    ) -> Result<(), OutOfMemory>;

    fn begin_active(&mut self);
    /// Estimates the gaps at the end of an active pass.
    fn estimate_active(&mut self);
    fn end_active(&mut self) -> Result<(), OutOfMemory>;

    /// Whether heads do better to take turns in active passes, where so many rows are in some head's active set.
    fn better_in_turns(&self, _active: usize) -> bool {
        false
    }
    /// Nobody's turn any more.
    fn end_turns(&mut self) {}
}

/// <w, x> + b
#[inline(always)]
pub(in crate::solver) fn decision<K: Isa, V: crate::simd::Real>(
    weights: &[V],
    row: &Row<'_>,
    intercept: f64,
) -> f32 {
    let dense = row.dense();
    let mut sum = V::dot_dense::<K>(dense, &weights[..dense.len()]);
    sum += V::dot_sparse::<K>(row.sparse(), weights);
    sum += intercept * weights.last().map_or(0.0, |last| last.to());
    sum as f32
}
