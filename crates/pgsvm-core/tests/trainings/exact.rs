//! Exact kernel machines: against a map of full rank, which leaves nothing out, and by what every certificate must be.

use crate::common::{by_first_appearance, rings, settings, Numbers};
use pgsvm_core::engine::{
    train_exactly, train_low_rank, ExactFailure, ExactTrainError, MemorySpool, OwnedExample,
    SliceSource, Threads,
};
use pgsvm_core::kernels::{Expansion, Kernel, KernelKind, KernelSpec, Room, Rows};
use pgsvm_core::plan::{Goal, Plan};
use pgsvm_core::{
    ExactError, ExactOutcome, HeadSpec, Intercept, Loss, LowRankJob, Problem, Scale, StopReason,
};

use std::time::{Duration, Instant};

const TOLERANCE: f64 = 1e-3;
const LARGE: usize = 32 << 20;

fn asked(kind: KernelKind, gamma: f64, rank: usize) -> LowRankJob {
    LowRankJob {
        rank: Some(rank),
        tolerance: 1e-12,
        ..LowRankJob::new(KernelSpec::new(kind, Some(gamma), 2, 1.0).unwrap())
    }
}

fn problem(loss: Loss, intercept: bool) -> Problem {
    Problem::new(loss, 1.0, TOLERANCE)
        .unwrap()
        .with(|it| {
            it.formulation.intercept = match intercept {
                true => Intercept::InNorm,
                false => Intercept::None,
            }
        })
        .expect("valid")
}

fn exact<'a>(
    problem: Problem,
    goal: impl Into<Goal>,
    examples: &'a [OwnedExample],
    asked: LowRankJob,
    (cache, bytes): (usize, usize),
) -> Result<ExactOutcome, ExactFailure<SliceSource<'a>, MemorySpool>> {
    let spools = [MemorySpool::default(), MemorySpool::default()];
    let settings = settings(cache, Scale::Standard, Threads::One);
    train_exactly(
        problem,
        goal,
        SliceSource::new(examples),
        spools,
        settings,
        (asked, bytes),
    )
}

fn reference(
    problem: Problem,
    goal: impl Into<Goal>,
    examples: &[OwnedExample],
    asked: LowRankJob,
) -> Vec<f64> {
    let spools = [MemorySpool::default(), MemorySpool::default()];
    let settings = settings(LARGE, Scale::Standard, Threads::One);
    let found = train_low_rank(
        problem,
        goal,
        SliceSource::new(examples),
        spools,
        settings,
        asked,
    );
    let report = found
        .map(|it| it.trained.trainer.report().unwrap())
        .unwrap_or_else(|error| panic!("{error}"));
    report
        .heads
        .iter()
        .map(|head| head.certificate.primal)
        .collect()
}

fn check(found: &ExactOutcome, expected: &[f64]) {
    assert_eq!(found.reports.len(), expected.len());
    for (report, expected) in found.reports.iter().zip(expected) {
        assert_eq!(report.stop, Some(StopReason::Tolerance));
        let certificate = report.certificate;
        assert!(
            certificate.dual <= certificate.primal && certificate.gap <= TOLERANCE,
            "{certificate:?}"
        );
        let apart = (certificate.primal - expected).abs() / expected;
        assert!(apart <= 2.0 * TOLERANCE, "{certificate:?} {expected}");
    }
}

#[test]
fn objectives_are_those_of_a_map_that_leaves_nothing_out() {
    let examples = rings(400, 2, 1);
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        for (kind, gamma) in [(KernelKind::Rbf, 2.0), (KernelKind::Polynomial, 0.5)] {
            for intercept in [true, false] {
                let problem = problem(loss, intercept);
                let heads = || vec![HeadSpec::binary(1.0)];
                let expected = reference(problem, heads(), &examples, asked(kind, gamma, 400));
                let found = exact(
                    problem,
                    heads(),
                    &examples,
                    asked(kind, gamma, 20),
                    (LARGE, LARGE),
                )
                .unwrap();
                check(&found, &expected);
            }
        }
    }
}

