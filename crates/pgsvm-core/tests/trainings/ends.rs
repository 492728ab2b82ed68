//! Trainings that are hard end all the same, and what they say is about the weights that they hand over: small problems of any
//! size, of rows that contradict each other and weigh anything, by every method.

use crate::common::parts::Parts;
use crate::common::*;
use pgsvm_core::engine::{OwnedExample, Settings, Threads};
use pgsvm_core::{
    Balance, Blocks, Cuts, HeadReport, Holding, Loss, Picks, Plan, Policy, Problem, ReaderJob,
    Scale, ScanTrainer, SolverChoice, StopReason,
};
use std::time::{Duration, Instant};

/// Far more than it takes: what is bounded are passes and what is computed between two of them.
const WITHIN: Duration = Duration::from_secs(60);

/// Rows of two classes, each given twice with either label, and weights of any size.
fn nasty(seed: u64) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(seed);
    let features = 1 + numbers.below(5);
    let size = [1.0, 1e15, 1e-15, 100.0][numbers.below(4)];
    let weights = numbers.below(3);
    let mut rows = Vec::new();
    for _ in 0..10 + numbers.below(20) {
        let values: Vec<f64> = (0..features).map(|_| size * numbers.normal()).collect();
        let twins = numbers.uniform() < 0.7;
        let first = u32::from(values[0] + size * numbers.normal() > 0.0);
        for group in [first, 1 - first].into_iter().take(1 + usize::from(twins)) {
            let cost = match weights {
                0 => 1.0,
                1 => 1e6 * numbers.uniform() as f32 + 1e-3,
                _ => [1.0, 1e6][numbers.below(2)],
            };
            rows.push(OwnedExample {
                cost,
                ..OwnedExample::dense(group, values.clone())
            });
        }
    }
    by_first_appearance(rows)
}

/// What a head comes to at these weights: the primal, and that of the loss that is truncated beyond 1 + s.
fn objectives(
    problem: &Problem,
    (weights, intercept): (&[f64], f64),
    rows: &[OwnedExample],
    s: Option<f64>,
) -> (f64, f64) {
    let norm = weights.iter().map(|w| w * w).sum::<f64>() + intercept * intercept;
    let (mut primal, mut truncated) = (0.5 * norm, 0.5 * norm);
    for row in rows {
        let products = row.dense.iter().zip(weights);
        let score = products.map(|(x, w)| f64::from(*x as f32) * w).sum::<f64>() + intercept;
        let y = if row.group == 1 { 1.0 } else { -1.0 };
        let loss = problem.loss().value(y * score);
        primal += problem.c() * f64::from(row.cost) * loss;
        truncated += problem.c() * f64::from(row.cost) * s.map_or(loss, |s| loss.min(1.0 + s));
    }
    (primal, truncated)
}

fn assert_true(head: &HeadReport, (primal, truncated): (f64, f64), what: &str) {
    let close = |said: f64, found: f64| (said - found).abs() <= 1e-6 * found.abs();
    let said = head.certificate;
    assert!(
        matches!(
            head.stop,
            Some(StopReason::Tolerance | StopReason::MaxPasses)
        ),
        "{what}: {head:?}"
    );
    assert!(
        said.dual <= said.primal * (1.0 + 1e-12) && said.gap.is_finite(),
        "{what}: {head:?}"
    );
    match head.truncated {
        None => assert!(
            close(said.primal, primal),
            "{what}: {head:?}, of its weights {primal}"
        ),
        Some(told) => {
            assert!(
                close(told.objective, truncated),
                "{what}: {head:?}, of its weights {truncated}"
            );
            assert!(
                said.primal >= told.objective * (1.0 - 1e-9),
                "{what}: {head:?}"
            );
        }
    }
}

fn by_scans(problem: &Problem, rows: &[OwnedExample], what: &str) {
    let began = Instant::now();
    let parts = Parts::by_turns(rows, 1);
    let job = ReaderJob {
        balance: Balance::None,
        ..ReaderJob::new(Scale::None, problem)
    };
    let surveyed = parts.survey(&job, 1 << 20).finish(&[], 1).unwrap();
    let form = surveyed.form.copied().unwrap();
    let holding = Holding {
        bytes: 1 << 20,
        lets_go: true,
    };
    let plan = Plan::train(problem.c());
    let mut trainer = ScanTrainer::new(problem, &plan, surveyed, holding, began).unwrap();
    if problem.cuts() != Cuts::BesideHeld {
        assert!(trainer.scan_resident(1, 1 << 20).unwrap());
    }
    let ends = parts.train(&mut trainer, 1 << 20, &form, || {
        assert!(began.elapsed() < WITHIN, "{what}: no end");
    });
    if !ends {
        // it goes on by rows that stream
        return;
    }
    let report = trainer.report().unwrap();
    let weights = trainer.weights(0);
    let all: Vec<f64> = weights.iter().collect();
    let s = problem.truncation();
    let found = objectives(problem, (&all, weights.intercept()), rows, s);
    assert_true(&report.heads[0], found, what);
}

