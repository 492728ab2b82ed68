//! What follows from held-out decisions. Rows are put in order by fold, each C is evaluated on each fold, the best C is chosen, and the
//! final heads get their probabilities or intervals from its decisions. All this is done in steps.

use crate::base::interrupts;
use crate::base::memory::{gathered, OutOfMemory, Room};
use crate::base::zeros::zeros;
use crate::objective::calibration::{Calibration, Calibrations};
use crate::objective::conformal::ConformalResiduals;
use crate::objective::evaluation::{Ranking, SigmoidFit};
use crate::objective::plan::Candidate;
use crate::objective::quantiles;
use crate::objective::report::{outlying, Doubt, HeadReport, Validation};
use crate::objective::scoring::{Counts, Scoring};
use crate::training::calibrating::Calibrating;
use crate::training::error::TrainError;
use crate::training::held_out::HeldOutDecisions;
use crate::training::schedule::survey::SampleRule;
use std::ops::Range;

/// Rows that a step of the evaluation reads: a millisecond or two.
pub(super) const ROWS_A_STEP: usize = 1 << 16;
/// Rows of which residuals are read, about, each on its two sides: they are sorted in some milliseconds.
const MOST_RESIDUALS: usize = 1 << 18;

/// What held-out decisions say.
pub(super) struct Verdict {
    pub(super) validation: Vec<Validation>,
    /// The best candidate, its score, and the scores of all in their order.
    pub(super) best: Candidate,
    pub(super) score: Option<f64>,
    pub(super) scores: Vec<Option<f64>>,
    pub(super) calibrations: Calibrations,
    /// For each head of a classifier, the heads of the stage that were trained at the best C, one a fold.
    pub(super) sources: Vec<Vec<usize>>,
}

/// The evaluation of held-out decisions, under way.
pub(super) struct Evaluation {
    held_out: HeldOutDecisions,
    /// Reports of the heads of the stage.
    reports: Vec<HeadReport>,
    /// Rows by fold, and where each fold that has rows ends; while rows are put in order, where its next row goes.
    order: Vec<u32>,
    ends: Vec<usize>,
    validation: Vec<Validation>,
    at: At,
    /// What is counted of the fold under way, and of the C.
    fold: Counts,
    all: Counts,
    /// By C, as far as they are known.
    scores: Vec<Option<f64>>,
    /// The best C, once it is known, and by C the sigmoids of its heads, where they were fitted.
    best: usize,
    sigmoids: Vec<Vec<Calibration>>,
    /// What makes probabilities or intervals, once that is known.
    calibrations: Calibrations,
    task: Task,
    /// Rows that the task has read.
    gone: usize,
}

/// The C and fold under way, each by its place, and the head that is ranked there.
#[derive(Default)]
struct At {
    cost: usize,
    fold: usize,
    head: usize,
}

/// What the evaluation reads rows for.
enum Task {
    /// Counting the rows of each fold.
    Counting,
    /// Writing down the rows of each fold.
    Ordering,
    /// Rows of a fold are given to a head's ranking, which then works by itself.
    Ranking(Ranking),
    /// Counting the rows of a fold that get their own class, or how far decisions are off their targets.
    Judging,
    /// Fitting the sigmoid of the next head.
    Fitting(SigmoidFit),
    /// Fitting isotonic functions beside the sigmoids of the best C.
    Calibrating(Box<Calibrating>),
    Ended,
}

/// Some of a task's rows, and whether they are its last.
struct Portion {
    rows: Range<usize>,
    last: bool,
}

impl Evaluation {
    pub(super) fn new(
        held_out: HeldOutDecisions,
        reports: Vec<HeadReport>,
    ) -> Result<Self, TrainError> {
        Ok(Self {
            reports,
            order: zeros(held_out.groups.len())?,
            ends: vec![0; held_out.layout.folds().len() + 1],
            validation: Vec::new(),
            at: At::default(),
            fold: Counts::new(held_out.layout.classes())?,
            all: Counts::new(held_out.layout.classes())?,
            scores: Vec::new(),
            best: 0,
            sigmoids: gathered(held_out.candidates.iter().map(|_| Vec::new()))?,
            calibrations: Calibrations::default(),
            task: Task::Counting,
            gone: 0,
            held_out,
        })
    }

    /// Does the next bit of it, a few milliseconds' work. True at the end.
    pub(super) fn step(&mut self) -> Result<bool, TrainError> {
        let portion = self.next_portion();
        match &mut self.task {
            Task::Counting => self.count(portion),
            Task::Ordering => self.order(portion)?,
            Task::Ranking(ranking) => {
                if !portion.rows.is_empty() {
                    let (held_out, at) = (&self.held_out, &self.at);
                    let rows = self.order[portion.rows].iter();
                    let decision = |row: &u32| held_out.for_head(*row as usize, at.cost, at.head);
                    ranking.add(rows.filter_map(decision));
                } else if ranking.step() {
                    let area = ranking.area();
                    self.end_ranking(area)?;
                }
            }
            Task::Judging => self.judge(portion)?,
            Task::Fitting(_) => self.fit(portion)?,
            Task::Calibrating(calibrating) => {
                if calibrating.step(&self.held_out)? {
                    self.end_calibrating();
                }
            }
            Task::Ended => return Ok(true),
        }
        Ok(false)
    }

