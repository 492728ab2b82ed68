//! Scans that bring the decisions of rows held out: of as many candidates at a time as have room, behind the scans that train.

use std::ops::Range;

use crate::base::memory::{OutOfMemory, Room};
use crate::objective::plan::{Layout, Plan};
use crate::rows::facts::Facts;
use crate::scanning::{HeadFound, HeadScan, ScanPass, ScanSums};
use crate::solver::scanned::ScannedHeads;
use crate::training::error::TrainError;
use crate::training::held_out::HeldOutDecisions;

/// Bytes that the decisions of a scan may take, and the weights that decide.
const MOST_BYTES: usize = 256 << 20;
const MOST_WEIGHTS: usize = 64 << 20;

/// Decisions that have come, and those that are to come.
pub(super) struct Deciding {
    held_out: HeldOutDecisions,
    /// Candidates whose decisions are there.
    done: usize,
}

impl Deciding {
    /// Of the heads of a stage by this plan, of which so many, the first ones, are final.
    pub(super) fn new(
        plan: &Plan,
        layout: Layout,
        finals: usize,
        facts: &Facts,
    ) -> Result<Self, TrainError> {
        let held_out = HeldOutDecisions::empty(plan, layout, finals, facts)?;
        Ok(Self { held_out, done: 0 })
    }

    /// Whether decisions are to come.
    pub(super) fn goes_on(&self) -> bool {
        self.done < self.held_out.candidates.len()
    }

    /// Those of the next scan.
    fn next(&self, facts: &Facts) -> Range<usize> {
        let heads = self.held_out.layout.heads();
        let weights = size_of::<f64>() * heads * self.held_out.layout.folds().len();
        let by_weights = MOST_WEIGHTS / (weights * (facts.features + 1)).max(1);
        let by_rows = MOST_BYTES / (size_of::<f32>() * heads * facts.rows).max(1);
        let end = self.done + by_rows.min(by_weights).max(1);
        self.done..end.min(self.held_out.candidates.len())
    }

    /// What the next scan is to do.
    pub(super) fn pass(
        &self,
        solver: &ScannedHeads,
        facts: &Facts,
    ) -> Result<ScanPass, OutOfMemory> {
        let form = (facts.features, solver.constant());
        let order = self.held_out.order(solver, self.next(facts), form)?;
        let mut heads = Vec::new();
        heads.room(1)?.push(HeadScan::Decide(Box::new(order)));
        Ok(ScanPass::of(heads))
    }

    /// Takes what it has brought.
    pub(super) fn take(&mut self, facts: &Facts, sums: ScanSums) -> Result<(), TrainError> {
        let candidates = self.next(facts);
        self.done = candidates.end;
        let found = match sums.into_heads().pop() {
            Some(HeadFound::Decided(found)) => self.held_out.take(candidates, found)?,
            _ => false,
        };
        match found {
            true => Ok(()),
            false => Err(TrainError::ReaderFailed),
        }
    }

    pub(super) fn into_decisions(self) -> HeldOutDecisions {
        self.held_out
    }
}
