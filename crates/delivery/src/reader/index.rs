//! Rows that do not fit, filed by what the trainer found of them, so that later passes can leave chunks out.
//!
//! In some pass the ring brings the batches back to the reader with an answer for each row: how firmly the trainer found it held, or its
//! leaf of a tree. The reader then writes the rows to the spool once more, scaled, each into a chunk of rows that are alike. Reader and
//! trainer number chunks alike ([`crate::rows::filing`]). From then on the trainer announces each pass, and says which chunks it leaves
//! out.

use super::codec::{ChunkError, Chunks};
use super::spill::Replay;
use crate::base::memory::Room;
use crate::cache::{Ends, Producer};
use crate::objective::problem::Compression;
use crate::rows::filing::{Closes, Filing, MOST_FILES};
use crate::rows::row::Row;
use crate::rows::source::Spool;

/// Rows on their way into their chunks.
pub(super) struct Index {
    filing: Filing,
    chunks: Chunks,
    /// By file, the rows of the chunk that is being filled.
    stages: Vec<Unpacked>,
    /// By place in `chunks`, the number of the chunk.
    units: Vec<u16>,
    /// Passes begun, whether one is under way, and whether rows have come into their chunks.
    pub(super) passes: u64,
    pub(super) in_pass: bool,
    pub(super) is_made: bool,
    /// Whether answers are asked for in the pass under way, or have been in the last one.
    pub(super) asks: bool,
    chunk_words: usize,
    compression: Compression,
}

#[derive(Default)]
struct Unpacked {
    unit: u16,
    words: Vec<u32>,
}

/// Empty stages of all files.
fn stages() -> Vec<Unpacked> {
    (0..MOST_FILES).map(|_| Unpacked::default()).collect()
}

impl Index {
    pub(super) fn new(chunk_words: usize, compression: Compression) -> Self {
        Self {
            filing: Filing::new(chunk_words),
            chunks: Chunks::new(compression),
            stages: stages(),
            units: Vec::new(),
            passes: 0,
            in_pass: false,
            is_made: false,
            asks: false,
            chunk_words,
            compression,
        }
    }

    /// A pass begins in which answers are asked for.
    pub(super) fn begin_filing(&mut self) {
        self.asks = true;
        self.filing = Filing::new(self.chunk_words);
        self.stages = stages();
        self.units.clear();
    }

    /// Files the rows whose answers have come.
    pub(super) fn take_answers<P: Spool>(
        &mut self,
        producer: &mut Producer,
        dense: usize,
        spool: &mut P,
    ) -> Result<(), ChunkError<P::Error>> {
        while let Some((words, answers)) = producer.answered() {
            let mut at = 0;
            for answer in answers {
                if at == words.len() {
                    break;
                }
                let row = Row::new(&words[at..], dense).words();
                self.take(row, *answer as u16, spool)?;
                at += row.len();
            }
        }
        Ok(())
    }

    fn take<P: Spool>(
        &mut self,
        row: &[u32],
        answer: u16,
        spool: &mut P,
    ) -> Result<(), ChunkError<P::Error>> {
        let filed = self.filing.file(answer, row.len());
        let stage = &mut self.stages[filed.file];
        stage.words.try_reserve(row.len())?;
        stage.words.extend_from_slice(row);
        stage.unit = filed.unit;
        match filed.closes {
            Closes::Nothing => Ok(()),
            Closes::Chunk => self.write(filed.file, spool),
            Closes::All => self.write_all(spool),
        }
    }

    /// Writes the chunks of all files that have rows.
    fn write_all<P: Spool>(&mut self, spool: &mut P) -> Result<(), ChunkError<P::Error>> {
        for file in 0..MOST_FILES {
            if !self.stages[file].words.is_empty() {
                self.write(file, spool)?;
                // other leaves of the next tree have many rows
                self.stages[file].words = Vec::new();
            }
        }
        Ok(())
    }

    fn write<P: Spool>(&mut self, file: usize, spool: &mut P) -> Result<(), ChunkError<P::Error>> {
        let stage = &mut self.stages[file];
        self.units.room(1).map_err(|_| ChunkError::Memory)?;
        self.chunks.write(&stage.words, spool)?;
        self.units.push(stage.unit);
        stage.words.clear();
        Ok(())
    }

    /// All rows have come: reads them from their chunks from now on.
    pub(super) fn make<P: Spool>(&mut self, spool: &mut P) -> Result<Replay, ChunkError<P::Error>> {
        self.write_all(spool)?;
        self.stages = Vec::new();
        (self.is_made, self.asks) = (true, false);
        let chunks = std::mem::replace(&mut self.chunks, Chunks::new(self.compression));
        // behind those of an earlier filing, whose places are no longer read
        Replay::of_index(chunks)
    }

    /// Ends a pass that reads nothing, if there is room to say so. Whether a pass is under way: none is.
    pub(super) fn end_empty(&mut self, producer: &mut Producer) -> bool {
        if producer.reserve(0).is_some() {
            producer.commit(0, Ends::Pass);
            self.passes += 1;
        }
        false
    }

    /// The chunks that a pass reads, as places.
    pub(super) fn chunks_read<'a>(&'a self, producer: &Producer) -> impl Iterator<Item = u32> + 'a {
        let left_out = producer.left_out();
        let units = self.units.iter().zip(0..);
        units.filter_map(move |(unit, chunk)| (!left_out.has((*unit).into())).then_some(chunk))
    }
}
