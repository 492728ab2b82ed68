//! Which group a row belongs to: its class and, where rows are held out, its fold. Used by the process that reads. The pure crates know
//! only the group, class times stride plus fold.

use crate::base::errors::{Code, Failure};
use crate::features::{excluding, utf8};
use crate::pg::deform::DeformedRow;
use crate::pg::varlena::with_text;
use crate::targets::labels::{check_length, LabelColumn, LabelValue, Labels};
use pgrx::pg_sys;
use pgrx::spi::{quote_identifier, quote_literal};
use pgsvm_core::memory::text;
use pgsvm_core::plan::{drawn_fold, Folds, Plan, MOST_FOLDS};
use pgsvm_core::OutOfMemory;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use twox_hash::XxHash3_64;

/// The column that says each row's fold: a value of the user's own as text, or where folds go forward the number of the piece
/// as an integer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoldColumn {
    #[serde(deserialize_with = "text")]
    pub name: String,
    /// Its place in the row.
    pub at: usize,
}

/// The classes and folds met so far.
pub struct Groups {
    pub labels: Labels,
    /// The label's place in the row.
    label_at: usize,
    folds: FoldLookup,
    stride: u32,
}

/// How a row's fold is found.
enum FoldLookup {
    /// No row is held out.
    None,
    Drawn(Draw),
    ByDigest(DigestDraw),
    ByValue(FoldValues),
    Forward(ForwardFolds),
}

/// Folds that are drawn, as many rows of each class into each.
struct Draw {
    folds: u32,
    seed: u64,
    /// Rows of each class so far.
    rows: Vec<u64>,
}

/// Folds that are drawn for what a row holds: the same each time it comes, to whichever process and behind whichever rows. Equal rows
/// are in one fold.
struct DigestDraw {
    folds: u32,
    seed: u64,
    /// Of the row at hand.
    digest: u64,
}

/// Folds that the source numbers, in the order of a column.
struct ForwardFolds {
    column: FoldColumn,
    count: u32,
}

/// Folds that are values of a column.
struct FoldValues {
    column: FoldColumn,
    /// Folds by value, in order of first appearance.
    folds: HashMap<String, u32>,
    /// Whether there are no others.
    are_known: bool,
}

impl Groups {
    /// For rows with these columns, of a training by this plan.
    pub fn new(label: &LabelColumn, fold: Option<&FoldColumn>, plan: &Plan, draws: Draws) -> Self {
        Self {
            labels: Labels::new(label),
            label_at: label.at,
            folds: folds(fold, plan, draws, None),
            stride: plan.stride(),
        }
    }

    /// For rows whose classes are all known, in this order, and of which none is held out.
    pub fn known(
        label: &LabelColumn,
        classes: &[LabelValue],
        plan: &Plan,
    ) -> Result<Self, OutOfMemory> {
        Ok(Self {
            labels: Labels::known(label, classes)?,
            label_at: label.at,
            folds: FoldLookup::None,
            stride: plan.stride(),
        })
    }

    /// For rows whose classes are all known, and the values of a fold column, in this order.
    pub fn all_known(
        label: &LabelColumn,
        fold: Option<&FoldColumn>,
        plan: &Plan,
        draws: Draws,
        (classes, values): (&[LabelValue], &[String]),
    ) -> Result<Self, OutOfMemory> {
        Ok(Self {
            labels: Labels::known(label, classes)?,
            label_at: label.at,
            folds: folds(fold, plan, draws, Some(values)),
            stride: plan.stride(),
        })
    }

    /// Folds that rows may come in, or have come in; 0 where none is held out.
    pub fn fold_count(&self) -> usize {
        match &self.folds {
            FoldLookup::None => 0,
            FoldLookup::Drawn(draw) => draw.folds as usize,
            FoldLookup::ByDigest(draw) => draw.folds as usize,
            FoldLookup::ByValue(values) => values.folds.len(),
            FoldLookup::Forward(folds) => folds.count as usize,
        }
    }

    /// Whether the row has no label: such a row is one to predict, and is counted.
    #[inline]
    pub fn lacks_label(&mut self, row: &DeformedRow<'_>) -> bool {
        let lacks = row.nulls[self.label_at];
        self.labels.nulls += u64::from(lacks);
        lacks
    }

    /// Whether folds are drawn for what rows hold.
    pub fn draws_by_digest(&self) -> bool {
        matches!(self.folds, FoldLookup::ByDigest(_))
    }

    /// The digest of the row that comes next, where that is so.
    pub fn at_digest(&mut self, digest: u64) {
        if let FoldLookup::ByDigest(draw) = &mut self.folds {
            draw.digest = digest;
        }
    }

    /// The values of the fold column, by fold; none without one.
    pub fn known_folds(&self) -> Vec<String> {
        match self.folds {
            FoldLookup::ByValue(_) => self.fold_values(),
            _ => Vec::new(),
        }
    }

    /// The class and the group of a row; None (and counted) where its label is NULL.
    ///
    /// # Errors
    /// Too many classes or folds, a label that is NaN, a NULL fold.
    pub fn of(&mut self, row: &DeformedRow<'_>) -> Result<Option<(u32, u32)>, Failure> {
        let (datum, null) = (row.values[self.label_at], row.nulls[self.label_at]);
        let Some(class) = self.labels.class_of(datum, null)? else {
            return Ok(None);
        };
        let fold = self.fold(row, class)?;
        Ok(Some((class, class * self.stride + fold)))
    }

