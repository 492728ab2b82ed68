//! Block minimization by Pegasos (Yu, Hsieh, Chang, Lin, KDD 2010, Algorithm 3): the primal, one block of rows at a time.
//!
//! A pass goes over the blocks in a fresh random order, each delivered once. Of a block B there is either one update
//! by each of its rows, in the shuffled order in which they arrive (r = |B| in the paper, BLOCK-P-I), or one update by
//! all of it (r = 1, BLOCK-P-B): its rows are kept in the cache as they arrive, their margins taken at the weights as
//! they are, and those in B+ added when the last has come. Rows that all fit the cache are one block. What an update
//! does, and whence a primal method has its certificate: `solver/single/pegasos.rs`. A block has no stop rule of its own; the
//! training ends by the certificate's gap as any other does, or by the number of passes.

use crate::base::random::Random;
use crate::base::step::Step;
use crate::cache::{Arena, Consumer, Ends, TrainerSide, WorkingSetRegion};
use crate::rows::batch::Batch;
use crate::rows::facts::Facts;
use crate::rows::page::{Page, PageMut};
use crate::rows::row::Row;
use crate::rows::visited::{VisitedBatch, VisitedPage};
use crate::simd::{Isa, Level, Real, Work};
use crate::solver::driver::Method;
use crate::solver::scans::ScanRows;
use crate::solver::Solver;
use crate::task::problem::{Problem, Updates};
use crate::training::error::TrainError;
use crate::training::log::{Event, Log};
use crate::training::schedule::block::store;
use crate::training::schedule::interface::read_page;
use crate::training::schedule::pass::{Held, InPasses, Passes, StreamedPass};
use crate::training::tallies::Tallies;

/// Consecutive rows of the cache that stay together when they are shuffled.
const GROUP: usize = 4;

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
    /// To see whether it is in B+.
    Look,
    /// To be added if it is, of so many rows.
    Add(usize),
    /// The certificate.
    Check,
}

