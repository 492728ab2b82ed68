//! What a version knows: its weights, and with a key its rows and their dual variables, read from its tables by the
//! leader. What is stored may have been written by anybody who owns a model: nonsense is an error.

use crate::base::errors::Failure;
use crate::keys::chunks::{read_keys, read_states, KeyKind, CHUNK_ROWS};
use crate::keys::out_of_memory;
use crate::model::Model;
use crate::pg::check_for_interrupts;
use crate::pg::select::ResultRow;
use crate::targets::labels::SIDES;
use crate::warm_start::near::KnownHead;
use crate::warm_start::remembered::Remembered;
use crate::warm_start::screening::RowSlacks;
use crate::warm_start::stored_rows::{damaged, each_row, numbers};
use crate::warm_start::stored_slacks;
use pgsvm_core::memory::{OutOfMemory, Room};
use pgsvm_core::{Scaling, TargetScale};
use std::rc::Rc;

/// A millisecond of scaling.
const FEATURES_BETWEEN_INTERRUPTS: usize = 1 << 16;

/// What a version knows.
pub struct VersionMemory {
    model: Rc<Model>,
    /// None of a version without a key.
    pub rows: Remembered,
    /// By head and row.
    duals: Vec<Vec<f32>>,
    /// By head, the updates of Pegasos that they come from; 0 of other solvers.
    updates: Vec<u64>,
    /// Visits of each row in each head that the model's last training from nothing took; None where nobody knows.
    effort: Option<f64>,
}

impl VersionMemory {
    /// What a version without a key knows.
    pub fn of_weights(model: Rc<Model>) -> Self {
        Self {
            model,
            rows: Remembered::default(),
            duals: Vec::new(),
            updates: Vec::new(),
            effort: None,
        }
    }

    /// Reads what the model knows, version `id`, whose keys are of this kind. `schema` is the extension's, quoted.
    pub fn load(schema: &str, model: Rc<Model>, id: i64, kind: KeyKind) -> Result<Self, Failure> {
        let mut this = Self::of_weights(model);
        let count = this.load_rows(schema, id, kind)?;
        this.load_duals(schema, id, count)?;
        this.load_updates(schema, id)?;
        this.load_effort(schema, id)?;
        Ok(this)
    }

    /// Returns how many there are.
    fn load_rows(&mut self, schema: &str, id: i64, kind: KeyKind) -> Result<usize, Failure> {
        let damaged = || damaged(&self.model.name);
        let (mut count, mut chunks) = (0usize, 0);
        let keys = format!(
            "SELECT first_row, rows, keys, digests FROM {schema}.svm_key
             WHERE version_id OPERATOR(pg_catalog.=) $1 ORDER BY first_row"
        );
        let rows = &mut self.rows;
        each_row(&keys, id, |row| {
            chunks += 1;
            let follows = row.int8(1) == Some(count as i64);
            let chunk = read_chunk(row, kind)?.filter(|_| follows);
            let chunk = chunk.ok_or_else(damaged)?;
            count += chunk.len();
            rows.extend(&chunk)
        })?;
        let model = &self.model;
        model.stored_rows.check(&model.name, "svm_key", chunks)?;
        match count > 0 && count < u32::MAX as usize {
            true => Ok(count),
            false => Err(damaged()),
        }
    }

