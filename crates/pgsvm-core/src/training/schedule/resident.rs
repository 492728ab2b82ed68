//! Training over rows that are all in the arena: shuffled blocks of consecutive rows, shrunk rows left out.

use crate::base::random::Random;
use crate::base::step::Step;
use crate::cache::Arena;
use crate::rows::blocks::Blocks;
use crate::rows::facts::Facts;
use crate::rows::page::Page;
use crate::rows::visited::VisitedPage;
use crate::screening::measuring::{learned, learner, SAMPLE};
use crate::screening::slack::Metric;
use crate::simd::{Isa, Level, Real, Work};
use crate::solver::divided::{Member, Shared, Team};
use crate::solver::driver::Method;
use crate::solver::scans::ScanRows;
use crate::solver::{Pass, Solver};
use crate::training::error::TrainError;
use crate::training::log::{Event, Log, Moment};
use crate::training::schedule::interface::{read_page, Schedule};
use crate::training::tallies::Tallies;
use crate::training::threads::ThreadPool;

/// Rows of a block, visited in order; blocks are shuffled.
const BLOCK: usize = 16;
/// The same when d is near n, or when rows come sorted by class.
const SMALL_BLOCK: usize = 4;
/// Visits of active rows between full passes, as a multiple of the rows.
const ACTIVE_VISITS: usize = 2;
/// Active passes between full passes.
const ACTIVE_PASSES: usize = 20;
/// A training that begins from elsewhere begins with active passes where one row in so many is active, or fewer.
const FEW: usize = 2;
/// A pass is divided when each trainer gets so many values at least, times the number of trainers squared but no more than
/// `MOST_VALUES`, and so many for each feature: calling a thread takes as long as some thousand values (50,000 where it
/// sleeps), parts that do not see each other take more visits the more of them there are, and adding up the changes of u
/// takes as long as one or two values for each feature.
const LEAST_VALUES: usize = 1 << 14;
const MOST_VALUES: usize = 1 << 18;
const VALUES_PER_FEATURE: usize = 4;
/// A step of a team is longer than one of a single trainer by this, for the threads that it wakes.
const BUDGET_TIMES: usize = 4;
/// What lies so many times itself apart in a ring never meets.
const GOLDEN: f64 = 0.618_033_988_749_894_8;
/// An active pass is worth its O(d) work when it visits at least one value for so many features.
pub(in crate::training) const FEATURES_PER_VALUE: usize = 16;

/// What follows a verifying pass.
#[derive(Clone, Copy)]
enum After {
    /// It came behind a full pass: the centre moves, and active passes begin.
    Round,
    /// It came behind an active pass: more of them where heads end in it, of these that ran; else a full pass.
    Active { heads: usize },
    /// A full pass: enough active ones are done.
    Full,
}

/// Active passes since the last full one.
#[derive(Clone, Copy, Default)]
struct Done {
    passes: usize,
    /// A head's share of their visits.
    visits: usize,
}

/// Who has active passes.
#[derive(Clone, Copy)]
enum Turns {
    /// All heads together.
    Together,
    /// One after another; so much was done before.
    OneByOne { before: Done },
    /// All heads have had theirs until the next full pass.
    Over,
}

pub(in crate::training) struct Resident<T> {
    solver: Solver<T>,
    arena: Arena,
    facts: Facts,
    level: Level,
    random: Random,
    block: usize,
    /// Blocks of this pass, shuffled.
    order: Vec<u32>,
    cursor: usize,
    /// Rows of this pass.
    pass_rows: usize,
    pass: Pass,
    active: Done,
    turns: Turns,
    passes: u32,
    /// What follows the verifying pass in progress.
    after: After,
    /// With more than one trainer.
    team: Option<Team<T>>,
    pool: ThreadPool,
    /// Rows that have been read, in a pass in which nothing is trained.
    read: usize,
    /// Whether the team is in the middle of a pass.
    together: bool,
    log: Log,
}

impl<T: Real> Resident<T> {
    pub(in crate::training) fn new(
        solver: Solver<T>,
        facts: Facts,
        arena: Arena,
        random: Random,
        trainers: usize,
        log: Log,
    ) -> Result<Self, TrainError> {
        let team = team_of(trainers, &solver)?;
        let block = block_of(&facts);
        let blocks = facts.rows.div_ceil(block);
        let mut order = Vec::new();
        order
            .try_reserve_exact(blocks)
            .map_err(|_| TrainError::OutOfMemory {
                bytes: 4 * blocks as u64,
            })?;
        let mut this = Self {
            solver,
            arena,
            facts,
            level: Level::best(),
            random,
            block,
            order,
            cursor: 0,
            pass_rows: 0,
            pass: Pass::Full,
            active: Done::default(),
            turns: Turns::Together,
            passes: 0,
            after: After::Round,
            team,
            pool: ThreadPool::new(trainers - 1),
            read: 0,
            together: false,
            log,
        };
        this.begin()?;
        Ok(this)
    }

