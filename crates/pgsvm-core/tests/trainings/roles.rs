//! Reader and trainer as the caller sees them: budgets, waiting, stopping, errors, progress.

use std::convert::Infallible;

use crate::common::*;
use pgsvm_core::engine::{
    train_examples, EngineError, MemorySpool, OwnedExample, SliceSource, Threads, ThrottledSpool,
};
use pgsvm_core::{
    Beyond, Blocks, Cache, CacheError, CacheLayout, Compression, Folds, HeadSpec, Inner, Loss,
    Phase, Plan, Policy, Problem, Purpose, ReadError, Reader, ReaderJob, RowError, Scale,
    SolverChoice, Spool, Step, StopReason, Timing, TrainError, Trainer,
};

const JOB: ReaderJob = ReaderJob {
    scale: Scale::Standard,
    seed: 3,
    beyond: Beyond::Streams,
    compression: Compression::Auto,
    stride: 1,
    balance: pgsvm_core::Balance::None,
    impute: false,
    unit_rows: false,
    as_they_come: false,
    looks: false,
    expansion: None,
    targets: None,
    epsilon: None,
};

fn problem() -> Problem {
    Problem::new(Loss::Hinge, 1.0, 1e-3)
        .expect("valid")
        .with_timing(Timing::Lockstep)
}

fn roles<'a>(
    examples: &'a [OwnedExample],
    cache: &Cache,
) -> (Reader<SliceSource<'a>, MemorySpool>, Trainer) {
    let reader = Reader::new(
        cache.clone(),
        JOB,
        SliceSource::new(examples),
        MemorySpool::default(),
    )
    .expect("free");
    let trainer =
        Trainer::new(cache.clone(), problem(), vec![HeadSpec::binary(1.0)]).expect("free");
    (reader, trainer)
}

fn drive(
    reader: &mut Reader<SliceSource<'_>, MemorySpool>,
    trainer: &mut Trainer,
    rows: usize,
    values: usize,
) {
    for _ in 0..10_000_000 {
        reader.step(rows).expect("reads");
        if trainer.step(values).expect("trains") == Step::Done {
            return;
        }
    }
    panic!("training does not end");
}

#[test]
fn budgets_do_not_change_the_result() {
    let examples = words(2000, 100, 3, 20);
    for cache_bytes in [1 << 20, 20 * 1024] {
        let mut results = Vec::new();
        for (rows, values) in [(1, 1), (7, 100), (100, 5000), (100_000, 100_000_000)] {
            let cache = Cache::in_memory(cache_bytes).expect("memory");
            let (mut reader, mut trainer) = roles(&examples, &cache);
            drive(&mut reader, &mut trainer, rows, values);
            assert_eq!(reader.report().unwrap().resident, cache_bytes == 1 << 20);
            results.push(
                trainer
                    .weights(0)
                    .iter()
                    .map(f64::to_bits)
                    .collect::<Vec<_>>(),
            );
        }
        // chunks of the spool depend on how many rows a fetch brings, so only the resident form is bound here
        if cache_bytes == 1 << 20 {
            assert!(results.iter().all(|result| *result == results[0]));
        }
    }
}

#[test]
fn the_trainer_is_blocked_until_loading_ends() {
    let examples = clouds(500, 4, 1.0, 21);
    let cache = Cache::in_memory(1 << 20).expect("memory");
    let (mut reader, mut trainer) = roles(&examples, &cache);
    assert_eq!(trainer.step(1000).expect("waits"), Step::Blocked);
    while cache.phase() == Phase::Loading {
        assert_eq!(trainer.step(1000).expect("waits"), Step::Blocked);
        assert_eq!(reader.step(50).expect("reads"), Step::Progress);
    }
    assert_eq!(reader.step(50).expect("reads"), Step::Done);
    assert_eq!(trainer.step(1000).expect("trains"), Step::Progress);
}

#[test]
fn the_reader_is_blocked_when_the_ring_is_full() {
    let examples = clouds(5000, 10, 1.0, 22);
    let cache = Cache::in_memory(64 * 1024).expect("memory");
    let (mut reader, _trainer) = roles(&examples, &cache);
    let mut steps = 0;
    while reader.step(100).expect("reads") != Step::Blocked {
        steps += 1;
        assert!(steps < 1000);
    }
    assert_eq!(cache.phase(), Phase::Streaming);
}

