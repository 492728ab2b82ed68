//! Several trainers: the same optimum with the same certificate, and the same bits whenever it is done again.

use crate::common::{assert_certified, clouds, recompute, settings, train, words, Numbers};
use pgsvm_core::engine::{train_examples, train_examples_from, OwnedExample, Threads, Trained};
use pgsvm_core::{HeadSpec, Loss, Problem, ProblemError, Proximal, Scale, Start, Timing};

/// Rows enough that every pass over all of them is divided.
const ROWS: usize = 100_000;
const CACHE: usize = 64 << 20;
/// A cache that holds a part of them.
const STREAMING: usize = 2 << 20;
/// The same, with as many kept rows as are worth dividing among four.
const DIVIDED: usize = 4 << 20;

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
    bits_of(trained, 0)
}

fn bits_of(trained: &Trained, head: usize) -> (Vec<u64>, Vec<u32>) {
    let weights = trained.trainer.weights(head);
    let weights = weights.iter().chain([weights.intercept()]);
    let duals = trained.trainer.duals(head).iter();
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
    let problem = problem(Loss::Hinge, 0.001, 4)
        .with(|it| it.proximal = Proximal::Off)
        .expect("valid");
    assert_certified(&train_in_memory(problem, &examples), &problem, &examples);
}

/// Every head is certified within the tolerance, and that is what its weights and dual variables say.
fn assert_heads(
    trained: &Trained,
    problem: &Problem,
    heads: &[HeadSpec],
    examples: &[OwnedExample],
) {
    let report = trained.trainer.report().unwrap();
    for (index, head) in heads.iter().enumerate() {
        let claimed = report.heads[index].certificate;
        let found = recompute(trained, index, head, problem, examples);
        assert!(claimed.gap >= 0.0 && claimed.gap <= problem.tolerance());
        // scores of heads side by side are summed in 32 bits
        let close = |claimed: f64, found: f64| (claimed - found).abs() <= 2e-5 * claimed.abs();
        assert!(
            close(claimed.primal, found.primal),
            "{claimed:?} {}",
            found.primal
        );
        assert!((claimed.dual - found.dual).abs() <= 2e-5 * claimed.primal);
    }
}

fn train_heads(
    problem: Problem,
    heads: &[HeadSpec],
    examples: &[OwnedExample],
    (cache, threads): (usize, Threads),
) -> Trained {
    let settings = settings(cache, Scale::None, threads);
    let trained = train_examples(problem, heads.to_vec(), examples, settings).expect("works");
    assert_eq!(trained.trainer.report().unwrap().resident, cache == CACHE);
    trained
}

/// Weights and dual variables of all heads, bit by bit.
fn all_bits(trained: &Trained, heads: usize) -> Vec<(Vec<u64>, Vec<u32>)> {
    (0..heads).map(|head| bits_of(trained, head)).collect()
}

/// Rows of ten classes, words that are more frequent in one of them than in the others.
fn ten_classes(rows: usize) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(71);
    let mut examples = words(rows, 500, 0, 72);
    for (row, example) in examples.iter_mut().enumerate() {
        let word = *example.sparse_index.last().expect("there is one") as usize;
        let class = if numbers.below(5) == 0 {
            numbers.below(10)
        } else {
            word / 50
        };
        example.group = if row < 10 { row } else { class } as u32;
    }
    examples
}

/// One class against the others, class by class, and one of them a second time with another C and weight.
fn against_rest(classes: usize) -> Vec<HeadSpec> {
    let head = |class| {
        let mut signs = vec![-1; classes];
        signs[class % classes] = 1;
        HeadSpec::new(signs, 0.3)
    };
    let mut heads: Vec<_> = (0..=classes).map(head).collect();
    (heads[classes].c, heads[classes].positive_weight) = (0.02, 4.0);
    heads
}

#[test]
fn several_heads_are_trained_by_several_trainers() {
    let examples = clouds(ROWS, 12, 1.5, 5);
    let heads = [HeadSpec::binary(1.0), HeadSpec::binary(0.01)];
    for trainers in [2, 4] {
        let problem = problem(Loss::Hinge, 1.0, trainers);
        let trained = train_heads(problem, &heads, &examples, (CACHE, Threads::One));
        assert_heads(&trained, &problem, &heads, &examples);
    }
}

#[test]
fn heads_dealt_out_are_bit_for_bit_those_of_one_trainer() {
    let examples = ten_classes(30_000);
    let heads = against_rest(10);
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        for cache in [CACHE, STREAMING] {
            let run = |trainers, threads| {
                let problem = problem(loss, 0.3, trainers).with_timing(Timing::Lockstep);
                let trained = train_heads(problem, &heads, &examples, (cache, threads));
                assert_heads(&trained, &problem, &heads[..10], &examples);
                all_bits(&trained, heads.len())
            };
            let one = run(1, Threads::One);
            for trainers in [2, 4, 16] {
                assert!(
                    one == run(trainers, Threads::One),
                    "{trainers} {loss:?} {cache}"
                );
            }
            assert!(one == run(2, Threads::Two), "in two roles {loss:?} {cache}");
        }
    }
}

/// With so small a tolerance their shift is too strong for weights of 32 bits.
#[test]
fn heads_by_themselves_are_dealt_out_likewise() {
    let examples = clouds(20_000, 6, 2.0, 9);
    let heads: Vec<_> = [0.01, 0.1, 0.02, 0.3].map(HeadSpec::binary).to_vec();
    for cache in [CACHE, 256 << 10] {
        let run = |trainers| {
            let problem = Problem::new(Loss::Hinge, 1.0, 1e-6).expect("in range");
            let problem = problem.with_trainers(trainers).expect("in range");
            let problem = problem.with_timing(Timing::Lockstep);
            let problem = problem
                .with(|it| it.proximal = Proximal::On)
                .expect("valid");
            let trained = train_heads(problem, &heads, &examples, (cache, Threads::One));
            all_bits(&trained, heads.len())
        };
        let one = run(1);
        assert!(one == run(2) && one == run(4), "{cache}");
    }
}

