//! A pass of Newton's method as two messages: what it is to sum up ([`HeadPass`]), and the sums over the rows or a part of them
//! ([`HeadSums`]), which join those over other parts. So it serves any holder of rows.
//!
//! The method also wants the rows that were within the margin in the pass before. Where dual variables of the rows are kept, these say
//! which they were ([`HeadPass::visit_kept`]). Where nothing is kept of a row ([`HeadPass::visit`]), it follows from the weights of that
//! pass, which the message has.

use serde::{Deserialize, Serialize};

use crate::base::memory::OutOfMemory;
use crate::base::zeros::zeros;
use crate::linalg::gram::{Gram, MOST_SENT};
use crate::linalg::lower::Lower;
use crate::objective::loss::NO_LOSS_FROM;
use crate::objective::minimized::Objective;
use crate::rows::row::Row;
use crate::simd::{Isa, Level};
use crate::solver::fixed_weights::{add, Numbers};
use crate::solver::newton::head::{Newton, Next};
use crate::solver::newton::line::Line;
use crate::solver::newton::near::Nearness;
use crate::solver::newton::pace::picks;
use crate::solver::newton::sums::{add_product, add_to_line, Order, Places, Seen, Sums};
use crate::solver::sums::tally::Tally;
use crate::solver::visit::outliers::Sorted;

/// What a pass is to sum up for a head.
#[derive(Serialize, Deserialize)]
pub struct HeadPass {
    objective: Objective,
    /// The weights at which rows are looked at, the intercept last.
    w: Numbers,
    /// How far the offsets of a row's two sides are apart, where these lie behind one another.
    between: Option<f64>,
    task: Task,
}

#[derive(Serialize, Deserialize)]
enum Task {
    /// Primal, gradient and dual, and where `hessian` says so that too.
    Evaluate { hessian: Option<Hessian> },
    /// The product of the Hessian of the rows within the margin and this direction.
    Product { direction: Numbers },
    /// Where on the way from `best` by `step` the primal is lowest.
    Line { best: Numbers, step: Numbers },
}

/// What of the Hessian is summed up.
#[derive(Serialize, Deserialize)]
struct Hessian {
    /// Whether as a matrix, and of one block of rows in so many.
    matrix: bool,
    share: u32,
    /// Whether squares of columns are.
    squares: bool,
    /// The best weights, where rows are looked at there: see [`Places`].
    best: Option<Numbers>,
    again: bool,
    /// Those of the pass before.
    before: Option<Numbers>,
    /// Which rows are brought along; then only rows within the margin are in the matrix, and none of these.
    near: Option<Nearness>,
}

/// Sums over a part of the rows, for one of those.
#[derive(Serialize, Deserialize)]
pub struct HeadSums(Kind);

#[derive(Serialize, Deserialize)]
enum Kind {
    Evaluated(Box<Sums>),
    Product(Numbers),
    Line(Line),
}

impl HeadPass {
    /// One that looks at the rows at these weights, and no more.
    pub(in crate::solver) fn looking(
        objective: &Objective,
        w: &[f64],
    ) -> Result<Self, OutOfMemory> {
        Ok(Self {
            objective: objective.copied()?,
            w: Numbers::of(w)?,
            between: None,
            task: Task::Evaluate { hessian: None },
        })
    }

    /// The weights at which it looks at rows, where it evaluates.
    pub fn evaluated(self) -> Option<Vec<f64>> {
        self.evaluates().then_some(self.w.0)
    }

    /// Whether it fits rows with so many features and groups: what came from elsewhere may not.
    pub fn fits(&self, features: usize, groups: usize) -> bool {
        let fits = |weights: &Numbers| weights.0.len() == features + 1;
        let all_fit = match &self.task {
            Task::Evaluate { hessian: None } => true,
            Task::Evaluate { hessian: Some(it) } => {
                let near = it.near.as_ref();
                let weights = it.best.iter().chain(&it.before);
                let all_near = near.is_none_or(|it| it.dense as usize <= features);
                weights.chain(near.map(|near| &near.u)).all(fits)
                    && all_near
                    && it.share > 0
                    && (!it.matrix || features < MOST_SENT)
            }
            Task::Product { direction } => fits(direction),
            Task::Line { best, step } => fits(best) && fits(step),
        };
        all_fit && fits(&self.w) && self.objective.signs.len() >= groups
    }

