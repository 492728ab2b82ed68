//! Truncated losses, min(L(m), 1 + s): which rows of a head are outliers, beyond the truncation at the weights that were
//! verified last, and what that means for the head's certificate.
//!
//! The relaxation of Yen, Chang, Lin, Lin and Lin (KDD 2013, equation 5): with the outliers left out, each costing the constant
//! c C (1 + s), what is left is the convex problem over the others, IN, which is solved as ever. A verifying pass draws the line
//! anew at the weights it verifies, takes the dual variables of rows that have become outliers out of v, and proves the gap of
//! the convex problem over the rows that are then left. So a head ends with weights that solve, within its tolerance, the
//! problem over the very rows that these weights call IN; P over them and the outliers' constants are the truncated objective.

use crate::base::interrupts;
use crate::base::memory::OutOfMemory;
use crate::base::random::{Random, Stream};
use crate::solver::visit::active::nothing_shrunk;
use crate::solver::visit::per_row::Shrunk;

/// A head that begins from nothing begins with so many rows drawn at random, or one in so many where that is more; the others
/// are outliers until it has weights.
const DRAWN: usize = 10_000;
const DRAWN_SHARE: f64 = 0.1;
/// Rows between two looks for interrupts.
const ROWS_A_LOOK: usize = 1 << 16;

/// The outliers of a head.
pub(in crate::solver) struct Outliers {
    /// The loss beyond which a row is one.
    pub(in crate::solver) most_loss: f64,
    /// A row changes sides where its loss is further from that than this.
    pub(in crate::solver) band: f64,
    /// Their bits, kept like those of rows that are shrunk.
    rows: Shrunk,
}

impl Outliers {
    /// All but some rows drawn.
    pub(in crate::solver) fn all_but_drawn(
        most_loss: f64,
        rows: usize,
        seed: u64,
    ) -> Result<Self, OutOfMemory> {
        let this = Self {
            most_loss,
            band: 0.0,
            rows: nothing_shrunk(rows)?,
        };
        let share = (DRAWN as f64 / rows.max(1) as f64).max(DRAWN_SHARE);
        let mut random = Random::new(seed, Stream::Sample);
        for row in 0..rows {
            if row % ROWS_A_LOOK == 0 {
                interrupts::check();
            }
            this.rows.set(row, random.unit() >= share);
        }
        Ok(this)
    }

    #[inline(always)]
    pub(in crate::solver) fn has(&self, row: usize) -> bool {
        self.rows.get(row)
    }

    /// Puts a row of this cost on its side, by its loss. Whether it is an outlier, and whether it was on the other side before.
    #[inline(always)]
    pub(in crate::solver) fn sort(
        &self,
        row: usize,
        (cost, loss): (f64, f64),
        sorted: &mut Sorted,
    ) -> (bool, bool) {
        let was_out = self.has(row);
        let beyond = loss - self.most_loss;
        let is_out = match beyond.abs() > self.band {
            true => beyond > 0.0,
            false => was_out,
        };
        let moves = is_out != was_out;
        if moves {
            self.rows.set(row, is_out);
            sorted.moved += 1;
        }
        sorted.outliers += u64::from(is_out);
        sorted.cost += if is_out { cost } else { 0.0 };
        if is_out != (beyond > 0.0) {
            sorted.excess += cost * beyond.abs();
        }
        (is_out, moves)
    }
}

/// What a verifying pass found of outliers.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::solver) struct Sorted {
    /// Outliers, and what they cost together.
    pub(in crate::solver) outliers: u64,
    pub(in crate::solver) cost: f64,
    /// What more rows within the band cost on their side than on the other.
    pub(in crate::solver) excess: f64,
    /// Rows that were on the other side before.
    pub(in crate::solver) moved: u64,
}

impl Sorted {
    /// These and those of other rows.
    pub(in crate::solver) fn with(self, more: Sorted) -> Sorted {
        Sorted {
            outliers: self.outliers + more.outliers,
            cost: self.cost + more.cost,
            excess: self.excess + more.excess,
            moved: self.moved + more.moved,
        }
    }
}