    /// The next of the rows that the task reads: those of the fold under way, or all.
    fn next_portion(&mut self) -> Portion {
        let rows = match self.task {
            Task::Ranking(_) | Task::Judging => self.fold_under_way(),
            _ => 0..self.held_out.groups.len(),
        };
        let from = rows.start + self.gone;
        let portion = from..rows.end.min(from + ROWS_A_STEP);
        self.gone += portion.len();
        Portion {
            last: portion.end == rows.end,
            rows: portion,
        }
    }

    /// Counts the rows of each fold.
    fn count(&mut self, portion: Portion) {
        let held_out = &self.held_out;
        let groups = held_out.groups[portion.rows].iter();
        for place in groups.filter_map(|group| held_out.place(*group as usize)) {
            self.ends[place + 1] += 1;
        }
        if portion.last {
            for fold in 1..self.ends.len() {
                self.ends[fold] += self.ends[fold - 1];
            }
            self.begin(Task::Ordering);
        }
    }

    /// Writes down the rows of each fold.
    fn order(&mut self, portion: Portion) -> Result<(), TrainError> {
        let held_out = &self.held_out;
        for row in portion.rows {
            if let Some(place) = held_out.place(held_out.groups[row] as usize) {
                let next = &mut self.ends[place];
                self.order[*next] = row as u32;
                *next += 1;
            }
        }
        if portion.last {
            // each start has moved to its fold's end
            self.ends.pop();
            self.go_on()?;
        }
        Ok(())
    }

    /// Counts the rows of a fold that get their own class, or how far decisions are off their targets.
    fn judge(&mut self, portion: Portion) -> Result<(), TrainError> {
        let (held_out, cost) = (&self.held_out, self.at.cost);
        for row in &self.order[portion.rows] {
            interrupts::check();
            let row = *row as usize;
            if held_out.has_targets() {
                held_out.count_error(row, cost, &mut self.fold);
                continue;
            }
            let predicted = held_out.predicted(row, cost);
            self.fold.add(held_out.class(row), predicted);
            if held_out.scoring == Scoring::LogLoss {
                let heads = &self.sigmoids[cost];
                let own =
                    held_out.probability(row, cost, |head, it| heads[head].sigmoid.probability(it));
                self.fold.add_probability(own);
            }
        }
        match portion.last {
            true => self.end_fold(),
            false => Ok(()),
        }
    }

