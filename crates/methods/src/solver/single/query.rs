//! What a head asks a metric forest for (Yen, Chang, Lin, Lin and Lin, KDD 2013, Algorithm 1): rows that are not among those it trains on,
//! are no outliers, and have a margin below 1 (query 10).
//!
//! A query reads chunks until it may be expected to have found n rows, n_e of them. Rows are *shrunk*, so that no chunk is read
//! for their sake, where they were last seen (section 4.3)
//!
//! - (i) with a margin above 1 + T,
//! - (ii) as outliers,
//! - (iii) with a dual variable: from then on they are in S, the rows trained on, which queries only add to.
//!
//! Queries end where they find fewer than n_eps rows, or a smaller part of those read than n_eps is of all. A verifying pass
//! looks at rows again, shrunk or not, and S is what has dual variables then.

use std::sync::Arc;

use crate::base::memory::{OutOfMemory, Room};
use crate::base::zeros::zeros;
use crate::objective::loss::NO_LOSS_FROM;
use crate::objective::solver_choice::ForestShape;
use crate::rows::filing::FiledRows;
use crate::solver::single::skippable::Look;

/// n of all rows, and n_eps of n, where nobody says another.
const QUERY_SHARE: usize = 100;
const LEAST_QUERY: usize = 1000;
const END_SHARE: u32 = 100;
/// A query reads no more than so many times the rows that it is to find, however few the one before found.
const LEAST_PRECISION: f64 = 0.01;

/// How a row was last seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// It may matter.
    Open = 0,
    /// It is beyond the margin, or an outlier.
    Shrunk = 1,
    /// In S: it has a dual variable, or has had one.
    Held = 2,
}

pub struct Query {
    n: f64,
    n_eps: f64,
    shrink_above: f64,
    rows: usize,
    /// By ordinal, how it was last seen.
    seen: Vec<u8>,
    filed: Option<Arc<FiledRows>>,
    /// By chunk, rows that are open.
    open: Vec<u32>,
    /// Rows found in the pass under way, and rows that it has gone through.
    found: u64,
    traversed: u64,
    /// |N| / n_e of the last query.
    precision: f64,
    /// Whether another query is to follow; none does behind one that found too little, until a verifying pass has looked at all rows.
    goes_on: bool,
}

impl Query {
    pub(in crate::solver) fn new(shape: &ForestShape, rows: usize) -> Result<Self, OutOfMemory> {
        let usual = (rows / QUERY_SHARE).max(LEAST_QUERY) as u32;
        let n = shape.query_size.unwrap_or(usual).max(1);
        let n_eps = shape.query_end.unwrap_or(n / END_SHARE).max(1);
        Ok(Self {
            n: f64::from(n),
            n_eps: f64::from(n_eps),
            shrink_above: shape.shrink_above,
            rows,
            seen: zeros(rows)?,
            filed: None,
            open: Vec::new(),
            found: 0,
            traversed: 0,
            precision: 1.0,
            goes_on: true,
        })
    }

    /// Rows lie in these chunks from now on.
    pub(in crate::solver) fn file(&mut self, filed: &Arc<FiledRows>) -> Result<(), OutOfMemory> {
        self.open.clear();
        self.open
            .room(filed.rows.len())?
            .resize(filed.rows.len(), 0);
        for (unit, seen) in filed.of_row.iter().zip(&self.seen) {
            self.open[usize::from(*unit)] += u32::from(*seen == Seen::Open as u8);
        }
        self.filed = Some(filed.clone());
        Ok(())
    }

    /// Of a chunk, the rows for whose sake it would be read.
    pub fn open(&self, unit: u16) -> u32 {
        self.open.get(usize::from(unit)).copied().unwrap_or(0)
    }

    /// n_e: how many rows the next query reads; None where there is none.
    pub fn to_read(&self) -> Option<f64> {
        self.goes_on.then_some(self.n / self.precision)
    }

    /// Rows have been looked at that were shrunk.
    pub(in crate::solver) fn begin_anew(&mut self) {
        self.goes_on = true;
    }

    /// A pass begins.
    pub(in crate::solver) fn begin(&mut self) {
        (self.found, self.traversed) = (0, 0);
    }

    /// Whether a row is in S.
    pub fn holds(&self, ordinal: usize) -> bool {
        self.seen[ordinal] == Seen::Held as u8
    }

    /// A row of this head has been looked at, in a verifying pass or in a query.
    #[inline(always)]
    pub(in crate::solver) fn take(&mut self, ordinal: usize, look: &Look, verifies: bool) {
        let before = self.seen[ordinal];
        let matters = look.margin < NO_LOSS_FROM && !look.is_out;
        self.traversed += 1;
        self.found += u64::from(matters && before != Seen::Held as u8);
        let stays = before == Seen::Held as u8 && !verifies;
        let seen = if look.has_dual || stays {
            Seen::Held
        } else if look.is_out || look.margin > NO_LOSS_FROM + self.shrink_above {
            Seen::Shrunk
        } else {
            Seen::Open
        };
        self.seen[ordinal] = seen as u8;
        if let (Some(filed), true) = (&self.filed, before != seen as u8) {
            let open = &mut self.open[usize::from(filed.of_row[ordinal])];
            *open += u32::from(seen == Seen::Open);
            *open -= u32::from(before == Seen::Open as u8);
        }
    }

    /// The pass that ends was a query, if there was one to make: whether another one is to follow, as long as which there is nothing to
    /// prove.
    pub(in crate::solver) fn end(&mut self) -> bool {
        let (found, traversed) = (self.found as f64, self.traversed as f64);
        if self.goes_on {
            self.precision = (found / traversed.max(1.0)).max(LEAST_PRECISION);
            self.goes_on =
                found >= self.n_eps && found * self.rows as f64 >= self.n_eps * traversed;
        }
        self.goes_on
    }
}
