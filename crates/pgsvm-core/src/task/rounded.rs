//! What rounding rows to 32 bits may change of a certificate. Rows as they come are off by so much of a margin at most (`Rounding` of the
//! facts says by how much): losses are summed up at the worst margins too.

use serde::{Deserialize, Serialize};

/// Sums over some of the rows, each at the worst margin that its rounding leaves open, m - off.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Rounded {
    /// Sum of c min(L, 1 + s).
    pub losses: f64,
    /// The largest off of a row that may have a dual variable, m <= [`FAR`]; and of the others the largest off / (m - 1): the dual
    /// variables of these times m - 1 are part of the gap.
    pub near: f64,
    pub far: f64,
}

const FAR: f64 = 2.0;

impl Rounded {
    /// Adds a row at this margin, off by so much at most, and of this loss at m - off.
    #[inline(always)]
    pub fn take(&mut self, cost: f64, (margin, off): (f64, f64), loss: f64) {
        self.losses += cost * loss;
        match margin <= FAR {
            true => self.near = self.near.max(off),
            false => self.far = self.far.max(off / (margin - 1.0)),
        }
    }

    /// The same with those over other rows.
    pub fn join(self, more: &Self) -> Self {
        Self {
            losses: self.losses + more.losses,
            near: self.near.max(more.near),
            far: self.far.max(more.far),
        }
    }

    /// By how much the primal may be larger and the dual smaller for rows as they come, if that is more than the share `least` of the primal.
    /// `losses`: C times what these sums are more than those at m.
    ///
    /// D = sum (p a - 1/2 d a^2) - 1/2 |v|^2 is smaller by sum a off at most. There sum a <= D + (sqrt(P) + sqrt(P - D))^2, as the norm
    /// of (w, losses) is sqrt(P) and that of (v, their a) is sqrt(P - D) away at most. What is of the second order in 2^-24 is left out.
    pub fn widening(
        &self,
        (primal, dual): (f64, f64),
        losses: f64,
        least: f64,
    ) -> Option<[f64; 2]> {
        let open = (primal - dual).max(0.0);
        let duals = dual + (primal.sqrt() + open.sqrt()).powi(2);
        let below = duals * self.near + open * self.far;
        (losses + below > least * primal).then_some([losses, below])
    }
}
