//! Kernel machines of low rank by scans: rows are mapped where they are scanned, each time alike, and what is found is the machine of
//! the mapped rows.

use crate::common::parts::example;
use crate::common::*;
use pgsvm_core::engine::{OwnedExample, Threads};
use pgsvm_core::kernels::{KernelError, KernelKind, KernelSpec};
use pgsvm_core::{
    message, Holding, LandmarkChoice, Loss, LowRankJob, MapSearch, MapView, PackedRow, Plan,
    Problem, ReaderJob, ReceivedMap, SampledMap, Scale, ScanSums, ScanTrainer, ScannedRows,
    SolverChoice, Step, StopReason, Survey,
};
use serde::de::DeserializeOwned;
use serde::Serialize;
use std::time::Instant;

const SAMPLE: usize = 64 << 10;

fn sent<T: DeserializeOwned>(value: &impl Serialize) -> T {
    let bytes = message::encode(value).expect("it can be sent");
    message::decode(&bytes).expect("what was sent can be read")
}

fn rbf(rank: usize, landmarks: LandmarkChoice) -> LowRankJob {
    LowRankJob {
        rank: Some(rank),
        landmarks,
        ..LowRankJob::new(KernelSpec::new(KernelKind::Rbf, None, 3, 0.0).unwrap())
    }
}

fn mapped(
    problem: &Problem,
    examples: &[OwnedExample],
    asked: &LowRankJob,
) -> Result<SampledMap, KernelError> {
    let job = ReaderJob::new(Scale::Standard, problem);
    let mut survey = Survey::new(&job, SAMPLE);
    for row in examples {
        survey.take(&example(row)).unwrap();
    }
    let surveyed = survey.finish(&[], 1).unwrap();
    let mut search = MapSearch::new(asked, job, surveyed, SAMPLE)?;
    while !search.step()? {}
    search.finish()
}

/// Who makes rows of a part of them, as told.
fn scanner(found: &SampledMap) -> ScannedRows {
    let view = MapView {
        factor: found.map.factor(),
        form: &found.mapped.form,
    };
    let told: ReceivedMap = sent(&view);
    assert!(told.is_sound(2));
    ScannedRows::new(&sent(&found.raw.form), Some(told)).unwrap()
}

/// The mapped rows of some examples, so many of them at a time.
fn made(found: &SampledMap, examples: &[OwnedExample], at_once: usize) -> Vec<OwnedExample> {
    let mut all = Vec::new();
    for part in examples.chunks(at_once) {
        let mut rows = scanner(found);
        let mut keep = |row: &PackedRow<'_>| {
            let dense = row.dense().iter().map(|x| f64::from(*x)).collect();
            let mut made = OwnedExample::dense(row.group() as u32, dense);
            made.cost = row.cost();
            all.push(made);
        };
        for row in part {
            rows.take(&example(row), &mut keep).unwrap();
        }
        rows.finish(&mut keep).unwrap();
    }
    all
}

fn by_scans(problem: &Problem, found: SampledMap, parts: &[&[OwnedExample]]) -> (f64, f64, u32) {
    let raw = found.raw.form.copied().unwrap();
    let form = found.mapped.form.copied().unwrap();
    let view = MapView {
        factor: found.map.factor(),
        form: &form,
    };
    let holding = Holding {
        bytes: 1 << 20,
        lets_go: parts.len() == 1,
    };
    let plan = Plan::train(problem.c());
    let trainer = ScanTrainer::new(problem, &plan, found.mapped, holding, Instant::now());
    let mut trainer = trainer.unwrap();
    loop {
        match trainer.step(1000).unwrap() {
            Step::Progress => {}
            Step::Blocked => {
                let pass = trainer.pass().unwrap();
                let mut all: Option<ScanSums> = None;
                for part in parts {
                    let told: ReceivedMap = sent(&view);
                    assert!(pass.fits(told.form()));
                    let mut sums = pass.begin().unwrap();
                    let mut rows = ScannedRows::new(&raw, Some(told)).unwrap();
                    for row in *part {
                        rows.take(&example(row), &mut |row| pass.add(&mut sums, row))
                            .unwrap();
                    }
                    rows.finish(&mut |row| pass.add(&mut sums, row)).unwrap();
                    sums.finish();
                    match &mut all {
                        None => all = Some(sums),
                        Some(all) => assert!(all.join(&sums)),
                    }
                }
                let sums = all.unwrap();
                assert_eq!(sums.rows(), trainer.rows());
                trainer.take(pass, sums).unwrap();
            }
            Step::Done => break,
        }
    }
    let head = trainer.report().unwrap().heads[0];
    assert_eq!(head.stop, Some(StopReason::Tolerance));
    let passes = trainer.report().unwrap().passes;
    (head.certificate.primal, head.training_accuracy, passes)
}

