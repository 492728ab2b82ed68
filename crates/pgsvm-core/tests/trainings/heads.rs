//! Many heads trained together: each one's claims hold, and are those of a training of its own.

use crate::common::*;
use pgsvm_core::engine::{train_examples, OwnedExample, Threads, Trained};
use pgsvm_core::{Event, HeadSpec, Loss, Policy, Problem, Proximal, Scale, StopReason, Timing};

const PLENTY: usize = 16 << 20;
/// Less than the rows of these tests take, which then stream.
const LITTLE: usize = 16 << 10;

fn problem(loss: Loss, c: f64) -> Problem {
    Problem::new(loss, c, 1e-3)
        .expect("valid")
        .with_timing(Timing::Lockstep)
}

/// One class against the others, class by class.
fn one_against_rest(classes: usize, c: f64) -> Vec<HeadSpec> {
    let head = |class| {
        let mut signs = vec![-1; classes];
        signs[class] = 1;
        HeadSpec::new(signs, c)
    };
    (0..classes).map(head).collect()
}

/// Overlapping clouds of several classes, rows in mixed order.
fn classes(rows: usize, features: usize, classes: usize, seed: u64) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(seed);
    let centres: Vec<Vec<f64>> = (0..classes)
        .map(|_| (0..features).map(|_| 1.5 * numbers.normal()).collect())
        .collect();
    let row = |k: usize| {
        let class = if k < classes {
            k
        } else {
            numbers.below(classes)
        };
        let values = centres[class].iter().map(|x| x + 2.0 * numbers.normal());
        OwnedExample::dense(class as u32, values.collect())
    };
    (0..rows).map(row).collect()
}

/// The same as sparse rows behind a dense feature, a third of their entries left out.
fn sparse(examples: &[OwnedExample]) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(5);
    let mut thin = |example: &OwnedExample| {
        let kept: Vec<usize> = (1..example.dense.len())
            .filter(|_| numbers.uniform() < 0.7)
            .collect();
        OwnedExample {
            offset: None,
            group: example.group,
            cost: 1.0,
            dense: vec![example.dense[0]],
            sparse_index: kept.iter().map(|j| *j as u32 - 1).collect(),
            sparse_value: kept.iter().map(|j| example.dense[*j] as f32).collect(),
        }
    };
    examples.iter().map(&mut thin).collect()
}

fn together(
    problem: Problem,
    heads: &[HeadSpec],
    examples: &[OwnedExample],
    cache: usize,
) -> Trained {
    let settings = settings(cache, Scale::None, Threads::One);
    train_examples(problem, heads.to_vec(), examples, settings).expect("training works")
}

/// Every head is certified, truly, and its bounds enclose the same optimum as those of a training of its own.
fn assert_heads(
    problem: Problem,
    heads: &[HeadSpec],
    examples: &[OwnedExample],
    cache: usize,
) -> Trained {
    let trained = together(problem, heads, examples, cache);
    let report = trained.trainer.report().unwrap();
    assert_eq!(report.heads.len(), heads.len());
    for (head, spec) in heads.iter().enumerate() {
        let claimed = report.heads[head];
        let certificate = claimed.certificate;
        let what = format!("head {head}: {claimed:?}");
        assert_eq!(claimed.stop, Some(StopReason::Tolerance), "{what}");
        assert!(certificate.gap <= problem.tolerance(), "{what}");
        let found = recompute(&trained, head, spec, &problem, examples);
        // many heads' scores are summed in 32 bits
        let slack = 2e-5 * certificate.primal.abs();
        let close = |claimed: f64, found: f64| {
            assert!(
                (claimed - found).abs() <= slack,
                "{what}: {claimed} {found}"
            );
        };
        close(certificate.primal, found.primal);
        close(certificate.dual, found.dual);
        assert!((claimed.training_accuracy - found.accuracy).abs() <= 2.0 / examples.len() as f64);
        let alone = together(problem, std::slice::from_ref(spec), examples, cache);
        let alone = alone.trainer.report().unwrap().heads[0].certificate;
        assert!(certificate.dual <= alone.primal + slack, "{what} {alone:?}");
        assert!(alone.dual <= certificate.primal + slack, "{what} {alone:?}");
    }
    trained
}

#[test]
fn heads_are_certified_as_by_themselves_whatever_their_number() {
    for count in [1, 2, 7, 8, 9, 16, 17, 26, 40] {
        let dense = classes(40 * count.max(10), 9, count.max(2), count as u64);
        for examples in [sparse(&dense), dense] {
            for loss in [Loss::Hinge, Loss::SquaredHinge] {
                let mut heads = one_against_rest(count.max(2), 0.3);
                heads.truncate(count);
                let trained = assert_heads(problem(loss, 0.3), &heads, &examples, PLENTY);
                assert!(trained.reader.resident);
            }
        }
    }
}

