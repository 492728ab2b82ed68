//! Newton's method arrives wherever it leads, whatever the scale of columns, and what it claims is true.

use crate::common::*;
use pgsvm_core::engine::{
    train_examples, train_examples_from, EngineError, OwnedExample, Threads, Trained,
};
use pgsvm_core::{
    HeadSpec, Intercept, Loss, Problem, Scale, SolverChoice, Start, StopReason, TrainError,
};

const PLENTY: usize = 64 << 20;

fn problem(c: f64, tolerance: f64) -> Problem {
    Problem::new(Loss::SquaredHinge, c, tolerance)
        .and_then(|problem| problem.with(|it| it.stopping.max_passes = Some(2000)))
        .expect("valid")
        .with(|it| it.solver = SolverChoice::Newton)
        .expect("valid")
}

fn by_descent(problem: Problem) -> Problem {
    problem
        .with(|it| it.solver = SolverChoice::Stream)
        .expect("valid")
}

fn primal(trained: &Trained, head: usize) -> f64 {
    let report = trained.trainer.report().unwrap();
    report.heads[head].certificate.primal
}

fn passes(trained: &Trained) -> u32 {
    trained.trainer.report().unwrap().passes
}

/// P and the best dual of dual variables that follow from the weights, of rows as they come.
fn closed_form(trained: &Trained, problem: &Problem, examples: &[OwnedExample]) -> (f64, f64) {
    let weights = trained.trainer.weights(0);
    let (free, has) = (problem.free_intercept(), problem.intercept());
    let bias = if has { 1.0 } else { 0.0 };
    let length = weights.len();
    let mut sides = [Side::new(length), Side::new(length)];
    for example in examples {
        let row = entries(example);
        let y = 2.0 * f64::from(example.group) - 1.0;
        let score: f64 = row.iter().map(|(j, x)| weights.get(*j) * x).sum();
        let lost = (1.0 - y * (score + bias * weights.intercept())).max(0.0);
        let bound = problem.c() * f64::from(example.cost);
        sides[example.group as usize].take(&row, bound, lost, bias);
    }
    let [negative, positive] = &sides;
    let balance = match free {
        true if negative.sum > positive.sum => [positive.sum / negative.sum, 1.0],
        true => [1.0, negative.sum / positive.sum],
        false => [1.0, 1.0],
    };
    let sum = balance[0] * negative.sum + balance[1] * positive.sum;
    let columns = if free { length } else { length + 1 };
    let column = |j| balance[1] * positive.v[j] - balance[0] * negative.v[j];
    let mut b: f64 = (0..columns).map(|j| column(j).powi(2) / 2.0).sum();
    b += balance[0].powi(2) * negative.loss + balance[1].powi(2) * positive.loss;
    let intercept = if free { 0.0 } else { weights.intercept() };
    let norm: f64 = weights.iter().map(|w| w * w).sum::<f64>() + intercept.powi(2);
    let primal = norm / 2.0 + negative.loss + positive.loss;
    let dual = if b > 0.0 { sum * sum / (4.0 * b) } else { 0.0 };
    (primal, dual)
}

/// Sums over the rows of a class: of their dual variables times the rows, of dual variables, and of losses.
struct Side {
    v: Vec<f64>,
    sum: f64,
    loss: f64,
}

impl Side {
    fn new(features: usize) -> Self {
        Self {
            v: vec![0.0; features + 1],
            sum: 0.0,
            loss: 0.0,
        }
    }

    fn take(&mut self, row: &[(usize, f64)], bound: f64, lost: f64, bias: f64) {
        let a = 2.0 * bound * lost;
        self.sum += a;
        self.loss += bound * lost * lost;
        row.iter().for_each(|(j, x)| self.v[*j] += a * x);
        *self.v.last_mut().unwrap() += bias * a;
    }
}

/// Features and values of a row.
fn entries(example: &OwnedExample) -> Vec<(usize, f64)> {
    let dense = example.dense.iter().enumerate();
    let offset = example.dense.len();
    let sparse = example.sparse_index.iter().zip(&example.sparse_value);
    dense
        .map(|(j, x)| (j, f64::from(*x as f32)))
        .chain(sparse.map(|(j, x)| (offset + *j as usize, f64::from(*x))))
        .collect()
}

