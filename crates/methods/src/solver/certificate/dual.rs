//! The dual objective at given dual variables, and what a verifying pass concludes from it.

/// What a verifying pass found about the dual.
#[derive(Debug, Clone, Copy)]
pub(in crate::solver) struct Proved {
    /// |v|^2, v recomputed.
    pub(in crate::solver) norm: f64,
    /// Sum of a, of a y o with offsets o, and of diag a^2.
    pub(in crate::solver) alpha: f64,
    pub(in crate::solver) offsets: f64,
    pub(in crate::solver) diag: f64,
    /// Rows with a > 0, and what their losses count.
    pub(in crate::solver) support: u64,
    pub(in crate::solver) weight: f64,
    /// By what dual variables of negative and of positive rows are multiplied to be those that are proved: their sum is the same then, where
    /// the intercept is free.
    pub(in crate::solver) balance: [f64; 2],
    /// The three sums before that.
    pub(in crate::solver) held: [f64; 3],
}

impl Default for Proved {
    fn default() -> Self {
        Self {
            norm: 0.0,
            alpha: 0.0,
            offsets: 0.0,
            diag: 0.0,
            support: 0,
            weight: 0.0,
            balance: BALANCED,
            held: [0.0; 3],
        }
    }
}

/// Dual variables as they are.
pub(in crate::solver) const BALANCED: [f64; 2] = [1.0; 2];

impl Proved {
    /// What dual variables count in the dual beside their squares.
    pub(in crate::solver) fn linear(&self) -> f64 {
        self.alpha - self.offsets
    }

    /// These sums and those of other rows; |v|^2 and balance are none.
    pub(in crate::solver) fn with(self, more: Proved) -> Proved {
        Proved {
            norm: 0.0,
            balance: BALANCED,
            held: [0.0; 3],
            alpha: self.alpha + more.alpha,
            offsets: self.offsets + more.offsets,
            diag: self.diag + more.diag,
            support: self.support + more.support,
            weight: self.weight + more.weight,
        }
    }
}

/// What follows from a verifying pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::solver) enum Verified {
    /// The head has ended with its dual variables shrunk by this factor.
    Ended { shrink: f64 },
    /// The head has ended with the best dual variables.
    EndedWithBest,
    /// The best ones may be better: they change places with the present ones, shrunk by this factor, and are proved next.
    Again { shrink: f64 },
    /// The primal of the best weights is summed exactly next.
    Exactly,
    /// It goes on from the recomputed v; `keep`: the dual variables are the best, shrunk by this factor.
    GoesOn { lay: Option<f64> },
    /// It begins with the recomputed v and this kappa. `at_v`: with its centre there too, else where that stands.
    Begins {
        kappa: f64,
        at_v: bool,
        lay: Option<f64>,
    },
}

/// max over t of D(t a), where 0 <= t <= 1 (any t >= 0 without upper bounds), and that t.
pub(in crate::solver) fn shrunk_dual(
    sum: f64,
    norm: f64,
    diag: f64,
    unbounded: bool,
) -> (f64, f64) {
    let full = sum - 0.5 * (norm + diag);
    let best = sum / (norm + diag);
    if !full.is_finite() || !best.is_finite() {
        return if full.is_finite() {
            (full, 1.0)
        } else {
            (0.0, 0.0)
        };
    }
    if best < 1.0 || unbounded {
        let t = best.max(0.0);
        return (t * sum - 0.5 * t * t * (norm + diag), t);
    }
    (full, 1.0)
}
