//! The state of the aggregate: rows that are being taken in, or what was found in them.

use crate::base::errors::{Code, Failure};
use crate::pg::aggregate::State;
use crate::pg::deform::DeformedRow;
use crate::pg::origin;
use crate::pg::query::Column;
use crate::planning::job::Job;
use crate::reading::learned::LearnedRows;
use crate::reading::row_decoder::RowDecoder;
use crate::scanning::order::{OrderedRows, OrderedTask, ReceivedOrder};
use pgrx::pg_sys;
use pgsvm_core::memory::filled;
use pgsvm_core::message::{self, MessageError};
use pgsvm_core::{PartRows, PartsFound, ScanPass, ScanSums, ScannedRows, Survey};
use serde::{Deserialize, Serialize};
use std::mem::take;

/// What a scan knows of the rows so far.
#[derive(Default)]
pub struct ScanState(ScanStage);

#[derive(Default)]
enum ScanStage {
    /// No row has come.
    #[default]
    New,
    Taking(Box<Taking>),
    Ended(ScanResult),
}

/// What has become of rows.
#[derive(Serialize, Deserialize)]
pub enum ScanResult {
    Learned(Box<LearnedRows>),
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
    Sum(Box<SummingRows>),
    Train(Box<(ScannedRows, PartRows)>),
}

struct SummingRows {
    rows: ScannedRows,
    pass: ScanPass,
    sums: ScanSums,
}

/// Who decodes and makes rows that are known.
fn knowing(
    job: &Job,
    columns: &[Column],
    rows: OrderedRows,
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
        if matches!(self.0, ScanStage::New) {
            self.0 = ScanStage::Taking(Box::new(begin()?));
        }
        match &mut self.0 {
            ScanStage::Taking(taking) => taking.take(columns),
            ScanStage::New | ScanStage::Ended(_) => Err(damaged()),
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
        matches!(self.0, ScanStage::New)
    }

    /// Of rows that have become this.
    pub(super) fn ended(found: Option<ScanResult>) -> Self {
        Self(found.map_or(ScanStage::New, ScanStage::Ended))
    }

    /// What has become of the rows.
    pub(super) fn end(&mut self) -> Result<Option<ScanResult>, Failure> {
        Ok(match take(&mut self.0) {
            ScanStage::New => None,
            ScanStage::Taking(taking) => Some(taking.end()?),
            ScanStage::Ended(found) => Some(found),
        })
    }
}

impl Taking {
    /// As these bytes say, for columns of these types.
    pub(super) fn of_message(
        bytes: &[u8],
        types: impl Iterator<Item = pg_sys::Oid>,
    ) -> Result<Self, Failure> {
        let (received, columns) = ReceivedOrder::read(bytes, types)?;
        let read = &columns[..received.job.statement.columns.features.end];
        let (decode, sink) = match received.task {
            OrderedTask::Survey {
                reads,
                sample_bytes,
                part_bytes,
            } => (
                RowDecoder::learning(&received.job, read)?,
                Sink::Survey {
                    survey: Box::new(Survey::new(&reads, part_bytes)),
                    failed: false,
                    sample_bytes,
                },
            ),
            OrderedTask::Sum(rows, pass) => {
                if !(rows.are_sound() && pass.fits(rows.visited())) {
                    return Err(damaged());
                }
                let (decode, rows) = knowing(&received.job, read, *rows)?;
                let (sums, pass) = (pass.begin()?, *pass);
                (
                    decode,
                    Sink::Sum(Box::new(SummingRows { rows, pass, sums })),
                )
            }
            OrderedTask::Train(rows, order) => {
                if !(rows.are_sound() && order.fits(rows.visited())) {
                    return Err(damaged());
                }
                let (decode, rows) = knowing(&received.job, read, *rows)?;
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
        let row = DeformedRow {
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
                let SummingRows { rows, pass, sums } = &mut **summing;
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

    fn end(self: Box<Self>) -> Result<ScanResult, Failure> {
        Ok(match self.sink {
            Sink::Survey {
                mut survey,
                failed,
                sample_bytes,
            } => {
                survey.widen(sample_bytes);
                ScanResult::Learned(Box::new(LearnedRows::of(self.decode, *survey, failed)?))
            }
            Sink::Sum(summing) => {
                let SummingRows {
                    mut rows,
                    pass,
                    mut sums,
                } = *summing;
                rows.finish(&mut |row| pass.add(&mut sums, row))?;
                sums.finish();
                ScanResult::Summed(Box::new(sums))
            }
            Sink::Train(training) => {
                let (mut rows, mut part) = *training;
                rows.finish(&mut |row| part.take(row))?;
                ScanResult::Trained(Box::new(part.train()))
            }
        })
    }
}

impl State for ScanState {
    fn merge(&mut self, other: &mut Self) -> Result<(), Failure> {
        let joined = match (self.end()?, other.end()?) {
            (own, None) => own,
            (None, more) => more,
            (Some(ScanResult::Learned(mut own)), Some(ScanResult::Learned(more))) => {
                if !own.fits(&more) {
                    return Err(damaged());
                }
                own.join(*more)?;
                Some(ScanResult::Learned(own))
            }
            (Some(ScanResult::Summed(mut own)), Some(ScanResult::Summed(more))) => {
                match own.join(&more) {
                    true => Some(ScanResult::Summed(own)),
                    false => return Err(damaged()),
                }
            }
            (Some(ScanResult::Trained(mut own)), Some(ScanResult::Trained(more))) => {
                match own.join(&more) {
                    true => Some(ScanResult::Trained(own)),
                    false => return Err(damaged()),
                }
            }
            _ => return Err(damaged()),
        };
        self.0 = joined.map_or(ScanStage::New, ScanStage::Ended);
        Ok(())
    }

    fn write(&mut self, out: &mut Vec<u8>) -> Result<(), Failure> {
        Ok(message::encode_into(&self.end()?, out)?)
    }

    fn read(bytes: &[u8]) -> Result<Option<Self>, Failure> {
        Ok(Some(Self::ended(ScanResult::read(bytes).map_err(unread)?)))
    }
}

impl ScanResult {
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
