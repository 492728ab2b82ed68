//! Rows of one class: the machine with nu (Schölkopf et al., *Estimating the support of a high-dimensional distribution*, Neural Computation
//! 13, 2001), whose optimum is found once more by pairs of dual variables that keep their sum.

use crate::common::parts::Parts;
use crate::common::Numbers;
use pgsvm_core::engine::{
    train_exactly, train_examples, MemorySpool, OwnedExample, Settings, SliceSource, Threads,
    Trained,
};
use pgsvm_core::kernels::{KernelKind, KernelSpec};
use pgsvm_core::{
    Holding, Intercept, Loss, LowRankJob, Plan, Problem, ReaderJob, Scale, ScanTrainer,
};
use std::time::Instant;

const PLENTY: usize = 16 << 20;
const LITTLE: usize = 16 << 10;

/// Rows around (3, .., 3), of which some are far.
fn cloud(rows: usize, features: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut numbers = Numbers::new(seed);
    (0..rows)
        .map(|row| {
            let wide = if row % 20 == 0 { 3.0 } else { 1.0 };
            (0..features)
                .map(|_| f64::from((3.0 + wide * numbers.normal()) as f32))
                .collect()
        })
        .collect()
}

/// 1/2 |sum of a phi(x)|^2 at its smallest, of 0 <= a <= 1 with a sum of nu n, and kernel values between rows: the pair that is farthest from
/// optimal moves.
fn smallest(values: &[Vec<f64>], nu: f64) -> f64 {
    let n = values.len();
    let mut left = nu * n as f64;
    let mut a: Vec<f64> = (0..n)
        .map(|_| {
            let one = f64::min(1.0, left);
            left -= one;
            one
        })
        .collect();
    let score = |row: &Vec<f64>| row.iter().zip(&a).map(|(k, a)| k * a).sum::<f64>();
    let mut scores: Vec<f64> = values.iter().map(score).collect();
    loop {
        let least = |i: usize, j: usize| if scores[i] < scores[j] { i } else { j };
        let most = |i: usize, j: usize| if scores[i] < scores[j] { j } else { i };
        let up = (0..n).filter(|i| a[*i] < 1.0).reduce(least);
        let down = (0..n).filter(|i| a[*i] > 0.0).reduce(most);
        let (up, down) = (up.expect("some"), down.expect("some"));
        let apart = scores[down] - scores[up];
        let square = values[up][up] + values[down][down] - 2.0 * values[up][down];
        if apart <= 1e-7 * scores[down].abs() || square == 0.0 {
            return 0.5 * scores.iter().zip(&a).map(|(f, a)| f * a).sum::<f64>();
        }
        let step = (apart / square).min(1.0 - a[up]).min(a[down]);
        a[up] += step;
        a[down] -= step;
        for (i, score) in scores.iter_mut().enumerate() {
            *score += step * (values[i][up] - values[i][down]);
        }
    }
}

/// The values of a kernel between all rows.
fn between(rows: &[Vec<f64>], kernel: impl Fn(&[f64], &[f64]) -> f64) -> Vec<Vec<f64>> {
    let of = |x: &Vec<f64>| rows.iter().map(|z| kernel(x, z)).collect();
    rows.iter().map(of).collect()
}

fn product(x: &[f64], z: &[f64]) -> f64 {
    x.iter().zip(z).map(|(x, z)| x * z).sum()
}

/// What it is at weights with these scores and this square of their length, at the best length and the best r: no more than the smallest.
fn at_weights(mut scores: Vec<f64>, square: f64, nu: f64) -> f64 {
    scores.sort_by(f64::total_cmp);
    let sum = nu * scores.len() as f64;
    let of = |r: &f64| sum * r - scores.iter().map(|s| f64::max(0.0, r - s)).sum::<f64>();
    let best = scores.iter().map(of).fold(0.0, f64::max);
    0.5 * best * best / square
}

fn plan(nu: f64) -> Plan {
    Plan {
        nu: Some(nu),
        ..Plan::train(1.0)
    }
}

fn problem(tolerance: f64) -> Problem {
    let problem = Problem::new(Loss::Hinge, 1.0, tolerance).expect("valid");
    let without = problem.with(|it| it.formulation.intercept = Intercept::None);
    without.expect("valid")
}

fn usual(rows: &[Vec<f64>]) -> Vec<OwnedExample> {
    let example = |x: &Vec<f64>| OwnedExample::dense(1, x.clone());
    rows.iter().map(example).collect()
}

fn train(rows: &[Vec<f64>], nu: f64, tolerance: f64, cache: usize) -> Trained {
    let settings = Settings::new(cache, Scale::None, Threads::One);
    train_examples(problem(tolerance), plan(nu), &usual(rows), settings).expect("training works")
}

