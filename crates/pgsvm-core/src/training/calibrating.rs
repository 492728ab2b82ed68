//! Isotonic functions beside the sigmoids of the C chosen, and which of the two say probabilities.
//!
//! Rows that were held out are halved by folds. On each half sigmoids and isotonic functions are fitted, and judged by the log loss of
//! the other half's rows: so none is judged by rows that it knows, nor by rows of their folds, which a column may have put together.
//! Isotonic functions take the place of sigmoids where the mean of what a row gains is larger than its standard error, the rule by
//! which Breiman, Friedman, Olshen and Stone ("Classification and regression trees", 1984, 3.4.3) prefer the simpler model. Where
//! sigmoids are right the gain is below 0 by several standard errors, as the blocks follow chance. All heads are judged together, by the
//! probabilities of classes that they make.
//!
//! Of very many rows a sample is read, which is sorted in a few milliseconds.

use crate::base::interrupts;
use crate::base::memory::{gathered, Room};
use crate::objective::calibration::{
    Calibration, CalibrationChoice, CalibrationLosses, CalibrationRows, Calibrations,
};
use crate::objective::evaluation::{of_order_key, order_key, Sigmoid, SigmoidFit};
use crate::objective::isotonic::Isotonic;
use crate::objective::scoring::log_loss;
use crate::training::error::TrainError;
use crate::training::held_out::HeldOutDecisions;
use crate::training::schedule::survey::SampleRule;

/// Rows that are read, about.
const MOST_ROWS: usize = 1 << 18;
/// Rows between two looks for interrupts, and probabilities that a step compares.
const A_STEP: usize = 1 << 16;
/// The part of the rows that each half must have.
const LEAST_HALF: usize = 4;

/// The work, under way.
pub(super) struct Calibrating {
    choice: CalibrationChoice,
    cost: usize,
    /// By head, of all rows; isotonic functions come to them head by head.
    heads: Vec<Calibration>,
    /// The rows that are read, and how many of them are of the first half of the folds.
    sample: Vec<u32>,
    first_half: usize,
    /// By half, what was fitted to its rows, head by head.
    halves: [Vec<Calibration>; 2],
    /// The head under way.
    at: usize,
    task: Task,
    /// None where no isotonic functions are wanted.
    fitted: Option<CalibrationRows>,
    gains: Gains,
}

enum Task {
    /// The isotonic functions of the next head.
    Isotonic,
    /// The sigmoid of a half of the rows of that head, whose keys these are.
    Sigmoid(usize, Box<SigmoidFit>, Vec<u64>),
    /// Comparing, from this row of the sample on.
    Comparing(usize),
    Ended,
}

/// What isotonic functions gain, summed over rows.
#[derive(Default)]
struct Gains {
    /// Log losses of sigmoids and of isotonic functions.
    losses: [f64; 2],
    squares: f64,
    rows: f64,
}

impl Calibrating {
    /// Beside these calibrations at one C, which have sigmoids alone.
    pub(super) fn new(
        held_out: &HeldOutDecisions,
        cost: usize,
        heads: Vec<Calibration>,
    ) -> Result<Self, TrainError> {
        let choice = held_out.calibration;
        let rule = SampleRule::new(held_out.groups.len(), MOST_ROWS);
        let is_gone_over = |row: &u32| {
            let row = *row as usize;
            if row.is_multiple_of(A_STEP) {
                interrupts::check();
            }
            rule.has(row) && held_out.fold_place(row).is_some()
        };
        let rows = 0..held_out.groups.len() as u32;
        let sample = match choice {
            CalibrationChoice::Sigmoid => Vec::new(),
            _ => gathered(rows.filter(is_gone_over))?,
        };
        let rows = CalibrationRows {
            rows: sample.len() as u64,
            rarest: sample.len() as u64,
        };
        let first_half = sample.iter().filter(|row| half(held_out, **row) == 0);
        let mut calibrating = Self {
            first_half: first_half.count(),
            choice,
            cost,
            heads,
            sample,
            halves: Default::default(),
            at: 0,
            task: Task::Ended,
            fitted: None,
            gains: Gains::default(),
        };
        let wanted = match choice {
            CalibrationChoice::Auto => rows.suffice() && calibrating.can_judge(),
            CalibrationChoice::Sigmoid => false,
            CalibrationChoice::Isotonic => true,
        };
        if wanted {
            calibrating.fitted = Some(rows);
            calibrating.task = Task::Isotonic;
        }
        Ok(calibrating)
    }

    /// Does the next bit of it, some milliseconds' work. True at the end.
    pub(super) fn step(&mut self, held_out: &HeldOutDecisions) -> Result<bool, TrainError> {
        match std::mem::replace(&mut self.task, Task::Ended) {
            Task::Isotonic => self.fit_isotonic(held_out)?,
            Task::Sigmoid(half, mut fit, keys) => {
                fit.take(of_half(&keys, half).map(|(decision, it)| (f64::from(decision), it)));
                match fit.end_of_rows() {
                    true => self.end_sigmoid(half, fit.found(), keys)?,
                    false => self.task = Task::Sigmoid(half, fit, keys),
                }
            }
            Task::Comparing(from) => self.compare(held_out, from),
            Task::Ended => return Ok(true),
        }
        Ok(false)
    }

