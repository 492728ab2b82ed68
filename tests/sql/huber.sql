-- Huber's loss: squared errors up to epsilon, straight ones beyond, by each solver that minimizes it; and what is said and refused of it.
SET client_min_messages = warning;
SET pgsvm.workers = 0;
DELETE FROM svm_model;
CREATE FUNCTION tossed(id int, k int) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT (hashint8extended(id, k) & 1048575) / 1048576.0 $$;
-- a twentieth of the prices have a digit too many
CREATE TABLE homes AS
SELECT id, area, age, price AS worth, CASE WHEN id % 20 = 3 THEN 10 * price ELSE price END AS price
FROM (SELECT i AS id, (40 + 160 * tossed(i, 1))::real AS area, (tossed(i, 2) * 20)::int AS age,
             round((100000 + 2000 * 160 * tossed(i, 1) - 1500 * 20 * tossed(i, 2) + 20000 * (tossed(i, 4) - 0.5))::numeric, 2) AS price
      FROM generate_series(1, 2000) AS i) AS made;

-- It is near what homes are worth, where squares follow the wrong prices.
SELECT svm_train('homes', 'price', '{area, age}', 'robust', loss => 'huber');
SELECT svm_train('homes', 'price', '{area, age}', 'squares');
-- of labels that are wrong R2 says little, and no WARNING says that it is small
SELECT training_r2 < 0.05 AS small FROM svm_models WHERE name = 'robust';
SELECT task, loss, epsilon, abs(label_deviation / (SELECT stddev_pop(price) FROM homes) - 1) < 1e-9 AS deviation, gap <= 1e-3 AS certified FROM svm_versions WHERE name = 'robust';
SELECT name, sqrt(avg((svm_predict(name, h) - worth) ^ 2)) < 15000 AS near, sqrt(avg((svm_predict(name, h) - worth) ^ 2)) > 100000 AS far
FROM homes AS h, unnest('{robust, squares}'::text[]) AS name GROUP BY name ORDER BY name;

-- The certificate once more, from weights in the label's units: w / s of standardized rows, targets (y - m) / s.
SELECT svm_train('homes', 'price', '{area, age}', 'plain_' || epsilon, loss => 'huber', scale => 'none', intercept => false, c => 0.001, epsilon => epsilon, options => options::jsonb)
FROM (VALUES (0.02, '{}'), (0.3, '{}'), (1, '{}'), (20000, '{"scale_label": "none"}')) AS v (epsilon, options);
SELECT v.name, v.epsilon, abs((0.5 * ((w.area / s) ^ 2 + (w.age / s) ^ 2)
    + c * (SELECT sum(CASE WHEN abs(r) <= epsilon THEN r ^ 2 / 2 ELSE epsilon * (abs(r) - epsilon / 2) END)
           FROM (SELECT (w.area * h.area + w.age * h.age - (h.price - m)) / s AS r FROM homes AS h) AS off)) / primal - 1) < 1e-5 AS as_certified,
    dual < primal AS below, abs(gap - (primal - dual) / primal) < 1e-12 AS gap, gap <= 1e-3 AS certified
FROM (SELECT name, epsilon, label_centre AS m, label_deviation AS s, c, primal, dual, gap FROM svm_versions WHERE name LIKE 'plain%') AS v,
    LATERAL (SELECT max(weight) FILTER (WHERE feature = 'area') AS area, max(weight) FILTER (WHERE feature = 'age') AS age FROM svm_weights(v.name)) AS w
ORDER BY v.name;
SELECT abs((last.primal / v.primal)::numeric - 1) < 1e-9 AS as_the_log_says, last.dual <= v.primal AS below
FROM svm_versions AS v, LATERAL (SELECT primal, dual FROM svm_training_log(v.name) WHERE primal IS NOT NULL ORDER BY seconds DESC LIMIT 1) AS last WHERE v.name = 'plain_0.3';