#[test]
fn several_classes_share_support_vectors_and_are_judged_together() {
    let examples = rings(600, 3, 2);
    let plan = || Plan::train(10.0);
    let problem = problem(Loss::Hinge, true);
    let expected = reference(problem, plan(), &examples, asked(KernelKind::Rbf, 2.0, 600));
    let found = exact(
        problem,
        plan(),
        &examples,
        asked(KernelKind::Rbf, 2.0, 30),
        (LARGE, LARGE),
    )
    .unwrap();
    check(&found, &expected);
    assert!(found
        .factors
        .iter()
        .all(|factors| factors.len() == found.landmarks.len()));
    let fit = found.fit.unwrap();
    assert_eq!(fit.rows, 600);
    assert!(fit.accuracy() > 0.8, "{}", fit.accuracy());
}

/// |w|² of the first head, by hand.
fn norm(found: &ExactOutcome, kernel: Kernel) -> f64 {
    let (landmarks, factors) = (&found.landmarks, &found.factors[0]);
    let dot = |i: usize, j: usize| -> f64 {
        let both = landmarks.dense(i).iter().zip(landmarks.dense(j));
        both.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    let squares: Vec<f64> = (0..landmarks.len()).map(|i| dot(i, i)).collect();
    let mut sum = found.intercepts[0] * found.intercepts[0];
    for i in 0..landmarks.len() {
        for j in 0..landmarks.len() {
            sum += factors[i] * factors[j] * kernel.value(dot(i, j), squares[i], squares[j]);
        }
    }
    sum
}

/// The rows moved to mean 0 and scaled to deviation 1.
fn standardized(examples: &[OwnedExample]) -> Rows {
    let columns = examples[0].dense.len();
    // a row of weight 3 is three rows
    let count: f64 = examples.iter().map(|row| f64::from(row.cost)).sum();
    let mut rows = Rows::new(columns);
    let scales: Vec<(f64, f64)> = (0..columns)
        .map(|j| {
            let values = || {
                examples
                    .iter()
                    .map(|row| (f64::from(row.cost), row.dense[j]))
            };
            let mean = values().map(|(rows, x)| rows * x).sum::<f64>() / count;
            let squares: f64 = values().map(|(rows, x)| rows * (x - mean).powi(2)).sum();
            (mean, (squares / count).sqrt())
        })
        .collect();
    for row in examples {
        let scaled = row.dense.iter().zip(&scales);
        let scaled: Vec<f32> = scaled
            .map(|(x, (mean, deviation))| ((x - mean) / deviation) as f32)
            .collect();
        rows.push(&scaled, &[]).unwrap();
    }
    rows
}

/// P at what is left behind, by hand.
fn primal(found: ExactOutcome, kernel: Kernel, examples: &[OwnedExample]) -> f64 {
    let norm = norm(&found, kernel);
    let machine = Expansion::new(
        kernel,
        found.landmarks,
        found.factors.concat(),
        found.intercepts,
    );
    let mut decisions = Vec::new();
    machine
        .unwrap()
        .unwrap()
        .decide(
            &standardized(examples),
            &mut Room::default(),
            &mut decisions,
        )
        .unwrap();
    let losses = examples.iter().zip(&decisions).map(|(row, decision)| {
        let y = 2.0 * f64::from(row.group) - 1.0;
        f64::from(row.cost) * (1.0 - y * decision).max(0.0)
    });
    0.5 * norm + losses.sum::<f64>()
}

#[test]
fn the_primal_is_that_of_the_machine_that_is_left_behind() {
    let examples = rings(500, 2, 3);
    let found = exact(
        problem(Loss::Hinge, true),
        vec![HeadSpec::binary(1.0)],
        &examples,
        asked(KernelKind::Rbf, 1.0, 20),
        (LARGE, LARGE),
    )
    .unwrap();
    let told = found.reports[0];
    assert_eq!(
        found.duals[0].iter().filter(|dual| **dual > 0.0).count() as u64,
        told.support_vectors
    );
    let by_hand = primal(found, Kernel::Rbf { gamma: 1.0 }, &examples);
    assert!(
        (by_hand - told.certificate.primal).abs() <= 1e-5 * by_hand,
        "{by_hand} {told:?}"
    );
}

#[test]
fn rows_that_stream_give_the_same_objective() {
    let examples = rings(3000, 2, 4);
    let heads = || vec![HeadSpec::binary(1.0)];
    let problem = problem(Loss::Hinge, true);
    let asked = asked(KernelKind::Rbf, 2.0, 30);
    let all = exact(problem, heads(), &examples, asked, (LARGE, LARGE)).unwrap();
    let expected = [all.reports[0].certificate.primal];
    let streamed = exact(problem, heads(), &examples, asked, (64 << 10, LARGE)).unwrap();
    check(&streamed, &expected);
}

#[test]
fn little_memory_gives_the_same_objective_or_an_error_that_says_how_much_would_do() {
    let examples = rings(3000, 2, 5);
    let heads = || vec![HeadSpec::binary(1.0)];
    let problem = problem(Loss::Hinge, true);
    let asked = asked(KernelKind::Rbf, 2.0, 30);
    let all = exact(problem, heads(), &examples, asked, (LARGE, LARGE)).unwrap();
    let expected = [all.reports[0].certificate.primal];
    // what an error says may be too little for what is found behind that
    let mut bytes = 4096;
    for _ in 0..20 {
        match exact(problem, heads(), &examples, asked, (LARGE, bytes)) {
            Ok(found) => {
                let support = found.reports[0].support_vectors as usize;
                assert!(bytes < 4 * support * support / 2, "{bytes} {support}");
                return check(&found, &expected);
            }
            Err(ExactTrainError::Exact(ExactError::Room { bytes: more })) => {
                assert!(more > bytes);
                bytes = more;
            }
            Err(error) => panic!("{error:?}"),
        }
    }
    panic!("no memory was ever enough");
}

/// k(x, z) in 64 bits.
fn value(kernel: &Kernel, x: &[f32], z: &[f32]) -> f64 {
    let both = || x.iter().zip(z).map(|(x, z)| (f64::from(*x), f64::from(*z)));
    match *kernel {
        Kernel::Rbf { gamma } => {
            (-gamma * both().map(|(x, z)| (x - z) * (x - z)).sum::<f64>()).exp()
        }
        ref other => other.value(both().map(|(x, z)| x * z).sum(), 0.0, 0.0),
    }
}

/// P and D by hand, of rows that were not scaled.
fn by_hand(found: &ExactOutcome, (loss, c): (Loss, f64), examples: &[OwnedExample]) -> (f64, f64) {
    let (landmarks, factors, b) = (&found.landmarks, &found.factors[0], found.intercepts[0]);
    let decision = |x: &[f32]| {
        let sum = |(j, factor): (usize, &f64)| factor * value(&found.kernel, x, landmarks.dense(j));
        factors.iter().enumerate().map(sum).sum::<f64>() + b
    };
    let own = factors.iter().enumerate();
    let norm: f64 = own
        .map(|(j, factor)| factor * decision(landmarks.dense(j)))
        .sum();
    let points: Vec<(Vec<f32>, f64)> = examples
        .iter()
        .map(|row| {
            let x = row.dense.iter().map(|x| *x as f32).collect();
            (x, 2.0 * f64::from(row.group) - 1.0)
        })
        .collect();
    let (mut losses, mut dual) = (0.0, 0.0);
    for (((x, y), row), a) in points.iter().zip(examples).zip(&found.duals[0]) {
        let weight = c * f64::from(row.cost);
        losses += weight * loss.value(y * decision(x));
        let a = f64::from(*a);
        dual += match loss.curvature() {
            0.0 => a,
            curvature => a - a * a / (2.0 * curvature * weight),
        };
        assert!(loss.is_smooth() || a <= weight);
        for ((z, side), other) in points.iter().zip(&found.duals[0]) {
            let product = value(&found.kernel, x, z) + f64::from(u8::from(b != 0.0));
            dual -= 0.5 * a * y * side * f64::from(*other) * product;
        }
    }
    (0.5 * norm + losses, dual)
}

#[test]
fn certificates_are_those_of_what_is_left_behind_at_any_c() {
    let mut numbers = crate::common::Numbers::new(5);
    let (mut near, mut days) = (Vec::new(), Vec::new());
    for row in 0..160 {
        let (x, z) = (numbers.normal(), numbers.normal());
        let group = u32::from(x + z * z + 0.5 * numbers.normal() > 0.8);
        let group = if row < 2 { row } else { group };
        near.push(OwnedExample::dense(group, vec![x, z]));
        let day = |x: f64| 20_454.0 + (300.0 * x).round();
        days.push(OwnedExample::dense(group, vec![day(x), day(z)]));
    }
    for (examples, size) in [(&near, 1.0), (&days, 1e-5)] {
        for loss in [Loss::Hinge, Loss::SquaredHinge] {
            for (gamma, c) in [(0.1, 0.01), (0.1, 100.0), (2.0, 1000.0)] {
                let heads = vec![HeadSpec::binary(c)];
                let spools = [MemorySpool::default(), MemorySpool::default()];
                let settings = settings(LARGE, Scale::None, Threads::One);
                let source = SliceSource::new(examples);
                let asked = (asked(KernelKind::Rbf, gamma * size, 20), LARGE);
                let problem = problem(loss, true)
                    .with(|it| it.stopping.max_passes = Some(60))
                    .unwrap();
                let found = train_exactly(problem, heads, source, spools, settings, asked);
                let found = found.unwrap();
                let report = &found.reports[0];
                let (primal, dual) = by_hand(&found, (loss, c), examples);
                let certificate = report.certificate;
                let told = format!("{loss:?} {gamma} {c}: {certificate:?} {primal} {dual}");
                assert!(primal <= certificate.primal * (1.0 + 1e-9), "{told}");
                assert!(
                    dual >= certificate.dual - 1e-9 * certificate.primal,
                    "{told}"
                );
                assert_eq!(report.stop, Some(StopReason::Tolerance), "{told}");
            }
        }
    }
}

/// Rows of two columns that are hard on a solver, in some way for each number.
fn hard(kind: usize, count: usize) -> Vec<OwnedExample> {
    let mut numbers = crate::common::Numbers::new(20 + kind as u64);
    let mut rows = Vec::new();
    for row in 0..count {
        let (x, z) = (numbers.normal(), numbers.normal());
        let ring = x * x + z * z;
        let positive = match kind {
            0 => x + 0.5 * numbers.normal() > 0.0,
            1 => ring + 0.5 * numbers.normal() > 1.4,
            2 => numbers.uniform() < 0.5,
            3 => ring > 1.4,
            _ => x > 0.0,
        };
        let group = if row < 2 {
            row as u32
        } else {
            u32::from(positive)
        };
        let values = match kind {
            4 => vec![x.round(), z.round()],
            _ => vec![x, z],
        };
        let cost = match kind {
            5 => [1.0, 1e3][numbers.below(2)],
            _ => 1.0,
        };
        rows.push(OwnedExample {
            cost,
            ..OwnedExample::dense(group, values.clone())
        });
        // twins of opposite labels
        if kind == 4 {
            rows.push(OwnedExample::dense(1 - group, values));
        }
    }
    rows
}

#[test]
fn hard_machines_come_to_their_tolerance_at_any_c() {
    for kind in 0..6 {
        let examples = hard(kind, 120);
        for loss in [Loss::Hinge, Loss::SquaredHinge] {
            for (gamma, c) in [(0.1, 1e3), (0.1, 1e6), (1.0, 1e6), (0.01, 1e6)] {
                let spools = [MemorySpool::default(), MemorySpool::default()];
                let settings = settings(LARGE, Scale::None, Threads::One);
                let source = SliceSource::new(&examples);
                let asked = (asked(KernelKind::Rbf, gamma, 100), LARGE);
                let heads = vec![HeadSpec::binary(c)];
                let found =
                    train_exactly(problem(loss, true), heads, source, spools, settings, asked)
                        .unwrap();
                let (primal, dual) = by_hand(&found, (loss, c), &examples);
                let report = found.reports[0];
                let told = format!("{kind} {loss:?} {gamma} {c}: {report:?} {primal} {dual}");
                let certificate = report.certificate;
                assert_eq!(report.stop, Some(StopReason::Tolerance), "{told}");
                let rounding = 1e-9 * certificate.primal;
                assert!(primal <= certificate.primal + rounding, "{told}");
                assert!(dual >= certificate.dual - rounding, "{told}");
            }
        }
    }
}

/// Where nothing but steps along pairs fits the memory they are as many as the passes are worth, and what they come to is told.
#[test]
fn weights_of_many_sizes_come_to_the_tolerance() {
    for seed in 0..8 {
        let mut numbers = Numbers::new(500 + seed);
        let row = |_| {
            let group = u32::from(numbers.uniform() < 0.4);
            let mut row = OwnedExample::dense(group, (0..6).map(|_| numbers.normal()).collect());
            row.cost = 10f64.powf(8.0 * numbers.uniform() - 4.0) as f32;
            row
        };
        let examples = by_first_appearance((0..12).map(row).collect());
        for kind in [Intercept::InNorm, Intercept::Free] {
            let problem = problem(Loss::SquaredHinge, true)
                .with(|it| it.formulation.intercept = kind)
                .expect("valid");
            let asked = asked(KernelKind::Rbf, 0.1, 12);
            for c in [1e-4, 1.0] {
                let heads = vec![HeadSpec::binary(c)];
                let found = exact(problem, heads, &examples, asked, (LARGE, LARGE));
                let report = found.unwrap().reports[0];
                assert_eq!(report.stop, Some(StopReason::Tolerance), "{report:?}");
            }
        }
    }
}

#[test]
fn work_on_candidates_counts_as_passes() {
    let mut numbers = Numbers::new(3);
    let rows = (0..600).map(|_| {
        let values: Vec<f64> = (0..5).map(|_| numbers.normal()).collect();
        OwnedExample::dense(u32::from(numbers.uniform() < 0.5), values)
    });
    let examples = by_first_appearance(rows.collect());
    let problem = Problem::new(Loss::Hinge, 1e6, TOLERANCE)
        .and_then(|problem| problem.with(|it| it.stopping.max_passes = Some(3)))
        .unwrap();
    let began = Instant::now();
    let found = exact(
        problem,
        vec![HeadSpec::binary(1e6)],
        &examples,
        asked(KernelKind::Rbf, 0.2, 20),
        (LARGE, 3 << 19),
    )
    .unwrap();
    let took = began.elapsed();
    let report = &found.reports[0];
    assert_eq!(report.stop, Some(StopReason::MaxPasses));
    assert!(report.certificate.dual <= report.certificate.primal);
    assert!(report.certificate.gap > TOLERANCE && report.certificate.gap.is_finite());
    // far more than two seconds of work take where they are optimized
    assert!(took < Duration::from_secs(60), "{took:?}");
}

#[test]
fn a_free_intercept_is_that_of_the_map_too() {
    let mut examples = rings(400, 2, 1);
    let mut kept = 0;
    examples.retain(|example| {
        kept += u32::from(example.group == 1);
        example.group == 0 || kept % 3 == 0
    });
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        for (kind, gamma) in [(KernelKind::Rbf, 2.0), (KernelKind::Polynomial, 0.5)] {
            for c in [0.1, 1.0, 1000.0] {
                let problem = problem(loss, true)
                    .with(|it| it.formulation.intercept = Intercept::Free)
                    .expect("valid");
                let heads = || vec![HeadSpec::binary(c)];
                let expected = reference(problem, heads(), &examples, asked(kind, gamma, 293));
                let memory = (LARGE, LARGE);
                let found = exact(problem, heads(), &examples, asked(kind, gamma, 20), memory);
                let found = found.unwrap();
                check(&found, &expected);
                let sides = examples.iter().map(|row| 2.0 * f64::from(row.group) - 1.0);
                let duals = found.duals[0].iter().map(|a| f64::from(*a));
                let sum: f64 = sides.zip(duals.clone()).map(|(y, a)| y * a).sum();
                assert!(sum.abs() <= 1e-6 * duals.sum::<f64>(), "{sum}");
            }
        }
    }
}

