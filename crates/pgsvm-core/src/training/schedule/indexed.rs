//! Rows filed in chunks by how far the last pass found them from mattering, so that later passes leave out chunks that cannot matter; or by
//! a metric forest, so that passes ask for chunks near the decision boundary.
//!
//! A full pass files the rows if later passes are expected to save more than filing costs. A later full pass files them again. By a forest,
//! the second full pass files them.
//!
//! | pass | leaves out |
//! |---|---|
//! | full | chunks none of whose rows are likely to matter; nothing where visits put rows of a truncated loss on their sides |
//! | full, by a forest | all chunks but those that queries of the heads ask for, and some with rows that hold weights and are not in the cache |
//! | verifying | chunks none of whose rows can have changed, see `solver::single::skippable` |
//! | verifying, only to sort the rows of a truncated loss | chunks none of whose rows are likely to have changed |
//! | of Newton's method | chunks that have nothing for its sums, see [`by_passes`] |

mod by_passes;

use std::sync::Arc;

use crate::base::memory::Room;
use crate::base::random::{Random, Stream};
use crate::cache::Consumer;
use crate::objective::problem::Problem;
use crate::objective::solver_choice::ForestShape;
use crate::rows::facts::Facts;
use crate::rows::filing::{FiledRows, Filing, LeftOut};
use crate::rows::row::Row;
use crate::simd::Real;
use crate::solver::by_passes::unread::Unread;
use crate::solver::driver::Method;
use crate::solver::Solver;
use crate::training::error::TrainError;
use crate::training::schedule::forest::{pool_sample, Forest};
use crate::training::schedule::pass::{Passes, StreamedPass};
use crate::training::schedule::survey::Sample;
use crate::training::schedule::working_set::WorkingSet;

/// Filing takes a pass that reads and writes all rows. They are filed where that spares more in so many full passes; so many full passes
/// after the last time at least, and so often at most.
const PAYS_IN: f64 = 8.0;
const FILING_PASSES: u32 = 2;
const MOST_FILINGS: u32 = 4;

/// The chunk into which a row comes with this answer, which is kept by its ordinal.
#[inline]
fn place(filing: &mut Filing, of_row: &mut [u16], row: &Row<'_>, answer: u16) -> u16 {
    let unit = filing.file(answer, row.words().len()).unit;
    of_row[row.ordinal()] = unit;
    unit
}

/// Where there is a metric forest.
struct Search {
    shape: ForestShape,
    seed: u64,
    intercept: bool,
    /// The rows of the first pass from which pivots are drawn, until they are.
    sample: Option<Sample>,
    forest: Option<Forest>,
    /// The first of the chunks with rows of S that are not in the cache that are to come in turn.
    turn: usize,
    /// Whether the pass under way is a query.
    queries: bool,
}

