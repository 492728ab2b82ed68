-- Bad input: each case a clear error, its SQLSTATE behind it, and the previous version stays in force.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE TABLE points (id serial, x float8, y real, side text, good boolean, kind text, at date);
INSERT INTO points (x, y, side, good, kind)
SELECT i, i % 7, CASE WHEN i > 10 THEN 'right' ELSE 'left' END, i > 10, 'constant' FROM generate_series(1, 20) AS i;
CREATE TABLE empty (x float8, good boolean);
CREATE TABLE many AS SELECT i AS id, i AS x, i > 50 AS good FROM generate_series(1, 100) AS i;
SELECT svm_train('points', 'good', ARRAY['x', 'y'], 'm');


-- source
SELECT svm_train(NULL, 'good');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('nowhere', 'good');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train(999999999::oid::regclass, 'good');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points_id_seq', 'good');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT * FROM nowhere', 'good', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT 1; SELECT 2', 'good', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('', 'good', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('DELETE FROM points', 'good', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT * INTO other FROM points', 'good', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT 1) AS q; DELETE FROM points; --', 'good', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELEC x', 'good', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT x, good FROM points', 'good');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT x / 0 AS x, good FROM points', 'good', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('empty', 'good');
\echo :LAST_ERROR_SQLSTATE

-- label
SELECT svm_train('points', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'nothing');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'kind', features => ARRAY['x', 'y']);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT x, n AS y FROM points, generate_series(1, 1001) AS n', 'y', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'at', features => ARRAY['x']);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT x, NULL::boolean AS good FROM points', 'good', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT x, CASE WHEN good THEN 1 ELSE ''NaN''::float8 END AS good FROM points', 'good', model => 'm');
\echo :LAST_ERROR_SQLSTATE

-- features
SELECT svm_train('points', 'good', nulls => 'error');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', features => ARRAY['x', 'good']);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', features => ARRAY['x', 'z']);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', features => ARRAY['X']);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', features => ARRAY['x', 'x']);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT x, point(1, 2) AS waited, good FROM points', 'good', features => ARRAY['x', 'waited'], model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', features => ARRAY['x', 'category(y)']);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', features => ARRAY['x', 'category(side, kind)']);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', features => ARRAY['side', 'category(side)']);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', features => '{}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', features => ARRAY['x', NULL]);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', features => ARRAY['sparse(x)']);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', features => ARRAY['sparse(x, y)']);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', features => ARRAY['libsvm(x)']);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', features => ARRAY(SELECT 'sparse(x, y' || i || ')' FROM generate_series(1, 10001) AS i));
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT good, ARRAY[true] AS sides FROM points', 'good', model => 'm');
\echo :LAST_ERROR_SQLSTATE

-- values
SELECT svm_train_query('SELECT nullif(x, 3) AS x, nullif(y, 2) AS y, good FROM points', 'good', model => 'm', nulls => 'error');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT NULL::float8 AS x, good FROM points', 'good', model => 'm', nulls => 'skip');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT x, CASE WHEN id = 5 THEN ''NaN'' ELSE y END AS y, good FROM points ORDER BY id', 'good', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT CASE WHEN id = 6 THEN ''-Infinity'' ELSE x END AS x, good FROM points ORDER BY id', 'good', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT CASE WHEN id = 6 THEN 1e300 ELSE x END AS x, good FROM points ORDER BY id', 'good', model => 'm', scale => 'none');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT CASE WHEN id = 6 THEN date ''infinity'' ELSE date ''2020-01-01'' + id END AS day, good FROM points ORDER BY id', 'good', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT CASE WHEN id = 7 THEN repeat(''long '', 300) ELSE side END AS story, good FROM points ORDER BY id', 'good', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT ARRAY[x, CASE WHEN id = 4 THEN ''NaN'' ELSE y END] AS v, good FROM points ORDER BY id', 'good', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT CASE WHEN id = 8 THEN ARRAY[x] ELSE ARRAY[x, y] END AS v, good FROM points ORDER BY id', 'good', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT ARRAY[ARRAY[x, y]] AS v, good FROM points ORDER BY id', 'good', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT ARRAY[1, 2] AS i, ARRAY[x] AS v, good FROM points ORDER BY id', 'good', ARRAY['sparse(i, v)'], model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT ARRAY[-1] AS i, ARRAY[x] AS v, good FROM points ORDER BY id', 'good', ARRAY['sparse(i, v)'], model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT ARRAY[2, 2] AS i, ARRAY[x, y] AS v, good FROM points ORDER BY id', 'good', ARRAY['sparse(i, v)'], model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT ''1:2 x'' AS t, good FROM points ORDER BY id', 'good', ARRAY['libsvm(t)'], model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT ''+1 1:2'' AS t, good FROM points ORDER BY id', 'good', ARRAY['libsvm(t)'], model => 'm');
\echo :LAST_ERROR_SQLSTATE

