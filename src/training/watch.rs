//! `options => '{"watch": "relation"}'`: how good the weights that a training had on its way are on the rows of another relation, from
//! which nothing is learned. In the leader, after the training.

use crate::base::errors::{Code, Failure};
use crate::features::{Decoder, FeatureBuffer, Nulls};
use crate::pg::check_for_interrupts;
use crate::pg::executor::{each_row, Row};
use crate::pg::query;
use crate::planning::job::{Job, ReaderOutcome};
use crate::planning::watched::wanted;
use crate::request::source::Source;
use crate::targets::groups::Groups;
use crate::training::weights::{with_room, Folding, StoredWeights};
use pgrx::pg_sys;
use pgsvm_core::evaluation::{auc, predicted_class};
use pgsvm_core::memory::{filled, OutOfMemory, Room};
use pgsvm_core::Snapshot;

/// Rows that may be watched: the decisions of all weights about all of them are in memory at the same time.
const MOST_ROWS: usize = 1 << 17;

/// How good the weights at an entry of the log are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tested {
    /// The time of the entry.
    pub seconds: f64,
    /// The share of the rows that get another class.
    pub error: f64,
    /// Area under the ROC curve, of more than two classes the mean of each against the rest; None where rows of one side are
    /// missing.
    pub auc: Option<f64>,
}

/// Decides about the rows of `relation` with all these weights.
pub fn test(
    job: &Job,
    relation: pg_sys::Oid,
    reader: &ReaderOutcome,
    snapshots: &[&Snapshot],
) -> Result<Vec<Tested>, Failure> {
    let mut watched = Watched::new(job, reader, snapshots)?;
    watched.read(job, relation, reader)?;
    watched.tested(snapshots)
}

/// What is known of the rows.
struct Watched {
    /// By snapshot and head, for raw rows.
    weights: Vec<Dense>,
    /// Heads of a snapshot.
    heads: usize,
    /// By row, its class.
    classes: Vec<u32>,
    /// By row, snapshot and head.
    decisions: Vec<f32>,
}

/// Weights of all features.
struct Dense {
    weights: Vec<f64>,
    intercept: f64,
}

impl Dense {
    fn of(stored: &StoredWeights) -> Result<Self, OutOfMemory> {
        let mut weights = filled(0.0, stored.features as usize)?;
        for chunk in &stored.chunks {
            let first = chunk.first_feature as usize;
            for (at, weight) in chunk.weights.iter().enumerate() {
                let offset = chunk.offsets.as_ref().map_or(at, |all| all[at] as usize);
                weights[first + offset] = *weight;
            }
        }
        Ok(Self {
            weights,
            intercept: stored.intercept,
        })
    }

    fn decision(&self, row: &FeatureBuffer) -> f32 {
        let (dense, sparse) = self.weights.split_at(row.dense.len());
        let products = dense.iter().zip(&row.dense).map(|(w, x)| w * x);
        let entries = row.sparse_index.iter().zip(&row.sparse_value);
        let known = entries.filter_map(|(j, x)| Some(sparse.get(*j as usize)? * f64::from(*x)));
        (self.intercept + products.sum::<f64>() + known.sum::<f64>()) as f32
    }
}

impl Watched {
    fn new(job: &Job, reader: &ReaderOutcome, snapshots: &[&Snapshot]) -> Result<Self, Failure> {
        let classes = reader.classes.len();
        let heads = if classes > 2 { classes } else { 1 };
        let mut weights = with_room(heads * snapshots.len());
        for snapshot in snapshots {
            let length = snapshot.weights.len() / heads;
            for head in snapshot.weights.chunks_exact(length.max(1)) {
                check_for_interrupts();
                let (intercept, scaled) = head.split_last().unwrap_or((&0.0, &[]));
                let mut folding = Folding::of(job, reader, f64::from(*intercept));
                scaled.iter().for_each(|it| folding.push(f64::from(*it)));
                weights.push(Dense::of(&folding.finish())?);
            }
        }
        Ok(Self {
            weights,
            heads,
            classes: Vec::new(),
            decisions: Vec::new(),
        })
    }

