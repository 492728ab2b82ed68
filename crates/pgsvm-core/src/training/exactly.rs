//! What an exact machine begins from: the decisions and dual variables of the machine of low rank that was trained before.

use crate::base::interrupts;
use crate::base::memory::{copied, gathered, OutOfMemory, Room as _};
use crate::exact::{ExactJob, ExactOutcome, ExactSolver, ExactStart};
use crate::kernels::{Expansion, LowRank};
use crate::objective::heads::{HeadSpec, Signs};
use crate::objective::problem::Problem;
use crate::training::log::LogEntry;
use crate::training::nu::NuSearch;
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
        for (head, (mut spec, _)) in self.heads()?.into_iter().take(heads).enumerate() {
            if let Some((nu, _)) = self.nu() {
                spec.c = nu.c();
            }
            starts.room(1)?.push(ExactStart {
                spec,
                duals: gathered(self.duals(head).iter())?,
            });
            interrupts::check();
        }
        let job = ExactJob::new(*map.kernel(), problem, (bytes, self.epsilon()));
        let job = match self.nu() {
            Some(_) => job.of_one_class(),
            None => job,
        };
        let first = self.machines(map, starts.len())?;
        let first = first.filter(|_| !starts.is_empty());
        let solver = first.map(|first| ExactSolver::new(job, first, starts, calibrations));
        let ranks = copied(self.class_ranks())?;
        Ok(solver.transpose()?.map(|it| it.rank_classes(ranks)))
    }
}

/// The search for the C of nu, by exact machines from that of low rank on.
pub struct ExactNu {
    search: NuSearch,
    costs: f64,
    signs: Signs,
    passes: u32,
    seconds: f64,
}

impl Trainer {
    /// None where it is C that is given.
    pub fn nu_of_exact(&self) -> Result<Option<ExactNu>, OutOfMemory> {
        let Some((search, costs)) = self.nu() else {
            return Ok(None);
        };
        let first = self.heads()?.into_iter().next();
        Ok(first.map(|(spec, _)| ExactNu {
            search: search.anew_at_hand(),
            costs,
            signs: spec.signs,
            passes: 0,
            seconds: 0.0,
        }))
    }
}

impl ExactNu {
    /// A machine at the C at hand has been found: a solver at the next one, or None where this is the last, which knows its C then.
    pub fn next(
        &mut self,
        found: &mut ExactOutcome,
        problem: &Problem,
        bytes: usize,
    ) -> Result<Option<ExactSolver>, OutOfMemory> {
        let before = self.search.c();
        let sum: f64 = found.duals.iter().flatten().map(|it| f64::from(*it)).sum();
        self.passes += found.passes;
        self.seconds += found.seconds;
        if !self.search.goes_on(sum / (before * self.costs)) {
            found.nu = Some([before, self.search.reached()]);
            (found.passes, found.seconds) = (self.passes, self.seconds);
            return Ok(None);
        }
        let (landmarks, factors, intercepts) = found.machines()?;
        let Some(first) = Expansion::new(found.kernel, landmarks, factors, intercepts)? else {
            return Ok(None);
        };
        let job = ExactJob::new(found.kernel, problem, (bytes, None)).of_one_class();
        let mut starts = Vec::new();
        for duals in &found.duals {
            starts.room(1)?.push(ExactStart {
                spec: HeadSpec::new(self.signs.clone(), self.search.c()),
                duals: copied(duals)?,
            });
        }
        ExactSolver::new(job, first, starts, Vec::new()).map(Some)
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