#[test]
fn dense_rows_of_several_classes_have_the_same_optimum_whoever_has_which_head() {
    let mut examples = clouds(40_000, 30, 1.0, 11);
    let mut numbers = Numbers::new(12);
    for example in &mut examples {
        let class = numbers.below(10);
        example.group = class as u32;
        example.dense[class] += 2.0;
    }
    for (class, example) in examples.iter_mut().take(10).enumerate() {
        example.group = class as u32;
    }
    let mut heads = against_rest(10);
    heads.pop();
    for cache in [CACHE, STREAMING] {
        let run = |trainers| {
            let problem = problem(Loss::Hinge, 0.3, trainers).with_timing(Timing::Lockstep);
            let trained = train_heads(problem, &heads, &examples, (cache, Threads::One));
            assert_heads(&trained, &problem, &heads, &examples);
            let primals = trained.trainer.report().unwrap().heads;
            let bits = all_bits(&trained, heads.len());
            (
                primals
                    .iter()
                    .map(|head| head.certificate.primal)
                    .collect::<Vec<_>>(),
                bits,
            )
        };
        let (one, _) = run(1);
        for trainers in [2, 4] {
            let (several, bits) = run(trainers);
            for (one, several) in one.iter().zip(&several) {
                assert!((one - several).abs() <= 1e-3 * one.max(*several));
            }
            assert!(bits == run(trainers).1, "{trainers} {cache}");
        }
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
fn rows_that_stream_are_divided_and_give_the_optimum_of_one_trainer() {
    let dense = clouds(ROWS, 12, 1.5, 7);
    let sparse = words(ROWS, 300, 2, 8);
    for (examples, loss, c) in [
        (&dense, Loss::Hinge, 1.0),
        (&dense, Loss::SquaredHinge, 10.0),
        (&sparse, Loss::Hinge, 0.1),
        (&sparse, Loss::SquaredHinge, 1.0),
    ] {
        let streamed = |trainers, threads| {
            let problem = problem(loss, c, trainers).with_timing(Timing::Lockstep);
            let settings = settings(DIVIDED, Scale::None, threads);
            let trained = train(problem, examples, settings);
            assert!(!trained.trainer.report().unwrap().resident);
            assert_certified(&trained, &problem, examples);
            trained
        };
        let alone = streamed(1, Threads::One);
        for trainers in [2, 4] {
            let together = streamed(trainers, Threads::One);
            let [one, other] = [primal(&alone), primal(&together)];
            assert!((one - other).abs() <= 1e-3 * one.max(other));
            // or nothing was divided
            assert_ne!(bits(&alone), bits(&together));
            assert_eq!(bits(&together), bits(&streamed(trainers, Threads::Two)));
        }
    }
}

/// With a larger cache rows are divided as they arrive, not only those kept.
#[test]
fn rows_are_divided_as_they_arrive() {
    let examples = clouds(3 * ROWS, 12, 1.5, 15);
    let run = |trainers| {
        let problem = problem(Loss::Hinge, 0.1, trainers).with_timing(Timing::Lockstep);
        let settings = settings(17 << 20, Scale::None, Threads::One);
        let trained = train(problem, &examples, settings);
        assert!(!trained.trainer.report().unwrap().resident);
        assert_certified(&trained, &problem, &examples);
        trained
    };
    let (alone, together) = (run(1), run(2));
    assert!((primal(&alone) - primal(&together)).abs() <= 1e-3 * primal(&alone));
    assert_ne!(bits(&alone), bits(&together));
}

/// Sweeps while the trainer waits depend on time; the optimum does not.
#[test]
fn time_makes_no_difference_to_the_optimum_of_rows_that_stream() {
    let mut examples = clouds(ROWS, 12, 1.5, 13);
    for example in &mut examples {
        example.dense[0] *= 100.0;
        example.dense[1] *= 0.01;
    }
    let problem = problem(Loss::Hinge, 1.0, 2);
    let trained = train(
        problem,
        &examples,
        settings(DIVIDED, Scale::None, Threads::Two),
    );
    assert_certified(&trained, &problem, &examples);
}

#[test]
fn what_begins_elsewhere_is_verified_by_several_trainers_as_rows_stream() {
    let examples = clouds(ROWS, 12, 1.5, 14);
    let problem = problem(Loss::Hinge, 1.0, 2);
    let settings = settings(DIVIDED, Scale::None, Threads::One);
    let before = train(problem, &examples, settings);
    let weights = before.trainer.weights(0);
    let start = Start {
        updates: 0,
        duals: before.trainer.duals(0).iter().collect(),
        weights: Some(weights.iter().chain([weights.intercept()]).collect()),
    };
    let heads = vec![HeadSpec::binary(1.0)];
    let after = train_examples_from(problem, heads, &examples, vec![start], settings);
    let after = after.expect("training works");
    assert_certified(&after, &problem, &examples);
    // one verifies, one sums up what is stored
    assert_eq!(after.trainer.report().unwrap().passes, 2);
}

#[test]
fn a_number_of_trainers_out_of_range_is_refused() {
    let problem = Problem::new(Loss::Hinge, 1.0, 1e-3).expect("these are in range");
    for trainers in [0, Problem::MAX_TRAINERS + 1] {
        let refused = problem.with_trainers(trainers);
        assert_eq!(refused, Err(ProblemError::Trainers(trainers)));
    }
}
