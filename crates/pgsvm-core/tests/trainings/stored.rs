//! A certificate is about exactly what is handed out, by every method: few rows, each given twice with different labels, whose weights differ a
//! billionfold.

use crate::common::parts::Parts;
use crate::common::*;
use pgsvm_core::engine::{train_examples, OwnedExample, Settings, Threads};
use pgsvm_core::{
    Balance, Blocks, Cuts, HeadReport, HeadSpec, Holding, Indexed, Inner, Intercept, Loss, Picks,
    Plan, Problem, ReaderJob, Scale, ScanTrainer, SolverChoice, StopReason, StopRule, Updates,
};
use std::collections::HashMap;
use std::time::Instant;

const PLENTY: usize = 1 << 20;
/// The least there is: more rows stream.
const LITTLE: usize = 16 << 10;
/// What is added up twice in another order differs by so much, as a part of it.
const ROUNDING: f64 = 1e-9;
const COSTS: [f64; 3] = [1e-6, 1e-2, 1e4];

/// Rows of so many classes, most of them twice, and few that weigh much.
fn twins(classes: u32, count: u32, seed: u64) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(seed);
    let features = 1 + numbers.below(6);
    let weights: &[f32] =
        [&[1.0, 1e6][..], &[1e-3, 1.0, 1e6], &[1.0], &[0.5, 3e3]][numbers.below(4)];
    let mut rows: Vec<OwnedExample> = Vec::new();
    for row in 0..count {
        let values = match rows.last() {
            Some(before) if numbers.uniform() < 0.5 => before.dense.clone(),
            // of 32 bits: rounding is none
            _ => (0..features)
                .map(|_| f64::from(numbers.normal() as f32))
                .collect(),
        };
        rows.push(OwnedExample {
            cost: weights[numbers.below(weights.len())],
            ..OwnedExample::dense(row % classes, values)
        });
    }
    rows
}

/// Heads as they came out, by class its weights with the intercept's last.
struct Found {
    heads: Vec<HeadReport>,
    w: Vec<Vec<f64>>,
}

/// What is true of weights: an objective, how far rounding may have moved it, rows on the right side and rows beyond the truncation, both
/// as few and as many as rounding allows.
#[derive(Debug, Default)]
struct Truth {
    objective: f64,
    rounding: f64,
    right: [u64; 2],
    outliers: [u64; 2],
}

/// A row with its constant, as it is stored.
fn stored(row: &OwnedExample) -> impl Iterator<Item = f64> + Clone + '_ {
    row.dense.iter().map(|x| f64::from(*x as f32)).chain([1.0])
}

/// <w, x> and what rounding may make of it.
fn score(w: &[f64], row: &OwnedExample) -> (f64, f64) {
    let products = w.iter().zip(stored(row)).map(|(w, x)| w * x);
    let size: f64 = products.clone().map(f64::abs).sum();
    (products.sum(), 1e-14 * size)
}

impl Truth {
    fn take(&mut self, (loss, margin, off): (Loss, f64, f64), cost: f64, s: Option<f64>) {
        let most = s.map_or(f64::INFINITY, |s| 1.0 + s);
        let [least, own, largest] = [margin + off, margin, margin - off].map(|m| loss.value(m));
        self.objective += cost * own.min(most);
        self.rounding += cost * (largest.min(most) - own.min(most)) + 1e-15 * cost * own.min(most);
        let both = |of: &mut [u64; 2], certain: bool, perhaps: bool| {
            of[0] += u64::from(certain);
            of[1] += u64::from(perhaps);
        };
        both(&mut self.right, margin > off, margin >= -off);
        both(
            &mut self.outliers,
            least > most * (1.0 + 1e-12),
            largest > most * (1.0 - 1e-12),
        );
    }

    /// Of a head that has rows of `class` on its side.
    fn of_head(problem: &Problem, w: &[f64], rows: &[OwnedExample], class: u32) -> Self {
        let free = usize::from(problem.free_intercept());
        let norm: f64 = w[..w.len() - free].iter().map(|w| w * w).sum();
        let mut this = Self {
            objective: 0.5 * norm,
            ..Self::default()
        };
        for row in rows {
            let y = if row.group == class { 1.0 } else { -1.0 };
            let (score, off) = score(w, row);
            let cost = problem.c() * f64::from(row.cost);
            this.take((problem.loss(), y * score, off), cost, problem.truncation());
        }
        this
    }

