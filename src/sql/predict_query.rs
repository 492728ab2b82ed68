//! `svm_predict_query`: the rows of a SELECT are read in batches, so that a kernel machine compares many of them with its
//! landmarks by one matrix product. PostgreSQL hands a function of a row one row at a time, and that one product after the
//! other reads all landmarks anew.

use crate::base::errors::{Code, Failure, OrRaise};
use crate::features::{Decoder, FeatureBuffer};
use crate::model::{self, GatheredRows, Model};
use crate::pg::c_function;
use crate::pg::call::Call;
use crate::pg::executor::{Continue, DeformedRow, RunningQuery};
use crate::pg::long_errors::cut_off;
use crate::pg::query::{self, Column};
use crate::pg::result_set::{float8, ResultSet};
use crate::pg::select::text_datum;
use crate::pg::snapshot::with_latest;
use crate::pg::varlena::Varlena;
use crate::predict::answered::{are_answer, has_answer};
use crate::predict::complaints::{null_feature, row_failure, Called};
use crate::predict::{any_null, null};
use crate::request::source::{quote, GivenSource};
use pgrx::pg_sys;
use pgsvm_core::memory::{copied, Room};

/// Rows that are decided together: as many as a kernel machine takes at a time, or fewer where they are wide.
const ROWS: usize = 240;
/// Numbers that they have at most, about.
const NUMBERS: usize = 1 << 20;

c_function!(
    svm_predict_query_wrapper,
    pg_finfo_svm_predict_query_wrapper,
    svm_predict_query
);

/// `svm_predict_query(model, query, key) -> TABLE(row_number, row_key, label, decision, probability)`.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with three texts.
unsafe fn svm_predict_query(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises; the values are of the declared types.
    unsafe {
        let mut results = ResultSet::begin(fcinfo);
        if any_null(fcinfo, 2) {
            return null(fcinfo);
        }
        let call = Call::of(fcinfo);
        let name = call.text("model").unwrap_or_default();
        let text = call.long_text("query").unwrap_or_default();
        let key = call.text("key");
        cut_off(|| {
            let model = model::of_call(fcinfo, &name)?;
            let source = GivenSource::of_text(text)?;
            predict(&model, &source, key.as_deref(), &mut results)
        })
        .or_raise();
        null(fcinfo)
    }
}

/// Answers for all rows of the source.
fn predict(
    model: &Model,
    source: &GivenSource,
    key: Option<&str>,
    results: &mut ResultSet,
) -> Result<(), Failure> {
    let planned = query::plan(&select(model, source, key)?);
    let features = planned.columns.len() - usize::from(key.is_some());
    let decoder = Decoder::new(&model.features, &planned.columns[..features], model.nulls)
        .map_err(|error| row_failure(model, &Called::without_row(pg_sys::RECORDOID), error))?;
    let mut batch = PredictBatch::new(model, decoder, key.map(|_| features));
    with_latest(|| {
        let mut running = RunningQuery::start(&planned);
        let rows = (NUMBERS / model.dense_count.max(1)).clamp(1, ROWS);
        loop {
            let more = running.run(rows as u64, &mut |row| batch.take(row));
            batch.answer(results)?;
            if !more {
                break;
            }
        }
        running.finish();
        Ok(())
    })
}

/// The SELECT of the columns that the model reads, and of the key as text behind them.
fn select(model: &Model, source: &GivenSource, key: Option<&str>) -> Result<String, Failure> {
    let wanted = model.features.columns();
    let offered = source.columns()?;
    let mut list: Vec<String> = Vec::new();
    for column in &offered {
        if wanted.contains(&column.name.as_str()) {
            list.room(1)?.push(quote(&column.name));
        }
    }
    if let Some(key) = key {
        if offered.iter().all(|column| column.name != key) {
            return Err(no_key(key, &offered));
        }
        list.room(1)?
            .push(format!("{}::pg_catalog.text", quote(key)));
    }
    source.select(&list)
}

fn no_key(key: &str, offered: &[Column]) -> Failure {
    let failure = Failure::new(
        Code::ERRCODE_UNDEFINED_COLUMN,
        format!("key \"{key}\" is no column of the query"),
    );
    match offered.first() {
        None => failure,
        Some(column) => failure.hint(format!(
            "key => '{}', or another of its columns, or none",
            column.name.replace('\'', "''")
        )),
    }
}

