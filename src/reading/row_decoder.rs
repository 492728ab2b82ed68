//! A row of the source becomes an example: its class and fold, its features, how much it counts, and the key by which it is known.

use crate::base::errors::{About, Failure};
use crate::features::{Decoder, FeatureBuffer, FeatureSet, Nulls};
use crate::index::kept::KeptIndex;
use crate::keys::digest::RowDigests;
use crate::pg::executor::DeformedRow;
use crate::pg::query::Column;
use crate::planning::bad_rows::{with_hint, BadRows};
use crate::planning::job::Job;
use crate::reading::bounds::{RowBounds, SeenCounts};
use crate::reading::complaints::in_row;
use crate::reading::constants::Constants;
use crate::reading::learned::LearnedRows;
use crate::targets::costs::RowCosts;
use crate::targets::groups::{Draws, FoldColumn, Groups};
use crate::targets::labels::{LabelColumn, LabelValue};
use crate::warm_start::admission::{Admitted, KeyedLabel, Keys};
use pgsvm_core::memory::{filled, gathered, OutOfMemory};
use pgsvm_core::{Example, RowError, Survey};

/// Turns a row into an example.
pub struct RowDecoder {
    pub(super) groups: Groups,
    /// Whether labels are numbers to predict: each row comes on both sides of its own then.
    targets: bool,
    pub(super) costs: RowCosts,
    pub(super) decoder: Decoder,
    pub(super) buffer: FeatureBuffer,
    pub(super) nulls: Nulls,
    /// Whether means are of use only where there are NULLs.
    pub(super) nulls_by_rows: bool,
    /// NULLs met in each feature part.
    pub(super) null_counts: Vec<u64>,
    pub(super) rows_seen: u64,
    pub(super) rows_skipped: u64,
    pub(super) bad_rows: BadRows,
    /// Whether those are left out.
    skips_bad_rows: bool,
    /// Whether rows come in scans, to whichever process.
    scans: bool,
    /// By which folds are drawn then.
    digests: RowDigests,
    pub(super) keys: Option<Keys>,
    /// What an index has kept of rows.
    pub(super) kept: Option<KeptIndex>,
    /// Whether categories go on from those of a model.
    pub(super) continues: bool,
    /// Whether somebody named the features.
    pub(super) named: bool,
    /// Columns that somebody left out.
    pub(super) excluded: Vec<String>,
    pub(super) cache_bytes: usize,
    /// Columns of one value.
    pub(super) constants: Constants,
    /// Whether rows are divided by their length.
    pub(super) unit_rows: bool,
    /// Sparse features that others have seen to lose digits.
    pub(super) imprecise: Vec<u32>,
    /// What superusers let a training take.
    bounds: RowBounds,
}

/// How folds of this training are drawn, where they are.
fn draws(job: &Job) -> Draws {
    Draws {
        seed: job.terms.parameters.seed,
        scans: job.terms.scans(),
    }
}

/// The columns that say the class of a row and its fold.
fn folded(job: &Job) -> (&LabelColumn, Option<&FoldColumn>) {
    let columns = &job.statement.columns;
    (&columns.label, columns.fold.as_ref())
}

/// What a row turned out to be.
enum Decoded {
    Example {
        group: u32,
        cost: f32,
        rows: f64,
    },
    /// Of a regression: its label, and the groups of its two sides.
    Sides {
        label: f64,
        groups: [u32; 2],
        cost: f32,
        rows: f64,
    },
    Skipped,
}

impl RowDecoder {
    /// For the rows of a training, with these columns, that tell what there is to know of features and classes.
    pub fn learning(job: &Job, columns: &[Column]) -> Result<Self, Failure> {
        let mut decoder =
            Decoder::learning(&job.features, columns, job.rows.nulls, job.rows.categories)?;
        decoder.keep(job.kept.take());
        let columns = &job.statement.columns;
        let groups = Groups::new(&columns.label, columns.fold.as_ref(), &job.plan, draws(job));
        Self::new(job, decoder, groups)
    }

    /// For rows of which all that there is to know has been learned: features, classes and the values of a fold column.
    pub fn knowing(
        job: &Job,
        columns: &[Column],
        features: &FeatureSet,
        known: (&[LabelValue], &[String]),
    ) -> Result<Self, Failure> {
        let decoder = Decoder::new(features, columns, job.rows.nulls)?;
        let (label, fold) = folded(job);
        let groups = Groups::all_known(label, fold, &job.plan, draws(job), known)?;
        Self::new(job, decoder, groups)
    }

