//! Heads that are each solved by an interior point; rows are scanned for all of them at once.

use crate::base::memory::{OutOfMemory, Room};
use crate::base::step::Step;
use crate::scanning::{HeadFound, HeadScan, ScanSums};
use crate::solver::bundle::head::Due;
use crate::solver::driver::Method as _;
use crate::solver::interior::head::InteriorHead;
use crate::solver::Solver;
use crate::task::problem::Cuts;

/// The heads.
pub(super) struct Interiors {
    heads: Vec<InteriorHead>,
}

impl Interiors {
    pub(super) fn new(solver: &Solver<f64>) -> Result<Self, OutOfMemory> {
        let mut heads = Vec::new();
        heads.room(solver.len())?;
        for head in 0..solver.len() {
            if let Some(given) = solver.given(head, Cuts::Newest)? {
                heads.push(InteriorHead::new(given)?);
            }
        }
        Ok(Self { heads })
    }

    /// Computes on; `Blocked` where a scan is wanted.
    pub(super) fn step(&mut self) -> Result<Step, OutOfMemory> {
        let solving = self.heads.iter_mut().find(|it| it.due() == Due::Solving);
        if let Some(head) = solving {
            head.compute()?;
            return Ok(Step::Progress);
        }
        let waits = self.heads.iter().any(|head| head.due() == Due::Pass);
        Ok(if waits { Step::Blocked } else { Step::Done })
    }

    /// What the next pass is to sum up for the heads that have not ended.
    pub(super) fn pass(&self) -> Result<Vec<HeadScan>, OutOfMemory> {
        let mut passes = Vec::new();
        passes.room(self.heads.len())?;
        for head in self.heads.iter().filter(|head| head.due() == Due::Pass) {
            passes.push(HeadScan::Interior(Box::new(head.pass()?)));
        }
        Ok(passes)
    }

    /// Takes what that pass has summed up.
    pub(super) fn take(
        &mut self,
        solver: &mut Solver<f64>,
        sums: ScanSums,
    ) -> Result<(), OutOfMemory> {
        let heads = self.heads.iter_mut().enumerate();
        let waiting = heads.filter(|(_, head)| head.due() == Due::Pass);
        for ((place, head), sums) in waiting.zip(sums.into_heads()) {
            if let HeadFound::Interior(sums) = sums {
                if let Some(found) = head.take(*sums)? {
                    solver.take_found(place, &found, head.w());
                }
            }
        }
        Ok(())
    }
}
