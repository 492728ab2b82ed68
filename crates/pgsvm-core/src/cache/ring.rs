//! The ring of batches between the reader's producer and the trainer's consumer, while streaming.
//!
//! Single producer, single consumer, in shared memory. Each end keeps its own position and publishes it; the words
//! between tail and head are the consumer's, the others the producer's.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Cache;
use crate::base::memory::{OutOfMemory, Room};
use crate::rows::row::QUAD;

/// The words between producer and consumer. Positions count words for ever; a position modulo the ring's length is
/// the place. A batch is a header of one quad (payload words, what it ends) and its payload, in one piece: a batch that
/// would cross the end starts at the beginning again, behind a header that says so.
pub(super) struct Ring {
    cache: Cache,
    start: usize,
    length: usize,
}

/// Parts of the ring after which each side hears of the other.
const PORTIONS: usize = 8;

/// Payload length that marks the rest of the ring as skipped.
const SKIP: u32 = u32::MAX;

/// What a batch is the last of. Rows that are not split into blocks are one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Ends {
    Nothing = 0,
    Block = 1,
    /// The pass and its last block.
    Pass = 2,
}

impl Ring {
    pub(super) fn new(cache: Cache) -> Self {
        let length = cache.ring_words();
        let start = cache.cache_words() - length;
        Self {
            cache,
            start,
            length,
        }
    }

    fn place(&self, position: u64) -> usize {
        (position % self.length as u64) as usize
    }

    /// # Safety
    /// The words lie between tail and head for the consumer, outside for the producer.
    unsafe fn words<'a>(&self, place: usize, length: usize) -> &'a mut [u32] {
        assert!(
            place + length <= self.length,
            "a batch reaches behind the ring"
        );
        self.cache.words(self.start + place, length)
    }

    fn head(&self) -> &AtomicU64 {
        &self.cache.control().ring_head.0
    }

    fn tail(&self) -> &AtomicU64 {
        &self.cache.control().ring_tail.0
    }
}

/// The reader's end of the ring.
pub(crate) struct Producer {
    ring: Ring,
    /// Own copy of the head.
    head: u64,
    /// Position and payload room of the batch being written.
    reserved: Option<(u64, usize)>,
}

impl Producer {
    pub(super) fn new(ring: Ring) -> Self {
        Self {
            ring,
            head: 0,
            reserved: None,
        }
    }

    /// The largest payload that always finds room once the consumer has taken everything.
    pub(crate) fn max_batch_words(&self) -> usize {
        self.ring.length / 2 - QUAD
    }

    /// Room for a payload of `words` (whole quads, at most [`Self::max_batch_words`]), or None while the ring is full.
    /// Follow with [`Self::commit`].
    pub(crate) fn reserve(&mut self, words: usize) -> Option<&mut [u32]> {
        let need = words + QUAD;
        let tail = self.ring.tail().load(Ordering::Acquire);
        let free = self.ring.length - (self.head - tail) as usize;
        let place = self.ring.place(self.head);
        let to_end = self.ring.length - place;
        let skip = if to_end < need { to_end } else { 0 };
        if skip + need > free {
            return None;
        }
        if skip > 0 {
            // SAFETY: skip + need words from head on are free, so the consumer does not look at them.
            let header = unsafe { self.ring.words(place, QUAD) };
            header[0] = SKIP;
        }
        let at = self.head + skip as u64;
        self.reserved = Some((at, words));
        // SAFETY: as above; the borrow of self keeps the producer from handing them over meanwhile.
        Some(unsafe { self.ring.words(self.ring.place(at) + QUAD, words) })
    }

    /// Hands over the first `used` words of the reserved payload.
    pub(crate) fn commit(&mut self, used: usize, ends: Ends) {
        let (at, words) = self.reserved.take().expect("commit follows reserve");
        assert!(
            used <= words && used.is_multiple_of(QUAD),
            "a batch has at most the words reserved"
        );
        // SAFETY: reserved and not handed over yet.
        let header = unsafe { self.ring.words(self.ring.place(at), QUAD) };
        header[0] = used as u32;
        header[1] = ends as u32;
        self.head = at + (QUAD + used) as u64;
        self.ring.head().store(self.head, Ordering::Release);
    }
}

/// The trainer's end of the ring.
pub(crate) struct Consumer {
    ring: Ring,
    /// Own copy of the tail.
    tail: u64,
}

/// A batch in place.
pub(crate) struct RingBatch<'a> {
    pub(crate) words: &'a [u32],
    pub(crate) ends: Ends,
    /// The position behind it.
    end: u64,
}

impl Consumer {
    pub(super) fn new(ring: Ring) -> Self {
        Self { ring, tail: 0 }
    }

    /// Words after which the reader is to hear of the room there is: with more it would fill all of the ring while the trainer
    /// waits, and wait while that is trained on.
    pub(crate) fn portion(&self) -> usize {
        self.ring.length / PORTIONS
    }

    /// The oldest batch, or None when the ring is empty. It stays until [`Self::release`].
    pub(crate) fn front(&mut self) -> Option<RingBatch<'_>> {
        self.after(self.tail)
    }

    /// The oldest batches, of so many words together or up to the end of a pass; None before all of them are there.
    pub(crate) fn portion_of(
        &mut self,
        words: usize,
    ) -> Result<Option<Vec<RingBatch<'_>>>, OutOfMemory> {
        let (mut batches, mut found) = (Vec::new(), 0);
        let mut position = self.tail;
        while found < words {
            let Some(batch) = self.after(position) else {
                return Ok(None);
            };
            found += batch.words.len();
            position = batch.end;
            let ends = batch.ends == Ends::Pass;
            batches.room(1)?.push(batch);
            if ends {
                break;
            }
        }
        Ok(Some(batches))
    }

    /// The largest portion that is sure to come: with a batch of as many words it fits half the ring, and what may be skipped at
    /// its end the other half.
    pub(crate) fn most_of_a_portion(&self) -> usize {
        self.ring.length / 4
    }

    /// The batch at a position, or behind the rest of the ring that is skipped there; None where none is yet.
    fn after(&self, position: u64) -> Option<RingBatch<'_>> {
        let head = self.ring.head().load(Ordering::Acquire);
        if head == position {
            return None;
        }
        let (mut place, mut position) = (self.ring.place(position), position);
        // SAFETY: between tail and head, where the producer does not write.
        if unsafe { self.ring.words(place, QUAD) }[0] == SKIP {
            position += (self.ring.length - place) as u64;
            place = 0;
        }
        // SAFETY: as above; the producer publishes a skipped end and the batch behind it together.
        let header = unsafe { self.ring.words(place, QUAD) };
        let length = header[0] as usize;
        let ends = match header[1] {
            0 => Ends::Nothing,
            1 => Ends::Block,
            _ => Ends::Pass,
        };
        // SAFETY: as above, within the batch; the borrow of self keeps it from being released meanwhile.
        let words = unsafe { self.ring.words(place + QUAD, length) };
        let end = position + (QUAD + length) as u64;
        Some(RingBatch { words, ends, end })
    }

    /// Gives the oldest batch's room back.
    pub(crate) fn release(&mut self) {
        if let Some(end) = self.front().map(|batch| batch.end) {
            self.tail = end;
            self.ring.tail().store(self.tail, Ordering::Release);
        }
    }
}
