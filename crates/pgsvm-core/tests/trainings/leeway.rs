//! Leeways: weights that move by less leave a row without loss.

use crate::common::*;
use pgsvm_core::engine::{MemorySpool, OwnedExample, SliceSource};
use pgsvm_core::leeway::{leeway_of, Metric, Ruler};
use pgsvm_core::{
    Blocks, Cache, Goal, HeadSpec, Leeways, Loss, Problem, Reader, ReaderJob, Scale, Scaling,
    SolverChoice, Step, Trainer,
};

const ALL_IN_CACHE: usize = 64 << 20;

/// A trained head: leeways, and what they are about.
struct Measured {
    leeways: Option<Leeways>,
    /// The intercept last.
    weights: Vec<f64>,
    duals: Vec<f32>,
    scaling: Scaling,
    resident: bool,
}

fn train_measured(
    examples: &[OwnedExample],
    problem: Problem,
    goal: impl Into<Goal>,
    (scale, cache_bytes): (Scale, usize),
) -> Measured {
    let cache = Cache::in_memory(cache_bytes).expect("memory");
    let source = SliceSource::new(examples);
    let job = ReaderJob::new(scale, &problem);
    let mut reader = Reader::new(cache.clone(), job, source, MemorySpool::default()).expect("free");
    let mut trainer = Trainer::new(cache, problem, goal).expect("free");
    trainer.measure_leeways(Vec::new());
    for _ in 0..10_000_000 {
        reader.step(100).expect("reads");
        if trainer.step(1000).expect("trains") == Step::Done {
            break;
        }
    }
    let weights = trainer.weights(0);
    Measured {
        leeways: trainer.leeways().map(|it| it.copied().unwrap()),
        duals: trainer.duals(0).iter().collect(),
        weights: weights.iter().chain([weights.intercept()]).collect(),
        scaling: reader.report().unwrap().scaling,
        resident: trainer.report().unwrap().resident,
    }
}

/// The values of a row that are scaled, by feature, and its margin at these weights.
fn scaled(example: &OwnedExample, scaling: &Scaling) -> Vec<(u32, f32)> {
    let dense = (0u32..).zip(example.dense.iter().copied());
    let offset = example.dense.len() as u32;
    let sparse = example.sparse_index.iter().zip(&example.sparse_value);
    let sparse = sparse.map(|(index, value)| (offset + index, f64::from(*value)));
    dense
        .chain(sparse)
        .map(|(feature, raw)| (feature, scaling.scaled(feature as usize, raw) as f32))
        .collect()
}

fn margin(example: &OwnedExample, values: &[(u32, f32)], weights: &[f64]) -> f64 {
    let (intercept, weights) = weights.split_last().expect("an intercept");
    let sign = if example.group == 0 { -1.0 } else { 1.0 };
    let products = values.iter();
    let products = products.map(|(feature, x)| weights[*feature as usize] * f64::from(*x));
    sign * (products.sum::<f64>() + intercept)
}

/// Checks every row's leeway, and gives back the share of rows that have some.
fn share_with_leeway(examples: &[OwnedExample], measured: &Measured) -> f64 {
    let leeways = measured.leeways.as_ref().expect("leeways");
    assert_eq!(leeways.codes.len(), examples.len());
    let dense = measured.scaling.dense;
    let rulers = leeways.metrics.iter();
    let rulers: Vec<_> = rulers.map(|metric| Ruler::new(metric, dense)).collect();
    let mut numbers = Numbers::new(7);
    let mut with_leeway = 0;
    for (row, (example, code)) in examples.iter().zip(&leeways.codes).enumerate() {
        let leeway = leeway_of(*code);
        if *code == 0 {
            continue;
        }
        with_leeway += 1;
        assert_eq!(measured.duals[row], 0.0);
        let values = scaled(example, &measured.scaling);
        let (of_dense, sparse) = values.split_at(dense);
        let of_dense: Vec<f32> = of_dense.iter().map(|(_, x)| *x).collect();
        let group = example.group as usize;
        let length = rulers[group].length(&of_dense, sparse.iter().copied());
        let before = margin(example, &values, &measured.weights);
        assert!(before - 1.0 >= 0.9999 * leeway * length, "row {row}");
        // any weights that are no further away hold the row, too
        let metric = &leeways.metrics[group];
        let moved = moved_by(leeway, &measured.weights, metric, &mut numbers);
        assert!(margin(example, &values, &moved) >= 0.9999, "row {row}");
    }
    f64::from(with_leeway) / examples.len() as f64
}

/// Weights that are as far from these.
fn moved_by(far: f64, weights: &[f64], metric: &Metric, numbers: &mut Numbers) -> Vec<f64> {
    let change: Vec<f64> = weights.iter().map(|_| numbers.normal()).collect();
    let (shift, changes) = change.split_last().expect("an intercept");
    let distance = metric.distance(changes.iter().copied(), *shift);
    let moved = weights.iter().zip(&change);
    moved.map(|(w, d)| w + d * far / distance).collect()
}