/// Rows on their way.
struct PredictBatch<'a> {
    model: &'a Model,
    decoder: Decoder,
    buffer: FeatureBuffer,
    /// Where the key stands, where there is one.
    key: Option<usize>,
    /// By row its key, and whether it has an answer.
    rows: Vec<(Option<Vec<u8>>, bool)>,
    /// Of a kernel machine those that do.
    gathered: GatheredRows,
    /// Of those all heads' decisions, row after row.
    decisions: Vec<f64>,
    row: Vec<f64>,
    /// Rows before these.
    before: i64,
    failure: Option<Failure>,
}

impl<'a> PredictBatch<'a> {
    fn new(model: &'a Model, decoder: Decoder, key: Option<usize>) -> Self {
        Self {
            model,
            decoder,
            buffer: FeatureBuffer::default(),
            key,
            rows: Vec::new(),
            gathered: GatheredRows::default(),
            decisions: Vec::new(),
            row: Vec::new(),
            before: 0,
            failure: None,
        }
    }

    fn take(&mut self, row: &DeformedRow<'_>) -> Continue {
        match self.read(row) {
            Ok(()) => Continue::Yes,
            Err(failure) => {
                self.failure = Some(failure);
                Continue::No
            }
        }
    }

    fn read(&mut self, row: &DeformedRow<'_>) -> Result<(), Failure> {
        let features = self.key.unwrap_or(row.values.len());
        let (values, nulls) = (&row.values[..features], &row.nulls[..features]);
        // SAFETY: the decoder was made for these columns.
        let decoded = unsafe { self.decoder.decode(values, nulls, &mut self.buffer) };
        let called = Called::without_row(pg_sys::RECORDOID);
        let read =
            decoded.map_err(|error| self.in_its_row(row_failure(self.model, &called, error)));
        let refuse = || self.in_its_row(null_feature(self.model, &self.buffer, true));
        let mut answered = has_answer(self.model, read, &self.buffer, refuse)?;
        if answered {
            self.model.prepare(&mut self.buffer);
            match &self.model.kernel {
                Some(machine) => machine.gather(&self.buffer, &mut self.gathered)?,
                None => {
                    self.model.decisions(&self.buffer, &mut self.row);
                    answered = are_answer(self.model, &self.row)?;
                    let room = self.decisions.room(self.row.len())?;
                    room.extend(self.row.iter().filter(|_| answered));
                }
            }
        }
        let key = self.key.filter(|at| !row.nulls[*at]);
        let key = key.map(|at| {
            // SAFETY: the column is a text, and lives as long as the row.
            copied(unsafe { Varlena::open(row.values[at]) }.payload())
        });
        self.rows.room(1)?.push((key.transpose()?, answered));
        Ok(())
    }

    /// Says in which row it is.
    fn in_its_row(&self, failure: Failure) -> Failure {
        let number = self.before + self.rows.len() as i64 + 1;
        failure.in_detail(&format!("It is in row {number} of the query."))
    }

    /// Answers for the rows gathered.
    fn answer(&mut self, results: &mut ResultSet) -> Result<(), Failure> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let model = self.model;
        if let Some(machine) = &model.kernel {
            machine.decide_gathered(&mut self.gathered, &mut self.decisions)?;
        }
        let mut all = self.decisions.chunks_exact(model.heads.len());
        for (key, answered) in self.rows.drain(..) {
            self.before += 1;
            let number = self.before;
            let decisions = match answered {
                true => all.next(),
                false => None,
            };
            let decisions = match decisions {
                Some(all) if are_answer(model, all)? => Some(all),
                _ => None,
            };
            // SAFETY: the values are of the declared types.
            unsafe { results.put(|| answer(model, number, key, decisions)) };
        }
        self.decisions.clear();
        Ok(())
    }
}

/// A row of the result. Of a regression prediction and decision are the number. Of two classes decision and probability are the larger one's, of several the predicted one's.
fn answer(
    model: &Model,
    number_of_row: i64,
    key: Option<Vec<u8>>,
    decisions: Option<&[f64]>,
) -> [Option<pg_sys::Datum>; 5] {
    let key = key.map(|key| text_datum(&String::from_utf8_lossy(&key)));
    if model.regresses {
        let number = decisions.map(|all| model.number(all));
        return [
            Some(pg_sys::Datum::from(number_of_row)),
            key,
            number.map(|number| text_datum(&number.to_string())),
            number.map(float8),
            None,
        ];
    }
    let class = decisions.map(|all| (all, model.class(all)));
    let about = class.map(|(all, class)| match model.heads.len() {
        1 => (all, 1),
        _ => (all, class),
    });
    [
        Some(pg_sys::Datum::from(number_of_row)),
        key,
        class.map(|(_, class)| text_datum(&model.labels[class])),
        about.map(|(all, class)| float8(model.decision_for(class, all))),
        about.and_then(|(all, class)| model.probability(class, all).map(float8)),
    ]
}
