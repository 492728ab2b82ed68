//! The visit of a row by a head: the innermost loop of every training.
//!
//! With y the sign, a the dual variable and `upper` its bound, w = damp u (see [`crate::solver::proximal::iterate`]):
//!
//! g = y <w, x> - 1 + diag a,   a' = clip(a - g / (curvature + diag)),   u += (a' - a) y x
//!
//! Hinge: diag = 0, upper = C c. Squared hinge: diag = 1 / (2 C c), no upper bound (Hsieh et al., ICML 2008).
//!
//! Two dense rows x and x2 in a row are gone through together, since <w, x2> after the step is
//! <w, x2> + (a' - a) y sum damp x x2 ([`Visitor::visit_two`]).
//!
//! A [`Visitor`] holds what visits need apart from the row: slices borrowed from the head, and its numbers copied out,
//! so that they stay in registers for a run of rows. What the visits summed goes back by [`Sums`].

use crate::rows::row::{entries_within, Row};
use crate::simd::{prefetch_weights, Beside, Deferred, Kernel, Next, Products, Real, Step};
use crate::solver::sums::intercept::Kinks;
use crate::solver::visit::per_row::{Asleep, Dual};
use crate::task::problem::{right_side, Loss};

/// In a metric |x|^2 costs as much as a visit: it is taken of one row in so many.
pub(in crate::solver) const NORM_SAMPLE: usize = 8;

/// Weights of so many bytes at most are left to the processor: as long as its second cache holds them, asking costs more
/// than it brings.
const NEAR_BYTES: usize = 3 << 19;

/// How a row stood when it was visited.
#[derive(Clone, Copy)]
pub(crate) struct Outcome {
    /// Gradient before the step.
    gradient: f64,
    alpha: f32,
    upper: f32,
    /// Whether active passes may leave the row out from now on.
    pub(in crate::solver) sleeps: bool,
}

impl Outcome {
    /// Not a row of this head.
    pub(in crate::solver) const NONE: Outcome = Outcome {
        gradient: f64::INFINITY,
        alpha: 0.0,
        upper: 0.0,
        sleeps: true,
    };

    /// Between its bounds, or at one with a gradient that holds it there by at most `margin`.
    #[inline(always)]
    pub(crate) fn matters(&self, margin: f64) -> bool {
        if self.alpha <= 0.0 {
            self.gradient <= margin
        } else if self.alpha >= self.upper {
            self.gradient >= -margin
        } else {
            true
        }
    }
}

/// Losses at the weights of a full pass's start, and what else a full pass counts.
#[derive(Debug, Clone, Copy)]
pub(in crate::solver) struct Tally {
    /// Weighted losses at the weights of the pass's start.
    pub(in crate::solver) start_loss: f64,
    /// Rows on the right side there.
    pub(in crate::solver) correct: u64,
    pub(in crate::solver) rows: u64,
    /// Weighted losses at the weights of each visit.
    pub(in crate::solver) visit_loss: f64,
    /// Rows with a > 0.
    pub(in crate::solver) support: u64,
    /// Sum of a Q over some of them, and how many.
    pub(in crate::solver) aq: f64,
    pub(in crate::solver) aq_rows: u64,
}

impl Tally {
    pub(in crate::solver) const EMPTY: Tally = Tally {
        start_loss: 0.0,
        correct: 0,
        rows: 0,
        visit_loss: 0.0,
        support: 0,
        aq: 0.0,
        aq_rows: 0,
    };

    /// Adds a row with label `y` and this score at the weights of the pass's start.
    #[inline(always)]
    pub(in crate::solver) fn add_at_start(
        &mut self,
        terms: &Terms,
        (y, cost, score): (f64, f64, f64),
        kinks: Option<&mut Kinks>,
    ) {
        let margin = y * score;
        self.start_loss += cost * terms.loss(margin);
        self.correct += u64::from(right_side(margin, y));
        self.rows += 1;
        if let Some(kinks) = kinks {
            kinks.add(y, cost, score);
        }
    }

