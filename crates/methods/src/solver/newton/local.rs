//! What a pass with near rows knows: the primal at all weights within their reach, and a dual there. Its minimum is the next step.
//!
//! | symbol | is |
//! |---|---|
//! | w, s | the weights of the pass, and a step from them |
//! | k | the curvature of the loss, [`super::head`] |
//! | f | what is fixed, 0 as a rule: see [`super::head`] |
//! | z | 1 - y <w, x> |
//! | far, near | rows that keep the sign of z within reach, and those that may not ([`super::near`]) |
//! | G | sum of c x x' of the far rows with z > 0 |
//!
//! primal    F(s) = 1/2 |w + s - f|^2 + C k/2 (sum_far c (z - y <s, x>)^2 + sum_near c max(0, z - y <s, x>)^2), over far rows with z > 0
//! gradient  g(s) = w + s - f - v(s),   v = sum a y x,   a = C k c (z - y <s, x>), of near rows C k c max(0, z - y <s, x>)
//! dual      D(s) = F(s) - 1/2 |g(s)|^2
//!
//! Within reach no a is below 0. So a is feasible, F(s) = P(w + s), and D(s) is its dual: F - D is 1/2 |w + s - f - v|^2, as for any dual
//! variables that are the derivatives of the losses. So one pass at w certifies w + s too, without a pass there. Near the optimum that is a
//! much smaller gap: 1/2 |g(0)|^2 exceeds what is left of P by the factor by which curvatures exceed 1.
//!
//! Update: Newton's method on F, each of its iterations a pass over the near rows; a step that does not lower F is halved.
//! Stop: F - D is a part of the tolerance, or F falls no further.
//!
//! With a free intercept a would have to balance, and D is left out.

use crate::base::memory::{copied, OutOfMemory};
use crate::base::zeros::zeros;
use crate::linalg::lower::Lower;
use crate::objective::report::relative_gap;
use crate::simd::{Isa, Level, Work};
use crate::solver::fixed_weights::{add_row, added, product, Numbers};
use crate::solver::newton::head::{Newton, Next};
use crate::solver::newton::near::{NearRows, Nearness};
use crate::solver::newton::sums::Sums;
use crate::solver::newton::value::no_more_than_rounding_above;

/// Values of near rows gone through before interrupts are looked for.
const VALUES_A_STEP: usize = 1 << 17;
/// It is solved to this part of the tolerance.
const PART: f64 = 0.05;
/// Iterations at most, and halvings of one.
const MOST_ITERATIONS: u32 = 40;
const MOST_HALVINGS: u32 = 30;
/// F has not fallen where it is lower by no more than this part of itself: so much is rounding.
const ROUNDING: f64 = 1e-14;
/// A step is within reach up to this part of it: what rounding may do to a row's distance is far less than the rest.
const WITHIN: f64 = 0.999;
/// Of all words of the rows what near ones take at most: in the first pass, of whose step nothing is known, and behind it. And how far
/// a step is expected to be at most, of the one before.
const FIRST_PART: f64 = 0.02;
const MOST_PART: f64 = 0.25;
const NEXT_STEP: f64 = 0.1;

/// Rows that passes may bring along, and how far the last step was.
pub(super) struct Bringing {
    room: usize,
    dense: usize,
    reach: f64,
}

/// The problem, and how far its solution is.
pub(super) struct Local {
    near: NearRows,
    /// G, and of the far rows v and the sum of c z^2 at s = 0.
    products: Lower,
    v: Vec<f64>,
    loss: f64,
    /// What outliers cost, which have no other part in it.
    constant: f64,
    /// The step so far and F there; the step under way is `base` + `part` of the head's.
    s: Vec<f64>,
    base: Vec<f64>,
    part: f64,
    value: f64,
    /// F - D there.
    left: f64,
    /// Of the near rows at s: v and the sum of c z^2, up to this row, and the word at which it begins.
    own_v: Vec<f64>,
    own_loss: f64,
    at: (usize, usize),
    iterations: u32,
    halvings: u32,
}

impl Newton {
    /// Has passes bring along rows that are near the margin, in so many words at most; rows of so many dense features.
    pub fn bring_near(&mut self, room: usize, dense: usize) {
        self.bringing = Some(Bringing {
            room,
            dense,
            reach: f64::INFINITY,
        });
    }

