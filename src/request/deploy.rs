//! When a new version becomes the model's current one. Pure.

use crate::base::errors::Failure;
use crate::combinations::choosing;
use crate::request::option_words::When;
use crate::request::options::{table, Choices};
use pgsvm_core::Scoring;

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
        metric: Scoring,
    },
}

impl Choices<'_> {
    /// What becomes of the new version; `probability`: whether it is to have probabilities.
    pub(super) fn deploy(&self, probability: bool) -> Result<Deploy, Failure> {
        let when = self.get(&table::DEPLOY)?;
        match (when, self.get(&table::RELATION)?, self.get(&table::METRIC)?) {
            (Some(When::IfBetter), Some(_), Some(Scoring::LogLoss)) if !probability => {
                Err(choosing::log_loss_without())
            }
            (Some(When::IfBetter), Some(relation), Some(metric)) => {
                Ok(Deploy::IfBetter { relation, metric })
            }
            (Some(When::IfBetter), ..) => Err(choosing::deploy_needs()),
            (when, None, None) => Ok(match when {
                Some(When::Always) => Deploy::Always,
                Some(When::Never) => Deploy::Never,
                _ => Deploy::Usual,
            }),
            _ => Err(choosing::deploy_without()),
        }
    }
}
