//! Rows read by several threads at the same time, for heads that Newton's method solves. Each thread sums up rows of its own, and the sums
//! are joined when the pass ends. Which rows are whose depends on their places alone.

use std::ops::Range;

use crate::base::memory::OutOfMemory;
use crate::rows::visited::{VisitedBatch, VisitedPage};
use crate::simd::{Isa, Level, Real, Work};
use crate::solver::newton_run::{NewtonRun, RunMember, RunView, BLOCK};
use crate::solver::Solver;
use crate::training::threads::ThreadPool;

/// Rows to read.
#[derive(Clone)]
pub(super) enum Portion<'a> {
    /// Those of a batch.
    Batch(VisitedBatch<'a>),
    /// Those of some blocks of all rows, or of a sample's, whose numbers follow.
    Blocks {
        page: VisitedPage<'a>,
        rows: usize,
        sample: &'a [u32],
        blocks: Range<usize>,
    },
}

/// Has rows visited by as many threads as there are; gives back the values gone through.
pub(super) fn visit_together<T: Real>(
    solver: &mut Solver<T>,
    runs: &mut [NewtonRun],
    portion: Portion<'_>,
    (pool, level): (&ThreadPool, Level),
) -> Result<usize, OutOfMemory> {
    let count = pool.members();
    let (mut members, views) = solver.divide_newton(runs, count)?;
    pool.side_by_side(&mut members, |member| {
        level.run(Part {
            member,
            views: &views,
            portion: portion.clone(),
            count,
        })
    });
    Ok(members.iter().map(|member| member.values).sum())
}

/// The block of a place among those of a pass.
#[inline(always)]
pub(super) fn block_at(sample: &[u32], place: usize) -> u32 {
    sample.get(place).map_or(place as u32, |number| *number)
}

/// The rows of one thread.
struct Part<'a, 'b> {
    member: &'b mut RunMember<'a>,
    views: &'b [RunView<'a>],
    portion: Portion<'b>,
    count: usize,
}

impl Work for Part<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let number = self.member.number;
        match self.portion {
            Portion::Batch(rows) => {
                let mut left = 0;
                let mut turn = 0;
                for row in rows {
                    if left == 0 {
                        (left, turn) = (BLOCK, (turn + 1) % self.count);
                    }
                    left -= 1;
                    if turn == number {
                        let block = (row.ordinal() / BLOCK) as u32;
                        self.member.visit::<K>(self.views, &row, block);
                    }
                }
            }
            Portion::Blocks {
                page,
                rows,
                sample,
                blocks,
            } => {
                let border = |k: usize| blocks.start + blocks.len() * k / self.count;
                for place in border(number)..border(number + 1) {
                    let block = block_at(sample, place);
                    let first = BLOCK * block as usize;
                    for slot in first..rows.min(first + BLOCK) {
                        self.member.visit::<K>(self.views, &page.row(slot), block);
                    }
                }
            }
        }
    }
}
