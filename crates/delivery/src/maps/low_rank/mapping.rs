//! Rows on their way through the map, and what it leaves out of them.

use pgsvm_kernels::{LowRank, Room, Rows};

use crate::base::memory::{filled, OutOfMemory, Room as _};
use crate::rows::facts::Facts;
use crate::rows::row::Row;
use crate::rows::source::{Example, RowError};

/// Rows by which it is told what the map leaves out of the kernel, about.
const MEASURED: usize = 30_000;
/// Rows that are mapped at a time, at most.
pub(super) const BLOCK: usize = 256;

/// Rows on their way through the map.
pub(super) struct Mapping {
    rows: Rows,
    heads: Vec<(u32, f32, Option<f64>)>,
    room: Room,
    mapped: Vec<f32>,
    values: Vec<f64>,
    pub(super) mapped_rows: u64,
    /// Of every so many-th row: of k(x, x), and of what phi(x) has of it.
    every: u64,
    trace: f64,
    found: f64,
}

impl Mapping {
    pub(super) fn new(map: &LowRank, facts: &Facts) -> Result<Self, OutOfMemory> {
        let mut heads = Vec::new();
        heads.room(BLOCK)?;
        Ok(Self {
            rows: Rows::new(map.landmarks().rows().width()),
            heads,
            room: Room::default(),
            mapped: filled(0.0, BLOCK * map.rank())?,
            values: filled(0.0, map.rank())?,
            mapped_rows: 0,
            every: facts.rows.div_ceil(MEASURED).max(1) as u64,
            trace: 0.0,
            found: 0.0,
        })
    }

    /// Looks at what the map leaves out of some of the rows at hand.
    pub(super) fn measure(&mut self, map: &LowRank) {
        let rows = self.rows.squares().iter().enumerate();
        for (row, square) in rows {
            if (self.mapped_rows + row as u64).is_multiple_of(self.every) {
                let mapped = &self.mapped[row * map.rank()..][..map.rank()];
                self.trace += map.kernel().own_value(f64::from(*square));
                self.found += mapped
                    .iter()
                    .map(|x| f64::from(*x) * f64::from(*x))
                    .sum::<f64>();
            }
        }
    }

    /// The part of the trace that it leaves out of the rows looked at; None where that is nothing.
    pub(super) fn left_out(&self) -> Option<f64> {
        (self.trace > 0.0).then(|| ((self.trace - self.found) / self.trace).max(0.0))
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.heads.clear();
    }

    pub(super) fn take(&mut self, row: &Row<'_>) -> Result<(), OutOfMemory> {
        self.rows.push(row.dense(), row.sparse())?;
        let offset = row.has_offset().then(|| row.offset());
        let head = (row.group() as u32, row.cost(), offset);
        self.heads.room(1)?.push(head);
        Ok(())
    }

    /// Whether no more rows are to be taken before these are delivered.
    pub(super) fn is_full(&self) -> bool {
        self.heads.len() >= BLOCK
    }

    pub(super) fn deliver(
        &mut self,
        map: &LowRank,
        sink: &mut dyn FnMut(&Example<'_>) -> Result<(), RowError>,
    ) -> Result<(), RowError> {
        let count = self.heads.len() * map.rank();
        map.map(&self.rows, 0, &mut self.room, &mut self.mapped[..count])?;
        self.measure(map);
        let mapped = &self.mapped[..count];
        self.mapped_rows += self.heads.len() as u64;
        for ((group, cost, offset), mapped) in
            self.heads.iter().zip(mapped.chunks_exact(map.rank()))
        {
            for (wide, value) in self.values.iter_mut().zip(mapped) {
                *wide = f64::from(*value);
            }
            sink(&Example {
                group: *group,
                cost: *cost,
                // where classes are balanced nothing else is in it
                rows: f64::from(*cost),
                offset: *offset,
                dense: &self.values,
                sparse_index: &[],
                sparse_value: &[],
                rounded: false,
            })
            .map_err(|error| match error {
                RowError::NonFinite { ordinal, .. } => RowError::Kernel { ordinal },
                error => error,
            })?;
        }
        Ok(())
    }
}
