//! Which heads a stage trains, and where they begin.

use std::sync::Arc;

use crate::base::step::Step;
use crate::objective::heads::{HeadSpec, Start};
use crate::objective::loss::NO_LOSS_FROM;
use crate::objective::plan::{Candidate, Goal, Layout, Plan, Purpose};
use crate::objective::problem::Problem;
use crate::objective::report::Stage;
use crate::rows::facts::Facts;
use crate::simd::Real;
use crate::solver::driver::Method;
use crate::solver::Solver;
use crate::training::error::TrainError;
use crate::training::evaluating::ROWS_A_STEP;
use crate::training::nu::NuSearch;

/// What a stage trains.
pub(super) struct StageHeads {
    /// Its heads, and how many of them, the first ones, are final.
    pub(super) specs: Vec<HeadSpec>,
    pub(super) finals: usize,
    /// Which stage that is, and how many folds are held out in it.
    pub(super) stage: Stage,
    pub(super) folds: usize,
    /// What is to be done when they have ended; None after the last stage.
    pub(super) plan: Option<Plan>,
    /// What the final heads are trained with, once it is known.
    pub(super) chosen: Option<Candidate>,
    /// The classes of the final heads, those of a later stage too, until they are evaluated; None where that is not wanted.
    pub(super) layout: Option<Layout>,
    /// The search for the C of the only final head, where it is one of nu.
    pub(super) nu: Option<NuSearch>,
}

impl StageHeads {
    /// The first stage towards this goal.
    pub(super) fn first(
        goal: &Goal,
        problem: &Problem,
        facts: &Facts,
        positive_weights: &Arc<Vec<f32>>,
    ) -> Result<Self, TrainError> {
        let mut this = Self {
            specs: Vec::new(),
            finals: 0,
            stage: Stage::Final,
            folds: 0,
            plan: None,
            chosen: None,
            layout: None,
            nu: None,
        };
        match goal {
            Goal::Heads(heads) => {
                this.specs.clone_from(heads);
                this.finals = heads.len();
            }
            Goal::Plan(plan) => {
                let layout = Layout::new(plan, facts.groups, facts.folds, positive_weights)?;
                let found = |nu| NuSearch::new(nu, plan.nu_from, (facts.costs, facts.mean_q));
                let nu = plan.nu.map(found);
                this.nu = nu.map(|nu| nu.that_begins(plan.final_stop.is_some()));
                this.add(plan, layout, problem)?;
            }
        }
        if this.finals == 0 {
            this.stage = Stage::Choosing;
        }
        if this.plan.is_some() {
            this.folds = facts.folds.count_ones() as usize;
        }
        let unsigned = |spec: &HeadSpec| spec.signs.groups() < facts.groups;
        match this.specs.iter().position(unsigned) {
            Some(head) => Err(TrainError::Head { head }),
            None => Ok(this),
        }
    }

    /// What trains them, from where they begin.
    pub(super) fn solver<T: Real>(
        &self,
        start: Vec<Start>,
        problem: &Problem,
        facts: &Facts,
        together: usize,
    ) -> Result<Solver<T>, TrainError> {
        let mut solver = Solver::new(problem, &self.specs, facts, together)?;
        if !start.is_empty() && start.len() != self.finals {
            return Err(TrainError::Start { head: start.len() });
        }
        begin_from(&mut solver, start, problem, facts)?;
        Ok(solver)
    }

    fn add(&mut self, plan: &Plan, layout: Layout, problem: &Problem) -> Result<(), TrainError> {
        if let (1, Purpose::Train) = (plan.candidate_count(), plan.purpose) {
            self.chosen = plan.candidates().next();
            if let (Some(only), Some(nu)) = (&mut self.chosen, &self.nu) {
                only.c = nu.c();
            }
            if let Some(only) = self.chosen {
                layout.add_final(only, &mut self.specs)?;
            }
            self.stop_as_nu_says();
            self.finals = self.specs.len();
        }
        if plan.purpose == Purpose::Train {
            self.layout = Some(layout.clone());
        }
        if plan.holds_out() {
            layout.add_held_out(plan.candidates(), problem, &mut self.specs)?;
            self.plan = Some(plan.clone());
        }
        Ok(())
    }
}

impl StageHeads {
    /// Has the only head be of the C at hand.
    pub(super) fn take_c_of_nu(&mut self) {
        if let (Some(nu), [only], Some(chosen)) = (&self.nu, &mut self.specs[..], &mut self.chosen)
        {
            (only.c, chosen.c) = (nu.c(), nu.c());
            self.stop_as_nu_says();
        }
    }

