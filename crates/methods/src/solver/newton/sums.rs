//! What a pass over the rows sums up at the weights of a head: primal, gradient, dual, and perhaps the Hessian.

use serde::{Deserialize, Serialize};

use crate::base::memory::{list, received, OutOfMemory};
use crate::base::zeros::zeros;
use crate::linalg::gram::{finished, Gram};
use crate::objective::loss::{Loss, NO_LOSS_FROM};
use crate::objective::minimized::Objective;
use crate::rows::row::Row;
use crate::simd::Isa;
use crate::solver::fixed_weights::{add, add_row, added};
use crate::solver::newton::line::Line;
use crate::solver::newton::near::{NearRows, Nearness};
use crate::solver::sums::tally::Tally;

/// Adds a row to what is known of the way from `best` by `step`.
#[inline(always)]
pub(super) fn add_to_line<K: Isa>(
    line: &mut Line,
    objective: &Objective,
    (best, step): (&[f64], &[f64]),
    row: &Row<'_>,
) {
    let (y, cost) = objective.side(row);
    if y == 0.0 {
        return;
    }
    let within = objective.within(y, objective.score::<K>(row, best));
    if !objective.is_out(within) {
        line.add(cost, within, -y * objective.along::<K>(row, step));
    }
}

/// Sums over the rows of one sign, with dual variables a = C k c max(0, 1 - m), k = L'', at margins m; those of outliers are 0.
#[derive(Serialize, Deserialize)]
pub(super) struct Side {
    /// Sum of a x, the intercept's constant last.
    #[serde(deserialize_with = "list")]
    pub(super) v: Vec<f64>,
    /// Sum of a, and of a y o, o being offsets.
    pub(super) duals: f64,
    pub(super) offsets: f64,
    /// Sum of c max(0, 1 - m)^2, which is that of a^2 / ((C k)^2 c).
    pub(super) loss: f64,
    /// Sum of c, and rows.
    pub(super) costs: f64,
    pub(super) rows: u64,
    /// The same of outliers alone.
    pub(super) outside: f64,
    pub(super) outliers: u64,
}

/// Weights of a pass, and the best so far.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    pub(super) w: &'a [f64],
    /// None where rows need not be looked at there.
    pub(super) best: Option<&'a [f64]>,
    /// Whether the last step from the best led to a larger primal already: all rows are looked at there then.
    pub(super) again: bool,
}

/// A row on one of its sides: its sign, what its loss counts beside C, its offset, and 1 - y (<w, x> + o).
#[derive(Clone, Copy)]
struct OnSide {
    y: f64,
    cost: f64,
    offset: f64,
    lost: f64,
}

/// Sums of a pass.
#[derive(Serialize, Deserialize)]
pub struct Sums {
    /// Of the negative rows, and of the positive ones.
    pub(super) sides: [Side; 2],
    pub(super) tally: Tally,
    /// Products of the rows of the Hessian, of those that are gathered.
    /// None where no matrix is summed up.
    #[serde(with = "finished")]
    pub(super) gram: Option<Gram>,
    /// Squares of their values by column, of all rows: None where all are gathered anyway, or none.
    #[serde(deserialize_with = "received")]
    pub(super) squares: Option<Vec<f64>>,
    /// Sum of C k c (1 - m) y x of its rows that are beyond the margin at the best weights.
    #[serde(deserialize_with = "list")]
    pub(super) beyond: Vec<f64>,
    /// Sums of c of the rows of the Hessian, of all and of those gathered.
    pub(super) costs: f64,
    pub(super) gathered: f64,
    /// Rows near the margin that came along, which are not in the products; None where none are to.
    pub(super) near: Option<NearRows>,
}

/// What a pass has found of a row.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// Its dual variable at these weights, with the sign of the row.
    pub dual: f64,
    /// Multiplications of matrices that it took.
    pub products: usize,
    /// How far within the margin it is, and what its loss counts beside C; None of a row that takes no part.
    pub stands: Option<(f64, f64)>,
}

