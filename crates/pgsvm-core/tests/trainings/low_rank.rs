//! Kernel machines of low rank, from the rows to their decisions.

use crate::common::{clouds, settings, words, Numbers};
use pgsvm_core::engine::{
    train_low_rank, EngineError, LowRankFailure, MemorySpool, OwnedExample, Settings, SliceSource,
    Threads, TrainedLowRank,
};
use pgsvm_core::kernels::{Expansion, Kernel, KernelError, KernelKind, KernelSpec, Room, Rows};
use pgsvm_core::plan::{Folds, Goal, Plan};
use pgsvm_core::{
    HeadSpec, LandmarkChoice, Loss, LowRankError, LowRankJob, LowRankSource, Problem, ReadError,
    Scale, Source, StopReason,
};

type Failure<'a> = LowRankFailure<SliceSource<'a>, MemorySpool>;

fn rbf(gamma: Option<f64>) -> LowRankJob {
    LowRankJob::new(KernelSpec::new(KernelKind::Rbf, gamma, 3, 0.0).unwrap())
}

fn problem(c: f64) -> Problem {
    Problem::new(Loss::Hinge, c, 1e-3).unwrap()
}

fn large(scale: Scale) -> Settings {
    settings(32 << 20, scale, Threads::One)
}

fn try_train<'a>(
    goal: impl Into<Goal>,
    examples: &'a [OwnedExample],
    settings: Settings,
    asked: LowRankJob,
) -> Result<TrainedLowRank, Failure<'a>> {
    let spools = [MemorySpool::default(), MemorySpool::default()];
    let source = SliceSource::new(examples);
    train_low_rank(problem(1.0), goal, source, spools, settings, asked)
}

fn train(
    examples: &[OwnedExample],
    c: f64,
    settings: Settings,
    asked: LowRankJob,
) -> TrainedLowRank {
    let found = try_train(vec![HeadSpec::binary(c)], examples, settings, asked);
    found.unwrap_or_else(|error| panic!("{error}"))
}

/// Two circles, one within the other.
fn circles(rows: usize, seed: u64) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(seed);
    (0..rows)
        .map(|row| {
            let class = (row % 2) as u32;
            let angle = 6.3 * numbers.uniform();
            let radius = 1.0 + f64::from(class) + 0.1 * numbers.normal();
            OwnedExample::dense(
                class,
                vec![radius * angle.cos(), 50.0 + 20.0 * radius * angle.sin()],
            )
        })
        .collect()
}

/// What a stored model would decide, from raw rows on.
fn decisions(model: &TrainedLowRank, examples: &[OwnedExample]) -> Vec<f64> {
    let found = model.trained.trainer.weights(0);
    let landmarks = model.map.landmarks().rows();
    let mut copy = Rows::new(landmarks.width());
    (0..landmarks.len()).for_each(|row| copy.push_from(landmarks, row).unwrap());
    let factors = model.map.fold(found.iter()).unwrap();
    let machine = Expansion::new(*model.map.kernel(), copy, factors, vec![found.intercept()]);
    let machine = machine.unwrap().unwrap();
    let mut rows = Rows::new(machine.width());
    for example in examples {
        let scaling = &model.raw.scaling;
        let dense = example.dense.iter().enumerate();
        let dense: Vec<f32> = dense.map(|(j, x)| scaling.scaled(j, *x) as f32).collect();
        let entries = example.sparse_index.iter().zip(&example.sparse_value);
        let sparse: Vec<[u32; 2]> = entries
            .map(|(index, x)| {
                let feature = *index as usize + dense.len();
                let scaled = scaling.scaled(feature, f64::from(*x)) as f32;
                [feature as u32, scaled.to_bits()]
            })
            .collect();
        rows.push(&dense, &sparse).unwrap();
    }
    let mut decisions = Vec::new();
    machine
        .decide(&rows, &mut Room::default(), &mut decisions)
        .unwrap();
    decisions
}

fn accuracy(model: &TrainedLowRank, examples: &[OwnedExample]) -> f64 {
    let decisions = decisions(model, examples);
    let right = examples
        .iter()
        .zip(decisions)
        .filter(|(row, d)| (*d > 0.0) == (row.group == 1));
    right.count() as f64 / examples.len() as f64
}

/// What is told to be left out is so of all rows, however small the sample that landmarks were chosen of.
#[test]
fn what_is_left_out_is_so_of_rows_that_were_not_sampled() {
    let examples = circles(5000, 3);
    let mut all = Rows::new(2);
    for example in &examples {
        let values: Vec<f32> = example.dense.iter().map(|x| *x as f32).collect();
        all.push(&values, &[]).unwrap();
    }
    for (sample_times, least_sample) in [(1, 0), (4, 0), (4, 2000)] {
        let asked = LowRankJob {
            rank: Some(12),
            sample_times,
            least_sample,
            ..rbf(Some(2.0))
        };
        let model = train(&examples, 1.0, large(Scale::None), asked);
        let mut mapped = vec![0.0; 12 * examples.len()];
        model
            .map
            .map(&all, 0, &mut Room::default(), &mut mapped)
            .unwrap();
        let found: f64 = mapped.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
        // k(x, x) is 1
        let left_out = 1.0 - found / examples.len() as f64;
        assert!((model.map.left_out() - left_out).abs() < 1e-6);
        assert!(left_out > 0.01);
    }
}