    /// Sums over no rows as yet.
    pub fn begin(&self) -> Result<HeadSums, OutOfMemory> {
        self.begin_in(&mut None)
    }

    /// The same in the room of this matrix, where one is to be summed up and that is there.
    fn begin_in(&self, room: &mut Option<Gram>) -> Result<HeadSums, OutOfMemory> {
        let length = self.w.0.len();
        Ok(HeadSums(match &self.task {
            Task::Evaluate { hessian } => {
                let hessian = hessian.as_ref();
                let mut sums = Sums::new(length, false)?;
                if hessian.is_some_and(|it| it.matrix) {
                    sums.gram = Some(match room.take() {
                        Some(mut gram) => {
                            gram.clear();
                            gram
                        }
                        None => Gram::new(length)?,
                    });
                }
                if hessian.is_some_and(|it| it.squares) {
                    sums.squares = Some(zeros(length)?);
                }
                let near = hessian.and_then(|it| it.near.as_ref());
                sums.near = near.map(|near| near.begin(self.objective.intercept));
                Kind::Evaluated(Box::new(sums))
            }
            Task::Product { .. } => Kind::Product(Numbers(zeros(length)?)),
            Task::Line { .. } => Kind::Line(Line::new()?),
        }))
    }

    /// Adds a row, of the block with this number, whose dual variable is kept from pass to pass, with the sign of the row; what was found
    /// of it, where it was looked at.
    #[inline(always)]
    pub fn visit_kept<K: Isa>(
        &self,
        all: &mut HeadSums,
        (row, block): (&Row<'_>, u32),
        dual: f32,
    ) -> Option<Seen> {
        let objective = &self.objective;
        match (&self.task, &mut all.0) {
            (Task::Evaluate { hessian }, Kind::Evaluated(sums)) => {
                let (at, order) = self.places(hessian.as_ref(), block);
                return Some(sums.visit::<K>(objective, at, row, (order, dual != 0.0)));
            }
            (Task::Product { direction }, Kind::Product(sum)) if dual != 0.0 => {
                add_product::<K>(objective, (&direction.0, &mut sum.0), row);
            }
            (Task::Line { best, step }, Kind::Line(line)) => {
                add_to_line::<K>(line, objective, (&best.0, &step.0), row);
            }
            _ => {}
        }
        None
    }

    /// How far the offsets of a row's two sides are apart, where rows are visited on both at once.
    pub(in crate::solver) fn between_sides(&self) -> Option<f64> {
        self.between.filter(|_| self.evaluates())
    }

    /// The same as [`Self::visit_kept`] of both sides of a row, which are so far apart; the row is read at the first.
    #[inline(always)]
    pub(in crate::solver) fn visit_kept_sides<K: Isa>(
        &self,
        all: &mut HeadSums,
        (row, between): (&Row<'_>, f64),
        block: u32,
        duals: [f32; 2],
    ) -> Option<[Seen; 2]> {
        let (Task::Evaluate { hessian }, Kind::Evaluated(sums)) = (&self.task, &mut all.0) else {
            return None;
        };
        let (at, order) = self.places(hessian.as_ref(), block);
        let before = [duals[0] != 0.0, duals[1] != 0.0];
        Some(sums.visit_sides::<K>(&self.objective, at, (row, between), (order, before)))
    }

    /// Whether it takes the margins of rows.
    pub(in crate::solver) fn evaluates(&self) -> bool {
        matches!(self.task, Task::Evaluate { .. })
    }

    pub(in crate::solver) fn is_line(&self) -> bool {
        matches!(self.task, Task::Line { .. })
    }

    /// Whether rows without dual variables need not be fetched.
    #[inline(always)]
    pub fn is_product(&self) -> bool {
        matches!(self.task, Task::Product { .. })
    }

    /// Adds a row, of the block with this number, of which nothing is kept, to sums that this pass began.
    #[inline(always)]
    pub fn visit<K: Isa>(&self, all: &mut HeadSums, row: &Row<'_>, block: u32) {
        let objective = &self.objective;
        match (&self.task, &mut all.0) {
            (
                Task::Evaluate {
                    hessian:
                        Some(Hessian {
                            near: Some(near), ..
                        }),
                },
                Kind::Evaluated(sums),
            ) => sums.visit_or_bring::<K>(objective, (&self.w.0, near), row),
            (Task::Evaluate { hessian }, Kind::Evaluated(sums)) => {
                let (at, order) = self.places(hessian.as_ref(), block);
                let before = hessian.as_ref().and_then(|it| it.before.as_ref());
                let before = before.is_some_and(|w| objective.is_within::<K>(row, &w.0));
                sums.visit::<K>(objective, at, row, (order, before));
            }
            (Task::Product { direction }, Kind::Product(sum))
                if objective.is_within::<K>(row, &self.w.0) =>
            {
                add_product::<K>(objective, (&direction.0, &mut sum.0), row);
            }
            (Task::Line { best, step }, Kind::Line(line)) => {
                add_to_line::<K>(line, objective, (&best.0, &step.0), row);
            }
            _ => {}
        }
    }

    /// Where rows of this block are looked at, and what they have summed up.
    #[inline(always)]
    fn places<'a>(&'a self, hessian: Option<&'a Hessian>, block: u32) -> (Places<'a>, Order) {
        let at = Places {
            w: &self.w.0,
            best: hessian.and_then(|it| it.best.as_ref()).map(|it| &it.0[..]),
            again: hessian.is_some_and(|it| it.again),
        };
        let picked = hessian.is_some_and(|it| it.matrix && picks(block, it.share));
        let order = if picked { Order::Second } else { Order::First };
        (at, order)
    }
}

/// Where a pass looks at rows: a row without a loss at the weights of a pass, or an outlier, adds to none of its sums but counts. It is looked
/// at elsewhere too where a step has led to a larger primal: then rows within the margin at the best weights are in the Hessian. On the way
/// from the best weights to the last ones a row that has no loss at either end has none, and one that is an outlier at the best ones is
/// left out. Products are of rows with dual variables alone.
pub struct Looks<'a> {
    /// Weights at which it takes the margins of rows, and others at which it looks at those that had no dual variables in the pass before.
    pub(in crate::solver) at: (Option<&'a [f64]>, [Option<&'a [f64]>; 2]),
    /// The margins from where a row has no loss, and up to where it is an outlier.
    pub(in crate::solver) kinks: [Option<f64>; 2],
    /// The constant behind a row's features.
    pub(in crate::solver) constant: f64,
}

