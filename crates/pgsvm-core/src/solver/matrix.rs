//! A number for each feature and head: the weights of many heads, in the order in which rows meet them.
//!
//! A row's dense part meets the weights of one head after the other: each head's own lie one after another. Its sparse
//! entries meet few features: there the weights of all heads for one feature lie side by side, a lane a head, and so
//! do, behind the last feature, those of the intercept.

use crate::kernel::lanes::{self, Lanes, LANES};
use crate::kernel::{Kernel, Real};
use crate::row::Row;
use crate::solver::zeros;
use crate::trainer::TrainError;

pub(super) struct Matrix {
    dense: usize,
    stride: usize,
    /// Lane by lane.
    front: Vec<f32>,
    /// Feature by feature.
    rest: Vec<f32>,
}

impl Matrix {
    /// Zeros for `features` features, `dense` of them in the dense part, and the intercept; `stride`: lanes, whole
    /// blocks.
    pub(super) fn new(features: usize, dense: usize, stride: usize) -> Result<Self, TrainError> {
        Ok(Self {
            dense,
            stride,
            front: zeros(dense * stride)?,
            rest: zeros((features - dense + 1) * stride)?,
        })
    }

    fn front(&self, lane: usize) -> &[f32] {
        &self.front[lane * self.dense..][..self.dense]
    }

    /// The weights of one head.
    pub(super) fn column(&self, lane: usize) -> impl Iterator<Item = f32> + '_ {
        let rest = self.rest[lane..].iter().step_by(self.stride);
        self.front(lane).iter().chain(rest).copied()
    }

    /// Calls `change` with each lane and its value here and those in `others`.
    #[inline(always)]
    pub(super) fn change<const N: usize>(
        &mut self,
        mut others: [&mut Matrix; N],
        mut change: impl FnMut(usize, &mut f32, [&mut f32; N]),
    ) {
        for lane in 0..self.stride {
            for j in lane * self.dense..(lane + 1) * self.dense {
                let beside = others.each_mut().map(|other| &mut other.front[j]);
                change(lane, &mut self.front[j], beside);
            }
        }
        for first in (0..self.rest.len()).step_by(self.stride) {
            for lane in 0..self.stride {
                let j = first + lane;
                let beside = others.each_mut().map(|other| &mut other.rest[j]);
                change(lane, &mut self.rest[j], beside);
            }
        }
    }

    /// <m, x> of one head, summed in 64 bits.
    #[inline(always)]
    pub(super) fn score(&self, row: &Row<'_>, intercept: f64, lane: usize) -> f64 {
        let last = self.rest.len() - self.stride + lane;
        let mut sum = intercept * f64::from(self.rest[last]);
        for (x, w) in row.dense().iter().zip(self.front(lane)) {
            sum += f64::from(*x) * f64::from(*w);
        }
        for &[feature, bits] in row.sparse() {
            let w = self.rest[(feature as usize - self.dense) * self.stride + lane];
            sum += f64::from(f32::from_bits(bits)) * f64::from(w);
        }
        sum
    }

    /// Sets one head's u = v + kappa z.
    pub(super) fn set(&mut self, lane: usize, v: &[f64], z: &Matrix, kappa: f64) {
        let front = self.front[lane * self.dense..][..self.dense].iter_mut();
        let rest = self.rest[lane..].iter_mut().step_by(self.stride);
        for ((u, z), v) in front.chain(rest).zip(z.column(lane)).zip(v) {
            *u = (v + kappa * f64::from(z)) as f32;
        }
    }

    /// Keeps these lanes, in ascending order, and no other; `stride`: lanes from now on.
    pub(super) fn keep(&mut self, lanes: &[usize], stride: usize) {
        for (new, &old) in lanes.iter().enumerate() {
            let from = old * self.dense;
            self.front
                .copy_within(from..from + self.dense, new * self.dense);
        }
        self.front.truncate(stride * self.dense);
        let features = self.rest.len() / self.stride;
        for feature in 0..features {
            for (new, &old) in lanes.iter().enumerate() {
                self.rest[feature * stride + new] = self.rest[feature * self.stride + old];
            }
        }
        self.rest.truncate(features * stride);
        self.stride = stride;
    }

    /// u += scale x for the lanes of a block with a scale other than 0; `intercept` is the constant feature.
    #[inline(always)]
    pub(super) fn add<K: Kernel>(
        &mut self,
        row: &Row<'_>,
        intercept: f32,
        block: usize,
        scales: &Lanes,
    ) {
        let from = block * LANES;
        if self.dense > 0 {
            for (k, &scale) in scales.iter().enumerate() {
                if scale != 0.0 {
                    let at = (from + k) * self.dense;
                    let own = &mut self.front[at..at + self.dense];
                    f32::add_dense::<K>(own, f64::from(scale), row.dense());
                }
            }
        }
        let (dense, stride) = (self.dense, self.stride);
        lanes::add::<K>(row.sparse(), dense, &mut self.rest, stride, from, scales);
        let last = self.rest.len() - stride + from;
        for (k, &scale) in scales.iter().enumerate() {
            self.rest[last + k] += intercept * scale;
        }
    }
}

/// <m, x> in each of M matrices for the lanes of the N blocks from `block`; of the dense part, only for lanes whose bit
/// in `wanted` is set.
#[inline(always)]
pub(super) fn scores<K: Kernel, const N: usize, const M: usize>(
    matrices: [&Matrix; M],
    row: &Row<'_>,
    intercept: f32,
    block: usize,
    wanted: [u8; N],
) -> [[Lanes; N]; M] {
    let (dense, stride, from) = (matrices[0].dense, matrices[0].stride, block * LANES);
    let rest = matrices.map(|matrix| matrix.rest.as_slice());
    let mut scores = lanes::scores::<K, N, M>(row.sparse(), dense, rest, stride, from);
    for m in 0..M {
        let last = &rest[m][rest[m].len() - stride + from..][..N * LANES];
        for (score, last) in scores[m].as_flattened_mut().iter_mut().zip(last) {
            *score += intercept * last;
        }
    }
    if dense > 0 {
        for n in 0..N {
            let mut left = wanted[n];
            while left != 0 {
                let k = left.trailing_zeros() as usize;
                left &= left - 1;
                let lane = from + n * LANES + k;
                if M == 2 {
                    let (u, w) = (matrices[0].front(lane), matrices[1].front(lane));
                    let two = f32::dot2_dense::<K>(row.dense(), u, w);
                    scores[0][n][k] += two.0 as f32;
                    scores[1][n][k] += two.1 as f32;
                } else {
                    let one = f32::dot_dense::<K>(row.dense(), matrices[0].front(lane));
                    scores[0][n][k] += one as f32;
                }
            }
        }
    }
    scores
}
