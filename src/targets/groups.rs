//! Which group of rows a row belongs to, for whoever reads: its class, and where rows are held out its
//! fold. The pure crate knows groups only: class times stride plus fold.

use crate::base::errors::{Code, Failure};
use crate::features::utf8;
use crate::pg::deform::Row;
use crate::planning::job::Job;
use crate::targets::labels::{check_length, with_text, LabelValue, Labels};
use pgrx::pg_sys;
use pgsvm_core::plan::{drawn_fold, Folds, MOST_FOLDS};
use std::collections::HashMap;

/// The classes and folds met so far.
pub struct Groups {
    pub labels: Labels,
    folds: Known,
    stride: u32,
}

/// How a row's fold is found.
enum Known {
    /// No row is held out.
    None,
    Drawn(Draw),
    Column(FoldColumn),
    Forward(Pieces),
}

/// Folds that are drawn, as many rows of each class into each.
struct Draw {
    folds: u32,
    seed: u64,
    /// Rows of each class so far.
    rows: Vec<u64>,
}

/// Folds that the source numbers, in the order of a column.
struct Pieces {
    name: String,
    /// The place of the number in the row, an integer.
    at: usize,
    count: u32,
}

struct FoldColumn {
    name: String,
    /// Its place in the row, as text.
    at: usize,
    /// Folds by value, in order of first appearance.
    folds: HashMap<String, u32>,
}

impl Groups {
    /// For the rows of `job`, whose fold column, if there is one, stands at `fold_at`.
    pub fn new(job: &Job, fold_at: usize) -> Self {
        let folds = match job.plan.folds {
            None => Known::None,
            Some(Folds::Count(folds)) => Known::Drawn(Draw {
                folds,
                seed: job.terms.seed,
                rows: Vec::new(),
            }),
            Some(Folds::Forward(count)) => Known::Forward(Pieces {
                name: job.fold_order.clone().unwrap_or_default(),
                at: fold_at,
                count,
            }),
            Some(Folds::Column) => Known::Column(FoldColumn {
                name: job.fold_column.clone().unwrap_or_default(),
                at: fold_at,
                folds: HashMap::new(),
            }),
        };
        Self {
            labels: Labels::new(job.label.clone(), job.label_kind),
            folds,
            stride: job.plan.stride(),
        }
    }

    /// The class and the group of a row; None (and counted) where its label is NULL.
    ///
    /// # Errors
    /// Too many classes or folds, a label that is NaN, a NULL fold.
    pub fn of(&mut self, row: &Row<'_>) -> Result<Option<(u32, u32)>, Failure> {
        let Some(class) = self.labels.class_of(row.values[0], row.nulls[0])? else {
            return Ok(None);
        };
        let fold = match &mut self.folds {
            Known::None => 0,
            Known::Drawn(draw) => draw.fold(class),
            Known::Column(column) => column.fold(row.values[column.at], row.nulls[column.at])?,
            Known::Forward(pieces) => pieces.fold(row.values[pieces.at], row.nulls[pieces.at])?,
        };
        Ok(Some((class, class * self.stride + fold)))
    }

    /// The classes in order of first appearance.
    pub fn classes(&self) -> &[LabelValue] {
        self.labels.classes()
    }

    /// The names of folds: the values of the fold column, in order of first appearance, or the numbers of those that go forward;
    /// none where folds are drawn.
    pub fn fold_values(&self) -> Vec<String> {
        let column = match &self.folds {
            Known::Column(column) => column,
            Known::Forward(pieces) => return (0..pieces.count).map(|n| n.to_string()).collect(),
            Known::None | Known::Drawn(_) => return Vec::new(),
        };
        let mut values = vec![String::new(); column.folds.len()];
        for (value, fold) in &column.folds {
            values[*fold as usize].clone_from(value);
        }
        values
    }
}

impl Draw {
    fn fold(&mut self, class: u32) -> u32 {
        if self.rows.len() <= class as usize {
            self.rows.resize(class as usize + 1, 0);
        }
        let nth = &mut self.rows[class as usize];
        *nth += 1;
        drawn_fold(self.seed, class, *nth - 1, self.folds)
    }
}

impl Pieces {
    fn fold(&self, datum: pg_sys::Datum, null: bool) -> Result<u32, Failure> {
        if null {
            return Err(Failure::new(
                Code::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                format!(
                    "column \"{}\", in whose order folds go forward, contains NULL",
                    self.name
                ),
            )
            .hint("Every row needs a place in the order, or use folds => 5 without a fold_order"));
        }
        Ok((datum.value() as u32).min(self.count - 1))
    }
}

impl FoldColumn {
    fn fold(&mut self, datum: pg_sys::Datum, null: bool) -> Result<u32, Failure> {
        if null {
            return Err(Failure::new(
                Code::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                format!("fold column \"{}\" contains NULL", self.name),
            )
            .hint("Every row needs a fold, or use folds => 5 without a fold_column"));
        }
        with_text(datum, |value| {
            let value = utf8(&self.name, value)?;
            if let Some(fold) = self.folds.get(value) {
                return Ok(*fold);
            }
            check_length("fold", &self.name, value.len())?;
            let fold = self.folds.len() as u32;
            if fold == MOST_FOLDS {
                return Err(Failure::new(
                    Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                    format!("fold column \"{}\" has more than {MOST_FOLDS} values", self.name),
                )
                .hint("Make fewer of them, mod(id, 5) for one, or use folds => 5 without a fold_column"));
            }
            self.folds.insert(value.to_owned(), fold);
            Ok(fold)
        })
    }
}
