//! Truncated losses by scans: T is as low as coordinate descent finds it, however rows are dealt out, and what is said of it is so.

use crate::common::parts::{with_room, Parts, Scanned};
use crate::common::*;
use pgsvm_core::engine::{OwnedExample, Threads};
use pgsvm_core::{Cuts, Intercept, Loss, Problem, Scale, SolverChoice, StopReason};

const PLENTY: usize = 64 << 20;
const TOLERANCE: f64 = 1e-3;
const CUTS: [Cuts; 3] = [Cuts::BesideHeld, Cuts::Ocas(0.1), Cuts::Newest];

fn ramp(solver: SolverChoice, c: f64, s: f64) -> Problem {
    let problem = Problem::new(Loss::Hinge, c, TOLERANCE).expect("valid");
    let problem = problem.with(|it| it.solver = solver).expect("valid");
    problem
        .with(|it| it.formulation.truncation = Some(s))
        .expect("valid")
}

fn weighted(mut examples: Vec<OwnedExample>) -> Vec<OwnedExample> {
    for (number, example) in examples.iter_mut().enumerate() {
        example.cost = [0.5, 1.0, 3.0][number % 3];
    }
    examples
}

/// T of the same rows by coordinate descent.
fn by_visits(problem: &Problem, examples: &[OwnedExample]) -> f64 {
    let problem = problem.with(|it| it.solver = SolverChoice::Stream);
    let settings = settings(PLENTY, Scale::None, Threads::One);
    let trained = train(problem.expect("valid"), examples, settings);
    let head = trained.trainer.report().unwrap().heads[0];
    head.truncated.expect("a truncated loss").objective
}

/// Checks what is said of unscaled rows against what the weights say, in 64 bits; T.
fn assert_true(found: &Scanned, problem: &Problem, examples: &[OwnedExample]) -> f64 {
    let (w, u, head) = (
        &found.weights[0],
        &found.sorted_at[0],
        found.report.heads[0],
    );
    let truncated = head.truncated.expect("a truncated loss");
    let most = 1.0 + problem.truncation().unwrap();
    // of T, and of the problem in which u sorts rows
    let (mut losses, mut sorted, mut outside, mut outliers) = (0.0, 0.0, 0.0, 0);
    let mut inside = Vec::new();
    for example in examples {
        let y = 2.0 * f64::from(example.group) - 1.0;
        let loss = |w: &[f64]| {
            let row = example.dense.iter().map(|x| f64::from(*x as f32));
            let score: f64 = row.zip(w).map(|(x, w)| x * w).sum();
            (1.0 - y * (score + w.last().unwrap())).max(0.0)
        };
        let cost = f64::from(example.cost);
        losses += cost * loss(w).min(most);
        outliers += u64::from(loss(w) > most);
        match loss(u) > most {
            true => outside += cost * most,
            false => {
                sorted += cost * loss(w);
                inside.push(example.clone());
            }
        }
    }
    let norm: f64 = w.iter().map(|w| w * w).sum();
    let objective = 0.5 * norm + problem.c() * losses;
    let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-9 * b, "{a} {b}");
    close(truncated.objective, objective);
    assert_eq!(truncated.outliers, outliers);
    let certificate = head.certificate;
    assert_eq!(head.stop, Some(StopReason::Tolerance), "{head:?}");
    close(
        certificate.primal,
        0.5 * norm + problem.c() * (sorted + outside),
    );
    assert!(certificate.gap >= 0.0 && certificate.gap <= TOLERANCE);
    let excess = certificate.primal - objective;
    assert!(excess >= -1e-9 * objective && excess <= TOLERANCE * certificate.primal);
    // no dual is above the smallest primal of the round's problem
    let plain = Problem::new(Loss::Hinge, problem.c(), 1e-6).expect("valid");
    let settings = settings(PLENTY, Scale::None, Threads::One);
    let least = train(plain, &inside, settings)
        .trainer
        .report()
        .unwrap()
        .heads[0];
    let least = least.certificate.primal + problem.c() * outside;
    let above = certificate.dual - least;
    assert!(above <= 1e-9 * least, "{certificate:?} {least}");
    objective
}

