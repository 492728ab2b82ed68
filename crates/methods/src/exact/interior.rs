//! The dual over all candidates at once, by interior points. If C is very large, steps along pairs hardly come to an end; this takes some
//! twenty factorizations whatever C is.
//!
//! ```text
//! dual      max sum of (p a_i - 1/2 d_i a_i²) - 1/2 sum of a_i a_j y_i y_j k(x_i, x_j),  0 <= a_i <= u_i, all in 64 bits
//! symbols   Q: y_i y_j k(x_i, x_j) with d_i on its diagonal; g = Q a - p
//! optimum   g = l - m,  a_i l_i = 0,  (u_i - a_i) m_i = 0,  l, m >= 0
//! step      (Q + l/a + m/(u - a)) da = l - m - g + (t - a l)/a - (t - (u - a) m)/(u - a),  t falls to 0
//! free b    g has y b, and the step a border: y'(da) = -(sum of y a), with db for its multiplier
//! ```
//!
//! The solution lies strictly between the bounds, so every candidate would be a support vector. Therefore dual variables that are nearer to a
//! bound than their multiplier is to 0 are put there, and the others are solved for once more. A candidate whose bound turns out wrong is
//! free in the next try.
//!
//! Mehrotra, *On the implementation of a primal-dual interior point method*, SIAM Journal on Optimization 2, 1992; for support
//! vector machines Ferris, Munson, the same 13, 2003.

use crate::base::interrupts;
use crate::base::memory::{copied, filled, gathered, OutOfMemory, Room as _};
use crate::exact::candidates::Candidates;
use crate::linalg::cholesky::Cholesky;
use crate::linalg::lower::Lower;
use crate::objective::loss::{by_loss, Loss, LossFunction as _};
use crate::simd::Level;

/// Steps at most, and the part of the primal that the gap is to come to: of all candidates, and of those that are free.
const STEPS: u32 = 80;
const CLOSE: f64 = 1e-7;
const CLOSER: f64 = 1e-10;
/// Steps in which the gap has not halved: what is left is rounding.
const MOST_STALLED: u32 = 8;
/// Of the way to the nearest bound so much is gone.
const PART: f64 = 0.99;
/// Tries to find the dual variables at bounds, and the gap, in parts of the primal, at which they are found.
const TRIES: u32 = 6;
const FOUND_GAP: f64 = 1e-5;

/// Whether so many candidates can be solved for at once in so many bytes.
pub(super) fn fits(candidates: usize, bytes: usize) -> bool {
    // the matrix, its factor, and that of those that are free
    3 * 8 * Lower::numbers(candidates) <= bytes
}

/// Solves the dual over the candidates: their dual variables, and their decisions.
pub(super) fn solve(candidates: &mut Candidates) -> Result<(), OutOfMemory> {
    // nothing lies between bounds of rows of one side whose dual variables come to 0
    if candidates.constant.is_free && !candidates.has_both_sides() {
        return candidates.place_intercept();
    }
    let all = Bounded::of(candidates)?;
    let near = all.solve(CLOSE, 0.0)?;
    let mut best = all.at(near.a, near.b)?;
    let mut places = near.places;
    for _ in 0..TRIES {
        let bounded = all.at_bounds(&mut places, best.primal)?;
        if bounded.gap <= best.gap.max(FOUND_GAP * bounded.primal) {
            best = bounded;
            break;
        }
    }
    for (at, dual) in best.a.iter().enumerate() {
        candidates.duals[at] = *dual;
        candidates.decisions[at] = f64::from(candidates.sides[at]) * best.margins[at];
    }
    candidates.take_intercept(best.b);
    Ok(())
}

/// Where a dual variable is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    AtZero,
    Free,
    AtMost,
}

/// A row, as the dual has it.
#[derive(Clone, Copy)]
struct Term {
    weight: f64,
    /// d, and u: [`f64::MAX`] where there is none.
    curvature: f64,
    high: f64,
    /// The part of the margin that its offset is, and that is made by others, which stay.
    given: f64,
}

/// The dual over some rows.
struct Bounded {
    loss: Loss,
    matrix: Lower,
    terms: Vec<Term>,
    /// Where the intercept is free.
    balance: Option<Balance>,
}

/// That sum of y a is 0: the sides y, and the sum over others, which stay.
struct Balance {
    sides: Vec<f64>,
    given: f64,
}

impl Balance {
    /// y times these.
    fn times(&self, a: &[f64]) -> f64 {
        self.sides.iter().zip(a).map(|(y, a)| y * a).sum()
    }
}

/// What interior points have come to.
struct Inside {
    a: Vec<f64>,
    b: f64,
    places: Vec<Place>,
}

