//! Block minimization by Pegasos (Yu, Hsieh, Chang, Lin, KDD 2010, Algorithm 3): the primal, one block of rows at a time.
//!
//! A pass reads the blocks in a fresh random order, each delivered once. Of a block B there is either one update
//! by each of its rows, in the shuffled order in which they arrive (r = |B| in the paper, BLOCK-P-I), or its rows are kept in
//! the cache until the last has come, and there are r updates, each by a set of them: their margins are taken at the
//! weights as they are, then those in B+ are added. With r = 1 (BLOCK-P-B) the set is the block. Rows that all fit the cache
//! are one block, unless more were asked for. What an update
//! does, and whence a primal method has its certificate: `solver/single/pegasos.rs`. A block has no stop rule of its own; the
//! training ends by the certificate's gap as any other does, or by the number of passes.

use std::ops::Range;

use crate::base::random::Random;
use crate::base::step::Step;
use crate::cache::{Arena, Consumer, Ends, TrainerSide, WorkingSetRegion};
use crate::objective::problem::Problem;
use crate::objective::solver_choice::Updates;
use crate::rows::batch::Batch;
use crate::rows::facts::Facts;
use crate::rows::page::{Page, PageMut};
use crate::rows::row::Row;
use crate::rows::visited::{VisitedBatch, VisitedPage};
use crate::simd::{Isa, Level, Real, Work};
use crate::solver::driver::TakesRows;
use crate::solver::scans::ScanRows;
use crate::solver::Solver;
use crate::training::error::TrainError;
use crate::training::log::{Event, Log};
use crate::training::schedule::block::store_row;
use crate::training::schedule::interface::read_page;
use crate::training::schedule::pass::{train_by, Held, InPasses, Passes, StreamedPass};
use crate::training::tallies::Tallies;

/// Consecutive rows of the cache that stay together when they are shuffled, and where they are drawn into sets.
const GROUP: usize = 4;
const APART: usize = 1;

/// Where rows come from.
enum RowStore {
    /// They are all in the cache.
    Resident(Arena),
    /// They arrive block by block, and the cache has room for one of them.
    Streaming(WorkingSetRegion, Consumer),
}

/// What a row is visited for.
#[derive(Clone, Copy)]
enum RowPurpose {
    /// An update by itself.
    Update,
    /// Not at all as yet.
    Keep,
    /// To see whether it is in B+.
    Look,
    /// To be added if it is, of so many rows.
    Add(usize),
    /// The certificate.
    Check,
}

/// The set of rows by which an update is being made.
#[derive(Clone)]
struct Set {
    /// Its number in the block.
    number: u32,
    /// Its part of the order.
    groups: Range<usize>,
    /// Its rows.
    size: usize,
    /// Whether its rows are being added.
    adds: bool,
}

pub(in crate::training) struct Pegasos<T> {
    rows: RowStore,
    facts: Facts,
    level: Level,
    random: Random,
    /// Updates for a block; None: one for each row.
    sets: Option<u32>,
    passes: Passes<T>,
    /// Groups of so many of the cache's rows in the order of their visits, and how many of them are done.
    group: usize,
    order: Vec<u32>,
    cursor: usize,
    /// The set at hand, once all rows of its block are in the cache.
    set: Option<Set>,
    /// Updates by blocks that this pass has made, and whether the block at hand is its last.
    block: u32,
    last: bool,
    /// Rows of the block at hand.
    size: usize,
    /// Rows of the cache that have been read, in a pass in which nothing is trained.
    read: usize,
}

