//! A sample of rows says whether a kernel machine would do clearly better.

use crate::common::{rings, settings};
use pgsvm_core::engine::{OwnedExample, RowSample, Threads};
use pgsvm_core::plan::{Folds, Plan};
use pgsvm_core::{Loss, Problem, Scale};

const FOLDS: u32 = 5;

/// Rows as a reader gives them, with folds.
fn compared(examples: &[OwnedExample]) -> Option<pgsvm_core::engine::Compared> {
    let mut sample = RowSample::new(7);
    for (row, example) in examples.iter().enumerate() {
        let mut example = example.clone();
        example.group = example.group * FOLDS + row as u32 % FOLDS;
        sample.look(&example.borrow()).unwrap();
    }
    let problem = Problem::new(Loss::SquaredHinge, 1.0, 1e-2).unwrap();
    let plan = Plan {
        costs: vec![0.1, 1.0],
        folds: Some(Folds::Count(FOLDS)),
        ..Plan::train(1.0)
    };
    sample.compare(
        &problem,
        &plan,
        1.0,
        settings(1 << 20, Scale::Standard, Threads::One),
    )
}

#[test]
fn rings_are_for_kernels() {
    for (rows, classes) in [(600, 2), (5000, 2), (9000, 3)] {
        let found = compared(&rings(rows, classes, 3)).unwrap();
        assert!(found.is_clear(), "{found:?}");
        assert_eq!(found.rows, 2000.min(rows as u64));
    }
}

#[test]
fn what_a_line_tells_apart_is_not() {
    let mut examples = rings(5000, 2, 4);
    for example in &mut examples {
        example.group = u32::from(example.dense[0] + 0.3 * example.dense[1] > 0.2);
    }
    let found = compared(&examples).unwrap();
    assert!(found.linear > 0.95 && !found.is_clear(), "{found:?}");
    // nor is noise
    for (row, example) in examples.iter_mut().enumerate() {
        example.group = (row as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) as u32 >> 31;
    }
    assert!(!compared(&examples).unwrap().is_clear());
}

#[test]
fn few_rows_say_nothing_and_wide_ones_take_little() {
    assert_eq!(compared(&rings(299, 2, 5)), None);
    let wide: Vec<_> = (0..4000)
        .map(|row| OwnedExample::dense(row % 2, vec![f64::from(row % 2); 1000]))
        .collect();
    let found = compared(&wide).unwrap();
    assert!((400..600).contains(&found.rows), "{found:?}");
    assert!(!found.is_clear());
}