    pub(in crate::training) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The solver, and the words of the rows.
    pub(in crate::training) fn solver_and_words(&mut self) -> (&mut Solver<T>, &[u32]) {
        (&mut self.solver, self.arena.words())
    }

    /// The same, and the threads that go over them.
    pub(in crate::training) fn solver_words_and_pool(
        &mut self,
    ) -> (&mut Solver<T>, &[u32], &ThreadPool) {
        (&mut self.solver, self.arena.words(), &self.pool)
    }

    /// Threads that may go over rows at the same time.
    pub(in crate::training) fn threads(&self) -> usize {
        self.pool.members()
    }

    /// Somebody who leads the heads has gone over all rows.
    pub(in crate::training) fn note_pass(&mut self) {
        self.passes += 1;
        self.pass_rows = self.facts.rows;
        self.note(Event::Pass);
    }

    /// Heads are not led any more: those that have not ended go on by themselves.
    pub(in crate::training) fn begin_alone(&mut self) -> Result<(), TrainError> {
        self.solver.end_leading();
        match self.solver.done() {
            true => Ok(()),
            false => self.begin(),
        }
    }

    /// Begins the first pass: one that verifies where heads begin from dual variables.
    fn begin(&mut self) -> Result<(), TrainError> {
        if self.solver.leading().is_some() {
            return Ok(());
        }
        if self.solver.wants_proof() {
            return self.begin_verify();
        }
        self.begin_full()
    }

    /// Whether this pass is divided among a team.
    fn divided(&self) -> bool {
        let values = self.pass_rows * self.facts.mean_row_words.max(1);
        let divisible = self.solver.divisible();
        self.team
            .as_ref()
            .filter(|_| divisible)
            .is_some_and(|team| {
                let members = team.members.len();
                let least = MOST_VALUES.min(LEAST_VALUES * members * members);
                values >= members * least.max(VALUES_PER_FEATURE * self.facts.features)
            })
    }

    /// A step of a team: every member has the budget `BUDGET_TIMES` over.
    fn step_together(&mut self, budget: usize) -> Result<(), TrainError> {
        let Some(team) = &mut self.team else {
            return Ok(());
        };
        if !self.together {
            team.begin(&mut self.solver, self.order.len(), self.pass)?;
            self.together = true;
        }
        let blocks = Blocks {
            page: visited(&self.arena, &self.facts),
            numbers: &self.order,
            width: self.block,
        };
        let (members, shared) = team.divide(&mut self.solver, blocks, self.pass)?;
        let (level, budget) = (self.level, budget.saturating_mul(BUDGET_TIMES));
        self.pool.side_by_side(members, |member| {
            level.run(Together {
                member,
                shared: &shared,
                budget,
            })
        });
        self.cursor = self.order.len() - team.left();
        if team.left() == 0 {
            team.end(&mut self.solver, self.pass);
            self.together = false;
        }
        Ok(())
    }

    fn end_pass(&mut self) -> Result<(), TrainError> {
        match self.pass {
            Pass::Full => {
                let arrived = self.solver.end_full()?;
                self.note(Event::Pass);
                if arrived {
                    return self.begin_verify();
                }
                self.solver.advance()?;
                self.begin_round();
            }
            Pass::Verify { .. } => {
                let due = self.solver.end_verify()?;
                self.note(Event::Verify);
                if self.solver.done() {
                    return Ok(());
                }
                if due {
                    return self.begin_verify();
                }
                match std::mem::replace(&mut self.after, After::Round) {
                    _ if self.solver.begins_anew() => {
                        self.begin_round();
                        return self.begin_sorted();
                    }
                    After::Active { heads } if self.solver.running_heads() < heads => {
                        self.end_active()?;
                        return self.begin_active();
                    }
                    After::Active { .. } | After::Full => return self.begin_full(),
                    After::Round => {}
                }
                self.solver.advance()?;
                self.begin_round();
            }
            Pass::Active => {
                self.note(Event::Active);
                match (self.solver.seems_to_arrive(), self.solver.in_turns()) {
                    (true, true) => self.next_turn()?,
                    (true, false) => {
                        let heads = self.solver.running_heads();
                        self.after = After::Active { heads };
                        return self.begin_verify();
                    }
                    (false, _) => self.end_active()?,
                }
            }
        }
        self.begin_active()
    }

