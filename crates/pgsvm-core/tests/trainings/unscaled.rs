//! Columns as they come, unscaled: trainings arrive where the plain shift and that of column scales do not.

use crate::common::*;
use pgsvm_core::engine::{train_examples, OwnedExample, Threads};
use pgsvm_core::{HeadSpec, Loss, Problem, Scale};

const PLENTY: usize = 16 << 20;

fn problem(loss: Loss, c: f64) -> Problem {
    Problem::new(loss, c, 1e-3)
        .and_then(|problem| problem.with(|it| it.stopping.max_passes = Some(600)))
        .expect("valid")
}

/// Trains unscaled, checks what the training claims, and gives back P.
fn certified_primal(problem: Problem, examples: &[OwnedExample], cache_bytes: usize) -> f64 {
    let settings = settings(cache_bytes, Scale::None, Threads::One);
    let trained = train(problem, examples, settings);
    assert_certified(&trained, &problem, examples);
    trained.trainer.report().unwrap().heads[0]
        .certificate
        .primal
}

/// Ten clouds of values about 7 in size, one of them against the others: separable.
fn one_of_ten_clouds(rows: usize, features: usize) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(11);
    let centres: Vec<Vec<f64>> = (0..10)
        .map(|_| (0..features).map(|_| 3.0 * numbers.normal()).collect())
        .collect();
    let row = |_| {
        let cloud = numbers.below(10);
        let values = centres[cloud].iter();
        let values = values.map(|centre| centre + 6.0 * numbers.normal());
        OwnedExample::dense(u32::from(cloud == 0), values.collect())
    };
    by_first_appearance((0..rows).map(row).collect())
}

/// Counts and rates: columns from 1 to 10^5 in size, some with a few values thousands of times their usual one.
fn counts(rows: usize) -> Vec<OwnedExample> {
    const COLUMNS: usize = 12;
    let mut numbers = Numbers::new(12);
    let row = |_| {
        let values: Vec<f64> = (0..COLUMNS)
            .map(|j| numbers.normal() * if j % 3 == 0 { 2.5 } else { 0.5 })
            .collect();
        let score = values[0] - values[1] + values[4] + 0.5 * values[6] + 0.7 * numbers.normal();
        let dense = values.iter().enumerate();
        let dense = dense.map(|(j, x)| 10f64.powi(j as i32 % 6) * x.exp());
        OwnedExample::dense(u32::from(score > 0.5), dense.collect())
    };
    by_first_appearance((0..rows).map(row).collect())
}

/// Whole numbers from 0 to 255 as of a picture's bands: far from 0, and columns that go together. Of six classes.
fn pixels(rows: usize) -> Vec<OwnedExample> {
    const COLUMNS: usize = 24;
    const DIRECTIONS: usize = 4;
    let mut numbers = Numbers::new(13);
    let base: Vec<f64> = (0..COLUMNS)
        .map(|_| 64.0 + 128.0 * numbers.uniform())
        .collect();
    let mut of_directions =
        |scale: f64| -> Vec<f64> { (0..DIRECTIONS).map(|_| scale * numbers.normal()).collect() };
    let mixed: Vec<Vec<f64>> = (0..COLUMNS).map(|_| of_directions(12.0)).collect();
    let centres: Vec<Vec<f64>> = (0..6).map(|_| of_directions(1.0)).collect();
    let row = |n: usize| {
        let class = n % 6;
        let at: Vec<f64> = centres[class]
            .iter()
            .map(|x| x + numbers.normal())
            .collect();
        let value = |(base, mixed): (&f64, &Vec<f64>)| {
            let along: f64 = mixed.iter().zip(&at).map(|(m, x)| m * x).sum();
            (base + along + 6.0 * numbers.normal())
                .round()
                .clamp(0.0, 255.0)
        };
        OwnedExample::dense(class as u32, base.iter().zip(&mixed).map(value).collect())
    };
    (0..rows).map(row).collect()
}

/// Trains each class against the rest, and gives back the gaps reached and the passes made.
fn trained_gaps(
    problem: Problem,
    examples: &[OwnedExample],
    cache_bytes: usize,
) -> (Vec<f64>, u32) {
    let heads: Vec<HeadSpec> = (0..6)
        .map(|class| {
            let sign = |other| if other == class { 1 } else { -1 };
            HeadSpec::new((0..6).map(sign).collect::<Vec<i8>>(), problem.c())
        })
        .collect();
    let settings = settings(cache_bytes, Scale::None, Threads::One);
    let trained = train_examples(problem, heads, examples, settings).expect("training works");
    let report = trained.trainer.report().expect("memory for a report");
    let gaps = report.heads.iter().map(|head| head.certificate.gap);
    (gaps.collect(), report.passes)
}

#[test]
fn pixels_as_they_are_in_any_cache() {
    let examples = pixels(1500);
    let bytes = examples.len() * 4 * (24 + 6);
    for c in [1.0, 100.0] {
        let problem = problem(Loss::Hinge, c);
        for share in [2.0, 0.9, 0.5, 0.1] {
            let (gaps, passes) = trained_gaps(problem, &examples, (share * bytes as f64) as usize);
            let arrived = gaps.iter().filter(|gap| **gap <= 1e-3).count();
            assert_eq!(arrived, 6, "C = {c}, {share}: {gaps:?} after {passes}");
        }
    }
}

#[test]
fn separable_values_far_from_one_in_size() {
    let examples = one_of_ten_clouds(2000, 60);
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        certified_primal(problem(loss, 1.0), &examples, PLENTY);
    }
}

#[test]
fn counts_with_a_few_values_thousands_of_times_as_large() {
    let examples = counts(6000);
    for c in [0.01, 1.0, 100.0] {
        certified_primal(problem(Loss::Hinge, c), &examples, PLENTY);
    }
}

#[test]
fn several_trainers_and_rows_that_stream_learn_the_same_metric() {
    let examples = counts(40_000);
    let problem = problem(Loss::Hinge, 100.0);
    let bytes = 40_000 * 20 * 4;
    let with_two = problem.with_trainers(2).expect("valid");
    let alone = certified_primal(problem, &examples, PLENTY);
    for (problem, cache_bytes) in [(with_two, PLENTY), (problem, bytes / 5)] {
        let other = certified_primal(problem, &examples, cache_bytes);
        assert!((other - alone).abs() <= 1e-3 * alone, "{other} {alone}");
    }
}
