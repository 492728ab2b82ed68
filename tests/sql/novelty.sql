-- Rows without a label: which of them are strange.
CREATE EXTENSION pgsvm;
\set VERBOSITY terse
-- how many rows are novel is said, and depends on the last digits
SET client_min_messages = warning;
CREATE TABLE readings AS
SELECT i AS id, 20 + sin(i * 1.7) + cos(i * 0.31) + CASE WHEN i % 20 = 0 THEN 9 ELSE 0 END AS temperature,
       1 + 0.2 * sin(i * 2.3) + 0.1 * cos(i * 7.1) AS pressure, (ARRAY['north', 'south'])[1 + i % 2] AS hall, i % 20 = 0 AS broken
FROM generate_series(1, 2000) AS i;
-- what is left out says it: no label
SELECT svm_train('readings', exclude => '{id,broken,hall}', nu => 0.06);
SELECT name, task, label_column = '' AS no_label, label_values, kernel, loss, gap <= 1e-4 AS certified, abs(nu - 0.06) < 0.001 AS nu, abs(training_novel - 0.06) <= 0.01 AS share,
    training_accuracy IS NULL AS no_accuracy, tolerance, intercept
FROM svm_versions;
SELECT svm_classify('readings_novelty', r), broken, count(*) > 40 AS many FROM readings AS r WHERE broken OR id % 3 = 0 GROUP BY 1, 2 HAVING count(*) > 20 ORDER BY 1;
SELECT (svm_decision('readings_novelty', r) < 0) = (svm_classify('readings_novelty', r) = 'novel') AS agree, count(*) FROM readings AS r GROUP BY 1;
-- the strangest rows
SELECT bool_and(broken) FROM (SELECT broken FROM readings AS r ORDER BY svm_decision('readings_novelty', r) LIMIT 20) AS q;
-- compared with what a column says
SELECT rows, auc > 0.8 AS good FROM svm_evaluate('readings_novelty', 'readings', label => 'broken');
SELECT actual, predicted, rows > 0 AS some FROM svm_confusion('readings_novelty', 'readings', label => 'broken') ORDER BY 1, 2;
CREATE VIEW said AS SELECT *, CASE WHEN broken THEN 'novel' ELSE 'usual' END AS said, broken::int AS number FROM readings;
SELECT rows, auc > 0.8 AS good FROM svm_evaluate('readings_novelty', 'said', label => 'said');
SELECT rows, auc FROM svm_evaluate('readings_novelty', 'said', label => 'number');
SELECT svm_evaluate('readings_novelty', 'readings');
-- linear, not centred; of rows that weigh; of a query; kernels; texts
SELECT svm_train('readings', features => '{temperature,pressure}', kernel => 'linear', nu => 0.1, model => 'linear');
SELECT svm_train('readings', features => '{temperature,pressure}', kernel => 'linear', nu => 0.1, scale => 'none', model => 'unscaled');
SELECT svm_train_query('SELECT *, 1 + id % 3 AS times FROM readings', features => '{temperature,pressure}', weight => 'times', task => 'novelty', nu => 0.1, model => 'weighed');
SELECT svm_train('readings', features => '{temperature,pressure}', kernel => 'polynomial', degree => 2, coef0 => 1, nu => 0.1, model => 'polynomial');
SELECT svm_train('readings', features => '{temperature,pressure}', options => '{"method": "low_rank"}', model => 'low_rank');
SELECT svm_train('readings', features => '{temperature,pressure,hall}', nu => 1, model => 'all');
SELECT svm_train('readings', features => '{temperature,pressure}', kernel => 'rbf', gamma => 2, nu => 0.5, loss => 'hinge', task => 'novelty', model => 'half');
SELECT name, kernel, scale, gap <= 1e-4 AS certified, round(nu::numeric, 2) AS nu, round(training_novel::numeric, 1) AS share FROM svm_versions WHERE name <> 'readings_novelty' ORDER BY name;
-- what is certified: 1/2 |w|^2 + C sum max(0, 1 - <w, x>), with decisions of <w, x> - 1
SELECT abs(m.primal - 0.5 * w.square - m.c * s.losses) < 1e-5 * m.primal AS primal
FROM svm_models AS m,
    (SELECT sum(weight * weight) AS square FROM svm_weights('unscaled') WHERE feature <> '(intercept)') AS w,
    (SELECT sum(greatest(0, -svm_decision('unscaled', r))) AS losses FROM readings AS r) AS s
