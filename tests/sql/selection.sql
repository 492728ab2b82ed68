-- Columns that have one value, columns that only repeat a key, and columns that are not worth their place.
\set SHOW_CONTEXT never
SET pgsvm.workers = 0;
CREATE TABLE visits (id serial PRIMARY KEY, number bigserial, twice bigint GENERATED ALWAYS AS (number * 2) STORED, pages int, seconds real, country text, version int, kind text, nothing int, bought boolean);
INSERT INTO visits (pages, seconds, country, version, kind, nothing, bought)
SELECT i % 13, i * 31 % 97, (ARRAY['at', 'de', 'fr'])[i % 3 + 1], 7, 'web', NULL, i % 13 > 6 OR (i % 3 = 1 AND i * 31 % 97 > 60)
FROM generate_series(1, 500) AS i;
SET client_min_messages = error;
SELECT svm_train('visits', 'bought', model => 'visits', nulls => 'mean');
SELECT column_name FROM svm_features('visits');
SELECT features -> 'constant' AS one_value FROM svm_version WHERE id = svm_internal.svm_version_id('visits');
SELECT features FROM svm_models WHERE name = 'visits';
-- what is left says the same as a model of those columns alone, however rows are scaled
CREATE TABLE pairs AS SELECT scale, svm_train('visits', 'bought', model => 'all_' || scale, nulls => 'mean', scale => scale, tolerance => 1e-6, max_passes => 20000) AS "all",
    svm_train('visits', 'bought', ARRAY['pages', 'seconds', 'country'], 'few_' || scale, nulls => 'mean', scale => scale, tolerance => 1e-6, max_passes => 20000) AS few
FROM unnest('{none,standard,maxabs,minmax}'::text[]) AS scale;
SELECT scale, abs(a.primal / f.primal - 1) < 1e-5 AS primal,
    (SELECT max(abs(svm_decision("all", v) - svm_decision(few, v))) < 1e-2 FROM visits AS v) AS decisions,
    (SELECT count(*) FROM svm_weights("all")) = (SELECT count(*) FROM svm_weights(few)) AS weights
FROM pairs JOIN svm_models AS a ON a.name = "all" JOIN svm_models AS f ON f.name = few ORDER BY scale;
-- in several processes and through the spool
SET pgsvm.workers = 2;
SET pgsvm.min_parallel_size = 0;
SET pgsvm.cache_size = '16kB';
SELECT svm_train('visits', 'bought', model => 'spooled', nulls => 'mean', scale => 'none', tolerance => 1e-5, max_passes => 20000);
RESET pgsvm.cache_size;
RESET pgsvm.min_parallel_size;
SET pgsvm.workers = 0;
SELECT abs(s.primal / f.primal - 1) < 1e-3 AS primal FROM svm_models AS s, svm_models AS f WHERE s.name = 'spooled' AND f.name = 'few_none';
-- one that is named stays, and so does the last one
SELECT svm_train('visits', 'bought', ARRAY['pages', 'version'], 'named');
SELECT column_name FROM svm_features('named');
CREATE VIEW same AS SELECT version, kind, bought FROM visits;
SELECT svm_train('same', 'bought', model => 'same');
SELECT column_name FROM svm_features('same');
-- a model with a key keeps them, as rows may change, and learns from them when they do
CREATE TABLE changing AS SELECT id, pages, version, kind, bought FROM visits;
SELECT svm_train('changing', 'bought', model => 'changing', key => 'id');
SELECT feature FROM svm_weights('changing') WHERE feature = 'version';
UPDATE changing SET version = 8, kind = 'app' WHERE bought;
SELECT svm_refresh('changing');
SELECT feature FROM svm_weights('changing') WHERE feature IN ('version', 'kind=app') ORDER BY 1;
CREATE TABLE numbers AS SELECT id, pages, seconds, version, bought FROM visits;
SELECT svm_train('numbers', 'bought', model => 'numbers', key => 'id', c => 0.1);
UPDATE numbers SET version = 8 WHERE bought;
SELECT svm_refresh('numbers', '{"keep_scaling": true}');
SELECT training_accuracy FROM svm_models WHERE name = 'numbers';
-- a training that begins from a model without them
SELECT svm_train('visits', 'bought', model => 'begun', nulls => 'mean', options => '{"warm_start": "visits"}');
SELECT column_name FROM svm_features('begun');
-- where it left off, past what is left out
SELECT svm_train('numbers', 'bought', ARRAY['pages', 'seconds'], 'cold', loss => 'hinge', tolerance => 1e-4, max_passes => 20000);
CREATE VIEW padded AS SELECT 5 AS five, pages, 'all'::text AS everywhere, seconds, 6 AS six, bought FROM numbers;
SELECT svm_train('padded', 'bought', model => 'padded', loss => 'hinge', tolerance => 1e-4, max_passes => 20000);
SELECT svm_train('padded', 'bought', model => 'padded_on', loss => 'hinge', tolerance => 1e-4, max_passes => 20000, options => '{"warm_start": "padded"}');
SELECT (SELECT column_name FROM svm_features('padded_on') OFFSET 2) IS NULL AS two_columns,
    abs((SELECT primal FROM svm_training_log('padded_on') WHERE event = 'verify' ORDER BY step LIMIT 1) / p.primal - 1) < 1e-6 AS begun_there,
    abs(p.primal / c.primal - 1) < 1e-3 AND abs(a.primal / c.primal - 1) < 1e-3 AS same
