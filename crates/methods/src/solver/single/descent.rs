//! Where Pegasos stands with a head.

use crate::objective::loss::Loss;

/// Rounding of dual variables at their bound.
const ROUNDING: f64 = 1e-6;

/// Where a head stands in its updates.
#[derive(Debug, Clone, Copy)]
pub(in crate::solver) struct Descent {
    loss: Loss,
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
    /// With a loss that bends: the most that it does along a row looked at so far, and the sum of d a^2 over scale^2.
    pub(super) bend: f64,
    pub(super) diag: f64,
    /// The length of the update under way, where the bend allows no more; None: l C / t.
    length: Option<f64>,
    /// Of an update by a set: the rows that have been looked at and then added, and whether |w|^2 is kept up row by row.
    pub(super) place: usize,
    pub(super) keeps_norm: bool,
}

impl Descent {
    pub(in crate::solver) fn new(loss: Loss, rows: usize) -> Self {
        Self {
            loss,
            rows: rows as f64,
            t: 0.0,
            scale: 1.0,
            norm: 0.0,
            mass: 0.0,
            seen: 0.0,
            most: 0.0,
            bend: 0.0,
            diag: 0.0,
            length: None,
            place: 0,
            keeps_norm: false,
        }
    }

    /// Goes on behind so many updates, with dual variables that they left within their bounds.
    pub(in crate::solver) fn go_on(&mut self, updates: u64) {
        self.t = updates as f64;
        self.most = self.t;
    }

    /// Begins the next update at this C: (1 - length / (l C)) w, which is (1 - 1/t) w unless the loss bends too much for
    /// that. Gives back that factor.
    #[inline(always)]
    pub(super) fn shrink(&mut self, c: f64) -> f64 {
        self.t += 1.0;
        let span = self.rows * c;
        self.length = Some(1.0 / self.bend).filter(|length| *length < span / self.t);
        let factor = match self.length {
            Some(length) => 1.0 - length / span,
            None if self.t > 1.0 => 1.0 - 1.0 / self.t,
            // weights are 0, and stay so whatever they are multiplied by
            None => 1.0,
        };
        self.scale *= factor;
        self.norm *= factor * factor;
        factor
    }

    /// What the update adds of a row of this cost, at which the loss is so steep, one of `size`.
    #[inline(always)]
    pub(super) fn step(&self, c: f64, cost: f64, steepness: f64, size: f64) -> f64 {
        match self.length {
            Some(length) => length * cost * steepness / size,
            None => c * cost * steepness * self.rows / (self.t * size),
        }
    }

    /// The projection of equation 13.
    #[inline(always)]
    pub(super) fn project(&mut self, c: f64) {
        let most = c * self.rows.max(self.mass) * self.loss.largest_norm();
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
