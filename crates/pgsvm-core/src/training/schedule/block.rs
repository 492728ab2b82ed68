//! Block minimization, BM (Yu, Hsieh, Chang, Lin, KDD 2010, Algorithms 1 and 2): the dual, one block of rows at a time.
//!
//! The rows are split at random into blocks B_1, ..., B_m, each as large as the cache allows (the reader's part).
//! An outer iteration k is a pass over the blocks in a fresh random order. For each block the subproblem (equation
//! 7)
//!
//!   minimize over d_B:  f(a + d),  0 <= a_i + d_i <= C for i in B,  d_i = 0 elsewhere
//!
//! (f = -D, docs/solver.md section 1) is solved approximately by coordinate descent: *rounds*, each of which visits
//! every row of the block once in a shuffled order (section 3.1), until `inner_rounds` of them are done, or until
//! the range of projected gradients in a round is within epsilon, LIBLINEAR's own test (equation 16; by Theorem 2
//! two rounds meet it in the end). w and a are kept from block to block (equation 10). Every a_i is updated at
//! least once an outer iteration and the number of updates is bounded, which is what Theorem 1 asks for
//! convergence.
//!
//! The first round is made while the rows arrive: their order is random already, and each of them is measured at
//! the weights of the pass's start by the same visit, so an outer iteration is a full pass of the solver and the
//! primal at its start is known exactly at its end.
//!
//! The selective form (`selective.rs`) is the same with rows of earlier blocks kept in the first slots of the page.

use crate::base::prefetch::prefetch;
use crate::base::random::Random;
use crate::base::step::Step;
use crate::cache::{Consumer, Ends, WorkingSetRegion};
use crate::objective::problem::{Problem, Proximal};
use crate::objective::solver_choice::Policy;
use crate::rows::batch::Batch;
use crate::rows::facts::Facts;
use crate::rows::page::{Page, PageMut};
use crate::rows::row::Row;
use crate::rows::visited::VisitedPage;
use crate::simd::{Isa, Level, Real, Work};
use crate::solver::driver::TakesRows;
use crate::solver::part::Part;
use crate::solver::scans::ScanRows;
use crate::solver::Solver;
use crate::training::error::TrainError;
use crate::training::log::{Event, Log};
use crate::training::schedule::block_newton::Solving;
use crate::training::schedule::pass::{train_by, Fresh, Held, InPasses, Passes, StreamedPass};
use crate::training::schedule::selective::{Grading, Selection};
use crate::training::schedule::sharing::show_alone;
use crate::training::schedule::working_set::GROUP;
use crate::training::tallies::Tallies;

/// Epsilon of the block's stop rule over the tolerance. With LIBLINEAR's default, 0.1, blocks get few rounds long before
/// the gap is small, which costs passes.
const EPSILON_PER_TOLERANCE: f64 = 10.0;
/// Cache lines of the next row to ask for in advance.
const PREFETCH_LINES: usize = 8;

/// What is being done with the block in the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockStage {
    /// Its rows arrive; each has its first visit.
    Loading,
    /// This round over it is under way.
    Round(u32),
    /// Newton's method solves it.
    Solving,
    /// A last round, which grades its rows (selective form only).
    Choosing,
}

pub(in crate::training) struct BlockMinimization<T> {
    consumer: Consumer,
    region: WorkingSetRegion,
    facts: Facts,
    level: Level,
    random: Random,
    inner_rounds: u32,
    /// Whether blocks are solved by Newton's method, and the one under way.
    newton: bool,
    solving: Option<Solving>,
    /// Whether rows of the block may be shrunk from a round to the end of the block.
    shrinks: bool,
    passes: Passes<T>,
    stage: BlockStage,
    /// Blocks of the pass that have been solved.
    block: u32,
    /// Whether the block is the last of its pass.
    last: bool,
    /// What chooses the rows that stay; none in the plain form.
    selection: Option<Selection>,
    /// The page's first slots, which hold rows kept from earlier blocks.
    kept: usize,
    /// The round's groups of [`GROUP`] slots, shuffled.
    order: Vec<u32>,
    cursor: usize,
    /// By group, a bit for each slot whose row is not shrunk.
    active: Vec<u16>,
    /// What is found of the rows of a batch.
    found: Vec<u8>,
    /// Rows in the page.
    stored: u64,
}