    /// These and those of more rows.
    pub(in crate::solver) fn with(self, more: Tally) -> Tally {
        Tally {
            start_loss: self.start_loss + more.start_loss,
            correct: self.correct + more.correct,
            rows: self.rows + more.rows,
            visit_loss: self.visit_loss + more.visit_loss,
            support: self.support + more.support,
            aq: self.aq + more.aq,
            aq_rows: self.aq_rows + more.aq_rows,
        }
    }
}

/// What visits change besides dual variables and weights.
#[derive(Debug, Clone, Copy)]
pub(in crate::solver) struct Sums {
    pub(in crate::solver) full: Tally,
    /// Largest and smallest projected gradient of the pass.
    pub(in crate::solver) high: f64,
    pub(in crate::solver) low: f64,
    /// Sum of a, and of diag a^2.
    pub(in crate::solver) alpha: f64,
    pub(in crate::solver) diag: f64,
    pub(in crate::solver) visits: u64,
    pub(in crate::solver) updates: u64,
    /// Sum of c C L + a (m - 1) + 1/2 diag a^2 at the margin m and the a of each visit, which is what the rows visited
    /// leave of the subproblem's gap. In an active pass of all that it visits, in a full pass of those that slept.
    pub(in crate::solver) open: f64,
}

impl Sums {
    pub(in crate::solver) const ZERO: Sums = Sums {
        full: Tally::EMPTY,
        high: f64::NEG_INFINITY,
        low: f64::INFINITY,
        alpha: 0.0,
        diag: 0.0,
        visits: 0,
        updates: 0,
        open: 0.0,
    };

    /// These and those of more visits.
    pub(in crate::solver) fn with(self, more: Sums) -> Sums {
        Sums {
            full: self.full.with(more.full),
            high: self.high.max(more.high),
            low: self.low.min(more.low),
            alpha: self.alpha + more.alpha,
            diag: self.diag + more.diag,
            visits: self.visits + more.visits,
            updates: self.updates + more.updates,
            open: self.open + more.open,
        }
    }

    /// The range of projected gradients in the pass so far.
    pub(in crate::solver) fn violation(self) -> f64 {
        (self.high.max(0.0) - self.low.min(0.0)).max(0.0)
    }

    /// The largest magnitude of a projected gradient in the pass so far.
    pub(in crate::solver) fn largest_gradient(self) -> f64 {
        self.high.max(-self.low).max(0.0)
    }

    /// Forgets what is of one pass: the projected gradients, and what its rows left of the gap.
    pub(in crate::solver) fn forget_pass(&mut self) {
        self.open = 0.0;
        self.high = f64::NEG_INFINITY;
        self.low = f64::INFINITY;
    }
}

/// The weights as visits see them; the last entry of each slice is the intercept's.
pub(in crate::solver) struct View<'a, T> {
    u: &'a mut [T],
    pub(in crate::solver) form: Form<'a, T>,
}

/// How weights follow from u.
#[derive(Clone, Copy)]
pub(in crate::solver) struct Form<'a, T> {
    /// w = damp u for every feature, unless there are `columns`.
    pub(in crate::solver) damp: f64,
    pub(in crate::solver) columns: Option<Damping<'a, T>>,
    /// Length of the rows' dense part.
    pub(in crate::solver) dense: usize,
    /// The constant feature: 1, or 0 for none.
    pub(in crate::solver) intercept: f64,
}

/// A factor for each column, and the inverse of its moment (see [`crate::solver::proximal::moments`]).
#[derive(Clone, Copy)]
pub(in crate::solver) struct Damping<'a, T> {
    pub(in crate::solver) damp: &'a [T],
    pub(in crate::solver) inverse: &'a [T],
}