#[test]
fn a_kernel_machine_by_scans_is_that_of_the_mapped_rows() {
    for examples in [rings(3000, 2, 1), words(1500, 40, 2, 2)] {
        for (loss, landmarks) in [
            (Loss::SquaredHinge, LandmarkChoice::Pivots),
            (Loss::Hinge, LandmarkChoice::Drawn),
        ] {
            let problem = Problem::new(loss, 1.0, 1e-4).unwrap();
            let found = mapped(&problem, &examples, &rbf(40, landmarks)).unwrap();
            let rows = made(&found, &examples, examples.len());
            assert_eq!(rows.len(), examples.len());
            let nobody = problem
                .with(|it| it.solver = SolverChoice::Stream)
                .expect("valid");
            let kept = train(nobody, &rows, settings(64 << 20, Scale::None, Threads::One));
            let expected = kept.trainer.report().unwrap().heads[0].certificate.primal;
            let third = examples.len() / 3;
            let parts = [&examples[..third], &examples[third..]];
            let (primal, accuracy, passes) = by_scans(&problem, found, &parts);
            assert!(
                (primal - expected).abs() < 2e-4 * expected,
                "{loss:?}: {primal}, {expected}"
            );
            assert!(passes < 20, "{passes}");
            assert!(accuracy > 0.6, "{accuracy}");
        }
    }
}

#[test]
fn the_map_of_a_row_does_not_depend_on_the_rows_beside_it() {
    let problem = Problem::new(Loss::Hinge, 1.0, 1e-2).unwrap();
    for (examples, rank) in [(clouds(700, 33, 1.0, 3), 157), (words(700, 300, 5, 4), 64)] {
        let found = mapped(&problem, &examples, &rbf(rank, LandmarkChoice::Pivots)).unwrap();
        let together = made(&found, &examples, 700);
        for at_once in [1, 7, 256, 300] {
            let parted = made(&found, &examples, at_once);
            for (one, other) in parted.iter().zip(&together) {
                assert_eq!(one.dense, other.dense);
            }
        }
    }
}

#[test]
fn a_map_that_was_tampered_with_is_not_taken() {
    let problem = Problem::new(Loss::Hinge, 1.0, 1e-2).unwrap();
    let examples = clouds(300, 4, 1.0, 5);
    let ten = mapped(&problem, &examples, &rbf(10, LandmarkChoice::Pivots)).unwrap();
    let five = mapped(&problem, &examples, &rbf(5, LandmarkChoice::Pivots)).unwrap();
    let view = MapView {
        factor: ten.map.factor(),
        form: &five.mapped.form,
    };
    assert!(!sent::<ReceivedMap>(&view).is_sound(2));
    let asked = rbf(5000, LandmarkChoice::Pivots);
    let refused = mapped(&problem, &examples, &asked).map(|_| ());
    let expected = KernelError::Rank {
        rank: 5000,
        rows: 300,
    };
    assert_eq!(refused, Err(expected));
}