WHERE m.name = 'unscaled';
SELECT feature, weight FROM svm_weights('unscaled') WHERE feature = '(intercept)';
-- the next version keeps it, and a refresh
SELECT svm_train('readings', exclude => '{id,broken,hall}');
SELECT svm_refresh('readings_novelty');
SELECT version, task, options ->> 'nu' AS nu FROM svm_versions WHERE name = 'readings_novelty' ORDER BY version;
-- by scans, which hold no rows: the optimum of kept ones
SELECT svm_train('readings', features => '{temperature,pressure}', kernel => 'linear', nu => 0.1, scale => 'none', solver => solver, model => 'by_' || solver) FROM unnest('{scan}'::text[]) AS solver;
SELECT svm_train('readings', features => '{temperature,pressure}', rank => 30, nu => 0.1, solver => 'scan', model => 'by_scan_rbf');
SELECT m.name, abs(m.nu - 0.1) < 0.001 AS nu, m.gap <= 1e-5 AS certified, abs(m.c / u.c - 1) < 0.02 AS same_c, abs(v.training_novel - 0.1) < 0.02 AS share, m.name LIKE '%rbf' OR m.dual <= u.primal * (1 + 0.05) AS near
FROM svm_models AS m JOIN svm_versions AS v ON v.id = m.id JOIN svm_models AS u ON u.name = CASE WHEN m.name LIKE '%rbf' THEN m.name ELSE 'unscaled' END WHERE m.name LIKE 'by\_%' ORDER BY 1;
-- elsewhere
SELECT svm_create_function('linear', 'is_usual', immutable => true);
SELECT bool_and(is_usual(temperature, pressure) = svm_classify('linear', r)) FROM readings AS r;
SELECT svm_import('again', svm_export('readings_novelty', format => 'pgsvm'));
SELECT bool_and(svm_decision('again', r) = svm_decision('readings_novelty', r)) AS same FROM readings AS r;
SELECT task, round(nu::numeric, 2) AS nu FROM svm_versions WHERE name = 'again';
-- files of LIBLINEAR and LIBSVM, both ways
SELECT regexp_replace(svm_export('unscaled', format => 'liblinear'), '\d\.\d+', 'n', 'g');
SELECT split_part(svm_export('readings_novelty', format => 'libsvm_model'), E'\n', 1), svm_export('readings_novelty', format => 'libsvm_model') LIKE E'%nr_class 2\ntotal_sv %\nrho %\nSV\n%' AS without_labels;
SELECT svm_import('of_liblinear', svm_export('unscaled', format => 'liblinear'), 'array'), svm_import('of_libsvm', svm_export('readings_novelty', format => 'libsvm_model'), 'array');
SELECT name, task, loss, label_column = '' AS no_label, label_values, nu IS NULL AS no_nu FROM svm_versions WHERE name LIKE 'of\_%' ORDER BY name;
SELECT bool_and(abs(svm_decision('of_liblinear', ARRAY[temperature, pressure]) - svm_decision('unscaled', r)) < 1e-9) AS linear,
    bool_and(svm_classify('of_liblinear', ARRAY[temperature, pressure]) = svm_classify('unscaled', r)) AS classes FROM readings AS r;
SELECT svm_export('of_libsvm', format => 'libsvm_model') = svm_export('readings_novelty', format => 'libsvm_model') AS same_file,
    svm_export('of_liblinear', format => 'liblinear') = svm_export('unscaled', format => 'liblinear') AS and_this;