fn problem() -> Problem {
    Problem::new(Loss::Hinge, 1.0, 1e-3).expect("valid")
}

#[test]
fn weights_within_a_rows_leeway_leave_it_without_loss() {
    let dense = clouds(3000, 6, 2.5, 1);
    let sparse = by_first_appearance(words(3000, 300, 3, 2));
    for (examples, scale, least) in [
        (&dense, Scale::None, 0.5),
        (&dense, Scale::Standard, 0.5),
        (&sparse, Scale::None, 0.0),
        (&sparse, Scale::MaxAbs, 0.0),
    ] {
        for cache in [ALL_IN_CACHE, 64 << 10] {
            let measured = train_measured(
                examples,
                problem(),
                vec![HeadSpec::binary(1.0)],
                (scale, cache),
            );
            assert_eq!(measured.resident, cache == ALL_IN_CACHE);
            assert!(share_with_leeway(examples, &measured) >= least);
        }
    }
}

#[test]
fn given_metrics_are_kept() {
    let examples = clouds(2000, 4, 2.5, 3);
    let first = train_measured(
        &examples,
        problem(),
        vec![HeadSpec::binary(1.0)],
        (Scale::None, ALL_IN_CACHE),
    );
    let metrics = first.leeways.expect("leeways").metrics;
    let cache = Cache::in_memory(ALL_IN_CACHE).expect("memory");
    let job = ReaderJob::new(Scale::None, &problem());
    let source = SliceSource::new(&examples[..1000]);
    let mut reader = Reader::new(cache.clone(), job, source, MemorySpool::default()).expect("free");
    let mut trainer = Trainer::new(cache, problem(), vec![HeadSpec::binary(1.0)]).expect("free");
    trainer.measure_leeways(metrics.clone());
    while trainer.step(1000).expect("trains") != Step::Done {
        reader.step(100).expect("reads");
    }
    assert_eq!(trainer.leeways().expect("leeways").metrics, metrics);
}

#[test]
fn a_scaling_that_is_kept_is_the_one_that_rows_get() {
    let examples = clouds(400, 3, 2.0, 4);
    let cache = Cache::in_memory(ALL_IN_CACHE).expect("memory");
    let job = ReaderJob::new(Scale::Standard, &problem());
    let source = SliceSource::new(&examples);
    let mut reader = Reader::new(cache.clone(), job, source, MemorySpool::default()).expect("free");
    let kept = Scaling {
        centre: vec![0.5, -1.0, 0.0],
        factor: vec![2.0, 0.25, 1.0],
        sparse_factor: Vec::new(),
        dense: 3,
    };
    reader.keep_scaling(kept.copied().unwrap());
    let mut trainer = Trainer::new(cache, problem(), vec![HeadSpec::binary(1.0)]).expect("free");
    while trainer.step(1000).expect("trains") != Step::Done {
        reader.step(100).expect("reads");
    }
    assert_eq!(reader.report().unwrap().scaling, kept);
    // the certificate is that of rows scaled like this
    let weights = trainer.weights(0);
    let weights: Vec<f64> = weights.iter().chain([weights.intercept()]).collect();
    let primal = primal(&examples, &kept, &weights);
    let certified = trainer.report().unwrap().heads[0].certificate.primal;
    assert!(
        (primal - certified).abs() <= 1e-4 * primal,
        "{primal} {certified}"
    );
}

/// P at C = 1 of weights, the intercept's last, for rows scaled like this.
fn primal(examples: &[OwnedExample], scaling: &Scaling, weights: &[f64]) -> f64 {
    let losses = examples
        .iter()
        .map(|it| (1.0 - margin(it, &scaled(it, scaling), weights)).max(0.0));
    let norm: f64 = weights.iter().map(|w| w * w).sum();
    0.5 * norm + losses.sum::<f64>()
}

#[test]
fn rows_of_several_heads_of_blocks_and_of_trainings_that_do_not_arrive_have_none() {
    let examples = clouds(500, 4, 1.0, 5);
    let two = vec![HeadSpec::binary(1.0), HeadSpec::binary(0.1)];
    let in_cache = (Scale::None, ALL_IN_CACHE);
    assert_eq!(
        train_measured(&examples, problem(), two, in_cache).leeways,
        None
    );
    let one = || vec![HeadSpec::binary(1.0)];
    let blocks = problem()
        .with(|it| it.solver = SolverChoice::Block(Blocks::USUAL))
        .expect("valid");
    let small = (Scale::None, 16 << 10);
    assert_eq!(
        train_measured(&examples, blocks, one(), small).leeways,
        None
    );
    let short = Problem::new(Loss::Hinge, 100.0, 1e-9).expect("valid");
    let short = short
        .with(|it| it.stopping.max_passes = Some(1))
        .expect("valid");
    assert_eq!(
        train_measured(&examples, short, one(), in_cache).leeways,
        None
    );
}