#[test]
fn circles_are_told_apart_by_every_kind_of_landmark() {
    let (examples, others) = (circles(2000, 1), circles(1000, 2));
    for landmarks in [
        LandmarkChoice::Pivots,
        LandmarkChoice::Drawn,
        LandmarkChoice::Uniform,
        LandmarkChoice::Centres,
    ] {
        let asked = LowRankJob {
            landmarks,
            ..rbf(None)
        };
        let model = train(&examples, 10.0, large(Scale::Standard), asked);
        // the variance of scaled features is 1
        let Kernel::Rbf { gamma } = *model.map.kernel() else {
            panic!("another kernel")
        };
        assert!((gamma - 0.5).abs() < 1e-3, "{gamma}");
        assert!(model.map.rank() <= 45 && model.map.left_out() < 0.05);
        assert!(accuracy(&model, &others) > 0.99, "{landmarks:?}");
        let report = model.trained.trainer.report().unwrap();
        assert_eq!(report.heads[0].stop, Some(StopReason::Tolerance));
        assert_eq!(model.raw.rows, 2000);
    }
}

#[test]
fn rows_that_stream_raw_and_mapped_give_the_machine_of_rows_in_memory() {
    let examples = circles(6000, 3);
    let asked = LowRankJob {
        rank: Some(60),
        ..rbf(Some(1.0))
    };
    let resident = train(&examples, 10.0, large(Scale::Standard), asked);
    assert!(resident.raw.resident && resident.trained.reader.resident);
    for threads in [Threads::One, Threads::Two] {
        let small = settings(200_000, Scale::Standard, threads);
        let streamed = train(&examples, 10.0, small, asked);
        assert!(!streamed.raw.resident && !streamed.trained.reader.resident);
        assert_eq!(streamed.map.pivots(), resident.map.pivots());
        assert_eq!(
            streamed.map.landmarks().rows(),
            resident.map.landmarks().rows()
        );
        let primal = |model: &TrainedLowRank| {
            model.trained.trainer.report().unwrap().heads[0]
                .certificate
                .primal
        };
        let (found, right) = (primal(&streamed), primal(&resident));
        assert!((found - right).abs() < 3e-3 * right, "{found} {right}");
        // dual variables belong to the table's rows, in their order
        let duals = |model: &TrainedLowRank| -> Vec<f32> {
            model.trained.trainer.duals(0).iter().collect()
        };
        let pairs = duals(&streamed).into_iter().zip(duals(&resident));
        let apart = pairs.filter(|(a, b)| (a - b).abs() > 5.0).count();
        assert!(apart < 100, "{apart}");
    }
}

#[test]
fn sparse_and_mixed_rows_are_mapped() {
    for (features, dense) in [(40, 0), (5000, 0), (3000, 3)] {
        let examples = words(1500, features, dense, 4);
        let asked = LowRankJob {
            rank: Some(200),
            ..rbf(Some(0.05))
        };
        let settings = large(if dense > 0 {
            Scale::Standard
        } else {
            Scale::MaxAbs
        });
        let model = train(&examples, 10.0, settings, asked);
        let landmarks = model.map.landmarks().rows();
        assert_eq!(landmarks.width() == dense, features > 40);
        // what the training saw is what is decided from raw rows
        let expected = model.trained.trainer.report().unwrap().heads[0];
        let weights = model.trained.trainer.weights(0);
        let square: f64 = weights.iter().map(|w| w * w).sum::<f64>() + weights.intercept().powi(2);
        let losses: f64 = examples
            .iter()
            .zip(decisions(&model, &examples))
            .map(|(row, d)| (1.0 - if row.group == 1 { d } else { -d }).max(0.0))
            .sum();
        let primal = 0.5 * square + 10.0 * losses;
        let told = expected.certificate.primal;
        assert!((primal - told).abs() < 1e-2 * told, "{primal} {told}");
    }
}

#[test]
fn folds_and_values_of_c_share_a_map() {
    let mut examples = circles(900, 5);
    for (row, example) in examples.iter_mut().enumerate() {
        example.group = 3 * example.group + (row / 2 % 3) as u32;
    }
    let plan = Plan {
        folds: Some(Folds::Count(3)),
        costs: vec![0.01, 1.0, 10.0],
        ..Plan::train(1.0)
    };
    let asked = LowRankJob {
        rank: Some(30),
        ..rbf(Some(1.0))
    };
    let model = try_train(plan, &examples, large(Scale::Standard), asked);
    let report = model
        .unwrap_or_else(|error| panic!("{error}"))
        .trained
        .trainer
        .report()
        .unwrap();
    // a fold and a value of C each
    assert_eq!(report.validation.len(), 9);
    let right = report.validation.iter().filter(|it| it.accuracy > 0.98);
    assert!(right.count() >= 6);
}

