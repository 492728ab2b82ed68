//! Heads that Newton's method solves over rows that are filed in chunks.
//!
//! A pass leaves out chunks that add nothing to any of its sums, see [`crate::solver::newton_run`]. Weights are fixed during a pass, so
//! each pass ends with the certificate of all rows. A pass that takes margins also files the rows by what it finds of them, so that the
//! next one may leave chunks out. A pass for a product files them by what the last pass that took margins found.

use crate::cache::Consumer;
use crate::rows::filing::LeftOut;
use crate::rows::row::Row;
use crate::simd::Real;
use crate::solver::newton::head::Next;
use crate::solver::newton_run::NewtonRun;
use crate::solver::Solver;
use crate::training::error::TrainError;
use crate::training::schedule::indexed::{place, Indexed, MOST_FILINGS};

/// Rows are filed where passes since the last time have read as much for want of it as this part of what filing takes, and so many times
/// as much the next time.
const WORTH: f64 = 0.5;

impl Indexed {
    /// Newton's method solves the heads from now on, in the pass that has been announced: of all rows.
    pub(in crate::training) fn begin_newton<T: Real>(
        &self,
        solver: &Solver<T>,
        all: &mut [NewtonRun],
    ) -> Result<(), TrainError> {
        self.tell_newton(all)?;
        solver.may_leave_out_newton(all)?;
        for run in all {
            run.leave_out(&LeftOut::NONE);
        }
        Ok(())
    }

    /// Has heads remember what they see of rows, and know how those are filed.
    pub(in crate::training) fn tell_newton(&self, all: &mut [NewtonRun]) -> Result<(), TrainError> {
        for run in all {
            run.remember(self.facts.rows, self.filed.as_ref())?;
        }
        Ok(())
    }

    /// Announces the pass that comes.
    pub(in crate::training) fn announce_newton<T: Real>(
        &mut self,
        solver: &Solver<T>,
        all: &mut [NewtonRun],
        consumer: &mut Consumer,
    ) -> Result<(), TrainError> {
        let mut left_out = solver.may_leave_out_newton(all)?;
        let share = self.share_of(&left_out);
        if self.wants_filing_newton(share, solver, all) {
            left_out = LeftOut::NONE;
            self.begin_filing()?;
        }
        for run in all {
            run.leave_out(&left_out);
        }
        self.announce(consumer, &left_out);
        Ok(())
    }

    /// Whether rows are to be filed in a pass that would have to read this share of them.
    fn wants_filing_newton<T: Real>(
        &mut self,
        share: f64,
        solver: &Solver<T>,
        all: &[NewtonRun],
    ) -> bool {
        let to_read = solver.share_to_read_newton(all, self.facts.rows);
        self.spared += (share - to_read).max(0.0);
        let costs = WORTH * f64::from(1 + self.filings) * (2.0 - share);
        // where a line is looked at nothing is found of rows
        let lines = all.iter().any(|run| run.visits && run.next == Next::Line);
        let wants = !lines && self.filings < MOST_FILINGS && self.spared >= costs;
        if wants {
            self.spared = 0.0;
        }
        wants
    }

    /// Files a row that is so far from mattering, and says in which chunk.
    #[inline]
    pub(in crate::training) fn file_newton(&mut self, row: &Row<'_>, file: u8) -> u16 {
        match &mut self.filing {
            Some(filing) => place(filing, &mut self.of_row, row, file.into()),
            None => 0,
        }
    }

    /// The last row of a pass has come.
    pub(in crate::training) fn end_newton_pass(
        &mut self,
        all: &mut [NewtonRun],
    ) -> Result<(), TrainError> {
        self.announced = false;
        let Some(filed) = self.end_filing()? else {
            return Ok(());
        };
        for run in all {
            run.file(&filed)?;
        }
        Ok(())
    }
}
