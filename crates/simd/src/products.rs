//! Products of dense rows with weights, and the steps that are taken on the way.

/// A step u += scale x over dense values.
#[derive(Clone, Copy)]
pub struct DenseStep<'a> {
    pub scale: f64,
    pub x: &'a [f32],
}

/// Up to two steps that have yet to be taken, each over as many values as the dense part of a row has. The next products
/// with the same weights take them on their way: weights then go through the registers once for each visit and not
/// twice.
#[derive(Clone, Copy)]
pub struct Deferred<'a> {
    steps: [DenseStep<'a>; 2],
    count: usize,
}

impl<'a> Deferred<'a> {
    pub const NONE: Deferred<'static> = Deferred {
        steps: [DenseStep { scale: 0.0, x: &[] }; 2],
        count: 0,
    };

    /// One step more, unless it is over nothing; panics where there are two.
    #[inline(always)]
    pub fn push(&mut self, step: DenseStep<'a>) {
        if !step.x.is_empty() {
            self.steps[self.count] = step;
            self.count += 1;
        }
    }

    /// They have been taken.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.count = 0;
    }

    #[inline(always)]
    pub(super) fn all(&self) -> &[DenseStep<'a>] {
        &self.steps[..self.count.min(2)]
    }
}

/// What the products of dense rows are taken with, besides the weights u.
#[derive(Clone, Copy)]
pub enum Beside<'a, T> {
    Nothing,
    /// Other weights w.
    Weights(&'a [T]),
    /// A factor for each column, d.
    Damping(&'a [T]),
}

/// What is made of one dense row x, or of two, x and z.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Products<const ROWS: usize> {
    /// Of each row sum x u and, with w beside, sum x w; with d beside sum d x u and sum d x^2.
    pub each: [[f64; 2]; ROWS],
    /// Of two rows sum x z; with d beside sum d x z.
    pub cross: f64,
}

impl<const ROWS: usize> Products<ROWS> {
    pub const ZERO: Self = Self {
        each: [[0.0; 2]; ROWS],
        cross: 0.0,
    };
}
