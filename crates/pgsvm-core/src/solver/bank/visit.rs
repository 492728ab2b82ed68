//! Visits of rows by all heads: scores block by block of lanes, then the steps, then the weights.

use super::Bank;
use crate::kernel::eight::Eight;
use crate::kernel::lanes::{Lanes, LANES};
use crate::kernel::{prefetch, Kernel, Real, Work};
use crate::row::Row;
use crate::solver::ahead::{Ahead, Coming};
use crate::solver::bank::lanes::Facing;
use crate::solver::bank::matrix::scores;
use crate::solver::head::Blocks;
use crate::solver::visit::NORM_SAMPLE;

/// What the visits of a row by several blocks found.
struct Seen {
    /// Some head is awake for it still.
    awake: bool,
    /// The least of what holds it at a bound, see [`super::lanes::Standing`].
    held: Lanes,
}

/// The work of [`Bank::visit_blocks`].
struct VisitBlocks<'a, const FULL: bool> {
    bank: &'a mut Bank,
    blocks: Blocks<'a>,
}

impl<const FULL: bool> Work for VisitBlocks<'_, FULL> {
    type Output = usize;

    #[inline(always)]
    fn run<K: Kernel>(self) -> usize {
        self.bank.visit_each::<K, FULL>(self.blocks)
    }
}

/// The work of [`Bank::visit_row`].
struct VisitRow<'a, const FULL: bool> {
    bank: &'a mut Bank,
    row: &'a Row<'a>,
}

impl<const FULL: bool> Work for VisitRow<'_, FULL> {
    type Output = f32;

    #[inline(always)]
    fn run<K: Kernel>(self) -> f32 {
        let held = self.bank.visit::<K, FULL>(self.row, &mut Coming::none());
        held.into_iter().fold(f32::INFINITY, f32::min)
    }
}

/// The work of [`Bank::measure`].
struct Measure<'a> {
    bank: &'a mut Bank,
    row: &'a Row<'a>,
}

impl Work for Measure<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Kernel>(self) {
        self.bank.measure_row::<K>(self.row);
    }
}

impl Bank {
    /// Visits the rows of these blocks, in a full pass all and else those awake. Gives back the values visited.
    pub(in crate::solver) fn visit_blocks<const FULL: bool>(
        &mut self,
        blocks: Blocks<'_>,
    ) -> usize {
        self.level.run(VisitBlocks::<FULL> { bank: self, blocks })
    }

    /// Visits a row. Gives back how far beyond 0 the gradients are that hold it at its bounds, the least of all heads': it
    /// matters within that margin.
    pub(in crate::solver) fn visit_row<const FULL: bool>(&mut self, row: &Row<'_>) -> f64 {
        self.level.run(VisitRow::<FULL> { bank: self, row }).into()
    }

    /// Wakes a row for every head.
    pub(in crate::solver) fn wake(&mut self, ordinal: usize) {
        self.asleep[ordinal * self.width..][..self.width].fill(0);
    }

    /// Whether a row sleeps for every head.
    pub(in crate::solver) fn asleep(&self, ordinal: usize) -> bool {
        self.all_asleep.get(ordinal)
    }

    /// Measures a row in a full pass without training it.
    pub(in crate::solver) fn measure(&mut self, row: &Row<'_>) {
        self.level.run(Measure { bank: self, row });
    }

    #[inline(always)]
    fn visit_each<K: Kernel, const FULL: bool>(&mut self, blocks: Blocks<'_>) -> usize {
        let to_visit = |this: &Self, place: usize| {
            let (first, all) = blocks.rows(place);
            let left = if FULL {
                all
            } else {
                this.awake(first, blocks.width)
            };
            (first, left)
        };
        let mut ahead = Ahead::new(blocks.page);
        let mut values = 0;
        for place in 0..blocks.numbers.len() {
            let (first, mut left) = to_visit(self, place);
            if place + 2 < blocks.numbers.len() {
                let (slot, _) = blocks.rows(place + 2);
                blocks.page.prefetch_entry(slot);
            }
            if place + 1 < blocks.numbers.len() {
                let (first, rows) = to_visit(self, place + 1);
                ahead.begin(first, rows);
                if !FULL {
                    self.prefetch_alpha(first, rows);
                }
            }
            while left != 0 {
                let offset = left.trailing_zeros();
                left &= left - 1;
                let slot = first + offset as usize;
                let row = blocks.page.peek_row(slot);
                values += row.values();
                if FULL {
                    prefetch(
                        &self.alpha[(slot + 1).min(self.facts.rows - 1) * self.width..],
                        1,
                    );
                }
                let mut coming = ahead.coming(&row, first, left);
                self.visit::<K, FULL>(&row, &mut coming);
                coming.rest();
            }
            ahead.finish();
        }
        values
    }

    /// Asks for the dual variables of these rows.
    #[inline(always)]
    fn prefetch_alpha(&self, first: usize, mut rows: u32) {
        while rows != 0 {
            let slot = first + rows.trailing_zeros() as usize;
            rows &= rows - 1;
            prefetch(&self.alpha[slot * self.width..], 1);
        }
    }

