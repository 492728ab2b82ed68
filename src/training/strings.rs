//! Which trainings keep strings in the place of their runs of letters, which are made when a row is visited.

use crate::base::errors::{Code, Failure};
use crate::features::{FeaturePart, FeatureSet};
use crate::planning::job::Job;
use crate::request::Expansion;
use pgsvm_core::{Leader, Policy, Scale, StringForm};

/// The form of the strings that a training keeps; None where it keeps features.
pub fn kept_as(job: &Job) -> Option<StringForm> {
    let visits = matches!(job.terms.policy, Policy::Cached | Policy::Paper)
        && job.terms.leader != Leader::Scans
        && !job.terms.indexed
        && job.kernel.is_none();
    // what is done to entries when all rows have been seen cannot be done to a string
    let as_they_are = matches!(job.scale, Scale::None | Scale::Standard) && !job.unit_rows;
    let asked = job.terms.expansion != Expansion::Stored;
    let may = asked && visits && as_they_are && !job.slacks;
    form_of(&job.features).filter(|_| may)
}

/// The form of the strings whose runs are all sparse features that there are.
fn form_of(features: &FeatureSet) -> Option<StringForm> {
    let mut degrees = features.parts.iter().filter_map(|part| match part {
        FeaturePart::Text { form, .. } => form.degree(),
        _ => None,
    });
    let (letters, longest) = degrees.next()?.form();
    let alone = features.sparse_parts() == 1;
    Some(StringForm {
        letters: u8::try_from(letters).ok()?,
        longest: u8::try_from(longest).ok()?,
    })
    .filter(|_| alone)
}

/// Refuses a training that is to make runs when rows are visited, and cannot.
pub fn check(job: &Job) -> Result<(), Failure> {
    if job.terms.expansion != Expansion::Visit || kept_as(job).is_some() {
        return Ok(());
    }
    Err(Failure::new(
        Code::ERRCODE_FEATURE_NOT_SUPPORTED,
        "\"expansion\": \"visit\" is for weighted_degree(column, d), alone or with columns of numbers".to_owned(),
    )
    .hint("Leave \"expansion\" out of the options. With kernels, keys, blocks, scans, \"normalize_rows\" or a scale other than 'none' and 'standard' features are stored"))
}
