//! How good held-out decisions are, by the measure that C is chosen by.

use serde::{Deserialize, Serialize};

use crate::base::memory::{filled, OutOfMemory};
use crate::report::Residuals;

/// A probability counts as no less than this in the log loss, which stays finite.
const LEAST_PROBABILITY: f64 = 1e-15;

/// The log loss of a row to whose class this probability was given.
pub fn log_loss(probability: f64) -> f64 {
    -probability.max(LEAST_PROBABILITY).ln()
}

/// What says which of several C is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scoring {
    /// The share of rows that get their own class.
    Accuracy,
    /// The mean over the classes of the share of their rows that get them.
    BalancedAccuracy,
    /// The harmonic mean of precision and recall: of two classes that of the positive one, of more the mean over all.
    F1,
    /// The area under the ROC curve, of more than two classes the mean over those against their rest, or over their pairs where heads
    /// tell two of them apart.
    Auc,
    /// The mean of -ln(probability of the row's own class); smaller is better.
    LogLoss,
    /// Of targets the root of the mean of squared errors, and the mean of their sizes; smaller is better.
    Rmse,
    Mae,
    /// The share of the targets' variance that decisions explain.
    R2,
    /// The mean loss of the quantiles that decisions predict; smaller is better.
    Pinball,
}

impl Scoring {
    /// Whether it measures the distance from targets.
    pub fn is_of_targets(self) -> bool {
        self.has_their_unit() || self == Self::R2
    }

    /// Whether it is in the unit of the targets.
    pub fn has_their_unit(self) -> bool {
        matches!(self, Self::Rmse | Self::Mae | Self::Pinball)
    }

    /// Whether a smaller score is the better one.
    fn falls(self) -> bool {
        self.has_their_unit() || self == Self::LogLoss
    }

    /// Whether one score is better than another; a score that there is is better than none.
    pub fn is_better(self, one: Option<f64>, other: Option<f64>) -> bool {
        match (one, other) {
            (Some(one), Some(other)) if self.falls() => one < other,
            (Some(one), Some(other)) => one > other,
            (one, None) => one.is_some(),
            (None, Some(_)) => false,
        }
    }

    /// Where the best of some values that were tried is the smallest or the largest of them, and better than the one beside it: how
    /// many times that it is.
    pub fn outwards(
        self,
        (best, score): (f64, Option<f64>),
        tried: impl Iterator<Item = (f64, Option<f64>)> + Clone,
    ) -> Option<f64> {
        let beside = |smaller: bool| {
            let inner = tried.clone();
            let inner = inner.filter(|(value, _)| (*value < best) == smaller && *value != best);
            inner.min_by(|(a, _), (b, _)| {
                let distance = |value: f64| (value / best).ln().abs();
                distance(*a).total_cmp(&distance(*b))
            })
        };
        let (value, other) = match (beside(true), beside(false)) {
            (Some(neighbour), None) | (None, Some(neighbour)) => neighbour,
            _ => return None,
        };
        self.is_better(score, other).then(|| best / value)
    }

    /// Whether none is better.
    pub fn is_perfect(self, score: Option<f64>) -> bool {
        score == Some(if self.falls() { 0.0 } else { 1.0 })
    }
}

/// What is counted of decided rows.
pub struct Counts {
    rows: u64,
    /// By class: its rows, those that get it, and its rows that get it.
    classes: Vec<[u64; 3]>,
    /// Sum of -ln(probability of the row's own class).
    losses: f64,
    /// Areas under ROC curves, and their sum.
    areas: u64,
    area: f64,
    /// Of rows with targets.
    residuals: Residuals,
}

impl Counts {
    pub fn new(classes: usize) -> Result<Self, OutOfMemory> {
        Ok(Self {
            rows: 0,
            classes: filled([0; 3], classes)?,
            losses: 0.0,
            areas: 0,
            area: 0.0,
            residuals: Residuals::default(),
        })
    }

    pub fn clear(&mut self) {
        self.classes.fill([0; 3]);
        (self.rows, self.losses, self.areas, self.area) = (0, 0.0, 0, 0.0);
        self.residuals = Residuals::default();
    }

    /// Counts a row of a class that gets another, or the same.
    pub fn add(&mut self, class: usize, predicted: usize) {
        self.rows += 1;
        self.classes[class][0] += 1;
        self.classes[predicted][1] += 1;
        self.classes[class][2] += u64::from(class == predicted);
    }

    /// Counts a row with a target whose decisions are so far above it.
    pub fn add_errors(&mut self, target: f64, all: &[f32], quantiles: &[f64]) {
        self.rows += 1;
        let all = all.iter().map(|away| f64::from(*away));
        self.residuals.take_errors(target, all, quantiles);
    }

    /// Takes the probability of a row's own class.
    pub fn add_probability(&mut self, probability: f64) {
        self.losses += log_loss(probability);
    }

    pub fn add_area(&mut self, area: Option<f64>) {
        self.areas += u64::from(area.is_some());
        self.area += area.unwrap_or(0.0);
    }

