//! Measures of decisions against plain ones, and sigmoids against a search of their own.

use crate::common::Numbers;
use pgsvm_core::evaluation::{auc, predicted_class};
use pgsvm_core::Sigmoid;

/// The share of pairs in which the positive row has the greater decision, pair by pair.
fn auc_by_pairs(rows: &[(f32, bool)]) -> Option<f64> {
    let (mut won, mut pairs) = (0.0, 0.0);
    for (positive, _) in rows.iter().filter(|row| row.1) {
        for (negative, _) in rows.iter().filter(|row| !row.1) {
            pairs += 1.0;
            if positive > negative {
                won += 1.0;
            } else if positive == negative {
                won += 0.5;
            }
        }
    }
    (pairs > 0.0).then(|| won / pairs)
}

#[test]
fn the_area_under_the_curve_is_the_share_of_pairs_in_order_ties_counting_half() {
    let mut numbers = Numbers::new(1);
    for count in [0, 1, 2, 3, 10, 200] {
        for steps in [1.0, 3.0, 1e6] {
            let rows: Vec<(f32, bool)> = (0..count)
                .map(|_| {
                    let positive = numbers.uniform() < 0.3;
                    let decision = numbers.normal() + f64::from(u8::from(positive));
                    ((steps * decision).round() as f32 / steps as f32, positive)
                })
                .collect();
            let found = auc(rows.iter().copied()).expect("memory");
            match (found, auc_by_pairs(&rows)) {
                (Some(found), Some(expected)) => assert!((found - expected).abs() < 1e-12),
                (found, expected) => assert_eq!(found, expected),
            }
        }
    }
    let zeros = [(0.0, true), (-0.0, false)];
    assert_eq!(auc(zeros.into_iter()), Ok(Some(0.5)));
    let extremes = [(f32::MIN, false), (f32::MAX, true), (-1.0, false)];
    assert_eq!(auc(extremes.into_iter()), Ok(Some(1.0)));
}

#[test]
fn the_area_over_more_rows_than_a_run_is_the_same() {
    // integers, so that the sum of ranks is exact: the rank of a decision is half of its ties and all below
    let mut numbers = Numbers::new(2);
    let rows: Vec<(f32, bool)> = (0..500_000)
        .map(|_| {
            (
                (1000.0 * numbers.uniform()).floor() as f32,
                numbers.uniform() < 0.4,
            )
        })
        .collect();
    let (mut positives, mut negatives) = ([0u64; 1000], [0u64; 1000]);
    for (decision, positive) in &rows {
        let of_class = if *positive {
            &mut positives
        } else {
            &mut negatives
        };
        of_class[*decision as usize] += 1;
    }
    let (mut won, mut below) = (0.0, 0);
    for (positive, negative) in positives.iter().zip(&negatives) {
        won += *positive as f64 * (below as f64 + 0.5 * *negative as f64);
        below += negative;
    }
    let pairs = positives.iter().sum::<u64>() as f64 * below as f64;
    assert_eq!(auc(rows.iter().copied()), Ok(Some(won / pairs)));
}

#[test]
fn the_class_is_that_of_the_sign_or_of_the_largest_decision() {
    assert_eq!(predicted_class(&[-0.1]), 0);
    assert_eq!(predicted_class(&[0.0]), 1);
    assert_eq!(predicted_class(&[2.0]), 1);
    assert_eq!(predicted_class(&[-3.0, -1.0, -2.0]), 1);
    assert_eq!(predicted_class(&[1.0, 1.0, 0.0]), 0);
}

/// The function that the fit minimizes, straight from its definition.
fn cross_entropy(a: f64, b: f64, rows: &[(f64, bool)]) -> f64 {
    let positives = rows.iter().filter(|row| row.1).count() as f64;
    let negatives = rows.len() as f64 - positives;
    rows.iter()
        .map(|(decision, positive)| {
            let target = match positive {
                true => (positives + 1.0) / (positives + 2.0),
                false => 1.0 / (negatives + 2.0),
            };
            let p = 1.0 / (1.0 + (a * decision + b).exp());
            -target * p.ln() - (1.0 - target) * (1.0 - p).ln()
        })
        .sum()
}

/// Its minimum by a search on ever finer grids.
fn by_grid(rows: &[(f64, bool)]) -> (f64, f64) {
    let (mut at, mut reach) = ((0.0, 0.0), 8.0);
    while reach > 1e-7 {
        let mut best = (f64::INFINITY, at);
        for i in -4..=4 {
            for j in -4..=4 {
                let a = at.0 + reach * f64::from(i) / 4.0;
                let b = at.1 + reach * f64::from(j) / 4.0;
                let value = cross_entropy(a, b, rows);
                if value < best.0 {
                    best = (value, (a, b));
                }
            }
        }
        // slowly, for the minimum of a slanted valley may lie beyond the neighbouring points
        reach *= 0.8;
        at = best.1;
    }
    at
}

#[test]
fn a_sigmoid_is_of_maximum_likelihood() {
    let mut numbers = Numbers::new(2);
    for (share, slope) in [(0.5, 2.0), (0.1, 0.7), (0.8, 4.0)] {
        let rows: Vec<(f64, bool)> = (0..300)
            .map(|_| {
                let positive = numbers.uniform() < share;
                let centre = if positive { 0.5 } else { -0.5 };
                (slope * (centre + 0.7 * numbers.normal()), positive)
            })
            .collect();
        let found = Sigmoid::fit(rows.iter().copied());
        let (a, b) = by_grid(&rows);
        assert!((found.a - a).abs() < 1e-3, "{found:?} and {a} {b}");
        assert!((found.b - b).abs() < 1e-3, "{found:?} and {a} {b}");
        assert!(found.a < 0.0);
    }
}

#[test]
fn a_larger_decision_is_no_reason_for_a_smaller_probability() {
    // the wrong way round, with twice as many negative rows
    let rows = (0..90).map(|k| (f64::from(k % 30), k % 30 < 10));
    let found = Sigmoid::fit(rows);
    assert_eq!(found.a, 0.0);
    assert!((found.probability(7.0) - 31.0 / 92.0).abs() < 1e-12);
}

#[test]
fn a_sigmoid_stays_finite_where_decisions_separate_or_are_of_one_class() {
    let apart: Vec<(f64, bool)> = (0..40).map(|k| (f64::from(k) - 19.5, k >= 20)).collect();
    let found = Sigmoid::fit(apart.into_iter());
    assert!(found.a < 0.0 && found.a.is_finite() && found.b.is_finite());
    assert!(found.probability(1e300) == 1.0 && found.probability(-1e300) == 0.0);
    let one = Sigmoid::fit([(1.0, true), (2.0, true)].into_iter());
    assert!(one.probability(1.5) > 0.5 && one.probability(1.5) < 1.0);
    let none = Sigmoid::fit([].into_iter());
    assert_eq!(none.probability(3.0), 0.5);
    let equal = Sigmoid::fit([(1.0, true), (1.0, false), (1.0, false)].into_iter());
    assert!((equal.probability(1.0) - 0.4).abs() < 0.1, "{equal:?}");
}
