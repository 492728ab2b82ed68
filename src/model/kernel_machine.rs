//! A kernel machine in memory: what it decides is a sum of factors times kernel values of a row and the landmarks.

use super::weights::WeightsOutOfMemory;
use crate::features::{FeatureBuffer, KernelForm};
use pgsvm_core::kernels::{Expansion, Room, Rows};
use pgsvm_core::memory::Room as _;
use std::cell::RefCell;
use std::rc::Rc;

/// The landmarks of a model and their factors, head by head.
pub struct KernelMachine {
    expansion: Expansion,
    form: Rc<KernelForm>,
    /// Dense features of a row.
    dense: usize,
    bytes: usize,
    /// For the row at hand.
    room: RefCell<GatheredRows>,
}

/// Rows to be decided about together, and what that takes; nothing is allocated once all have grown.
#[derive(Default)]
pub struct GatheredRows {
    rows: Rows,
    dense: Vec<f32>,
    entries: Vec<[u32; 2]>,
    values: Room,
    decisions: Vec<f64>,
}

impl GatheredRows {
    /// Rows gathered.
    pub fn len(&self) -> usize {
        self.rows.len()
    }
}

impl KernelMachine {
    /// Of as many factors as there are landmarks for each head; None where numbers do not fit each other.
    pub fn new(
        form: Rc<KernelForm>,
        dense: usize,
        landmarks: Rows,
        factors: Vec<f64>,
        intercepts: Vec<f64>,
    ) -> Result<Option<Self>, WeightsOutOfMemory> {
        let (width, bytes) = (landmarks.width(), landmarks.bytes());
        let Some(kernel) = form.kernel() else {
            return Ok(None);
        };
        let room = GatheredRows {
            rows: Rows::new(width),
            ..GatheredRows::default()
        };
        let bytes = 2 * bytes + factors.len() * size_of::<f64>();
        let expansion = Expansion::new(kernel, landmarks, factors, intercepts);
        Ok(expansion
            .map_err(|_| WeightsOutOfMemory)?
            .map(|expansion| Self {
                expansion,
                form,
                dense,
                bytes,
                room: RefCell::new(room),
            }))
    }

    /// The decision of each head, in place of what `out` holds.
    pub fn decide(
        &self,
        row: &FeatureBuffer,
        out: &mut Vec<f64>,
    ) -> Result<(), WeightsOutOfMemory> {
        let mut room = self.room.borrow_mut();
        room.rows.clear();
        let decided = self.gather(row, &mut room);
        let decided = decided.and_then(|()| self.decide_gathered(&mut room, out));
        decided.map_err(|_| WeightsOutOfMemory)
    }

    /// The decisions of each head about all rows gathered, row after row, in place of what `out` holds. None are gathered
    /// afterwards.
    pub fn decide_gathered(
        &self,
        room: &mut GatheredRows,
        out: &mut Vec<f64>,
    ) -> Result<(), pgsvm_core::OutOfMemory> {
        self.expansion.decide(&room.rows, &mut room.values, out)?;
        room.rows.clear();
        Ok(())
    }

    /// The decision of the only head.
    pub fn decide_one(&self, row: &FeatureBuffer) -> Result<f64, WeightsOutOfMemory> {
        let mut decisions = std::mem::take(&mut self.room.borrow_mut().decisions);
        let decided = self.decide(row, &mut decisions);
        let decision = decisions.first().copied().unwrap_or(f64::NAN);
        self.room.borrow_mut().decisions = decisions;
        decided.map(|()| decision)
    }

    /// Scales the row and puts it behind those gathered.
    pub fn gather(
        &self,
        row: &FeatureBuffer,
        room: &mut GatheredRows,
    ) -> Result<(), pgsvm_core::OutOfMemory> {
        let GatheredRows {
            rows,
            dense,
            entries,
            ..
        } = room;
        dense.clear();
        entries.clear();
        let scaled = |feature: usize, value: f64| match &self.form.scaling {
            Some(scaling) => scaling.scaled(feature, value),
            None => value,
        };
        match &self.form.scaling {
            Some(scaling) => scaling.scale_as_kept(&row.dense, &self.form.first, dense)?,
            None => {
                let values = dense.room(row.dense.len())?;
                values.extend(row.dense.iter().map(|value| *value as f32));
            }
        }
        let sparse = row.sparse_index.iter().zip(&row.sparse_value);
        let of_row = sparse.filter_map(|(id, value)| {
            let feature = self.dense + *id as usize;
            let value = scaled(feature, f64::from(*value)) as f32;
            Some([u32::try_from(feature).ok()?, value.to_bits()])
        });
        entries.room(row.sparse_index.len())?.extend(of_row);
        if !entries.is_sorted_by_key(|[feature, _]| *feature) {
            entries.sort_unstable_by_key(|[feature, _]| *feature);
        }
        if rows.width() != self.expansion.width() {
            *rows = Rows::new(self.expansion.width());
        }
        rows.push(dense, entries)
    }

    /// How rows are compared.
    pub fn form(&self) -> &KernelForm {
        &self.form
    }

    /// The landmarks, as rows scaled.
    pub fn landmarks(&self) -> &Rows {
        self.expansion.landmarks()
    }

    /// A head's factors, landmark after landmark.
    pub fn factors(&self, head: usize) -> &[f64] {
        self.expansion.factors(head)
    }

    /// Bytes it takes, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
