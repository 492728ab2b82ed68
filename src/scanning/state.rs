//! The state of the aggregate: rows that are being taken in, or what was found in them.

use crate::base::errors::{Code, Failure};
use crate::pg::aggregate::State;
use crate::pg::deform::Row;
use crate::pg::origin;
use crate::pg::query::Column;
use crate::planning::job::Job;
use crate::reading::learned::Learned;
use crate::reading::row_decoder::RowDecoder;
use crate::scanning::order::{Told, ToldRows, ToldTask};
use pgrx::pg_sys;
use pgsvm_core::memory::filled;
use pgsvm_core::message::{self, MessageError};
use pgsvm_core::{PartRows, PartsFound, ScanPass, ScanSums, ScannedRows, Survey};
use serde::{Deserialize, Serialize};
use std::mem::take;

/// What a scan knows of the rows so far.
#[derive(Default)]
pub struct ScanState(Stage);

#[derive(Default)]
enum Stage {
    /// No row has come.
    #[default]
    New,
    Taking(Box<Taking>),
    Ended(Found),
}

/// What has become of rows.
#[derive(Serialize, Deserialize)]
pub enum Found {
    Learned(Box<Learned>),
    Summed(Box<ScanSums>),
    Trained(Box<PartsFound>),
}

/// Rows are taken in.
pub(super) struct Taking {
    decode: RowDecoder,
    values: Vec<pg_sys::Datum>,
    nulls: Vec<bool>,
    sink: Sink,
}

/// What takes the examples.
enum Sink {
    Survey {
        survey: Box<Survey>,
        failed: bool,
        /// What the sample takes when it has been joined with others.
        sample_bytes: usize,
    },
    Sum(Box<Summing>),
    Train(Box<(ScannedRows, PartRows)>),
}

struct Summing {
    rows: ScannedRows,
    pass: ScanPass,
    sums: ScanSums,
}

/// Who decodes and makes rows that are known.
fn knowing(
    job: &Job,
    columns: &[Column],
    rows: ToldRows,
) -> Result<(RowDecoder, ScannedRows), Failure> {
    let known = (&rows.classes[..], &rows.folds[..]);
    let decode = RowDecoder::knowing(job, columns, &rows.features, known)?;
    let rows = ScannedRows::new(&rows.form, rows.map)?;
    Ok((decode, rows))
}

impl ScanState {
    /// Takes a row in, of these columns, each a value and whether it is NULL. `begin`: the message and the columns' types, for
    /// the first one.
    pub(super) fn take(
        &mut self,
        columns: impl Iterator<Item = (pg_sys::Datum, bool)>,
        begin: impl FnOnce() -> Result<Taking, Failure>,
    ) -> Result<(), Failure> {
        if matches!(self.0, Stage::New) {
            self.0 = Stage::Taking(Box::new(begin()?));
        }
        match &mut self.0 {
            Stage::Taking(taking) => taking.take(columns),
            Stage::New | Stage::Ended(_) => Err(damaged()),
        }
    }

    /// Joins what a scan of other rows has found, by its bytes.
    pub(super) fn join(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match Self::read(bytes)? {
            Some(mut other) => self.merge(&mut other),
            None => Err(damaged()),
        }
    }

    /// Whether no row has come yet.
    pub(super) fn is_new(&self) -> bool {
        matches!(self.0, Stage::New)
    }

    /// Of rows that have become this.
    pub(super) fn ended(found: Option<Found>) -> Self {
        Self(found.map_or(Stage::New, Stage::Ended))
    }

    /// What has become of the rows.
    pub(super) fn end(&mut self) -> Result<Option<Found>, Failure> {
        Ok(match take(&mut self.0) {
            Stage::New => None,
            Stage::Taking(taking) => Some(taking.end()?),
            Stage::Ended(found) => Some(found),
        })
    }
}

impl Taking {
    /// As these bytes say, for columns of these types.
    pub(super) fn told(
        bytes: &[u8],
        types: impl Iterator<Item = pg_sys::Oid>,
    ) -> Result<Self, Failure> {
        let (told, columns) = Told::read(bytes, types)?;
        let read = &columns[..told.job.statement.columns.features.end];
        let (decode, sink) = match told.task {
            ToldTask::Survey {
                reads,
                sample_bytes,
                part_bytes,
            } => (
                RowDecoder::learning(&told.job, read)?,
                Sink::Survey {
                    survey: Box::new(Survey::new(&reads, part_bytes)),
                    failed: false,
                    sample_bytes,
                },
            ),
            ToldTask::Sum(rows, pass) => {
                if !(rows.are_sound() && pass.fits(rows.visited())) {
                    return Err(damaged());
                }
                let (decode, rows) = knowing(&told.job, read, *rows)?;
                let (sums, pass) = (pass.begin()?, *pass);
                (decode, Sink::Sum(Box::new(Summing { rows, pass, sums })))
            }
            ToldTask::Train(rows, order) => {
                if !(rows.are_sound() && order.fits(rows.visited())) {
                    return Err(damaged());
                }
                let (decode, rows) = knowing(&told.job, read, *rows)?;
                let part = PartRows::new(*order);
                (decode, Sink::Train(Box::new((rows, part))))
            }
        };
        Ok(Self {
            values: filled(pg_sys::Datum::from(0), columns.len())?,
            nulls: filled(true, columns.len())?,
            decode,
            sink,
        })
    }