-- parameters
SELECT svm_train('points', 'good', ARRAY['x', 'y'], c => -1);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], c => 0);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], c => 'Infinity');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], c => NULL, options => '{"costs": []}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], c => NULL, options => '{"costs": [1, -1]}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], c => NULL, options => '{"costs": [1, 2, 1]}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], c => NULL, options => '{"costs": "1"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], c => 2, options => '{"costs": [1, 2]}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], c => 2, options => '{"folds": 3}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], c => NULL, options => '{"folds": 1}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], c => NULL, options => '{"folds": 2.5}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], c => NULL, options => '{"fold_column": "z"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], probability => true, options => '{"fold_column": "kind"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_cross_validate('points', 'good', features => ARRAY['x', 'y'], folds => 65);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_cross_validate('points', 'good', c => ARRAY[1, NULL], features => ARRAY['x', 'y']);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_cross_validate('points', 'good', c => '{}', features => ARRAY['x', 'y']);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_cross_validate('points', 'good', features => ARRAY['x', 'y'], fold_column => 'at');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_cross_validate('many', 'good', fold_column => 'id');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], class_weight => 'even');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], class_weight => '{"true": 0}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], class_weight => '{"true": "5"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], class_weight => '{"yes": 5}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], weight => 'z');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], weight => 'side');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT x, good, 5 - id AS w FROM points ORDER BY id', 'good', model => 'm', weight => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT x, good, nullif(id, 4) AS w FROM points ORDER BY id', 'good', model => 'm', weight => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT x, good, ''NaN''::float8 AS w FROM points ORDER BY id', 'good', model => 'm', weight => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT x, good, 1e-60 AS w FROM points ORDER BY id', 'good', model => 'm', weight => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT x, good, 0 AS w FROM points ORDER BY id', 'good', model => 'm', weight => 'w');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], loss => 'logistic');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], scale => 'quantile');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], nulls => 'ignore');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], tolerance => 0);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], tolerance => 1);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], max_passes => 0);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], solver => 'secant');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], options => '{"speed": 11}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], options => '[]');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], options => '{"policy": "lru"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], solver => 'block', options => '{"policy": "paper"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], options => '{"inner_rounds": 10}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], solver => 'block', options => '{"inner_rounds": 0}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], solver => 'selective_block', options => '{"inner_rounds": 1001}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], solver => 'block', options => '{"inner_rounds": "ten"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], solver => 'selective_block', options => '{"inner": "pegasos"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], solver => 'block', options => '{"inner": "primal"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], solver => 'block', options => '{"inner_updates": "row"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], solver => 'block', options => '{"inner": "pegasos", "inner_updates": "column"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], solver => 'block', options => '{"inner": "pegasos", "inner_rounds": 5}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], solver => 'block', options => '{"inner": "pegasos", "proximal": "on"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], solver => 'block', options => '{"inner": "pegasos", "inner_updates": 0}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], solver => 'block', options => '{"inner": "newton", "inner_rounds": 5}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], solver => 'selective_block', options => '{"inner": "newton", "proximal": "on"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], loss => 'hinge', solver => 'block', options => '{"inner": "newton"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], solver => 'block', options => '{"stop": "projected_gradient", "inner": "newton"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], options => '{"blocks": 5}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], solver => 'block', options => '{"blocks": 1001}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], solver => 'selective_block', options => '{"blocks": "many"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], options => '{"picks": 2}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], solver => 'block', options => '{"picks": "free"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], options => '{"policy": "paper", "picks": 0}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], options => '{"policy": "paper", "picks": "all"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], options => '{"policy": "paper", "stop": "never"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], options => '{"stop": "projected_gradient"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], solver => 'block', options => '{"stop": "projected_gradient", "proximal": "on"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], solver => 'block', options => '{"stop": "projected_gradient", "inner": "pegasos"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], solver => 'block', options => '{"stop": "projected_gradient"}', tolerance => 1);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], options => '{"split": "sequential"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], solver => 'block', options => '{"split": "sorted"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], options => '{"block_order": "random"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], solver => 'block', options => '{"block_order": 1}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], options => '{"compression": "gzip"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], options => '{"max_categories": -1}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], options => '{"max_categories": 1048577}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], options => '{"hash_bits": 0}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], options => '{"hash_bits": 25}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], options => '{"hash_bits": "many"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], model => 'a@3');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', ARRAY['x', 'y'], model => '');
\echo :LAST_ERROR_SQLSTATE