impl Seen {
    /// Of a row that takes no part.
    const NOTHING: Self = Self {
        dual: 0.0,
        products: 0,
        stands: None,
    };
}

/// What a row has a pass sum up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Primal, gradient and dual.
    First,
    /// The Hessian too.
    Second,
}

impl Side {
    /// What its outliers cost at C.
    fn of_outliers(&self, head: &Objective) -> f64 {
        match self.outliers {
            0 => 0.0,
            _ => head.c * self.outside * head.loss.value(NO_LOSS_FROM - head.most_within),
        }
    }
}

impl Sums {
    /// What outliers cost: a constant of primal and dual.
    pub(super) fn of_outliers(&self, head: &Objective) -> f64 {
        self.sides.iter().map(|side| side.of_outliers(head)).sum()
    }

    pub(super) fn new(length: usize, matrix: bool) -> Result<Self, OutOfMemory> {
        let side = || {
            Ok::<_, OutOfMemory>(Side {
                v: zeros(length)?,
                duals: 0.0,
                offsets: 0.0,
                loss: 0.0,
                costs: 0.0,
                rows: 0,
                outside: 0.0,
                outliers: 0,
            })
        };
        Ok(Self {
            sides: [side()?, side()?],
            tally: Tally::EMPTY,
            gram: matrix.then(|| Gram::new(length)).transpose()?,
            squares: None,
            beyond: zeros(length)?,
            costs: 0.0,
            gathered: 0.0,
            near: None,
        })
    }

    /// What a pass over the same rows would sum at weights of 0.
    pub(super) fn at_zero(&self, loss: Loss) -> Tally {
        let [negative, positive] = &self.sides;
        Tally {
            start_loss: (negative.costs + positive.costs) * loss.value(0.0),
            correct: negative.rows,
            ties: positive.rows as i64 - negative.rows as i64,
            tied_cost: positive.costs - negative.costs,
            rows: negative.rows + positive.rows,
            ..Tally::EMPTY
        }
    }

    /// Whether its parts fit one another; those of bytes that came from elsewhere may not.
    pub(super) fn are_sound(&self, groups: usize) -> bool {
        let length = self.beyond.len();
        let fits = |numbers: &[f64]| numbers.len() == length;
        let gram = self.gram.as_ref().map(Gram::length);
        length > 0
            && self.sides.iter().all(|side| fits(&side.v))
            && gram.is_none_or(|it| it == length)
            && self.squares.as_ref().is_none_or(|it| fits(it))
            && self
                .near
                .as_ref()
                .is_none_or(|near| gram.is_some() && near.are_sound(length - 1, groups))
    }

    /// Whether others are of the same pass.
    pub(super) fn fits(&self, more: &Self) -> bool {
        self.beyond.len() == more.beyond.len()
            && self.gram.is_some() == more.gram.is_some()
            && self.squares.is_some() == more.squares.is_some()
            && match (&self.near, &more.near) {
                (Some(own), Some(more)) => own.rows.fits(&more.rows),
                (own, more) => own.is_none() && more.is_none(),
            }
    }

    /// Adds those over other rows. With `gathers` their products too: those of both have been finished.
    pub(super) fn join(&mut self, more: &Self, gathers: bool) {
        for (own, more) in self.sides.iter_mut().zip(&more.sides) {
            add(&mut own.v, &more.v);
            own.duals += more.duals;
            own.offsets += more.offsets;
            own.loss += more.loss;
            own.costs += more.costs;
            own.rows = own.rows.saturating_add(more.rows);
            own.outside += more.outside;
            own.outliers = own.outliers.saturating_add(more.outliers);
        }
        self.tally = self.tally.with(more.tally);
        if let (Some(own), Some(more), true) = (&mut self.gram, &more.gram, gathers) {
            own.join(more);
        }
        if let (Some(own), Some(more)) = (&mut self.squares, &more.squares) {
            add(own, more);
        }
        if let (Some(gram), Some(own), Some(more)) = (&mut self.gram, &mut self.near, &more.near) {
            own.join(more, gram);
        }
        add(&mut self.beyond, &more.beyond);
        self.costs += more.costs;
        self.gathered += more.gathered;
    }

