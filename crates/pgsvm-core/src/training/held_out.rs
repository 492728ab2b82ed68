//! Held-out decisions: one more pass over the rows when the heads of a stage have ended, and what follows from them.
//!
//! Each row is decided by the held-out heads of its own fold: one f32 for each C and head of a classifier. Beside them
//! stand the group and, ordered by fold, the number of each row. Then, a bit a step, each C is evaluated on each fold, the
//! best is chosen, and the final heads get their sigmoids from its decisions.

use crate::base::interrupts;
use crate::base::memory::filled;
use crate::base::zeros::zeros;
use crate::rows::facts::Facts;
use crate::rows::row::Row;
use crate::simd::{Isa, Real};
use crate::solver::scans::Scans;
use crate::solver::Solver;
use crate::task::evaluation::{predicted_class, Ranking, Sigmoid, SigmoidFit};
use crate::task::plan::{Layout, Plan, Purpose, MOST_FOLDS};
use crate::task::report::{HeadReport, Validation};
use crate::task::scoring::{Counts, Scoring};
use crate::training::error::TrainError;
use std::ops::Range;

/// Rows that a step of the evaluation goes over: a millisecond or two.
pub(super) const ROWS_A_STEP: usize = 1 << 16;

/// The decisions of held-out heads, as they come.
pub(super) struct HeldOut {
    layout: Layout,
    costs: Vec<f64>,
    scoring: Scoring,
    /// Of two classes, the one that scores take for positive.
    positive: usize,
    /// Whether the final heads are to get sigmoids.
    sigmoids: bool,
    /// The first held-out head of the stage; they come by C, fold and class.
    first: usize,
    /// By fold, its place among those that have heads of their own.
    places: [Option<usize>; MOST_FOLDS as usize],
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
        facts: &Facts,
    ) -> Result<Self, TrainError> {
        let rows = facts.rows;
        let mut places = [None; MOST_FOLDS as usize];
        for (place, &fold) in layout.folds().iter().enumerate() {
            places[fold as usize] = Some(place);
        }
        Ok(Self {
            costs: plan.costs.clone(),
            scoring: plan.scoring,
            positive: facts.positive,
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
        self.groups[ordinal] = row.group() as u32;
        let Some(place) = self.place(row.group()) else {
            return;
        };
        for cost in 0..self.costs.len() {
            interrupts::look();
            let first = self.head(cost, place);
            for head in 0..heads {
                self.decisions[ordinal * width + cost * heads + head] =
                    solver.decision::<K>(first + head, row);
            }
        }
    }

    /// The place of a group's fold; None where it is never held out.
    fn place(&self, group: usize) -> Option<usize> {
        self.places[self.layout.fold(group) as usize]
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

    /// The probability of a row's own class at one C, by these sigmoids of the heads.
    fn probability(&self, row: usize, cost: usize, sigmoids: &[Sigmoid]) -> f64 {
        let class = self.class(row);
        let decisions = self.of(row, cost).iter().zip(sigmoids);
        let mut each = decisions.map(|(decision, it)| it.probability(f64::from(*decision)));
        if self.layout.heads() == 1 {
            let positive = each.next().unwrap_or(0.5);
            return if class == 1 { positive } else { 1.0 - positive };
        }
        let (mut own, mut sum) = (0.0, 0.0);
        for (head, probability) in each.enumerate() {
            own += if head == class { probability } else { 0.0 };
            sum += probability;
        }
        if sum > 0.0 {
            own / sum
        } else {
            0.0
        }
    }
}

impl<T: Real> Scans<Solver<T>> for HeldOut {
    #[inline(always)]
    fn add<K: Isa>(&mut self, solver: &Solver<T>, row: &Row<'_>) -> usize {
        self.decide::<K, T>(solver, row);
        row.values() * self.width()
    }
}

/// What held-out decisions say.
pub(super) struct Verdict {
    pub(super) validation: Vec<Validation>,
    /// The best C, its score, and the scores of all in their order.
    pub(super) c: f64,
    pub(super) score: Option<f64>,
    pub(super) scores: Vec<Option<f64>>,
    pub(super) sigmoids: Vec<Sigmoid>,
    /// For each head of a classifier, the heads of the stage that were trained at the best C, one a fold.
    pub(super) sources: Vec<Vec<usize>>,
}

/// The evaluation of held-out decisions, under way.
pub(super) struct Evaluation {
    held_out: HeldOut,
    /// Reports of the heads of the stage.
    reports: Vec<HeadReport>,
    /// Rows by fold, and where each fold that has rows ends; while rows are put in order, where its next row goes.
    order: Vec<u32>,
    ends: Vec<usize>,
    validation: Vec<Validation>,
    /// Heads of the C and fold under way that have been ranked; what is counted of the fold, and of the C.
    heads: usize,
    fold: Counts,
    all: Counts,
    /// By C, as far as they are known.
    scores: Vec<Option<f64>>,
    /// The best C, once it is known, and by C the sigmoids of its heads, where they were fitted.
    best: usize,
    sigmoids: Vec<Vec<Sigmoid>>,
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
    Judging,
    /// Fitting the sigmoid of the next head.
    Fitting(SigmoidFit),
    Ended,
}

impl Evaluation {
    pub(super) fn new(held_out: HeldOut, reports: Vec<HeadReport>) -> Result<Self, TrainError> {
        Ok(Self {
            reports,
            order: zeros(held_out.groups.len())?,
            ends: vec![0; held_out.layout.folds().len() + 1],
            validation: Vec::new(),
            heads: 0,
            fold: Counts::new(held_out.layout.classes())?,
            all: Counts::new(held_out.layout.classes())?,
            scores: Vec::new(),
            best: 0,
            sigmoids: filled(Vec::new(), held_out.costs.len())?,
            task: Task::Counting,
            gone: 0,
            held_out,
        })
    }

    /// Does the next bit of it, a few milliseconds' work. True at the end.
    pub(super) fn step(&mut self) -> Result<bool, TrainError> {
        let rows = match self.task {
            Task::Ranking(_) | Task::Judging => self.fold_under_way(),
            _ => 0..self.held_out.groups.len(),
        };
        let portion = rows.start + self.gone..rows.end.min(rows.start + self.gone + ROWS_A_STEP);
        self.gone += portion.len();
        let last = portion.end == rows.end;
        let held_out = &self.held_out;
        match &mut self.task {
            Task::Counting => {
                let groups = held_out.groups[portion].iter();
                for place in groups.filter_map(|group| held_out.place(*group as usize)) {
                    self.ends[place + 1] += 1;
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
                    if let Some(place) = held_out.place(held_out.groups[row] as usize) {
                        let next = &mut self.ends[place];
                        self.order[*next] = row as u32;
                        *next += 1;
                    }
                }
                if last {
                    // each start has moved to its fold's end
                    self.ends.pop();
                    self.go_on()?;
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
            Task::Judging => {
                let cost = self.validation.len() / self.ends.len();
                for row in &self.order[portion] {
                    interrupts::look();
                    let row = *row as usize;
                    let predicted = predicted_class(held_out.of(row, cost));
                    self.fold.add(held_out.class(row), predicted);
                    if held_out.scoring == Scoring::LogLoss {
                        let own = held_out.probability(row, cost, &self.sigmoids[cost]);
                        self.fold.add_probability(own);
                    }
                }
                if last {
                    self.end_fold()?;
                }
            }
            Task::Fitting(fit) => {
                let decided = self.scores.len() == held_out.costs.len();
                let cost = if decided {
                    self.best
                } else {
                    self.scores.len()
                };
                let head = self.sigmoids[cost].len();
                let held = |row: &usize| held_out.place(held_out.groups[*row] as usize).is_some();
                fit.take(portion.filter(held).map(|row| {
                    let (decision, positive) = held_out.for_head(row, cost, head);
                    (f64::from(decision), positive)
                }));
                if last {
                    self.gone = 0;
                    if fit.end_of_rows() {
                        let sigmoid = fit.sigmoid;
                        self.sigmoids[cost].push(sigmoid);
                        self.go_on()?;
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

    /// Begins what comes next: the sigmoids of a C that is scored by probabilities, its folds, and behind the last C the
    /// sigmoids of the best one where they are wanted.
    fn go_on(&mut self) -> Result<(), TrainError> {
        let held_out = &self.held_out;
        let cost = self.scores.len();
        let decided = cost == held_out.costs.len();
        if decided {
            self.best = self.choose();
        }
        let (cost, fits) = match decided {
            true => (self.best, held_out.sigmoids),
            false => (cost, held_out.scoring == Scoring::LogLoss),
        };
        if fits && self.sigmoids[cost].len() < held_out.layout.heads() {
            self.begin(Task::Fitting(SigmoidFit::new()));
            return Ok(());
        }
        if decided {
            self.begin(Task::Ended);
            return Ok(());
        }
        self.begin_ranking()
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
        self.fold.add_area(area);
        if self.heads < self.held_out.layout.heads() {
            return self.begin_ranking();
        }
        self.begin(Task::Judging);
        Ok(())
    }

    /// Adds up what is known of a C and fold, and behind the last fold of the C.
    fn end_fold(&mut self) -> Result<(), TrainError> {
        let held_out = &self.held_out;
        let cost = self.validation.len() / self.ends.len();
        let place = self.validation.len() % self.ends.len();
        let first = held_out.head(cost, place);
        let reports = &self.reports[first..first + self.heads];
        let score = |counts: &Counts| counts.score(held_out.scoring, held_out.positive);
        self.validation.push(Validation {
            c: held_out.costs[cost],
            fold: held_out.layout.folds()[place],
            rows: self.fold.rows(),
            accuracy: self.fold.accuracy(),
            auc: self.fold.area(),
            objective: reports.iter().map(|head| head.certificate.primal).sum(),
            score: score(&self.fold),
            overall: None,
        });
        self.all.add_fold(&self.fold);
        if place + 1 == self.ends.len() {
            let overall = score(&self.all);
            let folds = self.validation.len() - self.ends.len()..;
            for found in &mut self.validation[folds] {
                found.overall = overall;
            }
            self.scores.push(overall);
            self.all.clear();
        }
        self.fold.clear();
        self.heads = 0;
        self.go_on()
    }

    /// The C with the best score, the smallest of equals.
    fn choose(&self) -> usize {
        let HeldOut { costs, scoring, .. } = &self.held_out;
        let mut best = 0;
        for (cost, &score) in self.scores.iter().enumerate() {
            let equal = score == self.scores[best];
            let better = scoring.is_better(score, self.scores[best]);
            if better || (equal && costs[cost] < costs[best]) {
                best = cost;
            }
        }
        best
    }

    pub(super) fn verdict(mut self) -> Verdict {
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
            score: self.scores[best],
            scores: self.scores,
            sigmoids: match self.held_out.sigmoids {
                true => std::mem::take(&mut self.sigmoids[best]),
                false => Vec::new(),
            },
        }
    }
}
