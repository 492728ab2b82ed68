//! Losses of a margin m = y <w, x>: what each is, and what of it the dual knows.
//!
//! minimized   1/2 |w|^2 + sum of s L(m),  s = C c the weight of a row
//! dual        sum of p a - 1/2 d a^2, less 1/2 |sum of a y x|^2,  low <= a <= high: what a row adds is -s L*(-a / s)
//!
//! | loss | L(m), z = 1 - m | p | d | high | from |
//! |---|---|---|---|---|---|
//! | hinge | max(0, z) | 1 | 0 | s | Hsieh, Chang, Lin, Keerthi, Sundararajan, ICML 2008, (4) |
//! | squared hinge | max(0, z)^2 | 1 | 1 / (2 s) | none | the same |
//! | Huber's | z^2 / 2 up to z = 1, z - 1/2 beyond, 0 below z = 0 | 1 | 1 / s | s | Huber, Annals of Mathematical Statistics 35, 1964 |
//!
//! The formulas of a loss are those of a form, a file in `losses/`, with its numbers: [`by_loss`] says which. What it is called in SQL is a line
//! of the extension's `request/solver.rs`. The form is chosen once for a run of rows, below the choice of the instruction set, so that the loop
//! over rows has no branch and no call for it, and losses of one form share it. What is written there stands nowhere else; the form for eight heads side by
//! side is tested against the one for a single head. A loss whose conjugate is not quadratic (the logistic one: d is not a number,
//! the step is a root) has its own [`LossFunction::gradient`], [`LossFunction::gap`] and [`LossFunction::advance`].
//!
//! Which methods minimize a loss follows from what it is, by its curvature k = L'' below its breakpoint:
//!
//! | L is | k | minimized by |
//! |---|---|---|
//! | straight | 0 | coordinate descent, planes, interior points, exact kernel machines |
//! | a parabola, k/2 max(0, 1 - m)^2 | > 0 | coordinate descent, Newton's method, interior points, exact kernel machines |
//! | a parabola that goes over into a line | > 0 | coordinate descent, interior points, exact kernel machines |

use serde::{Deserialize, Serialize};

use crate::losses::hinge::Hinge;
use crate::losses::parabola::{self, Parabola};
use crate::simd::eight::Eight;

/// The loss of a margin m = y <w, x>.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Loss {
    /// max(0, 1 - m)
    Hinge,
    /// max(0, 1 - m)^2
    SquaredHinge,
    /// 1/2 max(0, 1 - m)^2 down to a margin of 0, and its tangent below.
    Huber,
    /// 1/2 max(0, 1 - m)^2: planted, so that tests show what a new loss takes.
    #[cfg(any(test, feature = "planted"))]
    HalfSquaredHinge,
}

/// A loss as formulas of one form or another.
#[derive(Debug, Clone, Copy)]
pub enum Formulas {
    Straight(Hinge),
    Bent(Parabola),
}

/// Does what follows with the formulas of the loss that a [`Loss`] names: `by_loss!(named, loss => expression)`.
#[macro_export]
macro_rules! by_loss {
    ($named:expr, $loss:ident => $body:expr) => {
        match $crate::loss::Loss::formulas($named) {
            $crate::loss::Formulas::Straight($loss) => $body,
            $crate::loss::Formulas::Bent($loss) => $body,
        }
    };
}
pub use crate::by_loss;

/// Sums of c, c k and c k^2 over rows of cost c whose loss has its breakpoint at k. Where a parabola goes over into a line it is taken for one
/// less another that begins there, a row of cost -c.
pub type BreakpointMoments = [f64; 3];

impl Loss {
    /// Its line of the table: form and numbers.
    #[inline(always)]
    pub fn formulas(self) -> Formulas {
        match self {
            Self::Hinge => Formulas::Straight(Hinge),
            Self::SquaredHinge => Formulas::Bent(parabola::SQUARED_HINGE),
            Self::Huber => Formulas::Bent(parabola::HUBER),
            #[cfg(any(test, feature = "planted"))]
            Self::HalfSquaredHinge => Formulas::Bent(parabola::HALF_SQUARED_HINGE),
        }
    }

    /// L(m)
    pub fn value(self, margin: f64) -> f64 {
        by_loss!(self, loss => loss.value(margin))
    }

    /// The margin at which L is this, above 0.
    pub fn margin_at(self, value: f64) -> f64 {
        NO_LOSS_FROM - self.within_at(value)
    }

    /// How far within the margin L is this, above 0.
    pub fn within_at(self, value: f64) -> f64 {
        by_loss!(self, loss => loss.within_at(value))
    }