    /// Of classes that are told apart together.
    fn together(problem: &Problem, w: &[Vec<f64>], rows: &[OwnedExample]) -> Self {
        let norm: f64 = w.iter().flatten().map(|w| w * w).sum();
        let mut this = Self {
            objective: 0.5 * norm,
            ..Self::default()
        };
        for row in rows {
            let scores: Vec<(f64, f64)> = w.iter().map(|w| score(w, row)).collect();
            let (own, off) = scores[row.group as usize];
            let others = (0..).zip(&scores).filter(|(class, _)| *class != row.group);
            let (rival, more) = others.fold((f64::MIN, off), |(most, off), (_, score)| {
                (most.max(score.0), off + score.1)
            });
            let cost = problem.c() * f64::from(row.cost);
            this.take((problem.loss(), own - rival, more), cost, None);
        }
        this
    }

    /// Whether what is said of these heads is so.
    fn check(&self, problem: &Problem, heads: &[HeadReport], rows: usize, what: &str) {
        let place = format!("{what}: {heads:?}, {self:?}");
        let close =
            |said: f64| (said - self.objective).abs() <= ROUNDING * self.objective + self.rounding;
        let sum = |of: fn(&HeadReport) -> f64| heads.iter().map(of).sum::<f64>();
        let (primal, dual) = (
            sum(|it| it.certificate.primal),
            sum(|it| it.certificate.dual),
        );
        match heads[0].truncated {
            None => assert!(close(primal), "{place}"),
            Some(told) => {
                assert!(close(told.objective), "{place}");
                assert!(primal >= told.objective * (1.0 - ROUNDING), "{place}");
                let [least, most] = self.outliers;
                assert!((least..=most).contains(&told.outliers), "{place}");
            }
        }
        assert!(dual >= 0.0 && dual <= primal * (1.0 + ROUNDING), "{place}");
        for head in heads {
            let right = (head.training_accuracy * rows as f64).round() as u64;
            let [least, most] = self.right;
            assert!((least..=most).contains(&right), "{place}");
            let said = head.certificate;
            let gap = (said.primal - said.dual) / said.primal;
            assert!((said.gap - gap.max(0.0)).abs() < 1e-12, "{place}");
            assert!(
                matches!(
                    head.stop,
                    Some(StopReason::Tolerance | StopReason::MaxPasses)
                ),
                "{place}"
            );
            if head.stop == Some(StopReason::Tolerance) && problem.stop() == StopRule::Gap {
                assert!(said.gap <= problem.tolerance(), "{place}");
            }
            if head.stop == Some(StopReason::Tolerance) && problem.stop() == StopRule::MeanLoss {
                let apart = problem.tolerance() * problem.c() * rows as f64;
                assert!(primal - dual <= apart, "{place}");
            }
        }
    }
}

fn by_visits(problem: Problem, classes: u32, rows: &[OwnedExample], cache: usize) -> Found {
    let spec = |class| {
        let sign = |group| if group == class { 1 } else { -1 };
        HeadSpec::new((0..classes).map(sign).collect::<Vec<i8>>(), problem.c())
    };
    let specs = match classes {
        2 => vec![spec(1)],
        _ => (0..classes).map(spec).collect(),
    };
    let count = specs.len();
    let settings = Settings::new(cache, Scale::None, Threads::One);
    let trained = train_examples(problem, specs, rows, settings).unwrap();
    let w = (0..count).map(|head| {
        let weights = trained.trainer.weights(head);
        weights.iter().chain([weights.intercept()]).collect()
    });
    Found {
        w: w.collect(),
        heads: trained.trainer.report().unwrap().heads,
    }
}

