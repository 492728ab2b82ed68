//! Heads that Newton's method solves.
//!
//! As many heads are solved together as their matrices fit memory, so rows are read once for all of them; the others follow. They begin with
//! passes over samples of the rows. If rows are in memory, each sample is some times as large as the one before; by scans there is one
//! sample. Then passes read all rows. A head that a sample cannot improve any more waits for the others. After a pass each head computes its
//! step, head after head and in small portions.

use crate::base::memory::{all_of, gathered, OutOfMemory, Room};
use crate::rows::facts::Facts;
use crate::simd::Level;
use crate::solver::by_newton::NewtonHeads;
use crate::solver::by_passes::{Due, FixedWeights, Over, Summed};
use crate::solver::fixed_weights::BLOCK;
use crate::solver::head_sums::{HeadFound, HeadScan};
use crate::solver::newton::choice::at_a_time;
use crate::solver::newton::head::{Newton, Next};
use crate::solver::newton::pace::{Costs, PRODUCTS_PER_VALUE};
use crate::solver::visit::visitor::between_sides;

/// How rows are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// At hand, by so many threads.
    AtHand { threads: usize },
    /// Arriving for each pass anew.
    Streamed { threads: usize },
    /// By others, beside so many rows in memory; those near the margin may come along, in so many words.
    Scanned { sample: usize, room: usize },
}

/// The heads.
pub struct ByNewton {
    costs: Costs,
    facts: Facts,
    reading: Reading,
    heads: usize,
    at_a_time: usize,
    /// Those being solved.
    runs: Vec<Run>,
    /// The first one that may have something to be computed before the next pass.
    computes: usize,
    /// Of the samples, those still to come, the next one last: one block in so many.
    samples: Vec<usize>,
    over: Over,
    /// By head where it begins; none where heads begin at samples.
    starts: Vec<Vec<f64>>,
}

struct Run {
    head: usize,
    newton: Newton,
    /// Whether it takes part in the pass under way.
    visits: bool,
    next: Next,
    /// Where nothing is kept of rows, the weights at which the last pass evaluated them.
    before: Option<Vec<f64>>,
}

impl Run {
    /// This is to be done next.
    fn go_on(&mut self, next: Next) {
        self.next = next;
        self.visits = !matches!(next, Next::Sampled | Next::Arrived | Next::GivenUp);
    }

    /// The head takes what has been found over all rows, and may have arrived by it.
    fn hand_over(&mut self, heads: &mut impl NewtonHeads) {
        heads.take_newton(self.head, &self.newton, self.next == Next::Arrived);
        if !heads.ledger(self.head).runs() {
            self.go_on(Next::Arrived);
        }
        if self.next == Next::GivenUp {
            heads.leave_newton(self.head, &self.newton);
        }
    }
}

impl ByNewton {
    pub fn new(
        heads: &impl NewtonHeads,
        facts: &Facts,
        reading: Reading,
    ) -> Result<Self, OutOfMemory> {
        let mut costs = Costs::new(facts);
        let threads = match reading {
            Reading::AtHand { threads } | Reading::Streamed { threads } => threads,
            Reading::Scanned { .. } => 1,
        };
        costs.streams = !matches!(reading, Reading::AtHand { .. });
        costs.scans = matches!(reading, Reading::Scanned { .. });
        costs.sides = match reading {
            Reading::AtHand { .. } => between_sides(facts),
            Reading::Streamed { .. } | Reading::Scanned { .. } => None,
        };
        let mut this = Self {
            costs,
            facts: *facts,
            reading,
            heads: heads.len(),
            at_a_time: at_a_time(&costs, threads),
            runs: Vec::new(),
            computes: 0,
            samples: Vec::new(),
            over: Over::All,
            starts: Vec::new(),
        };
        this.next_heads(heads)?;
        Ok(this)
    }

    /// Begins with the heads that come next; with none where all are done.
    fn next_heads(&mut self, heads: &impl NewtonHeads) -> Result<(), OutOfMemory> {
        let first = self.runs.last().map_or(0, |run| run.head + 1);
        let end = self.heads.min(first + self.at_a_time);
        // their memory goes back first
        self.runs = Vec::new();
        self.runs.room(end - first)?;
        for head in first..end {
            let Some(mut newton) = heads.newton(head, self.costs)? else {
                continue;
            };
            if let Reading::Scanned { room, .. } = self.reading {
                newton.bring_near(room / (end - first), self.facts.dense);
            }
            if let Some(w) = self.starts.get(head) {
                newton.begin_at(w);
            }
            self.runs.push(Run {
                head,
                newton,
                visits: true,
                next: Next::Pass,
                before: None,
            });
        }
        self.samples.clear();
        let needs_none = |run: &Run| run.newton.begins_elsewhere() || run.newton.is_quadratic();
        if !self.runs.iter().any(needs_none) && self.starts.is_empty() {
            match self.reading {
                // a handful of numbers
                Reading::AtHand { .. } => self.samples.extend(self.costs.samples()),
                Reading::Scanned { sample, .. } if sample > 0 => self.samples.push(1),
                Reading::Scanned { .. } | Reading::Streamed { .. } => {}
            }
            self.samples.reverse();
        }
        self.begin_stage();
        Ok(())
    }

