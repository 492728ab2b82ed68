//! Rows that cannot have changed since they were looked at: what lets passes leave chunks of rows unread.
//!
//! At weights w0 a row x has the margin m0, and at other weights w one of at least m0 - |w - w0| |x| (Cauchy and Schwarz). Where
//! m0 is above 1 the row has no loss while |w - w0| stays below
//!
//!   slack = (m0 - 1) / |x|
//!
//! and an outlier of a truncated loss, whose loss begins to matter from the margin m1 on, stays one while it stays below
//! (m1 - m0) / |x|. A row without a dual variable adds nothing to v, to the dual and to the primal then but what is known of it: 1 to
//! the rows, and what an outlier costs. So a chunk all of whose rows have a = 0 and more slack than the weights have moved since it
//! was read is left out of a proof, and the proof is that of all rows none the less. How far weights have moved is the length of the
//! difference from a copy of theirs. A verifying pass looks at rows at the weights that it verifies, a full one at those that it begins with.

use std::sync::Arc;

use crate::base::memory::{OutOfMemory, Room};
use crate::base::zeros::zeros;
use crate::rows::filing::{FiledRows, LeftOut, FILES};
use crate::rows::row::Row;
use crate::simd::Real;
use crate::solver::certificate::proof::Proof;
use crate::solver::visit::outliers::Sorted;

/// Copies of weights that are kept: so many at most, of so many bytes together, and at least.
const MOST_COPIES: usize = 12;
const COPIES_BYTES: usize = 16 << 20;
const LEAST_COPIES: usize = 2;
/// Where weights move in a direction that has nothing to do with a row, its margin moves by |w - w0| |x| over the root of the number
/// of weights, as a deviation. A draft counts on no more than so many deviations.
const DEVIATIONS: f64 = 3.0;
/// What a full pass leaves out by mistake a later one visits: it counts on so many times less still.
const AT_EASE: f64 = 3.0;
/// Rows filed today are to be left out for some passes: while weights move so many times as far as they did in the last one.
const AHEAD: f64 = 2.0;
/// What rounding may take from a margin: as a part of it and of 1, and of |w| |x|; and from a slack.
const MARGIN_ROUNDING: f64 = 1e-5;
const PRODUCT_ROUNDING: f64 = 1e-6;
const SLACK_ROUNDING: f64 = 1e-4;

/// Slack in grades of half an octave, of which so many are below the length of the weights.
const CODES_BELOW_LENGTH: f64 = 28.0;

/// The file of a row with this slack, for weights of this length; 0 without any.
fn code_of(slack: f64, length: f64) -> u8 {
    let code = 2.0 * (slack / length).log2() + CODES_BELOW_LENGTH;
    match slack > 0.0 {
        true => code.clamp(1.0, (FILES - 1) as f64) as u8,
        false => 0,
    }
}

/// How a row stood when it was looked at.
#[derive(Clone, Copy)]
pub(in crate::solver) struct Look {
    pub(in crate::solver) margin: f64,
    /// What its loss counts beside C.
    pub(in crate::solver) cost: f64,
    pub(in crate::solver) is_out: bool,
    /// Whether it was on the other side, where it stays if rows are not sorted anew.
    pub(in crate::solver) turns: bool,
    pub(in crate::solver) has_dual: bool,
}

/// What is known of the rows of a chunk.
#[derive(Clone, Copy)]
struct Known {
    /// How far weights may move, and from which ones, by number.
    slack: f64,
    from: u32,
    rows: u32,
    outliers: u32,
    /// What those cost together.
    cost: f64,
}

const UNKNOWN: Known = Known {
    slack: 0.0,
    from: 0,
    rows: 0,
    outliers: 0,
    cost: 0.0,
};

impl Known {
    /// Rows that are no outliers: without a loss, and so on the right side, where the chunk may be left out.
    fn free(&self) -> u64 {
        (self.rows - self.outliers).into()
    }

    /// A row has been looked at, which has this slack.
    #[inline(always)]
    fn take(&mut self, look: Look, slack: f64) {
        self.slack = match look.turns {
            true => 0.0,
            false => self.slack.min(slack),
        };
        self.rows += 1;
        if look.is_out {
            self.outliers += 1;
            self.cost += look.cost;
        }
    }
}