impl HeadPass {
    pub(in crate::solver) fn looks(&self) -> Looks<'_> {
        let (w, out) = (&self.w.0[..], NO_LOSS_FROM - self.objective.most_within);
        Looks {
            at: match &self.task {
                Task::Evaluate { hessian } => {
                    let again = hessian.as_ref().filter(|it| it.again);
                    let best = again.and_then(|it| it.best.as_ref());
                    (Some(w), [best.map(|it| &it.0[..]), None])
                }
                Task::Line { best, .. } => (None, [Some(w), Some(&best.0)]),
                Task::Product { .. } => (None, [None, None]),
            },
            kinks: [Some(NO_LOSS_FROM), out.is_finite().then_some(out)],
            constant: self.objective.intercept,
        }
    }
}

impl HeadSums {
    /// So many rows were known without a look, so many of them on the right side, and these outliers among them.
    pub(in crate::solver) fn add_unseen(&mut self, (rows, correct): (u64, u64), sorted: Sorted) {
        if let Kind::Evaluated(sums) = &mut self.0 {
            sums.tally.rows += rows;
            sums.tally.correct += correct;
            // what they cost is a constant, whatever their sign
            let [side, _] = &mut sums.sides;
            side.outliers += sorted.outliers;
            side.outside += sorted.cost;
        }
    }

    /// The sum of c max(0, 1 - m)^2, and the tally, of a pass that has looked at rows.
    pub(in crate::solver) fn squares(&self) -> Option<(f64, Tally)> {
        match &self.0 {
            Kind::Evaluated(sums) => {
                Some((sums.sides.iter().map(|side| side.loss).sum(), sums.tally))
            }
            Kind::Product(_) | Kind::Line(_) => None,
        }
    }