    /// Reads the rows and has all weights decide about each.
    fn read(
        &mut self,
        job: &Job,
        relation: pg_sys::Oid,
        reader: &ReaderOutcome,
    ) -> Result<(), Failure> {
        let (list, columns) =
            wanted(&job.statement.columns.label, reader.features.columns()).list();
        let planned = query::plan(&Source::Relation(relation).select(&list)?);
        let features = &planned.columns[..columns.features.end];
        let nulls = job.settled_nulls(&reader.features);
        let rows = (nulls, job.rows.skips_bad_rows);
        let mut decoder = Decoder::new(&reader.features, features, nulls)?;
        let mut groups = Groups::known(&columns.label, &reader.classes, &job.plan)?;
        let mut buffer = FeatureBuffer::default();
        each_row(&planned, u64::MAX, |row, _| {
            let by = (&mut decoder, &mut groups);
            self.take(row, rows, by, &mut buffer)
        })
    }

    fn take(
        &mut self,
        row: &Row<'_>,
        (nulls, skips_bad_rows): (Nulls, bool),
        (decoder, groups): (&mut Decoder, &mut Groups),
        buffer: &mut FeatureBuffer,
    ) -> Result<(), Failure> {
        let class = match groups.of(row) {
            Ok(Some((class, _))) => class,
            Ok(None) => return Ok(()),
            Err(failure) if skips_bad_rows && failure.is_of_bad_row() => return Ok(()),
            Err(failure) => return Err(failure),
        };
        let number = self.classes.len() as u64 + 1;
        // SAFETY: the executor's row has the columns of the plan from which the decoder was made.
        let decoded = unsafe { decoder.decode(row.values, row.nulls, buffer) };
        if let Err(failure) = decoded.map_err(|error| Failure::from(error.in_row(number))) {
            return match skips_bad_rows && failure.is_of_bad_row() {
                true => Ok(()),
                false => Err(failure),
            };
        }
        if skips_bad_rows && buffer.out_of_range().is_some() {
            return Ok(());
        }
        if !buffer.null_parts.is_empty() && !matches!(nulls, Nulls::Zero | Nulls::Mean) {
            return Ok(());
        }
        if self.classes.len() == MOST_ROWS {
            return Err(too_many());
        }
        self.classes.room(1)?.push(class);
        let decisions = self.weights.iter().map(|it| it.decision(buffer));
        self.decisions.room(self.weights.len())?.extend(decisions);
        Ok(())
    }

    fn tested(&self, snapshots: &[&Snapshot]) -> Result<Vec<Tested>, Failure> {
        let mut tested = with_room(snapshots.len());
        for (at, snapshot) in snapshots.iter().enumerate() {
            check_for_interrupts();
            if self.classes.is_empty() {
                break;
            }
            tested.push(Tested {
                seconds: snapshot.seconds,
                error: self.error(at),
                auc: self.area(at)?,
            });
        }
        Ok(tested)
    }

    /// The decisions of a snapshot's heads about a row.
    fn of(&self, row: usize, snapshot: usize) -> &[f32] {
        let first = row * self.weights.len() + snapshot * self.heads;
        &self.decisions[first..first + self.heads]
    }

    fn error(&self, snapshot: usize) -> f64 {
        let rows = self.classes.iter().enumerate();
        let wrong = rows
            .filter(|(row, class)| predicted_class(self.of(*row, snapshot)) != **class as usize);
        wrong.count() as f64 / self.classes.len() as f64
    }

    fn area(&self, snapshot: usize) -> Result<Option<f64>, Failure> {
        let mut sum = Some(0.0);
        for head in 0..self.heads {
            let positive = if self.heads == 1 { 1 } else { head as u32 };
            let rows = self.classes.iter().enumerate();
            let rows = rows.map(|(row, class)| (self.of(row, snapshot)[head], *class == positive));
            let area = auc(rows).map_err(|_| OutOfMemory {
                bytes: 8 * self.classes.len() as u64,
            })?;
            sum = sum.zip(area).map(|(sum, area)| sum + area);
        }
        Ok(sum.map(|sum| sum / self.heads as f64))
    }
}

fn too_many() -> Failure {
    Failure::new(
        Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        format!("\"watch\" looks at {MOST_ROWS} rows at most"),
    )
    .hint("CREATE VIEW watched AS SELECT * FROM … LIMIT 100000, and options => '{\"watch\": \"watched\"}'")
}
