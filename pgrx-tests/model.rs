//! Models in memory: weights, look-up, what is kept, and when it is looked up again.

use crate::features::{FeatureBuffer, Nulls};
use crate::model::weights::SparseWeights;
use crate::model::{self, Model};
use pgrx::prelude::*;
use std::collections::BTreeMap;
use std::rc::Rc;

tests![
    sparse_weights_are_those_that_were_pushed,
    sparse_weights_of_many_heads_lie_side_by_side,
    a_model_loads_from_dense_and_sparse_chunks,
    a_model_of_many_classes_decides_as_its_heads_do,
    a_head_that_is_missing_or_too_many_is_an_error,
    a_version_is_loaded_once,
    a_new_version_is_another_model,
    a_name_with_a_number_picks_a_version,
    models_beyond_the_cache_size_leave_it,
    millions_of_features_load,
    a_statement_looks_a_model_up_once,
];

/// First feature, offsets and weights of a row of `svm_weight`.
type Chunk = (i64, Option<Vec<i32>>, Vec<f64>);

/// Writes a model with these feature parts (JSON) and a chunk for each (first feature, offsets, weights).
fn put(name: &str, parts: &str, features: i64, chunks: &[Chunk]) -> i64 {
    let version = Spi::get_one_with_args::<i64>(
        "WITH m AS (INSERT INTO svm_model AS m (name, current_version) VALUES ($1, 1)
             ON CONFLICT (name) DO UPDATE SET current_version = m.current_version + 1 RETURNING *)
         INSERT INTO svm_version (model_id, version, features, label_column, label_type, label_values, nulls, loss, c, scale,
             solver, intercept_used, tolerance, seed, intercept, feature_count, rows_used, rows_skipped)
         SELECT id, current_version, jsonb_build_object('parts', $2::jsonb), 'y', 'real', '{-1,1}', 'skip', 'hinge', 1, 'none',
             'stream', true, 1e-3, 0, 0.25, $3, 1, 0 FROM m RETURNING id",
        &[name.into(), parts.into(), features.into()],
    )
    .expect("insert")
    .expect("an id");
    for (first, offsets, weights) in chunks {
        Spi::run_with_args(
            "INSERT INTO svm_weight VALUES ($1, 0, $2, $3, $4)",
            &[
                version.into(),
                (*first).into(),
                offsets.clone().into(),
                weights.clone().into(),
            ],
        )
        .expect("insert");
    }
    version
}

fn find(name: &str) -> Rc<Model> {
    let schema = Spi::get_one::<pg_sys::Oid>(
        "SELECT extnamespace FROM pg_extension WHERE extname = 'pgsvm'",
    )
    .expect("select")
    .expect("the extension is there");
    super::with_new_snapshot(|| model::find(schema, name).expect("found"))
}

const TEXT: &str = r#"[{"kind": "libsvm", "name": "f", "type": "text"}]"#;

fn weight_of(model: &Model, id: u32) -> f64 {
    let row = FeatureBuffer {
        dense: vec![0.0; model.dense.len()],
        sparse_index: vec![id],
        sparse_value: vec![1.0],
        ..FeatureBuffer::default()
    };
    model.decision(&row) - model.intercept
}

fn sparse_weights_are_those_that_were_pushed() {
    let mut known = BTreeMap::new();
    let mut state = 1u64;
    for step in 0..40_000u64 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(step | 1);
        // crowded, then thin, then a full chunk, then far away
        let id = match step % 4 {
            0 => (state >> 40) % 20_000,
            1 => (state >> 40) % 16_000_000,
            2 => 65_536 + step / 4,
            _ => 2_000_000_000 + (state >> 40) % 100,
        };
        known.insert(id as u32, step as f64 + 0.5);
    }
    let mut weights = SparseWeights::default();
    for (id, weight) in &known {
        weights.push(*id, *weight).expect("memory");
    }
    for (id, weight) in &known {
        assert_eq!(weights.weight(*id), *weight);
        for other in [id.wrapping_sub(1), id + 1, id ^ 64, id ^ 16_384] {
            assert_eq!(
                weights.weight(other),
                known.get(&other).copied().unwrap_or(0.0)
            );
        }
    }
    assert_eq!(weights.weight(u32::MAX), 0.0);
}

