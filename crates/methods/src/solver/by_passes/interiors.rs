//! Heads that are each solved by an interior point; a pass is for all of them at once.

use crate::base::memory::{all_of, OutOfMemory};
use crate::objective::solver_choice::Cuts;
use crate::solver::by_passes::{due_of, Due, FixedWeights, Summed};
use crate::solver::head_sums::{HeadFound, HeadScan};
use crate::solver::interior::head::InteriorHead;
use crate::solver::ledger::Ledgers as _;
use crate::solver::scanned::ScannedHeads;

/// The heads.
pub struct Interiors {
    heads: Vec<InteriorHead>,
}

impl Interiors {
    pub fn new(solver: &ScannedHeads) -> Result<Self, OutOfMemory> {
        let heads = 0..solver.len();
        let heads = heads.map(|head| InteriorHead::new(solver.given(head, Cuts::Newest)?));
        Ok(Self {
            heads: all_of(heads)?,
        })
    }
}

impl FixedWeights<ScannedHeads> for Interiors {
    fn due(&self) -> Due {
        due_of(self.heads.iter().map(InteriorHead::due))
    }

    fn compute(&mut self, _: &mut ScannedHeads, _: &[u32]) -> Result<usize, OutOfMemory> {
        let solving = self.heads.iter_mut().find(|it| it.due() == Due::Solving);
        solving.map_or(Ok(()), InteriorHead::compute)?;
        Ok(1)
    }

    fn pass(&self, _: &[u32]) -> Result<Vec<(usize, HeadScan)>, OutOfMemory> {
        let heads = self.heads.iter().enumerate();
        let waiting = heads.filter(|(_, head)| head.due() == Due::Pass);
        all_of(waiting.map(|(place, head)| {
            let pass = HeadScan::Interior(Box::new(head.pass()?));
            Ok::<_, OutOfMemory>((place, pass))
        }))
    }

    fn take(&mut self, solver: &mut ScannedHeads, found: Vec<Summed>) -> Result<bool, OutOfMemory> {
        let heads = self.heads.iter_mut().enumerate();
        let waiting = heads.filter(|(_, head)| head.due() == Due::Pass);
        for ((place, head), found) in waiting.zip(found) {
            if let HeadFound::Interior(sums) = found.sums {
                if let Some(found) = head.take(*sums)? {
                    solver.take_found(place, &found, head.w());
                }
            }
        }
        Ok(true)
    }

    /// Near these weights: interior points begin at no point that is given.
    fn begin_at(&mut self, _: &ScannedHeads, starts: Vec<Vec<f64>>) -> Result<(), OutOfMemory> {
        for (head, weights) in self.heads.iter_mut().zip(starts) {
            head.begin_near(weights);
        }
        Ok(())
    }
}