/// The constants of a head.
#[derive(Debug, Clone, Copy)]
pub(in crate::solver) struct Terms {
    pub(in crate::solver) c: f64,
    pub(in crate::solver) squared: bool,
    /// Gradients beyond which a row at its bound sleeps.
    pub(in crate::solver) sleep_above: f64,
    pub(in crate::solver) sleep_below: f64,
}

impl Terms {
    /// The curvature of the loss in the dual, and the bound of a dual variable.
    #[inline(always)]
    pub(in crate::solver) fn diag_and_upper(&self, cost: f64) -> (f64, f32) {
        if self.squared {
            (0.5 / (self.c * cost), f32::MAX)
        } else {
            (0.0, bound(self.c * cost))
        }
    }

    #[inline(always)]
    pub(in crate::solver) fn loss(&self, margin: f64) -> f64 {
        let loss = if self.squared {
            Loss::SquaredHinge
        } else {
            Loss::Hinge
        };
        loss.at(margin)
    }
}

/// Where a row stands when it is visited.
#[derive(Clone, Copy, Default)]
struct Place {
    /// <w, x>
    score: f64,
    /// The second derivative of the shifted dual along this row, without the loss's part.
    curvature: f64,
    /// <start, x>
    at_start: f64,
}

/// What a head lends to visitors, of which there may be several at a time, each with rows of its own.
#[derive(Clone, Copy)]
pub(in crate::solver) struct Lent<'a, T> {
    /// By class id.
    pub(in crate::solver) signs: &'a [i8],
    pub(in crate::solver) terms: Terms,
    /// By ordinal.
    pub(in crate::solver) alpha: &'a [Dual],
    pub(in crate::solver) asleep: &'a Asleep,
    /// Weights at the start of the full pass; None where they are all 0.
    pub(in crate::solver) start: Option<&'a [T]>,
    pub(in crate::solver) form: Form<'a, T>,
}

/// What was lent, with weights and sums to change.
pub(in crate::solver) struct Visitor<'a, T> {
    pub(in crate::solver) lent: Lent<'a, T>,
    pub(in crate::solver) view: View<'a, T>,
    /// How much farther than by the step taken u moves, and how much more the dual is taken to bend: 1, or more where
    /// others train at the same time (see [`crate::solver::divided`]).
    pub(in crate::solver) stretch: f64,
    pub(in crate::solver) sums: Sums,
    /// Where full passes find a better intercept for the weights of their start.
    pub(in crate::solver) kinks: Option<&'a mut Kinks>,
}

impl<'a, T: Copy> Lent<'a, T> {
    pub(in crate::solver) fn visitor(
        self,
        u: &'a mut [T],
        stretch: f64,
        sums: Sums,
        kinks: Option<&'a mut Kinks>,
    ) -> Visitor<'a, T> {
        let form = self.form;
        Visitor {
            lent: self,
            view: View { u, form },
            stretch,
            sums,
            kinks,
        }
    }
}

impl<T: Real> Lent<'_, T> {
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

