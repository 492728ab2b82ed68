//! What Newton's method takes from a head and gives back to it. The same for heads one by one and heads side by side.

use crate::base::memory::OutOfMemory;
use crate::simd::Real;
use crate::solver::ledger::Ledgers;
use crate::solver::newton::head::Newton;
use crate::solver::newton::pace::Costs;
use crate::solver::{Heads, Solver};

/// A holder of heads that Newton's method solves.
pub trait NewtonHeads: Ledgers {
    /// The method for a head, from where that is to begin; None where another one solves it.
    fn newton(&self, head: usize, costs: Costs) -> Result<Option<Newton>, OutOfMemory>;
    /// Takes what a pass over all rows has found for a head, which ends where the method has `arrived`, and where that is enough.
    fn take_newton(&mut self, head: usize, newton: &Newton, arrived: bool);
    /// The method goes no further with a head.
    fn leave_newton(&mut self, head: usize, newton: &Newton);
}

impl<T: Real> NewtonHeads for Solver<T> {
    fn newton(&self, head: usize, costs: Costs) -> Result<Option<Newton>, OutOfMemory> {
        match &self.heads {
            Heads::Single(singles) if self.by_newton => singles.heads[head].newton(costs).map(Some),
            _ => Ok(None),
        }
    }

    fn take_newton(&mut self, head: usize, newton: &Newton, arrived: bool) {
        if let Heads::Single(singles) = &mut self.heads {
            singles.heads[head].take_from(newton, arrived);
        }
    }

    fn leave_newton(&mut self, head: usize, newton: &Newton) {
        if let Heads::Single(singles) = &mut self.heads {
            singles.heads[head].leave(newton);
        }
    }
}

impl<T: Real> Solver<T> {
    /// Whether Newton's method solves its heads now.
    pub fn by_newton(&self) -> bool {
        self.by_newton
    }

    /// Whether Newton's method solved them, or does.
    pub fn was_by_newton(&self) -> bool {
        self.was_by_newton
    }

    /// The heads go on, where they have not ended, by themselves.
    pub fn end_newton(&mut self) {
        if std::mem::take(&mut self.by_newton) {
            if let Heads::Single(singles) = &mut self.heads {
                for head in &mut singles.heads {
                    head.settle_duals([1.0; 2]);
                }
            }
        }
    }
}
