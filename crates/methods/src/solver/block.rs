//! The subproblem of a block of rows for one head, solved by Newton's method on its primal: the dual variables of all other rows
//! do not change, and neither does what they make of the weights ([`crate::solver::newton::head`]; Yen, Chang, Lin, Lin, Lin, KDD
//! 2013, section 3.4).
//!
//! A pass over the block sums up what it has of v, passes of the method follow, and a last one gives its rows the dual
//! variables of the method's last pass, unless those that they have are better. So the dual never falls, and v = sum a y x
//! holds from block to block, the sums in 64 bits and of dual variables as they are kept. Where the loss is truncated the block is
//! of the rows that are no outliers: which those are a verifying pass says, and no pass over a block changes it.

use std::ops::Range;

use crate::base::memory::OutOfMemory;
use crate::base::zeros::zeros;
use crate::rows::row::Row;
use crate::rows::visited::VisitedPage;
use crate::simd::{Isa, Level, Real};
use crate::solver::fixed_weights::BLOCK;
use crate::solver::newton::head::{Newton, Next};
use crate::solver::newton::pace::{Costs, PRODUCTS_PER_VALUE};
use crate::solver::newton::pass::{HeadPass, HeadSums};
use crate::solver::single::head::Head;
use crate::solver::sums::tally::Sums;
use crate::solver::{Heads, Solver};

/// What a pass over the block is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// What the block has of v and of the dual.
    Sum,
    Solve,
    /// New dual variables.
    Take,
}

/// A head whose block is being solved.
pub struct BlockHead {
    head: usize,
    newton: Newton,
    next: Next,
    /// The pass of the method under way, and its sums.
    pass: Option<(HeadPass, HeadSums)>,
    purpose: Purpose,
    /// Sum of a y x over the rows of the block.
    own: Vec<f64>,
    /// The dual variables of the last pass with the signs of their rows, by slot.
    duals: Vec<f32>,
    /// Sums of a, of a y o with offsets o, and of diag a^2 over the rows of the block, and how many of those met for the first time have a > 0.
    alpha: f64,
    offsets: f64,
    diag: f64,
    support: u64,
    /// The first slot of a row that this pass of the training has not met in a block before.
    fresh: usize,
}

impl BlockHead {
    fn clear(&mut self, purpose: Purpose) {
        self.purpose = purpose;
        self.own.fill(0.0);
        (self.alpha, self.offsets, self.diag) = (0.0, 0.0, 0.0);
        self.support = 0;
    }

    /// Adds what the block has to what the others have.
    fn put_back(&self, sums: &mut Sums) {
        sums.alpha += self.alpha;
        sums.offsets += self.offsets;
        sums.diag += self.diag;
        sums.full.support += self.support;
    }

    /// Begins the pass that comes over the block, where it has not begun.
    pub fn begin_pass(&mut self) -> Result<(), OutOfMemory> {
        if self.purpose == Purpose::Solve && self.pass.is_none() {
            let pass = self.newton.pass(self.next, None)?;
            let sums = self.newton.begin_sums(&pass)?;
            self.pass = Some((pass, sums));
        }
        Ok(())
    }

    /// Visits a row in a pass of the method; the values gone through.
    #[inline(always)]
    fn visit<K: Isa>(&mut self, row: &Row<'_>, slot: usize) -> usize {
        let own = &mut self.duals[slot];
        let Some((pass, sums)) = &mut self.pass else {
            return 1;
        };
        if pass.is_product() && *own == 0.0 {
            return 1;
        }
        let block = (slot / BLOCK) as u32;
        let mut values = row.values();
        if let Some(seen) = pass.visit_kept::<K>(sums, (row, block), *own) {
            *own = seen.dual as f32;
            values += seen.products / PRODUCTS_PER_VALUE;
        }
        values
    }

    /// What the block has of v is known, and so what the others have.
    fn begin_solving(&mut self) {
        self.newton.take_from_fixed(&self.own);
        self.newton.begin_whole();
        self.next = Next::Pass;
        self.purpose = Purpose::Solve;
    }

    /// Adds a row of this sign with its dual variable a, of whose square the dual has half this curvature.
    #[inline(always)]
    fn add<K: Isa>(
        &mut self,
        row: &Row<'_>,
        (y, curvature): (f64, f64),
        alpha: f32,
        constant: f64,
    ) {
        let alpha = f64::from(alpha);
        let by = y * alpha;
        let dense = row.dense();
        f64::add_dense::<K>(&mut self.own[..dense.len()], by, dense);
        f64::add_sparse::<K>(&mut self.own, by, row.sparse());
        if let Some(last) = self.own.last_mut() {
            *last += by * constant;
        }
        self.alpha += alpha;
        self.offsets += by * row.offset();
        self.diag += curvature * alpha * alpha;
    }
}