pub(in crate::training) struct Pegasos<T> {
    rows: RowStore,
    facts: Facts,
    level: Level,
    random: Random,
    updates: Updates,
    passes: Passes<T>,
    /// Groups of the cache's rows in the order of their visits, and how many of them are done.
    order: Vec<u32>,
    cursor: usize,
    /// Whether these are the rows of a block that are to be added.
    adding: bool,
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
        let streams = matches!(side, TrainerSide::Streaming(..));
        let passes = Passes::begin(solver, streams, log)?;
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
            updates: problem.pegasos().unwrap_or(Updates::Row),
            passes,
            order: Vec::new(),
            cursor: 0,
            adding: false,
            block: 0,
            last: false,
            size: 0,
            read: 0,
        };
        this.begin_walk()?;
        Ok(this)
    }

    /// What a row that comes in a pass is visited for.
    fn visit(&self) -> RowPurpose {
        match (self.passes.current, self.updates) {
            (StreamedPass::Verify, _) => RowPurpose::Check,
            (StreamedPass::Full, Updates::Row) => RowPurpose::Update,
            (StreamedPass::Full, Updates::Block) => RowPurpose::Look,
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
        if let RowPurpose::Look = visit {
            let mut page = PageMut::open(region.words(), dense);
            store(Batch::new(batch.words, dense), &mut page, None);
        }
        consumer.release();
        match (visit, ends) {
            (_, Ends::Nothing) | (RowPurpose::Check, Ends::Block) => {}
            (RowPurpose::Look, ends) => self.begin_adding(ends == Ends::Pass)?,
            (_, ends) => self.end_block(ends == Ends::Pass)?,
        }
        Ok(Some(values))
    }

    /// Every row of the block has been looked at.
    fn begin_adding(&mut self, last: bool) -> Result<(), TrainError> {
        self.last = last;
        self.adding = true;
        self.size = self.page().slots();
        if let Some(heads) = self.passes.solver.singles_mut() {
            heads.begin_update();
        }
        self.begin_walk()
    }

    /// Orders the groups of the rows in the cache.
    fn begin_walk(&mut self) -> Result<(), TrainError> {
        let groups = match &mut self.rows {
            RowStore::Resident(_) => self.facts.rows.div_ceil(GROUP),
            RowStore::Streaming(..) => self.page().slots().div_ceil(GROUP),
        };
        self.cursor = 0;
        self.order.clear();
        let bytes = 4 * groups as u64;
        self.order
            .try_reserve(groups)
            .map_err(|_| TrainError::OutOfMemory { bytes })?;
        self.order.extend(0..groups as u32);
        if self.passes.current == StreamedPass::Full && self.updates == Updates::Row {
            self.random.shuffle(&mut self.order);
        }
        Ok(())
    }

    /// Visits groups of rows in the cache with about `budget` values; ends the walk behind the last.
    fn walk_on(&mut self, budget: usize) -> Result<usize, TrainError> {
        let visit = match self.adding {
            true => RowPurpose::Add(self.size),
            false => self.visit(),
        };
        let per_group = GROUP * self.facts.mean_row_words.max(1);
        let from = self.cursor;
        let end = (from + budget.div_ceil(per_group)).min(self.order.len());
        let words = match &mut self.rows {
            RowStore::Resident(arena) => arena.words(),
            RowStore::Streaming(region, _) => region.words(),
        };
        let page = VisitedPage::as_stored(Page::new(words, self.facts.dense));
        let groups = self.order[from..end].iter();
        let rows = groups.flat_map(|&group| slots(group, page.slots()));
        let visited = self.level.run(VisitRows {
            solver: &mut self.passes.solver,
            rows: rows.map(|slot| page.row(slot)),
            visit,
        });
        self.cursor = end;
        if !self.adding {
            self.passes.rows += visited;
        }
        let values = (end - from) * per_group;
        if end < self.order.len() {
            return Ok(values);
        }
        self.end_walk(visit)?;
        // the weights are gone over
        Ok(values + self.facts.features)
    }

    /// The rows in the cache have been visited for this.
    fn end_walk(&mut self, visit: RowPurpose) -> Result<(), TrainError> {
        match visit {
            RowPurpose::Look => self.begin_adding(true),
            RowPurpose::Add(_) => {
                self.adding = false;
                if let Some(heads) = self.passes.solver.singles_mut() {
                    heads.end_update();
                }
                self.end_block(self.last)
            }
            RowPurpose::Update | RowPurpose::Check => self.end_block(true),
        }
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
        if let RowStore::Resident(_) = self.rows {
            self.begin_walk()?;
        }
        Ok(())
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
        let mut left = budget_values.max(1);
        let mut moved = false;
        while left > 0 {
            if self.passes.solver.done() {
                return Ok(Step::Done);
            }
            let walks = self.adding || matches!(self.rows, RowStore::Resident(_));
            let values = if walks {
                self.walk_on(left)?
            } else if let Some(values) = self.take_batch()? {
                values
            } else {
                return Ok(if moved { Step::Progress } else { Step::Blocked });
            };
            moved = true;
            left = left.saturating_sub(values.max(1));
        }
        Ok(Step::Progress)
    }

    fn suit(&self, solver: &mut Solver<T>) {
        solver.let_rows_shrink(false);
    }

    fn begin_anew(&mut self) -> Result<(), TrainError> {
        self.begin_walk()
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

/// The slots of a group.
fn slots(group: u32, slots: usize) -> std::ops::Range<usize> {
    let first = group as usize * GROUP;
    first..(first + GROUP).min(slots)
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
            if let RowPurpose::Check = self.visit {
                self.solver.check::<K>(&row);
                continue;
            }
            // Pegasos' heads are held each by itself
            let Some(heads) = self.solver.singles_mut() else {
                return count;
            };
            match self.visit {
                RowPurpose::Update => heads.descend_by_row::<K>(&row),
                RowPurpose::Look => heads.look::<K>(&row),
                RowPurpose::Add(size) => heads.descend_by_block::<K>(&row, size),
                RowPurpose::Check => {}
            }
        }
        count
    }
}
