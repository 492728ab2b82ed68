//! Rows filed in chunks by how firmly the first pass found them held, so that later passes leave out chunks that cannot matter.
//!
//! | pass | leaves out |
//! |---|---|
//! | full | nothing |
//! | sparing: visits between full passes | chunks whose rows are all shrunk, or in the working set, for every head |
//! | verifying | chunks none of whose rows can have changed, see `solver::single::resting` |
//!
//! A full pass gives the primal and corrects the shift; sparing passes follow it, or a verifying pass that has sorted the rows of a
//! truncated loss, until the heads seem to have arrived. Rows that the working set holds are swept in a sparing pass whether or not
//! rows come.

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
use crate::training::log::Event;
use crate::training::schedule::pass::{Held, Passes, StreamedPass};
use crate::training::schedule::working_set::WorkingSet;

/// Sparing passes that follow each other at most, and the rows they read together, as a multiple of all rows.
const SPARING_PASSES: u32 = 20;
const SPARING_ROWS: f64 = 1.0;
/// Sweeps of the working set that a sparing pass makes besides those that fresh rows are owed.
pub(in crate::training) const SPARING_SWEEPS: f64 = 3.0;
/// Full passes before the first sparing one: until then nothing is shrunk.
const FULL_PASSES: u32 = 2;

/// What a verifying pass came behind.
#[derive(Clone, Copy)]
enum Behind {
    Full,
    /// A sparing pass, with so many heads that ran.
    Sparing(usize),
}

pub(in crate::training) struct Indexed {
    /// In the first pass.
    filing: Option<Filing>,
    of_row: Vec<u16>,
    /// Behind it.
    filed: Option<Arc<FiledRows>>,
    /// Whether a pass has been announced whose end has not come.
    announced: bool,
    behind: Behind,
    /// Sparing passes since the last other one, and the rows that came in them.
    passes: u32,
    rows: usize,
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
            behind: Behind::Full,
            passes: 0,
            rows: 0,
        };
        this.announce(consumer, &LeftOut::NONE);
        Ok(Some(this))
    }

    fn announce(&mut self, consumer: &mut Consumer, left_out: &LeftOut) {
        consumer.announce(left_out);
        self.announced = true;
    }

    /// All rows are to come for something else, unless they are coming.
    pub(in crate::training) fn read_all(&mut self, consumer: &mut Consumer) {
        if !self.announced {
            self.announce(consumer, &LeftOut::NONE);
        }
    }

    /// The last row of a pass has come.
    pub(in crate::training) fn pass_has_come(&mut self) {
        self.announced = false;
        // nobody graded them
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
        &mut self,
        solver: &mut Solver<T>,
    ) -> Result<(), TrainError> {
        if let Some(filing) = self.filing.take() {
            self.filed = Some(Arc::new(FiledRows {
                of_row: std::mem::take(&mut self.of_row),
                units: filing.units(),
            }));
        }
        if let Some(filed) = &self.filed {
            solver.file(filed)?;
        }
        Ok(())
    }

    /// Ends a pass and begins the next one, unless training has ended.
    pub(in crate::training) fn end_pass<T: Real>(
        &mut self,
        passes: &mut Passes<T>,
        held: Held,
    ) -> Result<(), TrainError> {
        self.announced = false;
        if self.files() {
            self.tell(&mut passes.solver)?;
        }
        let next = match passes.current {
            StreamedPass::Full => self.end_full(passes, held)?,
            StreamedPass::Sparing => self.end_sparing(passes, held),
            StreamedPass::Verify => self.end_verify(passes, held)?,
        };
        if passes.solver.done() {
            return Ok(());
        }
        if next != StreamedPass::Sparing {
            (self.passes, self.rows) = (0, 0);
        }
        passes.begin_next(next)
    }

    fn end_full<T: Real>(
        &mut self,
        passes: &mut Passes<T>,
        held: Held,
    ) -> Result<StreamedPass, TrainError> {
        let due = passes.solver.end_full()?;
        passes.note((Event::Pass, None), held);
        if due {
            self.behind = Behind::Full;
            return Ok(StreamedPass::Verify);
        }
        self.go_on(passes)
    }

    /// What follows a full pass that is not to be verified, or has been.
    fn go_on<T: Real>(&self, passes: &mut Passes<T>) -> Result<StreamedPass, TrainError> {
        let solver = &mut passes.solver;
        if !solver.done() {
            solver.advance()?;
        }
        let early = solver.full_passes() < FULL_PASSES;
        Ok(match self.filed.is_none() || solver.opens() || early {
            true => StreamedPass::Full,
            false => StreamedPass::Sparing,
        })
    }

    fn end_sparing<T: Real>(&mut self, passes: &mut Passes<T>, held: Held) -> StreamedPass {
        passes.note((Event::Active, None), held);
        self.passes += 1;
        self.rows += passes.rows;
        let solver = &mut passes.solver;
        if solver.seems_to_arrive() {
            self.behind = Behind::Sparing(solver.running_heads());
            return StreamedPass::Verify;
        }
        let all = self.filed.as_ref().map_or(0, |filed| filed.of_row.len());
        match self.passes >= SPARING_PASSES || self.rows as f64 >= SPARING_ROWS * all as f64 {
            true => StreamedPass::Full,
            false => StreamedPass::Sparing,
        }
    }

    fn end_verify<T: Real>(
        &mut self,
        passes: &mut Passes<T>,
        held: Held,
    ) -> Result<StreamedPass, TrainError> {
        let due = passes.solver.end_verify()?;
        passes.note((Event::Verify, None), held);
        let solver = &passes.solver;
        if due {
            return Ok(StreamedPass::Verify);
        }
        if solver.has_sorted() && self.filed.is_some() {
            return Ok(StreamedPass::Sparing);
        }
        match std::mem::replace(&mut self.behind, Behind::Full) {
            Behind::Sparing(heads) if solver.running_heads() < heads => Ok(StreamedPass::Sparing),
            Behind::Sparing(_) => Ok(StreamedPass::Full),
            Behind::Full => self.go_on(passes),
        }
    }

    /// Announces the pass that has begun.
    pub(in crate::training) fn announce_next<T: Real>(
        &mut self,
        passes: &mut Passes<T>,
        set: &WorkingSet,
        consumer: &mut Consumer,
    ) -> Result<(), TrainError> {
        let left_out = match (passes.current, &self.filed) {
            (StreamedPass::Sparing, Some(filed)) => at_rest(&passes.solver, set, filed),
            (StreamedPass::Verify, Some(_)) => passes.solver.left_out()?,
            _ => LeftOut::NONE,
        };
        self.announce(consumer, &left_out);
        Ok(())
    }
}

/// The chunks whose rows are all shrunk, or in the working set.
fn at_rest<T: Real>(solver: &Solver<T>, set: &WorkingSet, filed: &FiledRows) -> LeftOut {
    let mut left_out = LeftOut::ALL;
    for n in 0..filed.of_row.len().div_ceil(64) {
        let mut wanted = solver.active(n) & !set.members(n);
        while wanted != 0 {
            let row = 64 * n + wanted.trailing_zeros() as usize;
            left_out.read(filed.of_row[row].into());
            wanted &= wanted - 1;
        }
    }
    left_out
}
