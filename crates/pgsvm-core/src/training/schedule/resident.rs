//! Training over rows that are all in the arena: shuffled blocks of consecutive rows, shrunk rows left out.

use crate::base::memory::{gathered, Room};
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
use crate::solver::divided::{Member, Shared};
use crate::solver::driver::Method;
use crate::solver::ledger::Ledgers;
use crate::solver::scans::ScanRows;
use crate::solver::{Pass, Solver};
use crate::training::error::TrainError;
use crate::training::log::{Event, Log, Moment};
use crate::training::schedule::active::{order_active, pays, Done};
use crate::training::schedule::interface::{read_page, Schedule};
use crate::training::schedule::sharing::{Crew, Sharing};
use crate::training::schedule::turns::{AtHand, Turns};
use crate::training::schedule::walk::visit_from;
use crate::training::tallies::Tallies;
use crate::training::threads::ThreadPool;

/// Rows of a block, visited in order; blocks are shuffled.
const BLOCK: usize = 16;
/// The same when d is near n, or when rows come sorted by class.
const SMALL_BLOCK: usize = 4;
/// A training that begins from elsewhere begins with active passes where one row in so many is active, or fewer.
const FEW: usize = 2;
/// A step of several trainers is longer than one of a single trainer by this, for the threads that it wakes.
const BUDGET_TIMES: usize = 4;
/// What lies so many times itself apart in a ring never meets.
const GOLDEN: f64 = 0.618_033_988_749_894_8;
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

