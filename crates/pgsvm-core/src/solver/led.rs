//! Heads that Newton's method leads: what of theirs it is given, and what it gives back.

use std::ops::Range;

use crate::base::memory::{OutOfMemory, Room};
use crate::rows::row::Row;
use crate::rows::visited::{VisitedBatch, VisitedPage};
use crate::simd::{Isa, Real};
use crate::solver::bundle::head::{FoundByPass, GivenHead};
use crate::solver::newton::choice::Leading;
use crate::solver::newton::head::{Newton, Next};
use crate::solver::newton::pace::{Costs, PRODUCTS_PER_VALUE};
use crate::solver::newton::sums::Order;
use crate::solver::{Heads, Solver};
use crate::task::problem::Cuts;

/// Rows of a block, which are gathered or not with one another: those of a few lines of the cache.
pub(crate) const BLOCK: usize = 16;

/// A head that is led.
pub(crate) struct Led {
    /// Its number among the solver's.
    pub(crate) head: usize,
    pub(crate) newton: Newton,
    /// Whether it takes part in the pass under way.
    pub(crate) visits: bool,
    pub(crate) next: Next,
}

impl Led {
    /// This is to be done next.
    pub(crate) fn go_on(&mut self, next: Next) {
        self.next = next;
        self.visits = !matches!(next, Next::Sampled | Next::Arrived | Next::GivenUp);
    }

    /// Visits a row, whose dual variable is among these: 0 beyond the margin. Gives back the values gone through.
    #[inline(always)]
    fn visit<K: Isa>(&mut self, row: &Row<'_>, order: Order, alpha: &mut [f32]) -> usize {
        let own = &mut alpha[row.ordinal()];
        match self.next {
            Next::Product if *own == 0.0 => return 1,
            Next::Product => {
                self.newton.add_product::<K>(row);
                return row.values();
            }
            Next::Line => {
                self.newton.add_to_line::<K>(row);
                return row.values();
            }
            _ => {}
        }
        let (dual, products) = self.newton.visit::<K>(row, order, *own != 0.0);
        *own = dual as f32;
        row.values() + products / PRODUCTS_PER_VALUE
    }
}

impl<T: Real> Solver<T> {
    /// How its heads are led, if they are.
    pub(crate) fn leading(&self) -> Option<Leading> {
        self.led
    }

    /// Whether Newton's method led them, or does.
    pub(crate) fn was_led(&self) -> bool {
        self.was_led
    }

    /// What leads some of the heads.
    pub(crate) fn lead(&self, heads: Range<usize>, costs: Costs) -> Result<Vec<Led>, OutOfMemory> {
        let mut all = Vec::new();
        all.room(heads.len())?;
        let (Heads::Apart(singles), Some(Leading { free, .. })) = (&self.heads, self.led) else {
            return Ok(all);
        };
        for head in heads {
            all.push(Led {
                head,
                newton: singles.heads[head].newton(free, costs)?,
                visits: true,
                next: Next::Pass,
            });
        }
        Ok(all)
    }

    /// Has the rows in these slots visited, of the block with this number. Gives back the values gone through.
    #[inline(always)]
    pub(crate) fn visit_led<K: Isa>(
        &mut self,
        all: &mut [Led],
        page: VisitedPage<'_>,
        slots: Range<usize>,
        block: u32,
    ) -> usize {
        let mut values = 0;
        let Heads::Apart(singles) = &mut self.heads else {
            return 0;
        };
        for led in all.iter_mut().filter(|led| led.visits) {
            let order = led.newton.order(block);
            let alpha = &mut singles.heads[led.head].alpha;
            for slot in slots.clone() {
                // rows beyond the margin need not be fetched
                values += match led.next {
                    Next::Product if alpha[slot] == 0.0 => 1,
                    _ => led.visit::<K>(&page.row(slot), order, alpha),
                };
            }
        }
        values
    }

    /// Has the rows of a batch visited, wherever they stand among all. Gives back the values gone through.
    #[inline(always)]
    pub(crate) fn visit_led_batch<K: Isa>(
        &mut self,
        all: &mut [Led],
        rows: VisitedBatch<'_>,
    ) -> usize {
        let mut values = 0;
        let Heads::Apart(singles) = &mut self.heads else {
            return 0;
        };
        for led in all.iter_mut().filter(|led| led.visits) {
            let alpha = &mut singles.heads[led.head].alpha;
            for row in rows.clone() {
                let order = led.newton.order((row.ordinal() / BLOCK) as u32);
                values += led.visit::<K>(&row, order, alpha);
            }
        }
        values
    }

    /// Takes what a pass over all rows has found for a head, which may have arrived by it.
    pub(crate) fn take_led(&mut self, led: &mut Led) {
        if let Heads::Apart(singles) = &mut self.heads {
            let head = &mut singles.heads[led.head];
            head.take_from(&led.newton, led.next == Next::Arrived);
            if !head.state.runs() {
                (led.next, led.visits) = (Next::Arrived, false);
            }
        }
        if led.next == Next::GivenUp {
            self.leave_led(led);
        }
    }

    /// A head is not led any further.
    pub(crate) fn leave_led(&mut self, led: &Led) {
        if let Heads::Apart(singles) = &mut self.heads {
            let head = &mut singles.heads[led.head];
            match self.led {
                Some(Leading { alone: true, .. }) => head.end_as_it_stands(),
                _ => head.leave(&led.newton),
            }
        }
    }

    /// A head to be solved by a bundle.
    pub(crate) fn given(&self, head: usize, cuts: Cuts) -> Result<Option<GivenHead>, OutOfMemory> {
        match &self.heads {
            Heads::Apart(singles) => singles.heads[head].given(cuts).map(Some),
            Heads::Together(_) => Ok(None),
        }
    }

    /// Takes what a pass over all rows has found for a head that is solved by a bundle, with its weights.
    pub(crate) fn take_found(&mut self, head: usize, found: &FoundByPass, w: &[f64]) {
        if let Heads::Apart(singles) = &mut self.heads {
            singles.heads[head].take_found(found, w);
        }
    }

    /// The heads go on, where they have not ended, by themselves.
    pub(crate) fn end_leading(&mut self) {
        if self.led.take().is_some() {
            if let Heads::Apart(singles) = &mut self.heads {
                for head in &mut singles.heads {
                    head.settle_duals([1.0; 2]);
                }
            }
        }
    }
}
