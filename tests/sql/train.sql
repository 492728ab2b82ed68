-- What can be trained on, and what comes out. Figures that depend on rounding are compared, not printed.
SET client_min_messages = warning;
CREATE TABLE flowers (id serial, length real, width float8, petals int2, tall boolean, height numeric(6, 2), label int);
INSERT INTO flowers (length, width, petals, tall, height, label)
SELECT i % 10 + sign, (i * 7) % 5 - sign, i % 3, i % 2 = 0, 100 + i * 0.01, sign
FROM generate_series(1, 400) AS i, LATERAL (SELECT CASE WHEN i % 4 = 0 THEN 1 ELSE -1 END AS sign) AS s;

CREATE FUNCTION summary(name text) RETURNS TABLE (version int, rows_used bigint, features bigint, certified boolean, stop text)
LANGUAGE sql AS $$
    SELECT version, rows_used, features, gap BETWEEN 0 AND 1e-3 AND primal >= dual AND dual > 0, stop_reason
    FROM svm_models WHERE svm_models.name = summary.name
$$;

-- the defaults: every usable column, the name relation_label
SELECT svm_train('flowers', 'label');
SELECT * FROM summary('flowers_label');

-- the certificate, recomputed from the stored weights: primal = |w|^2 / 2 + C sum of hinge losses, for scaled columns
SELECT svm_train('flowers', 'label', ARRAY['length', 'width'], 'plain', loss => 'hinge', scale => 'none', c => 0.5);
SELECT abs(primal - (
    (SELECT (intercept ^ 2 + w.square) / 2 FROM svm_version, LATERAL (SELECT sum(x ^ 2) AS square FROM svm_weight, unnest(weights) AS x WHERE version_id = svm_version.id) AS w
     WHERE model_id = (SELECT id FROM svm_model WHERE name = 'plain'))
    + 0.5 * (SELECT sum(greatest(0, 1 - label * svm_decision('plain', f))) FROM flowers AS f))) < 1e-5 * primal AS primal_agrees
FROM svm_models WHERE name = 'plain';

-- and the dual, recomputed from the kept dual variables: D = sum a - |sum a y x|^2 / 2, with 0 <= a <= C
SELECT svm_train('flowers', 'label', ARRAY['length', 'width'], 'proof', loss => 'hinge', scale => 'none', c => 0.5, options => '{"duals": true}');
WITH alpha AS (
    SELECT first_row + "offset" AS row, a FROM svm_dual JOIN svm_version ON svm_version.id = version_id JOIN svm_model ON svm_model.id = model_id,
        LATERAL unnest(rows, duals) AS pair ("offset", a) WHERE name = 'proof'
), visited AS (
    SELECT row_number() OVER () - 1 AS row, label, length, width FROM flowers
), dual AS (
    SELECT sum(a) - (sum(a * label * length) ^ 2 + sum(a * label * width) ^ 2 + sum(a * label) ^ 2) / 2 AS value, min(a) AS least, max(a) AS most
    FROM alpha JOIN visited USING (row)
)
SELECT abs(dual - value) < 1e-5 * dual AS dual_agrees, least > 0 AND most <= 0.5 AS within_bounds FROM svm_models, dual WHERE name = 'proof';

-- what is NULL, or NaN for c, is as if not given
SELECT svm_train('flowers', 'label', ARRAY['length', 'width'], 'plain', options => '{"deploy": false}');
SELECT svm_train('flowers', 'label', ARRAY['length', 'width'], 'plain', c => 'NaN', loss => NULL, intercept => NULL, scale => NULL, nulls => NULL,
    tolerance => NULL, max_passes => NULL, solver => NULL, seed => NULL, class_weight => NULL, weight => NULL, probability => NULL, key => NULL,
    options => NULL);