/// Steps of a trainer with so many equal heads, all of which end after the same passes.
fn steps_of(heads: usize, examples: &[OwnedExample], cache_bytes: usize) -> usize {
    let cache = Cache::in_memory(cache_bytes).expect("memory");
    let (source, spool) = (SliceSource::new(examples), MemorySpool::default());
    let mut reader = Reader::new(cache.clone(), JOB, source, spool).expect("free");
    let specs = vec![HeadSpec::binary(1.0); heads];
    let mut trainer = Trainer::new(cache, problem(), specs).expect("free");
    let mut steps = 0;
    loop {
        while reader.step(1000).expect("reads") == Step::Progress {}
        steps += 1;
        if trainer.step(10_000).expect("trains") == Step::Done {
            return steps;
        }
    }
}

#[test]
fn a_step_visits_fewer_rows_where_more_heads_visit_them() {
    let examples = words(4000, 100, 3, 20);
    let (one, many) = (
        steps_of(1, &examples, 1 << 20),
        steps_of(64, &examples, 1 << 20),
    );
    assert!(many > 8 * one, "{many} steps of 64 heads, {one} of one");
}

#[test]
fn a_request_to_stop_ends_both_roles_at_the_next_step() {
    for cache_bytes in [1 << 20, 32 * 1024] {
        for steps in [0, 30, 200] {
            let examples = clouds(4000, 10, 0.3, 23);
            let cache = Cache::in_memory(cache_bytes).expect("memory");
            let (mut reader, mut trainer) = roles(&examples, &cache);
            for _ in 0..steps {
                reader.step(50).expect("reads");
                trainer.step(500).expect("trains");
            }
            cache.request_stop();
            assert_eq!(reader.step(50).expect("ends"), Step::Done);
            assert_eq!(trainer.step(500).expect("ends"), Step::Done);
            if let Some(head) = trainer.report().unwrap().heads.first() {
                assert_eq!(head.stop, Some(StopReason::Requested));
                assert!((0.0..=1.0).contains(&head.certificate.gap));
            }
        }
    }
}

#[test]
fn progress_is_counted() {
    let examples = clouds(3000, 10, 1.0, 24);
    let cache = Cache::in_memory(40 * 1024).expect("memory");
    let (mut reader, mut trainer) = roles(&examples, &cache);
    assert!(cache.statistics().gap.is_nan());
    drive(&mut reader, &mut trainer, 100, 10_000);
    let statistics = cache.statistics();
    assert_eq!(
        (statistics.phase, statistics.rows_loaded, statistics.rows),
        (Phase::Finished, 3000, 3000)
    );
    assert!(
        statistics.gap <= 1e-3
            && statistics.visits >= 3000
            && statistics.updates > 0
            && statistics.pass >= 2
    );
    assert!(statistics.bytes_loaded >= 3000 * 60);
    assert_eq!(reader.step(1).expect("ends"), Step::Done);
}

#[test]
fn each_role_is_claimed_once() {
    let examples = clouds(10, 2, 1.0, 25);
    let cache = Cache::in_memory(64 * 1024).expect("memory");
    let _roles = roles(&examples, &cache);
    let again = Reader::new(
        cache.clone(),
        JOB,
        SliceSource::new(&examples),
        MemorySpool::default(),
    );
    assert!(matches!(
        again.err(),
        Some(CacheError::RoleTaken { role: "reader" })
    ));
    let again = Trainer::new(cache.clone(), problem(), vec![HeadSpec::binary(1.0)]);
    assert!(matches!(
        again.err(),
        Some(TrainError::Cache(CacheError::RoleTaken { role: "trainer" }))
    ));
}

#[test]
fn a_region_in_foreign_memory_works_at_any_alignment() {
    let examples = clouds(300, 4, 1.0, 26);
    let layout = CacheLayout::for_bytes(128 * 1024).expect("large enough");
    let mut memory = vec![0xa5u8; layout.total_bytes() + 64];
    let base = memory[8..].as_mut_ptr();
    // SAFETY: the bytes outlive both handles and nothing else touches them.
    let (cache, other) = unsafe { (Cache::create(base, &layout), Cache::attach(base)) };
    let (mut reader, mut trainer) = roles(&examples, &cache);
    drive(&mut reader, &mut trainer, 100, 10_000);
    assert_eq!(other.statistics().phase, Phase::Finished);
}