    fn take(
        &mut self,
        columns: impl Iterator<Item = (pg_sys::Datum, bool)>,
    ) -> Result<(), Failure> {
        let places = self.values.iter_mut().zip(&mut self.nulls);
        for (column, (value, null)) in columns.zip(places) {
            (*value, *null) = column;
        }
        let row = Row {
            values: &self.values,
            nulls: &self.nulls,
            origin: origin::NONE,
            tuple: origin::NONE,
        };
        match &mut self.sink {
            Sink::Survey { failed: true, .. } => Ok(()),
            Sink::Survey { survey, failed, .. } => {
                *failed = match self.decode.visit(&row, &mut |example| survey.take(example)) {
                    Ok(()) => false,
                    Err(failure) if failure.code == Code::ERRCODE_OUT_OF_MEMORY => {
                        return Err(failure)
                    }
                    Err(_) => true,
                };
                Ok(())
            }
            Sink::Sum(summing) => {
                let Summing { rows, pass, sums } = &mut **summing;
                self.decode.visit(&row, &mut |example| {
                    rows.take(example, &mut |row| pass.add(sums, row))
                })
            }
            Sink::Train(training) => {
                let (rows, part) = &mut **training;
                self.decode.visit(&row, &mut |example| {
                    rows.take(example, &mut |row| part.take(row))
                })
            }
        }
    }

    fn end(self: Box<Self>) -> Result<Found, Failure> {
        Ok(match self.sink {
            Sink::Survey {
                mut survey,
                failed,
                sample_bytes,
            } => {
                survey.widen(sample_bytes);
                Found::Learned(Box::new(Learned::of(self.decode, *survey, failed)?))
            }
            Sink::Sum(summing) => {
                let Summing {
                    mut rows,
                    pass,
                    mut sums,
                } = *summing;
                rows.finish(&mut |row| pass.add(&mut sums, row))?;
                sums.finish();
                Found::Summed(Box::new(sums))
            }
            Sink::Train(training) => {
                let (mut rows, mut part) = *training;
                rows.finish(&mut |row| part.take(row))?;
                Found::Trained(Box::new(part.train()))
            }
        })
    }
}

impl State for ScanState {
    fn merge(&mut self, other: &mut Self) -> Result<(), Failure> {
        let joined = match (self.end()?, other.end()?) {
            (own, None) => own,
            (None, more) => more,
            (Some(Found::Learned(mut own)), Some(Found::Learned(more))) => {
                if !own.fits(&more) {
                    return Err(damaged());
                }
                own.join(*more)?;
                Some(Found::Learned(own))
            }
            (Some(Found::Summed(mut own)), Some(Found::Summed(more))) => match own.join(&more) {
                true => Some(Found::Summed(own)),
                false => return Err(damaged()),
            },
            (Some(Found::Trained(mut own)), Some(Found::Trained(more))) => match own.join(&more) {
                true => Some(Found::Trained(own)),
                false => return Err(damaged()),
            },
            _ => return Err(damaged()),
        };
        self.0 = joined.map_or(Stage::New, Stage::Ended);
        Ok(())
    }

    fn write(&mut self, out: &mut Vec<u8>) -> Result<(), Failure> {
        Ok(message::encode_into(&self.end()?, out)?)
    }

    fn read(bytes: &[u8]) -> Result<Option<Self>, Failure> {
        Ok(Some(Self::ended(Found::read(bytes).map_err(unread)?)))
    }
}

impl Found {
    /// What a state's bytes say; None where there was no row.
    pub fn read(bytes: &[u8]) -> Result<Option<Self>, MessageError> {
        Self::checked(message::decode(bytes)?)
    }

    /// What was read, unless its parts do not fit one another.
    pub(super) fn checked(found: Option<Self>) -> Result<Option<Self>, MessageError> {
        match found.as_ref().is_none_or(Self::is_sound) {
            true => Ok(found),
            false => Err(MessageError::Damaged),
        }
    }

    fn is_sound(&self) -> bool {
        match self {
            Self::Learned(learned) => learned.is_sound(),
            Self::Summed(sums) => sums.are_sound(),
            // what is joined is compared
            Self::Trained(_) => true,
        }
    }
}

/// Bytes are not read as a state.
pub(super) fn unread(error: MessageError) -> Failure {
    match error {
        MessageError::OutOfMemory(error) => error.into(),
        MessageError::Damaged => damaged(),
    }
}

/// Bytes are none of a state's, or two states do not belong together.
pub fn damaged() -> Failure {
    Failure::new(
        Code::ERRCODE_DATA_CORRUPTED,
        "the state of a scan is damaged",
    )
}