/// Trains rows as they come and checks what is claimed against what follows from the weights.
fn arrives(problem: Problem, examples: &[OwnedExample]) -> Trained {
    let trained = train(
        problem,
        examples,
        settings(PLENTY, Scale::None, Threads::One),
    );
    let report = trained.trainer.report().unwrap();
    let head = report.heads[0];
    assert_eq!(head.stop, Some(StopReason::Tolerance), "{report:?}");
    assert!(report.newton);
    let (p, d) = closed_form(&trained, &problem, examples);
    let claimed = head.certificate;
    assert!((p - claimed.primal).abs() <= 1e-7 * p, "{p} {claimed:?}");
    assert!(claimed.gap >= 0.0 && claimed.gap <= problem.tolerance());
    // sums in another order: where columns are 10^4 in size terms much larger than the dual cancel
    let rounding = 1e-4;
    assert!((p - d) / p <= problem.tolerance() + rounding, "{p} {d}");
    trained
}

#[test]
fn arrives_at_what_coordinate_descent_finds() {
    for examples in [
        clouds(3000, 12, 2.0, 1),
        words(3000, 400, 3, 2),
        words(900, 60, 0, 3),
    ] {
        for c in [0.01, 1.0, 100.0] {
            for (scale, intercept) in [
                (Scale::None, true),
                (Scale::Standard, true),
                (Scale::Standard, false),
            ] {
                for (tolerance, apart) in [(1e-3, 1e-3), (1e-6, 1e-6)] {
                    let problem = problem(c, tolerance)
                        .with(|it| {
                            it.formulation.intercept = match intercept {
                                true => Intercept::InNorm,
                                false => Intercept::None,
                            }
                        })
                        .expect("valid");
                    let of = |problem| {
                        let settings = settings(PLENTY, scale, Threads::One);
                        let trained = train(problem, &examples, settings);
                        assert_certified(&trained, &problem, &examples);
                        primal(&trained, 0)
                    };
                    let (ours, theirs) = (of(problem), of(by_descent(problem)));
                    assert!(
                        (ours - theirs).abs() <= apart * theirs.max(ours),
                        "c {c}, {scale:?}: {ours} and {theirs}"
                    );
                }
            }
        }
    }
}

/// Rows of every kind that is awkward: few or many, columns of any size, constant, rare or alike, the same row again and
/// again, weights of rows, hardly any of one class.
fn awkward(seed: u64) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(seed);
    let rows = [2, 5, 30, 300, 3000][numbers.below(5)];
    let columns = Awkward::drawn(&mut numbers);
    let mut examples: Vec<OwnedExample> = Vec::new();
    for at in 0..rows {
        let again = at > 1 && numbers.uniform() < 0.1;
        examples.push(match again {
            true => examples[numbers.below(at)].clone(),
            false => columns.row(at, &mut numbers),
        });
    }
    examples
}

/// The columns of such rows.
struct Awkward {
    sparse: u32,
    rare: f64,
    /// Of the dense columns.
    sizes: Vec<f64>,
    centres: Vec<f64>,
}

impl Awkward {
    fn drawn(numbers: &mut Numbers) -> Self {
        let (dense, sparse) = (1 + numbers.below(30), numbers.below(40));
        let rare = [0.5, 0.1, 0.01][numbers.below(3)];
        let sizes = (0..dense).map(|_| 10f64.powi(numbers.below(6) as i32 - 3));
        let sizes = sizes.collect();
        Self {
            sparse: sparse as u32,
            rare,
            sizes,
            centres: (0..dense).map(|_| 5.0 * numbers.normal()).collect(),
        }
    }

    fn row(&self, at: usize, numbers: &mut Numbers) -> OwnedExample {
        let (sizes, centres) = (&self.sizes, &self.centres);
        let mut values: Vec<f64> = (0..sizes.len())
            .map(|j| match j % 5 {
                1 => 7.0,
                2 if numbers.uniform() > self.rare => 0.0,
                _ => sizes[j] * (centres[j] + numbers.normal()),
            })
            .collect();
        if values.len() > 4 {
            values[4] = 2.0 * values[3];
        }
        let positive = values[0] / sizes[0] - centres[0] + numbers.normal() > 1.0;
        let index = (0..self.sparse).filter(|_| numbers.uniform() < 0.1);
        let index: Vec<u32> = index.collect();
        OwnedExample {
            offset: None,
            group: if at < 2 { at as u32 } else { positive.into() },
            cost: match at % 3 {
                0 => 0.1,
                _ => 1.0 + 9.0 * numbers.uniform() as f32,
            },
            sparse_value: index.iter().map(|_| numbers.normal() as f32).collect(),
            sparse_index: index,
            dense: values,
        }
    }
}

