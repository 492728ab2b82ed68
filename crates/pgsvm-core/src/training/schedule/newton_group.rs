//! The heads that Newton's method solves at a time, wherever their rows are.
//!
//! As many heads as their matrices fit are solved together, so rows are read once for all of them; the others follow. After a pass comes
//! what is to be computed before the next one, head after head and in steps.

use crate::base::memory::OutOfMemory;
use crate::rows::facts::Facts;
use crate::simd::Level;
use crate::solver::newton::choice::at_a_time;
use crate::solver::newton::head::Next;
use crate::solver::newton::pace::{Costs, PRODUCTS_PER_VALUE};
use crate::solver::newton_run::{NewtonHeads, NewtonRun};

/// Words of rows, times heads, that are worth calling threads for.
const LEAST_VALUES: usize = 1 << 14;

/// The heads that are solved at a time, and those that follow.
pub(in crate::training) struct Group {
    pub(in crate::training) costs: Costs,
    heads: usize,
    at_a_time: usize,
    /// The heads being solved.
    pub(in crate::training) runs: Vec<NewtonRun>,
    /// The first one that may have something to be computed before the next pass.
    computes: usize,
    /// Whether passes read all rows.
    whole: bool,
}

impl Group {
    /// Of no heads as yet, for so many threads. `streams`: rows arrive for each pass anew.
    pub(in crate::training) fn new(
        solver: &impl NewtonHeads,
        facts: &Facts,
        (streams, threads): (bool, usize),
    ) -> Self {
        let mut costs = Costs::new(facts);
        costs.streams = streams;
        Self {
            costs,
            heads: solver.len(),
            at_a_time: at_a_time(&costs, threads),
            runs: Vec::new(),
            computes: 0,
            whole: true,
        }
    }

    /// Begins with the heads that come next; false where there are none.
    pub(in crate::training) fn next(
        &mut self,
        solver: &impl NewtonHeads,
    ) -> Result<bool, OutOfMemory> {
        let first = self.runs.last().map_or(0, |run| run.head + 1);
        let end = self.heads.min(first + self.at_a_time);
        // their memory goes back first
        self.runs = Vec::new();
        self.runs = solver.newton_runs(first..end, self.costs)?;
        Ok(!self.runs.is_empty())
    }

    /// Whether one of them begins at other weights than 0.
    pub(in crate::training) fn begins_elsewhere(&self) -> bool {
        self.runs.iter().any(|run| run.newton.begins_elsewhere())
    }

    /// The same where passes are scans.
    pub(in crate::training) fn of_scans(solver: &impl NewtonHeads, facts: &Facts) -> Self {
        let mut this = Self::new(solver, facts, (true, 1));
        this.costs.scans = true;
        this.at_a_time = at_a_time(&this.costs, 1);
        this
    }

    /// Whether passes read a sample.
    pub(in crate::training) fn samples(&self) -> bool {
        !self.whole
    }

    /// Begins passes over all rows.
    pub(in crate::training) fn begin_whole(&mut self) {
        self.begin(true);
        for run in &mut self.runs {
            run.newton.begin_whole();
        }
    }

    /// Begins passes over one row in so many.
    pub(in crate::training) fn begin_sample(&mut self, part: f64) {
        self.begin(false);
        for run in &mut self.runs {
            run.newton.begin_sample(part);
        }
    }

    fn begin(&mut self, whole: bool) {
        self.whole = whole;
        self.computes = self.runs.len();
        for run in &mut self.runs {
            run.go_on(Next::Pass);
        }
    }

    /// Whether rows of so many words are worth several threads, in the pass under way.
    pub(in crate::training) fn divides(&self, words: usize) -> bool {
        let heads = self.runs.iter().filter(|run| run.visits).count();
        words * heads >= LEAST_VALUES
    }

    /// What visiting a row may cost at most, in values.
    pub(in crate::training) fn row_values(&self) -> usize {
        let Costs {
            rows, pass, row, ..
        } = self.costs;
        let heads = self.runs.iter().filter(|run| run.visits).count();
        (pass / rows.max(1.0) + row).max(1.0) as usize * heads.max(1)
    }

    /// Whether one of them takes part in the pass that comes or is under way.
    pub(in crate::training) fn visits(&self) -> bool {
        self.runs.iter().any(|run| run.visits)
    }

    /// Begins the pass that comes, where it has not begun; for rows whose dual variables are kept.
    pub(in crate::training) fn begin_pass(&mut self) -> Result<(), OutOfMemory> {
        self.runs.iter_mut().try_for_each(NewtonRun::begin_pass)
    }

    /// Ends the pass for every head. Whether one of them knows its primal by it.
    pub(in crate::training) fn end_pass(
        &mut self,
        solver: &mut impl NewtonHeads,
        level: Level,
    ) -> bool {
        let mut evaluates = false;
        for run in self.runs.iter_mut().filter(|run| run.visits) {
            let evaluated = run.next == Next::Pass;
            evaluates |= evaluated;
            let next = run.end_pass(level);
            run.go_on(next);
            match (evaluated, run.next) {
                _ if !self.whole => {}
                // what is found is known when that has been solved
                (true, Next::Near) => {}
                (true, _) => solver.take_newton(run),
                (false, Next::GivenUp) => solver.leave_newton(run),
                (false, _) => {}
            }
        }
        self.computes = 0;
        evaluates
    }

    /// Goes on with what is to be computed before the next pass; gives back the values that it took, None where that is all.
    pub(in crate::training) fn between(
        &mut self,
        solver: &mut impl NewtonHeads,
        level: Level,
    ) -> Option<usize> {
        let rest = self.runs.get_mut(self.computes..)?;
        let computes = |run: &NewtonRun| matches!(run.next, Next::Factor | Next::Near);
        let Some(place) = rest.iter().position(computes) else {
            self.computes = self.runs.len();
            return None;
        };
        self.computes += place;
        let run = &mut self.runs[self.computes];
        let (products, solves) = (run.newton.products(), run.newton.is_solving());
        let next = match run.next {
            Next::Near => run.newton.near(level),
            _ => run.newton.factor(level),
        };
        run.go_on(next);
        if solves && !run.newton.is_solving() && self.whole {
            solver.take_newton(run);
        } else if run.next == Next::GivenUp && self.whole {
            solver.leave_newton(run);
        }
        Some(products / PRODUCTS_PER_VALUE)
    }
}
