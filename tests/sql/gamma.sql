-- Grids over gamma: each gamma is a map of its own of rows that are read once; C and gamma chosen together.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET pgsvm.workers = 0;
DELETE FROM svm_model;
CREATE FUNCTION drawn(id int, k int) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT (hashint8extended(id, k) & 1048575) / 1048576.0 $$;
-- rings that overlap: no machine is perfect
CREATE TABLE rings AS
SELECT id, radius * cos(angle) AS x, radius * sin(angle) AS y, CASE WHEN id % 2 = 0 THEN 'inner' ELSE 'outer' END AS ring, id % 3 AS part
FROM (SELECT i AS id, 1 + i % 2 + 1.6 * (drawn(i, 1) - 0.5) AS radius, 6.2831853 * drawn(i, 2) AS angle
      FROM generate_series(1, 1200) AS i) AS drawn;

-- A line for each gamma, C and fold: what a cross-validation of that gamma alone finds, however many there are.
CREATE TABLE grid AS SELECT * FROM svm_cross_validate('rings', 'ring', c => '{0.01, 1}', fold_column => 'part', features => '{x, y}', kernel => 'rbf', rank => 20, gamma => '{0.02, 1, 40}');
CREATE TABLE alone AS SELECT found.* FROM unnest('{0.02, 1, 40}'::float8[]) AS g,
    svm_cross_validate('rings', 'ring', c => '{0.01, 1}', fold_column => 'part', features => '{x, y}', kernel => 'rbf', rank => 20, gamma => ARRAY[g]) AS found;
SELECT gamma, c, count(*), min(overall) BETWEEN 0.5 AND 0.95 AS sensible FROM grid GROUP BY gamma, c ORDER BY gamma, c;
SELECT count(*) AS differ FROM (SELECT c, fold, rows, accuracy, auc, objective, score, overall, gamma FROM grid
    EXCEPT SELECT c, fold, rows, accuracy, auc, objective, score, overall, gamma FROM alone) AS other;
SELECT count(*), bool_and((c, gamma) = (SELECT c, gamma FROM grid ORDER BY overall DESC, c, gamma LIMIT 1)) AS is_best FROM grid WHERE best;
-- of pairs that are equally good the smallest C wins, and then the smallest gamma
CREATE TABLE apart AS SELECT id, x, y, ring FROM (SELECT *, sqrt(x * x + y * y) AS radius FROM rings) AS r WHERE radius < 1.3 AND ring = 'inner' OR radius > 1.6 AND ring = 'outer';
WITH found AS (SELECT * FROM svm_cross_validate('apart', 'ring', c => '{10, 1}', folds => 3, features => '{x, y}', kernel => 'rbf', gamma => '{3, 1, 2}'))
SELECT count(DISTINCT (c, gamma)) FILTER (WHERE overall = 1) > 2 AS several, min(c) FILTER (WHERE best) = min(c) FILTER (WHERE overall = 1) AS smallest_c,
    min(gamma) FILTER (WHERE best) = min(gamma) FILTER (WHERE overall = 1 AND c = (SELECT min(c) FROM found WHERE overall = 1)) AS smallest_gamma FROM found;
-- of a linear machine there is none; of a kernel machine with one gamma, that
SELECT DISTINCT gamma FROM svm_cross_validate('rings', 'ring', c => '{1}', folds => 3, features => '{x, y}');
SELECT DISTINCT gamma::numeric(8, 4) FROM svm_cross_validate('rings', 'ring', c => '{1}', folds => 3, features => '{x, y}', kernel => 'rbf');
-- where neither the rows nor what is made of them fits the cache
SET pgsvm.cache_size = '64kB';
SELECT count(*) AS lines, max(abs(overall - (SELECT g.overall FROM grid AS g WHERE (g.c, g.gamma, g.fold) = (s.c, s.gamma, s.fold)))) < 0.05 AS close
FROM svm_cross_validate('rings', 'ring', c => '{0.01, 1}', fold_column => 'part', features => '{x, y}', kernel => 'rbf', rank => 20, gamma => '{0.02, 1}') AS s;
RESET pgsvm.cache_size;

