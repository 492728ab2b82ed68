//! The visit of a row by a head: the innermost loop of every training.
//!
//! With y the sign, a the dual variable and `upper` its bound, w = damp u (see [`crate::solver::proximal::iterate`]):
//!
//! g = y (<w, x> + o) - 1 + diag a,   a' = clip(a - g / (curvature + diag)),   u += (a' - a) y x
//!
//! Hinge: diag = 0, upper = C c. Squared hinge: diag = 1 / (2 C c), no upper bound (Hsieh et al., ICML 2008).
//!
//! Two dense rows x and x2 in a row are gone through together, since <w, x2> after the step is
//! <w, x2> + (a' - a) y sum damp x x2 ([`Visitor::visit_two`]).
//!
//! A row with a target is visited on its two sides together, whose features are the same ([`Visitor::visit_sides`]).
//!
//! A [`Visitor`] holds what visits need apart from the row: slices borrowed from the head, and its numbers copied out,
//! so that they stay in registers for a run of rows. What the visits summed goes back by [`Sums`].

use crate::base::prefetch::prefetch_weights;
use crate::objective::loss::{LossFunction, NO_LOSS_FROM};
use crate::rows::facts::Facts;
use crate::rows::row::{entries, entries_within, Row};
use crate::simd::{Beside, Deferred, DenseStep, Isa, Next, Products, Real};
use crate::solver::proximal::form::Damping;
use crate::solver::proximal::form::WeightMap;
use crate::solver::proximal::whole::{WholeStep, MOST_WEIGHTS};
use crate::solver::sums::intercept::Breakpoints;
use crate::solver::sums::tally::Sums;
use crate::solver::sums::terms::{ShrinkLimits, Terms};
use crate::solver::visit::outliers::Outliers;
use crate::solver::visit::per_row::{Dual, Shrunk};

/// In a metric |x|^2 costs as much as a visit: it is taken of one row in so many.
pub(in crate::solver) const NORM_SAMPLE: usize = 8;

/// Weights of so many bytes at most are left to the processor: as long as its second cache holds them, asking costs more
/// than it brings.
const NEAR_BYTES: usize = 3 << 19;

/// How a row stood when it was visited.
#[derive(Clone, Copy)]
pub struct Outcome {
    /// Gradient before the step.
    gradient: f64,
    alpha: f32,
    upper: f32,
    /// Whether active passes may leave the row out from now on.
    pub(in crate::solver) shrinks: bool,
}

impl Outcome {
    /// Not a row of this head.
    pub(in crate::solver) const NONE: Outcome = Outcome {
        gradient: f64::INFINITY,
        alpha: 0.0,
        upper: 0.0,
        shrinks: true,
    };

    /// Between its bounds, or at one with a gradient that holds it there by at most `margin`.
    #[inline(always)]
    pub fn matters(&self, margin: f64) -> bool {
        if self.alpha <= 0.0 {
            self.gradient <= margin
        } else if self.alpha >= self.upper {
            self.gradient >= -margin
        } else {
            true
        }
    }
}

/// The weights as visits see them; the last entry of each slice is the intercept's.
pub(in crate::solver) struct VisitWeights<'a, T> {
    u: &'a mut [T],
    pub(in crate::solver) form: WeightMap<'a, T>,
}

/// Where a row stands when it is visited.
#[derive(Clone, Copy, Default)]
struct RowProducts {
    /// <w, x>, and the offset.
    score: f64,
    /// The second derivative of the shifted dual along this row, without the loss's part.
    curvature: f64,
    /// <start, x>, and the offset.
    at_start: f64,
}

/// Where rows have targets, how far the offsets y (1 + epsilon) - t of a row's two sides are apart.
pub(in crate::solver) fn between_sides(facts: &Facts) -> Option<f64> {
    facts.epsilon.map(|epsilon| 2.0 * (NO_LOSS_FROM + epsilon))
}

/// What a row is beside its features: what its two sides differ by.
#[derive(Clone, Copy)]
struct Side {
    ordinal: usize,
    y: f64,
    offset: f64,
}

impl Side {
    #[inline(always)]
    fn of(row: &Row<'_>, y: f64) -> Self {
        Self {
            ordinal: row.ordinal(),
            y,
            offset: row.offset(),
        }
    }