    /// Which rows the pass that comes brings along: none before a curvature is known, which a sample tells.
    pub(super) fn nearness(&self) -> Result<Option<Nearness>, OutOfMemory> {
        let is_known = self.scales.iter().any(|scale| *scale > 0.0);
        let Some(bringing) = self.bringing.as_ref().filter(|_| is_known && !self.samples) else {
            return Ok(None);
        };
        let mut u = copied(&self.scales)?;
        u.iter_mut().for_each(|scale| *scale *= *scale);
        let part = match bringing.reach.is_finite() {
            true => MOST_PART,
            false => FIRST_PART,
        };
        Ok(Some(Nearness {
            largest: u.iter().copied().fold(0.0, f64::max),
            u: Numbers(u),
            reach: bringing.reach,
            room: bringing.room.min((part * self.pace.words()) as usize) as u64,
            dense: bringing.dense as u32,
        }))
    }

    /// Whether what a pass knows is being solved.
    pub fn is_solving(&self) -> bool {
        self.local.is_some()
    }

    /// Begins to solve what the pass knows, where it brought rows along.
    pub(super) fn begin_local(&mut self) -> Option<Next> {
        let near = self.sums.near.take()?;
        // without memory there is no step
        let local = Local::new(near, &self.sums, self.sums.of_outliers(&self.objective));
        Some(match local {
            Ok(local) => {
                self.local = Some(Box::new(local));
                Next::Near
            }
            Err(_) => self.give_up(),
        })
    }

    /// Goes on with it: over some of the near rows.
    pub fn near(&mut self, level: Level) -> Next {
        let Some(mut local) = self.local.take() else {
            return self.give_up();
        };
        let done = level.run(Visit {
            local: &mut local,
            newton: self,
        });
        match done {
            false => {
                self.local = Some(local);
                Next::Near
            }
            true => self.end_iteration(local, level),
        }
    }

    /// All near rows have been gone over at s.
    fn end_iteration(&mut self, mut local: Box<Local>, level: Level) -> Next {
        let ends = self.w.len() - usize::from(self.objective.free);
        let value = local.evaluate(self, ends);
        let falls = value < local.value - ROUNDING * local.value.abs();
        if !falls && local.iterations > 0 {
            local.halvings += 1;
            if local.halvings > MOST_HALVINGS || local.is_at_rest(value) {
                local.return_to_base();
                return self.end_local(&local);
            }
            local.part *= 0.5;
            local.try_part(&self.step);
            local.begin_visits(&mut self.sums);
            self.local = Some(local);
            return Next::Near;
        }
        local.value = value;
        local.left = 0.5 * product(&self.gradient[..ends], &self.gradient[..ends]);
        if local.left <= PART * self.tolerance * value || local.iterations >= MOST_ITERATIONS {
            return self.end_local(&local);
        }
        local.iterations += 1;
        local.halvings = 0;
        for (step, g) in self.step.iter_mut().zip(&self.gradient) {
            *step = -g;
        }
        if let Some(gram) = &mut self.sums.gram {
            gram.finish(level);
        }
        // the diagonal is that of the products
        (self.sums.costs, self.sums.gathered) = (0.0, 0.0);
        self.local = Some(local);
        self.begin_factoring()
    }

    /// The direction of an iteration is known, which lowers F by `gain` as far as its curvature says.
    pub(super) fn go_within(&mut self, mut local: Box<Local>, gain: f64) -> Next {
        if !(gain > ROUNDING * local.value && gain.is_finite()) {
            return self.end_local(&local);
        }
        local.base.copy_from_slice(&local.s);
        local.part = 1.0;
        local.try_part(&self.step);
        if let (Some(factor), Some(gram)) = (self.factor.take(), &mut self.sums.gram) {
            *gram.sums_mut() = factor.into_memory();
        }
        local.begin_visits(&mut self.sums);
        self.local = Some(local);
        Next::Near
    }

    /// It is solved: whether its dual is enough for w, and else the next pass.
    fn end_local(&mut self, local: &Local) -> Next {
        let squares = local.s.iter().zip(&self.scales);
        let length = squares
            .map(|(s, scale)| (s / scale).powi(2))
            .sum::<f64>()
            .sqrt();
        if !self.objective.free && length <= WITHIN * local.near.reach {
            let (primal, dual) = (self.state.primal, local.value - local.left);
            if dual > self.state.dual {
                self.state.dual = no_more_than_rounding_above(dual, primal);
                self.state.gap = relative_gap(primal, self.state.dual);
            }
        }
        if self.state.gap <= self.tolerance {
            return self.arrive();
        }
        if let Some(bringing) = &mut self.bringing {
            bringing.reach = NEXT_STEP * length;
        }
        let gain = self.state.primal - local.value;
        self.step.copy_from_slice(&local.s);
        self.go(gain)
    }
}

