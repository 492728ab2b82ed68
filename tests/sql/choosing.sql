-- C chosen by what counts: metrics, folds that go forward in time, C beyond the usual ones
\set SHOW_CONTEXT never
SET client_min_messages = warning;
-- one in eight is ill, and comes first; the later the day, the more
CREATE TABLE patients AS
SELECT i AS id, CASE WHEN i % 8 = 1 THEN 'ill' ELSE 'fit' END AS state, i / 8 % 4 AS part, i / 7 AS day,
       (i % 8 = 1)::int * 1.5 + 1.4 * sin(i * 12.9898) AS x, (i % 8 = 1)::int + 1.4 * cos(i * 78.233) AS y
FROM generate_series(1, 1400) AS i;

-- Each metric: the best C has the best score over all folds, of equals the smallest.
CREATE TABLE tried AS
SELECT metric, found.* FROM unnest('{accuracy, balanced_accuracy, f1, auc, log_loss}'::text[]) AS metric,
    svm_cross_validate('patients', 'state', c => ARRAY[1e-4, 1e-3, 0.01, 1], fold_column => 'part', features => '{x, y}', metric => metric, class_weight => NULL) AS found;
SELECT metric, count(*), count(DISTINCT overall) = count(DISTINCT c) AS apart, bool_and(best = (c = (
    SELECT c FROM tried AS t WHERE t.metric = tried.metric ORDER BY CASE metric WHEN 'log_loss' THEN -overall ELSE overall END DESC, c LIMIT 1))) AS is_best
FROM tried GROUP BY metric ORDER BY metric;
SELECT metric, bool_and(score = CASE metric WHEN 'accuracy' THEN accuracy ELSE auc END) AS same FROM tried WHERE metric IN ('accuracy', 'auc') GROUP BY metric;
-- as models of the other parts score on each part, put together: those of folds stop at a gap of 1e-2. ill is the larger label,
-- and so the positive one
CREATE TABLE judged (part int, state text, decision float8, class text);
DO $$ BEGIN
    FOR n IN 0..3 LOOP
        PERFORM svm_train_query(format('SELECT state, x, y FROM patients WHERE part <> %s', n), 'state', model => 'rest', c => 0.01);
        INSERT INTO judged SELECT p.part, p.state, svm_decision('rest', p), svm_classify('rest', p) FROM patients AS p WHERE p.part = n;
    END LOOP;
END $$;
CREATE VIEW by_hand AS SELECT 'accuracy' AS metric, (svm_metrics(state, class)).accuracy AS score FROM judged
UNION ALL SELECT 'balanced_accuracy', (svm_metrics(state, class)).balanced_accuracy FROM judged
UNION ALL SELECT 'f1', (svm_metrics(state, class)).f1 FROM judged
UNION ALL SELECT 'auc', avg(auc) FROM (SELECT svm_auc(decision, state = 'ill') AS auc FROM judged GROUP BY part) AS parts;
SELECT DISTINCT metric, abs(tried.overall - by_hand.score) < 0.02 AS as_by_hand FROM tried JOIN by_hand USING (metric) WHERE c = 0.01 ORDER BY metric;
-- the log loss is about that of probabilities of the same C
SELECT svm_train('patients', 'state', '{x, y}', 'probable', c => 0.01, probability => true);
SELECT DISTINCT abs(overall - (SELECT svm_log_loss(svm_probability('probable', p), state = 'ill') FROM patients AS p)) < 0.02 AS as_probabilities
FROM tried WHERE metric = 'log_loss' AND c = 0.01;

-- What is said by default, and by metric; balanced classes are chosen by balanced accuracy. The scores are kept.
\set VERBOSITY terse
SET client_min_messages = notice;
SELECT svm_train('patients', 'state', '{x, y}', 'm', c => NULL, metric => metric, class_weight => weight)
FROM (VALUES (NULL, NULL), (NULL, 'balanced'), (NULL, 'balanced_examples'), ('f1', NULL), ('auc', 'balanced'), ('log_loss', NULL)) AS asked (metric, weight);
SELECT svm_train_query('SELECT state, x, y FROM patients', 'state', model => 'm', c => NULL, metric => 'balanced_accuracy', options => '{"costs": [0.01, 1]}');
SET client_min_messages = warning;
\set VERBOSITY default
SELECT DISTINCT v.version, e ->> 'metric' AS metric, e ->> 'overall' IS NOT NULL AS scored FROM svm_version AS v JOIN svm_model AS m ON m.id = model_id,
    jsonb_array_elements(validation) AS e WHERE m.name = 'm' ORDER BY 1;
-- of many classes: macro F1, mean AUC, log loss below that of chance
SELECT metric, bool_and(overall BETWEEN 0 AND CASE metric WHEN 'log_loss' THEN ln(4) ELSE 1 END) AS sensible, count(*) FILTER (WHERE best) AS best
FROM unnest('{accuracy, balanced_accuracy, f1, auc, log_loss}'::text[]) AS metric,
    svm_cross_validate('public.patients', 'part', c => ARRAY[0.01, 1], folds => 3, features => '{x, y, day}', metric => metric) GROUP BY metric ORDER BY metric;