SELECT count(*), max(version), count(DISTINCT (primal, loss, c)) AS trainings FROM svm_versions WHERE name = 'plain' AND version > 1;
SELECT c, loss, scale, nulls, solver, intercept_used, tolerance, max_passes, seed FROM svm_version JOIN svm_model ON svm_model.id = model_id AND version = current_version
WHERE name = 'plain';
SELECT svm_train('flowers', 'label', ARRAY['length', 'width'], 'plain', scale => 'standard', solver => 'block', options => '{"inner": "pegasos", "deploy": false}');
SELECT loss, solver FROM svm_versions WHERE name = 'plain' ORDER BY version DESC LIMIT 1;

-- a new version of the same model
SELECT svm_train('flowers', 'label', ARRAY['length', 'width'], 'plain', c => 2);
SELECT * FROM summary('plain');
SELECT count(*) FROM svm_version JOIN svm_model ON svm_model.id = model_id WHERE name = 'plain';

-- sources: view, materialized view, partitioned and temporary table, a query
CREATE VIEW tall_flowers AS SELECT length, width, label FROM flowers WHERE tall;
CREATE MATERIALIZED VIEW kept_flowers AS SELECT length, width, label FROM flowers;
CREATE TABLE parted (length real, width float8, label int) PARTITION BY LIST (label);
CREATE TABLE parted_minus PARTITION OF parted FOR VALUES IN (-1);
CREATE TABLE parted_plus PARTITION OF parted FOR VALUES IN (1);
INSERT INTO parted SELECT length, width, label FROM flowers;
CREATE TEMP TABLE passing AS SELECT length, width, label FROM flowers;
SELECT svm_train(source, 'label') FROM unnest(ARRAY['tall_flowers', 'kept_flowers', 'parted', 'passing']::regclass[]) AS source;
SELECT svm_train_query('SELECT length AS x, -label AS y FROM flowers WHERE id <= 300 -- a comment', 'y', model => 'asked');
SELECT name, s.* FROM svm_models, LATERAL summary(name) AS s WHERE name LIKE 'p%' OR name LIKE '%flowers%' OR name = 'asked' ORDER BY name;

-- the same with two workers, with one, and with none
SET pgsvm.min_parallel_size = 0;
SELECT svm_train(source, 'label', model => 'two_' || source) FROM unnest(ARRAY['tall_flowers', 'kept_flowers', 'parted', 'passing']::regclass[]) AS source;
SET pgsvm.workers = 1;
SELECT svm_train(source, 'label', model => 'one_' || source) FROM unnest(ARRAY['parted', 'passing']::regclass[]) AS source;
RESET pgsvm.workers;
SELECT model.name, workers, abs(model.primal - alone.primal) <= 1e-3 * alone.primal AS same_objective
FROM svm_models AS model
JOIN (SELECT name, primal FROM svm_models) AS alone ON alone.name = substr(model.name, 5) || '_label'
WHERE workers > 0 ORDER BY 1;
RESET pgsvm.min_parallel_size;

-- rows and tables of the same transaction, with workers
BEGIN;
SET LOCAL pgsvm.min_parallel_size = 0;
CREATE TABLE fresh AS SELECT length, width, label FROM flowers;
INSERT INTO fresh SELECT length, width, label FROM flowers;
SELECT svm_train('fresh', 'label');
SELECT rows_used FROM svm_models WHERE name = 'fresh_label';
ROLLBACK;
SELECT count(*) FROM svm_models WHERE name = 'fresh_label';

-- labels of every kind: the larger value is the positive one
CREATE TYPE size AS ENUM ('small', 'medium', 'large');
SELECT svm_train_query('SELECT length, width, ' || label || ' AS y FROM flowers', 'y', model => name, task => 'classification')
FROM (VALUES
    ('boolean', 'label > 0'), ('smallint', 'label::int2'), ('bigint', 'label::int8 * 10000000000'), ('real', '(label / 2.0)::real'),
    ('double', 'label::float8'), ('numeric', 'label::numeric(5, 2)'), ('text', 'CASE WHEN label > 0 THEN ''yes'' ELSE ''no'' END'),
    ('varchar', 'CASE WHEN label > 0 THEN ''b'' ELSE ''a'' END::varchar(3)'), ('enum', 'CASE WHEN label > 0 THEN ''large'' ELSE ''medium'' END::size')
) AS kinds (name, label);
SELECT name, label_type, label_values FROM svm_version JOIN svm_model ON svm_model.id = model_id
WHERE label_column = 'y' AND name <> 'asked' ORDER BY name;
SELECT bool_and(sign(svm_decision('boolean', f)) = sign(svm_decision('text', f))) AS agree,
       count(DISTINCT svm_classify('text', f)) AS classes, min(svm_classify('enum', f)), min(svm_predict('bigint', f))
