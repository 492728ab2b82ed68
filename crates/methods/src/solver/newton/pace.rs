//! When a pass gathers the Hessian, and from how many rows.
//!
//! Progress is measured by the decrease of P that a step promises, -1/2 <s, g>, from one step to the next. That does not depend on how
//! columns are scaled.
//!
//! An old factor serves as long as progress is fast enough, compared with what a new factor costs; costs are counted in stored values that
//! passes go through. With many more rows than features, the Hessian of a part of the rows is enough, its diagonal corrected by that of all
//! rows: the gap falls by some factor a pass, and passes are cheap beside products. If it falls too slowly, or a step leads to a larger
//! primal, every pass from then on sums up the Hessian of all rows.

use crate::linalg::gram::Gram;
use crate::rows::facts::Facts;

/// Multiplications of a matrix product that take as long as a stored value in a pass.
pub const PRODUCTS_PER_VALUE: usize = 6;
/// The same where products of a row are added one by one.
const SCATTERED_PER_VALUE: f64 = 1.0;
/// Rows gathered at least, for each feature.
const ROWS_PER_FEATURE: usize = 20;
/// Rows of the first sample at least, by themselves and for each feature: fewer say too little. How much larger the next one
/// is, and all rows than the last one at least.
const LEAST_ROWS: usize = 4000;
const SAMPLED_PER_FEATURE: usize = 20;
const LARGER: usize = 8;
/// By what it is expected to fall in a pass behind a Hessian of all rows, and of a part of them.
const EXACT_RATE: f64 = 0.05;
const PART_RATE: f64 = 0.2;
/// A rate behind which more rows are gathered, and how many times as many.
const SLOW: f64 = 0.35;
const GROWTH: u32 = 4;
/// Features of a matrix at most: it takes four bytes for each pair of them.
pub const MOST_FEATURES: usize = 2048;
/// Products are always gathered where they cost less than this share of a pass.
const CHEAP: f64 = 0.4;

/// What passes cost, in stored values.
#[derive(Debug, Clone, Copy)]
pub struct Costs {
    /// Rows of a pass, and the stored values of all.
    pub rows: f64,
    pub pass: f64,
    /// Products of one row.
    pub row: f64,
    /// A factorization.
    pub factor: f64,
    /// Whether steps are found by products with the Hessian, which then is no matrix.
    pub by_products: bool,
    /// Whether rows arrive for each pass anew, those for products too.
    pub streams: bool,
    /// Whether a pass costs far more than what it sums up: it gathers the Hessian of all rows.
    pub scans: bool,
    /// How far the offsets of a row's two sides are apart, where rows are numbers to predict and both sides are visited at once.
    pub sides: Option<f64>,
    /// Values of one row, and features, each with the constant.
    pub(super) values: f64,
    pub(super) length: usize,
}

impl Costs {
    pub fn new(facts: &Facts) -> Self {
        let length = facts.features + 1;
        let values = facts.dense + facts.mean_row_words.saturating_sub(facts.dense + 5) / 2 + 1;
        let n = length as f64;
        let row = match Gram::scatters(values, length) {
            true => 0.5 * (values * values) as f64 / SCATTERED_PER_VALUE,
            false => 0.5 * n * n / PRODUCTS_PER_VALUE as f64,
        };
        Self {
            rows: facts.rows as f64,
            pass: (facts.rows * facts.mean_row_words.max(1)) as f64,
            row,
            factor: n * n * n / 6.0 / PRODUCTS_PER_VALUE as f64,
            streams: false,
            scans: false,
            by_products: length > MOST_FEATURES + 1,
            sides: None,
            values: values as f64,
            length,
        }
    }

    /// Of passes over so many of the rows, which are at hand.
    pub fn of_part(self, rows: usize) -> Self {
        let part = rows as f64 / self.rows.max(1.0);
        Self {
            rows: rows as f64,
            pass: part * self.pass,
            streams: false,
            ..self
        }
    }

