//! Visits of rows by all heads: scores block by block of lanes, then the steps, then the weights.

use super::{JointHeads, TileRoom};
use crate::base::interrupts;
use crate::base::prefetch::prefetch;
use crate::objective::loss::{by_loss, LossFunction};
use crate::rows::blocks::Blocks;
use crate::rows::map::RowMap;
use crate::rows::row::{entries_within, Row};
use crate::rows::visited::VisitedPage;
use crate::simd::eight::Eight;
use crate::simd::entries::TILE;
use crate::simd::lanes::{Lanes, LANES};
use crate::simd::{Isa, Real, Work};
use crate::solver::joint::lanes::Facing;
use crate::solver::joint::matrix::{Matrix, Scores, TileScores};
use crate::solver::visit::ahead::{Ahead, Coming};
use crate::solver::visit::visitor::NORM_SAMPLE;

/// Where no more than one of so many visits moves a dual variable, the scores of a tile's visits are taken beforehand.
const SELDOM: usize = 8;

/// From so many blocks on a visit of a row takes some hundredths of a millisecond, whatever the row.
const MANY_BLOCKS: usize = 256;

/// What the visits of a row by several blocks found.
struct RowOutcome {
    /// It is in some active set still.
    active: bool,
    /// The least of what holds it at a bound, see [`super::lanes::RowTerms`].
    held: Lanes,
}

/// What is known of a row when it is visited.
#[derive(Clone, Copy)]
struct Known<'a> {
    /// See [`JointHeads::norm`].
    norm: Option<f32>,
    /// Its scores at the weights of the full pass's start, block by block.
    at_start: Option<&'a [Lanes]>,
    /// The same at the present weights, but for lanes in [`JointHeads::moved`].
    at_visit: Option<&'a [Lanes]>,
}

/// The work of [`JointHeads::visit_all`].
struct VisitBlocks<'a, M, const FULL: bool> {
    joint: &'a mut JointHeads,
    blocks: Blocks<'a, M>,
}

impl<M: RowMap, const FULL: bool> Work for VisitBlocks<'_, M, FULL> {
    type Output = usize;

    #[inline(always)]
    fn run<K: Isa>(self) -> usize {
        let Self { joint, blocks } = self;
        if !FULL && joint.turn.is_some() {
            return joint.visit_in_turn::<K>(blocks);
        }
        by_loss!(joint.loss, loss => {
            if FULL && !joint.start.is_zero && joint.tiles() {
                joint.visit_tiles::<K, _>(loss, blocks)
            } else {
                joint.visit_each::<K, _, FULL>(loss, blocks)
            }
        })
    }
}

/// The work of [`JointHeads::visit_row`].
struct VisitRow<'a, const FULL: bool> {
    joint: &'a mut JointHeads,
    row: &'a Row<'a>,
}

impl<const FULL: bool> Work for VisitRow<'_, FULL> {
    type Output = f32;

    #[inline(always)]
    fn run<K: Isa>(self) -> f32 {
        let known = self.joint.known::<K, FULL>(self.row);
        let (joint, row) = (self.joint, self.row);
        let mut none = Coming::none();
        let held =
            by_loss!(joint.loss, loss => joint.visit::<K, _, FULL>(loss, row, known, &mut none));
        held.into_iter().fold(f32::INFINITY, f32::min)
    }
}

/// The work of [`JointHeads::visit`].
struct Visit<'a, 'p, L, const FULL: bool> {
    joint: &'a mut JointHeads,
    loss: L,
    row: &'a Row<'a>,
    known: Known<'a>,
    coming: &'a mut Coming<'p>,
}

impl<L: LossFunction, const FULL: bool> Work for Visit<'_, '_, L, FULL> {
    type Output = Lanes;

    #[inline(always)]
    fn run<K: Isa>(self) -> Lanes {
        let (joint, loss) = (self.joint, self.loss);
        joint.visit_blocks::<K, L, FULL>(loss, self.row, self.known, self.coming)
    }
}

/// The work of [`JointHeads::measure_one`].
struct MeasureRow<'a> {
    joint: &'a mut JointHeads,
    row: &'a Row<'a>,
}

impl Work for MeasureRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let (joint, row) = (self.joint, self.row);
        by_loss!(joint.loss, loss => joint.measure_row::<K, _>(loss, row));
    }
}

