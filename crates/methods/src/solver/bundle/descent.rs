//! The problem of all that is known, by coordinate descent: where features are too many for a matrix.
//!
//! Passes over the rows that are held, in the subproblem with kappa/2 |w - z|^2 added, and after each the planes. z
//! moves to the weights found. kappa follows the mean of a |x|^2, as in [`crate::solver::proximal::rule`], by a rule that is simpler: what is
//! solved here is small beside a pass over all rows.

use crate::base::interrupts;
use crate::base::memory::{copied, OutOfMemory, Room};
use crate::base::random::{Random, Stream};
use crate::base::zeros::zeros;
use crate::objective::loss::LossFunction;
use crate::objective::losses::hinge::Hinge;
use crate::objective::minimized::score;
use crate::simd::{Isa, Level, Work};
use crate::solver::bundle::known::{Known, Solved, ROWS};
use crate::solver::fixed_weights::{add_row, product};

/// Passes over the rows that are held, for one solution; and between two looks at how far it is.
const MOST_PASSES: u32 = 400;
const PASSES_A_LOOK: u32 = 4;
/// Planes are solved to this part of the gap that is wanted.
const PLANES_PART: f64 = 0.1;
/// Least ratio of the mean of a |x|^2 to kappa + 1, and the same where rows are few, divided by the root of rows a feature.
const FLOOR: f64 = 0.5;
const FLOOR_OF_FEW: f64 = 4.0;

/// A solution under way.
pub(super) struct Descent {
    /// Numbers of the rows in the order of the next pass.
    order: Vec<u32>,
    /// sum a y x of the rows.
    near: Vec<f64>,
    kappa: f64,
    /// kappa is at least so many times smaller than the mean of a |x|^2.
    floor: f64,
    random: Random,
    passes: u32,
    /// Values that all solutions have gone over, and products of planes.
    work: u64,
    /// To which gap planes are solved.
    gap: f64,
    room: Vec<f64>,
}

impl Descent {
    /// For about so many rows.
    pub(super) fn new(length: usize, rows: usize, seed: u64) -> Result<Self, OutOfMemory> {
        let floor = FLOOR_OF_FEW / (rows.max(1) as f64 / length as f64).sqrt();
        Ok(Self {
            order: Vec::new(),
            near: zeros(length)?,
            kappa: 0.0,
            floor: floor.max(FLOOR),
            random: Random::new(seed, Stream::Trainer),
            passes: 0,
            work: 0,
            gap: 0.0,
            room: zeros(length)?,
        })
    }

    /// Values that it has gone over.
    pub(super) fn work(&self) -> u64 {
        self.work
    }

    /// Rows have other numbers from now on.
    pub(super) fn forget_rows(&mut self) {
        self.order.clear();
    }

    /// Begins another solution, with z at the weights of what is known, to about this gap.
    pub(super) fn begin(&mut self, known: &mut Known, gap: f64) -> Result<(), OutOfMemory> {
        (self.passes, self.gap) = (0, PLANES_PART * gap);
        let before = self.order.len() as u32;
        let more = known.rows.len() - self.order.len();
        self.order
            .room(more)?
            .extend(before..known.rows.len() as u32);
        known.planes.multiply()?;
        let rows = known.rows.len().max(1) as f64;
        let squares = known.rows.iter().map(|it| it.bound * it.square);
        if self.kappa == 0.0 {
            self.kappa = (squares.sum::<f64>() / rows / self.floor - 1.0).max(0.0);
        }
        self.sum_up(known);
        Ok(())
    }

    /// Goes over the rows once, and now and then looks how far it is.
    pub(super) fn step(
        &mut self,
        known: &mut Known,
        enough: impl Fn(&Solved) -> bool,
    ) -> Result<Option<Solved>, OutOfMemory> {
        self.passes += 1;
        self.work += known.words.len() as u64;
        let mut order = std::mem::take(&mut self.order);
        self.random.shuffle(&mut order);
        let damp = 1.0 + self.kappa;
        // u = near + rest + kappa z
        let mut u = copied(&self.near)?;
        self.room.fill(0.0);
        known.planes.add_to(&mut self.room);
        for (place, u) in u.iter_mut().enumerate() {
            self.room[place] += self.kappa * known.own(place);
            *u += self.room[place];
        }
        let mean = Level::best().run(Descend {
            known,
            order: &order,
            u: &mut u,
            damp,
        });
        self.order = order;
        for ((near, u), rest) in self.near.iter_mut().zip(&u).zip(&self.room) {
            *near = u - rest;
        }
        self.solve_planes(known, damp)?;
        self.correct_kappa(mean);
        let looks = self.passes.is_multiple_of(PASSES_A_LOOK) || known.rows.is_empty();
        Ok(looks.then(|| {
            let mut found = self.look(known);
            // planes alone have been solved as far as numbers tell
            let last = self.passes >= MOST_PASSES || known.rows.is_empty();
            found.ended = last || enough(&found);
            found
        }))
    }

