//! Heads of a training that Newton's method solves: for each the pass under way, what the method takes from the head, and what it gives
//! back.

mod unread;

use std::ops::Range;

use crate::base::memory::{all_of, OutOfMemory, Room};
use crate::rows::row::Row;
use crate::rows::visited::{VisitedBatch, VisitedPage};
use crate::simd::{Isa, Level, Real};
use crate::solver::ledger::Ledgers;
use crate::solver::newton::head::{Newton, Next};
use crate::solver::newton::pace::{Costs, PRODUCTS_PER_VALUE};
use crate::solver::newton::pass::{HeadPass, HeadSums};
use crate::solver::visit::per_row::Dual;
use crate::solver::{Heads, Solver};
use unread::Unread;

/// Rows of a block, which are gathered or not with one another: those of a few lines of the cache.
pub const BLOCK: usize = 16;

/// A head that Newton's method solves.
pub struct NewtonRun {
    /// Its number among the solver's.
    pub head: usize,
    pub newton: Newton,
    /// Whether it takes part in the pass under way.
    pub visits: bool,
    pub next: Next,
    /// The pass under way: what it sums up, the sums of one thread, or those of several.
    pass: Option<HeadPass>,
    sums: Option<HeadSums>,
    parts: Vec<HeadSums>,
    /// Where rows lie in chunks that passes may leave out.
    unread: Option<Box<Unread>>,
}

/// The same as several threads see it, which read rows at the same time.
pub struct RunView<'a> {
    pass: &'a HeadPass,
    alpha: &'a [Dual],
}

/// What one of them changes.
pub struct RunMember<'a> {
    pub number: usize,
    /// By head that takes part.
    parts: Vec<&'a mut HeadSums>,
    /// Values gone through.
    pub values: usize,
}

impl RunMember<'_> {
    /// Visits a row of this block for every head.
    #[inline(always)]
    pub fn visit<K: Isa>(&mut self, views: &[RunView<'_>], row: &Row<'_>, block: u32) {
        for (part, view) in self.parts.iter_mut().zip(views) {
            let own = &view.alpha[row.ordinal()];
            let before = own.get();
            self.values += 1;
            if view.pass.is_product() && before == 0.0 {
                continue;
            }
            self.values += row.values();
            if let Some(seen) = view.pass.visit_kept::<K>(part, (row, block), before) {
                own.set(seen.dual as f32);
                self.values += seen.products / PRODUCTS_PER_VALUE;
            }
        }
    }
}

impl NewtonRun {
    pub fn new(head: usize, newton: Newton) -> Self {
        Self {
            head,
            newton,
            visits: true,
            next: Next::Pass,
            pass: None,
            sums: None,
            parts: Vec::new(),
            unread: None,
        }
    }

    /// Begins the pass that comes, where it takes part in it and has not begun.
    pub fn begin_pass(&mut self) -> Result<(), OutOfMemory> {
        if self.visits && self.pass.is_none() {
            let pass = self.newton.pass(self.next, None)?;
            self.sums = Some(self.newton.begin_sums(&pass)?);
            self.pass = Some(pass);
        }
        Ok(())
    }

    /// Makes ready for so many threads, once a pass.
    fn begin_parts(&mut self, members: usize) -> Result<(), OutOfMemory> {
        let Some(pass) = self.pass.as_ref().filter(|_| self.parts.is_empty()) else {
            return Ok(());
        };
        self.parts.room(members)?;
        for _ in 0..members {
            self.parts.push(pass.begin()?);
        }
        Ok(())
    }

    /// Ends the pass: what was summed up over its rows is the head's.
    pub fn end_pass(&mut self, level: Level) -> Next {
        self.pass = None;
        if let Some(mut sums) = self.sums.take() {
            for mut part in self.parts.drain(..) {
                part.finish(level);
                sums.join(&part);
            }
            self.newton.take(sums);
        }
        self.add_unread();
        self.newton.end(self.next, level)
    }

    /// It has ended.
    pub(in crate::solver) fn end(&mut self) {
        self.go_on(Next::Arrived);
    }

    /// This is to be done next.
    pub fn go_on(&mut self, next: Next) {
        self.next = next;
        self.visits = !matches!(next, Next::Sampled | Next::Arrived | Next::GivenUp);
    }

    /// Whether a row with this dual variable need not be fetched.
    #[inline(always)]
    fn spares(&self, dual: f32) -> bool {
        dual == 0.0 && self.pass.as_ref().is_some_and(HeadPass::is_product)
    }

    /// Visits a row of this block, with its dual variable: 0 beyond the margin. Gives back the values gone through.
    #[inline(always)]
    pub(in crate::solver) fn visit<K: Isa>(
        &mut self,
        row: &Row<'_>,
        block: u32,
        own: &mut f32,
    ) -> usize {
        if self.spares(*own) {
            return 1;
        }
        let (Some(pass), Some(sums)) = (&self.pass, &mut self.sums) else {
            return 1;
        };
        let Some(seen) = pass.visit_kept::<K>(sums, (row, block), *own) else {
            return row.values();
        };
        *own = seen.dual as f32;
        self.look(row, seen, *own);
        row.values() + seen.products / PRODUCTS_PER_VALUE
    }
}

