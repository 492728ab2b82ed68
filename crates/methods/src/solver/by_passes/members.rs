//! Threads that read rows of a pass: each row is looked at by all heads that take part, and each thread has sums of its own.

use std::ops::Range;

use crate::base::memory::OutOfMemory;
use crate::rows::row::Row;
use crate::rows::visited::{VisitedBatch, VisitedPage};
use crate::simd::{Isa, Work};
use crate::solver::by_passes::unread::Unread;
use crate::solver::fixed_weights::BLOCK;
use crate::solver::head_sums::{HeadFound, HeadScan};
use crate::solver::newton::pace::PRODUCTS_PER_VALUE;
use crate::solver::newton::pass::{HeadPass, HeadSums};
use crate::solver::newton::sums::Seen;
use crate::solver::visit::per_row::Dual;

/// One of the threads that read rows.
pub struct Member<'a> {
    pub(super) number: usize,
    /// What a row counts beside its values. How far a step goes follows from it, and with several threads whose rows are whose.
    pub(super) beside: usize,
    pub(super) heads: Vec<MemberHead<'a>>,
    /// Values gone through, and blocks of a page.
    pub(super) values: usize,
    pub(super) blocks: usize,
}

/// A head's part of the pass, as a thread sees it.
pub(super) struct MemberHead<'a> {
    pub(super) pass: &'a HeadScan,
    pub(super) sums: &'a mut HeadFound,
    pub(super) duals: &'a [Dual],
    pub(super) unread: Option<&'a mut Unread>,
}

/// Rows to read.
#[derive(Clone)]
pub enum Portion<'a> {
    /// Those of a batch.
    Batch(VisitedBatch<'a>),
    /// Those of some blocks of all rows, or of a sample's, whose numbers follow; slots are ordinals.
    Blocks {
        page: VisitedPage<'a>,
        rows: usize,
        sample: &'a [u32],
        blocks: Range<usize>,
        /// Values after which a thread ends before its last block.
        budget: usize,
    },
}

/// A row that may have to be fetched.
trait Placed<'a>: Copy {
    fn ordinal(self) -> usize;
    fn row(self) -> Row<'a>;
}

impl<'a> Placed<'a> for Row<'a> {
    #[inline(always)]
    fn ordinal(self) -> usize {
        Row::ordinal(&self)
    }

    #[inline(always)]
    fn row(self) -> Row<'a> {
        self
    }
}

#[derive(Clone, Copy)]
struct InSlot<'a>(VisitedPage<'a>, usize);

impl<'a> Placed<'a> for InSlot<'a> {
    #[inline(always)]
    fn ordinal(self) -> usize {
        self.1
    }

    #[inline(always)]
    fn row(self) -> Row<'a> {
        self.0.row(self.1)
    }
}

/// The work of a visit of a row whose dual variable was this in the pass before.
struct KeptRow<'a> {
    pass: &'a HeadPass,
    sums: &'a mut HeadSums,
    row: &'a Row<'a>,
    dual: f32,
}

impl Work for KeptRow<'_> {
    type Output = Option<Seen>;

    #[inline(always)]
    fn run<K: Isa>(self) -> Option<Seen> {
        let Self {
            pass,
            sums,
            row,
            dual,
        } = self;
        pass.visit_kept::<K>(sums, (row, block_of(row)), dual)
    }
}

impl MemberHead<'_> {
    /// Visits the rows of these slots, of a pass of Newton's method that reads them on both sides at once; the values gone through. None
    /// of other passes.
    #[inline(always)]
    fn visit_sides<K: Isa>(
        &mut self,
        page: VisitedPage<'_>,
        slots: Range<usize>,
        beside: usize,
    ) -> Option<usize> {
        let (HeadScan::Newton(pass), HeadFound::Newton(sums)) = (self.pass, &mut *self.sums) else {
            return None;
        };
        let between = pass.between_sides().filter(|_| self.unread.is_none())?;
        let mut values = 0;
        for slot in slots.step_by(2) {
            let Some([first, second]) = self.duals.get(slot..slot + 2) else {
                break;
            };
            let row = page.row(slot);
            values += row.values() + beside;
            let (both, duals) = ((&row, between), [first.get(), second.get()]);
            if let Some([one, two]) = pass.visit_kept_sides::<K>(sums, both, block_of(&row), duals)
            {
                first.set(one.dual as f32);
                second.set(two.dual as f32);
                values += one.products / PRODUCTS_PER_VALUE;
            }
        }
        Some(values)
    }

    /// Visits rows that lie near one another; the values gone through. In a loop that is not the one over blocks each visit is a
    /// function of its own.
    #[inline(always)]
    fn visit<'r, K: Isa, const APART: bool>(
        &mut self,
        rows: impl Iterator<Item = impl Placed<'r>>,
        beside: usize,
    ) -> usize {
        let mut values = 0;
        match (self.pass, &mut *self.sums) {
            // the method also wants the rows that were within the margin in the pass before: their dual variables say which
            (HeadScan::Newton(pass), HeadFound::Newton(sums)) => {
                for place in rows {
                    let own = &self.duals[place.ordinal()];
                    let before = own.get();
                    if pass.is_product() && before == 0.0 {
                        values += 1;
                        continue;
                    }
                    let row = place.row();
                    values += row.values() + beside;
                    let visit = KeptRow {
                        pass,
                        sums,
                        row: &row,
                        dual: before,
                    };
                    let seen = match APART {
                        true => K::apart(visit),
                        false => visit.run::<K>(),
                    };
                    if let Some(seen) = seen {
                        let dual = seen.dual as f32;
                        own.set(dual);
                        values += seen.products / PRODUCTS_PER_VALUE;
                        if let Some(unread) = &mut self.unread {
                            unread.look(&row, seen, dual);
                        }
                    }
                }
            }
            (pass, sums) => {
                for place in rows {
                    let row = place.row();
                    values += row.values() + beside;
                    pass.visit::<K>(sums, &row, block_of(&row), &mut []);
                }
            }
        }
        values
    }
}

