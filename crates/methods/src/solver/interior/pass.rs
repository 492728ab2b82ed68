//! A pass of an interior point over rows that somebody else holds: what it is to sum up, and the sums over a part of the rows. Both
//! travel as bytes.

use serde::{Deserialize, Serialize};

use crate::base::memory::{copied, filled, list, OutOfMemory, Room};
use crate::base::zeros::zeros;
use crate::linalg::gram::{finished, Gram, MOST_SENT};
use crate::objective::central_path::{RowPoint, RowStep, RowTerms, MIDDLE};
use crate::objective::loss::by_loss;
use crate::objective::minimized::Objective;
use crate::rows::row::Row;
use crate::simd::{Isa, Level};
use crate::solver::fixed_weights::{add, add_row, added, Numbers};
use crate::solver::sums::tally::Tally;

/// Corrections would need what each row keeps from one pass to the next.
const UNCORRECTED: [f64; 2] = [0.0; 2];

/// What a pass is to sum up.
#[derive(Serialize, Deserialize)]
pub struct InteriorPass {
    pub(super) objective: Objective,
    pub(super) begin: Begin,
    /// Where it begins near weights that are known.
    pub(super) near: Option<Near>,
    /// w at the beginning.
    pub(super) w: Numbers,
    #[serde(deserialize_with = "list")]
    pub(super) steps: Vec<Taken>,
    pub(super) task: Task,
}

/// Where the variables of a row begin.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Begin {
    /// What a is multiplied by, of negative rows and of positive ones.
    pub(super) shares: [f64; 2],
    /// xi and lambda of a row of this weight, the mean of all.
    pub(super) slack: f64,
    pub(super) mean_weight: f64,
}

/// Weights near which it begins: a, xi and lambda are to their margins what they are to those of a point whose products are all mu.
#[derive(Serialize, Deserialize)]
pub(super) struct Near {
    /// The intercept last.
    pub(super) w: Numbers,
    pub(super) mu: f64,
}

/// A step that was taken.
#[derive(Serialize, Deserialize)]
pub(super) struct Taken {
    pub(super) u: Numbers,
    /// d nu
    pub(super) shift: f64,
    pub(super) mu: f64,
    pub(super) length: f64,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Task {
    /// What the weights lose near which it begins, and what none would.
    Losses,
    /// What rows of either side come to.
    Sides,
    /// |g|
    Slopes,
    /// The point, and the system of the next step.
    Evaluate,
    /// How far the step goes, for each of these mu.
    Try {
        direction: Direction,
        #[serde(deserialize_with = "list")]
        mus: Vec<f64>,
    },
}

/// u and d nu, each as what it is for mu = 0 and what mu adds.
#[derive(Serialize, Deserialize)]
pub(super) struct Direction {
    pub(super) u: [Numbers; 2],
    pub(super) shift: [f64; 2],
}

/// Sums over a part of the rows.
#[derive(Serialize, Deserialize)]
pub enum InteriorSums {
    /// Both, and rows.
    Losses([f64; 2], u64),
    Sides(Box<[Side; 2]>),
    /// The sum, and rows.
    Slopes(f64, u64),
    Evaluated(Box<Evaluated>),
    Tried(Tried),
}

/// Rows of one side.
#[derive(Serialize, Deserialize)]
pub struct Side {
    /// Sum of a y h, and of a, p a and 1/2 d a^2.
    pub(super) v: Numbers,
    pub(super) duals: f64,
    pub(super) linear: f64,
    pub(super) bent: f64,
    pub(super) rows: u64,
}

/// The point, and the system of the next step.
#[derive(Serialize, Deserialize)]
pub struct Evaluated {
    pub(super) sides: [Side; 2],
    /// M
    #[serde(with = "finished")]
    pub(super) gram: Option<Gram>,
    /// Sums of y z h / D, for mu = 0 and for what mu adds, and of h / D.
    pub(super) right: [Numbers; 3],
    /// Sums of y z / D likewise, and of 1 / D.
    pub(super) balance: [f64; 3],
    pub(super) eta: f64,
    pub(super) tally: Tally,
}

/// How far the step goes.
#[derive(Serialize, Deserialize)]
pub struct Tried {
    /// By mu, the least length at which a variable is 0.
    #[serde(deserialize_with = "list")]
    pub(super) least: Vec<f64>,
    /// By mu, the sum of d a (d xi - d lambda): what of eta goes with the square of the length.
    #[serde(deserialize_with = "list")]
    pub(super) curves: Vec<f64>,
}

/// Where a row is.
struct Point {
    y: f64,
    row: RowPoint,
    /// <w, h>
    score: f64,
    nu: f64,
}

impl Point {
    #[inline(always)]
    fn margin(&self) -> f64 {
        self.y * (self.score + self.nu)
    }