/// Where the processor has vectors of sixteen, full passes over rows this wide take four at a time, the last ones singly.
#[test]
fn wide_dense_rows_are_certified() {
    for (rows, features) in [(2003, 150), (4001, 321)] {
        let examples = classes(rows, features, 10, 5);
        for loss in [Loss::Hinge, Loss::SquaredHinge] {
            let heads = one_against_rest(10, 0.1);
            assert_heads(problem(loss, 0.1), &heads, &examples, PLENTY);
        }
    }
}

/// Heads whose rows near the margin are different ones: more active passes follow one full pass than all heads together
/// may take.
#[test]
fn heads_that_have_little_in_common_take_turns() {
    let dense = classes(20_000, 40, 10, 3);
    let mut unscaled = dense.clone();
    for example in &mut unscaled {
        for (j, x) in example.dense.iter_mut().enumerate() {
            *x *= [0.1, 1.0, 3.0][j % 3];
        }
    }
    for examples in [unscaled, dense] {
        let heads = one_against_rest(10, 1.0);
        let trained = assert_heads(problem(Loss::Hinge, 1.0), &heads, &examples, PLENTY);
        let (mut most, mut in_row) = (0, 0);
        for entry in trained.trainer.log().unwrap() {
            in_row = match entry.event {
                Event::Active => in_row + 1,
                _ => 0,
            };
            most = most.max(in_row);
        }
        assert!(most > 80, "{most}");
    }
}

#[test]
fn heads_are_certified_when_rows_stream() {
    let dense = classes(4000, 10, 11, 3);
    for (examples, cache) in [(sparse(&dense), 4000 * 80 / 8), (dense, 4000 * 60 / 8)] {
        for loss in [Loss::Hinge, Loss::SquaredHinge] {
            let heads = one_against_rest(11, 0.1);
            let trained = assert_heads(problem(loss, 0.1), &heads, &examples, cache);
            assert!(!trained.reader.resident);
        }
    }
}

/// The cache holds few rows, and they are long: it is filled with those that heads learn from most all the same.
#[test]
fn heads_are_certified_when_the_cache_holds_few_of_the_rows_they_need() {
    for (rows, features, part, most_passes) in [(3000, 200, 10, 60), (6000, 100, 20, 60)] {
        let mut dense = classes(rows, features, 10, 11);
        for example in &mut dense {
            example.dense.iter_mut().for_each(|x| *x *= 0.4);
        }
        let problem = problem(Loss::Hinge, 1.0)
            .with(|it| it.stopping.max_passes = Some(most_passes))
            .expect("valid");
        for count in [1, 3] {
            let mut heads = one_against_rest(10, 1.0);
            heads.truncate(count);
            let trained = assert_heads(problem, &heads, &dense, rows * features * 4 / part);
            assert!(!trained.reader.resident);
        }
    }
}

/// A strong shift multiplies the rounding of 32-bit weights: the dual must not drift away from the dual variables.
#[test]
fn a_strong_shift_and_a_small_tolerance_do_not_keep_heads_from_arriving() {
    let (rows, features) = (3000, 200);
    let mut dense = classes(rows, features, 10, 11);
    for example in &mut dense {
        example.dense.iter_mut().for_each(|x| *x *= 0.4);
    }
    for (c, tolerance) in [(0.1, 1e-4), (0.1, 1e-5), (1.0, 1e-5), (10.0, 1e-4)] {
        let problem = Problem::new(Loss::Hinge, c, tolerance)
            .expect("valid")
            .with_timing(Timing::Lockstep)
            .with(|it| it.stopping.max_passes = Some(100))
            .expect("valid");
        for cache in [PLENTY, rows * features * 4 / 3] {
            let trained = together(problem, &one_against_rest(10, c), &dense, cache);
            for head in trained.trainer.report().unwrap().heads {
                let what = format!("C = {c}, {tolerance}, cache {cache}: {head:?}");
                assert_eq!(head.stop, Some(StopReason::Tolerance), "{what}");
            }
        }
    }
}

#[test]
fn every_schedule_trains_many_heads() {
    let examples = classes(1500, 6, 3, 4);
    for policy in [Policy::Paper, Policy::Block, Policy::SelectiveBlock] {
        for proximal in [Proximal::Auto, Proximal::Off] {
            let problem = problem(Loss::Hinge, 0.01)
                .with(|it| it.solver = policy.into())
                .expect("valid")
                .with(|it| it.proximal = proximal)
                .expect("valid");
            let heads = one_against_rest(3, 0.01);
            let trained = assert_heads(problem, &heads, &examples, LITTLE);
            assert!(!trained.reader.resident);
        }
    }
}

