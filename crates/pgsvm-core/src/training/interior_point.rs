//! From a training on a map to interior points over the same rows: the same heads, at the C that was given or chosen.

use crate::base::memory::{OutOfMemory, Room as _};
use crate::interior::{InteriorSolver, InteriorTerms};
use crate::kernels::LowRank;
use crate::task::problem::Problem;
use crate::training::Trainer;

impl Trainer {
    /// Interior points for the final heads of this training, over the rows that `map` was made for and with its kernel. To be
    /// called when the training has ended. None where there are no such heads.
    pub fn interior_point(
        &self,
        map: &LowRank,
        problem: &Problem,
        terms: InteriorTerms,
    ) -> Result<Option<InteriorSolver>, OutOfMemory> {
        let report = self.report()?;
        let mut specs = Vec::new();
        for (spec, _) in self.heads()?.into_iter().take(report.heads.len()) {
            specs.room(1)?.push(spec);
        }
        let rows = report.rows as usize;
        (!specs.is_empty())
            .then(|| InteriorSolver::new(terms, map, problem, specs, rows))
            .transpose()
    }
}