    /// z for mu = 0, and what mu adds.
    #[inline(always)]
    fn z(&self) -> [f64; 2] {
        let slope = self.row.slope(self.margin());
        [-slope, self.row.pull(1.0, UNCORRECTED)]
    }

    /// The step of a row with this <u, h>.
    #[inline(always)]
    fn step(&self, u: f64, shift: f64, mu: f64) -> RowStep {
        let [z, more] = self.z();
        let along = self.row.inverse() * (z + mu * more - self.y * (shift + u));
        self.row.step(along, mu, UNCORRECTED)
    }

    #[inline(always)]
    fn go(&mut self, u: f64, step: &Taken) {
        let own = self.step(u, step.shift, step.mu);
        self.row = self.row.after(&own, step.length);
        self.score += step.length * u;
        self.nu += step.length * step.shift;
    }
}

impl Side {
    fn new(length: usize) -> Result<Self, OutOfMemory> {
        Ok(Self {
            v: Numbers(zeros(length)?),
            duals: 0.0,
            linear: 0.0,
            bent: 0.0,
            rows: 0,
        })
    }

    #[inline(always)]
    fn take<K: Isa>(
        &mut self,
        (row, constant): (&Row<'_>, f64),
        y: f64,
        (terms, a): (&RowTerms, f64),
    ) {
        add_row::<K>(&mut self.v.0, y * a, row, constant);
        let [linear, bent] = terms.of_dual(a);
        self.duals += a;
        self.linear += linear;
        self.bent += bent;
        self.rows += 1;
    }

    fn join(&mut self, more: &Self) {
        add(&mut self.v.0, &more.v.0);
        self.duals += more.duals;
        self.linear += more.linear;
        self.bent += more.bent;
        self.rows = self.rows.saturating_add(more.rows);
    }
}

impl InteriorPass {
    /// Whether it fits rows with so many features and groups: what came from elsewhere may not.
    pub fn fits(&self, features: usize, groups: usize) -> bool {
        let fits = |numbers: &Numbers| numbers.0.len() == features + 1;
        let tries = match &self.task {
            Task::Try { direction, .. } => direction.u.iter().all(fits),
            Task::Evaluate => features < MOST_SENT,
            Task::Losses | Task::Sides | Task::Slopes => true,
        };
        let near = self.near.as_ref().is_none_or(|near| fits(&near.w));
        let steps = self.steps.iter().all(|step| fits(&step.u));
        tries && steps && near && fits(&self.w) && self.objective.signs.len() >= groups
    }

    /// Sums over no rows as yet.
    pub fn begin(&self) -> Result<InteriorSums, OutOfMemory> {
        let length = self.w.0.len();
        let sides = || Ok::<_, OutOfMemory>([Side::new(length)?, Side::new(length)?]);
        let numbers = || zeros(length).map(Numbers);
        Ok(match &self.task {
            Task::Sides => InteriorSums::Sides(Box::new(sides()?)),
            Task::Losses => InteriorSums::Losses([0.0; 2], 0),
            Task::Slopes => InteriorSums::Slopes(0.0, 0),
            Task::Evaluate => InteriorSums::Evaluated(Box::new(Evaluated {
                sides: sides()?,
                gram: Some(Gram::new(length)?),
                right: [numbers()?, numbers()?, numbers()?],
                balance: [0.0; 3],
                eta: 0.0,
                tally: Tally::EMPTY,
            })),
            Task::Try { mus, .. } => InteriorSums::Tried(Tried {
                least: filled(f64::INFINITY, mus.len())?,
                curves: filled(0.0, mus.len())?,
            }),
        })
    }

