//! Dual coordinate descent over rows that somebody else delivers: one or more heads, each with its own weights.
//!
//! The trainer decides which row comes next; the solver visits it. A round is
//!
//! 1. a *full* pass: every row once, training it and summing the loss at the weights of the pass's start, which gives
//!    the primal there exactly;
//! 2. perhaps a *verifying* pass, when a head seems to have arrived: v and the dual from the dual variables exactly,
//!    the primal at the newest weights;
//! 3. *active* passes over the rows that still matter.
//!
//! This module moves the heads through those passes; [`head`] holds a head's state,
//! [`visit`] visits rows, [`ahead`] has them fetched in time, [`iterate`] holds the weights, [`rule`] the strength of the proximal shift, [`proof`] the certificate, [`moments`] the metric.

mod ahead;
pub(crate) mod head;
mod iterate;
mod moments;
mod per_row;
mod proof;
mod rule;
pub(crate) mod share;
mod visit;

use crate::cache::Facts;
use crate::kernel::{Kernel, Real};
use crate::problem::Problem;
use crate::row::Row;
use crate::trainer::{HeadSpec, StopReason, TrainError};
use head::{Blocks, Head};
use moments::Moments;

/// Blocks that a head visits before the next head does: few, so that they are still in the processor's cache then.
const BLOCKS_AT_A_TIME: usize = 128;

/// A walk over the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    Full,
    Verify { everything: bool },
    Active,
}

pub(crate) struct Solver<T> {
    pub(crate) heads: Vec<Head<T>>,
    tolerance: f64,
    max_passes: u32,
    /// Full passes completed.
    full_passes: u32,
    /// Column scales, learned in the first full pass.
    moments: Option<Moments>,
}

impl<T: Real> Solver<T> {
    pub(crate) fn new(
        problem: &Problem,
        specs: &[HeadSpec],
        facts: &Facts,
    ) -> Result<Self, TrainError> {
        let mut heads = Vec::new();
        for (index, spec) in specs.iter().enumerate() {
            if spec.signs.len() < facts.classes {
                return Err(TrainError::Head { head: index });
            }
            heads.push(Head::new(problem, spec, facts)?);
        }
        Ok(Self {
            heads,
            tolerance: problem.tolerance(),
            max_passes: problem.max_passes(),
            full_passes: 0,
            moments: Moments::new(facts)?,
        })
    }

    /// Whether rows may sleep between full passes (otherwise the caller chooses the rows by `margin`).
    pub(crate) fn let_rows_sleep(&mut self, sleeps: bool) {
        for head in &mut self.heads {
            head.sleeps = sleeps;
        }
    }

    fn running(&mut self) -> impl Iterator<Item = &mut Head<T>> {
        self.heads.iter_mut().filter(|head| head.stop.is_none())
    }

    /// Whether every head has ended.
    pub(crate) fn done(&self) -> bool {
        self.heads.iter().all(|head| head.stop.is_some())
    }

    pub(crate) fn tolerance(&self) -> f64 {
        self.tolerance
    }

    pub(crate) fn full_passes(&self) -> u32 {
        self.full_passes
    }

    /// Bits of the rows `first..first + width` that some head is awake for.
    pub(crate) fn awake(&self, first: usize, width: usize) -> u32 {
        let all = (1u32 << width) - 1;
        let running = self.heads.iter().filter(|head| head.stop.is_none());
        running.fold(0, |awake, head| {
            awake | (all & !head.asleep.group(first, width))
        })
    }

    /// Whether active passes leave this row out, for every head.
    #[inline(always)]
    pub(crate) fn asleep(&self, ordinal: usize) -> bool {
        self.heads
            .iter()
            .all(|head| head.stop.is_some() || head.asleep.get(ordinal))
    }

    /// The largest range of projected gradients of the active pass so far.
    pub(crate) fn violation(&self) -> f64 {
        self.heads
            .iter()
            .filter(|head| head.stop.is_none())
            .map(Head::violation)
            .fold(0.0, f64::max)
    }

    pub(crate) fn visits(&self) -> u64 {
        self.heads.iter().map(|head| head.sums.visits).sum()
    }

    pub(crate) fn updates(&self) -> u64 {
        self.heads.iter().map(|head| head.sums.updates).sum()
    }

    /// The largest best gap of the heads.
    pub(crate) fn gap(&self) -> f64 {
        self.heads.iter().map(|head| head.gap()).fold(0.0, f64::max)
    }

    pub(crate) fn begin_full(&mut self) {
        for head in self.running() {
            head.begin_full();
        }
    }

    /// Visits blocks of rows of the arena, all rows in a full pass and else those awake. Gives back how many of the
    /// blocks and values that was: about `budget` values, but at least a block.
    #[inline(always)]
    pub(crate) fn visit_blocks<K: Kernel, const FULL: bool>(
        &mut self,
        blocks: Blocks<'_>,
        budget: usize,
    ) -> (usize, usize) {
        let (mut done, mut values) = (0, 0);
        while done < blocks.numbers.len() && (done == 0 || values < budget) {
            let end = (done + BLOCKS_AT_A_TIME).min(blocks.numbers.len());
            let some = Blocks {
                numbers: &blocks.numbers[done..end],
                ..blocks
            };
            if let (true, Some(moments)) = (FULL, &mut self.moments) {
                moments.learn_blocks(some);
            }
            for head in &mut self.heads {
                if head.stop.is_none() {
                    values += head.visit_blocks::<K, FULL>(some);
                }
            }
            done = end;
        }
        (done, values)
    }

