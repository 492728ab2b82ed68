//! The problem of all that is known: rows that are held, and planes of the others; by an augmented Lagrangian method where features
//! are few enough for a matrix, else by coordinate descent.

use crate::base::interrupts;
use crate::base::memory::{OutOfMemory, Room};
use crate::base::zeros::zeros;
use crate::objective::loss::NO_LOSS_FROM;
use crate::objective::minimized::{score, Objective};
use crate::rows::batch::Batch;
use crate::rows::row::{Row, QUAD};
use crate::simd::{Isa, Level, Work};
use crate::solver::bundle::augmented::Augmented;
use crate::solver::bundle::balance::Balance;
use crate::solver::bundle::descent::Descent;
use crate::solver::bundle::known::{breakpoint, Held, Known, Solved};
use crate::solver::bundle::pass::{Centre, Coming};
use crate::solver::bundle::planes::Planes;
use crate::solver::fixed_weights::add_row;

/// Times that the centre of a free intercept moves in a solution, at most.
const MOST_MOVES: u32 = 20;
/// The same of planes alone, of which there soon are better ones.
const MOST_MOVES_OF_PLANES: u32 = 2;
/// The constant behind a row where the intercept is free: the larger it is, the less its weight is held at the centre, and the more rows are alike for
/// coordinate descent. A power of 2, so that margins stay the same to the last bit.
const LOOSE: f64 = 64.0;
const LOOSE_IN_DESCENT: f64 = 4.0;

/// What is known, and solved.
pub(super) struct Master {
    known: Known,
    by: By,
    /// Where the intercept is free, what balances dual variables; and the constant behind a row as a multiple of its own.
    balance: Option<Balance>,
    loose: f64,
    /// By how much the solution under way was off where it began, and the gap that is wanted.
    wanted: (f64, f64),
}

/// What solves it.
enum By {
    Augmented(Box<Augmented>),
    Descent(Descent),
}

impl Master {
    /// Of nothing as yet; `rows`: how many it will hold about.
    pub(super) fn new(
        length: usize,
        dense: usize,
        objective: &Objective,
        rows: usize,
        seed: u64,
    ) -> Result<Self, OutOfMemory> {
        let by = match rows > 0 && Augmented::fits(length) {
            true => By::Augmented(Box::new(Augmented::new(length)?)),
            false => By::Descent(Descent::new(length, rows, seed)?),
        };
        let loose = match &by {
            _ if !objective.free => 1.0,
            By::Descent(_) if rows > 0 => LOOSE_IN_DESCENT,
            By::Augmented(_) | By::Descent(_) => LOOSE,
        };
        Ok(Self {
            known: Known {
                dense,
                intercept: loose * objective.intercept,
                words: Vec::new(),
                rows: Vec::new(),
                planes: Planes::default(),
                w: zeros(length)?,
            },
            by,
            balance: match objective.free {
                true => Some(Balance::new(length)?),
                false => None,
            },
            loose,
            wanted: (f64::INFINITY, 0.0),
        })
    }

    /// Words that its rows take.
    pub(super) fn words(&self) -> usize {
        self.known.words.len()
    }

    /// Values that its solutions have gone over.
    pub(super) fn work(&self) -> u64 {
        match &self.by {
            By::Augmented(augmented) => augmented.work(),
            By::Descent(descent) => descent.work(),
        }
    }

    /// Its rows.
    pub(super) fn held(&self) -> u64 {
        self.known.rows.len() as u64
    }

    /// Writes the weights found.
    pub(super) fn tell(&self, w: &mut [f64]) {
        w.copy_from_slice(&self.known.w);
        if let Some(last) = w.last_mut() {
            *last *= self.loose;
        }
    }

    /// Takes a plane in.
    pub(super) fn push(&mut self, mut f: Vec<f64>, b: f64) -> Result<(), OutOfMemory> {
        if let Some(last) = f.last_mut() {
            *last *= self.loose;
        }
        self.known.planes.push(f, b)
    }

    pub(super) fn planes(&mut self) -> &mut Planes {
        &mut self.known.planes
    }

