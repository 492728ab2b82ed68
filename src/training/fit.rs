//! What a model makes of the rows that it was trained on, and whether that looks as if it had learned nothing.

use crate::training::outcome::Trained;
use pgsvm_core::Fit;

/// Below these areas under the ROC curve a model ranks hardly better than chance; and too badly to excuse an accuracy that is
/// no better than the largest class's share, as good models of rare classes have it.
pub const POOR_AUC: f64 = 0.6;
const WEAK_AUC: f64 = 0.7;
/// A regression that explains less of its label's variance explains next to nothing.
pub const POOR_R2: f64 = 0.05;
/// A standard deviation of decisions next to which a margin of 1 is far away.
pub const SMALL_DEVIATION: f64 = 0.01;
/// Of more classes than this an accuracy below that, and up to so many times the largest class's share, is hardly better than the share:
/// so much of their rows weights of many classes get right by chance.
const MANY_CLASSES: usize = 20;
/// More classes than people tell apart.
pub const VERY_MANY_CLASSES: usize = 100;
const SMALL_ACCURACY: f64 = 0.1;
const HARDLY_BETTER: f64 = 5.0;
/// Share of the rows that are nearly all of them.
const NEARLY_ALL: f64 = 0.99;

/// A training's accuracy on its own rows.
pub struct OnTrainingRows {
    /// None where the rows were not all looked at.
    pub accuracy: Option<f64>,
    /// Of two classes.
    pub auc: Option<f64>,
}

impl OnTrainingRows {
    pub fn of(trained: &Trained) -> Self {
        let report = &trained.trainer.report;
        let fit = report.fit.as_ref();
        if trained.reader.report.targets.is_some() || report.nu.is_some() {
            // which side of its label a row is on says nothing, nor that of rows without one
            return Self {
                accuracy: None,
                auc: None,
            };
        }
        Self {
            accuracy: match report.heads.as_slice() {
                [head] => Some(head.training_accuracy),
                _ => fit.map(Fit::accuracy),
            },
            auc: fit.and_then(|fit| fit.auc),
        }
    }
}

/// The share of the rows looked at that are strange to a model of novelties; None of other models.
pub fn novel_share(trained: &Trained) -> Option<f64> {
    let report = &trained.trainer.report;
    report.nu?;
    let fit = report.fit.as_ref()?;
    Some(*fit.predicted.first()? as f64 / fit.rows.max(1) as f64)
}

/// How far predictions of a regression are from the labels that they were trained on, in the units of these.
#[derive(Debug, Clone, Copy)]
pub struct OffTarget {
    pub rmse: f64,
    /// None where labels are all the same.
    pub r2: Option<f64>,
    /// Where quantiles are predicted, the mean of their losses.
    pub pinball: f64,
    /// The share of rows whose label is no more than what is predicted.
    pub coverage: f64,
}

impl OffTarget {
    /// None of a training whose labels are classes, or whose rows were not looked at.
    pub fn of(trained: &Trained) -> Option<Self> {
        let targets = trained.reader.report.targets?;
        let residuals = trained.trainer.report.fit.as_ref()?.residuals?;
        Some(Self {
            rmse: targets.unit() * residuals.rmse(),
            r2: residuals.r2(),
            pinball: targets.unit() * residuals.pinball(),
            coverage: residuals.coverage(),
        })
    }

    /// R2 where a small one says that little was learned: by Huber's loss, which leaves labels that are far off alone, it says little.
    pub fn telling_r2(trained: &Trained) -> Option<f64> {
        let targets = trained.reader.report.targets?;
        match targets.delta {
            Some(_) => None,
            None => Self::of(trained)?.r2,
        }
    }
}

/// Why a model may have learned nothing.
#[derive(Debug, PartialEq)]
pub enum Trouble {
    /// Decisions are almost the same for all rows.
    NoWeights,
    /// The area under the ROC curve is near that of chance.
    Chance(f64),
    /// One class, by number, gets nearly all rows: this share of them, and this many are of it.
    OneClass(usize, f64, f64),
    /// The accuracy is no more than the share of the largest class, by number.
    NoBetter(f64, usize, f64),
    /// The same of many classes, where it is little more.
    HardlyBetter(f64, usize, f64),
    /// Of classes that count alike the mean share of rows that are right is no more than by chance; the largest class, by number.
    ByChance(f64, usize),
    /// These of many classes get no row.
    Missing(Vec<usize>),
}

/// What is the matter with a training of so many rows and this accuracy, the worst first. `weighted`: whether classes count otherwise
/// than by their rows.
pub fn troubles(fit: &Fit, rows: u64, accuracy: f64, weighted: bool) -> Vec<Trouble> {
    let mut found = Vec::new();
    let share = |counts: &[u64], class: usize| counts[class] as f64 / fit.rows.max(1) as f64;
    if fit.deviation < SMALL_DEVIATION {
        found.push(Trouble::NoWeights);
    }
    if let Some(auc) = fit.auc.filter(|auc| *auc < POOR_AUC) {
        found.push(Trouble::Chance(auc));
    }
    let usual = most(&fit.predicted);
    let (predicted, actual) = (share(&fit.predicted, usual), share(&fit.actual, usual));
    // classes may be rare: it is the others' share that counts
    if predicted >= NEARLY_ALL && 1.0 - actual > 2.0 * (1.0 - predicted) {
        found.push(Trouble::OneClass(usual, predicted, actual));
    }
    let classes = fit.actual.len();
    let weak = match fit.auc {
        Some(auc) => auc < WEAK_AUC,
        // not half way from chance to all rows right
        None => fit.balanced_accuracy() < 0.5 + 0.5 / classes as f64,
    };
    let largest = most(&fit.actual);
    let constant = share(&fit.actual, largest);
    let balanced = fit.balanced_accuracy();
    let hardly = SMALL_ACCURACY.min(HARDLY_BETTER * constant);
    match weighted {
        true if balanced <= 1.0 / classes as f64 && weak => {
            found.push(Trouble::ByChance(balanced, largest));
        }
        false if accuracy <= constant && weak => {
            found.push(Trouble::NoBetter(accuracy, largest, constant));
        }
        false if classes > MANY_CLASSES && accuracy <= hardly && weak => {
            found.push(Trouble::HardlyBetter(accuracy, largest, constant));
        }
        _ => {}
    }
    // of rows picked from many, few of a class say nothing
    let least = if fit.rows < rows { 20 } else { 1 };
    let missing = |class: &usize| fit.predicted[*class] == 0 && fit.actual[*class] >= least;
    let missing: Vec<_> = (0..classes).filter(missing).collect();
    if classes > 2 && !missing.is_empty() {
        found.push(Trouble::Missing(missing));
    }
    found
}

/// The class with the most rows, the first of equals.
fn most(counts: &[u64]) -> usize {
    let largest = counts.iter().max();
    counts
        .iter()
        .position(|count| Some(count) == largest)
        .unwrap_or(0)
}
