//! Rows filed in chunks by how firmly the first pass found them held, so that later passes leave out chunks that cannot matter.
//!
//! | pass | leaves out |
//! |---|---|
//! | full | nothing; where the loss is truncated, chunks none of whose rows are likely to matter |
//! | verifying | chunks none of whose rows can have changed, see `solver::single::resting` |
//! | verifying, only to sort the rows of a truncated loss | chunks none of whose rows are likely to have changed |

use std::sync::Arc;

use crate::base::memory::Room;
use crate::cache::Consumer;
use crate::rows::facts::Facts;
use crate::rows::filing::{FiledRows, Filing, LeftOut};
use crate::rows::row::Row;
use crate::simd::Real;
use crate::solver::driver::Method;
use crate::solver::Solver;
use crate::training::error::TrainError;
use crate::training::schedule::pass::{Passes, StreamedPass};

pub(in crate::training) struct Indexed {
    /// In the first pass.
    filing: Option<Filing>,
    of_row: Vec<u16>,
    /// Behind it.
    filed: Option<Arc<FiledRows>>,
    /// Whether a pass has been announced whose end has not come.
    announced: bool,
    /// For each row that comes in the pass under way, how many rows there are.
    rows_for_each: f64,
}

impl Indexed {
    /// Announces the first pass, where there is to be an index.
    pub(in crate::training) fn begin(
        consumer: &mut Consumer,
        facts: &Facts,
    ) -> Result<Option<Self>, TrainError> {
        let Some(words) = consumer.filed_chunk_words() else {
            return Ok(None);
        };
        let mut of_row = Vec::new();
        of_row.room(facts.rows)?.resize(facts.rows, 0);
        let mut this = Self {
            filing: Some(Filing::new(words)),
            of_row,
            filed: None,
            announced: false,
            rows_for_each: 1.0,
        };
        this.announce(consumer, &LeftOut::NONE);
        Ok(Some(this))
    }

    fn announce(&mut self, consumer: &mut Consumer, left_out: &LeftOut) {
        consumer.announce(left_out);
        self.announced = true;
    }

    /// For each row that comes in the pass under way, how many rows there are.
    pub(in crate::training) fn rows_for_each(&self) -> f64 {
        self.rows_for_each
    }

    /// All rows are to come for something else, unless they are coming.
    pub(in crate::training) fn read_all(&mut self, consumer: &mut Consumer) {
        if !self.announced {
            self.rows_for_each = 1.0;
            self.announce(consumer, &LeftOut::NONE);
        }
    }

    /// The last row of a pass has come in which nobody graded rows.
    pub(in crate::training) fn end_reading(&mut self) {
        self.announced = false;
        self.filing = None;
    }

    /// Files a row of the first pass.
    #[inline]
    pub(in crate::training) fn file(&mut self, row: &Row<'_>, grade: u8) {
        if let Some(filing) = &mut self.filing {
            self.of_row[row.ordinal()] = filing.file(grade.into(), row.words().len()).unit;
        }
    }

    /// Whether rows are filed in the pass under way.
    pub(in crate::training) fn files(&self) -> bool {
        self.filing.is_some()
    }

    /// Has the heads know how rows are filed.
    pub(in crate::training) fn tell<T: Real>(
        &self,
        solver: &mut Solver<T>,
    ) -> Result<(), TrainError> {
        if let Some(filed) = &self.filed {
            solver.file(filed)?;
        }
        Ok(())
    }

    /// The last row of a pass has come.
    pub(in crate::training) fn end_pass<T: Real>(
        &mut self,
        solver: &mut Solver<T>,
    ) -> Result<(), TrainError> {
        self.announced = false;
        let Some(filing) = self.filing.take() else {
            return Ok(());
        };
        let of_row = std::mem::take(&mut self.of_row);
        let mut rows = Vec::new();
        rows.room(filing.units())?.resize(filing.units(), 0);
        for unit in &of_row {
            rows[usize::from(*unit)] += 1;
        }
        self.filed = Some(Arc::new(FiledRows { of_row, rows }));
        self.tell(solver)
    }

    /// Announces the pass that has begun, if one has.
    pub(in crate::training) fn announce_next<T: Real>(
        &mut self,
        passes: &mut Passes<T>,
        consumer: &mut Consumer,
    ) -> Result<(), TrainError> {
        if passes.solver.done() {
            return Ok(());
        }
        let left_out = match (passes.current, &self.filed) {
            (StreamedPass::Full, Some(_)) => passes.solver.left_out_of_full(),
            (StreamedPass::Verify, Some(_)) => passes.solver.left_out()?,
            _ => LeftOut::NONE,
        };
        if let Some(filed) = &self.filed {
            let read = |unit: &usize| !left_out.has(*unit);
            let read: u32 = (0..filed.rows.len())
                .filter(read)
                .map(|it| filed.rows[it])
                .sum();
            self.rows_for_each = filed.of_row.len() as f64 / f64::from(read.max(1));
        }
        self.announce(consumer, &left_out);
        Ok(())
    }
}