/// By scans of two parts, or of rows that are all here; None where it goes on by rows that stream.
fn by_scans(problem: &Problem, interior: bool, rows: &[OwnedExample], here: bool) -> Option<Found> {
    let parts = Parts::by_turns(rows, 2);
    let job = ReaderJob {
        balance: Balance::None,
        ..ReaderJob::new(Scale::None, problem)
    };
    let surveyed = parts.survey(&job, PLENTY).finish(&[], 1).unwrap();
    let form = surveyed.form.copied().unwrap();
    let holding = Holding {
        bytes: PLENTY,
        lets_go: true,
    };
    let (plan, now) = (Plan::train(problem.c()), Instant::now());
    let mut trainer = match interior {
        true => ScanTrainer::interior_point(problem, &plan, surveyed, now).unwrap(),
        false => ScanTrainer::new(problem, &plan, surveyed, holding, now).unwrap(),
    };
    assert!(!here || trainer.scan_resident(2, PLENTY).unwrap());
    if !parts.train(&mut trainer, 1 << 20, &form, || ()) {
        return None;
    }
    let heads = trainer.report().unwrap().heads;
    let w = (0..heads.len()).map(|head| {
        let weights = trainer.weights(head);
        weights.iter().chain([weights.intercept()]).collect()
    });
    Some(Found {
        w: w.collect(),
        heads,
    })
}

/// What is true of what is found; by head, smallest objectives and largest duals of one problem of a convex loss, whoever has found them.
#[derive(Default)]
struct Known {
    bounds: HashMap<(bool, usize), (f64, f64)>,
}

impl Known {
    fn take(
        &mut self,
        problem: &Problem,
        classes: u32,
        found: &Found,
        rows: &[OwnedExample],
        what: &str,
    ) {
        if problem.together() && classes > 2 {
            let truth = Truth::together(problem, &found.w, rows);
            return truth.check(problem, &found.heads, rows.len(), what);
        }
        for (place, (head, w)) in found.heads.iter().zip(&found.w).enumerate() {
            let class = if classes == 2 { 1 } else { place as u32 };
            let truth = Truth::of_head(problem, w, rows, class);
            truth.check(
                problem,
                &[*head],
                rows.len(),
                &format!("{what}, head {place}"),
            );
            if head.truncated.is_none() {
                let key = (problem.free_intercept(), place);
                let known = self.bounds.entry(key).or_insert((f64::INFINITY, 0.0));
                *known = (
                    known.0.min(truth.objective + truth.rounding),
                    known.1.max(head.certificate.dual),
                );
                let (least, most) = *known;
                assert!(
                    most <= least * (1.0 + ROUNDING),
                    "{what}: a dual of {most}, a primal of {least}"
                );
            }
        }
    }
}

/// The problems of a loss, by the names of those who solve them over rows that are kept.
fn visited(plain: Problem) -> Vec<(&'static str, Problem)> {
    let mut all = vec![
        (
            "stream",
            plain
                .with(|it| it.solver = SolverChoice::Stream)
                .expect("valid"),
        ),
        (
            "auto",
            plain
                .with(|it| it.solver = SolverChoice::Auto)
                .expect("valid"),
        ),
        (
            "indexed",
            plain
                .with(|it| it.solver = SolverChoice::Indexed(Indexed::Slack))
                .expect("valid"),
        ),
        (
            "block",
            plain
                .with(|it| it.solver = SolverChoice::Block(Blocks::USUAL))
                .expect("valid"),
        ),
        (
            "selective",
            plain
                .with(|it| it.solver = SolverChoice::SelectiveBlock(Blocks::USUAL))
                .expect("valid"),
        ),
    ];
    if plain.truncation().is_none() {
        all.push((
            "paper",
            plain
                .with(|it| it.solver = SolverChoice::StreamSvm(Picks::Usual))
                .expect("valid"),
        ));
    }
    match plain.loss() {
        loss if loss.is_smooth() => {
            all.push((
                "newton",
                plain
                    .with(|it| it.solver = SolverChoice::Newton)
                    .expect("valid"),
            ));
            let indexed = plain
                .with(|it| it.solver = SolverChoice::Indexed(Indexed::Newton))
                .expect("valid");
            all.push(("indexed newton", indexed));
            let block =
                plain.with(|it| it.solver = SolverChoice::Block(Blocks::solved_by(Inner::Newton)));
            if plain.truncation().is_none() {
                all.extend(block.map(|it| ("block newton", it)));
                let free = plain
                    .with(|it| it.solver = SolverChoice::Newton)
                    .expect("valid")
                    .with(|it| it.formulation.intercept = Intercept::Free)
                    .expect("valid");
                all.push(("free intercept", free));
            }
        }
        _ if plain.truncation().is_none() => {
            let inner = Inner::Pegasos(Updates::Row);
            let pegasos =
                plain.with(|it| it.solver = SolverChoice::Block(Blocks::solved_by(inner)));
            all.extend(pegasos.map(|it| ("pegasos", it)));
        }
        _ => {}
    }
    all
}