    /// Adds a row.
    #[inline(always)]
    pub fn visit<K: Isa>(&self, all: &mut InteriorSums, row: &Row<'_>) {
        let (y, cost) = self.objective.side(row);
        let loss = self.objective.loss;
        let at_zero = y * row.offset();
        let terms = RowTerms::of(loss, self.objective.c * cost).with_offset(at_zero);
        if y == 0.0 || terms.weight <= 0.0 {
            return;
        }
        let constant = self.objective.intercept;
        match (&self.task, all) {
            (Task::Losses, InteriorSums::Losses(sums, rows)) => {
                sums[0] += terms.weight * loss.value(self.margin_near::<K>(row, y));
                sums[1] += terms.weight * loss.value(at_zero);
                *rows += 1;
            }
            (Task::Sides, InteriorSums::Sides(sides)) => {
                let a = self.first::<K>(row, y, &terms);
                sides[usize::from(y > 0.0)].take::<K>((row, constant), y, (&terms, a));
            }
            (Task::Slopes, InteriorSums::Slopes(sum, rows)) => {
                let a = self.begin.shares[usize::from(y > 0.0)] * self.first::<K>(row, y, &terms);
                let margin = y * self.objective.score::<K>(row, &self.w.0);
                *sum += terms.slope(a, margin).abs();
                *rows += 1;
            }
            (Task::Evaluate, InteriorSums::Evaluated(sums)) => {
                let point = self.point::<K>(row, y, terms);
                by_loss!(loss, loss => {
                    let at = (point.y, cost, point.score + point.nu);
                    sums.tally.add_at_start(loss, at, None);
                });
                sums.take::<K>((row, constant), &point);
            }
            (Task::Try { direction, mus }, InteriorSums::Tried(sums)) => {
                let point = self.point::<K>(row, y, terms);
                let [u, more] = &direction.u;
                let u = self.objective.along::<K>(row, &u.0);
                let more = self.objective.along::<K>(row, &more.0);
                sums.take(&point, ([u, more], direction.shift), mus);
            }
            _ => {}
        }
    }

    /// The margin at the weights near which it begins.
    #[inline(always)]
    fn margin_near<K: Isa>(&self, row: &Row<'_>, y: f64) -> f64 {
        let at_zero = y * row.offset();
        self.near.as_ref().map_or(at_zero, |near| {
            y * (self.objective.score::<K>(row, &near.w.0) + self.nu_near(near))
        })
    }

    /// nu of these weights: their intercept, where that is not the weight of a constant.
    fn nu_near(&self, near: &Near) -> f64 {
        match self.objective.free {
            true => near.last(),
            false => 0.0,
        }
    }

    /// a of a row at the beginning, but for its side's share.
    #[inline(always)]
    fn first<K: Isa>(&self, row: &Row<'_>, y: f64, terms: &RowTerms) -> f64 {
        match &self.near {
            None => MIDDLE * terms.weight,
            Some(near) => terms.central(self.margin_near::<K>(row, y), near.mu),
        }
    }

    /// Where the steps so far have brought a row.
    #[inline(always)]
    fn point<K: Isa>(&self, row: &Row<'_>, y: f64, terms: RowTerms) -> Point {
        let a = self.begin.shares[usize::from(y > 0.0)] * self.first::<K>(row, y, &terms);
        let mut point = Point {
            y,
            row: match &self.near {
                None => RowPoint::with_slack(terms, a, (self.begin.slack, self.begin.mean_weight)),
                Some(near) => RowPoint::on_path(terms, a, near.mu),
            },
            score: self.objective.score::<K>(row, &self.w.0),
            nu: self.near.as_ref().map_or(0.0, |near| self.nu_near(near)),
        };
        for step in &self.steps {
            point.go(self.objective.along::<K>(row, &step.u.0), step);
        }
        point
    }
}

impl Evaluated {
    #[inline(always)]
    fn take<K: Isa>(&mut self, (row, constant): (&Row<'_>, f64), at: &Point) {
        let (inverse, [z, more]) = (at.row.inverse(), at.z());
        let terms = &at.row.terms;
        self.eta += at.row.gap();
        // of a and xi, whose product shrinks, the one that stays
        let [at_0, _] = at.row.is_at_ends(terms.weight);
        self.tally.support += u64::from(!at_0);
        self.sides[usize::from(at.y > 0.0)].take::<K>((row, constant), at.y, (terms, at.row.a));
        let by = [at.y * inverse * z, at.y * inverse * more, inverse];
        for ((sum, balance), by) in self.right.iter_mut().zip(&mut self.balance).zip(by) {
            add_row::<K>(&mut sum.0, by, row, constant);
            *balance += by;
        }
        if let Some(gram) = &mut self.gram {
            gram.add::<K>(added(row, inverse, constant));
        }
    }

    fn join(&mut self, more: &Self) {
        for (own, more) in self.sides.iter_mut().zip(&more.sides) {
            own.join(more);
        }
        if let (Some(own), Some(more)) = (&mut self.gram, &more.gram) {
            own.join(more);
        }
        for (own, more) in self.right.iter_mut().zip(&more.right) {
            add(&mut own.0, &more.0);
        }
        add(&mut self.balance, &more.balance);
        self.eta += more.eta;
        self.tally = self.tally.with(more.tally);
    }
}

impl Tried {
    #[inline(always)]
    fn take(
        &mut self,
        at: &Point,
        ([u, u_more], [shift, more]): ([f64; 2], [f64; 2]),
        mus: &[f64],
    ) {
        let each = self.least.iter_mut().zip(&mut self.curves).zip(mus);
        for ((least, curve), mu) in each {
            let step = at.step(u + mu * u_more, shift + mu * more, *mu);
            *least = least.min(at.row.room(&step));
            *curve += step.curve();
        }
    }

