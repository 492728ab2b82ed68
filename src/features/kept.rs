//! Rows of which an index has kept what they were decoded to: number columns, arrays of numbers and lists come from there, all
//! else from the row itself.

use super::error::FeatureError;
use super::part::{Part, TextKind};
use crate::pg::text_search;
use core::ops::Range;
use pgsvm_core::memory::{gathered, OutOfMemory, Room};
use serde::{Deserialize, Serialize};

/// By place among the parts that are wanted, where their values stand in what is kept of a row.
#[derive(Default)]
pub struct KeptPlaces {
    /// The numbers of its columns; none for a part that is no number.
    numbers: Vec<Vec<Range<usize>>>,
    /// The number of its list, where it has one that is kept.
    lists: Vec<Option<usize>>,
}

/// What is kept of a row. No NULL is among the numbers; of a list that has one nothing is kept.
#[derive(Clone, Copy)]
pub struct KeptRow<'a> {
    pub places: &'a KeptPlaces,
    pub numbers: KeptNumbers<'a>,
    pub lists: &'a dyn KeptLists,
}

/// Values in 32 bits where these hold them all, else in 64.
#[derive(Clone, Copy)]
pub enum Narrowed<'a, N, W> {
    Narrow(&'a [N]),
    Wide(&'a [W]),
}

pub type KeptNumbers<'a> = Narrowed<'a, f32, f64>;

/// The indices and values of a sparse part, as many of each.
pub type KeptPairs<'a> = (Narrowed<'a, u32, u64>, KeptNumbers<'a>);

/// The lists of a row.
pub trait KeptLists {
    /// The pairs of the list of this number; None where they are not kept.
    fn pairs(&self, list: usize) -> Option<KeptPairs<'_>>;
    /// The same of words.
    fn words(&self, list: usize) -> Option<KeptText<'_>>;
}

/// The words of a text in their order, by their numbers in a list. Lexemes are in the order of the text.
#[derive(Clone, Copy)]
pub struct KeptText<'a> {
    pub numbers: &'a [u32],
    pub list: &'a WordList,
    /// By which lists are told apart.
    pub chunk: usize,
}

impl<'a> KeptText<'a> {
    /// The numbers of lexemes as a `tsvector` has them, in `scratch`: the same words one behind the other, in the order of their bytes.
    pub(super) fn as_vector<'s>(
        &self,
        scratch: &'s mut Vec<u32>,
    ) -> Result<KeptText<'s>, OutOfMemory>
    where
        'a: 's,
    {
        scratch.clear();
        scratch
            .room(self.numbers.len())?
            .extend_from_slice(self.numbers);
        scratch.sort_unstable_by(|a, b| self.list.get(*a).cmp(self.list.get(*b)));
        Ok(KeptText {
            numbers: scratch,
            ..*self
        })
    }

    pub fn words(&self) -> impl Iterator<Item = &'a str> {
        let list = self.list;
        let words = self.numbers.iter();
        words.map(|number| list.get(*number))
    }
}

/// Words, each once.
#[derive(Debug, Default)]
pub struct WordList {
    text: String,
    ends: Vec<usize>,
}

impl WordList {
    /// Those of such lengths that stand in a text; None where they are not those.
    pub fn new(text: Vec<u8>, lengths: &[u32]) -> Result<Option<Self>, OutOfMemory> {
        let Ok(text) = String::from_utf8(text) else {
            return Ok(None);
        };
        let (mut ends, mut end) = (Vec::new(), 0usize);
        ends.room(lengths.len())?;
        for length in lengths {
            end = end.saturating_add(*length as usize);
            if !text.is_char_boundary(end) {
                return Ok(None);
            }
            ends.push(end);
        }
        Ok((end == text.len()).then_some(Self { text, ends }))
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The word of this number, empty where there is none.
    pub fn get(&self, number: u32) -> &str {
        let end = |number: usize| self.ends.get(number).copied();
        let number = number as usize;
        let start = number.checked_sub(1).map_or(Some(0), end);
        let range = start.zip(end(number));
        let word = range.and_then(|(start, end)| self.text.get(start..end));
        word.unwrap_or_default()
    }
}

/// Under which numbers the words of a list are known elsewhere.
#[derive(Default)]
pub struct WordNumbers {
    chunk: Option<usize>,
    /// By number in the list.
    known: Vec<u32>,
}

impl WordNumbers {
    /// Not asked as yet, and none; numbers themselves are smaller.
    const NEW: u32 = u32::MAX;
    const NONE: u32 = u32::MAX - 1;

