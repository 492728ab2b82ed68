//! Generated examples, and an independent recomputation of everything a training claims.

mod numbers;
pub mod parts;
pub mod shared_machines;

pub use numbers::Numbers;
use pgsvm_core::engine::{train_examples, OwnedExample, Settings, Threads, Trained};
use pgsvm_core::{HeadSpec, Loss, Problem, Scale, StopReason};

/// Rings around each other, as many as there are classes; every tenth row is of another class than its ring says.
pub fn rings(rows: usize, classes: u32, seed: u64) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(seed);
    (0..rows)
        .map(|row| {
            let ring = row as u32 % classes;
            let angle = 6.3 * numbers.uniform();
            let radius = 1.0 + f64::from(ring) + 0.2 * numbers.normal();
            let class = if row % 10 == 3 {
                (ring + 1) % classes
            } else {
                ring
            };
            OwnedExample {
                cost: 0.5 + (row % 3) as f32,
                ..OwnedExample::dense(class, vec![radius * angle.cos(), radius * angle.sin()])
            }
        })
        .collect()
}

/// Two overlapping clouds.
pub fn clouds(rows: usize, features: usize, distance: f64, seed: u64) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(seed);
    let row = |_| {
        let class = u32::from(numbers.uniform() < 0.4);
        let shift = distance * (f64::from(class) - 0.5) / (features as f64).sqrt();
        OwnedExample::dense(
            class,
            (0..features).map(|_| numbers.normal() + shift).collect(),
        )
    };
    by_first_appearance((0..rows).map(row).collect())
}

/// Rows of two classes with the class ids that they are given, by first appearance.
pub fn by_first_appearance(mut rows: Vec<OwnedExample>) -> Vec<OwnedExample> {
    if rows[0].group == 1 {
        rows.iter_mut().for_each(|row| row.group = 1 - row.group);
    }
    rows
}

/// Sparse rows with a noisy linear rule, with `dense` dense features in front.
pub fn words(rows: usize, features: usize, dense: usize, seed: u64) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(seed);
    let rule: Vec<f64> = (0..features).map(|_| numbers.normal()).collect();
    let mut examples = Vec::new();
    for _ in 0..rows {
        let mut index: Vec<u32> = (0..1 + numbers.below(12))
            .map(|_| numbers.below(features) as u32)
            .collect();
        index.sort_unstable();
        index.dedup();
        let value: Vec<f32> = index
            .iter()
            .map(|_| (1.0 + numbers.below(3) as f32) * 0.5)
            .collect();
        let score: f64 = index
            .iter()
            .zip(&value)
            .map(|(j, x)| rule[*j as usize] * f64::from(*x))
            .sum();
        examples.push(OwnedExample {
            offset: None,
            group: u32::from(score + numbers.normal() > 0.0),
            cost: 1.0,
            dense: (0..dense).map(|_| 3.0 + 2.0 * numbers.normal()).collect(),
            sparse_index: index,
            sparse_value: value,
        });
    }
    examples
}

pub fn settings(cache_bytes: usize, scale: Scale, threads: Threads) -> Settings {
    Settings::new(cache_bytes, scale, threads)
}

pub fn train(problem: Problem, examples: &[OwnedExample], settings: Settings) -> Trained {
    train_examples(
        problem,
        vec![HeadSpec::binary(problem.c())],
        examples,
        settings,
    )
    .expect("training works")
}

/// A row after scaling, as sparse f64 entries, computed from the reported scaling alone.
fn scaled(example: &OwnedExample, trained: &Trained) -> Vec<(usize, f64)> {
    let scaling = &trained.reader.scaling;
    let dense = example.dense.iter().enumerate().map(|(j, x)| {
        let factor = scaling.factor.get(j).copied().unwrap_or(1.0);
        let moved = match scaling.centre.get(j) {
            Some(centre) => x - centre,
            // kept in 32 bits until the factor was known
            None => f64::from(*x as f32),
        };
        (j, f64::from((moved * factor) as f32))
    });
    let offset = example.dense.len();
    let sparse = example
        .sparse_index
        .iter()
        .zip(&example.sparse_value)
        .map(|(j, x)| {
            let factor = scaling
                .sparse_factor
                .get(*j as usize)
                .copied()
                .unwrap_or(1.0);
            (offset + *j as usize, f64::from(x * factor))
        });
    dense.chain(sparse).collect()
}

/// What a training claims, computed anew.
pub struct Recomputed {
    pub primal: f64,
    pub dual: f64,
    pub accuracy: f64,
}