fn sparse_weights_of_many_heads_lie_side_by_side() {
    // a full chunk, thin ones, ids that some heads lack, and a head without weights
    let heads: Vec<BTreeMap<u32, f64>> = (0..5u32)
        .map(|head| {
            let ids = (0..16_384).chain((0..500).map(|i| 20_000 + i * (head + 1) * 97));
            let kept = ids.filter(|id| head < 4 && (*id < 16_384 || id % 5 != head));
            kept.map(|id| (id, f64::from(id * 10 + head) + 0.5))
                .collect()
        })
        .collect();
    let weights = heads.iter().map(|head| {
        let mut weights = SparseWeights::default();
        for (id, weight) in head {
            weights.push(*id, *weight).expect("memory");
        }
        weights
    });
    let joined = SparseWeights::joined(weights.collect(), || {}).expect("memory");
    let expected = |id: u32| -> Vec<f64> {
        heads
            .iter()
            .map(|head| head.get(&id).copied().unwrap_or(0.0))
            .collect()
    };
    let mut seen = Vec::new();
    for (id, weights) in joined.iter() {
        assert_eq!(weights, expected(id), "{id}");
        assert_eq!(joined.of_heads(id), Some(weights));
        seen.push(id);
    }
    let mut all: Vec<u32> = heads.iter().flat_map(|head| head.keys().copied()).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(seen, all);
    assert_eq!(joined.of_heads(16_385), None);
    assert_eq!(joined.of_heads(u32::MAX), None);
}

fn a_model_loads_from_dense_and_sparse_chunks() {
    let parts = r#"[{"kind": "column", "name": "a", "type": "real"}, {"kind": "array", "name": "x", "type": "real[]", "length": 2},
        {"kind": "libsvm", "name": "f", "type": "text"}]"#;
    put(
        "both",
        parts,
        50_000,
        &[
            (0, Some(vec![0, 2, 3, 100]), vec![1.0, 3.0, 4.0, 5.0]),
            (16_384, None, vec![6.0, 0.0, 7.0]),
            (40_000, Some(vec![9_999]), vec![8.0]),
        ],
    );
    let model = find("both");
    assert_eq!(model.name, "both@1");
    assert_eq!(model.base_name(), "both");
    assert_eq!(
        (model.nulls, model.intercept, model.numbers.clone()),
        (Nulls::Skip, 0.25, Some(vec![-1.0, 1.0]))
    );
    assert_eq!(model.dense, [1.0, 0.0, 3.0]);
    let weights = [
        (0, 4.0),
        (1, 0.0),
        (97, 5.0),
        (16_381, 6.0),
        (16_382, 0.0),
        (16_383, 7.0),
        (49_996, 8.0),
        (49_997, 0.0),
    ];
    for (id, weight) in weights {
        assert_eq!(weight_of(&model, id), weight, "{id}");
    }
}

/// Makes the version one of three classes, with a head for each and these weights of head 1 and 2.
fn add_heads(version: i64, heads: i32, chunks: &[(i32, i64, Vec<f64>)]) {
    Spi::run_with_args(
        "UPDATE svm_version SET label_values = '{1,2,3}' WHERE id = $1",
        &[version.into()],
    )
    .expect("update");
    Spi::run_with_args(
        "INSERT INTO svm_head (version_id, head, class, intercept) SELECT $1, h, h + 1, h * 0.5 FROM generate_series(0, $2 - 1) AS h",
        &[version.into(), heads.into()],
    )
    .expect("insert");
    for (head, first, weights) in chunks {
        Spi::run_with_args(
            "INSERT INTO svm_weight VALUES ($1, $2, $3, NULL, $4)",
            &[
                version.into(),
                (*head).into(),
                (*first).into(),
                weights.clone().into(),
            ],
        )
        .expect("insert");
    }
}

const DENSE_AND_TEXT: &str = r#"[{"kind": "column", "name": "a", "type": "real"}, {"kind": "column", "name": "b", "type": "real"},
    {"kind": "libsvm", "name": "f", "type": "text"}]"#;

fn a_model_of_many_classes_decides_as_its_heads_do() {
    let version = put(
        "three",
        DENSE_AND_TEXT,
        50_000,
        &[(0, None, vec![1.0, 2.0, 3.0])],
    );
    add_heads(
        version,
        3,
        &[
            (1, 1, vec![10.0, 20.0]),
            (1, 40_000, vec![30.0]),
            (2, 2, vec![5.0, 0.0, 7.0]),
        ],
    );
    let model = find("three");
    let row = FeatureBuffer {
        dense: vec![0.5, -1.0],
        sparse_index: vec![0, 2, 39_998, 49_000],
        sparse_value: vec![1.0, 2.0, 4.0, 8.0],
        rounded: false,
        null_parts: Vec::new(),
        missing: Vec::new(),
        words: [0; 2],
        unseen_categories: 0,
    };
    let mut decisions = Vec::new();
    model.decisions(&row, &mut decisions);
    assert_eq!(decisions, [1.5, 130.5, 20.0]);
    assert_eq!(model.class(&decisions), 1);
    assert_eq!(model.ranking(&decisions), [1, 2, 0]);
    assert_eq!(model.margin(2, &decisions), -110.5);
    assert_eq!(model.margin(1, &decisions), 110.5);
    assert_eq!(model.probability(1, &decisions), None);
}

