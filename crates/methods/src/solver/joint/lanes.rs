//! The visit of a row by eight heads at once: the step of [`crate::solver::visit::visitor`], a lane a head.
//!
//! Constants and sums of the eight heads lie side by side; the sums go back to the heads' states at the end of a pass.

use crate::objective::loss::{by_loss, LossFunction};
use crate::simd::eight::Eight;
use crate::simd::lanes::{Lanes, LANES};
use crate::solver::sums::tally::{Sums, Tally};
use crate::solver::sums::terms::{ShrinkLimits, Terms};

/// Eight heads, some perhaps not in use.
#[derive(Clone, Copy)]
pub(super) struct LaneBlock {
    /// Lanes whose head runs.
    pub(super) running: u8,
    /// 1 / (1 + kappa)
    damp: Lanes,
    c: [f64; LANES],
    /// Bound of a dual variable and curvature of the loss at cost 1.
    upper: Lanes,
    diag: Lanes,
    /// Whether positive rows weigh otherwise than by their cost in some lane, how much more they do, and what bound and
    /// curvature then are at cost 1.
    weighs: bool,
    weight: Lanes,
    upper_positive: Lanes,
    diag_positive: Lanes,
    shrink_above: Lanes,
    shrink_below: Lanes,
    sums: LaneSums,
}

/// [`Sums`], lane by lane.
#[derive(Clone, Copy)]
struct LaneSums {
    high: Lanes,
    low: Lanes,
    open: [f64; LANES],
    alpha: [f64; LANES],
    offsets: [f64; LANES],
    diag: [f64; LANES],
    visits: [u32; LANES],
    updates: [u32; LANES],
    start_loss: [f64; LANES],
    visit_loss: [f64; LANES],
    aq: [f64; LANES],
    correct: [u32; LANES],
    /// Rows at a margin of exactly 0, and the positive ones of them.
    ties: [u32; LANES],
    positive_ties: [u32; LANES],
    /// What those cost, the positive ones less the negative ones.
    tied_cost: [f64; LANES],
    rows: [u32; LANES],
    support: [u32; LANES],
    aq_rows: [u32; LANES],
}

const ZERO: LaneSums = LaneSums {
    high: [f32::NEG_INFINITY; LANES],
    low: [f32::INFINITY; LANES],
    open: [0.0; LANES],
    alpha: [0.0; LANES],
    offsets: [0.0; LANES],
    diag: [0.0; LANES],
    visits: [0; LANES],
    updates: [0; LANES],
    start_loss: [0.0; LANES],
    visit_loss: [0.0; LANES],
    aq: [0.0; LANES],
    correct: [0; LANES],
    ties: [0; LANES],
    positive_ties: [0; LANES],
    tied_cost: [0.0; LANES],
    rows: [0; LANES],
    support: [0; LANES],
    aq_rows: [0; LANES],
};

/// What a block needs to know of a row.
#[derive(Clone, Copy)]
pub(super) struct Facing<'a> {
    /// Signs by lane.
    pub(super) signs: &'a Lanes,
    pub(super) cost: f32,
    /// What its scores have beside <w, x>.
    pub(super) offset: f64,
    /// Lanes to visit, if the row takes part in them.
    pub(super) lanes: u8,
}

impl Facing<'_> {
    /// y a in the lanes that visit the row.
    #[inline(always)]
    pub(super) fn signed<E: Eight>(self, alpha: &Lanes) -> Lanes {
        let signed = E::load(self.signs).times(E::load(alpha));
        let mut held = [0.0; LANES];
        E::where_set(self.lanes).and(signed).store(&mut held);
        held
    }
}

/// The gradient of the dual at a row, in eight heads, and the bounds of its dual variables.
pub(super) struct RowTerms<E> {
    gradient: E,
    upper: E,
    diag: E,
    /// Lanes whose dual variable can move.
    pub(super) moving: u8,
    /// How firmly the row is held at a bound, before the step: its gradient's distance beyond 0; below every number where
    /// it is between its bounds, infinite in lanes that do not visit it.
    pub(super) held: E,
}

impl LaneBlock {
    pub(super) const EMPTY: LaneBlock = LaneBlock {
        running: 0,
        damp: [0.0; LANES],
        c: [0.0; LANES],
        upper: [0.0; LANES],
        diag: [0.0; LANES],
        weighs: false,
        weight: [1.0; LANES],
        upper_positive: [0.0; LANES],
        diag_positive: [0.0; LANES],
        shrink_above: [0.0; LANES],
        shrink_below: [0.0; LANES],
        sums: ZERO,
    };

    /// Sets the constants of a lane whose head runs.
    pub(super) fn arm(&mut self, k: usize, (terms, limits): (&Terms, ShrinkLimits), kappa: f64) {
        self.running |= 1 << k;
        self.damp[k] = (1.0 / (1.0 + kappa)) as f32;
        self.c[k] = terms.c;
        let own = by_loss!(terms.loss, loss => loss.conjugate(terms.c));
        (self.diag[k], self.upper[k]) = (own.curvature as f32, own.high);
        let weight = terms.positive_weight;
        let own = by_loss!(terms.loss, loss => loss.conjugate(terms.c * f64::from(weight)));
        (self.diag_positive[k], self.upper_positive[k]) = (own.curvature as f32, own.high);
        self.weight[k] = weight;
        self.weighs |= weight != 1.0;
        self.shrink_above[k] = limits.above as f32;
        self.shrink_below[k] = limits.below as f32;
    }