    /// L'' below the breakpoint, 0 of a straight loss.
    pub fn curvature(self) -> f64 {
        by_loss!(self, loss => loss.curvature())
    }

    /// Whether the slope has no jump.
    pub fn is_smooth(self) -> bool {
        self.curvature() > 0.0
    }

    /// Whether it is a parabola all the way down from its breakpoint, which Newton's method here needs.
    pub fn is_parabola(self) -> bool {
        self.is_smooth() && self.second_bend().is_none()
    }

    /// How far within the margin a parabola goes over into a line, where it does.
    pub fn second_bend(self) -> Option<f64> {
        by_loss!(self, loss => second_bend(loss))
    }

    /// -L'(m), 0 from the breakpoint on.
    pub fn steepness(self, margin: f64) -> f64 {
        match margin < NO_LOSS_FROM {
            true => by_loss!(self, loss => loss.steepness(margin)),
            false => 0.0,
        }
    }

    /// The largest -L'(m) m there is: what |w|^2 is at most at an optimum, over C sum c. There the primal is the dual, so |w|^2 = sum
    /// of a m with a = -C c L'(m).
    pub fn largest_norm(self) -> f64 {
        by_loss!(self, loss => loss.largest_norm())
    }

    /// By how much a sum of losses grows at most where every margin is off by `off`, of rows whose weights come to `weight` and whose
    /// losses to no more than `losses`: sum s (-L' off + 1/2 L'' off^2), by Cauchy and Schwarz.
    pub fn most_growth(self, (weight, losses): (f64, f64), off: f64) -> f64 {
        // (L')^2 is 2 L'' L, or less
        (self.most_slopes((weight, losses)) + 0.5 * self.curvature() * weight * off) * off
    }

    /// What slopes come to at most, of rows whose weights come to `weight` and whose losses to no more than `losses`.
    pub fn most_slopes(self, (weight, losses): (f64, f64)) -> f64 {
        match self.curvature() {
            0.0 => self.slope() * weight,
            curvature => (2.0 * curvature * losses * weight)
                .sqrt()
                .min(self.most_steep() * weight),
        }
    }

    /// p, d and the largest dual variable of a row of this weight, in 64 bits.
    pub fn dual_terms(self, weight: f64) -> (f64, f64, f64) {
        let of_row = by_loss!(self, loss => loss.conjugate(weight));
        let high = match self.unbounded() {
            true => f64::INFINITY,
            false => self.most_steep() * weight,
        };
        (of_row.linear, of_row.curvature, high)
    }

    /// The largest -L' there is, infinite where dual variables have no bound.
    fn most_steep(self) -> f64 {
        match self.unbounded() {
            true => f64::INFINITY,
            false => self.steepness(f64::NEG_INFINITY),
        }
    }

    /// Whether a dual variable may grow without end.
    pub fn unbounded(self) -> bool {
        by_loss!(self, loss => loss.is_unbounded())
    }

    /// -L'(0): what a row's dual variable tends to where its score is 0, as a multiple of its weight.
    pub fn slope(self) -> f64 {
        self.steepness(0.0)
    }

    /// [`LossFunction::sum_beyond`]
    pub fn sum_beyond(self, moments: BreakpointMoments, at: f64, sign: f64) -> f64 {
        by_loss!(self, loss => loss.sum_beyond(moments, at, sign))
    }
}

/// [`Loss::second_bend`]
#[inline(always)]
pub fn second_bend<L: LossFunction>(loss: L) -> Option<f64> {
    let from = loss.line_from();
    (L::CURVED && from < f64::INFINITY).then_some(from)
}

/// What the dual has of a row of some weight: p a - 1/2 d a^2 for 0 <= a <= high.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conjugate {
    /// p
    pub linear: f64,
    /// d
    pub curvature: f64,
    /// The largest dual variable, in the precision dual variables are kept in.
    pub high: f32,
}

/// Margins from here on lose nothing; below, the losses of this file are kinked lines and parabolas.
pub const NO_LOSS_FROM: f64 = 1.0;

