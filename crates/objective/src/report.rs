//! How a training ended.

use serde::{Deserialize, Serialize};

use crate::base::memory::{copied, list, OutOfMemory};
use crate::calibration::Calibrations;
use crate::problem::StopRule;
use crate::quantiles::sorted;

/// Primal, dual and relative gap at the reported weights and dual variables, over all rows of the head.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// P(w) at the reported weights.
    pub primal: f64,
    /// D(a) at the reported dual variables.
    pub dual: f64,
    /// (primal - dual) / primal; 0 when the primal is 0.
    pub gap: f64,
}

impl Certificate {
    /// The certificate of these values.
    pub fn of(primal: f64, dual: f64) -> Self {
        let gap = relative_gap(primal, dual);
        Self { primal, dual, gap }
    }

    /// The same where the primal may be larger and the dual smaller by so much, if that is more than the share `least` of the primal; and by
    /// which share the gap is wider for it.
    pub fn widened(
        (primal, dual): (f64, f64),
        [above, below]: [f64; 2],
        least: f64,
    ) -> (Self, f64) {
        // no more is taken off than what is there, nor where a bound is no number
        let below = below.min(dual);
        match above + below > least * primal {
            true => {
                let wider = Self::of(primal + above, (dual - below).max(0.0));
                (wider, (above + below) / primal)
            }
            false => (Self::of(primal, dual), 0.0),
        }
    }

    /// Whether training by this rule, which is about primal and dual, goes on; `weight`: C times the rows.
    pub fn misses(&self, rule: StopRule, tolerance: f64, weight: f64) -> bool {
        match rule {
            StopRule::Gap => self.gap > tolerance,
            StopRule::MeanLoss => self.primal - self.dual > tolerance * weight,
            StopRule::ProjectedGradient => false,
        }
    }
}

/// (primal - dual) / primal, never negative; 0 for a primal of 0, 1 for one that is no finite number.
pub fn relative_gap(primal: f64, dual: f64) -> f64 {
    if !primal.is_finite() {
        return 1.0;
    }
    if primal > 0.0 {
        ((primal - dual) / primal).max(0.0)
    } else {
        0.0
    }
}

/// Why training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopReason {
    /// The verified gap is within the tolerance.
    Tolerance,
    /// The projected gradients of a scan lie within the tolerance of each other; the certificate is verified as ever.
    ProjectedGradient,
    /// The passes allowed are used up.
    MaxPasses,
    /// Somebody asked for the end; the certificate is that of the last full pass, not verified.
    Requested,
}

impl StopReason {
    /// Whether what was asked for has been reached.
    pub fn arrived(self) -> bool {
        matches!(self, Self::Tolerance | Self::ProjectedGradient)
    }
}

/// What the rows beyond the truncation of a loss came to, and the truncated objective.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Truncation {
    /// 1/2 |w|^2 + C sum c min(L, 1 + s) over all rows of the head. The certificate is that of the convex problem over the rows
    /// that are no outliers.
    pub objective: f64,
    /// Rows whose loss is above 1 + s.
    pub outliers: u64,
}

/// How one head ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HeadReport {
    /// Primal, dual and gap.
    pub certificate: Certificate,
    /// Share of rows on the right side at the reported weights.
    pub training_accuracy: f64,
    /// Of the rows at a decision of exactly 0 the share of the positive side less that of the negative one, for which they
    /// are not counted as right.
    pub ties: f64,
    /// Why it ended; None while it runs.
    pub stop: Option<StopReason>,
    /// Rows whose dual variable is positive.
    pub support_vectors: u64,
    /// Where the loss is truncated, what that came to.
    pub truncated: Option<Truncation>,
    /// The proximal shift at the end.
    pub kappa: f64,
    /// Of Pegasos: updates so far, those before its beginning included.
    pub updates: Option<u64>,
    /// By how much the gap is wider for what rounding rows to 32 bits may change; 0 where that does not show.
    pub rounding: f64,
}

impl HeadReport {
    /// Its certificate is this one, at which it has arrived or not.
    pub fn correct(&mut self, certificate: Certificate, arrived: bool) {
        self.certificate = certificate;
        if self.stop == Some(StopReason::Tolerance) && !arrived {
            self.stop = Some(StopReason::MaxPasses);
        }
    }
}