    /// What a decision is to be more than for the positive class: rows of one class are usual beyond the margin.
    pub(super) fn bar(&self) -> f32 {
        match self.nu {
            Some(_) => NO_LOSS_FROM as f32,
            None => 0.0,
        }
    }

    fn stop_as_nu_says(&mut self) {
        if let (Some(nu), [only]) = (&self.nu, &mut self.specs[..]) {
            let stop = nu.stop();
            (only.tolerance, only.max_passes) = (stop.map(|it| it.0), stop.map(|it| it.1));
        }
    }
}

/// Lets heads begin from elsewhere, if that fits the rows.
fn begin_from<T: Real>(
    solver: &mut Solver<T>,
    start: Vec<Start>,
    problem: &Problem,
    facts: &Facts,
) -> Result<(), TrainError> {
    for (head, mut start) in start.into_iter().enumerate() {
        let fits = |weights: &Vec<f64>| weights.len() == facts.features + 1;
        if start.duals.len() != facts.rows || !start.weights.as_ref().is_none_or(fits) {
            return Err(TrainError::Start { head });
        }
        // what another centre of the rows makes of the weights is none where none is trained
        if let Some(intercept) = start.weights.as_mut().and_then(|it| it.last_mut()) {
            if !problem.intercept() {
                *intercept = 0.0;
            }
        }
        // without the number of updates the lengths of Pegasos' steps are those of a beginning from nothing
        if problem.pegasos().is_none() || start.updates > 0 {
            solver.set_start(head, start);
        }
    }
    Ok(())
}

/// Adds to `means`, up to row `end`, the mean of a row's dual variables in the heads it was trained in, which are all of
/// `heads` but its own fold's, where its dual variable is 0. Within the bounds of a head of the same C, as each of them is.
fn add_mean_duals<T: Real>(solver: &Solver<T>, heads: &[usize], end: usize, means: &mut Vec<f32>) {
    let share = (heads.len() - 1).max(1) as f64;
    let of_heads: Vec<_> = heads.iter().map(|head| solver.duals(*head)).collect();
    means.extend((means.len()..end).map(|row| {
        let duals = of_heads.iter().map(|duals| f64::from(duals.get(row)));
        (duals.sum::<f64>() / share) as f32
    }));
}

/// Adds the dual variables of some more rows up; `Done` behind the last.
pub(super) fn sum_some<T: Real>(
    solver: &Solver<T>,
    (head, rows): (usize, usize),
    (row, sum): (&mut usize, &mut f64),
) -> Step {
    let (duals, end) = (solver.duals(head), rows.min(*row + ROWS_A_STEP));
    *sum += (*row..end)
        .map(|row| f64::from(duals.get(row)))
        .sum::<f64>();
    *row = end;
    match end == rows {
        true => Step::Done,
        false => Step::Progress,
    }
}

/// Takes the mean dual variables of some more rows, head by head; `Done` when all heads have theirs.
pub(super) fn hand_over_some<T: Real>(
    solver: &Solver<T>,
    sources: &[Vec<usize>],
    duals: &mut Vec<Vec<f32>>,
    rows: usize,
) -> Result<Step, TrainError> {
    let begun = duals.len();
    if let Some(means) = duals.last_mut().filter(|means| means.len() < rows) {
        let end = rows.min(means.len() + ROWS_A_STEP);
        add_mean_duals(solver, &sources[begun - 1], end, means);
        return Ok(Step::Progress);
    }
    if begun == sources.len() {
        return Ok(Step::Done);
    }
    let (mut means, bytes) = (Vec::new(), 4 * rows as u64);
    means
        .try_reserve_exact(rows)
        .map_err(|_| TrainError::OutOfMemory { bytes })?;
    duals.push(means);
    Ok(Step::Progress)
}

/// Gives the next heads some more of the dual variables that they begin from, so many times those; `Done` when all have theirs.
pub(super) fn start_some<T: Real>(
    solver: &mut Solver<T>,
    (duals, times): (&mut [Vec<f32>], f32),
    (head, row): &mut (usize, usize),
) -> Step {
    let Some(all) = duals.get_mut(*head) else {
        return Step::Done;
    };
    let end = all.len().min(*row + ROWS_A_STEP);
    let portion = &mut all[*row..end];
    portion.iter_mut().for_each(|it| *it *= times);
    solver.put_duals(*head, *row, portion);
    *row = end;
    if end == all.len() {
        *all = Vec::new();
        (*head, *row) = (*head + 1, 0);
    }
    Step::Progress
}
