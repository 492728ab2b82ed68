//! Errors of trainings by scans that cannot begin or go on.

use crate::base::errors::{Code, Failure};
use crate::combinations::scans;
use crate::reading::rows::RowSource;
use pgsvm_core::PartRefusal;

/// Of a class no row of the sample can be held out.
pub(super) fn too_few(source: &RowSource, class: usize, rows: u64, bytes: usize) -> Failure {
    let label = source.known_classes().get(class).map(|it| it.text.as_str());
    let (label, kilobytes) = (label.unwrap_or_default(), bytes / 1024);
    Failure::new(
        Code::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("label \"{label}\" has too few rows in the sample to hold some out: {rows}"),
    )
    .detail(format!(
        "By scans what is chosen is chosen on a sample of rows, here of {kilobytes} kB."
    ))
    .hint("solver => 'stream', which holds rows out of all; or one number for c, gamma and \"truncation\", without probabilities")
}

/// The rows of the sample are all of one fold.
pub(super) fn one_fold(folds: u32, bytes: usize) -> Failure {
    Failure::new(
        Code::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("the rows of the sample are of {folds} fold(s), at least 2 are needed"),
    )
    .detail(format!(
        "By scans what is chosen is chosen on a sample of rows, here of {} kB.",
        bytes / 1024
    ))
    .hint("SET pgsvm.cache_size to more, of which the sample takes a part; or solver => 'stream', which holds rows out of all")
}

/// More landmarks are asked for than there are rows at hand.
pub(super) fn rank_beyond_sample(rank: usize, rows: usize) -> Failure {
    Failure::new(
        Code::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("the rank {rank} is larger than the sample of {rows} rows that landmarks are chosen of"),
    )
    .hint(format!(
        "rank => {rows}, or NULL for the square root of the number of rows; or SET pgsvm.cache_size to more, of which the sample takes a part"
    ))
}

/// Features, or landmarks, that an interior point by scans solves a system of at most.
const MOST_SOLVED: usize = 4096;

/// Refuses rows of which the sums that a process makes would be too large.
pub(super) fn check_features(features: usize) -> Result<(), Failure> {
    match features > MOST_SOLVED {
        false => Ok(()),
        true => Err(Failure::new(
            Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            format!("solver 'interior_point' by scans solves a system of {features} unknowns, {MOST_SOLVED} at most"),
        )
        .detail("There is one for each landmark, or each feature of a linear machine.")
        .hint("rank => 1000; or solver => 'scan'")),
    }
}

/// A part of the rows has found nothing by itself.
pub(super) fn refused(why: PartRefusal, bytes: usize) -> Failure {
    match why {
        PartRefusal::Room => scans::part_beyond_cache(bytes / 1024),
        PartRefusal::Memory => Failure::new(
            Code::ERRCODE_OUT_OF_MEMORY,
            "out of memory in a training on a part of the rows",
        )
        .hint("Leave \"machines\" out of the options: scans keep no rows"),
        PartRefusal::Numbers => Failure::new(
            Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
            "a training on a part of the rows is out of range",
        )
        .hint("Scale the features, or take a smaller c: scale => 'standard', c => 1"),
    }
}

/// What a scan found are other rows than those before.
pub(super) fn changed() -> Failure {
    not_the_same()
        .detail("Each scan has the snapshot of the first; a LIMIT without an order, or a sample without REPEATABLE, may still pick other rows.")
        .hint("Order what is limited, or store the rows first: CREATE TABLE … AS SELECT …; or take solver => 'stream', which reads them once")
}

/// The same of several servers.
pub(super) fn changed_again() -> Failure {
    not_the_same()
        .detail("Servers have no common snapshot; the training began anew once, and the rows have changed again.")
        .hint("Hold those off who change them, LOCK TABLE … IN SHARE MODE; or take solver => 'stream', which reads them once")
}

fn not_the_same() -> Failure {
    Failure::new(
        Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        "the rows of the source are not the same in each scan",
    )
}
