//! The message of a scan, the first argument of the aggregate: plain values, encoded for processes of one and the same library. `message()`
//! makes its bytes, and `ReceivedOrder` is the message as it arrives.

use crate::base::errors::{Code, Failure};
use crate::features::FeatureSet;
use crate::pg::query::Column;
use crate::pg::types::type_name;
use crate::planning::job::{sent, Job};
use crate::targets::labels::{LabelKind, LabelValue};
use pgrx::pg_sys;
use pgsvm_core::memory::{list, received, OutOfMemory};
use pgsvm_core::message::{self, Message, MessageError};
use pgsvm_core::plan::Folds;
use pgsvm_core::{MapView, PartOrder, ReaderJob, ReceivedMap, RowForm, ScanPass};
use serde::{Deserialize, Serialize};

/// What the bytes begin with.
const MARK: &str = "svm_scan";
/// The release whose processes understand each other.
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// What a scan is to find out.
#[derive(Serialize)]
pub enum ScanTask<'a> {
    /// What all rows are like, and a sample of so many bytes, to which each process adds so many at most.
    Survey {
        reads: ReaderJob,
        sample_bytes: usize,
        part_bytes: usize,
    },
    /// The sums of a pass.
    Sum(KnownRows<'a>, &'a ScanPass),
    /// What a training on the rows of each process alone finds.
    Train(KnownRows<'a>, &'a PartOrder),
}

/// What is known of rows that have been surveyed.
#[derive(Clone, Copy, Serialize)]
pub struct KnownRows<'a> {
    #[serde(with = "sent")]
    pub features: &'a FeatureSet,
    pub classes: &'a [LabelValue],
    /// The values of a fold column, by fold.
    pub folds: &'a [String],
    pub form: &'a RowForm,
    /// Of a kernel machine what maps rows of that form.
    pub map: Option<&'a MapView<'a>>,
}

/// The same as it arrives.
#[derive(Deserialize)]
pub(super) enum OrderedTask {
    Survey {
        reads: ReaderJob,
        sample_bytes: usize,
        part_bytes: usize,
    },
    Sum(Box<OrderedRows>, Box<ScanPass>),
    Train(Box<OrderedRows>, Box<PartOrder>),
}

#[derive(Deserialize)]
pub(super) struct OrderedRows {
    #[serde(with = "sent")]
    pub(super) features: FeatureSet,
    #[serde(deserialize_with = "list")]
    pub(super) classes: Vec<LabelValue>,
    #[serde(deserialize_with = "received")]
    pub(super) folds: Vec<String>,
    pub(super) form: RowForm,
    pub(super) map: Option<ReceivedMap>,
}

impl OrderedRows {
    /// Rows as they are visited, once they have been mapped.
    pub(super) fn visited(&self) -> &RowForm {
        self.map.as_ref().map_or(&self.form, ReceivedMap::form)
    }

    /// Whether its parts fit one another; those of bytes that came from elsewhere may not.
    pub(super) fn are_sound(&self) -> bool {
        let classes = self.classes.len();
        let map = self.map.as_ref();
        self.form.is_sound(classes) && map.is_none_or(|map| map.is_sound(classes))
    }
}

#[derive(Serialize)]
struct ScanOrder<'a> {
    job: &'a Job,
    /// Names of the columns, which the call does not tell.
    names: Vec<&'a str>,
    task: ScanTask<'a>,
}

#[derive(Deserialize)]
pub(super) struct ReceivedOrder {
    pub(super) job: Job,
    #[serde(deserialize_with = "received")]
    names: Vec<String>,
    pub(super) task: OrderedTask,
}

/// The bytes that tell a scan of rows with these columns what to do.
pub fn message(job: &Job, columns: &[Column], task: ScanTask<'_>) -> Result<Vec<u8>, OutOfMemory> {
    let names = columns.iter().map(|column| column.name.as_str());
    let order = ScanOrder {
        job,
        names: names.collect(),
        task,
    };
    message::encode(&(MARK, RELEASE, order))
}

impl ReceivedOrder {
    /// What the bytes say, for rows of columns of these types.
    pub(super) fn read(
        bytes: &[u8],
        types: impl Iterator<Item = pg_sys::Oid>,
    ) -> Result<(Self, Vec<Column>), Failure> {
        let mut message = Message::of(bytes);
        let mark: &str = message.next().map_err(refused)?;
        if mark != MARK {
            return Err(no_order());
        }
        let release: &str = message.next().map_err(refused)?;
        if release != RELEASE {
            return Err(Failure::new(
                Code::ERRCODE_FEATURE_NOT_SUPPORTED,
                format!("a scan of pgsvm {release} cannot run where pgsvm {RELEASE} is installed"),
            )
            .hint("Install the same release on all servers, then ALTER EXTENSION pgsvm UPDATE"));
        }
        let this: Self = message.next().map_err(refused)?;
        message.end().map_err(refused)?;
        let named = this.names.iter().zip(types);
        let columns = named.map(|(name, type_oid)| Column {
            name: name.clone(),
            type_oid,
            typmod: -1,
            base: None,
        });
        let columns: Vec<_> = columns.collect();
        this.check(&columns)?;
        Ok((this, columns))
    }

    /// Refuses columns that are not what the message says: they are read as such.
    fn check(&self, columns: &[Column]) -> Result<(), Failure> {
        let read = &self.job.statement.columns;
        let wanted = read.weight.as_ref().map(|it| (it.at, pg_sys::FLOAT8OID));
        let are_there = columns.len() == self.names.len()
            && read.label.at < columns.len()
            && read.features.end <= columns.len()
            && read.key.as_ref().is_none_or(|it| it.at < columns.len());
        let of_fold = match self.job.plan.folds {
            Some(Folds::Forward(_)) => pg_sys::INT4OID,
            _ => pg_sys::TEXTOID,
        };
        let folded = read.fold.as_ref().map(|it| (it.at, of_fold));
        let mut typed = wanted.into_iter().chain(folded);
        let are_typed =
            typed.all(|(at, oid)| columns.get(at).is_some_and(|column| column.type_oid == oid));
        if !(are_there && are_typed) {
            return Err(no_order());
        }
        if read.label.kind == LabelKind::OneClass {
            // the column of no label is never read
            return Ok(());
        }
        let label = &columns[read.label.at];
        match LabelKind::of_type(&label.name, label.type_oid)? == read.label.kind {
            true => Ok(()),
            false => Err(Failure::new(
                Code::ERRCODE_DATATYPE_MISMATCH,
                format!(
                    "label column \"{}\" is of another type here, {}",
                    label.name,
                    type_name(label.type_oid, -1)
                ),
            )),
        }
    }
}

/// Bytes are not read.
pub fn refused(error: MessageError) -> Failure {
    match error {
        MessageError::OutOfMemory(error) => error.into(),
        MessageError::Damaged => no_order(),
    }
}

/// Somebody calls the aggregate with bytes of their own.
fn no_order() -> Failure {
    Failure::new(
        Code::ERRCODE_INVALID_PARAMETER_VALUE,
        "svm_scan is part of trainings and not to be called by itself",
    )
    .hint("A training by scans calls it: SELECT svm_train(…, solver => 'scan')")
}
