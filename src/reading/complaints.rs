//! What is wrong with the rows of a source, in the words of its table: with one row, or with all of them together, which only
//! the end of the source tells. NULLs do not end the scan: they are counted, so that the error can say how many there are.

use super::row_decoder::RowDecoder;
use crate::base::errors::{Code, Failure};
use crate::base::text::listed;
use crate::features::{excluding, FeatureError, Nulls};
use pgrx::spi::quote_identifier;
use pgsvm_core::kernels::KernelError;
use pgsvm_core::memory::gathered;
use pgsvm_core::{Cache, RowError};

impl RowDecoder {
    /// What can be said only after the last row.
    pub(super) fn check_complete(&self) -> Result<(), Failure> {
        if self.rows_seen == 0 {
            return Err(
                Failure::new(Code::ERRCODE_NO_DATA, "the source has no rows").hint(
                    match self.groups.labels.classes() {
                        [] => "Two rows, one of each class, are the least a training needs",
                        // of a regression, and of rows without labels, they are there before any row is
                        _ => "One row is the least a training needs",
                    },
                ),
            );
        }
        let mut complaints = Vec::new();
        if self.nulls == Nulls::Error {
            complaints.extend(self.check_nulls().err());
        }
        if !self.continues {
            complaints.extend(
                self.decoder
                    .check_keys(&self.excluded)
                    .err()
                    .map(Failure::from),
            );
        }
        if let Some(complaints) = Failure::join(complaints) {
            return Err(complaints);
        }
        self.check_classes()
    }

    /// Whether all rows were left out.
    fn has_no_row(&self) -> bool {
        self.rows_skipped + self.bad_rows.count >= self.rows_seen
    }

    /// Refuses rows of fewer than two classes, and weights of classes that there are not.
    fn check_classes(&self) -> Result<(), Failure> {
        let labels = &self.groups.labels;
        // both sides of a regression are there before any row is
        let (met, needed) = match labels.of_sides() {
            Some(false) => (&labels.classes()[..0], "A training needs rows with a label"),
            Some(true) => (labels.classes(), ""),
            None if labels.is_one_class() && self.has_no_row() => {
                (&labels.classes()[..0], "A training needs a row")
            }
            None => (labels.classes(), "A training needs rows of two classes"),
        };
        match met {
            [] if labels.nulls == self.rows_seen && !labels.is_one_class() => Err(Failure::new(
                Code::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                format!(
                    "label column \"{}\" is NULL in {}",
                    labels.column(),
                    match labels.nulls {
                        1 => "the only row".to_owned(),
                        rows => format!("all {rows} rows"),
                    }
                ),
            )
            .hint(format!(
                "Rows without a label are the ones to predict. {needed}"
            ))),
            [] if self.rows_skipped == 0 => {
                Err(Failure::new(Code::ERRCODE_NO_DATA, "there is no row to train on").hint(needed))
            }
            [] => Err(Failure::new(
                Code::ERRCODE_NO_DATA,
                format!(
                    "no row is left after skipping {} with NULL features or weight 0",
                    counted(self.rows_skipped, "row")
                ),
            )
            .hint(self.rows_back())),
            [only] => Err(Failure::new(
                Code::ERRCODE_INVALID_PARAMETER_VALUE,
                format!(
                    "label column \"{}\" holds only one value, \"{}\"",
                    labels.column(),
                    only.text
                ),
            )
            .hint(needed)),
            classes => {
                if !self.continues {
                    let rows = self.rows_seen - labels.nulls;
                    labels.check(rows)?;
                }
                self.costs.check_complete(classes)
            }
        }
    }

    /// What keeps rows where all were skipped: without the columns that are NULL in all of them, where there are such.
    fn rows_back(&self) -> String {
        if !self.null_counts.iter().any(|count| *count > 0) {
            return "Give some rows a weight above 0".to_owned();
        }
        let parts = self.decoder.learned().parts.iter().zip(&self.null_counts);
        let empty = parts.filter(|(_, count)| **count >= self.rows_skipped);
        let mut empty = empty.flat_map(|(part, _)| part.columns()).peekable();
        let keep = "nulls => 'mean' and nulls => 'zero' keep rows with NULL features";
        match empty.peek() {
            None => keep.to_owned(),
            Some(_) if self.named => {
                let empty: Vec<_> = empty.map(|name| format!("\"{name}\"")).collect();
                let empty = listed(&empty);
                format!("Leave what is NULL in all rows out of features: {empty}; {keep}")
            }
            Some(_) => format!(
                "Leave out what is NULL in all rows: {}; {keep}",
                excluding(empty, &self.excluded)
            ),
        }
    }

    fn check_nulls(&self) -> Result<(), Failure> {
        let parts = self.decoder.learned().parts.iter();
        let parts = parts.zip(&self.null_counts).enumerate();
        let counts = gathered(
            parts
                .filter(|(number, (_, count))| **count > 0 && !self.decoder.is_left_out(*number))
                .map(|(_, (part, count))| (part.name(), *count)),
        )?;
        let Some((name, count)) = counts.first() else {
            return Ok(());
        };
        let mut failure = Failure::new(
            Code::ERRCODE_NULL_VALUE_NOT_ALLOWED,
            format!(
                "feature column \"{name}\" contains {}",
                counted(*count, "NULL value")
            ),
        )
        .hint("nulls => 'skip' leaves such rows out, nulls => 'mean' takes the column's mean or a category of its own, nulls => 'zero' counts a NULL as 0");
        if counts.len() > 1 {
            let all = counts.iter();
            let all = gathered(all.map(|(name, count)| format!("\"{name}\" ({count})")))?;
            failure = failure.detail(format!("Columns with NULL values: {}.", listed(&all)));
        }
        for part in &self.decoder.learned().parts {
            if let Some(sentence) = part.unread_sentence() {
                failure = failure.in_detail(&sentence);
            }
        }
        Err(failure)
    }

