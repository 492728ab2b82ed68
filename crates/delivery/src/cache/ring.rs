//! The ring of batches between the reader's producer and the trainer's consumer, while streaming.
//!
//! Single producer, single consumer, in shared memory. Each end keeps its own position and publishes it; the words
//! between tail and head are the consumer's, the others the producer's.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Cache;
use crate::base::memory::{OutOfMemory, Room};
use crate::rows::filing::{filed_words, LeftOut};
use crate::rows::row::QUAD;

/// The words between producer and consumer. Positions count words for ever; a position modulo the ring's length is
/// the place. A batch is a header of one quad (payload words, what it ends, words of answers) and its payload, in one piece: a batch that
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
pub enum Ends {
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
pub struct Producer {
    ring: Ring,
    /// Own copy of the head.
    head: u64,
    /// Position and payload room of the batch being written.
    reserved: Option<(u64, usize)>,
    /// Batches with room for answers that have not been looked at since.
    asked: VecDeque<AnsweredBatch>,
}

/// A batch with room for answers: a word for each row behind its rows, which the consumer writes before it gives the room back,
/// and the producer reads before it writes there again.
#[derive(Clone, Copy)]
struct AnsweredBatch {
    at: u64,
    words: usize,
    answers: usize,
}

impl Producer {
    pub(super) fn new(ring: Ring) -> Self {
        Self {
            ring,
            head: 0,
            reserved: None,
            asked: VecDeque::new(),
        }
    }

    /// The largest payload that always finds room once the consumer has taken everything.
    pub fn max_batch_words(&self) -> usize {
        self.ring.length / 2 - QUAD
    }

    /// Room for a payload of `words` (whole quads, at most [`Self::max_batch_words`]), or None while the ring is full.
    /// Follow with [`Self::commit`]. Batches whose answers have not been looked at stay, though the trainer has given them back.
    pub fn reserve(&mut self, words: usize) -> Option<&mut [u32]> {
        let need = words + QUAD;
        let given_back = self.ring.tail().load(Ordering::Acquire);
        let tail = self
            .asked
            .front()
            .map_or(given_back, |asked| given_back.min(asked.at));
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

    /// Whether the trainer has announced as many passes.
    pub fn may_begin(&self, passes: u64) -> bool {
        let control = self.ring.cache.control();
        control.announced.load(Ordering::Acquire) >= passes
    }

    /// Whether rows are filed in the pass announced last; call only after [`Self::may_begin`].
    pub fn files(&self) -> bool {
        let control = self.ring.cache.control();
        control.files.load(Ordering::Relaxed) != 0
    }

    /// What the pass announced last leaves out; call only after [`Self::may_begin`].
    pub fn left_out(&self) -> LeftOut {
        LeftOut::load(&self.ring.cache.control().left_out)
    }

    /// Hands over the first `used` words of the reserved payload, with room for so many words of answers behind them.
    pub fn commit_asking(
        &mut self,
        (used, answers): (usize, usize),
        ends: Ends,
    ) -> Result<(), OutOfMemory> {
        let (at, words) = self.reserved.expect("commit follows reserve");
        assert!(
            used + answers <= words && answers.is_multiple_of(QUAD),
            "a batch has at most the words reserved"
        );
        let bytes = size_of::<AnsweredBatch>() as u64;
        self.asked
            .try_reserve(1)
            .map_err(|_| OutOfMemory { bytes })?;
        self.asked.push_back(AnsweredBatch {
            at,
            words: used,
            answers,
        });
        self.commit_words((used, answers), ends);
        Ok(())
    }

    /// The rows of the oldest batch with answers that the trainer has given back, and the answers. Ask until there is none:
    /// only then there is room for more.
    pub fn answered(&mut self) -> Option<(&[u32], &[u32])> {
        let tail = self.ring.tail().load(Ordering::Acquire);
        let AnsweredBatch { at, words, answers } = *self.asked.front()?;
        if tail < at + (QUAD + words + answers) as u64 {
            return None;
        }
        self.asked.pop_front();
        let place = self.ring.place(at) + QUAD;
        // SAFETY: behind the tail, and so the producer's; it writes there only by `reserve`, which this borrow forbids.
        let all = unsafe { self.ring.words(place, words + answers) };
        Some(all.split_at(words))
    }

    /// Whether all answers have been looked at.
    pub fn has_all_answers(&self) -> bool {
        self.asked.is_empty()
    }

    /// Hands over the first `used` words of the reserved payload.
    pub fn commit(&mut self, used: usize, ends: Ends) {
        self.commit_words((used, 0), ends);
    }

    fn commit_words(&mut self, (used, answers): (usize, usize), ends: Ends) {
        let (at, words) = self.reserved.take().expect("commit follows reserve");
        assert!(
            used <= words && used.is_multiple_of(QUAD),
            "a batch has at most the words reserved"
        );
        // SAFETY: reserved and not handed over yet.
        let header = unsafe { self.ring.words(self.ring.place(at), QUAD) };
        header[0] = used as u32;
        header[1] = ends as u32;
        header[2] = answers as u32;
        self.head = at + (QUAD + used + answers) as u64;
        self.ring.head().store(self.head, Ordering::Release);
    }
}

/// The trainer's end of the ring.
pub struct Consumer {
    ring: Ring,
    /// Own copy of the tail.
    tail: u64,
}

/// A batch in place.
pub struct RingBatch<'a> {
    pub words: &'a [u32],
    pub ends: Ends,
    /// The position behind it.
    end: u64,
    /// Where answers come, and how many there may be.
    answers: (usize, usize),
}

impl Consumer {
    pub(super) fn new(ring: Ring) -> Self {
        Self { ring, tail: 0 }
    }

