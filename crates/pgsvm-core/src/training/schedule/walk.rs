//! Blocks of rows at hand, shown to a part of the heads.

use crate::rows::blocks::Blocks;
use crate::simd::{Isa, Level, Real, Work};
use crate::solver::part::Part;
use crate::solver::Pass;

struct Walk<'a, 'b, T> {
    part: &'a mut Part<'b, T>,
    blocks: Blocks<'a>,
    pass: Pass,
    budget: usize,
}

impl<T: Real> Work for Walk<'_, '_, T> {
    type Output = (usize, usize);

    #[inline(always)]
    fn run<K: Isa>(self) -> (usize, usize) {
        let (part, blocks, budget) = (self.part, self.blocks, self.budget);
        match self.pass {
            Pass::Full => part.visit_blocks::<K, true>(blocks, budget),
            Pass::Active => part.visit_blocks::<K, false>(blocks, budget),
            Pass::Verify { everything } => part.check_blocks::<K>(blocks, everything, budget),
        }
    }
}

/// Shows a part of the heads the blocks from a place on until the budget is used up; gives back how many blocks and values that
/// was.
pub(in crate::training) fn visit_from<T: Real>(
    part: &mut Part<'_, T>,
    level: Level,
    (blocks, place): (Blocks<'_>, usize),
    (pass, budget): (Pass, usize),
) -> (usize, usize) {
    let numbers = &blocks.numbers[place..];
    level.run(Walk {
        part,
        blocks: Blocks { numbers, ..blocks },
        pass,
        budget,
    })
}