    /// Begins a text.
    pub fn begin(&mut self, text: &KeptText<'_>) -> Result<(), OutOfMemory> {
        if self.chunk != Some(text.chunk) {
            self.known.clear();
            let words = text.list.len();
            self.known.room(words)?.resize(words, Self::NEW);
            self.chunk = Some(text.chunk);
        }
        Ok(())
    }

    /// The number of a word of it, where it has one; it is looked up where it is met first in its list.
    #[inline]
    pub fn of(
        &mut self,
        text: &KeptText<'_>,
        word: u32,
        look_up: impl FnOnce(&str) -> Result<Option<u32>, OutOfMemory>,
    ) -> Result<Option<u32>, OutOfMemory> {
        let known = &mut self.known[word as usize];
        if *known == Self::NEW {
            *known = look_up(text.list.get(word))?.unwrap_or(Self::NONE);
        }
        Ok((*known != Self::NONE).then_some(*known))
    }
}

/// What the values of a list are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ListKind {
    /// Indices with a value each.
    Pairs,
    /// The words of a text in their order.
    Words,
}

/// A part whose list may be kept: of which kind, and the places in a row of the columns that it is read from, of which there are
/// one or two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListOfPart {
    pub kind: ListKind,
    /// By which is known what a text search configuration makes of texts, where one makes the words; else 0.
    pub configuration: u64,
    pub first: usize,
    pub second: Option<usize>,
}

impl ListOfPart {
    pub fn of(part: &Part) -> Option<Self> {
        let (kind, configuration) = match part {
            Part::Sparse { .. } | Part::Libsvm { .. } | Part::Sparsevec { .. } => {
                (ListKind::Pairs, 0)
            }
            Part::Text { kind, .. } => match kind {
                TextKind::Words(_) => (ListKind::Words, 0),
                TextKind::Lexemes(by) => (ListKind::Words, text_search::definition(*by)?),
                TextKind::Characters { .. } | TextKind::Places { .. } => return None,
            },
            _ => return None,
        };
        let mut columns = part.columns();
        Some(Self {
            kind,
            configuration,
            first: columns.next()?,
            second: columns.next(),
        })
    }

    /// The columns.
    pub fn columns(&self) -> impl Iterator<Item = usize> {
        core::iter::once(self.first).chain(self.second)
    }
}

impl KeptNumbers<'_> {
    /// Appends them.
    #[inline]
    pub fn append(&self, out: &mut Vec<f64>) -> Result<(), OutOfMemory> {
        match self {
            Self::Narrow(numbers) => out
                .room(numbers.len())?
                .extend(numbers.iter().copied().map(f64::from)),
            Self::Wide(numbers) => out.room(numbers.len())?.extend_from_slice(numbers),
        }
        Ok(())
    }

    #[inline]
    fn part(&self, range: Range<usize>) -> Self {
        match self {
            Self::Narrow(numbers) => Self::Narrow(&numbers[range]),
            Self::Wide(numbers) => Self::Wide(&numbers[range]),
        }
    }
}

impl<'a> KeptRow<'a> {
    /// Appends the numbers of the part at this place.
    #[inline]
    pub fn append(&self, place: usize, out: &mut Vec<f64>) -> Result<(), FeatureError> {
        for range in &self.places.numbers[place] {
            self.numbers.part(range.clone()).append(out)?;
        }
        Ok(())
    }

