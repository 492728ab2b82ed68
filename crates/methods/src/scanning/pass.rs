//! A pass over all rows for the heads that take part in it.

use serde::{Deserialize, Serialize};

use crate::base::memory::{list, OutOfMemory, Room};
use crate::reader::RowForm;
use crate::rows::batch::Batch;
use crate::rows::row::{self, Row};
use crate::simd::{Isa, Level, Work};
use crate::solver::bundle::pass::Outputs;
use crate::solver::fixed_weights::BLOCK;
use crate::solver::head_sums::{HeadFound, HeadScan};

/// What a pass is to sum up.
#[derive(Serialize, Deserialize)]
pub struct ScanPass {
    #[serde(deserialize_with = "list")]
    heads: Vec<HeadScan>,
}

/// Sums over some of the rows.
#[derive(Serialize, Deserialize)]
pub struct ScanSums {
    #[serde(deserialize_with = "list")]
    heads: Vec<HeadFound>,
    rows: u64,
    /// Sum of the rows' digests.
    digest: u64,
    /// Sums that were joined in these, themselves included.
    parts: u32,
}

impl ScanPass {
    /// For these heads.
    pub fn of(heads: Vec<HeadScan>) -> Self {
        Self { heads }
    }

    /// By head what is to be summed up.
    pub fn into_heads(self) -> Vec<HeadScan> {
        self.heads
    }

    /// Whether it is one over rows of this form; what came from elsewhere may not be.
    pub fn fits(&self, form: &RowForm) -> bool {
        let (features, groups) = form.size();
        self.heads.iter().all(|head| head.fits(features, groups))
    }

    /// Products with each row, about: a pass of many heads takes long over few rows.
    pub fn products(&self) -> usize {
        self.heads.iter().map(HeadScan::products).sum()
    }

    /// Sums over no rows as yet.
    pub fn begin(&self) -> Result<ScanSums, OutOfMemory> {
        let mut heads = Vec::new();
        heads.room(self.heads.len())?;
        for head in &self.heads {
            heads.push(head.begin()?);
        }
        Ok(ScanSums {
            heads,
            rows: 0,
            digest: 0,
            parts: 1,
        })
    }

    /// Whether sums are of this pass over rows of this form; what came from elsewhere may not be.
    pub fn began(&self, sums: &ScanSums, form: &RowForm) -> Result<bool, OutOfMemory> {
        let (_, groups) = form.size();
        let are_sound = sums.heads.iter().all(|head| head.are_sound(groups));
        Ok(are_sound && self.begin()?.fits(sums))
    }

    /// Adds a row to sums that this pass began.
    pub fn add(&self, sums: &mut ScanSums, row: &Row<'_>) {
        Level::best().run(Visit::<_, true> {
            pass: self,
            sums,
            rows: std::iter::once(*row),
            outputs: &mut [],
            each: 0,
            budget: usize::MAX,
        });
    }

    /// Adds rows until about so many values have been read; rows and words that these were. Rows that are here need no digest.
    pub fn add_here(
        &self,
        sums: &mut ScanSums,
        rows: RowsHere<'_>,
        budget: usize,
    ) -> (usize, usize) {
        Level::best().run(Visit::<_, false> {
            pass: self,
            sums,
            rows: Batch::new(rows.words, rows.dense),
            outputs: rows.outputs,
            each: rows.each,
            budget,
        })
    }
}

/// Rows in memory, and those of their outputs that are kept.
pub struct RowsHere<'a> {
    pub words: &'a [u32],
    pub dense: usize,
    /// Row by row.
    pub outputs: &'a mut [Outputs],
    /// For each row; 0: none.
    pub each: usize,
}

struct Visit<'a, R, const DIGESTS: bool> {
    pass: &'a ScanPass,
    sums: &'a mut ScanSums,
    rows: R,
    outputs: &'a mut [Outputs],
    each: usize,
    budget: usize,
}

impl<'r, R: Iterator<Item = Row<'r>>, const DIGESTS: bool> Work for Visit<'_, R, DIGESTS> {
    type Output = (usize, usize);

    #[inline(always)]
    fn run<K: Isa>(self) -> (usize, usize) {
        let Self {
            pass,
            sums,
            rows,
            mut outputs,
            each,
            budget,
        } = self;
        let (mut count, mut values) = (0, 0);
        for row in rows {
            if values >= budget {
                break;
            }
            let (own, others) = outputs.split_at_mut(each);
            outputs = others;
            let block = (sums.rows as usize / BLOCK) as u32;
            for (head, sums) in pass.heads.iter().zip(&mut sums.heads) {
                head.visit::<K>(sums, &row, block, own);
            }
            sums.rows += 1;
            if DIGESTS {
                sums.digest = sums.digest.wrapping_add(row::digest(&row));
            }
            count += 1;
            values += row.values();
        }
        (count, values)
    }
}

impl ScanSums {
    /// Ends with the last row: before they travel or are joined.
    pub fn finish(&mut self) {
        let level = Level::best();
        self.heads.iter_mut().for_each(|head| head.finish(level));
    }

    /// Whether their parts fit one another; those of bytes that came from elsewhere may not.
    pub fn are_sound(&self) -> bool {
        self.heads.iter().all(|head| head.are_sound(usize::MAX))
    }

    /// Whether others are of the same pass.
    fn fits(&self, more: &Self) -> bool {
        let mut heads = self.heads.iter().zip(&more.heads);
        self.heads.len() == more.heads.len() && heads.all(|(own, more)| own.fits(more))
    }

    /// Adds sums over other rows, of the same pass; both are sound and have been finished. False where they are of another one.
    pub fn join(&mut self, more: &Self) -> bool {
        if !self.fits(more) {
            return false;
        }
        self.rows = self.rows.saturating_add(more.rows);
        self.digest = self.digest.wrapping_add(more.digest);
        self.parts = self.parts.saturating_add(more.parts);
        let heads = self.heads.iter_mut().zip(&more.heads);
        heads.fold(true, |fit, (own, more)| fit & own.join(more))
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// By how many they were summed up.
    pub fn parts(&self) -> u32 {
        self.parts
    }

    /// What tells these rows from others, in whatever order they come.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// By head.
    pub fn into_heads(self) -> Vec<HeadFound> {
        self.heads
    }
}