    /// Gives more rows to the fit of a head's sigmoid: of the C under way, or when all are scored of the best.
    fn fit(&mut self, portion: Portion) -> Result<(), TrainError> {
        let Task::Fitting(fit) = &mut self.task else {
            return Ok(());
        };
        let held_out = &self.held_out;
        let cost = match self.at.cost == held_out.candidates.len() {
            true => self.best,
            false => self.at.cost,
        };
        let head = self.sigmoids[cost].len();
        let held = |row: &usize| held_out.place(held_out.groups[*row] as usize).is_some();
        let own = portion.rows.filter(held);
        let own = own.filter_map(|row| held_out.for_head(row, cost, head));
        fit.take(own.map(|(decision, positive)| (f64::from(decision), positive)));
        if portion.last {
            self.gone = 0;
            if fit.end_of_rows() {
                let sigmoid = fit.found();
                self.sigmoids[cost].room(1)?.push(sigmoid.into());
                self.go_on()?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, task: Task) {
        self.task = task;
        self.gone = 0;
    }

    /// Where the rows of the fold under way stand in the order.
    fn fold_under_way(&self) -> Range<usize> {
        let before = self.at.fold.checked_sub(1);
        before.map_or(0, |before| self.ends[before])..self.ends[self.at.fold]
    }

    /// Begins what comes next: the sigmoids of a C that is scored by probabilities, its folds, and behind the last C the
    /// probabilities of the best one where they are wanted.
    fn go_on(&mut self) -> Result<(), TrainError> {
        let held_out = &self.held_out;
        let cost = self.at.cost;
        let decided = cost == held_out.candidates.len();
        if decided {
            self.best = self.choose();
        }
        let (cost, fits) = match decided {
            true => (self.best, held_out.probabilities),
            false => (cost, held_out.scoring == Scoring::LogLoss),
        };
        if fits && self.sigmoids[cost].len() < held_out.layout.heads() {
            self.begin(Task::Fitting(SigmoidFit::new()));
            return Ok(());
        }
        match (decided, fits) {
            (true, true) => {
                let heads = std::mem::take(&mut self.sigmoids[cost]);
                let calibrating = Calibrating::new(held_out, cost, heads)?;
                self.begin(Task::Calibrating(Box::new(calibrating)));
                Ok(())
            }
            (true, false) => {
                self.calibrations.residuals = residuals(held_out, cost)?;
                self.begin(Task::Ended);
                Ok(())
            }
            (false, _) => self.begin_ranking(),
        }
    }

    fn end_calibrating(&mut self) {
        if let Task::Calibrating(calibrating) = std::mem::replace(&mut self.task, Task::Ended) {
            self.calibrations = calibrating.finish();
        }
    }

    fn begin_ranking(&mut self) -> Result<(), TrainError> {
        // numbers have no classes to rank
        if self.held_out.has_targets() {
            self.at.head = self.held_out.layout.heads();
            self.begin(Task::Judging);
            return Ok(());
        }
        let rows = self.fold_under_way().len();
        let ranking = Ranking::new(rows).map_err(|_| TrainError::OutOfMemory {
            bytes: 8 * rows as u64,
        })?;
        self.begin(Task::Ranking(ranking));
        Ok(())
    }

    fn end_ranking(&mut self, area: Option<f64>) -> Result<(), TrainError> {
        self.at.head += 1;
        self.fold.add_area(area);
        if self.at.head < self.held_out.layout.heads() {
            return self.begin_ranking();
        }
        self.begin(Task::Judging);
        Ok(())
    }

    /// Adds up what is known of a C and fold, and behind the last fold of the C.
    fn end_fold(&mut self) -> Result<(), TrainError> {
        let held_out = &self.held_out;
        let At { cost, fold, head } = std::mem::take(&mut self.at);
        let first = held_out.head(cost, fold);
        let reports = &self.reports[first..first + head];
        let score = |counts: &Counts| counts.score(held_out.scoring, held_out.positive);
        self.validation.push(Validation {
            c: held_out.candidates[cost].c,
            truncation: held_out.candidates[cost].truncation,
            gamma: None,
            epsilon: None,
            fold: held_out.layout.folds()[fold],
            rows: self.fold.rows(),
            accuracy: self.fold.accuracy(),
            auc: self.fold.area(),
            objective: reports.iter().map(|head| head.certificate.primal).sum(),
            score: score(&self.fold),
            overall: None,
        });
        self.all.add_fold(&self.fold);
        (self.at.cost, self.at.fold) = (cost, fold + 1);
        if self.at.fold == self.ends.len() {
            self.end_cost(score(&self.all));
        }
        self.fold.clear();
        self.go_on()
    }

    /// Notes the score of a C over all folds.
    fn end_cost(&mut self, overall: Option<f64>) {
        let folds = self.validation.len() - self.ends.len()..;
        for found in &mut self.validation[folds] {
            found.overall = overall;
        }
        self.scores.push(overall);
        self.all.clear();
        (self.at.cost, self.at.fold) = (self.at.cost + 1, 0);
    }

    /// The C with the best score, the smallest of equals.
    fn choose(&self) -> usize {
        let HeldOutDecisions {
            candidates,
            scoring,
            ..
        } = &self.held_out;
        let mut best = 0;
        for (cost, &score) in self.scores.iter().enumerate() {
            let equal = score == self.scores[best];
            let better = scoring.is_better(score, self.scores[best]);
            if better || (equal && candidates[cost].c < candidates[best].c) {
                best = cost;
            }
        }
        best
    }

    /// The rows whose margin at the best candidate is below this; of rows with targets those whose error is an outlier.
    pub(super) fn doubts(&self, below: f64) -> Result<Vec<Doubt>, OutOfMemory> {
        if !self.held_out.has_targets() {
            return self.held_out.doubts(self.best, below);
        }
        let mut sizes = error_sizes(&self.held_out, self.best)?;
        let beyond = quantiles::median(&mut sizes).map_or(f64::INFINITY, outlying);
        self.held_out.far_off(self.best, beyond)
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
            best: self.held_out.candidates[best],
            score: self.scores[best],
            scores: self.scores,
            calibrations: self.calibrations,
        }
    }
}

/// How far decisions at one C are from targets. None where rows have none, or several for each.
fn residuals(
    held_out: &HeldOutDecisions,
    cost: usize,
) -> Result<Option<ConformalResiduals>, OutOfMemory> {
    if !held_out.has_targets() || held_out.of_quantiles() {
        return Ok(None);
    }
    ConformalResiduals::of(&mut error_sizes(held_out, cost)?)
}

/// The absolute errors of decisions at one C; of very many rows those of a sample.
fn error_sizes(held_out: &HeldOutDecisions, cost: usize) -> Result<Vec<f32>, OutOfMemory> {
    let count = held_out.groups.len();
    let rule = SampleRule::new(count, MOST_RESIDUALS);
    let is_read = |row: &usize| {
        if row.is_multiple_of(ROWS_A_STEP) {
            interrupts::check();
        }
        rule.has(*row) && held_out.fold_place(*row).is_some()
    };
    let errors = (0..count).filter(is_read);
    let errors = errors.filter_map(|row| held_out.away(row, cost));
    gathered(errors.map(f32::abs))
}
