//! The scaled rows that a reader has left in its cache or spool, read in the order in which they were read, as often as
//! needed.

use crate::base::step::Step;
use crate::cache::{Arena, Consumer, Ends, TrainerSide, Waiting};
use crate::reader::{ReadError, Reader};
use crate::rows::batch::Batch;
use crate::rows::facts::Facts;
use crate::rows::page::Page;
use crate::rows::row::Row;
use crate::rows::source::{Source, Spool};

/// Rows that the reader brings at a time.
const BROUGHT: usize = 1024;

pub struct Stored {
    pub facts: Facts,
    place: StoredPlace,
}

enum StoredPlace {
    /// In the cache, from this slot on.
    Resident(Arena, usize),
    /// Coming through the ring; so many words of the batch in front have been read.
    Streaming(Consumer, usize),
}

/// What has become of the trainer's side of the reader's cache.
// there is one at a time, and it is taken apart at once
#[allow(clippy::large_enum_variant)]
pub enum Polled {
    Waiting(Waiting),
    Stored(Stored),
    /// The reader has failed.
    Failed,
}

impl Stored {
    /// The rows, once the reader has seen them all. It must keep their order, see [`Reader::keep_order`].
    pub fn poll(waiting: Waiting) -> Polled {
        let (facts, place) = match waiting.poll() {
            TrainerSide::Waiting(waiting) => return Polled::Waiting(waiting),
            TrainerSide::Ended => return Polled::Failed,
            TrainerSide::Resident(facts, arena) => (facts, StoredPlace::Resident(arena, 0)),
            TrainerSide::Streaming(facts, _, consumer) => {
                (facts, StoredPlace::Streaming(consumer, 0))
            }
        };
        Polled::Stored(Self { facts, place })
    }

    /// Reads up to `most` rows; true behind the last one, after which it begins again.
    pub fn go_on<S: Source, P: Spool, E>(
        &mut self,
        reader: &mut Reader<S, P>,
        most: usize,
        mut look: impl FnMut(Row<'_>) -> Result<(), E>,
    ) -> Result<bool, GoError<S::Error, P::Error, E>> {
        if self.facts.rows == 0 {
            return Ok(true);
        }
        let (dense, rows) = (self.facts.dense, self.facts.rows);
        match &mut self.place {
            StoredPlace::Resident(arena, slot) => {
                let page = Page::new(arena.words(), dense);
                let end = rows.min(*slot + most);
                for row in (*slot..end).filter_map(|slot| page.row(slot)) {
                    look(row).map_err(GoError::Look)?;
                }
                *slot = if end < rows { end } else { 0 };
                Ok(end == rows)
            }
            StoredPlace::Streaming(consumer, at) => {
                let mut left = most;
                while left > 0 {
                    let Some(batch) = consumer.front() else {
                        if reader.step(BROUGHT).map_err(GoError::Read)? != Step::Progress {
                            return Err(GoError::Read(ReadError::SpoolCorrupt));
                        }
                        continue;
                    };
                    for row in Batch::new(&batch.words[*at..], dense).take(left) {
                        *at += row.values();
                        left -= 1;
                        look(row).map_err(GoError::Look)?;
                    }
                    if *at < batch.words.len() {
                        continue;
                    }
                    let ends = batch.ends;
                    consumer.release();
                    *at = 0;
                    if ends == Ends::Pass {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }
}

/// Why reading rows ended early.
pub enum GoError<S, P, E> {
    Read(ReadError<S, P>),
    Look(E),
}