impl<T: Real> Pegasos<T> {
    pub(in crate::training) fn new(
        mut solver: Solver<T>,
        side: TrainerSide,
        problem: &Problem,
        random: Random,
        log: Log,
    ) -> Result<Self, TrainError> {
        solver.let_rows_shrink(false);
        let portion = match &side {
            TrainerSide::Streaming(_, _, consumer) => Some(consumer.portion()),
            _ => None,
        };
        let passes = Passes::begin(solver, portion, log)?;
        let (facts, rows) = match side {
            TrainerSide::Resident(facts, arena) => (facts, RowStore::Resident(arena)),
            TrainerSide::Streaming(facts, mut region, consumer) => {
                PageMut::create(region.words(), facts.dense);
                (facts, RowStore::Streaming(region, consumer))
            }
            TrainerSide::Waiting(_) | TrainerSide::Ended => return Err(TrainError::ReaderFailed),
        };
        let mut this = Self {
            rows,
            facts,
            level: Level::best(),
            random,
            sets: match problem.pegasos() {
                Some(Updates::Sets(sets)) => Some(sets),
                Some(Updates::Block) => Some(1),
                Some(Updates::Row) | None => None,
            },
            passes,
            group: GROUP,
            order: Vec::new(),
            cursor: 0,
            set: None,
            block: 0,
            last: false,
            size: 0,
            read: 0,
        };
        this.begin_pass()?;
        Ok(this)
    }

    /// What a row that comes in a pass is visited for.
    fn visit(&self) -> RowPurpose {
        match (self.passes.current, self.sets) {
            (StreamedPass::Verify, _) => RowPurpose::Check,
            (StreamedPass::Full, None) => RowPurpose::Update,
            (StreamedPass::Full, Some(_)) => RowPurpose::Keep,
        }
    }

    /// Visits the oldest batch of fresh rows, and keeps them if they are needed again; None when there is none.
    fn take_batch(&mut self) -> Result<Option<usize>, TrainError> {
        let (visit, dense) = (self.visit(), self.facts.dense);
        let RowStore::Streaming(region, consumer) = &mut self.rows else {
            return Ok(None);
        };
        let Some(batch) = consumer.front() else {
            return Ok(None);
        };
        let (ends, values) = (batch.ends, batch.words.len());
        self.passes.rows += self.level.run(VisitRows {
            solver: &mut self.passes.solver,
            rows: VisitedBatch::as_stored(Batch::new(batch.words, dense)),
            visit,
        });
        self.passes.keep(batch.words, dense);
        if let RowPurpose::Keep = visit {
            let mut page = PageMut::open(region.words(), dense);
            // where chunks are larger than the cache some rows find no room: their losses count, or the primal would be that of
            // fewer rows, but no update has them
            let left_over = VisitedBatch::as_stored(Batch::new(batch.words, dense))
                .filter(|row| !store_row(row, &mut page));
            // the batch's rows are counted above
            self.level.run(VisitRows {
                solver: &mut self.passes.solver,
                rows: left_over,
                visit: RowPurpose::Look,
            });
        }
        consumer.release();
        match (visit, ends) {
            (_, Ends::Nothing) | (RowPurpose::Check, Ends::Block) => {}
            (RowPurpose::Keep, ends) => self.begin_sets(ends == Ends::Pass)?,
            (_, ends) => self.end_block(ends == Ends::Pass)?,
        }
        Ok(Some(values))
    }

    /// Every row of the block is in the cache.
    fn begin_sets(&mut self, last: bool) -> Result<(), TrainError> {
        self.last = last;
        self.size = self.page().slots();
        self.begin_walk()?;
        self.begin_set(0)
    }

    /// Begins the next set that has rows, from this number on; ends the block behind the last.
    fn begin_set(&mut self, from: u32) -> Result<(), TrainError> {
        let (groups, sets) = (self.order.len() as u64, self.sets.unwrap_or(1).max(1));
        let border = |number: u32| (groups * u64::from(number) / u64::from(sets)) as usize;
        let number = (from..sets).find(|it| border(*it) < border(it + 1));
        let Some(number) = number else {
            self.set = None;
            return self.end_block(self.last);
        };
        let groups = border(number)..border(number + 1);
        let size = (groups.len() * self.group).min(self.size);
        if let Some(heads) = self.passes.solver.singles_mut() {
            heads.begin_set(size)?;
        }
        self.cursor = groups.start;
        self.set = Some(Set {
            number,
            groups,
            size,
            adds: false,
        });
        Ok(())
    }

