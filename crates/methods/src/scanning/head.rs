//! What a pass is to sum up for one head, and the sums, whatever method solves it.

use serde::{Deserialize, Serialize};

use crate::base::memory::OutOfMemory;
use crate::rows::row::Row;
use crate::simd::{Isa, Level};
use crate::solver::bundle::pass::{BundlePass, BundleSums, Outputs};
use crate::solver::decided::{Decide, Decided};
use crate::solver::interior::pass::{InteriorPass, InteriorSums};
use crate::solver::newton::pass::{HeadPass, HeadSums};
use crate::solver::recount::{Recount, RecountSums};

/// What a pass is to sum up for a head; in the end for several.
#[derive(Serialize, Deserialize)]
pub enum HeadScan {
    Newton(Box<HeadPass>),
    Bundle(Box<BundlePass>),
    Interior(Box<InteriorPass>),
    Recount(Box<Recount>),
    Decide(Box<Decide>),
}

/// Sums over some of the rows.
#[derive(Serialize, Deserialize)]
pub enum HeadFound {
    Newton(Box<HeadSums>),
    Bundle(Box<BundleSums>),
    Interior(Box<InteriorSums>),
    Recount(RecountSums),
    Decided(Decided),
}

impl HeadScan {
    pub(super) fn fits(&self, features: usize, groups: usize) -> bool {
        match self {
            Self::Newton(pass) => pass.fits(features, groups),
            Self::Bundle(pass) => pass.fits(features, groups),
            Self::Interior(pass) => pass.fits(features, groups),
            Self::Recount(pass) => pass.fits(features, groups),
            Self::Decide(pass) => pass.fits(features),
        }
    }

    /// Products with each row, about.
    pub(super) fn products(&self) -> usize {
        match self {
            Self::Newton(_) | Self::Interior(_) => 1,
            Self::Bundle(pass) => pass.vectors(),
            Self::Recount(pass) => pass.vectors(),
            Self::Decide(pass) => pass.width(),
        }
    }

    pub(super) fn begin(&self) -> Result<HeadFound, OutOfMemory> {
        Ok(match self {
            Self::Newton(pass) => HeadFound::Newton(Box::new(pass.begin()?)),
            Self::Bundle(pass) => HeadFound::Bundle(Box::new(pass.begin()?)),
            Self::Interior(pass) => HeadFound::Interior(Box::new(pass.begin()?)),
            Self::Recount(pass) => HeadFound::Recount(pass.begin()?),
            Self::Decide(pass) => HeadFound::Decided(pass.begin()),
        })
    }

    #[inline(always)]
    pub(super) fn visit<K: Isa>(&self, sums: &mut HeadFound, row: &Row<'_>, block: u32) {
        match (self, sums) {
            (Self::Newton(pass), HeadFound::Newton(sums)) => pass.visit::<K>(sums, row, block),
            (Self::Bundle(pass), HeadFound::Bundle(sums)) => pass.visit::<K>(sums, row),
            (Self::Interior(pass), HeadFound::Interior(sums)) => pass.visit::<K>(sums, row),
            (Self::Recount(pass), HeadFound::Recount(sums)) => pass.add::<K>(sums, row),
            (Self::Decide(pass), HeadFound::Decided(found)) => pass.add::<K>(found, row),
            _ => {}
        }
    }

    /// Visits a row whose outputs are kept from pass to pass: of planes alone, and in the end.
    #[inline(always)]
    pub(super) fn visit_kept<K: Isa>(
        &self,
        sums: &mut HeadFound,
        row: &Row<'_>,
        outputs: &mut [Outputs],
    ) {
        match (self, sums) {
            (Self::Bundle(pass), HeadFound::Bundle(sums)) => {
                pass.visit_kept::<K>(sums, row, outputs);
            }
            (Self::Recount(pass), HeadFound::Recount(sums)) => pass.add::<K>(sums, row),
            (Self::Decide(pass), HeadFound::Decided(found)) => pass.add::<K>(found, row),
            _ => {}
        }
    }
}

impl HeadFound {
    pub(super) fn finish(&mut self, level: Level) {
        match self {
            Self::Newton(sums) => sums.finish(level),
            Self::Interior(sums) => sums.finish(level),
            Self::Bundle(_) | Self::Recount(_) | Self::Decided(_) => {}
        }
    }

    /// Whether their parts fit one another, and rows are of groups below that one; those of bytes that came from elsewhere may not.
    pub(super) fn are_sound(&self, groups: usize) -> bool {
        match self {
            Self::Newton(sums) => sums.are_sound(groups),
            Self::Bundle(sums) => sums.are_sound(groups),
            Self::Interior(sums) => sums.are_sound(),
            Self::Recount(_) => true,
            Self::Decided(found) => found.is_sound(groups),
        }
    }

    /// Whether others are of the same pass.
    pub(super) fn fits(&self, more: &Self) -> bool {
        match (self, more) {
            (Self::Newton(own), Self::Newton(more)) => own.fits(more),
            (Self::Bundle(own), Self::Bundle(more)) => own.fits(more),
            (Self::Interior(own), Self::Interior(more)) => own.fits(more),
            (Self::Recount(own), Self::Recount(more)) => own.fits(more),
            (Self::Decided(own), Self::Decided(more)) => own.fits(more),
            _ => false,
        }
    }

    /// False where they are of another pass.
    pub(super) fn join(&mut self, more: &Self) -> bool {
        match (self, more) {
            (Self::Newton(own), Self::Newton(more)) => own.join(more),
            (Self::Bundle(own), Self::Bundle(more)) => {
                own.join(more);
                true
            }
            (Self::Interior(own), Self::Interior(more)) => own.join(more),
            (Self::Recount(own), Self::Recount(more)) => {
                own.join(more);
                true
            }
            (Self::Decided(own), Self::Decided(more)) => {
                own.join(more);
                true
            }
            _ => false,
        }
    }
}