#[test]
fn truncated_losses_are_solved_in_rounds() {
    let mut examples = rings(600, 2, 5);
    for (at, example) in examples.iter_mut().enumerate() {
        example.group ^= u32::from(at % 12 == 0);
    }
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        for (c, intercept) in [
            (1.0, Intercept::InNorm),
            (10.0, Intercept::InNorm),
            (1.0, Intercept::Free),
        ] {
            let problem = problem(loss, true)
                .with(|it| {
                    it.formulation.truncation = Some(1.0);
                    it.formulation.intercept = intercept;
                })
                .expect("valid");
            let heads = || vec![HeadSpec::binary(c)];
            let expected = reference(
                problem,
                heads(),
                &examples,
                asked(KernelKind::Rbf, 2.0, 600),
            )[0];
            let asked = asked(KernelKind::Rbf, 2.0, 30);
            let found = exact(problem, heads(), &examples, asked, (LARGE, LARGE)).unwrap();
            let report = found.reports[0];
            let truncated = report.truncated.unwrap();
            assert_eq!(report.stop, Some(StopReason::Tolerance));
            assert!(report.certificate.gap <= TOLERANCE && truncated.outliers >= 30);
            // minima are local, and which one it is follows from where rounds begin
            assert!(
                truncated.objective <= 1.1 * expected,
                "{truncated:?} {expected}"
            );
            let (sum, outliers) = truncated_by_hand(&found, (loss, c), &examples);
            assert!(
                (sum - truncated.objective).abs() <= 1e-6 * sum,
                "{sum} {truncated:?}"
            );
            assert_eq!(outliers, truncated.outliers);
        }
    }
}

