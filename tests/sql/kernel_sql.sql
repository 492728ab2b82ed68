-- Kernel machines as SQL expressions: what they decide in any database.
SET client_min_messages = error;
SET pgsvm.workers = 0;
DELETE FROM svm_model;
CREATE FUNCTION drawn(id int, k int) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT (hashint8extended(id, k) & 1048575) / 1048576.0 $$;
CREATE TABLE circles AS
SELECT id, radius * cos(angle) AS x, radius * sin(angle) AS y, CASE WHEN radius < 1.5 THEN 'inner' ELSE 'outer' END AS ring,
       (4 * angle / 6.2832)::int % 4 AS quarter
FROM (SELECT i AS id, 1 + i % 2 + 0.4 * (drawn(i, 1) - 0.5) AS radius, 6.2831853 * drawn(i, 2) AS angle
      FROM generate_series(1, 600) AS i) AS drawn;
-- a row for each treatment of a column, and a NULL in each; names as those of the expression's own columns
CREATE TABLE kinds AS SELECT i AS id, nullif(i % 67, 3) AS x1, nullif(sin(i), sin(5)) AS "z""1", nullif(i % 3, 0) = 1 AS features,
    (ARRAY['Private', 'O''Brien', ' ?', NULL])[i % 4 + 1] AS landmarks, timestamptz '2020-01-01 00:00+00' + i * interval '1 hour' AS v,
    (cos(i) * 100)::numeric(10, 3) AS l, ARRAY[i % 5, i % 7]::real[] AS a, i % 67 > 40 OR i % 4 = 1 AND i % 3 = 1 AS y
FROM generate_series(1, 400) AS i;

-- By how much an expression differs from svm_decision, for each class; the row is compared in 64 bits there, here in 32.
CREATE FUNCTION differs(model text, relation regclass) RETURNS TABLE (class text, same bool, nulls bigint, other_nulls bigint) LANGUAGE plpgsql AS $$
BEGIN
    FOR class IN SELECT unnest(v.label_values) FROM svm_version AS v WHERE v.id = svm_internal.svm_version_id(model) LOOP
        RETURN QUERY EXECUTE format('SELECT %1$L, max(abs(by_sql - decision) / greatest(1, abs(decision))) < 2e-5, count(*) FILTER (WHERE decision IS NULL),
                count(*) FILTER (WHERE (decision IS NULL) <> (by_sql IS NULL))
            FROM (SELECT svm_decision(%2$L, t, %1$L) AS decision, %3$s AS by_sql FROM %4$s AS t) AS t', class, model, svm_as_sql(model, class), relation);
    END LOOP;
END $$;

-- each kernel, of low rank and exact
SELECT svm_train('circles', 'ring', '{x, y}', 'low rank ' || kernel, kernel => kernel, gamma => gamma, rank => 5, options => '{"method": "low_rank"}')
FROM (VALUES ('rbf', 1), ('polynomial', 0.5), ('sigmoid', 1e-4)) AS k (kernel, gamma);
SELECT svm_train('circles', 'ring', '{x, y}', 'exact ' || kernel, kernel => kernel, coef0 => coef0, degree => degree, options => '{"method": "exact"}')
FROM (VALUES ('rbf', NULL::float8, NULL::int), ('polynomial', 1, 3), ('polynomial', 0, 1)) AS k (kernel, coef0, degree);
SELECT svm_train('circles', 'ring', '{x, y}', 'scaled ' || scale, kernel => 'rbf', scale => scale) FROM unnest('{none, minmax, maxabs}'::text[]) AS scale;
SELECT svm_train('circles', 'ring', '{x, y}', 'unit', kernel => 'polynomial', coef0 => 1, options => '{"normalize_rows": true}');
SELECT name, d.* FROM svm_models, differs(name, 'circles') AS d ORDER BY name, class;
-- many classes, each against the rest or two by two
SELECT svm_train('circles', 'quarter', '{x, y}', 'quarters', kernel => 'rbf', options => '{"multiclass": "one_vs_rest"}'),
    svm_train('circles', 'quarter', '{x, y}', 'pairs', kernel => 'rbf', options => '{"multiclass": "one_vs_one", "method": "exact"}');
SELECT name, d.* FROM svm_models, differs(name, 'circles') AS d WHERE name IN ('quarters', 'pairs') ORDER BY name, class;
-- categories, times, arrays, and what is done about NULL
SELECT svm_train('kinds', 'y', '{x1,"z\"1",features,landmarks,v,l,a}', 'kinds ' || nulls, kernel => 'rbf', nulls => nulls, scale => scale)
FROM (VALUES ('mean', 'standard'), ('zero', 'minmax'), ('skip', 'standard')) AS n (nulls, scale);
SELECT svm_train('kinds', 'y', '{x1,"z\"1",features,landmarks,a}', 'kinds of unit', kernel => 'rbf', nulls => 'mean', options => '{"normalize_rows": true}');
SELECT name, d.* FROM svm_models, differs(name, 'kinds') AS d WHERE name LIKE 'kinds%' ORDER BY name, class;
-- a category that training did not see, and a row far from all landmarks
CREATE TABLE far AS SELECT 1e9 AS x1, 1e9 AS "z""1", true AS features, 'new' AS landmarks, timestamptz '2020-01-02' AS v, 3 AS l, '{1,2}'::real[] AS a;
SELECT * FROM differs('kinds mean', 'far');
-- the text of a small one
SELECT svm_train('circles', 'ring', '{x, y}', 'small', kernel => 'rbf', gamma => 0.5, rank => 2, scale => 'none', options => '{"method": "low_rank"}');
SELECT regexp_replace(regexp_replace(svm_as_sql('small'), '-?[0-9]+[.][0-9]+(e-?[0-9]+)?', '#', 'g'), '[-+] #', '± #', 'g') AS numbers_left_out;
SELECT svm_train('circles', 'quarter', '{x, y}', 'small pairs', kernel => 'polynomial', gamma => 0.5, degree => 2, rank => 2, options => '{"method": "low_rank", "multiclass": "one_vs_one"}');
SELECT regexp_replace(regexp_replace(svm_as_sql('small pairs', 1), '-?[0-9]+[.][0-9]+(e-?[0-9]+)?', '#', 'g'), '[-+] #', '± #', 'g') AS numbers_left_out;
SELECT svm_as_sql('quarters');

-- More than a server likes to plan.
CREATE TABLE wide AS SELECT i % 2 AS y, (SELECT array_agg(drawn(i, k)::real) FROM generate_series(1, 1600) AS k) AS x FROM generate_series(1, 60) AS i;
SELECT svm_train('wide', 'y', model => 'wide', kernel => 'rbf');
\set VERBOSITY default
SELECT svm_as_sql('wide');
\echo :LAST_ERROR_SQLSTATE
