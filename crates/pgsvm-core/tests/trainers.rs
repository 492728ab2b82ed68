//! Several trainers: the same optimum with the same certificate, and the same bits whenever it is done again.

mod common;

use common::{assert_certified, clouds, recompute, settings, train, words};
use pgsvm_core::engine::{train_examples, OwnedExample, Threads, Trained};
use pgsvm_core::{HeadSpec, Loss, Problem, ProblemError, Proximal, Scale};

/// Rows enough that every pass over all of them is divided.
const ROWS: usize = 100_000;
const CACHE: usize = 64 << 20;

fn problem(loss: Loss, c: f64, trainers: usize) -> Problem {
    let problem = Problem::new(loss, c, 1e-3).expect("these are in range");
    problem.with_trainers(trainers).expect("so is this")
}

fn train_in_memory(problem: Problem, examples: &[OwnedExample]) -> Trained {
    let trained = train(
        problem,
        examples,
        settings(CACHE, Scale::None, Threads::One),
    );
    assert!(trained.trainer.report().unwrap().resident);
    trained
}

fn primal(trained: &Trained) -> f64 {
    trained.trainer.report().unwrap().heads[0]
        .certificate
        .primal
}

/// Weights with the intercept, and dual variables, bit by bit.
fn bits(trained: &Trained) -> (Vec<u64>, Vec<u32>) {
    let weights = trained.trainer.weights(0);
    let weights = weights.iter().chain([weights.intercept()]);
    let duals = trained.trainer.duals(0).iter();
    (
        weights.map(f64::to_bits).collect(),
        duals.map(|a| a.to_bits()).collect(),
    )
}

#[test]
fn any_number_of_trainers_reaches_the_optimum_of_one_and_proves_it() {
    let dense = clouds(ROWS, 12, 1.5, 1);
    let sparse = words(ROWS, 3000, 2, 2);
    for (examples, loss, c) in [
        (&dense, Loss::Hinge, 1.0),
        (&dense, Loss::SquaredHinge, 10.0),
        (&sparse, Loss::Hinge, 0.1),
    ] {
        let alone = train_in_memory(problem(loss, c, 1), examples);
        for trainers in [2, 3] {
            let problem = problem(loss, c, trainers);
            let together = train_in_memory(problem, examples);
            assert_certified(&together, &problem, examples);
            let (alone, together) = (primal(&alone), primal(&together));
            assert!((alone - together).abs() <= 1e-3 * alone.max(together));
        }
    }
}

#[test]
fn columns_of_different_scale_get_their_metric_from_the_rows_of_all_trainers() {
    let mut examples = clouds(ROWS, 12, 1.5, 3);
    for example in &mut examples {
        example.dense[0] *= 100.0;
        example.dense[1] *= 0.01;
    }
    let problem = problem(Loss::Hinge, 1.0, 2);
    assert_certified(&train_in_memory(problem, &examples), &problem, &examples);
}

#[test]
fn without_the_shift_several_trainers_arrive_too() {
    let examples = clouds(ROWS, 12, 3.0, 4);
    let problem = problem(Loss::Hinge, 0.001, 4).with_proximal(Proximal::Off);
    assert_certified(&train_in_memory(problem, &examples), &problem, &examples);
}

#[test]
fn several_heads_are_trained_by_several_trainers() {
    let examples = clouds(ROWS, 12, 1.5, 5);
    let problem = problem(Loss::Hinge, 1.0, 2);
    let heads = vec![HeadSpec::binary(1.0), HeadSpec::binary(0.01)];
    let settings = settings(CACHE, Scale::None, Threads::One);
    let trained =
        train_examples(problem, heads.clone(), &examples, settings).expect("training works");
    for (index, head) in heads.iter().enumerate() {
        let claimed = trained.trainer.report().unwrap().heads[index].certificate;
        let found = recompute(&trained, index, head, &problem, &examples);
        assert!(claimed.gap <= 1e-3);
        assert!((claimed.primal - found.primal).abs() <= 1e-5 * found.primal);
        assert!((claimed.dual - found.dual).abs() <= 1e-5 * found.primal);
    }
}

#[test]
fn a_seed_and_a_number_of_trainers_give_the_same_bits() {
    let examples = words(ROWS, 3000, 2, 6);
    let again = |trainers| {
        bits(&train_in_memory(
            problem(Loss::Hinge, 1.0, trainers),
            &examples,
        ))
    };
    let two = again(2);
    assert_eq!(two, again(2));
    // or nothing was divided
    assert_ne!(two, again(1));
    assert_eq!(again(3), again(3));
}

#[test]
fn of_rows_that_stream_coordinate_descent_has_one_trainer_whatever_the_number() {
    let examples = clouds(20_000, 12, 1.5, 7);
    let streamed = |trainers| {
        let settings = settings(256 << 10, Scale::None, Threads::One);
        let trained = train(problem(Loss::Hinge, 1.0, trainers), &examples, settings);
        assert!(!trained.trainer.report().unwrap().resident);
        bits(&trained)
    };
    assert_eq!(streamed(1), streamed(4));
}

#[test]
fn a_number_of_trainers_out_of_range_is_refused() {
    let problem = Problem::new(Loss::Hinge, 1.0, 1e-3).expect("these are in range");
    for trainers in [0, Problem::MAX_TRAINERS + 1] {
        let refused = problem.with_trainers(trainers);
        assert_eq!(refused, Err(ProblemError::Trainers(trainers)));
    }
}
