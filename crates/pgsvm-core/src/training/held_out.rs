//! Held-out decisions: one more pass over the rows when the heads of a stage have ended, and what follows from them.
//!
//! Each row is decided by the held-out heads of its own fold: one f32 for each C and head of a classifier. Beside them
//! stand the group and, ordered by fold, the number of each row. Then, a bit a step, each C is evaluated on each fold, the
//! best is chosen, and the final heads get their sigmoids from its decisions.

use crate::base::interrupts;
use crate::base::zeros::zeros;
use crate::rows::row::Row;
use crate::rows::visited::VisitedRows;
use crate::simd::{Isa, Level, Real, Work};
use crate::solver::reading::ReadRows;
use crate::solver::Solver;
use crate::task::evaluation::{predicted_class, Ranking, Sigmoid, SigmoidFit};
use crate::task::plan::{Layout, Plan, Purpose, MOST_FOLDS};
use crate::task::report::{HeadReport, Validation};
use crate::training::error::TrainError;
use std::ops::Range;

/// Rows that a step of the evaluation goes over: a millisecond or two.
pub(super) const ROWS_A_STEP: usize = 1 << 16;

/// The decisions of held-out heads, as they come.
pub(super) struct HeldOut {
    layout: Layout,
    costs: Vec<f64>,
    /// Whether the final heads are to get sigmoids.
    sigmoids: bool,
    /// The first held-out head of the stage; they come by C, fold and class.
    first: usize,
    /// By fold, its place among those that have rows.
    places: [usize; MOST_FOLDS as usize],
    /// By row.
    groups: Vec<u32>,
    /// By row, C and head of a classifier.
    decisions: Vec<f32>,
}

impl HeldOut {
    pub(super) fn new(
        plan: &Plan,
        layout: Layout,
        first: usize,
        rows: usize,
    ) -> Result<Self, TrainError> {
        let mut places = [0; MOST_FOLDS as usize];
        for (place, &fold) in layout.folds().iter().enumerate() {
            places[fold as usize] = place;
        }
        Ok(Self {
            costs: plan.costs.clone(),
            sigmoids: plan.probability && plan.purpose == Purpose::Train,
            first,
            places,
            groups: zeros(rows)?,
            decisions: zeros(rows * plan.costs.len() * layout.heads())?,
            layout,
        })
    }

    /// Decisions of a row.
    fn width(&self) -> usize {
        self.costs.len() * self.layout.heads()
    }

    /// The first head of the stage that this C and the fold at this place have.
    fn head(&self, cost: usize, place: usize) -> usize {
        self.first + (cost * self.layout.folds().len() + place) * self.layout.heads()
    }

    #[inline(always)]
    fn decide<K: Isa, T: Real>(&mut self, solver: &Solver<T>, row: &Row<'_>) {
        let (ordinal, width, heads) = (row.ordinal(), self.width(), self.layout.heads());
        let place = self.places[self.layout.fold(row.group()) as usize];
        self.groups[ordinal] = row.group() as u32;
        for cost in 0..self.costs.len() {
            interrupts::look();
            let first = self.head(cost, place);
            for head in 0..heads {
                self.decisions[ordinal * width + cost * heads + head] =
                    solver.decision::<K>(first + head, row);
            }
        }
    }

    fn class(&self, row: usize) -> usize {
        self.layout.class(self.groups[row] as usize)
    }

    /// The decisions of a row at one C.
    fn of(&self, row: usize, cost: usize) -> &[f32] {
        let heads = self.layout.heads();
        &self.decisions[row * self.width() + cost * heads..][..heads]
    }

    /// A row's decision by one head at one C, and whether the row is positive for it.
    fn for_head(&self, row: usize, cost: usize, head: usize) -> (f32, bool) {
        let positive = self.class(row) == self.layout.positive(head);
        (self.of(row, cost)[head], positive)
    }
}

/// The work of deciding rows.
struct Decide<'a, T> {
    solver: &'a Solver<T>,
    rows: VisitedRows<'a>,
    held_out: &'a mut HeldOut,
}

impl<T: Real> Work for Decide<'_, T> {
    /// Values of the rows.
    type Output = usize;

    #[inline(always)]
    fn run<K: Isa>(self) -> usize {
        let mut values = 0;
        for row in self.rows {
            values += row.values() * self.held_out.width();
            self.held_out.decide::<K, T>(self.solver, &row);
        }
        values
    }
}