/// 1/2 |w|² + C sum of min(L, 2) and how many losses are above 2, of standardized rows.
fn truncated_by_hand(
    found: &ExactOutcome,
    (loss, c): (Loss, f64),
    examples: &[OwnedExample],
) -> (f64, u64) {
    let rows = standardized(examples);
    let (landmarks, factors, b) = (&found.landmarks, &found.factors[0], found.intercepts[0]);
    let decision = |x: &[f32]| {
        let sum = |(j, factor): (usize, &f64)| factor * value(&found.kernel, x, landmarks.dense(j));
        factors.iter().enumerate().map(sum).sum::<f64>()
    };
    let signed: f64 = factors.iter().sum();
    let own = factors.iter().enumerate();
    let norm: f64 = own
        .map(|(j, factor)| factor * decision(landmarks.dense(j)))
        .sum();
    // with the intercept in the norm b is the sum of the factors
    let in_norm = if (signed - b).abs() < 1e-9 {
        b * b
    } else {
        0.0
    };
    let losses = (0..examples.len()).map(|at| {
        let y = 2.0 * f64::from(examples[at].group) - 1.0;
        loss.value(y * (decision(rows.dense(at)) + b))
    });
    let losses: Vec<f64> = losses.collect();
    let costs = examples.iter().map(|row| f64::from(row.cost));
    let sum: f64 = losses
        .iter()
        .zip(costs)
        .map(|(loss, cost)| cost * loss.min(2.0))
        .sum();
    (
        0.5 * (norm + in_norm) + c * sum,
        losses.iter().filter(|loss| **loss > 2.0).count() as u64,
    )
}

