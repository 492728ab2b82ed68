//! What rounding rows to 32 bits may change of a certificate. Rows as they come are off by so much of a margin at most (`Rounding` of the
//! facts says by how much): losses are summed up at the worst margins too.

use serde::{Deserialize, Serialize};

use crate::loss::Loss;

/// By how much a row may be off: its margin m, and the row itself, as a vector. A row is off by e with |e| <= length and |<w, e>| <= margin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Off {
    pub margin: f64,
    pub length: f64,
}

impl Off {
    #[inline(always)]
    fn each(self, other: Self, of: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            margin: of(self.margin, other.margin),
            length: of(self.length, other.length),
        }
    }

    fn max(self, other: Self) -> Self {
        self.each(other, f64::max)
    }

    fn min(self, other: Self) -> Self {
        self.each(other, f64::min)
    }

    fn plus(self, other: Self) -> Self {
        self.each(other, |own, other| own + other)
    }

    fn times(self, factor: f64) -> Self {
        self.each(self, |own, _| factor * own)
    }

    fn squared(self) -> Self {
        self.each(self, |own, same| own * same)
    }

    fn root(self) -> Self {
        self.each(self, |own, _| own.sqrt())
    }
}

/// Sums over some of the rows, each at the worst margin that its rounding leaves open, m - off; all are to be multiplied by C.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Rounded {
    /// Sum of c min(L, 1 + s) at m - off.
    losses: f64,
    /// Sum of c a off, with c a the dual variable that goes with m: the slope of the loss; and of c off^2.
    sum: Off,
    squares: Off,
    /// The largest off of a row that may have a dual variable, m <= [`FAR`]; and of the others the largest off / (m - 1): the dual
    /// variables of these times m - 1 are part of the gap.
    near: Off,
    far: Off,
}

/// Beyond the breakpoint so far a dual variable times that distance, which is part of the gap, is much more than it times what a row is off by.
const FAR: f64 = 1.01;

/// What a row comes to that may be off.
#[derive(Debug, Clone, Copy)]
pub struct RoundedRow {
    pub margin: f64,
    pub loss: f64,
    pub off: Off,
    /// The loss beyond which rows cost no more and have no dual variable.
    pub most_loss: f64,
}

/// What is known where rows are not off.
#[derive(Debug, Clone, Copy)]
pub struct Unrounded {
    pub loss: Loss,
    /// Sum of c min(L, 1 + s).
    pub losses: f64,
    /// What the sums are multiplied by: C, or where classes are told apart together C by their number, as primal and dual are a part each.
    pub share: f64,
    pub together: usize,
    /// Whether rows have offsets.
    pub offsets: bool,
}

impl Rounded {
    /// Adds a row of this cost.
    #[inline(always)]
    pub fn take(&mut self, loss: Loss, cost: f64, row: &RoundedRow) {
        let RoundedRow {
            margin,
            loss: own,
            off,
            most_loss,
        } = *row;
        self.losses += cost * loss.value(margin - off.margin).min(most_loss);
        let slope = match loss {
            _ if own > most_loss => 0.0,
            // at the breakpoint any up to its slope; beyond it what a row has is part of the gap
            _ if !loss.is_smooth() => f64::from(u8::from(margin <= FAR)) * loss.slope(),
            _ => loss.steepness(margin),
        };
        self.sum = self.sum.plus(off.times(cost * slope));
        self.squares = self.squares.plus(off.squared().times(cost));
        match margin <= FAR {
            true => self.near = self.near.max(off),
            false => self.far = self.far.max(off.times(1.0 / (margin - 1.0))),
        }
    }

    /// The same with those over other rows.
    pub fn join(self, more: &Self) -> Self {
        Self {
            losses: self.losses + more.losses,
            sum: self.sum.plus(more.sum),
            squares: self.squares.plus(more.squares),
            near: self.near.max(more.near),
            far: self.far.max(more.far),
        }
    }

    /// By how much losses are larger at m - off than these sums at m.
    pub fn more_losses(&self, losses: f64) -> f64 {
        self.losses - losses
    }

    /// By how much the primal may be larger and the dual smaller for rows as they come.
    ///
    /// With E = sum y a e, D = sum (p a - 1/2 d a^2) - 1/2 |v|^2 is smaller by <v, E> + 1/2 |E|^2 at most. The norm of v - w is at most
    /// sqrt(2 (P - D)), so that is sum a |<w, e>| + |E| (sqrt(2 (P - D)) + 1/2 |E|), where |E| <= sum a |e|. Of classes together a row's a is one
    /// of a class less one of another: its norm is sqrt(2) a.
    pub fn widening(&self, (primal, dual): (f64, f64), known: &Unrounded) -> [f64; 2] {
        let Unrounded {
            losses,
            share,
            together,
            ..
        } = *known;
        let above = share * self.more_losses(losses);
        let (parts, norm) = match together {
            0 | 1 => (1.0, 1.0),
            parts => (parts as f64, 2.0),
        };
        let open = (primal - dual).max(0.0);
        let Off { margin, length } = self.sums((primal, dual), known);
        let second = (2.0 * norm * open / parts).sqrt() * length + 0.5 * norm * length * length;
        [above, margin + parts * second]
    }

    /// The sum of a off at most, which is the smaller of two.
    ///
    /// P - D is a sum of 1/2 |v - w|^2 and of what each row's a is away from that of its m. Of a loss of curvature k that is
    /// (a - a(m))^2 / (2 k C c) or more, so sum |a - a(m)| off <= sqrt(2 k (P - D) sum C c off^2). With any loss it is a (m - 1) or more beyond m = 1.
    ///
    /// And sum a <= D + (sqrt(Q) + sqrt(P - D))^2, Q = 1/2 |w|^2 of a straight loss and P of a smooth one: sum a is D and half the squared
    /// norm of v, or of (v, losses), which is sqrt(P - D) away from that of w at most.
    fn sums(&self, (primal, dual): (f64, f64), known: &Unrounded) -> Off {
        let Unrounded {
            loss,
            losses,
            share,
            offsets,
            ..
        } = *known;
        let open = (primal - dual).max(0.0);
        let within = match loss.is_smooth() {
            true => primal,
            false => (primal - share * losses).max(0.0),
        };
        let duals = dual + (within.sqrt() + open.sqrt()).powi(2);
        let far = self.far.times(open);
        let by_largest = self.near.times(duals).plus(far);
        let by_slopes = self.sum.times(share).plus(match loss.curvature() {
            0.0 => far,
            curvature => self.squares.times(2.0 * curvature * open * share).root(),
        });
        match offsets {
            // the dual does not bound the sum of a
            true => by_slopes,
            false => by_largest.min(by_slopes),
        }
    }
}