impl<T: Real> Visitor<'_, T> {
    #[inline(always)]
    pub(in crate::solver) fn sign(&self, row: &Row<'_>) -> f64 {
        f64::from(self.lent.signs[row.group()])
    }

    /// Visits a row; in a full pass the loss at the weights of its start is summed too. Takes the deferred steps, and leaves
    /// its own for the next visit: whoever visits last takes that ([`Self::catch_up`]). Asks for `next` meanwhile,
    /// and for its weights where they are scattered.
    #[inline(always)]
    pub(in crate::solver) fn visit<'r, K: Kernel, const FULL: bool>(
        &mut self,
        row: &Row<'r>,
        next: Next<'_>,
        deferred: &mut Deferred<'r>,
    ) -> Outcome {
        let y = self.sign(row);
        if y == 0.0 || self.view.form.dense == 0 {
            // no product over dense values does
            next.ask_from(0);
        }
        let coming = entries_within(next.near, self.view.form.dense);
        self.lent.ask::<FULL>(coming, self.view.u);
        if y == 0.0 {
            return Outcome::NONE;
        }
        let start = self.lent.start.filter(|_| FULL);
        let ([place], _) = self.view.places::<K, 1>([row], start, [next], deferred);
        self.learn::<K, FULL>(row, y, place, deferred).0
    }

    /// Visits two rows without sparse entries: they are gone through together, and yet one after the other as far as anybody
    /// can tell.
    #[inline(always)]
    pub(in crate::solver) fn visit_two<'r, K: Kernel, const FULL: bool>(
        &mut self,
        rows: [&Row<'r>; 2],
        next: [Next<'_>; 2],
        deferred: &mut Deferred<'r>,
    ) -> [Outcome; 2] {
        let y = [self.sign(rows[0]), self.sign(rows[1])];
        if y[0] == 0.0 || y[1] == 0.0 {
            let [first, second] = rows;
            return [
                self.visit::<K, FULL>(first, next[0], deferred),
                self.visit::<K, FULL>(second, next[1], deferred),
            ];
        }
        let start = self.lent.start.filter(|_| FULL);
        let ([first, mut second], cross) = self.view.places::<K, 2>(rows, start, next, deferred);
        let (one, scale) = self.learn::<K, FULL>(rows[0], y[0], first, deferred);
        second.score += scale * cross;
        let (two, _) = self.learn::<K, FULL>(rows[1], y[1], second, deferred);
        [one, two]
    }

    /// What a visit does with a row at this place. Leaves the step over the dense part to be taken, and gives back how many
    /// times x it adds to u.
    #[inline(always)]
    fn learn<'r, K: Kernel, const FULL: bool>(
        &mut self,
        row: &Row<'r>,
        y: f64,
        place: Place,
        deferred: &mut Deferred<'r>,
    ) -> (Outcome, f64) {
        let cost = f64::from(row.cost());
        if FULL {
            self.tally(y, cost, place.score, place.at_start);
        }
        let (outcome, scale) = self.step::<K, FULL>(row, (y, cost), place, deferred);
        if FULL && outcome.alpha > 0.0 {
            let full = &mut self.sums.full;
            full.support += 1;
            if self.view.form.columns.is_none() || row.ordinal().is_multiple_of(NORM_SAMPLE) {
                full.aq += f64::from(outcome.alpha) * self.view.norm::<K>(row);
                full.aq_rows += 1;
            }
        }
        (outcome, scale)
    }

    /// Takes the deferred steps.
    #[inline(always)]
    pub(in crate::solver) fn catch_up<K: Kernel>(&mut self, deferred: Deferred<'_>) {
        deferred.take::<K, T>(&mut self.view.u[..self.view.form.dense]);
    }

    /// Sums the losses at the weights of the pass's start and of the visit.
    #[inline(always)]
    fn tally(&mut self, y: f64, cost: f64, score: f64, at_start: f64) {
        let terms = &self.lent.terms;
        let full = &mut self.sums.full;
        full.add_at_start(terms, (y, cost, at_start), self.kinks.as_deref_mut());
        full.visit_loss += cost * terms.loss(y * score);
    }

    /// A visit that changes nothing, at the weights times `scale`; gives back sign, cost and score of one of the head's
    /// rows.
    #[inline(always)]
    pub(in crate::solver) fn look<K: Kernel>(
        &mut self,
        row: &Row<'_>,
        scale: f64,
    ) -> Option<(f64, f64, f64)> {
        let y = self.sign(row);
        if y == 0.0 {
            return None;
        }
        let cost = f64::from(row.cost());
        let mut none = Deferred::NONE;
        let start = self.lent.start;
        let ([place], _) = self
            .view
            .places::<K, 1>([row], start, [Next::NONE], &mut none);
        let score = scale * place.score;
        self.tally(y, cost, score, place.at_start);
        self.sums.visits += 1;
        let has_dual = self.lent.alpha[row.ordinal()].get() > 0.0;
        self.sums.full.support += u64::from(has_dual);
        Some((y, cost, score))
    }

    /// Adds `step` to the dual variable of a row, and so y x times it to u; gives back what the variable is then.
    #[inline(always)]
    pub(in crate::solver) fn add_scaled<K: Kernel>(
        &mut self,
        row: &Row<'_>,
        y: f64,
        step: f64,
    ) -> f32 {
        let place = &self.lent.alpha[row.ordinal()];
        let before = place.get();
        let after = (f64::from(before) + step) as f32;
        place.set(after);
        let delta = f64::from(after) - f64::from(before);
        let mut deferred = Deferred::NONE;
        deferred.push(self.view.add::<K>(row, y * delta));
        self.catch_up::<K>(deferred);
        after
    }

    /// Sums the loss at the weights of the pass's start, without a visit.
    #[inline(always)]
    pub(in crate::solver) fn measure<K: Kernel>(&mut self, row: &Row<'_>) {
        let y = self.sign(row);
        if y == 0.0 {
            return;
        }
        let at_start = self.view.score_at::<K>(row, self.lent.start);
        self.tally(y, f64::from(row.cost()), at_start, at_start);
    }

    /// The coordinate step; what it adds to the dense part is left for later.
    #[inline(always)]
    fn step<'r, K: Kernel, const FULL: bool>(
        &mut self,
        row: &Row<'r>,
        (y, cost): (f64, f64),
        place: Place,
        deferred: &mut Deferred<'r>,
    ) -> (Outcome, f64) {
        let Place {
            score, curvature, ..
        } = place;
        let (diag, upper) = self.lent.terms.diag_and_upper(cost);
        // known before the score is: the division does not wait for it
        let inverse = 1.0 / (self.stretch * curvature + diag);
        let place = &self.lent.alpha[row.ordinal()];
        let before = place.get();
        let old = f64::from(before);
        let beyond = y * score - 1.0;
        let gradient = beyond + diag * old;
        let (at_zero, at_upper) = (before <= 0.0, before >= upper);
        let least = if at_upper { 0.0 } else { f64::NEG_INFINITY };
        let most = if at_zero { 0.0 } else { f64::INFINITY };
        let projected = gradient.max(least).min(most);
        self.sums.visits += 1;
        self.sums.high = self.sums.high.max(projected);
        self.sums.low = self.sums.low.min(projected);
        if !FULL || self.lent.asleep.get(row.ordinal()) {
            self.sums.open += self.lent.terms.c * cost * self.lent.terms.loss(y * score)
                + old * (beyond + 0.5 * diag * old);
        }
        let mut outcome = Outcome {
            gradient,
            alpha: before,
            upper,
            sleeps: (at_zero & (gradient > self.lent.terms.sleep_above))
                | (at_upper & (gradient < self.lent.terms.sleep_below)),
        };
        let wanted = old - gradient * inverse;
        if wanted.is_nan() {
            return (outcome, 0.0);
        }
        let mut scale = 0.0;
        let after = wanted.clamp(0.0, f64::from(upper)) as f32;
        let delta = f64::from(after) - old;
        if delta != 0.0 {
            place.set(after);
            scale = y * (self.stretch * delta);
            deferred.push(self.view.add::<K>(row, scale));
            self.sums.alpha += delta;
            if self.lent.terms.squared {
                self.sums.diag += diag * (f64::from(after) * f64::from(after) - old * old);
            }
            self.sums.updates += 1;
            outcome.alpha = after;
        }
        (outcome, scale)
    }
}

