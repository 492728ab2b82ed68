//! What all rows come to at the weights that are stored: the last word on a head, whatever has found its weights.
//!
//! primal     P(w) = 1/2 |w|^2 + C sum c L(m),    m = y <w, x>
//! truncated  T(w) = 1/2 |w|^2 + C sum c min(L(m), 1 + s)
//!
//! in 64 bits, of the very numbers that are handed out, over rows as they are trained on. A method hands over weights and a dual; what
//! it said of the primal is replaced, unless a pass has summed up just that.
//!
//! Rows as they come are off by what rounding them to 32 bits has made of their values, and m by
//!
//! off        2^-24 (k sum |w_j x_j| + shift |w|),    k and shift: [`Rounding`]
//!
//! at most. Where that may show, losses are summed up at m - off too: what P is no more than for rows as they come. What D is no less than
//! takes the length of what a row is off by beside: [`crate::objective::rounded`].
//!
//! Weights lie feature by feature, those of [`LANES`] heads side by side: a row is read once for all of them.

use serde::{Deserialize, Serialize};

use crate::base::memory::{copied, filled, gathered, list, OutOfMemory, Room};
use crate::objective::evaluation::right_side;
use crate::objective::heads::HeadSpec;
use crate::objective::loss::Loss;
use crate::objective::minimized::{score, Objective};
use crate::objective::problem::Problem;
use crate::objective::rounded::{Off, RoundedRow};
use crate::rows::facts::{Facts, Rounding};
use crate::rows::row::Row;
use crate::simd::lanes::LANES;
use crate::simd::Isa;
use crate::solver::bundle::classes::Classes;
use crate::solver::fixed_weights::Numbers;
use crate::solver::ledger::Ledgers;
use crate::solver::scans::Scans;
use crate::solver::sums::recounted::Recounted;

/// Weights of heads whose rows are read together: more of them take another pass.
const MOST_BYTES: usize = 24 << 20;
/// Heads that are worth lanes, of which some stay empty.
const LEAST_LANES: usize = 3;

/// Some heads at weights that are stored, or several classes that are told apart together.
#[derive(Serialize, Deserialize)]
pub struct Recount {
    /// By head; none of classes together.
    #[serde(deserialize_with = "list")]
    sides: Vec<Objective>,
    classes: Option<Classes>,
    loss: Loss,
    /// The constant behind a row's features.
    intercept: f64,
    /// Heads side by side, 1 or [`LANES`].
    lanes: u32,
    /// Block by block of so many heads, feature by feature, the intercept's last.
    w: Numbers,
    off: Option<Offs>,
}

/// By how much scores may be off.
#[derive(Serialize, Deserialize)]
struct Offs {
    rounding: Rounding,
    /// By head |w|, the intercept's left out.
    lengths: Numbers,
}