    /// Visits a row and asks for the one that is `coming` meanwhile; see [`Seen::held`] for what comes back.
    #[inline(always)]
    fn visit<K: Kernel, const FULL: bool>(
        &mut self,
        row: &Row<'_>,
        coming: &mut Coming<'_>,
    ) -> Lanes {
        let mut seen = Seen {
            awake: false,
            held: [f32::INFINITY; LANES],
        };
        let norm = if FULL { self.norm::<K>(row) } else { None };
        let mut block = 0;
        while block < self.blocks.len() {
            let two = block + 1 < self.blocks.len();
            match (self.wanted::<FULL>(row, block), two) {
                (0, _) => block += 1,
                (_, true) if self.wanted::<FULL>(row, block + 1) != 0 => {
                    self.visit_lanes::<K, FULL, 2>(row, norm, block, &mut seen, coming);
                    block += 2;
                }
                _ => {
                    self.visit_lanes::<K, FULL, 1>(row, norm, block, &mut seen, coming);
                    block += 1;
                }
            }
        }
        self.all_asleep.set(row.ordinal(), !seen.awake);
        seen.held
    }

    /// The lanes of a block that are to visit a row.
    #[inline(always)]
    fn wanted<const FULL: bool>(&self, row: &Row<'_>, block: usize) -> u8 {
        if FULL {
            self.blocks[block].running
        } else {
            self.blocks[block].in_turn & !self.asleep[row.ordinal() * self.width + block]
        }
    }

    /// Visits a row with the lanes of N blocks.
    #[inline(always)]
    fn visit_lanes<K: Kernel, const FULL: bool, const N: usize>(
        &mut self,
        row: &Row<'_>,
        norm: Option<f32>,
        block: usize,
        seen: &mut Seen,
        coming: &mut Coming<'_>,
    ) {
        let first = row.ordinal() * self.width + block;
        let wanted: [u8; N] = std::array::from_fn(|n| self.wanted::<FULL>(row, block + n));
        let one = self.intercept;
        let (score, at_start) = if FULL && !self.start_is_zero {
            let both = scores::<K, N, 2>([&self.w, &self.start], row, one, block, wanted, coming);
            (both[0], both[1])
        } else {
            let [score] = scores::<K, N, 1>([&self.w], row, one, block, wanted, coming);
            (score, [[0.0; LANES]; N])
        };
        for n in 0..N {
            let facing = Facing {
                signs: &self.signs[row.group() * self.blocks.len() + block + n],
                cost: row.cost(),
                lanes: wanted[n],
            };
            let own = &mut self.blocks[block + n];
            let alpha = &mut self.alpha[first + n];
            let asleep = &mut self.asleep[first + n];
            let standing = own.look::<K::Eight, FULL>(facing, &score[n], alpha, asleep);
            let held = K::Eight::load(&seen.held);
            held.least(standing.held).store(&mut seen.held);
            let visiting = if FULL { own.running } else { own.in_turn };
            seen.awake |= visiting & !*asleep != 0;
            if standing.moving != 0 {
                let damp = self.metric.as_ref().map(|metric| &metric.damp);
                let curvature = match damp {
                    None => own.curvature(row.q() + one),
                    Some(damp) => damp.squares::<K>(row, one, block + n, standing.moving),
                };
                let mut scales = own.step(facing, &standing, &curvature, alpha);
                if let (false, Some(anew)) = (FULL, &mut self.anew) {
                    anew.add_step::<K>(row, one, block + n, &scales);
                }
                if damp.is_none() {
                    scales = std::array::from_fn(|k| scales[k] * own.damp()[k]);
                }
                self.w.add::<K>(row, one, block + n, &scales, damp);
            }
            if FULL {
                own.measure::<K::Eight>(facing, &at_start[n], &score[n], alpha, norm);
                if let Some(anew) = &mut self.anew {
                    let held = facing.signed::<K::Eight>(alpha);
                    anew.add_row::<K>(row, one, block + n, &held);
                }
            }
        }
    }

    /// |x|^2 in the norm of the shift: x' M^-1 x, intercept included; in a metric, of some rows only.
    #[inline(always)]
    fn norm<K: Kernel>(&self, row: &Row<'_>) -> Option<f32> {
        let Some(metric) = &self.metric else {
            return Some(row.q() + self.intercept);
        };
        if !row.ordinal().is_multiple_of(NORM_SAMPLE) {
            return None;
        }
        let (dense, inverse) = (row.dense(), &metric.inverse);
        let mut norm = self.intercept;
        if !dense.is_empty() {
            let inverse = &inverse[..dense.len()];
            norm += f32::dot_damped_dense::<K>(dense, inverse, inverse).1 as f32;
        }
        norm += f32::dot_damped_sparse::<K>(row.sparse(), inverse, inverse).1 as f32;
        Some(norm)
    }

    /// Scores of a row at the weights of the pass's start, or at those being verified.
    #[inline(always)]
    pub(super) fn score_start<K: Kernel>(&self, row: &Row<'_>, block: usize, wanted: u8) -> Lanes {
        let (start, one) = (&self.start, self.intercept);
        let [[scores]] = scores::<K, 1, 1>([start], row, one, block, [wanted], &mut Coming::none());
        scores
    }

    #[inline(always)]
    fn measure_row<K: Kernel>(&mut self, row: &Row<'_>) {
        for block in 0..self.blocks.len() {
            let wanted = self.blocks[block].running;
            let at_start = if self.start_is_zero {
                [0.0; LANES]
            } else {
                self.score_start::<K>(row, block, wanted)
            };
            let facing = Facing {
                signs: &self.signs[row.group() * self.blocks.len() + block],
                cost: row.cost(),
                lanes: wanted,
            };
            let none = [0.0; LANES];
            self.blocks[block].measure::<K::Eight>(facing, &at_start, &at_start, &none, None);
            if let Some(anew) = &mut self.anew {
                let alpha = &self.alpha[row.ordinal() * self.width + block];
                let held = facing.signed::<K::Eight>(alpha);
                anew.add_row::<K>(row, self.intercept, block, &held);
            }
        }
    }
}
