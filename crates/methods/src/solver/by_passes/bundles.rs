//! Heads that are each solved by a bundle; a pass is for all of them at once.

use crate::base::memory::{all_of, copied, OutOfMemory, Room};
use crate::objective::problem::Problem;
use crate::rows::facts::Facts;
use crate::solver::bundle::head::{BundleHead, Due, FoundByPass};
use crate::solver::by_passes::{due_of, FixedWeights, Summed};
use crate::solver::head_sums::{HeadFound, HeadScan};
use crate::solver::ledger::Ledgers as _;
use crate::solver::scanned::ScannedHeads;

/// The heads.
pub struct Bundles {
    heads: Vec<BundleHead>,
    seed: u64,
    /// Whether the only one stands for all of the solver's, one behind the other.
    together: bool,
}

impl Bundles {
    /// With room for so many bytes of rows that are held, of all heads together, which are let go when others are nearer or not.
    pub fn new(
        solver: &ScannedHeads,
        facts: &Facts,
        sample: &[u32],
        (bytes, lets_go): (usize, bool),
        problem: &Problem,
    ) -> Result<Self, OutOfMemory> {
        let cuts = problem.cuts();
        let together = problem.together() && solver.len() > 1;
        let heads = if together { 1 } else { solver.len() };
        let room = (bytes / size_of::<u32>() / heads, lets_go);
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

impl FixedWeights<ScannedHeads> for Bundles {
    fn due(&self) -> Due {
        due_of(self.heads.iter().map(BundleHead::due))
    }

    fn compute(&mut self, solver: &mut ScannedHeads, sample: &[u32]) -> Result<usize, OutOfMemory> {
        let mut heads = self.heads.iter_mut().enumerate();
        let Some((place, head)) = heads.find(|(_, head)| head.due() == Due::Solving) else {
            return Ok(0);
        };
        if let Some(found) = head.compute(sample, self.seed)? {
            match self.together {
                true => take_together(solver, found, head.best()),
                false => {
                    solver.be_sorted_at(place, head.sorted_at());
                    solver.take_found(place, &found, head.best());
                }
            }
        }
        Ok(1)
    }

    fn pass(&self, sample: &[u32]) -> Result<Vec<(usize, HeadScan)>, OutOfMemory> {
        let heads = self.heads.iter().enumerate();
        let waiting = heads.filter(|(_, head)| head.due() == Due::Pass);
        all_of(waiting.map(|(place, head)| {
            let pass = head.pass(sample, place)?;
            Ok::<_, OutOfMemory>((place, HeadScan::Bundle(Box::new(pass))))
        }))
    }

    fn take(&mut self, _: &mut ScannedHeads, found: Vec<Summed>) -> Result<bool, OutOfMemory> {
        let waiting = self.heads.iter_mut().filter(|head| head.due() == Due::Pass);
        for (head, found) in waiting.zip(found) {
            if let (HeadScan::Bundle(pass), HeadFound::Bundle(sums)) = (found.pass, found.sums) {
                head.take(*pass, *sums)?;
            }
        }
        Ok(true)
    }

    fn begin_at(&mut self, _: &ScannedHeads, starts: Vec<Vec<f64>>) -> Result<(), OutOfMemory> {
        if self.together {
            let all = starts.iter().flatten().copied();
            return self.heads[0].begin_at(all, self.seed);
        }
        for (head, w) in self.heads.iter_mut().zip(starts) {
            head.begin_at(w, self.seed)?;
        }
        Ok(())
    }

    fn weights_so_far(&self, _: &ScannedHeads) -> Result<Vec<Vec<f64>>, OutOfMemory> {
        all_of(self.heads.iter().map(|head| copied(head.weights_so_far())))
    }

    fn gives_way(&self) -> bool {
        self.heads.iter().any(BundleHead::gives_way)
    }

    fn held(&self) -> u64 {
        self.heads.iter().map(BundleHead::held).sum()
    }

    fn outputs(&self) -> Option<usize> {
        Some(self.heads.iter().map(BundleHead::outputs).sum())
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
