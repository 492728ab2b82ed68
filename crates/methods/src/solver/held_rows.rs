//! Rows that a pass returns whole, one behind the other, each with a few numbers. If there is no room for all, the rows farthest from the
//! margin are dropped.

use serde::{Deserialize, Serialize};

use crate::base::memory::{gathered, list, words, OutOfMemory, Room};
use crate::rows::row::Row;

/// Of rows that are too many for their room so many stay.
const STAY: f64 = 0.75;

/// What is known of a row that is held.
pub(in crate::solver) trait Beside: Copy {
    /// How far away it is, by which rows go.
    fn away(&self) -> f64;
    /// Words of the row.
    fn words(&self) -> usize;
}

/// Rows that are held.
#[derive(Serialize, Deserialize)]
#[serde(bound(deserialize = "B: Deserialize<'de>"))]
pub(in crate::solver) struct HeldRows<B> {
    #[serde(with = "words")]
    words: Vec<u32>,
    #[serde(deserialize_with = "list")]
    beside: Vec<B>,
    /// Dense features of a row.
    dense: u32,
}

impl<B: Beside> HeldRows<B> {
    /// None yet.
    pub(in crate::solver) fn new(dense: u32) -> Self {
        Self {
            words: Vec::new(),
            beside: Vec::new(),
            dense,
        }
    }

    /// Whether they are rows with so many features at most, of groups below that one, and what is beside each is as it should be; those
    /// that came as bytes may not be.
    pub(in crate::solver) fn are_sound(
        &self,
        features: usize,
        groups: usize,
        is_right: impl Fn(&B) -> bool,
    ) -> bool {
        let mut rest = &self.words[..];
        let all_right = self.beside.iter().all(|beside| {
            let row = Row::checked(rest, self.dense as usize, features, groups);
            let is_row = row.is_some_and(|row| row.values() == beside.words());
            rest = rest.get(beside.words()..).unwrap_or_default();
            is_row && is_right(beside)
        });
        all_right && rest.is_empty()
    }

    /// Whether they are laid out as others are.
    pub(in crate::solver) fn fits(&self, other: &Self) -> bool {
        self.dense == other.dense
    }

    pub(in crate::solver) fn len(&self) -> usize {
        self.beside.len()
    }

    /// The words of all of them.
    pub(in crate::solver) fn packed(&self) -> &[u32] {
        &self.words
    }

    /// What is beside each.
    pub(in crate::solver) fn beside(&self) -> &[B] {
        &self.beside
    }

    /// How many words they take.
    #[inline(always)]
    pub(in crate::solver) fn words(&self) -> usize {
        self.words.len()
    }

    /// Holds a row.
    pub(in crate::solver) fn push(&mut self, row: &Row<'_>, beside: B) -> Result<(), OutOfMemory> {
        self.beside.room(1)?;
        let words = self.words.room(row.values())?;
        words.extend_from_slice(row.words());
        self.beside.push(beside);
        Ok(())
    }

    /// The rows from the one with this number on that begins at this word, each with what is beside it.
    pub(in crate::solver) fn from(
        &self,
        (number, word): (usize, usize),
    ) -> impl Iterator<Item = (Row<'_>, &B)> {
        let mut at = word;
        self.beside[number..].iter().map(move |beside| {
            let row = Row::new(&self.words[at..], self.dense as usize);
            at += beside.words();
            (row, beside)
        })
    }

    /// A distance that is less than that of some row; None where there is no memory, or no two differ.
    pub(in crate::solver) fn nearer(&self) -> Option<f64> {
        let mut all = gathered(self.beside.iter().map(Beside::away)).ok()?;
        let last = all.len().checked_sub(1)?;
        let place = ((STAY * all.len() as f64) as usize).min(last);
        let (less, at, more) = all.select_nth_unstable_by(place, f64::total_cmp);
        let at = *at;
        match more.iter().any(|it| *it > at) {
            true => Some(at),
            false => less.iter().copied().filter(|it| *it < at).reduce(f64::max),
        }
    }

    /// Lets rows go that do not stay, each of which `leaves`.
    #[inline(always)]
    pub(in crate::solver) fn retain(
        &mut self,
        stays: impl Fn(&B) -> bool,
        mut leaves: impl FnMut(&Row<'_>, &B),
    ) {
        let (words, dense) = (&mut self.words, self.dense as usize);
        let (mut at, mut to) = (0, 0);
        self.beside.retain(|beside| {
            let own = at..at + beside.words();
            at = own.end;
            let stay = stays(beside);
            match stay {
                true => {
                    words.copy_within(own, to);
                    to += beside.words();
                }
                false => leaves(&Row::new(&words[own], dense), beside),
            }
            stay
        });
        self.words.truncate(to);
    }
}