impl<T: Real> BlockMinimization<T> {
    pub(in crate::training) fn new(
        mut solver: Solver<T>,
        facts: Facts,
        mut region: WorkingSetRegion,
        consumer: Consumer,
        problem: &Problem,
        random: Random,
        log: Log,
    ) -> Result<Self, TrainError> {
        // with a shift, ending a round would move its centre, and one block alone must not do that
        let shrinks = problem.proximal() == Proximal::Off;
        solver.let_rows_shrink(shrinks);
        let mut passes = Passes::begin(solver, Some(consumer.portion()), log)?;
        passes.solver.begin_active();
        let selection = match problem.policy() {
            Policy::SelectiveBlock => Some(Selection::new(region.words().len(), facts.rows)?),
            _ => None,
        };
        PageMut::create(region.words(), facts.dense);
        Ok(Self {
            consumer,
            region,
            facts,
            level: Level::best(),
            random,
            newton: problem.block_newton(),
            solving: None,
            inner_rounds: problem.inner_rounds(),
            shrinks,
            passes,
            stage: BlockStage::Loading,
            block: 0,
            last: false,
            selection,
            kept: 0,
            order: Vec::new(),
            cursor: 0,
            active: Vec::new(),
            found: Vec::new(),
            stored: 0,
        })
    }

    /// Visits the oldest batch of fresh rows and stores them; None when there is none.
    fn take_batch(&mut self) -> Result<Option<usize>, TrainError> {
        let Some(batch) = self.consumer.front() else {
            return Ok(None);
        };
        let (ends, values, dense) = (batch.ends, batch.words.len(), self.facts.dense);
        let fresh = Fresh {
            batches: std::slice::from_ref(&batch),
            dense,
            margin: f64::INFINITY,
            pass: self.passes.current,
            visits: !self.newton,
        };
        let solver = &mut self.passes.solver;
        show_alone(solver, self.level, &fresh, &mut self.found)?;
        self.passes.keep(batch.words, dense);
        self.passes.rows += self.found.len();
        if self.passes.current == StreamedPass::Full {
            let mut page = PageMut::open(self.region.words(), dense);
            let rows = Batch::new(batch.words, dense);
            store(rows, &mut page, self.selection.as_ref());
            self.stored = page.read().slots() as u64;
        }
        self.consumer.release();
        match (self.passes.current, ends) {
            (_, Ends::Nothing) | (StreamedPass::Verify, Ends::Block) => {}
            (StreamedPass::Verify, Ends::Pass) => self.end_pass()?,
            (StreamedPass::Full, ends) => {
                self.last = ends == Ends::Pass;
                match self.newton {
                    true => self.begin_solving(),
                    false if self.passes.solver.opens() => self.pass_over()?,
                    false => self.begin_round(1)?,
                }
            }
        }
        Ok(Some(values))
    }

    /// Ends the block without a round: where rows come to their sides by visits, rounds would put them where this block has them.
    fn pass_over(&mut self) -> Result<(), TrainError> {
        let slots = self.page().slots();
        if let Some(selection) = &mut self.selection {
            selection.begin(slots)?;
        }
        self.end_block()
    }

    /// Has Newton's method solve the block, the rows kept before with those just loaded.
    fn begin_solving(&mut self) {
        self.stage = BlockStage::Solving;
        let slots = self.page().slots();
        self.solving = Some(Solving::new((slots, self.kept)));
    }

    /// Goes on with that, with about `budget` values.
    fn solve_some(&mut self, budget: usize) -> Result<usize, TrainError> {
        let page = VisitedPage::as_stored(Page::new(self.region.words(), self.facts.dense));
        if let Some(solving) = &mut self.solving {
            let solver = &mut self.passes.solver;
            let known = (self.level, &self.facts);
            if let Some(values) = solving.go_on(solver, page, known, budget)? {
                return Ok(values);
            }
        }
        self.solving = None;
        self.end_rounds()?;
        Ok(self.facts.features)
    }

    /// Begins a round. Those just loaded have had their first visit: the first round is about the rows kept before.
    fn begin_round(&mut self, round: u32) -> Result<(), TrainError> {
        self.stage = BlockStage::Round(round);
        if round == 1 {
            self.wake()?;
            return self.shuffle(self.kept);
        }
        self.passes.solver.begin_active();
        let slots = self.page().slots();
        self.shuffle(slots)
    }