    /// Adds a row. `before`: whether it was within the margin in the pass before; then it is in the Hessian in any case.
    #[inline(always)]
    pub(super) fn visit<K: Isa>(
        &mut self,
        head: &Objective,
        at: Places<'_>,
        row: &Row<'_>,
        (order, before): (Order, bool),
    ) -> Seen {
        let (y, cost) = head.side(row);
        if y == 0.0 {
            return Seen::NOTHING;
        }
        let own = self.count(head, (y, cost, row.offset()), head.along::<K>(row, at.w));
        let lost = own.lost;
        let seen = |dual: f64, products| Seen {
            dual: y * dual,
            products,
            stands: Some((lost, cost)),
        };
        if head.is_out(lost) {
            return seen(0.0, 0);
        }
        let mut within_best = false;
        let is_new = lost > 0.0 && !before;
        if let Some(best) = at.best.filter(|_| at.again || is_new) {
            let lost_best = head.within(y, head.score::<K>(row, best));
            within_best = lost_best > 0.0;
            if !within_best && (lost > 0.0 || before) {
                let by = head.curvature() * cost * lost_best * y;
                add_row::<K>(&mut self.beyond, by, row, head.intercept);
            }
        }
        let mut dual = 0.0;
        if lost > 0.0 {
            dual = self.lose::<K>(head, row, own);
        } else if !before && !within_best {
            return seen(0.0, 0);
        }
        let products = self.hold::<K>(head, row, (order, cost));
        seen(dual, products)
    }

    /// Adds a row on both of its sides, whose offsets are so far apart; `before`: see [`Self::visit`]. Its score is taken once. It has a
    /// loss on one side at most, so that it is in the Hessian once, and wherever the weights are if its sides meet.
    #[inline(always)]
    pub(super) fn visit_sides<K: Isa>(
        &mut self,
        head: &Objective,
        at: Places<'_>,
        (row, between): (&Row<'_>, f64),
        (order, before): (Order, [bool; 2]),
    ) -> [Seen; 2] {
        let (y, cost) = head.side(row);
        if y == 0.0 {
            return [Seen::NOTHING; 2];
        }
        let along = head.along::<K>(row, at.w);
        let (first, other) = (row.offset(), row.offset() - y * between);
        let sides = [
            self.count(head, (y, cost, first), along),
            self.count(head, (-y, head.cost(row, -y), other), along),
        ];
        let mut seen = [Seen::NOTHING; 2];
        // the side on which it is in the Hessian, and whether it has come to it by the last step
        let (mut held, mut is_new) = (None, false);
        let mut place = 0;
        while place < 2 {
            let own = sides[place];
            seen[place].stands = Some((own.lost, own.cost));
            if !head.is_out(own.lost) {
                if own.lost > 0.0 {
                    seen[place].dual = own.y * self.lose::<K>(head, row, own);
                    held = Some(own);
                    is_new |= !before[place];
                } else if held.is_none() && (before[place] || meet(between)) {
                    held = Some(own);
                }
            }
            place += 1;
        }
        if let Some(best) = at.best.filter(|_| at.again || is_new) {
            let along = head.along::<K>(row, best);
            let lost = |side: OnSide| head.within(side.y, along + side.offset);
            let [one, two] = [lost(sides[0]), lost(sides[1])];
            match held {
                _ if one > 0.0 => held = Some(sides[0]),
                _ if two > 0.0 => held = Some(sides[1]),
                Some(own) => {
                    let by = head.curvature() * own.cost * lost(own) * own.y;
                    add_row::<K>(&mut self.beyond, by, row, head.intercept);
                }
                None => {}
            }
        }
        if let Some(own) = held {
            seen[0].products = self.hold::<K>(head, row, (order, own.cost));
        }
        seen
    }
}

/// Whether sides that are so far apart meet: a row has a loss at all weights but those where it is 0.
pub(super) fn meet(between: f64) -> bool {
    between <= 2.0 * NO_LOSS_FROM
}

impl Sums {
    /// Adds a row to the Hessian; the multiplications of matrices that it took.
    #[inline(always)]
    fn hold<K: Isa>(
        &mut self,
        head: &Objective,
        row: &Row<'_>,
        (order, cost): (Order, f64),
    ) -> usize {
        self.costs += cost;
        if let Some(squares) = &mut self.squares {
            add_squares(squares, cost, row.dense(), row.sparse());
        }
        let Some(gram) = self.gram.as_mut().filter(|_| order == Order::Second) else {
            return 0;
        };
        self.gathered += cost;
        gram.add::<K>(added(row, cost, head.intercept))
    }

