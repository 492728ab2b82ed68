//! Brings an index up to date while the rows of its source come by. Rows come in the order in which the index knows them, except that some
//! are new and some are gone. So chunks are gone through one after the other. A chunk whose rows all come, with no new row among them,
//! stays as it is. Any other chunk is dropped; its rows that come go into new chunks, with the new rows in their places.
//!
//! Should rows come in another order after all, those that belong to a chunk that was left already are taken for new ones.

use crate::base::errors::Failure;
use crate::index::chunks::ChunkBuilder;
use crate::index::directory::Directory;
use crate::index::open::Open;
use crate::index::stored::{StoredIndex, Storing};
use core::mem::replace;
use pgsvm_core::memory::{filled, Room};

/// An index and the rows that have come so far.
pub struct Renewal<'a> {
    stored: &'a StoredIndex,
    directory: Directory,
    /// By row whether it has come.
    met: Vec<bool>,
    /// By chunk what becomes of it.
    fates: Vec<Fate>,
    /// The chunk whose rows come at present.
    current: Option<Current>,
    /// What it holds, once it is gone through row by row.
    open: Open,
    /// Rows on their way into the next chunk.
    pub builder: ChunkBuilder,
    storing: Storing,
    /// Rows of the largest chunk.
    most: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// No row has come as yet.
    Ahead,
    /// It stays.
    Stays,
    /// Its rows are taken into other chunks, where they have come.
    Dropped,
}

struct Current {
    /// Its place.
    chunk: usize,
    /// Its rows that have come, of which nothing has been taken; none once it is open.
    waiting: Vec<u32>,
    is_open: bool,
}

/// What a row is to the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Met {
    /// It is there.
    Known,
    /// It is known, and has to be taken as if it were new.
    Again,
    New,
}

impl<'a> Renewal<'a> {
    /// Of an index whose row is locked; new chunks have lists as `builder` has them.
    pub fn new(stored: &'a StoredIndex, builder: ChunkBuilder) -> Result<Self, Failure> {
        let directory = Directory::load(stored)?;
        let chunks = 0..directory.chunks();
        let next = chunks
            .clone()
            .next_back()
            .map(|last| directory.number(last));
        Ok(Self {
            met: filled(false, directory.len())?,
            fates: filled(Fate::Ahead, chunks.len())?,
            current: None,
            open: Open::new(stored)?,
            builder,
            storing: Storing::go_on(stored, next)?,
            most: chunks.map(|at| directory.rows(at).len()).max().unwrap_or(0),
            directory,
            stored,
        })
    }

    /// A row of the source comes that is known by this; where it is not `Known`, the caller pushes it into the builder after
    /// [`Self::before_new`].
    pub fn meet(&mut self, tuple: u64) -> Result<Met, Failure> {
        let Some(row) = self.directory.find(tuple)? else {
            return Ok(Met::New);
        };
        // one that comes twice
        if replace(&mut self.met[row], true) {
            return Ok(Met::Again);
        }
        let current = self.current.as_ref().map(|current| current.chunk);
        let is_its = |at: &usize| self.directory.rows(*at).contains(&row);
        if current.filter(is_its).is_none() {
            let chunk = self.directory.chunk_of(row);
            self.leave(self.is_small(chunk))?;
            if self.fates[chunk] != Fate::Ahead {
                return Ok(Met::Again);
            }
            self.current = Some(Current {
                chunk,
                waiting: Vec::new(),
                is_open: false,
            });
        }
        match &mut self.current {
            Some(current) if !current.is_open => current.waiting.room(1)?.push(row as u32),
            _ => self.take(row)?,
        }
        Ok(Met::Known)
    }

    /// Has the builder hold what comes before a new row.
    pub fn before_new(&mut self) -> Result<(), Failure> {
        match &self.current {
            Some(current) if self.is_whole(current) => self.leave(true)?,
            Some(current) if !current.is_open => self.open()?,
            _ => {}
        }
        self.put_if_full()
    }

    /// Ends when no more rows come.
    pub fn finish(mut self) -> Result<Storing, Failure> {
        self.leave(false)?;
        self.put()?;
        let stays = |at: &usize| self.fates[*at] == Fate::Stays;
        let chunks = 0..self.directory.chunks();
        let mut dropped = Vec::new();
        dropped.room(chunks.len())?;
        dropped.extend(
            chunks
                .filter(|at| !stays(at))
                .map(|at| self.directory.number(at)),
        );
        self.storing.drop_chunks(dropped)?;
        Ok(self.storing)
    }

    /// Whether all rows of the chunk have come, and nothing of it was taken.
    fn is_whole(&self, current: &Current) -> bool {
        current.waiting.len() == self.directory.rows(current.chunk).len()
    }

    /// Whether a chunk is worth joining with what comes before or behind it.
    fn is_small(&self, chunk: usize) -> bool {
        2 * self.directory.rows(chunk).len() <= self.most
    }

    /// The rows of another chunk, or new ones, come next; `joins` where there will be few of them.
    fn leave(&mut self, joins: bool) -> Result<(), Failure> {
        let Some(current) = &self.current else {
            return Ok(());
        };
        let chunk = current.chunk;
        let joins = self.is_small(chunk) && (joins || !self.builder.is_empty());
        let stays = self.is_whole(current) && !joins;
        if stays {
            // what has come before it stands before it
            self.put()?;
            self.fates[chunk] = Fate::Stays;
        } else if !current.is_open {
            self.open()?;
        }
        self.current = None;
        Ok(())
    }

    /// Goes through the chunk at hand row by row from here on.
    fn open(&mut self) -> Result<(), Failure> {
        let Some(current) = &mut self.current else {
            return Ok(());
        };
        current.is_open = true;
        let (chunk, waiting) = (current.chunk, core::mem::take(&mut current.waiting));
        self.fates[chunk] = Fate::Dropped;
        let place = (
            self.directory.number(chunk),
            self.directory.rows(chunk).len(),
        );
        let all = (true, 0..self.stored.lists.len());
        self.open.read(self.stored, place, all)?;
        self.builder.begin_kept(&self.open)?;
        waiting
            .into_iter()
            .try_for_each(|row| self.take(row as usize))
    }

    /// Takes a row of the chunk that is open.
    fn take(&mut self, row: usize) -> Result<(), Failure> {
        let start = self.directory.rows(self.directory.chunk_of(row)).start;
        let from = (&self.open, row - start, self.stored.width());
        self.builder.push_kept(self.directory.tuple(row), from)?;
        self.put_if_full()
    }

    /// Stores a chunk, where there are rows for one.
    pub fn put_if_full(&mut self) -> Result<(), Failure> {
        match self.builder.is_full() {
            true => self.put(),
            false => Ok(()),
        }
    }

    fn put(&mut self) -> Result<(), Failure> {
        match self.builder.is_empty() {
            true => Ok(()),
            false => self.storing.put(self.builder.take()?),
        }
    }
}