/// How good one C is on the rows of one fold, by heads trained on the others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// The C of these heads.
    pub c: f64,
    /// s of the truncated loss, where several were to be chosen from.
    pub truncation: Option<f64>,
    /// The gamma of the kernel, said by who trains on rows that a kernel's map makes; the trainer knows of none.
    pub gamma: Option<f64>,
    /// The width within which an error costs nothing, where several were to be chosen from, said by who trains with each.
    pub epsilon: Option<f64>,
    /// The fold held out.
    pub fold: u32,
    /// Rows held out, at least 1.
    pub rows: u64,
    /// Share of them that get their own class; 0 where a number is predicted.
    pub accuracy: f64,
    /// Area under the ROC curve, with more than two classes the mean over those against their rest; None where the fold
    /// has rows of one class only, and where a number is predicted.
    pub auc: Option<f64>,
    /// The primal that training reached on the other rows, summed over the heads.
    pub objective: f64,
    /// How good they are by the plan's measure; None where the fold's rows have no such score.
    pub score: Option<f64>,
    /// The same of all held-out rows at this C: areas as their mean over the folds, all else as if of one fold.
    pub overall: Option<f64>,
}

/// A row that was held out and is doubted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Doubt {
    /// Its number, in the order in which rows came.
    pub row: usize,
    /// The class that it gets.
    pub class: usize,
    /// Its decision for its own class, of more than two less the best one for another; of a row with a target how far above it the
    /// decision is.
    pub margin: f32,
}

/// From where on an error is an outlier, as errors are this large in the middle: three deviations of normal errors, half of which are below
/// 0.6745 of one (Rousseeuw and Leroy, *Robust Regression and Outlier Detection*, 1987, chapter 5).
pub fn outlying(median: f64) -> f64 {
    3.0 * 1.4826 * median
}

/// What a trainer is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// Training final heads, perhaps held-out ones beside them, or looking at what they make of rows.
    Final,
    /// Choosing C among several.
    Choosing,
    /// Trying values of C beyond them.
    Beyond,
}

/// How well a classifier fits the rows that it was trained on, of many about thirty thousand of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// Rows looked at.
    pub rows: u64,
    /// By class, those of it, those that get it, and those of it that get it.
    #[serde(deserialize_with = "list")]
    pub actual: Vec<u64>,
    #[serde(deserialize_with = "list")]
    pub predicted: Vec<u64>,
    #[serde(deserialize_with = "list")]
    pub right: Vec<u64>,
    /// Of two classes, the area under the ROC curve.
    pub auc: Option<f64>,
    /// The standard deviation of the decisions, of several heads the largest.
    pub deviation: f64,
    /// Where labels are numbers, how far decisions are from targets.
    pub residuals: Option<Residuals>,
}

/// How far decisions are from targets, in the units of these.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Residuals {
    pub rows: u64,
    /// Sum of (t - f)^2, and of |t - f|.
    pub squares: f64,
    pub sizes: f64,
    /// Rows with t <= f; and where quantiles are predicted, the sum of the mean losses of all.
    pub covered: u64,
    pub pinball: f64,
    /// Mean of t, and sum of (t - mean)^2 (Welford 1962).
    pub mean: f64,
    pub spread: f64,
}

impl Residuals {
    /// Adds a row with this target and these decisions: one, or one for each quantile.
    pub fn take(&mut self, target: f64, all: impl Iterator<Item = f64>, quantiles: &[f64]) {
        self.take_errors(target, all.map(|decision| decision - target), quantiles);
    }

    /// The same of decisions that are so far above the target.
    pub fn take_errors(&mut self, target: f64, all: impl Iterator<Item = f64>, quantiles: &[f64]) {
        let (away, pinball) = sorted(quantiles, all);
        self.pinball += pinball;
        self.rows += 1;
        self.squares += away * away;
        self.sizes += away.abs();
        self.covered += u64::from(away >= 0.0);
        let off = target - self.mean;
        self.mean += off / self.rows as f64;
        self.spread += off * (target - self.mean);
    }

    /// Adds those of other rows.
    pub fn join(&mut self, more: &Self) {
        if more.rows == 0 {
            return;
        }
        let (rows, off) = (self.rows, more.mean - self.mean);
        self.rows += more.rows;
        let share = more.rows as f64 / self.rows as f64;
        self.mean += off * share;
        self.spread += more.spread + off * off * rows as f64 * share;
        self.squares += more.squares;
        self.sizes += more.sizes;
        self.covered += more.covered;
        self.pinball += more.pinball;
    }

