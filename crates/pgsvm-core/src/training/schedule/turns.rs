//! Heads side by side that take turns in active passes: those of a part one after another, and each part by a thread of its own.
//!
//! Every head has an own order of blocks, drawn from a random stream that is seeded by the head's number. So its turn does not depend on the
//! other heads.

use crate::base::memory::{all_of, gathered, OutOfMemory, Room};
use crate::base::random::{Random, Stream};
use crate::rows::blocks::Blocks;
use crate::rows::facts::Facts;
use crate::rows::visited::VisitedPage;
use crate::simd::{Level, Real};
use crate::solver::part::Part;
use crate::solver::{Pass, Solver};
use crate::training::schedule::active::{order_active, pays, Done};
use crate::training::schedule::walk::visit_from;
use crate::training::threads::ThreadPool;

/// The rows that all visit.
pub(in crate::training) struct AtHand<'a> {
    pub(in crate::training) page: VisitedPage<'a>,
    pub(in crate::training) facts: &'a Facts,
    /// Rows of a block.
    pub(in crate::training) width: usize,
    pub(in crate::training) level: Level,
}

/// The turns between two full passes, part by part.
pub(in crate::training) struct Turns(Vec<PartInTurns>);

struct PartInTurns {
    /// Of the random numbers of all heads.
    seed: u64,
    random: Random,
    /// Active passes before the turns, and before and in the present one.
    before: Done,
    done: Done,
    stage: Stage,
    /// Blocks of this pass, shuffled.
    order: Vec<u32>,
    cursor: usize,
    /// The head's visits before this pass.
    visits: u64,
    /// Passes that have ended in this step, and values used.
    ended: usize,
    used: Result<usize, OutOfMemory>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It is to be the next head's turn.
    Next,
    /// A pass of the head whose turn it is has ended.
    Between,
    /// Such a pass is under way.
    Pass,
    /// All have had their turns.
    Over,
}

impl Turns {
    /// Of heads that have made so many active passes already.
    pub(in crate::training) fn new<T: Real>(
        solver: &Solver<T>,
        (facts, width): (&Facts, usize),
        (before, seed): (Done, u64),
        trainers: usize,
    ) -> Result<Self, OutOfMemory> {
        let count = solver.dealt(trainers).unwrap_or(1);
        let part = |_| {
            let mut order = Vec::new();
            order.room(facts.rows.div_ceil(width))?;
            Ok(PartInTurns {
                seed,
                random: Random::new(seed, Stream::Trainer),
                before,
                done: before,
                stage: Stage::Next,
                order,
                cursor: 0,
                visits: 0,
                ended: 0,
                used: Ok(0),
            })
        };
        all_of((0..count).map(part)).map(Self)
    }

    /// Goes on with about `budget` values, of one part alone to the end of a pass at most. Gives back how many passes have ended
    /// and values been used.
    pub(in crate::training) fn go_on<T: Real>(
        &mut self,
        solver: &mut Solver<T>,
        at_hand: &AtHand<'_>,
        (pool, budget): (&ThreadPool, usize),
    ) -> Result<(usize, usize), OutOfMemory> {
        let alone = self.0.len() == 1;
        let mut parts = solver.parts(pool.members())?;
        let mut members = gathered(self.0.iter_mut().zip(&mut parts))?;
        pool.side_by_side(&mut members, |(turns, part)| {
            turns.ended = 0;
            turns.used = turns.go_on(part, at_hand, (budget, alone));
        });
        let (mut ended, mut used) = (0, 0);
        for part in &mut self.0 {
            ended += part.ended;
            used = std::mem::replace(&mut part.used, Ok(0))?.max(used);
        }
        Ok((ended, used.max(1)))
    }

    pub(in crate::training) fn are_over(&self) -> bool {
        self.0.iter().all(|part| part.stage == Stage::Over)
    }
}

impl PartInTurns {
    fn go_on<T: Real>(
        &mut self,
        part: &mut Part<'_, T>,
        at_hand: &AtHand<'_>,
        (budget, stops): (usize, bool),
    ) -> Result<usize, OutOfMemory> {
        let mut left = budget;
        while left > 0 && self.stage != Stage::Over && !(stops && self.ended > 0) {
            if self.stage == Stage::Pass && self.cursor < self.order.len() {
                let blocks = Blocks {
                    page: at_hand.page,
                    numbers: &self.order,
                    width: at_hand.width,
                };
                let at = (blocks, self.cursor);
                let (done, values) = visit_from(part, at_hand.level, at, (Pass::Active, left));
                self.cursor += done;
                left = left.saturating_sub(values.max(1));
                continue;
            }
            if self.stage == Stage::Pass {
                self.end_pass(part)?;
            }
            self.begin_pass(part, at_hand)?;
            // which reads the weights
            left = left.saturating_sub(at_hand.facts.features);
        }
        Ok(budget - left)
    }

    fn end_pass<T: Real>(&mut self, part: &mut Part<'_, T>) -> Result<(), OutOfMemory> {
        self.ended += 1;
        self.stage = Stage::Next;
        if !part.seems_to_arrive() {
            part.end_active()?;
            self.stage = Stage::Between;
            self.done.passes += 1;
            self.done.visits += (part.visits_in_turn() - self.visits) as usize;
        }
        Ok(())
    }

    /// Begins a pass of the head whose turn it is, or of the next that is due one.
    fn begin_pass<T: Real>(
        &mut self,
        part: &mut Part<'_, T>,
        at_hand: &AtHand<'_>,
    ) -> Result<(), OutOfMemory> {
        let AtHand { facts, width, .. } = *at_hand;
        loop {
            if self.stage == Stage::Next {
                let Some(head) = part.next_turn()? else {
                    self.stage = Stage::Over;
                    return Ok(());
                };
                let seed = self.seed.wrapping_add(head as u64);
                self.random = Random::new(seed, Stream::Trainer);
                self.done = self.before;
            }
            self.stage = Stage::Next;
            if self.done.is_enough(part.patience(), facts) {
                continue;
            }
            let rows = order_active(&mut self.order, (facts.rows, width), |n| part.active(n));
            if pays(rows, facts) {
                self.random.shuffle(&mut self.order);
                (self.cursor, self.stage) = (0, Stage::Pass);
                self.visits = part.visits_in_turn();
                part.begin_active();
                return Ok(());
            }
        }
    }
}
