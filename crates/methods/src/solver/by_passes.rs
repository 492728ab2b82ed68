//! Methods whose weights do not change during a pass, so that sums do not depend on the order of the rows.
//!
//! A method says what the next pass is to sum up, and takes the sums ([`FixedWeights`]). The code that has the rows goes over them, and
//! need not know which method it serves:
//!
//! ```text
//! loop {
//!     match method.due() {
//!         Due::Solving => method.compute(heads),
//!         Due::Pass => { pass = method.pass(); sums = each row of method.over(); method.take(heads, sums) }
//!         Due::Ended => break,
//!     }
//! }
//! ```
//!
//! | rows | who goes over them |
//! |---|---|
//! | in the cache, or arriving in its ring | `training/schedule`, with a [`pass::PassHere`] |
//! | in chunks that a pass may leave out | the same, with what [`unread`] knows |
//! | scanned by others, or all in the sample | `training/by_scans`, with a `ScanPass` |

pub mod bundles;
pub mod interiors;
mod members;
pub mod newton;
pub mod pass;
pub mod unread;

use crate::base::memory::OutOfMemory;
use crate::rows::facts::Facts;
use crate::simd::Real;
pub use crate::solver::bundle::head::Due;
use crate::solver::by_passes::newton::{ByNewton, Reading};
pub use crate::solver::fixed_weights::BLOCK;
use crate::solver::head_sums::{HeadFound, HeadScan};
use crate::solver::Solver;

/// Rows that a pass reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    All,
    /// One block of rows in so many, or those that are in memory where others have the rest.
    Sample(usize),
}

/// What is due of heads that pass together: a pass once all are computed.
fn due_of(heads: impl Iterator<Item = Due>) -> Due {
    heads.fold(Due::Ended, |due, head| match (due, head) {
        (Due::Solving, _) | (_, Due::Solving) => Due::Solving,
        (Due::Pass, _) | (_, Due::Pass) => Due::Pass,
        (Due::Ended, Due::Ended) => Due::Ended,
    })
}

/// A head's part of a pass that has ended.
pub struct Summed {
    pub pass: HeadScan,
    pub sums: HeadFound,
    /// Rows among those summed up that were known without a look.
    pub unread: u64,
}

impl Summed {
    /// Of rows that have all been seen.
    pub fn of(pass: HeadScan, sums: HeadFound) -> Self {
        Self {
            pass,
            sums,
            unread: 0,
        }
    }
}

/// A method for heads that H holds.
pub trait FixedWeights<H>: Send {
    /// What is due.
    fn due(&self) -> Due;

    /// Goes on with what is to be computed before the next pass; the values that it took. `sample`: rows in memory.
    fn compute(&mut self, heads: &mut H, sample: &[u32]) -> Result<usize, OutOfMemory>;

    /// The rows of the pass that comes.
    fn over(&self) -> Over {
        Over::All
    }

    /// What the pass that comes is to sum up, by head that takes part, in the order of the heads.
    fn pass(&self, sample: &[u32]) -> Result<Vec<(usize, HeadScan)>, OutOfMemory>;

    /// Sums over no rows as yet, for a head's part of the pass.
    fn begin(&mut self, _head: usize, pass: &HeadScan) -> Result<HeadFound, OutOfMemory> {
        pass.begin()
    }

    /// What visiting a row costs at most, in values, where it has so many.
    fn row_values(&self, values: usize) -> usize {
        values
    }

    /// Takes what the pass has summed up, for the same heads. Whether one of them knows its primal by it.
    fn take(&mut self, heads: &mut H, found: Vec<Summed>) -> Result<bool, OutOfMemory>;

    /// Has heads begin at these weights, all of them; to be called before anything else.
    fn begin_at(&mut self, heads: &H, starts: Vec<Vec<f64>>) -> Result<(), OutOfMemory>;

    /// The weights of each head so far, the intercept's last: what it may begin at. None of those that begin from nothing.
    fn weights_so_far(&self, _: &H) -> Result<Vec<Vec<f64>>, OutOfMemory> {
        Ok(Vec::new())
    }

    /// Whether coordinate descent on rows that stream is expected to be faster.
    fn gives_way(&self) -> bool {
        false
    }

    /// Rows that are held, over all heads.
    fn held(&self) -> u64 {
        0
    }

    /// Outputs of a row that may be kept from pass to pass, over all heads, where that helps.
    fn outputs(&self) -> Option<usize> {
        None
    }

    /// Whether it is Newton's.
    fn is_newton(&self) -> bool {
        false
    }
}

/// What solves the heads of this solver by passes over rows that are read so; None where coordinate descent does.
pub fn method_of<T: Real>(
    solver: &Solver<T>,
    facts: &Facts,
    reading: Reading,
) -> Result<Option<Box<dyn FixedWeights<Solver<T>>>>, OutOfMemory> {
    Ok(match solver.by_newton() {
        true => Some(Box::new(ByNewton::new(solver, facts, reading)?)),
        false => None,
    })
}