    /// The pairs of the part at this place, where they are kept.
    #[inline]
    pub fn pairs(&self, place: usize) -> Option<KeptPairs<'a>> {
        self.lists.pairs(self.places.lists[place]?)
    }

    /// The words of the part at this place, where they are kept.
    #[inline]
    pub fn words(&self, place: usize) -> Option<KeptText<'a>> {
        self.lists.words(self.places.lists[place]?)
    }
}

/// The columns of a part whose numbers may be kept.
fn columns(part: &Part) -> Range<usize> {
    match part {
        Part::Columns { at, count, .. } => *at..*at + *count,
        Part::Array { at, .. } | Part::Vector { at, .. } => *at..*at + 1,
        _ => 0..0,
    }
}

impl KeptPlaces {
    /// Whether numbers are wanted.
    pub fn has_numbers(&self) -> bool {
        self.numbers.iter().any(|ranges| !ranges.is_empty())
    }

    /// The lists that are wanted.
    pub fn lists(&self) -> impl Iterator<Item = usize> + '_ {
        self.lists.iter().copied().flatten()
    }
}

/// What is wanted of kept rows, by place among the parts of who reads them.
pub struct WantedParts(Vec<WantedPart>);

struct WantedPart {
    /// Its number in the feature set, or that of the first of several columns.
    number: usize,
    /// The columns whose numbers are wanted, and whether each has one.
    columns: Range<usize>,
    single: bool,
    list: Option<ListOfPart>,
    /// Whether what is in the list is there from elsewhere.
    is_there: bool,
}

impl WantedPart {
    /// Its list, where that is to be read.
    fn unread(&self) -> Option<ListOfPart> {
        self.list.filter(|_| !self.is_there)
    }
}

impl WantedParts {
    /// What these parts want; not the lists of those for which `has` says that they have them from elsewhere.
    pub(super) fn of(
        parts: impl Iterator<Item = Part>,
        has: impl Fn(usize) -> bool,
    ) -> Result<Self, OutOfMemory> {
        let mut number = 0;
        let wanted = parts.map(|part| {
            let wanted = WantedPart {
                number,
                columns: columns(&part),
                single: matches!(part, Part::Columns { .. }),
                list: ListOfPart::of(&part),
                is_there: has(number),
            };
            number += part.count();
            wanted
        });
        gathered(wanted).map(Self)
    }

    /// The columns whose numbers are wanted.
    pub fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().flat_map(|part| part.columns.clone())
    }

    /// The lists that are wanted.
    pub fn lists(&self) -> impl Iterator<Item = ListOfPart> + '_ {
        self.0.iter().filter_map(WantedPart::unread)
    }

    /// The numbers of the parts that are no numbers and of which there is no list, as `list` tells that of one.
    pub fn others(
        &self,
        list: impl Fn(ListOfPart) -> Option<usize>,
    ) -> Result<Vec<usize>, OutOfMemory> {
        let is_other =
            |part: &&WantedPart| part.columns.is_empty() && part.list.and_then(&list).is_none();
        gathered(self.0.iter().filter(is_other).map(|part| part.number))
    }

    /// Where all that stands in kept rows, in which `kept` finds the numbers of a column by its place in the row, and `list`
    /// the number of a list.
    ///
    /// # Errors
    /// The place of the first column whose numbers are not kept.
    pub fn places(
        &self,
        kept: impl Fn(usize) -> Option<Range<usize>>,
        list: impl Fn(ListOfPart) -> Option<usize>,
    ) -> Result<KeptPlaces, usize> {
        let places = self.0.iter().map(|part| {
            let mut ranges = Vec::<Range<usize>>::new();
            for column in part.columns.clone() {
                let found = kept(column).filter(|it| !part.single || it.len() == 1);
                let found = found.ok_or(column)?;
                match ranges.last_mut() {
                    Some(last) if last.end == found.start => last.end = found.end,
                    _ => ranges.push(found),
                }
            }
            Ok::<_, usize>(ranges)
        });
        let lists = self.0.iter().map(|part| list(part.unread()?));
        Ok(KeptPlaces {
            numbers: places.collect::<Result<_, _>>()?,
            lists: lists.collect(),
        })
    }
}
