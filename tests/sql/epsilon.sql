-- epsilon chosen among several on rows held out, as c and gamma are; and nu, which nothing chooses.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET pgsvm.workers = 0;
CREATE FUNCTION tossed(id int, k int) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT (hashint8extended(id, k) & 1048575) / 1048576.0 $$;
CREATE TABLE homes AS
SELECT i AS id, 40 + 160 * tossed(i, 1) AS area, 20 * tossed(i, 2) AS age, i % 4 AS part,
       2000 * 160 * tossed(i, 1) - 1500 * 20 * tossed(i, 2) + 60000 * (tossed(i, 4) - 0.5) AS price
FROM generate_series(1, 600) AS i;

-- Each epsilon with each C: the best of all is one, and the overall score says it.
CREATE TABLE tried AS
SELECT * FROM svm_cross_validate('homes', 'price', '{area, age}', c => '{0.01, 1}', loss => 'epsilon_insensitive', epsilon => '{0, 0.1, 2}',
    fold_column => 'part');
SELECT count(*), count(DISTINCT epsilon) AS epsilons, count(DISTINCT c) AS costs, count(DISTINCT overall) AS scores,
       bool_and(best = (overall = (SELECT max(overall) FROM tried))) AS best_is_best, count(*) FILTER (WHERE best) AS best_folds FROM tried;
-- as each alone
SELECT e AS epsilon, bool_and(found.overall = tried.overall AND found.objective = tried.objective) AS as_alone, bool_and(found.epsilon IS NULL) AS not_told
FROM unnest('{0, 0.1, 2}'::float8[]) AS e, tried, svm_cross_validate('homes', 'price', '{area, age}', c => '{0.01, 1}', loss => 'epsilon_insensitive',
    epsilon => e, fold_column => 'part') AS found
WHERE tried.epsilon = e AND tried.c = found.c AND tried.fold = found.fold GROUP BY e ORDER BY e;

-- A training takes the best, and is the one that names it.
SELECT svm_train('homes', 'price', '{area, age}', 'chosen', c => '{0.01, 1}', loss => 'epsilon_insensitive', epsilon => '{0, 0.1, 2}', fold_column => 'part');
SELECT v.epsilon = t.epsilon AND v.c = t.c AS best, v.interval_rows FROM svm_versions AS v, tried AS t WHERE v.name = 'chosen' AND t.best AND t.fold = '1';
SELECT count(*) AS scores, bool_and(v.overall = t.overall AND v.best = t.best) AS as_compared
FROM svm_version AS s JOIN svm_model AS m ON m.id = s.model_id, jsonb_to_recordset(s.validation) AS v (c float8, epsilon float8, fold text, overall float8, best boolean)
JOIN tried AS t USING (c, epsilon, fold) WHERE m.name = 'chosen';
SELECT svm_train('homes', 'price', '{area, age}', 'named', c => t.c, loss => 'epsilon_insensitive', epsilon => t.epsilon)
FROM tried AS t WHERE best AND fold = '1';
SELECT max(abs(svm_predict('chosen', h) - svm_predict('named', h))) < 1e-6 AS same FROM homes AS h;
-- epsilon alone, one of the usual ones; by each kind of solver
SELECT svm_train('homes', 'price', '{area, age}', 'by_' || solver, epsilon => 'auto', solver => solver, loss => 'epsilon_insensitive', metric => 'mae', folds => 3)
FROM unnest('{stream, block, indexed, scan, ocas, interior_point}'::text[]) AS solver;
SELECT svm_train('homes', 'price', '{area, age}', 'by_newton', epsilon => ARRAY[0, 0.1], solver => 'newton');
SELECT svm_train('homes', 'price', '{area, age}', 'by_rbf', epsilon => '{0.05, 3}', kernel => 'rbf', gamma => '{0.01, 1}', folds => 3);
SELECT name, epsilon BETWEEN 0 AND 0.4 AS usual, gap <= 1e-3 AS certified, training_r2 > 0.9 AS good FROM svm_versions WHERE name LIKE 'by_%' ORDER BY name;
SELECT count(DISTINCT (v ->> 'epsilon', v ->> 'gamma')) AS pairs FROM svm_version AS s JOIN svm_model AS m ON m.id = s.model_id, jsonb_array_elements(s.validation) AS v
WHERE m.name = 'by_rbf';

-- What is said; a refresh keeps what was chosen, the next training of the model chooses anew.
\set VERBOSITY terse
SET client_min_messages = notice;
SELECT svm_train('homes', 'price', '{area, age}', 'again', epsilon => '{0, 3}', tolerance => 1e-6);
SELECT svm_train('homes', 'price', model => 'again', tolerance => 1e-6);
SET client_min_messages = warning;
SELECT svm_refresh('again');
SELECT version, epsilon, options ->> 'epsilon' AS asked FROM svm_versions WHERE name = 'again' ORDER BY version;
\set VERBOSITY default

-- What is refused.
SELECT svm_train('homes', 'price', '{area, age}', epsilon => 'often');
SELECT svm_train('homes', 'price', '{area, age}', epsilon => '{0.1, 0.1}');
SELECT svm_train('homes', 'price', '{area, age}', epsilon => '{0.1, -1}');
SELECT svm_train('homes', 'price', '{area, age}', epsilon => '{0.1, NULL}');
SELECT svm_train('homes', 'price', '{area, age}', epsilon => '{}');
SELECT svm_train('homes', 'price', '{area, age}', epsilon => 'auto', options => '{"scale_label": "none"}');
SELECT svm_train('homes', 'price', '{area, age}', epsilon => 'auto', task => 'classification');
SELECT svm_train('homes', 'price', '{area, age}', epsilon => 'auto', loss => 'quantile');
SELECT svm_train('homes', 'price', '{area, age}', epsilon => 'auto', kernel => 'rbf', solver => 'scan', gamma => 'auto');
SELECT svm_train('homes', exclude => '{price}', nu => 'auto');
SELECT svm_train('homes', exclude => '{price}', nu => ARRAY[0.1, 0.2]);
SELECT svm_train('homes', exclude => '{price}', nu => 'some');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('homes', 'price', '{area, age}', nu => 'auto', task => 'regression');