-- Both chosen: the best pair of the same grid, and the machine that this pair gives.
SELECT svm_train('rings', 'ring', '{x, y}', 'chosen', kernel => 'rbf', rank => 20, options => '{"choose": ["c", "gamma"], "costs": [0.01, 1], "gammas": [0.02, 1, 40], "fold_column": "part"}');
CREATE FUNCTION chosen(name text) RETURNS TABLE (c float8, gamma float8, score float8) LANGUAGE sql AS $$
    SELECT v.c, (v.features #>> '{kernel,gamma}')::float8, (SELECT max((e ->> 'overall')::float8) FROM jsonb_array_elements(v.validation) AS e)
    FROM svm_version AS v WHERE v.id = svm_internal.svm_version_id(name) $$;
SELECT (c, gamma) = (SELECT c, gamma FROM grid WHERE best LIMIT 1) AS the_same, score = (SELECT max(overall) FROM grid) AS score FROM chosen('chosen');
SELECT count(*) AS entries, count(DISTINCT (e ->> 'gamma')) AS gammas, count(*) FILTER (WHERE (e ->> 'best')::boolean) AS best
FROM svm_version, jsonb_array_elements(validation) AS e WHERE id = svm_internal.svm_version_id('chosen');
SELECT svm_train('rings', 'ring', '{x, y}', 'direct', kernel => 'rbf', rank => 20, c => (SELECT c FROM chosen('chosen')), gamma => (SELECT gamma FROM chosen('chosen')));
SELECT max(abs(svm_decision('chosen', r.*) - svm_decision('direct', r.*))) AS apart FROM rings AS r;
-- the usual gammas: 'scale' in steps of four, which of two standardized columns is a half
SELECT svm_train('rings', 'ring', '{x, y}', 'usual', c => NULL, kernel => 'rbf', options => '{"choose": ["gamma"], "method": "low_rank"}', probability => true);
SELECT array_agg(DISTINCT (e ->> 'gamma')::numeric(8, 4) ORDER BY (e ->> 'gamma')::numeric(8, 4)) AS gammas, count(DISTINCT (e ->> 'c')) >= 5 AS costs
FROM svm_version, jsonb_array_elements(validation) AS e WHERE id = svm_internal.svm_version_id('usual');
SELECT probabilities, training_accuracy > 0.75 AS good, kernel, gap <= 1e-3 AS certified FROM svm_models WHERE name = 'usual';
-- gamma alone, of three classes, by another kernel and measure
SELECT svm_train('rings', 'part', '{x, y}', 'parts', c => 0.1, kernel => 'polynomial', degree => 2, coef0 => 1, metric => 'balanced_accuracy', options => '{"gammas": [0.01, 1], "folds": 3}');
SELECT c, gamma IN (0.01, 1) AS one_of_them FROM chosen('parts');
SET pgsvm.cache_size = '64kB';
SELECT svm_train('rings', 'ring', '{x, y}', 'streamed', kernel => 'rbf', rank => 20, options => '{"choose": ["c", "gamma"], "costs": [0.01, 1], "gammas": [0.02, 1, 40], "fold_column": "part"}');
SELECT s.score > c.score - 0.02 AS as_good FROM chosen('streamed') AS s, chosen('chosen') AS c;
RESET pgsvm.cache_size;
-- C alone, of a linear machine too
SELECT svm_train('rings', 'ring', '{x, y}', 'line', options => '{"choose": ["c"]}');
SELECT count(DISTINCT e ->> 'c') >= 5 AS several, count(e ->> 'gamma') AS gammas FROM svm_version, jsonb_array_elements(validation) AS e WHERE id = svm_internal.svm_version_id('line');

-- What is said, and what the next version takes over: what it gives itself is not chosen again.
SET client_min_messages = notice;
\set VERBOSITY terse
SELECT svm_train('rings', 'ring', '{x, y}', 'chosen');
SELECT svm_train('rings', 'ring', '{x, y}', 'chosen', options => '{"gammas": [0.001, 0.002]}');
\set VERBOSITY default
SET client_min_messages = warning;
SELECT svm_train('rings', 'ring', '{x, y}', 'chosen', gamma => 2);
SELECT svm_train('rings', 'ring', '{x, y}', 'chosen', c => 0.5);
SELECT svm_train('rings', 'ring', '{x, y}', 'chosen', options => '{"choose": ["gamma"], "gammas": [1, 3]}');
SELECT svm_train('rings', 'ring', '{x, y}', 'chosen', kernel => 'linear');
SELECT version, kernel, given - 'features' AS given FROM svm_versions WHERE name = 'chosen' ORDER BY version;

-- Errors.
SELECT svm_train('rings', 'ring', '{x, y}', 'bad', kernel => 'rbf', gamma => 1, options => '{"choose": ["gamma"]}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('rings', 'ring', '{x, y}', 'bad', kernel => 'rbf', c => 1, options => '{"choose": ["c"]}');
SELECT svm_train('rings', 'ring', '{x, y}', 'bad', options => '{"choose": ["gamma"]}');
SELECT svm_train('rings', 'ring', '{x, y}', 'bad', options => '{"gammas": [1, 2]}');
SELECT svm_train('rings', 'ring', '{x, y}', 'bad', kernel => 'rbf', options => '{"gammas": [1, 1]}');
SELECT svm_train('rings', 'ring', '{x, y}', 'bad', kernel => 'rbf', options => '{"gammas": []}');
SELECT svm_train('rings', 'ring', '{x, y}', 'bad', kernel => 'rbf', options => '{"gammas": [1, -1]}');
SELECT svm_train('rings', 'ring', '{x, y}', 'bad', kernel => 'rbf', options => '{"gammas": "one"}');
SELECT svm_train('rings', 'ring', '{x, y}', 'bad', kernel => 'rbf', options => '{"choose": "gamma"}');
SELECT svm_train('rings', 'ring', '{x, y}', 'bad', kernel => 'rbf', options => '{"choose": ["degree"]}');
SELECT * FROM svm_cross_validate('rings', 'ring', c => '{1}', folds => 3, kernel => 'rbf', gamma => '{1, NULL}');
SELECT * FROM svm_cross_validate('rings', 'ring', c => '{1}', folds => 3, kernel => 'rbf', options => '{"choose": ["c"]}');
-- a gamma with which the kernel is no inner product is passed over, and named, wherever it stands; where it is so with all it is an error
SELECT gamma, count(*), bool_or(best) AS best FROM svm_cross_validate('rings', 'ring', c => '{1, 10}', folds => 3, features => '{x, y}', kernel => 'sigmoid', gamma => '{0.00001, 3}') GROUP BY gamma;
SELECT gamma, count(*), bool_or(best) AS best FROM svm_cross_validate('rings', 'ring', c => '{1, 10}', folds => 3, features => '{x, y}', kernel => 'sigmoid', gamma => '{4, 0.00001, 3}') GROUP BY gamma;
SET client_min_messages = error;
SELECT svm_train('rings', 'ring', '{x, y}', 'passed', kernel => 'sigmoid', coef0 => 0, options => '{"gammas": [3, 0.00001, 2]}');
SELECT features #>> '{kernel,gamma}' AS gamma FROM svm_version AS v JOIN svm_model AS m ON m.id = v.model_id WHERE m.name = 'passed';
SET client_min_messages = warning;
SELECT gamma, count(*), bool_or(best) AS best FROM svm_cross_validate('rings', 'ring', c => '{1, 10}', folds => 3, features => '{x, y}', kernel => 'polynomial', degree => 9, gamma => '{0.5, 1000000}') GROUP BY gamma;
SELECT svm_train('rings', 'ring', '{x, y}', 'bad', kernel => 'sigmoid', options => '{"gammas": [3, 2]}');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM svm_models WHERE name = 'bad';

-- Where the largest of the usual gammas is the best there are others beyond it.
CREATE TABLE stripes AS SELECT (i % 400) / 10.0 AS x, i % 16 < 8 AS dark FROM generate_series(1, 400) AS i;
SELECT svm_train('stripes', 'dark', '{x}', 'stripes', kernel => 'rbf', loss => 'squared_hinge', options => '{"choose": ["gamma"]}', c => 10);
SELECT DISTINCT round((e ->> 'gamma')::numeric, 3) AS gamma, (e ->> 'overall')::float8 > 0.9 AS good
FROM svm_version, jsonb_array_elements(validation) AS e WHERE id = svm_internal.svm_version_id('stripes') ORDER BY gamma;