/// Who has active passes.
enum Acting {
    /// All heads together.
    Together,
    /// They take turns.
    InTurns(Turns),
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
    acting: Acting,
    passes: u32,
    /// What follows the verifying pass in progress.
    after: After,
    crew: Crew<T>,
    /// How trainers share the pass under way.
    sharing: Sharing,
    /// Where heads are dealt out, how many blocks of the pass each part has visited.
    cursors: Vec<usize>,
    /// Rows that have been read, in a pass in which nothing is trained.
    read: usize,
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
            acting: Acting::Together,
            passes: 0,
            after: After::Round,
            crew: Crew::new(trainers, &facts)?,
            sharing: Sharing::Alone,
            cursors: Vec::new(),
            read: 0,
            log,
        };
        this.begin()?;
        Ok(this)
    }

    pub(in crate::training) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The solver, the words of the rows, and the threads that read them.
    pub(in crate::training) fn solver_words_and_pool(
        &mut self,
    ) -> (&mut Solver<T>, &[u32], &ThreadPool) {
        (&mut self.solver, self.arena.words(), &self.crew.pool)
    }

    /// Threads that may read rows at the same time.
    pub(in crate::training) fn threads(&self) -> usize {
        self.crew.pool.members()
    }

    /// A pass at fixed weights has read all rows.
    pub(in crate::training) fn note_pass(&mut self) {
        self.passes += 1;
        self.pass_rows = self.facts.rows;
        self.note(Event::Pass);
    }

    /// The method of passes is done: heads that have not ended go on by coordinate descent.
    pub(in crate::training) fn begin_alone(&mut self) -> Result<(), TrainError> {
        self.solver.end_newton();
        match self.solver.done() {
            true => Ok(()),
            false => self.begin(),
        }
    }

    /// Begins the first pass: one that verifies where heads begin from dual variables.
    fn begin(&mut self) -> Result<(), TrainError> {
        if self.solver.by_newton() {
            return Ok(());
        }
        if self.solver.wants_proof() {
            return self.begin_verify();
        }
        self.begin_full()
    }

    /// Has trainers share the pass that begins as suits it.
    fn share(&mut self) -> Result<(), TrainError> {
        let values = self.pass_rows * self.facts.mean_row_words.max(1);
        self.sharing = self.crew.shares_pass(&self.solver, &self.facts, values);
        match self.sharing {
            Sharing::Alone => {}
            Sharing::Heads => {
                let parts = self.solver.dealt(self.threads()).unwrap_or(1);
                self.cursors.clear();
                self.cursors.room(parts)?.resize(parts, 0);
            }
            Sharing::Rows => {
                self.crew.gather(&self.solver)?;
                if let Some(team) = &mut self.crew.team {
                    team.begin(&mut self.solver, self.order.len(), self.pass)?;
                }
            }
        }
        Ok(())
    }

    /// A step of a pass; gives back the values that a trainer visited.
    fn visit(&mut self, budget: usize) -> Result<usize, TrainError> {
        if self.cursor == 0 && self.sharing == Sharing::Alone {
            self.share()?;
        }
        let blocks = Blocks {
            page: visited(&self.arena, &self.facts),
            numbers: &self.order,
            width: self.block,
        };
        let (level, pass, pool) = (self.level, self.pass, &self.crew.pool);
        let longer = budget.saturating_mul(BUDGET_TIMES);
        match (self.sharing, &mut self.crew.team) {
            (Sharing::Heads, _) => {
                let mut parts = self.solver.parts(pool.members())?;
                let mut members = gathered(parts.iter_mut().zip(&mut self.cursors))?;
                pool.side_by_side(&mut members, |(part, cursor)| {
                    **cursor += visit_from(part, level, (blocks, **cursor), (pass, longer)).0;
                });
                self.cursor = self.cursors.iter().copied().min().unwrap_or(0);
                Ok(budget)
            }
            (Sharing::Rows, Some(team)) => {
                let (members, shared) = team.divide(&mut self.solver)?;
                pool.side_by_side(members, |member| {
                    level.run(Together {
                        member,
                        shared: &shared,
                        blocks,
                        pass,
                        budget: longer,
                    })
                });
                self.cursor = self.order.len() - team.left();
                if team.left() == 0 {
                    team.end(&mut self.solver, pass);
                }
                Ok(budget)
            }
            _ => {
                let mut whole = self.solver.whole();
                let at = (blocks, self.cursor);
                let (done, values) = visit_from(&mut whole, level, at, (pass, budget));
                self.cursor += done;
                Ok(values.max(1))
            }
        }
    }

    /// A step of heads that take turns; gives back the values that a trainer visited.
    fn take_turns(&mut self, budget: usize) -> Result<usize, TrainError> {
        let Acting::InTurns(turns) = &mut self.acting else {
            return Ok(0);
        };
        let at_hand = AtHand {
            page: visited(&self.arena, &self.facts),
            facts: &self.facts,
            width: self.block,
            level: self.level,
        };
        let crew = (&self.crew.pool, budget);
        let (ended, values) = turns.go_on(&mut self.solver, &at_hand, crew)?;
        let over = turns.are_over();
        for _ in 0..ended {
            self.note(Event::Active);
        }
        if over {
            self.acting = Acting::Over;
            self.begin_active()?;
        }
        Ok(values)
    }

    fn end_pass(&mut self) -> Result<(), TrainError> {
        self.sharing = Sharing::Alone;
        match self.pass {
            Pass::Full => {
                let arrived = self.solver.end_full()?;
                self.note(Event::Pass);
                if arrived {
                    return self.begin_verify();
                }
                self.solver.advance()?;
                self.begin_round();
                if self.solver.opens() {
                    return self.begin_full();
                }
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
                    _ if self.solver.has_sorted() => {
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
                if self.solver.full_passes() == 0 {
                    return self.begin_sorted();
                }
                self.solver.advance()?;
                self.begin_round();
            }
            Pass::Active => {
                self.note(Event::Active);
                if self.solver.seems_to_arrive() {
                    let heads = self.solver.running_heads();
                    self.after = After::Active { heads };
                    return self.begin_verify();
                }
                self.end_active()?;
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
        (self.active, self.acting) = (Done::default(), Acting::Together);
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
        let (solver, rows) = (&self.solver, (self.facts.rows, self.block));
        self.pass_rows = order_active(&mut self.order, rows, |n| solver.active(n));
        self.cursor = 0;
    }

    /// Begins an active pass, or a full or verifying one when enough of them are done.
    fn begin_active(&mut self) -> Result<(), TrainError> {
        self.pass = Pass::Active;
        if !self.order_active()? {
            if self.solver.wants_proof() {
                self.after = After::Full;
                return self.begin_verify();
            }
            return self.begin_full();
        }
        if let Acting::InTurns(_) = self.acting {
            return Ok(());
        }
        self.random.shuffle(&mut self.order);
        self.solver.begin_active();
        Ok(())
    }

    /// Orders the rows of an active pass, or has heads take turns; false when one is no longer due.
    fn order_active(&mut self) -> Result<bool, TrainError> {
        let patience = self.solver.patience();
        if matches!(self.acting, Acting::Over) || self.active.is_enough(patience, &self.facts) {
            return Ok(false);
        }
        self.order_active_set();
        if !pays(self.pass_rows, &self.facts) {
            return Ok(false);
        }
        if self.solver.better_in_turns(self.pass_rows) {
            let seed = self.random.below(usize::MAX) as u64;
            let rows = (&self.facts, self.block);
            let turns = Turns::new(&self.solver, rows, (self.active, seed), self.threads())?;
            self.acting = Acting::InTurns(turns);
        }
        Ok(true)
    }
}

impl<T: Real> Schedule<T> for Resident<T> {
    fn step(&mut self, budget_values: usize) -> Result<Step, TrainError> {
        let mut left = budget_values.max(1);
        while left > 0 {
            if self.solver.done() {
                return Ok(Step::Done);
            }
            if let Acting::InTurns(_) = self.acting {
                left = left.saturating_sub(self.take_turns(left)?);
                continue;
            }
            if self.cursor == self.order.len() {
                self.end_pass()?;
                // which reads the weights: many, maybe, and of few rows
                left = left.saturating_sub(self.facts.features);
                continue;
            }
            left = left.saturating_sub(self.visit(left)?);
        }
        Ok(Step::Progress)
    }

    fn restart(&mut self, solver: Solver<T>) -> Result<(), TrainError> {
        self.crew.part();
        self.solver = solver;
        self.sharing = Sharing::Alone;
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

fn block_of(facts: &Facts) -> usize {
    // a shuffled table of two even classes changes class at every other row; a sorted one never
    let sorted = facts.class_changes * BLOCK < facts.rows;
    if sorted || facts.rows < 4 * facts.occurring {
        SMALL_BLOCK
    } else {
        BLOCK
    }
}

/// A member's part of a step.
struct Together<'a, 'b, T> {
    member: &'a mut Member<T>,
    shared: &'a Shared<'b, T>,
    blocks: Blocks<'a>,
    pass: Pass,
    budget: usize,
}

impl<T: Real> Work for Together<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let walk = (self.blocks, self.pass);
        self.member.visit::<K>(self.shared, walk, self.budget);
    }
}