#[test]
fn arrives_whatever_the_rows_are_like() {
    for seed in 0..40 {
        let examples = awkward(seed);
        // of a few rows of columns that are 10^5 apart in size some may be lost in rounding: what is claimed is true
        let check = match examples.len() < 300 {
            true => claims_no_more_than_is_true,
            false => arrives,
        };
        for c in [0.01, 1.0, 100.0] {
            for intercept in [true, false] {
                check(
                    problem(c, 1e-3)
                        .with(|it| {
                            it.formulation.intercept = match intercept {
                                true => Intercept::InNorm,
                                false => Intercept::None,
                            }
                        })
                        .expect("valid"),
                    &examples,
                );
            }
            check(problem(c, 1e-5), &examples);
            check(
                problem(c, 1e-3)
                    .with(|it| it.formulation.intercept = Intercept::Free)
                    .expect("valid"),
                &examples,
            );
        }
    }
}

fn claims_no_more_than_is_true(problem: Problem, examples: &[OwnedExample]) -> Trained {
    let problem = problem
        .with(|it| it.stopping.max_passes = Some(150))
        .expect("valid");
    let trained = train(
        problem,
        examples,
        settings(PLENTY, Scale::None, Threads::One),
    );
    let head = trained.trainer.report().unwrap().heads[0];
    if head.stop == Some(StopReason::Tolerance) {
        return arrives(problem, examples);
    }
    let (p, _) = closed_form(&trained, &problem, examples);
    let claimed = head.certificate;
    assert!((p - claimed.primal).abs() <= 1e-5 * p, "{p} {claimed:?}");
    assert!(claimed.gap > problem.tolerance() && claimed.gap <= 1.0);
    trained
}

#[test]
fn a_free_intercept_is_not_in_the_norm() {
    let mut examples = clouds(2000, 5, 2.0, 6);
    for example in &mut examples {
        example.dense.iter_mut().for_each(|x| *x += 20.0);
    }
    let problem = problem(0.01, 1e-5);
    let regularized = arrives(problem, &examples);
    let free = arrives(
        problem
            .with(|it| it.formulation.intercept = Intercept::Free)
            .expect("valid"),
        &examples,
    );
    assert!(primal(&free, 0) < 0.999 * primal(&regularized, 0));
    // moving all rows moves the intercept alone
    let weights = |trained: &Trained| trained.trainer.weights(0).iter().collect::<Vec<f64>>();
    for example in &mut examples {
        example.dense.iter_mut().for_each(|x| *x -= 20.0);
    }
    let moved = arrives(
        problem
            .with(|it| it.formulation.intercept = Intercept::Free)
            .expect("valid"),
        &examples,
    );
    for (a, b) in weights(&free).iter().zip(weights(&moved)) {
        assert!((a - b).abs() < 1e-2, "{a} {b}");
    }
    // dual variables balance
    let duals = free.trainer.duals(0);
    let sum: f64 = (0..examples.len())
        .map(|row| f64::from(duals.get(row)) * (2.0 * f64::from(examples[row].group) - 1.0))
        .sum();
    let all: f64 = duals.iter().map(f64::from).sum();
    assert!(sum.abs() < 1e-5 * all, "{sum} of {all}");
}

/// Rows of four classes.
fn quarters(rows: usize, features: usize) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(9);
    let row = |at: usize| {
        let class = if at < 4 { at } else { numbers.below(4) };
        let mut values: Vec<f64> = (0..features).map(|_| numbers.normal()).collect();
        values[class] += 1.5;
        OwnedExample::dense(class as u32, values)
    };
    (0..rows).map(row).collect()
}

fn against_the_rest(classes: usize, c: f64) -> Vec<HeadSpec> {
    let signs = |own| move |class| if class == own { 1 } else { -1 };
    (0..classes)
        .map(|own| HeadSpec::new((0..classes).map(signs(own)).collect::<Vec<i8>>(), c))
        .collect()
}

