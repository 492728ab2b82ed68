//! What a training by scans asks of its method besides passes and sums.

use crate::base::memory::OutOfMemory;
use crate::objective::heads::HeadSpec;
use crate::rows::facts::Facts;
use crate::solver::by_passes::bundles::Bundles;
use crate::solver::by_passes::interiors::Interiors;
use crate::solver::by_passes::newton::ByNewton;
use crate::solver::by_passes::FixedWeights;
use crate::solver::scanned::ScannedHeads;
use crate::training::by_scans::average::{PartOrder, PartsFound};

/// A method whose parts of the rows may be trained on alone before the first pass.
pub(super) trait ScanMethod: FixedWeights<ScannedHeads> {
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

impl ScanMethod for ByNewton {}
impl ScanMethod for Bundles {}
impl ScanMethod for Interiors {}