/// A loss as formulas.
pub trait LossFunction: Copy + Send + Sync + 'static {
    /// Whether d differs from 0, so that the dual needs the sum of d a^2.
    const CURVED: bool;

    /// Whether dual variables have no upper bound.
    fn is_unbounded(self) -> bool;

    /// L'' below the breakpoint.
    fn curvature(self) -> f64;

    /// How far within the margin L is straight from there on; infinite where it never is.
    fn line_from(self) -> f64;

    /// [`Loss::largest_norm`]
    fn largest_norm(self) -> f64;

    /// L(m)
    fn value(self, margin: f64) -> f64;

    /// How far below [`NO_LOSS_FROM`] the margin is where L is this, above 0.
    fn within_at(self, value: f64) -> f64;

    /// -L'(m) for margins below [`NO_LOSS_FROM`].
    fn steepness(self, margin: f64) -> f64;

    /// For a row of this weight.
    fn conjugate(self, weight: f64) -> Conjugate;

    /// The derivative of the negative dual along a row: m - p + d a.
    #[inline(always)]
    fn gradient(self, margin: f64, a: f64, conjugate: &Conjugate) -> f64 {
        (margin - conjugate.linear) + conjugate.curvature * a
    }

    /// What a row leaves of the gap: s L(m) + s L*(-a / s) + a m.
    #[inline(always)]
    fn gap(self, weight: f64, margin: f64, a: f64, conjugate: &Conjugate) -> f64 {
        weight * self.value(margin)
            + a * ((margin - conjugate.linear) + 0.5 * conjugate.curvature * a)
    }

    /// The dual variable behind a Newton step along the row, within its bounds. `inverse`: one over the second derivative
    /// of the negative dual. Not a number where the step is not.
    #[inline(always)]
    fn advance(self, a: f64, gradient: f64, inverse: f64, conjugate: &Conjugate) -> f64 {
        (a - gradient * inverse).clamp(0.0, f64::from(conjugate.high))
    }

    /// The sum of c L over rows whose breakpoints k all lie above `at` (`sign` 1) or below it (-1): the margin's distance from
    /// the breakpoint is |k - at|.
    fn sum_beyond(self, moments: BreakpointMoments, at: f64, sign: f64) -> f64;

    /// L of eight margins.
    fn value_of_eight<E: Eight>(self, margin: E) -> E;

    /// s L from L, with the weight taken from `high` or d.
    fn weighted_eight<E: Eight>(self, value: E, high: E, curvature: E) -> E;

    /// [`Self::advance`] for eight heads, `curvature` being the second derivative; what is not a number stays at `a`.
    #[inline(always)]
    fn advance_eight<E: Eight>(self, a: E, gradient: E, curvature: E, high: E) -> E {
        let wanted = a.minus(gradient.over(curvature));
        let within = wanted.most(E::splat(0.0)).least(high);
        wanted.at_most(wanted).pick(within, a)
    }
}

/// y times [`LossFunction::gradient`], for loops over vectors of 32 bits: of a row with label y = ±1 and decision y m, whose
/// dual variable is a and d its curvature.
#[inline(always)]
pub fn signed_gradient(decision: f64, y: f32, (a, d): (f32, f32)) -> f32 {
    (decision - f64::from(y * NO_LOSS_FROM as f32)) as f32 + y * a * d
}

