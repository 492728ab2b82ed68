//! The C whose optimum has dual variables of a given share of their bounds: what turns the machine of one class with C into that with
//! nu (Schölkopf, Platt, Shawe-Taylor, Smola, Williamson, *Estimating the support of a high-dimensional distribution*, Neural
//! Computation 13, 2001).
//!
//! ```text
//! with nu   minimize 1/2 |u|^2 - r + 1 / (nu n) sum c max(0, r - <u, x>)        over u and r;    n = sum c
//! with C    minimize 1/2 |w|^2 + C sum c max(0, 1 - <w, x>)
//! ```
//!
//! With w = u / r and C = 1 / (nu n r) these have the same optimum, as the second one's conditions are the first one's times 1 / r:
//! the dual variables b of the first add up to 1, so those of the second, a = b / r, to 1 / r = nu n C. That share sum a / (C n) is 1 for a small
//! C and falls as C grows. It is found by the secant method in ln C and ln of the share, each training from the dual variables of the one
//! before.

/// How near to 1 the ratio of the share to nu has to come, and near enough to train to the tolerance.
const NEAR: f64 = 2e-3;
const ROUGHLY_NEAR: f64 = 0.1;
/// The gap until then, and passes.
const ROUGH_TOLERANCE: f64 = 1e-2;
const ROUGH_PASSES: u32 = 100;
/// Trainings at most, and those to the tolerance.
const MOST_TRAININGS: u32 = 40;
const MOST_FINE: u32 = 8;
/// Largest step in ln C, and how far it may be from where it began: rows that no plane parts from the origin have the same share there.
const LONGEST: f64 = 3.5;
const FARTHEST: f64 = 21.0;

/// A C that was tried, as ln C, and ln of its share over nu.
#[derive(Debug, Clone, Copy)]
struct Tried {
    x: f64,
    s: f64,
}

/// A search for C under way.
#[derive(Debug, Clone)]
pub(super) struct NuSearch {
    nu: f64,
    first: f64,
    c: f64,
    /// The nearest below and above that C, and the last one.
    low: Option<Tried>,
    high: Option<Tried>,
    trainings: u32,
    fine: u32,
    /// The share at the C at hand.
    reached: f64,
    /// Whether another method goes on from it, so that it need not come near.
    only_begins: bool,
    /// Whether it begins at a C that was one of nu: the first training may be the last one.
    from_known: bool,
}

impl NuSearch {
    /// Of rows with these costs in all, and a mean of |x|^2: it begins at the C that is known, or where r would be that mean.
    pub(super) fn new(nu: f64, known: Option<f64>, (costs, mean_q): (f64, f64)) -> Self {
        let known = known.filter(|it| *it > 0.0 && it.is_finite());
        let bound = nu * costs * mean_q;
        let first = match (known, bound > 0.0 && bound.is_finite()) {
            (Some(known), _) => known,
            (_, true) => 1.0 / bound,
            (_, false) => 1.0,
        };
        Self {
            nu,
            first,
            c: first,
            low: None,
            high: None,
            trainings: 0,
            fine: 0,
            reached: 1.0,
            only_begins: false,
            from_known: known.is_some(),
        }
    }

    /// The same as a beginning of another method.
    pub(super) fn that_begins(self, only_begins: bool) -> Self {
        Self {
            only_begins,
            ..self
        }
    }

    /// The same for another method, from the C at hand on.
    pub(super) fn anew_at_hand(&self) -> Self {
        Self {
            first: self.c,
            low: None,
            high: None,
            trainings: 0,
            fine: 1,
            only_begins: false,
            ..self.clone()
        }
    }

    pub(super) fn nu(&self) -> f64 {
        self.nu
    }

    /// The C at hand.
    pub(super) fn c(&self) -> f64 {
        self.c
    }

    /// The share of the last training.
    pub(super) fn reached(&self) -> f64 {
        self.reached
    }

    /// Whether there is no such C, as far as can be seen.
    pub(super) fn fails(&self) -> bool {
        !self.only_begins && self.fine == 0 && (self.c / self.first).ln() > FARTHEST
    }

    /// Whether the training at hand goes to the tolerance.
    fn is_fine(&self) -> bool {
        self.fine > 0 || self.from_known && self.trainings == 0
    }

    /// Gap and passes of the training at hand; None: those asked for.
    pub(super) fn stop(&self) -> Option<(f64, u32)> {
        (!self.is_fine()).then_some((ROUGH_TOLERANCE, ROUGH_PASSES))
    }

    /// A training at the C at hand ended with this share. False where it was the last one; else the C at hand is the next one to be tried.
    pub(super) fn goes_on(&mut self, reached: f64) -> bool {
        let was_fine = self.is_fine();
        self.reached = reached;
        self.trainings += 1;
        let found = Tried {
            x: self.c.ln(),
            s: (reached / self.nu).max(f64::MIN_POSITIVE).ln(),
        };
        let is_last = self.trainings >= MOST_TRAININGS || self.fine >= MOST_FINE;
        if was_fine && (found.s.abs() <= NEAR || is_last) {
            return false;
        }
        if self.only_begins {
            if found.s.abs() <= ROUGHLY_NEAR {
                return false;
            }
            if (self.c / self.first).ln() > FARTHEST {
                // what is not found by a map of low rank may be by the kernel itself
                self.c = self.first;
                return false;
            }
        }
        let next = self.next(found);
        if found.s.abs() <= ROUGHLY_NEAR || is_last {
            self.fine += 1;
        }
        self.c = next.exp();
        true
    }

    /// Takes a C that was tried, and says the next one.
    fn next(&mut self, found: Tried) -> f64 {
        let before = match found.s > 0.0 {
            true => self.low.replace(found),
            false => self.high.replace(found),
        };
        let other = match (self.low, self.high) {
            (Some(low), Some(high)) => {
                let wide = high.x - low.x;
                let slope = (high.s - low.s) / wide;
                // what was proved roughly may lie on the wrong side
                if !(wide > 0.0 && slope < 0.0) {
                    return found.x + found.s;
                }
                let x = low.x - low.s / slope;
                return x.clamp(low.x + 0.05 * wide, high.x - 0.05 * wide);
            }
            _ => before,
        };
        let slope = other.map(|it| (found.s - it.s) / (found.x - it.x));
        let step = match slope {
            Some(slope) if slope < -0.05 => -found.s / slope,
            Some(_) => found.s.signum() * LONGEST,
            None => found.s,
        };
        found.x + step.clamp(-LONGEST, LONGEST)
    }
}