#[test]
fn heads_differ_in_c_and_in_the_rows_that_take_part() {
    let mut examples = classes(900, 8, 4, 6);
    for (k, example) in examples.iter_mut().enumerate() {
        example.cost = [1.0, 0.5, 3.0][k % 3];
    }
    let mut heads = one_against_rest(4, 1.0);
    for (head, c) in heads.iter_mut().zip([0.001, 0.1, 1.0, 30.0]) {
        head.c = c;
    }
    for (a, b) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
        let mut signs = vec![0; 4];
        (signs[a], signs[b]) = (-1, 1);
        heads.push(HeadSpec::new(signs, 0.5));
    }
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        for proximal in [Proximal::Auto, Proximal::On] {
            let problem = problem(loss, 1.0)
                .with(|it| it.proximal = proximal)
                .expect("valid");
            assert_heads(problem, &heads, &examples, PLENTY);
        }
        assert_heads(problem(loss, 1.0), &heads, &examples, LITTLE);
    }
}

#[test]
fn heads_without_rows_of_one_sign_or_without_any_row_end_too() {
    let examples = classes(600, 5, 3, 7);
    let heads: Vec<HeadSpec> = [[-1, -1, -1], [1, 1, 1], [0, 0, 0], [1, -1, -1], [0, 1, -1]]
        .map(|signs| HeadSpec::new(signs.to_vec(), 1.0))
        .to_vec();
    for cache in [PLENTY, LITTLE] {
        let trained = assert_heads(problem(Loss::Hinge, 1.0), &heads, &examples, cache);
        assert_eq!(
            trained.trainer.report().unwrap().heads[2]
                .certificate
                .primal,
            0.0
        );
        assert!(trained.trainer.duals(2).iter().all(|alpha| alpha == 0.0));
    }
}

#[test]
fn columns_of_very_different_scale_are_trained_in_a_metric() {
    let mut examples = classes(2000, 6, 10, 8);
    for example in &mut examples {
        for (j, x) in example.dense.iter_mut().enumerate() {
            *x *= [0.02, 1.0, 5.0][j % 3];
        }
    }
    for c in [0.01, 1.0] {
        let heads = one_against_rest(10, c);
        assert_heads(problem(Loss::Hinge, c), &heads, &examples, PLENTY);
        assert_heads(problem(Loss::Hinge, c), &heads, &sparse(&examples), LITTLE);
    }
}

#[test]
fn a_shift_too_strong_for_narrow_weights_is_met_with_wide_ones() {
    let mut examples = classes(2000, 6, 3, 9);
    for example in &mut examples {
        for (j, x) in example.dense.iter_mut().enumerate() {
            *x *= [1.0, 300.0, 2000.0][j % 3];
        }
    }
    // the first C is too large from the start, the second once columns have been found to differ
    for c in [0.001, 5e-5] {
        let heads = one_against_rest(3, c);
        assert_heads(problem(Loss::Hinge, c), &heads, &examples, PLENTY);
    }
}

#[test]
fn a_seed_gives_the_same_weights_and_dual_variables_for_many_heads() {
    let dense = classes(1500, 7, 12, 10);
    let heads = one_against_rest(12, 0.2);
    for cache in [PLENTY, LITTLE] {
        let problem = problem(Loss::Hinge, 0.2)
            .with(|it| it.seed = 7)
            .expect("valid");
        let [one, two] = [0, 1].map(|_| together(problem, &heads, &dense, cache));
        for head in 0..heads.len() {
            assert!(one
                .trainer
                .weights(head)
                .iter()
                .eq(two.trainer.weights(head).iter()));
            assert!(one
                .trainer
                .duals(head)
                .iter()
                .eq(two.trainer.duals(head).iter()));
        }
    }
}

#[test]
fn heads_that_run_out_of_passes_report_the_gap_they_reached() {
    let examples = classes(800, 20, 9, 11);
    let mut heads = one_against_rest(9, 10.0);
    heads[3].c = 1e-7;
    let problem = problem(Loss::Hinge, 10.0)
        .with(|it| it.stopping.max_passes = Some(2))
        .expect("valid");
    let trained = together(problem, &heads, &examples, PLENTY);
    let report = trained.trainer.report().unwrap();
    assert_eq!(report.heads[3].stop, Some(StopReason::Tolerance));
    for (head, spec) in heads.iter().enumerate() {
        let claimed = report.heads[head];
        assert!(head == 3 || claimed.stop == Some(StopReason::MaxPasses));
        let found = recompute(&trained, head, spec, &problem, &examples);
        let gap = (found.primal - found.dual) / found.primal;
        assert!(
            (claimed.certificate.gap - gap).abs() <= 1e-4,
            "{claimed:?} {gap}"
        );
    }
}