    /// The other one of a row, whose offset is so far from its own.
    #[inline(always)]
    fn other(self, between: f64) -> Self {
        Self {
            ordinal: self.ordinal + 1,
            y: -self.y,
            offset: self.offset - self.y * between,
        }
    }
}

/// What a head lends to visitors, of which there may be several at a time, each with rows of its own.
#[derive(Clone, Copy)]
pub(in crate::solver) struct HeadView<'a, T> {
    /// By class id.
    pub(in crate::solver) signs: &'a [i8],
    pub(in crate::solver) terms: Terms,
    pub(in crate::solver) limits: ShrinkLimits,
    /// By ordinal.
    pub(in crate::solver) alpha: &'a [Dual],
    pub(in crate::solver) shrunk: &'a Shrunk,
    /// Rows that visits leave out, where the loss is truncated.
    pub(in crate::solver) outliers: Option<&'a Outliers>,
    /// Where proofs say which rows are positive, if the intercept is free.
    pub(in crate::solver) positive: Option<&'a Shrunk>,
    /// Weights at the start of the full pass; None where they are all 0.
    pub(in crate::solver) start: Option<&'a [T]>,
    pub(in crate::solver) form: WeightMap<'a, T>,
    /// See [`between_sides`]; the rows of ordinals 2 i and 2 i + 1 are the two sides of one.
    pub(in crate::solver) between_sides: Option<f64>,
}

/// What was head, with weights and sums to change.
pub(in crate::solver) struct Visitor<'a, T, L> {
    loss: L,
    pub(in crate::solver) head: HeadView<'a, T>,
    pub(in crate::solver) view: VisitWeights<'a, T>,
    /// How much farther than by the step taken u moves, and how much more the dual is taken to bend: 1, or more where
    /// others train at the same time (see [`crate::solver::divided`]).
    pub(in crate::solver) sigma: f64,
    pub(in crate::solver) sums: Sums,
    /// Where full passes find a better intercept for the weights of their start.
    pub(in crate::solver) breakpoints: Option<&'a mut Breakpoints>,
}

impl<'a, T: Copy> HeadView<'a, T> {
    pub(in crate::solver) fn visitor<L>(
        self,
        loss: L,
        u: &'a mut [T],
        sigma: f64,
        sums: Sums,
        breakpoints: Option<&'a mut Breakpoints>,
    ) -> Visitor<'a, T, L> {
        let form = self.form;
        Visitor {
            loss,
            head: self,
            view: VisitWeights { u, form },
            sigma,
            sums,
            breakpoints,
        }
    }
}

impl<T: Real> HeadView<'_, T> {
    /// Asks for the weights that a visit of a row with these sparse entries needs, where they are scattered.
    #[inline(always)]
    pub(in crate::solver) fn ask<const FULL: bool>(&self, entries: &[[u32; 2]], u: &[T]) {
        if !scattered(u) {
            return;
        }
        prefetch_weights(entries, u, |feature| feature);
        if let (true, Some(start)) = (FULL, self.start) {
            prefetch_weights(entries, start, |feature| feature);
        }
    }
}