    /// The pure reader's complaint in the words of the table.
    pub(super) fn row_failure(&self, error: RowError) -> Failure {
        match error {
            RowError::NonFinite { feature, value, .. } => Failure::new(
                Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!(
                    "feature {} holds {value:e}, which is out of range for training",
                    self.decoder.learned().feature_name(feature)
                ),
            )
            .detail(format!("It is in row {} of the source.", self.rows_seen))
            .about_bad_row()
            .hint("Training works with 32-bit numbers: magnitudes up to 3.4e38"),
            RowError::CacheTooSmall {
                row_bytes,
                cache_bytes,
                needed_cache_bytes,
                ..
            } => Failure::new(
                Code::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
                format!(
                    "the cache of {cache_bytes} bytes is too small for a row of {row_bytes} bytes"
                ),
            )
            .detail(format!("It is row {} of the source.", self.rows_seen))
            .about_row()
            .hint(format!(
                "SET pgsvm.cache_size = '{}kB'",
                needed_cache_bytes.div_ceil(1024)
            )),
            other => Failure::from(other),
        }
    }

    /// What is wrong with the features of the last row.
    pub(super) fn decode_failure(&self, error: FeatureError) -> Failure {
        match error {
            FeatureError::LongRow { values, .. } => {
                let (row_bytes, needed_cache_bytes) = Cache::bytes_for(values);
                self.row_failure(RowError::CacheTooSmall {
                    ordinal: self.rows_seen - 1,
                    row_bytes: row_bytes as u64,
                    cache_bytes: self.cache_bytes as u64,
                    needed_cache_bytes: needed_cache_bytes as u64,
                })
            }
            FeatureError::NotFinite {
                element: None,
                ref column,
                value,
            } if value.is_nan() => {
                let hint = format!(
                    "nullif({}, 'NaN') in a query or view makes NULLs of them, which nulls => 'mean' counts as the mean",
                    quote_identifier(column)
                );
                Failure::from(error.in_row(self.rows_seen)).hint(hint)
            }
            error => error.in_row(self.rows_seen).into(),
        }
    }
}

/// What is wrong with the label or fold of the `row`-th row, with its number.
pub(super) fn in_row(row: u64, failure: Failure) -> Failure {
    let placed =
        |failure: Failure| failure.in_detail(&format!("It is in row {row} of the source."));
    match failure.code {
        // of all rows together
        Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED | Code::ERRCODE_OUT_OF_MEMORY => failure,
        _ if failure.is_of_bad_row() => placed(failure),
        _ => placed(failure).about_row(),
    }
}

impl From<RowError> for Failure {
    fn from(error: RowError) -> Self {
        let code = match error {
            RowError::OutOfMemory { .. } => Code::ERRCODE_OUT_OF_MEMORY,
            RowError::TooManyRows { .. } | RowError::FeatureTooLarge { .. } => {
                Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED
            }
            _ => Code::ERRCODE_INVALID_PARAMETER_VALUE,
        };
        Failure::new(code, error.to_string())
    }
}

/// Why rows cannot be mapped.
impl From<KernelError> for Failure {
    fn from(error: KernelError) -> Self {
        let code = match error {
            KernelError::OutOfMemory { .. } => Code::ERRCODE_OUT_OF_MEMORY,
            KernelError::NotPositive { .. } | KernelError::NotFinite { .. } | KernelError::Zero => {
                Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE
            }
            _ => Code::ERRCODE_INVALID_PARAMETER_VALUE,
        };
        let message = match error {
            // by how much depends on the processor
            KernelError::NotPositive { .. } => {
                "the kernel matrix of these rows is not positive semidefinite".to_owned()
            }
            _ => error.to_string(),
        };
        let failure = Failure::new(code, message);
        match error {
            KernelError::OutOfMemory { .. } => failure.hint("rank => 100, or fewer landmarks still"),
            KernelError::NotPositive { .. } => failure
                .detail("A sigmoid is an inner product for few gamma and coef0 only, a polynomial for coef0 >= 0.")
                .hint("kernel => 'rbf' is one for every gamma; or try another gamma and coef0"),
            KernelError::NotFinite { .. } => {
                failure.hint("Scale the features, or take a smaller gamma or degree: scale => 'standard'")
            }
            KernelError::Zero => failure.hint("kernel => 'rbf'"),
            KernelError::Rank { rows, .. } => {
                failure.hint(format!("rank => {rows}, or none for as many landmarks as the work allows"))
            }
            KernelError::SparseCentres => {
                failure.hint("options => '{\"landmarks\": \"pivots\"}', which are rows of the table")
            }
            _ => failure,
        }
    }
}

fn counted(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}
