//! A head's turn: its active passes without the other heads.
//!
//! Once most rows are in the active sets of one head or two, reading them for all heads together saves little, while the rows of one head
//! stay in the processor's caches from pass to pass. During its turn a head is held as a single one: its weights, dual variables and shrunk
//! bits lie contiguously, and [`crate::solver::visit::visitor`] visits rows. After the turn they go back to the head's lane.

use super::turn_state::Turn;
use super::JointHeads;
use crate::base::interrupts;
use crate::base::memory::{copied, OutOfMemory};
use crate::base::zeros::zeros;
use crate::objective::minimized::Intercept;
use crate::rows::blocks::Blocks;
use crate::rows::map::RowMap;
use crate::simd::lanes::LANES;
use crate::simd::Isa;
use crate::solver::certificate::state::HeadState;
use crate::solver::proximal::iterate::Iterate;
use crate::solver::visit::active::nothing_shrunk;
use crate::solver::visit::per_row::Dual;
use crate::solver::visit::visitor::{between_sides, HeadView};

/// The rows of the bits set in the `n`-th word.
fn ones(mut word: u64, n: usize) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = word.trailing_zeros() as usize;
        (word != 0).then(|| {
            word &= word - 1;
            64 * n + first
        })
    })
}

/// The lowest bit of each of eight bytes.
fn bits_of(bytes: u64) -> u8 {
    // byte n's goes to bit 56 + n, and no two meet
    ((bytes & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// Bits of up to 64 rows that are active in lane k of a block: not its bit in the row's byte of that block, of `width` bytes.
fn active_bits(shrunk: &[u8], width: usize, (block, k): (usize, usize)) -> u64 {
    let mut active = 0;
    for (place, lanes) in shrunk.chunks(8 * width).enumerate() {
        let mut bytes = [u8::MAX; 8];
        for (byte, lanes) in bytes.iter_mut().zip(lanes.chunks_exact(width)) {
            *byte = lanes[block];
        }
        active |= u64::from(bits_of(!u64::from_le_bytes(bytes) >> k)) << (8 * place);
    }
    active
}

impl JointHeads {
    /// What a pass of all of them would visit.
    pub(super) fn active_visits(&self) -> u64 {
        let mut visits = 0;
        for n in 0..self.facts.rows.div_ceil(64) {
            interrupts::check();
            for row in ones(self.active_word(n), n) {
                let lanes = self.blocks.iter().zip(&self.shrunk[row * self.width..]);
                let lanes = lanes.map(|(block, shrunk)| (block.running & !shrunk).count_ones());
                visits += u64::from(lanes.sum::<u32>());
            }
        }
        visits
    }

    /// The next head's turn, its number given back, or nobody's behind the last.
    pub(in crate::solver) fn turn_to_next(&mut self) -> Result<Option<usize>, OutOfMemory> {
        let after = self.turn.as_ref().map_or(0, |turn| turn.lane + 1);
        let mut lanes = self.running().map(|(lane, _)| lane);
        let next = lanes.find(|&lane| lane >= after);
        drop(lanes);
        let Some(lane) = next else {
            self.end_all_turns();
            return Ok(None);
        };
        let (alpha, shrunk, norms) = match self.put_back() {
            Some(mut held) => {
                held.norms[held.lane] = held.iterate.norms();
                (held.alpha, held.shrunk, held.norms)
            }
            None => {
                let rows = self.facts.rows;
                let norms = copied(self.take_norms())?;
                (zeros(rows)?, nothing_shrunk(rows)?, norms)
            }
        };
        let iterate = self.iterate(lane)?;
        let mut turn = Turn {
            lane,
            iterate,
            alpha,
            shrunk,
            norms,
            signs: self.specs[self.head_of[lane]]
                .signs
                .list(self.facts.groups)?,
        };
        let (block, k) = (lane / LANES, lane % LANES);
        for n in 0..self.facts.rows.div_ceil(64) {
            let active = self.active_in(lane, n);
            turn.shrunk.set_word(n, !active);
            for row in ones(active, n) {
                turn.alpha[row] = self.alpha[row * self.width + block][k];
            }
        }
        self.turn = Some(turn);
        Ok(Some(self.head_of[lane]))
    }

    /// The state of the head whose turn it is.
    pub(in crate::solver) fn in_turn(&self) -> Option<&HeadState> {
        let turn = self.turn.as_ref()?;
        Some(&self.states[self.head_of[turn.lane]])
    }

    /// Bits of the rows `64 n..64 (n + 1)` that are active in this lane.
    fn active_in(&self, lane: usize, n: usize) -> u64 {
        let rows = 64 * n..self.facts.rows.min(64 * (n + 1));
        let shrunk = &self.shrunk[rows.start * self.width..rows.end * self.width];
        active_bits(shrunk, self.width, (lane / LANES, lane % LANES))
    }

    /// The weights of a lane as a head by itself holds them.
    fn iterate(&self, lane: usize) -> Result<Iterate<f32>, OutOfMemory> {
        let size = (self.facts.features, self.facts.dense);
        let intercept = Intercept::in_norm(self.intercept > 0.0);
        let mut iterate = Iterate::new(size, intercept, self.kappa[lane])?;
        if let Some(metric) = &self.metric {
            let mut moment: Vec<f32> = zeros(self.facts.features + 1)?;
            metric.moment.column(lane).copy_to(&mut moment);
            iterate.stay_in(self.kappa[lane], &moment)?;
        }
        iterate.take_over([&self.w, &self.z].map(|matrix| matrix.column(lane).iter()));
        Ok(iterate)
    }

    /// Brings what the turn has changed to its head's lane, and ends it.
    fn put_back(&mut self) -> Option<Turn> {
        let turn = self.turn.take()?;
        let (block, k) = (turn.lane / LANES, turn.lane % LANES);
        for n in 0..self.facts.rows.div_ceil(64) {
            for row in ones(self.active_in(turn.lane, n), n) {
                let place = row * self.width + block;
                self.shrunk[place] |= u8::from(turn.shrunk.get(row)) << k;
                self.alpha[place][k] = turn.alpha[row];
            }
        }
        self.w.put(turn.lane, turn.iterate.weights());
        self.z.put(turn.lane, turn.iterate.centre());
        Some(turn)
    }

    /// Nobody's turn any more.
    pub(super) fn end_all_turns(&mut self) {
        if self.put_back().is_some() {
            self.set_damp();
            self.arm();
        }
    }

    /// Visits the rows of these blocks in the active set of the head whose turn it is. Gives back the values visited.
    #[inline(always)]
    pub(super) fn visit_in_turn<K: Isa>(&mut self, blocks: Blocks<'_, impl RowMap>) -> usize {
        let Some(turn) = &mut self.turn else {
            return 0;
        };
        let head = self.head_of[turn.lane];
        let state = &mut self.states[head];
        let (u, form) = turn.iterate.view();
        let view = HeadView {
            outliers: None,
            positive: None,
            signs: &turn.signs,
            terms: state.ledger.terms,
            limits: state.limits,
            alpha: Dual::share(&mut turn.alpha),
            shrunk: &turn.shrunk,
            start: None,
            form,
            between_sides: between_sides(&self.facts),
        };
        view.visit_blocks::<K, false>(blocks, (u, 1.0), &mut state.sums, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_bits_of_eight_bytes_come_in_their_order() {
        for bits in 0..=u8::MAX {
            let bytes = std::array::from_fn(|n| 0xa6 | bits >> n & 1);
            assert_eq!(bits_of(u64::from_le_bytes(bytes)), bits);
        }
    }

    #[test]
    fn a_lane_knows_its_active_set_whatever_the_number_of_rows() {
        for (width, block, k) in [(1, 0, 0), (2, 1, 7), (3, 1, 4)] {
            for rows in 0..=64 {
                let byte = |n: usize| (n * 37 + n / 5) as u8;
                let shrunk: Vec<u8> = (0..rows * width).map(byte).collect();
                let active = |row: &usize| byte(row * width + block) >> k & 1 == 0;
                let found = active_bits(&shrunk, width, (block, k));
                assert!(ones(found, 0).eq((0..rows).filter(active)));
            }
        }
    }

    #[test]
    fn ones_are_the_rows_of_a_word() {
        assert!(ones(0, 3).next().is_none());
        assert!(ones(1 << 63 | 0b101, 2).eq([128, 130, 191]));
    }
}
