//! The loops over all held rows.

use crate::base::interrupts;
use crate::objective::minimized::score;
use crate::simd::{Isa, Work};
use crate::solver::bundle::augmented::{Augmented, PRODUCTS_A_VALUE};
use crate::solver::bundle::known::{Held, Known, Solved, ROWS};
use crate::solver::fixed_weights::{add_row, added, product};

/// What is known of a row beside its multiplier.
#[derive(Clone, Copy, Default)]
pub(super) struct Moving {
    /// r
    r: f64,
    /// y <dw, x>
    along: f64,
}

impl Moving {
    /// y <w, x> at the weights.
    pub(super) fn stand(&mut self, held: &Held, product: f64) {
        self.r = held.breakpoint - product;
    }

    /// How that moves along the step.
    pub(super) fn move_along(&mut self, _: &Held, product: f64) {
        self.along = product;
    }

    /// a', so far along the step.
    #[inline(always)]
    pub(super) fn multiplier(&self, held: &Held, steep: f64, length: f64) -> f64 {
        let r = self.r - length * self.along;
        (held.a + steep * held.bound * r).clamp(0.0, held.bound)
    }

    /// What it takes from the slope, so far along the step.
    #[inline(always)]
    pub(super) fn slope(&self, held: &Held, steep: f64, length: f64) -> f64 {
        self.along * self.multiplier(held, steep, length)
    }

    pub(super) fn go(&mut self, length: f64) {
        self.r -= length * self.along;
    }
}

/// Takes y <w, x> of all rows, at weights or along a step, and tells each.
pub(super) struct Margins<'a> {
    pub(super) known: &'a Known,
    pub(super) moving: &'a mut [Moving],
    pub(super) at: &'a [f64],
    pub(super) tell: fn(&mut Moving, &Held, f64),
}

impl Work for Margins<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let known = self.known;
        let rows = known.rows.chunks(ROWS).zip(self.moving.chunks_mut(ROWS));
        for (rows, moving) in rows {
            let mut values = 0;
            for (held, moving) in rows.iter().zip(moving) {
                let row = held.row(&known.words, known.dense);
                values += row.values();
                let product = held.y * score::<K>(&row, self.at, known.intercept);
                (self.tell)(moving, held, product);
            }
            interrupts::worked(values);
        }
    }
}

/// v and the matrix, and how far it is.
pub(super) struct SumUp<'a> {
    pub(super) known: &'a Known,
    pub(super) all: &'a mut Augmented,
}

impl Work for SumUp<'_> {
    type Output = Solved;

    #[inline(always)]
    fn run<K: Isa>(self) -> Solved {
        let (known, all) = (self.known, self.all);
        let (mut losses, mut dual, mut support) = (0.0, 0.0, 0);
        all.v.fill(0.0);
        all.simplex.add_to(&known.planes, &mut all.v);
        let rows = known.rows.chunks(ROWS).zip(all.moving.chunks(ROWS));
        for (rows, moving) in rows {
            let mut gone_over = ROWS;
            for (held, moving) in rows.iter().zip(moving) {
                losses += held.bound * moving.r.max(0.0);
                let a = moving.multiplier(held, all.steep, 0.0);
                if a <= 0.0 {
                    continue;
                }
                (dual, support) = (dual + a * held.breakpoint, support + 1);
                let row = held.row(&known.words, known.dense);
                add_row::<K>(&mut all.v, a * held.y, &row, known.intercept);
                gone_over += row.values();
                if a < held.bound {
                    let weight = all.steep * held.bound;
                    all.gram.add::<K>(added(&row, weight, known.intercept));
                    let values = row.values() as u64;
                    all.work += values * values / 2 / PRODUCTS_A_VALUE;
                }
            }
            interrupts::worked(gone_over);
        }
        Solved {
            dual: dual + all.simplex.value(&known.planes)
                - known.shift(&all.v)
                - 0.5 * product(&all.v, &all.v),
            primal: 0.5 * known.square() + losses + all.simplex.risk(),
            support,
            ended: false,
        }
    }
}
