//! What is done with rows at the weights that heads have, nothing being trained.

use crate::rows::visited::VisitedRows;
use crate::solver::Solver;

/// What is done with rows that are read.
pub(crate) trait ReadRows<T> {
    /// Reads these; gives back how many values that was.
    fn read(&mut self, solver: &Solver<T>, rows: VisitedRows<'_>) -> usize;
}