-- The same optimum by each solver, in memory and not: no dual is above another's primal.
SELECT svm_train('homes', 'price', '{area, age}', 'by_' || solver, loss => 'huber', solver => solver, tolerance => 1e-4)
FROM unnest('{auto, stream, block, selective_block, indexed}'::text[]) AS solver;
SELECT svm_train('homes', 'price', '{area, age}', 'by_forest', loss => 'huber', solver => 'indexed', tolerance => 1e-4, options => '{"chunks_by": "forest"}');
SET pgsvm.cache_size = '64kB';
SELECT svm_train('homes', 'price', '{area, age}', 'by_streams_of_' || solver, loss => 'huber', solver => solver, tolerance => 1e-4)
FROM unnest('{auto, block, selective_block, indexed}'::text[]) AS solver;
SET pgsvm.trainers = 2;
SELECT svm_train('homes', 'price', '{area, age}', 'by_trainers', loss => 'huber', tolerance => 1e-4);
RESET pgsvm.cache_size;
SELECT svm_train('homes', 'price', '{area, age}', 'by_trainers_in_memory', loss => 'huber', tolerance => 1e-4);
RESET pgsvm.trainers;
SET pgsvm.workers = 2;
SELECT svm_train('homes', 'price', '{area, age}', 'by_workers', loss => 'huber', tolerance => 1e-4);
SET pgsvm.workers = 0;
SELECT count(*) AS models, max(dual) <= min(primal) * (1 + 1e-9) AS one_optimum, bool_and(gap <= 1e-4) AS certified FROM svm_models WHERE name LIKE 'by\_%';
SELECT svm_train('homes', 'price', '{area, age}', 'free_' || solver, loss => 'huber', solver => solver, options => options::jsonb)
FROM (VALUES ('stream', '{"intercept": "free"}'), ('block', '{"intercept": "free"}'), ('interior_point', '{}'), ('interior_point', '{"machines": "scans"}')) AS v (solver, options);
SELECT count(*) AS versions, max(dual) <= min(primal) * (1 + 1e-6) AS one_optimum, bool_and(gap <= 1e-3) AS certified FROM svm_versions WHERE name LIKE 'free%';

-- Kernel machines: exact, of low rank, by interior points.
SELECT svm_train('homes', 'price', '{area, age}', 'rbf', loss => 'huber', kernel => 'rbf', options => '{"method": "exact"}');
SELECT svm_train('homes', 'price', '{area, age}', 'low_rank', loss => 'huber', kernel => 'rbf', rank => 50, options => '{"method": "low_rank"}');
SELECT svm_train('homes', 'price', '{area, age}', 'psvm', loss => 'huber', kernel => 'rbf', solver => 'interior_point');
SELECT m.name, m.loss, m.gap <= 1e-3 AS certified, (SELECT sqrt(avg((svm_predict(m.name, h) - worth) ^ 2)) < 20000 FROM homes AS h) AS near
FROM svm_models AS m WHERE kernel = 'rbf' ORDER BY m.name;

-- Weights of rows count as rows would.
CREATE TABLE weighed AS SELECT area, age, price, id % 5 AS times FROM homes;
SELECT svm_train('weighed', 'price', '{area, age}', 'weighed', loss => 'huber', weight => 'times', tolerance => 1e-6);
SELECT svm_train_query('SELECT area, age, price FROM weighed, generate_series(1, times)', 'price', model => 'repeated', loss => 'huber', tolerance => 1e-6);
SELECT abs(svm_predict('weighed', h) / svm_predict('repeated', h) - 1) < 1e-3 AS same FROM homes AS h WHERE id = 7;

-- c is chosen on rows held out, whose errors are in the label's unit; intervals.
SELECT c, count(*) AS folds, bool_and(overall BETWEEN 90000 AND 500000) AS in_units, bool_or(best) AS best
FROM svm_cross_validate('homes', 'price', '{area, age}', c => '{0.00001, 0.1}', loss => 'huber', metric => 'mae') GROUP BY c ORDER BY c;
SELECT svm_train('homes', 'price', '{area, age}', 'chosen', loss => 'huber', c => 'auto', metric => 'mae', tolerance => 1e-6);
SELECT c > 0.0001 AS chosen, gap <= 1e-6 AS certified FROM svm_models WHERE name = 'chosen';
SELECT avg((h.price BETWEEN i.lower AND i.upper)::int) BETWEEN coverage - 0.02 AND coverage + 0.04 AS covers, bool_and(i.upper - i.lower < 50000) AS narrow
FROM unnest('{0.5, 0.9}'::float8[]) AS coverage, homes AS h, svm_interval('chosen', h, coverage) AS i GROUP BY coverage ORDER BY coverage;
SELECT rows, abs(mae / (SELECT avg(abs(price - svm_predict('robust', h))) FROM homes AS h) - 1) < 1e-9 AS mae,
    abs(rmse / (SELECT training_rmse FROM svm_models WHERE name = 'robust') - 1) < 1e-6 AS rmse
FROM svm_evaluate('robust', 'homes');