    /// The planes beside the rows, and the weights of all.
    fn solve_planes(&mut self, known: &mut Known, damp: f64) -> Result<(), OutOfMemory> {
        for (place, room) in self.room.iter_mut().enumerate() {
            *room = self.near[place] + self.kappa * known.own(place);
        }
        self.work += known.planes.solve(&self.room, damp, self.gap)?;
        // summed up twice, and multiplied by what rows put in
        self.work += (3 * known.planes.all.len() * known.w.len()) as u64;
        known.planes.add_to(&mut self.room);
        for (w, room) in known.w.iter_mut().zip(&self.room) {
            *w = room / damp;
        }
        known.shift_back();
        Ok(())
    }

    fn correct_kappa(&mut self, mean: f64) {
        let (floor, kappa) = (self.floor, self.kappa);
        let aim = (mean / floor - 1.0)
            .max(kappa / 4.0)
            .min(4.0 * kappa)
            .max(0.0);
        if (aim - kappa).abs() > 0.5 * aim.min(kappa) + 1e-9 {
            self.kappa = aim;
        }
    }

    fn look(&mut self, known: &Known) -> Solved {
        let (losses, support) = self.sum_up(known);
        self.room.copy_from_slice(&self.near);
        known.planes.add_to(&mut self.room);
        let a: f64 = known.rows.iter().map(|row| row.a * row.breakpoint).sum();
        Solved {
            dual: a + known.planes.value()
                - known.shift(&self.room)
                - 0.5 * product(&self.room, &self.room),
            primal: 0.5 * known.square() + losses + known.planes.risk(&known.w),
            support,
            ended: false,
        }
    }

    /// sum a y x anew, without what rounding has left in it; and the losses at w, and rows with a > 0.
    fn sum_up(&mut self, known: &Known) -> (f64, u64) {
        self.near.fill(0.0);
        Level::best().run(SumUp {
            known,
            near: &mut self.near,
        })
    }
}

/// A pass of coordinate descent; gives back the mean of a |x|^2 over the rows with a > 0.
struct Descend<'a> {
    known: &'a mut Known,
    order: &'a [u32],
    u: &'a mut [f64],
    damp: f64,
}

impl Work for Descend<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<K: Isa>(self) -> f64 {
        let Known {
            dense,
            intercept,
            words,
            rows,
            planes,
            ..
        } = self.known;
        let beside = planes.centre * *intercept;
        let (mut total, mut count) = (0.0, 0u64);
        for numbers in self.order.chunks(ROWS) {
            let mut values = 0;
            for number in numbers {
                let held = &mut rows[*number as usize];
                let row = held.row(words, *dense);
                values += row.values();
                let score = score::<K>(&row, self.u, *intercept) / self.damp + beside;
                let gradient = held.y * score - held.breakpoint;
                let curvature = held.square / self.damp;
                let a = match curvature > 0.0 {
                    true => (held.a - gradient / curvature).clamp(0.0, held.bound),
                    // nothing but its loss depends on it
                    false => held.bound,
                };
                if a != held.a {
                    add_row::<K>(self.u, (a - held.a) * held.y, &row, *intercept);
                    held.a = a;
                }
                if a > 0.0 {
                    total += a * held.square;
                    count += 1;
                }
            }
            interrupts::worked(values);
        }
        total / count.max(1) as f64
    }
}

/// Sums over all rows that are held.
struct SumUp<'a> {
    known: &'a Known,
    near: &'a mut [f64],
}

impl Work for SumUp<'_> {
    type Output = (f64, u64);

    #[inline(always)]
    fn run<K: Isa>(self) -> (f64, u64) {
        let Known {
            dense,
            intercept,
            words,
            rows,
            w,
            ..
        } = self.known;
        let (mut losses, mut support) = (0.0, 0);
        for some in rows.chunks(ROWS) {
            let mut values = 0;
            for held in some {
                let row = held.row(words, *dense);
                values += row.values();
                let score = score::<K>(&row, w, *intercept) + row.offset();
                let margin = held.y * score;
                losses += held.bound * Hinge.value(margin);
                if held.a > 0.0 {
                    support += 1;
                    add_row::<K>(self.near, held.a * held.y, &row, *intercept);
                }
            }
            interrupts::worked(values);
        }
        (losses, support)
    }
}