#[test]
fn bad_parameters_are_refused() {
    assert!(Problem::new(Loss::Hinge, 0.0, 1e-3).is_err());
    assert!(Problem::new(Loss::Hinge, f64::NAN, 1e-3).is_err());
    assert!(Problem::new(Loss::Hinge, 1.0, 1.0).is_err());
    assert!(Problem::new(Loss::Hinge, 1.0, 0.0).is_err());
    assert!(problem()
        .with(|it| it.stopping.max_passes = Some(0))
        .is_err());
    assert!(problem()
        .with(|it| it.solver = SolverChoice::Block(Blocks::solved_by(Inner::CoordinateDescent(0))))
        .is_err());
    assert!(problem()
        .with(
            |it| it.solver = SolverChoice::Block(Blocks::solved_by(Inner::CoordinateDescent(1001)))
        )
        .is_err());
    assert!(matches!(
        CacheLayout::for_bytes(100),
        Err(CacheError::TooSmall {
            cache_bytes: 100,
            ..
        })
    ));
}

fn read_error(examples: &[OwnedExample], cache_bytes: usize) -> RowError {
    let settings = settings(cache_bytes, Scale::Standard, Threads::Two);
    match train_examples(problem(), vec![HeadSpec::binary(1.0)], examples, settings).err() {
        Some(EngineError::Read(ReadError::Source(error) | ReadError::Row(error))) => error,
        other => panic!("expected a complaint about a row, got {other:?}"),
    }
}

#[test]
fn bad_rows_are_named_by_ordinal_and_feature() {
    let good = clouds(100, 3, 1.0, 27);
    let error = |row: OwnedExample| read_error(&[&good[..], &[row]].concat(), 1 << 20);
    let not_finite = |row: OwnedExample| match error(row) {
        RowError::NonFinite {
            ordinal, feature, ..
        } => (ordinal, feature),
        other => panic!("{other}"),
    };
    let dense = |values: &[f64]| OwnedExample::dense(0, values.to_vec());
    assert_eq!(not_finite(dense(&[0.0, f64::NAN, 0.0])), (100, 1));
    assert_eq!(not_finite(dense(&[0.0, 0.0, 1e300])), (100, 2));
    let short = RowError::DenseLength {
        ordinal: 100,
        expected: 3,
        found: 1,
    };
    assert_eq!(error(dense(&[0.0])), short);
    let cost = RowError::Cost {
        ordinal: 100,
        cost: 0.0,
    };
    let free = OwnedExample {
        cost: 0.0,
        ..good[0].clone()
    };
    assert_eq!(error(free), cost);
}

#[test]
fn bad_entries_are_named_by_ordinal_and_position() {
    let good = clouds(100, 3, 1.0, 27);
    let error = |index: &[u32], value: &[f32]| {
        let row = OwnedExample {
            sparse_index: index.to_vec(),
            sparse_value: value.to_vec(),
            ..good[0].clone()
        };
        read_error(&[&good[..], &[row]].concat(), 1 << 20)
    };
    let order = RowError::SparseOrder {
        ordinal: 100,
        position: 1,
    };
    assert_eq!(error(&[2, 2], &[1.0, 1.0]), order);
    let length = RowError::SparseLength {
        ordinal: 100,
        indexes: 1,
        values: 2,
    };
    assert_eq!(error(&[2], &[1.0, 1.0]), length);
    assert!(matches!(
        error(&[u32::MAX], &[1.0]),
        RowError::FeatureTooLarge { ordinal: 100, .. }
    ));
    assert!(matches!(
        error(&[1], &[f32::INFINITY]),
        RowError::NonFinite {
            ordinal: 100,
            feature: 4,
            ..
        }
    ));
}

