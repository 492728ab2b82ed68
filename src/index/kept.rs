//! An index in a training: what is kept of a row that it knows. In the process that reads.

use crate::base::errors::{Code, Failure};
use crate::features::{
    FeaturePart, FeatureSet, KeptLists, KeptPairs, KeptPlaces, KeptRow, KeptText, List, Wanted,
};
use crate::index::chunks;
use crate::index::lists::Lists;
use crate::index::packed::{Numbers, Unpacker};
use crate::index::stored::{KeptList, Stored};
use crate::index::tuples::Tuples;
use crate::pg::executor::Running;
use crate::pg::origin::{self, Derived};
use pgsvm_core::memory::{gathered, Room};
use std::rc::Rc;

/// The rows of an index.
pub struct Kept {
    stored: Rc<Stored>,
    tuples: Tuples,
    /// By chunk its number, and the row behind its last.
    chunks: Vec<(i32, usize)>,
    places: KeptPlaces,
    /// Parts of the features of which it has nothing.
    others: Vec<usize>,
    unpacker: Unpacker,
    /// The numbers of the rows of the chunk at this place.
    numbers: Numbers,
    /// Their lists, of those that are wanted.
    lists: RowLists,
    at: Option<usize>,
    used: u64,
    read: u64,
}

/// The lists of a chunk, and which row of it is at hand.
#[derive(Default)]
struct RowLists {
    /// By number; those that are wanted are read.
    lists: Vec<Lists>,
    row: usize,
    /// The place of the chunk.
    chunk: usize,
}

impl KeptLists for RowLists {
    #[inline]
    fn pairs(&self, list: usize) -> Option<KeptPairs<'_>> {
        self.lists[list].pairs(self.row)
    }

    #[inline]
    fn words(&self, list: usize) -> Option<KeptText<'_>> {
        self.lists[list].words(self.row, self.chunk)
    }
}

/// How an index has served a training.
#[derive(Debug, Clone)]
pub struct Served {
    pub name: String,
    /// Rows whose numbers came from it.
    pub used: u64,
    /// Rows of the source whose numbers came from the table.
    pub read: u64,
    /// Rows of it that were not met.
    pub unmet: u64,
    /// Features that it does not have, as `features` asks for them.
    pub others: Vec<String>,
}

impl Kept {
    /// What an index has of what is `wanted` of the rows of a started query; `columns` are the names of its feature columns, which
    /// begin at place `first` of its rows.
    ///
    /// # Errors
    /// Where numbers of a column are wanted that the index has not.
    pub fn open(
        stored: Rc<Stored>,
        running: &mut Running,
        wanted: &Wanted,
        (first, columns): (usize, &[&str]),
    ) -> Result<Self, Failure> {
        let derived = running.derived();
        let place = |column: usize| place_of(&stored, derived, column, columns[column]);
        let found = gathered((0..columns.len()).map(place))?;
        let list_of = |list: List| {
            let is = |kept: &KeptList| kept.is(&list, |at| found[at - first]);
            stored.lists.iter().position(is)
        };
        let kept_lists = wanted.lists().filter(|list| list_of(*list).is_some());
        let of_lists = kept_lists.flat_map(|list| list.columns());
        let all = wanted.columns().chain(of_lists);
        let all = gathered(all.map(|at| at - first))?;
        let is_kept = |now: &&Derived| {
            let known = stored.tables.iter().find(|it| it.table == now.table);
            let same = |known: &Derived, column: usize| {
                let before = found[column].and_then(|place| known.columns[place]);
                before.is_some() && before == now.columns[column]
            };
            known.is_some_and(|known| all.iter().all(|column| same(known, *column)))
        };
        let kept = derived.iter().flatten().filter(is_kept);
        let kept = gathered(kept.map(|derived| derived.table))?;
        let numbers = |at: usize| stored.columns[found[at - first]?].numbers.clone();
        let is_known = |now: &Derived| stored.tables.iter().any(|it| it.table == now.table);
        let others = wanted.others(list_of)?;
        let places = match wanted.places(numbers, list_of) {
            Ok(places) => places,
            // of rows none of which is known nothing is wanted
            Err(_) if !derived.iter().flatten().any(is_known) => KeptPlaces::default(),
            Err(at) => return Err(lacking(&stored, columns[at - first])),
        };
        let lists = gathered(stored.lists.iter().map(|_| Lists::default()))?;
        running.keep_tables(|table| kept.contains(&table));
        let mut this = Self {
            tuples: Tuples::default(),
            chunks: Vec::new(),
            places,
            others,
            unpacker: Unpacker::default(),
            numbers: Numbers::default(),
            lists: RowLists {
                lists,
                row: 0,
                chunk: 0,
            },
            at: None,
            used: 0,
            read: 0,
            stored,
        };
        this.load()?;
        Ok(this)
    }

