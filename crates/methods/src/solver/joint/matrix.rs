//! A number for each feature and head: the weights of many heads, in the order in which rows meet them.
//!
//! A row's dense part meets the weights of one head after the other: each head's own lie one after another. Its sparse
//! entries meet few features: there the weights of all heads for one feature lie side by side, a lane a head, and so
//! do, behind the last feature, those of the intercept.

use crate::base::interrupts;
use crate::base::memory::{filled, OutOfMemory};
use crate::base::prefetch::{prefetch_weights, LINE_BYTES};
use crate::base::zeros::Lined;
use crate::rows::row::Row;
use crate::simd::entries::{dots, tile, Entries, LanePlace, AT_ONCE, TILE, TILE_HEADS};
use crate::simd::lanes::{Lanes, LANES};
use crate::simd::{Isa, Next, Real, Work};
use crate::solver::visit::ahead::Coming;
use crate::solver::visit::visitor::scattered;
use crate::solver::weights::Column;

const ONES: Lanes = [1.0; LANES];

/// A number for each lane of a block, in 64 bits.
pub(super) type Wide = [f64; LANES];

pub(super) struct Matrix {
    dense: usize,
    /// From one lane to the next in `front`: whole vectors, zeros behind the dense part.
    pitch: usize,
    stride: usize,
    /// Lane by lane.
    front: Lined<f32>,
    /// Feature by feature.
    rest: Lined<f32>,
}

/// What a sweep sums at most, for each lane.
pub(super) const SUMS: usize = 3;

/// Room for what a sweep sums, made once: nothing is asked for in the midst of a pass.
pub(super) struct SweepSums {
    by_lane: Vec<[f64; SUMS]>,
    by_block: Vec<[Wide; SUMS]>,
}

impl SweepSums {
    /// For sweeps over up to so many lanes, whole blocks.
    pub(super) fn new(lanes: usize) -> Result<Self, OutOfMemory> {
        Ok(Self {
            by_lane: filled([0.0; SUMS], lanes)?,
            by_block: filled([[0.0; LANES]; SUMS], lanes / LANES)?,
        })
    }

    /// Zeros for so many lanes.
    fn begin(&mut self, lanes: usize) -> (&mut [[f64; SUMS]], &mut [[Wide; SUMS]]) {
        let by_lane = &mut self.by_lane[..lanes];
        let by_block = &mut self.by_block[..lanes / LANES];
        by_lane.fill([0.0; SUMS]);
        by_block.fill([[0.0; LANES]; SUMS]);
        (by_lane, by_block)
    }
}

impl Matrix {
    /// Zeros for `features` features, `dense` of them in the dense part, and the intercept; `stride`: lanes, whole
    /// blocks.
    pub(super) fn new(features: usize, dense: usize, stride: usize) -> Result<Self, OutOfMemory> {
        let pitch = dense.next_multiple_of(LINE_BYTES / size_of::<f32>());
        Ok(Self {
            dense,
            pitch,
            stride,
            front: Lined::zeros(pitch * stride)?,
            rest: Lined::zeros((features - dense + 1) * stride)?,
        })
    }

    fn front(&self, lane: usize) -> &[f32] {
        &self.front[lane * self.pitch..][..self.dense]
    }