SELECT svm_import('x', svm_export('unscaled', format => 'liblinear'), classes => '{"1": "a"}');
SELECT svm_import('x', E'solver_type ONECLASS_SVM\nnr_class 2\nnr_feature 1\nbias -1\nw\n1\n');
SELECT svm_import('x', E'svm_type one_class\nkernel_type rbf\ngamma 1\nnr_class 2\ntotal_sv 0\nrho 1\nSV\n');
SELECT svm_import('x', E'svm_type one_class\nkernel_type rbf\ngamma 1\nnr_class 2\ntotal_sv 2\nrho 1\nSV\n1 1:1\n');
SELECT svm_import('x', E'svm_type one_class\nkernel_type rbf\ngamma 1\nnr_class 2\ntotal_sv 1\nrho 1 2\nSV\n1 1:1\n');
SELECT count(*) FROM svm_explain('readings_novelty', (SELECT r FROM readings AS r LIMIT 1));
SELECT model FROM svm_predict_query('linear', 'SELECT * FROM readings LIMIT 1') AS p, LATERAL (SELECT 'linear' AS model) AS m;
SELECT svm_create_function('linear', 'how_usual', kind => 'decision', immutable => true);
CREATE INDEX strange ON readings (how_usual(temperature, pressure));
SELECT round(nu::numeric, 2) AS nu, round(training_novel::numeric, 1) AS share FROM svm_models WHERE name = 'linear';
-- rows that stream, by blocks, from an index, by several processes
SET pgsvm.cache_size = '64kB';
SELECT svm_train('readings', features => '{temperature,pressure}', kernel => 'linear', nu => 0.1, model => 'stream');
SELECT svm_train('readings', features => '{temperature,pressure}', kernel => 'linear', nu => 0.1, solver => 'block', model => 'block');
SELECT svm_train('readings', features => '{temperature,pressure}', kernel => 'linear', nu => 0.1, solver => 'indexed', model => 'indexed');
RESET pgsvm.cache_size;
SELECT name, gap <= 1e-4 AS certified, round(nu::numeric, 2) AS nu FROM svm_models WHERE name IN ('stream', 'block', 'indexed') ORDER BY name;
-- an exact machine that is given up leaves the one of low rank, as it is trained by itself
SET pgsvm.cache_size = '64kB';
SELECT svm_train('readings', features => '{temperature,pressure}', nu => 0.1, model => 'given_up');
SELECT svm_train('readings', features => '{temperature,pressure}', nu => 0.1, model => 'never_begun', options => '{"method": "low_rank"}');
RESET pgsvm.cache_size;
SELECT name, task, abs(nu - 0.1) < 0.001 AS nu, abs(training_novel - 0.1) < 0.02 AS share, training_accuracy IS NULL AS no_accuracy FROM svm_models WHERE name IN ('given_up', 'never_begun') ORDER BY name;
SELECT abs(avg((svm_decision('given_up', r) < 0)::int) - 0.1) < 0.02 AS share FROM readings AS r;
-- a refresh keeps the kernel, with and without nu; one weight makes no other share
SELECT svm_refresh('linear'), svm_train('readings', features => '{temperature,pressure}', model => 'plain'), svm_refresh('plain');
SELECT name, version, kernel, scale, task FROM svm_versions WHERE name IN ('linear', 'plain') ORDER BY name, version;
SELECT svm_train('readings', NULL, '{temperature,pressure}', 'hinge', loss => 'hinge');
SET client_min_messages = error;
SELECT svm_train('readings', features => '{temperature,pressure}', kernel => 'linear', scale => 'none', tolerance => 1e-12, max_passes => 1, model => 'unfinished');
SET client_min_messages = warning;
CREATE TABLE waves AS SELECT sin(i * 1.3) + sin(i * 2.1) + sin(i * 0.77) AS a, CASE WHEN i % 2 = 0 THEN 0.01 ELSE 1 END AS w FROM generate_series(1, 3000) AS i;
SELECT svm_train('waves', features => '{a}', nu => 0.2), svm_train('waves', features => '{a}', nu => 0.2, gamma => 2, model => 'narrow');
SELECT name, abs(training_novel - 0.2) < 0.02 AS share FROM svm_models WHERE name IN ('waves_novelty', 'narrow') ORDER BY name;
CREATE TABLE spread AS SELECT exp(6 * sin(i * 1.7)) AS a, exp(6 * cos(i * 2.3)) AS b FROM generate_series(1, 1000) AS i;
SET client_min_messages = error;
SELECT svm_train('spread', gamma => 1, scale => 'none', nu => 0.3, model => 'spread', options => '{"method": "exact"}');
SET client_min_messages = warning;
SELECT task, gap <= 1e-4 AS certified FROM svm_models WHERE name = 'spread';
SELECT svm_train('readings', features => '{temperature,pressure}', kernel => 'linear', nu => 0.1, model => 'linear', options => '{"normalize_rows": true}');
-- no row that can be used
SELECT svm_train_query('SELECT NULL::float8 AS a, NULL::float8 AS b FROM readings', nulls => 'skip', model => 'no');
SELECT svm_train_query('SELECT temperature, 0 AS w FROM readings', weight => 'w', model => 'no');
SELECT svm_train_query($$SELECT 'NaN'::float8 AS a FROM readings$$, bad_rows => 'skip', model => 'no');
-- by a key it knows its rows: each follow-up is what a training on the same rows is, and begins from nothing
CREATE TABLE known AS SELECT id, temperature, pressure FROM readings WHERE id <= 600;
CREATE TABLE more AS SELECT id + 5000 AS id, temperature + 1 AS temperature, pressure FROM readings WHERE id <= 30;
CREATE VIEW kernels AS SELECT kernel FROM unnest('{linear,rbf}'::text[]) AS kernel;
CREATE FUNCTION is_as(query text) RETURNS TABLE (model text, rows_used bigint, followed jsonb, same boolean) LANGUAGE plpgsql AS $$
DECLARE
    kind text;
