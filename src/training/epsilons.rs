//! A choice of epsilon. Offsets of rows have it in them, so each epsilon has a training of its own, which compares every C, gamma and
//! fold and reads the rows anew. What is kept of each is how good it is on rows that were held out.

use crate::request::Request;
use crate::training::validation::best_score;
use pgsvm_core::memory::{copied, OutOfMemory, Room};
use pgsvm_core::plan::{Folds, Plan, Purpose};
use pgsvm_core::{ConformalResiduals, LowRankJob, Scoring, TrainerReport, Validation};

/// What has been found so far.
pub struct Epsilons {
    scoring: Scoring,
    validation: Vec<Validation>,
    best: Option<BestEpsilon>,
    /// How far predictions of the rows held out were off at it.
    residuals: Option<ConformalResiduals>,
    /// Of all together.
    passes: u32,
    visits: u64,
    updates: u64,
}

/// The best so far, with the C and gamma that go with it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct BestEpsilon {
    c: f64,
    gamma: Option<f64>,
    epsilon: f64,
    score: Option<f64>,
}

impl BestEpsilon {
    /// What says which of equals is taken.
    fn order(&self) -> (f64, Option<f64>, f64) {
        (self.c, self.gamma, self.epsilon)
    }
}

/// What was asked for, in whose place the best of it is trained.
pub struct Asked {
    plan: Plan,
    maps: Vec<LowRankJob>,
}

impl Epsilons {
    pub fn new(scoring: Scoring) -> Self {
        Self {
            scoring,
            validation: Vec::new(),
            best: None,
            residuals: None,
            passes: 0,
            visits: 0,
            updates: 0,
        }
    }

    /// Takes what was found with an epsilon. Of equals the smaller C is the better, then the smaller gamma and the smaller epsilon.
    pub fn take(&mut self, epsilon: f64, report: &mut TrainerReport) -> Result<(), OutOfMemory> {
        let score = best_score(report);
        let found = report.validation.iter().map(|it| Validation {
            epsilon: Some(epsilon),
            ..*it
        });
        self.validation.room(report.validation.len())?.extend(found);
        self.passes += report.passes;
        self.visits += report.visits;
        self.updates += report.updates;
        let Some(c) = report.c else {
            return Ok(());
        };
        let found = BestEpsilon {
            c,
            gamma: report.gamma,
            epsilon,
            score,
        };
        if self.best.is_none_or(|best| self.is_better(&found, &best)) {
            self.best = Some(found);
            self.residuals = report.calibrations.residuals.take();
        }
        Ok(())
    }

    fn is_better(&self, found: &BestEpsilon, best: &BestEpsilon) -> bool {
        self.scoring.is_better(found.score, best.score)
            || (!self.scoring.is_better(best.score, found.score) && found.order() < best.order())
    }

    /// Has a request be for the best alone, and says what it was for.
    pub fn settle(&self, request: &mut Request) -> Result<Asked, OutOfMemory> {
        let maps = request.kernel.as_ref().map_or(&[][..], |it| &it.maps);
        let asked = Asked {
            plan: request.plan.clone(),
            maps: copied(maps)?,
        };
        let Some(best) = self.best else {
            return Ok(asked);
        };
        let plan = &mut request.plan;
        plan.costs = vec![best.c];
        (plan.beyond, plan.intervals) = (0, false);
        // those of a column stay what says which columns are no features
        plan.folds = plan.folds.filter(|it| !matches!(it, Folds::Count(_)));
        if let (Some(kernel), Some(gamma)) = (&mut request.kernel, best.gamma) {
            if kernel.is_grid() {
                kernel.maps.truncate(1);
                let maps = kernel.maps.iter_mut();
                maps.for_each(|map| map.kernel = map.kernel.with_gamma(gamma));
            }
        }
        if let Some(targets) = &mut request.terms.targets {
            targets.set_width(best.epsilon);
        }
        Ok(asked)
    }

    /// Puts it into the report of the training that comes last: of the final machine, or where there is to be none of the last epsilon, which
    /// is among those taken.
    pub fn complete(self, report: &mut TrainerReport, purpose: Purpose) {
        report.validation = self.validation;
        let residuals = &mut report.calibrations.residuals;
        *residuals = self.residuals.or(residuals.take());
        report.epsilon = self.best.map(|best| best.epsilon);
        report.c = self.best.map(|best| best.c);
        report.gamma = self.best.and_then(|best| best.gamma);
        let before = match purpose {
            Purpose::Train => (report.passes, report.visits, report.updates),
            Purpose::Validate => (0, 0, 0),
        };
        report.passes = before.0 + self.passes;
        report.visits = before.1 + self.visits;
        report.updates = before.2 + self.updates;
    }
}

impl Asked {
    /// Has a request be for that again.
    pub fn restore(self, request: &mut Request) {
        request.plan = self.plan;
        if let Some(kernel) = &mut request.kernel {
            kernel.maps = self.maps;
        }
    }
}