    /// Forgets what is of one pass, as [`Sums::forget_pass`].
    pub(super) fn forget_pass(&mut self) {
        (self.sums.high, self.sums.low, self.sums.open) = (ZERO.high, ZERO.low, ZERO.open);
    }

    /// The sums of a lane.
    pub(super) fn sums(&self, k: usize) -> Sums {
        let sums = &self.sums;
        Sums {
            full: Tally {
                start_loss: sums.start_loss[k],
                correct: sums.correct[k].into(),
                ties: 2 * i64::from(sums.positive_ties[k]) - i64::from(sums.ties[k]),
                tied_cost: sums.tied_cost[k],
                rows: sums.rows[k].into(),
                visit_loss: sums.visit_loss[k],
                support: sums.support[k].into(),
                aq: sums.aq[k],
                aq_rows: sums.aq_rows[k].into(),
            },
            high: sums.high[k].into(),
            low: sums.low[k].into(),
            alpha: sums.alpha[k],
            offsets: sums.offsets[k],
            diag: sums.diag[k],
            visits: sums.visits[k].into(),
            updates: sums.updates[k].into(),
            open: sums.open[k],
        }
    }

    /// Bounds and curvatures for a row.
    #[inline(always)]
    fn bounds<E: Eight, L: LossFunction>(&self, loss: L, facing: Facing<'_>) -> (E, E) {
        let cost = facing.cost;
        if cost == 1.0 && !self.weighs {
            return (E::load(&self.upper), E::load(&self.diag));
        }
        if cost == 1.0 {
            let positive = E::splat(0.0).below(E::load(facing.signs));
            let pick = |one, other| positive.pick(E::load(one), E::load(other));
            let upper = pick(&self.upper_positive, &self.upper);
            return (upper, pick(&self.diag_positive, &self.diag));
        }
        let cost = f64::from(cost);
        let of: [_; LANES] = std::array::from_fn(|k| {
            let weighs = self.weighs && facing.signs[k] > 0.0;
            let weight = if weighs {
                f64::from(self.weight[k])
            } else {
                1.0
            };
            loss.conjugate(self.c[k] * (cost * weight))
        });
        let (upper, diag) = (of.map(|it| it.high), of.map(|it| it.curvature as f32));
        (E::load(&upper), E::load(&diag))
    }

    /// What the losses of a row count.
    #[inline(always)]
    fn costs<E: Eight>(&self, facing: Facing<'_>, positive: E) -> E {
        let cost = E::splat(facing.cost);
        if !self.weighs {
            return cost;
        }
        let weighed = cost.times(E::load(&self.weight));
        positive.pick(weighed.least(E::splat(f32::MAX)), cost)
    }

    /// The gradient of the dual at a row: `score` are its scores <w, x>, `alpha` its dual variables. Lanes in which it is shrunk from
    /// now on are noted in `shrunk`. What it leaves of the gap is summed, in full passes where it was shrunk.
    #[inline(always)]
    pub(super) fn look<E: Eight, L: LossFunction, const FULL: bool>(
        &mut self,
        loss: L,
        facing: Facing<'_>,
        score: &Lanes,
        alpha: &Lanes,
        shrunk: &mut u8,
    ) -> RowTerms<E> {
        let (upper, diag) = self.bounds::<E, L>(loss, facing);
        let (y, old, zero) = (E::load(facing.signs), E::load(alpha), E::splat(0.0));
        let takes_part = y.below(zero).or(zero.below(y));
        let on = E::where_set(facing.lanes).and(takes_part);
        let margin = y.times(E::load(score));
        let beyond = margin.minus(E::splat(1.0));
        let bend = diag.times(old);
        let gradient = beyond.plus(bend);
        let (at_zero, at_upper) = (old.at_most(zero), upper.at_most(old));
        let projected = at_upper.pick(zero.most(gradient), gradient);
        let projected = at_zero.pick(zero.least(projected), projected);
        let sums = &mut self.sums;
        let (high, low) = (E::load(&sums.high), E::load(&sums.low));
        on.pick(projected.most(high), high).store(&mut sums.high);
        on.pick(projected.least(low), low).store(&mut sums.low);
        on.count_in(&mut sums.visits);
        let counts = if FULL {
            on.and(E::where_set(*shrunk))
        } else {
            on
        };
        if !FULL || counts.bits() != 0 {
            let weighted = loss.weighted_eight(loss.value_of_eight(margin), upper, diag);
            let half = bend.times(E::splat(0.5));
            let open = weighted.plus(old.times(beyond.plus(half)));
            counts.and(open).add_to(&mut sums.open);
        }
        let above = E::load(&self.shrink_above).below(gradient);
        let below = gradient.below(E::load(&self.shrink_below));
        let shrinks = at_zero.and(above).or(at_upper.and(below));
        let held = at_upper.pick(zero.minus(gradient), E::splat(f32::NEG_INFINITY));
        let held = on.pick(at_zero.pick(gradient, held), E::splat(f32::INFINITY));
        let moving = projected.below(zero).or(zero.below(projected));
        let on_bits = on.bits();
        *shrunk = (*shrunk & !on_bits) | (shrinks.bits() & on_bits) | !takes_part.bits();
        RowTerms {
            gradient,
            upper,
            diag,
            moving: moving.bits() & on_bits,
            held,
        }
    }

