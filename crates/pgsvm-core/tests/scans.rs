//! Trainings by scans find what trainings of kept rows find, however rows are dealt out among those who scan them, and what they
//! claim is true.

mod common;

use common::*;
use pgsvm_core::engine::{OwnedExample, Threads};
use pgsvm_core::source::Example;
use pgsvm_core::{
    Balance, Cuts, HeadSpec, Holding, Leader, Loss, Plan, Problem, ReaderJob, RowForm, Scale,
    ScanPass, ScanSums, ScanTrainer, Step, StopReason, Survey, TrainerReport,
};
use serde::{de::DeserializeOwned, Serialize};
use std::time::Instant;

const PLENTY: usize = 64 << 20;

fn problem(c: f64, tolerance: f64) -> Problem {
    Problem::new(Loss::SquaredHinge, c, tolerance).expect("valid")
}

fn example(owned: &OwnedExample) -> Example<'_> {
    Example {
        group: owned.group,
        cost: owned.cost,
        dense: &owned.dense,
        sparse_index: &owned.sparse_index,
        sparse_value: &owned.sparse_value,
    }
}

/// What comes back of a value that has travelled.
fn sent<T: Serialize + DeserializeOwned>(value: &T) -> T {
    let config = bincode::config::standard();
    let bytes = bincode::serde::encode_to_vec(value, config).expect("it can be sent");
    bincode::serde::decode_from_slice(&bytes, config)
        .expect("what was sent can be read")
        .0
}

/// Rows that are dealt out.
struct Parts<'a> {
    parts: Vec<Vec<&'a OwnedExample>>,
}

impl<'a> Parts<'a> {
    /// Dealt out among so many by turns.
    fn by_turns(examples: &'a [OwnedExample], count: usize) -> Self {
        let part = |part: usize| examples.iter().skip(part).step_by(count).collect();
        Self {
            parts: (0..count).map(part).collect(),
        }
    }

    /// By class.
    fn by_class(examples: &'a [OwnedExample], classes: u32) -> Self {
        let of = |class: u32| examples.iter().filter(move |it| it.group == class);
        Self {
            parts: (0..classes).map(|class| of(class).collect()).collect(),
        }
    }

    fn survey(&self, job: &ReaderJob, sample_bytes: usize) -> Survey {
        let mut all = Survey::new(job, sample_bytes);
        for part in &self.parts {
            let mut own = Survey::new(job, sample_bytes);
            // each knows its classes by numbers of its own: here they are the same but backwards
            let most = part.iter().map(|it| it.group).max().unwrap_or(0);
            for row in part {
                let group = most - row.group;
                own.take(&Example {
                    group,
                    ..example(row)
                })
                .expect("a row");
            }
            let classes: Vec<u32> = (0..=most).map(|class| most - class).collect();
            all.join(sent(&own), &classes).expect("they join");
        }
        all
    }

    fn scan(&self, pass: &ScanPass, form: &RowForm) -> ScanSums {
        let mut all: Option<ScanSums> = None;
        for part in &self.parts {
            let (pass, form): (ScanPass, RowForm) = (sent(pass), sent(form));
            assert!(pass.fits(&form));
            let mut maker = form.maker().unwrap();
            let mut sums = pass.begin().unwrap();
            for row in part {
                pass.add(&mut sums, &maker.make(&example(row)).expect("a row"));
            }
            sums.finish();
            let sums = sent(&sums);
            match &mut all {
                None => all = Some(sums),
                Some(all) => assert!(all.join(&sums)),
            }
        }
        all.expect("a part at least")
    }
}

struct Scanned {
    report: TrainerReport,
    weights: Vec<Vec<f64>>,
}

fn by_scans(problem: &Problem, parts: &Parts<'_>, scale: Scale, sample_bytes: usize) -> Scanned {
    with_room(problem, parts, scale, (sample_bytes, 1 << 20))
}

/// With so many bytes for a sample and for rows that are held.
fn with_room(
    problem: &Problem,
    parts: &Parts<'_>,
    scale: Scale,
    (sample_bytes, room_bytes): (usize, usize),
) -> Scanned {
    let job = ReaderJob {
        balance: Balance::None,
        ..ReaderJob::new(scale, problem)
    };
    let surveyed = parts.survey(&job, sample_bytes).finish(&[], 1).unwrap();
    let form = surveyed.form.copied().unwrap();
    let plan = Plan::train(problem.c());
    let holding = Holding {
        bytes: room_bytes,
        lets_go: parts.parts.len() != 2,
    };
    let mut trainer = ScanTrainer::new(problem, &plan, surveyed, holding, Instant::now()).unwrap();
    loop {
        match trainer.step(1000).unwrap() {
            Step::Progress => {}
            Step::Blocked => {
                let pass = trainer.pass().unwrap();
                let sums = parts.scan(&pass, &form);
                assert_eq!(sums.rows(), trainer.rows());
                trainer.take(pass, sums).unwrap();
            }
            Step::Done => break,
        }
    }
    let report = trainer.report().unwrap();
    let numbers = |head: usize| {
        let weights = trainer.weights(head);
        weights.iter().chain([weights.intercept()]).collect()
    };
    Scanned {
        weights: (0..report.heads.len()).map(numbers).collect(),
        report,
    }
}

