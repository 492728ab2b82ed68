//! What a training by scans asks of its method, whichever that is.

use crate::base::memory::OutOfMemory;
use crate::base::step::Step;
use crate::objective::heads::HeadSpec;
use crate::rows::facts::Facts;
use crate::scanning::{HeadScan, ScanPass, ScanSums};
use crate::solver::scanned::ScannedHeads;
use crate::training::by_scans::average::{PartOrder, PartsFound};
use crate::training::error::TrainError;

pub(super) trait ScanMethod {
    /// Computes on, reading about so many values of rows of the sample. `Blocked`: a scan is wanted; `Done`: nothing is left to be done.
    fn step(
        &mut self,
        heads: &mut ScannedHeads,
        sample: &[u32],
        budget: usize,
    ) -> Result<Step, TrainError>;

    /// What the next scan is to sum up for the heads that take part in it.
    fn pass(&self, sample: &[u32]) -> Result<Vec<HeadScan>, OutOfMemory>;

    /// Takes what that scan has summed up.
    fn take(
        &mut self,
        heads: &mut ScannedHeads,
        pass: ScanPass,
        sums: ScanSums,
    ) -> Result<(), OutOfMemory>;

    /// Has heads begin at these weights, all of them; to be called before the first step. Interior points begin from nothing.
    fn begin_at(&mut self, _: &ScannedHeads, _: Vec<Vec<f64>>) -> Result<(), TrainError> {
        Ok(())
    }

    /// The weights of each head so far, the intercept's last: what it may begin at. None of those that begin from nothing.
    fn standing(&self, _: &ScannedHeads) -> Result<Vec<Vec<f64>>, OutOfMemory> {
        Ok(Vec::new())
    }

    /// Whether rows that stream are expected to be faster.
    fn gives_way(&self) -> bool {
        false
    }

    /// Rows that are held, over all heads.
    fn held(&self) -> u64 {
        0
    }

    /// Outputs of a row that a scan may keep for the next one, over all heads, where it does.
    fn outputs(&self) -> Option<usize> {
        None
    }

    /// Whether it is Newton's.
    fn is_newton(&self) -> bool {
        false
    }

    /// What each part of the rows is to train whose rows may take so many bytes; None where no part is to, or all have.
    fn part_order(
        &self,
        _: &Facts,
        _: &[HeadSpec],
        _bytes: usize,
    ) -> Result<Option<PartOrder>, OutOfMemory> {
        Ok(None)
    }

    /// Takes what all parts have found.
    fn take_parts(&mut self, _: &ScannedHeads, _: PartsFound) -> Result<(), OutOfMemory> {
        Ok(())
    }

    /// Of how many parts it is the average, once they have been trained.
    fn averaged(&self) -> Option<u32> {
        None
    }
}