    /// Counts a row of this sign, cost and offset whose <w, x> is `along`, and what it costs where it is an outlier.
    #[inline(always)]
    fn count(
        &mut self,
        head: &Objective,
        (y, cost, offset): (f64, f64, f64),
        along: f64,
    ) -> OnSide {
        let score = along + offset;
        self.tally.count(y, cost, y * score);
        let side = &mut self.sides[usize::from(y > 0.0)];
        side.costs += cost;
        side.rows += 1;
        let lost = head.within(y, score);
        if head.is_out(lost) {
            side.outside += cost;
            side.outliers += 1;
        }
        OnSide {
            y,
            cost,
            offset,
            lost,
        }
    }

    /// Adds what a row within the margin loses, and its dual variable, which is given back.
    #[inline(always)]
    fn lose<K: Isa>(
        &mut self,
        head: &Objective,
        row: &Row<'_>,
        OnSide {
            y,
            cost,
            offset,
            lost,
        }: OnSide,
    ) -> f64 {
        let side = &mut self.sides[usize::from(y > 0.0)];
        let dual = head.curvature() * cost * lost;
        self.tally.support += 1;
        side.duals += dual;
        side.offsets += dual * y * offset;
        side.loss += cost * lost * lost;
        add_row::<K>(&mut side.v, dual, row, head.intercept);
        dual
    }

    /// Adds a row to a pass that brings along those that are near: others that are within the margin go to the products.
    #[inline(always)]
    pub(super) fn visit_or_bring<K: Isa>(
        &mut self,
        head: &Objective,
        (w, nearness): (&[f64], &Nearness),
        row: &Row<'_>,
    ) {
        let (y, cost) = head.side(row);
        if y == 0.0 {
            return;
        }
        let own = self.count(head, (y, cost, row.offset()), head.along::<K>(row, w));
        let lost = own.lost;
        if head.is_out(lost) {
            return;
        }
        if lost > 0.0 {
            self.lose::<K>(head, row, own);
        }
        let (Some(gram), Some(near)) = (&mut self.gram, &mut self.near) else {
            return;
        };
        if let Some(found) = nearness.look::<K>(near, row, (lost, y * cost)) {
            near.take::<K>(row, found, gram);
        } else if lost > 0.0 {
            gram.add::<K>(added(row, cost, head.intercept));
        }
    }
}

/// sum += C k c <direction, x> x of a row, the intercept's constant behind its features.
#[inline(always)]
pub(super) fn add_product<K: Isa>(
    head: &Objective,
    (direction, sum): (&[f64], &mut [f64]),
    row: &Row<'_>,
) {
    let (_, cost) = head.side(row);
    let by = head.curvature() * cost * head.along::<K>(row, direction);
    add_row::<K>(sum, by, row, head.intercept);
}

/// squares += cost x^2, by column
#[inline(always)]
fn add_squares(squares: &mut [f64], cost: f64, dense: &[f32], sparse: &[[u32; 2]]) {
    for (square, x) in squares.iter_mut().zip(dense) {
        let x = f64::from(*x);
        *square += cost * x * x;
    }
    for [column, bits] in sparse {
        let x = f64::from(f32::from_bits(*bits));
        squares[*column as usize] += cost * x * x;
    }
}