#[test]
fn a_cache_too_small_for_one_row_says_how_much_is_needed() {
    let examples: Vec<_> = (0..40)
        .map(|k| OwnedExample::dense(k % 2, vec![f64::from(k); 2000]))
        .collect();
    let RowError::CacheTooSmall {
        row_bytes,
        cache_bytes,
        needed_cache_bytes,
        ..
    } = read_error(&examples, 64 * 1024)
    else {
        panic!("expected a complaint about the cache");
    };
    assert_eq!(row_bytes, 8032);
    assert_eq!(cache_bytes, 64 * 1024);
    let enough = settings(needed_cache_bytes as usize, Scale::Standard, Threads::One);
    let trained = train(problem(), &examples, enough);
    assert!(!trained.reader.resident);
    let less = settings(
        needed_cache_bytes as usize - 1024,
        Scale::Standard,
        Threads::One,
    );
    assert!(train_examples(problem(), vec![HeadSpec::binary(1.0)], &examples, less).is_err());
}

/// A spool that fails from some write or read on.
struct BrokenSpool {
    writes: u32,
    reads: u32,
}

impl Spool for BrokenSpool {
    type Error = &'static str;

    fn append(&mut self, _bytes: &[u8]) -> Result<u64, Self::Error> {
        self.writes = self.writes.checked_sub(1).ok_or("disk full")?;
        Ok(0)
    }

    fn read(&mut self, _position: u64, bytes: &mut [u8]) -> Result<(), Self::Error> {
        self.reads = self.reads.checked_sub(1).ok_or("unreadable")?;
        bytes.fill(0);
        Ok(())
    }
}

#[test]
fn a_failing_spool_ends_both_roles() {
    let examples = clouds(5000, 10, 1.0, 28);
    for (writes, reads, reason) in [(3, 100, "disk full"), (1000, 0, "unreadable")] {
        let cache = Cache::in_memory(64 * 1024).expect("memory");
        let spool = BrokenSpool { writes, reads };
        let source = SliceSource::new(&examples);
        let mut reader = Reader::new(cache.clone(), JOB, source, spool).expect("free");
        let mut trainer =
            Trainer::new(cache.clone(), problem(), vec![HeadSpec::binary(1.0)]).expect("free");
        let error = loop {
            if let Err(error) = reader.step(100) {
                break error;
            }
        };
        assert_eq!(error, ReadError::Spool(reason));
        assert_eq!(trainer.step(100), Err(TrainError::ReaderFailed));
        assert_eq!(cache.phase(), Phase::Failed);
    }
}

#[test]
fn a_compressed_spool_gives_the_same_weights() {
    let examples = words(4000, 100, 0, 32);
    let at_rate = |policy: Policy, bytes_per_second: f64| {
        let trained = pgsvm_core::engine::train(
            problem()
                .with(|it| it.solver = policy.into())
                .expect("valid"),
            vec![HeadSpec::binary(1.0)],
            SliceSource::new(&examples),
            ThrottledSpool::new(MemorySpool::default(), bytes_per_second),
            settings(64 * 1024, Scale::MaxAbs, Threads::One),
        )
        .expect("trains");
        let weights = trained.trainer.weights(0);
        let bits: Vec<u64> = weights.iter().map(f64::to_bits).collect();
        (trained.reader.bytes, trained.reader.spool_bytes, bits)
    };
    for policy in [Policy::Cached, Policy::Block, Policy::SelectiveBlock] {
        let (bytes, plain_bytes, plain) = at_rate(policy, f64::INFINITY);
        let (_, packed_bytes, packed) = at_rate(policy, 20e6);
        assert!(plain_bytes <= bytes);
        assert!(packed_bytes < plain_bytes, "{packed_bytes} of {bytes}");
        assert!(
            plain == packed,
            "the form of a chunk has no say in the weights"
        );
    }
}

#[test]
fn a_failing_trainer_ends_the_reader() {
    let examples = clouds(5000, 10, 1.0, 29);
    let one_class = HeadSpec::new(vec![1], 1.0);
    let settings = settings(64 * 1024, Scale::None, Threads::Two);
    let result: Result<_, EngineError<RowError, Infallible>> =
        train_examples(problem(), vec![one_class], &examples, settings);
    assert_eq!(
        result.err(),
        Some(EngineError::Train(TrainError::Head { head: 0 }))
    );
}