/// Dual variables, the margins at them, and what both come to.
struct Found {
    a: Vec<f64>,
    b: f64,
    margins: Vec<f64>,
    gap: f64,
    primal: f64,
}

impl Bounded {
    fn of(candidates: &Candidates) -> Result<Self, OutOfMemory> {
        let loss = candidates.loss();
        let term = |at: usize| {
            let (_, curvature, _) = loss.dual_terms(candidates.weights[at]);
            Term {
                weight: candidates.weights[at],
                curvature,
                high: match loss.unbounded() {
                    true => f64::MAX,
                    false => candidates.highs[at],
                },
                given: candidates.beside(at),
            }
        };
        let terms: Vec<Term> = gathered((0..candidates.len()).map(term))?;
        let is_free = candidates.constant.is_free;
        let constant = match is_free {
            true => 0.0,
            false => candidates.constant.penalty,
        };
        let mut matrix = Lower::new(terms.len())?;
        candidates.each_wide_row(|row, values| {
            let own = f64::from(candidates.sides[row]);
            for (column, value) in values[..=row].iter().enumerate() {
                let sides = own * f64::from(candidates.sides[column]);
                matrix.set(row, column, sides * (value + constant));
            }
            let diagonal = matrix.get(row, row) + terms[row].curvature;
            matrix.set(row, row, diagonal);
        })?;
        let balance = match is_free {
            true => Some(Balance {
                sides: gathered(candidates.sides.iter().map(|side| f64::from(*side)))?,
                given: 0.0,
            }),
            false => None,
        };
        Ok(Self {
            loss,
            matrix,
            terms,
            balance,
        })
    }

    /// Q a
    fn times(&self, a: &[f64]) -> Result<Vec<f64>, OutOfMemory> {
        let mut product = filled(0.0, a.len())?;
        self.matrix.times(a, &mut product);
        Ok(product)
    }

    /// What these dual variables come to, with this intercept where it is free.
    fn at(&self, a: Vec<f64>, b: f64) -> Result<Found, OutOfMemory> {
        let mut margins = self.times(&a)?;
        if let Some(balance) = &self.balance {
            let sides = margins.iter_mut().zip(&balance.sides);
            sides.for_each(|(margin, y)| *margin += y * b);
        }
        let (mut gap, mut primal) = (0.0, 0.0);
        for ((margin, a), term) in margins.iter_mut().zip(&a).zip(&self.terms) {
            *margin += term.given - term.curvature * a;
            by_loss!(self.loss, loss => {
                gap += loss.gap(term.weight, *margin, *a, &loss.conjugate(term.weight));
                primal += 0.5 * a * *margin + term.weight * loss.value(*margin);
            });
        }
        Ok(Found {
            a,
            b,
            margins,
            gap,
            primal,
        })
    }

    /// Solves for those that are free beside the others at their bounds. Whose margin then is on the wrong side of 1 becomes free.
    fn at_bounds(&self, places: &mut [Place], primal: f64) -> Result<Found, OutOfMemory> {
        let mut free: Vec<usize> = Vec::new();
        let all = places.iter().enumerate();
        free.room(places.len())?
            .extend(all.filter(|(_, it)| **it == Place::Free).map(|(at, _)| at));
        let mut a = filled(0.0, places.len())?;
        for ((a, place), term) in a.iter_mut().zip(&*places).zip(&self.terms) {
            if *place == Place::AtMost {
                *a = term.high;
            }
        }
        let given = self.times(&a)?;
        let mut matrix = Lower::new(free.len())?;
        for (row, at) in free.iter().enumerate() {
            for (column, other) in free[..=row].iter().enumerate() {
                matrix.set(row, column, self.matrix.get(*at, *other));
            }
            interrupts::worked(row);
        }
        let terms = free.iter().map(|at| Term {
            given: self.terms[*at].given + given[*at],
            ..self.terms[*at]
        });
        let balance = match &self.balance {
            Some(all) => Some(Balance {
                sides: gathered(free.iter().map(|at| all.sides[*at]))?,
                given: all.times(&a),
            }),
            None => None,
        };
        let some = Self {
            loss: self.loss,
            matrix,
            terms: gathered(terms)?,
            balance,
        };
        let inside = some.solve(CLOSER, primal)?;
        for (at, value) in free.iter().zip(&inside.a) {
            a[*at] = *value;
        }
        let found = self.at(a, inside.b)?;
        for (place, margin) in places.iter_mut().zip(&found.margins) {
            match place {
                Place::AtZero if *margin < 1.0 => *place = Place::Free,
                Place::AtMost if *margin > 1.0 => *place = Place::Free,
                _ => {}
            }
        }
        Ok(found)
    }

