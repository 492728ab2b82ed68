//! The problem of all that is known: rows that are held, and planes of the others.
//!
//! Passes of dual coordinate descent over the rows, in the subproblem with kappa/2 |w - z|^2 added, and after each the planes. z
//! moves to the weights found. kappa follows the mean of a |x|^2, as in [`crate::solver::proximal::rule`], by a rule that is simpler: what is
//! solved here is small beside a pass over all rows.

use crate::base::interrupts;
use crate::base::memory::{copied, OutOfMemory, Room};
use crate::base::random::{Random, Stream};
use crate::base::zeros::zeros;
use crate::rows::batch::Batch;
use crate::rows::row::{Row, QUAD};
use crate::simd::{Isa, Level, Work};
use crate::solver::bundle::planes::Planes;
use crate::solver::still::{add_row, score, Visited};

/// Passes over the rows that are held, for one solution; and between two looks at how far it is.
const MOST_PASSES: u32 = 400;
const PASSES_A_LOOK: u32 = 4;
/// Planes are solved to this part of the gap that is wanted.
const PLANES_PART: f64 = 0.1;
/// Rows between two looks for interrupts.
const ROWS: usize = 4096;

/// Rows that are held, with their dual variables.
pub(super) struct Master {
    dense: usize,
    intercept: f64,
    words: Vec<u32>,
    rows: Vec<Held>,
    /// Numbers of the rows in the order of the next pass.
    order: Vec<u32>,
    pub(super) planes: Planes,
    /// sum a y x of the rows.
    near: Vec<f64>,
    /// The weights found, and the centre of the shift.
    w: Vec<f64>,
    kappa: f64,
    /// kappa is at least so many times smaller than the mean of a |x|^2.
    floor: f64,
    random: Random,
    passes: u32,
    /// To which gap planes are solved.
    gap: f64,
    room: Vec<f64>,
}

/// A row that is held.
struct Held {
    at: u32,
    y: f64,
    bound: f64,
    square: f64,
    a: f64,
}

impl Held {
    /// The row itself, among these words.
    #[inline(always)]
    fn row<'a>(&self, words: &'a [u32], dense: usize) -> Row<'a> {
        Row::new(&words[self.at as usize * QUAD..], dense)
    }
}

/// How far a solution is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Solved {
    pub(super) dual: f64,
    /// Of the known problem, at the weights found.
    pub(super) primal: f64,
    pub(super) support: u64,
    /// Whether it has got as far as it gets.
    pub(super) ended: bool,
}

impl Master {
    pub(super) fn new(
        length: usize,
        dense: usize,
        visited: &Visited,
        floor: f64,
        seed: u64,
    ) -> Result<Self, OutOfMemory> {
        Ok(Self {
            dense,
            intercept: visited.intercept,
            words: Vec::new(),
            rows: Vec::new(),
            order: Vec::new(),
            planes: Planes::default(),
            near: zeros(length)?,
            w: zeros(length)?,
            kappa: 0.0,
            floor,
            random: Random::new(seed, Stream::Trainer),
            passes: 0,
            gap: 0.0,
            room: zeros(length)?,
        })
    }

    /// Words that its rows take.
    pub(super) fn words(&self) -> usize {
        self.words.len()
    }

    /// Its rows.
    pub(super) fn held(&self) -> u64 {
        self.rows.len() as u64
    }

    pub(super) fn w(&self) -> &[f64] {
        &self.w
    }

    /// Takes rows in; by row a bit for each plane that it is in, which lose what it put into them, and one behind those, which says
    /// whether it begins at its bound.
    pub(super) fn take(
        &mut self,
        words: &[u32],
        within: &[u64],
        visited: &Visited,
    ) -> Result<(), OutOfMemory> {
        let all = Batch::new(words, self.dense).zip(within);
        self.rows.room(within.len())?;
        self.order.room(within.len())?;
        let mut at = self.words.len();
        self.words.room(words.len())?.extend_from_slice(words);
        let behind = self.planes.all.len();
        for (row, within) in all {
            let (y, cost) = visited.side(&row);
            let bound = visited.c * cost;
            for (place, plane) in self.planes.all.iter_mut().enumerate() {
                if within >> place & 1 == 1 {
                    add_by(&mut plane.f, -bound * y, &row, self.intercept);
                    plane.b -= bound;
                }
            }
            let begins = within >> behind & 1 == 1;
            self.order.push(self.rows.len() as u32);
            self.rows.push(Held {
                at: (at / QUAD) as u32,
                y,
                bound,
                square: f64::from(row.q()) + self.intercept * self.intercept,
                a: if begins { bound } else { 0.0 },
            });
            at += row.values();
        }
        Ok(())
    }

    /// Begins another solution, with z at these weights, to about this gap.
    pub(super) fn begin(&mut self, centre: &[f64], gap: f64) -> Result<(), OutOfMemory> {
        (self.passes, self.gap) = (0, PLANES_PART * gap);
        self.w.copy_from_slice(centre);
        self.planes.multiply()?;
        let rows = self.rows.len().max(1) as f64;
        let mean = self.rows.iter().map(|it| it.bound * it.square).sum::<f64>() / rows;
        if self.kappa == 0.0 {
            self.kappa = (mean / self.floor - 1.0).max(0.0);
        }
        self.sum_up();
        Ok(())
    }

