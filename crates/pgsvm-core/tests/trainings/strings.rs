//! Rows that keep strings, whose runs are made when a row is visited, train as rows do that keep the runs.

use crate::common::Numbers;
use pgsvm_core::engine::{MemorySpool, OwnedExample, SliceSource};
use pgsvm_core::{
    Cache, CompactForm, Expanding, Goal, HeadSpec, Loss, PartForm, Plan, Policy, Problem, Proximal,
    Reader, ReaderJob, Scale, SolverChoice, Step, StringForm, Timing, Trainer,
};
use pgsvm_expand::{Degree, NoLetter};

const ROWS: usize = 600;
const LENGTH: usize = 40;
const LONGEST: u32 = 4;
const PLENTY: usize = 16 << 20;
/// A tenth of what the runs take.
const LITTLE: usize = 60 << 10;
/// Less than the strings take.
const STREAMS: usize = 16 << 10;

/// Strings in two or more classes, which differ by a word at a place.
fn examples(classes: usize, dense: usize) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(7);
    let degree = Degree::new(Degree::USUAL, LONGEST).unwrap();
    (0..ROWS)
        .map(|row| {
            let class = if row < classes {
                row
            } else {
                numbers.below(classes)
            };
            let length = LENGTH - numbers.below(3);
            let mut text: Vec<u8> = (0..length).map(|_| b"ACGT"[numbers.below(4)]).collect();
            if numbers.below(5) > 0 {
                text[5 + 6 * class..][..4].copy_from_slice(b"GATT");
            }
            let (mut sparse_index, mut sparse_value) = (Vec::new(), Vec::new());
            let push = |index: u64, value: f64| {
                sparse_index.push(index as u32);
                sparse_value.push(value as f32);
                Ok::<_, NoLetter>(())
            };
            degree.each(&text, push).unwrap();
            OwnedExample {
                offset: None,
                group: class as u32,
                cost: [1.0, 2.0][numbers.below(2)],
                dense: (0..dense).map(|_| 3.0 + numbers.normal()).collect(),
                sparse_index,
                sparse_value,
            }
        })
        .collect()
}

/// Weights with the intercept last, and objectives, of all heads; bytes of a row; whether all rows were in the cache.
struct Trained {
    weights: Vec<Vec<f64>>,
    bounds: Vec<[f64; 2]>,
    row_bytes: f64,
    resident: bool,
}

fn trained(
    examples: &[OwnedExample],
    (problem, goal): (Problem, Goal),
    cache_bytes: usize,
    expansion: Option<Expanding>,
) -> Trained {
    let cache = Cache::in_memory(cache_bytes).expect("memory");
    let job = ReaderJob {
        expansion,
        stride: goal.stride(),
        ..ReaderJob::new(Scale::Standard, &problem)
    };
    let source = SliceSource::new(examples);
    let mut reader = Reader::new(cache.clone(), job, source, MemorySpool::default()).expect("free");
    let mut trainer = Trainer::new(cache.clone(), problem, goal).expect("free");
    for _ in 0..10_000_000 {
        reader.step(100).expect("reads");
        if trainer.step(1000).expect("trains") == Step::Done {
            break;
        }
    }
    let report = trainer.report().unwrap();
    let heads = 0..report.heads.len();
    let weights = |head| {
        let weights = trainer.weights(head);
        weights.iter().chain([weights.intercept()]).collect()
    };
    let statistics = cache.statistics();
    Trained {
        weights: heads.map(weights).collect(),
        bounds: report
            .heads
            .iter()
            .map(|head| [head.certificate.primal, head.certificate.dual])
            .collect(),
        row_bytes: statistics.bytes_loaded as f64 / statistics.rows as f64,
        resident: report.resident,
    }
}

const STRING: PartForm = PartForm::String(StringForm {
    letters: 4,
    longest: LONGEST as u8,
});
const FORM: Expanding = Expanding {
    form: CompactForm {
        parts: 1,
        kept: [Some((0, STRING)), None, None, None],
    },
    measured: None,
};