    /// Words after which the reader is to hear of the room there is: with more it would fill all of the ring while the trainer
    /// waits, and wait while that is trained on.
    pub fn portion(&self) -> usize {
        self.ring.length / PORTIONS
    }

    /// The oldest batch, or None when the ring is empty. It stays until [`Self::release`].
    pub fn front(&mut self) -> Option<RingBatch<'_>> {
        self.after(self.tail)
    }

    /// The oldest batches, of so many words together or up to the end of a pass; None before all of them are there.
    pub fn portion_of(&mut self, words: usize) -> Result<Option<Vec<RingBatch<'_>>>, OutOfMemory> {
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
    pub fn most_of_a_portion(&self) -> usize {
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
        let (length, answers) = (header[0] as usize, header[2] as usize);
        let ends = match header[1] {
            0 => Ends::Nothing,
            1 => Ends::Block,
            _ => Ends::Pass,
        };
        // SAFETY: as above, within the batch; the borrow of self keeps it from being released meanwhile.
        let words = unsafe { self.ring.words(place + QUAD, length) };
        let end = position + (QUAD + length + answers) as u64;
        Some(RingBatch {
            words,
            ends,
            end,
            answers: (place + QUAD + length, answers),
        })
    }

    /// Writes what is answered of the rows of the oldest batch, if somebody asks.
    pub fn answer(&mut self, found: impl Iterator<Item = u16>) {
        let Some((place, count)) = self.front().map(|batch| batch.answers) else {
            return;
        };
        // SAFETY: between tail and head, where the producer neither reads nor writes, and behind the rows of the batch.
        let answers = unsafe { self.ring.words(place, count) };
        for (answer, found) in answers.iter_mut().zip(found) {
            *answer = u32::from(found);
        }
    }

    /// Words of a chunk, where there is to be an index.
    pub fn filed_chunk_words(&self) -> Option<usize> {
        let control = self.ring.cache.control();
        let words = control.filed_chunk_words.load(Ordering::Relaxed) as usize;
        (words > 0).then_some(words)
    }

    /// Words of all chunks together that are being filled at a time, where there is an index.
    pub fn filed_words(&self) -> usize {
        filed_words(self.ring.cache.cache_bytes())
    }

    /// Lets the reader begin another pass, which leaves these chunks out; `files`: rows are filed by the answers to it.
    pub fn announce(&mut self, left_out: &LeftOut, files: bool) {
        let control = self.ring.cache.control();
        control.files.store(u64::from(files), Ordering::Relaxed);
        left_out.store(&control.left_out);
        control.announced.fetch_add(1, Ordering::Release);
    }

    /// Gives the oldest batch's room back.
    pub fn release(&mut self) {
        if let Some(end) = self.front().map(|batch| batch.end) {
            self.tail = end;
            self.ring.tail().store(self.tail, Ordering::Release);
        }
    }
}