    fn new(job: &Job, decoder: Decoder, groups: Groups) -> Result<Self, Failure> {
        let columns = &job.statement.columns;
        let targets = job.terms.targets.is_some();
        let groups = match (targets, job.terms.nu) {
            (true, _) => groups.of_sides()?,
            (false, Some(_)) => groups.of_one_class()?,
            (false, None) => groups,
        };
        Ok(Self {
            groups,
            targets,
            costs: RowCosts::new(columns.weight.as_ref(), job.class_weight.by_label())?,
            null_counts: filled(0, job.features.parts.len())?,
            decoder: decoder.with_rows_up_to(job.resources.cache_bytes / size_of::<f32>()),
            buffer: FeatureBuffer::default(),
            nulls: job.rows.nulls,
            nulls_by_rows: job.rows.nulls_by_rows,
            rows_seen: 0,
            rows_skipped: 0,
            bad_rows: BadRows::default(),
            skips_bad_rows: job.rows.skips_bad_rows,
            scans: job.terms.scans(),
            digests: RowDigests::default(),
            keys: None,
            kept: None,
            continues: false,
            named: job.rows.categories.named,
            excluded: gathered(job.excluded.iter().cloned())?,
            cache_bytes: job.resources.cache_bytes,
            constants: Constants::new(
                // a kernel compares rows as they are, constant features too
                !job.rows.categories.named && columns.key.is_none() && job.kernel.is_none(),
            ),
            unit_rows: job.rows.unit_rows,
            imprecise: Vec::new(),
            bounds: RowBounds::of(job),
        })
    }

    /// Takes over what others have learned of the rows of `job`.
    pub(super) fn adopt(&mut self, learned: LearnedRows, job: &Job) -> Result<Survey, Failure> {
        let (label, fold) = folded(job);
        let known = (&learned.classes[..], &learned.folds[..]);
        self.groups = Groups::all_known(label, fold, &job.plan, draws(job), known)?;
        self.groups.labels.nulls = learned.null_labels;
        self.decoder.know(learned.features);
        self.null_counts = learned.null_counts;
        (self.rows_seen, self.rows_skipped) = (learned.rows_seen, learned.rows_skipped);
        self.bad_rows = learned.bad_rows;
        (self.constants, self.imprecise) = (learned.constants, learned.imprecise);
        Ok(learned.survey)
    }

