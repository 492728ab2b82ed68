//! What is done to rows once all are known: missing values become means, classes get equal weight.

use crate::common::*;
use pgsvm_core::engine::{train_examples, OwnedExample, Settings, Threads, Trained};
use pgsvm_core::{Balance, CacheLayout, HeadSpec, Loss, Plan, Policy, Problem, Scale, Timing};

const PLENTY: usize = 16 << 20;
/// Less than the rows of these tests take, which then stream.
const LITTLE: usize = 16 << 10;

fn problem() -> Problem {
    Problem::new(Loss::Hinge, 0.1, 1e-3)
        .expect("valid")
        .with_timing(Timing::Lockstep)
}

/// Clouds far from 0, with values missing here and there: in the first row, in a whole column, in all rows but one.
fn with_gaps(rows: usize, far: f64) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(3);
    let mut examples = clouds(rows, 7, 2.0, 17);
    for (k, example) in examples.iter_mut().enumerate() {
        for (j, x) in example.dense.iter_mut().enumerate() {
            *x = far * (j as f64 + 1.0) + *x * (1.0 + j as f64);
            let is_missing = match j {
                0 => k < 3 || numbers.uniform() < 0.3,
                1 => k == 0,
                2 => true,
                3 => k != rows / 2,
                4 => numbers.uniform() < 0.5,
                _ => false,
            };
            if is_missing {
                *x = f64::NAN;
            }
        }
    }
    examples
}

/// The mean of each column over the rows that have it, and the rows with those means.
fn filled(examples: &[OwnedExample]) -> (Vec<f64>, Vec<OwnedExample>) {
    let means: Vec<f64> = (0..examples[0].dense.len())
        .map(|j| {
            let present = examples.iter().map(|row| row.dense[j]);
            let present: Vec<f64> = present.filter(|x| !x.is_nan()).collect();
            present.iter().sum::<f64>() / present.len().max(1) as f64
        })
        .collect();
    let mut rows = examples.to_vec();
    for row in &mut rows {
        for (x, mean) in row.dense.iter_mut().zip(&means) {
            if x.is_nan() {
                *x = *mean;
            }
        }
    }
    (means, rows)
}

#[test]
fn missing_values_are_trained_as_the_means_of_their_columns() {
    for far in [0.0, 1000.0] {
        let examples = with_gaps(900, far);
        let (means, complete) = filled(&examples);
        for scale in [Scale::None, Scale::Standard, Scale::MaxAbs] {
            for cache in [PLENTY, LITTLE] {
                if far > 0.0 && scale == Scale::None {
                    continue;
                }
                let as_given = settings(cache, scale, Threads::One);
                let imputing = Settings {
                    impute: true,
                    ..as_given
                };
                let (trained, whole) = (trained(&examples, imputing), trained(&complete, as_given));
                assert_eq!(trained.reader.resident, cache == PLENTY);
                assert_eq!(trained.reader.means.len(), means.len());
                for (found, expected) in trained.reader.means.iter().zip(&means) {
                    assert!((found - expected).abs() < 1e-9, "{found} {expected}");
                }
                assert!(whole.reader.means.is_empty());
                // the rows trained on are the completed ones: so says the certificate
                assert_certified(&trained, &problem(), &complete);
                assert_like(&trained, &whole);
            }
        }
    }
}

fn trained(examples: &[OwnedExample], settings: Settings) -> Trained {
    let heads = vec![HeadSpec::binary(0.1)];
    train_examples(problem(), heads, examples, settings).expect("works")
}

/// Two trainings on rows that differ by rounding.
fn assert_like(one: &Trained, other: &Trained) {
    let (a, b) = (&one.reader.scaling, &other.reader.scaling);
    for (a, b) in a.factor.iter().zip(&b.factor) {
        // a column of means alone has a deviation of rounding errors, if any
        let same = (a - b).abs() <= 1e-9 * a.abs() || *a == 0.0;
        assert!(same, "{a} {b}");
    }
    for (a, b) in a.centre.iter().zip(&b.centre) {
        assert!((a - b).abs() <= 1e-9 * (1.0 + a.abs()), "{a} {b}");
    }
    let [a, b] = [one, other].map(|t| t.trainer.report().unwrap().heads[0].certificate);
    assert!(a.dual <= b.primal * (1.0 + 1e-4) && b.dual <= a.primal * (1.0 + 1e-4));
}

#[test]
fn only_what_is_not_a_number_is_missing() {
    let mut examples = clouds(50, 3, 1.0, 4);
    examples[7].dense[1] = f64::INFINITY;
    for row in [0, 7] {
        examples.swap(7, row);
        let settings = Settings {
            impute: true,
            ..settings(PLENTY, Scale::Standard, Threads::One)
        };
        let heads = vec![HeadSpec::binary(0.1)];
        let error = train_examples(problem(), heads, &examples, settings).err();
        let text = error.expect("refused").to_string();
        assert!(text.contains("feature 1 is not a finite"), "{text}");
        examples.swap(7, row);
    }
}

