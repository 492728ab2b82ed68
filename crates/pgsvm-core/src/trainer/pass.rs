//! What the schedules for rows that arrive have in common: a pass of the reader is a full pass of the solver, or
//! one that verifies, and each row is visited, measured or checked once when it comes.

use crate::kernel::{Kernel, Real, Work};
use crate::problem::Policy;
use crate::row::Row;
use crate::solver::Solver;
use crate::trainer::TrainError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    Full,
    Verify,
}

/// Where the training is in its passes.
pub(super) struct Passes {
    pub(super) current: Pass,
    /// Passes begun.
    pub(super) begun: u32,
    /// Rows of the current pass that have come.
    pub(super) rows: usize,
}

impl Passes {
    /// Begins the first full pass.
    pub(super) fn begin<T: Real>(solver: &mut Solver<T>) -> Self {
        solver.begin_full();
        Self {
            current: Pass::Full,
            begun: 1,
            rows: 0,
        }
    }

    /// Ends the pass and begins the next one, unless training has ended.
    pub(super) fn end<T: Real>(&mut self, solver: &mut Solver<T>) -> Result<(), TrainError> {
        self.rows = 0;
        if self.current == Pass::Full && solver.end_full() {
            solver.begin_verify()?;
            self.current = Pass::Verify;
            self.begun += 1;
            return Ok(());
        }
        if self.current == Pass::Verify {
            solver.end_verify()?;
            if solver.done() {
                return Ok(());
            }
        }
        solver.advance()?;
        solver.begin_full();
        self.current = Pass::Full;
        self.begun += 1;
        Ok(())
    }
}

/// The rows of a batch, visited, measured or checked once each.
pub(super) struct Fresh<'a, T> {
    pub(super) solver: &'a mut Solver<T>,
    pub(super) words: &'a [u32],
    pub(super) dense: usize,
    pub(super) margin: f64,
    pub(super) pass: Pass,
    pub(super) policy: Policy,
    /// For each row, whether it is worth keeping.
    pub(super) keep: &'a mut Vec<bool>,
}

impl<T: Real> Work for Fresh<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<K: Kernel>(self) {
        let mut at = 0;
        while at < self.words.len() {
            let row = Row::new(&self.words[at..], self.dense);
            at += row.values();
            let keep = match self.pass {
                Pass::Full if self.policy == Policy::Paper => {
                    self.solver.measure::<K>(&row);
                    true
                }
                Pass::Full => self.solver.visit_full::<K>(&row, self.margin),
                Pass::Verify => {
                    self.solver.check::<K>(&row);
                    false
                }
            };
            self.keep.push(keep);
        }
    }
}
