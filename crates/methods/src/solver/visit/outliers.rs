//! Truncated losses, min(L(m), 1 + s): which rows of a head are outliers, beyond the truncation, and leave the problem that is
//! solved. A visit puts the row on its side by the weights as they are, and a verifying pass all rows by the weights that it verifies.
//! See [`crate::solver::certificate::truncated`].

use crate::base::memory::OutOfMemory;
use crate::solver::visit::active::nothing_shrunk;
use crate::solver::visit::per_row::Shrunk;

/// The line between the sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::solver) struct Line {
    /// The loss beyond which a row is an outlier.
    pub(in crate::solver) most_loss: f64,
    /// A row changes sides where its loss is further from that than this.
    pub(in crate::solver) band: f64,
}

impl Line {
    /// Whether a row of this loss is an outlier, which was one before or not.
    #[inline(always)]
    fn is_out(&self, loss: f64, was_out: bool) -> bool {
        let beyond = loss - self.most_loss;
        match beyond.abs() > self.band {
            true => beyond > 0.0,
            false => was_out,
        }
    }
}

/// The outliers of a head.
pub(in crate::solver) struct Outliers {
    pub(in crate::solver) line: Line,
    /// Whether visits put rows on their sides, and not verifying passes alone.
    pub(in crate::solver) open: bool,
    /// Their bits, kept like those of rows that are shrunk.
    rows: Shrunk,
    /// Where the verifying pass under way finds that they belong.
    found: Shrunk,
}

impl Outliers {
    /// None yet.
    pub(in crate::solver) fn none(line: Line, rows: usize) -> Result<Self, OutOfMemory> {
        Ok(Self {
            line,
            open: true,
            rows: nothing_shrunk(rows)?,
            found: nothing_shrunk(rows)?,
        })
    }

    /// No row is an outlier; whether visits put rows on their sides from now on.
    pub(in crate::solver) fn clear(&mut self, open: bool) {
        self.open = open;
        self.rows.clear();
    }

    /// A verifying pass begins, by this line.
    pub(in crate::solver) fn begin(&mut self, line: Line) {
        (self.line, self.open) = (line, false);
        self.found.copy(&self.rows);
    }

    /// Rows go where it has found that they belong: dual variables of outliers are 0, and they are shrunk.
    pub(in crate::solver) fn take_found(&mut self, duals: &mut [f32], shrunk: &mut Shrunk) {
        std::mem::swap(&mut self.rows, &mut self.found);
        for (n, duals) in duals.chunks_mut(64).enumerate() {
            let out = self.rows.word(n);
            shrunk.set_word(n, shrunk.word(n) | out);
            for (bit, dual) in duals.iter_mut().enumerate() {
                if out >> bit & 1 == 1 {
                    *dual = 0.0;
                }
            }
        }
    }

    #[inline(always)]
    pub(in crate::solver) fn has(&self, row: usize) -> bool {
        self.rows.get(row)
    }

    /// Puts a row on its side by its loss; whether it is an outlier.
    #[inline(always)]
    pub(in crate::solver) fn put(&self, row: usize, loss: f64) -> bool {
        let was_out = self.has(row);
        let is_out = self.line.is_out(loss, was_out);
        if is_out != was_out {
            self.rows.set(row, is_out);
        }
        is_out
    }

    /// Finds the side of a row of this cost in a verifying pass, which counts: whether it is that of outliers, and another one.
    #[inline(always)]
    pub(in crate::solver) fn sort(
        &self,
        row: usize,
        (cost, loss): (f64, f64),
        sorted: &mut Sorted,
    ) -> (bool, bool) {
        let was_out = self.has(row);
        let is_out = self.line.is_out(loss, was_out);
        if is_out != was_out {
            self.found.set(row, is_out);
        }
        let beyond = loss - self.line.most_loss;
        sorted.moved += u64::from(is_out != was_out);
        sorted.outliers += u64::from(is_out);
        sorted.cost += if is_out { cost } else { 0.0 };
        if is_out != (beyond > 0.0) {
            sorted.excess += cost * beyond.abs();
        }
        (is_out, is_out != was_out)
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