fn problems(loss: Loss, c: f64) -> Problem {
    Problem::new(loss, c, 1e-3).unwrap()
}

const COSTS: [f64; 3] = [1e-3, 1.0, 1e6];

#[test]
fn scans_end() {
    for seed in 0..20 {
        let rows = nasty(seed);
        for c in COSTS {
            for s in [None, Some(1.25)] {
                let problem = problems(Loss::SquaredHinge, c)
                    .with(|it| it.formulation.truncation = s)
                    .unwrap();
                by_scans(
                    &problem,
                    &rows,
                    &format!("scans, seed {seed}, c {c}, s {s:?}"),
                );
            }
            by_scans(
                &problems(Loss::Hinge, c),
                &rows,
                &format!("hinge, seed {seed}, c {c}"),
            );
        }
    }
}

#[test]
fn cutting_planes_end() {
    for seed in 0..3 {
        let rows = nasty(seed);
        for c in COSTS {
            for cuts in [Cuts::Ocas(0.1), Cuts::Newest] {
                let problem = problems(Loss::Hinge, c)
                    .with(|it| it.solver = SolverChoice::Scan(cuts))
                    .expect("valid");
                by_scans(&problem, &rows, &format!("{cuts:?}, seed {seed}, c {c}"));
            }
        }
    }
}

#[test]
fn kept_rows_tell_the_truth() {
    for seed in 0..15 {
        let rows = nasty(seed);
        for c in COSTS {
            for (loss, s) in [
                (Loss::Hinge, None),
                (Loss::SquaredHinge, None),
                (Loss::Hinge, Some(1.0)),
                (Loss::SquaredHinge, Some(1.25)),
            ] {
                let plain = problems(loss, c)
                    .with(|it| it.formulation.truncation = s)
                    .unwrap();
                let mut ways = vec![
                    ("auto", plain),
                    (
                        "stream",
                        plain
                            .with(|it| it.solver = SolverChoice::Stream)
                            .expect("valid"),
                    ),
                    (
                        "block",
                        plain
                            .with(|it| it.solver = SolverChoice::Block(Blocks::USUAL))
                            .expect("valid"),
                    ),
                ];
                if loss == Loss::SquaredHinge {
                    ways.push((
                        "newton",
                        plain
                            .with(|it| it.solver = SolverChoice::Newton)
                            .expect("valid"),
                    ));
                }
                if s.is_none() {
                    ways.push((
                        "paper",
                        plain
                            .with(|it| it.solver = SolverChoice::StreamSvm(Picks::Usual))
                            .expect("valid"),
                    ));
                }
                for (what, problem) in ways {
                    let what = format!("{what}, {loss:?}, seed {seed}, c {c}, s {s:?}");
                    let began = Instant::now();
                    let trained = train(
                        problem,
                        &rows,
                        Settings::new(1 << 20, Scale::None, Threads::One),
                    );
                    assert!(began.elapsed() < WITHIN, "{what}");
                    let weights = trained.trainer.weights(0);
                    let all: Vec<f64> = weights.iter().collect();
                    let found = objectives(&problem, (&all, weights.intercept()), &rows, s);
                    assert_true(&trained.trainer.report().unwrap().heads[0], found, &what);
                }
            }
        }
    }
}

/// Sums in 32 bits say of rows as large that the gap is there, and those in 64 bits that it is not: of one head after another.
#[test]
fn classes_side_by_side_end() {
    for seed in 0..20 {
        let mut numbers = Numbers::new(seed);
        let rows: Vec<OwnedExample> = (0..5)
            .map(|row| OwnedExample {
                cost: 10f64.powf(12.0 * numbers.uniform() - 6.0) as f32,
                ..OwnedExample::dense(row % 3, (0..150).map(|_| 1e15 * numbers.normal()).collect())
            })
            .collect();
        for policy in [Policy::Cached, Policy::Block, Policy::Paper] {
            let problem = problems(Loss::Hinge, 1e-6)
                .with(|it| it.solver = policy.into())
                .expect("valid");
            let settings = Settings::new(1 << 20, Scale::None, Threads::One);
            let plan = Plan::train(problem.c());
            let trained =
                pgsvm_core::engine::train_examples(problem, plan, &rows, settings).unwrap();
            for head in trained.trainer.report().unwrap().heads {
                assert!(head.stop.is_some(), "seed {seed}: {head:?}");
            }
        }
    }
}
