-- What users run into: parallel plans around our functions, decisions of 0, columns that are two things, retraining with another loss
CREATE EXTENSION IF NOT EXISTS pgsvm;
CREATE SCHEMA slips;
SET search_path = slips, public;
SET client_min_messages = warning;
CREATE TABLE waves AS SELECT i AS id, sin(i) AS a, sin(i) > 0.3 * cos(3 * i) AS label FROM generate_series(1, 5000) AS i;
ANALYZE waves;
SELECT svm_train('waves', 'label', '{a}', model => 'waves');
-- within a query that PostgreSQL would run in parallel
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT w.id, e.accuracy > 0.8 AS good FROM waves AS w, svm_evaluate('waves', 'waves') AS e ORDER BY w.id LIMIT 1;
SELECT count(*), max((SELECT count(*) FROM svm_confusion('waves', 'waves'))) AS cells FROM waves;
SELECT count(*), max((SELECT count(*) > 10 FROM svm_roc('waves', 'waves'))::int) AS points FROM waves;
SELECT count(*), max((SELECT count(*) FROM svm_suspects('waves', 'waves', 5, folds => 2))) AS suspects FROM waves;
RESET max_parallel_workers_per_gather;
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;

-- a decision of 0 is the larger label, in training as in prediction
CREATE TABLE undecided AS SELECT i % 2 = 0 AS label, ((i / 2) % 3)::float8 AS x FROM generate_series(1, 120) AS i;
SET client_min_messages = error;
SELECT svm_train('undecided', 'label', model => 'undecided_' || solver, solver => solver, loss => 'hinge')
FROM unnest(ARRAY['scan', 'ocas', 'cutting_plane', 'stream']) AS solver;
SELECT name, training_accuracy = (SELECT accuracy FROM svm_evaluate(name, 'undecided')) AS same
FROM svm_models WHERE name LIKE 'undecided%' ORDER BY name;

-- a column that is a number to one entry and a category to another
CREATE TABLE twofold AS SELECT i % 4 AS k, i % 3 AS l, i % 4 > 1 AS label FROM generate_series(1, 100) AS i;
SELECT svm_train('twofold', 'label', '{k,category(k),"cross(k, l)","polynomial(k, l, 2)"}', model => 'twofold');
SELECT count(*) FROM twofold AS t WHERE svm_decision('twofold', t) IS DISTINCT FROM svm_decision('twofold', to_jsonb(t));
SELECT svm_decision('twofold', '{"k": 1.5, "l": 1}'::jsonb);
SELECT svm_decision('twofold', '{"k": 1, "l": true}'::jsonb);
SELECT svm_create_function('twofold', 'twofold_decision', kind => 'decision', immutable => true);
SELECT count(*) FROM twofold AS t WHERE twofold_decision(k, l) IS DISTINCT FROM svm_decision('twofold', t);
-- and one that is padded with blanks
CREATE TABLE padded AS SELECT ('c' || i % 2)::char(5) AS c, i % 2 = 0 AS label FROM generate_series(1, 100) AS i;
SELECT svm_train('padded', 'label', model => 'padded');
SELECT count(*) FROM padded AS p WHERE svm_decision('padded', p) IS DISTINCT FROM svm_decision('padded', to_jsonb(p));

-- the truncation of one loss says nothing of another
SELECT svm_train('waves', 'label', '{a}', model => 'again', loss => 'ramp', options => '{"truncation": 2}');
SELECT svm_train('waves', 'label', '{a}', model => 'again', loss => 'truncated_squared_hinge');
SELECT svm_train('waves', 'label', '{a}', model => 'again', loss => 'hinge');
SELECT version, loss, truncation FROM svm_versions WHERE name = 'again' ORDER BY version;
-- and a truncated loss does not end above what the convex one shows it
CREATE TABLE halves AS
SELECT 'v' || (i * 7919 + 370) % 600 AS v, 'u' || (i * 104729) % 200 AS u, ((i * 7919 + 370) % 600 > 300) <> (i % 10 = 0) AS label
FROM generate_series(1, 4000) AS i;
SELECT svm_train('halves', 'label', model => 'cut', loss => 'truncated_squared_hinge');
SELECT svm_train('halves', 'label', model => 'whole');
SELECT cut.truncated_primal < 1.01 * whole.primal AS no_worse
FROM svm_models AS cut, svm_models AS whole WHERE cut.name = 'cut' AND whole.name = 'whole';

-- rows that are watched have the label of the source
CREATE TABLE watched AS SELECT id, a, 'zzz'::text AS label FROM waves;
SELECT svm_train('waves', 'label', '{a}', model => 'watching', options => '{"watch": "slips.watched"}');

CREATE TABLE mails (body text, label bool);
INSERT INTO mails SELECT 'word' || i % 40 || ' and word' || i % 7, i % 2 = 0 FROM generate_series(1, 200) AS i;

-- hints name what helps
SELECT svm_train('mails', 'label', '{body}', model => 'named');
CREATE TABLE long_texts AS SELECT repeat('spam offer ', 200 + i % 3) AS body, i % 2 = 0 AS label FROM generate_series(1, 50) AS i;
SELECT svm_train('long_texts', 'label', model => 'long_texts');
SELECT svm_train('waves', 'label', '{a}', model => 'keyed', key => 'id');
SELECT svm_refresh('keyed@1');
SELECT svm_forget('keyed', 'waves');
CREATE TABLE weightless AS SELECT *, 0.0 AS w FROM waves;
SELECT svm_train('weightless', 'label', '{a}', model => 'weightless', weight => 'w');
SET pgsvm.cache_size = '16kB';
SELECT svm_train('waves', 'label', '{a}', model => 'small', kernel => 'rbf');
SET pgsvm.cache_size = '64kB';
SELECT svm_train('waves', 'label', '{a}', model => 'small', kernel => 'rbf');
RESET pgsvm.cache_size;
SET client_min_messages = warning;
SELECT svm_train('waves', 'label', '{a}', model => 'mean', solver => 'scan', max_passes => 1, options => '{"machines": "average"}');