    /// Visits a row in a full pass. True when some head still learns from it within `margin` of its bounds.
    #[inline(always)]
    pub(crate) fn visit_full<K: Kernel>(&mut self, row: &Row<'_>, margin: f64) -> bool {
        if let Some(moments) = &mut self.moments {
            moments.learn(row);
        }
        let mut keep = false;
        for head in &mut self.heads {
            if head.stop.is_none() {
                let outcome = head.visit_full::<K>(row);
                keep |= outcome.matters(margin);
            }
        }
        keep
    }

    /// Visits a row between full passes; otherwise as [`Self::visit_full`].
    #[inline(always)]
    pub(crate) fn visit_active<K: Kernel>(&mut self, row: &Row<'_>, margin: f64) -> bool {
        let mut keep = false;
        for head in &mut self.heads {
            if head.stop.is_none() {
                let outcome = head.visit_active::<K>(row);
                keep |= outcome.matters(margin);
            }
        }
        keep
    }

    /// Visits a row between full passes, asleep or not, and grades it: how many of `margins`, ascending, are too small for
    /// any head to learn from it within them.
    #[inline(always)]
    pub(crate) fn visit_graded<K: Kernel>(&mut self, row: &Row<'_>, margins: &[f64]) -> usize {
        let mut grade = margins.len();
        for head in &mut self.heads {
            if head.stop.is_none() {
                head.asleep.set(row.ordinal(), false);
                let outcome = head.visit_active::<K>(row);
                grade = grade.min(margins.partition_point(|margin| !outcome.matters(*margin)));
            }
        }
        grade
    }

    /// Measures a row in a full pass without training it.
    #[inline(always)]
    pub(crate) fn measure<K: Kernel>(&mut self, row: &Row<'_>) {
        for head in &mut self.heads {
            if head.stop.is_none() {
                head.measure::<K>(row);
            }
        }
    }

    /// The largest magnitude of a projected gradient since the last active pass began.
    pub(crate) fn largest_gradient(&self) -> f64 {
        let running = self.heads.iter().filter(|head| head.stop.is_none());
        running.map(Head::largest_gradient).fold(0.0, f64::max)
    }

    /// Ends a full pass. True when a verifying pass is due; otherwise call [`Self::advance`].
    pub(crate) fn end_full(&mut self) -> bool {
        self.full_passes += 1;
        let (tolerance, last) = (self.tolerance, self.full_passes >= self.max_passes);
        let mut verify = false;
        for head in self.running() {
            head.end_full();
            verify |= head.wants_proof(tolerance, last);
        }
        verify
    }

    /// Begins a verifying pass. `everything`: false when rows with a = 0 need not be looked at.
    pub(crate) fn begin_verify(&mut self) -> Result<bool, TrainError> {
        let tolerance = self.tolerance;
        let mut everything = false;
        for head in self.running() {
            everything |= head.begin_verify(tolerance)?;
        }
        Ok(everything)
    }

    /// Checks the rows of these blocks in a verifying pass, or only those with a > 0 in some head. Gives back how many
    /// of the blocks and values that was: about `budget` values, but at least a block.
    #[inline(always)]
    pub(crate) fn check_blocks<K: Kernel>(
        &mut self,
        blocks: Blocks<'_>,
        everything: bool,
        budget: usize,
    ) -> (usize, usize) {
        let mut values = 0;
        for place in 0..blocks.numbers.len() {
            if values >= budget {
                return (place, values);
            }
            let (first, rows) = blocks.rows(place);
            for slot in first..first + rows.count_ones() as usize {
                values += 1;
                if everything || self.needs_check(slot) {
                    let row = blocks.page.peek_row(slot);
                    values += row.values();
                    self.check::<K>(&row);
                }
            }
        }
        (blocks.numbers.len(), values)
    }

    #[inline(always)]
    pub(crate) fn check<K: Kernel>(&mut self, row: &Row<'_>) {
        for head in &mut self.heads {
            if head.stop.is_none() {
                head.check::<K>(row);
            }
        }
    }

    /// Whether some head needs this row in a verifying pass that skips what it can.
    #[inline(always)]
    pub(crate) fn needs_check(&self, ordinal: usize) -> bool {
        self.heads
            .iter()
            .any(|head| head.stop.is_none() && head.alpha[ordinal] > 0.0)
    }

    /// Ends a verifying pass: heads whose gap is within the tolerance, or out of passes, end.
    pub(crate) fn end_verify(&mut self) {
        let (tolerance, last) = (self.tolerance, self.full_passes >= self.max_passes);
        for head in self.running() {
            head.end_verify(tolerance, last);
        }
    }

    /// Corrects kappa and moves the centre after a full pass and its verification.
    pub(crate) fn advance(&mut self) -> Result<(), TrainError> {
        let moments = self.moments.take();
        for head in self.running() {
            head.advance(moments.as_ref())?;
        }
        Ok(())
    }

    pub(crate) fn begin_active(&mut self) {
        for head in self.running() {
            head.begin_active();
        }
    }

    pub(crate) fn end_active(&mut self) {
        for head in self.running() {
            head.end_active();
        }
    }

    /// Ends every head where it stands.
    pub(crate) fn stop(&mut self) {
        for head in self.running() {
            head.stop = Some(StopReason::Requested);
        }
    }
}

/// A vector of zeros, or an error where it cannot be had.
fn zeros<V: Copy + Default>(length: usize) -> Result<Vec<V>, TrainError> {
    let mut values = Vec::new();
    let bytes = (length * std::mem::size_of::<V>()) as u64;
    values
        .try_reserve_exact(length)
        .map_err(|_| TrainError::OutOfMemory { bytes })?;
    values.resize(length, V::default());
    Ok(values)
}