-- Folds that go forward: seven pieces of the days, of which the first is only trained on; each day is in one.
SELECT fold, rows, best FROM svm_cross_validate('patients', 'state', c => ARRAY[0.01], folds => 6, fold_order => 'day', features => '{x, y}');
WITH pieces AS (SELECT state, x, y, least(floor(percent_rank() OVER (ORDER BY day) * 7), 6)::int AS piece FROM patients)
SELECT fold, rows = (SELECT count(*) FROM pieces WHERE piece::text = fold) AS same_rows FROM svm_cross_validate('patients', 'state', c => ARRAY[0.01], folds => 6, fold_order => 'day');
-- the same as models of the pieces before, and no feature
CREATE TABLE pieces AS SELECT state, x, y, least(floor(percent_rank() OVER (ORDER BY day) * 4), 3)::int AS piece FROM patients;
DO $$ BEGIN
    FOR n IN 1..3 LOOP
        PERFORM svm_train_query(format('SELECT state, x, y FROM pieces WHERE piece < %s', n), 'state', model => 'before ' || n, c => 0.01);
    END LOOP;
END $$;
SELECT fold, abs(objective / primal - 1) < 0.011 AS same_objective FROM svm_cross_validate('patients', 'state', c => ARRAY[0.01], folds => 3, fold_order => 'day', exclude => '{id, part}')
JOIN svm_models ON name = 'before ' || fold ORDER BY fold;
SELECT svm_train('patients', 'state', model => 'forward', c => NULL, probability => true, metric => 'auc', options => '{"fold_order": "day", "folds": 3}');
SELECT (SELECT string_agg(column_name, ' ' ORDER BY column_name) FROM svm_features('forward')) AS features,
    jsonb_array_length(validation) / 5 AS folds FROM svm_version AS v JOIN svm_model AS m ON m.id = model_id WHERE m.name = 'forward';
-- a key too, which follows then with folds that are drawn
SELECT svm_train('patients', 'state', '{x, y}', 'followed', key => 'id', probability => true, options => '{"fold_order": "day"}');
DELETE FROM patients WHERE id % 100 = 3;
SELECT svm_refresh('followed');
SELECT name, version, options, probabilities FROM svm_versions WHERE name = 'followed' ORDER BY version;

-- Beyond the usual C: rows of small numbers want a large one; those named are the only ones tried.
CREATE TABLE small AS SELECT state, x / 1e3 AS x, y / 1e3 AS y FROM patients;
\set VERBOSITY terse
SET client_min_messages = notice;
SELECT svm_train('small', 'state', c => NULL, scale => 'none', metric => 'log_loss');
SET client_min_messages = warning;
SELECT c, round(avg(overall)::numeric, 3) AS overall, bool_and(best) AS best FROM svm_cross_validate('small', 'state', scale => 'none', metric => 'log_loss') GROUP BY c ORDER BY c;
SELECT DISTINCT c FROM svm_cross_validate('small', 'state', c => ARRAY[1, 10], scale => 'none', metric => 'log_loss') ORDER BY c;
\set VERBOSITY default

-- A metric without a C chooses C by it; the names that kernels have elsewhere are known.
SET client_min_messages = error;
SELECT svm_train('patients', 'state', '{x, y}', 'by_metric', metric => 'auc');
SELECT svm_train('patients', 'state', '{x, y}', 'by_null', metric => 'auc', c => NULL);
SELECT svm_train('patients', 'state', '{x, y}', 'gaussian', kernel => 'gaussian');
SELECT svm_train('patients', 'state', '{x, y}', 'poly', kernel => 'poly');
SELECT (SELECT c FROM svm_models WHERE name = 'by_metric') = (SELECT c FROM svm_models WHERE name = 'by_null') AS chosen,
       (SELECT array_agg(kernel ORDER BY name) FROM svm_models WHERE name IN ('gaussian', 'poly')) AS kernels;
SET client_min_messages = warning;
-- Bad input
SELECT svm_train('patients', 'state', '{x, y}', c => NULL, metric => 'precision');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('patients', 'state', '{x, y}', metric => 'acuracy');
SELECT svm_train('patients', 'state', '{x, y}', options => '{"metod": "exact"}');
SELECT svm_train('patients', 'state', '{x, y}', c => 1, metric => 'f1');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_cross_validate('patients', 'state', fold_order => 'week');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_cross_validate('patients', 'state', fold_order => 'day', fold_column => 'part');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_cross_validate('patients', 'state', fold_order => 'day', folds => 64);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_cross_validate('patients', 'state', fold_order => 'day', folds => 0);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('patients', 'state', '{x, y}', options => '{"fold_order": "day"}');
\echo :LAST_ERROR_SQLSTATE
ALTER TABLE patients ADD COLUMN seen json, ADD COLUMN same int DEFAULT 1;
SELECT svm_cross_validate('patients', 'state', fold_order => 'seen', features => '{x, y}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_cross_validate('patients', 'state', fold_order => 'same', features => '{x, y}');
\echo :LAST_ERROR_SQLSTATE
UPDATE patients SET day = NULL WHERE id = 700;
SELECT svm_cross_validate('patients', 'state', fold_order => 'day', features => '{x, y}');
\echo :LAST_ERROR_SQLSTATE

DELETE FROM svm_model;
DROP TABLE patients, tried, pieces, small, judged CASCADE;
