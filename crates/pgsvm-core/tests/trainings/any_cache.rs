//! Passes to a gap of 1e-3 do not grow with the part of the rows that the cache holds, as long as it does not hold them all.

use crate::common::*;
use pgsvm_core::engine::{OwnedExample, Threads};
use pgsvm_core::{Loss, Problem, Scale, Timing};

const ROWS: usize = 12_000;
const FEATURES: usize = 12;
/// Of a row, with its header.
const ROW_BYTES: usize = 4 * (FEATURES + 4);
const SHARES: [f64; 6] = [0.1, 0.3, 0.5, 0.7, 0.9, 1.0];
const SEEDS: u64 = 4;
/// Passes of a larger cache over those of the best smaller one: medians of the seeds, and passes more that say nothing where
/// there are few.
const MOST: f64 = 1.5;
const FEW: f64 = 2.0;

/// Columns a thousand times as large as others, and away from 0.
fn unscaled(rows: &[OwnedExample]) -> Vec<OwnedExample> {
    let column = |(j, x): (usize, &f64)| 10f64.powi(j as i32 % 4) * (x + (j % 3) as f64);
    let row = |row: &OwnedExample| {
        let values = row.dense.iter().enumerate().map(column);
        OwnedExample::dense(row.group, values.collect())
    };
    rows.iter().map(row).collect()
}

/// Passes with each share of the rows in the cache, all of them certified.
fn passes(problem: Problem, examples: &[OwnedExample], threads: Threads) -> Vec<f64> {
    let with = |share: f64| {
        let cache = (share * (ROWS * ROW_BYTES) as f64) as usize;
        let trained = train(problem, examples, settings(cache, Scale::None, threads));
        assert_certified(&trained, &problem, examples);
        let report = trained.trainer.report().unwrap();
        assert!(!report.resident);
        f64::from(report.passes)
    };
    SHARES.map(with).to_vec()
}

/// The lower one where there are two.
fn median(mut passes: Vec<f64>) -> f64 {
    passes.sort_by(f64::total_cmp);
    passes[(passes.len() - 1) / 2]
}

fn problem(loss: Loss, c: f64, timing: Timing) -> Problem {
    Problem::new(loss, c, 1e-3)
        .and_then(|problem| problem.with(|it| it.stopping.max_passes = Some(400)))
        .expect("valid")
        .with_timing(timing)
}

fn do_not_grow(examples: &[OwnedExample]) {
    for c in [0.01, 1.0, 100.0] {
        // how many passes two threads take depends on how the system divides the processors; that they arrive does not
        let timed = problem(Loss::Hinge, c, Timing::Timed);
        passes(timed, examples, Threads::Two);
        let lockstep = problem(Loss::Hinge, c, Timing::Lockstep);
        let of_seeds: Vec<Vec<f64>> = (0..SEEDS)
            .map(|seed| {
                passes(
                    lockstep.with(|it| it.seed = seed).expect("valid"),
                    examples,
                    Threads::One,
                )
            })
            .collect();
        let passes: Vec<f64> = (0..SHARES.len())
            .map(|share| median(of_seeds.iter().map(|passes| passes[share]).collect()))
            .collect();
        for (larger, took) in passes.iter().enumerate().skip(1) {
            let best = passes[..larger].iter().copied().fold(f64::MAX, f64::min);
            assert!(
                *took <= MOST * best + FEW,
                "C = {c}: {passes:?} passes with {SHARES:?} of the rows in the cache"
            );
        }
    }
}

#[test]
fn a_larger_cache_takes_no_more_passes() {
    do_not_grow(&clouds(ROWS, FEATURES, 2.0, 21));
}

#[test]
fn nor_where_columns_differ_in_scale() {
    do_not_grow(&unscaled(&clouds(ROWS, FEATURES, 2.0, 22)));
}

#[test]
fn nor_where_few_rows_hold_the_weights() {
    do_not_grow(&clouds(ROWS, FEATURES, 6.0, 23));
}

#[test]
fn the_squared_hinge_arrives_with_any_cache() {
    let rows = clouds(ROWS, FEATURES, 2.0, 24);
    for examples in [&rows, &unscaled(&rows)] {
        let problem = problem(Loss::SquaredHinge, 1.0, Timing::Lockstep);
        passes(problem, examples, Threads::One);
    }
}
