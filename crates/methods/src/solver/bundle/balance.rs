//! Free intercepts: not in the norm, so the dual variables must balance, sum a y + sum b_j F_j = 0 in the intercept's column.
//!
//! Solutions have (b - z)^2 / 2 in place of the norm's b^2 / 2, with a centre z to which the intercept is pulled: the method of
//! multipliers, as in [`crate::solver::proximal`]. b and z are divided by the constant behind a row, which is large, so that the pull is weak.
//! After each solution z moves to its intercept. The sum is proportional to b - z, so it goes to 0. The rest is balanced: the a y and b_j F_j
//! of the heavier side are multiplied by the factor that makes both sides equal. They stay within their bounds, so
//! the dual there is one of the whole problem.

use crate::base::interrupts;
use crate::base::memory::OutOfMemory;
use crate::base::zeros::zeros;
use crate::objective::minimized::balanced;
use crate::simd::{Isa, Level, Work};
use crate::solver::bundle::known::{Known, Solved, ROWS};
use crate::solver::fixed_weights::{add_row, product};

/// What dual variables come to, those that put the intercept below and above.
pub(super) struct Balance {
    /// Sum of a y x and b F.
    v: [Vec<f64>; 2],
    /// Sum of a (1 - y o), with offsets o, and b B.
    sums: [f64; 2],
    /// Times that the centre was judged in the solution under way.
    pub(super) moves: u32,
}

impl Balance {
    pub(super) fn new(length: usize) -> Result<Self, OutOfMemory> {
        Ok(Self {
            v: [zeros(length)?, zeros(length)?],
            sums: [0.0; 2],
            moves: 0,
        })
    }

    /// What a solution beside the centre is of the problem with a free intercept.
    pub(super) fn weigh(&mut self, known: &Known, found: Solved) -> Solved {
        self.moves += 1;
        self.v.iter_mut().for_each(|v| v.fill(0.0));
        self.sums = [0.0; 2];
        for plane in known.planes.all.iter().filter(|it| it.weight > 0.0) {
            let side = usize::from(plane.f.last().is_some_and(|f| *f > 0.0));
            self.sums[side] += plane.weight * plane.b;
            for (v, f) in self.v[side].iter_mut().zip(&plane.f) {
                *v += plane.weight * f;
            }
        }
        Level::best().run(AddRows { known, all: self });
        let last = known.w.len() - 1;
        let [below, above] = &self.v;
        let multiples = balanced(-below[last], above[last]);
        let (own, [negative, positive]) = (product, multiples);
        let (below, above) = (&below[..last], &above[..last]);
        let square = negative * negative * own(below, below)
            + 2.0 * negative * positive * own(below, above)
            + positive * positive * own(above, above);
        let beside = known.own(last);
        Solved {
            dual: negative * self.sums[0] + positive * self.sums[1] - 0.5 * square,
            primal: found.primal - 0.5 * beside * beside,
            ..found
        }
    }
}

/// Adds the rows that are held.
struct AddRows<'a> {
    known: &'a Known,
    all: &'a mut Balance,
}

impl Work for AddRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let (known, all) = (self.known, self.all);
        for rows in known.rows.chunks(ROWS) {
            let mut values = ROWS;
            for held in rows.iter().filter(|held| held.a > 0.0) {
                let row = held.row(&known.words, known.dense);
                values += row.values();
                let side = usize::from(held.y > 0.0);
                all.sums[side] += held.a * held.breakpoint;
                add_row::<K>(&mut all.v[side], held.a * held.y, &row, known.intercept);
            }
            interrupts::worked(values);
        }
    }
}