/// Primal, dual and accuracy of a head from its weights and dual variables, over all rows; checks feasibility.
pub fn recompute(
    trained: &Trained,
    head: usize,
    spec: &HeadSpec,
    problem: &Problem,
    examples: &[OwnedExample],
) -> Recomputed {
    let weights = trained.trainer.weights(head);
    let duals = trained.trainer.duals(head);
    assert_eq!(duals.len(), examples.len());
    let bias = if problem.intercept() { 1.0 } else { 0.0 };
    let mut v = vec![0.0; weights.len() + 1];
    let (mut loss_sum, mut dual, mut correct, mut rows) = (0.0, 0.0, 0, 0);
    for (example, alpha) in examples.iter().zip(duals.iter()) {
        let y = f64::from(spec.signs.of(example.group as usize));
        if y == 0.0 {
            assert_eq!(alpha, 0.0);
            continue;
        }
        let row = scaled(example, trained);
        let weight = if y > 0.0 { spec.positive_weight } else { 1.0 };
        let bound = spec.c * f64::from(example.cost) * f64::from(weight);
        let score = row.iter().map(|(j, x)| weights.get(*j) * x).sum::<f64>();
        let offset = match (example.offset, &trained.reader.targets) {
            (Some(label), Some(targets)) => targets.offset(label, y),
            (offset, _) => offset.unwrap_or(0.0),
        };
        let margin = y * (score + bias * weights.intercept() + offset);
        let alpha = f64::from(alpha);
        let (loss, gain) = loss_and_gain(problem.loss(), margin, alpha, bound);
        loss_sum += loss;
        dual += gain - alpha * y * offset;
        correct += u64::from(margin > 0.0 || (margin == 0.0 && y > 0.0));
        rows += 1;
        for (j, x) in row {
            v[j] += alpha * y * x;
        }
        *v.last_mut().expect("one entry for the intercept") += bias * alpha * y;
    }
    let mut norm: f64 = weights.iter().map(|w| w * w).sum::<f64>() + weights.intercept().powi(2);
    if problem.free_intercept() {
        norm -= weights.intercept().powi(2);
        let unbalanced = v.last_mut().map_or(0.0, std::mem::take);
        let all: f64 = duals.iter().map(f64::from).sum();
        assert!(unbalanced.abs() <= 1e-6 * all, "{unbalanced} of {all}");
    }
    Recomputed {
        primal: 0.5 * norm + loss_sum,
        dual: dual - 0.5 * v.iter().map(|v| v * v).sum::<f64>(),
        accuracy: correct as f64 / f64::from(rows.max(1)),
    }
}

/// What a row adds to the primal and to the dual, but for the norms; checks feasibility.
fn loss_and_gain(loss: Loss, margin: f64, alpha: f64, bound: f64) -> (f64, f64) {
    assert!(alpha >= 0.0);
    let feasible = loss.unbounded() || alpha <= bound;
    assert!(feasible, "a dual variable {alpha} above its bound {bound}");
    let gain = match loss.curvature() {
        0.0 => alpha,
        curvature => alpha - alpha * alpha / (2.0 * curvature * bound),
    };
    (bound * loss.value(margin), gain)
}

/// Checks the certificate of the first head against the recomputation, and that it is within the tolerance.
pub fn assert_certified(trained: &Trained, problem: &Problem, examples: &[OwnedExample]) {
    let report = trained.trainer.report().unwrap();
    assert_eq!(
        report.heads[0].stop,
        Some(StopReason::Tolerance),
        "{report:?}"
    );
    assert!(report.heads[0].certificate.gap <= problem.tolerance());
    assert_honest(trained, problem, examples);
}

/// Checks that the certificate of the first head says the truth, whatever the gap.
pub fn assert_honest(trained: &Trained, problem: &Problem, examples: &[OwnedExample]) {
    let head = trained.trainer.report().unwrap().heads[0];
    let claimed = head.certificate;
    let found = recompute(
        trained,
        0,
        &HeadSpec::binary(problem.c()),
        problem,
        examples,
    );
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-5 * (a.abs() + b.abs()) + 1e-300;
    assert!(
        close(claimed.primal, found.primal),
        "primal claimed {} found {}",
        claimed.primal,
        found.primal
    );
    // dual variables are handed over in 32 bits: at C = 1e6 their rounding is in |v|^2
    let scale = claimed.primal.abs();
    assert!(
        (claimed.dual - found.dual).abs() <= 3e-5 * scale,
        "dual claimed {} found {}",
        claimed.dual,
        found.dual
    );
    assert!(claimed.gap >= 0.0 && claimed.gap.is_finite());
    assert!(((claimed.primal - claimed.dual) / claimed.primal - claimed.gap).abs() <= 1e-9);
    assert!((head.training_accuracy - found.accuracy).abs() <= 2.0 / examples.len() as f64 + 1e-12);
}

/// Rows of three classes around as many points of a circle.
pub fn on_a_circle(count: usize) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(13);
    let row = |k: usize| {
        let class = if k < 3 { k } else { numbers.below(3) };
        let angle = class as f64 * 2.0;
        let point = vec![
            angle.cos() + 0.6 * numbers.normal(),
            angle.sin() + 0.6 * numbers.normal(),
            numbers.normal(),
        ];
        OwnedExample::dense(class as u32, point)
    };
    (0..count).map(row).collect()
}

/// These rows with the labels of a share of them wrong.
pub fn flipped(mut examples: Vec<OwnedExample>, share: f64, seed: u64) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(seed);
    for example in examples.iter_mut().skip(1) {
        if numbers.uniform() < share {
            example.group = 1 - example.group;
        }
    }
    examples
}
