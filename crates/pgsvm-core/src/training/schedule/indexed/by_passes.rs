//! Methods of passes ([`crate::solver::by_passes`]) over rows that are filed in chunks.
//!
//! A pass leaves out chunks that add nothing to any of its sums, see [`crate::solver::by_passes::unread`]. Weights are fixed during a pass, so
//! each pass ends with the certificate of all rows. A pass that takes margins also files the rows by what it finds of them, so that the
//! next one may leave chunks out. A pass for a product files them by what the last pass that took margins found.

use crate::base::memory::OutOfMemory;
use crate::cache::Consumer;
use crate::rows::filing::LeftOut;
use crate::rows::visited::VisitedBatch;
use crate::simd::Real;
use crate::solver::by_passes::pass::PassHere;
use crate::solver::Solver;
use crate::training::error::TrainError;
use crate::training::schedule::indexed::{place, Indexed, MOST_FILINGS};

/// Rows are filed where passes since the last time have read as much for want of it as this part of what filing takes, and so many times
/// as much the next time.
const WORTH: f64 = 0.5;

impl Indexed {
    /// This pass has been announced: of all rows.
    pub(in crate::training) fn begin_pass_here<T: Real>(
        &mut self,
        solver: &Solver<T>,
        pass: &PassHere,
    ) -> Result<(), TrainError> {
        self.unread.clear();
        self.may_leave_out(solver, pass)?;
        pass.leave_out(&mut self.unread, &LeftOut::NONE);
        Ok(())
    }

    /// Announces this pass.
    pub(in crate::training) fn announce_pass_here<T: Real>(
        &mut self,
        solver: &Solver<T>,
        pass: &PassHere,
        consumer: &mut Consumer,
    ) -> Result<(), TrainError> {
        let mut left_out = self.may_leave_out(solver, pass)?;
        let share = self.share_of(&left_out);
        if self.wants_filing_here(share, solver, pass) {
            left_out = LeftOut::NONE;
            self.begin_filing()?;
        }
        pass.leave_out(&mut self.unread, &left_out);
        self.announce(consumer, &left_out);
        Ok(())
    }

    fn may_leave_out<T: Real>(
        &mut self,
        solver: &Solver<T>,
        pass: &PassHere,
    ) -> Result<LeftOut, OutOfMemory> {
        let size = (self.facts.rows, self.facts.features);
        pass.remember(&mut self.unread, size, self.filed.as_ref())?;
        pass.may_leave_out(solver, &mut self.unread)
    }

    /// Whether rows are to be filed in a pass that would have to read this share of them.
    fn wants_filing_here<T: Real>(
        &mut self,
        share: f64,
        solver: &Solver<T>,
        pass: &PassHere,
    ) -> bool {
        let to_read = pass.share_to_read(solver, &self.unread, self.facts.rows);
        self.spared += (share - to_read).max(0.0);
        let costs = WORTH * f64::from(1 + self.filings) * (2.0 - share);
        let wants = pass.may_file() && self.filings < MOST_FILINGS && self.spared >= costs;
        if wants {
            self.spared = 0.0;
        }
        wants
    }

    /// Has rows of such a pass visited and filed, each so far from mattering as it is found to be; the answers are their chunks.
    pub(in crate::training) fn file_pass_here<T: Real>(
        &mut self,
        solver: &mut Solver<T>,
        pass: &mut PassHere,
        rows: VisitedBatch<'_>,
        answers: &mut Vec<u16>,
    ) -> Result<usize, OutOfMemory> {
        let (filing, of_row) = (&mut self.filing, &mut self.of_row);
        pass.visit_filing(solver, rows, &mut self.unread, |row, file| {
            answers.push(file.into());
            filing
                .as_mut()
                .map_or(0, |filing| place(filing, of_row, row, file.into()))
        })
    }

    /// The last row of a pass has come.
    pub(in crate::training) fn end_pass_here(&mut self) -> Result<(), TrainError> {
        self.announced = false;
        if let Some(filed) = self.end_filing()? {
            for unread in &mut self.unread {
                unread.file(&filed)?;
            }
        }
        Ok(())
    }
}
