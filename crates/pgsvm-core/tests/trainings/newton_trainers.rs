//! Newton's method by several threads: the optimum of one with the same certificate, from rows at hand and from rows that
//! stream, for one head and for many; and the same bits whenever it is done again.

use crate::common::{clouds, recompute, settings, words};
use pgsvm_core::engine::{train_examples, OwnedExample, Threads, Trained};
use pgsvm_core::{HeadSpec, Loss, Problem, Scale, SolverChoice, StopReason};

const ROWS: usize = 40_000;
const PLENTY: usize = 64 << 20;

fn run(
    examples: &[OwnedExample],
    heads: &[HeadSpec],
    (trainers, cache, threads): (usize, usize, Threads),
) -> Trained {
    let problem = problem(trainers);
    let settings = settings(cache, Scale::None, threads);
    let trained = train_examples(problem, heads.to_vec(), examples, settings).expect("trains");
    let report = trained.trainer.report().unwrap();
    assert!(report.newton);
    for (index, (spec, head)) in heads.iter().zip(&report.heads).enumerate() {
        assert_eq!(head.stop, Some(StopReason::Tolerance));
        let found = recompute(&trained, index, spec, &problem, examples);
        let claimed = head.certificate;
        assert!((claimed.primal - found.primal).abs() <= 1e-5 * found.primal);
        assert!((claimed.dual - found.dual).abs() <= 1e-5 * found.primal);
    }
    trained
}

fn problem(trainers: usize) -> Problem {
    let problem = Problem::new(Loss::SquaredHinge, 1.0, 1e-4).expect("in range");
    let problem = problem.with_trainers(trainers).expect("in range");
    problem
        .with(|it| it.solver = SolverChoice::Newton)
        .expect("valid")
}

fn heads(costs: &[f64]) -> Vec<HeadSpec> {
    costs.iter().map(|c| HeadSpec::binary(*c)).collect()
}

/// Weights with the intercept, and dual variables, of all heads bit by bit.
fn bits(trained: &Trained, heads: usize) -> Vec<u64> {
    let of = |head| {
        let weights = trained.trainer.weights(head);
        let all: Vec<f64> = weights.iter().chain([weights.intercept()]).collect();
        let duals = trained.trainer.duals(head).iter().map(f64::from);
        all.into_iter().chain(duals).map(f64::to_bits)
    };
    (0..heads).flat_map(of).collect()
}

#[test]
fn any_number_of_threads_reaches_the_optimum_of_one() {
    let dense = clouds(ROWS, 20, 1.5, 41);
    let sparse = words(ROWS, 200, 2, 42);
    // with these features there is no matrix
    let wide = words(ROWS, 3000, 0, 43);
    for (examples, costs) in [
        (&dense, &[1.0][..]),
        (&dense, &[0.01, 0.1, 1.0, 10.0, 0.001]),
        (&sparse, &[1.0]),
        (&wide, &[0.1, 1.0]),
    ] {
        let heads = heads(costs);
        let alone = run(examples, &heads, (1, PLENTY, Threads::One));
        for cache in [PLENTY, 2 << 20] {
            for trainers in [2, 4] {
                let together = run(examples, &heads, (trainers, cache, Threads::One));
                assert_eq!(together.reader.resident, cache == PLENTY);
                let [one, other] = [&alone, &together].map(|it| it.trainer.report().unwrap());
                for (one, other) in one.heads.iter().zip(&other.heads) {
                    let [one, other] = [one, other].map(|head| head.certificate.primal);
                    assert!((one - other).abs() <= 1e-4 * one.max(other));
                }
            }
        }
    }
}

#[test]
fn a_number_of_threads_gives_the_same_bits_with_any_roles() {
    let examples = clouds(ROWS, 20, 1.5, 44);
    let heads = heads(&[1.0, 0.1]);
    for cache in [PLENTY, 2 << 20] {
        let run = |trainers, threads| bits(&run(&examples, &heads, (trainers, cache, threads)), 2);
        let two = run(2, Threads::One);
        assert_eq!(two, run(2, Threads::Two));
        // or nothing was divided
        assert_ne!(two, run(1, Threads::One));
    }
}
