-- Regressions and novelties that follow their table, begin from another model, are watched, and keep their dual variables.
SET client_min_messages = warning;
SET pgsvm.workers = 0;
DELETE FROM svm_model;
CREATE FUNCTION tossed(id int, k int) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT (hashint8extended(id, k) & 1048575) / 1048576.0 $$;
CREATE TABLE homes AS
SELECT i AS id, (40 + 160 * tossed(i, 1))::real AS area, (tossed(i, 2) * 20)::int AS age,
       round((100000 + 2000 * 160 * tossed(i, 1) - 1500 * 20 * tossed(i, 2) + 20000 * (tossed(i, 4) - 0.5))::numeric, 2) AS price
FROM generate_series(1, 3000) AS i;

-- A key, by each loss and solver; a refresh, rows added and rows forgotten, each beside a training from nothing.
CREATE VIEW asked AS SELECT loss || '_' || solver AS name, loss, solver
FROM unnest('{epsilon_insensitive, squared_epsilon_insensitive, quantile}'::text[]) AS loss, unnest('{stream, block, scan}'::text[]) AS solver;
SELECT svm_train('homes', 'price', '{area, age}', name, key => 'id', loss => loss, solver => solver, c => 0.1, tolerance => 1e-4) FROM asked;
SELECT count(*), bool_and(cardinality(common) <= 2 AND (SELECT bool_and(c >= -0.1001 AND c <= 0.1001) FROM unnest(common) AS c)) AS bounds
FROM svm_key_dual AS d JOIN svm_version AS v ON v.id = d.version_id WHERE v.loss = 'epsilon_insensitive' AND v.solver = 'stream';
UPDATE homes SET price = price + 5000 WHERE id % 150 = 0;
DELETE FROM homes WHERE id % 400 = 1;
INSERT INTO homes SELECT 4000 + id, area, age, price - 3000 FROM homes WHERE id % 300 = 2;
SELECT svm_refresh(name) FROM asked;
SELECT svm_train('homes', 'price', '{area, age}', 'anew_' || name, key => 'id', loss => loss, solver => solver, c => 0.1, tolerance => 1e-4) FROM asked;
SELECT asked.name, a.dual <= b.primal AND b.dual <= a.primal AS agree, a.gap <= 1e-4 AS certified, a.version, a.rows_used = b.rows_used AS rows
FROM asked JOIN svm_models AS a ON a.name = asked.name JOIN svm_models AS b ON b.name = 'anew_' || asked.name ORDER BY 1;
SELECT followed -> 'rows' AS rows, followed ->> 'begun_from' AS begun_from, count(*) FROM svm_versions WHERE version = 2 GROUP BY 1, 2 ORDER BY 2 DESC;
CREATE TABLE arriving AS SELECT 5000 + id AS id, (area + 1)::real AS area, age, price + 2500 AS price FROM homes WHERE id % 500 = 3;
CREATE TABLE leaving AS SELECT id FROM homes WHERE id % 500 = 7;
SELECT svm_update(name, 'arriving') FROM asked;
INSERT INTO homes SELECT * FROM arriving;
SELECT svm_forget(name, 'leaving') FROM asked;
DELETE FROM homes WHERE id IN (SELECT id FROM leaving);
SELECT svm_train('homes', 'price', '{area, age}', 'anew_' || name, key => 'id', loss => loss, solver => solver, c => 0.1, tolerance => 1e-4) FROM asked;
SELECT asked.name, a.dual <= b.primal AND b.dual <= a.primal AS agree, a.gap <= 1e-4 AS certified, a.version, a.rows_used = b.rows_used AS rows
FROM asked JOIN svm_models AS a ON a.name = asked.name JOIN svm_models AS b ON b.name = 'anew_' || asked.name ORDER BY 1;
-- nothing has changed
SELECT svm_refresh('squared_epsilon_insensitive_stream');
SELECT followed #> '{rows, changed}' AS changed, followed #> '{rows, unchanged}' AS unchanged, gap <= 1e-4 AS certified FROM svm_versions WHERE name = 'squared_epsilon_insensitive_stream' ORDER BY version DESC LIMIT 1;
-- a label that changes by the last digit is another one
UPDATE homes SET price = price + 0.01 WHERE id = 5;
SELECT svm_refresh('squared_epsilon_insensitive_stream');
SELECT followed #> '{rows, changed}' AS changed FROM svm_versions WHERE name = 'squared_epsilon_insensitive_stream' ORDER BY version DESC LIMIT 1;

