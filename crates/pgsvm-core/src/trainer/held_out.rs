//! Held-out decisions: one more pass over the rows when the heads of a stage have ended, and what follows from them.
//!
//! Each row is decided by the held-out heads of its own fold: one f32 for each C and head of a classifier. Beside them
//! stand the group and, ordered by fold, the number of each row. Then, a bit a step, each C is evaluated on each fold, the
//! best is chosen, and the final heads get their sigmoids from its decisions.

use crate::evaluation::{auc, predicted_class, Sigmoid, SigmoidFit};
use crate::kernel::{Kernel, Real, Work};
use crate::plan::{Layout, Plan, Purpose, MOST_FOLDS};
use crate::row::Row;
use crate::solver::Solver;
use crate::trainer::{HeadReport, TrainError, Validation};

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
            groups: filled(rows)?,
            decisions: filled(rows * plan.costs.len() * layout.heads())?,
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
    fn decide<K: Kernel, T: Real>(&mut self, solver: &Solver<T>, row: &Row<'_>) {
        let (ordinal, width, heads) = (row.ordinal(), self.width(), self.layout.heads());
        let place = self.places[self.layout.fold(row.group()) as usize];
        self.groups[ordinal] = row.group() as u32;
        for cost in 0..self.costs.len() {
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

/// The work of deciding consecutive rows.
pub(super) struct Decide<'a, T, R> {
    pub(super) solver: &'a Solver<T>,
    pub(super) rows: R,
    pub(super) held_out: &'a mut HeldOut,
}

impl<'a, T: Real, R: Iterator<Item = Row<'a>>> Work for Decide<'_, T, R> {
    /// Values of the rows.
    type Output = usize;

    #[inline(always)]
    fn run<K: Kernel>(self) -> usize {
        let mut values = 0;
        for row in self.rows {
            values += row.values() * self.held_out.width();
            self.held_out.decide::<K, T>(self.solver, &row);
        }
        values
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
    /// Rows by fold, and where each fold that has rows ends.
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
    best: Option<usize>,
    sigmoids: Vec<Sigmoid>,
    fit: Option<SigmoidFit>,
}

impl Evaluation {
    pub(super) fn new(held_out: HeldOut, reports: Vec<HeadReport>) -> Result<Self, TrainError> {
        let mut starts = vec![0; held_out.layout.folds().len() + 1];
        let place = |group: u32| held_out.places[held_out.layout.fold(group as usize) as usize];
        for &group in &held_out.groups {
            starts[place(group) + 1] += 1;
        }
        for fold in 1..starts.len() {
            starts[fold] += starts[fold - 1];
        }
        let mut order: Vec<u32> = filled(held_out.groups.len())?;
        for (row, &group) in held_out.groups.iter().enumerate() {
            let next = &mut starts[place(group)];
            order[*next] = row as u32;
            *next += 1;
        }
        // each start has moved to its fold's end
        starts.pop();
        Ok(Self {
            correct: vec![0; held_out.costs.len()],
            reports,
            order,
            ends: starts,
            validation: Vec::new(),
            heads: 0,
            ranked: 0,
            ranks: 0.0,
            best: None,
            sigmoids: Vec::new(),
            fit: None,
            held_out,
        })
    }

    /// Does the next bit of it: a head of a C and fold, or a Newton step of a sigmoid. True at the end.
    pub(super) fn step(&mut self) -> Result<bool, TrainError> {
        let Some(best) = self.best else {
            if self.validation.len() < self.correct.len() * self.ends.len() {
                self.rank_head()?;
            } else {
                self.best = Some(self.choose());
            }
            return Ok(false);
        };
        if !self.held_out.sigmoids || self.sigmoids.len() == self.held_out.layout.heads() {
            return Ok(true);
        }
        let held_out = &self.held_out;
        let head = self.sigmoids.len();
        let rows = (0..held_out.groups.len()).map(|row| {
            let (decision, positive) = held_out.for_head(row, best, head);
            (f64::from(decision), positive)
        });
        match &mut self.fit {
            None => self.fit = Some(SigmoidFit::new(rows)),
            Some(fit) => {
                if fit.step(rows) {
                    self.sigmoids.push(fit.sigmoid);
                    self.fit = None;
                }
            }
        }
        Ok(false)
    }

    /// Ranks the rows of a fold by the next head of a C; behind the last head, adds up what is known of both.
    fn rank_head(&mut self) -> Result<(), TrainError> {
        let (cost, place) = (
            self.validation.len() / self.ends.len(),
            self.validation.len() % self.ends.len(),
        );
        let from = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        let rows = &self.order[from..self.ends[place]];
        let held_out = &self.held_out;
        let ranking = rows
            .iter()
            .map(|row| held_out.for_head(*row as usize, cost, self.heads));
        let found = auc(ranking).map_err(|_| TrainError::OutOfMemory {
            bytes: 8 * rows.len() as u64,
        })?;
        self.heads += 1;
        self.ranked += usize::from(found.is_some());
        self.ranks += found.unwrap_or(0.0);
        if self.heads < held_out.layout.heads() {
            return Ok(());
        }
        let is_right = |row: &&u32| {
            let row = **row as usize;
            predicted_class(held_out.of(row, cost)) == held_out.class(row)
        };
        let correct = rows.iter().filter(is_right).count() as u64;
        let first = held_out.head(cost, place);
        let reports = &self.reports[first..first + self.heads];
        self.validation.push(Validation {
            c: held_out.costs[cost],
            fold: held_out.layout.folds()[place],
            rows: rows.len() as u64,
            accuracy: correct as f64 / rows.len() as f64,
            auc: (self.ranked > 0).then(|| self.ranks / self.ranked as f64),
            objective: reports.iter().map(|head| head.certificate.primal).sum(),
        });
        self.correct[cost] += correct;
        (self.heads, self.ranked, self.ranks) = (0, 0, 0.0);
        Ok(())
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
        let best = self.best.unwrap_or(0);
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

fn filled<V: Copy + Default>(length: usize) -> Result<Vec<V>, TrainError> {
    let mut values = Vec::new();
    values
        .try_reserve_exact(length)
        .map_err(|_| TrainError::OutOfMemory {
            bytes: (length * std::mem::size_of::<V>()) as u64,
        })?;
    values.resize(length, V::default());
    Ok(values)
}