    fn join(&mut self, more: &Self) {
        for (own, more) in self.least.iter_mut().zip(&more.least) {
            *own = own.min(*more);
        }
        add(&mut self.curves, &more.curves);
    }
}

impl InteriorSums {
    /// Takes the products of what is packed: before they travel or are joined.
    pub fn finish(&mut self, level: Level) {
        if let Self::Evaluated(sums) = self {
            if let Some(gram) = &mut sums.gram {
                gram.finish(level);
            }
        }
    }

    /// Whether its parts fit one another; those of bytes that came from elsewhere may not.
    pub fn are_sound(&self) -> bool {
        let alike = |sides: &[Side; 2]| {
            let [one, other] = sides.each_ref().map(|side| side.v.0.len());
            one > 0 && one == other
        };
        match self {
            Self::Sides(sides) => alike(sides),
            Self::Losses(..) | Self::Slopes(..) => true,
            Self::Evaluated(sums) => {
                let length = sums.sides[0].v.0.len();
                alike(&sums.sides)
                    && sums.right.iter().all(|it| it.0.len() == length)
                    && sums.gram.as_ref().is_some_and(|it| it.length() == length)
            }
            Self::Tried(sums) => sums.least.len() == sums.curves.len(),
        }
    }

    /// Whether others are for the same pass.
    pub fn fits(&self, more: &Self) -> bool {
        match (self, more) {
            (Self::Sides(own), Self::Sides(more)) => own[0].v.0.len() == more[0].v.0.len(),
            (Self::Losses(..), Self::Losses(..)) | (Self::Slopes(..), Self::Slopes(..)) => true,
            (Self::Evaluated(own), Self::Evaluated(more)) => {
                own.sides[0].v.0.len() == more.sides[0].v.0.len()
            }
            (Self::Tried(own), Self::Tried(more)) => own.least.len() == more.least.len(),
            _ => false,
        }
    }

    /// Adds those over other rows, for the same pass; both have been finished. False where they are for another one.
    pub fn join(&mut self, more: &Self) -> bool {
        match (self, more) {
            (Self::Sides(own), Self::Sides(more)) => {
                for (own, more) in own.iter_mut().zip(more.iter()) {
                    own.join(more);
                }
            }
            (Self::Losses(sums, rows), Self::Losses(more, more_rows)) => {
                add(sums, more);
                *rows = rows.saturating_add(*more_rows);
            }
            (Self::Slopes(sum, rows), Self::Slopes(more, more_rows)) => {
                *sum += more;
                *rows = rows.saturating_add(*more_rows);
            }
            (Self::Evaluated(own), Self::Evaluated(more)) => own.join(more),
            (Self::Tried(own), Self::Tried(more)) => own.join(more),
            _ => return false,
        }
        true
    }
}

impl Near {
    /// The last weight.
    pub(super) fn last(&self) -> f64 {
        self.w.0.last().copied().unwrap_or(0.0)
    }

    /// The same once more.
    pub(super) fn copied(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            w: Numbers::of(&self.w.0)?,
            mu: self.mu,
        })
    }
}

impl Taken {
    /// The same once more.
    pub(super) fn copied(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            u: Numbers::of(&self.u.0)?,
            ..*self
        })
    }
}

/// Steps once more.
pub(super) fn copied_steps(steps: &[Taken]) -> Result<Vec<Taken>, OutOfMemory> {
    let mut all = Vec::new();
    all.room(steps.len())?;
    for step in steps {
        all.push(step.copied()?);
    }
    Ok(all)
}

impl Direction {
    /// The same once more.
    pub(super) fn copied(&self) -> Result<Self, OutOfMemory> {
        let [u, more] = &self.u;
        Ok(Self {
            u: [Numbers(copied(&u.0)?), Numbers(copied(&more.0)?)],
            shift: self.shift,
        })
    }
}
