//! Features: resolving the argument, decoding rows.

use crate::features::{
    parse_libsvm, resolve, CategoryLimits, Decoder, FeatureBuffer, FeatureError, FeatureSet, Nulls,
};
use crate::pg::executor::{Continue, RunningQuery};
use crate::pg::query::{self, Column};
use pgrx::prelude::*;

tests![
    every_usable_column_but_the_label_is_a_feature,
    text_columns_are_categories_and_integers_on_request,
    entries_name_columns_and_forms,
    entries_that_cannot_be_features_are_refused,
    a_feature_set_reads_back_from_its_stored_form,
    features_have_names,
    numbers_of_every_type_decode,
    times_decode_to_seconds_since_1970,
    categories_share_codes_in_the_order_of_their_appearance,
    predictions_know_the_categories_of_the_training_by_their_text,
    null_is_what_the_rule_says,
    rows_left_out_teach_no_categories,
    values_beyond_the_limit_are_hashed,
    values_beyond_the_memory_are_hashed,
    keys_are_told_from_categories,
    categories_that_do_not_fit_are_refused,
    stored_categories_that_make_no_sense_are_not_read,
    arrays_decode_from_every_form_of_storage,
    array_lengths_are_learned_and_held_to,
    null_parts_are_noted_and_count_as_zero,
    sparse_parts_share_the_sparse_ids,
    sparse_rows_come_out_sorted,
    values_that_are_not_finite_are_named,
    numerics_decode_as_postgresql_converts_them,
    libsvm_notation_parses,
    libsvm_values_are_rounded_as_rust_rounds_them,
    decoding_leaves_no_memory_behind,
];

fn columns(select: &str) -> Vec<Column> {
    query::plan(select).columns
}

fn strings(entries: &[&str]) -> Vec<String> {
    entries.iter().map(|entry| (*entry).to_owned()).collect()
}

fn resolved(entries: Option<&[&str]>, select: &str) -> Result<FeatureSet, FeatureError> {
    let entries = entries.map(strings);
    resolve(entries.as_deref(), &columns(select), "y").map(|(features, _)| features)
}

fn names(features: &FeatureSet) -> Vec<String> {
    features.parts.iter().map(|part| part.name()).collect()
}

/// Decodes every row of a SELECT as a training does and hands each to `look`.
fn decode(
    entries: Option<&[&str]>,
    select: &str,
    look: impl FnMut(Result<(), FeatureError>, &FeatureBuffer),
) -> Decoder {
    learn(
        entries,
        select,
        Nulls::Zero,
        CategoryLimits::default(),
        look,
    )
}

fn learn(
    entries: Option<&[&str]>,
    select: &str,
    nulls: Nulls,
    limits: CategoryLimits,
    look: impl FnMut(Result<(), FeatureError>, &FeatureBuffer),
) -> Decoder {
    let entries = entries.map(strings);
    let (features, _) = resolve(entries.as_deref(), &columns(select), "y").expect("resolves");
    let mut decoder = Decoder::learning(&features, &columns(select), nulls, limits).expect("fits");
    run(&mut decoder, select, look);
    decoder
}

/// Decodes every row of a SELECT as a prediction by a model with these features does.
fn predict(
    features: &FeatureSet,
    select: &str,
    nulls: Nulls,
    look: impl FnMut(Result<(), FeatureError>, &FeatureBuffer),
) {
    let mut decoder = Decoder::new(features, &columns(select), nulls).expect("fits");
    run(&mut decoder, select, look);
}

fn run(
    decoder: &mut Decoder,
    select: &str,
    mut look: impl FnMut(Result<(), FeatureError>, &FeatureBuffer),
) {
    let planned = query::plan(select);
    let mut buffer = FeatureBuffer::default();
    super::with_new_snapshot(|| {
        let mut running = RunningQuery::start(&planned);
        while running.run(1000, &mut |row| {
            // SAFETY: the row has the planned columns.
            let result = unsafe { decoder.decode(row.values, row.nulls, &mut buffer) };
            look(result, &buffer);
            Continue::Yes
        }) {}
        running.finish();
    });
}

fn dense(select: &str) -> Vec<Vec<f64>> {
    let mut rows = Vec::new();
    decode(None, select, |result, row| {
        result.expect("decodes");
        rows.push(row.dense.clone());
    });
    rows
}

fn first_error(entries: Option<&[&str]>, select: &str) -> FeatureError {
    let mut error = None;
    decode(entries, select, |result, _| {
        error = error.take().or(result.err())
    });
    error.expect("a row is refused")
}