/// A holder of heads that Newton's method solves.
pub trait NewtonHeads: Ledgers {
    /// Begins to solve some of the heads.
    fn newton_runs(&self, heads: Range<usize>, costs: Costs)
        -> Result<Vec<NewtonRun>, OutOfMemory>;
    /// Takes what a pass over all rows has found for a head, which may have arrived by it.
    fn take_newton(&mut self, run: &mut NewtonRun);
    /// Newton's method goes no further with a head.
    fn leave_newton(&mut self, run: &NewtonRun);
}

impl<T: Real> NewtonHeads for Solver<T> {
    fn newton_runs(
        &self,
        heads: Range<usize>,
        costs: Costs,
    ) -> Result<Vec<NewtonRun>, OutOfMemory> {
        let mut all = Vec::new();
        all.room(heads.len())?;
        let (Heads::Single(singles), true) = (&self.heads, self.by_newton) else {
            return Ok(all);
        };
        for head in heads {
            all.push(NewtonRun::new(head, singles.heads[head].newton(costs)?));
        }
        Ok(all)
    }

    fn take_newton(&mut self, run: &mut NewtonRun) {
        if let Heads::Single(singles) = &mut self.heads {
            let head = &mut singles.heads[run.head];
            head.take_from(&run.newton, run.next == Next::Arrived);
            if !head.state.runs() {
                run.end();
            }
        }
        if run.next == Next::GivenUp {
            self.leave_newton(run);
        }
    }

    fn leave_newton(&mut self, run: &NewtonRun) {
        if let Heads::Single(singles) = &mut self.heads {
            singles.heads[run.head].leave(&run.newton);
        }
    }
}

impl<T: Real> Solver<T> {
    /// Whether Newton's method solves its heads now.
    pub fn by_newton(&self) -> bool {
        self.by_newton
    }

    /// Whether Newton's method solved them, or does.
    pub fn was_by_newton(&self) -> bool {
        self.was_by_newton
    }

    /// Has the rows in these slots visited, of the block with this number. Gives back the values gone through.
    #[inline(always)]
    pub fn visit_newton<K: Isa>(
        &mut self,
        all: &mut [NewtonRun],
        page: VisitedPage<'_>,
        slots: Range<usize>,
        block: u32,
    ) -> usize {
        let mut values = 0;
        let Heads::Single(singles) = &mut self.heads else {
            return 0;
        };
        for run in all.iter_mut().filter(|run| run.visits) {
            let alpha = &mut singles.heads[run.head].alpha;
            for slot in slots.clone() {
                values += match run.spares(alpha[slot]) {
                    true => 1,
                    false => {
                        let row = page.row(slot);
                        run.visit::<K>(&row, block, &mut alpha[row.ordinal()])
                    }
                };
            }
        }
        values
    }

    /// Has the rows of a batch visited, wherever they stand among all. Gives back the values gone through.
    #[inline(always)]
    pub fn visit_newton_batch<K: Isa>(
        &mut self,
        all: &mut [NewtonRun],
        rows: VisitedBatch<'_>,
    ) -> usize {
        let mut values = 0;
        let Heads::Single(singles) = &mut self.heads else {
            return 0;
        };
        for run in all.iter_mut().filter(|run| run.visits) {
            let alpha = &mut singles.heads[run.head].alpha;
            for row in rows.clone() {
                let block = (row.ordinal() / BLOCK) as u32;
                values += run.visit::<K>(&row, block, &mut alpha[row.ordinal()]);
            }
        }
        values
    }

    /// What so many threads need to read rows of the pass under way at the same time.
    pub fn divide_newton<'a>(
        &'a mut self,
        all: &'a mut [NewtonRun],
        members: usize,
    ) -> Result<(Vec<RunMember<'a>>, Vec<RunView<'a>>), OutOfMemory> {
        let count = all.len();
        let member = |number| {
            let mut parts = Vec::new();
            parts.room(count)?;
            Ok::<_, OutOfMemory>(RunMember {
                number,
                parts,
                values: 0,
            })
        };
        let mut team = all_of((0..members).map(member))?;
        let mut views = Vec::new();
        views.room(count)?;
        let first = all.first().map_or(0, |run| run.head);
        if let Heads::Single(singles) = &mut self.heads {
            let heads = singles.heads.iter_mut().skip(first);
            for (head, run) in heads.zip(all).filter(|(_, run)| run.visits) {
                run.begin_parts(members)?;
                let Some(pass) = &run.pass else {
                    continue;
                };
                views.push(RunView {
                    pass,
                    alpha: Dual::share(&mut head.alpha),
                });
                for (member, part) in team.iter_mut().zip(&mut run.parts) {
                    member.parts.push(part);
                }
            }
        }
        Ok((team, views))
    }

    /// The heads go on, where they have not ended, by themselves.
    pub fn end_newton(&mut self) {
        if std::mem::take(&mut self.by_newton) {
            if let Heads::Single(singles) = &mut self.heads {
                for head in &mut singles.heads {
                    head.settle_duals([1.0; 2]);
                }
            }
        }
    }
}