impl JointHeads {
    /// Visits the rows of these blocks, in a full pass all and else those of the active set. Gives back the values visited.
    pub(super) fn visit_all<const FULL: bool>(&mut self, blocks: Blocks<'_, impl RowMap>) -> usize {
        self.level.run(VisitBlocks::<_, FULL> {
            joint: self,
            blocks,
        })
    }

    /// Visits a row. Gives back how far beyond 0 the gradients are that hold it at its bounds, the least of all heads': it
    /// matters within that margin.
    pub(super) fn visit_row<const FULL: bool>(&mut self, row: &Row<'_>) -> f64 {
        self.level.run(VisitRow::<FULL> { joint: self, row }).into()
    }

    /// Wakes a row for every head.
    pub(super) fn wake(&mut self, ordinal: usize) {
        self.shrunk[ordinal * self.width..][..self.width].fill(0);
    }

    /// Measures a row in a full pass without training it.
    pub(super) fn measure_one(&mut self, row: &Row<'_>) {
        self.level.run(MeasureRow { joint: self, row });
    }

    #[inline(always)]
    fn visit_each<K: Isa, L: LossFunction, const FULL: bool>(
        &mut self,
        loss: L,
        blocks: Blocks<'_, impl RowMap>,
    ) -> usize {
        let to_visit = |this: &Self, place: usize| {
            let (first, all) = blocks.rows(place);
            let left = if FULL {
                all
            } else {
                this.active_of(first, blocks.width)
            };
            (first, left)
        };
        let mut ahead = Ahead::new(blocks.stored(), self.w.scattered(), false, |place| {
            to_visit(self, place)
        });
        let mut values = 0;
        for place in 0..blocks.numbers.len() {
            let (first, mut left) = to_visit(self, place);
            if !FULL && place + 1 < blocks.numbers.len() {
                let (first, rows) = to_visit(self, place + 1);
                self.prefetch_alpha(first, rows);
            }
            while left != 0 {
                let offset = left.trailing_zeros();
                left &= left - 1;
                let slot = first + offset as usize;
                let row = blocks.page.row(slot);
                values += row.values();
                self.look();
                if FULL {
                    self.prefetch_next_alpha(slot);
                }
                let mut coming = ahead.coming(|place| to_visit(self, place));
                self.ask_for::<FULL>(entries_within(coming.near(), self.facts.dense));
                let known = self.known::<K, FULL>(&row);
                self.visit::<K, L, FULL>(loss, &row, known, &mut coming);
                coming.rest();
            }
        }
        values
    }

    /// Looks for interrupts between rows that take long, each for itself.
    #[inline(always)]
    fn look(&self) {
        if self.blocks.len() >= MANY_BLOCKS {
            interrupts::check();
        }
    }

    /// Whether rows of passes over all are taken [`TILE`] at a time: their scores at the weights of the pass's start do not
    /// depend on what one of them changes, those of their visits seldom do, and the weights of many heads are more than the
    /// processor's first cache holds.
    pub(super) fn tiles(&self) -> bool {
        self.tile.is_some()
    }

    /// As [`Self::visit_each`] in a full pass, [`TILE`] rows at a time.
    #[inline(always)]
    fn visit_tiles<K: Isa, L: LossFunction>(
        &mut self,
        loss: L,
        blocks: Blocks<'_, impl RowMap>,
    ) -> usize {
        let Some(mut room) = self.tile.take() else {
            return 0;
        };
        room.begin(self.running().map(|(lane, _)| lane), self.blocks.len());
        let (mut values, mut tiles, mut moves) = (0, 0, 0);
        let rows_of = |place: usize| match blocks.numbers.get(place) {
            Some(_) => {
                let (first, rows) = blocks.rows(place);
                first..first + rows.count_ones() as usize
            }
            None => 0..0,
        };
        for place in 0..blocks.numbers.len() {
            if place + 2 < blocks.numbers.len() {
                let soon = rows_of(place + 2);
                blocks.page.stored.prefetch_entries(soon.start, soon.len());
            }
            let (mut slots, after) = (rows_of(place), rows_of(place + 1));
            while slots.len() >= TILE {
                let first = slots.start;
                slots.start += TILE;
                let behind = slots.clone().chain(after.clone());
                values += self.visit_tile::<K, L>(loss, blocks.page, first, behind, &mut room);
                tiles += 1;
                moves += self
                    .moved
                    .iter()
                    .map(|it| it.count_ones() as usize)
                    .sum::<usize>();
            }
            for slot in slots {
                let row = blocks.page.row(slot);
                values += row.values();
                let known = self.known::<K, true>(&row);
                self.visit::<K, L, true>(loss, &row, known, &mut Coming::none());
            }
        }
        self.calm = SELDOM * moves <= tiles * TILE * room.lanes.len();
        self.tile = Some(room);
        values
    }

