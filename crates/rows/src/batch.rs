//! Rows one behind the other, as they arrive.

use crate::row::Row;

/// The stored rows in some words.
#[derive(Clone)]
pub struct Batch<'a> {
    rest: &'a [u32],
    dense: usize,
}

impl<'a> Batch<'a> {
    #[inline(always)]
    pub fn new(words: &'a [u32], dense: usize) -> Self {
        Self { rest: words, dense }
    }

    /// The row that comes next, which stays the next.
    #[inline(always)]
    pub fn peek(&self) -> Option<Row<'a>> {
        (!self.rest.is_empty()).then(|| Row::new(self.rest, self.dense))
    }
}

impl<'a> Iterator for Batch<'a> {
    type Item = Row<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Row<'a>> {
        let row = self.peek()?;
        self.rest = &self.rest[row.values()..];
        Some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{row_words, write, RowHead};

    #[test]
    fn a_batch_gives_its_rows_in_order_and_shows_the_next() {
        let mut words = Vec::new();
        for ordinal in 0..3 {
            let start = words.len();
            words.resize(start + row_words(2, ordinal), 0);
            let head = RowHead {
                offset: None,
                ordinal: ordinal as u32,
                group: 1,
                cost: 1.0,
            };
            let entries = (0..ordinal as u32).map(|feature| (2 + feature, 0.5));
            write(&mut words[start..], head, 2, entries);
        }
        let mut batch = Batch::new(&words, 2);
        for ordinal in 0..3 {
            assert_eq!(batch.peek().map(|row| row.ordinal()), Some(ordinal));
            let row = batch.next().map(|row| (row.ordinal(), row.sparse().len()));
            assert_eq!(row, Some((ordinal, ordinal)));
        }
        assert!(batch.peek().is_none() && batch.next().is_none());
    }
}