    /// Every row of the page is to be visited in the next round.
    fn wake(&mut self) -> Result<(), TrainError> {
        let slots = self.page().slots();
        self.active.clear();
        reserve(&mut self.active, slots.div_ceil(GROUP))?;
        self.active.resize(slots / GROUP, u16::MAX);
        if !slots.is_multiple_of(GROUP) {
            self.active.push((1 << (slots % GROUP)) - 1);
        }
        Ok(())
    }

    /// Puts the groups of the first `slots` slots that have rows of the active set into a new order.
    fn shuffle(&mut self, slots: usize) -> Result<(), TrainError> {
        let groups = slots.div_ceil(GROUP);
        self.order.clear();
        reserve(&mut self.order, groups)?;
        let is_active = |group: &u32| self.active[*group as usize] != 0;
        self.order.extend((0..groups as u32).filter(is_active));
        self.random.shuffle(&mut self.order);
        self.cursor = 0;
        Ok(())
    }

    /// Visits groups of the round with about `budget` values; ends the round behind the last.
    fn visit_some(&mut self, budget: usize) -> Result<usize, TrainError> {
        let grading = match (&mut self.selection, self.stage) {
            (Some(selection), BlockStage::Choosing) => Some(selection.grading()),
            _ => None,
        };
        let round = Round {
            heads: self.passes.solver.whole(),
            page: VisitedPage::as_stored(Page::new(self.region.words(), self.facts.dense)),
            groups: &self.order[self.cursor..],
            active: &mut self.active,
            budget,
            grading,
        };
        let (groups, values) = self.level.run(round);
        self.cursor += groups;
        if self.cursor == self.order.len() {
            self.end_round()?;
            // the weights are read
            return Ok(values + self.facts.features);
        }
        Ok(values)
    }

    fn end_round(&mut self) -> Result<(), TrainError> {
        let solved = self.passes.solver.violation()
            <= EPSILON_PER_TOLERANCE * self.passes.solver.tolerance();
        if self.shrinks {
            self.passes.solver.end_active()?;
        }
        match self.stage {
            BlockStage::Round(round) if round < self.inner_rounds && !solved => {
                self.begin_round(round + 1)
            }
            BlockStage::Round(_) => self.end_rounds(),
            _ => self.end_block(),
        }
    }

    /// The block is solved.
    fn end_rounds(&mut self) -> Result<(), TrainError> {
        let slots = self.page().slots();
        let Some(selection) = &mut self.selection else {
            return self.end_block();
        };
        selection.begin(slots)?;
        self.stage = BlockStage::Choosing;
        self.forget_limits()?;
        self.wake()?;
        self.shuffle(slots)
    }

    /// Begins visits after which no row is shrunk: an empty round leaves no limits beyond which rows are.
    fn forget_limits(&mut self) -> Result<(), TrainError> {
        self.passes.solver.begin_active();
        if self.shrinks {
            self.passes.solver.end_active()?;
        }
        Ok(())
    }

    /// Makes room for the next block, and ends the pass behind its last one.
    fn end_block(&mut self) -> Result<(), TrainError> {
        let dense = self.facts.dense;
        self.block += 1;
        let (held, block) = (self.held(), Some(self.block));
        self.passes.note((Event::Block, block), held);
        self.kept = match &mut self.selection {
            Some(selection) => selection.choose(PageMut::open(self.region.words(), dense)),
            None => PageMut::create(self.region.words(), dense).read().slots(),
        };
        self.stage = BlockStage::Loading;
        if self.last {
            self.block = 0;
            self.end_pass()?;
        }
        self.forget_limits()?;
        Ok(())
    }

    fn held(&self) -> Held {
        Held {
            rows: self.stored,
            evictions: self.selection.as_ref().map_or(0, |s| s.evicted),
        }
    }

    fn end_pass(&mut self) -> Result<(), TrainError> {
        let held = self.held();
        self.passes.end(held)
    }

    fn page(&mut self) -> Page<'_> {
        Page::new(self.region.words(), self.facts.dense)
    }
}

impl<T: Real> InPasses for BlockMinimization<T> {
    type Number = T;

