//! Heads that are each solved by a bundle; rows are scanned for all of them at once.

use crate::base::memory::{all_of, copied, OutOfMemory, Room};
use crate::base::step::Step;
use crate::objective::problem::Problem;
use crate::rows::facts::Facts;
use crate::scanning::{HeadFound, HeadScan, ScanPass, ScanSums};
use crate::solver::bundle::head::{BundleHead, Due, FoundByPass};
use crate::solver::ledger::Ledgers as _;
use crate::solver::scanned::ScannedHeads;
use crate::training::by_scans::method::ScanMethod;
use crate::training::by_scans::Holding;
use crate::training::error::TrainError;

/// The heads.
pub(super) struct Bundles {
    heads: Vec<BundleHead>,
    seed: u64,
    /// Whether the only one stands for all of the solver's, one behind the other.
    together: bool,
}

impl Bundles {
    /// With room for rows that are held, of all heads together.
    pub(super) fn new(
        solver: &ScannedHeads,
        facts: &Facts,
        sample: &[u32],
        holding: Holding,
        problem: &Problem,
    ) -> Result<Self, OutOfMemory> {
        let cuts = problem.cuts();
        let together = problem.together() && solver.len() > 1;
        let heads = if together { 1 } else { solver.len() };
        let room = (holding.bytes / 4 / heads, holding.lets_go);
        let seed = problem.seed();
        let mut all = Vec::new();
        all.room(heads)?;
        for head in 0..heads {
            let given = match together {
                true => solver.given_together(cuts)?,
                false => solver.given(head, cuts)?,
            };
            all.push(BundleHead::new(given, facts, sample, room, seed)?);
        }
        Ok(Self {
            heads: all,
            seed,
            together,
        })
    }
}

impl ScanMethod for Bundles {
    fn step(&mut self, solver: &mut ScannedHeads, _: &[u32], _: usize) -> Result<Step, TrainError> {
        let place = self
            .heads
            .iter()
            .position(|head| head.due() == Due::Solving);
        let Some(place) = place else {
            let waits = self.heads.iter().any(|head| head.due() == Due::Pass);
            return Ok(if waits { Step::Blocked } else { Step::Done });
        };
        let head = &mut self.heads[place];
        if let Some(found) = head.compute(self.seed)? {
            match self.together {
                true => take_together(solver, found, head.best()),
                false => solver.take_found(place, &found, head.best()),
            }
        }
        Ok(Step::Progress)
    }

    fn begin_at(&mut self, _: &ScannedHeads, starts: Vec<Vec<f64>>) -> Result<(), TrainError> {
        if self.together {
            let all = starts.iter().flatten().copied();
            return Ok(self.heads[0].begin_at(all, self.seed)?);
        }
        for (head, w) in self.heads.iter_mut().zip(starts) {
            head.begin_at(w, self.seed)?;
        }
        Ok(())
    }

    fn gives_way(&self) -> bool {
        self.heads.iter().any(BundleHead::gives_way)
    }

    fn standing(&self, _: &ScannedHeads) -> Result<Vec<Vec<f64>>, OutOfMemory> {
        all_of(self.heads.iter().map(|head| copied(head.standing())))
    }

    fn pass(&self, sample: &[u32]) -> Result<Vec<HeadScan>, OutOfMemory> {
        let mut passes = Vec::new();
        passes.room(self.heads.len())?;
        let waiting = self.heads.iter().enumerate();
        for (place, head) in waiting.filter(|(_, head)| head.due() == Due::Pass) {
            passes.push(HeadScan::Bundle(Box::new(head.pass(sample, place)?)));
        }
        Ok(passes)
    }

    fn outputs(&self) -> Option<usize> {
        Some(self.heads.iter().map(BundleHead::outputs).sum())
    }

    fn take(
        &mut self,
        _: &mut ScannedHeads,
        pass: ScanPass,
        sums: ScanSums,
    ) -> Result<(), OutOfMemory> {
        let waiting = self.heads.iter_mut().filter(|head| head.due() == Due::Pass);
        let told = pass.into_heads().into_iter().zip(sums.into_heads());
        for (head, told) in waiting.zip(told) {
            if let (HeadScan::Bundle(pass), HeadFound::Bundle(sums)) = told {
                head.take(*pass, *sums)?;
            }
        }
        Ok(())
    }

    fn held(&self) -> u64 {
        self.heads.iter().map(BundleHead::held).sum()
    }
}

/// Each head of the solver takes its weights, and an equal part of the objective of all.
fn take_together(solver: &mut ScannedHeads, found: FoundByPass, w: &[f64]) {
    let heads = solver.len();
    let part = found.part_of(heads);
    for (head, w) in w.chunks_exact(w.len() / heads).enumerate() {
        solver.take_found(head, &part, w);
    }
}