#[test]
fn heads_led_together_end_where_each_ends_alone() {
    for (rows, features) in [(3000, 6), (30_000, 10)] {
        let examples = quarters(rows, features);
        let problem = problem(1.0, 1e-6);
        let specs = against_the_rest(4, 1.0);
        let settings = settings(PLENTY, Scale::Standard, Threads::One);
        let all = train_examples(problem, specs.clone(), &examples, settings).unwrap();
        for (head, spec) in specs.into_iter().enumerate() {
            let alone = train_examples(problem, vec![spec.clone()], &examples, settings).unwrap();
            let (a, b) = (primal(&all, head), primal(&alone, 0));
            assert!((a - b).abs() <= 1e-6 * a.max(b), "{a} {b}");
            let found = recompute(&all, head, &spec, &problem, &examples);
            assert!((found.primal - a).abs() <= 1e-6 * a && found.dual >= (1.0 - 1e-4) * a);
        }
    }
}

#[test]
fn begins_where_another_training_ended() {
    let mut examples = clouds(20_000, 10, 2.0, 4);
    let problem = problem(1.0, 1e-3);
    let settings = settings(PLENTY, Scale::None, Threads::One);
    let whole = train(problem, &examples, settings);
    let weights = whole.trainer.weights(0);
    let start = || {
        vec![Start {
            duals: whole.trainer.duals(0).iter().collect(),
            weights: Some(weights.iter().chain([weights.intercept()]).collect()),
            updates: 0,
        }]
    };
    let specs = || vec![HeadSpec::binary(1.0)];
    let same = train_examples_from(problem, specs(), &examples, start(), settings).unwrap();
    assert_eq!(passes(&same), 1);
    for (at, other) in clouds(200, 10, 2.0, 5).into_iter().enumerate() {
        examples[at * 100] = other;
    }
    let changed = train_examples_from(problem, specs(), &examples, start(), settings).unwrap();
    assert!(passes(&changed) <= 2, "{}", passes(&changed));
    assert_certified(&changed, &problem, &examples);
}

/// A cache that holds about this part of the rows, and no less than what streaming takes.
fn small(examples: &[OwnedExample], part: f64) -> usize {
    let values: usize = examples
        .iter()
        .map(|it| 5 + it.dense.len() + 2 * it.sparse_index.len())
        .sum();
    ((4.0 * part * values as f64) as usize).max(40_000)
}

#[test]
fn rows_that_stream_end_where_rows_in_the_cache_do() {
    let weighted = awkward(7);
    for examples in [
        clouds(6000, 12, 2.0, 1),
        words(6000, 300, 3, 2),
        weighted.into_iter().cycle().take(6000).collect(),
    ] {
        for (c, scale) in [
            (0.01, Scale::Standard),
            (1.0, Scale::None),
            (100.0, Scale::Standard),
        ] {
            for (part, threads) in [(0.05, Threads::One), (0.5, Threads::Two)] {
                for tolerance in [1e-3, 1e-6] {
                    let problem = problem(c, tolerance);
                    let cache = small(&examples, part);
                    let streamed = train(problem, &examples, settings(cache, scale, threads));
                    let whole = train(problem, &examples, settings(PLENTY, scale, Threads::One));
                    let report = streamed.trainer.report().unwrap();
                    assert!(report.newton && !report.resident, "{report:?}");
                    assert!(report.passes <= 30, "{report:?}");
                    assert_certified(&streamed, &problem, &examples);
                    let (a, b) = (primal(&streamed, 0), primal(&whole, 0));
                    assert!((a - b).abs() <= tolerance * a.max(b), "{a} {b}");
                }
            }
        }
    }
}

#[test]
fn streamed_rows_arrive_whatever_they_are_like() {
    for seed in 0..40 {
        let examples = awkward(seed);
        if examples.len() < 3000 {
            continue;
        }
        for c in [0.01, 1.0, 100.0] {
            for problem in [
                problem(c, 1e-3),
                problem(c, 1e-5)
                    .with(|it| it.formulation.intercept = Intercept::None)
                    .expect("valid"),
                problem(c, 1e-4)
                    .with(|it| it.formulation.intercept = Intercept::Free)
                    .expect("valid"),
            ] {
                let cache = small(&examples, 0.1);
                let settings = settings(cache, Scale::None, Threads::One);
                let trained = train(problem, &examples, settings);
                let report = trained.trainer.report().unwrap();
                assert!(report.newton && !report.resident);
                let head = report.heads[0];
                assert_eq!(head.stop, Some(StopReason::Tolerance), "{report:?}");
                let (p, d) = closed_form(&trained, &problem, &examples);
                let claimed = head.certificate;
                assert!((p - claimed.primal).abs() <= 1e-7 * p, "{p} {claimed:?}");
                assert!((p - d) / p <= problem.tolerance() + 1e-4, "{p} {d}");
            }
        }
    }
}