    fn passes(&self) -> &Passes<T> {
        &self.passes
    }

    fn passes_mut(&mut self) -> &mut Passes<T> {
        &mut self.passes
    }

    fn train(&mut self, budget_values: usize) -> Result<Step, TrainError> {
        train_by(self, budget_values, |this, left| match this.stage {
            BlockStage::Loading => this.take_batch(),
            BlockStage::Solving => this.solve_some(left).map(Some),
            _ => this.visit_some(left).map(Some),
        })
    }

    fn suit(&self, solver: &mut Solver<T>) {
        solver.let_rows_shrink(self.shrinks);
    }

    fn begin_anew(&mut self) -> Result<(), TrainError> {
        self.passes.solver.begin_active();
        Ok(())
    }

    fn scan(&mut self, sums: &mut dyn ScanRows<Solver<T>>, budget_values: usize) -> Step {
        let consumer = &mut self.consumer;
        self.passes
            .read(consumer, self.facts.dense, sums, budget_values)
    }

    fn kept(&self) -> Tallies {
        Tallies {
            working_set_rows: self.stored,
            evictions: self.selection.as_ref().map_or(0, |s| s.evicted),
            ..Tallies::default()
        }
    }
}

/// Stores rows in a page, but for those that are kept there already.
fn store(rows: Batch<'_>, page: &mut PageMut<'_>, kept: Option<&Selection>) {
    for row in rows {
        if kept.is_some_and(|kept| kept.has(row.ordinal())) {
            continue;
        }
        // a block has room by its making, but where chunks are larger than the cache; a row that found none has had its visit
        // all the same
        store_row(&row, page);
    }
}

/// Copies a row to the end of a page; false where there is no room.
pub(in crate::training) fn store_row(row: &Row<'_>, page: &mut PageMut<'_>) -> bool {
    let room = page.push(row.values());
    let found = room.is_some();
    if let Some(words) = room {
        words.copy_from_slice(row.words());
    }
    found
}

/// Groups of a round, visited until the budget is used up; gives back how many groups and values that was.
struct Round<'a, T> {
    heads: Part<'a, T>,
    page: VisitedPage<'a>,
    groups: &'a [u32],
    active: &'a mut [u16],
    budget: usize,
    grading: Option<Grading<'a>>,
}

impl<T: Real> Work for Round<'_, T> {
    type Output = (usize, usize);

    #[inline(always)]
    fn run<K: Isa>(mut self) -> (usize, usize) {
        let mut values = 0;
        for (done, &group) in self.groups.iter().enumerate() {
            if values >= self.budget {
                return (done, values);
            }
            let mut left = self.active[group as usize];
            while left != 0 {
                let slot = first_slot(group, left);
                left &= left - 1;
                self.ask_for_next(group, left, done);
                let row = self.page.row(slot);
                values += row.values();
                match &mut self.grading {
                    Some(grading) => {
                        let grade = self.heads.visit_graded::<K>(&row, grading.margins);
                        grading.grades[slot] = grade as u8;
                    }
                    None => {
                        self.heads.visit_active::<K>(&row, 0.0);
                    }
                }
                if self.heads.shrunk(row.ordinal()) {
                    self.active[group as usize] &= !(1 << (slot % GROUP));
                }
            }
        }
        (self.groups.len(), values)
    }
}

impl<T> Round<'_, T> {
    /// Asks for the row after this one: of the `left` of its group, or of the next group.
    #[inline(always)]
    fn ask_for_next(&self, group: u32, left: u16, done: usize) {
        let slot = if left != 0 {
            first_slot(group, left)
        } else if let Some(&next) = self.groups.get(done + 1) {
            first_slot(next, self.active[next as usize])
        } else {
            return;
        };
        prefetch(self.page.stored.peek(slot), PREFETCH_LINES);
    }
}

/// The slot of the lowest bit of a group.
#[inline(always)]
fn first_slot(group: u32, bits: u16) -> usize {
    group as usize * GROUP + bits.trailing_zeros() as usize
}

/// Room in `values` for so many.
fn reserve<V>(values: &mut Vec<V>, count: usize) -> Result<(), TrainError> {
    values
        .try_reserve(count)
        .map_err(|_| TrainError::OutOfMemory {
            bytes: (count * std::mem::size_of::<V>()) as u64,
        })
}
