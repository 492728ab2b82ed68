//! From a trained machine of low rank to the exact one: where its heads begin.

use crate::base::memory::{gathered, OutOfMemory, Room as _};
use crate::exact::{ExactJob, ExactSolver, ExactStart};
use crate::kernels::{Expansion, LowRank, Rows};
use crate::task::problem::Problem;
use crate::training::Trainer;

impl Trainer {
    /// A solver that begins at the final heads of this training, whose rows `map` made of the rows that will be gone over; with
    /// so many bytes for candidates and kernel rows. To be called when the training has ended. None where the map and the
    /// heads do not fit each other.
    pub fn exactly(
        &self,
        map: &LowRank,
        problem: &Problem,
        bytes: usize,
    ) -> Result<Option<ExactSolver>, OutOfMemory> {
        let heads = self.report()?.heads.len();
        let landmarks = map.landmarks().rows();
        let mut copy = Rows::new(landmarks.width());
        for row in 0..landmarks.len() {
            copy.push_from(landmarks, row)?;
        }
        let (mut factors, mut intercepts, mut starts) = (Vec::new(), Vec::new(), Vec::new());
        for (head, (spec, _)) in self.heads()?.into_iter().take(heads).enumerate() {
            let found = self.weights(head);
            let folded = map.fold(found.iter())?;
            factors.room(folded.len())?.extend(folded);
            intercepts.room(1)?.push(found.intercept());
            starts.room(1)?.push(ExactStart {
                spec,
                duals: gathered(self.duals(head).iter())?,
            });
        }
        let job = ExactJob::new(*map.kernel(), problem, bytes);
        let first = Expansion::new(job.kernel, copy, factors, intercepts)?;
        let first = first.filter(|_| !starts.is_empty());
        first
            .map(|first| ExactSolver::new(job, first, starts))
            .transpose()
    }
}