    /// Orders the groups of the rows in the cache.
    fn begin_walk(&mut self) -> Result<(), TrainError> {
        let trains = self.passes.current == StreamedPass::Full;
        let in_sets = self.sets.is_some_and(|sets| trains && sets > 1);
        self.group = if in_sets { APART } else { GROUP };
        let rows = match &mut self.rows {
            RowStore::Resident(_) => self.facts.rows,
            RowStore::Streaming(..) => self.page().slots(),
        };
        let groups = rows.div_ceil(self.group);
        self.cursor = 0;
        self.order.clear();
        let bytes = 4 * groups as u64;
        self.order
            .try_reserve(groups)
            .map_err(|_| TrainError::OutOfMemory { bytes })?;
        self.order.extend(0..groups as u32);
        if trains && self.sets != Some(1) {
            self.random.shuffle(&mut self.order);
        }
        Ok(())
    }

    /// Visits groups of rows in the cache with about `budget` values; ends the walk behind the last.
    fn walk_on(&mut self, budget: usize) -> Result<usize, TrainError> {
        let (visit, last) = match &self.set {
            Some(set) if set.adds => (RowPurpose::Add(set.size), set.groups.end),
            Some(set) => (RowPurpose::Look, set.groups.end),
            None => (self.visit(), self.order.len()),
        };
        let group = self.group;
        let per_group = group * self.facts.mean_row_words.max(1);
        let from = self.cursor;
        let end = (from + budget.div_ceil(per_group)).min(last);
        let words = match &mut self.rows {
            RowStore::Resident(arena) => arena.words(),
            RowStore::Streaming(region, _) => region.words(),
        };
        let page = VisitedPage::as_stored(Page::new(words, self.facts.dense));
        let groups = self.order[from..end].iter();
        let rows = groups.flat_map(|&number| slots(number, group, page.slots()));
        let visited = self.level.run(VisitRows {
            solver: &mut self.passes.solver,
            rows: rows.map(|slot| page.row(slot)),
            visit,
        });
        self.cursor = end;
        let arrived = matches!(self.rows, RowStore::Streaming(..));
        if self.set.as_ref().is_none_or(|set| !set.adds && !arrived) {
            self.passes.rows += visited;
        }
        let mut values = (end - from) * per_group;
        if end == last {
            // the weights are read
            values += self.facts.features;
            match self.set.take() {
                Some(set) if set.adds => self.end_set(&set)?,
                Some(set) => self.begin_adding(set),
                None => self.end_block(true)?,
            }
        }
        Ok(values)
    }

    /// Every row of the set has been looked at.
    fn begin_adding(&mut self, set: Set) {
        let few = set.size * self.facts.mean_row_words < self.facts.features;
        let keeps_norm = few && self.sets != Some(1);
        if let Some(heads) = self.passes.solver.singles_mut() {
            heads.begin_update(keeps_norm);
        }
        self.cursor = set.groups.start;
        self.set = Some(Set { adds: true, ..set });
    }

    fn end_set(&mut self, set: &Set) -> Result<(), TrainError> {
        if let Some(heads) = self.passes.solver.singles_mut() {
            heads.end_update();
        }
        self.begin_set(set.number + 1)
    }

    /// Makes room for the next block, and ends the pass behind its last one.
    fn end_block(&mut self, last: bool) -> Result<(), TrainError> {
        let held = Held {
            rows: match &self.rows {
                RowStore::Resident(_) => self.facts.rows as u64,
                RowStore::Streaming(..) => self.size as u64,
            },
            evictions: 0,
        };
        if self.passes.current == StreamedPass::Full {
            self.block += 1;
            let block = (Event::Block, Some(self.block));
            self.passes.note(block, held);
        }
        if let RowStore::Streaming(region, _) = &mut self.rows {
            PageMut::create(region.words(), self.facts.dense);
        }
        if last {
            self.block = 0;
            self.end_pass(held)?;
        }
        Ok(())
    }

    fn end_pass(&mut self, held: Held) -> Result<(), TrainError> {
        self.passes.end(held)?;
        self.begin_pass()
    }

