-- What is said of a training: how good it is on its own rows, and when it looks as if it had learned nothing.
\set VERBOSITY terse
SET client_min_messages = warning;
-- with workers, rows that stream give one of several near optima
SET pgsvm.workers = 0;
DELETE FROM svm_model;
-- a number in [0, 1) for each row and column
CREATE FUNCTION noise(id int, k int) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT (hashint8extended(id, k) & 1048575) / 1048576.0 $$;

-- Points that a line divides; accuracy and AUC are those that predictions of all rows give.
CREATE TABLE divided AS SELECT noise(i, 1) AS x, noise(i, 2) AS y, noise(i, 1) + noise(i, 2) + noise(i, 3) / 2 > 1.2 AS side FROM generate_series(1, 3000) AS i;
SET client_min_messages = notice;
SELECT svm_train('divided', 'side', probability => false);
SELECT svm_train('divided', 'side', loss => 'hinge', probability => true, model => 'probable');
SELECT svm_train('divided', 'side', solver => 'block', model => 'block');
SET pgsvm.cache_size = '32kB';
SELECT svm_train('divided', 'side', model => 'streamed');
SELECT svm_train('divided', 'side', solver => 'block', model => 'streamed_block');
SELECT svm_train('divided', 'side', solver => 'selective_block', model => 'streamed_selective');
SELECT svm_train('divided', 'side', solver => 'block', options => '{"inner": "pegasos"}', tolerance => 0.2, model => 'streamed_pegasos');
RESET pgsvm.cache_size;
SELECT name, round(training_accuracy::numeric, 4) = round(accuracy::numeric, 4) AS accuracy, abs(training_auc - auc) < 1e-4 AS auc
FROM svm_models, svm_evaluate(name, 'divided') ORDER BY name;

-- Many classes.
CREATE TABLE kinds AS SELECT x, y, CASE WHEN x < 0.3 THEN 'left' WHEN y > 0.6 THEN 'top' ELSE 'rest' END AS kind FROM divided;
SELECT svm_train('kinds', 'kind');
SELECT svm_train('kinds', 'kind', model => 'kinds_chosen', c => NULL);
SET pgsvm.cache_size = '32kB';
SELECT svm_train('kinds', 'kind', model => 'kinds_streamed');
RESET pgsvm.cache_size;
SELECT name, round(training_accuracy::numeric, 6) = round(accuracy::numeric, 6) AS accuracy, training_auc
FROM svm_models, svm_evaluate(name, 'kinds') WHERE classes = 3 ORDER BY name;
-- labels that appear in another order than they have
SELECT svm_train_query('SELECT x, y, NOT side AS other FROM divided ORDER BY side', 'other', model => 'other');

-- More rows than are looked at.
CREATE TABLE large AS SELECT noise(i, 1) AS x, noise(i, 1) + noise(i, 3) > 1 AS side FROM generate_series(1, 300000) AS i;
SET client_min_messages = warning;
SELECT svm_train('large', 'side', tolerance => 0.01);
SET pgsvm.cache_size = '1MB';
SELECT svm_train('large', 'side', tolerance => 0.01, model => 'large_streamed');
RESET pgsvm.cache_size;
SELECT name, abs(training_accuracy - accuracy) < 1e-4 AS accuracy, abs(training_auc - auc) BETWEEN 1e-9 AND 0.005 AS auc
FROM svm_models, svm_evaluate(name, 'large') WHERE name LIKE 'large%' ORDER BY name;

-- Two circles, one in the other: no line divides them.
CREATE TABLE circles AS
SELECT r * cos(a) AS x, r * sin(a) AS y, r > 1.5 AS outer FROM (SELECT 6.28318 * noise(i, 1) AS a, 1 + i % 2 + noise(i, 2) / 5 AS r FROM generate_series(1, 2000) AS i) AS drawn;
SELECT svm_train('circles', 'outer');
SELECT svm_train('circles', 'outer', loss => 'hinge', scale => 'none');
-- with squares of the columns it is easy
SELECT svm_train_query('SELECT x, y, x * x AS xx, y * y AS yy, circles.outer FROM circles', 'outer', model => 'squares');
-- noise
SELECT svm_train_query('SELECT noise(i, 1) AS x, noise(i, 2) AS y, noise(i, 3) < 0.3 AS good FROM generate_series(1, 20000) AS i', 'good', model => 'noise');
-- A campaign: one in nine buys, and hardly anything tells who; with the hinge saying no to all costs least.
CREATE TABLE campaign AS
SELECT noise(i, 1) AS age, noise(i, 2) AS balance, noise(i, 4) < 0.3 AS loan, noise(i, 3) < 0.04 + 0.14 * noise(i, 1) AS bought FROM generate_series(1, 9000) AS i;
SELECT svm_train('campaign', 'bought', loss => 'hinge');
SELECT svm_train('campaign', 'bought', options => '{"inherit": false}');
SELECT svm_train('campaign', 'bought', class_weight => 'balanced', options => '{"inherit": false}');
-- A rare class that is found is no trouble, though the accuracy is hardly better than saying no.
SELECT svm_train_query('SELECT noise(i, 1) AS x, noise(i, 2) AS y, noise(i, 1) + noise(i, 3) / 30 > 0.99 AS rare FROM generate_series(1, 9000) AS i', 'rare', model => 'rare');
-- Many classes: those never predicted are named.
CREATE TABLE wines AS
SELECT noise(i, 1) + grade / 12.0 AS acid, noise(i, 2) - grade / 15.0 AS sugar, noise(i, 5) AS age, grade
FROM (SELECT i, (ARRAY[3, 4, 4, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 7, 7, 7, 7, 7, 8, 8, 9])[1 + i % 35] AS grade
      FROM generate_series(1, 4000) AS i) AS drawn;
SELECT svm_train('wines', 'grade');
SELECT svm_train('wines', 'grade', c => 0.001, class_weight => 'balanced');
SELECT svm_train('wines', 'grade', c => 1e-9, options => '{"inherit": false}');
SELECT svm_train_query('SELECT noise(i, 1) AS x, i % 40 AS kind FROM generate_series(1, 4000) AS i', 'kind', model => 'forty');
-- Not come to its tolerance.
SELECT svm_train('divided', 'side', tolerance => 1e-9, max_passes => 1);
SELECT svm_train('divided', 'side', tolerance => 1e-9, max_passes => 1, scale => 'none');
-- all of it
\set VERBOSITY default
SELECT svm_train('divided', 'side', tolerance => 1e-9, max_passes => 1, scale => 'none');
SELECT svm_train('wines', 'grade', c => 1e-9, options => '{"inherit": false}');
SELECT svm_train('campaign', 'bought', loss => 'hinge', options => '{"inherit": false}');
SELECT svm_train('circles', 'outer', options => '{"inherit": false}');
DROP TABLE divided, kinds, large, circles, campaign, wines;
DROP FUNCTION noise(int, int);
SELECT count(svm_drop(name)) FROM svm_models;