    /// By interior points, until the gap is this part of the primal, which is at least `primal`.
    fn solve(&self, close: f64, primal: f64) -> Result<Inside, OutOfMemory> {
        let mut point = Point::new(self)?;
        let mut factor = Lower::new(self.terms.len())?;
        let (mut least, mut stalled) = (f64::INFINITY, 0);
        let mut best = (copied(&point.a)?, point.b);
        for _ in 0..STEPS {
            let found = self.at(std::mem::take(&mut point.a), point.b)?;
            let Found { a, margins, .. } = found;
            point.a = a;
            stalled = if found.gap <= 0.5 * least {
                0
            } else {
                stalled + 1
            };
            if found.gap < least {
                least = found.gap;
                best.0.copy_from_slice(&point.a);
                best.1 = point.b;
            }
            if found.gap <= close * found.primal.max(primal) || stalled >= MOST_STALLED {
                break;
            }
            factor = point.step(self, &margins, factor)?;
        }
        Ok(Inside {
            places: point.places(self)?,
            a: best.0,
            b: best.1,
        })
    }
}

/// Dual variables between their bounds, and the multipliers of these.
struct Point {
    a: Vec<f64>,
    b: f64,
    /// l and m: [`f64::MAX`] less a, where there is no bound above, has a multiplier of 0.
    below: Vec<f64>,
    above: Vec<f64>,
}

/// Where a point may go.
struct Direction {
    a: Vec<f64>,
    b: f64,
    below: Vec<f64>,
    above: Vec<f64>,
}

/// The matrix of a step, and its border where the intercept is free.
struct Factored<'a> {
    factor: &'a Cholesky,
    scales: &'a [f64],
    /// With what the matrix is solved to, of the sides, and their product with it.
    border: Option<(&'a Balance, Vec<f64>, f64)>,
}

impl<'a> Factored<'a> {
    fn new(
        factor: &'a Cholesky,
        scales: &'a [f64],
        balance: Option<&'a Balance>,
    ) -> Result<Self, OutOfMemory> {
        let mut this = Self {
            factor,
            scales,
            border: None,
        };
        if let Some(balance) = balance {
            let mut of_sides = copied(&balance.sides)?;
            this.solve_matrix(&mut of_sides);
            let product = balance.times(&of_sides);
            this.border = Some((balance, of_sides, product));
        }
        Ok(this)
    }

    fn solve_matrix(&self, wanted: &mut [f64]) {
        let scale = |it: &mut [f64]| it.iter_mut().zip(self.scales).for_each(|(it, s)| *it *= s);
        scale(wanted);
        self.factor.solve(wanted);
        scale(wanted);
    }

    /// Solves for this right side, from these dual variables on: the step, in its place, and that of the intercept.
    fn solve(&self, wanted: &mut [f64], a: &[f64]) -> f64 {
        self.solve_matrix(wanted);
        let Some((balance, of_sides, product)) = &self.border else {
            return 0.0;
        };
        let sum = balance.given + balance.times(a);
        let b = (balance.times(wanted) + sum) / product;
        let steps = wanted.iter_mut().zip(of_sides);
        steps.for_each(|(step, of_side)| *step -= b * of_side);
        b
    }
}

impl Point {
    /// In the middle.
    fn new(all: &Bounded) -> Result<Self, OutOfMemory> {
        let a: Vec<f64> = gathered(all.terms.iter().map(|it| 0.5 * it.high.min(it.weight)))?;
        let mut g = all.times(&a)?;
        for (g, term) in g.iter_mut().zip(&all.terms) {
            *g += term.given - 1.0;
        }
        let mean = g.iter().map(|g| g.abs()).sum::<f64>() / g.len().max(1) as f64;
        let apart = mean.max(f64::MIN_POSITIVE);
        let above = g.iter().zip(&all.terms).map(|(g, it)| match it.bounded() {
            true => (-g).max(0.0) + apart,
            false => 0.0,
        });
        Ok(Self {
            above: gathered(above)?,
            below: gathered(g.iter().map(|g| g.max(0.0) + apart))?,
            a,
            b: 0.0,
        })
    }

    /// The mean of a l and (u - a) m, so far along a direction.
    fn mean(&self, all: &Bounded, way: Option<(&Direction, f64)>) -> f64 {
        let (mut sum, mut count) = (0.0, 0.0);
        for (at, term) in all.terms.iter().enumerate() {
            let [a, below, above] = match way {
                None => [self.a[at], self.below[at], self.above[at]],
                Some((way, t)) => [
                    self.a[at] + t * way.a[at],
                    self.below[at] + t * way.below[at],
                    self.above[at] + t * way.above[at],
                ],
            };
            (sum, count) = (sum + a * below, count + 1.0);
            if term.bounded() {
                (sum, count) = (sum + (term.high - a) * above, count + 1.0);
            }
        }
        sum / count
    }

