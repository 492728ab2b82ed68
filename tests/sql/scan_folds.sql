-- Rows held out by scans: svm_cross_validate decides all rows by scans, and what a training chooses is chosen on a sample, whose folds may
-- be those of a column or of an order.
SET client_min_messages = warning;
SET pgsvm.workers = 0;
DELETE FROM svm_model;
CREATE FUNCTION drawn(id int, k int) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT (hashint8extended(id, k) & 1048575) / 1048576.0 $$;
CREATE TABLE points AS
SELECT i AS id, drawn(i, 1) AS x, drawn(i, 2) AS y, CASE WHEN i % 40 > 0 THEN drawn(i, 5) END AS holes,
       (ARRAY['red', 'green', 'blue'])[1 + (i / 7) % 3] AS colour, (ARRAY['a', 'b', 'c', 'd'])[1 + i % 4] AS part, 1 + i % 2 AS w,
       drawn(i, 1) + drawn(i, 2) + drawn(i, 3) / 2 > 1.2 AS side,
       CASE WHEN drawn(i, 1) > .7 THEN 'p' WHEN drawn(i, 2) + drawn(i, 3) / 4 > .8 THEN 'q' ELSE 'r' END AS kind
FROM generate_series(1, 6000) AS i;
ANALYZE points;
CREATE TABLE cases (name text, more text);
INSERT INTO cases VALUES
    ('scan squared', 'solver => ''scan'', loss => ''squared_hinge'''), ('scan hinge', 'solver => ''scan'', loss => ''hinge'''),
    ('ocas', 'solver => ''ocas'''), ('cutting plane', 'solver => ''cutting_plane'''),
    ('average', 'solver => ''scan'', loss => ''hinge'', options => ''{"machines": "average"}'''),
    ('interior', 'solver => ''interior_point'', options => ''{"machines": "scans"}'''),
    ('rbf', 'solver => ''scan'', kernel => ''rbf'', gamma => 1, rank => 20, loss => ''squared_hinge''');
CREATE FUNCTION validated(label text, features text, more text) RETURNS TABLE (c float8, fold text, rows bigint, accuracy float8, auc float8, score float8, overall float8, best bool)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT c, fold, rows, accuracy, auc, score, overall, best FROM svm_cross_validate(''points'', %L, features => %L, %s)', label, features, more);
END $$;
-- Every row is in one fold, and held out once for each c; the figures are those of kept rows, whose folds are drawn otherwise.
SELECT name, count(*) AS lines, count(DISTINCT v.c) AS costs, count(DISTINCT v.fold) AS folds, sum(v.rows) FILTER (WHERE v.c = 1) AS rows,
       max(abs(v.overall - k.overall)) < .02 AS as_kept, count(*) FILTER (WHERE v.best) AS best
FROM cases, validated('side', '{x, y}', more || ', c => ARRAY[0.01, 1], folds => 3') AS v
JOIN (SELECT DISTINCT c, overall FROM validated('side', '{x, y}', 'c => ARRAY[0.01, 1], folds => 3')) AS k USING (c) GROUP BY name ORDER BY name;
-- Values of a column are folds, and pieces in the order of one; each line is about just those rows.
SELECT name, v.fold, v.rows, abs(v.accuracy - k.accuracy) < .02 AS as_kept, abs(v.auc - k.auc) < .02 AS auc_too
FROM cases, validated('side', '{x, y}', more || ', c => ARRAY[1.0], fold_column => ''part''') AS v
JOIN validated('side', '{x, y}', 'c => ARRAY[1.0], fold_column => ''part''') AS k USING (fold) WHERE name IN ('scan squared', 'scan hinge', 'average', 'interior') ORDER BY 1, 2;
SELECT name, v.fold, v.rows, abs(v.accuracy - k.accuracy) < .02 AS as_kept
FROM cases, validated('side', '{x, y}', more || ', c => ARRAY[1.0], fold_order => ''id'', folds => 4') AS v
JOIN validated('side', '{x, y}', 'c => ARRAY[1.0], fold_order => ''id'', folds => 4') AS k USING (fold) WHERE name IN ('scan squared', 'ocas') ORDER BY 1, 2;
-- Classes, NULLs, categories and weights; by workers, and with rows beyond the sample.
SELECT name, sum(v.rows) AS rows, max(abs(v.overall - k.overall)) < .02 AS as_kept
FROM cases, validated('kind', '{x, y, holes, colour}', more || ', c => ARRAY[1.0], folds => 3, nulls => ''mean'', weight => ''w''') AS v
JOIN (SELECT DISTINCT c, overall FROM validated('kind', '{x, y, holes, colour}', 'c => ARRAY[1.0], folds => 3, nulls => ''mean'', weight => ''w''')) AS k USING (c)
WHERE name IN ('scan squared', 'scan hinge', 'ocas') GROUP BY name ORDER BY name;
SET pgsvm.cache_size = '64kB';
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;
SELECT name, sum(v.rows) AS rows, count(DISTINCT v.fold) AS folds, max(abs(v.overall - k.overall)) < .02 AS as_kept
FROM cases, validated('side', '{x, y}', more || ', c => ARRAY[1.0], fold_column => ''part''') AS v
JOIN (SELECT DISTINCT c, overall FROM validated('side', '{x, y}', 'c => ARRAY[1.0], fold_column => ''part''')) AS k USING (c)
WHERE name IN ('scan squared', 'scan hinge', 'ocas', 'interior') GROUP BY name ORDER BY name;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; RESET max_parallel_workers_per_gather; RESET pgsvm.cache_size;
-- The same seed draws the same folds, whoever scans; another one others.
SELECT count(DISTINCT v.rows) AS sizes FROM generate_series(1, 3) AS again, validated('side', '{x, y}', 'solver => ''scan'', c => ARRAY[1.0], folds => 2, seed => 7' || repeat(' ', again)) AS v WHERE v.fold = '1';

