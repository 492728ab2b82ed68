//! The heads of a model: the binary problems whose decisions make its answer. Two classes need one
//! head, whose positive side is the second class; more need one a class, against the rest. Pure.

use super::version::Model;
use core::cmp::Ordering;
use pgsvm_core::{Calibration, Score};

/// One binary problem, besides its weights.
#[derive(Debug, PartialEq)]
pub struct Head {
    /// For raw rows.
    pub intercept: f64,
    /// What makes a probability of a decision; None where the model was trained without probabilities.
    pub calibration: Option<Calibration>,
}

/// What says which of more than two classes it is; of two it is the side of the boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClassesBy {
    /// The largest decision.
    #[default]
    Decision,
    /// The largest probability.
    Probability,
}

/// As options and svm_version have them.
pub const CLASSES_BY: [(&str, ClassesBy); 2] = [
    ("decision", ClassesBy::Decision),
    ("probability", ClassesBy::Probability),
];

impl ClassesBy {
    pub fn from_word(word: &str) -> Option<Self> {
        let mut words = CLASSES_BY.iter();
        words.find(|(it, _)| *it == word).map(|(_, by)| *by)
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Decision => CLASSES_BY[0].0,
            Self::Probability => CLASSES_BY[1].0,
        }
    }
}

/// The class on the decision's side where there are two: 0 negative, 1 positive. The boundary itself
/// counts as positive.
#[inline]
pub fn side(decision: f64) -> usize {
    usize::from(decision >= 0.0)
}

impl Model {
    /// The class that these decisions, one a head, speak for: of equals the first.
    pub fn class(&self, decisions: &[f64]) -> usize {
        match decisions {
            [decision] => side(*decision),
            _ => {
                let first = (0, self.score(0, decisions));
                let others =
                    (1..decisions.len()).map(|class| (class, self.score(class, decisions)));
                let best = others.fold(first, |best, it| match it.1 > best.1 {
                    true => it,
                    false => best,
                });
                best.0
            }
        }
    }

    /// How much these decisions, of more than two classes, speak for a class.
    fn score(&self, class: usize, decisions: &[f64]) -> Score {
        let decision = decisions[class];
        match (self.classes_by, &self.heads[class].calibration) {
            (ClassesBy::Probability, Some(calibration)) => calibration.score(decision),
            _ => (decision, 0.0),
        }
    }

    /// How far these decisions, one a head, speak for a class.
    pub fn decision_for(&self, class: usize, decisions: &[f64]) -> f64 {
        match (decisions, class) {
            // the boundary is 0, not -0
            ([decision], 0) => 0.0 - decision,
            ([decision], _) => *decision,
            _ => decisions[class],
        }
    }

    /// The decision for the class, of more than two less the best one of another: negative where another one's decision is
    /// larger.
    pub fn margin(&self, class: usize, decisions: &[f64]) -> f64 {
        let own = self.decision_for(class, decisions);
        let others = decisions.iter().enumerate();
        match decisions.len() {
            1 => own,
            _ => others
                .filter(|(other, _)| *other != class)
                .fold(f64::INFINITY, |margin, (_, other)| margin.min(own - other)),
        }
    }

    /// The classes, first the one that these decisions speak for.
    pub fn ranking(&self, decisions: &[f64]) -> Vec<usize> {
        if let [decision] = decisions {
            let class = side(*decision);
            return vec![class, 1 - class];
        }
        let score = |class| (class, self.score(class, decisions));
        let mut classes: Vec<_> = (0..self.labels.len()).map(score).collect();
        classes.sort_by(|(_, a), (_, b)| b.partial_cmp(a).unwrap_or(Ordering::Equal));
        classes.into_iter().map(|(class, _)| class).collect()
    }

    /// Appends the probability of each head's class, as `probability` has them; nothing where the model was trained without.
    pub fn put_probabilities(&self, decisions: &[f64], out: &mut Vec<f64>) {
        let (heads, start) = (self.heads.iter().zip(decisions), out.len());
        out.extend(heads.map_while(|(head, decision)| {
            let calibration = head.calibration.as_ref()?;
            Some(calibration.probability(*decision))
        }));
        let own = &mut out[start..];
        if let [_] = own {
            return;
        }
        let sum: f64 = own.iter().sum();
        let equal = 1.0 / own.len() as f64;
        for probability in own {
            *probability = match sum > 0.0 {
                true => *probability / sum,
                false => equal,
            };
        }
    }

    /// The probability of a class; None where the model was trained without.
    ///
    /// Of more than two classes the heads' answers are made to sum to 1 (Zadrozny and Elkan 2002).
    pub fn probability(&self, class: usize, decisions: &[f64]) -> Option<f64> {
        if let ([head], [decision]) = (self.heads.as_slice(), decisions) {
            let (positive, negative) = head.calibration.as_ref()?.probabilities(*decision);
            return Some([negative, positive][class]);
        }
        let mut sum = 0.0;
        let mut own = 0.0;
        for (place, (head, decision)) in self.heads.iter().zip(decisions).enumerate() {
            let probability = head.calibration.as_ref()?.probability(*decision);
            sum += probability;
            if place == class {
                own = probability;
            }
        }
        Some(match sum > 0.0 {
            true => own / sum,
            false => 1.0 / self.heads.len() as f64,
        })
    }
}
