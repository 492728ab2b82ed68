//! Sums of a pass gathered in parts, by several threads each over rows of its own, and joined at its end in the threads' order.

use crate::base::memory::OutOfMemory;
use crate::base::zeros::zeros;
use crate::rows::row::Row;
use crate::simd::{Isa, Level};
use crate::solver::newton::head::{Newton, Next};
use crate::solver::newton::sums::{add_product, Order, Seen, Sums};

impl Newton {
    /// Room for a part.
    pub(crate) fn part(&self) -> Result<Sums, OutOfMemory> {
        Sums::new(self.w.len(), self.sums.gram.is_some())
    }

    /// Begins a part of the pass under way.
    pub(crate) fn begin_part(&self, part: &mut Sums) -> Result<(), OutOfMemory> {
        match (&self.sums.squares, part.squares.is_some()) {
            (Some(squares), false) => part.squares = Some(zeros(squares.len())?),
            (Some(_), true) => {}
            (None, _) => part.squares = None,
        }
        part.clear();
        if let Some(gram) = part.gram.as_mut().filter(|_| self.gathers) {
            gram.clear();
        }
        Ok(())
    }

    /// As [`Self::visit`], for a part.
    #[inline(always)]
    pub(crate) fn visit_in_part<K: Isa>(
        &self,
        part: &mut Sums,
        row: &Row<'_>,
        (order, before): (Order, bool),
    ) -> Seen {
        part.visit::<K>(&self.objective, self.places(), row, (order, before))
    }

    /// As [`Self::add_product`], for a part.
    #[inline(always)]
    pub(crate) fn add_product_in_part<K: Isa>(&self, part: &mut Sums, row: &Row<'_>) {
        let places = (&self.sums.beyond[..], &mut part.sides[0].v[..]);
        add_product::<K>(&self.objective, places, row);
    }

    /// Adds a part of a pass of this kind.
    pub(crate) fn join(&mut self, part: &mut Sums, pass: Next, level: Level) {
        let gathers = self.gathers && pass == Next::Pass;
        if let (Some(gram), true) = (&mut part.gram, gathers) {
            gram.finish(level);
        }
        self.sums.join(part, gathers);
    }
}