    #[inline(always)]
    fn entries<'a>(&self, row: &Row<'a>) -> Entries<'a> {
        Entries::new(row.sparse(), self.dense, self.rest.len() / self.stride)
    }

    /// Whether weights of sparse entries are scattered.
    pub(super) fn scattered(&self) -> bool {
        scattered(&self.rest)
    }

    /// Asks for the weights of these sparse entries, where they are scattered.
    #[inline(always)]
    pub(super) fn ask(&self, entries: &[[u32; 2]]) {
        if self.scattered() {
            prefetch_weights(entries, &self.rest, |feature| {
                feature.wrapping_sub(self.dense).wrapping_mul(self.stride)
            });
        }
    }

    /// The weights of one head.
    pub(super) fn column(&self, lane: usize) -> Column<'_> {
        Column {
            front: self.front(lane),
            rest: &self.rest[lane..],
            stride: self.stride,
        }
    }

    /// Calls `change` with eight values at a time, here and in `other`, and with what they need: the `given` numbers of
    /// their lanes, their values `beside` (1 without) and their sums. Gives back the sums by lane.
    #[inline(always)]
    pub(super) fn sweep<'a, const G: usize>(
        &mut self,
        other: &mut Matrix,
        beside: Option<&Matrix>,
        given: [&[f64]; G],
        sums: &'a mut SweepSums,
        change: impl Fn([Wide; G], &Lanes, &mut [Wide; SUMS], &mut Lanes, &mut Lanes),
    ) -> &'a [[f64; SUMS]] {
        let blocks = given.map(|given| given.as_chunks::<LANES>().0);
        let block = |n: usize| blocks.map(|given| given[n]);
        // features of one head
        let pitch = self.pitch.max(1);
        let (by_lane, by_block) = sums.begin(self.stride);
        for (lane, of_lane) in by_lane.iter_mut().enumerate() {
            interrupts::check();
            let given = given.map(|given| [given[lane]; LANES]);
            let mut sum = [[0.0; LANES]; SUMS];
            let own = self.front.chunks_mut(pitch).nth(lane).unwrap_or_default();
            let others = other.front.chunks_mut(pitch).nth(lane).unwrap_or_default();
            let others = others.as_chunks_mut::<LANES>().0;
            let own = own.as_chunks_mut::<LANES>().0.iter_mut().zip(others);
            for (at, (own, other)) in own.enumerate() {
                let beside = beside.map_or(&ONES, |beside| {
                    &beside.front[lane * pitch..].as_chunks::<LANES>().0[at]
                });
                change(given, beside, &mut sum, own, other);
            }
            *of_lane = sum.map(|sum| sum.iter().sum());
        }
        // lanes of one feature
        let width = self.stride / LANES;
        let (own, others) = (&mut self.rest, &mut other.rest);
        let own = own.as_chunks_mut::<LANES>().0.chunks_exact_mut(width);
        let others = others.as_chunks_mut::<LANES>().0.chunks_exact_mut(width);
        for (feature, (own, other)) in own.zip(others).enumerate() {
            interrupts::check();
            for (n, (own, other)) in own.iter_mut().zip(other).enumerate() {
                let beside = beside.map_or(&ONES, |beside| {
                    &beside.rest.as_chunks::<LANES>().0[feature * width + n]
                });
                change(block(n), beside, &mut by_block[n], own, other);
            }
        }
        for (lane, of_lane) in by_lane.iter_mut().enumerate() {
            for (s, sum) in of_lane.iter_mut().enumerate() {
                *sum += by_block[lane / LANES][s][lane % LANES];
            }
        }
        by_lane
    }

    /// Sets one head's values to those in another matrix of the same shape.
    pub(super) fn take(&mut self, lane: usize, from: &Matrix) {
        let front = self.front[lane * self.pitch..][..self.dense].iter_mut();
        let rest = self.rest[lane..].iter_mut().step_by(self.stride);
        for (own, value) in front.chain(rest).zip(from.column(lane).iter()) {
            *own = value;
        }
    }

    /// Sets one head's values.
    pub(super) fn put(&mut self, lane: usize, values: impl IntoIterator<Item = f64>) {
        let front = self.front[lane * self.pitch..][..self.dense].iter_mut();
        let rest = self.rest[lane..].iter_mut().step_by(self.stride);
        for (own, value) in front.chain(rest).zip(values) {
            *own = value as f32;
        }
    }

    /// Sets one head's value of the intercept.
    pub(super) fn put_intercept(&mut self, lane: usize, value: f32) {
        let last = self.rest.len() - self.stride + lane;
        self.rest[last] = value;
    }

    /// Sets one head's w to that of v and z: w (1 + kappa m) = v + kappa m z, m = 1 without `moment`.
    pub(super) fn set(
        &mut self,
        lane: usize,
        v: &[f64],
        z: &Matrix,
        moment: Option<&Matrix>,
        kappa: f64,
    ) {
        let front = self.front[lane * self.pitch..][..self.dense].iter_mut();
        let rest = self.rest[lane..].iter_mut().step_by(self.stride);
        let (z, moment) = (z.column(lane), moment.map(|moment| moment.column(lane)));
        for (j, (w, v)) in front.chain(rest).zip(v).enumerate() {
            let pull = kappa * moment.map_or(1.0, |moment| f64::from(moment.get(j)));
            *w = ((v + pull * f64::from(z.get(j))) / (1.0 + pull)) as f32;
        }
    }

    /// Sets all heads' values of a feature, the intercept's last.
    pub(super) fn fill(&mut self, values: &[f32]) {
        let (front, rest) = values.split_at(self.dense);
        for lane in 0..self.stride {
            interrupts::check();
            self.front[lane * self.pitch..][..self.dense].copy_from_slice(front);
        }
        for (own, value) in self.rest.chunks_exact_mut(self.stride).zip(rest) {
            interrupts::check();
            own.fill(*value);
        }
    }

    /// Keeps these lanes, in ascending order, and no other; `stride`: lanes from now on.
    pub(super) fn keep(&mut self, lanes: &[usize], stride: usize) {
        for (new, &old) in lanes.iter().enumerate() {
            interrupts::check();
            let from = old * self.pitch;
            self.front
                .copy_within(from..from + self.pitch, new * self.pitch);
        }
        self.front.truncate(stride * self.pitch);
        let features = self.rest.len() / self.stride;
        for feature in 0..features {
            interrupts::check();
            for (new, &old) in lanes.iter().enumerate() {
                self.rest[feature * stride + new] = self.rest[feature * self.stride + old];
            }
        }
        self.rest.truncate(features * stride);
        self.stride = stride;
    }

    /// m += scale x for the lanes of a block with a scale other than 0, or, with `damp`, scale damp x; `intercept` is the
    /// constant feature.
    #[inline(always)]
    pub(super) fn add<K: Isa>(
        &mut self,
        row: &Row<'_>,
        intercept: f32,
        block: usize,
        scales: &Lanes,
        damp: Option<&Matrix>,
    ) {
        K::apart(Add {
            matrix: self,
            row,
            intercept,
            block,
            scales,
            damp,
        });
    }

    /// sum m x^2 for the lanes of a block, of the dense part only for those whose bit in `wanted` is set.
    #[inline(always)]
    pub(super) fn squares<K: Isa>(
        &self,
        row: &Row<'_>,
        intercept: f32,
        block: usize,
        wanted: u8,
    ) -> Lanes {
        let (from, dense, stride) = (block * LANES, self.dense, self.stride);
        let entries = self.entries(row);
        let mut sums = entries.squares::<K>(&self.rest, LanePlace { stride, from });
        let last = self.rest.len() - stride + from;
        for (k, sum) in sums.iter_mut().enumerate() {
            *sum += intercept * self.rest[last + k];
            if dense > 0 && wanted >> k & 1 != 0 {
                let own = self.front(from + k);
                *sum += f32::dot_damped_dense::<K>(row.dense(), own, own).1 as f32;
            }
        }
        sums
    }
}