#[test]
fn balanced_classes_are_trained_as_rows_of_the_costs_that_balance_them() {
    let examples = uneven(900);
    let n: f64 = (0..3).map(|class| counted(&examples, class)).sum();
    let factors = [0, 1, 2].map(|class| (n / (3.0 * counted(&examples, class))) as f32);
    let mut explicit = examples.clone();
    for example in &mut explicit {
        example.cost *= factors[example.group as usize];
    }
    for cache in [PLENTY, LITTLE] {
        // costs that are given are rows, which scaling would count
        let plain = settings(cache, Scale::None, Threads::One);
        let balanced = Settings {
            balance: Balance::Examples,
            ..plain
        };
        let plan = Plan::train(0.1);
        let one = train_examples(problem(), plan.clone(), &examples, balanced).expect("works");
        let two = train_examples(problem(), plan, &explicit, plain).expect("works");
        let heads = [&one, &two].map(|it| it.trainer.report().unwrap().heads);
        for (one, two) in heads[0].iter().zip(&heads[1]) {
            let (one, two) = (one.certificate, two.certificate);
            let place = format!("{one:?} {two:?}");
            // factors have 20 bits
            assert!(one.dual <= two.primal * (1.0 + 1e-6), "{place}");
            assert!(two.dual <= one.primal * (1.0 + 1e-6), "{place}");
            let apart = (one.primal / two.primal - 1.0).abs();
            assert!(apart <= problem().tolerance() + 1e-6, "{place}");
        }
    }
}

/// As how many rows those of a class count.
fn counted(examples: &[OwnedExample], class: u32) -> f64 {
    let own = examples.iter().filter(|row| row.group == class);
    own.map(|row| f64::from(row.cost)).sum()
}

/// Rows of three classes of different sizes, at two costs.
fn uneven(count: usize) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(6);
    let mut examples = clouds(count, 5, 1.0, 5);
    for example in &mut examples {
        let class = example.group * u32::from(numbers.uniform() < 0.2);
        let third = class == 0 && numbers.uniform() < 0.3;
        example.group = if third { 2 } else { class };
        example.cost = [1.0, 0.5][numbers.below(2)];
    }
    examples
}

/// Rows of so many classes, of which some are rare, with costs of their own.
fn lopsided(classes: u32, rows: usize) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(11);
    let mut examples = clouds(rows, 5, 1.0, 5);
    for (n, example) in examples.iter_mut().enumerate() {
        let drawn = (numbers.uniform() * numbers.uniform() * f64::from(classes)) as u32;
        // each has a row at least
        example.group = if n < classes as usize {
            n as u32
        } else {
            drawn
        };
        example.dense[0] += f64::from(example.group) / 2.0;
        example.cost = [1.0, 1.0, 0.5][numbers.below(3)];
    }
    examples
}

/// What each head reaches where the costs of its positive rows are multiplied by n / (K n_class).
fn primals_of_weighed_heads(
    problem: &Problem,
    examples: &[OwnedExample],
    classes: u32,
    scale: Scale,
) -> Vec<f64> {
    let primal = |class| {
        let all: f64 = (0..classes).map(|class| counted(examples, class)).sum();
        let factor = all / (f64::from(classes) * counted(examples, class));
        let mut weighed = examples.to_vec();
        for example in &mut weighed {
            let positive = example.group == class;
            example.cost *= if positive { factor as f32 } else { 1.0 };
            example.group = u32::from(positive);
        }
        let settings = settings(PLENTY, scale, Threads::One);
        let head = vec![HeadSpec::binary(problem.c())];
        let trained = train_examples(*problem, head, &weighed, settings).expect("works");
        trained.trainer.report().unwrap().heads[0]
            .certificate
            .primal
    };
    (0..classes).map(primal).collect()
}

#[test]
fn balanced_positives_weigh_in_their_own_heads_alone() {
    for (classes, rows) in [(3, 600), (12, 900)] {
        let examples = lopsided(classes, rows);
        for loss in [Loss::Hinge, Loss::SquaredHinge] {
            for policy in [Policy::Cached, Policy::Block] {
                let problem = Problem::new(loss, 0.1, 1e-4)
                    .expect("in range")
                    .with(|it| it.solver = policy.into())
                    .expect("valid");
                let expected = primals_of_weighed_heads(&problem, &examples, classes, Scale::None);
                for cache in [PLENTY, LITTLE] {
                    let settings = Settings {
                        balance: Balance::PositivesBeyond(2),
                        ..settings(cache, Scale::None, Threads::One)
                    };
                    let plan = Plan::train(0.1);
                    let trained =
                        train_examples(problem, plan, &examples, settings).expect("works");
                    let heads = trained.trainer.report().unwrap().heads;
                    assert_eq!(heads.len(), classes as usize);
                    for (head, expected) in heads.iter().zip(&expected) {
                        let found = head.certificate;
                        assert!(found.gap <= 1e-4, "{found:?}");
                        let apart = (found.primal - expected).abs() / expected;
                        assert!(
                            apart < 2e-4,
                            "{classes} {loss:?} {cache}: {found:?} {expected}"
                        );
                    }
                }
            }
        }
    }
}

/// What classes weigh comes between rows and slots: where there is no room, rows stream.
#[test]
fn balanced_positives_find_room_whatever_the_cache() {
    let (classes, examples) = (40, lopsided(40, 900));
    let problem = problem();
    let expected = primals_of_weighed_heads(&problem, &examples, classes, Scale::None);
    let (mut resident, mut streaming) = (0, 0);
    let needed = 900 * CacheLayout::dense_row_bytes(5);
    for cache in (needed - 256..needed + 512).step_by(128) {
        let settings = Settings {
            balance: Balance::PositivesBeyond(2),
            ..settings(cache, Scale::None, Threads::One)
        };
        let trained = train_examples(problem, Plan::train(problem.c()), &examples, settings);
        let report = trained.expect("works").trainer.report().unwrap();
        *if report.resident {
            &mut resident
        } else {
            &mut streaming
        } += 1;
        for (head, expected) in report.heads.iter().zip(&expected) {
            let apart = (head.certificate.primal - expected).abs() / expected;
            assert!(
                apart < 2.0 * problem.tolerance(),
                "{cache}: {head:?} {expected}"
            );
        }
    }
    assert!(resident > 1 && streaming > 3, "{resident} {streaming}");
}