-- A training chooses on the sample, in folds of a column or an order; and gamma and the truncation too.
SELECT svm_train('points', 'side', '{x, y}', 'by_column', solver => 'scan', c => NULL, options => '{"fold_column": "part", "costs": [0.001, 1]}'),
    svm_train('points', 'side', '{x, y}', 'by_order', solver => 'ocas', c => NULL, folds => 3, fold_order => 'id', options => '{"costs": [0.001, 1]}'),
    svm_train('points', 'side', '{x, y}', 'likely', solver => 'scan', probability => true, fold_column => 'part'),
    svm_train('points', 'side', '{x, y}', 'gammas', solver => 'scan', kernel => 'rbf', rank => 20, gamma => '{0.01, 1}', loss => 'squared_hinge'),
    svm_train('points', 'side', '{x, y}', 'both', solver => 'scan', kernel => 'rbf', rank => 20, c => '{0.01, 1}', gamma => '{0.01, 1}', probability => true),
    svm_train('points', 'side', '{x, y}', 'truncated', solver => 'scan', loss => 'truncated_squared_hinge', options => '{"truncation": "auto"}'),
    svm_train('points', 'side', '{x, y}', 'truncated rbf', solver => 'scan', kernel => 'rbf', rank => 20, loss => 'truncated_squared_hinge', options => '{"truncation": "auto"}'),
    svm_train('points', 'side', '{x, y}', 'ramp free', solver => 'scan', loss => 'ramp', options => '{"truncation": "auto", "intercept": "free"}');
SELECT name, c, gap <= 1e-3 AS certified, jsonb_array_length(v.validation) AS lines, (SELECT sum((f ->> 'rows')::int) = 6000 * count(DISTINCT concat(f ->> 'c', f ->> 'gamma', f ->> 'truncation'))
    FROM jsonb_array_elements(v.validation) AS f) AS all_rows, (SELECT string_agg(DISTINCT f ->> 'fold', ' ' ORDER BY f ->> 'fold') FROM jsonb_array_elements(v.validation) AS f) AS folds, v.truncation IS NOT NULL AS truncated, m.probabilities
FROM svm_models AS m JOIN svm_version AS v USING (id, c, gap) ORDER BY name;
SELECT name, training_accuracy > .85 AS good FROM svm_models ORDER BY name;
-- What is said of it.
SET client_min_messages = notice;
\set ON_ERROR_STOP off
SELECT svm_cross_validate('points', 'side', features => '{x, y}', solver => 'scan', kernel => 'rbf', gamma => '{0.01, 1}');
SELECT svm_cross_validate('points', 'kind', features => '{x, y}', solver => 'ocas', options => '{"multiclass": "crammer_singer"}');
SELECT svm_train('points', 'side', '{x, y}', 'no', solver => 'scan', c => NULL, fold_column => 'id');
SELECT svm_cross_validate('points', 'side', features => '{x, y}', solver => 'scan', fold_column => 'holes');