    fn end_active(&mut self) -> Result<(), TrainError> {
        self.solver.end_active()?;
        self.active.passes += 1;
        self.active.visits += self.solver.mean_active_visits();
        Ok(())
    }

    /// No active pass has been made since the last full one.
    fn begin_round(&mut self) {
        (self.active, self.turns) = (Done::default(), Turns::Together);
    }

    /// Notes in the log what has just ended.
    fn note(&mut self, event: Event) {
        let moment = Moment {
            event,
            pass: self.passes,
            block: None,
            rows_streamed: 0,
            cache_rows: self.pass_rows as u64,
            evictions: 0,
        };
        self.log.note(&mut self.solver, moment);
    }

    fn begin_verify(&mut self) -> Result<(), TrainError> {
        let everything = self.solver.begin_verify()?;
        self.passes += 1;
        // nothing is trained: rows may come as they lie
        self.order_all();
        self.pass = Pass::Verify { everything };
        Ok(())
    }

    fn begin_full(&mut self) -> Result<(), TrainError> {
        self.solver.begin_full(true)?;
        self.passes += 1;
        self.order_all();
        self.random.shuffle(&mut self.order);
        self.pass = Pass::Full;
        Ok(())
    }

    fn order_all(&mut self) {
        self.order.clear();
        self.order
            .extend(0..self.facts.rows.div_ceil(self.block) as u32);
        self.cursor = 0;
        self.pass_rows = self.facts.rows;
    }

    /// Begins behind a pass that verified what came from elsewhere: with active passes, where that left a small active set.
    fn begin_sorted(&mut self) -> Result<(), TrainError> {
        self.order_active_set();
        match FEW * self.pass_rows <= self.facts.rows {
            true => self.begin_active(),
            false => self.begin_full(),
        }
    }

    /// Orders the blocks that have a row in the active set.
    fn order_active_set(&mut self) {
        let width = self.block;
        self.order.clear();
        let mut rows = 0;
        for n in 0..self.facts.rows.div_ceil(64) {
            let mut active = self.solver.active(n);
            rows += active.count_ones() as usize;
            while active != 0 {
                let block = active.trailing_zeros() as usize / width;
                self.order.push((64 * n / width + block) as u32);
                active &= !(((1 << width) - 1) << (block * width));
            }
        }
        self.cursor = 0;
        self.pass_rows = rows;
    }

    /// Begins an active pass, or a full or verifying one when enough of them are done.
    fn begin_active(&mut self) -> Result<(), TrainError> {
        while !self.order_active()? {
            if self.solver.in_turns() {
                self.next_turn()?;
                continue;
            }
            if self.solver.wants_proof() {
                self.after = After::Full;
                return self.begin_verify();
            }
            return self.begin_full();
        }
        self.random.shuffle(&mut self.order);
        self.solver.begin_active();
        self.pass = Pass::Active;
        Ok(())
    }

    /// Orders the rows of an active pass; false when one is no longer due.
    fn order_active(&mut self) -> Result<bool, TrainError> {
        let patience = self.solver.patience();
        if matches!(self.turns, Turns::Over)
            || self.active.passes >= ACTIVE_PASSES * patience
            || self.active.visits >= ACTIVE_VISITS * patience * self.facts.rows
        {
            return Ok(false);
        }
        self.order_active_set();
        let values = self.pass_rows * self.facts.mean_row_words.max(1);
        if self.pass_rows == 0 || values * FEATURES_PER_VALUE < self.facts.features {
            return Ok(false);
        }
        if !self.solver.in_turns() && self.solver.better_in_turns(self.pass_rows) {
            self.turns = Turns::OneByOne {
                before: self.active,
            };
            self.next_turn()?;
            return self.order_active();
        }
        Ok(true)
    }

    /// Makes it the next head's turn; behind the last no active pass is due.
    fn next_turn(&mut self) -> Result<(), TrainError> {
        let comes = self.solver.next_turn()?;
        match self.turns {
            Turns::OneByOne { before } if comes => self.active = before,
            _ => self.turns = Turns::Over,
        }
        Ok(())
    }
}