/// Sums over some of the rows, by head; classes together are one.
#[derive(Serialize, Deserialize)]
pub struct RecountSums(#[serde(deserialize_with = "list")] Vec<Recounted>);

impl Recount {
    /// Heads, or classes that are told apart together.
    pub fn vectors(&self) -> usize {
        self.classes
            .as_ref()
            .map_or(self.sides.len(), Classes::count)
    }

    fn blocks(&self) -> usize {
        self.vectors().div_ceil(self.lanes as usize)
    }

    /// The weights of a block, feature by feature.
    #[inline(always)]
    fn block(&self, block: usize) -> &[f64] {
        let length = self.w.0.len() / self.blocks();
        &self.w.0[block * length..][..length]
    }

    /// Whether it fits rows with so many features and groups: what came from elsewhere may not.
    pub fn fits(&self, features: usize, groups: usize) -> bool {
        let lanes = self.lanes as usize;
        (lanes == 1 || lanes == LANES)
            && self.w.0.len() == self.blocks() * lanes * (features + 1)
            && self
                .off
                .as_ref()
                .is_none_or(|it| it.lengths.0.len() == self.vectors())
            && self.sides.iter().all(|it| it.fits(features, groups))
            && self.classes.as_ref().is_none_or(|it| it.fits(groups))
    }

    /// Sums over no rows as yet.
    pub fn begin(&self) -> Result<RecountSums, OutOfMemory> {
        let count = if self.classes.is_some() {
            1
        } else {
            self.sides.len()
        };
        filled(Recounted::default(), count).map(RecountSums)
    }

    /// Adds a row.
    #[inline(always)]
    pub fn add<K: Isa>(&self, sums: &mut RecountSums, row: &Row<'_>) {
        if let Some(classes) = &self.classes {
            return self.tell_apart::<K>(classes, sums, row);
        }
        let lanes = self.lanes as usize;
        let length = self
            .off
            .as_ref()
            .map_or(0.0, |it| it.rounding.length_off(row));
        let sides = self.sides.chunks(lanes).zip(sums.0.chunks_mut(lanes));
        for (block, (sides, sums)) in sides.enumerate() {
            let scores = self.scores::<K>(row, block).map(|it| it + row.offset());
            let offs = self.off.as_ref().map(|it| self.offs(it, row, block));
            for (lane, (side, sums)) in sides.iter().zip(sums).enumerate() {
                let score = scores[lane];
                let (y, cost) = side.side(row);
                if y == 0.0 {
                    continue;
                }
                let margin = y * score;
                let loss = self.loss.value(margin);
                sums.take(cost, loss, side.most_loss());
                let sorted = sorted::<K>((side, row, y), (margin, loss));
                if side.is_sorted() {
                    let (_, own, most) = sorted;
                    sums.exceed(cost * (own.min(most) - loss.min(side.most_loss())));
                }
                sums.correct += u64::from(right_side(margin, y));
                if margin == 0.0 {
                    sums.ties += y as i64;
                }
                if let Some(offs) = offs {
                    let (margin, loss, most_loss) = sorted;
                    let row = RoundedRow {
                        margin,
                        loss,
                        off: Off {
                            margin: offs[lane],
                            length,
                        },
                        most_loss,
                    };
                    let rounded = sums.rounded.get_or_insert_default();
                    rounded.take(self.loss, cost, &row);
                }
            }
        }
    }

    /// A row gets the class with the largest score, the first of equals.
    #[inline(always)]
    fn tell_apart<K: Isa>(&self, classes: &Classes, sums: &mut RecountSums, row: &Row<'_>) {
        let (Some(own), [sums]) = (classes.own(row), &mut sums.0[..]) else {
            return;
        };
        let (mut score, mut rival, mut place) = (0.0, f64::NEG_INFINITY, 0);
        for block in 0..self.blocks() {
            let first = block * self.lanes as usize;
            let scores = self.scores::<K>(row, block).into_iter().enumerate();
            for (class, other) in scores.take(classes.count() - first) {
                if first + class == own.class {
                    score = other;
                } else if other > rival {
                    (rival, place) = (other, first + class);
                }
            }
        }
        let margin = score - rival;
        let loss = self.loss.value(margin);
        sums.take(own.cost, loss, f64::INFINITY);
        if let Some(off) = &self.off {
            let blocks = (0..self.blocks()).flat_map(|block| self.offs(off, row, block));
            let row = RoundedRow {
                margin,
                loss,
                off: Off {
                    // of both scores
                    margin: 2.0 * blocks.fold(0.0, f64::max),
                    length: off.rounding.length_off(row),
                },
                most_loss: f64::INFINITY,
            };
            let rounded = sums.rounded.get_or_insert_default();
            rounded.take(self.loss, own.cost, &row);
        }
        let is_right = score > rival || (score == rival && own.class < place);
        sums.correct += u64::from(is_right);
    }

    /// <w, x> of the heads of a block.
    #[inline(always)]
    fn scores<K: Isa>(&self, row: &Row<'_>, block: usize) -> [f64; LANES] {
        let w = self.block(block);
        let mut scores = [0.0; LANES];
        if self.lanes == 1 {
            scores[0] = score::<K>(row, w, self.intercept);
            return scores;
        }
        let w = w.as_chunks::<LANES>().0;
        if let Some(last) = w.last() {
            scores = last.map(|w| self.intercept * w);
        }
        for (x, w) in row.dense().iter().zip(w) {
            add_lanes(&mut scores, f64::from(*x), w);
        }
        for &[feature, bits] in row.sparse() {
            let x = f64::from(f32::from_bits(bits));
            add_lanes(&mut scores, x, &w[feature as usize]);
        }
        scores
    }

    /// By how much scores of the heads of a block may be off.
    #[inline(always)]
    fn offs(&self, off: &Offs, row: &Row<'_>, block: usize) -> [f64; LANES] {
        let w = self.block(block);
        let lanes = self.lanes as usize;
        let mut offs = [0.0; LANES];
        let rounding = &off.rounding;
        let shift = rounding.shift_off(row);
        for (off, length) in offs.iter_mut().zip(&off.lengths.0[block * lanes..]) {
            *off = shift * length;
        }
        if self.lanes == 1 {
            offs[0] += rounding.off(row, w);
            return offs;
        }
        let [dense, sparse] = rounding.products();
        let w = w.as_chunks::<LANES>().0;
        for (x, w) in row.dense().iter().zip(w) {
            let x = dense * f64::from(x.abs());
            add_lanes(&mut offs, x, &w.map(f64::abs));
        }
        for &[feature, bits] in row.sparse() {
            let x = sparse * f64::from(f32::from_bits(bits).abs());
            add_lanes(&mut offs, x, &w[feature as usize].map(f64::abs));
        }
        offs
    }

    /// |w|^2 of a head, without the intercept where that is `free`.
    fn norm(&self, head: usize, free: bool) -> f64 {
        let lanes = self.lanes as usize;
        let block = self.block(head / lanes);
        let counted = block.len() / lanes - usize::from(free);
        let own = block[head % lanes..].iter().step_by(lanes);
        own.take(counted).map(|w| w * w).sum()
    }
}

/// The margin and the loss of a row on this side, and the most that it may cost, as the round has them: an outlier costs that much
/// whatever its margin is, and the loss of any other row has no end.
#[inline(always)]
fn sorted<K: Isa>(
    (side, row, y): (&Objective, &Row<'_>, f64),
    (margin, loss): (f64, f64),
) -> (f64, f64, f64) {
    match side.is_sorted() {
        false => (margin, loss, side.most_loss()),
        true if side.is_sorted_out::<K>(row, y) => {
            (f64::NEG_INFINITY, f64::INFINITY, side.most_loss())
        }
        true => (margin, loss, f64::INFINITY),
    }
}

/// scores += x w
#[inline(always)]
fn add_lanes(scores: &mut [f64; LANES], x: f64, w: &[f64; LANES]) {
    for (score, w) in scores.iter_mut().zip(w) {
        *score += x * w;
    }
}

impl RecountSums {
    /// Whether others are of the same pass.
    pub fn fits(&self, more: &Self) -> bool {
        self.0.len() == more.0.len()
    }

    /// Adds those over other rows.
    pub fn join(&mut self, more: &Self) {
        for (own, more) in self.0.iter_mut().zip(&more.0) {
            own.join(more);
        }
    }
}

impl Recount {
    /// What recounts the first heads, which these are, from `first` on, as many as may be read together.
    pub fn of(
        all: &impl Ledgers,
        problem: &Problem,
        specs: &[HeadSpec],
        facts: &Facts,
        first: usize,
    ) -> Result<Recount, OutOfMemory> {
        let together = problem.together() && specs.len() > 1;
        let fit = MOST_BYTES / (size_of::<f64>() * (facts.features + 1));
        let count = match (together, fit) {
            (true, _) => specs.len(),
            (false, ..LANES) => fit.max(1),
            (false, _) => fit / LANES * LANES,
        };
        let specs = &specs[first..specs.len().min(first + count)];
        let heads = first..first + specs.len();
        let intercept = problem.kind_of_intercept();
        let mut sides = Vec::new();
        for (head, spec) in heads.clone().zip(specs) {
            let signs = spec.signs.list(facts.groups)?;
            sides.room(1)?.push(Objective {
                sorted_at: copied(all.sorted_at(head))?,
                ..all.ledger(head).objective(signs, intercept)
            });
        }
        let classes = match together {
            true => {
                let weighted = sides.iter();
                let weighted = weighted.map(|it| (&it.signs[..], it.positive_weight));
                Some(Classes::of(weighted)?)
            }
            false => None,
        };
        let lanes = match together || (specs.len() >= LEAST_LANES && fit >= LANES) {
            true => LANES,
            false => 1,
        };
        let shows = heads.clone().any(|head| rounding_shows(all, head, facts));
        Ok(Recount {
            off: shows
                .then(|| Offs::of(all, heads.clone(), facts))
                .transpose()?,
            w: side_by_side(all, heads, lanes, facts.features)?,
            sides: if together { Vec::new() } else { sides },
            classes,
            loss: problem.loss(),
            intercept: intercept.constant(),
            lanes: lanes as u32,
        })
    }

    /// Takes what all rows have come to at the weights of the heads from `first` on; the first head behind them. `free`: intercepts are in no
    /// norm.
    pub fn tell(
        &self,
        all: &mut impl Ledgers,
        (first, free): (usize, bool),
        sums: &RecountSums,
    ) -> usize {
        let heads = self.vectors();
        let least = self.off.as_ref().map_or(0.0, |it| it.rounding.least);
        match (&self.classes, &sums.0[..]) {
            (Some(_), [found]) => {
                let norm = (0..heads).map(|head| self.norm(head, free)).sum();
                for head in 0..all.len() {
                    all.ledger_mut(head).recount((norm, heads), found, least);
                }
            }
            (None, found) => {
                for (head, found) in found.iter().enumerate() {
                    let norm = self.norm(head, free);
                    all.ledger_mut(first + head)
                        .recount((norm, 1), found, least);
                }
            }
            _ => {}
        }
        first + heads
    }
}

/// The first of so many heads whose primal no pass has summed up in 64 bits at just its weights, or where the rounding of rows may
/// show.
pub fn first_to_recount(all: &impl Ledgers, heads: usize, facts: &Facts) -> Option<usize> {
    (0..heads).find(|head| {
        let is_recounted = all.ledger(*head).is_recounted();
        !all.is_summed(*head) || (!is_recounted && rounding_shows(all, *head, facts))
    })
}

impl Offs {
    /// By how much scores of some heads may be off.
    fn of(
        all: &impl Ledgers,
        heads: std::ops::Range<usize>,
        facts: &Facts,
    ) -> Result<Self, OutOfMemory> {
        let lengths = heads.map(|head| length(all, head));
        Ok(Self {
            rounding: facts.rounding,
            lengths: Numbers(gathered(lengths)?),
        })
    }
}

/// |w| of a head, without the intercept's.
fn length(all: &impl Ledgers, head: usize) -> f64 {
    let w = all.weights(head);
    w.iter().map(|w| w * w).sum::<f64>().sqrt()
}

/// Whether the rounding of rows may show in what is said of a head, by the lengths of its weights and of rows; where each row is off by its
/// own length nobody knows before.
fn rounding_shows(all: &impl Ledgers, head: usize, facts: &Facts) -> bool {
    let rounding = &facts.rounding;
    rounding.shift_by_row
        || facts.most_off() > 0.0
            && all.ledger(head).rounding_at(length(all, head)) > facts.rounding.least
}

/// The weights of some heads, in blocks of so many.
fn side_by_side(
    all: &impl Ledgers,
    heads: std::ops::Range<usize>,
    lanes: usize,
    features: usize,
) -> Result<Numbers, OutOfMemory> {
    let length = (features + 1) * lanes;
    let mut blocks = filled(0.0, heads.len().div_ceil(lanes) * length)?;
    for (place, head) in heads.enumerate() {
        let own = &mut blocks[place / lanes * length..][..length];
        let weights = all.weights(head);
        for (feature, weight) in weights.iter().take(features).enumerate() {
            own[feature * lanes + place % lanes] = weight;
        }
        own[features * lanes + place % lanes] = weights.intercept();
    }
    Ok(Numbers(blocks))
}

/// A recount under way, of heads whose rows are kept.
pub struct Recounting {
    pub first: usize,
    pub recount: Recount,
    pub sums: RecountSums,
}

impl<M> Scans<M> for Recounting {
    #[inline(always)]
    fn add<K: Isa>(&mut self, _: &M, row: &Row<'_>) -> usize {
        self.recount.add::<K>(&mut self.sums, row);
        1 + self.recount.blocks() * row.values()
    }
}