#[test]
fn the_reader_reports_what_it_saw() {
    let examples = words(1000, 50, 2, 30);
    let trained = train(
        problem(),
        &examples,
        settings(1 << 20, Scale::MaxAbs, Threads::One),
    );
    let report = &trained.reader;
    assert_eq!((report.rows, report.dense_features), (1000, 2));
    let classes = [0, 1].map(|class| {
        examples
            .iter()
            .filter(|example| example.group == class)
            .count() as u64
    });
    assert_eq!(report.group_counts, classes);
    let largest = examples
        .iter()
        .filter_map(|example| example.sparse_index.last())
        .max()
        .expect("some entries");
    assert_eq!(report.features, 2 + u64::from(*largest) + 1);
    assert_eq!(report.spool_bytes, 0);
}

#[test]
fn learned_scaling_equals_a_direct_computation() {
    let examples = words(1200, 40, 3, 31);
    for cache_bytes in [1 << 20, 24 * 1024] {
        let learned = |scale| {
            let settings = settings(cache_bytes, scale, Threads::One);
            train(problem(), &examples, settings).reader.scaling
        };
        let (standard, largest) = (learned(Scale::Standard), learned(Scale::MaxAbs));
        for j in 0..3 {
            let column: Vec<f64> = examples.iter().map(|example| example.dense[j]).collect();
            let (mean, deviation) = mean_and_deviation(&column);
            let centred = (standard.centre[j] - mean).abs() < 1e-12;
            assert!(centred && (standard.factor[j] * deviation - 1.0).abs() < 1e-12);
            let magnitude = column.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            assert_eq!(largest.factor[j], 1.0 / magnitude);
        }
        assert!(largest.centre.is_empty() && standard.sparse_factor.is_empty());
        for (j, factor) in largest.sparse_factor.iter().enumerate() {
            let entries = examples
                .iter()
                .flat_map(|example| example.sparse_index.iter().zip(&example.sparse_value));
            let magnitude = entries
                .filter(|entry| *entry.0 as usize == j)
                .fold(0.0f32, |m, entry| m.max(entry.1.abs()));
            assert_eq!(*factor, 1.0 / magnitude);
        }
    }
}

fn mean_and_deviation(column: &[f64]) -> (f64, f64) {
    let n = column.len() as f64;
    let mean = column.iter().sum::<f64>() / n;
    let variance = column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    (mean, variance.sqrt())
}

#[test]
fn a_request_to_stop_ends_a_plan_in_any_stage() {
    let plan = Plan {
        costs: vec![0.1, 1.0, 10.0],
        folds: Some(Folds::Count(3)),
        purpose: Purpose::Train,
        probability: true,
        ..Plan::train(1.0)
    };
    let stride = plan.stride();
    let examples = in_folds(clouds(1500, 8, 0.5, 25), stride);
    let job = ReaderJob { stride, ..JOB };
    for cache_bytes in [1 << 20, 32 * 1024] {
        let mut steps = 0;
        let mut finished = false;
        while !finished {
            let cache = Cache::in_memory(cache_bytes).expect("memory");
            let source = SliceSource::new(&examples);
            let spool = MemorySpool::default();
            let mut reader = Reader::new(cache.clone(), job, source, spool).expect("free");
            let mut trainer = Trainer::new(cache.clone(), problem(), plan.clone()).expect("free");
            for _ in 0..steps {
                reader.step(200).expect("reads");
                finished = trainer.step(20_000).expect("trains") == Step::Done;
            }
            cache.request_stop();
            assert_eq!(reader.step(200).expect("ends"), Step::Done);
            assert_eq!(trainer.step(20_000).expect("ends"), Step::Done);
            assert_final_heads_end(&trainer);
            steps = steps * 5 / 4 + 1;
        }
    }
}

/// Each row in the fold behind that of the row before.
fn in_folds(mut examples: Vec<OwnedExample>, stride: u32) -> Vec<OwnedExample> {
    for (number, example) in (0..).zip(&mut examples) {
        example.group = example.group * stride + number % stride;
    }
    examples
}

/// Whatever there is of final heads can be asked for.
fn assert_final_heads_end(trainer: &Trainer) {
    let report = trainer.report().unwrap();
    for (number, head) in report.heads.iter().enumerate() {
        assert!(head.stop.is_some());
        assert!(trainer.weights(number).iter().all(f64::is_finite));
    }
}