#[test]
fn streamed_heads_share_passes() {
    let examples = quarters(8000, 10);
    let problem = problem(1.0, 1e-6);
    let specs = against_the_rest(4, 1.0);
    let cache = small(&examples, 0.2);
    let all = |cache| {
        let settings = settings(cache, Scale::Standard, Threads::One);
        train_examples(problem, specs.clone(), &examples, settings).unwrap()
    };
    let (streamed, whole) = (all(cache), all(PLENTY));
    let report = streamed.trainer.report().unwrap();
    assert!(!report.resident && report.passes < 20, "{report:?}");
    for (head, spec) in specs.iter().enumerate() {
        let (a, b) = (primal(&streamed, head), primal(&whole, head));
        assert!((a - b).abs() <= 1e-6 * a.max(b), "{a} {b}");
        let found = recompute(&streamed, head, spec, &problem, &examples);
        assert!((found.primal - a).abs() <= 1e-6 * a && found.dual >= (1.0 - 1e-4) * a);
    }
}

#[test]
fn streamed_rows_begin_where_another_training_ended_and_go_on_where_passes_run_out() {
    let examples = clouds(8000, 10, 2.0, 4);
    let settings = settings(small(&examples, 0.1), Scale::None, Threads::One);
    let whole = train(problem(1.0, 1e-3), &examples, settings);
    let weights = whole.trainer.weights(0);
    let start = vec![Start {
        duals: whole.trainer.duals(0).iter().collect(),
        weights: Some(weights.iter().chain([weights.intercept()]).collect()),
        updates: 0,
    }];
    let specs = vec![HeadSpec::binary(1.0)];
    let same = train_examples_from(problem(1.0, 1e-3), specs, &examples, start, settings).unwrap();
    assert_eq!(passes(&same), 1);
    let short = problem(1.0, 1e-9)
        .with(|it| it.stopping.max_passes = Some(3))
        .expect("valid");
    let trained = train(short, &examples, settings);
    let report = trained.trainer.report().unwrap();
    assert_eq!(report.heads[0].stop, Some(StopReason::MaxPasses));
    let claimed = report.heads[0].certificate;
    let (p, _) = closed_form(&trained, &short, &examples);
    assert!((p - claimed.primal).abs() <= 1e-6 * p, "{p} {claimed:?}");
    assert!(claimed.gap > 1e-9 && claimed.gap <= 1.0, "{claimed:?}");
}

/// The rows with their sparse features far apart: too many for a matrix.
fn spread(mut examples: Vec<OwnedExample>) -> Vec<OwnedExample> {
    for example in &mut examples {
        for index in &mut example.sparse_index {
            *index = 5000 - 97 * *index;
        }
        example.sparse_index.reverse();
        example.sparse_value.reverse();
    }
    examples
}

#[test]
fn many_features_arrive_by_products() {
    for examples in [
        words(3000, 9000, 0, 1),
        words(900, 30_000, 3, 2),
        spread(words(4000, 40, 5, 3)),
    ] {
        for (c, scale) in [
            (0.01, Scale::None),
            (1.0, Scale::Standard),
            (100.0, Scale::None),
        ] {
            for tolerance in [1e-3, 1e-6] {
                let problem = problem(c, tolerance);
                let of = |problem, cache| {
                    let trained = train(problem, &examples, settings(cache, scale, Threads::One));
                    assert_certified(&trained, &problem, &examples);
                    trained
                };
                let whole = of(problem, PLENTY);
                let streamed = of(problem, small(&examples, 0.1));
                let theirs = primal(&of(by_descent(problem), PLENTY), 0);
                for ours in [&whole, &streamed] {
                    assert!(ours.trainer.report().unwrap().newton);
                    let ours = primal(ours, 0);
                    assert!(
                        (ours - theirs).abs() <= tolerance * theirs.max(ours),
                        "{ours} {theirs}"
                    );
                }
            }
        }
    }
}

