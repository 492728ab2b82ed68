//! A pass divided among several trainers, each on a thread of its own.
//!
//! Each member of the team has some of the blocks, a copy of u, and sums of its own. Dual variables are those of its
//! rows, so no member writes what another one reads. At the end of the pass the changes of u are added up, in the
//! members' order. So u = v + kappa M z holds as ever, no update is lost, and the result depends on the number of
//! members but not on who was faster.
//!
//! Members do not see each other's steps, and together they might go too far. So each acts as if the others did the
//! same as itself (CoCoA+; Ma et al., Optimization Methods and Software 32(4), 2017): its copy of u moves `sigma`
//! times as far as its dual variables say, and the dual is taken to bend so much more. With d the change of u by a
//! member, the sigma taken out, the shifted dual rises by no less than the members' own gains together if
//!
//! sigma >= |sum d|^2 / sum |d|^2     in the norm of the shift,
//!
//! which is never more than the number of members, with which the first pass begins, and about 1 when they work on
//! different things. What would have done is known after a pass and taken, with some reserve, for the next.

use std::ops::Range;

use crate::base::memory::{all_of, filled, gathered, OutOfMemory};
use crate::base::zeros::zeros;
use crate::objective::loss::by_loss;
use crate::rows::blocks::Blocks;
use crate::rows::map::RowMap;
use crate::rows::row::Row;
use crate::simd::{Isa, Real, Work};
use crate::solver::certificate::proof::Proof;
use crate::solver::driver::{TakesRows, BLOCKS_AT_A_TIME};
use crate::solver::proximal::dual_moments::DualMoments;
use crate::solver::proximal::moments::Moments;
use crate::solver::single::head::Head;
use crate::solver::single::heads::Singles;
use crate::solver::single::verify::Check;
use crate::solver::sums::intercept::Breakpoints;
use crate::solver::sums::tally::Sums;
use crate::solver::visit::visitor::{scattered, HeadView, Outcome};
use crate::solver::{Pass, Solver};

/// The next sigma, from what the last one should have been above 1: passes differ, and too little costs more than too
/// much. Against the number of members for a sigma this takes two trainers a seventh, four a third fewer visits on
/// text, and about as many (an eighth fewer to a fifth more) on rows that have all features in common.
const RESERVE: f64 = 0.25;
const GROWTH: f64 = 2.0;

/// What the members of a team have between two steps.
pub struct Team<T> {
    pub members: Vec<Member<T>>,
    /// By head.
    sigma: Vec<f64>,
}

/// What one trainer of a team changes.
pub struct Member<T> {
    /// By head.
    parts: Vec<Part<T>>,
    moments: Option<Moments>,
    /// Its blocks of this pass that are still to be visited: places in the pass's order.
    left: Range<usize>,
}

struct Part<T> {
    u: Vec<T>,
    sums: Sums,
    breakpoints: Option<Breakpoints>,
    proof: Option<Box<Proof>>,
    dual_moments: Option<DualMoments>,
}

/// What all members see in a step.
pub struct Shared<'a, T> {
    /// By head; None for those that have ended.
    heads: Vec<Option<HeadView<'a, T>>>,
    sigma: &'a [f64],
}

/// The members for a step, and what they share.
pub type Divided<'a, T> = (&'a mut [Member<T>], Shared<'a, T>);

/// A member that is shown rows one by one.
pub struct Shown<'a, 'b, T> {
    member: &'a mut Member<T>,
    shared: &'a Shared<'b, T>,
}

impl<T: Real> Team<T> {
    pub fn new(members: usize, heads: &Singles<T>) -> Result<Self, OutOfMemory> {
        let member = |_| {
            let part = |head: &Head<T>| {
                Ok::<_, OutOfMemory>(Part {
                    u: zeros(head.iterate.len())?,
                    sums: Sums::ZERO,
                    breakpoints: None,
                    proof: None,
                    dual_moments: None,
                })
            };
            Ok::<_, OutOfMemory>(Member {
                parts: all_of(heads.heads.iter().map(part))?,
                moments: None,
                left: 0..0,
            })
        };
        Ok(Self {
            members: all_of((0..members).map(member))?,
            sigma: filled(members as f64, heads.heads.len())?,
        })
    }