    /// Visits the tile of rows that begins at a slot; `behind` it come these. Gives back the values visited.
    #[inline(always)]
    fn visit_tile<K: Isa, L: LossFunction>(
        &mut self,
        loss: L,
        page: VisitedPage<'_, impl RowMap>,
        first: usize,
        behind: impl Iterator<Item = usize> + Clone,
        room: &mut TileRoom,
    ) -> usize {
        let (each, calm) = (self.blocks.len(), self.calm);
        let TileRoom {
            lanes,
            at_start,
            at_visit,
        } = room;
        let [at_start, at_visit] = [at_start, at_visit].map(|it| &mut it[..TILE * each]);
        let rows: [_; TILE] = std::array::from_fn(|n| page.row(first + n));
        // the rows in the same places of the next tile, and of the one behind it
        let mut coming: [_; TILE] = std::array::from_fn(|n| {
            let words = |slot| page.stored.peek_words(slot);
            let [near, far] = [n, TILE + n].map(|n| behind.clone().nth(n).map_or(&[][..], words));
            Coming::new(near, far)
        });
        let (now, later) = coming.split_at_mut(TILE / 2);
        K::apart(TileScores {
            matrix: &self.start.w,
            rows: &rows,
            intercept: self.intercept,
            lanes,
            coming: now,
            out: at_start,
        });
        if calm {
            K::apart(TileScores {
                matrix: &self.w,
                rows: &rows,
                intercept: self.intercept,
                lanes,
                coming: later,
                out: at_visit,
            });
        }
        self.moved.fill(0);
        let mut values = 0;
        for (n, row) in rows.iter().enumerate() {
            values += row.values();
            self.look();
            self.prefetch_next_alpha(first + n);
            let own = n * each..(n + 1) * each;
            let known = Known {
                at_start: Some(&at_start[own.clone()]),
                at_visit: calm.then_some(&at_visit[own]),
                ..self.known::<K, true>(row)
            };
            self.visit::<K, L, true>(loss, row, known, &mut coming[n]);
            coming[n].rest();
        }
        values
    }

    /// Asks for the weights that a visit of a row with these sparse entries needs, where they are scattered.
    #[inline(always)]
    pub(super) fn ask_for<const FULL: bool>(&self, entries: &[[u32; 2]]) {
        self.w.ask(entries);
        if FULL && !self.start.is_zero {
            self.start.w.ask(entries);
        }
    }

    /// Asks for the dual variables of the row behind this one.
    #[inline(always)]
    fn prefetch_next_alpha(&self, slot: usize) {
        let next = (slot + 1).min(self.facts.rows - 1);
        prefetch(&self.alpha[next * self.width..], 1);
    }

    /// Asks for the dual variables of these rows.
    #[inline(always)]
    fn prefetch_alpha(&self, first: usize, mut rows: u32) {
        while rows != 0 {
            let slot = first + rows.trailing_zeros() as usize;
            rows &= rows - 1;
            prefetch(&self.alpha[slot * self.width..], 1);
        }
    }