    /// Fits the isotonic function of the next head to all rows.
    fn fit_isotonic(&mut self, held_out: &HeldOutDecisions) -> Result<(), TrainError> {
        let Some(head) = self.heads.get_mut(self.at) else {
            self.end_fitting();
            return Ok(());
        };
        let keys = keys(held_out, (self.cost, self.at), &self.sample)?;
        let positives = keys.iter().filter(|key| **key & POSITIVE != 0).count();
        let rows = CalibrationRows {
            rows: keys.len() as u64,
            rarest: positives.min(keys.len() - positives) as u64,
        };
        if self.choice == CalibrationChoice::Isotonic || rows.suffice() {
            if let Some(fitted) = &mut self.fitted {
                fitted.rarest = fitted.rarest.min(rows.rarest);
            }
            head.isotonic = Isotonic::fit(keys.iter().map(|key| decided(*key)))?;
        }
        self.task = Task::Sigmoid(0, Box::new(SigmoidFit::new()), keys);
        Ok(())
    }

    /// Whether each half has rows enough to judge what the other one says.
    fn can_judge(&self) -> bool {
        let halves = [self.first_half, self.sample.len() - self.first_half];
        halves
            .iter()
            .all(|rows| rows * LEAST_HALF >= self.sample.len())
    }

    /// Fits the isotonic function of the same half beside its sigmoid.
    fn end_sigmoid(
        &mut self,
        half: usize,
        sigmoid: Sigmoid,
        keys: Vec<u64>,
    ) -> Result<(), TrainError> {
        let isotonic = match self.heads[self.at].isotonic {
            Some(_) => Isotonic::fit(of_half(&keys, half))?,
            None => None,
        };
        self.halves[half]
            .room(1)?
            .push(Calibration { sigmoid, isotonic });
        self.task = match half {
            0 => Task::Sigmoid(1, Box::new(SigmoidFit::new()), keys),
            _ => {
                self.at += 1;
                Task::Isotonic
            }
        };
        Ok(())
    }

    /// All functions are there.
    fn end_fitting(&mut self) {
        let any = self.heads.iter().any(|it| it.isotonic.is_some());
        self.task = match any && self.can_judge() {
            true => Task::Comparing(0),
            false => Task::Ended,
        };
    }

    /// Compares on some rows what the functions of the other half say of them.
    fn compare(&mut self, held_out: &HeldOutDecisions, from: usize) {
        let rows = (A_STEP / self.heads.len()).max(1);
        let end = self.sample.len().min(from + rows);
        for &row in &self.sample[from..end] {
            let others = &self.halves[1 - half(held_out, row)];
            let own =
                |of: &dyn Fn(usize, f64) -> f64| held_out.probability(row as usize, self.cost, of);
            let sigmoid = own(&|head, decision| others[head].sigmoid.probability(decision));
            let both = own(&|head, decision| others[head].probability(decision));
            self.gains.add([sigmoid, both].map(log_loss));
        }
        self.task = match end == self.sample.len() {
            true => Task::Ended,
            false => Task::Comparing(end),
        };
    }

    /// What probabilities are made by.
    pub(super) fn finish(mut self) -> Calibrations {
        let losses = self.gains.losses();
        let stay = self.choice == CalibrationChoice::Auto && !self.gains.are_clear();
        if stay {
            self.heads.iter_mut().for_each(|it| it.isotonic = None);
        }
        Calibrations {
            heads: self.heads,
            fitted: self.fitted,
            losses,
            residuals: None,
        }
    }
}

impl Gains {
    fn add(&mut self, [sigmoid, isotonic]: [f64; 2]) {
        let gain = sigmoid - isotonic;
        self.losses[0] += sigmoid;
        self.losses[1] += isotonic;
        self.squares += gain * gain;
        self.rows += 1.0;
    }

    /// Whether the mean gain is larger than its standard error.
    fn are_clear(&self) -> bool {
        let mean = (self.losses[0] - self.losses[1]) / self.rows;
        let variance = (self.squares / self.rows - mean * mean).max(0.0);
        mean > (variance / self.rows).sqrt()
    }

    fn losses(&self) -> Option<CalibrationLosses> {
        let [sigmoid, isotonic] = self.losses.map(|sum| sum / self.rows);
        (self.rows > 0.0).then_some(CalibrationLosses {
            sigmoid,
            isotonic,
            rows: self.rows as u64,
        })
    }
}

/// Whether a row is positive, the lowest bit of its key, and its half, the next one.
const POSITIVE: u64 = 1;

/// The rows of a sample in the order of a head's decisions at one C: above two bits what their decisions are ordered by.
fn keys(
    held_out: &HeldOutDecisions,
    (cost, head): (usize, usize),
    sample: &[u32],
) -> Result<Vec<u64>, TrainError> {
    let keys = sample.iter().filter_map(|&row| {
        let (decision, positive) = held_out.for_head(row as usize, cost, head)?;
        let half = half(held_out, row) as u64;
        Some(order_key(decision) << 2 | half << 1 | u64::from(positive))
    });
    let mut keys = gathered(keys)?;
    keys.sort_unstable();
    Ok(keys)
}

/// The decision of a key, and whether its row is positive.
fn decided(key: u64) -> (f32, bool) {
    (of_order_key(key >> 2), key & POSITIVE != 0)
}

/// The same of the keys of a half's rows, in their order.
fn of_half(keys: &[u64], half: usize) -> impl Iterator<Item = (f32, bool)> + Clone + '_ {
    let own = keys
        .iter()
        .filter(move |key| (**key >> 1 & 1) as usize == half);
    own.map(|key| decided(*key))
}

/// The half that a row's fold is of: folds take turns.
fn half(held_out: &HeldOutDecisions, row: u32) -> usize {
    held_out.fold_place(row as usize).unwrap_or(0) % 2
}