    /// Adds the rows of a fold; its area counts as one.
    pub fn add_fold(&mut self, fold: &Self) {
        self.rows += fold.rows;
        for (all, some) in self.classes.iter_mut().zip(&fold.classes) {
            *all = std::array::from_fn(|k| all[k] + some[k]);
        }
        self.losses += fold.losses;
        self.residuals.join(&fold.residuals);
        self.add_area(fold.area());
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    pub fn accuracy(&self) -> f64 {
        let right: u64 = self.classes.iter().map(|[_, _, right]| right).sum();
        right as f64 / self.rows.max(1) as f64
    }

    /// The mean of the areas; None where there is none.
    pub fn area(&self) -> Option<f64> {
        (self.areas > 0).then(|| self.area / self.areas as f64)
    }

    /// The score; None where these rows have none. `positive`: the class that is, of two.
    pub fn score(&self, scoring: Scoring, positive: usize) -> Option<f64> {
        if self.rows == 0 {
            return None;
        }
        let classes = self.classes.iter();
        let f1 = |[actual, predicted, right]: &[u64; 3]| {
            2.0 * *right as f64 / (actual + predicted).max(1) as f64
        };
        match scoring {
            Scoring::Accuracy => Some(self.accuracy()),
            Scoring::BalancedAccuracy => {
                let present = classes.filter(|[actual, ..]| *actual > 0);
                mean(present.map(|[actual, _, right]| *right as f64 / *actual as f64))
            }
            Scoring::F1 if self.classes.len() <= 2 => self.classes.get(positive).map(f1),
            Scoring::F1 => {
                let met = classes.filter(|[actual, predicted, _]| actual + predicted > 0);
                mean(met.map(f1))
            }
            Scoring::Auc => self.area(),
            Scoring::LogLoss => Some(self.losses / self.rows as f64),
            Scoring::Rmse => Some(self.residuals.rmse()),
            Scoring::Mae => Some(self.residuals.mae()),
            Scoring::R2 => self.residuals.r2(),
            Scoring::Pinball => Some(self.residuals.pinball()),
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Scoring; 5] = [
        Scoring::Accuracy,
        Scoring::BalancedAccuracy,
        Scoring::F1,
        Scoring::Auc,
        Scoring::LogLoss,
    ];

    fn counted(classes: usize, rows: &[(usize, usize)]) -> Counts {
        let mut counts = Counts::new(classes).unwrap();
        rows.iter()
            .for_each(|(class, predicted)| counts.add(*class, *predicted));
        counts
    }

    #[test]
    fn scores_are_what_their_definitions_say() {
        // four of class 0, of which one is taken for 1; two of class 1, of which one is taken for 0
        let mut two = counted(2, &[(0, 0), (0, 0), (0, 0), (0, 1), (1, 1), (1, 0)]);
        two.add_area(Some(0.5));
        two.add_area(None);
        two.add_area(Some(0.75));
        (0..6).for_each(|_| two.add_probability(0.5));
        let score = |scoring, positive| two.score(scoring, positive).unwrap();
        assert_eq!(score(Scoring::Accuracy, 1), 4.0 / 6.0);
        assert_eq!(score(Scoring::BalancedAccuracy, 1), (0.75 + 0.5) / 2.0);
        assert_eq!(score(Scoring::F1, 1), 0.5);
        assert_eq!(score(Scoring::F1, 0), 0.75);
        assert_eq!(score(Scoring::Auc, 1), 0.625);
        assert!((score(Scoring::LogLoss, 1) - 2f64.ln()).abs() < 1e-12);
        // class 2 has no rows, and is no class of the means
        let three = counted(4, &[(0, 0), (0, 1), (1, 1), (3, 3)]);
        let close = |one: Option<f64>, other: f64| (one.unwrap() - other).abs() < 1e-12;
        assert!(close(three.score(Scoring::BalancedAccuracy, 1), 2.5 / 3.0));
        let f1 = (2.0 / 3.0 + 2.0 / 3.0 + 1.0) / 3.0;
        assert!(close(three.score(Scoring::F1, 1), f1));
        assert_eq!(three.score(Scoring::Auc, 1), None);
    }

    #[test]
    fn folds_add_up() {
        let mut all = counted(2, &[]);
        assert!(ALL.iter().all(|it| all.score(*it, 1).is_none()));
        for area in [0.5, 1.0] {
            let mut fold = counted(2, &[(0, 0), (1, 0)]);
            fold.add_area(Some(area));
            fold.add_probability(0.0);
            all.add_fold(&fold);
        }
        assert_eq!(all.rows(), 4);
        assert_eq!(all.score(Scoring::Accuracy, 1), Some(0.5));
        assert_eq!(all.score(Scoring::F1, 1), Some(0.0));
        assert_eq!(all.score(Scoring::Auc, 1), Some(0.75));
        assert!(all.score(Scoring::LogLoss, 1).unwrap().is_finite());
        all.clear();
        assert!(ALL.iter().all(|it| all.score(*it, 1).is_none()));
    }

    #[test]
    fn a_smaller_log_loss_is_better() {
        for scoring in ALL {
            let smaller = scoring == Scoring::LogLoss;
            assert_eq!(scoring.is_better(Some(0.1), Some(0.2)), smaller);
            assert_eq!(scoring.is_better(Some(0.2), Some(0.1)), !smaller);
            assert!(!scoring.is_better(Some(0.2), Some(0.2)));
            assert!(scoring.is_better(Some(0.2), None) && !scoring.is_better(None, None));
        }
    }
}