    /// The coordinate step where the dual variables can move. `curvature`: second derivatives of the shifted dual along
    /// the row without the loss's part. Gives back what to add to v, in multiples of the row.
    #[inline(always)]
    pub(super) fn step<E: Eight, L: LossFunction>(
        &mut self,
        loss: L,
        facing: Facing<'_>,
        row_terms: &RowTerms<E>,
        curvature: &Lanes,
        alpha: &mut Lanes,
    ) -> Lanes {
        let sums = &mut self.sums;
        let old = E::load(alpha);
        let curvature = E::load(curvature).plus(row_terms.diag);
        let wanted = loss.advance_eight(old, row_terms.gradient, curvature, row_terms.upper);
        let after = E::where_set(row_terms.moving).pick(wanted, old);
        after.store(alpha);
        after.add_difference_to(old, &mut sums.alpha);
        let changes = after.below(old).or(old.below(after));
        changes.count_in(&mut sums.updates);
        if L::CURVED {
            add_curvature(&mut sums.diag, row_terms.diag, old, alpha);
        }
        let mut scales = [0.0; LANES];
        let signs = E::load(facing.signs);
        signs.times(after.minus(old)).store(&mut scales);
        if facing.offset != 0.0 {
            for (sum, scale) in sums.offsets.iter_mut().zip(&scales) {
                *sum += facing.offset * f64::from(*scale);
            }
        }
        scales
    }

    /// Second derivatives without the loss's part, where the shift has no metric; `q`: |x|^2, intercept included.
    #[inline(always)]
    pub(super) fn curvature(&self, q: f32) -> Lanes {
        self.damp.map(|damp| q * damp)
    }

    /// 1 / (1 + kappa)
    #[inline(always)]
    pub(super) fn damp(&self) -> &Lanes {
        &self.damp
    }

    /// Sums the losses of a row in a full pass: its scores at the weights of the pass's start and at those of its visit,
    /// its dual variables, and its |x|^2 in the norm of the shift where it is known.
    #[inline(always)]
    pub(super) fn measure<E: Eight, L: LossFunction>(
        &mut self,
        loss: L,
        facing: Facing<'_>,
        at_start: &Lanes,
        at_visit: &Lanes,
        alpha: &Lanes,
        norm: Option<f32>,
    ) {
        let (y, zero) = (E::load(facing.signs), E::splat(0.0));
        let positive = zero.below(y);
        let on = E::where_set(facing.lanes).and(positive.or(y.below(zero)));
        let cost = self.costs::<E>(facing, positive);
        let sums = &mut self.sums;
        let lost = |margin: E| on.and(cost.times(loss.value_of_eight(margin)));
        let margin = y.times(E::load(at_start));
        lost(margin).add_to(&mut sums.start_loss);
        lost(y.times(E::load(at_visit))).add_to(&mut sums.visit_loss);
        let right = zero.below(margin).or(zero.at_most(margin).and(positive));
        on.and(right).count_in(&mut sums.correct);
        let tied = on.and(zero.at_most(margin)).and(margin.at_most(zero));
        if tied.bits() != 0 {
            tied.count_in(&mut sums.ties);
            tied.and(positive).count_in(&mut sums.positive_ties);
            tied.and(y.times(cost)).add_to(&mut sums.tied_cost);
        }
        on.count_in(&mut sums.rows);
        let alpha = E::load(alpha);
        let supports = on.and(zero.below(alpha));
        supports.count_in(&mut sums.support);
        if let Some(norm) = norm {
            supports.count_in(&mut sums.aq_rows);
            let aq = alpha.times(E::splat(norm));
            supports.and(aq).add_to(&mut sums.aq);
        }
    }

    /// Gives up the sums of all lanes.
    pub(super) fn clear(&mut self) {
        self.sums = ZERO;
    }
}

/// Adds d (a^2 - old^2) to each lane's sum.
#[inline(always)]
fn add_curvature<E: Eight>(sums: &mut [f64; LANES], diag: E, old: E, alpha: &Lanes) {
    let (mut before, mut curvature) = ([0.0; LANES], [0.0; LANES]);
    old.store(&mut before);
    diag.store(&mut curvature);
    for k in 0..LANES {
        let (after, before) = (f64::from(alpha[k]), f64::from(before[k]));
        let change = after * after - before * before;
        sums[k] += f64::from(curvature[k]) * change;
    }
}
