//! Where Pegasos stands with a head.

/// Rounding of dual variables at their bound.
const ROUNDING: f64 = 1e-6;

/// Where a head stands in its updates.
#[derive(Debug, Clone, Copy)]
pub(in crate::solver) struct Descent {
    /// l, rows of other heads counted as of cost 0.
    pub(super) rows: f64,
    /// Updates begun.
    pub(super) t: f64,
    /// w = scale u, and so for dual variables.
    pub(super) scale: f64,
    /// |w|^2
    pub(super) norm: f64,
    /// Costs of all rows, and of those that this pass has seen.
    pub(super) mass: f64,
    pub(super) seen: f64,
    /// The largest t a / (C c) just behind an update: between updates of a row that only falls.
    pub(super) most: f64,
}

impl Descent {
    pub(in crate::solver) fn new(rows: usize) -> Self {
        Self {
            rows: rows as f64,
            t: 0.0,
            scale: 1.0,
            norm: 0.0,
            mass: 0.0,
            seen: 0.0,
            most: 0.0,
        }
    }

    /// Begins the next update: (1 - 1/t) w. Gives back that factor.
    #[inline(always)]
    pub(super) fn shrink(&mut self) -> f64 {
        self.t += 1.0;
        // at t = 1 weights are 0, and stay so whatever they are multiplied by
        let factor = if self.t > 1.0 {
            1.0 - 1.0 / self.t
        } else {
            1.0
        };
        self.scale *= factor;
        self.norm *= factor * factor;
        factor
    }

    /// The projection of equation 13.
    #[inline(always)]
    pub(super) fn project(&mut self, c: f64) {
        let most = c * self.rows.max(self.mass);
        if self.norm > most {
            self.scale *= (most / self.norm).sqrt();
            self.norm = most;
        }
    }

    /// The factor that makes dual variables feasible.
    pub(super) fn theta(&self) -> f64 {
        ((1.0 - ROUNDING) * self.t / self.most).min(1.0)
    }
}