    /// Begins a pass over so many blocks, or over rows that members are shown one by one, a portion of a pass maybe.
    pub fn begin(
        &mut self,
        solver: &mut Solver<T>,
        blocks: usize,
        pass: Pass,
    ) -> Result<(), OutOfMemory> {
        let count = self.members.len();
        let learns = match pass {
            Pass::Full => true,
            Pass::Verify { .. } => solver.sets_out(),
            Pass::Active => false,
        };
        for (k, member) in self.members.iter_mut().enumerate() {
            member.left = blocks * k / count..blocks * (k + 1) / count;
            member.moments = match &solver.scales.moments {
                Some(moments) if learns => Some(moments.another()?),
                _ => None,
            };
            let heads = solver
                .singles_mut()
                .into_iter()
                .flat_map(|it| &mut it.heads);
            for (part, head) in member.parts.iter_mut().zip(heads) {
                part.sums = Sums::ZERO;
                match pass {
                    Pass::Verify { .. } => part.proof = head.another_proof()?,
                    _ => part.u.copy_from_slice(head.view().0),
                }
                if let (true, Some(moments)) = (learns, &head.dual_moments) {
                    part.dual_moments = Some(moments.another()?);
                }
                part.breakpoints = head.breakpoints.as_ref().map(|_| Breakpoints::new());
            }
        }
        Ok(())
    }

    /// What a step needs: the members, and what they share.
    pub fn divide<'a>(
        &'a mut self,
        solver: &'a mut Solver<T>,
    ) -> Result<Divided<'a, T>, OutOfMemory> {
        let view = |head: &'a mut Head<T>| head.state.runs().then(|| head.view().1);
        let heads = solver
            .singles_mut()
            .into_iter()
            .flat_map(|it| &mut it.heads);
        let shared = Shared {
            heads: gathered(heads.map(view))?,
            sigma: &self.sigma,
        };
        Ok((&mut self.members, shared))
    }

    /// Blocks that are still to be visited.
    pub fn left(&self) -> usize {
        self.members.iter().map(|member| member.left.len()).sum()
    }

    /// Ends a pass: hands the solver all that the members did.
    pub fn end(&mut self, solver: &mut Solver<T>, pass: Pass) {
        for member in &mut self.members {
            if let (Some(all), Some(some)) = (&mut solver.scales.moments, member.moments.take()) {
                all.add(&some);
            }
        }
        let heads = solver
            .singles_mut()
            .into_iter()
            .flat_map(|it| &mut it.heads);
        for (index, head) in heads.enumerate() {
            if !head.state.runs() {
                continue;
            }
            for member in &mut self.members {
                let part = &mut member.parts[index];
                head.state.sums = head.state.sums.with(part.sums);
                if let (Some(all), Some(some)) = (&mut head.proof, part.proof.take()) {
                    all.join(&some);
                }
                if let (Some(all), Some(some)) = (&mut head.dual_moments, part.dual_moments.take())
                {
                    all.add(&some);
                }
                if let (Some(all), Some(some)) = (&mut head.breakpoints, part.breakpoints.take()) {
                    all.join(&some);
                }
            }
            if !matches!(pass, Pass::Verify { .. }) {
                let copies = self.members.iter().map(|member| &member.parts[index].u[..]);
                let together = head.iterate.merge(copies, self.sigma[index]);
                self.sigma[index] = next_sigma(together, self.members.len());
            }
        }
    }
}

/// The sigma of a pass after one in which `together` would have done.
fn next_sigma(together: f64, members: usize) -> f64 {
    let wanted = 1.0 + RESERVE + GROWTH * (together - 1.0);
    wanted.clamp(1.0, members as f64)
}