    /// Samples to begin with, as the numbers that rows of all are to one of theirs: each eight times the one before.
    pub fn samples(&self) -> impl Iterator<Item = usize> {
        let wanted = LEAST_ROWS.max(SAMPLED_PER_FEATURE * self.length);
        let first = self.rows as usize / wanted;
        std::iter::successors(Some(first), |stride| Some(stride / LARGER))
            .take_while(|stride| *stride >= LARGER)
    }

    /// One row in so many is gathered at first: as many as cost about one pass, if half of them are within the margin, but
    /// enough to say something.
    pub fn first_share(&self) -> u32 {
        let affordable = 0.5 * self.rows * self.row / self.pass.max(1.0);
        let least = 0.5 * self.rows / (ROWS_PER_FEATURE * self.length) as f64;
        affordable.ceil().min(least).max(1.0) as u32
    }
}

/// Whether the rows of this block are in the Hessian, where one block in so many is.
#[inline(always)]
pub(super) fn picks(block: u32, share: u32) -> bool {
    share == 1 || (block.wrapping_mul(0x9e37_79b1) >> 8).is_multiple_of(share)
}

/// How fast what is left falls, and what that is owed to.
pub(super) struct Pace {
    costs: Costs,
    /// One block of rows in so many is gathered.
    pub(super) share: u32,
    gain: f64,
    rate: f64,
    /// Whether the next step is the first of its factor, and whether the last one was.
    fresh: bool,
    first: bool,
    /// Whether every pass gathers the Hessian of all rows: those of a part, or of before, led astray.
    careful: bool,
}

impl Pace {
    pub(super) fn new(costs: Costs) -> Self {
        Self {
            costs,
            share: 1,
            gain: f64::INFINITY,
            rate: EXACT_RATE,
            fresh: false,
            first: false,
            careful: false,
        }
    }

    /// Begins passes over all rows. Where P `is_quadratic` one Hessian, of all rows, leads to where it is lowest.
    pub(super) fn begin(&mut self, is_quadratic: bool) {
        self.share = match self.costs.scans || is_quadratic {
            true => 1,
            false => self.costs.first_share(),
        };
        self.gain = f64::INFINITY;
        self.careful = self.costs.scans;
    }

    /// See [`Costs::sides`].
    pub(super) fn between(&self) -> Option<f64> {
        self.costs.sides
    }

    /// All rows.
    pub(super) fn rows(&self) -> f64 {
        self.costs.rows
    }

    /// Stored values of all rows.
    pub(super) fn words(&self) -> f64 {
        self.costs.pass
    }

    /// A step is to lower P by so much.
    pub(super) fn note(&mut self, gain: f64) {
        if self.gain.is_finite() && !self.fresh {
            self.rate = gain / self.gain;
            if self.first && self.rate > SLOW {
                self.share = (self.share / GROWTH).max(1);
            }
        }
        self.first = self.fresh;
        self.fresh = false;
        self.gain = gain;
    }

    /// There is a new factor.
    pub(super) fn renew(&mut self) {
        self.fresh = true;
        self.rate = self.expected();
    }

    /// The Hessian of all rows is needed from now on.
    pub(super) fn be_careful(&mut self) {
        self.gain = f64::INFINITY;
        self.share = 1;
        self.careful = true;
    }

    fn expected(&self) -> f64 {
        match self.share {
            1 => EXACT_RATE,
            _ => PART_RATE,
        }
    }

    /// Whether the next pass is to gather the Hessian, where so much of P is left; `within`: rows within the margin.
    pub(super) fn gathers(&self, tolerance: f64, left: f64, within: u64) -> bool {
        let Costs {
            pass, row, factor, ..
        } = self.costs;
        let after = left * self.rate;
        if after <= tolerance {
            return false;
        }
        let products = within as f64 * row / f64::from(self.share) + factor;
        if self.careful || products <= CHEAP * pass {
            return true;
        }
        let passes = |from: f64, rate: f64| {
            let steps = (tolerance / from).ln() / rate.clamp(1e-4, 0.95).ln();
            steps.ceil().max(1.0)
        };
        let stays = passes(left, self.rate) * pass;
        let renewed = (1.0 + passes(after, self.expected())) * pass + products;
        renewed < stays
    }
}