-- Several quantiles, in more memory than there is; weights of rows; a kernel machine.
SET pgsvm.cache_size = '64kB';
SELECT svm_train('homes', 'price', '{area, age}', 'band', key => 'id', c => 0.1, options => '{"quantiles": [0.1, 0.5, 0.9]}');
UPDATE homes SET price = price - 1000 WHERE id % 100 = 9;
SELECT svm_refresh('band');
RESET pgsvm.cache_size;
SELECT svm_train('homes', 'price', '{area, age}', 'band_anew', c => 0.1, options => '{"quantiles": [0.1, 0.5, 0.9]}');
SELECT a.gap <= 1e-3 AS certified, a.dual <= b.primal AND b.dual <= a.primal AS agree, v.followed ->> 'begun_from' AS begun_from
FROM svm_models AS a, svm_models AS b, svm_versions AS v WHERE a.name = 'band' AND b.name = 'band_anew' AND v.name = 'band' AND v.version = 2;
SELECT svm_train('homes', 'price', '{area, age}', 'weighed', key => 'id', weight => 'age', exclude => NULL);
SELECT svm_refresh('weighed');
SELECT svm_train('homes', 'price', '{area, age}', 'rbf', key => 'id', kernel => 'rbf', rank => 30);
DELETE FROM homes WHERE id = 30;
SELECT svm_refresh('rbf');
SELECT name, version, gap <= 1e-3 AS certified FROM svm_models WHERE name IN ('weighed', 'rbf') ORDER BY 1;

-- Dual variables: the dual objective from them is the certificate's.
SELECT svm_train_query('SELECT area / 100.0 AS area, age / 10.0 AS age, price / 100000 AS price FROM homes ORDER BY id', 'price', model => 'duals', scale => 'none', intercept => false,
    loss => 'epsilon_insensitive', epsilon => 0.05, tolerance => 1e-6, options => '{"duals": true}');
WITH beta AS (SELECT first_row + at AS row, b FROM svm_dual AS d JOIN svm_version AS v ON v.id = d.version_id JOIN svm_model AS m ON m.id = v.model_id, unnest(d.rows, d.duals) AS u (at, b) WHERE m.name = 'duals'),
x AS (SELECT row_number() OVER (ORDER BY homes.id) - 1 AS row, area / 100.0 AS area, age / 10.0 AS age, (price / 100000 - v.label_centre) / v.label_deviation AS t FROM homes, svm_versions AS v WHERE v.name = 'duals'),
sums AS (SELECT sum(b * t) - 0.05 * sum(abs(b)) AS linear, sum(b * area) AS area, sum(b * age) AS age FROM beta JOIN x USING (row))
SELECT abs((linear - (area * area + age * age) / 2) / dual - 1) < 1e-6 AS as_certified FROM sums, svm_models WHERE name = 'duals';
SELECT min(b) < 0 AS below, max(b) > 0 AS above, max(abs(b)) <= max(c) AS bounded FROM svm_dual AS d JOIN svm_version AS v ON v.id = d.version_id JOIN svm_model AS m ON m.id = v.model_id, unnest(d.duals) AS b WHERE m.name = 'duals';

-- Beginning from another model, whose label had another mean and deviation.
CREATE VIEW dearer AS SELECT id, area, age, price * 3 + 1000 AS price FROM homes;
SELECT svm_train('homes', 'price', '{area, age}', 'first', loss => 'epsilon_insensitive', c => 10);
SELECT svm_train('dearer', 'price', '{area, age}', 'begun_' || solver, loss => 'epsilon_insensitive', solver => solver, c => 10, options => '{"warm_start": "first"}') FROM unnest('{stream, scan}'::text[]) AS solver;
SELECT svm_train('dearer', 'price', '{area, age}', 'from_nothing', loss => 'epsilon_insensitive', c => 10);
SELECT a.name, a.gap <= 1e-3 AS certified, a.dual <= b.primal AND b.dual <= a.primal AS agree
FROM svm_models AS a, svm_models AS b WHERE a.name LIKE 'begun%' AND b.name = 'from_nothing' ORDER BY 1;
SELECT svm_train('homes', 'price', '{area, age}', 'quantile', options => '{"warm_start": "first", "quantiles": [0.1, 0.9]}');
SELECT svm_train('homes', 'price', '{area, age}', 'rbf_begun', kernel => 'rbf', rank => 30, options => '{"warm_start": "rbf"}');
SELECT name, gap <= 1e-3 AS certified FROM svm_models WHERE name IN ('quantile', 'rbf_begun') ORDER BY 1;
SELECT svm_train_query('SELECT area, age, price > 200000 AS dear FROM homes', 'dear', model => 'dear', options => '{"warm_start": "first"}');
SELECT svm_train_query('SELECT area, age, price > 200000 AS dear FROM homes', 'dear', model => 'dear');
SELECT svm_train('homes', 'price', '{area, age}', 'of_classes', options => '{"warm_start": "dear"}');

