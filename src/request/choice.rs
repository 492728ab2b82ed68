//! How many machines a choice of C, gamma, epsilon and folds trains, said before it is made. Pure.

use crate::base::errors::{Code, Failure};
use crate::request::kernel::KernelTerms;
use crate::request::Request;
use pgsvm_core::plan::Folds;
use pgsvm_core::Purpose;

/// Rows, each in so many linear machines, from which on a choice takes more than some seconds.
const MANY_VISITS: f64 = 2e7;

impl Request {
    /// How many machines are trained on folds; None where nothing is chosen, and of linear ones where that takes no time. `rows`:
    /// about as many as there are.
    pub fn said_of_choice(&self, rows: f64) -> Option<Failure> {
        let gammas = self.kernel.as_ref().map_or(1, |kernel| kernel.maps.len());
        let is_curved = self.kernel.as_ref().is_some_and(|it| !it.is_linear());
        let (costs, truncations) = (self.plan.costs.len(), self.plan.truncations.len().max(1));
        let epsilons = self.epsilons.len().max(1);
        let candidates = gammas * costs * truncations * epsilons;
        if candidates == 1 {
            return None;
        }
        let folds = match self.plan.folds? {
            Folds::Count(count) => Some(count as usize),
            // nothing comes before the first one
            Folds::Forward(count) => Some(count as usize - 1),
            Folds::Column => None,
        };
        let machines = candidates * folds.unwrap_or(1);
        if !is_curved && rows * (machines as f64) < MANY_VISITS {
            return None;
        }
        let all = [
            ("c", costs),
            ("gamma", gammas),
            ("truncation", truncations),
            ("epsilon", epsilons),
        ];
        let several = all.iter().filter(|(_, count)| *count > 1);
        let several = several.map(|(name, count)| format!("{count} values of {name}"));
        let values = several.collect::<Vec<_>>().join(" and ");
        let trainings = match folds {
            Some(folds) => format!(" on {folds} folds: {machines} trainings"),
            None => format!(": {candidates} trainings for each fold"),
        };
        let at_last = match self.plan.purpose {
            Purpose::Train => ", and the one of the model",
            Purpose::Validate => "",
        };
        let message = format!("compares {values}{trainings}{at_last}");
        let failure = Failure::new(Code::ERRCODE_SUCCESSFUL_COMPLETION, message);
        let is_grid = self.kernel.as_ref().is_some_and(KernelTerms::is_grid);
        let shorter = match (is_grid, costs > 1, epsilons > 1) {
            (true, true, _) => "c => 1 or gamma => 'scale' leaves less to choose",
            (true, false, true) => "gamma => 'scale' or epsilon => 0.1 leaves less to choose",
            (false, true, true) => "c => 1 or epsilon => 0.1 leaves less to choose",
            (true, false, false) => "gamma => 'scale' leaves nothing to choose",
            (false, false, true) => "epsilon => 0.1 leaves nothing to choose",
            (false, _, false) => "c => 1 leaves nothing to choose",
        };
        let progress = "SELECT * FROM svm_progress, in another session, says how far it is";
        Some(failure.hint(match self.plan.purpose {
            Purpose::Train => format!("{progress}; {shorter}"),
            Purpose::Validate => progress.to_owned(),
        }))
    }
}