    /// Begins to read the next sample, or all rows.
    fn begin_stage(&mut self) {
        self.over = self.samples.pop().map_or(Over::All, Over::Sample);
        let rows = self.facts.rows;
        let sampled = match (self.over, self.reading) {
            (Over::All, _) => None,
            (_, Reading::Scanned { sample, .. }) => Some(sample),
            (Over::Sample(stride), _) => Some(rows.min(rows / BLOCK / stride * BLOCK)),
        };
        self.computes = self.runs.len();
        for run in &mut self.runs {
            match sampled {
                None => run.newton.begin_whole(),
                Some(sampled) => run.newton.begin_sample(rows as f64 / sampled as f64),
            }
            run.before = None;
            run.go_on(Next::Pass);
        }
    }

    /// The first head that has something to be computed before the next pass.
    fn computing(&self) -> Option<usize> {
        let computes = |run: &Run| matches!(run.next, Next::Factor | Next::Near);
        let rest = self.runs.get(self.computes..)?;
        Some(self.computes + rest.iter().position(computes)?)
    }
}

impl<H: NewtonHeads> FixedWeights<H> for ByNewton {
    fn due(&self) -> Due {
        if self.runs.is_empty() {
            Due::Ended
        } else if self.computing().is_none() && self.runs.iter().any(|run| run.visits) {
            Due::Pass
        } else {
            Due::Solving
        }
    }

    fn compute(&mut self, heads: &mut H, _: &[u32]) -> Result<usize, OutOfMemory> {
        let (level, is_whole) = (Level::best(), self.over == Over::All);
        let Some(place) = self.computing() else {
            match is_whole {
                true => self.next_heads(heads)?,
                false => self.begin_stage(),
            }
            return Ok(0);
        };
        self.computes = place;
        let run = &mut self.runs[place];
        let (products, solves) = (run.newton.products(), run.newton.is_solving());
        let next = match run.next {
            Next::Near => run.newton.near(level),
            _ => run.newton.factor(level),
        };
        run.go_on(next);
        if solves && !run.newton.is_solving() && is_whole {
            run.hand_over(heads);
        } else if run.next == Next::GivenUp && is_whole {
            heads.leave_newton(run.head, &run.newton);
        }
        Ok(products / PRODUCTS_PER_VALUE)
    }

    fn over(&self) -> Over {
        self.over
    }

    fn pass(&self, _: &[u32]) -> Result<Vec<(usize, HeadScan)>, OutOfMemory> {
        let visiting = self.runs.iter().filter(|run| run.visits);
        all_of(visiting.map(|run| {
            let pass = run.newton.pass(run.next, run.before.as_deref())?;
            Ok::<_, OutOfMemory>((run.head, HeadScan::Newton(Box::new(pass))))
        }))
    }

    fn begin(&mut self, head: usize, pass: &HeadScan) -> Result<HeadFound, OutOfMemory> {
        let run = self.runs.iter_mut().find(|run| run.head == head);
        match (pass, run) {
            (HeadScan::Newton(pass), Some(run)) => {
                let sums = run.newton.begin_sums(pass)?;
                Ok(HeadFound::Newton(Box::new(sums)))
            }
            _ => pass.begin(),
        }
    }

    fn row_values(&self, _: usize) -> usize {
        let Costs {
            rows, pass, row, ..
        } = self.costs;
        (pass / rows.max(1.0) + row) as usize
    }

    fn take(&mut self, heads: &mut H, found: Vec<Summed>) -> Result<bool, OutOfMemory> {
        let (mut evaluates, is_whole) = (false, self.over == Over::All);
        let visiting = self.runs.iter_mut().filter(|run| run.visits);
        for (run, found) in visiting.zip(found) {
            let (HeadScan::Newton(pass), HeadFound::Newton(sums)) = (found.pass, found.sums) else {
                continue;
            };
            run.newton.take(*sums, found.unread);
            if let (Reading::Scanned { .. }, Some(w)) = (self.reading, pass.evaluated()) {
                run.before = Some(w);
            }
            let evaluated = run.next == Next::Pass;
            evaluates |= evaluated;
            let next = run.newton.end(run.next, Level::best());
            run.go_on(next);
            match (evaluated, run.next) {
                _ if !is_whole => {}
                // what is found is known when that has been solved
                (true, Next::Near) => {}
                (true, _) => run.hand_over(heads),
                (false, Next::GivenUp) => heads.leave_newton(run.head, &run.newton),
                (false, _) => {}
            }
        }
        self.computes = 0;
        Ok(evaluates)
    }

    fn begin_at(&mut self, heads: &H, starts: Vec<Vec<f64>>) -> Result<(), OutOfMemory> {
        self.starts = starts;
        self.runs = Vec::new();
        self.next_heads(heads)
    }

    fn weights_so_far(&self, heads: &H) -> Result<Vec<Vec<f64>>, OutOfMemory> {
        all_of((0..heads.len()).map(|head| {
            let w = heads.weights(head);
            gathered(w.iter().chain([w.intercept()]))
        }))
    }

    fn is_newton(&self) -> bool {
        true
    }
}