-- Watched: the root of the mean squared error in the label's unit, or the mean loss of quantiles.
SELECT svm_train('homes', 'price', '{area, age}', 'watched_' || kernel, kernel => kernel, rank => CASE kernel WHEN 'rbf' THEN 30 END, options => '{"watch": "homes"}') FROM unnest('{linear, rbf}'::text[]) AS kernel;
SELECT name, abs((SELECT test_error FROM svm_training_log(name) ORDER BY seconds DESC LIMIT 1) / training_rmse - 1) < 0.01 AS as_trained, (SELECT count(test_auc) FROM svm_training_log(name)) AS areas
FROM svm_models WHERE name LIKE 'watched%' ORDER BY 1;
SELECT svm_train('homes', 'price', '{area, age}', 'watched_band', options => '{"watch": "homes", "quantiles": [0.1, 0.9]}');
SELECT abs((SELECT test_error FROM svm_training_log('watched_band') ORDER BY seconds DESC LIMIT 1) / (SELECT pinball FROM svm_evaluate('watched_band', 'homes')) - 1) < 0.01 AS as_evaluated;

-- Without a key a refresh begins at the weights, where the solver can; an update cannot be.
SELECT svm_refresh('first');
SELECT followed FROM svm_versions WHERE name = 'first' ORDER BY version DESC LIMIT 1;
SELECT svm_update('first', 'arriving');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_refresh('begun_scan');
SELECT followed FROM svm_versions WHERE name = 'begun_scan' ORDER BY version DESC LIMIT 1;

-- Novelties: the search for C begins at the one that was found, the training at its dual variables.
CREATE TABLE readings AS SELECT i AS id, 20 + sin(i * 1.7) + cos(i * 0.31) + CASE WHEN i % 100 = 0 THEN 9 ELSE 0 END AS temperature, 1 + 0.2 * sin(i * 2.3) AS pressure FROM generate_series(1, 2000) AS i;
SELECT svm_train('readings', exclude => '{id}', key => 'id', model => 'strange_' || kernel, kernel => kernel, nu => 0.05) FROM unnest('{linear, rbf}'::text[]) AS kernel;
INSERT INTO readings SELECT 3000 + i, 19 + sin(i * 1.3), 1.1 FROM generate_series(1, 20) AS i;
DELETE FROM readings WHERE id % 200 = 3;
SELECT svm_refresh('strange_' || kernel) FROM unnest('{linear, rbf}'::text[]) AS kernel;
CREATE TABLE more_readings AS SELECT 4000 + i AS id, 20.0::float8 AS temperature, 1.0::float8 AS pressure FROM generate_series(1, 5) AS i;
SELECT svm_update('strange_' || kernel, 'more_readings') FROM unnest('{linear, rbf}'::text[]) AS kernel;
INSERT INTO readings SELECT * FROM more_readings;
SELECT svm_forget_query('strange_' || kernel, 'SELECT id FROM readings WHERE id % 300 = 5') FROM unnest('{linear, rbf}'::text[]) AS kernel;
DELETE FROM readings WHERE id % 300 = 5;
SELECT svm_train('readings', exclude => '{id}', model => 'anew_' || kernel, kernel => kernel, nu => 0.05) FROM unnest('{linear, rbf}'::text[]) AS kernel;
SELECT k AS kernel, v.version, v.rows_used, abs(m.nu - 0.05) < 0.0005 AS nu, abs(m.c / a.c - 1) < 0.02 AS same_c, m.gap <= 1e-6 AS certified, v.followed ->> 'begun_from' AS begun_from
FROM unnest('{linear, rbf}'::text[]) AS k JOIN svm_models AS m ON m.name = 'strange_' || k JOIN svm_models AS a ON a.name = 'anew_' || k JOIN svm_versions AS v ON v.name = m.name AND v.version = m.version ORDER BY 1;
SELECT svm_refresh('strange_linear');
SELECT passes < (SELECT passes FROM svm_models WHERE name = 'anew_linear') AS cheaper, gap <= 1e-6 AS certified FROM svm_models WHERE name = 'strange_linear';
SELECT svm_train('readings', exclude => '{id}', model => 'begun', kernel => 'linear', nu => 0.06, options => '{"warm_start": "anew_linear", "duals": true}');
SELECT abs(nu - 0.06) < 0.0006 AS nu, (SELECT count(*) > 50 FROM svm_dual AS d JOIN svm_version AS v ON v.id = d.version_id, unnest(d.duals) WHERE v.id = m.id) AS duals FROM svm_models AS m WHERE name = 'begun';
SELECT svm_train('readings', exclude => '{id}', model => 'begun', kernel => 'linear', options => '{"warm_start": "first"}');

