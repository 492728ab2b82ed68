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

-- classes are balanced by every method, as by the weights that this comes to
CREATE TABLE lopsided AS SELECT i % 5 = 0 AS y, sin(i) + (i % 5 = 0)::int * 0.8 AS a, cos(i * 2.1) AS b FROM generate_series(1, 100) AS i;
SET client_min_messages = warning;
CREATE FUNCTION balanced(given jsonb, solver text, kernel text, method text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    found float8[];
    weighed text;
BEGIN
    FOREACH weighed IN ARRAY ARRAY['{"true": 2.5, "false": 0.625}', trim(both '"' from given::text)] LOOP
        PERFORM svm_train('lopsided', 'y', '{a,b}', 'lopsided', solver => solver, kernel => kernel, class_weight => weighed, options => method::jsonb);
        found := found || (SELECT primal FROM svm_models WHERE name = 'lopsided' AND gap <= 1e-3);
        PERFORM svm_drop('lopsided');
    END LOOP;
    RETURN abs(found[1] - found[2]) < 2e-3 * found[1];
END $$;
SELECT w, solver, kernel, method, balanced(to_jsonb(w), solver, kernel, method)
FROM unnest('{balanced, balanced_examples}'::text[]) AS w, (VALUES
    ('auto', 'rbf', '{"method": "exact"}'), ('auto', 'rbf', '{"method": "low_rank"}'), ('scan', 'rbf', '{}'), ('interior_point', 'rbf', '{}'),
    ('interior_point', 'linear', '{}'), ('stream', 'linear', '{}'), ('scan', 'linear', '{}'), ('newton', 'linear', '{}')) AS m (solver, kernel, method)
ORDER BY w, solver, kernel, method;
DROP FUNCTION balanced;
DROP TABLE lopsided;

-- a follow-up without an intercept has none among the rows as they are scaled now
CREATE TABLE shifting AS
SELECT i AS id, sin(i * 12.9) + 0.7 * cos(i * 7.3) > 0 AS y, ARRAY[5 + sin(i * 12.9), cos(i * 3.1), i % 4] AS x FROM generate_series(1, 60) AS i;
SELECT svm_train('shifting', 'y', '{x}', 'shifting', intercept => false, key => 'id', c => 30, loss => loss) FROM unnest('{hinge}'::text[]) AS loss;
DELETE FROM shifting WHERE id % 7 = 3;
SELECT svm_refresh('shifting', '{"deploy": true}');
SELECT abs((SELECT weight FROM svm_weights('shifting') WHERE feature = '(intercept)')
    + (SELECT sum(weight * (SELECT avg(x[index]) FROM shifting)) FROM svm_weights('shifting') WHERE index IS NOT NULL)) < 1e-6 AS centred;
SELECT svm_drop('shifting');
DROP TABLE shifting;

-- what no machine could have is no certificate: a kernel of these rows that is no inner product
CREATE TABLE six (y int, x float8[]);
INSERT INTO six VALUES (0, '{-0.45,-0.14}'), (1, '{-1.62,0.28}'), (1, '{2.2,-0.93}'), (0, '{-0.39,-1.39}'), (0, '{-0.63,0.78}'), (0, '{-0.33,0.39}');
SELECT svm_train('six', 'y', '{x}', 'six', kernel => 'sigmoid', gamma => 78.34863091107509, coef0 => -1, c => 9.975858636953507,
    loss => 'squared_hinge', scale => 'none', options => '{"method": "exact"}');
\echo :LAST_ERROR_SQLSTATE
-- and of a hyperplane it is that of all hyperplanes, not of those that a factor of few columns knows
CREATE TABLE few AS
SELECT (sin(i * 12.9) + cos(i * 7.3) > 0)::int AS y, (SELECT array_agg(sin(i * k * 1.7 + k) ORDER BY k) FROM generate_series(1, 40) AS k) AS x
FROM generate_series(1, 8) AS i;
SET client_min_messages = error;
SELECT svm_train('few', 'y', '{x}', 'few', c => 0.56, solver => 'interior_point'), svm_train('few', 'y', '{x}', 'all', c => 0.56, solver => 'interior_point', rank => 8);
SELECT few.dual <= least.primal AS below FROM svm_models AS few, svm_models AS least WHERE few.name = 'few' AND least.name = 'all';
SELECT svm_drop('few'), svm_drop('all');

-- a function that another role owns is not made again: it would stay that role's
SELECT svm_train('six', 'y', '{x}', 'six');
CREATE ROLE regress_svm_planter;
SET client_min_messages = warning;
CREATE FUNCTION predict_six(features anyelement) RETURNS integer LANGUAGE sql SECURITY DEFINER AS $$SELECT svm_internal.svm_predict('six', $1, NULL::integer)$$;
ALTER FUNCTION predict_six OWNER TO regress_svm_planter;
SELECT svm_create_function('six');
\echo :LAST_ERROR_SQLSTATE
DROP FUNCTION predict_six;
SELECT svm_create_function('six'), svm_create_function('six', 'held_six', immutable => true);
ALTER FUNCTION held_six OWNER TO regress_svm_planter;
SELECT svm_create_function('six', 'held_six', immutable => true);
\echo :LAST_ERROR_SQLSTATE
DROP FUNCTION predict_six, held_six;
SELECT svm_drop('six');
DROP ROLE regress_svm_planter;
DROP TABLE six, few;