#[test]
fn rows_that_are_kept() {
    for (seed, (classes, count)) in (0..).zip([(2, 30), (3, 30), (9, 30), (2, 900), (5, 600)]) {
        let rows = twins(classes, count, seed);
        // few rows do not stream
        let caches = &[PLENTY, LITTLE][..if count > 100 { 2 } else { 1 }];
        for c in COSTS {
            for (loss, s) in [
                (Loss::Hinge, None),
                (Loss::SquaredHinge, None),
                (Loss::Hinge, Some(1.0)),
                (Loss::SquaredHinge, Some(1.25)),
            ] {
                let plain = Problem::new(loss, c, 1e-3)
                    .and_then(|it| it.with(|it| it.formulation.truncation = s));
                let plain = plain
                    .and_then(|it| it.with(|it| it.stopping.max_passes = Some(25)))
                    .unwrap();
                let mut known = Known::default();
                for (name, problem) in visited(plain) {
                    for cache in caches {
                        let what = format!("{name}, {loss:?}, s {s:?}, C {c}, {classes} classes, seed {seed}, cache {cache}");
                        let found = by_visits(problem, classes, &rows, *cache);
                        known.take(&problem, classes, &found, &rows, &what);
                    }
                }
            }
        }
    }
}

#[test]
fn rows_that_are_scanned() {
    for seed in 0..6 {
        let classes = [2, 3, 9][seed as usize % 3];
        let rows = twins(classes, 36, 100 + seed);
        for c in COSTS {
            let new = |loss, s| {
                let plain = Problem::new(loss, c, 1e-3)
                    .and_then(|it| it.with(|it| it.formulation.truncation = s));
                let plain = plain
                    .and_then(|it| it.with(|it| it.stopping.max_passes = Some(25)))
                    .unwrap();
                plain
                    .with(|it| it.solver = SolverChoice::Scan(Cuts::BesideHeld))
                    .expect("valid")
            };
            let hinge = new(Loss::Hinge, None);
            let ocas = hinge
                .with(|it| it.solver = SolverChoice::Scan(Cuts::Ocas(0.1)))
                .expect("valid");
            let mut ways = vec![
                ("ocas", ocas),
                (
                    "cutting plane",
                    hinge
                        .with(|it| it.solver = SolverChoice::Scan(Cuts::Newest))
                        .expect("valid"),
                ),
                (
                    "mean loss",
                    ocas.with(|it| it.stopping.rule = StopRule::MeanLoss)
                        .unwrap(),
                ),
                (
                    "together",
                    ocas.with(|it| it.formulation.together = true)
                        .expect("valid"),
                ),
                ("scan", hinge),
            ];
            ways.push(("scan, squared", new(Loss::SquaredHinge, None)));
            ways.push(("scan, truncated", new(Loss::SquaredHinge, Some(1.25))));
            let (mut of_hinge, mut of_square) = (Known::default(), Known::default());
            for (name, problem) in ways {
                for here in [false, true] {
                    let what =
                        format!("{name}, C {c}, {classes} classes, seed {seed}, here {here}");
                    if let Some(found) = by_scans(&problem, false, &rows, here) {
                        let known = match problem.loss() {
                            Loss::Hinge => &mut of_hinge,
                            _ => &mut of_square,
                        };
                        known.take(&problem, classes, &found, &rows, &what);
                    }
                }
            }
            let free = hinge
                .with(|it| it.formulation.intercept = Intercept::Free)
                .expect("valid");
            let what = format!("interior point, C {c}, {classes} classes, seed {seed}");
            let found = by_scans(&hinge, true, &rows, false).unwrap();
            Known::default().take(&free, classes, &found, &rows, &what);
        }
    }
}