impl<T: Real> Head<T> {
    /// Visits a row of the block. Gives back the values gone through.
    #[inline(always)]
    fn visit_in_block<K: Isa>(
        &mut self,
        block: &mut BlockHead,
        row: &Row<'_>,
        slot: usize,
    ) -> usize {
        if self
            .outliers
            .as_ref()
            .is_some_and(|it| it.has(row.ordinal()))
        {
            // until a verifying pass sorts rows anew it has no dual variable, and none comes to it
            return 1;
        }
        if block.purpose == Purpose::Solve {
            return block.visit::<K>(row, slot);
        }
        let y = f64::from(self.signs[row.group()]);
        if y == 0.0 {
            return 1;
        }
        let own = &mut self.alpha[row.ordinal()];
        if block.purpose == Purpose::Take {
            let multiple = block.newton.value().multiples[usize::from(y > 0.0)];
            *own = (multiple * f64::from(block.duals[slot].abs())) as f32;
        }
        if *own == 0.0 {
            return 1;
        }
        block.support += u64::from(slot >= block.fresh);
        let terms = &self.state.ledger.terms;
        let (_, curvature, _) = terms.loss.dual_terms(terms.c * terms.cost(row.cost(), y));
        let constant = self.iterate.intercept();
        block.add::<K>(row, (y, curvature), *own, constant);
        row.values()
    }
}

impl<T: Real> Solver<T> {
    /// Begins with the block of so many rows for this head; None where it has ended. `costs`: of passes over the block; `fresh`:
    /// the first slot of a row that this pass has not met before.
    pub fn begin_block(
        &self,
        head: usize,
        (rows, fresh): (usize, usize),
        costs: Costs,
        tolerance: f64,
    ) -> Result<Option<BlockHead>, OutOfMemory> {
        let Heads::Single(singles) = &self.heads else {
            return Ok(None);
        };
        let head_of = &singles.heads[head];
        if !head_of.state.runs() {
            return Ok(None);
        }
        let tolerance = tolerance * head_of.state.tolerance();
        let newton = head_of.newton_of_block(costs, tolerance)?;
        Ok(Some(BlockHead {
            head,
            newton,
            next: Next::Pass,
            pass: None,
            purpose: Purpose::Sum,
            own: zeros(head_of.iterate.len())?,
            duals: zeros(rows)?,
            alpha: 0.0,
            offsets: 0.0,
            diag: 0.0,
            support: 0,
            fresh,
        }))
    }

    /// Has the rows in these slots visited. Gives back the values gone through.
    #[inline(always)]
    pub fn visit_block<K: Isa>(
        &mut self,
        block: &mut BlockHead,
        page: VisitedPage<'_>,
        slots: Range<usize>,
    ) -> usize {
        let mut values = 0;
        if let Heads::Single(singles) = &mut self.heads {
            let head = &mut singles.heads[block.head];
            for slot in slots {
                values += head.visit_in_block::<K>(block, &page.row(slot), slot);
            }
        }
        values
    }

    /// Ends a pass over the block; true where that was all.
    pub fn end_block_pass(&mut self, block: &mut BlockHead, level: Level) -> bool {
        let Heads::Single(singles) = &mut self.heads else {
            return true;
        };
        let head = &mut singles.heads[block.head];
        match block.purpose {
            Purpose::Sum => {
                let sums = &mut head.state.sums;
                // until it is put back, perhaps with other dual variables
                sums.alpha -= block.alpha;
                sums.offsets -= block.offsets;
                sums.diag -= block.diag;
                block.begin_solving();
                false
            }
            Purpose::Solve => {
                if let Some((_, sums)) = block.pass.take() {
                    block.newton.take(sums, 0);
                }
                block.next = block.newton.end(block.next, level);
                let tally = block.newton.tally();
                head.state.sums.visits += tally.rows;
                self.is_solved(block)
            }
            Purpose::Take => {
                block.put_back(&mut head.state.sums);
                block.newton.add_fixed(&mut block.own);
                head.iterate.set_weights(&block.own);
                true
            }
        }
    }

    /// Goes on with what is to be computed before the next pass over the block; gives back the values that took, and whether
    /// that was all there is to do. None where a pass is next.
    pub fn between_block_passes(
        &mut self,
        block: &mut BlockHead,
        level: Level,
    ) -> Option<(usize, bool)> {
        if block.purpose != Purpose::Solve || block.next != Next::Factor {
            return None;
        }
        let products = block.newton.products();
        block.next = block.newton.factor(level);
        let ended = self.is_solved(block);
        Some((products / PRODUCTS_PER_VALUE, ended))
    }

    /// Whether the method has ended and found nothing better; where it has ended with something better that is taken next.
    fn is_solved(&mut self, block: &mut BlockHead) -> bool {
        if !matches!(block.next, Next::Arrived | Next::GivenUp) {
            return false;
        }
        let Heads::Single(singles) = &mut self.heads else {
            return true;
        };
        let before = block
            .newton
            .dual_of(&block.own, block.alpha - block.offsets, block.diag);
        if block.newton.value().dual > before {
            block.clear(Purpose::Take);
            return false;
        }
        block.put_back(&mut singles.heads[block.head].state.sums);
        true
    }
}