#[test]
fn a_seed_gives_the_same_weights() {
    let examples = clouds(1200, 6, 2.0, 6);
    let weights = || -> Vec<u64> {
        let asked = LowRankJob {
            landmarks: LandmarkChoice::Drawn,
            ..rbf(None)
        };
        let model = train(&examples, 1.0, large(Scale::None), asked);
        let found = model.trained.trainer.weights(0);
        found.iter().map(f64::to_bits).collect()
    };
    assert_eq!(weights(), weights());
}

#[test]
fn what_cannot_be_mapped_is_told() {
    let examples = clouds(50, 3, 1.0, 7);
    let told = |asked| {
        let goal = vec![HeadSpec::binary(1.0)];
        match try_train(goal, &examples, large(Scale::Standard), asked).err() {
            Some(EngineError::Read(ReadError::Source(LowRankError::Kernel(error)))) => error,
            other => panic!("{other:?}"),
        }
    };
    let rank = LowRankJob {
        rank: Some(51),
        ..rbf(None)
    };
    assert_eq!(told(rank), KernelError::Rank { rank: 51, rows: 50 });
    let none = LowRankJob {
        rank: Some(0),
        ..rbf(None)
    };
    assert_eq!(told(none), KernelError::NoRank);
    let sigmoid = KernelSpec::new(KernelKind::Sigmoid, Some(1.0), 3, -2.0).unwrap();
    let indefinite = LowRankJob {
        rank: Some(50),
        ..LowRankJob::new(sigmoid)
    };
    assert!(matches!(told(indefinite), KernelError::NotPositive { .. }));
    let steep = KernelSpec::new(KernelKind::Polynomial, Some(1e5), 32, 0.0).unwrap();
    assert!(matches!(
        told(LowRankJob::new(steep)),
        KernelError::NotFinite { .. }
    ));
}

#[test]
fn a_rank_that_is_not_given_fits_the_memory() {
    let examples = clouds(3000, 4, 1.0, 8);
    let asked = LowRankJob {
        memory_bytes: 100_000,
        ..rbf(Some(0.5))
    };
    let model = train(&examples, 1.0, large(Scale::None), asked);
    assert!((5..=45).contains(&model.map.rank()), "{}", model.map.rank());
    assert_eq!(
        train(&examples, 1.0, large(Scale::None), rbf(Some(5.0)))
            .map
            .rank(),
        55
    );
}

/// All rows that a source delivers, one after the other.
fn delivered(source: &mut LowRankSource<SliceSource<'_>, MemorySpool>) -> Vec<f64> {
    let mut all = Vec::new();
    loop {
        let more = source.fetch(1000, &mut |row| {
            all.extend_from_slice(row.dense);
            all.push(f64::from(row.group));
            Ok(())
        });
        if !more.unwrap() {
            return all;
        }
    }
}

#[test]
fn rows_that_are_kept_are_mapped_anew_as_if_they_were_read_again() {
    let examples = circles(3000, 9);
    for bytes in [32 << 20, 60_000] {
        let settings = settings(bytes, Scale::Standard, Threads::One);
        let source = |gamma: f64, times: f64| {
            let kernel =
                KernelSpec::new(KernelKind::Rbf, Some(gamma).filter(|it| *it > 0.0), 3, 0.0);
            let asked = LowRankJob {
                rank: Some(10),
                keeps_rows: true,
                scale_times: times,
                ..LowRankJob::new(kernel.unwrap())
            };
            let goal = Goal::from(vec![HeadSpec::binary(1.0)]);
            let job = settings.job(&problem(1.0), &goal);
            let rows = SliceSource::new(&examples);
            let made = LowRankSource::new(rows, MemorySpool::default(), job, asked, bytes);
            (made.unwrap(), asked)
        };
        let (mut again, _) = source(0.1, 1.0);
        let first = delivered(&mut again);
        assert_eq!(first.len(), 3000 * 11);
        // of standardized columns gamma 'scale' is a half, so that the last one is 2
        for (gamma, times) in [(3.0, 1.0), (0.1, 1.0), (0.0, 4.0)] {
            let (mut fresh, asked) = source(gamma, times);
            again.map_anew(asked).unwrap();
            let found = delivered(&mut again);
            assert_eq!(found, delivered(&mut fresh), "{bytes} {gamma}");
            assert_eq!(found == first, gamma == 0.1);
            let taken = again.map().unwrap().kernel().gamma().unwrap();
            let right = if gamma > 0.0 { gamma } else { 2.0 };
            assert!((taken - right).abs() < 1e-2, "{taken}");
        }
        again.give_up_rows().unwrap();
        let (_, map, report) = again.into_parts().unwrap();
        assert_eq!(
            (map.rank(), report.rows, report.resident),
            (10, 3000, bytes > 1 << 20)
        );
    }
}