    /// Takes a row of the source, and pushes the example that it makes into `sink`, if it is one.
    pub fn visit(
        &mut self,
        row: &DeformedRow<'_>,
        sink: &mut dyn FnMut(&Example<'_>) -> Result<(), RowError>,
    ) -> Result<(), Failure> {
        self.rows_seen += 1;
        let admitted = match &mut self.keys {
            None => None,
            Some(keys) => match keys.admit(row, self.rows_seen)? {
                None => return Ok(()),
                admitted => admitted,
            },
        };
        let Err(failure) = self.take(row, admitted, sink) else {
            return Ok(());
        };
        if self.skips_bad_rows && failure.is_of_bad_row() {
            let place = || match &self.keys {
                Some(keys) => Some(format!("the row with {}", keys.name(row))),
                // each process that scans counts its own rows
                None if self.scans => None,
                None => Some(format!("row {}", self.rows_seen)),
            };
            self.bad_rows.leave_out(failure, place);
            return Ok(());
        }
        let failure = with_hint(failure, self.continues);
        Err(match &self.keys {
            // rows come in no order of the table's own: the key tells which one it is
            Some(keys) => Failure {
                about: About::All,
                ..failure.in_detail(&format!("Its key: {}.", keys.name(row)))
            },
            None => failure,
        })
    }

    /// Takes a row that is known by `key`, where there is one.
    fn take(
        &mut self,
        row: &DeformedRow<'_>,
        key: Option<Admitted>,
        sink: &mut dyn FnMut(&Example<'_>) -> Result<(), RowError>,
    ) -> Result<(), Failure> {
        if self.groups.lacks_label(row) {
            return Ok(());
        }
        let mut class = None;
        if let (Some(keys), Some(admitted)) = (&mut self.keys, &key) {
            if keys.may_screen(admitted) {
                let found = self.groups.of(row);
                let Some(found) = found.map_err(|failure| in_row(self.rows_seen, failure))? else {
                    return Ok(());
                };
                if keys.screen(admitted, found.0, self.groups.classes(), self.rows_seen)? {
                    return Ok(());
                }
                class = Some(found);
            }
        }
        let mut example = |buffer: &FeatureBuffer, group, cost, rows, offset| {
            sink(&Example {
                group,
                cost,
                rows,
                offset,
                dense: &buffer.dense,
                sparse_index: &buffer.sparse_index,
                sparse_value: &buffer.sparse_value,
                rounded: buffer.rounded,
            })
        };
        let taken = match self.decode(row, key, class)? {
            Decoded::Skipped => Ok(()),
            Decoded::Example { group, cost, rows } => {
                example(&self.buffer, group, cost, rows, None)
            }
            Decoded::Sides {
                label,
                groups,
                cost,
                rows,
            } => groups
                .into_iter()
                .try_for_each(|group| example(&self.buffer, group, cost, rows, Some(label))),
        };
        taken.map_err(|error| self.row_failure(error))
    }

    /// `known`: the row's class and group where they are known already.
    fn decode(
        &mut self,
        row: &DeformedRow<'_>,
        key: Option<Admitted>,
        known: Option<(u32, u32)>,
    ) -> Result<Decoded, Failure> {
        self.decoder.at_row(self.rows_seen - 1);
        let kept = match &mut self.kept {
            Some(kept) => kept.row(row.tuple)?,
            None => None,
        };
        let out = &mut self.buffer;
        let decoder = &mut self.decoder;
        // SAFETY: the executor's row has the columns of the plan from which the decoder was made.
        let decoded = unsafe {
            let mut decode = |decoder: &mut Decoder| match kept {
                None => decoder.decode(row.values, row.nulls, out),
                Some(kept) => decoder.decode_kept(row.values, row.nulls, kept, out),
            };
            match self.skips_bad_rows {
                false => decode(decoder),
                // a row that is left out teaches nothing
                true => decoder
                    .without_learning(&mut decode)
                    .and_then(|()| decode(decoder)),
            }
        };
        decoded.map_err(|error| self.decode_failure(error))?;
        self.check_bounds()?;
        if self.skips_bad_rows {
            if let Some((feature, value)) = self.buffer.out_of_range() {
                let ordinal = self.rows_seen - 1;
                return Err(self.row_failure(RowError::NonFinite {
                    ordinal,
                    feature,
                    value,
                }));
            }
        }
        let nulls = &self.buffer.null_parts;
        for part in nulls {
            self.null_counts[*part] += 1;
        }
        let usable = nulls.is_empty() || matches!(self.nulls, Nulls::Zero | Nulls::Mean);
        if !usable {
            self.rows_skipped += 1;
            return Ok(Decoded::Skipped);
        }
        let weight = self.costs.weight(row, self.rows_seen)?;
        if weight == 0.0 {
            self.rows_skipped += 1;
            return Ok(Decoded::Skipped);
        }
        if self.groups.draws_by_digest() {
            let digest = self.digests.of_values(weight, &self.buffer)?;
            self.groups.at_digest(digest);
        }
        if self.targets {
            let sides = self.groups.sides_of(row);
            let sides = sides.map_err(|failure| in_row(self.rows_seen, failure))?;
            let Some((label, groups)) = sides else {
                return Ok(Decoded::Skipped);
            };
            let cost = self.costs.of(weight, 0, self.groups.classes())?;
            self.constants.take(self.decoder.learned(), &self.buffer)?;
            if let (Some(keys), Some(key)) = (&mut self.keys, key) {
                keys.take(key, KeyedLabel::Number(label), weight, &self.buffer)?;
            }
            return Ok(Decoded::Sides {
                label,
                groups,
                cost,
                rows: weight,
            });
        }
        let found = match known {
            None => self
                .groups
                .of(row)
                .map_err(|failure| in_row(self.rows_seen, failure))?,
            known => known,
        };
        let Some((class, group)) = found else {
            return Ok(Decoded::Skipped);
        };
        let cost = self.costs.of(weight, class, self.groups.classes())?;
        self.constants.take(self.decoder.learned(), &self.buffer)?;
        if let (Some(keys), Some(key)) = (&mut self.keys, key) {
            let label = KeyedLabel::Class(class, self.groups.classes());
            keys.take(key, label, weight, &self.buffer)?;
        }
        Ok(Decoded::Example {
            group,
            cost,
            rows: weight,
        })
    }

    /// Refuses a row whose features, or the heads that they are for, are more than memory is to be taken for.
    fn check_bounds(&mut self) -> Result<(), Failure> {
        let last = self.buffer.sparse_index.last().copied();
        let features = last.map_or(0, |last| last as usize + 1) + self.buffer.dense.len();
        let seen = SeenCounts {
            rows: self.rows_seen,
            classes: self.groups.classes().len(),
            folds: self.groups.fold_count(),
        };
        self.bounds.check(features, seen)
    }

    /// By part, whether it had one value in all rows and is left out for it.
    pub(super) fn constant_parts(&self) -> Result<Vec<bool>, OutOfMemory> {
        self.constants.parts(&self.decoder, &self.null_counts)
    }

    /// The features of these parts, by id.
    pub(super) fn constant_features(&self) -> Result<Vec<u32>, OutOfMemory> {
        let (parts, features) = (self.constant_parts()?, self.decoder.learned());
        let dense = features.dense_of(&parts)?;
        let numbers = parts.iter().enumerate().filter(|(_, out)| **out);
        let categories = numbers.filter_map(|(number, _)| features.only_category(number));
        let all = dense.iter().copied().chain(categories);
        gathered(all.filter_map(|id| u32::try_from(id).ok()))
    }
}