    /// The mean of sizes.
    pub fn mae(&self) -> f64 {
        self.sizes / self.rows.max(1) as f64
    }

    /// The mean of losses of quantiles.
    pub fn pinball(&self) -> f64 {
        self.pinball / self.rows.max(1) as f64
    }

    /// The share of rows with t <= f.
    pub fn coverage(&self) -> f64 {
        self.covered as f64 / self.rows.max(1) as f64
    }

    /// The root of the mean of squares.
    pub fn rmse(&self) -> f64 {
        (self.squares / self.rows.max(1) as f64).sqrt()
    }

    /// 1 less the part of the targets' variance that is left; None where they are all the same.
    pub fn r2(&self) -> Option<f64> {
        // below this the targets' own digits end
        let least = self.rows as f64 * (1e-14 * self.mean).powi(2);
        (self.spread > least).then(|| 1.0 - self.squares / self.spread)
    }
}

impl Fit {
    /// The same once more.
    pub fn copied(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            actual: copied(&self.actual)?,
            predicted: copied(&self.predicted)?,
            right: copied(&self.right)?,
            ..*self
        })
    }

    /// Share of the rows that get their own class.
    pub fn accuracy(&self) -> f64 {
        self.right.iter().sum::<u64>() as f64 / self.rows.max(1) as f64
    }

    /// The mean over the classes of the share of their rows that get them.
    pub fn balanced_accuracy(&self) -> f64 {
        let classes = self.right.iter().zip(&self.actual);
        let recalls = classes.filter(|(_, all)| **all > 0);
        let (sum, count) = recalls.fold((0.0, 0.0), |(sum, count), (right, all)| {
            (sum + *right as f64 / *all as f64, count + 1.0)
        });
        sum / f64::max(count, 1.0)
    }
}

/// How training ended, or stands.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainerReport {
    /// One for each final head; none while, or where, only held-out heads are trained.
    #[serde(deserialize_with = "list")]
    pub heads: Vec<HeadReport>,
    /// By C, in the plan's order, and fold; empty unless rows were held out and until they are evaluated.
    #[serde(deserialize_with = "list")]
    pub validation: Vec<Validation>,
    /// The C of the final heads, or the best one of those validated; None for given heads and before it is chosen.
    pub c: Option<f64>,
    /// s of the truncated loss likewise; None where the plan names none.
    pub truncation: Option<f64>,
    /// The gamma of the kernel likewise, said by who trains on rows that a kernel's map makes.
    pub gamma: Option<f64>,
    /// The width within which an error costs nothing likewise, where several were to be chosen from.
    pub epsilon: Option<f64>,
    /// Of a plan of one class, the share of their bounds that the dual variables come to.
    pub nu: Option<f64>,
    /// What makes probabilities or intervals of decisions.
    pub calibrations: Calibrations,
    /// How well the final heads of a plan fit; None where none have ended.
    pub fit: Option<Fit>,
    /// Rows in all.
    pub rows: u64,
    /// Whether every row was in the cache.
    pub resident: bool,
    /// Passes over all rows, verification included.
    pub passes: u32,
    /// Rows visited to train, over all heads.
    pub visits: u64,
    /// Visits that changed a dual variable.
    pub updates: u64,
    /// Rows dropped from the working set as uninformative.
    pub evictions: u64,
    /// Rows dropped from the working set to make room.
    pub replaced: u64,
    /// Whether Newton's method solved the heads, or began to.
    pub newton: bool,
    /// Whether each final head tells two of several classes apart, as [`crate::pairs::Pairs::all`] has them.
    pub in_pairs: bool,
}

/// The certificates of all heads in one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Primal and dual objectives, summed up.
    pub primal: f64,
    pub dual: f64,
    /// The largest relative gap of a head.
    pub gap: f64,
    /// How the last of them ended.
    pub stop: Option<StopReason>,
}

impl TrainerReport {
    /// The certificates of all heads in one.
    pub fn summary(&self) -> Summary {
        let certificates = self.heads.iter().map(|head| head.certificate);
        let mut heads = self.heads.iter();
        let behind = heads.find(|head| !head.stop.is_some_and(StopReason::arrived));
        Summary {
            primal: certificates.clone().map(|it| it.primal).sum(),
            dual: certificates.clone().map(|it| it.dual).sum(),
            gap: certificates.map(|it| it.gap).fold(0.0, f64::max),
            stop: behind.or(self.heads.first()).and_then(|head| head.stop),
        }
    }
}