    /// The fold of a row of this class.
    fn fold(&mut self, row: &DeformedRow<'_>, class: u32) -> Result<u32, Failure> {
        Ok(match &mut self.folds {
            FoldLookup::None => 0,
            FoldLookup::Drawn(draw) => draw.fold(class),
            FoldLookup::ByDigest(draw) => draw.fold(),
            FoldLookup::ByValue(values) => {
                let at = values.column.at;
                values.fold(row.values[at], row.nulls[at])?
            }
            FoldLookup::Forward(pieces) => {
                let at = pieces.column.at;
                pieces.fold(row.values[at], row.nulls[at])?
            }
        })
    }

    /// The same of a regression: has the two sides as its classes.
    pub fn of_sides(mut self) -> Result<Self, OutOfMemory> {
        if self.labels.classes().is_empty() {
            self.labels = self.labels.with_sides()?;
        }
        Ok(self)
    }

    /// The same of rows without a label.
    pub fn of_one_class(mut self) -> Result<Self, OutOfMemory> {
        if self.labels.classes().is_empty() {
            self.labels = self.labels.with_one_class()?;
        }
        Ok(self)
    }

    /// The label of a row as a number, and the groups of its two sides; None (and counted) where the label is NULL.
    ///
    /// # Errors
    /// A label that is not finite, too many folds, a NULL fold.
    pub fn sides_of(&mut self, row: &DeformedRow<'_>) -> Result<Option<(f64, [u32; 2])>, Failure> {
        let (datum, null) = (row.values[self.label_at], row.nulls[self.label_at]);
        let Some(label) = self.labels.number(datum, null)? else {
            return Ok(None);
        };
        let fold = self.fold(row, 0)?;
        Ok(Some((label, [fold, self.stride + fold])))
    }

    /// The classes in order of first appearance.
    pub fn classes(&self) -> &[LabelValue] {
        self.labels.classes()
    }

    /// The names of folds: the values of the fold column, in order of first appearance, or the numbers of those that go forward;
    /// none where folds are drawn.
    pub fn fold_values(&self) -> Vec<String> {
        let column = match &self.folds {
            FoldLookup::ByValue(column) => column,
            FoldLookup::Forward(pieces) => {
                return (0..pieces.count).map(|n| n.to_string()).collect()
            }
            FoldLookup::None | FoldLookup::Drawn(_) | FoldLookup::ByDigest(_) => return Vec::new(),
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

impl DigestDraw {
    fn fold(&self) -> u32 {
        let drawn = XxHash3_64::oneshot_with_seed(self.seed, &self.digest.to_le_bytes());
        (((drawn >> 32) * u64::from(self.folds)) >> 32) as u32
    }
}

/// How folds are drawn.
#[derive(Debug, Clone, Copy)]
pub struct Draws {
    pub seed: u64,
    /// Whether rows come more than once, in any order.
    pub scans: bool,
}

/// `values`: of a fold column, by fold, where all are known.
fn folds(
    fold: Option<&FoldColumn>,
    plan: &Plan,
    Draws { seed, scans }: Draws,
    values: Option<&[String]>,
) -> FoldLookup {
    match (plan.folds, fold.cloned()) {
        (Some(Folds::Count(folds)), _) if scans => FoldLookup::ByDigest(DigestDraw {
            folds,
            seed,
            digest: 0,
        }),
        (Some(Folds::Count(folds)), _) => FoldLookup::Drawn(Draw {
            folds,
            seed,
            rows: Vec::new(),
        }),
        (Some(Folds::Forward(count)), Some(column)) => {
            FoldLookup::Forward(ForwardFolds { column, count })
        }
        (Some(Folds::Column), Some(column)) => {
            let known = values.unwrap_or_default().iter().cloned().zip(0..);
            FoldLookup::ByValue(FoldValues {
                column,
                folds: known.collect(),
                are_known: values.is_some(),
            })
        }
        (None | Some(Folds::Forward(_) | Folds::Column), _) => FoldLookup::None,
    }
}

impl ForwardFolds {
    fn fold(&self, datum: pg_sys::Datum, null: bool) -> Result<u32, Failure> {
        if null {
            return Err(Failure::new(
                Code::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                format!(
                    "column \"{}\", in whose order folds go forward, contains NULL",
                    self.column.name
                ),
            )
            .hint("Every row needs a place in the order, or use folds => 5 without a fold_order"));
        }
        Ok((datum.value() as u32).min(self.count - 1))
    }
}

impl FoldValues {
    fn fold(&mut self, datum: pg_sys::Datum, null: bool) -> Result<u32, Failure> {
        if null {
            return Err(Failure::new(
                Code::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                format!("fold column \"{}\" contains NULL", self.column.name),
            )
            .hint("Every row needs a fold, or use folds => 5 without a fold_column"));
        }
        with_text(datum, |value| {
            let name = &self.column.name;
            let value = utf8(name, value)?;
            if let Some(fold) = self.folds.get(value) {
                return Ok(*fold);
            }
            if self.are_known {
                return Err(Failure::new(
                    Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                    format!(
                        "fold column \"{name}\" has a value that it had not in the scan before"
                    ),
                )
                .hint("Store the rows first: CREATE TABLE … AS SELECT …"));
            }
            check_length("fold", name, value.len())?;
            let fold = self.folds.len() as u32;
            if fold == MOST_FOLDS {
                return Err(Failure::new(
                    Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                    format!("fold column \"{name}\" has more than {MOST_FOLDS} values"),
                )
                .hint(fewer_folds(name)));
            }
            self.folds.insert(value.to_owned(), fold);
            Ok(fold)
        })
    }
}

/// A query with eight folds, each of some values of the column, which is no feature of them.
fn fewer_folds(column: &str) -> String {
    let eighth = format!("hashtext({}::text) & 7 AS eighth", quote_identifier(column));
    format!(
        "Make fewer of them in a query: svm_train_query({}, …, fold_column => 'eighth', {}); or use folds => 5 without a fold_column",
        quote_literal(format!("SELECT *, {eighth} FROM …")),
        excluding([column], &[])
    )
}