impl<T: Real> Member<T> {
    /// Visits blocks with about `budget` values in all.
    #[inline(always)]
    pub fn visit<K: Isa>(
        &mut self,
        shared: &Shared<'_, T>,
        (blocks, pass): (Blocks<'_, impl RowMap>, Pass),
        budget: usize,
    ) {
        let mut values = 0;
        while !self.left.is_empty() && values < budget {
            let end = (self.left.start + BLOCKS_AT_A_TIME).min(self.left.end);
            let some = Blocks {
                numbers: &blocks.numbers[self.left.start..end],
                ..blocks
            };
            values += match pass {
                Pass::Full => self.train::<K, true>(shared, some),
                Pass::Active => self.train::<K, false>(shared, some),
                Pass::Verify { everything } => self.check::<K>(shared, some, everything),
            };
            self.left.start = end;
        }
    }

    #[inline(always)]
    fn train<K: Isa, const FULL: bool>(
        &mut self,
        shared: &Shared<'_, T>,
        blocks: Blocks<'_, impl RowMap>,
    ) -> usize {
        if FULL {
            self.learn(shared, blocks);
        }
        let mut values = 0;
        for ((part, view), sigma) in self.parts.iter_mut().zip(&shared.heads).zip(shared.sigma) {
            if let Some(view) = view {
                let (at, breakpoints) = ((&mut part.u[..], *sigma), part.breakpoints.as_mut());
                values += view.visit_blocks::<K, FULL>(blocks, at, &mut part.sums, breakpoints);
            }
        }
        values
    }

    /// Lets the sums for a metric learn from blocks, in a pass that has any.
    #[inline(always)]
    fn learn(&mut self, shared: &Shared<'_, T>, blocks: Blocks<'_, impl RowMap>) {
        if let Some(moments) = &mut self.moments {
            moments.learn_blocks(blocks);
        }
        for (part, view) in self.parts.iter_mut().zip(&shared.heads) {
            if let (Some(moments), Some(view)) = (&mut part.dual_moments, view) {
                view.learn_blocks(blocks, moments);
            }
        }
    }

    #[inline(always)]
    fn check<K: Isa>(
        &mut self,
        shared: &Shared<'_, T>,
        blocks: Blocks<'_, impl RowMap>,
        everything: bool,
    ) -> usize {
        self.learn(shared, blocks);
        let mut values = 0;
        for place in 0..blocks.numbers.len() {
            let (first, rows) = blocks.rows(place);
            for slot in first..first + rows.count_ones() as usize {
                values += 1;
                let needed = |view: &HeadView<'_, T>| view.alpha[slot].get() > 0.0;
                if everything || shared.heads.iter().flatten().any(needed) {
                    let row = blocks.page.row(slot);
                    values += row.values();
                    self.check_one::<K>(shared, &row);
                }
            }
        }
        values
    }

    #[inline(always)]
    fn check_one<K: Isa>(&mut self, shared: &Shared<'_, T>, row: &Row<'_>) {
        for (part, view) in self.parts.iter_mut().zip(&shared.heads) {
            if let (Some(proof), Some(view)) = (&mut part.proof, view) {
                K::apart(Check {
                    head: view,
                    row,
                    proof,
                });
            }
        }
    }

    /// It, to be shown rows one by one.
    pub fn shown<'a, 'b>(&'a mut self, shared: &'a Shared<'b, T>) -> Shown<'a, 'b, T> {
        Shown {
            member: self,
            shared,
        }
    }
}

impl<T: Real> Shown<'_, '_, T> {
    /// The parts of heads that run, with what they need.
    #[inline(always)]
    fn running(&mut self) -> impl Iterator<Item = (&mut Part<T>, HeadView<'_, T>, f64)> {
        let parts = self.member.parts.iter_mut().zip(&self.shared.heads);
        let parts = parts.zip(self.shared.sigma);
        parts.filter_map(|((part, view), sigma)| view.map(|view| (part, view, *sigma)))
    }