/// The largest f32 not above `value`, so that a dual variable at it is feasible.
#[inline(always)]
pub(super) fn largest_within(value: f64) -> f32 {
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
    use crate::simd::lanes::{Lanes, LANES};

    const LOSSES: [Loss; 4] = [
        Loss::Hinge,
        Loss::SquaredHinge,
        Loss::HalfSquaredHinge,
        Loss::Huber,
    ];
    const MARGINS: [f64; LANES] = [-30.0, -1.5, 0.0, 0.25, 0.999, 1.0, 1.5, 40.0];

    /// The conjugate by its definition, sup over m of z m - L(m), on a grid.
    fn conjugate(loss: Loss, z: f64) -> f64 {
        let margins = (-4000..=4000).map(|k| f64::from(k) / 100.0);
        margins.fold(f64::NEG_INFINITY, |most, m| most.max(z * m - loss.value(m)))
    }

    #[test]
    fn what_the_dual_has_of_a_row_is_the_conjugate_of_its_loss() {
        for loss in LOSSES {
            for weight in [0.25, 1.0, 3.0] {
                for share in [0.0, 0.3, 1.0] {
                    let a = share * weight;
                    let own = by_loss!(loss, loss => loss.conjugate(weight));
                    let of_dual = own.linear * a - 0.5 * own.curvature * a * a;
                    let expected = -weight * conjugate(loss, -a / weight);
                    assert!((of_dual - expected).abs() < 1e-9, "{loss:?} {weight} {a}");
                    assert_eq!(own.high == f32::MAX, loss.unbounded());
                    assert!(loss.unbounded() || f64::from(own.high) <= weight);
                }
            }
        }
    }

    #[test]
    fn a_row_leaves_no_gap_where_its_dual_variable_is_the_slope_of_its_loss() {
        for loss in LOSSES {
            for margin in MARGINS {
                let (weight, step) = (0.75, 1e-6);
                let a = weight * (loss.value(margin) - loss.value(margin + step)) / step;
                let gap = by_loss!(loss, it => it.gap(weight, margin, a, &it.conjugate(weight)));
                assert!(gap.abs() < 1e-3, "{loss:?} {margin}: {gap}");
                let more = by_loss!(loss, it => it.gap(weight, margin, a * 0.5 + 0.1, &it.conjugate(weight)));
                assert!(more >= gap - 1e-6, "{loss:?} {margin}: {more}");
            }
            let slope = (loss.value(-1e-6) - loss.value(0.0)) / 1e-6;
            assert!((slope - loss.slope()).abs() < 1e-5);
        }
    }

    #[test]
    fn a_loss_has_its_value_at_the_margin_of_it() {
        for loss in LOSSES {
            for value in [0.5, 1.0, 2.25] {
                assert!((loss.value(loss.margin_at(value)) - value).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn gradients_of_vectors_are_those_of_rows() {
        for loss in LOSSES {
            for margin in MARGINS {
                for (y, a) in [(1.0f32, 0.0f32), (-1.0, 0.5), (1.0, 0.75)] {
                    let (decision, wide) = (f64::from(y) * margin, f64::from(a));
                    let (curvature, expected) = by_loss!(loss, it => {
                        let own = it.conjugate(0.75);
                        (own.curvature as f32, it.gradient(margin, wide, &own))
                    });
                    let found = f64::from(y * signed_gradient(decision, y, (a, curvature)));
                    assert!((found - expected).abs() <= 1e-6 * (1.0 + margin.abs()));
                }
            }
        }
    }

    #[test]
    fn eight_heads_get_what_each_would_by_itself() {
        let margins: Lanes = MARGINS.map(|margin| margin as f32);
        let duals: Lanes = [0.0, 0.1, 0.5, 0.75, 0.0, 0.3, 0.75, 0.2];
        let gradients: Lanes = [-3.0, 0.5, 0.0, f32::NAN, 2.0, -0.2, -9.0, 9.0];
        for loss in LOSSES {
            by_loss!(loss, loss => {
                let own = loss.conjugate(0.75);
                let (high, curvature) = ([own.high; LANES], [own.curvature as f32; LANES]);
                let values: Lanes = loss.value_of_eight(margins);
                let weighted = loss.weighted_eight(values, high, curvature);
                let bends = curvature.map(|d| d + 2.0);
                let after = loss.advance_eight(duals, gradients, bends, high);
                for k in 0..LANES {
                    let value = loss.value(margins[k].into());
                    let close = |a: f32, b: f64| (f64::from(a) - b).abs() <= 1e-6 * b.abs();
                    assert!(close(values[k], value) && close(weighted[k], 0.75 * value));
                    let (a, gradient) = (f64::from(duals[k]), f64::from(gradients[k]));
                    let alone = loss.advance(a, gradient, 1.0 / f64::from(bends[k]), &own);
                    match alone.is_nan() {
                        true => assert_eq!(after[k], duals[k]),
                        false => assert!((f64::from(after[k]) - alone).abs() <= 1e-6),
                    }
                }
            });
        }
    }

    #[test]
    fn sums_over_kinks_are_sums_of_losses() {
        // rows with y = 1 lose where their score, shifted by s, is below 1: k = 1 - f is beyond s
        let rows = [(1.0, 0.25), (2.0, 0.75), (0.5, 3.0)];
        let moments = |rows: &mut dyn Iterator<Item = (f64, f64)>| {
            rows.fold([0.0; 3], |[count, first, second], (c, k)| {
                [count + c, first + c * k, second + c * k * k]
            })
        };
        for loss in LOSSES {
            for at in [-1.0, 0.0, 0.25] {
                let bends = |(c, k): &(f64, f64)| {
                    let second = loss.second_bend().map(|bend| (-c, k - bend));
                    [Some((*c, *k)), second].into_iter().flatten()
                };
                let ahead = |(_, k): &(f64, f64)| *k > at;
                let moments = moments(&mut rows.iter().flat_map(bends).filter(ahead));
                let sum: f64 = rows.iter().map(|(c, k)| c * loss.value(1.0 - k + at)).sum();
                assert!((loss.sum_beyond(moments, at, 1.0) - sum).abs() < 1e-12);
                let mirrored = [moments[0], -moments[1], moments[2]];
                assert!((loss.sum_beyond(mirrored, -at, -1.0) - sum).abs() < 1e-12);
            }
        }
    }
}