-- memory
SET pgsvm.cache_size = '256kB';
SELECT svm_train_query('SELECT array_fill(x, ARRAY[100000]) AS v, good FROM points', 'good', model => 'm');
\echo :LAST_ERROR_SQLSTATE
RESET pgsvm.cache_size;
SET pgsvm.workers = 3;
\echo :LAST_ERROR_SQLSTATE
SET pgsvm.trainers = 0;
\echo :LAST_ERROR_SQLSTATE

-- read-only transactions
BEGIN READ ONLY;
SELECT svm_train('points', 'good', ARRAY['x', 'y']);
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;

-- nothing was lost, nothing half-written
SELECT name, version FROM svm_models;
SELECT count(*) FROM svm_version;
SELECT svm_predict('m', p) = good::int AS right, count(*) FROM points AS p GROUP BY 1;
DELETE FROM svm_model;
DROP TABLE points, empty;
-- with a key a row is named by it
CREATE TABLE named AS
SELECT 'k' || i AS key, CASE i WHEN 7 THEN 'Infinity' ELSE i::float8 END AS x, i > 10 AS y, CASE i WHEN 12 THEN -1 ELSE 1 END AS weight, ARRAY[i, i] AS a
FROM generate_series(1, 20) AS i;
SELECT svm_train('named', 'y', '{x}', 'named', key => 'key');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('named', 'y', '{x}', 'named');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('named', 'y', '{a}', 'named', key => 'key', weight => 'weight');
\echo :LAST_ERROR_SQLSTATE
UPDATE named SET a = '{1}', key = repeat('long', 100) WHERE key = 'k5';
SELECT svm_train('named', 'y', '{a}', 'named', key => 'key');
\echo :LAST_ERROR_SQLSTATE
DROP TABLE named;
-- without one, by where it lies: in a table, one of its partitions or a child, whatever is left out before it
CREATE TABLE placed (id int, x float8, y boolean, weight float8, part int) PARTITION BY LIST (part);
CREATE TABLE placed_one PARTITION OF placed FOR VALUES IN (1);
CREATE TABLE "Placed two" PARTITION OF placed FOR VALUES IN (2);
INSERT INTO placed SELECT i, i, i % 2 = 0, 1, 1 + i / 11 FROM generate_series(1, 20) AS i;
UPDATE placed SET x = 'Infinity' WHERE id = 14;
SELECT svm_train('placed', 'y', '{x}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('"Placed two"', 'y', '{x}', weight => 'weight');
\echo :LAST_ERROR_SQLSTATE
UPDATE placed SET x = 1, weight = -1 WHERE id = 14;
DELETE FROM placed WHERE id < 14 AND part = 2;
SELECT svm_train('placed', 'y', '{x}', weight => 'weight');
\echo :LAST_ERROR_SQLSTATE
UPDATE placed SET weight = 1, id = NULL WHERE id = 14;
SELECT svm_train('placed', 'y', '{x}', key => 'id', model => 'placed');
\echo :LAST_ERROR_SQLSTATE
CREATE TABLE parent (v float8[], label float8);
CREATE TABLE child () INHERITS (parent);
INSERT INTO parent SELECT ARRAY[i, 1], i % 2 FROM generate_series(1, 3) AS i;
INSERT INTO child SELECT ARRAY[i, 1], CASE i WHEN 3 THEN 'NaN'::float8 ELSE i % 2 END FROM generate_series(1, 3) AS i;
SELECT svm_train('parent', 'label', '{v}');
\echo :LAST_ERROR_SQLSTATE
UPDATE child SET v = '{1}', label = 1 WHERE label = 'NaN';
SELECT svm_train('parent', 'label', '{v}');
\echo :LAST_ERROR_SQLSTATE
CREATE MATERIALIZED VIEW kept AS SELECT * FROM parent;
SELECT svm_train('kept', 'label', '{v}');
\echo :LAST_ERROR_SQLSTATE
-- rows of a view and of a query lie nowhere, nor do those of a table that come in another order
CREATE VIEW seen AS SELECT * FROM parent;
SELECT svm_train('seen', 'label', '{v}');
SELECT svm_train_query('SELECT * FROM parent', 'label', '{v}', 'parent');
SELECT svm_train('parent', 'label', '{v}', c => NULL, options => '{"fold_order": "label"}');
\echo :LAST_ERROR_SQLSTATE
DROP TABLE placed, parent CASCADE;

-- An index makes as many features as it is large: a training is not to take all memory for it.
SELECT svm_train_query($$SELECT (i % 7 || ':1 2147483000:' || i % 5) AS line, i % 2 = 0 AS l FROM generate_series(1, 50) AS i$$, 'l', '{libsvm(line)}', 'wide');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query($$SELECT ARRAY[1, 40000000] AS idx, ARRAY[1, i % 5]::real[] AS val, i % 2 = 0 AS l FROM generate_series(1, 50) AS i$$, 'l', ARRAY['sparse(idx, val)'], 'wide', solver => 'scan');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query($$SELECT ARRAY[1, 2000000000] AS idx, ARRAY[1, i % 5]::real[] AS val, i % 2 = 0 AS l FROM generate_series(1, 50) AS i$$, 'l', ARRAY['hash(sparse(idx, val), 10)'], 'wide');
-- nor for its features in each of many classes, folds and values of C
SELECT svm_train_query($$SELECT ARRAY[1, 16777216] AS idx, ARRAY[1, i % 5]::real[] AS val, i % 200 AS l FROM generate_series(1, 400) AS i$$, 'l', ARRAY['sparse(idx, val)'], 'wide');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query($$SELECT ARRAY[1, 16777216] AS idx, ARRAY[1, i % 5]::real[] AS val, i % 2 = 0 AS l FROM generate_series(1, 400) AS i$$, 'l', ARRAY['sparse(idx, val)'], 'wide', c => '{0.1, 1, 10, 100, 1000}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query($$SELECT ARRAY[1, 16777216] AS idx, ARRAY[1, i % 5]::real[] AS val, i % 20 AS l FROM generate_series(1, 400) AS i$$, 'l', ARRAY['sparse(idx, val)'], 'wide', solver => 'scan');
\echo :LAST_ERROR_SQLSTATE
SET pgsvm.max_memory = '256MB';
SELECT svm_train_query($$SELECT i AS x, i % 2 = 0 AS l FROM generate_series(1, 5000) AS i$$, 'l', model => 'wide', kernel => 'rbf', rank => 4000);
\echo :LAST_ERROR_SQLSTATE
RESET pgsvm.max_memory;
CREATE ROLE regress_svm_wide;
SET ROLE regress_svm_wide;
SET pgsvm.max_features = 2147483647;
RESET ROLE;
DROP ROLE regress_svm_wide;

-- options that are accepted and change nothing
SET client_min_messages = notice;
SELECT count(*) FROM svm_cross_validate('many', 'good', ARRAY['x'], solver => 'newton', options => '{"proximal": "on"}');
SELECT count(*) FROM svm_cross_validate('many', 'good', ARRAY['x'], loss => 'hinge', c => 1, options => '{"policy": "paper", "proximal": "on"}');
SELECT count(*) FROM svm_cross_validate('many', 'good', ARRAY['x'], solver => 'stream', c => 1, options => '{"proximal": "on", "compression": "on"}');
SET pgsvm.trainers = 2;
SELECT count(*) FROM svm_cross_validate('many', 'good', ARRAY['x'], solver => 'block', c => 1, tolerance => 0.5, options => '{"inner": "pegasos"}');
RESET pgsvm.trainers;
\set VERBOSITY terse
SELECT svm_train('many', 'good', ARRAY['x'], 'scanned', solver => 'scan', options => '{"compression": "on", "expansion": "visit", "proximal": "on"}');
SELECT svm_train('many', 'good', ARRAY['x'], 'scanned', solver => 'interior_point', rank => 1, options => '{"machines": "scans", "inherit": false}');
SELECT svm_drop('scanned');