    /// A step of a predictor and a corrector, with the margins here; `memory`: of a matrix as large.
    fn step(
        &mut self,
        all: &Bounded,
        margins: &[f64],
        mut memory: Lower,
    ) -> Result<Lower, OutOfMemory> {
        memory.copy_from(&all.matrix);
        let mut scales = filled(0.0, all.terms.len())?;
        for (at, scale) in scales.iter_mut().enumerate() {
            let own = memory.get(at, at) + self.below[at] / self.a[at];
            let own = own + self.above[at] / (all.terms[at].high - self.a[at]);
            *scale = own.sqrt().recip();
        }
        memory.scale(&scales, 1.0);
        (0..scales.len()).for_each(|at| memory.set(at, at, 1.0));
        let mut factor = Cholesky::new(memory);
        while !factor.is_done() {
            factor.step(Level::best());
        }
        let mean = self.mean(all, None);
        let factored = Factored::new(&factor, &scales, all.balance.as_ref())?;
        let towards =
            |targets: &dyn Fn(usize) -> [f64; 2]| self.direction(all, margins, &factored, targets);
        let straight = towards(&|_| [0.0; 2])?;
        let reached = self.mean(all, Some((&straight, self.farthest(all, &straight))));
        let target = mean * (reached / mean).clamp(0.0, 1.0).powi(3);
        let way = towards(&|at| {
            [
                target - straight.a[at] * straight.below[at],
                target + straight.a[at] * straight.above[at],
            ]
        })?;
        let length = (PART * self.farthest(all, &way)).min(1.0);
        self.b += length * way.b;
        for (own, way) in [
            (&mut self.a, &way.a),
            (&mut self.below, &way.below),
            (&mut self.above, &way.above),
        ] {
            for (own, way) in own.iter_mut().zip(way) {
                *own += length * way;
            }
        }
        Ok(factor.into_memory())
    }

    /// The direction in which a l and (u - a) m become these.
    fn direction(
        &self,
        all: &Bounded,
        margins: &[f64],
        factored: &Factored<'_>,
        targets: &dyn Fn(usize) -> [f64; 2],
    ) -> Result<Direction, OutOfMemory> {
        let count = self.a.len();
        let lacking = |at: usize| {
            let [below, above] = targets(at);
            let room = all.terms[at].high - self.a[at];
            [
                below - self.a[at] * self.below[at],
                above - room * self.above[at],
                room,
            ]
        };
        let mut a = filled(0.0, count)?;
        for (at, wanted) in a.iter_mut().enumerate() {
            let term = &all.terms[at];
            let g = margins[at] - 1.0 + term.curvature * self.a[at];
            let [below, above, room] = lacking(at);
            *wanted = self.below[at] - self.above[at] - g + below / self.a[at] - above / room;
        }
        let b = factored.solve(&mut a, &self.a);
        let below = (0..count).map(|at| (lacking(at)[0] - self.below[at] * a[at]) / self.a[at]);
        let below = gathered(below)?;
        let above = (0..count).map(|at| {
            let [_, above, room] = lacking(at);
            (above + self.above[at] * a[at]) / room
        });
        Ok(Direction {
            above: gathered(above)?,
            below,
            a,
            b,
        })
    }

    /// How far along a direction a bound is; 1 at most, divided by the part that is gone.
    fn farthest(&self, all: &Bounded, way: &Direction) -> f64 {
        let mut farthest = 1.0 / PART;
        let mut look = |from: f64, by: f64| {
            if by < 0.0 {
                farthest = f64::min(farthest, from / -by);
            }
        };
        for (at, term) in all.terms.iter().enumerate() {
            look(self.a[at], way.a[at]);
            look(self.below[at], way.below[at]);
            if term.bounded() {
                look(term.high - self.a[at], -way.a[at]);
                look(self.above[at], way.above[at]);
            }
        }
        farthest
    }

    /// Who is nearer to a bound than its multiplier is to 0.
    fn places(&self, all: &Bounded) -> Result<Vec<Place>, OutOfMemory> {
        let most = self.a.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        gathered(all.terms.iter().enumerate().map(|(at, term)| {
            let whole = if term.bounded() { term.high } else { most };
            let room = (term.high - self.a[at]) / whole;
            match self.below[at] > self.a[at] / whole {
                true => Place::AtZero,
                false if term.bounded() && self.above[at] > room => Place::AtMost,
                false => Place::Free,
            }
        }))
    }
}

impl Term {
    fn bounded(&self) -> bool {
        self.high < f64::MAX
    }
}