    /// Takes the products of what is packed: before they travel or are joined.
    pub fn finish(&mut self, level: Level) {
        if let Kind::Evaluated(sums) = &mut self.0 {
            if let Some(gram) = &mut sums.gram {
                gram.finish(level);
            }
        }
    }

    /// Whether its parts fit one another, and rows are of groups below that one; those of bytes that came from elsewhere may not.
    pub fn are_sound(&self, groups: usize) -> bool {
        match &self.0 {
            Kind::Evaluated(sums) => sums.are_sound(groups),
            Kind::Product(sum) => !sum.0.is_empty(),
            Kind::Line(line) => line.is_sound(),
        }
    }

    /// Whether others are for the same pass.
    pub fn fits(&self, more: &Self) -> bool {
        match (&self.0, &more.0) {
            (Kind::Evaluated(own), Kind::Evaluated(more)) => own.fits(more),
            (Kind::Product(own), Kind::Product(more)) => own.0.len() == more.0.len(),
            (Kind::Line(_), Kind::Line(_)) => true,
            _ => false,
        }
    }

    /// Adds those over other rows, for the same pass; both have been finished. False where they are for another one.
    pub fn join(&mut self, more: &Self) -> bool {
        match (&mut self.0, &more.0) {
            (Kind::Evaluated(own), Kind::Evaluated(more)) => own.join(more, true),
            (Kind::Product(own), Kind::Product(more)) => add(&mut own.0, &more.0),
            (Kind::Line(own), Kind::Line(more)) => own.join(more),
            _ => return false,
        }
        // rows that gave way to others are packed
        self.finish(Level::best());
        true
    }
}

impl Newton {
    /// What the pass that comes is to sum up. `before`: the weights at which the last one evaluated rows.
    pub fn pass(&self, next: Next, before: Option<&[f64]>) -> Result<HeadPass, OutOfMemory> {
        let task = match next {
            Next::Product => Task::Product {
                direction: Numbers::of(&self.sums.beyond)?,
            },
            Next::Line => Task::Line {
                best: Numbers::of(&self.best)?,
                step: Numbers::of(&self.step)?,
            },
            _ => Task::Evaluate {
                hessian: self.hessian(before)?,
            },
        };
        Ok(HeadPass {
            objective: self.objective.copied()?,
            w: Numbers::of(&self.w)?,
            between: self.pace.between(),
            task,
        })
    }

    fn hessian(&self, before: Option<&[f64]>) -> Result<Option<Hessian>, OutOfMemory> {
        if !self.gathers {
            return Ok(None);
        }
        let matrix = self.conjugate.is_none();
        let near = match matrix && self.pace.share == 1 {
            true => self.nearness()?,
            false => None,
        };
        let looks_back = self.looks_back() && near.is_none();
        Ok(Some(Hessian {
            matrix,
            share: self.pace.share,
            squares: self.pace.share > 1 || self.conjugate.is_some(),
            best: looks_back.then(|| Numbers::of(&self.best)).transpose()?,
            again: self.rises > 0,
            before: before
                .filter(|_| matrix && near.is_none())
                .map(Numbers::of)
                .transpose()?,
            near,
        }))
    }

    /// Sums over no rows as yet for this pass, in the room of the last one's.
    pub fn begin_sums(&mut self, pass: &HeadPass) -> Result<HeadSums, OutOfMemory> {
        pass.begin_in(&mut self.sums.gram)
    }

    /// Takes what the pass has summed up over all rows, of which so many were known without a look; [`Newton::end`] comes next.
    pub fn take(&mut self, all: HeadSums, unseen: u64) {
        self.unseen = unseen;
        match all.0 {
            Kind::Evaluated(mut sums) => {
                sums.gram = match (self.sums.gram.take(), sums.gram.take()) {
                    (Some(mut own), Some(mut found)) => {
                        own.begin_with(std::mem::replace(found.sums_mut(), Lower::NONE));
                        Some(own)
                    }
                    (own, found) => own.or(found),
                };
                self.sums = *sums;
            }
            Kind::Product(product) => self.sums.sides[0].v = product.0,
            Kind::Line(line) => self.line = Some(line),
        }
    }
}