-- A refresh and the next version keep loss and epsilon; another loss forgets epsilon.
SELECT svm_train('homes', 'price', '{area, age}', 'kept', loss => 'huber', epsilon => 0.2);
SELECT svm_refresh('kept');
SELECT svm_train('homes', 'price', '{area}', 'kept');
SELECT svm_train('homes', 'price', '{area}', 'kept', loss => 'squared_epsilon_insensitive');
SELECT svm_train('homes', 'price', '{area}', 'kept', epsilon => 0.3);
SELECT svm_train('homes', 'price', '{area}', 'kept', loss => 'huber');
SELECT version, loss, epsilon FROM svm_versions WHERE name = 'kept' ORDER BY version;

-- What travels; LIBLINEAR's files have the weights, and LIBSVM's the machine.
SELECT svm_import('copied', svm_export('robust', 'pgsvm'), 'pgsvm') FROM (SELECT 1) AS one;
SELECT bool_and(svm_predict('copied', h) = svm_predict('robust', h)) FROM homes AS h;
SELECT a.epsilon = b.epsilon AND a.label_deviation = b.label_deviation AND a.loss = b.loss AND a.primal = b.primal AS same
FROM svm_versions AS a, svm_versions AS b WHERE a.name = 'robust' AND b.name = 'copied';
CREATE TABLE arrays AS SELECT ARRAY[area / 100, age / 10.0]::float8[] AS features, price / 100000 AS label FROM homes;
SELECT svm_train('arrays', 'label', '{features}', 'file', loss => 'huber');
SELECT split_part(svm_export('file', 'liblinear'), 'w', 1);
SELECT svm_import('from_file', svm_export('file', 'liblinear'), features => 'array');
SELECT max(abs(svm_predict('file', a) - svm_predict('from_file', a))) < 1e-9 AS same, count(*) FROM arrays AS a;
SELECT split_part(svm_export('rbf', 'libsvm_model'), E'\n', 1) AS type;

-- What is said.
SET client_min_messages = notice;
\set VERBOSITY terse
SELECT svm_train('homes', 'price', '{area, age}', 'said', loss => 'huber', tolerance => 1e-6);
SELECT svm_train_query('SELECT area / 100 AS area, price / 100000 AS price FROM homes', 'price', model => 'said', loss => 'huber', epsilon => 0.5, tolerance => 1e-6, options => '{"scale_label": "none"}');
\set VERBOSITY default
SET client_min_messages = warning;

-- What is refused.
SELECT svm_train('homes', 'price', '{area, age}', loss => 'huber', solver => 'newton');
SELECT svm_train('homes', 'price', '{area, age}', loss => 'huber', solver => 'scan');
SELECT svm_train('homes', 'price', '{area, age}', loss => 'huber', solver => 'scan', options => '{"machines": "average"}');
SELECT svm_train('homes', 'price', '{area, age}', loss => 'huber', solver => 'ocas');
SELECT svm_train('homes', 'price', '{area, age}', loss => 'huber', solver => 'cutting_plane');
SELECT svm_train('homes', 'price', '{area, age}', loss => 'huber', solver => 'block', options => '{"inner": "newton"}');
SELECT svm_train('homes', 'price', '{area, age}', loss => 'huber', solver => 'indexed', options => '{"inner": "newton"}');
SELECT svm_train('homes', 'price', '{area, age}', loss => 'huber', solver => 'block', options => '{"inner": "pegasos"}');
SELECT svm_train('homes', 'price', '{area, age}', loss => 'huber', options => '{"policy": "paper"}');
SELECT svm_train('homes', 'price', '{area, age}', loss => 'huber', options => '{"truncation": 1}');
SELECT svm_train('homes', 'price', '{area, age}', loss => 'huber', epsilon => 0);
SELECT svm_train('homes', 'price', '{area, age}', loss => 'huber', epsilon => -1);
SELECT svm_train('homes', 'price', '{area, age}', loss => 'huber', epsilon => 1e-9);
SELECT svm_train('homes', 'price', '{area, age}', loss => 'huber', epsilon => 1e9);
SELECT svm_train('homes', 'price', '{area, age}', loss => 'huber', task => 'classification');
SELECT svm_train('homes', 'price', '{area, age}', loss => 'huber', options => '{"quantiles": 0.5}');
SELECT svm_train('homes', 'price', '{area, age}', loss => 'smooth_l1');
SELECT svm_train('homes', 'price', '{area, age}', loss => 'hubert');
SELECT svm_train('homes', 'price', '{area, age}', loss => 'huber', metric => 'pinball', c => 'auto');
DROP TABLE homes, weighed, arrays;
DROP FUNCTION tossed;
DELETE FROM svm_model;
