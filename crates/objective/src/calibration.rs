//! Probabilities of decisions: Platt's sigmoid, or an isotonic function beside it that takes its place.

use serde::{Deserialize, Serialize};

use crate::base::memory::{all_of, list, OutOfMemory};
use crate::conformal::ConformalResiduals;
use crate::evaluation::Sigmoid;
use crate::isotonic::Isotonic;

/// What makes a probability of a head's decision.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Always there: some formats know nothing else, and it tells decisions apart whose isotonic probabilities are the same.
    pub sigmoid: Sigmoid,
    /// Where it is there, this says the probability.
    pub isotonic: Option<Isotonic>,
}

/// How much speaks for a class: its probability, and of equal ones the log odds of its sigmoid.
pub type Score = (f64, f64);

impl From<Sigmoid> for Calibration {
    fn from(sigmoid: Sigmoid) -> Self {
        Self {
            sigmoid,
            isotonic: None,
        }
    }
}

impl Calibration {
    /// The probabilities of the positive side and of the negative one.
    pub fn probabilities(&self, decision: f64) -> (f64, f64) {
        match &self.isotonic {
            Some(isotonic) => {
                let positive = isotonic.probability(decision);
                (positive, 1.0 - positive)
            }
            None => self.sigmoid.probabilities(decision),
        }
    }

    /// The probability of the positive side.
    pub fn probability(&self, decision: f64) -> f64 {
        self.probabilities(decision).0
    }

    /// How much a decision speaks for the positive side.
    pub fn score(&self, decision: f64) -> Score {
        let Sigmoid { a, b } = self.sigmoid;
        (self.probability(decision), -(a * decision + b))
    }

    /// Has the other class be the positive one: decisions change their signs.
    pub fn swap_sides(&mut self) {
        self.sigmoid.b = -self.sigmoid.b;
        self.isotonic.iter_mut().for_each(Isotonic::swap_sides);
    }

    /// The same once more.
    pub fn copied(&self) -> Result<Self, OutOfMemory> {
        let isotonic = self.isotonic.as_ref().map(Isotonic::copied);
        Ok(Self {
            isotonic: isotonic.transpose()?,
            ..self.sigmoid.into()
        })
    }
}

/// What may say probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum CalibrationChoice {
    /// Isotonic regression where it is clearly better on decisions that it was not fitted to, else the sigmoid.
    #[default]
    Auto,
    /// The sigmoid.
    Sigmoid,
    /// Isotonic regression.
    Isotonic,
}

/// How the probabilities of a classifier came about, or the intervals of a regression.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibrations {
    /// One for each final head where the plan asks for probabilities, else none.
    #[serde(deserialize_with = "list")]
    pub heads: Vec<Calibration>,
    /// Held-out rows that isotonic functions were fitted to; None where nobody wanted one.
    pub fitted: Option<CalibrationRows>,
    /// What sigmoids and isotonic functions came to on rows that they were not fitted to; None where that was not looked at.
    pub losses: Option<CalibrationLosses>,
    /// Where labels are numbers and rows were held out, how far predictions of these were off.
    pub residuals: Option<ConformalResiduals>,
}

/// Held-out rows that isotonic functions are fitted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CalibrationRows {
    pub rows: u64,
    /// Those of the class that has the fewest, where it is told apart from the rest.
    pub rarest: u64,
}

impl CalibrationRows {
    /// With fewer rows an isotonic function is likely to follow chance: Niculescu-Mizil and Caruana, "Predicting good probabilities with
    /// supervised learning" (ICML 2005), found the sigmoid better below about a thousand.
    pub const LEAST: u64 = 1000;
    /// Of either side: a share that is made of so many rows has a relative standard error of a tenth.
    pub const LEAST_OF_SIDE: u64 = 100;

    /// Whether isotonic functions may be better.
    pub fn suffice(self) -> bool {
        self.rows >= Self::LEAST && self.rarest >= Self::LEAST_OF_SIDE
    }
}

/// Log losses, means over so many rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CalibrationLosses {
    pub sigmoid: f64,
    pub isotonic: f64,
    pub rows: u64,
}

impl Calibrations {
    /// Whether an isotonic function says probabilities of a head.
    pub fn has_isotonic(&self) -> bool {
        self.heads.iter().any(|it| it.isotonic.is_some())
    }

    /// The same once more.
    pub fn copied(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            heads: copies(&self.heads)?,
            fitted: self.fitted,
            losses: self.losses,
            residuals: self.residuals.as_ref().map(|it| it.copied()).transpose()?,
        })
    }
}

/// The same calibrations once more.
pub fn copies(heads: &[Calibration]) -> Result<Vec<Calibration>, OutOfMemory> {
    all_of(heads.iter().map(Calibration::copied))
}