    /// Of trainings of this model at this C, up to this version.
    fn load_effort(&mut self, schema: &str, id: i64) -> Result<(), Failure> {
        let effort = format!(
            "SELECT l.visits[pg_catalog.cardinality(l.visits)]::pg_catalog.float8
                 OPERATOR(pg_catalog./) v.rows_used::pg_catalog.float8
                 OPERATOR(pg_catalog./) (SELECT pg_catalog.count(*) FROM {schema}.svm_head AS h
                     WHERE h.version_id OPERATOR(pg_catalog.=) v.id)::pg_catalog.float8
             FROM {schema}.svm_version AS this
             JOIN {schema}.svm_version AS v ON v.model_id OPERATOR(pg_catalog.=) this.model_id
                 AND v.version OPERATOR(pg_catalog.<=) this.version
                 AND v.c OPERATOR(pg_catalog.=) this.c AND v.loss OPERATOR(pg_catalog.=) this.loss
             JOIN {schema}.svm_log AS l ON l.version_id OPERATOR(pg_catalog.=) v.id
             WHERE this.id OPERATOR(pg_catalog.=) $1 AND v.validation IS NULL AND v.rows_used OPERATOR(pg_catalog.>) 0
                 AND EXISTS (SELECT FROM {schema}.svm_head AS h WHERE h.version_id OPERATOR(pg_catalog.=) v.id)
                 AND (v.followed IS NULL
                     OR v.followed OPERATOR(pg_catalog.->>) 'begun_from' OPERATOR(pg_catalog.=) 'nothing')
             ORDER BY v.version DESC LIMIT 1"
        );
        let sides = match self.model.regresses {
            true => SIDES.len() as f64,
            false => 1.0,
        };
        each_row(&effort, id, |row| {
            self.effort = row.float8(1).map(|visits| visits / sides);
            Ok(())
        })
    }

    /// Visits of each row in each head that the model's last training from nothing took; None where nobody knows.
    pub fn effort(&self) -> Option<f64> {
        self.effort
    }

    fn load_updates(&mut self, schema: &str, id: i64) -> Result<(), Failure> {
        let updates = format!(
            "SELECT updates FROM {schema}.svm_head WHERE version_id OPERATOR(pg_catalog.=) $1 ORDER BY head"
        );
        each_row(&updates, id, |row| {
            let made = row.int8(1).and_then(|made| u64::try_from(made).ok());
            self.updates.room(1)?.push(made.unwrap_or(0));
            Ok(())
        })
    }

    fn load_duals(&mut self, schema: &str, id: i64, count: usize) -> Result<(), Failure> {
        for _ in 0..self.model.heads.len() {
            let mut duals = Vec::new();
            duals
                .try_reserve_exact(count)
                .map_err(|_| out_of_memory())?;
            duals.resize(count, 0.0);
            self.duals.push(duals);
        }
        let duals = format!(
            "SELECT head, first_row, states, common, duals FROM {schema}.svm_key_dual
             WHERE version_id OPERATOR(pg_catalog.=) $1"
        );
        let mut chunks = 0;
        let model = self.model.clone();
        each_row(&duals, id, |row| {
            chunks += 1;
            self.take_duals(row)?.ok_or_else(|| damaged(&model.name))
        })?;
        model.stored_rows.check(&model.name, "svm_key_dual", chunks)
    }

    /// Takes a row of svm_key_dual; None where it makes no sense.
    fn take_duals(&mut self, row: &ResultRow) -> Result<Option<()>, Failure> {
        let head = row.int4(1).and_then(|head| usize::try_from(head).ok());
        let first = row.int8(2).and_then(|row| usize::try_from(row).ok());
        let (common, own) = (numbers(row, 4)?, numbers(row, 5)?);
        let out = head
            .and_then(|head| self.duals.get_mut(head))
            .zip(first)
            .and_then(|(duals, first)| duals.get_mut(first..));
        let (Some(out), Some(states), Some(common), Some(own)) = (out, row.varlena(3), common, own)
        else {
            return Ok(None);
        };
        let length = out.len().min(CHUNK_ROWS);
        Ok(read_states(
            (states.payload(), self.model.regresses),
            &common,
            &own,
            &mut out[..length],
        ))
    }

    /// What is known of the rows' margin slacks; None where nothing is, or it is not what a training stored here.
    pub fn load_slacks(&self, schema: &str, id: i64) -> Result<Option<RowSlacks>, Failure> {
        stored_slacks::load(schema, id, &self.model, self.rows.all())
    }