impl<T: Real> ReadRows<T> for HeldOut {
    fn read(&mut self, solver: &Solver<T>, rows: VisitedRows<'_>) -> usize {
        Level::best().run(Decide {
            solver,
            rows,
            held_out: self,
        })
    }
}

/// What held-out decisions say.
pub(super) struct Verdict {
    pub(super) validation: Vec<Validation>,
    /// The best C.
    pub(super) c: f64,
    pub(super) sigmoids: Vec<Sigmoid>,
    /// For each head of a classifier, the heads of the stage that were trained at the best C, one a fold.
    pub(super) sources: Vec<Vec<usize>>,
    pub(super) layout: Layout,
}

/// The evaluation of held-out decisions, under way.
pub(super) struct Evaluation {
    held_out: HeldOut,
    /// Reports of the heads of the stage.
    reports: Vec<HeadReport>,
    /// Rows by fold, and where each fold that has rows ends; while rows are put in order, where its next row goes.
    order: Vec<u32>,
    ends: Vec<usize>,
    /// Held-out rows that get their own class, by C.
    correct: Vec<u64>,
    validation: Vec<Validation>,
    /// Sums over the heads of the C and fold under way: how many have been looked at, had an AUC, and their AUCs.
    heads: usize,
    ranked: usize,
    ranks: f64,
    /// The best C, once it is known, and the sigmoids at it.
    best: usize,
    sigmoids: Vec<Sigmoid>,
    task: Task,
    /// Rows that the task has gone over.
    gone: usize,
}

/// What the evaluation goes over rows for.
enum Task {
    /// Counting the rows of each fold.
    Counting,
    /// Writing down the rows of each fold.
    Ordering,
    /// Rows of a fold are given to a head's ranking, which then works by itself.
    Ranking(Ranking),
    /// Counting the rows of a fold that get their own class.
    Judging(u64),
    /// Fitting the sigmoid of the next head.
    Fitting(SigmoidFit),
    Ended,
}

impl Evaluation {
    pub(super) fn new(held_out: HeldOut, reports: Vec<HeadReport>) -> Result<Self, TrainError> {
        Ok(Self {
            correct: vec![0; held_out.costs.len()],
            reports,
            order: zeros(held_out.groups.len())?,
            ends: vec![0; held_out.layout.folds().len() + 1],
            validation: Vec::new(),
            heads: 0,
            ranked: 0,
            ranks: 0.0,
            best: 0,
            sigmoids: Vec::new(),
            task: Task::Counting,
            gone: 0,
            held_out,
        })
    }

    /// Does the next bit of it, a few milliseconds' work. True at the end.
    pub(super) fn step(&mut self) -> Result<bool, TrainError> {
        let rows = match self.task {
            Task::Ranking(_) | Task::Judging(_) => self.fold_under_way(),
            _ => 0..self.held_out.groups.len(),
        };
        let portion = rows.start + self.gone..rows.end.min(rows.start + self.gone + ROWS_A_STEP);
        self.gone += portion.len();
        let last = portion.end == rows.end;
        let held_out = &self.held_out;
        let place = |group: u32| held_out.places[held_out.layout.fold(group as usize) as usize];
        match &mut self.task {
            Task::Counting => {
                for group in &held_out.groups[portion] {
                    self.ends[place(*group) + 1] += 1;
                }
                if last {
                    for fold in 1..self.ends.len() {
                        self.ends[fold] += self.ends[fold - 1];
                    }
                    self.begin(Task::Ordering);
                }
            }
            Task::Ordering => {
                for row in portion {
                    let next = &mut self.ends[place(held_out.groups[row])];
                    self.order[*next] = row as u32;
                    *next += 1;
                }
                if last {
                    // each start has moved to its fold's end
                    self.ends.pop();
                    self.begin_fold()?;
                }
            }
            Task::Ranking(ranking) if !portion.is_empty() => {
                let (cost, head) = (self.validation.len() / self.ends.len(), self.heads);
                let rows = self.order[portion].iter();
                ranking.add(rows.map(|row| held_out.for_head(*row as usize, cost, head)));
            }
            Task::Ranking(ranking) => {
                if ranking.step() {
                    let area = ranking.area();
                    self.end_ranking(area)?;
                }
            }
            Task::Judging(correct) => {
                let cost = self.validation.len() / self.ends.len();
                let is_right = |row: &&u32| {
                    interrupts::look();
                    let row = **row as usize;
                    predicted_class(held_out.of(row, cost)) == held_out.class(row)
                };
                *correct += self.order[portion].iter().filter(is_right).count() as u64;
                if last {
                    let correct = *correct;
                    self.end_fold(correct)?;
                }
            }
            Task::Fitting(fit) => {
                let (head, cost) = (self.sigmoids.len(), self.best);
                fit.take(portion.map(|row| {
                    let (decision, positive) = held_out.for_head(row, cost, head);
                    (f64::from(decision), positive)
                }));
                if last {
                    self.gone = 0;
                    if fit.end_of_rows() {
                        self.sigmoids.push(fit.sigmoid);
                        self.begin_fit();
                    }
                }
            }
            Task::Ended => return Ok(true),
        }
        Ok(false)
    }