-- Dual variables of kernel machines, one a row whichever method found them: D = sum t b - epsilon |b| - 1/2 b'Kb of exact ones.
CREATE VIEW few AS SELECT id, area / 100.0 AS area, age / 10.0 AS age, price / 100000 AS price FROM homes WHERE id <= 400;
SELECT svm_train_query('SELECT area, age, price FROM few ORDER BY id', 'price', model => 'kernel_' || method, kernel => 'rbf', gamma => 0.5, scale => 'none', intercept => false,
    epsilon => 0.05, tolerance => 1e-4, solver => CASE method WHEN 'interior_point' THEN method ELSE 'auto' END,
    options => CASE method WHEN 'interior_point' THEN '{"duals": true}' ELSE format('{"duals": true, "method": "%s"}', method) END::jsonb)
FROM unnest('{exact, low_rank, interior_point}'::text[]) AS method;
WITH x AS (SELECT row_number() OVER (ORDER BY few.id) - 1 AS row, area, age, (price - v.label_centre) / v.label_deviation AS t FROM few, svm_versions AS v WHERE v.name = 'kernel_exact'),
beta AS (SELECT m.name, x.*, b FROM svm_dual AS d JOIN svm_version AS v ON v.id = d.version_id JOIN svm_model AS m ON m.id = v.model_id, unnest(d.rows, d.duals) AS u (at, b) JOIN x ON x.row = at WHERE m.name LIKE 'kernel_%'),
sums AS (SELECT name, sum(b * t) - 0.05 * sum(abs(b)) AS linear, min(b) < 0 AND max(b) > 0 AS two_sided FROM beta GROUP BY name),
norms AS (SELECT p.name, sum(p.b * q.b * exp(-0.5 * ((p.area - q.area) ^ 2 + (p.age - q.age) ^ 2))) AS norm FROM beta AS p JOIN beta AS q USING (name) GROUP BY p.name)
SELECT name, two_sided, abs((linear - norm / 2) / dual - 1) < CASE name WHEN 'kernel_exact' THEN 1e-4 ELSE 0.02 END AS as_certified FROM sums JOIN norms USING (name) JOIN svm_models USING (name) ORDER BY 1;

-- Weights of a label that was much larger are no beginning; planes of numbers begin from nothing.
CREATE TABLE typos AS SELECT i AS id, sin(i * 1.1) AS a, cos(i * 2.3) AS b, 4 * sin(i * 1.1) + 2 * cos(i * 2.3) + sin(i * 5.1) + 5 AS y FROM generate_series(1, 1500) AS i;
UPDATE typos SET y = 1.7e12 WHERE id = 77;
CREATE TABLE ways (name text, loss text, solver text, key text);
INSERT INTO ways VALUES ('squares', 'squared_epsilon_insensitive', 'stream', NULL), ('keyed', 'epsilon_insensitive', 'stream', 'id'), ('huber', 'huber', 'stream', 'id'),
    ('scans', 'squared_epsilon_insensitive', 'scan', NULL), ('median', 'quantile', 'stream', 'id'), ('planes', 'epsilon_insensitive', 'ocas', NULL);
SET client_min_messages = error;
SELECT svm_train('typos', 'y', '{a, b}', name, loss => loss, solver => solver, key => key) FROM ways WHERE name <> 'planes';
UPDATE typos SET y = 5 WHERE id = 77;
SELECT svm_train('typos', 'y', '{a, b}', name, loss => loss, solver => solver, key => key) FROM ways WHERE name = 'planes';
SELECT svm_refresh(name) FROM ways;
SELECT svm_train('typos', 'y', '{a, b}', 'new_' || name, loss => loss, solver => solver) FROM ways;
SELECT ways.name, a.gap <= 1e-2 AS certified, a.dual <= b.primal AND b.dual <= a.primal AS agree, a.passes < 60 AS quick
FROM ways JOIN svm_models AS b ON b.name = 'new_' || ways.name, LATERAL (SELECT * FROM svm_versions AS v WHERE v.name = ways.name ORDER BY version DESC LIMIT 1) AS a ORDER BY 1;
SET client_min_messages = warning;
SELECT svm_train('typos', 'y', '{a, b}', 'begun_planes', loss => 'epsilon_insensitive', solver => 'ocas', options => '{"warm_start": "squares"}');
