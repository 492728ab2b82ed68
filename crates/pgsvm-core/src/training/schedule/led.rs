//! Heads that Newton's method leads, whoever has their rows gone over.
//!
//! As many heads as their matrices fit are led together, so that rows are read once for all of them; the others come behind.
//! A pass that has ended is followed by what is to be computed between it and the next one, head after head and in steps.

use crate::base::memory::OutOfMemory;
use crate::rows::facts::Facts;
use crate::simd::Level;
use crate::solver::led::{Leads, Led};
use crate::solver::newton::choice::at_a_time;
use crate::solver::newton::head::Next;
use crate::solver::newton::pace::{Costs, PRODUCTS_PER_VALUE};

/// Words of rows, times heads, that are worth calling threads for.
const LEAST_VALUES: usize = 1 << 14;

/// Heads that are led together, and those that come behind.
pub(in crate::training) struct Group {
    pub(in crate::training) costs: Costs,
    heads: usize,
    at_a_time: usize,
    /// The heads that are led now.
    pub(in crate::training) led: Vec<Led>,
    /// The first one that may have something to be computed before the next pass.
    computes: usize,
    /// Whether passes go over all rows.
    whole: bool,
}

impl Group {
    /// Of no heads as yet, for so many threads. `streams`: rows arrive for each pass anew.
    pub(in crate::training) fn new(
        solver: &impl Leads,
        facts: &Facts,
        (streams, threads): (bool, usize),
    ) -> Self {
        let mut costs = Costs::new(facts);
        costs.streams = streams;
        Self {
            costs,
            heads: solver.len(),
            at_a_time: at_a_time(&costs, threads),
            led: Vec::new(),
            computes: 0,
            whole: true,
        }
    }

    /// Has the heads led that come next; false where there are none.
    pub(in crate::training) fn next(&mut self, solver: &impl Leads) -> Result<bool, OutOfMemory> {
        let first = self.led.last().map_or(0, |led| led.head + 1);
        let end = self.heads.min(first + self.at_a_time);
        // their memory goes back first
        self.led = Vec::new();
        self.led = solver.lead(first..end, self.costs)?;
        Ok(!self.led.is_empty())
    }

    /// Whether one of them begins at other weights than 0.
    pub(in crate::training) fn begins_elsewhere(&self) -> bool {
        self.led.iter().any(|led| led.newton.begins_elsewhere())
    }

    /// The same where passes are scans.
    pub(in crate::training) fn of_scans(solver: &impl Leads, facts: &Facts) -> Self {
        let mut this = Self::new(solver, facts, (true, 1));
        this.costs.scans = true;
        this.at_a_time = at_a_time(&this.costs, 1);
        this
    }

    /// Whether passes go over a sample.
    pub(in crate::training) fn samples(&self) -> bool {
        !self.whole
    }

    /// Begins passes over all rows.
    pub(in crate::training) fn begin_whole(&mut self) {
        self.begin(true);
        for led in &mut self.led {
            led.newton.begin_whole();
        }
    }

    /// Begins passes over one row in so many.
    pub(in crate::training) fn begin_sample(&mut self, part: f64) {
        self.begin(false);
        for led in &mut self.led {
            led.newton.begin_sample(part);
        }
    }

    fn begin(&mut self, whole: bool) {
        self.whole = whole;
        self.computes = self.led.len();
        for led in &mut self.led {
            led.go_on(Next::Pass);
        }
    }

    /// Whether rows of so many words are worth several threads, in the pass under way.
    pub(in crate::training) fn divides(&self, words: usize) -> bool {
        let heads = self.led.iter().filter(|led| led.visits).count();
        words * heads >= LEAST_VALUES
    }

    /// What visiting a row may cost at most, in values.
    pub(in crate::training) fn row_values(&self) -> usize {
        let Costs {
            rows, pass, row, ..
        } = self.costs;
        let heads = self.led.iter().filter(|led| led.visits).count();
        (pass / rows.max(1.0) + row).max(1.0) as usize * heads.max(1)
    }

    /// Whether one of them takes part in the pass that comes or is under way.
    pub(in crate::training) fn visits(&self) -> bool {
        self.led.iter().any(|led| led.visits)
    }

    /// Begins the pass that comes, where it has not begun; for rows whose dual variables are kept.
    pub(in crate::training) fn begin_pass(&mut self) -> Result<(), OutOfMemory> {
        self.led.iter_mut().try_for_each(Led::begin_pass)
    }

    /// Ends the pass for every head. Whether one of them knows its primal by it.
    pub(in crate::training) fn end_pass(&mut self, solver: &mut impl Leads, level: Level) -> bool {
        let mut evaluates = false;
        for led in self.led.iter_mut().filter(|led| led.visits) {
            let evaluated = led.next == Next::Pass;
            evaluates |= evaluated;
            let next = led.end_pass(level);
            led.go_on(next);
            match (evaluated, led.next) {
                _ if !self.whole => {}
                // what is found is known when that has been solved
                (true, Next::Near) => {}
                (true, _) => solver.take_led(led),
                (false, Next::GivenUp) => solver.leave_led(led),
                (false, _) => {}
            }
        }
        self.computes = 0;
        evaluates
    }

    /// Goes on with what is to be computed before the next pass; gives back the values that it took, None where that is all.
    pub(in crate::training) fn between(
        &mut self,
        solver: &mut impl Leads,
        level: Level,
    ) -> Option<usize> {
        let rest = self.led.get_mut(self.computes..)?;
        let computes = |led: &Led| matches!(led.next, Next::Factor | Next::Near);
        let Some(place) = rest.iter().position(computes) else {
            self.computes = self.led.len();
            return None;
        };
        self.computes += place;
        let led = &mut self.led[self.computes];
        let (products, solves) = (led.newton.products(), led.newton.is_solving());
        let next = match led.next {
            Next::Near => led.newton.near(level),
            _ => led.newton.factor(level),
        };
        led.go_on(next);
        if solves && !led.newton.is_solving() && self.whole {
            solver.take_led(led);
        } else if led.next == Next::GivenUp && self.whole {
            solver.leave_led(led);
        }
        Some(products / PRODUCTS_PER_VALUE)
    }
}
