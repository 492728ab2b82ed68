//! Selective block minimization, SBM (the idea of Chang, Roth, KDD 2011): half the cache keeps the best rows seen.
//!
//! Block minimization where the subproblem is over a new block and the kept rows together. When it is solved, one
//! more round over both grades them (see [`super::grades`]), and the best half cache stays. (Rows at a bound that want
//! to leave it have, after the round, been moved, and count as those between.) A row that is kept is visited when it
//! arrives with its own block as any other, and not stored a second time.

use crate::base::bits::Bits;
use crate::objective::solver_choice::Policy;
use crate::rows::page::{PageMut, PAGE_HEADER_WORDS};
use crate::training::error::TrainError;
use crate::training::schedule::grades::{limit, margins, Words, GRADES};

/// How a round grades: how many of `margins`, ascending, are below the row's gradient.
pub(in crate::training) struct Grading<'a> {
    pub(in crate::training) margins: &'a [f64],
    /// By slot.
    pub(in crate::training) grades: &'a mut [u8],
}

pub(in crate::training) struct Selection {
    margins: [f64; GRADES],
    grades: Vec<u8>,
    /// Ordinals of the kept rows.
    members: Bits,
    /// Words that kept rows may take, slots included.
    room: usize,
    /// Rows kept once and dropped.
    pub(in crate::training) evicted: u64,
}

impl Selection {
    /// `page_words`: of the page that kept rows and block share.
    pub(in crate::training) fn new(page_words: usize, rows: usize) -> Result<Self, TrainError> {
        let members = Bits::new(rows).map_err(|_| TrainError::OutOfMemory {
            bytes: rows as u64 / 8,
        })?;
        let room = page_words - PAGE_HEADER_WORDS;
        let block = Policy::SelectiveBlock
            .block_share()
            .map_or(0, |share| room / share);
        Ok(Self {
            margins: margins(),
            grades: Vec::new(),
            members,
            room: room - block,
            evicted: 0,
        })
    }

    /// Whether a row is kept already.
    pub(in crate::training) fn has(&self, ordinal: usize) -> bool {
        self.members.get(ordinal)
    }

    /// Makes ready to grade the rows in so many slots.
    pub(in crate::training) fn begin(&mut self, slots: usize) -> Result<(), TrainError> {
        self.grades.clear();
        self.grades
            .try_reserve(slots)
            .map_err(|_| TrainError::OutOfMemory {
                bytes: slots as u64,
            })?;
        self.grades.resize(slots, 0);
        Ok(())
    }

    pub(in crate::training) fn grading(&mut self) -> Grading<'_> {
        Grading {
            margins: &self.margins,
            grades: &mut self.grades,
        }
    }

    /// Drops all rows but the best, which move to the front of the page; gives back how many they are.
    pub(in crate::training) fn choose(&mut self, mut page: PageMut<'_>) -> usize {
        let mut words: Words = [0; GRADES + 1];
        for (slot, grade) in self.grades.iter().enumerate() {
            // none is dead
            let length = page.read().row(slot).map_or(0, |row| row.words().len() + 1);
            words[usize::from(*grade)] += length;
        }
        // below `limit` all are kept, at it as many as there is room for
        let (limit, mut left) = limit(&words, self.room);
        for (slot, grade) in self.grades.iter().enumerate() {
            let Some(row) = page.read().row(slot) else {
                continue;
            };
            let (ordinal, need) = (row.ordinal(), row.words().len() + 1);
            let at_limit = usize::from(*grade) == limit && need <= left;
            let keep = usize::from(*grade) < limit || at_limit;
            if at_limit {
                left -= need;
            }
            self.evicted += u64::from(!keep && self.members.get(ordinal));
            self.members.set(ordinal, keep);
            if !keep {
                page.kill(slot);
            }
        }
        page.compact();
        page.read().slots()
    }
}