    /// Takes rows in: the planes that they are in lose what they put into them.
    pub(super) fn take(&mut self, words: &[u32], coming: &[Coming]) -> Result<(), OutOfMemory> {
        let known = &mut self.known;
        let all = Batch::new(words, known.dense).zip(coming);
        known.rows.room(coming.len())?;
        let mut at = known.words.len();
        known.words.room(words.len())?.extend_from_slice(words);
        let behind = known.planes.all.len();
        if !coming.is_empty() {
            known.planes.change();
        }
        for (row, coming) in all {
            let breakpoint = breakpoint(&row, coming.by.signum());
            for (place, plane) in known.planes.all.iter_mut().enumerate() {
                if coming.within >> place & 1 == 1 {
                    add_by(&mut plane.f, -coming.by, &row, known.intercept);
                    plane.b -= coming.by.abs() * breakpoint;
                    interrupts::worked(row.values());
                }
            }
            let (bound, begins) = (coming.by.abs(), coming.within >> behind & 1 == 1);
            known.rows.push(Held {
                at: (at / QUAD) as u32,
                y: coming.by.signum(),
                bound,
                square: f64::from(row.q()) + known.intercept * known.intercept,
                a: if begins { bound } else { 0.0 },
                breakpoint,
            });
            at += row.values();
        }
        Ok(())
    }

    /// Lets rows go that are near the margin at no centre: they are in the planes again. By plane its centre.
    pub(super) fn let_go(&mut self, centres: &[Centre]) {
        self.known.planes.change();
        Level::best().run(LetGo {
            known: &mut self.known,
            centres,
            loose: self.loose,
        });
        if let By::Descent(descent) = &mut self.by {
            descent.forget_rows();
        }
    }

    /// Begins another solution at these weights, to about this gap; so far it may be off by `off`.
    pub(super) fn begin(&mut self, centre: &[f64], off: f64, gap: f64) -> Result<(), OutOfMemory> {
        if let Some(balance) = &mut self.balance {
            balance.moves = 0;
            // where the solution before has come to
            self.known.move_centre();
        }
        self.known.w.copy_from_slice(centre);
        if let Some(last) = self.known.w.last_mut() {
            *last /= self.loose;
        }
        self.wanted = (off, gap);
        self.begin_beside_centre()
    }

    fn begin_beside_centre(&mut self) -> Result<(), OutOfMemory> {
        let (off, gap) = self.wanted;
        match &mut self.by {
            By::Augmented(augmented) => augmented.begin(&mut self.known, off),
            By::Descent(descent) => descent.begin(&mut self.known, gap),
        }
    }

    /// Computes on, and may say how far it is.
    pub(super) fn step(
        &mut self,
        enough: impl Fn(&Solved) -> bool,
    ) -> Result<Option<Solved>, OutOfMemory> {
        let found = match &mut self.by {
            By::Augmented(augmented) => Some(augmented.step(&mut self.known, &enough)),
            By::Descent(descent) => descent.step(&mut self.known, &enough)?,
        };
        let (Some(found), Some(balance)) = (found, &mut self.balance) else {
            return Ok(found);
        };
        if !found.ended {
            return Ok(Some(found));
        }
        let mut found = balance.weigh(&self.known, found);
        let most = match self.known.rows.is_empty() {
            true => MOST_MOVES_OF_PLANES,
            false => MOST_MOVES,
        };
        found.ended = enough(&found) || balance.moves > most;
        if !found.ended {
            self.known.move_centre();
            self.begin_beside_centre()?;
        }
        Ok(Some(found))
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

/// The work of [`Master::let_go`].
struct LetGo<'a> {
    known: &'a mut Known,
    centres: &'a [Centre],
    loose: f64,
}

impl Work for LetGo<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let (known, centres) = (self.known, self.centres);
        let (dense, intercept) = (known.dense, known.intercept);
        let constant = intercept / self.loose;
        let (words, planes) = (&mut known.words, &mut known.planes.all);
        let mut to = 0;
        known.rows.retain_mut(|held| {
            let row = held.row(words, dense);
            let score = |centre: &Centre| score::<K>(&row, &centre.w.0, constant) + row.offset();
            let margin = |centre: &Centre| held.y * score(centre);
            let (from, values) = (held.at as usize * QUAD, row.values());
            interrupts::worked(values * (1 + centres.len()));
            let mut holding = centres.iter().filter(|centre| centre.holds());
            let stays = holding.any(|centre| centre.is_near(margin(centre)));
            if stays {
                words.copy_within(from..from + values, to);
                held.at = (to / QUAD) as u32;
                to += values;
                return true;
            }
            for (plane, centre) in planes.iter_mut().zip(centres) {
                if margin(centre) < NO_LOSS_FROM {
                    add_row::<K>(&mut plane.f, held.bound * held.y, &row, intercept);
                    plane.b += held.bound * held.breakpoint;
                }
            }
            false
        });
        words.truncate(to);
    }
}