FROM svm_models AS c, svm_models AS p, svm_models AS a WHERE c.name = 'cold' AND p.name = 'padded' AND a.name = 'padded_on';

-- what the NOTICE says
SET client_min_messages = notice;
\set VERBOSITY terse
SELECT svm_train('visits', 'bought', model => 'said', nulls => 'mean');
\set VERBOSITY default
SET client_min_messages = error;

-- elimination: what says nothing goes first
SELECT step, removed, features_left, score BETWEEN 0.5 AND 1 AS scored, best FROM svm_select_features('visits', 'bought', nulls => 'mean', folds => 4);
SELECT step, removed, cardinality(features_left) FROM svm_select_features('visits', 'bought', '{pages,seconds,country,version}', keep => 2, remove => 3);
SELECT abs(s.score - (SELECT sum(accuracy * rows) / sum(rows) FROM svm_cross_validate('visits', 'bought', c => '{1}', folds => 3, features => s.features_left))) < 0.01 AS as_cross_validated
FROM svm_select_features('visits', 'bought', '{pages,seconds,country}', folds => 3) AS s;
SELECT count(*) FROM svm_models WHERE name ~ 'select';
-- of numbers and noise the noise goes
CREATE TABLE noisy AS SELECT i % 11 AS a, i * 7 % 23 AS b, i * 7919 % 101 AS n1, i * 104729 % 89 AS n2, (i * 31 % 7)::real AS n3,
    1 + (i % 11 > 5)::int + (i * 7 % 23 > 11)::int AS kind FROM generate_series(1, 1000) AS i;
SELECT features_left <@ '{a,b}' AS noise_is_gone, best FROM svm_select_features('noisy', 'kind', keep => 2) WHERE cardinality(features_left) = 2;

-- errors
SELECT * FROM svm_select_features('visits', 'bought', keep => 0);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM svm_select_features('visits', 'bought', remove => -1);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM svm_select_features('visits', 'bought', folds => 1);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM svm_select_features('visits', 'bougt', nulls => 'mean');
\echo :LAST_ERROR_SQLSTATE
-- hints propose no key
SELECT svm_train('visits', 'customer');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('visits', 'bought', '{Id,ID,pagse}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('visits', 'idd');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('visits', 'bought', weight => 'numbers');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('visits', 'bought', key => 'idd');
\echo :LAST_ERROR_SQLSTATE
CREATE TABLE keys (id int PRIMARY KEY);
SELECT svm_train('keys', 'label');
\echo :LAST_ERROR_SQLSTATE

DROP VIEW same, padded;
DROP TABLE visits, pairs, changing, numbers, noisy, keys;
DELETE FROM svm_model;

-- A label that is a number: by how much of its variance is explained on rows held out, or by its errors in its unit.
SET client_min_messages = warning;
CREATE TABLE flats AS
SELECT i AS id, 40 + i * 7919 % 160 AS area, i * 104729 % 30 AS age, i * 31 % 17 AS noise, i * 37 % 11 AS more_noise, (ARRAY['north', 'south', 'lake'])[1 + i % 3] AS place,
    round((80000 + 2000 * (40 + i * 7919 % 160) - 1500 * (i * 104729 % 30) + 30000 * (i % 3) + 9999.5 * sin(i))::numeric, 2) AS price
FROM generate_series(1, 2000) AS i;
SET client_min_messages = notice;
\set VERBOSITY terse
SELECT step, removed, round(score::numeric, 2) AS score FROM svm_select_features('flats', 'price', exclude => '{id}', keep => 2) ORDER BY step;
SET client_min_messages = warning;
SELECT step, removed, features_left, score BETWEEN 6000 AND 60000 AS in_units FROM svm_select_features('flats', 'price', '{area, age, noise, place}', metric => 'rmse', c => '{0.1, 1}', folds => 3) ORDER BY step;
SELECT step, removed, score BETWEEN 500 AND 10000 AS in_units FROM svm_select_features('flats', 'price', '{area, age, noise}', keep => 2, remove => 2, options => '{"quantiles": [0.1, 0.9]}') ORDER BY step;
SELECT bool_or(best AND features_left @> '{area, place}') AS keeps_what_matters FROM svm_select_features('flats', 'price', exclude => '{id}', options => '{"task": "regression", "epsilon": 0.1}', loss => 'epsilon_insensitive');
SELECT step, removed FROM svm_select_features('flats', 'age', '{area, price}', metric => 'mae', c => 1) ORDER BY step;
SELECT step, removed FROM svm_select_features('flats', 'noise', '{area, age}', task => 'regression', loss => 'epsilon_insensitive', epsilon => 0.2, c => 1) ORDER BY step;
SELECT step FROM svm_select_features('flats', 'price', '{area, age}', class_weight => 'balanced', options => '{"task": "regression"}');
SELECT step FROM svm_select_features('flats', 'price', '{area, age}', options => '{"calibration": "isotonic", "task": "regression"}');
SELECT abs(score / (SELECT overall FROM svm_cross_validate('flats', 'price', '{area, age}', c => '{1}') LIMIT 1) - 1) < 0.01 AS as_cross_validated
FROM svm_select_features('flats', 'price', '{area, age}', keep => 2);