BEGIN
    FOR kind IN SELECT kernel FROM kernels LOOP
        PERFORM svm_train_query(query, exclude => '{id}', kernel => kind, model => 'anew', options => '{"inherit": false}');
        RETURN QUERY SELECT v.name::text, v.rows_used, v.followed -> 'rows' || jsonb_build_object('from', v.followed -> 'begun_from'),
               (SELECT max(abs(svm_decision(v.name, r) - svm_decision('anew', r))) FROM known AS r) < 1e-3
        FROM svm_versions AS v WHERE v.name = 'keyed_' || kind ORDER BY version DESC LIMIT 1;
    END LOOP;
END $$;
SELECT svm_train('known', key => 'id', kernel => kernel, model => 'keyed_' || kernel, options => '{"duals": true}') FROM kernels;
SELECT * FROM is_as('SELECT * FROM known');
SELECT m.name, abs((SELECT sum(a) FROM svm_dual AS d, unnest(d.duals) AS a WHERE d.version_id = v.id) / (v.c * 600) - v.nu) < 0.005 AS nu_is_their_share
FROM svm_version AS v JOIN svm_model AS m ON m.id = v.model_id WHERE m.name LIKE 'keyed%' ORDER BY 1;
SELECT svm_update('keyed_' || kernel, 'more') FROM kernels;
SELECT * FROM is_as('SELECT * FROM known UNION ALL SELECT * FROM more');
INSERT INTO known SELECT * FROM more;
SELECT svm_forget('keyed_' || kernel, 'SELECT 5000 + id AS id FROM known WHERE id <= 10 UNION ALL SELECT id FROM known WHERE id <= 50') FROM kernels;
SELECT * FROM is_as('SELECT * FROM known WHERE id > 50 AND id NOT BETWEEN 5001 AND 5010');
UPDATE known SET temperature = temperature + 0.5 WHERE id % 7 = 0;
SELECT svm_refresh('keyed_' || kernel) FROM kernels;
SELECT * FROM is_as('SELECT * FROM known');
-- what does not go with it
\set VERBOSITY default
SELECT svm_train('readings', 'broken', task => 'novelty');
SELECT svm_train('readings', 'broken', nu => 0.1);
SELECT svm_train('readings', nu => 0);
SELECT svm_train('readings', nu => 1.01);
SELECT svm_train('readings', nu => 'NaN');
SELECT svm_train('readings', options => '{"nu": "many"}');
SELECT svm_train('readings', task => 'classification');
SELECT svm_train('readings', task => 'regression');
SELECT svm_train('readings', 'broken', task => 'classification', nu => 0.1);
SELECT svm_train('readings', task => 'regression', nu => 0.1);
SELECT svm_train('readings', NULL, loss => 'squared_hinge');
SELECT svm_train('readings', epsilon => 0.1);
SELECT svm_train('readings', task => 'novelty', epsilon => 0.1);
SELECT svm_train('readings', task => 'novelty', options => '{"scale_label": "none"}');
SELECT svm_train('readings', task => 'novelty', loss => 'squared_hinge');
SELECT svm_train('readings', c => 1);
SELECT svm_train('readings', c => 'auto');
SELECT svm_train('readings', gamma => 'auto');
SELECT svm_train('readings', metric => 'auc');
SELECT svm_train('readings', folds => 5);
SELECT svm_train('readings', intercept => true);
SELECT svm_train('readings', options => '{"intercept": "free"}');
SELECT svm_train('readings', kernel => 'linear', scale => 'standard');
SELECT svm_train('readings', kernel => 'linear', scale => 'minmax');
SELECT svm_train('readings', kernel => 'linear', solver => 'newton');
SELECT svm_train('readings', solver => 'interior_point');
SELECT svm_train('readings', kernel => 'linear', solver => 'ocas');
SELECT svm_train('readings', kernel => 'linear', solver => 'block', options => '{"inner": "newton"}');
SELECT svm_train('readings', kernel => 'linear', solver => 'block', options => '{"inner": "pegasos"}');
SELECT svm_train('readings', kernel => 'linear', options => '{"policy": "paper"}');
SELECT svm_train('readings', class_weight => 'balanced');
SELECT svm_train('readings', probability => true);
SELECT svm_train('readings', options => '{"watch": "readings"}');
SELECT svm_train('readings', options => '{"multiclass": "one_vs_one"}');
SELECT svm_train('readings', solver => 'scan', options => '{"multiclass": "crammer_singer"}');
SELECT svm_train('readings', options => '{"classes_by": "decision"}');
SELECT svm_train('readings', options => '{"deploy": "if_better", "relation": "readings", "metric": "auc"}');
SELECT svm_train_query('SELECT * FROM readings');
SELECT svm_cross_validate('readings', NULL, task => 'novelty');
SELECT svm_cross_validate('readings', NULL);
SELECT svm_update('linear', 'readings');
SELECT svm_forget('linear', 'SELECT 1');
SELECT svm_suspects('linear', 'readings');
SELECT svm_predict('linear', r) FROM readings AS r LIMIT 1;
SELECT svm_probability('linear', r) FROM readings AS r LIMIT 1;
SELECT svm_classify('linear', r, 0.3) FROM readings AS r LIMIT 1;
SELECT svm_create_function('linear', 'strange', kind => 'probability');
-- rows on all sides of the origin, and none
CREATE TABLE around AS SELECT sin(i) AS x, cos(i) AS y FROM generate_series(1, 500) AS i;
SELECT svm_train('around', kernel => 'linear', model => 'no');
SELECT svm_train_query('SELECT * FROM around WHERE false', model => 'no');
SELECT svm_train_query('SELECT x, y FROM around LIMIT 1', model => 'one');
SELECT svm_train_query('SELECT 1.0 AS x FROM around', kernel => 'linear', model => 'same');
SELECT svm_train_query('SELECT NULL::float8 AS x FROM around', model => 'no');
SELECT svm_train_query('SELECT 0.0 AS x FROM around', kernel => 'linear', model => 'no');