fn problem(loss: Loss) -> Problem {
    let problem = Problem::new(loss, 1.0, 1e-4).expect("valid");
    problem.with_timing(Timing::Lockstep)
}

fn near(one: &Trained, other: &Trained, tolerance: f64) {
    for (one, other) in one.weights.iter().zip(&other.weights) {
        assert_eq!(one.len(), other.len());
        let apart: f64 = one.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum();
        let length: f64 = one.iter().map(|a| a * a).sum();
        assert!(
            apart <= tolerance * tolerance * length,
            "{apart} of {length}"
        );
    }
}

/// What is trained: all that a linear machine may be.
fn ways() -> Vec<(&'static str, usize, Problem, Goal)> {
    let one = |c| Goal::from(vec![HeadSpec::binary(c)]);
    let hinge = problem(Loss::Hinge);
    let several = |classes| {
        (0..classes)
            .map(|class| {
                HeadSpec::new(
                    (0..classes)
                        .map(|it| if it == class { 1 } else { -1 })
                        .collect::<Vec<i8>>(),
                    1.0,
                )
            })
            .collect::<Vec<_>>()
    };
    vec![
        ("hinge", 2, hinge, one(1.0)),
        ("squared hinge", 2, problem(Loss::SquaredHinge), one(1.0)),
        (
            "without shift",
            2,
            hinge.with(|it| it.proximal = Proximal::Off).expect("valid"),
            one(1.0),
        ),
        (
            "newton",
            2,
            problem(Loss::SquaredHinge)
                .with(|it| it.solver = SolverChoice::Newton)
                .expect("valid"),
            one(1.0),
        ),
        ("three classes", 3, hinge, Goal::from(several(3))),
        (
            "five classes, newton",
            5,
            problem(Loss::SquaredHinge)
                .with(|it| it.solver = SolverChoice::Newton)
                .expect("valid"),
            Goal::from(several(5)),
        ),
        ("two trainers", 2, hinge.with_trainers(2).unwrap(), one(1.0)),
        (
            "two trainers, classes",
            5,
            hinge.with_trainers(2).unwrap(),
            Goal::from(several(5)),
        ),
        ("a plan", 2, hinge, Goal::from(Plan::train(1.0))),
    ]
}

#[test]
fn in_the_cache_weights_are_the_same() {
    for (name, classes, problem, goal) in ways() {
        for dense in [0, 3] {
            println!("{name} {dense}");
            let examples = examples(classes, dense);
            let kept = trained(&examples, (problem, goal.clone()), PLENTY, None);
            let made = trained(&examples, (problem, goal.clone()), PLENTY, Some(FORM));
            assert!(kept.resident && made.resident);
            assert!(
                kept.row_bytes > 10.0 * made.row_bytes,
                "{} {}",
                kept.row_bytes,
                made.row_bytes
            );
            assert_eq!(kept.weights, made.weights, "{name} {dense}");
            for [primal, dual] in &made.bounds {
                assert!(
                    dual <= primal && primal - dual <= 1e-4 * primal,
                    "{name}: {dual} {primal}"
                );
            }
        }
    }
}

#[test]
fn a_cache_of_a_tenth_holds_all_strings() {
    for (name, classes, problem, goal) in ways() {
        println!("{name}");
        let examples = examples(classes, 1);
        let kept = trained(&examples, (problem, goal.clone()), LITTLE, None);
        let made = trained(&examples, (problem, goal.clone()), LITTLE, Some(FORM));
        assert!(!kept.resident && made.resident);
        near(&kept, &made, 3e-2);
    }
}

#[test]
fn strings_stream_too() {
    for (name, classes, problem, goal) in ways() {
        for policy in [Policy::Cached, Policy::Paper] {
            println!("{name} {policy:?}");
            let problem = problem.with(|it| it.solver = policy.into()).expect("valid");
            let examples = examples(classes, 1);
            let kept = trained(&examples, (problem, goal.clone()), PLENTY, None);
            let made = trained(&examples, (problem, goal.clone()), STREAMS, Some(FORM));
            assert!(kept.resident && !made.resident);
            near(&kept, &made, 3e-2);
        }
    }
}