FROM flowers AS f;

-- features of every kind give one and the same model
CREATE TABLE shapes AS
SELECT ARRAY[length, width]::real[] AS singles, ARRAY[length, width]::float8[] AS doubles, ARRAY[length, width]::numeric[] AS numerics,
       ARRAY[1, 2] AS idx, ARRAY[length, width]::real[] AS val, format('1:%s 2:%s', length, width) AS pairs, length, width, label FROM flowers;
SELECT svm_train('shapes', 'label', features, model, scale => 'none')
FROM (VALUES (ARRAY['length', 'width'], 'columns'), (ARRAY['singles'], 'singles'), (ARRAY['doubles'], 'doubles'), (ARRAY['numerics'], 'numerics'),
             (ARRAY['sparse(idx, val)'], 'sparse'), (ARRAY['libsvm(pairs)'], 'libsvm'), (ARRAY['length', 'sparse(idx, val)', 'singles'], 'mixed')) AS kinds (features, model);
SELECT model.name, model.features, abs(model.primal - base.primal) <= 2e-3 * base.primal AS same_objective
FROM svm_models AS model, (SELECT primal FROM svm_models WHERE name = 'columns') AS base
WHERE model.name IN ('columns', 'singles', 'doubles', 'numerics', 'sparse', 'libsvm') ORDER BY 1;
SELECT bool_and(abs(svm_decision('columns', s) - svm_decision('singles', s)) < 0.1) AS same_decision FROM shapes AS s;

-- the model may differ from row to row
SELECT bool_and(abs(svm_decision(name, s) - CASE name WHEN 'columns' THEN svm_decision('columns', s) ELSE svm_decision('singles', s) END) < 1e-9) AS each_its_own
FROM shapes AS s, unnest(ARRAY['columns', 'singles']) AS name;

-- scaling is folded into the weights: a prediction takes raw rows, and units do not matter
SELECT svm_train_query('SELECT length, width, label FROM flowers', 'label', model => 'metres', tolerance => 1e-6);
SELECT svm_train_query('SELECT length * 1000 + 5e6 AS length, width, label FROM flowers', 'label', model => 'millimetres', tolerance => 1e-6);
CREATE TYPE pair AS (length float8, width float8);
SELECT bool_and(abs(svm_decision('metres', ROW(length, width)::pair) - svm_decision('millimetres', ROW(length * 1000 + 5e6, width)::pair)) < 0.01) AS same FROM flowers;
SELECT svm_train('flowers', 'label', ARRAY['length', 'width'], 'maxabs', scale => 'maxabs');
SELECT * FROM summary('maxabs');

-- NULL features: skipped or zero
SELECT svm_train_query('SELECT nullif(length, 3) AS length, width, label FROM flowers', 'label', model => nulls, nulls => nulls)
FROM unnest(ARRAY['skip', 'zero']) AS nulls;
SELECT name, rows_used, rows_skipped FROM svm_version JOIN svm_model ON svm_model.id = model_id WHERE name IN ('skip', 'zero') ORDER BY 1;

-- squared hinge, no intercept, a limit of passes that is too low: the honest gap is stored
SELECT svm_train('flowers', 'label', model => 'squared', loss => 'squared_hinge', intercept => false);
SELECT * FROM summary('squared');
SET client_min_messages = error;
SELECT svm_train('flowers', 'label', model => 'hasty', max_passes => 1, tolerance => 1e-9);
SELECT stop, certified FROM summary('hasty');
SET client_min_messages = warning;