/// |u - w|.
fn distance<T: Real>(u: &[T], w: &[T]) -> f64 {
    let squares = u.iter().zip(w);
    let squares = squares.map(|(u, w)| (u.to() - w.to()).powi(2));
    squares.sum::<f64>().sqrt()
}

struct Copied<T> {
    number: u32,
    weights: Vec<T>,
}

/// What a head knows of the chunks.
pub(in crate::solver) struct Skippable<T> {
    filed: Option<Arc<FiledRows>>,
    /// By ordinal: how much slack rows had when they were last looked at, see [`code_of`].
    codes: Vec<u8>,
    /// The least of rows that full passes would leave out, if nothing but their chunks had them read.
    pub(in crate::solver) least_code: u8,
    known: Vec<Known>,
    /// Of the chunks that rows come into while a pass of Newton's method files them.
    fresh: Vec<Known>,
    copies: Vec<Copied<T>>,
    most_copies: usize,
    /// The number of the present weights, and their length.
    now: u32,
    length: f64,
    intercept: f64,
    /// Margins from where a row has no loss, and up to where it is an outlier.
    pub(in crate::solver) kinks: [Option<f64>; 2],
    /// What the pass under way leaves out, and whether that may have changed: then it is a draft, and no proof.
    pub(in crate::solver) left_out: LeftOut,
    pub(in crate::solver) drafts: bool,
    /// How many times as far as their slack weights may move in a draft, and in a full pass.
    reach: f64,
    full_reach: f64,
}

impl<T: Real> Skippable<T> {
    pub(in crate::solver) fn new(rows: usize, weights: usize) -> Result<Self, OutOfMemory> {
        let bytes = weights * size_of::<T>();
        let reach = ((weights as f64).sqrt() / DEVIATIONS).max(1.0);
        Ok(Self {
            filed: None,
            codes: zeros(rows)?,
            least_code: u8::MAX,
            known: Vec::new(),
            fresh: Vec::new(),
            copies: Vec::new(),
            most_copies: (COPIES_BYTES / bytes).clamp(LEAST_COPIES, MOST_COPIES),
            now: 0,
            length: 0.0,
            intercept: 0.0,
            kinks: [None; 2],
            left_out: LeftOut::NONE,
            drafts: false,
            reach,
            full_reach: AT_EASE * reach,
        })
    }

    /// Rows lie in these chunks from now on, of which nothing is known yet.
    pub(in crate::solver) fn file(&mut self, filed: &Arc<FiledRows>) -> Result<(), OutOfMemory> {
        let units = filed.rows.len();
        self.known.clear();
        self.known.room(units)?.resize(units, UNKNOWN);
        self.filed = Some(filed.clone());
        self.left_out = LeftOut::NONE;
        Ok(())
    }

    /// How much slack a row had when it was last looked at.
    pub(in crate::solver) fn code(&self, ordinal: usize) -> u8 {
        self.codes[ordinal]
    }

    /// A proof begins at these weights, or of these dual variables alone: which chunks it may leave out.
    pub(in crate::solver) fn begin(
        &mut self,
        weights: Option<&[T]>,
        duals: &[f32],
        intercept: f64,
    ) -> Result<LeftOut, OutOfMemory> {
        let reach = if self.drafts { self.reach } else { 1.0 };
        self.begin_at(weights, reach, duals, intercept)
    }

    /// A full pass begins at these weights: which chunks are not likely to matter in it.
    pub(in crate::solver) fn begin_full(
        &mut self,
        weights: &[T],
        duals: &[f32],
        intercept: f64,
    ) -> Result<LeftOut, OutOfMemory> {
        let reach = self.full_reach;
        let ahead = AHEAD * self.moved(weights) / reach;
        self.least_code = code_of(ahead, self.length).saturating_add(1);
        self.begin_at(Some(weights), reach, duals, intercept)
    }

    /// How far weights are from those at which the last pass looked.
    fn moved(&self, weights: &[T]) -> f64 {
        let last = self.copies.iter().find(|copy| copy.number == self.now);
        last.map_or(f64::INFINITY, |copy| distance(&copy.weights, weights))
    }

