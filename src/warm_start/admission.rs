//! The keys of a training's rows, in whichever process reads: each must be there once. Where a model follows its table, which is
//! in the leader only, they say which rows are trained on.

use crate::base::errors::{shortened, Code, Failure};
use crate::features::FeatureBuffer;
use crate::keys::chunks::{KeyChunk, KeyChunks};
use crate::keys::column::{null_key, KeyColumn};
use crate::keys::digest::{self, RowDigests};
use crate::keys::out_of_memory;
use crate::keys::seen::SeenKeys;
use crate::pg::deform::DeformedRow;
use crate::pg::origin;
use crate::targets::labels::LabelValue;
use crate::warm_start::following::Following;

/// The keys met so far.
pub struct Keys {
    column: KeyColumn,
    seen: SeenKeys,
    chunks: KeyChunks,
    digests: RowDigests,
    /// Digests of the labels, by class.
    labels: Vec<u64>,
    /// What versions of rows are known by, row after row, or [`origin::NONE`]; where those are wanted.
    versions: Option<Vec<u64>>,
    following: Option<Following>,
}

/// The label of a row.
pub enum KeyedLabel<'a> {
    /// The number of its class, and all classes met.
    Class(u32, &'a [LabelValue]),
    /// Of a regression.
    Number(f64),
}

/// What a row that is trained on is known by.
#[derive(Debug, Clone, Copy)]
pub struct Admitted {
    key: u128,
    /// The row of the memory with that key.
    known: Option<u32>,
    origin: u64,
}

impl Keys {
    /// For rows with this key column. `versions`: whether the versions of rows are to be known.
    pub fn new(column: KeyColumn, following: Option<Following>, versions: bool) -> Self {
        Self {
            chunks: KeyChunks::new(column.kind),
            column,
            seen: SeenKeys::default(),
            digests: RowDigests::default(),
            labels: Vec::new(),
            versions: versions.then(Vec::new),
            following,
        }
    }

    /// What row `number` of the source is known by; None where it is not trained on.
    ///
    /// # Errors
    /// A key that is NULL or comes twice, an added row that the model knows.
    pub fn admit(
        &mut self,
        row: &DeformedRow<'_>,
        number: u64,
    ) -> Result<Option<Admitted>, Failure> {
        let name = &self.column.name;
        if row.nulls[self.column.at] {
            return Err(null_key(name, number));
        }
        let datum = row.values[self.column.at];
        let shown = || self.column.kind.shown(datum);
        let key = self.column.kind.known_by(datum);
        let mut known = None;
        if let Some(following) = &mut self.following {
            known = following.memory.rows.find(key)?;
            let added = self.column.added_at;
            let added = added.is_some_and(|at| row.values[at].value() as i32 != 0);
            match following.wants(known.is_some(), added) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(()) => return Err(known_already(&shown(), &following.model)),
            }
        }
        if self.seen.insert(key).map_err(|_| out_of_memory())? {
            let origin = row.origin;
            return Ok(Some(Admitted { key, known, origin }));
        }
        Err(Failure::new(
            Code::ERRCODE_UNIQUE_VIOLATION,
            format!("key column \"{name}\" holds {} twice", shown()),
        )
        .detail(format!("It is in row {number} of the source."))
        .hint("A key says which row is which: key => 'column' names one whose values are unique. If only several columns together are, make one of them in a query: concat_ws('-', …, …) AS key"))
    }

    /// What a row that was admitted is known by: the column and its value.
    pub fn name(&self, row: &DeformedRow<'_>) -> String {
        let shown = self.column.kind.shown(row.values[self.column.at]);
        format!("{} {}", self.column.name, shortened(&shown))
    }

    /// Whether a row may be screened, if it is the one that the model knows.
    #[inline]
    pub fn may_screen(&self, row: &Admitted) -> bool {
        let screening = self.following.as_ref().and_then(|it| it.screening.as_ref());
        let (Some(screening), Some(known)) = (screening, row.known) else {
            return false;
        };
        row.origin != origin::NONE && screening.has_slack(known)
    }

    /// Takes a row that is trained on without a look at its features, if it is the one that the model knows and
    /// [`Self::may_screen`]; row `number` of the source.
    pub fn screen(
        &mut self,
        row: &Admitted,
        class: u32,
        classes: &[LabelValue],
        number: u64,
    ) -> Result<bool, Failure> {
        let version = digest::of_version(self.label(class, classes), row.origin);
        let (Some(following), Some(known)) = (&mut self.following, row.known) else {
            return Ok(false);
        };
        let screened = following.screen(known, version, class, number)?;
        if screened {
            let digest = following.memory.rows.digest(known);
            self.chunks.push(row.key, digest)?;
            self.push_version(version)?;
        }
        Ok(screened)
    }

    /// Takes a row that is trained on.
    pub fn take(
        &mut self,
        Admitted { key, known, origin }: Admitted,
        label: KeyedLabel<'_>,
        weight: f64,
        features: &FeatureBuffer,
    ) -> Result<(), Failure> {
        let (class, label) = match label {
            KeyedLabel::Class(class, classes) => (class, self.label(class, classes)),
            KeyedLabel::Number(number) => (0, digest::of_number(number)),
        };
        let digest = self.digests.of_row(label, weight, features)?;
        if let Some(following) = &mut self.following {
            following.take(known, class, digest)?;
        }
        self.chunks.push(key, digest)?;
        self.push_version(match origin {
            origin::NONE => origin,
            origin => digest::of_version(label, origin),
        })
    }

    /// The digest of a class's label.
    fn label(&mut self, class: u32, classes: &[LabelValue]) -> u64 {
        let new = classes[self.labels.len()..].iter();
        self.labels
            .extend(new.map(|class| digest::of_label(&class.text)));
        self.labels[class as usize]
    }

    fn push_version(&mut self, version: u64) -> Result<(), Failure> {
        if let Some(versions) = &mut self.versions {
            versions.try_reserve(1).map_err(|_| out_of_memory())?;
            versions.push(version);
        }
        Ok(())
    }

    /// What versions of rows are known by, where that is wanted.
    pub fn versions(&self) -> Option<&[u64]> {
        self.versions.as_deref()
    }

    /// Gives them away.
    pub fn take_versions(&mut self) -> Option<Vec<u64>> {
        self.versions.take()
    }

    /// What can be said only after the last row.
    pub fn complete(&mut self) -> Result<(), Failure> {
        self.seen = SeenKeys::default();
        match &mut self.following {
            Some(following) => following.complete(),
            None => Ok(()),
        }
    }

    pub fn chunks(&self) -> &[KeyChunk] {
        self.chunks.chunks()
    }

    /// Gives the chunks away.
    pub fn take_chunks(&mut self) -> Vec<KeyChunk> {
        self.chunks.take()
    }

    pub fn following(&self) -> Option<&Following> {
        self.following.as_ref()
    }

    pub fn following_mut(&mut self) -> Option<&mut Following> {
        self.following.as_mut()
    }
}

/// What is wrong with a row to add that the model was trained on.
fn known_already(key: &str, model: &str) -> Failure {
    Failure::new(
        Code::ERRCODE_UNIQUE_VIOLATION,
        format!(
            "key {key} is among the rows to add and among those that model \"{model}\" was trained on"
        ),
    )
    .hint("Leave it out of the rows to add, or let svm_refresh(model) find out what has changed")
}
