//! PSVM: interior points on an incomplete factor, against coordinate descent, and by what every certificate must be.

mod common;

use common::{settings, Numbers};
use pgsvm_core::engine::{
    train_by_interior_point, ExactTrainError, InteriorFailure, MemorySpool, OwnedExample,
    SliceSource, Threads,
};
use pgsvm_core::kernels::{KernelError, KernelKind, KernelSpec, Room, Rows};
use pgsvm_core::plan::{Goal, Plan};
use pgsvm_core::{
    HeadSpec, InteriorError, InteriorOutcome, InteriorRank, InteriorTerms, Loss, LowRankJob,
    Problem, Scale, StopReason,
};

const LARGE: usize = 32 << 20;

fn terms(rank: usize, machines: usize) -> InteriorTerms {
    InteriorTerms {
        machines,
        rank: InteriorRank::Given(rank),
        trace_tolerance: 1e-12,
        keep_duals: true,
        memory_bytes: LARGE,
    }
}

fn problem(tolerance: f64) -> Problem {
    Problem::new(Loss::Hinge, 1.0, tolerance).unwrap()
}

/// Rings around each other, as many as there are classes; every tenth row is of another class than its ring says.
fn rings(rows: usize, classes: u32, seed: u64) -> Vec<OwnedExample> {
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

fn solved<'a>(
    problem: Problem,
    goal: impl Into<Goal>,
    examples: &'a [OwnedExample],
    kind: KernelKind,
    terms: InteriorTerms,
) -> Result<InteriorOutcome, InteriorFailure<SliceSource<'a>, MemorySpool>> {
    let gamma = (kind != KernelKind::Linear).then_some(0.5);
    let asked = LowRankJob {
        rank: Some(1),
        ..LowRankJob::new(KernelSpec::new(kind, gamma, 2, 1.0).unwrap())
    };
    let spools = [MemorySpool::default(), MemorySpool::default()];
    let settings = settings(LARGE, Scale::Standard, Threads::One);
    let source = SliceSource::new(examples);
    train_by_interior_point(problem, goal, source, spools, settings, (asked, terms))
}

#[test]
fn certificates_hold_and_the_balance_is_kept() {
    let examples = rings(700, 2, 1);
    for kind in [KernelKind::Rbf, KernelKind::Polynomial, KernelKind::Linear] {
        for c in [0.01, 1.0, 1000.0] {
            for tolerance in [1e-2, 1e-3, 1e-6] {
                let heads = vec![HeadSpec::binary(c)];
                let found = solved(problem(tolerance), heads, &examples, kind, terms(60, 2));
                let found = found.unwrap();
                let report = &found.reports[0];
                let certificate = report.certificate;
                eprintln!("{kind:?} {c} {tolerance} {report:?} {}", found.steps);
                assert_eq!(report.stop, Some(StopReason::Tolerance));
                assert!(certificate.dual <= certificate.primal * (1.0 + 1e-12));
                assert!(certificate.gap <= tolerance);
                let duals = examples.iter().zip(&found.duals[0]);
                let (mut sum, mut all) = (0.0, 0.0);
                for (example, dual) in duals {
                    let side = if example.group == 1 { 1.0 } else { -1.0 };
                    assert!((0.0..=c as f32 * example.cost * 1.000001).contains(dual));
                    sum += side * f64::from(*dual);
                    all += f64::from(*dual);
                }
                assert!(sum.abs() <= 1e-6 * all, "{sum} {all}");
                assert!(found.rests.is_sorted_by(|a, b| a > b));
            }
        }
    }
}
