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
use crate::solver::bundle::descent::Descent;
use crate::solver::bundle::pass::{Centre, Coming};
use crate::solver::bundle::planes::Planes;
use crate::solver::fixed_weights::add_row;

/// Rows that are gone over at a time, between two looks at how much that was.
pub(super) const ROWS: usize = 256;

/// What is known, and solved.
pub(super) struct Master {
    known: Known,
    by: By,
}

/// What solves it.
enum By {
    Augmented(Box<Augmented>),
    Descent(Descent),
}

/// Rows that are held, with their dual variables, and planes of the others.
pub(super) struct Known {
    pub(super) dense: usize,
    pub(super) intercept: f64,
    pub(super) words: Vec<u32>,
    pub(super) rows: Vec<Held>,
    pub(super) planes: Planes,
    /// The weights found.
    pub(super) w: Vec<f64>,
}

/// A row that is held.
pub(super) struct Held {
    at: u32,
    pub(super) y: f64,
    pub(super) bound: f64,
    pub(super) square: f64,
    pub(super) a: f64,
}

impl Held {
    /// The row itself, among these words.
    #[inline(always)]
    pub(super) fn row<'a>(&self, words: &'a [u32], dense: usize) -> Row<'a> {
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
    /// Whether that is enough, or as far as it gets.
    pub(super) ended: bool,
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
        Ok(Self {
            known: Known {
                dense,
                intercept: objective.intercept,
                words: Vec::new(),
                rows: Vec::new(),
                planes: Planes::default(),
                w: zeros(length)?,
            },
            by,
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

    pub(super) fn w(&self) -> &[f64] {
        &self.known.w
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
            for (place, plane) in known.planes.all.iter_mut().enumerate() {
                if coming.within >> place & 1 == 1 {
                    add_by(&mut plane.f, -coming.by, &row, known.intercept);
                    plane.b -= coming.by.abs();
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
        });
        if let By::Descent(descent) = &mut self.by {
            descent.forget_rows();
        }
    }

    /// Begins another solution at these weights, to about this gap; so far it may be off by `off`.
    pub(super) fn begin(&mut self, centre: &[f64], off: f64, gap: f64) -> Result<(), OutOfMemory> {
        self.known.w.copy_from_slice(centre);
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
        match &mut self.by {
            By::Augmented(augmented) => Ok(Some(augmented.step(&mut self.known, enough))),
            By::Descent(descent) => descent.step(&mut self.known, enough),
        }
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
}

impl Work for LetGo<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let (known, centres) = (self.known, self.centres);
        let (dense, intercept) = (known.dense, known.intercept);
        let (words, planes) = (&mut known.words, &mut known.planes.all);
        let mut to = 0;
        known.rows.retain_mut(|held| {
            let row = held.row(words, dense);
            let margin = |centre: &Centre| held.y * score::<K>(&row, &centre.w.0, intercept);
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
                    plane.b += held.bound;
                }
            }
            false
        });
        words.truncate(to);
    }
}
