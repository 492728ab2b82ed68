//! From a trained machine of low rank to its decisions, and to the exact one: where its heads begin.

use crate::base::interrupts;
use crate::base::memory::{copied, gathered, OutOfMemory, Room as _};
use crate::exact::{ExactJob, ExactOutcome, ExactSolver, ExactStart};
use crate::kernels::{Expansion, LowRank};
use crate::objective::problem::Problem;
use crate::training::log::LogEntry;
use crate::training::Trainer;

impl Trainer {
    /// The first heads of this training, whose rows `map` made, as machines that decide about rows as they were before. None
    /// where the map and the heads do not fit each other.
    pub fn machines(&self, map: &LowRank, heads: usize) -> Result<Option<Expansion>, OutOfMemory> {
        let (mut factors, mut intercepts) = (Vec::new(), Vec::new());
        for head in 0..heads {
            let found = self.weights(head);
            let folded = map.fold(found.iter())?;
            factors.room(folded.len())?.extend(folded);
            intercepts.room(1)?.push(found.intercept());
        }
        let landmarks = map.landmarks().rows().copied()?;
        Expansion::new(*map.kernel(), landmarks, factors, intercepts)
    }

    /// A solver that begins at the final heads of this training, whose rows `map` made of the rows that it will read; with
    /// so many bytes for candidates and kernel rows. `by_probability`: as of the plan. To be called when the training has ended. None where there are no such
    /// heads, or the map does not fit them.
    pub fn exactly(
        &self,
        map: &LowRank,
        problem: &Problem,
        bytes: usize,
        by_probability: bool,
    ) -> Result<Option<ExactSolver>, OutOfMemory> {
        let report = self.report()?;
        let heads = report.heads.len();
        let calibrations = match by_probability {
            true => report.calibrations.heads,
            false => Vec::new(),
        };
        let mut starts = Vec::new();
        for (head, (spec, _)) in self.heads()?.into_iter().take(heads).enumerate() {
            starts.room(1)?.push(ExactStart {
                spec,
                duals: gathered(self.duals(head).iter())?,
                intercept: self.weights(head).intercept(),
            });
            interrupts::check();
        }
        let job = ExactJob::new(*map.kernel(), problem, bytes);
        let first = self.machines(map, starts.len())?;
        let first = first.filter(|_| !starts.is_empty());
        let solver = first.map(|first| ExactSolver::new(job, first, starts, calibrations));
        let ranks = copied(self.class_ranks())?;
        Ok(solver.transpose()?.map(|it| it.rank_classes(ranks)))
    }
}

impl LogEntry {
    /// What an exact machine adds to the log of the one of low rank where it began: the certificates at the end.
    pub fn of_exact(before: &Self, found: &ExactOutcome) -> Self {
        let rows = found.duals.first().map_or(0, Vec::len);
        Self {
            seconds: before.seconds + found.seconds,
            pass: before.pass + found.passes,
            block: None,
            rows_read: before.rows_read + u64::from(found.passes) * rows as u64,
            projected_gradient: None,
            ..*before
        }
        .proved_by(&found.reports)
    }
}
