//! An index in a training: what is kept of a row that it knows. In the process that reads.

use crate::base::errors::{Code, Failure};
use crate::features::{
    FeatureSet, KeptLists, KeptPairs, KeptPlaces, KeptRow, KeptText, ListOfPart, WantedParts,
};
use crate::index::directory::Directory;
use crate::index::open::Open;
use crate::index::stored::{KeptList, StoredIndex};
use crate::pg::executor::RunningQuery;
use crate::pg::origin::{self, DerivedOrigin};
use pgsvm_core::memory::gathered;
use std::rc::Rc;

/// The rows of an index.
pub struct KeptIndex {
    stored: Rc<StoredIndex>,
    directory: Directory,
    places: KeptPlaces,
    /// Parts of the features of which it has nothing.
    others: Vec<usize>,
    /// The chunk at this place, of which numbers and lists are read as they are wanted.
    rows: OpenRows,
    at: Option<usize>,
    used: u64,
    read: u64,
}

/// A chunk, and which row of it is at hand.
struct OpenRows {
    open: Open,
    row: usize,
    /// The place of the chunk.
    chunk: usize,
}

impl KeptLists for OpenRows {
    #[inline]
    fn pairs(&self, list: usize) -> Option<KeptPairs<'_>> {
        self.open.lists[list].pairs(self.row)
    }

    #[inline]
    fn words(&self, list: usize) -> Option<KeptText<'_>> {
        self.open.lists[list].words(self.row, self.chunk)
    }
}

/// How an index has served a training.
#[derive(Debug, Clone)]
pub struct Served {
    /// With its owner, where that is another one than the caller.
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

impl KeptIndex {
    /// What an index has of what is `wanted` of the rows of a started query; `columns` are the names of its feature columns, which
    /// begin at place `first` of its rows.
    ///
    /// # Errors
    /// Where numbers of a column are wanted that the index has not.
    pub fn open(
        stored: Rc<StoredIndex>,
        running: &mut RunningQuery,
        wanted: &WantedParts,
        (first, columns): (usize, &[&str]),
    ) -> Result<Self, Failure> {
        let derived = running.derived();
        let place = |column: usize| place_of(&stored, derived, column, columns[column]);
        let found = gathered((0..columns.len()).map(place))?;
        let list_of = |list: ListOfPart| {
            let is = |kept: &KeptList| kept.is(&list, |at| found[at - first]);
            stored.lists.iter().position(is)
        };
        let kept_lists = wanted.lists().filter(|list| list_of(*list).is_some());
        let of_lists = kept_lists.flat_map(|list| list.columns());
        let all = wanted.columns().chain(of_lists);
        let all = gathered(all.map(|at| at - first))?;
        let is_kept = |now: &&DerivedOrigin| {
            let known = stored.tables.iter().find(|it| it.table == now.table);
            let same = |known: &DerivedOrigin, column: usize| {
                let before = found[column].and_then(|place| known.columns[place]);
                before.is_some() && before == now.columns[column]
            };
            known.is_some_and(|known| all.iter().all(|column| same(known, *column)))
        };
        let kept = derived.iter().flatten().filter(is_kept);
        let kept = gathered(kept.map(|derived| derived.table))?;
        let numbers = |at: usize| stored.columns[found[at - first]?].numbers.clone();
        let is_known = |now: &DerivedOrigin| stored.tables.iter().any(|it| it.table == now.table);
        let others = wanted.others(list_of)?;
        let places = match wanted.places(numbers, list_of) {
            Ok(places) => places,
            // of rows none of which is known nothing is wanted
            Err(_) if !derived.iter().flatten().any(is_known) => KeptPlaces::default(),
            Err(at) => return Err(lacking(&stored, columns[at - first])),
        };
        running.keep_tables(|table| kept.contains(&table));
        Ok(Self {
            directory: Directory::load(&stored)?,
            places,
            others,
            rows: OpenRows {
                open: Open::new(&stored)?,
                row: 0,
                chunk: 0,
            },
            at: None,
            used: 0,
            read: 0,
            stored,
        })
    }

    /// What is kept of the row of the source that is known by this.
    pub fn row(&mut self, tuple: u64) -> Result<Option<KeptRow<'_>>, Failure> {
        let row = match tuple {
            origin::NONE => None,
            tuple => self.directory.find(tuple)?,
        };
        let Some(row) = row else {
            self.read += 1;
            return Ok(None);
        };
        self.used += 1;
        let is_its = |at: &usize| self.directory.rows(*at).contains(&row);
        let at = match self.at.filter(is_its) {
            Some(at) => at,
            None => self.fetch(row)?,
        };
        self.rows.row = row - self.directory.rows(at).start;
        let width = match self.places.has_numbers() {
            true => self.stored.width(),
            false => 0,
        };
        let start = self.rows.row * width;
        Ok(Some(KeptRow {
            places: &self.places,
            numbers: self.rows.open.numbers.part(start..start + width),
            lists: &self.rows,
        }))
    }

    /// Reads the chunk that has this row, and says where that is.
    #[cold]
    fn fetch(&mut self, row: usize) -> Result<usize, Failure> {
        let at = self.directory.chunk_of(row);
        let chunk = (self.directory.number(at), self.directory.rows(at).len());
        let wanted = (self.places.has_numbers(), self.places.lists());
        self.at = None;
        self.rows.open.read(&self.stored, chunk, wanted)?;
        self.rows.chunk = at;
        self.at = Some(at);
        Ok(at)
    }

    /// How it has served a training of these features.
    pub fn served(&self, features: &FeatureSet) -> Served {
        Served {
            name: self.stored.shown.clone(),
            used: self.used,
            read: self.read,
            unmet: (self.directory.len() as u64).saturating_sub(self.used),
            others: {
                let parts = self.others.iter().filter_map(|at| features.parts.get(*at));
                parts.map(|part| part.name()).collect()
            },
        }
    }
}

/// The place in the index of a feature column: of one that is derived as it was, or, where none is, of that name.
fn place_of(
    stored: &StoredIndex,
    derived: &[Option<DerivedOrigin>],
    column: usize,
    name: &str,
) -> Option<usize> {
    let same = |now: &DerivedOrigin| {
        let known = stored.tables.iter().find(|it| it.table == now.table)?;
        let hash = now.columns[column]?;
        known.columns.iter().position(|it| *it == Some(hash))
    };
    let by_hash = derived.iter().flatten().find_map(same);
    by_hash.or_else(|| stored.column(name))
}

fn lacking(stored: &StoredIndex, column: &str) -> Failure {
    Failure::new(
        Code::ERRCODE_UNDEFINED_COLUMN,
        format!("index \"{}\" has no column \"{column}\"", stored.shown),
    )
    .hint("svm_index('…', name => '…') makes it again; or leave \"index\" out of the options")
}
