//! Rows in the form in which a scan visits them, made of examples one at a time: as they are, or as a map of low rank makes them, a
//! block of them at a time.
//!
//! The map of a row does not depend on the rows beside it, to the last bit: so each scan finds the same rows.

use pgsvm_kernels::{Factor, FactorView, KernelError, LowRank};
use serde::{Deserialize, Serialize};

use crate::base::message::{self, MessageError};
use crate::maps::low_rank::mapping::Mapping;
use crate::reader::{RowForm, RowMaker};
use crate::rows::facts::Facts;
use crate::rows::row::Row;
use crate::rows::source::{Example, RowError};

/// A map, and the form of the rows that it makes, on their way to the processes that scan.
#[derive(Debug, Serialize)]
pub struct MapView<'a> {
    pub factor: FactorView<'a>,
    pub form: &'a RowForm,
}

/// The same as it arrives.
#[derive(Debug, Deserialize)]
pub struct ReceivedMap {
    factor: Factor,
    form: RowForm,
}

/// What makes rows.
pub struct ScannedRows {
    maker: RowMaker,
    mapped: Option<Box<Mapped>>,
}

struct Mapped {
    map: LowRank,
    mapping: Mapping,
    maker: RowMaker,
}

impl MapView<'_> {
    /// As it arrives, for rows that are mapped in this process.
    ///
    /// # Errors
    /// Without memory for it.
    pub fn arrived(&self) -> Result<ReceivedMap, MessageError> {
        message::decode(&message::encode(self)?)
    }
}

impl ReceivedMap {
    /// Whether its parts fit one another, of rows of so many classes; those of bytes that came from elsewhere may not.
    pub fn is_sound(&self, classes: usize) -> bool {
        self.factor.is_sound()
            && self.form.is_sound(classes)
            && self.form.size().0 == self.factor.rank()
    }

    /// The form of the rows that it makes.
    pub fn form(&self) -> &RowForm {
        &self.form
    }
}

impl ScannedRows {
    /// Of examples of this form, mapped where there is a map.
    pub fn new(form: &RowForm, map: Option<ReceivedMap>) -> Result<Self, KernelError> {
        let mapped = match map {
            None => None,
            Some(ReceivedMap { factor, form }) => {
                let map = LowRank::wide(factor)?;
                Some(Box::new(Mapped {
                    mapping: Mapping::new(&map, &Facts::default())?,
                    maker: form.maker()?,
                    map,
                }))
            }
        };
        Ok(Self {
            maker: form.maker()?,
            mapped,
        })
    }

    /// Takes an example in; rows that are made of it and of those before it are visited, now or later.
    ///
    /// # Errors
    /// As [`RowMaker::make`] has them.
    pub fn take(
        &mut self,
        example: &Example<'_>,
        visit: &mut dyn FnMut(&Row<'_>),
    ) -> Result<(), RowError> {
        let row = self.maker.make(example)?;
        let Some(mapped) = &mut self.mapped else {
            visit(&row);
            return Ok(());
        };
        mapped.mapping.take(&row)?;
        match mapped.mapping.is_full() {
            true => mapped.deliver(visit),
            false => Ok(()),
        }
    }

    /// Has the last rows visited.
    pub fn finish(&mut self, visit: &mut dyn FnMut(&Row<'_>)) -> Result<(), RowError> {
        match &mut self.mapped {
            Some(mapped) => mapped.deliver(visit),
            None => Ok(()),
        }
    }
}

impl Mapped {
    fn deliver(&mut self, visit: &mut dyn FnMut(&Row<'_>)) -> Result<(), RowError> {
        let Self {
            map,
            mapping,
            maker,
        } = self;
        mapping.deliver(map, &mut |example| {
            visit(&maker.make(example)?);
            Ok(())
        })?;
        mapping.clear();
        Ok(())
    }
}
