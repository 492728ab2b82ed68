//! What a pass is to sum up for one head, and the sums, whatever method solves it.

use serde::{Deserialize, Serialize};

use crate::base::memory::OutOfMemory;
use crate::rows::row::Row;
use crate::simd::{Isa, Level, Work};
use crate::solver::bundle::pass::{BundlePass, BundleSums, Outputs};
use crate::solver::decided::{Decide, Decided};
use crate::solver::interior::pass::{InteriorPass, InteriorSums};
use crate::solver::newton::pass::{HeadPass, HeadSums, Looks};
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

/// The work of [`HeadScan::visit`].
struct Visit<'a> {
    pass: &'a HeadScan,
    sums: &'a mut HeadFound,
    row: &'a Row<'a>,
    block: u32,
    outputs: &'a mut [Outputs],
}

impl Work for Visit<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        self.pass
            .visit_here::<K>(self.sums, self.row, self.block, self.outputs);
    }
}

impl HeadScan {
    pub(crate) fn fits(&self, features: usize, groups: usize) -> bool {
        match self {
            Self::Newton(pass) => pass.fits(features, groups),
            Self::Bundle(pass) => pass.fits(features, groups),
            Self::Interior(pass) => pass.fits(features, groups),
            Self::Recount(pass) => pass.fits(features, groups),
            Self::Decide(pass) => pass.fits(features),
        }
    }

    /// Products with each row, about.
    pub(crate) fn products(&self) -> usize {
        match self {
            Self::Newton(_) | Self::Interior(_) => 1,
            Self::Bundle(pass) => pass.vectors(),
            Self::Recount(pass) => pass.vectors(),
            Self::Decide(pass) => pass.width(),
        }
    }

    pub(crate) fn begin(&self) -> Result<HeadFound, OutOfMemory> {
        Ok(match self {
            Self::Newton(pass) => HeadFound::Newton(Box::new(pass.begin()?)),
            Self::Bundle(pass) => HeadFound::Bundle(Box::new(pass.begin()?)),
            Self::Interior(pass) => HeadFound::Interior(Box::new(pass.begin()?)),
            Self::Recount(pass) => HeadFound::Recount(pass.begin()?),
            Self::Decide(pass) => HeadFound::Decided(pass.begin()),
        })
    }

    /// Adds a row, of the block with this number; `outputs`: those of the row that planes keep from pass to pass, or none.
    #[inline(always)]
    pub(crate) fn visit<K: Isa>(
        &self,
        sums: &mut HeadFound,
        row: &Row<'_>,
        block: u32,
        outputs: &mut [Outputs],
    ) {
        K::apart(Visit {
            pass: self,
            sums,
            row,
            block,
            outputs,
        });
    }

    #[inline(always)]
    fn visit_here<K: Isa>(
        &self,
        sums: &mut HeadFound,
        row: &Row<'_>,
        block: u32,
        outputs: &mut [Outputs],
    ) {
        match (self, sums) {
            (Self::Newton(pass), HeadFound::Newton(sums)) => pass.visit::<K>(sums, row, block),
            (Self::Bundle(pass), HeadFound::Bundle(sums)) => match outputs {
                [] => pass.visit::<K>(sums, row),
                outputs => pass.visit_kept::<K>(sums, row, outputs),
            },
            (Self::Interior(pass), HeadFound::Interior(sums)) => pass.visit::<K>(sums, row),
            (Self::Recount(pass), HeadFound::Recount(sums)) => pass.add::<K>(sums, row),
            (Self::Decide(pass), HeadFound::Decided(found)) => pass.add::<K>(found, row),
            _ => {}
        }
    }

    /// Whether it takes the margins of rows, and finds of each what its method keeps.
    #[inline(always)]
    pub(in crate::solver) fn evaluates(&self) -> bool {
        matches!(self, Self::Newton(pass) if pass.evaluates())
    }

    /// Whether rows may be filed by what is found of them, now or in the last pass that took margins.
    pub(in crate::solver) fn may_file(&self) -> bool {
        matches!(self, Self::Newton(pass) if !pass.is_line())
    }

    /// What it looks at, where rows can be known without a look; None where all have to be seen.
    pub(in crate::solver) fn looks(&self) -> Option<Looks<'_>> {
        match self {
            Self::Newton(pass) => Some(pass.looks()),
            Self::Bundle(_) | Self::Interior(_) | Self::Recount(_) | Self::Decide(_) => None,
        }
    }
}

impl HeadFound {
    pub(crate) fn finish(&mut self, level: Level) {
        match self {
            Self::Newton(sums) => sums.finish(level),
            Self::Interior(sums) => sums.finish(level),
            Self::Bundle(_) | Self::Recount(_) | Self::Decided(_) => {}
        }
    }

    /// Whether their parts fit one another, and rows are of groups below that one; those of bytes that came from elsewhere may not.
    pub(crate) fn are_sound(&self, groups: usize) -> bool {
        match self {
            Self::Newton(sums) => sums.are_sound(groups),
            Self::Bundle(sums) => sums.are_sound(groups),
            Self::Interior(sums) => sums.are_sound(),
            Self::Recount(_) => true,
            Self::Decided(found) => found.is_sound(groups),
        }
    }

    /// Whether others are of the same pass.
    pub(crate) fn fits(&self, more: &Self) -> bool {
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
    pub(crate) fn join(&mut self, more: &Self) -> bool {
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