    /// Goes over the rows once, and now and then looks how far it is.
    pub(super) fn step(&mut self) -> Result<Option<Solved>, OutOfMemory> {
        self.passes += 1;
        let mut order = std::mem::take(&mut self.order);
        self.random.shuffle(&mut order);
        let damp = 1.0 + self.kappa;
        // u = near + rest + kappa z
        let mut u = copied(&self.near)?;
        self.room.fill(0.0);
        self.planes.add_to(&mut self.room);
        for (place, u) in u.iter_mut().enumerate() {
            self.room[place] += self.kappa * self.w[place];
            *u += self.room[place];
        }
        let mean = Level::best().run(Descend {
            master: self,
            order: &order,
            u: &mut u,
            damp,
        });
        self.order = order;
        for ((near, u), rest) in self.near.iter_mut().zip(&u).zip(&self.room) {
            *near = u - rest;
        }
        self.solve_planes(damp)?;
        self.correct_kappa(mean);
        let looks = self.passes.is_multiple_of(PASSES_A_LOOK) || self.rows.is_empty();
        Ok(looks.then(|| self.look()))
    }

    /// The planes beside the rows, and the weights of all.
    fn solve_planes(&mut self, damp: f64) -> Result<(), OutOfMemory> {
        for (place, room) in self.room.iter_mut().enumerate() {
            *room = self.near[place] + self.kappa * self.w[place];
        }
        self.planes.solve(&self.room, damp, self.gap)?;
        self.planes.add_to(&mut self.room);
        for (w, room) in self.w.iter_mut().zip(&self.room) {
            *w = room / damp;
        }
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

    fn look(&mut self) -> Solved {
        let (losses, support) = self.sum_up();
        self.room.copy_from_slice(&self.near);
        self.planes.add_to(&mut self.room);
        let norm = |w: &[f64]| w.iter().map(|w| w * w).sum::<f64>();
        let a: f64 = self.rows.iter().map(|row| row.a).sum();
        Solved {
            dual: a + self.planes.value() - 0.5 * norm(&self.room),
            primal: 0.5 * norm(&self.w) + losses + self.planes.risk(&self.w),
            support,
            ended: self.passes >= MOST_PASSES,
        }
    }

    /// sum a y x anew, without what rounding has left in it; and the losses at w, and rows with a > 0.
    fn sum_up(&mut self) -> (f64, u64) {
        let mut near = std::mem::take(&mut self.near);
        near.fill(0.0);
        let found = Level::best().run(SumUp {
            master: self,
            near: &mut near,
        });
        self.near = near;
        found
    }
}

/// sum += by x
fn add_by(sum: &mut [f64], by: f64, row: &Row<'_>, intercept: f64) {
    struct Add<'a, 'r>(&'a mut [f64], f64, &'a Row<'r>, f64);
    impl Work for Add<'_, '_> {
        type Output = ();
        #[inline(always)]
        fn run<K: Isa>(self) {
            add_row::<K>(self.0, self.1, self.2, self.3);
        }
    }
    Level::best().run(Add(sum, by, row, intercept));
}

/// A pass of coordinate descent; gives back the mean of a |x|^2 over the rows with a > 0.
struct Descend<'a> {
    master: &'a mut Master,
    order: &'a [u32],
    u: &'a mut [f64],
    damp: f64,
}

impl Work for Descend<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<K: Isa>(self) -> f64 {
        let Master {
            dense,
            intercept,
            words,
            rows,
            ..
        } = self.master;
        let (mut total, mut count) = (0.0, 0u64);
        for numbers in self.order.chunks(ROWS) {
            interrupts::check();
            for number in numbers {
                let held = &mut rows[*number as usize];
                let row = held.row(words, *dense);
                let gradient = held.y * score::<K>(&row, self.u, *intercept) / self.damp - 1.0;
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
        }
        total / count.max(1) as f64
    }
}

/// Sums over all rows that are held.
struct SumUp<'a> {
    master: &'a Master,
    near: &'a mut [f64],
}

impl Work for SumUp<'_> {
    type Output = (f64, u64);

    #[inline(always)]
    fn run<K: Isa>(self) -> (f64, u64) {
        let Master {
            dense,
            intercept,
            words,
            rows,
            w,
            ..
        } = self.master;
        let (mut losses, mut support) = (0.0, 0);
        for some in rows.chunks(ROWS) {
            interrupts::check();
            for held in some {
                let row = held.row(words, *dense);
                let margin = held.y * score::<K>(&row, w, *intercept);
                losses += held.bound * (1.0 - margin).max(0.0);
                if held.a > 0.0 {
                    support += 1;
                    add_row::<K>(self.near, held.a * held.y, &row, *intercept);
                }
            }
        }
        (losses, support)
    }
}
