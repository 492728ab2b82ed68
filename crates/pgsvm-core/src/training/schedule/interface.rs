//! What the trainer asks of every schedule.

use crate::base::step::Step;
use crate::rows::visited::{VisitedPage, VisitedRows};
use crate::screening::slack::Metric;
use crate::solver::scans::ScanRows;
use crate::solver::Solver;
use crate::training::error::TrainError;
use crate::training::log::Log;
use crate::training::schedule::survey::Sample;
use crate::training::tallies::Tallies;

/// Who is visited when. Called once a step, so that calls through a table cost nothing.
pub(in crate::training) trait Schedule<T>: Send {
    /// Trains with about this budget of values; `Done` when all heads have ended.
    fn step(&mut self, budget_values: usize) -> Result<Step, TrainError>;

    /// Begins to read every row once, nothing being trained. `counts`: as a pass of the report.
    fn begin_reading(&mut self, counts: bool);

    /// Has rows read, with about this budget of values; `Done` behind the last.
    fn read(&mut self, sums: &mut dyn ScanRows<Solver<T>>, budget_values: usize) -> Step;

    /// Trains other heads from here on.
    fn restart(&mut self, solver: Solver<T>) -> Result<(), TrainError>;

    /// Has rows of the first pass kept where rows do not stay in the cache, to be looked at in the end.
    fn keep_sample(&mut self, _sample: Sample) {}

    /// The rows kept.
    fn sample(&self) -> Option<&Sample> {
        None
    }

    /// Metrics learned from the rows; none where this schedule gives rows no leeways.
    fn metrics(&self) -> Result<Vec<Metric>, TrainError> {
        Ok(Vec::new())
    }

    fn solver(&self) -> &Solver<T>;
    fn solver_mut(&mut self) -> &mut Solver<T>;
    fn log(&self) -> &Log;
    fn log_mut(&mut self) -> &mut Log;
    fn tallies(&self) -> Tallies;
}

/// Rows of the cache that are read at a time.
const SLOTS: usize = 128;

/// Has the rows of a page read from slot `next` on, at this method's weights.
pub(in crate::training) fn read_page<M>(
    page: VisitedPage<'_>,
    next: &mut usize,
    method: &M,
    sums: &mut dyn ScanRows<M>,
    budget_values: usize,
) -> Step {
    let mut left = budget_values;
    while *next < page.slots() {
        if left == 0 {
            return Step::Progress;
        }
        let end = (*next + SLOTS).min(page.slots());
        let rows = VisitedRows::Slots {
            page,
            slots: *next..end,
        };
        left = left.saturating_sub(sums.scan(method, rows));
        *next = end;
    }
    Step::Done
}
