//! Examples and a spool in the memory of this process: for tests, benchmarks and small tables.

use std::convert::Infallible;

use crate::source::{Example, RowError, Source, Spool};

/// An example that owns its values; see [`Example`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OwnedExample {
    /// Group id.
    pub group: u32,
    /// Weight of this row's loss.
    pub cost: f32,
    /// Label that is a number, or offset.
    pub offset: Option<f64>,
    /// Dense features.
    pub dense: Vec<f64>,
    /// Sparse feature ids, ascending.
    pub sparse_index: Vec<u32>,
    /// Sparse feature values.
    pub sparse_value: Vec<f32>,
}

impl OwnedExample {
    /// A dense example of cost 1.
    pub fn dense(group: u32, dense: Vec<f64>) -> Self {
        Self {
            group,
            cost: 1.0,
            dense,
            ..Self::default()
        }
    }

    /// A sparse example of cost 1.
    pub fn sparse(group: u32, entries: &[(u32, f32)]) -> Self {
        let (sparse_index, sparse_value) = entries.iter().copied().unzip();
        Self {
            group,
            cost: 1.0,
            sparse_index,
            sparse_value,
            ..Self::default()
        }
    }

    /// The same example, borrowed.
    pub fn borrow(&self) -> Example<'_> {
        Example {
            group: self.group,
            cost: self.cost,
            rows: f64::from(self.cost),
            offset: self.offset,
            dense: &self.dense,
            sparse_index: &self.sparse_index,
            sparse_value: &self.sparse_value,
            rounded: false,
        }
    }
}

/// Examples in memory as a source.
pub struct SliceSource<'a> {
    examples: &'a [OwnedExample],
    next: usize,
}

impl<'a> SliceSource<'a> {
    /// Delivers `examples` in order.
    pub fn new(examples: &'a [OwnedExample]) -> Self {
        Self { examples, next: 0 }
    }
}

impl Source for SliceSource<'_> {
    type Error = RowError;

    fn fetch(
        &mut self,
        rows: usize,
        sink: &mut dyn FnMut(&Example<'_>) -> Result<(), RowError>,
    ) -> Result<bool, RowError> {
        let end = (self.next + rows).min(self.examples.len());
        for example in &self.examples[self.next..end] {
            sink(&example.borrow())?;
        }
        self.next = end;
        Ok(end < self.examples.len())
    }
}

/// A spool in memory.
#[derive(Debug, Default)]
pub struct MemorySpool {
    bytes: Vec<u8>,
}

impl Spool for MemorySpool {
    type Error = Infallible;

    fn append(&mut self, bytes: &[u8]) -> Result<u64, Infallible> {
        let position = self.bytes.len() as u64;
        self.bytes.extend_from_slice(bytes);
        Ok(position)
    }

    fn read(&mut self, position: u64, bytes: &mut [u8]) -> Result<(), Infallible> {
        let from = position as usize;
        bytes.copy_from_slice(&self.bytes[from..from + bytes.len()]);
        Ok(())
    }
}
