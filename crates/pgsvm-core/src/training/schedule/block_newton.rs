//! The rows of a block in the cache, solved by Newton's method: head after head, pass after pass over them.

use crate::base::memory::OutOfMemory;
use crate::rows::facts::Facts;
use crate::rows::visited::VisitedPage;
use crate::simd::{Isa, Level, Real, Work};
use crate::solver::block::BlockHead;
use crate::solver::ledger::Ledgers;
use crate::solver::newton::pace::Costs;
use crate::solver::Solver;

/// The tolerance of a block over that of its training. What a block has of the weights may be many times what is left of all, so
/// that its primal is large beside what the other blocks have it gain; and the last digits are what Newton steps cost least for.
const TOLERANCE: f64 = 1e-4;

/// A block being solved.
pub(super) struct Solving {
    /// The head under way, and those before it are done.
    head: usize,
    block: Option<BlockHead>,
    /// Slots of the block, and the first of those that have come just now.
    slots: usize,
    fresh: usize,
    /// Slots that this pass has been to.
    cursor: usize,
}

impl Solving {
    pub(super) fn new((slots, fresh): (usize, usize)) -> Self {
        Self {
            head: 0,
            block: None,
            slots,
            fresh,
            cursor: 0,
        }
    }

    /// Goes on with about `budget` values; gives back how many that were, None where all heads are done.
    pub(super) fn go_on<T: Real>(
        &mut self,
        solver: &mut Solver<T>,
        page: VisitedPage<'_>,
        (level, facts): (Level, &Facts),
        budget: usize,
    ) -> Result<Option<usize>, OutOfMemory> {
        let Some(block) = &mut self.block else {
            return self.begin_next(solver, facts);
        };
        if let Some((values, ended)) = solver.between_block_passes(block, level) {
            if ended {
                self.block = None;
            }
            return Ok(Some(values));
        }
        block.begin_pass()?;
        let rows = (budget / facts.mean_row_words.max(1)).max(1);
        let end = (self.cursor + rows).min(self.slots);
        let values = level.run(Visit {
            solver,
            block,
            page,
            slots: self.cursor..end,
        });
        self.cursor = end;
        if end == self.slots {
            self.cursor = 0;
            if solver.end_block_pass(block, level) {
                self.block = None;
            }
        }
        Ok(Some(values))
    }

    fn begin_next<T: Real>(
        &mut self,
        solver: &Solver<T>,
        facts: &Facts,
    ) -> Result<Option<usize>, OutOfMemory> {
        if self.head == solver.len() {
            return Ok(None);
        }
        let costs = Costs::new(facts).of_part(self.slots);
        let rows = (self.slots, self.fresh);
        self.block = solver.begin_block(self.head, rows, costs, TOLERANCE)?;
        self.head += 1;
        Ok(Some(facts.features))
    }
}

/// Slots of the block to be visited.
struct Visit<'a, T> {
    solver: &'a mut Solver<T>,
    block: &'a mut BlockHead,
    page: VisitedPage<'a>,
    slots: std::ops::Range<usize>,
}

impl<T: Real> Work for Visit<'_, T> {
    /// The values gone through.
    type Output = usize;

    #[inline(always)]
    fn run<K: Isa>(self) -> usize {
        self.solver
            .visit_block::<K>(self.block, self.page, self.slots)
    }
}
