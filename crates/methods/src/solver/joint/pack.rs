//! Lanes given up: those of heads that have ended, or all of them.

use super::JointHeads;
use crate::base::interrupts;
use crate::base::memory::{filled, gathered, OutOfMemory, Room};
use crate::objective::minimized::Intercept;
use crate::simd::lanes::{Lanes, LANES};
use crate::simd::Real;
use crate::solver::joint::lanes::LaneBlock;
use crate::solver::single::head::Head;

/// A row's lanes in their old order.
struct Unpacked {
    alpha: Vec<Lanes>,
    shrunk: Vec<u8>,
}

impl JointHeads {
    /// Packs the lanes of running heads together once a block can go.
    pub(super) fn pack(&mut self) -> Result<(), OutOfMemory> {
        let running = self.running().count();
        let blocks = running.div_ceil(LANES);
        if blocks >= self.blocks.len() || blocks == 0 {
            return Ok(());
        }
        // the dual variables of heads that have ended go behind those of running ones
        let runs = |lane: &usize| self.running_at(*lane).is_some();
        let lanes = 0..self.head_of.len();
        let ended = lanes.clone().filter(|lane| !runs(lane));
        let order = gathered(lanes.filter(runs).chain(ended))?;
        let kept = &order[..running];
        let mut before = Unpacked {
            alpha: filled([0.0; LANES], self.width)?,
            shrunk: filled(0, self.width)?,
        };
        for row in 0..self.facts.rows {
            interrupts::check();
            self.pack_row(row, &order, &mut before);
        }
        if let Some(metric) = &mut self.metric {
            metric.moment.keep(kept, blocks * LANES);
            metric.damp.keep(kept, blocks * LANES);
        }
        self.w.keep(kept, blocks * LANES);
        self.z.keep(kept, blocks * LANES);
        self.start.w.keep(kept, blocks * LANES);
        self.best.keep(kept, blocks * LANES);
        // lanes move down only
        for (new, &old) in kept.iter().enumerate() {
            self.kappa[new] = self.kappa[old];
        }
        self.kappa.truncate(blocks * LANES);
        self.kappa[running..].fill(0.0);
        self.head_of = gathered(order.iter().map(|&lane| self.head_of[lane]))?;
        for (lane, &head) in self.head_of.iter().enumerate() {
            self.lane_of[head] = lane;
        }
        self.blocks.truncate(blocks);
        self.blocks.fill(LaneBlock::EMPTY);
        self.list_signs()
    }

    /// Brings one row's dual variables and bits into a new order of lanes: those at `order[0]`, `order[1]`, …
    fn pack_row(&mut self, row: usize, order: &[usize], before: &mut Unpacked) {
        let lanes = row * self.width..(row + 1) * self.width;
        for alpha in [&mut self.alpha, &mut self.best_duals] {
            let alpha = &mut alpha[lanes.clone()];
            before.alpha.copy_from_slice(alpha);
            for (new, &old) in order.iter().enumerate() {
                alpha[new / LANES][new % LANES] = before.alpha[old / LANES][old % LANES];
            }
        }
        let shrunk = &mut self.shrunk[lanes];
        before.shrunk.copy_from_slice(shrunk);
        shrunk.fill(0);
        for (new, &old) in order.iter().enumerate() {
            let bit = before.shrunk[old / LANES] >> (old % LANES) & 1;
            shrunk[new / LANES] |= bit << (new % LANES);
        }
    }

    /// The same heads, each by itself from now on.
    pub(in crate::solver) fn part<T: Real>(&mut self) -> Result<Vec<Head<T>>, OutOfMemory> {
        let states = std::mem::take(&mut self.states);
        let intercept = Intercept::in_norm(self.intercept > 0.0);
        let mut heads = Vec::new();
        heads.room(states.len())?;
        for (head, state) in states.into_iter().enumerate() {
            interrupts::check();
            let lane = self.lane_of[head];
            let mut own = Head::new(&self.specs[head], state, intercept, &self.facts)?;
            if own.state.runs() {
                let columns = [&self.w, &self.z].map(|matrix| matrix.column(lane).iter());
                own.iterate.take_over(columns);
            }
            for (own, all) in [
                (&mut own.alpha, &self.alpha),
                (&mut own.best_duals, &self.best_duals),
            ] {
                let duals = all.as_flattened()[lane..].iter();
                for (own, alpha) in own.iter_mut().zip(duals.step_by(self.width * LANES)) {
                    *own = *alpha;
                }
            }
            for (own, best) in own.best_w.iter_mut().zip(self.column(head).iter()) {
                *own = T::of(f64::from(best));
            }
            heads.push(own);
        }
        Ok(heads)
    }
}