fn a_head_that_is_missing_or_too_many_is_an_error() {
    let schema = Spi::get_one::<pg_sys::Oid>(
        "SELECT extnamespace FROM pg_extension WHERE extname = 'pgsvm'",
    )
    .expect("select")
    .expect("the extension is there");
    for (name, heads) in [("none", 0), ("two", 2), ("four", 4)] {
        let version = put(name, DENSE_AND_TEXT, 3, &[(0, None, vec![1.0])]);
        add_heads(version, heads, &[]);
        let found = super::with_new_snapshot(|| model::find(schema, name).map(|_| ()));
        let message = found.expect_err("damaged").message;
        assert!(message.contains("is damaged"), "{name}: {message}");
    }
}

fn a_version_is_loaded_once() {
    put("kept", TEXT, 1, &[(0, None, vec![1.0])]);
    assert!(Rc::ptr_eq(&find("kept"), &find("kept")));
    assert!(Rc::ptr_eq(&find("kept"), &find("kept@1")));
}

fn a_new_version_is_another_model() {
    put("renewed", TEXT, 1, &[(0, None, vec![1.0])]);
    assert_eq!(weight_of(&find("renewed"), 0), 1.0);
    put("renewed", TEXT, 1, &[(0, None, vec![2.0])]);
    assert_eq!(weight_of(&find("renewed"), 0), 2.0);
}

fn a_name_with_a_number_picks_a_version() {
    put("numbered", TEXT, 1, &[(0, None, vec![1.0])]);
    put("numbered", TEXT, 1, &[(0, None, vec![2.0])]);
    assert_eq!(weight_of(&find("numbered@1"), 0), 1.0);
    assert_eq!(weight_of(&find("numbered@2"), 0), 2.0);
    assert_eq!(find("numbered").name, "numbered@2");
}

fn models_beyond_the_cache_size_leave_it() {
    // 8 MB each, so that 256 MB hold 31 of them
    let parts = r#"[{"kind": "array", "name": "x", "type": "real[]", "length": 1048576}]"#;
    for number in 0..34 {
        put(&format!("large{number}"), parts, 1_048_576, &[]);
    }
    let first = Rc::downgrade(&find("large0"));
    let second = Rc::downgrade(&find("large1"));
    for number in 2..34 {
        assert!(first.upgrade().is_some(), "used before {number}");
        find("large0");
        find(&format!("large{number}"));
    }
    assert!(first.upgrade().is_some(), "the one used all along stays");
    assert!(
        second.upgrade().is_none(),
        "the one not used for longest goes"
    );
}

fn millions_of_features_load() {
    let version = put("millions", TEXT, 30_000_000, &[]);
    Spi::run_with_args(
        "INSERT INTO svm_weight SELECT $1, 0, c * 16384, '{5,16000}', ARRAY[c, -c] FROM generate_series(0, 1830) AS c",
        &[version.into()],
    )
    .expect("insert");
    let model = find("millions");
    assert_eq!(weight_of(&model, 1830 * 16_384 + 5), 1830.0);
    assert_eq!(weight_of(&model, 77 * 16_384 + 16_000), -77.0);
    assert_eq!(weight_of(&model, 77 * 16_384 + 15_999), 0.0);
}

fn a_statement_looks_a_model_up_once() {
    put("once", TEXT, 1, &[(0, None, vec![1.0])]);
    let scans = || {
        Spi::get_one::<i64>("SELECT pg_stat_get_xact_numscans('svm_model_name_key'::regclass)")
            .expect("select")
            .expect("counted")
    };
    // the first use in a session may scan for planning as well
    Spi::run("SELECT svm_decision('once', '0:1')").expect("select");
    let before = scans();
    let sum = Spi::get_one::<f64>(
        "SELECT sum(svm_decision('once', '0:' || i)) FROM generate_series(1, 1000) AS i",
    );
    assert_eq!(sum.expect("select"), Some(500_750.0));
    assert!(scans() - before <= 1, "{} scans", scans() - before);
}
