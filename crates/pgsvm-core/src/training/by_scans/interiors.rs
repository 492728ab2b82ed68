//! Heads that are each solved by an interior point; rows are scanned for all of them at once.

use crate::base::memory::{OutOfMemory, Room};
use crate::base::step::Step;
use crate::objective::solver_choice::Cuts;
use crate::scanning::{HeadFound, HeadScan, ScanPass, ScanSums};
use crate::solver::bundle::head::Due;
use crate::solver::interior::head::InteriorHead;
use crate::solver::ledger::Ledgers as _;
use crate::solver::scanned::ScannedHeads;
use crate::training::by_scans::method::ScanMethod;
use crate::training::error::TrainError;

/// The heads.
pub(super) struct Interiors {
    heads: Vec<InteriorHead>,
}

impl Interiors {
    pub(super) fn new(solver: &ScannedHeads) -> Result<Self, OutOfMemory> {
        let mut heads = Vec::new();
        heads.room(solver.len())?;
        for head in 0..solver.len() {
            heads.push(InteriorHead::new(solver.given(head, Cuts::Newest)?)?);
        }
        Ok(Self { heads })
    }
}

impl ScanMethod for Interiors {
    fn step(&mut self, _: &mut ScannedHeads, _: &[u32], _: usize) -> Result<Step, TrainError> {
        let solving = self.heads.iter_mut().find(|it| it.due() == Due::Solving);
        if let Some(head) = solving {
            head.compute()?;
            return Ok(Step::Progress);
        }
        let waits = self.heads.iter().any(|head| head.due() == Due::Pass);
        Ok(if waits { Step::Blocked } else { Step::Done })
    }

    fn begin_at(&mut self, _: &ScannedHeads, starts: Vec<Vec<f64>>) -> Result<(), TrainError> {
        for (head, weights) in self.heads.iter_mut().zip(starts) {
            head.begin_near(weights);
        }
        Ok(())
    }

    fn pass(&self, _: &[u32]) -> Result<Vec<HeadScan>, OutOfMemory> {
        let mut passes = Vec::new();
        passes.room(self.heads.len())?;
        for head in self.heads.iter().filter(|head| head.due() == Due::Pass) {
            passes.push(HeadScan::Interior(Box::new(head.pass()?)));
        }
        Ok(passes)
    }

    fn take(
        &mut self,
        solver: &mut ScannedHeads,
        _: ScanPass,
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