impl<T: Real> View<'_, T> {
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
    fn places<K: Kernel, const ROWS: usize>(
        &mut self,
        rows: [&Row<'_>; ROWS],
        start: Option<&[T]>,
        next: [Next<'_>; ROWS],
        deferred: &mut Deferred<'_>,
    ) -> ([Place; ROWS], f64) {
        let Form {
            damp,
            columns,
            dense,
            intercept,
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
        let mut places = [Place::default(); ROWS];
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
    fn place<K: Kernel>(
        &self,
        (row, sparse): (&Row<'_>, &[[u32; 2]]),
        start: Option<&[T]>,
        [mut at_u, mut second]: [f64; 2],
    ) -> Place {
        let last = self.u.len() - 1;
        let intercept = self.form.intercept;
        if let Some(columns) = self.form.columns {
            let damp_last = intercept * columns.damp[last].to();
            if !sparse.is_empty() {
                let more = T::dot_damped_sparse::<K>(sparse, columns.damp, self.u);
                at_u += more.0;
                second += more.1;
            }
            return Place {
                score: at_u + damp_last * self.u[last].to(),
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
        Place {
            score: at_u * self.form.damp,
            curvature: (f64::from(row.q()) + intercept) * self.form.damp,
            at_start: second,
        }
    }

    /// <weights, x>, weights that are not given being 0. No closure, which need not be inlined.
    #[inline(always)]
    fn score_at<K: Kernel>(&self, row: &Row<'_>, weights: Option<&[T]>) -> f64 {
        match weights {
            Some(weights) => self.score::<K>(row, weights),
            None => 0.0,
        }
    }

    /// <weights, x>
    #[inline(always)]
    pub(in crate::solver) fn score<K: Kernel>(&self, row: &Row<'_>, weights: &[T]) -> f64 {
        score::<K, T>(row, weights, self.form.dense, self.form.intercept)
    }

    /// |x|^2 in the norm of the shift: x' M^-1 x, intercept included.
    #[inline(always)]
    fn norm<K: Kernel>(&self, row: &Row<'_>) -> f64 {
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
    fn add<'r, K: Kernel>(&mut self, row: &Row<'r>, scale: f64) -> Step<'r> {
        let last = self.u.len() - 1;
        T::add_sparse::<K>(self.u, scale, row.sparse());
        self.u[last] = T::of(self.u[last].to() + self.form.intercept * scale);
        let x = row.dense();
        Step { scale, x }
    }
}

/// Whether the processor's near caches cannot hold these weights, so that sparse entries find theirs here and there in
/// memory: those of a row are asked for one visit ahead.
#[inline(always)]
pub(in crate::solver) fn scattered<W>(weights: &[W]) -> bool {
    size_of_val(weights) > NEAR_BYTES
}

/// <weights, x>, the last weight being that of the constant feature `intercept`.
#[inline(always)]
pub(in crate::solver) fn score<K: Kernel, T: Real>(
    row: &Row<'_>,
    weights: &[T],
    dense: usize,
    intercept: f64,
) -> f64 {
    let mut sum = intercept * weights[weights.len() - 1].to();
    if dense > 0 {
        sum += T::dot_dense::<K>(row.dense(), &weights[..dense]);
    }
    if !row.sparse().is_empty() {
        sum += T::dot_sparse::<K>(row.sparse(), weights);
    }
    sum
}

/// The largest f32 not above `value`, so that a dual variable at it is feasible.
#[inline(always)]
pub(in crate::solver) fn bound(value: f64) -> f32 {
    let near = value as f32;
    if f64::from(near) > value {
        near.next_down()
    } else {
        near
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::row::{parts_mut, row_words, write, RowHead};
    use crate::simd::{Level, Work};

    const DENSE: usize = 21;

    /// A row of numbers that differ from row to row.
    fn words(ordinal: usize) -> Vec<u32> {
        let mut words = vec![0; row_words(DENSE, 0)];
        let head = RowHead {
            ordinal: ordinal as u32,
            group: (ordinal % 2) as u32,
            cost: 1.0 + ordinal as f32,
        };
        let dense = write(&mut words, head, DENSE, std::iter::empty());
        let mut q = 0.0;
        for (j, bits) in dense.iter_mut().enumerate() {
            let x = ((ordinal * 31 + j * 17) % 23) as f32 / 11.0 - 0.9;
            (*bits, q) = (x.to_bits(), q + x * x);
        }
        *parts_mut(&mut words, DENSE).0 = q.to_bits();
        words
    }

    /// Visits the rows twice over, one at a time or two; gives back dual variables, weights, and what was summed.
    struct Visits<'a> {
        rows: &'a [Vec<u32>],
        two: bool,
        squared: bool,
        damping: Option<&'a [f64]>,
        start: Option<&'a [f64]>,
        signs: [i8; 2],
    }

    impl Work for Visits<'_> {
        type Output = Vec<f64>;
        #[inline(always)]
        fn run<K: Kernel>(self) -> Vec<f64> {
            let mut alpha = vec![0.0f32; self.rows.len()];
            let asleep = Asleep::new(alpha.len()).unwrap();
            let mut u: Vec<f64> = (0..=DENSE).map(|j| (j as f64).sin() / 9.0).collect();
            let lent = Lent {
                signs: &self.signs,
                terms: Terms {
                    c: 0.3,
                    squared: self.squared,
                    sleep_above: 0.2,
                    sleep_below: -0.2,
                },
                alpha: Dual::share(&mut alpha),
                asleep: &asleep,
                start: self.start,
                form: Form {
                    damp: 0.8,
                    columns: self.damping.map(|damp| Damping {
                        damp,
                        inverse: damp,
                    }),
                    dense: DENSE,
                    intercept: 1.0,
                },
            };
            let mut visitor = lent.visitor(&mut u, 1.5, Sums::ZERO, None);
            let mut deferred = Deferred::NONE;
            let mut sleeping = 0;
            for _ in 0..2 {
                for pair in self.rows.chunks_exact(2) {
                    let [first, second] = [&pair[0], &pair[1]].map(|words| Row::new(words, DENSE));
                    let next = [Next::NONE; 2];
                    let outcomes = match self.two {
                        true => {
                            visitor.visit_two::<K, true>([&first, &second], next, &mut deferred)
                        }
                        false => [
                            visitor.visit::<K, true>(&first, next[0], &mut deferred),
                            visitor.visit::<K, true>(&second, next[1], &mut deferred),
                        ],
                    };
                    for outcome in outcomes {
                        sleeping = 2 * sleeping + u32::from(outcome.sleeps);
                    }
                }
            }
            visitor.catch_up::<K>(deferred);
            let Sums {
                full, high, low, ..
            } = visitor.sums;
            let (visits, updates) = (visitor.sums.visits as f64, visitor.sums.updates as f64);
            let mut out = vec![f64::from(sleeping), visits, updates, high, low];
            out.extend([
                full.start_loss,
                full.visit_loss,
                full.aq,
                full.support as f64,
            ]);
            out.extend(u);
            out.extend(alpha.iter().map(|alpha| f64::from(*alpha)));
            out
        }
    }

    #[test]
    fn two_rows_at_a_time_are_visited_as_one_after_the_other() {
        let rows: Vec<_> = (0..12).map(words).collect();
        let damping: Vec<f64> = (0..=DENSE).map(|j| 1.0 / (1.0 + j as f64)).collect();
        let start: Vec<f64> = (0..=DENSE).map(|j| (j as f64).cos() / 7.0).collect();
        for level in [Level::PLAIN, Level::best()] {
            for (squared, damping) in [(false, None), (true, None), (false, Some(&damping))] {
                for (start, signs) in [(None, [1, -1]), (Some(&start), [1, -1]), (None, [1, 0])] {
                    let visits = |two| {
                        level.run(Visits {
                            rows: &rows,
                            two,
                            squared,
                            damping: damping.map(Vec::as_slice),
                            start: start.map(Vec::as_slice),
                            signs,
                        })
                    };
                    let (one, two) = (visits(false), visits(true));
                    assert!(one[2] > 6.0, "nothing moved: {one:?}");
                    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 * (1.0 + a.abs());
                    assert!(
                        one.iter().zip(&two).all(close),
                        "{level:?}\n{one:?}\n{two:?}"
                    );
                }
            }
        }
    }
}
