//! When a new version becomes the model's current one. Pure.

use crate::base::errors::Failure;
use crate::combinations::choosing;
use crate::request::words::option_word;

/// What `options` say.
#[derive(Debug, Clone, PartialEq)]
pub enum Deploy {
    /// Unless something is the matter with it that is not with the current one.
    Usual,
    Always,
    Never,
    /// If it is better on the rows of a relation, written as SQL writes it.
    IfBetter {
        relation: String,
        metric: Metric,
    },
}

/// A column of `svm_evaluate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    Accuracy,
    BalancedAccuracy,
    F1,
    Auc,
    LogLoss,
}

impl Metric {
    const ALL: [(&'static str, Self); 5] = [
        ("accuracy", Self::Accuracy),
        ("balanced_accuracy", Self::BalancedAccuracy),
        ("f1", Self::F1),
        ("auc", Self::Auc),
        ("log_loss", Self::LogLoss),
    ];

    /// Its name there.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.into_iter().find(|(_, metric)| *metric == self);
        found.map_or("accuracy", |(name, _)| name)
    }

    /// Whether `one` is better than `other`; a version without a value is better than none.
    pub fn is_better(self, one: Option<f64>, other: Option<f64>) -> bool {
        match (one, other) {
            (Some(one), Some(other)) if self == Self::LogLoss => one < other,
            (Some(one), Some(other)) => one > other,
            (Some(_), None) => true,
            (None, _) => false,
        }
    }
}

#[derive(Clone, Copy, Default)]
enum Word {
    #[default]
    NotGiven,
    Always,
    Never,
    IfBetter,
}

/// What was given of it so far.
#[derive(Default)]
pub struct DeployChoice {
    word: Word,
    relation: Option<String>,
    metric: Option<Metric>,
}

impl DeployChoice {
    /// Sets option `key`, which is one of its three.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), Failure> {
        match key {
            "deploy" => {
                let known = [
                    ("true", Word::Always),
                    ("false", Word::Never),
                    ("if_better", Word::IfBetter),
                ];
                self.word = option_word(key, text, &known)?;
            }
            "relation" => self.relation = Some(text.to_owned()),
            _ => self.metric = Some(option_word(key, text, &Metric::ALL)?),
        }
        Ok(())
    }

    /// All of it together; `probability`: whether the model is to have probabilities.
    pub fn check(self, probability: bool) -> Result<Deploy, Failure> {
        match (self.word, self.relation, self.metric) {
            (Word::IfBetter, Some(_), Some(Metric::LogLoss)) if !probability => {
                Err(choosing::log_loss_without())
            }
            (Word::IfBetter, Some(relation), Some(metric)) => {
                Ok(Deploy::IfBetter { relation, metric })
            }
            (Word::IfBetter, ..) => Err(choosing::deploy_needs()),
            (_, None, None) => Ok(match self.word {
                Word::Always => Deploy::Always,
                Word::Never => Deploy::Never,
                _ => Deploy::Usual,
            }),
            _ => Err(choosing::deploy_without()),
        }
    }
}