fn every_usable_column_but_the_label_is_a_feature() {
    let select =
        "SELECT 1::int2 a, 2 b, 3::int8 c, 1::float4 d, 1::float8 e, 1::numeric(4,2) f, true g,
        '{1}'::int[] h, '{1}'::numeric[] i, 1 AS y, now() j, '{}'::jsonb k, '{a}'::text[] l, 'a' m, '(1,2)'::point n";
    let (features, skipped) = resolve(None, &columns(select), "y").expect("resolves");
    assert_eq!(names(&features).join(""), "abcdefghijlm");
    let skipped: Vec<_> = skipped
        .iter()
        .map(|column| format!("{} {}", column.name, column.type_name))
        .collect();
    assert_eq!(skipped, ["k jsonb", "n point"]);
    assert!(features.parts[5].is_column());
    assert_eq!(features.parts[5].type_name(), "numeric(4,2)");
    assert_eq!(
        resolved(None, "SELECT 1 AS y, '{}'::json AS t"),
        Err(FeatureError::Nothing {
            columns: vec!["t (json; t ->> 'field' is a category)".to_owned()]
        })
    );
}

fn text_columns_are_categories_and_integers_on_request() {
    Spi::run("CREATE TYPE pg_temp.mood AS ENUM ('sad', 'glad')").expect("create");
    let select = r#"SELECT 1 AS a, 'x'::text AS b, 'x'::varchar(3) AS c, 'x'::name AS d, 'x'::char(3) AS e, 'x'::"char" AS f,
        true AS g, 'sad'::pg_temp.mood AS h, 2::int8 AS "i, "" j", 1.5 AS k, now() AS l"#;
    let features = resolved(None, select).expect("resolves");
    let categories: Vec<_> = features.categories().map(|(name, _)| name).collect();
    assert_eq!(categories, ["b", "c", "d", "e", "f", "g", "h"]);
    assert_eq!((features.dense_parts(), features.sparse_parts()), (4, 1));

    let entries = ["category(a)", "a", r#"category("i, "" j")"#, "category(b)"];
    let features = resolved(Some(&entries), select).expect("resolves");
    assert_eq!(
        names(&features),
        ["category(a)", "a", r#"category("i, "" j")"#, "b"]
    );
    assert_eq!(
        resolved(Some(&["b", "category(b)"]), select),
        Err(FeatureError::Duplicate {
            entry: "category(b)".to_owned()
        })
    );
    for wrong in ["category(k)", "category(l)"] {
        let error = resolved(Some(&[wrong]), select);
        assert!(matches!(error, Err(FeatureError::Type { .. })), "{error:?}");
    }
}

fn entries_name_columns_and_forms() {
    let select = r#"SELECT 1 AS a, 2 AS "B, c", '{1}'::int[] AS idx, '{1}'::real[] AS "v)", '' AS f, 3 AS "sparse(a, b)", 1 AS y"#;
    let entries = [
        "B, c",
        "idx",
        r#"sparse(idx, "v)")"#,
        " LIBSVM ( f ) ",
        "sparse(a, b)",
    ];
    let features = resolved(Some(&entries), select).expect("resolves");
    assert_eq!(
        names(&features),
        [
            "B, c",
            "idx",
            "sparse(idx, v))",
            "libsvm(f)",
            "sparse(a, b)"
        ]
    );
    assert_eq!(
        features.columns(),
        ["B, c", "idx", "v)", "f", "sparse(a, b)"]
    );
    assert_eq!((features.dense_parts(), features.sparse_parts()), (3, 2));
}

fn entries_that_cannot_be_features_are_refused() {
    let select = "SELECT 1 AS a, '{1}'::int[] AS idx, '{1}'::real[] AS val, 'x' AS t, '(1,2)'::point AS d, 1 AS y, 2 AS twice, 3 AS twice";
    let refused = |entry: &str| resolved(Some(&["val", entry]), select).expect_err(entry);
    let missing = |column: &str, near: Option<&str>| FeatureError::MissingColumn {
        column: column.to_owned(),
        near: near.into_iter().map(str::to_owned).collect(),
    };
    assert_eq!(refused("z"), missing("z", None));
    assert_eq!(refused("A"), missing("A", Some("a")));
    assert_eq!(refused("\"a\""), missing("\"a\"", Some("a")));
    assert_eq!(refused("sparse(idx, VAL)"), missing("VAL", Some("val")));
    assert_eq!(
        refused("y"),
        FeatureError::Label {
            column: "y".to_owned()
        }
    );
    assert_eq!(
        refused("val"),
        FeatureError::Duplicate {
            entry: "val".to_owned()
        }
    );
    assert_eq!(
        refused("twice"),
        FeatureError::AmbiguousColumn {
            column: "twice".to_owned()
        }
    );
    for form in [
        "dense(a)",
        "sparse(idx)",
        "libsvm(t, t)",
        "sparse(idx, )",
        "libsvm(\"t)",
    ] {
        assert_eq!(
            refused(form),
            FeatureError::Entry {
                entry: form.to_owned()
            }
        );
    }
    for wrong in [
        "d",
        "sparse(val, val)",
        "sparse(idx, a)",
        "libsvm(a)",
        "libsvm(d)",
    ] {
        assert!(
            matches!(refused(wrong), FeatureError::Type { .. }),
            "{wrong}"
        );
    }
    assert_eq!(
        resolved(Some(&[]), select),
        Err(FeatureError::Nothing {
            columns: Vec::new()
        })
    );
}

fn a_feature_set_reads_back_from_its_stored_form() {
    let select = "SELECT 1 AS a, '{1,2}'::real[] AS x, '{1}'::int[] AS i, '{1}'::float8[] AS v, '' AS f, 1 AS y";
    let entries = ["a", "x", "sparse(i, v)", "libsvm(f)"];
    let decoder = decode(Some(&entries), select, |result, _| result.expect("decodes"));
    let stored = decoder.learned().to_json().unwrap();
    assert_eq!(
        stored,
        r#"{"parts":[{"kind":"column","name":"a","type":"integer"},{"kind":"array","name":"x","type":"real[]","length":2},{"kind":"sparse","index":"i","index_type":"integer[]","value":"v","value_type":"double precision[]"},{"kind":"libsvm","name":"f","type":"text"}]}"#
    );
    assert_eq!(
        FeatureSet::from_json(&stored).unwrap().as_ref(),
        Some(decoder.learned())
    );
    assert_eq!(FeatureSet::from_json("{}").unwrap(), None);
}

fn features_have_names() {
    let select = "SELECT 1 AS a, '{1,2}'::real[] AS x, '{1}'::int[] AS i, '{1}'::float8[] AS v, '' AS f, 1 AS y";
    let entries = ["a", "x", "sparse(i, v)", "libsvm(f)"];
    let decoder = decode(Some(&entries), select, |result, _| result.expect("decodes"));
    let names: Vec<_> = (0..7)
        .map(|id| decoder.learned().feature_name(id))
        .collect();
    assert_eq!(
        names,
        [
            "a",
            "x[1]",
            "x[2]",
            "sparse(i, v)[0]",
            "libsvm(f)[0]",
            "sparse(i, v)[1]",
            "libsvm(f)[1]"
        ]
    );
}

fn numbers_of_every_type_decode() {
    let rows = dense(
        "SELECT (-7)::int2 AS a, 8 AS b, (-9000000000)::int8 AS c, 0.1::float4 AS d, 0.1::float8 AS e, -12.50::numeric AS f",
    );
    assert_eq!(rows, [[-7.0, 8.0, -9e9, f64::from(0.1f32), 0.1, -12.5]]);
    // a boolean is one number in models of before there were categories
    let stored = r#"{"parts":[{"kind":"column","name":"g","type":"boolean"},{"kind":"column","name":"h","type":"boolean"}]}"#;
    let features = FeatureSet::from_json(stored).unwrap().expect("reads");
    predict(
        &features,
        "SELECT true AS g, false AS h",
        Nulls::Error,
        |result, row| {
            result.expect("decodes");
            assert_eq!(row.dense, [1.0, 0.0]);
        },
    );
}

fn times_decode_to_seconds_since_1970() {
    let select = "SELECT '1970-01-02'::date AS a, '1969-12-31 23:59:58.5'::timestamp AS b,
        '2024-02-29 12:00:00.000001+02'::timestamptz AS c";
    let rows = dense(select);
    assert_eq!(rows, [[86400.0, -1.5, 1709200800.000001]]);
    for (infinite, value) in [
        ("'infinity'::date", f64::INFINITY),
        ("'-infinity'::timestamp", f64::NEG_INFINITY),
    ] {
        let expected = FeatureError::NotFinite {
            column: "t".to_owned(),
            element: None,
            value,
        };
        assert_eq!(
            first_error(None, &format!("SELECT {infinite} AS t")),
            expected
        );
    }
    // a time stays a time, a number a number
    let (times, _) = resolve(None, &columns(select), "y").expect("resolves");
    let fits = |select: &str| Decoder::new(&times, &columns(select), Nulls::Error).is_ok();
    assert!(fits(
        "SELECT now() AS a, current_date AS b, now()::timestamp AS c"
    ));
    assert!(!fits("SELECT 1 AS a, current_date AS b, now() AS c"));
}

fn categories_share_codes_in_the_order_of_their_appearance() {
    let select = "SELECT * FROM (VALUES ('b', true, 3, '4:2'), ('a', true, 2, ''), ('b', false, 3, '0:1'), ('', NULL, 2, '')) AS r (t, g, i, f)";
    let mut rows = Vec::new();
    let entries = ["t", "libsvm(f)", "g", "category(i)"];
    let decoder = decode(Some(&entries), select, |result, row| {
        result.expect("decodes");
        rows.push((row.sparse_index.clone(), row.sparse_value.clone()));
    });
    // two sparse parts: index * 2 of the text, code * 2 + 1
    assert_eq!(
        rows,
        [
            (vec![1, 3, 5, 8], vec![1.0, 1.0, 1.0, 2.0]),
            (vec![3, 7, 9], vec![1.0; 3]),
            (vec![0, 1, 5, 11], vec![1.0; 4]),
            (vec![9, 13], vec![1.0; 2]),
        ]
    );
    let names: Vec<_> = (0..14)
        .map(|id| decoder.learned().feature_name(id))
        .collect();
    assert_eq!(names[1], "t=b");
    assert_eq!(names[3], "g=true");
    assert_eq!(names[5], "i=3");
    assert_eq!(names[7], "t=a");
    assert_eq!(names[9], "i=2");
    assert_eq!(names[11], "g=false");
    assert_eq!(names[13], "t=");
    assert_eq!(names[8], "libsvm(f)[4]");
    assert_eq!(decoder.learned().feature_name(15), "feature 15");
}

/// What `predict` decodes of the categories 'b', 'a', 'true' and '7', of column t.
fn codes_of(value: &str) -> Vec<u32> {
    let decoder = decode(
        None,
        "SELECT unnest('{b,a,true,7}'::text[]) AS t",
        |_, _| (),
    );
    // as a model: through the stored form
    let features = FeatureSet::from_json(&decoder.learned().to_json().unwrap())
        .unwrap()
        .expect("reads");
    let mut codes = Vec::new();
    predict(
        &features,
        &format!("SELECT {value} AS t"),
        Nulls::Zero,
        |result, row| {
            result.expect("decodes");
            codes.clone_from(&row.sparse_index);
        },
    );
    codes
}

fn predictions_know_the_categories_of_the_training_by_their_text() {
    Spi::run("CREATE TYPE pg_temp.letter AS ENUM ('a', 'b', 'c')").expect("create");
    for (value, codes) in [
        ("'b'::text", vec![0]),
        ("'a  '::char(3)", vec![1]),
        ("'a '::text", vec![]),
        ("'B'::text", vec![]),
        ("'a'::name", vec![1]),
        ("'b'::\"char\"", vec![0]),
        ("'b'::pg_temp.letter", vec![0]),
        ("'c'::pg_temp.letter", vec![]),
        ("NULL::pg_temp.letter", vec![]),
        ("true", vec![2]),
        ("false", vec![]),
        ("7::int2", vec![3]),
        ("7", vec![3]),
        ("(-7)::int8", vec![]),
        ("repeat('b', 100000)", vec![]),
    ] {
        assert_eq!(codes_of(value), codes, "{value}");
    }
}

fn null_is_what_the_rule_says() {
    let select = "SELECT * FROM (VALUES (1, 'x', '{1,2}'::real[]), (NULL, NULL, '{3,NULL}'), (2, NULL, NULL)) AS r (a, t, v)";
    let learned = |nulls| {
        let mut rows = Vec::new();
        let decoder = learn(
            None,
            select,
            nulls,
            CategoryLimits::default(),
            |result, row| {
                result.expect("decodes");
                rows.push((
                    format!("{:?}", row.dense),
                    row.sparse_index.clone(),
                    row.null_parts.clone(),
                ));
            },
        );
        (decoder, rows)
    };
    let row = |dense: &str, sparse: &[u32], nulls: &[usize]| {
        (dense.to_owned(), sparse.to_vec(), nulls.to_vec())
    };
    let (_, rows) = learned(Nulls::Zero);
    assert_eq!(
        rows,
        [
            row("[1.0, 1.0, 2.0]", &[0], &[]),
            row("[0.0, 3.0, 0.0]", &[], &[0, 1, 2]),
            row("[2.0, 0.0, 0.0]", &[], &[1, 2])
        ]
    );
    let (decoder, rows) = learned(Nulls::Mean);
    assert_eq!(
        rows,
        [
            row("[1.0, 1.0, 2.0]", &[0], &[]),
            row("[NaN, 3.0, NaN]", &[1], &[0, 1, 2]),
            row("[2.0, NaN, NaN]", &[1], &[1, 2])
        ]
    );
    assert_eq!(decoder.learned().feature_name(4), "t IS NULL");
    // a prediction puts the means in
    let mut features = decoder.learned().copied().unwrap();
    features.means = vec![1.5, 2.0, 2.5].into();
    let features = FeatureSet::from_json(&features.to_json().unwrap())
        .unwrap()
        .expect("reads");
    let mut rows = Vec::new();
    predict(&features, select, Nulls::Mean, |result, row| {
        result.expect("decodes");
        rows.push((row.dense.clone(), row.sparse_index.clone()));
    });
    assert_eq!(
        rows,
        [
            (vec![1.0, 1.0, 2.0], vec![0]),
            (vec![1.5, 3.0, 2.5], vec![1]),
            (vec![2.0, 2.0, 2.5], vec![1])
        ]
    );
    // NaN of the user's own stays an error
    let error = "SELECT 'NaN'::real AS a";
    let mut errors = 0;
    learn(
        None,
        error,
        Nulls::Mean,
        CategoryLimits::default(),
        |result, _| {
            errors += usize::from(matches!(result, Err(FeatureError::NotFinite { .. })));
        },
    );
    assert_eq!(errors, 1);
}

fn rows_left_out_teach_no_categories() {
    let select = "SELECT * FROM (VALUES ('a', 1), ('b', NULL), ('c', 2)) AS r (t, x)";
    let decoder = learn(
        None,
        select,
        Nulls::Skip,
        CategoryLimits::default(),
        |_, _| (),
    );
    let (_, dictionary) = decoder.learned().categories().next().expect("t");
    assert_eq!(dictionary.values().collect::<Vec<_>>(), ["a", "c"]);
}

fn values_beyond_the_limit_are_hashed() {
    let limits = CategoryLimits {
        most: 2,
        hash_bits: 8,
        hash_keys: true,
        named: true,
    };
    let select = "SELECT * FROM (VALUES ('a', 'x'), ('b', 'x'), ('Oslo', 'x'), ('Zürich', 'y'), (repeat('b', 2000), 'x'), ('a', 'z')) AS r (city, t)";
    let mut rows = Vec::new();
    let decoder = learn(None, select, Nulls::Error, limits, |result, row| {
        result.expect("decodes");
        rows.push(row.sparse_index.clone());
    });
    let features = decoder.learned();
    let named = |row: usize| -> Vec<_> {
        rows[row]
            .iter()
            .map(|id| features.feature_name(u64::from(*id)))
            .collect()
    };
    // FNV-1a and the finalizer of MurmurHash3, computed elsewhere
    assert_eq!(named(1), ["t=x", "city=b"]);
    assert_eq!(named(2), ["t=x", "city#221"]);
    assert_eq!(named(3), ["city#208", "t=y"]);
    assert_eq!(rows[2], [1, 3 + 221]);
    // the block of t begins behind that of city
    assert_eq!(rows[5][0], 0);
    assert!((260..516).contains(&rows[5][1]), "{rows:?}");

    // what training did not see falls into its hashed feature
    let stored = FeatureSet::from_json(&features.to_json().unwrap())
        .unwrap()
        .expect("reads");
    predict(
        &stored,
        "SELECT 'Roma' AS city, 'x' AS t",
        Nulls::Error,
        |result, row| {
            result.expect("decodes");
            assert_eq!(row.sparse_index, [1, 3 + 56]);
        },
    );
}

/// The dictionaries belong to a reader's memory, whatever the number and the length of the values.
fn values_beyond_the_memory_are_hashed() {
    let limits = CategoryLimits {
        most: CategoryLimits::MOST,
        hash_bits: 4,
        hash_keys: true,
        named: true,
    };
    let select = "SELECT lpad(i::text, 1000, 'x') AS t, 'y' || i % 5 AS u FROM generate_series(1, 10000) AS i";
    let decoder = learn(None, select, Nulls::Error, limits, |result, _| {
        result.expect("decodes");
    });
    let features = decoder.learned();
    assert!((7 << 20..9 << 20).contains(&features.bytes()));
    let hashed: Vec<_> = features
        .categories()
        .map(|(_, known)| known.is_hashed())
        .collect();
    assert_eq!(hashed, [true, false]);
}

fn keys_are_told_from_categories() {
    let limits = |most| CategoryLimits {
        most,
        ..CategoryLimits::default()
    };
    let keys = |select: &str, most| {
        let decoder = learn(None, select, Nulls::Error, limits(most), |result, _| {
            result.expect("decodes");
        });
        match decoder.check_keys(&[]) {
            Ok(()) => Vec::new(),
            Err(FeatureError::Keys { keys, .. }) => keys
                .into_iter()
                .map(|(column, count)| (column, count.values, count.rows))
                .collect(),
            Err(other) => panic!("{other:?}"),
        }
    };
    let select = "SELECT 'k' || i AS k, 'k' || i % 100 AS few, 'k' || i / 2 AS half FROM generate_series(1, 300) AS i";
    assert_eq!(
        keys(select, 1000),
        [("k".to_owned(), 300, 300), ("half".to_owned(), 151, 300)]
    );
    assert_eq!(
        keys(
            "SELECT 'k' || i AS k FROM generate_series(1, 100) AS i",
            1000
        ),
        []
    );
    // beyond the limit distinct values are estimated
    for distinct in [300, 3000, 100_000] {
        let select = format!(
            "SELECT 'k' || i % {distinct} AS t FROM generate_series(1, {distinct} * 3 / 2) AS i"
        );
        let found = keys(&select, 10);
        let estimate = found.first().map_or(0.0, |(_, values, _)| *values as f64);
        let error = estimate / f64::from(distinct) - 1.0;
        assert!(error.abs() < 0.06, "{estimate} of {distinct}");
    }
    assert_eq!(
        keys(
            "SELECT 'k' || i % 1000 AS t FROM generate_series(1, 3000) AS i",
            10
        ),
        []
    );
}

fn categories_that_do_not_fit_are_refused() {
    let limits = CategoryLimits {
        most: 0,
        hash_bits: 24,
        hash_keys: true,
        named: true,
    };
    // 2^31 codes are 128 blocks of 2^24
    let columns: Vec<_> = (1..=129).map(|i| format!("'x' AS c{i}")).collect();
    let mut error = None;
    learn(
        None,
        &format!("SELECT {}", columns.join(", ")),
        Nulls::Error,
        limits,
        |result, _| error = result.err(),
    );
    assert_eq!(
        error,
        Some(FeatureError::TooManyCategories {
            column: "c129".to_owned()
        })
    );
    assert_eq!(
        first_error(None, "SELECT repeat('x', 1001) AS t"),
        FeatureError::LongCategory {
            column: "t".to_owned(),
            bytes: 1001
        }
    );
}

fn stored_categories_that_make_no_sense_are_not_read() {
    let read = |dictionary: &str| {
        let stored =
            format!(r#"{{"parts":[{{"kind":"category","name":"t","type":"text",{dictionary}}}]}}"#);
        FeatureSet::from_json(&stored).unwrap()
    };
    assert!(read(r#""values":["a","b"],"codes":[0,3],"null_code":1"#).is_some());
    for bad in [
        r#""values":["a"]"#,
        r#""values":["a","b"],"codes":[0]"#,
        r#""values":["a","b"],"codes":[1,0]"#,
        r#""values":["a"],"codes":[-1]"#,
        r#""values":[],"codes":[],"hashed":{"first_code":0,"bits":25}"#,
        r#""values":[],"codes":[],"hashed":{"first_code":4294967290,"bits":8}"#,
    ] {
        assert_eq!(read(bad), None, "{bad}");
    }
    // a code beyond all ids
    let features = read(r#""values":["a"],"codes":[4294967295]"#).expect("reads");
    predict(&features, "SELECT 'a' AS t", Nulls::Error, |result, _| {
        assert!(matches!(
            result,
            Err(FeatureError::TooManyCategories { .. })
        ));
    });
}

fn arrays_decode_from_every_form_of_storage() {
    Spi::run(
        "CREATE DOMAIN pg_temp.pair AS int2[];
         CREATE TEMP TABLE stored (small real[], long float8[], packed int8[], exact numeric[], domained pg_temp.pair);
         ALTER TABLE stored ALTER long SET STORAGE EXTERNAL;
         INSERT INTO stored SELECT '{1.5,-2}', array_agg(i), array_agg(i % 2), array_agg(i / 8.0), '{3,4}' FROM generate_series(1, 3000) AS i",
    )
    .expect("create");
    let row = &dense("SELECT * FROM stored")[0];
    assert_eq!(row[..2], [1.5, -2.0]);
    assert!((1..=3000).all(|i| row[1 + i] == i as f64));
    assert!((1..=3000).all(|i| row[3001 + i] == (i % 2) as f64));
    assert!((1..=3000).all(|i| row[6001 + i] == i as f64 / 8.0));
    assert_eq!(row[9002..], [3.0, 4.0]);
    // built by a PL/pgSQL-like expanded object, sliced with another lower bound, and with text between
    let rows = dense("SELECT array_append('{1,2}'::int[], 3) AS a, '[5:6]={8,9}'::int2[] AS b, (SELECT array_agg(x) FROM unnest('{0.5,1e30,-7}'::numeric[]) AS x) AS c");
    assert_eq!(rows, [[1.0, 2.0, 3.0, 8.0, 9.0, 0.5, 1e30, -7.0]]);
}

fn array_lengths_are_learned_and_held_to() {
    let decoder = decode(None, "SELECT '{1,2,3}'::real[] AS x", |result, _| {
        result.expect("decodes")
    });
    assert_eq!(decoder.learned().dense_count(), Some(3));
    let x = || "x".to_owned();
    assert_eq!(
        first_error(
            None,
            "SELECT x FROM (VALUES ('{1,2}'::real[]), ('{1,2,3}')) AS v (x)"
        ),
        FeatureError::Length {
            column: x(),
            length: 3,
            expected: 2,
            pair: None
        }
    );
    assert_eq!(
        first_error(None, "SELECT '{}'::real[] AS x"),
        FeatureError::Empty { column: x() }
    );
    assert_eq!(
        first_error(None, "SELECT '{{1,2},{3,4}}'::real[] AS x"),
        FeatureError::Dimensions {
            column: x(),
            dimensions: 2
        }
    );
    assert_eq!(
        first_error(None, "SELECT NULL::real[] AS x"),
        FeatureError::UnknownLength { column: x() }
    );
}

fn null_parts_are_noted_and_count_as_zero() {
    let entries = ["a", "x", "b", "sparse(i, v)", "libsvm(f)"];
    let select = "SELECT * FROM (VALUES (1, '{1,2}'::real[], 1, '{1}'::int[], '{5}'::real[], '2:3'),
        (NULL, '{1,NULL}', 2, '{1,NULL,3}', '{5,6,NULL}', NULL), (NULL, NULL, NULL, NULL, '{1}', '0:1')) AS r (a, x, b, i, v, f)";
    let mut rows = Vec::new();
    decode(Some(&entries), select, |result, row| {
        result.expect("decodes");
        rows.push((
            row.null_parts.clone(),
            row.dense.clone(),
            row.sparse_index.clone(),
            row.sparse_value.clone(),
        ));
    });
    assert_eq!(
        rows,
        [
            (vec![], vec![1.0, 1.0, 2.0, 1.0], vec![2, 5], vec![5.0, 3.0]),
            (
                vec![0, 1, 3, 4],
                vec![0.0, 1.0, 0.0, 2.0],
                vec![2, 6],
                vec![5.0, 0.0]
            ),
            (
                vec![0, 1, 2, 3],
                vec![0.0, 0.0, 0.0, 0.0],
                vec![1],
                vec![1.0]
            ),
        ]
    );
}

fn sparse_parts_share_the_sparse_ids() {
    let select =
        "SELECT '{0,7}'::int2[] AS i, '{1,2}'::float8[] AS v, '0:3 2:4' AS f, '7:5' AS g, 9 AS a";
    let entries = ["sparse(i, v)", "a", "libsvm(f)", "libsvm(g)"];
    let mut found = None;
    decode(Some(&entries), select, |result, row| {
        result.expect("decodes");
        found = Some((row.sparse_index.clone(), row.sparse_value.clone()));
    });
    // index 0 and 7 of part 0, 0 and 2 of part 1, 7 of part 2: index * 3 + part
    assert_eq!(
        found,
        Some((vec![0, 1, 7, 21, 23], vec![1.0, 3.0, 4.0, 2.0, 5.0]))
    );
}

fn sparse_rows_come_out_sorted() {
    let mut indices = Vec::new();
    decode(
        Some(&["libsvm(f)"]),
        "SELECT f FROM (VALUES ('9:1 3:2 4:3'), ('1:1 2:1'), ('')) AS v (f)",
        |result, row| {
            result.expect("decodes");
            indices.push(row.sparse_index.clone());
        },
    );
    assert_eq!(indices, [vec![3, 4, 9], vec![1, 2], vec![]]);
    assert_eq!(
        first_error(Some(&["libsvm(f)"]), "SELECT '9:1 3:2 9:3' AS f"),
        FeatureError::DuplicateIndex {
            part: "libsvm(f)".to_owned(),
            index: 9
        }
    );
    assert!(matches!(
        first_error(Some(&["libsvm(f)"]), "SELECT '3000000000:1' AS f"),
        FeatureError::Index { .. }
    ));
    assert_eq!(
        first_error(
            Some(&["sparse(i, v)"]),
            "SELECT '{1,2}'::int[] AS i, '{1}'::real[] AS v"
        ),
        FeatureError::SparseLength {
            part: "sparse(i, v)".to_owned(),
            indices: 2,
            values: 1
        }
    );
}

fn values_that_are_not_finite_are_named() {
    let not_finite = |select: &str| match first_error(None, select) {
        FeatureError::NotFinite {
            column, element, ..
        } => (column, element),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        not_finite("SELECT 1 AS a, 'NaN'::real AS b"),
        ("b".to_owned(), None)
    );
    assert_eq!(
        not_finite("SELECT 1 AS a, '{1,2,-Infinity}'::float8[] AS x, 3 AS b"),
        ("x".to_owned(), Some(3))
    );
    assert_eq!(
        not_finite("SELECT 'NaN'::numeric AS a"),
        ("a".to_owned(), None)
    );
    assert_eq!(
        not_finite("SELECT 1e400::numeric AS a"),
        ("a".to_owned(), None)
    );
}

fn numerics_decode_as_postgresql_converts_them() {
    let rows = dense(
        "SELECT n, n::float8 AS f FROM (SELECT (s || m || 'e' || e)::numeric AS n FROM unnest('{\"\",-}'::text[]) AS s,
         unnest('{0,1,9999,10000,12345678,9007199254740993,99999999999999999999,123456789.987654321,0.1,1.00010001}'::text[]) AS m,
         generate_series(-300, 280, 7) AS e) AS t",
    );
    assert!(rows.len() > 1000);
    for row in rows {
        assert_eq!(
            row[0].to_bits(),
            row[1].to_bits(),
            "{} is not {}",
            row[0],
            row[1]
        );
    }
}

fn libsvm_notation_parses() {
    let parsed = |text: &str| {
        let mut pairs = Vec::new();
        let result = parse_libsvm(text.as_bytes(), |index, value| {
            pairs.push((index, value));
            Ok(())
        });
        result.map(|()| pairs)
    };
    assert_eq!(
        parsed(" 3:0.5\t17:-1e-3  \n"),
        Ok(vec![(3, 0.5), (17, -1e-3)])
    );
    assert_eq!(parsed(""), Ok(vec![]));
    for token in [
        "3",
        "3:",
        ":1",
        "a:1",
        "3:x",
        "3:1:2",
        "1.5:2",
        "99999999999999999999:1",
    ] {
        let error = parsed(&format!("1:1 {token} 2:2"));
        assert_eq!(
            error,
            Err(FeatureError::LibsvmSyntax {
                token: token.to_owned()
            })
        );
    }
    assert_eq!(
        parsed("+1 3:0.5"),
        Err(FeatureError::LibsvmLabel {
            token: "+1".to_owned()
        })
    );
}

/// Short decimals are read by a way of their own.
fn libsvm_values_are_rounded_as_rust_rounds_them() {
    let digits = "9007199254740993123456";
    let mut texts: Vec<String> = [
        "-0",
        "0.",
        ".5",
        "-.25",
        "+3",
        "1e3",
        "1E-7",
        "0.1",
        "0.3",
        "123456.789",
        "nan",
        "inf",
        "000000000000000000001.5",
        "0.000000000000000000012",
    ]
    .map(str::to_owned)
    .to_vec();
    for length in 1..=digits.len() {
        for point in 0..=length {
            texts.push(format!("{}.{}", &digits[..point], &digits[point..length]));
        }
    }
    for text in texts {
        let expected: f64 = text.parse().expect("a number");
        parse_libsvm(format!("1:{text}").as_bytes(), |_, value| {
            let same = value.to_bits() == expected.to_bits() || value.is_nan() && expected.is_nan();
            assert!(same, "{text}: {value:e}, not {expected:e}");
            Ok(())
        })
        .expect("parses");
    }
    assert!(parse_libsvm(b"1:.", |_, _| Ok(())).is_err());
    assert!(parse_libsvm(b"1:-", |_, _| Ok(())).is_err());
    assert!(parse_libsvm(b"1:1.2.3", |_, _| Ok(())).is_err());
}

/// Compressed and out-of-line values are detoasted into copies; they must be gone after each row.
fn decoding_leaves_no_memory_behind() {
    // SAFETY: the context that holds all others is valid.
    let allocated = || unsafe { pg_sys::MemoryContextMemAllocated(pg_sys::TopMemoryContext, true) };
    Spi::run(
        "CREATE TEMP TABLE toasted AS SELECT array_agg(j) AS x, '1:1' || repeat(' ', 20000) AS f
         FROM generate_series(1, 200) AS i, generate_series(1, 5000) AS j GROUP BY i",
    )
    .expect("create");
    let mut after_row = Vec::new();
    decode(
        Some(&["x", "libsvm(f)"]),
        "SELECT * FROM toasted",
        |result, _| {
            result.expect("decodes");
            after_row.push(allocated());
        },
    );
    assert_eq!(after_row.len(), 200);
    // 200 rows with copies of 40 kB would be 8 MB
    assert!(after_row[199] < after_row[0] + (1 << 20), "{after_row:?}");
}