#[test]
fn the_share_is_met_and_the_objective_is_that_of_nu() {
    for (seed, nu) in [(1, 0.05), (2, 0.1), (3, 0.5), (4, 0.9)] {
        let rows = cloud(1500, 5, seed);
        let wanted = smallest(&between(&rows, product), nu);
        for cache in [PLENTY, LITTLE] {
            let trained = train(&rows, nu, 1e-3, cache);
            let report = trained.trainer.report().expect("memory");
            let reached = report.nu.expect("of one class");
            let w: Vec<f64> = trained.trainer.weights(0).iter().collect();
            let scores: Vec<f64> = rows.iter().map(|x| product(x, &w)).collect();
            let strange = scores.iter().filter(|score| **score < 1.0).count() as f64;
            let strange = strange / rows.len() as f64;
            let found = at_weights(scores, product(&w, &w), nu);
            println!(
                "nu {nu}: {reached}, strange {strange}, passes {}, {}",
                report.passes,
                found / wanted
            );
            assert!((reached - nu).abs() <= 0.005 * nu, "{nu}: {reached}");
            assert!((strange - nu).abs() <= 0.01, "{nu}: {strange}");
            assert!(found <= (1.0 + 1e-6) * wanted, "{nu}: {found}, {wanted}");
            assert!(found >= (1.0 - 1e-3) * wanted, "{nu}: {found}, {wanted}");
        }
    }
}

#[test]
fn scans_come_to_the_same_optimum() {
    for (seed, nu) in [(1, 0.05), (2, 0.3)] {
        let rows = cloud(1500, 5, seed);
        let wanted = smallest(&between(&rows, product), nu);
        let examples = usual(&rows);
        let dealt = Parts::by_turns(&examples, 3);
        let problem = problem(1e-6);
        let job = ReaderJob::new(Scale::None, &problem);
        let surveyed = dealt.survey(&job, 4000).finish(&[], 1).expect("memory");
        let form = surveyed.form.copied().expect("memory");
        let holding = Holding {
            bytes: 1 << 20,
            lets_go: false,
        };
        let now = Instant::now();
        let mut trainer =
            ScanTrainer::new(&problem, &plan(nu), surveyed, holding, now).expect("memory");
        assert!(dealt.train(&mut trainer, 1000, &form, || ()));
        let report = trainer.report().expect("memory");
        let reached = report.nu.expect("of one class");
        let w: Vec<f64> = trainer.weights(0).iter().collect();
        let scores: Vec<f64> = rows.iter().map(|x| product(x, &w)).collect();
        let found = at_weights(scores, product(&w, &w), nu);
        println!(
            "nu {nu}: {reached}, passes {}, {}",
            report.passes,
            found / wanted
        );
        assert!((reached - nu).abs() <= 0.005 * nu, "{nu}: {reached}");
        assert!(report.heads[0].certificate.gap <= 1e-6);
        assert!(found <= (1.0 + 1e-6) * wanted, "{nu}: {found}, {wanted}");
        assert!(found >= (1.0 - 1e-3) * wanted, "{nu}: {found}, {wanted}");
    }
}

#[test]
fn exact_machines_come_to_the_same_optimum() {
    let (rows, gamma) = (cloud(500, 3, 7), 0.2);
    let kernel = KernelSpec::new(KernelKind::Rbf, Some(gamma), 1, 0.0).expect("valid");
    let value = |x: &[f64], z: &[f64]| {
        let away: f64 = x.iter().zip(z).map(|(x, z)| (x - z) * (x - z)).sum();
        (-gamma * away).exp()
    };
    let (values, examples) = (between(&rows, value), usual(&rows));
    // few landmarks, so that the machine of low rank is another one
    let asked = LowRankJob {
        rank: Some(20),
        ..LowRankJob::new(kernel)
    };
    for nu in [0.05, 0.2, 0.6] {
        let found = train_exactly(
            problem(1e-4),
            plan(nu),
            SliceSource::new(&examples),
            [MemorySpool::default(), MemorySpool::default()],
            Settings::new(PLENTY, Scale::None, Threads::One),
            (asked, 1 << 22),
        )
        .unwrap_or_else(|error| panic!("{error:?}"));
        let [c, reached] = found.nu.expect("of one class");
        assert!((reached - nu).abs() <= 0.005 * nu, "{nu}: {reached}");
        let certificate = found.reports[0].certificate;
        assert!(certificate.gap <= 1e-4, "{nu}: {certificate:?}");
        let duals = &found.duals[0];
        let of = |row: &Vec<f64>| row.iter().zip(duals).map(|(k, a)| k * f64::from(*a)).sum();
        let scores: Vec<f64> = values.iter().map(of).collect();
        let square: f64 = scores
            .iter()
            .zip(duals)
            .map(|(f, a)| f * f64::from(*a))
            .sum();
        let losses: f64 = scores.iter().map(|f| f64::max(0.0, 1.0 - f)).sum();
        let primal = 0.5 * square + c * losses;
        assert!((primal / certificate.primal - 1.0).abs() < 1e-5, "{nu}");
        let (at, wanted) = (at_weights(scores, square, nu), smallest(&values, nu));
        assert!((at / wanted - 1.0).abs() <= 1e-3, "{nu}: {at}, {wanted}");
    }
}

#[test]
fn rows_around_the_origin_have_no_plane() {
    let mut numbers = Numbers::new(3);
    let rows: Vec<Vec<f64>> = (0..300)
        .map(|_| (0..3).map(|_| f64::from(numbers.normal() as f32)).collect())
        .collect();
    let settings = Settings::new(PLENTY, Scale::None, Threads::One);
    let found = train_examples(problem(1e-3), plan(0.1), &usual(&rows), settings);
    assert!(found.is_err(), "no plane parts nine tenths of them from it");
}
