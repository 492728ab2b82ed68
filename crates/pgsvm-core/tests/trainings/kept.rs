//! The best is kept: what a training ends with is the best primal and the best dual that it has come to, whatever came
//! after them, and it has their weights and dual variables.

use crate::common::*;
use pgsvm_core::engine::{train_examples, MemorySpool, OwnedExample, SliceSource, Threads};
use pgsvm_core::{
    Blocks, Cache, HeadSpec, Inner, Loss, Phase, Policy, Problem, Reader, ReaderJob, Scale,
    SolverChoice, Step, StopReason, Timing, Trainer, Updates,
};

/// Overlapping clouds, some of their columns far from 0 and far from 1 in size.
fn unscaled(rows: usize, features: usize, classes: usize, seed: u64) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(seed);
    let columns: Vec<(f64, f64)> = (0..features)
        .map(|j| {
            let size = 10f64.powi(((seed as usize + j) % 4) as i32);
            (size * 5.0 * numbers.uniform(), size)
        })
        .collect();
    let row = |n: usize| {
        let class = n % classes;
        let values = columns.iter().enumerate().map(|(j, (mean, size))| {
            let shift = if j % classes == class { 1.0 } else { 0.0 };
            mean + size * (shift + numbers.normal())
        });
        OwnedExample::dense(class as u32, values.collect())
    };
    (0..rows).map(row).collect()
}

struct Case {
    problem: Problem,
    heads: Vec<HeadSpec>,
    examples: Vec<OwnedExample>,
    cache_bytes: usize,
}
const POLICIES: [Policy; 5] = [
    Policy::Cached,
    Policy::Cached,
    Policy::Paper,
    Policy::Block,
    Policy::SelectiveBlock,
];

fn case(seed: u64) -> Case {
    let pick = |n: u64| (seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (8 * n)) as usize;
    let (rows, features) = (300 + pick(1) % 900, 3 + pick(2) % 9);
    let classes = if pick(3) % 3 == 0 { 3 } else { 2 };
    let loss = [Loss::Hinge, Loss::SquaredHinge][pick(4) % 2];
    let c = [0.01, 1.0, 100.0, 10_000.0][pick(5) % 4];
    let policy = POLICIES[pick(6) % 5];
    let mut problem = Problem::new(loss, c, 1e-3)
        .and_then(|it| it.with(|it| it.stopping.max_passes = Some(1 + (pick(7) % 40) as u32)))
        .expect("valid")
        .with(|it| it.seed = seed)
        .expect("valid")
        .with_timing(Timing::Lockstep)
        .with(|it| it.solver = policy.into())
        .expect("valid");
    if policy == Policy::Block && loss == Loss::Hinge && classes == 2 {
        problem = problem
            .with(|it| {
                it.solver = SolverChoice::Block(Blocks::solved_by(Inner::Pegasos(Updates::Row)))
            })
            .expect("the hinge loss");
    }
    let share = [2.0, 0.2, 0.5, 0.9][(seed % 4) as usize];
    let words = rows * (features + 8);
    Case {
        problem,
        heads: heads(classes, c),
        examples: unscaled(rows, features, classes, seed),
        cache_bytes: (4.0 * words as f64 * share) as usize + 40_000,
    }
}

fn heads(classes: usize, c: f64) -> Vec<HeadSpec> {
    let head = |class: usize| {
        let side = |other| if other == class { 1 } else { -1 };
        HeadSpec::new((0..classes).map(side).collect::<Vec<i8>>(), c)
    };
    match classes {
        2 => vec![HeadSpec::binary(c)],
        _ => (0..classes).map(head).collect(),
    }
}

/// Trains step by step, and gives back the smallest gap of each head that it told on the way, and what it tells in the end.
fn told(case: &Case) -> (Vec<f64>, Trainer) {
    let cache = Cache::in_memory(case.cache_bytes).expect("a cache");
    let source = SliceSource::new(&case.examples);
    let job = ReaderJob::new(Scale::None, &case.problem);
    let mut reader =
        Reader::new(cache.clone(), job, source, MemorySpool::default()).expect("a reader");
    while cache.phase() == Phase::Loading {
        reader.step(256).expect("rows are read");
    }
    let mut trainer = Trainer::new(cache, case.problem, case.heads.clone()).expect("a trainer");
    let mut least = vec![f64::INFINITY; case.heads.len()];
    loop {
        while reader.step(64).expect("rows come") == Step::Progress {}
        let step = trainer.step(500).expect("it trains");
        let report = trainer.report().expect("memory for a report");
        for (least, head) in least.iter_mut().zip(&report.heads) {
            *least = least.min(head.certificate.gap);
        }
        if step == Step::Done {
            return (least, trainer);
        }
    }
}

#[test]
fn nothing_that_was_told_on_the_way_was_better_than_the_end() {
    for seed in 0..60 {
        let case = case(seed);
        let (least, trainer) = told(&case);
        let report = trainer.report().expect("memory for a report");
        for (least, head) in least.iter().zip(&report.heads) {
            let gap = head.certificate.gap;
            // told on the way from sums; proved of dual variables that are rounded to 32 bits when they are shrunk, which the
            // log knows in the end
            assert!(gap <= least + 1e-3, "seed {seed}: {gap} after {least}");
            // a tolerance once met is the end
            if *least <= 0.999e-3 {
                assert_eq!(head.stop, Some(StopReason::Tolerance), "seed {seed}");
            }
        }
        let worst = report.heads.iter().map(|it| it.certificate.gap);
        let worst = worst.fold(0.0, f64::max);
        for entry in trainer.log().expect("memory for the log") {
            if let Some(gap) = entry.gap {
                assert!(worst <= gap, "seed {seed}: {worst} after {entry:?}");
            }
        }
    }
}

#[test]
fn what_it_ends_with_is_what_it_says() {
    for seed in 0..60 {
        let case = case(seed);
        let settings = settings(case.cache_bytes, Scale::None, Threads::One);
        let trained = train_examples(case.problem, case.heads.clone(), &case.examples, settings)
            .expect("training works");
        let report = trained.trainer.report().expect("memory for a report");
        for (number, (spec, head)) in case.heads.iter().zip(&report.heads).enumerate() {
            let found = recompute(&trained, number, spec, &case.problem, &case.examples);
            let told = head.certificate;
            assert!(
                (told.primal - found.primal).abs() <= 3e-5 * told.primal,
                "{seed}: {told:?}"
            );
            // dual variables are handed over in 32 bits, and large terms of many rows cancel each other in v
            let duals = trained.trainer.duals(number);
            let lengths = duals.iter().zip(&case.examples).map(|(alpha, example)| {
                let squares: f64 = example.dense.iter().map(|x| x * x).sum();
                f64::from(alpha) * (1.0 + squares).sqrt()
            });
            let rounding = lengths.sum::<f64>() * 6e-8;
            let slack = rounding * ((2.0 * told.primal).sqrt() + rounding) + 3e-5 * told.primal;
            assert!(
                (told.dual - found.dual).abs() <= slack,
                "{seed}: {told:?} {}",
                found.dual
            );
        }
    }
}