    /// The version itself.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Rows whose dual variable is not 0 in the first head.
    pub fn support_vectors(&self) -> usize {
        let duals = self.duals.first().map_or(&[][..], Vec::as_slice);
        duals.iter().filter(|dual| **dual != 0.0).count()
    }

    /// The version, as `name@version`.
    pub fn name(&self) -> &str {
        &self.model.name
    }

    /// The dual variables of a head, by row: of a regression that of the upper side less that of the lower one. One head serves both of
    /// two classes: what is positive in one direction is negative in the other, with the same dual variables.
    pub fn duals_of(&self, head: KnownHead) -> &[f32] {
        let duals = head.and_then(|(head, _)| self.duals.get(head));
        duals.map_or(&[], Vec::as_slice)
    }

    /// The updates of Pegasos that made them; 0 where another solver did.
    pub fn updates_of(&self, head: KnownHead) -> u64 {
        head.and_then(|(head, _)| self.updates.get(head).copied())
            .unwrap_or(0)
    }

    /// The weights of a head for rows scaled like this, with so many features, the intercept's last; None where it is not
    /// known, or dense features have become more or fewer. `targets`: what a regression makes of its label. The features `dropped`,
    /// dense ones, are read and none of the model's.
    pub fn weights_of(
        &self,
        head: KnownHead,
        (scaling, targets): (&Scaling, Option<TargetScale>),
        (dense, features): (usize, usize),
        dropped: &[u64],
    ) -> Result<Option<Vec<f64>>, Failure> {
        let Some((head, sign)) = head.filter(|_| dense == self.model.dense_count + dropped.len())
        else {
            return Ok(None);
        };
        let mut weights = Vec::new();
        weights
            .try_reserve_exact(features + 1)
            .map_err(|_| out_of_memory())?;
        let own = self.model.dense_of(head);
        let mut intercept = self.model.heads[head].intercept;
        for feature in 0..features {
            if feature % FEATURES_BETWEEN_INTERRUPTS == 0 {
                check_for_interrupts();
            }
            let of_heads = |id: usize| self.model.sparse.of_heads(id as u32);
            let gone = dropped.partition_point(|gone| *gone < feature as u64);
            let raw = match dropped.get(gone) {
                Some(here) if *here == feature as u64 => 0.0,
                _ if feature < dense => own[feature - gone],
                _ => of_heads(feature - dense).map_or(0.0, |weights| weights[head]),
            };
            let (factor, shift) = scaling.fold_weight(feature, 1.0);
            let scaled = if factor == 0.0 { 0.0 } else { raw / factor };
            intercept += scaled * shift;
            weights.push(sign * scaled);
        }
        weights.push(sign * intercept);
        if let Some(targets) = targets {
            targets.rescale(&mut weights);
        }
        Ok(weights
            .iter()
            .all(|weight| weight.is_finite())
            .then_some(weights))
    }

    /// Gives up what it knows of rows.
    pub fn forget_rows(&mut self) {
        self.rows = Remembered::default();
        self.duals = Vec::new();
    }

    /// Makes dual variables found for another C fit: those at their bound stay there.
    pub fn scale(&mut self, ratio: f64) {
        for dual in self.duals.iter_mut().flatten() {
            *dual = (f64::from(*dual) * ratio) as f32;
        }
    }
}

/// The keys and digests of a row of svm_key; None where it makes no sense.
fn read_chunk(row: &ResultRow, kind: KeyKind) -> Result<Option<Vec<(u128, u64)>>, OutOfMemory> {
    let rows = row.int4(2).and_then(|rows| usize::try_from(rows).ok());
    match (rows, row.varlena(3), row.varlena(4)) {
        (Some(rows), Some(keys), Some(digests)) => {
            read_keys(kind, rows, keys.payload(), digests.payload())
        }
        _ => Ok(None),
    }
}
