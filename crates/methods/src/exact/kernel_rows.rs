//! Kernel rows of candidates, each k(x_i, x_j) over all candidates j, as many as memory holds. The one that was not used for
//! longest is dropped. Rows that are missing are computed together, as products of blocks.

use crate::base::memory::{filled, OutOfMemory, Room as _};
use crate::exact::candidates::Candidates;
use crate::exact::effort;

/// No slot.
const NONE: u32 = u32::MAX;

pub(super) struct KernelRows {
    /// Numbers of a slot; candidates may become so many.
    stride: usize,
    values: Vec<f32>,
    /// By candidate its slot; by slot its candidate, how many of its numbers are known, and when it was last used.
    slots: Vec<u32>,
    owners: Vec<u32>,
    known: Vec<u32>,
    used: Vec<u64>,
    clock: u64,
}

impl KernelRows {
    /// Slots that a working set needs at least.
    pub(super) const LEAST: usize = 64;

    /// With room for so many bytes, of candidates that may become `stride`; the bytes that would do where these do not.
    pub(super) fn new(stride: usize, bytes: usize) -> Result<Result<Self, usize>, OutOfMemory> {
        let row = 4 * stride.max(1);
        let slots = (bytes / row).min(stride);
        if slots < Self::LEAST.min(stride) {
            return Ok(Err(Self::LEAST * row));
        }
        Ok(Ok(Self {
            stride,
            values: Vec::new(),
            slots: filled(NONE, stride)?,
            owners: filled(NONE, slots)?,
            known: filled(0, slots)?,
            used: filled(0, slots)?,
            clock: 0,
        }))
    }

    /// Gives its memory back: no row is there.
    pub(super) fn release(&mut self) {
        self.values = Vec::new();
        self.slots.fill(NONE);
        self.owners.fill(NONE);
        self.known.fill(0);
    }

    /// As many candidates as there may become.
    pub(super) fn candidates(&self) -> usize {
        self.stride
    }

    /// How many it can hold.
    pub(super) fn capacity(&self) -> usize {
        self.owners.len()
    }

    /// Whether the row of a candidate is there, whole.
    pub(super) fn has(&self, candidate: usize, candidates: usize) -> bool {
        match self.slots[candidate] {
            NONE => false,
            slot => self.known[slot as usize] as usize == candidates,
        }
    }

    /// The row of a candidate that [`Self::bring`] has brought.
    pub(super) fn row(&self, candidate: usize, candidates: usize) -> &[f32] {
        let slot = self.slots[candidate] as usize;
        &self.values[slot * self.stride..][..candidates]
    }

    /// Brings the rows of these candidates, no more than fit. Gives back the seconds that it takes, about.
    pub(super) fn bring(
        &mut self,
        wanted: &[u32],
        candidates: &Candidates,
    ) -> Result<f64, OutOfMemory> {
        self.clock += 1;
        let mut missing = Vec::new();
        for candidate in wanted {
            match self.slots[*candidate as usize] {
                NONE => missing.room(1)?.push(*candidate),
                slot => self.used[slot as usize] = self.clock,
            }
        }
        let mut free = self.longest_unused(missing.len())?;
        for candidate in missing {
            let Some(slot) = free.pop() else { break };
            let before = self.owners[slot as usize];
            if before != NONE {
                self.slots[before as usize] = NONE;
            }
            self.owners[slot as usize] = candidate;
            self.known[slot as usize] = 0;
            self.used[slot as usize] = self.clock;
            self.slots[candidate as usize] = slot;
        }
        self.complete(wanted, candidates)
    }

    /// So many slots that nobody has used since longer than all others.
    fn longest_unused(&mut self, count: usize) -> Result<Vec<u32>, OutOfMemory> {
        let mut all: Vec<u32> = Vec::new();
        if count == 0 {
            return Ok(all);
        }
        let slots = 0..self.owners.len() as u32;
        let clock = self.clock;
        all.room(self.owners.len())?
            .extend(slots.filter(|slot| self.used[*slot as usize] < clock));
        if count < all.len() {
            all.select_nth_unstable_by_key(count, |slot| self.used[*slot as usize]);
            all.truncate(count);
        }
        let last = all.iter().max().map_or(0, |slot| *slot as usize + 1) * self.stride;
        if last > self.values.len() {
            let more = last - self.values.len();
            self.values.room(more)?.resize(last, 0.0);
        }
        Ok(all)
    }

    /// Computes what is not known of the rows of these candidates, segment after segment.
    fn complete(&mut self, wanted: &[u32], candidates: &Candidates) -> Result<f64, OutOfMemory> {
        let mut seconds = 0.0;
        for (first, end) in candidates.segments() {
            let lacking = |candidate: &&u32| {
                let slot = self.slots[**candidate as usize];
                slot != NONE && (self.known[slot as usize] as usize) == first
            };
            let mut block: Vec<u32> = Vec::new();
            block
                .room(wanted.len())?
                .extend(wanted.iter().filter(lacking));
            if block.is_empty() || first == end {
                continue;
            }
            let mut out = filled(0.0f32, block.len() * (end - first))?;
            candidates.kernel_values(&block, first, &mut out)?;
            seconds += effort::values(out.len(), candidates.width());
            for (candidate, values) in block.iter().zip(out.chunks_exact(end - first)) {
                let slot = self.slots[*candidate as usize] as usize;
                self.values[slot * self.stride + first..][..end - first].copy_from_slice(values);
                self.known[slot] = end as u32;
            }
        }
        Ok(seconds)
    }
}