/// The work of [`Matrix::add`].
struct Add<'a> {
    matrix: &'a mut Matrix,
    row: &'a Row<'a>,
    intercept: f32,
    block: usize,
    scales: &'a Lanes,
    damp: Option<&'a Matrix>,
}

impl Work for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let Self {
            matrix,
            row,
            intercept,
            block,
            scales,
            damp,
        } = self;
        let (from, dense, stride) = (block * LANES, matrix.dense, matrix.stride);
        if dense > 0 {
            for (k, &scale) in scales
                .iter()
                .enumerate()
                .filter(|(_, scale)| **scale != 0.0)
            {
                let own = &mut matrix.front[(from + k) * matrix.pitch..][..dense];
                match damp {
                    None => f32::add_dense::<K>(own, scale.into(), row.dense()),
                    Some(damp) => {
                        let values = row.dense().iter().zip(damp.front(from + k));
                        for (own, (x, damp)) in own.iter_mut().zip(values) {
                            *own += scale * damp * x;
                        }
                    }
                }
            }
        }
        let (entries, place) = (matrix.entries(row), LanePlace { stride, from });
        let last = matrix.rest.len() - stride + from;
        match damp {
            None => entries.add::<K>(&mut matrix.rest, place, scales),
            Some(damp) => {
                entries.add_damped::<K>((&mut matrix.rest, &damp.rest), place, scales);
            }
        }
        for (k, &scale) in scales.iter().enumerate() {
            let damp = damp.map_or(1.0, |damp| damp.rest[last + k]);
            matrix.rest[last + k] += intercept * scale * damp;
        }
    }
}

/// <m, x> and offsets of [`TILE`] rows, as [`Scores`]: of each row for one block after the other; of the dense part, for these lanes
/// only. Asks for rows that are `coming` meanwhile, one with each product of four lanes.
pub(super) struct TileScores<'a, 'p> {
    pub(super) matrix: &'a Matrix,
    pub(super) rows: &'a [Row<'a>; TILE],
    pub(super) intercept: f32,
    pub(super) lanes: &'a [usize],
    pub(super) coming: &'a mut [Coming<'p>],
    pub(super) out: &'a mut [Lanes],
}