/// What is said of a machine and what it is: (primal, truncated, outliers, accuracy), by hand in 64 bits, of these rows.
fn as_stored(
    found: &ExactOutcome,
    (loss, c, most): (Loss, f64, f64),
    (rows, examples): (&Rows, &[OwnedExample]),
    is_free: bool,
) -> (f64, f64, u64, f64) {
    let (landmarks, factors, b) = (&found.landmarks, &found.factors[0], found.intercepts[0]);
    let decision = |x: &[f32]| {
        let sum = |(j, factor): (usize, &f64)| factor * value(&found.kernel, x, landmarks.dense(j));
        factors.iter().enumerate().map(sum).sum::<f64>()
    };
    let own = factors.iter().enumerate();
    let mut norm: f64 = own
        .map(|(j, factor)| factor * decision(landmarks.dense(j)))
        .sum();
    if !is_free {
        norm += b * b;
    }
    let (mut whole, mut truncated, mut outliers, mut correct) = (0.5 * norm, 0.5 * norm, 0, 0);
    for (at, row) in examples.iter().enumerate() {
        let y = 2.0 * f64::from(row.group) - 1.0;
        let decided = decision(rows.dense(at)) + b;
        let (weight, own) = (c * f64::from(row.cost), loss.value(y * decided));
        whole += weight * own;
        truncated += weight * own.min(most);
        outliers += u64::from(own > most);
        correct += u64::from((decided >= 0.0) == (row.group == 1));
    }
    let accuracy = correct as f64 / examples.len() as f64;
    (whole, truncated, outliers, accuracy)
}