/// Share of the rows that get their own class: the largest decision, the first of equal ones.
fn accuracy(trained: &Trained, examples: &[OwnedExample], heads: usize) -> f64 {
    let right = examples.iter().filter(|example| {
        let decision = |head: usize| {
            let weights = trained.trainer.weights(head);
            let products = weights.iter().zip(&example.dense).map(|(w, x)| w * x);
            products.sum::<f64>() + weights.intercept()
        };
        let best = (1..heads).fold((0, decision(0)), |best, head| match decision(head) {
            value if value > best.1 => (head, value),
            _ => best,
        });
        best.0 == example.group as usize
    });
    right.count() as f64 / examples.len() as f64
}

#[test]
fn classes_that_gain_nothing_leave_the_decision_to_the_others_and_the_most_frequent_one() {
    let examples = two_apart();
    let count = |class: usize| {
        let of_class = examples.iter().filter(|it| it.group as usize == class);
        of_class.count()
    };
    let frequent = (0..24).max_by_key(|class| count(*class)).unwrap();
    let specs = one_against_rest(CLASSES, 1.0);
    for cache in [PLENTY, LITTLE] {
        let settings = settings(cache, Scale::None, Threads::One);
        let trained = train_examples(
            problem(Loss::Hinge, 1.0),
            specs.clone(),
            &examples,
            settings,
        )
        .expect("training works");
        let weights = |head: usize| trained.trainer.weights(head);
        let constant: Vec<usize> = (0..CLASSES)
            .filter(|head| weights(*head).iter().all(|w| w.abs() < 1e-3))
            .collect();
        assert_eq!(constant, (0..24).collect::<Vec<_>>());
        let intercept = |head: &usize| weights(*head).intercept();
        let largest = (0..24).max_by(|a, b| intercept(a).total_cmp(&intercept(b)));
        assert_eq!(largest, Some(frequent));
        for (head, spec) in specs[..24].iter().enumerate() {
            assert_told(&trained, head, spec, &examples);
        }
        // what can be known: the two that lie apart, and of the others the most frequent
        let known = count(24) + count(25) + count(frequent);
        let most = known as f64 / examples.len() as f64;
        let share = accuracy(&trained, &examples, CLASSES);
        assert!(share > most - 0.03, "{share} of {most}");
    }
}

/// Rows of classes around means of their own, none of which is worth weights to the hinge loss at a small C.
fn letters(rows: usize) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(261);
    let means: Vec<Vec<f64>> = (0..CLASSES)
        .map(|_| (0..16).map(|_| numbers.normal()).collect())
        .collect();
    let row = |k: usize| {
        let class = if k < CLASSES {
            k
        } else {
            numbers.below(CLASSES)
        };
        let value = |mean: &f64| mean + 0.7 * numbers.normal();
        OwnedExample::dense(class as u32, means[class].iter().map(value).collect())
    };
    (0..rows).map(row).collect()
}

#[test]
fn classes_that_gain_nothing_are_told_apart_by_their_means() {
    let examples = letters(4000);
    let specs = one_against_rest(CLASSES, 1e-3);
    for cache in [PLENTY, LITTLE] {
        let settings = settings(cache, Scale::None, Threads::One);
        let problem = problem(Loss::Hinge, 1e-3);
        let trained =
            train_examples(problem, specs.clone(), &examples, settings).expect("training works");
        for (head, spec) in specs.iter().enumerate() {
            assert_told(&trained, head, spec, &examples);
        }
        let share = accuracy(&trained, &examples, CLASSES);
        assert!(share > 0.9, "{share} in {cache} bytes");
    }
}

const CLASSES: usize = 26;

/// Rows whose last two classes lie apart, the others on top of each other.
fn two_apart() -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(26);
    let row = |n: usize| {
        let class = match n % 10 {
            0 => 24,
            1 => 25,
            // the higher its number the more rows a class has
            _ => numbers.below(24).max(numbers.below(24)),
        };
        let at = match class {
            24 => 3.0,
            25 => -3.0,
            _ => 0.0,
        };
        let values = (0..4).map(|j| if j == 0 { at } else { 0.0 } + numbers.normal());
        OwnedExample::dense(class as u32, values.collect())
    };
    (0..6000).map(row).collect()
}

/// What is said of a head is what its weights come to.
fn assert_told(trained: &Trained, head: usize, spec: &HeadSpec, examples: &[OwnedExample]) {
    let report = trained.trainer.report().expect("memory for a report");
    let found = recompute(trained, head, spec, &problem(Loss::Hinge, 1.0), examples);
    let told = report.heads[head].certificate;
    let away = (told.primal - found.primal).abs();
    assert!(away <= 1e-6 * found.primal, "{told:?}");
    assert!(told.gap <= 1e-3, "{told:?}");
    let share = report.heads[head].training_accuracy;
    let away = (share - found.accuracy).abs();
    assert!(away < 1e-9, "{share} {}", found.accuracy);
}