pub(in crate::training) struct Indexed {
    chunk_words: usize,
    facts: Facts,
    most_words: usize,
    search: Option<Box<Search>>,
    /// In a pass that files rows.
    filing: Option<Filing>,
    of_row: Vec<u16>,
    /// Behind it.
    filed: Option<Arc<FiledRows>>,
    /// Passes that have looked at rows at weights other than 0.
    looks: u32,
    /// The share of the rows that full passes would have to read, were they filed as they stood when the last one began.
    to_read: f64,
    /// Times that rows have been filed, and full passes since.
    filings: u32,
    passes: u32,
    /// What heads that a method of passes solves know of the chunks.
    pub(in crate::training) unread: Vec<Unread>,
    /// For these: what passes since then would have spared, had rows been filed as they stood, in passes.
    spared: f64,
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
        problem: &Problem,
    ) -> Result<Option<Self>, TrainError> {
        let Some(words) = consumer.filed_chunk_words() else {
            return Ok(None);
        };
        let search = |shape| {
            Box::new(Search {
                shape,
                seed: problem.seed(),
                intercept: problem.intercept(),
                sample: Some(pool_sample(facts)),
                forest: None,
                turn: 0,
                queries: false,
            })
        };
        let mut this = Self {
            chunk_words: words,
            facts: *facts,
            most_words: consumer.filed_words(),
            search: problem.forest().map(search),
            filing: None,
            of_row: Vec::new(),
            filed: None,
            looks: 0,
            to_read: 1.0,
            filings: 0,
            passes: 0,
            unread: Vec::new(),
            spared: 0.0,
            announced: false,
            rows_for_each: 1.0,
        };
        this.announce(consumer, &LeftOut::NONE);
        Ok(Some(this))
    }

    fn announce(&mut self, consumer: &mut Consumer, left_out: &LeftOut) {
        consumer.announce(left_out, self.files());
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
    }

    /// Files a row, and says where.
    #[inline]
    pub(in crate::training) fn file<T: Real>(
        &mut self,
        row: &Row<'_>,
        solver: &Solver<T>,
    ) -> Result<u16, TrainError> {
        let Some(filing) = &mut self.filing else {
            return Ok(0);
        };
        let mut forest = self.search.as_mut().and_then(|it| it.forest.as_mut());
        let answer = match &mut forest {
            Some(forest) => forest.answer(row)?,
            None => solver.file_of(row.ordinal()).into(),
        };
        let unit = place(filing, &mut self.of_row, row, answer);
        if let Some(forest) = forest {
            forest.note_unit(unit.into(), answer)?;
        }
        Ok(answer)
    }

    /// Takes rows of a batch of the first pass.
    pub(in crate::training) fn learn(&mut self, words: &[u32], dense: usize) {
        let sample = self.search.as_mut().and_then(|it| it.sample.as_mut());
        if let Some(sample) = sample {
            sample.take(words, dense);
        }
    }

    /// Whether the pass under way is a query, whose rows are trained on with all others in the cache before the next one.
    pub(in crate::training) fn queries(&self) -> bool {
        self.search.as_ref().is_some_and(|it| it.queries)
    }

    /// Whether rows are filed in the pass under way.
    pub(in crate::training) fn files(&self) -> bool {
        self.filing.is_some()
    }

    /// Has the heads of a solver remember what they see of rows, and know how those are filed.
    pub(in crate::training) fn tell<T: Real>(
        &self,
        solver: &mut Solver<T>,
    ) -> Result<(), TrainError> {
        solver.remember(self.facts.rows)?;
        if let Some(search) = &self.search {
            solver.ask_forest(&search.shape, self.facts.rows)?;
        }
        if let Some(filed) = &self.filed {
            solver.file(filed)?;
        }
        Ok(())
    }

    /// The last row of a pass has come, and what it was for.
    pub(in crate::training) fn end_pass<T: Real>(
        &mut self,
        (solver, pass): (&mut Solver<T>, StreamedPass),
    ) -> Result<(), TrainError> {
        self.announced = false;
        self.passes += u32::from(pass == StreamedPass::Full);
        self.looks += u32::from(pass == StreamedPass::Verify || self.passes > 1);
        match self.end_filing()? {
            Some(filed) => Ok(solver.file(&filed)?),
            None => Ok(()),
        }
    }

    /// Rows are filed in the pass that comes.
    fn begin_filing(&mut self) -> Result<(), TrainError> {
        self.filing = Some(Filing::new(self.chunk_words));
        self.of_row
            .room(self.facts.rows)?
            .resize(self.facts.rows, 0);
        Ok(())
    }

    /// How rows have been filed in the pass that has ended, if they have.
    fn end_filing(&mut self) -> Result<Option<Arc<FiledRows>>, TrainError> {
        let Some(filing) = self.filing.take() else {
            return Ok(None);
        };
        let of_row = std::mem::take(&mut self.of_row);
        let mut rows = Vec::new();
        rows.room(filing.units())?.resize(filing.units(), 0);
        for unit in &of_row {
            rows[usize::from(*unit)] += 1;
        }
        (self.filings, self.passes) = (self.filings + 1, 0);
        let filed = Arc::new(FiledRows { of_row, rows });
        self.filed = Some(filed.clone());
        Ok(Some(filed))
    }

    /// The share of the rows that lie in other chunks than these.
    fn share_of(&self, left_out: &LeftOut) -> f64 {
        let Some(filed) = &self.filed else {
            return 1.0;
        };
        let units = filed.rows.iter().enumerate();
        let read = units.filter(|(unit, _)| !left_out.has(*unit));
        let read: u32 = read.map(|(_, rows)| rows).sum();
        f64::from(read.max(1)) / filed.of_row.len() as f64
    }

    /// Whether rows are to be filed in a full pass that would have to read this share of them.
    fn wants_filing<T: Real>(&mut self, share: f64, solver: &Solver<T>) -> bool {
        if self.search.is_some() {
            return self.filings == 0;
        }
        if self.looks == 0 || self.filings == MOST_FILINGS {
            return false;
        }
        let to_read = solver.share_to_read(self.facts.rows);
        // one pass in which weights hardly moved says little
        let to_read = to_read.max(std::mem::replace(&mut self.to_read, to_read));
        self.passes >= FILING_PASSES && (share - to_read) * PAYS_IN > 2.0 - share
    }

    /// The chunks that a full pass leaves out where a forest is asked, which has its rows: all but those that the queries of the heads
    /// ask for, and those with rows of S that are not in the cache, in turn, about as many rows.
    fn ask<T: Real>(
        &mut self,
        solver: &Solver<T>,
        set: &WorkingSet,
    ) -> Result<Option<LeftOut>, TrainError> {
        let (Some(search), Some(filed)) = (&mut self.search, &self.filed) else {
            return Ok(None);
        };
        let Search { forest, turn, .. } = &mut **search;
        let Some(forest) = forest else {
            return Ok(None);
        };
        let mut left_out = LeftOut::ALL;
        // n_e of all heads, and what chunks with open rows leave of it; all where a head asks for no rows any more
        let mut quota = 0.0;
        let mut held = Vec::new();
        held.room(filed.rows.len())?.resize(filed.rows.len(), false);
        for (weights, query) in solver.queries() {
            let (mut read, mut asked) = (0.0, f64::INFINITY);
            if let Some(most) = query.to_read() {
                asked = most;
                let ranked = forest.ranked(weights)?;
                for unit in ranked.into_iter().filter(|unit| query.open(*unit) > 0) {
                    if read < asked {
                        left_out.read(unit.into());
                        read += f64::from(filed.rows[usize::from(unit)]);
                    }
                }
            }
            quota += asked + (asked - read).max(0.0);
            for (ordinal, unit) in filed.of_row.iter().enumerate() {
                if query.holds(ordinal) && !set.has(ordinal) {
                    held[usize::from(*unit)] = true;
                }
            }
        }
        let (first, mut read) = (*turn, 0.0);
        for unit in (first..held.len()).chain(0..first) {
            if read < quota && held[unit] && left_out.has(unit) {
                left_out.read(unit);
                read += f64::from(filed.rows[unit]);
                *turn = unit + 1;
            }
        }
        Ok(Some(left_out))
    }

    /// Announces the pass that has begun, if one has.
    pub(in crate::training) fn announce_next<T: Real>(
        &mut self,
        passes: &mut Passes<T>,
        (consumer, set): (&mut Consumer, &WorkingSet),
    ) -> Result<(), TrainError> {
        if passes.solver.done() {
            return Ok(());
        }
        let is_full = passes.current == StreamedPass::Full;
        let mut left_out = match is_full {
            true => passes.solver.left_out_of_full()?,
            false => passes.solver.left_out()?,
        };
        let mut queries = false;
        if is_full && !passes.solver.opens() {
            if let Some(asked) = self.ask(&passes.solver, set)? {
                (left_out, queries) = (asked, true);
            }
        }
        if let Some(search) = &mut self.search {
            search.queries = queries;
        }
        let mut share = self.share_of(&left_out);
        if is_full && self.wants_filing(share, &passes.solver) {
            (left_out, share) = (LeftOut::NONE, 1.0);
            self.begin_filing()?;
            self.plant()?;
        }
        if is_full {
            passes.solver.leave_out_of_full(&left_out, queries);
        }
        // what a query asks for stands for no other rows
        self.rows_for_each = if queries { 1.0 } else { 1.0 / share };
        self.announce(consumer, &left_out);
        Ok(())
    }

    /// Rows are to be filed: by a forest, if there is to be one.
    fn plant(&mut self) -> Result<(), TrainError> {
        let Some(search) = &mut self.search else {
            return Ok(());
        };
        let Some(sample) = search.sample.take() else {
            return Ok(());
        };
        let random = Random::new(search.seed, Stream::Forest);
        search.forest = Some(Forest::new(
            search.shape,
            sample,
            (&self.facts, search.intercept),
            self.most_words,
            random,
        )?);
        Ok(())
    }
}