    fn begin(&mut self, task: Task) {
        self.task = task;
        self.gone = 0;
    }

    /// Where the rows of the fold under way stand in the order.
    fn fold_under_way(&self) -> Range<usize> {
        let place = self.validation.len() % self.ends.len();
        let from = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        from..self.ends[place]
    }

    /// Begins the next fold of a C, or what follows the last fold of the last C.
    fn begin_fold(&mut self) -> Result<(), TrainError> {
        if self.validation.len() < self.correct.len() * self.ends.len() {
            return self.begin_ranking();
        }
        self.best = self.choose();
        self.begin_fit();
        Ok(())
    }

    fn begin_ranking(&mut self) -> Result<(), TrainError> {
        let rows = self.fold_under_way().len();
        let ranking = Ranking::new(rows).map_err(|_| TrainError::OutOfMemory {
            bytes: 8 * rows as u64,
        })?;
        self.begin(Task::Ranking(ranking));
        Ok(())
    }

    fn end_ranking(&mut self, area: Option<f64>) -> Result<(), TrainError> {
        self.heads += 1;
        self.ranked += usize::from(area.is_some());
        self.ranks += area.unwrap_or(0.0);
        if self.heads < self.held_out.layout.heads() {
            return self.begin_ranking();
        }
        self.begin(Task::Judging(0));
        Ok(())
    }

    /// Adds up what is known of a C and fold.
    fn end_fold(&mut self, correct: u64) -> Result<(), TrainError> {
        let cost = self.validation.len() / self.ends.len();
        let place = self.validation.len() % self.ends.len();
        let rows = self.fold_under_way().len();
        let first = self.held_out.head(cost, place);
        let reports = &self.reports[first..first + self.heads];
        self.validation.push(Validation {
            c: self.held_out.costs[cost],
            fold: self.held_out.layout.folds()[place],
            rows: rows as u64,
            accuracy: correct as f64 / rows as f64,
            auc: (self.ranked > 0).then(|| self.ranks / self.ranked as f64),
            objective: reports.iter().map(|head| head.certificate.primal).sum(),
        });
        self.correct[cost] += correct;
        (self.heads, self.ranked, self.ranks) = (0, 0, 0.0);
        self.begin_fold()
    }

    /// Begins the sigmoid of the next head that is to have one.
    fn begin_fit(&mut self) {
        let wanted = match self.held_out.sigmoids {
            true => self.held_out.layout.heads(),
            false => 0,
        };
        self.begin(if self.sigmoids.len() < wanted {
            Task::Fitting(SigmoidFit::new())
        } else {
            Task::Ended
        });
    }

    /// The C with the most rows right, the smallest of equals.
    fn choose(&self) -> usize {
        let costs = &self.held_out.costs;
        let mut best = 0;
        for (cost, &correct) in self.correct.iter().enumerate() {
            let equal = correct == self.correct[best];
            if correct > self.correct[best] || (equal && costs[cost] < costs[best]) {
                best = cost;
            }
        }
        best
    }

    pub(super) fn verdict(self) -> Verdict {
        let best = self.best;
        let sources = (0..self.held_out.layout.heads()).map(|head| {
            let folds = 0..self.ends.len();
            folds
                .map(|fold| self.held_out.head(best, fold) + head)
                .collect()
        });
        Verdict {
            sources: sources.collect(),
            validation: self.validation,
            c: self.held_out.costs[best],
            sigmoids: self.sigmoids,
            layout: self.held_out.layout,
        }
    }
}