/// The objective of the same rows when they are kept.
fn kept(problem: &Problem, examples: &[OwnedExample], scale: Scale) -> f64 {
    let problem = problem.with_leader(Leader::Nobody);
    let trained = train(problem, examples, settings(PLENTY, scale, Threads::One));
    assert_certified(&trained, &problem, examples);
    trained.trainer.report().unwrap().heads[0]
        .certificate
        .primal
}

#[test]
fn scans_arrive_where_kept_rows_do_however_rows_are_dealt_out() {
    let sets = [
        (clouds(3000, 12, 1.5, 1), Scale::Standard),
        (words(2000, 60, 3, 2), Scale::Standard),
        (words(2000, 60, 0, 3), Scale::MaxAbs),
        (clouds(2500, 5, 0.7, 4), Scale::None),
        (words(1500, 30, 4, 5), Scale::MinMax),
    ];
    for (at, (examples, scale)) in sets.iter().enumerate() {
        for c in [0.01, 1.0, 100.0] {
            let problem = problem(c, 1e-6);
            let expected = kept(&problem, examples, *scale);
            let dealt = [
                (Parts::by_turns(examples, 1), 0),
                (Parts::by_turns(examples, 3), 40_000),
                (Parts::by_class(examples, 2), 100_000),
            ];
            for (parts, sample) in dealt {
                let found = by_scans(&problem, &parts, *scale, sample);
                let head = found.report.heads[0];
                let place = format!("set {at}, C {c}, sample {sample}: {head:?}");
                assert_eq!(head.stop, Some(StopReason::Tolerance), "{place}");
                assert!(head.certificate.gap <= 1e-6, "{place}");
                let off = (head.certificate.primal - expected).abs() / expected;
                assert!(off < 2e-6, "{place}: {expected}");
                assert!(
                    found.report.passes <= 12,
                    "{place}: {}",
                    found.report.passes
                );
            }
        }
    }
}

#[test]
fn what_a_scan_certifies_is_true_of_the_rows() {
    let examples = clouds(2000, 6, 1.0, 7);
    for (c, tolerance) in [(0.1, 1e-2), (10.0, 1e-3)] {
        let problem = problem(c, tolerance);
        let parts = Parts::by_turns(&examples, 4);
        let found = by_scans(&problem, &parts, Scale::None, 50_000);
        let (w, head) = (&found.weights[0], found.report.heads[0]);
        let norm: f64 = w.iter().map(|w| w * w).sum();
        let score = |row: &OwnedExample| {
            let features = row
                .dense
                .iter()
                .zip(w)
                .map(|(x, w)| f64::from(*x as f32) * w);
            features.sum::<f64>() + w.last().unwrap()
        };
        let sign = |row: &OwnedExample| 2.0 * f64::from(row.group) - 1.0;
        let lost = |row: &OwnedExample| (1.0 - sign(row) * score(row)).max(0.0);
        let loss: f64 = examples.iter().map(|row| lost(row).powi(2)).sum();
        let primal = 0.5 * norm + c * loss;
        assert!((primal - head.certificate.primal).abs() < 1e-9 * primal);
        let right = examples.iter().filter(|row| sign(row) * score(row) > 0.0);
        let accuracy = right.count() as f64 / examples.len() as f64;
        assert!((accuracy - head.training_accuracy).abs() < 1e-12);
        // no dual can be above the smallest primal
        let least = kept(&problem.with_leader(Leader::Nobody), &examples, Scale::None);
        assert!(head.certificate.dual <= least * (1.0 + 1e-9));
    }
}

#[test]
fn all_classes_are_scanned_for_at_once() {
    let examples = on_a_circle(900);
    let problem = problem(1.0, 1e-5);
    let found = by_scans(
        &problem,
        &Parts::by_turns(&examples, 2),
        Scale::Standard,
        20_000,
    );
    assert_eq!(found.report.heads.len(), 3);
    assert!(found.report.passes <= 12, "{}", found.report.passes);
    for (class, head) in found.report.heads.iter().enumerate() {
        let signs: Vec<i8> = (0..3).map(|it| if it == class { 1 } else { -1 }).collect();
        let spec = HeadSpec::new(signs, 1.0);
        let kept = pgsvm_core::engine::train_examples(
            problem,
            vec![spec],
            &examples,
            settings(PLENTY, Scale::Standard, Threads::One),
        )
        .expect("training works");
        let expected = kept.trainer.report().unwrap().heads[0].certificate.primal;
        assert!((head.certificate.primal - expected).abs() < 2e-5 * expected);
    }
    let fit = found.report.fit.expect("a sample was kept");
    assert_eq!(fit.actual.iter().sum::<u64>(), fit.rows);
}

