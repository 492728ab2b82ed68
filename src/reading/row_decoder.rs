//! A row of the source becomes an example: its class and fold, its features, how much it counts, and the key by which it is known.

use crate::base::errors::Failure;
use crate::features::{Decoder, FeatureBuffer, Nulls};
use crate::pg::executor::Row;
use crate::reading::constants::Constants;
use crate::targets::costs::Costs;
use crate::targets::groups::Groups;
use crate::warm_start::admission::{Admitted, Keys};
use pgsvm_core::memory::{gathered, OutOfMemory};
use pgsvm_core::{Example, RowError};

/// Turns a row into an example.
pub struct RowDecoder {
    pub(super) groups: Groups,
    pub(super) costs: Costs,
    pub(super) decoder: Decoder,
    pub(super) buffer: FeatureBuffer,
    pub(super) nulls: Nulls,
    /// NULLs met in each feature part.
    pub(super) null_counts: Vec<u64>,
    pub(super) rows_seen: u64,
    pub(super) rows_skipped: u64,
    pub(super) keys: Option<Keys>,
    /// Whether categories go on from those of a model.
    pub(super) continues: bool,
    pub(super) cache_bytes: usize,
    /// Columns of one value.
    pub(super) constants: Constants,
    /// Whether rows are divided by their length.
    pub(super) unit_rows: bool,
}

/// What a row turned out to be.
enum Decoded {
    Example { group: u32, cost: f32 },
    Skipped,
}

impl RowDecoder {
    /// Takes a row of the source, and pushes the example that it makes into `sink`, if it is one.
    pub(super) fn visit(
        &mut self,
        row: &Row<'_>,
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
        self.take(row, admitted, sink)
            .map_err(|failure| match &self.keys {
                // rows come in no order of the table's own: the key tells which one it is
                Some(keys) => Failure {
                    row: false,
                    ..failure.in_detail(&format!("Its key: {}.", keys.name(row)))
                },
                None => failure,
            })
    }

    /// Takes a row that is known by `key`, where there is one.
    fn take(
        &mut self,
        row: &Row<'_>,
        key: Option<Admitted>,
        sink: &mut dyn FnMut(&Example<'_>) -> Result<(), RowError>,
    ) -> Result<(), Failure> {
        let mut class = None;
        if let (Some(keys), Some(admitted)) = (&mut self.keys, &key) {
            if keys.may_screen(admitted) {
                let Some(found) = self.groups.of(row)? else {
                    return Ok(());
                };
                if keys.screen(admitted, found.0, self.groups.classes(), self.rows_seen)? {
                    return Ok(());
                }
                class = Some(found);
            }
        }
        match self.decode(row, key, class)? {
            Decoded::Skipped => Ok(()),
            Decoded::Example { group, cost } => sink(&Example {
                group,
                cost,
                dense: &self.buffer.dense,
                sparse_index: &self.buffer.sparse_index,
                sparse_value: &self.buffer.sparse_value,
            })
            .map_err(|error| self.row_failure(error)),
        }
    }

    /// `known`: the row's class and group where they are known already.
    fn decode(
        &mut self,
        row: &Row<'_>,
        key: Option<Admitted>,
        known: Option<(u32, u32)>,
    ) -> Result<Decoded, Failure> {
        // SAFETY: the executor's row has the columns of the plan from which the decoder was made.
        unsafe { self.decoder.decode(row.values, row.nulls, &mut self.buffer) }
            .map_err(|error| self.decode_failure(error))?;
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
        let found = match known {
            None => self
                .groups
                .of(row)
                .map_err(|failure| self.in_row(failure))?,
            known => known,
        };
        let Some((class, group)) = found else {
            return Ok(Decoded::Skipped);
        };
        let cost = self.costs.of(weight, class, self.groups.classes())?;
        self.constants.take(self.decoder.learned(), &self.buffer)?;
        if let (Some(keys), Some(key)) = (&mut self.keys, key) {
            keys.take(key, (class, self.groups.classes()), weight, &self.buffer)?;
        }
        Ok(Decoded::Example { group, cost })
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
