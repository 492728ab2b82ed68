//! Selective block minimization, SBM (the idea of Chang, Roth, KDD 2011): half the cache keeps the best rows seen.
//!
//! Block minimization where the subproblem is over a new block and the kept rows together. When it is solved, one
//! more round over both grades them, and the best half cache stays: a row that some head has between its bounds,
//! then rows at a bound in the order of |gradient|, the distance from the margin. (Rows at a bound that want to
//! leave it have, after the round, been moved, and count as those between.) Grades are steps of half a power of
//! two, so the choice is a count by grade and needs no sorting. A row that is kept is visited when it arrives with
//! its own block as any other, and not stored a second time.

use crate::bits::Bits;
use crate::page::{PageMut, PAGE_HEADER_WORDS};
use crate::problem::Policy;
use crate::trainer::TrainError;

/// Steps of grades, with gradients from [`LEAST`] up by [`STEP`] each: to about 40.
const GRADES: usize = 36;
const LEAST: f64 = 2e-4;
const STEP: f64 = std::f64::consts::SQRT_2;

/// How a round grades: how many of `margins`, ascending, are below the row's gradient.
pub(super) struct Grading<'a> {
    pub(super) margins: &'a [f64],
    /// By slot.
    pub(super) grades: &'a mut [u8],
}

pub(super) struct Selection {
    margins: [f64; GRADES],
    grades: Vec<u8>,
    /// Ordinals of the kept rows.
    members: Bits,
    /// Words that kept rows may take, slots included.
    room: usize,
    /// Rows kept once and dropped.
    pub(super) evicted: u64,
}

impl Selection {
    /// `page_words`: of the page that kept rows and block share.
    pub(super) fn new(page_words: usize, rows: usize) -> Result<Self, TrainError> {
        let members = Bits::new(rows).map_err(|_| TrainError::OutOfMemory {
            bytes: rows as u64 / 8,
        })?;
        let room = page_words - PAGE_HEADER_WORDS;
        let block = Policy::SelectiveBlock
            .block_share()
            .map_or(0, |share| room / share);
        Ok(Self {
            margins: std::array::from_fn(|step| LEAST * STEP.powi(step as i32)),
            grades: Vec::new(),
            members,
            room: room - block,
            evicted: 0,
        })
    }

    /// Whether a row is kept already.
    pub(super) fn has(&self, ordinal: usize) -> bool {
        self.members.get(ordinal)
    }

    /// Makes ready to grade the rows in so many slots.
    pub(super) fn begin(&mut self, slots: usize) -> Result<(), TrainError> {
        self.grades.clear();
        self.grades
            .try_reserve(slots)
            .map_err(|_| TrainError::OutOfMemory {
                bytes: slots as u64,
            })?;
        self.grades.resize(slots, 0);
        Ok(())
    }

    pub(super) fn grading(&mut self) -> Grading<'_> {
        Grading {
            margins: &self.margins,
            grades: &mut self.grades,
        }
    }

    /// Drops all rows but the best, which move to the front of the page; gives back how many they are.
    pub(super) fn choose(&mut self, mut page: PageMut<'_>) -> usize {
        let mut words = [0; GRADES + 1];
        for (slot, grade) in self.grades.iter().enumerate() {
            words[usize::from(*grade)] += page.read().peek_row(slot).words().len() + 1;
        }
        // below `limit` all are kept, at it as many as there is room for
        let (mut limit, mut left) = (0, self.room);
        while limit < words.len() && words[limit] <= left {
            left -= words[limit];
            limit += 1;
        }
        for (slot, grade) in self.grades.iter().enumerate() {
            let row = page.read().peek_row(slot);
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