impl<T: Real, L: LossFunction> Visitor<'_, T, L> {
    #[inline(always)]
    pub(in crate::solver) fn sign(&self, row: &Row<'_>) -> f64 {
        f64::from(self.head.signs[row.group()])
    }

    /// Whether a row is an outlier, to be looked at by itself.
    #[inline(always)]
    fn is_out(&self, row: &Row<'_>) -> bool {
        match self.head.outliers {
            Some(outliers) => outliers.has(row.ordinal()),
            None => false,
        }
    }

    /// The sign of a row that is visited: 0 for outliers that visits leave out.
    #[inline(always)]
    fn sign_visited(&self, row: &Row<'_>) -> f64 {
        match self.head.outliers {
            Some(outliers) if !outliers.open && outliers.has(row.ordinal()) => 0.0,
            _ => self.sign(row),
        }
    }

    /// The sign of a row in the problem that is solved: 0 for outliers.
    #[inline(always)]
    fn sign_inside(&self, row: &Row<'_>) -> f64 {
        match self.is_out(row) {
            true => 0.0,
            false => self.sign(row),
        }
    }

    /// An outlier at this score: what becomes of it where it stays one; None where it is none any more.
    #[inline(always)]
    fn stays_out(&mut self, row: &Row<'_>, y: f64, score: f64) -> Option<Outcome> {
        let outliers = self.head.outliers.filter(|it| it.open)?;
        let is_out = outliers.put(row.ordinal(), self.loss.value(y * score));
        // one that may come back is looked at in every pass
        is_out.then_some(Outcome {
            shrinks: false,
            ..Outcome::NONE
        })
    }

    /// Visits a row; in a full pass the loss at the weights of its start is summed too. Takes the deferred steps, and leaves
    /// its own for the next visit: the last visit takes that ([`Self::catch_up`]). Asks for `next` meanwhile,
    /// and for its weights where they are scattered.
    #[inline(always)]
    pub(in crate::solver) fn visit<'r, K: Isa, const FULL: bool>(
        &mut self,
        row: &Row<'r>,
        next: Next<'_>,
        deferred: &mut Deferred<'r>,
    ) -> Outcome {
        match self.view.form.whole {
            Some(whole) => self.visit_in_whole::<K, FULL>(row, whole, deferred),
            None => self.visit_by_columns::<K, FULL>(row, next, deferred),
        }
    }

    /// Visits a row where the metric is not whole.
    #[inline(always)]
    pub(in crate::solver) fn visit_by_columns<'r, K: Isa, const FULL: bool>(
        &mut self,
        row: &Row<'r>,
        next: Next<'_>,
        deferred: &mut Deferred<'r>,
    ) -> Outcome {
        let y = self.sign_visited(row);
        if y == 0.0 || self.view.form.dense == 0 {
            // no product over dense values does
            next.ask_from(0);
        }
        let coming = entries_within(next.near, self.view.form.dense);
        self.head.ask::<FULL>(coming, self.view.u);
        if y == 0.0 {
            return Outcome::NONE;
        }
        let start = self.head.start.filter(|_| FULL);
        let ([place], _) = self.view.places::<K, 1>([row], start, [next], deferred);
        if self.is_out(row) {
            if let Some(outcome) = self.stays_out(row, y, place.score) {
                return outcome;
            }
        }
        self.learn::<K, FULL>(row, Side::of(row, y), place, deferred)
            .0
    }

    /// Visits a row where the metric is whole: the curvature is taken only where the dual variable moves.
    #[inline(always)]
    pub(in crate::solver) fn visit_in_whole<'r, K: Isa, const FULL: bool>(
        &mut self,
        row: &Row<'r>,
        whole: WholeStep<'_>,
        deferred: &mut Deferred<'r>,
    ) -> Outcome {
        let y = self.sign_visited(row);
        if y == 0.0 {
            return Outcome::NONE;
        }
        let score = self.view.score::<K>(row, self.view.u) + row.offset();
        if self.is_out(row) {
            if let Some(outcome) = self.stays_out(row, y, score) {
                return outcome;
            }
        }
        let cost = self.head.terms.cost(row.cost(), y);
        let conjugate = self.loss.conjugate(self.head.terms.c * cost);
        let alpha = self.head.alpha[row.ordinal()].get();
        let gradient = self.loss.gradient(y * score, alpha.into(), &conjugate);
        let held = (alpha <= 0.0 && gradient > 0.0) || (alpha >= conjugate.high && gradient < 0.0);
        let place = RowProducts {
            score,
            curvature: match held {
                true => 1.0,
                false => whole.along(row, self.view.form.intercept, &mut [0.0; MOST_WEIGHTS]),
            },
            at_start: match FULL {
                true => self.view.score_at::<K>(row, self.head.start),
                false => 0.0,
            },
        };
        self.learn::<K, FULL>(row, Side::of(row, y), place, deferred)
            .0
    }

    /// Whether two rows can be gone through together: each is visited, and is no outlier.
    #[inline(always)]
    pub(in crate::solver) fn go_together(&self, rows: [&Row<'_>; 2]) -> bool {
        // no closures in what is visited, as they need not be inlined
        self.sign_visited(rows[0]) != 0.0
            && self.sign_visited(rows[1]) != 0.0
            && !self.is_out(rows[0])
            && !self.is_out(rows[1])
    }

    /// Visits two rows without sparse entries that can be gone through together: they are, and yet one after the other as far as
    /// anybody can tell.
    #[inline(always)]
    pub(in crate::solver) fn visit_two<'r, K: Isa, const FULL: bool>(
        &mut self,
        rows: [&Row<'r>; 2],
        next: [Next<'_>; 2],
        deferred: &mut Deferred<'r>,
    ) -> [Outcome; 2] {
        let y = [self.sign(rows[0]), self.sign(rows[1])];
        let start = self.head.start.filter(|_| FULL);
        let ([first, mut second], cross) = self.view.places::<K, 2>(rows, start, next, deferred);
        let sides = [Side::of(rows[0], y[0]), Side::of(rows[1], y[1])];
        let (one, scale) = self.learn::<K, FULL>(rows[0], sides[0], first, deferred);
        second.score += scale * cross;
        let (two, _) = self.learn::<K, FULL>(rows[1], sides[1], second, deferred);
        [one, two]
    }

    /// Whether a row at its first side can be visited on both at once: it is visited, and neither side is an outlier.
    #[inline(always)]
    pub(in crate::solver) fn has_both_sides(&self, row: &Row<'_>) -> bool {
        let is_out = match self.head.outliers {
            Some(outliers) => outliers.has(row.ordinal()) || outliers.has(row.ordinal() + 1),
            None => false,
        };
        self.sign_visited(row) != 0.0 && !is_out
    }

    /// Visits a row on both sides, which are so far apart, as if these were two rows one behind the other. Its products are taken once, as
    /// the step on the first side moves the score of the second by its length times |x|^2, and the second one is not read.
    #[inline(always)]
    pub(in crate::solver) fn visit_sides<'r, K: Isa, const FULL: bool>(
        &mut self,
        (row, between): (&Row<'r>, f64),
        next: Next<'_>,
        deferred: &mut Deferred<'r>,
    ) -> [Outcome; 2] {
        if self.view.form.dense == 0 {
            next.ask_from(0);
        }
        let coming = entries_within(next.near, self.view.form.dense);
        self.head.ask::<FULL>(coming, self.view.u);
        let start = self.head.start.filter(|_| FULL);
        let ([place], _) = self.view.places::<K, 1>([row], start, [next], deferred);
        let first = Side::of(row, self.sign(row));
        let (one, scale) = self.learn::<K, FULL>(row, first, place, deferred);
        let second = first.other(between);
        let more = second.offset - first.offset;
        let place = RowProducts {
            score: place.score + scale * place.curvature + more,
            at_start: place.at_start + more,
            ..place
        };
        let (two, _) = self.learn::<K, FULL>(row, second, place, deferred);
        [one, two]
    }

    /// What a visit does with a row at this place. Leaves the step over the dense part to be taken, and gives back how many
    /// times x it adds to u.
    #[inline(always)]
    fn learn<'r, K: Isa, const FULL: bool>(
        &mut self,
        row: &Row<'r>,
        side: Side,
        place: RowProducts,
        deferred: &mut Deferred<'r>,
    ) -> (Outcome, f64) {
        let cost = self.head.terms.cost(row.cost(), side.y);
        if FULL {
            self.tally(side.y, cost, place.score, place.at_start);
        }
        let (outcome, scale) = self.step::<K, FULL>(row, (side, cost), place, deferred);
        if FULL && outcome.alpha > 0.0 {
            let full = &mut self.sums.full;
            full.support += 1;
            let is_plain = self.view.form.columns.is_none() && self.view.form.whole.is_none();
            if is_plain || side.ordinal.is_multiple_of(NORM_SAMPLE) {
                full.aq += f64::from(outcome.alpha) * self.view.norm::<K>(row);
                full.aq_rows += 1;
            }
        }
        (outcome, scale)
    }

    /// Takes the deferred steps.
    #[inline(always)]
    pub(in crate::solver) fn catch_up<K: Isa>(&mut self, deferred: Deferred<'_>) {
        deferred.take::<K, T>(&mut self.view.u[..self.view.form.dense]);
    }

    /// Sums the losses at the weights of the pass's start and of the visit.
    #[inline(always)]
    fn tally(&mut self, y: f64, cost: f64, score: f64, at_start: f64) {
        let full = &mut self.sums.full;
        full.add_at_start(
            self.loss,
            (y, cost, at_start),
            self.breakpoints.as_deref_mut(),
        );
        full.visit_loss += cost * self.loss.value(y * score);
    }

    /// A visit that changes nothing, at the weights times `scale`; gives back sign, cost and score of one of the head's
    /// rows.
    #[inline(always)]
    pub(in crate::solver) fn look<K: Isa>(
        &mut self,
        row: &Row<'_>,
        scale: f64,
    ) -> Option<(f64, f64, f64)> {
        let y = self.sign_inside(row);
        if y == 0.0 {
            return None;
        }
        let cost = self.head.terms.cost(row.cost(), y);
        let mut none = Deferred::NONE;
        let start = self.head.start;
        let ([place], _) = self
            .view
            .places::<K, 1>([row], start, [Next::NONE], &mut none);
        let score = scale * (place.score - row.offset()) + row.offset();
        self.tally(y, cost, score, place.at_start);
        self.sums.visits += 1;
        let has_dual = self.head.alpha[row.ordinal()].get() > 0.0;
        self.sums.full.support += u64::from(has_dual);
        Some((y, cost, score))
    }

    /// Adds `step` to the dual variable of a row, and so y x times it to u; gives back what the variable was and is.
    #[inline(always)]
    pub(in crate::solver) fn add_scaled<K: Isa>(
        &mut self,
        row: &Row<'_>,
        y: f64,
        step: f64,
    ) -> (f32, f32) {
        let place = &self.head.alpha[row.ordinal()];
        let before = place.get();
        let after = (f64::from(before) + step) as f32;
        place.set(after);
        let delta = f64::from(after) - f64::from(before);
        let mut deferred = Deferred::NONE;
        deferred.push(self.view.add::<K>(row, y * delta));
        self.catch_up::<K>(deferred);
        (before, after)
    }

    /// <u, x>
    #[inline(always)]
    pub(in crate::solver) fn score_now<K: Isa>(&self, row: &Row<'_>) -> f64 {
        self.view.score::<K>(row, self.view.u)
    }

    /// Sums the loss at the weights of the pass's start, without a visit.
    #[inline(always)]
    pub(in crate::solver) fn measure<K: Isa>(&mut self, row: &Row<'_>) {
        let y = self.sign_inside(row);
        if y == 0.0 {
            return;
        }
        let at_start = self.view.score_at::<K>(row, self.head.start);
        let cost = self.head.terms.cost(row.cost(), y);
        self.tally(y, cost, at_start, at_start);
    }

    /// The coordinate step; what it adds to the dense part is left for later.
    #[inline(always)]
    fn step<'r, K: Isa, const FULL: bool>(
        &mut self,
        row: &Row<'r>,
        (side, cost): (Side, f64),
        place: RowProducts,
        deferred: &mut Deferred<'r>,
    ) -> (Outcome, f64) {
        let RowProducts {
            score, curvature, ..
        } = place;
        let Side { ordinal, y, offset } = side;
        let weight = self.head.terms.c * cost;
        let conjugate = self.loss.conjugate(weight);
        let (diag, upper) = (conjugate.curvature, conjugate.high);
        // known before the score is: the division does not wait for it
        let inverse = 1.0 / (self.sigma * curvature + diag);
        let place = &self.head.alpha[ordinal];
        let before = place.get();
        let old = f64::from(before);
        let margin = y * score;
        let gradient = self.loss.gradient(margin, old, &conjugate);
        let (at_zero, at_upper) = (before <= 0.0, before >= upper);
        let least = if at_upper { 0.0 } else { f64::NEG_INFINITY };
        let most = if at_zero { 0.0 } else { f64::INFINITY };
        let projected = gradient.max(least).min(most);
        self.sums.visits += 1;
        self.sums.high = self.sums.high.max(projected);
        self.sums.low = self.sums.low.min(projected);
        let is_out = match self.head.outliers.filter(|it| it.open) {
            None => false,
            Some(outliers) => outliers.put(ordinal, self.loss.value(margin)),
        };
        if !is_out && (!FULL || self.head.shrunk.get(ordinal)) {
            self.sums.open += self.loss.gap(weight, margin, old, &conjugate);
        }
        let mut outcome = Outcome {
            gradient,
            alpha: before,
            upper,
            shrinks: !is_out
                & ((at_zero & (gradient > self.head.limits.above))
                    | (at_upper & (gradient < self.head.limits.below))),
        };
        let wanted = match is_out {
            false => self.loss.advance(old, gradient, inverse, &conjugate),
            true => 0.0,
        };
        if wanted.is_nan() {
            return (outcome, 0.0);
        }
        let mut scale = 0.0;
        let after = wanted as f32;
        let delta = f64::from(after) - old;
        if delta != 0.0 {
            place.set(after);
            scale = y * (self.sigma * delta);
            match self.view.form.whole {
                Some(whole) => self.view.add_whole(row, scale, whole),
                None => deferred.push(self.view.add::<K>(row, scale)),
            }
            self.sums.alpha += delta;
            self.sums.offsets += y * delta * offset;
            if L::CURVED {
                self.sums.diag += diag * (f64::from(after) * f64::from(after) - old * old);
            }
            self.sums.updates += 1;
            outcome.alpha = after;
        }
        (outcome, scale)
    }
}