impl Local {
    fn new(near: NearRows, sums: &Sums, constant: f64) -> Result<Self, OutOfMemory> {
        let length = sums.beyond.len();
        let mut products = Lower::new(length)?;
        if let Some(gram) = &sums.gram {
            products.copy_from(gram.sums());
        }
        let [negative, positive] = &sums.sides;
        let mut v = copied(&positive.v)?;
        for (v, negative) in v.iter_mut().zip(&negative.v) {
            *v -= negative;
        }
        Ok(Self {
            near,
            products,
            v,
            loss: negative.loss + positive.loss,
            constant,
            s: zeros(length)?,
            base: zeros(length)?,
            part: 1.0,
            value: f64::INFINITY,
            left: f64::INFINITY,
            own_v: zeros(length)?,
            own_loss: 0.0,
            at: (0, 0),
            iterations: 0,
            halvings: 0,
        })
    }

    /// Begins to go over the near rows.
    fn begin_visits(&mut self, sums: &mut Sums) {
        if let Some(gram) = &mut sums.gram {
            gram.clear();
            gram.sums_mut().copy_from(&self.products);
        }
        self.own_v.fill(0.0);
        self.own_loss = 0.0;
        self.at = (0, 0);
    }

    fn try_part(&mut self, direction: &[f64]) {
        let way = self.base.iter().zip(direction);
        for (s, (base, direction)) in self.s.iter_mut().zip(way) {
            *s = base + self.part * direction;
        }
    }

    fn return_to_base(&mut self) {
        self.s.copy_from_slice(&self.base);
    }

    /// Whether what is left of the way changes nothing that numbers tell.
    fn is_at_rest(&self, value: f64) -> bool {
        (value - self.value).abs() <= ROUNDING * self.value.abs() && self.halvings > 2
    }

    /// F at s, and g in the place of the head's gradient. The first time, at s = 0, what the far rows have is found by what the near
    /// ones take from all.
    fn evaluate(&mut self, newton: &mut Newton, ends: usize) -> f64 {
        let half = newton.objective.half_curvature();
        if self.iterations == 0 {
            self.loss -= self.own_loss;
            for (v, own) in self.v.iter_mut().zip(&self.own_v) {
                *v -= own;
            }
        }
        // G s goes where the gradient will be
        self.products.times(&self.s, &mut newton.gradient);
        let curved = product(&self.s, &newton.gradient);
        let loss = self.own_loss + self.loss + curved - product(&self.v, &self.s) / half;
        let mut norm = 0.0;
        for (column, g) in newton.gradient.iter_mut().enumerate() {
            let fixed = newton.fixed.get(column).copied().unwrap_or(0.0);
            let own = match column < ends {
                true => newton.best[column] + self.s[column] - fixed,
                false => 0.0,
            };
            norm += own * own;
            *g = own - (self.v[column] + self.own_v[column] - 2.0 * half * *g);
        }
        0.5 * norm + half * loss + self.constant
    }
}

/// Goes over some of the near rows at s; true behind the last one.
struct Visit<'a> {
    local: &'a mut Local,
    newton: &'a mut Newton,
}

impl Work for Visit<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<K: Isa>(self) -> bool {
        let Self { local, newton } = self;
        let head = &newton.objective;
        let (mut values, (mut number, mut word)) = (0, local.at);
        for (row, near) in local.near.rows.from(local.at) {
            if values >= VALUES_A_STEP {
                break;
            }
            values += row.values();
            (number, word) = (number + 1, word + row.values());
            let y = near.by.signum();
            let at = head.score::<K>(&row, &newton.best) + head.along::<K>(&row, &local.s);
            let z = head.within(y, at);
            if z <= 0.0 {
                continue;
            }
            local.own_loss += near.by.abs() * z * z;
            let by = head.curvature() * near.by * z;
            add_row::<K>(&mut local.own_v, by, &row, head.intercept);
            if let Some(gram) = &mut newton.sums.gram {
                gram.add::<K>(added(&row, near.by.abs(), head.intercept));
                values += row.values();
            }
        }
        local.at = (number, word);
        number == local.near.rows.len()
    }
}