/// Checks that all that is said of the first head is about what is stored, and gives back what is minimized.
fn is_about_what_is_stored(
    found: &ExactOutcome,
    (loss, c, most): (Loss, f64, f64),
    (rows, examples): (&Rows, &[OwnedExample]),
    is_free: bool,
) -> f64 {
    let report = found.reports[0];
    let stored = as_stored(found, (loss, c, most), (rows, examples), is_free);
    let told = format!("{report:?} {stored:?} {}", found.intercepts[0]);
    let (whole, truncated, outliers, accuracy) = stored;
    let certificate = report.certificate;
    assert!(certificate.dual <= certificate.primal, "{told}");
    assert_eq!(accuracy, report.training_accuracy, "{told}");
    let fit = found.fit.as_ref().unwrap();
    assert_eq!(accuracy, fit.accuracy(), "{told}");
    // what rounding may have lost is counted
    let lost = 1e-6 + report.rounding;
    let near = |one: f64, other: f64| (one - other).abs() <= lost * one.max(1e-12);
    match report.truncated {
        Some(said) => {
            assert!(near(truncated, said.objective), "{told}");
            assert!(said.objective <= certificate.primal, "{told}");
            assert_eq!(outliers, said.outliers, "{told}");
        }
        None => assert!(near(whole, certificate.primal), "{told}"),
    }
    if is_free {
        let factors = || found.factors[0].iter();
        let sum: f64 = factors().sum();
        let all: f64 = factors().map(|factor| factor.abs()).sum();
        assert!(sum.abs() <= 1e-12 * all, "{sum} {told}");
    }
    truncated
}