    /// A pass begins: the chunks that it may leave out, whose weights may move so many times as far as their slack. None as long as
    /// rows are not filed.
    fn begin_at(
        &mut self,
        weights: Option<&[T]>,
        reach: f64,
        duals: &[f32],
        intercept: f64,
    ) -> Result<LeftOut, OutOfMemory> {
        let mut may = match self.filed {
            Some(_) => LeftOut::ALL,
            None => LeftOut::NONE,
        };
        self.intercept = intercept;
        if let Some(weights) = weights {
            self.read_moved(weights, reach, &mut may);
            self.copy(weights)?;
        }
        self.read_held(duals, &mut may);
        Ok(may)
    }

    /// What is known of the chunks is of other sides.
    pub(in crate::solver) fn forget(&mut self) {
        self.known.fill(UNKNOWN);
    }

    /// Full passes have left out what mattered: weights are not to move as far in those to come.
    pub(in crate::solver) fn doubt(&mut self) {
        self.full_reach = (self.full_reach / 4.0).max(1.0);
    }

    /// Whether rows that full passes leave out cannot have changed.
    pub(in crate::solver) fn is_strict(&self) -> bool {
        self.full_reach == 1.0
    }

    /// Rows that the pass leaves out, which have no loss and so are on the right side.
    pub(in crate::solver) fn free_left_out(&self) -> u64 {
        self.known_left_out().map(Known::free).sum()
    }

    /// What is known of the chunks that the pass leaves out.
    fn known_left_out(&self) -> impl Iterator<Item = &Known> {
        let known = self.known.iter().enumerate();
        known.filter_map(|(unit, known)| self.left_out.has(unit).then_some(known))
    }

    /// Has chunks read with a row that holds weights.
    fn read_held(&self, duals: &[f32], may: &mut LeftOut) {
        let of_row = self.filed.iter().flat_map(|filed| &filed.of_row);
        for (unit, dual) in of_row.zip(duals) {
            if *dual != 0.0 {
                may.read((*unit).into());
            }
        }
    }

    /// Has chunks read whose rows may have changed at these weights.
    fn read_moved(&self, weights: &[T], reach: f64, may: &mut LeftOut) {
        let moved = |copy: &Copied<T>| (copy.number, distance(&copy.weights, weights));
        let moved: Vec<_> = self.copies.iter().map(moved).collect();
        for (unit, known) in self.known.iter().enumerate() {
            let moved = moved.iter().find(|(number, _)| *number == known.from);
            if !moved.is_some_and(|(_, moved)| *moved < reach * known.slack) {
                may.read(unit);
            }
        }
    }

    /// Keeps a copy of the present weights, in the place of those that the fewest chunks were read at where there are many.
    fn copy(&mut self, weights: &[T]) -> Result<(), OutOfMemory> {
        self.now += 1;
        let squares = weights.iter().map(|weight| weight.to().powi(2));
        self.length = squares.sum::<f64>().sqrt();
        if self.copies.len() < self.most_copies {
            self.copies.room(1)?.push(Copied {
                number: self.now,
                weights: zeros(weights.len())?,
            });
        } else {
            let read_at = |copy: &Copied<T>| {
                let known = self.known.iter();
                let of_copy = known.filter(|it| it.from == copy.number && it.slack > 0.0);
                of_copy.count()
            };
            self.copies.sort_by_cached_key(read_at);
            self.copies.rotate_left(1);
        }
        if let Some(copy) = self.copies.last_mut() {
            copy.number = self.now;
            copy.weights.copy_from_slice(weights);
        }
        Ok(())
    }

    /// The pass leaves these out; what was known of the others is forgotten where their margins are taken anew.
    pub(in crate::solver) fn leave_out(&mut self, left_out: &LeftOut, primal: bool) {
        self.left_out.clone_from(left_out);
        for (unit, known) in self.known.iter_mut().enumerate() {
            if primal && !left_out.has(unit) {
                *known = Known {
                    slack: f64::INFINITY,
                    from: self.now,
                    ..UNKNOWN
                };
            }
        }
    }