/// The block that a row belongs to.
#[inline(always)]
fn block_of(row: &Row<'_>) -> u32 {
    (row.ordinal() / BLOCK) as u32
}

impl Member<'_> {
    /// Visits rows that lie near one another for every head.
    #[inline(always)]
    fn visit<'r, K: Isa, const APART: bool>(
        &mut self,
        rows: impl Iterator<Item = impl Placed<'r>> + Clone,
    ) {
        for head in &mut self.heads {
            self.values += head.visit::<K, APART>(rows.clone(), self.beside);
        }
    }

    /// Visits the rows of these slots for every head.
    #[inline(always)]
    fn visit_slots<K: Isa>(&mut self, page: VisitedPage<'_>, slots: Range<usize>) {
        for head in &mut self.heads {
            let both = head.visit_sides::<K>(page, slots.clone(), self.beside);
            self.values += match both {
                Some(values) => values,
                None => {
                    let rows = slots.clone().map(|slot| InSlot(page, slot));
                    head.visit::<K, false>(rows, self.beside)
                }
            };
        }
    }
}

/// The rows of one thread. Which are whose depends on their places alone.
pub(super) struct Part<'a, 'b> {
    pub(super) member: &'b mut Member<'a>,
    pub(super) portion: Portion<'b>,
    /// Threads.
    pub(super) count: usize,
}

impl Work for Part<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let (member, count) = (self.member, self.count);
        let number = member.number;
        match self.portion {
            Portion::Batch(rows) if count == 1 => member.visit::<K, true>(rows),
            Portion::Batch(mut rows) => {
                let mut turn = 0;
                while rows.peek().is_some() {
                    turn = (turn + 1) % count;
                    let block = rows.clone().take(BLOCK);
                    if turn == number {
                        member.visit::<K, true>(block.clone());
                    }
                    rows.nth(BLOCK - 1);
                }
            }
            Portion::Blocks {
                page,
                rows,
                sample,
                blocks,
                budget,
            } => {
                let border = |k: usize| blocks.start + blocks.len() * k / count;
                for place in border(number)..border(number + 1) {
                    if member.values >= budget {
                        break;
                    }
                    let block = sample.get(place).map_or(place, |block| *block as usize);
                    let slots = BLOCK * block..rows.min(BLOCK * (block + 1));
                    member.visit_slots::<K>(page, slots);
                    member.blocks += 1;
                }
            }
        }
    }
}

/// Rows that are visited and filed.
pub(super) struct Filing<'a, 'b, F> {
    pub(super) member: &'b mut Member<'a>,
    pub(super) rows: VisitedBatch<'b>,
    pub(super) file: F,
}

impl<F: FnMut(&Row<'_>, u8) -> u16> Work for Filing<'_, '_, F> {
    type Output = Result<(), OutOfMemory>;

    #[inline(always)]
    fn run<K: Isa>(self) -> Result<(), OutOfMemory> {
        let Self {
            member,
            rows,
            mut file,
        } = self;
        for row in rows {
            member.visit::<K, true>(std::iter::once(row));
            let mut code = u8::MAX;
            for head in &member.heads {
                let dual = head.duals[row.ordinal()].get();
                let known = head.unread.as_ref();
                code = code.min(known.map_or(0, |it| it.file_of(row.ordinal(), dual)));
            }
            let unit = file(&row, code);
            for head in &mut member.heads {
                if let Some(unread) = head.unread.as_mut().filter(|_| head.pass.evaluates()) {
                    unread.take_filed(&row, unit)?;
                }
            }
        }
        Ok(())
    }
}