#[test]
fn products_arrive_whatever_the_rows_are_like() {
    for seed in 0..60 {
        let examples = spread(awkward(seed));
        if examples.len() < 300 || examples.iter().all(|it| it.sparse_index.is_empty()) {
            continue;
        }
        for c in [0.01, 1.0, 100.0] {
            for problem in [
                problem(c, 1e-3),
                problem(c, 1e-3)
                    .with(|it| it.formulation.intercept = Intercept::None)
                    .expect("valid"),
                problem(c, 1e-4),
                problem(c, 1e-3)
                    .with(|it| it.formulation.intercept = Intercept::Free)
                    .expect("valid"),
            ] {
                arrives(problem, &examples);
            }
        }
    }
}

#[test]
fn few_rows_arrive_nearly_always() {
    let (mut all, mut arrived) = (0, 0);
    for seed in 0..100 {
        let examples = awkward(seed);
        if examples.len() >= 300 {
            continue;
        }
        for c in [0.01, 1.0, 100.0] {
            for free in [false, true] {
                let problem = problem(c, 1e-3)
                    .with(|it| {
                        it.formulation.intercept = match free {
                            true => Intercept::Free,
                            false => Intercept::InNorm,
                        }
                    })
                    .expect("valid");
                let trained = claims_no_more_than_is_true(problem, &examples);
                let head = trained.trainer.report().unwrap().heads[0];
                all += 1;
                arrived += usize::from(head.stop == Some(StopReason::Tolerance));
            }
        }
    }
    assert!(100 * arrived >= 99 * all, "{arrived} of {all}");
}

#[test]
fn many_features_of_several_classes_share_passes() {
    let mut examples = quarters(3000, 8);
    for (at, example) in examples.iter_mut().enumerate() {
        example.sparse_index = vec![(at % 11) as u32, 4000];
        example.sparse_value = vec![1.0, 0.5];
    }
    let problem = problem(1.0, 1e-6);
    let specs = against_the_rest(4, 1.0);
    for cache in [PLENTY, small(&examples, 0.2)] {
        let settings = settings(cache, Scale::Standard, Threads::One);
        let trained = train_examples(problem, specs.clone(), &examples, settings).unwrap();
        for (head, spec) in specs.iter().enumerate() {
            let a = primal(&trained, head);
            let found = recompute(&trained, head, spec, &problem, &examples);
            assert!((found.primal - a).abs() <= 1e-6 * a && found.dual >= (1.0 - 1e-4) * a);
        }
    }
}

#[test]
fn says_why_it_cannot_lead() {
    let examples = clouds(3000, 12, 2.0, 1);
    let wide = vec![
        OwnedExample::sparse(0, &[(0, 1.0)]),
        OwnedExample::sparse(1, &[(100_000, 1.0)]),
    ];
    let run = |problem: Problem, examples: &[OwnedExample], cache: usize| {
        let settings = settings(cache, Scale::None, Threads::One);
        match train_examples(problem, vec![HeadSpec::binary(1.0)], examples, settings) {
            Err(EngineError::Train(TrainError::NewtonLoss)) => None,
            trained => Some(trained.unwrap().trainer.report().unwrap().newton),
        }
    };
    let squared = problem(1.0, 1e-3);
    let hinge = Problem::new(Loss::Hinge, 1.0, 1e-3).unwrap();
    assert_eq!(
        run(
            hinge
                .with(|it| it.solver = SolverChoice::Newton)
                .expect("valid"),
            &examples,
            PLENTY
        ),
        None
    );
    for (examples, cache) in [(&examples, PLENTY), (&examples, 60_000), (&wide, PLENTY)] {
        assert_eq!(run(squared, examples, cache), Some(true));
        assert_eq!(
            run(
                squared
                    .with(|it| it.solver = SolverChoice::Stream)
                    .expect("valid"),
                examples,
                cache
            ),
            Some(false)
        );
    }
    // where that is left open, another way is taken
    assert_eq!(
        run(
            squared
                .with(|it| it.solver = SolverChoice::Auto)
                .expect("valid"),
            &wide,
            PLENTY
        ),
        Some(false)
    );
}
