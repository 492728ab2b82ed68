//! solver 'indexed' for losses that are not truncated: trainings with the hinge that take many passes leave rows unread that are at rest, the certificate is
//! that of all rows, and trainings of few passes read what they read without an index.

mod common;

use common::*;
use pgsvm_core::engine::{OwnedExample, Settings, Threads, Trained};
use pgsvm_core::{Loss, Problem, Scale, StopReason, Timing};

const TOLERANCE: f64 = 1e-3;
const ROWS: usize = 12_000;
const FEATURES: usize = 40;

/// Rows with columns that say nearly the same, of which some lie near the boundary and a few on the wrong side: with a large C they take
/// many passes.
fn correlated(seed: u64) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(seed);
    let mix: Vec<[f64; 8]> = (0..FEATURES)
        .map(|_| std::array::from_fn(|_| numbers.normal()))
        .collect();
    let row = |k: usize| {
        let z: [f64; 8] = std::array::from_fn(|_| numbers.normal());
        let sign = if z[0] + 0.5 * z[1] + 0.1 * numbers.normal() > 0.0 {
            1.0
        } else {
            -1.0
        };
        let dense = mix.iter().map(|mix| {
            let mixed: f64 = mix.iter().zip(&z).map(|(m, z)| m * z).sum();
            mixed + 0.3 * sign * mix[0] + 0.2 * numbers.normal()
        });
        // the first row is of the first class
        let group = u32::from(sign > 0.0 && k > 0);
        let mut example = OwnedExample::dense(group, dense.collect());
        example.cost = [0.5, 1.0, 2.0][k % 3];
        example
    };
    (0..ROWS).map(row).collect()
}

fn settings_of(cache: usize) -> Settings {
    settings(cache, Scale::None, Threads::One)
}

/// Rows that have come in the passes behind the first, in tables, and passes.
fn tables_read(trained: &Trained) -> (f64, f64) {
    let log = trained.trainer.log().unwrap();
    let report = trained.trainer.report().unwrap();
    let (first, last) = (log.first().unwrap(), log.last().unwrap());
    let rows = (last.rows_read - first.rows_read) as f64 / report.rows as f64;
    (rows, f64::from(report.passes))
}

#[test]
fn long_trainings_leave_rows_out_and_what_is_said_is_so() {
    let rows = correlated(61);
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        for c in [1.0, 100.0] {
            let problem = Problem::new(loss, c, TOLERANCE).expect("valid");
            let problem = problem.with_timing(Timing::Lockstep);
            let trained = |problem: Problem| {
                let trained = train(problem, &rows, settings_of(96 * 1024));
                assert!(!trained.reader.resident);
                assert_certified(&trained, &problem, &rows);
                let head = trained.trainer.report().unwrap().heads[0];
                assert_eq!(head.stop, Some(StopReason::Tolerance), "{loss:?} {c}");
                trained
            };
            let (plain, indexed) = (trained(problem), trained(problem.with_index(true)));
            let ((all, passes), (read, own)) = (tables_read(&plain), tables_read(&indexed));
            println!("{loss:?} {c}: {all:.1} of {passes}, indexed {read:.1} of {own}");
            let objective = |it: &Trained| it.trainer.report().unwrap().heads[0].certificate.primal;
            let [a, b] = [&plain, &indexed].map(objective);
            assert!((a - b).abs() <= TOLERANCE * a.max(b), "{a} {b}");
            match (loss, c == 100.0) {
                (Loss::Hinge, true) => assert!(read < 0.8 * all, "{read} {all}"),
                // nothing is filed
                (Loss::SquaredHinge, _) => assert_eq!((read, own), (all, passes)),
                _ => {}
            }
        }
    }
}

#[test]
fn short_trainings_read_what_they_read_without_an_index() {
    let rows = clouds(6000, 6, 4.0, 62);
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        let problem = Problem::new(loss, 0.01, TOLERANCE).expect("valid");
        let problem = problem.with_timing(Timing::Lockstep);
        let read = [problem, problem.with_index(true)].map(|problem| {
            let trained = train(problem, &rows, settings_of(32 * 1024));
            assert_certified(&trained, &problem, &rows);
            tables_read(&trained)
        });
        assert!(read[0].1 <= 7.0, "{read:?}");
        assert_eq!(read[0], read[1]);
    }
}
