//! Which trainings keep texts in a short form, whose features are made when a row is visited.

use crate::base::errors::Failure;
use crate::combinations::no_effect;
use crate::features::FeatureSet;
use crate::planning::job::Job;
use crate::request::ExpansionTime;
use pgsvm_core::{Beyond, CompactForm, Expanding, Scale, MOST_PARTS};

/// How the rows of a training are kept; None where with all their features.
pub fn kept_as(job: &Job) -> Option<Expanding> {
    let solver = job.terms.solver();
    let streams = Beyond::of(solver) == Beyond::Streams;
    let visits = streams && !solver.scans() && job.kernel.is_none();
    // what is done to entries when all rows have been seen cannot be done to a short form
    let as_they_are = matches!(job.scale, Scale::None | Scale::Standard) && !job.rows.unit_rows;
    let asked = job.terms.expansion != ExpansionTime::Stored;
    let may = asked && visits && as_they_are && !job.looks.slacks;
    let measured = job.terms.expansion == ExpansionTime::Auto;
    form_of(&job.features)
        .filter(|_| may)
        .map(|form| Expanding {
            form,
            measured: measured.then_some(job.statement.expected_rows),
        })
}

/// The short form of rows with such features.
fn form_of(features: &FeatureSet) -> Option<CompactForm> {
    let mut kept = [None; MOST_PARTS];
    let mut places = kept.iter_mut();
    for (number, part) in (0u16..).zip(features.lone_sparse_parts()) {
        if let Some(form) = part.compact_form() {
            // what there is no place for stays as it is
            let Some(place) = places.next() else { break };
            *place = Some((number, form));
        }
    }
    let parts = u16::try_from(features.sparse_parts()).ok()?;
    kept[0].is_some().then_some(CompactForm { parts, kept })
}

/// That a training which is to make features when rows are visited keeps them with their rows.
pub fn without_effect(job: &Job) -> Option<Failure> {
    // of scans, which keep no rows, it is said before
    let kept = !job.terms.scans();
    let stores = job.terms.expansion == ExpansionTime::Visit && kept && kept_as(job).is_none();
    stores.then(no_effect::visit)
}