    /// A row of this head has been looked at.
    #[inline(always)]
    pub(in crate::solver) fn take(&mut self, row: &Row<'_>, look: Option<Look>) {
        let Some(look) = look else {
            return;
        };
        let slack = self.slack_of(row, look);
        self.codes[row.ordinal()] = code_of(slack, self.length);
        if let Some(filed) = &self.filed {
            self.known[usize::from(filed.of_row[row.ordinal()])].take(look, slack);
        }
    }

    /// A row takes no part: it never matters.
    #[inline(always)]
    pub(in crate::solver) fn take_none(&mut self, row: &Row<'_>) {
        self.codes[row.ordinal()] = (FILES - 1) as u8;
    }

    /// How far weights may move while a row that stands like this does not change.
    #[inline(always)]
    fn slack_of(&self, row: &Row<'_>, look: Look) -> f64 {
        let length = (f64::from(row.q()) + self.intercept).sqrt();
        let far = match (look, self.kinks) {
            (Look { has_dual: true, .. }, _) => 0.0,
            (Look { is_out: true, .. }, [_, Some(out)]) => out - look.margin,
            (_, [Some(free), _]) => look.margin - free,
            _ => 0.0,
        };
        let rounding = MARGIN_ROUNDING * (1.0 + look.margin.abs());
        let rounding = rounding + PRODUCT_ROUNDING * self.length * length;
        // a row of zeros never moves
        let slack = (far - rounding) / length.max(f64::MIN_POSITIVE);
        (1.0 - SLACK_ROUNDING) * slack
    }

    /// Adds to a proof what the chunks have that were left out.
    pub(in crate::solver) fn add_left_out(&self, proof: &mut Proof) {
        let (counts, sorted) = self.unread();
        proof.add_unseen(counts, sorted);
    }

    /// What the chunks have that the pass leaves out: rows, those on the right side, and outliers.
    pub(in crate::solver) fn unread(&self) -> ((u64, u64), Sorted) {
        let (mut rows, mut free, mut sorted) = (0, 0, Sorted::default());
        for known in self.known_left_out() {
            (rows, free) = (rows + u64::from(known.rows), free + known.free());
            sorted.outliers += u64::from(known.outliers);
            sorted.cost += known.cost;
        }
        ((rows, free), sorted)
    }

    /// A pass of Newton's method begins, which takes margins at the weights `taken` and looks at rows without dual variables at others too:
    /// which chunks it may leave out.
    pub(in crate::solver) fn begin_newton(
        &mut self,
        (taken, others): (Option<&[T]>, [Option<&[T]>; 2]),
        duals: &[f32],
        intercept: f64,
    ) -> Result<LeftOut, OutOfMemory> {
        self.least_code = 1;
        if let Some(weights) = taken {
            self.least_code = code_of(self.moved(weights), self.length).saturating_add(1);
        }
        let mut may = self.begin_at(taken, 1.0, duals, intercept)?;
        for weights in others.into_iter().flatten() {
            self.read_moved(weights, 1.0, &mut may);
        }
        Ok(may)
    }

    /// A row that stands like this is filed in this chunk, in a pass of Newton's method.
    #[inline(always)]
    pub(in crate::solver) fn take_filed(
        &mut self,
        row: &Row<'_>,
        look: Option<Look>,
        unit: u16,
    ) -> Result<(), OutOfMemory> {
        let unit = usize::from(unit);
        if let Some(more) = (unit + 1).checked_sub(self.fresh.len()) {
            let none = Known {
                slack: f64::INFINITY,
                from: self.now,
                ..UNKNOWN
            };
            self.fresh.room(more)?.resize(unit + 1, none);
        }
        if let Some(look) = look {
            let slack = self.slack_of(row, look);
            self.fresh[unit].take(look, slack);
        }
        Ok(())
    }

    /// As [`Self::file`], and what has been seen of the rows in the pass that filed them is known.
    pub(in crate::solver) fn file_seen(
        &mut self,
        filed: &Arc<FiledRows>,
    ) -> Result<(), OutOfMemory> {
        self.file(filed)?;
        for (known, fresh) in self.known.iter_mut().zip(self.fresh.drain(..)) {
            *known = fresh;
        }
        Ok(())
    }
}