impl<T: Real> VisitWeights<'_, T> {
    /// Whether weights are scattered.
    #[inline(always)]
    pub(in crate::solver) fn scattered(&self) -> bool {
        scattered(self.u)
    }

    /// Whether rows have no sparse entries.
    #[inline(always)]
    pub(in crate::solver) fn all_dense(&self) -> bool {
        self.form.dense > 0 && self.form.dense + 1 == self.u.len()
    }

    /// Where rows stand. Two rows have no sparse entries, and beside them is how much the score of the second grows with the
    /// step of the first.
    #[inline(always)]
    fn places<K: Isa, const ROWS: usize>(
        &mut self,
        rows: [&Row<'_>; ROWS],
        start: Option<&[T]>,
        next: [Next<'_>; ROWS],
        deferred: &mut Deferred<'_>,
    ) -> ([RowProducts; ROWS], f64) {
        let WeightMap {
            damp,
            columns,
            dense,
            intercept,
            ..
        } = self.form;
        let beside = match (columns, start) {
            (Some(columns), _) => Beside::Damping(&columns.damp[..dense]),
            (None, Some(start)) => Beside::Weights(&start[..dense]),
            (None, None) => Beside::Nothing,
        };
        let mut products = Products::ZERO;
        if dense > 0 {
            let mut x = [&[][..]; ROWS];
            for (x, row) in x.iter_mut().zip(rows) {
                *x = row.dense();
            }
            let u = &mut self.u[..dense];
            products = T::products_dense::<K, ROWS>(deferred, x, u, beside, next);
            deferred.clear();
        }
        let mut places = [RowProducts::default(); ROWS];
        for ((place, row), products) in places.iter_mut().zip(rows).zip(products.each) {
            // two rows have no sparse entries
            let sparse = if ROWS == 1 { row.sparse() } else { &[] };
            *place = self.place::<K>((row, sparse), start, products);
        }
        let last = self.u.len() - 1;
        let cross = match columns {
            Some(columns) => products.cross + intercept * columns.damp[last].to(),
            None => (products.cross + intercept) * damp,
        };
        (places, cross)
    }

    /// Where a row stands, from the products over its dense part.
    #[inline(always)]
    fn place<K: Isa>(
        &self,
        (row, sparse): (&Row<'_>, &[[u32; 2]]),
        start: Option<&[T]>,
        [mut at_u, mut second]: [f64; 2],
    ) -> RowProducts {
        let last = self.u.len() - 1;
        let intercept = self.form.intercept;
        if let Some(columns) = self.form.columns {
            let damp_last = intercept * columns.damp[last].to();
            if !sparse.is_empty() {
                let more = T::dot_damped_sparse::<K>(sparse, columns.damp, self.u);
                at_u += more.0;
                second += more.1;
            }
            return RowProducts {
                score: at_u + damp_last * self.u[last].to() + row.offset(),
                curvature: second + damp_last,
                at_start: self.score_at::<K>(row, start),
            };
        }
        at_u += intercept * self.u[last].to();
        if let Some(start) = start {
            second += intercept * start[last].to();
        }
        match start {
            _ if sparse.is_empty() => {}
            Some(start) => {
                let more = T::dot2_sparse::<K>(sparse, self.u, start);
                at_u += more.0;
                second += more.1;
            }
            None => at_u += T::dot_sparse::<K>(sparse, self.u),
        }
        let offset = row.offset();
        RowProducts {
            score: at_u * self.form.damp + offset,
            curvature: (f64::from(row.q()) + intercept) * self.form.damp,
            at_start: second + offset,
        }
    }

    /// <weights, x> and the offset, weights that are not given being 0. No closure, which need not be inlined.
    #[inline(always)]
    fn score_at<K: Isa>(&self, row: &Row<'_>, weights: Option<&[T]>) -> f64 {
        match weights {
            Some(weights) => self.score::<K>(row, weights) + row.offset(),
            None => row.offset(),
        }
    }

    /// <weights, x>, without the offset.
    #[inline(always)]
    pub(in crate::solver) fn score<K: Isa>(&self, row: &Row<'_>, weights: &[T]) -> f64 {
        score::<K, T>(row, weights, self.form.dense, self.form.intercept)
    }

    /// u += scale S^-1 x, where u is w.
    #[inline(always)]
    fn add_whole(&mut self, row: &Row<'_>, scale: f64, whole: WholeStep<'_>) {
        let mut along = [0.0; MOST_WEIGHTS];
        whole.along(row, self.form.intercept, &mut along);
        for (u, along) in self.u.iter_mut().zip(&along) {
            *u = T::of(u.to() + scale * along);
        }
    }

    /// |x|^2 in the norm of the shift: x' M^-1 x, intercept included.
    #[inline(always)]
    fn norm<K: Isa>(&self, row: &Row<'_>) -> f64 {
        if let Some(whole) = self.form.whole {
            return whole.norm(row, self.form.intercept);
        }
        match self.form.columns {
            None => f64::from(row.q()) + self.form.intercept,
            Some(Damping { inverse, .. }) => {
                let mut norm = self.form.intercept * inverse[inverse.len() - 1].to();
                if self.form.dense > 0 {
                    let own = &inverse[..self.form.dense];
                    norm += T::dot_damped_dense::<K>(row.dense(), own, own).1;
                }
                if !row.sparse().is_empty() {
                    norm += T::dot_damped_sparse::<K>(row.sparse(), inverse, inverse).1;
                }
                norm
            }
        }
    }

    /// u += scale x, and so v, but for the dense part: that step is given back.
    #[inline(always)]
    fn add<'r, K: Isa>(&mut self, row: &Row<'r>, scale: f64) -> DenseStep<'r> {
        let last = self.u.len() - 1;
        T::add_sparse::<K>(self.u, scale, row.sparse());
        self.u[last] = T::of(self.u[last].to() + self.form.intercept * scale);
        let x = row.dense();
        DenseStep { scale, x }
    }
}

/// <weights, x> and the offset, summed in 64 bits whatever the weights are.
pub(in crate::solver) fn exact_score<T: Real>(row: &Row<'_>, weights: &[T], intercept: f64) -> f64 {
    let last = row.offset() + intercept * weights[weights.len() - 1].to();
    entries(row).fold(last, |sum, (j, x)| sum + x * weights[j].to())
}

/// Whether the processor's near caches cannot hold these weights, so that sparse entries find theirs here and there in
/// memory: those of a row are asked for one visit ahead.
#[inline(always)]
pub(in crate::solver) fn scattered<W>(weights: &[W]) -> bool {
    size_of_val(weights) > NEAR_BYTES
}

/// <weights, x>, the last weight being that of the constant feature `intercept`; without the offset.
#[inline(always)]
pub fn score<K: Isa, T: Real>(row: &Row<'_>, weights: &[T], dense: usize, intercept: f64) -> f64 {
    let mut sum = intercept * weights[weights.len() - 1].to();
    if dense > 0 {
        sum += T::dot_dense::<K>(row.dense(), &weights[..dense]);
    }
    if !row.sparse().is_empty() {
        sum += T::dot_sparse::<K>(row.sparse(), weights);
    }
    sum
}

#[cfg(test)]
mod tests;