/// Rows as they are.
fn unscaled(examples: &[OwnedExample]) -> Rows {
    let mut rows = Rows::new(examples[0].dense.len());
    for row in examples {
        let values: Vec<f32> = row.dense.iter().map(|x| *x as f32).collect();
        rows.push(&values, &[]).unwrap();
    }
    rows
}

/// A free exact machine of rows as they are, all it says checked, and what is minimized there.
fn free_machine(
    examples: &[OwnedExample],
    (loss, c, truncation): (Loss, f64, Option<f64>),
    (gamma, tolerance): (f64, f64),
) -> (ExactOutcome, f64) {
    let problem = Problem::new(loss, c, tolerance)
        .unwrap()
        .with(|it| {
            it.formulation.truncation = truncation;
            it.formulation.intercept = Intercept::Free;
        })
        .expect("valid");
    let spools = [MemorySpool::default(), MemorySpool::default()];
    let found = train_exactly(
        problem,
        vec![HeadSpec::binary(c)],
        SliceSource::new(examples),
        spools,
        settings(LARGE, Scale::None, Threads::One),
        (asked(KernelKind::Rbf, gamma, 31.min(examples.len())), LARGE),
    )
    .unwrap();
    let most = truncation.map_or(f64::INFINITY, |s| 1.0 + s);
    let rows = unscaled(examples);
    let value = is_about_what_is_stored(&found, (loss, c, most), (&rows, examples), true);
    (found, value)
}

fn of_one_column(rows: impl Iterator<Item = (f64, bool)>) -> Vec<OwnedExample> {
    let rows = rows.map(|(x, y)| OwnedExample::dense(u32::from(y), vec![x]));
    by_first_appearance(rows.collect())
}

#[test]
fn free_intercepts_of_random_labels_come_to_the_tolerance() {
    for (seed, rows, share, c) in [
        (1, 500, 0.3, 10.0),
        (2, 500, 0.3, 10.0),
        (4, 500, 0.3, 10.0),
        (5, 500, 0.1, 10.0),
        (3, 300, 0.45, 3.0),
    ] {
        let mut numbers = Numbers::new(seed);
        let examples: Vec<OwnedExample> = (0..rows)
            .map(|_| {
                let x = vec![numbers.normal(), numbers.normal()];
                OwnedExample::dense(u32::from(numbers.uniform() < share), x)
            })
            .collect();
        let examples = by_first_appearance(examples);
        for loss in [Loss::Hinge, Loss::SquaredHinge] {
            let (found, value) = free_machine(&examples, (loss, c, None), (0.5, TOLERANCE));
            let report = found.reports[0];
            assert_eq!(report.stop, Some(StopReason::Tolerance), "{report:?}");
            let in_norm = {
                let spools = [MemorySpool::default(), MemorySpool::default()];
                let found = train_exactly(
                    problem(loss, true),
                    vec![HeadSpec::binary(c)],
                    SliceSource::new(&examples),
                    spools,
                    settings(LARGE, Scale::None, Threads::One),
                    (asked(KernelKind::Rbf, 0.5, 50), LARGE),
                );
                found.unwrap().reports[0].certificate.primal
            };
            assert!(value <= in_norm * (1.0 + TOLERANCE), "{value} {in_norm}");
        }
    }
}

