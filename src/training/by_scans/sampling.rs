//! What is chosen before the scans that train, on the sample of rows that is here: gamma, C, the truncation, and probabilities. Folds are drawn
//! for the rows of the sample, or are those that a column says.

use crate::base::errors::Failure;
use crate::pg::check_for_interrupts;
use crate::planning::job::Job;
use crate::reading::rows::RowSource;
use crate::training::by_scans::mapping::ChosenMap;
use crate::training::by_scans::refusals::{one_fold, too_few};
use crate::training::failures::train_failure;
use crate::training::grid::Grid;
use crate::training::progress::Progress;
use pgsvm_core::plan::{Plan, Purpose};
use pgsvm_core::{
    Chosen, LowRankJob, PlanError, Problem, SampleSearch, Step, Surveyed, TrainError,
};

const VALUES_A_STEP: usize = 1 << 20;

/// What it is chosen for.
pub(super) struct MapSampling<'a> {
    pub(super) job: &'a Job,
    pub(super) problem: &'a Problem,
    pub(super) source: &'a RowSource,
    /// Of the sample.
    pub(super) bytes: usize,
}

/// What was chosen, and the rows that were surveyed, mapped where the machine has a kernel.
pub(super) struct Sampled {
    pub(super) surveyed: Surveyed,
    pub(super) mapping: Option<ChosenMap>,
    /// Of the heads that scans train.
    pub(super) plan: Plan,
    pub(super) chosen: Option<Chosen>,
    /// Where gammas were compared.
    pub(super) grid: Option<Grid>,
}

impl MapSampling<'_> {
    /// Of so many rows.
    pub(super) fn choose(
        &self,
        surveyed: Surveyed,
        rows: u64,
        progress: &mut Progress,
    ) -> Result<Sampled, Failure> {
        let job = self.job;
        let maps = ChosenMap::asked(job, rows)?;
        let (surveyed, mapping, grid) = match maps.as_slice() {
            [] => (surveyed, None, None),
            [asked] => {
                let (mapped, mapping) = self.map(asked, surveyed, progress)?;
                (mapped, Some(mapping), None)
            }
            _ => {
                let grid = self.compare(&maps, &surveyed, progress)?;
                let best = grid.best().map_or(0, |best| best.map);
                let (mapped, mapping) = self.map(&maps[best], surveyed, progress)?;
                (mapped, Some(mapping), Some(grid))
            }
        };
        let best = grid.as_ref().and_then(Grid::best);
        let plan = match (&job.chooses, best) {
            (None, _) => None,
            (Some(all), None) => Some(all.clone()),
            // c is known with gamma, probabilities and intervals are of that machine alone
            (Some(all), Some(best)) => (all.probability || all.intervals).then(|| Plan {
                costs: vec![best.c],
                beyond: 0,
                ..all.clone()
            }),
        };
        let (surveyed, chosen) = match plan {
            None => (surveyed, None),
            Some(plan) => {
                let mut search = self.search(&plan, surveyed)?;
                self.run(&mut search, progress)?;
                let (surveyed, chosen) = search.finish().map_err(|error| self.failed(error))?;
                (surveyed, Some(chosen))
            }
        };
        let found = chosen.as_ref().map(|it| it.c).or(best.map(|it| it.c));
        let truncation = chosen.as_ref().and_then(|it| it.truncation);
        let plan = &job.plan;
        let plan = Plan {
            costs: found.map_or_else(|| plan.costs.clone(), |c| vec![c]),
            truncations: truncation.map_or_else(|| plan.truncations.clone(), |s| vec![s]),
            ..plan.clone()
        };
        Ok(Sampled {
            surveyed,
            mapping,
            plan,
            chosen,
            grid,
        })
    }

    fn map(
        &self,
        asked: &LowRankJob,
        surveyed: Surveyed,
        progress: &mut Progress,
    ) -> Result<(Surveyed, ChosenMap), Failure> {
        ChosenMap::choose(self.job, asked, surveyed, self.bytes, progress)
    }

    /// Compares gammas, each on the rows that its own map makes of the sample.
    fn compare(
        &self,
        maps: &[LowRankJob],
        surveyed: &Surveyed,
        progress: &mut Progress,
    ) -> Result<Grid, Failure> {
        let plan = Plan {
            purpose: Purpose::Validate,
            probability: false,
            intervals: false,
            beyond: 0,
            ..self.job.chooses.as_ref().unwrap_or(&self.job.plan).clone()
        };
        let mut grid = Grid::new(plan.scoring);
        for (at, asked) in maps.iter().enumerate() {
            progress.begin_gamma(at + 1, maps.len());
            let (mapped, mapping) = self.map(asked, surveyed.copied()?, progress)?;
            let mut search = self.search(&plan, mapped)?;
            self.run(&mut search, progress)?;
            let report = search.report()?;
            grid.take(at, mapping.gamma().unwrap_or_default(), &report)?;
        }
        progress.begin_gamma(0, 0);
        Ok(grid)
    }

    fn search(&self, plan: &Plan, surveyed: Surveyed) -> Result<SampleSearch, Failure> {
        let search = SampleSearch::new(self.problem, plan, surveyed);
        search.map_err(|error| self.failed(error))
    }

    fn run(&self, search: &mut SampleSearch, progress: &mut Progress) -> Result<(), Failure> {
        loop {
            let step = search.step(VALUES_A_STEP);
            if step.map_err(|error| self.failed(error))? == Step::Done {
                return Ok(());
            }
            check_for_interrupts();
            progress.show(search.cache());
        }
    }

    fn failed(&self, error: TrainError) -> Failure {
        match error {
            TrainError::Sample { class, rows } => too_few(self.source, class, rows, self.bytes),
            TrainError::Plan(PlanError::FoldsFound(folds)) => one_fold(folds, self.bytes),
            error => train_failure(error),
        }
    }
}