-- a cache of a tenth: the same objective, out of core, with workers and without
CREATE TABLE wide AS
SELECT CASE WHEN i % 3 = 0 THEN 1 ELSE 0 END AS y,
       (SELECT array_agg((((i * k) % 17) / 17.0 + CASE WHEN i % 3 = 0 AND k % 5 = 0 THEN 0.3 ELSE 0 END)::real) FROM generate_series(1, 50) AS k) AS v
FROM generate_series(1, 12000) AS i;
SELECT svm_train('wide', 'y', model => 'cached', c => 0.1);
SET pgsvm.cache_size = '256kB';
SET pgsvm.min_parallel_size = 0;
SELECT svm_train('wide', 'y', model => 'streamed', c => 0.1);
SET pgsvm.workers = 0;
SELECT svm_train('wide', 'y', model => 'streamed_alone', c => 0.1);
SELECT svm_train('wide', 'y', model => 'streamed_again', c => 0.1);
SELECT svm_train('wide', 'y', model => 'streamed_as_published', c => 0.1, options => '{"policy": "paper"}');
-- block minimization, and its selective form
SELECT svm_train('wide', 'y', model => 'streamed_' || solver, c => 0.1, solver => solver)
FROM unnest(ARRAY['block', 'selective_block']) AS solver;
SELECT svm_train('wide', 'y', model => 'streamed_once_a_block', c => 0.1, solver => 'block', options => '{"inner_rounds": 1}');
SELECT svm_train('wide', 'y', model => 'streamed_newton_' || solver, c => 0.1, solver => solver, options => '{"inner": "newton"}')
FROM unnest(ARRAY['block', 'selective_block']) AS solver;
RESET pgsvm.workers;
SELECT svm_train('wide', 'y', model => 'streamed_block_two', c => 0.1, solver => 'block');
RESET pgsvm.min_parallel_size;
RESET pgsvm.cache_size;
SELECT name, solver, workers, gap <= 1e-3 AS certified, abs(primal - (SELECT primal FROM svm_models WHERE name = 'cached')) <= 1e-3 * primal AS same_objective
FROM svm_models WHERE name = 'cached' OR name LIKE 'streamed%' ORDER BY 1;

-- two trainers in memory, in a worker and in the session: the same objective; it makes no difference where they are
SET pgsvm.trainers = 2;
SET pgsvm.min_parallel_size = 0;
SELECT svm_train('wide', 'y', model => 'pair', c => 0.1);
SET pgsvm.workers = 0;
SELECT svm_train('wide', 'y', model => 'pair_alone', c => 0.1);
RESET pgsvm.workers;
RESET pgsvm.min_parallel_size;
RESET pgsvm.trainers;
SELECT name, workers, gap <= 1e-3 AS certified, abs(primal - (SELECT primal FROM svm_models WHERE name = 'cached')) <= 1e-3 * primal AS same_objective
FROM svm_models WHERE name LIKE 'pair%' ORDER BY 1;

-- the same seed gives the same weights, bit for bit
SELECT count(DISTINCT weights) AS different, count(*) FROM svm_weight JOIN svm_version v ON v.id = version_id JOIN svm_model m ON m.id = v.model_id
WHERE name IN ('streamed_alone', 'streamed_again');
SELECT count(DISTINCT weights) AS different, count(*) FROM svm_weight JOIN svm_version v ON v.id = version_id JOIN svm_model m ON m.id = v.model_id
WHERE name IN ('pair', 'pair_alone');
-- blocks take their turns whoever is faster, so with them that holds for any number of workers
SELECT count(DISTINCT weights) AS different, count(*) FROM svm_weight JOIN svm_version v ON v.id = version_id JOIN svm_model m ON m.id = v.model_id
WHERE name IN ('streamed_block', 'streamed_block_two');

DELETE FROM svm_model;
DROP TABLE flowers, parted, passing, shapes, wide CASCADE;
DROP FUNCTION summary;
DROP TYPE size, pair;