    /// Begins to read rows that are all in the cache.
    fn begin_pass(&mut self) -> Result<(), TrainError> {
        self.set = None;
        match (&self.rows, self.passes.current) {
            (RowStore::Streaming(..), _) => Ok(()),
            (RowStore::Resident(_), StreamedPass::Full) if self.sets.is_some() => {
                self.begin_sets(true)
            }
            (RowStore::Resident(_), _) => self.begin_walk(),
        }
    }

    fn page(&mut self) -> Page<'_> {
        let words = match &mut self.rows {
            RowStore::Resident(arena) => arena.words(),
            RowStore::Streaming(region, _) => region.words(),
        };
        Page::new(words, self.facts.dense)
    }
}

impl<T: Real> InPasses for Pegasos<T> {
    type Number = T;

    fn passes(&self) -> &Passes<T> {
        &self.passes
    }

    fn passes_mut(&mut self) -> &mut Passes<T> {
        &mut self.passes
    }

    fn train(&mut self, budget_values: usize) -> Result<Step, TrainError> {
        train_by(self, budget_values, |this, left| {
            match this.set.is_some() || matches!(this.rows, RowStore::Resident(_)) {
                true => this.walk_on(left).map(Some),
                false => this.take_batch(),
            }
        })
    }

    fn suit(&self, solver: &mut Solver<T>) {
        solver.let_rows_shrink(false);
    }

    fn begin_anew(&mut self) -> Result<(), TrainError> {
        self.begin_pass()
    }

    fn begin_scan(&mut self) {
        self.read = 0;
    }

    fn scan(&mut self, sums: &mut dyn ScanRows<Solver<T>>, budget_values: usize) -> Step {
        let dense = self.facts.dense;
        match &mut self.rows {
            RowStore::Streaming(_, consumer) => {
                self.passes.read(consumer, dense, sums, budget_values)
            }
            RowStore::Resident(arena) => {
                let page = VisitedPage::as_stored(Page::new(arena.words(), dense));
                read_page(
                    page,
                    &mut self.read,
                    &self.passes.solver,
                    sums,
                    budget_values,
                )
            }
        }
    }

    fn kept(&self) -> Tallies {
        Tallies {
            working_set_rows: match &self.rows {
                RowStore::Resident(_) => self.facts.rows as u64,
                RowStore::Streaming(..) => self.size as u64,
            },
            ..Tallies::default()
        }
    }
}

/// The slots of group `number`.
fn slots(number: u32, group: usize, slots: usize) -> Range<usize> {
    let first = number as usize * group;
    first..(first + group).min(slots)
}

/// Visits of some rows; gives back how many they were.
struct VisitRows<'a, T, R> {
    solver: &'a mut Solver<T>,
    rows: R,
    visit: RowPurpose,
}

impl<'a, T: Real, R: Iterator<Item = Row<'a>>> Work for VisitRows<'_, T, R> {
    type Output = usize;

    #[inline(always)]
    fn run<K: Isa>(self) -> usize {
        let mut count = 0;
        for row in self.rows {
            count += 1;
            K::apart(VisitRow {
                solver: self.solver,
                row: &row,
                visit: &self.visit,
            });
        }
        count
    }
}

/// The same with one row.
struct VisitRow<'a, T> {
    solver: &'a mut Solver<T>,
    row: &'a Row<'a>,
    visit: &'a RowPurpose,
}

impl<T: Real> Work for VisitRow<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        if let RowPurpose::Check = self.visit {
            self.solver.whole().check::<K>(self.row);
            return;
        }
        // Pegasos' heads are held each by itself
        let Some(heads) = self.solver.singles_mut() else {
            return;
        };
        match self.visit {
            RowPurpose::Update => heads.descend_by_row::<K>(self.row),
            RowPurpose::Look => heads.look::<K>(self.row),
            RowPurpose::Add(size) => heads.descend_by_set::<K>(self.row, *size),
            RowPurpose::Keep | RowPurpose::Check => {}
        }
    }
}
