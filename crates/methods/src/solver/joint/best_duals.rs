//! The dual variables of the best dual of each head, lane by lane as the present ones.

use super::JointHeads;
use crate::base::interrupts;
use crate::simd::lanes::{Lanes, LANES};

/// Rows between two looks for an interrupt.
pub(super) const ROWS_A_LOOK: usize = 1024;

impl JointHeads {
    /// Lays the dual variables of lanes aside, multiplied by a factor for each; None: not of that lane.
    pub(super) fn keep_best_duals(&mut self, factors: &[Option<f64>]) {
        for (block, factors) in factors.chunks_exact(LANES).enumerate() {
            if factors.iter().any(Option::is_some) {
                let lays: [bool; LANES] = std::array::from_fn(|k| factors[k].is_some());
                let factors = std::array::from_fn(|k| factors[k].unwrap_or(1.0));
                self.keep_best_of_block(block, &lays, &factors);
            }
        }
    }

    fn keep_best_of_block(&mut self, block: usize, lays: &[bool; LANES], factors: &[f64; LANES]) {
        let (width, as_they_are) = (self.width, *factors == [1.0; LANES]);
        let rows = self.alpha.chunks(width * ROWS_A_LOOK);
        for (alpha, best_duals) in rows.zip(self.best_duals.chunks_mut(width * ROWS_A_LOOK)) {
            interrupts::check();
            let alpha = alpha.iter().skip(block).step_by(width);
            for (alpha, best_duals) in alpha.zip(best_duals.iter_mut().skip(block).step_by(width)) {
                let new: Lanes = match as_they_are {
                    true => *alpha,
                    false => std::array::from_fn(|k| (f64::from(alpha[k]) * factors[k]) as f32),
                };
                *best_duals = std::array::from_fn(|k| if lays[k] { new[k] } else { best_duals[k] });
            }
        }
    }

    /// Puts the best dual variables in the place of a head's present ones, and these, multiplied by this factor, in
    /// theirs.
    pub(super) fn exchange_duals(&mut self, head: usize, factor: f64) {
        let (block, k) = (self.lane_of[head] / LANES, self.lane_of[head] % LANES);
        let alpha = self.alpha.iter_mut().skip(block).step_by(self.width);
        let best_duals = self.best_duals.iter_mut().skip(block).step_by(self.width);
        for (row, (alpha, best_duals)) in alpha.zip(best_duals).enumerate() {
            if row % ROWS_A_LOOK == 0 {
                interrupts::check();
            }
            let present = (f64::from(alpha[k]) * factor) as f32;
            alpha[k] = std::mem::replace(&mut best_duals[k], present);
        }
    }

    /// Lays the dual variables of a head aside, multiplied by this factor.
    pub(super) fn keep_best_of_head(&mut self, head: usize, factor: f64) {
        let (block, k) = (self.lane_of[head] / LANES, self.lane_of[head] % LANES);
        let lays: [bool; LANES] = std::array::from_fn(|lane| lane == k);
        self.keep_best_of_block(block, &lays, &[factor; LANES]);
    }
}