#[test]
fn many_features_are_scanned_for_products() {
    let examples = words(600, 3000, 0, 9);
    let problem = problem(1.0, 1e-3);
    let expected = kept(&problem, &examples, Scale::None);
    let found = by_scans(
        &problem,
        &Parts::by_turns(&examples, 2),
        Scale::None,
        60_000,
    );
    let head = found.report.heads[0].certificate;
    assert!(head.gap <= 1e-3);
    assert!((head.primal - expected).abs() < 2e-3 * expected);
}

#[test]
fn what_was_no_row_before_is_refused() {
    let examples = clouds(100, 3, 1.0, 5);
    let problem = problem(1.0, 1e-3);
    let job = ReaderJob::new(Scale::Standard, &problem);
    let surveyed = Parts::by_turns(&examples, 1).survey(&job, 0).finish(&[], 1);
    let form = surveyed.unwrap().form;
    let mut maker = form.maker().unwrap();
    let row = &examples[0];
    for unknown in [
        Example {
            group: 2,
            ..example(row)
        },
        Example {
            dense: &row.dense[1..],
            ..example(row)
        },
        Example {
            sparse_index: &[7],
            sparse_value: &[1.0],
            ..example(row)
        },
    ] {
        assert!(maker.make(&unknown).is_err());
    }
    assert!(maker.make(&example(row)).is_ok());
}

fn hinge(c: f64, tolerance: f64) -> Problem {
    Problem::new(Loss::Hinge, c, tolerance).expect("valid")
}

#[test]
fn the_hinge_arrives_where_kept_rows_do_with_whatever_room() {
    let sets = [
        (clouds(6000, 12, 1.5, 1), Scale::Standard),
        (words(4000, 60, 3, 2), Scale::Standard),
        (clouds(5000, 5, 0.7, 4), Scale::None),
        (rings(3000, 2, 6), Scale::Standard),
    ];
    for (at, (examples, scale)) in sets.iter().enumerate() {
        for c in [0.01, 1.0, 100.0] {
            let problem = hinge(c, 1e-3);
            let expected = kept(&problem.with_max_passes(2000).unwrap(), examples, *scale);
            let dealt = [
                (Parts::by_turns(examples, 1), 100_000, 1 << 20),
                (Parts::by_turns(examples, 3), 40_000, 200_000),
                (Parts::by_class(examples, 2), 100_000, 60_000),
                (Parts::by_turns(examples, 4), 50_000, 40_000),
            ];
            for (parts, sample, room) in dealt {
                let found = with_room(&problem, &parts, *scale, (sample, room));
                let head = found.report.heads[0];
                let place = format!("set {at}, C {c}, room {room}: {head:?}");
                eprintln!(
                    "{at} {c} {room}: {} scans, gap {:.1e}",
                    found.report.passes, head.certificate.gap
                );
                assert!(
                    head.certificate.primal >= expected * (1.0 - 1.1e-3),
                    "{place}: {expected}"
                );
                assert!(
                    head.certificate.dual <= expected * (1.0 + 1e-9),
                    "{place}: {expected}"
                );
                // where rows are let go any room does, and else what holds a good part of them
                if room > 100_000 || parts.parts.len() != 2 {
                    assert_eq!(head.stop, Some(StopReason::Tolerance), "{place}");
                    assert!(
                        head.certificate.primal <= expected * (1.0 + 1.1e-3),
                        "{place}: {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn planes_alone_arrive_too_and_a_line_search_saves_scans() {
    for (at, examples) in [clouds(3000, 8, 1.5, 1), words(2000, 30, 0, 2)]
        .iter()
        .enumerate()
    {
        for c in [0.01, 0.1] {
            let problem = hinge(c, 1e-3);
            let expected = kept(&problem, examples, Scale::Standard);
            let parts = Parts::by_turns(examples, 2);
            let scans = [Cuts::Ocas(0.1), Cuts::Newest].map(|cuts| {
                let found = by_scans(&problem.with_cuts(cuts), &parts, Scale::Standard, 20_000);
                let head = found.report.heads[0];
                let place = format!("set {at}, C {c}, {cuts:?}: {head:?}");
                assert_eq!(head.stop, Some(StopReason::Tolerance), "{place}");
                assert!(
                    (head.certificate.primal / expected - 1.0).abs() < 1.1e-3,
                    "{place}"
                );
                assert!(head.certificate.dual <= expected * (1.0 + 1e-9), "{place}");
                found.report.passes
            });
            eprintln!("set {at}, C {c}: {scans:?}");
            // two scans a step with a line search, one without
            assert!(scans[0] / 2 < scans[1], "set {at}, C {c}: {scans:?}");
        }
    }
}