/// Rows of two clouds, one in so many of the second.
fn thinned(mut examples: Vec<OwnedExample>, of: u32) -> Vec<OwnedExample> {
    let mut seen = 0;
    examples.retain(|row| {
        seen += u32::from(row.group == 1);
        row.group == 0 || seen % of == 1
    });
    by_first_appearance(examples)
}

fn assert_as_low(rows: &[OwnedExample], terms: &[(f64, f64)], cuts: &[Cuts]) {
    for (c, s) in terms {
        let visited = by_visits(&ramp(SolverChoice::Stream, *c, *s), rows);
        for cuts in cuts {
            let problem = ramp(SolverChoice::Scan(*cuts), *c, *s);
            for (parts, sample, room) in [
                (Parts::by_turns(rows, 1), PLENTY, PLENTY),
                (Parts::by_turns(rows, 3), 150_000, 100_000),
                (Parts::by_class(rows, 2), 20_000, 1 << 20),
            ] {
                let found = with_room(&problem, &parts, Scale::None, (sample, room));
                let objective = assert_true(&found, &problem, rows);
                let place = format!("{c} {s} {cuts:?} {sample}");
                assert!(
                    objective <= 1.02 * visited,
                    "{place}: {objective} {visited}"
                );
                let most = if *cuts == Cuts::BesideHeld { 80 } else { 600 };
                let passes = found.report.passes;
                assert!(passes <= most, "{place}: {passes}");
            }
        }
    }
}

#[test]
fn rounds_by_scans_come_as_low_as_coordinate_descent() {
    let rows = weighted(flipped(clouds(3000, 12, 4.0, 61), 0.2, 62));
    let terms = [(0.01, 1.0), (1.0, 0.5), (1.0, 1.0), (1.0, 3.0)];
    assert_as_low(&rows, &terms, &CUTS);
    assert_as_low(&rows, &[(30.0, 1.0)], &[Cuts::BesideHeld]);
    let rows = flipped(clouds(12_000, 4, 4.0, 61), 0.2, 62);
    assert_as_low(&rows, &[(1.0, 1.0)], &CUTS[..2]);
}

/// Where the hinge says hardly more than the larger class, all rows of the other may be outliers of its weights.
#[test]
fn a_hinge_that_is_constant_is_no_trap() {
    let rows = thinned(clouds(16_000, 60, 3.0, 71), 6);
    let rows = flipped(rows, 0.2, 72);
    assert_as_low(&rows, &[(1.0, 0.5), (1.0, 1.0)], &CUTS[..2]);
    let rare = thinned(clouds(12_000, 6, 4.0, 66), 100);
    assert_as_low(&rare, &[(1.0, 0.5), (1.0, 1.0)], &CUTS[..2]);
}

/// What the outliers cost is all that the dual has where the other rows are of one side and the intercept is free.
#[test]
fn rows_of_one_side_alone_are_soon_proved() {
    for seed in 0..4 {
        let mut rows = clouds(300, 2, 0.0, 80 + seed);
        for (at, row) in rows.iter_mut().enumerate() {
            row.group = u32::from(at == 7);
        }
        for c in [1e-6, 1e-3, 1.0] {
            let problem = ramp(SolverChoice::Scan(Cuts::BesideHeld), c, 1.0);
            let problem = problem.with(|it| it.formulation.intercept = Intercept::Free);
            let parts = Parts::by_turns(&rows, 2);
            let found = with_room(
                &problem.expect("valid"),
                &parts,
                Scale::None,
                (PLENTY, PLENTY),
            );
            let head = found.report.heads[0];
            assert_eq!(head.stop, Some(StopReason::Tolerance), "{c} {head:?}");
            assert!(found.report.passes < 50, "{c} {}", found.report.passes);
        }
    }
}
