//! Heads that Newton's method solves, over a sample that is in memory and then by scans.

use crate::base::memory::{all_of, gathered, OutOfMemory, Room};
use crate::base::step::Step;
use crate::rows::batch::Batch;
use crate::rows::facts::Facts;
use crate::scanning::{HeadFound, HeadScan, ScanPass, ScanSums};
use crate::simd::Level;
use crate::solver::ledger::Ledgers;
use crate::solver::scanned::ScannedHeads;
use crate::training::by_scans::method::ScanMethod;
use crate::training::error::TrainError;
use crate::training::schedule::newton_group::Group;

/// The heads, some of them at a time.
pub(super) struct NewtonByScans {
    group: Group,
    facts: Facts,
    /// By head of the group, the weights at which the last pass evaluated rows.
    before: Vec<Option<Vec<f64>>>,
    /// Words that rows may take which scans bring along.
    room: usize,
    /// By head where it begins; none where heads begin at the sample.
    starts: Vec<Vec<f64>>,
    /// The pass over the sample that is under way, and up to which word.
    sampling: Option<(ScanPass, ScanSums, usize)>,
}

impl NewtonByScans {
    pub(super) fn new(
        solver: &ScannedHeads,
        facts: &Facts,
        sample: &[u32],
        room: usize,
    ) -> Result<Self, TrainError> {
        let mut this = Self {
            room,
            starts: Vec::new(),
            group: Group::of_scans(solver, facts),
            facts: *facts,
            before: Vec::new(),
            sampling: None,
        };
        this.next_heads(solver, sample)?;
        Ok(this)
    }

    /// Begins with the heads that come next, where there are some.
    fn next_heads(&mut self, solver: &ScannedHeads, sample: &[u32]) -> Result<bool, TrainError> {
        if !self.group.next(solver)? {
            return Ok(false);
        }
        let (room, dense) = (self.room / self.group.runs.len(), self.facts.dense);
        for run in &mut self.group.runs {
            run.newton.bring_near(room, dense);
        }
        for run in &mut self.group.runs {
            if let Some(w) = self.starts.get(run.head) {
                run.newton.begin_at(w);
            }
        }
        let rows = Batch::new(sample, self.facts.dense).count();
        match rows {
            _ if !self.starts.is_empty() => self.group.begin_whole(),
            0 => self.group.begin_whole(),
            rows => self
                .group
                .begin_sample(self.facts.rows as f64 / rows as f64),
        }
        self.forget_pass()?;
        Ok(true)
    }

    fn forget_pass(&mut self) -> Result<(), OutOfMemory> {
        self.before.clear();
        let heads = self.group.runs.len();
        self.before.room(heads)?.resize_with(heads, || None);
        Ok(())
    }

    fn go_over_sample(
        &mut self,
        solver: &mut ScannedHeads,
        (sample, budget): (&[u32], usize),
        pass: ScanPass,
        mut sums: ScanSums,
        from: usize,
    ) -> Result<Step, TrainError> {
        let mut at = from;
        for row in Batch::new(&sample[from..], self.facts.dense) {
            if at - from >= budget {
                break;
            }
            pass.add(&mut sums, &row);
            at += row.values();
        }
        if at < sample.len() {
            self.sampling = Some((pass, sums, at));
            return Ok(Step::Progress);
        }
        sums.finish();
        self.take(solver, pass, sums)?;
        Ok(Step::Progress)
    }
}

impl ScanMethod for NewtonByScans {
    fn step(
        &mut self,
        solver: &mut ScannedHeads,
        sample: &[u32],
        budget: usize,
    ) -> Result<Step, TrainError> {
        if let Some((pass, sums, at)) = self.sampling.take() {
            return self.go_over_sample(solver, (sample, budget), pass, sums, at);
        }
        if self.group.between(solver, Level::best()).is_some() {
            return Ok(Step::Progress);
        }
        match (self.group.visits(), self.group.samples()) {
            (true, true) => {
                let pass = ScanPass::of(self.pass(sample)?);
                let sums = pass.begin()?;
                self.sampling = Some((pass, sums, 0));
            }
            (true, false) => return Ok(Step::Blocked),
            (false, true) => {
                self.group.begin_whole();
                self.forget_pass()?;
            }
            (false, false) => {
                if !self.next_heads(solver, sample)? {
                    return Ok(Step::Done);
                }
            }
        }
        Ok(Step::Progress)
    }

    fn pass(&self, _: &[u32]) -> Result<Vec<HeadScan>, OutOfMemory> {
        let mut heads = Vec::new();
        heads.room(self.group.runs.len())?;
        for (run, before) in self.group.runs.iter().zip(&self.before) {
            if run.visits {
                let pass = run.newton.pass(run.next, before.as_deref())?;
                heads.push(HeadScan::Newton(Box::new(pass)));
            }
        }
        Ok(heads)
    }

    fn take(
        &mut self,
        solver: &mut ScannedHeads,
        pass: ScanPass,
        sums: ScanSums,
    ) -> Result<(), OutOfMemory> {
        let visiting = self.group.runs.iter_mut().zip(&mut self.before);
        let visiting = visiting.filter(|(run, _)| run.visits);
        let told = pass.into_heads().into_iter().zip(sums.into_heads());
        for ((run, before), told) in visiting.zip(told) {
            if let (HeadScan::Newton(pass), HeadFound::Newton(sums)) = told {
                run.newton.take(*sums);
                if let Some(w) = pass.evaluated() {
                    *before = Some(w);
                }
            }
        }
        self.group.end_pass(solver, Level::best());
        Ok(())
    }

    fn begin_at(&mut self, solver: &ScannedHeads, starts: Vec<Vec<f64>>) -> Result<(), TrainError> {
        self.starts = starts;
        self.group = Group::of_scans(solver, &self.facts);
        self.next_heads(solver, &[])?;
        Ok(())
    }

    fn standing(&self, heads: &ScannedHeads) -> Result<Vec<Vec<f64>>, OutOfMemory> {
        all_of((0..heads.len()).map(|head| {
            let w = heads.weights(head);
            gathered(w.iter().chain([w.intercept()]))
        }))
    }

    fn is_newton(&self) -> bool {
        true
    }
}