impl Work for TileScores<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let Self {
            matrix,
            rows,
            intercept,
            lanes,
            coming,
            out,
        } = self;
        let stride = matrix.stride;
        let blocks = stride / LANES;
        let last = &matrix.rest[matrix.rest.len() - stride..];
        for (row, out) in rows.iter().zip(out.chunks_exact_mut(blocks)) {
            let entries = matrix.entries(row);
            for (block, out) in out.iter_mut().enumerate() {
                let from = block * LANES;
                let [[scores]] =
                    entries.scores::<K, 1, 1>([&matrix.rest], LanePlace { stride, from });
                let beside = row.offset() as f32;
                *out = std::array::from_fn(|k| scores[k] + intercept * last[from + k] + beside);
            }
        }
        let x = rows.each_ref().map(|row| row.dense());
        let products = lanes.len().div_ceil(TILE_HEADS);
        let share = TILE.div_ceil(products);
        let mut asking = coming.chunks_mut(share);
        for lanes in lanes.chunks(lanes.len().div_ceil(products)) {
            let mut next = [Next::NONE; TILE];
            for (next, coming) in next.iter_mut().zip(asking.next().unwrap_or_default()) {
                *next = coming.part(1);
            }
            let mut fronts = [&[][..]; TILE_HEADS];
            for (front, &lane) in fronts.iter_mut().zip(lanes) {
                *front = matrix.front(lane);
            }
            let sums = tile::<K>(x, &fronts[..lanes.len()], &next[..share]);
            for (sums, out) in sums.iter().zip(out.chunks_exact_mut(blocks)) {
                for (sum, lane) in sums.iter().zip(lanes) {
                    out[lane / LANES][lane % LANES] += sum;
                }
            }
        }
    }
}

/// <m, x> and the offset in each of M matrices for the lanes of the N blocks from `block`; of the dense part, only for lanes whose bit
/// in `wanted` is set. Asks for the row that is `coming` meanwhile.
pub(super) struct Scores<'a, 'p, const N: usize, const M: usize> {
    pub(super) matrices: [&'a Matrix; M],
    pub(super) row: &'a Row<'a>,
    pub(super) intercept: f32,
    pub(super) block: usize,
    pub(super) wanted: [u8; N],
    pub(super) coming: &'a mut Coming<'p>,
}

impl<const N: usize, const M: usize> Work for Scores<'_, '_, N, M> {
    type Output = [[Lanes; N]; M];

    #[inline(always)]
    fn run<K: Isa>(self) -> [[Lanes; N]; M] {
        let Self {
            matrices,
            row,
            intercept,
            block,
            wanted,
            coming,
        } = self;
        let (dense, stride, from) = (matrices[0].dense, matrices[0].stride, block * LANES);
        let rest = matrices.map(|matrix| &matrix.rest[..]);
        let entries = matrices[0].entries(row);
        let mut scores = entries.scores::<K, N, M>(rest, LanePlace { stride, from });
        let beside = row.offset() as f32;
        for m in 0..M {
            let last = &rest[m][rest[m].len() - stride + from..][..N * LANES];
            for (score, last) in scores[m].as_flattened_mut().iter_mut().zip(last) {
                *score += intercept * last + beside;
            }
        }
        if dense == 0 {
            coming.rest();
            return scores;
        }
        // the products wanted, as places of scores
        let mut places = [(0, 0, 0); AT_ONCE];
        let mut count = 0;
        let lanes: u32 = wanted.into_iter().map(u8::count_ones).sum();
        let mut to_take = M * lanes as usize;
        for m in 0..M {
            for (n, mut left) in wanted.into_iter().enumerate() {
                while left != 0 {
                    places[count] = (m, n, left.trailing_zeros() as usize);
                    left &= left - 1;
                    count += 1;
                    if count == AT_ONCE.min(to_take) {
                        let next = coming.part(to_take.div_ceil(AT_ONCE));
                        let fronts =
                            places.map(|(m, n, k)| matrices[m].front(from + n * LANES + k));
                        let dots = dots::<K>(row.dense(), &fronts[..count], next);
                        for (&(m, n, k), dot) in places[..count].iter().zip(dots) {
                            scores[m][n][k] += dot;
                        }
                        to_take -= count;
                        count = 0;
                    }
                }
            }
        }
        scores
    }
}