    /// Lets the sums for a metric learn from a row, where there are any.
    #[inline(always)]
    fn learn(&mut self, row: &Row<'_>) {
        if let Some(moments) = &mut self.member.moments {
            moments.learn_one(row);
        }
        for (part, view, _) in self.running() {
            if let Some(moments) = &mut part.dual_moments {
                view.learn(row, moments);
            }
        }
    }
}

/// The work of [`Part::visit`].
struct VisitOne<'a, T, const FULL: bool> {
    part: &'a mut Part<T>,
    view: &'a HeadView<'a, T>,
    sigma: f64,
    row: &'a Row<'a>,
}

impl<T: Real, const FULL: bool> Work for VisitOne<'_, T, FULL> {
    type Output = Outcome;

    #[inline(always)]
    fn run<K: Isa>(self) -> Outcome {
        let Part {
            u,
            sums,
            breakpoints,
            ..
        } = self.part;
        let at = (&mut u[..], self.sigma);
        self.view
            .visit_one::<K, FULL>(self.row, at, sums, breakpoints.as_mut())
    }
}

impl<T: Real> Part<T> {
    #[inline(always)]
    fn visit<K: Isa, const FULL: bool>(
        &mut self,
        view: HeadView<'_, T>,
        sigma: f64,
        row: &Row<'_>,
    ) -> Outcome {
        K::apart(VisitOne::<T, FULL> {
            part: self,
            view: &view,
            sigma,
            row,
        })
    }

    /// Between full passes.
    #[inline(always)]
    fn visit_active<K: Isa>(
        &mut self,
        view: HeadView<'_, T>,
        sigma: f64,
        row: &Row<'_>,
    ) -> Outcome {
        match view.shrunk.get(row.ordinal()) {
            true => Outcome::NONE,
            false => self.visit::<K, false>(view, sigma, row),
        }
    }
}

impl<T: Real> TakesRows for Shown<'_, '_, T> {
    #[inline(always)]
    fn visit_full<K: Isa>(&mut self, row: &Row<'_>, margin: f64) -> bool {
        self.learn(row);
        let mut keep = false;
        for (part, view, sigma) in self.running() {
            keep |= part.visit::<K, true>(view, sigma, row).matters(margin);
        }
        keep
    }

    #[inline(always)]
    fn visit_active<K: Isa>(&mut self, row: &Row<'_>, margin: f64) -> bool {
        let mut keep = false;
        for (part, view, sigma) in self.running() {
            keep |= part.visit_active::<K>(view, sigma, row).matters(margin);
        }
        keep
    }

    #[inline(always)]
    fn visit_graded<K: Isa>(&mut self, row: &Row<'_>, margins: &[f64]) -> usize {
        let mut grade = margins.len();
        for (part, view, sigma) in self.running() {
            view.shrunk.set(row.ordinal(), false);
            let outcome = part.visit::<K, false>(view, sigma, row);
            grade = grade.min(margins.partition_point(|margin| !outcome.matters(*margin)));
        }
        grade
    }

    #[inline(always)]
    fn measure<K: Isa>(&mut self, row: &Row<'_>) {
        for (part, view, sigma) in self.running() {
            by_loss!(view.terms.loss, loss => {
                let breakpoints = part.breakpoints.as_mut();
                let mut visitor = view.visitor(loss, &mut part.u[..], sigma, part.sums, breakpoints);
                visitor.measure::<K>(row);
                part.sums = visitor.sums;
            });
        }
    }

    #[inline(always)]
    fn check<K: Isa>(&mut self, row: &Row<'_>) {
        self.learn(row);
        self.member.check_one::<K>(self.shared, row);
    }

    #[inline(always)]
    fn shrunk(&self, ordinal: usize) -> bool {
        let mut heads = self.shared.heads.iter().flatten();
        heads.all(|view| view.shrunk.get(ordinal))
    }

    #[inline(always)]
    fn scattered(&self) -> bool {
        let mut parts = self.member.parts.iter();
        parts.any(|part| scattered(&part.u))
    }

    #[inline(always)]
    fn ask<const FULL: bool>(&mut self, row: &Row<'_>) {
        for (part, view, _) in self.running() {
            view.ask::<FULL>(row.sparse(), &part.u);
        }
    }
}
