//! What a training predicts where nobody says it: numbers with fractions, or of more values than there may be classes, are numbers to
//! predict; all other labels are classes.

use crate::base::errors::Failure;
use crate::pg::executor::each_row;
use crate::planning::prepare::Prepared;
use crate::request::regression::Amount;
use crate::targets::labels::{Labels, MOST_CLASSES};
use pgsvm_core::memory::Room;
use std::collections::HashSet;

/// The first rows of the source, which say it.
const LOOKED_AT: u64 = 20_000;

/// Looks at the labels of the first rows; None where they are classes.
pub fn of_label(prepared: &Prepared) -> Result<Option<Amount>, Failure> {
    let column = &prepared.job.statement.columns.label;
    if !column.kind.is_number() {
        return Ok(None);
    }
    let (mut labels, mut values, mut found) = (Labels::new(column), HashSet::new(), None);
    each_row(&prepared.planned, LOOKED_AT, |row, _| {
        // a label that is none is for whoever reads the row to say
        let number = labels.number(row.values[column.at], row.nulls[column.at]);
        let Some(number) = number.ok().flatten().filter(|_| found.is_none()) else {
            return Ok(());
        };
        if number.fract() != 0.0 {
            found = Some(Amount::Fractions);
        } else if values.len() <= MOST_CLASSES {
            values.room(1)?.insert(number.to_bits());
            found = (values.len() > MOST_CLASSES).then_some(Amount::ManyValues);
        }
        Ok(())
    })?;
    Ok(found)
}
