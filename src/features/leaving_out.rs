//! Columns that were read and turned out to be no features: they are taken out of what a training has learned.

use super::set::FeatureSet;
use pgsvm_core::memory::{copied, gathered, OutOfMemory, Room};
use std::rc::Rc;

/// Takes what is dropped out of what is known by feature.
fn without(known: &mut Vec<f64>, dropped: &[u64]) {
    let mut numbers = 0u64..;
    known.retain(|_| {
        let number = numbers.next().unwrap_or(0);
        dropped.binary_search(&number).is_err()
    });
}

impl FeatureSet {
    /// Takes out the parts that `left_out` says, which have no feature; not where that would give others another number.
    pub fn leave_out(&mut self, left_out: &[bool]) -> Result<(), OutOfMemory> {
        let (sparse, categories) = (self.sparse_parts(), self.categories().count());
        let taken = left_out.iter().filter(|out| **out).count();
        if taken == 0 || (taken == categories && sparse > 1) {
            return Ok(());
        }
        self.left_out = self.names_of(left_out)?;
        self.retain(left_out);
        Ok(())
    }

    /// Takes out the parts that `constant` says, each a column of numbers or categories of one value, and gives the dense
    /// features that go with them.
    pub fn leave_out_constants(&mut self, constant: &[bool]) -> Result<Vec<u64>, OutOfMemory> {
        self.constant = self.names_of(constant)?;
        let dropped = self.dense_of(constant)?;
        self.retain(constant);
        let mut means = copied(&self.means)?;
        without(&mut means, &dropped);
        self.means = Rc::new(means);
        let mut spread = self.spread.copied()?;
        for column in [&mut spread.mean, &mut spread.deviation] {
            without(column, &dropped);
        }
        self.spread = Rc::new(spread);
        if let Some(scaling) = &self.unit_rows {
            let mut scaling = scaling.copied()?;
            without(&mut scaling.centre, &dropped);
            without(&mut scaling.factor, &dropped);
            scaling.dense -= dropped.len();
            self.unit_rows = Some(Rc::new(scaling));
        }
        Ok(dropped)
    }

    /// The dense features of these parts, ascending.
    pub fn dense_of(&self, parts: &[bool]) -> Result<Vec<u64>, OutOfMemory> {
        let mut found = Vec::new();
        for ((_, places), is_one) in self.dense_places().zip(parts) {
            if *is_one {
                let room = found.room(places.len())?;
                room.extend(places.map(|at| at as u64));
            }
        }
        Ok(found)
    }

    /// The only code of a category column of one value, as the number of its feature.
    pub fn only_category(&self, part: usize) -> Option<u64> {
        let code = self.parts.get(part)?.dictionary()?.only_code()?;
        let parts = self.sparse_parts() as u64;
        let dense = self.dense_count()? as u64;
        Some(dense + u64::from(code) * parts + parts - 1)
    }

    fn names_of(&self, parts: &[bool]) -> Result<Vec<String>, OutOfMemory> {
        let named = self.parts.iter().zip(parts);
        gathered(
            named
                .filter(|(_, named)| **named)
                .map(|(part, _)| part.name()),
        )
    }

    /// Takes out the parts that `out` says, with what is counted of them.
    fn retain(&mut self, out: &[bool]) {
        let stays = |number: usize| !out.get(number).copied().unwrap_or(false);
        let mut numbers = 0..;
        self.parts.retain(|_| numbers.next().is_some_and(&stays));
        let mut numbers = 0..;
        self.nulls.retain(|_| numbers.next().is_some_and(&stays));
    }
}