    /// Reads what rows are known by.
    fn load(&mut self) -> Result<(), Failure> {
        let (tuples, chunks) = (&mut self.tuples, &mut self.chunks);
        self.stored.each_chunk(|chunk, rows, bytes| {
            let Some(known) = chunks::tuples(bytes, rows) else {
                return Ok(false);
            };
            tuples.extend(known)?;
            chunks.room(1)?.push((chunk, tuples.len()));
            Ok(tuples.len() < u32::MAX as usize)
        })
    }

    /// What is kept of the row of the source that is known by this.
    pub fn row(&mut self, tuple: u64) -> Result<Option<KeptRow<'_>>, Failure> {
        let row = match tuple {
            origin::NONE => None,
            tuple => self.tuples.find(tuple)?,
        };
        let Some(row) = row else {
            self.read += 1;
            return Ok(None);
        };
        self.used += 1;
        let at = match self.at.filter(|at| self.rows(*at).contains(&row)) {
            Some(at) => at,
            None => self.fetch(row)?,
        };
        self.lists.row = row - self.rows(at).start;
        let width = match self.places.has_numbers() {
            true => self.stored.width(),
            false => 0,
        };
        let start = self.lists.row * width;
        Ok(Some(KeptRow {
            places: &self.places,
            numbers: self.numbers.part(start..start + width),
            lists: &self.lists,
        }))
    }

    /// The rows of the chunk at this place.
    fn rows(&self, at: usize) -> core::ops::Range<usize> {
        let start = match at {
            0 => 0,
            at => self.chunks[at - 1].1,
        };
        start..self.chunks[at].1
    }

    /// Reads the chunk that has this row, and says where that is.
    #[cold]
    fn fetch(&mut self, row: usize) -> Result<usize, Failure> {
        let at = self.chunks.partition_point(|(_, end)| *end <= row);
        let rows = self.rows(at).len();
        let (chunk, stored) = (self.chunks[at].0, &self.stored);
        let (unpacker, numbers) = (&mut self.unpacker, &mut self.numbers);
        self.at = None;
        if self.places.has_numbers() {
            let count = rows * stored.width();
            stored.part((chunk, 0), |bytes| unpacker.numbers(bytes, count, numbers))?;
        }
        for number in self.places.lists() {
            let (kind, list) = (stored.lists[number].kind, &mut self.lists.lists[number]);
            stored.part((chunk, 1 + number), |bytes| {
                list.read(kind, bytes, rows, unpacker)
            })?;
        }
        self.lists.chunk = at;
        self.at = Some(at);
        Ok(at)
    }

    /// How it has served a training of these features.
    pub fn served(&self, features: &FeatureSet) -> Served {
        Served {
            name: self.stored.name.clone(),
            used: self.used,
            read: self.read,
            unmet: (self.tuples.len() as u64).saturating_sub(self.used),
            others: {
                let parts = self.others.iter().filter_map(|at| features.parts.get(*at));
                parts.map(FeaturePart::name).collect()
            },
        }
    }
}

/// The place in the index of a feature column: of one that is derived as it was, or, where none is, of that name.
fn place_of(
    stored: &Stored,
    derived: &[Option<Derived>],
    column: usize,
    name: &str,
) -> Option<usize> {
    let same = |now: &Derived| {
        let known = stored.tables.iter().find(|it| it.table == now.table)?;
        let hash = now.columns[column]?;
        known.columns.iter().position(|it| *it == Some(hash))
    };
    let by_hash = derived.iter().flatten().find_map(same);
    by_hash.or_else(|| stored.column(name))
}

fn lacking(stored: &Stored, column: &str) -> Failure {
    Failure::new(
        Code::ERRCODE_UNDEFINED_COLUMN,
        format!("index \"{}\" has no column \"{column}\"", stored.name),
    )
    .hint(
        "svm_index('relation', name => '…') makes it again; or leave \"index\" out of the options",
    )
}