#[test]
fn free_intercepts_of_equal_rows_come_to_any_tolerance() {
    let labels = |count: usize, positive: fn(usize) -> bool| {
        of_one_column((0..count).map(|at| (1.0, positive(at))))
    };
    let few = labels(3, |at| at == 2);
    for tolerance in [1e-3, 1e-6] {
        let (found, value) = free_machine(&few, (Loss::SquaredHinge, 1.0, None), (1.0, tolerance));
        let report = found.reports[0];
        assert_eq!(report.stop, Some(StopReason::Tolerance), "{report:?}");
        assert!((value - 8.0 / 3.0).abs() <= 2.7 * tolerance, "{value}");
    }
    let mut ten = labels(10, |at| at % 3 == 1);
    ten.iter_mut()
        .filter(|row| row.group == 1)
        .for_each(|row| row.cost = 7.0 / 3.0);
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        let (found, _) = free_machine(&ten, (loss, 1.0, None), (1.0, 1e-6));
        assert_eq!(
            found.reports[0].stop,
            Some(StopReason::Tolerance),
            "{found:?}"
        );
        let many = labels(542, |at| at % 7 == 3);
        let (found, _) = free_machine(&many, (loss, 1e5, None), (1.0, TOLERANCE));
        let report = found.reports[0];
        assert_eq!(report.stop, Some(StopReason::Tolerance), "{report:?}");
    }
}

#[test]
fn what_is_said_of_a_truncated_machine_is_about_what_is_stored() {
    let fifths = of_one_column((1..=20).map(|i| (f64::from(i) / 100.0, i % 5 == 0)));
    for c in [1.0, 10.0] {
        let (found, value) = free_machine(&fifths, (Loss::Hinge, c, Some(0.5)), (0.01, TOLERANCE));
        let report = found.reports[0];
        // a constant: 4 rows lose 1.5
        assert!(value <= 6.0 * c * (1.0 + TOLERANCE), "{value} {report:?}");
        assert_eq!(report.stop, Some(StopReason::Tolerance), "{report:?}");
    }
    let one = of_one_column((1..=30).map(|i| (f64::from(i) / 10.0, i != 7)));
    for (loss, c) in [
        (Loss::Hinge, 0.001),
        (Loss::SquaredHinge, 0.01),
        (Loss::SquaredHinge, 1.0),
        (Loss::SquaredHinge, 0.001),
    ] {
        let (found, value) = free_machine(&one, (loss, c, Some(1.0)), (1.0, TOLERANCE));
        let report = found.reports[0];
        assert!(found.intercepts[0].abs() < 2.0, "{}", found.intercepts[0]);
        // a constant: one row loses 2
        assert!(
            value <= 2.0 * c * (1.0 + TOLERANCE),
            "{loss:?} {c} {value} {report:?}"
        );
        assert_eq!(report.stop, Some(StopReason::Tolerance), "{report:?}");
        assert!(found.passes < 100, "{}", found.passes);
    }
}

#[test]
fn rounds_never_end_above_where_they_began_nor_above_weights_of_0() {
    let examples: Vec<OwnedExample> = (1..=400i64)
        .map(|i| {
            let (a, b) = (i * 7919 % 9973, i * 104_729 % 8887);
            let x = vec![a as f64 / 6400.0, b as f64 / 6400.0];
            OwnedExample::dense(u32::from(a > b + (i % 131 - 66) * 40), x)
        })
        .collect();
    let examples = by_first_appearance(examples);
    let rows = standardized(&examples);
    for intercept in [Intercept::InNorm, Intercept::Free] {
        // of some the machines of low rank end after few passes, so that most rows may be outliers
        for (seed, is_rough) in (0..20).map(|seed| (seed, seed % 4 != 0)) {
            let problem = problem(Loss::SquaredHinge, true)
                .with(|it| {
                    it.formulation.truncation = Some(1.0);
                    it.formulation.intercept = intercept;
                    it.seed = seed;
                })
                .expect("valid");
            let plan = Plan {
                final_stop: is_rough.then_some((0.1, 4)),
                ..Plan::train(1.0)
            };
            let asked = LowRankJob {
                seed,
                ..asked(KernelKind::Rbf, 0.5, 20)
            };
            let found = exact(problem, plan, &examples, asked, (LARGE, LARGE)).unwrap();
            let is_free = intercept == Intercept::Free;
            let of = (Loss::SquaredHinge, 1.0, 2.0);
            let value = is_about_what_is_stored(&found, of, (&rows, &examples), is_free);
            let report = found.reports[0];
            // weights of 0 lose 1 of each row
            let most = if is_rough { 400.0 } else { 150.0 };
            assert!(
                value <= most * (1.0 + TOLERANCE),
                "{seed} {value} {report:?}"
            );
            assert_eq!(report.stop, Some(StopReason::Tolerance), "{report:?}");
        }
    }
}