    /// What is known of a row by itself.
    #[inline(always)]
    fn known<K: Isa, const FULL: bool>(&self, row: &Row<'_>) -> Known<'static> {
        Known {
            norm: if FULL { self.norm::<K>(row) } else { None },
            at_start: None,
            at_visit: None,
        }
    }

    /// Visits a row and asks for the one that is `coming` meanwhile; see [`RowOutcome::held`] for what comes back.
    #[inline(always)]
    fn visit<K: Isa, L: LossFunction, const FULL: bool>(
        &mut self,
        loss: L,
        row: &Row<'_>,
        known: Known<'_>,
        coming: &mut Coming<'_>,
    ) -> Lanes {
        K::apart(Visit::<L, FULL> {
            joint: self,
            loss,
            row,
            known,
            coming,
        })
    }

    /// [`Self::visit`], where it is compiled.
    #[inline(always)]
    fn visit_blocks<K: Isa, L: LossFunction, const FULL: bool>(
        &mut self,
        loss: L,
        row: &Row<'_>,
        known: Known<'_>,
        coming: &mut Coming<'_>,
    ) -> Lanes {
        self.face(row.group());
        let mut seen = RowOutcome {
            active: false,
            held: [f32::INFINITY; LANES],
        };
        let mut block = 0;
        while block < self.blocks.len() {
            let two = block + 1 < self.blocks.len();
            match (self.wanted::<FULL>(row, block), two) {
                (0, _) => block += 1,
                (_, true) if self.wanted::<FULL>(row, block + 1) != 0 => {
                    self.visit_lanes::<K, L, FULL, 2>(loss, row, known, block, &mut seen, coming);
                    block += 2;
                }
                _ => {
                    self.visit_lanes::<K, L, FULL, 1>(loss, row, known, block, &mut seen, coming);
                    block += 1;
                }
            }
        }
        self.all_shrunk.set(row.ordinal(), !seen.active);
        seen.held
    }

    /// The lanes of a block that are to visit a row.
    #[inline(always)]
    fn wanted<const FULL: bool>(&self, row: &Row<'_>, block: usize) -> u8 {
        let running = self.blocks[block].running;
        if FULL {
            running
        } else {
            running & !self.shrunk[row.ordinal() * self.width + block]
        }
    }

    /// Visits a row with the lanes of N blocks.
    #[inline(always)]
    fn visit_lanes<K: Isa, L: LossFunction, const FULL: bool, const N: usize>(
        &mut self,
        loss: L,
        row: &Row<'_>,
        known: Known<'_>,
        block: usize,
        seen: &mut RowOutcome,
        coming: &mut Coming<'_>,
    ) {
        let wanted: [u8; N] = std::array::from_fn(|n| self.wanted::<FULL>(row, block + n));
        let (score, at_start) = self.scores::<K, FULL, N>(row, known, block, wanted, coming);
        for n in 0..N {
            let facing = Facing {
                signs: self.signs.of(block + n),
                cost: row.cost(),
                offset: row.offset(),
                lanes: wanted[n],
            };
            let place = row.ordinal() * self.width + block + n;
            let own = &mut self.blocks[block + n];
            let alpha = &mut self.alpha[place];
            let shrunk = &mut self.shrunk[place];
            let row_terms = own.look::<K::Eight, L, FULL>(loss, facing, &score[n], alpha, shrunk);
            let held = K::Eight::load(&seen.held);
            held.least(row_terms.held).store(&mut seen.held);
            seen.active |= own.running & !*shrunk != 0;
            if row_terms.moving != 0 {
                self.moved[block + n] |= row_terms.moving;
                let one = self.intercept;
                let damp = self.metric.as_ref().map(|metric| &metric.damp);
                let curvature = match damp {
                    None => own.curvature(row.q() + one),
                    Some(damp) => damp.squares::<K>(row, one, block + n, row_terms.moving),
                };
                let mut scales = own.step(loss, facing, &row_terms, &curvature, alpha);
                if let (false, Some(exact_v)) = (FULL, &mut self.exact_v) {
                    exact_v.add_step::<K>(row, one, block + n, &scales);
                }
                if damp.is_none() {
                    scales = std::array::from_fn(|k| scales[k] * own.damp()[k]);
                }
                self.w.add::<K>(row, one, block + n, &scales, damp);
            }
            if FULL {
                own.measure::<K::Eight, L>(
                    loss,
                    facing,
                    &at_start[n],
                    &score[n],
                    alpha,
                    known.norm,
                );
                if let Some(exact_v) = &mut self.exact_v {
                    let held = facing.signed::<K::Eight>(alpha);
                    exact_v.add_row::<K>(row, self.intercept, block + n, &held);
                }
            }
        }
    }

    /// Scores of a row in the lanes of N blocks: at the present weights, and where they are asked for or known at those of
    /// the full pass's start.
    #[inline(always)]
    fn scores<K: Isa, const FULL: bool, const N: usize>(
        &self,
        row: &Row<'_>,
        known: Known<'_>,
        block: usize,
        wanted: [u8; N],
        coming: &mut Coming<'_>,
    ) -> ([Lanes; N], [Lanes; N]) {
        let of = |all: &[Lanes]| -> [Lanes; N] { std::array::from_fn(|n| all[block + n]) };
        let at_zero = [[row.offset() as f32; LANES]; N];
        match (known.at_start, known.at_visit) {
            (None, _) if FULL && !self.start.is_zero => {
                let both = [&self.w, &self.start.w];
                let [now, at_start] = self.products::<K, N, 2>(both, row, block, wanted, coming);
                (now, at_start)
            }
            (start, None) => {
                let [score] = self.products::<K, N, 1>([&self.w], row, block, wanted, coming);
                (score, start.map_or(at_zero, of))
            }
            (start, Some(at_visit)) => {
                let mut score = of(at_visit);
                let stale: [u8; N] = std::array::from_fn(|n| wanted[n] & self.moved[block + n]);
                if stale != [0; N] {
                    let [anew] = self.products::<K, N, 1>([&self.w], row, block, stale, coming);
                    for n in 0..N {
                        for k in (0..LANES).filter(|k| stale[n] >> k & 1 != 0) {
                            score[n][k] = anew[n][k];
                        }
                    }
                }
                (score, start.map_or(at_zero, of))
            }
        }
    }

    /// [`Scores`] of a row in these matrices.
    #[inline(always)]
    fn products<K: Isa, const N: usize, const M: usize>(
        &self,
        matrices: [&Matrix; M],
        row: &Row<'_>,
        block: usize,
        wanted: [u8; N],
        coming: &mut Coming<'_>,
    ) -> [[Lanes; N]; M] {
        K::apart(Scores {
            matrices,
            row,
            intercept: self.intercept,
            block,
            wanted,
            coming,
        })
    }

    /// |x|^2 in the norm of the shift: x' M^-1 x, intercept included; in a metric, of some rows only.
    #[inline(always)]
    fn norm<K: Isa>(&self, row: &Row<'_>) -> Option<f32> {
        let Some(metric) = &self.metric else {
            return Some(row.q() + self.intercept);
        };
        if !row.ordinal().is_multiple_of(NORM_SAMPLE) {
            return None;
        }
        let (dense, inverse) = (row.dense(), &metric.inverse);
        let mut norm = self.intercept;
        if !dense.is_empty() {
            let inverse = &inverse[..dense.len()];
            norm += f32::dot_damped_dense::<K>(dense, inverse, inverse).1 as f32;
        }
        norm += f32::dot_damped_sparse::<K>(row.sparse(), inverse, inverse).1 as f32;
        Some(norm)
    }

    /// Scores of a row at the weights of the pass's start, or at those being verified.
    #[inline(always)]
    pub(super) fn score_start<K: Isa>(&self, row: &Row<'_>, block: usize, wanted: u8) -> Lanes {
        let (start, none) = ([&self.start.w], &mut Coming::none());
        let [[scores]] = self.products::<K, 1, 1>(start, row, block, [wanted], none);
        scores
    }

    #[inline(always)]
    fn measure_row<K: Isa, L: LossFunction>(&mut self, loss: L, row: &Row<'_>) {
        self.face(row.group());
        for block in 0..self.blocks.len() {
            let wanted = self.blocks[block].running;
            let at_start = if self.start.is_zero {
                [row.offset() as f32; LANES]
            } else {
                self.score_start::<K>(row, block, wanted)
            };
            let facing = Facing {
                signs: self.signs.of(block),
                cost: row.cost(),
                offset: row.offset(),
                lanes: wanted,
            };
            let none = [0.0; LANES];
            self.blocks[block]
                .measure::<K::Eight, L>(loss, facing, &at_start, &at_start, &none, None);
            if let Some(exact_v) = &mut self.exact_v {
                let alpha = &self.alpha[row.ordinal() * self.width + block];
                let held = facing.signed::<K::Eight>(alpha);
                exact_v.add_row::<K>(row, self.intercept, block, &held);
            }
        }
    }
}