impl<T: Real> Schedule<T> for Resident<T> {
    fn step(&mut self, budget_values: usize) -> Result<Step, TrainError> {
        let mut left = budget_values.max(1);
        while left > 0 {
            if self.solver.done() {
                return Ok(Step::Done);
            }
            if self.cursor == self.order.len() {
                self.end_pass()?;
                // which goes over the weights: many, maybe, and of few rows
                left = left.saturating_sub(self.facts.features);
                continue;
            }
            if self.together || (self.cursor == 0 && self.divided()) {
                self.step_together(left)?;
                return Ok(Step::Progress);
            }
            let blocks = Blocks {
                page: visited(&self.arena, &self.facts),
                numbers: &self.order[self.cursor..],
                width: self.block,
            };
            let visit = Visit {
                solver: &mut self.solver,
                blocks,
                pass: self.pass,
                budget: left,
            };
            let (blocks, values) = self.level.run(visit);
            self.cursor += blocks;
            left = left.saturating_sub(values.max(1));
        }
        Ok(Step::Progress)
    }

    fn restart(&mut self, solver: Solver<T>) -> Result<(), TrainError> {
        self.team = team_of(self.pool.members(), &solver)?;
        self.solver = solver;
        self.together = false;
        self.begin_round();
        self.begin()
    }

    fn solver(&self) -> &Solver<T> {
        &self.solver
    }

    fn solver_mut(&mut self) -> &mut Solver<T> {
        &mut self.solver
    }

    fn log(&self) -> &Log {
        &self.log
    }

    fn log_mut(&mut self) -> &mut Log {
        &mut self.log
    }

    fn tallies(&self) -> Tallies {
        let share = self.cursor as f64 / self.order.len().max(1) as f64;
        Tallies {
            passes: self.passes,
            rows_into_pass: (share * self.pass_rows as f64) as u64,
            working_set_rows: self.pass_rows as u64,
            ..Tallies::default()
        }
    }

    fn metrics(&self) -> Result<Vec<Metric>, TrainError> {
        let Some(mut learner) = learner(&self.facts)? else {
            return Ok(Vec::new());
        };
        let page = visited(&self.arena, &self.facts);
        for number in 0..SAMPLE.min(self.facts.rows) {
            let place = (number as f64 * GOLDEN).fract() * self.facts.rows as f64;
            learner.take(&page.row((place as usize).min(self.facts.rows - 1)));
        }
        Ok(learned(&learner, &self.solver))
    }

    fn begin_reading(&mut self, counts: bool) {
        self.passes += u32::from(counts);
        self.order_all();
        self.read = 0;
    }

    fn read(&mut self, sums: &mut dyn ScanRows<Solver<T>>, budget_values: usize) -> Step {
        let page = visited(&self.arena, &self.facts);
        let step = read_page(page, &mut self.read, &self.solver, sums, budget_values);
        self.cursor = self.read / self.block;
        step
    }
}

/// The rows of the cache as they are visited.
fn visited<'a>(arena: &'a Arena, facts: &Facts) -> VisitedPage<'a> {
    VisitedPage::as_stored(Page::new(arena.words(), facts.dense))
}

/// The team of several trainers. Heads that are held together are trained by one.
fn team_of<T: Real>(members: usize, solver: &Solver<T>) -> Result<Option<Team<T>>, TrainError> {
    match solver.singles() {
        Some(heads) if members > 1 => Ok(Some(Team::new(members, heads)?)),
        _ => Ok(None),
    }
}

fn block_of(facts: &Facts) -> usize {
    // a shuffled table of two even classes changes class at every other row; a sorted one never
    let sorted = facts.class_changes * BLOCK < facts.rows;
    if sorted || facts.rows < 4 * facts.occurring {
        SMALL_BLOCK
    } else {
        BLOCK
    }
}

/// Visits blocks until the budget is used up; gives back how many blocks and values that was.
struct Visit<'a, T> {
    solver: &'a mut Solver<T>,
    blocks: Blocks<'a>,
    pass: Pass,
    budget: usize,
}

impl<T: Real> Work for Visit<'_, T> {
    type Output = (usize, usize);

    #[inline(always)]
    fn run<K: Isa>(self) -> (usize, usize) {
        match self.pass {
            Pass::Full => self
                .solver
                .visit_blocks::<K, true>(self.blocks, self.budget),
            Pass::Active => self
                .solver
                .visit_blocks::<K, false>(self.blocks, self.budget),
            Pass::Verify { everything } => {
                self.solver
                    .check_blocks::<K>(self.blocks, everything, self.budget)
            }
        }
    }
}

/// A member's part of a step.
struct Together<'a, 'b, T> {
    member: &'a mut Member<T>,
    shared: &'a Shared<'b, T>,
    budget: usize,
}

impl<T: Real> Work for Together<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        self.member.visit::<K>(self.shared, self.budget);
    }
}
