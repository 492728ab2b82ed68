-- Regression: labels that are numbers to predict, by each solver, and what is said and refused of them.
SET client_min_messages = warning;
SET pgsvm.workers = 0;
DELETE FROM svm_model;
CREATE FUNCTION tossed(id int, k int) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT (hashint8extended(id, k) & 1048575) / 1048576.0 $$;
CREATE TABLE homes AS
SELECT i AS id, (40 + 160 * tossed(i, 1))::real AS area, (tossed(i, 2) * 20)::int AS age,
       (ARRAY['north', 'south', 'lake'])[1 + (tossed(i, 3) * 2.999)::int] AS place,
       round((100000 + 2000 * 160 * tossed(i, 1) - 1500 * 20 * tossed(i, 2) + 20000 * (tossed(i, 4) - 0.5))::numeric, 2) AS price
FROM generate_series(1, 2000) AS i;

-- The label says what is predicted: fractions, or more than 1000 values, are numbers.
SELECT svm_train('homes', 'price', '{area, age, place}', 'homes');
SELECT svm_train('homes', 'id', '{area, age}', 'ids');
SELECT svm_train('homes', 'age', '{area, price}', 'ages');
SELECT svm_train('homes', 'age', '{area, price}', 'age_as_number', task => 'regression');
SELECT svm_train_query('SELECT area, age, price > 300000 AS dear FROM homes', 'dear', model => 'dear');
SELECT name, task, classes, loss, rows_used, training_accuracy IS NULL AS no_accuracy, training_r2 > 0.9 AS good, training_rmse > 0 AS off
FROM svm_models ORDER BY name;
SELECT svm_train('homes', 'price', '{area, age}', 'as_classes', task => 'classification');

-- Predictions, weights and decisions are in the label's units; each form of a prediction.
SELECT abs(svm_predict('homes', h) - price) < 15000 AS near, svm_predict('homes', h) = svm_decision('homes', h) AS same,
       svm_predict('homes', h, 0) = round(svm_predict('homes', h)) AS whole,
       abs(svm_predict('homes', h, NULL::numeric) - price) < 15000 AS numeric,
       abs(svm_predict('homes', '{"area": 100, "age": 10, "place": "lake"}'::jsonb) - 205000) < 10000 AS of_a_document
FROM homes AS h WHERE id = 7;
SELECT feature, round(weight::numeric, -2) FROM svm_weights('homes') WHERE feature IN ('area', 'age') ORDER BY feature;
SELECT rows, rows_left_out, abs(rmse - (SELECT training_rmse FROM svm_models WHERE name = 'homes')) < 1e-3 AS as_said, mae < rmse AS mae,
       abs(r2 - (SELECT 1 - sum((price - svm_predict('homes', h)) ^ 2) / (count(*) * var_pop(price)) FROM homes AS h)) < 1e-9 AS r2,
       abs(median_absolute_error - (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(price - svm_predict('homes', h))) FROM homes AS h)) < 1e-6 AS median,
       accuracy, auc, unseen_labels
FROM svm_evaluate('homes', 'homes');
SELECT median_absolute_error IS NULL AS none_of_classes FROM svm_evaluate('dear', 'SELECT area, age, price > 300000 AS dear FROM homes');
SELECT abs(median_absolute_error - 5) < 1e-9 AS of_two, rows FROM svm_evaluate('homes', 'SELECT area, age, place, svm_predict(''homes'', h) + id * 2 - 1 AS price FROM homes AS h WHERE id IN (1, 5)');
-- of more different errors than are kept it is rounded
SELECT svm_import('zero', E'solver_type L2R_L2LOSS_SVR\nnr_class 2\nnr_feature 1\nbias -1\nw\n0 \n', 'array');
SELECT rows, abs(median_absolute_error / (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY tossed(i, 5) * i) FROM generate_series(1, 400000) AS i) - 1) < 1e-4 AS near
FROM svm_evaluate('zero', 'SELECT ARRAY[1.0::float8] AS features, tossed(i, 5) * i AS label FROM generate_series(1, 400000) AS i', label => 'label');
SELECT feature, round(contribution::numeric, -4) FROM homes AS h, svm_explain('homes', h) WHERE h.id = 7 AND feature LIKE 'a%' ORDER BY 1;
SELECT row_number, abs(label::float8 - svm_predict('homes', h)) < 1e-6 AS same, probability
FROM svm_predict_query('homes', 'SELECT * FROM homes WHERE id < 4 ORDER BY id') AS q, homes AS h WHERE h.id = q.row_number ORDER BY 1;

-- The same optimum by each solver: no dual is above another's primal.
SELECT svm_train('homes', 'price', '{area, age}', solver || '_' || loss, loss => loss, solver => solver, c => 0.1, epsilon => 0.05, tolerance => 1e-4)
FROM unnest('{epsilon_insensitive, squared_epsilon_insensitive}'::text[]) AS loss,
     unnest('{stream, block, selective_block, indexed, scan}'::text[]) AS solver;
SELECT svm_train('homes', 'price', '{area, age}', 'newton_squared_epsilon_insensitive', solver => 'newton', c => 0.1, epsilon => 0.05, tolerance => 1e-4);
SELECT svm_train('homes', 'price', '{area, age}', solver || '_epsilon_insensitive', loss => 'epsilon_insensitive', solver => solver, c => 0.1,
    epsilon => 0.05, tolerance => 1e-3)
FROM unnest('{ocas, cutting_plane}'::text[]) AS solver;
SELECT loss, count(*) AS models, max(dual) <= min(primal) * (1 + 1e-9) AS one_optimum, bool_and(gap <= 1e-3) AS certified
FROM svm_models WHERE name LIKE '%epsilon_insensitive' GROUP BY loss ORDER BY loss;
-- more memory than it has
SET pgsvm.cache_size = '64kB';
SELECT svm_train('homes', 'price', '{area, age}', 'streamed', c => 0.1, epsilon => 0.05, tolerance => 1e-4);
RESET pgsvm.cache_size;
SELECT a.dual <= b.primal AND b.dual <= a.primal AS one_optimum FROM svm_models AS a, svm_models AS b
WHERE a.name = 'streamed' AND b.name = 'newton_squared_epsilon_insensitive';

-- The certificate once more, from weights in the label's units: w / s of standardized rows, targets (y - m) / s.
SELECT svm_train('homes', 'price', '{area, age}', 'plain', loss => 'epsilon_insensitive', scale => 'none', intercept => false, c => 0.001, epsilon => 0.2);
WITH w AS (SELECT max(weight) FILTER (WHERE feature = 'area') AS area, max(weight) FILTER (WHERE feature = 'age') AS age FROM svm_weights('plain')),
v AS (SELECT label_centre AS m, label_deviation AS s, epsilon AS e, c FROM svm_versions WHERE name = 'plain')
SELECT abs((0.5 * ((w.area / s) ^ 2 + (w.age / s) ^ 2)
    + c * (SELECT sum(greatest(0, abs((w.area * h.area + w.age * h.age - (h.price - m)) / s) - e)) FROM homes AS h))
    / (SELECT primal FROM svm_models WHERE name = 'plain') - 1) < 1e-5 AS as_certified,
    abs(m / (SELECT avg(price) FROM homes) - 1) < 1e-12 AS mean, abs(s / (SELECT stddev_pop(price) FROM homes) - 1) < 1e-12 AS deviation
FROM w, v;
-- LIBLINEAR's own problem: the label as it is
SELECT svm_train_query('SELECT area / 100 AS area, age / 10.0 AS age, price / 100000 AS price FROM homes', 'price', model => 'own',
    scale => 'none', epsilon => 0.1, options => '{"scale_label": "none"}');
SELECT label_centre, label_deviation, epsilon, gap <= 1e-3 AS certified FROM svm_versions WHERE name = 'own';

-- Kernels, weights of rows, labels without a value, and those of each type.
SELECT svm_train('homes', 'price', '{area, age}', 'rbf', kernel => 'rbf');
SELECT svm_train('homes', 'price', '{area, age}', 'low_rank', kernel => 'rbf', rank => 50, options => '{"method": "low_rank"}');
SELECT svm_train('homes', 'price', '{area, age}', 'psvm', kernel => 'rbf', solver => 'interior_point');
SELECT name, loss, kernel, gap <= 1e-3 AS certified, training_r2 > 0.9 AS good FROM svm_models WHERE kernel = 'rbf' ORDER BY name;
SELECT bool_and(abs(svm_predict(name, h) - price) < 25000) AS near FROM homes AS h, unnest('{rbf, low_rank, psvm}'::text[]) AS name;
CREATE TABLE weighed AS SELECT area, age, CASE WHEN id % 3 > 0 THEN price END AS price, id % 5 AS times FROM homes;
SELECT svm_train('weighed', 'price', '{area, age}', 'weighed', weight => 'times', tolerance => 1e-6);
SELECT svm_train_query('SELECT area, age, price FROM weighed, generate_series(1, times) WHERE price IS NOT NULL', 'price', model => 'repeated', tolerance => 1e-6);
SELECT abs(svm_predict('weighed', h) - svm_predict('repeated', h)) < 10 AS same FROM homes AS h WHERE id = 3;
SELECT rows_used, rows_skipped FROM svm_versions WHERE name = 'weighed';
SELECT svm_train_query(format('SELECT area, age, (price / 1000)::%s AS price FROM homes', type), 'price', model => 'of_' || type, task => 'regression')
FROM unnest('{int2, int4, int8, float4, float8, numeric}'::text[]) AS type;
SELECT name, training_r2 > 0.9 AS good FROM svm_models WHERE name LIKE 'of\_%' ORDER BY name;

-- Exported as text and back; as SQL; an immutable function.
SELECT svm_import('copied', svm_export('homes', 'pgsvm'), 'pgsvm') FROM (SELECT 1) AS one;
SELECT bool_and(svm_predict('copied', h) = svm_predict('homes', h)) FROM homes AS h;

-- Labels that predict nothing, and are all the same.
SET client_min_messages = notice;
SELECT svm_train_query('SELECT area, age, 7.5 AS price FROM homes', 'price', model => 'same') FROM (SELECT set_config('client_min_messages', 'warning', false)) AS quiet;
SELECT svm_train_query('SELECT area, age, tossed(id, 9) AS price FROM homes', 'price', model => 'chance', c => 0.001);
SELECT svm_predict('same', h) FROM homes AS h WHERE id = 1;

-- What is refused.
SELECT svm_train('homes', 'place', '{area, age}', task => 'regression');
SELECT svm_train('homes', 'price', '{area, age}', task => 'ranking');
SELECT svm_train('homes', 'price', '{area, age}', epsilon => -1);
SELECT svm_train('homes', 'price', '{area, age}', epsilon => 'NaN');
SELECT svm_train('homes', 'price', '{area, age}', epsilon => 0.1, task => 'classification');
SELECT svm_train('homes', 'price', '{area, age}', loss => 'hinge', task => 'regression');
SELECT svm_train('homes', 'price', '{area, age}', loss => 'epsilon_insensitive', task => 'classification');
SELECT svm_train('homes', 'price', '{area, age}', task => 'regression', options => '{"scale_label": "yes"}');
SELECT svm_train_query('SELECT 1 AS a, ''Infinity''::float8 AS price UNION ALL SELECT 2, 0.5', 'price', model => 'm');
SELECT svm_train_query('SELECT 1 AS a, ''NaN''::float8 AS price UNION ALL SELECT 2, 0.5', 'price', model => 'm');
SELECT svm_train('homes', 'price', '{area, age}', task => 'regression', class_weight => 'balanced');
SELECT svm_train('homes', 'price', '{area, age}', task => 'regression', probability => true);
SELECT svm_train('homes', 'price', '{area, age}', task => 'regression', options => '{"policy": "paper"}');
SELECT svm_train('homes', 'price', '{area, age}', task => 'regression', options => '{"multiclass": "crammer_singer"}');
SELECT svm_train('homes', 'price', '{area, age}', task => 'regression', solver => 'scan', options => '{"multiclass": "one_vs_rest"}');
SELECT svm_train('homes', 'price', '{area, age}', task => 'regression', options => '{"classes_by": "decision"}');
SELECT svm_train('homes', 'price', '{area, age}', task => 'regression', loss => 'epsilon_insensitive', options => '{"truncation": 1}');
SELECT svm_classify('homes', h) FROM homes AS h LIMIT 1;
SELECT svm_probability('homes', h) FROM homes AS h LIMIT 1;
SELECT svm_margin('homes', h, 'above') FROM homes AS h LIMIT 1;
SELECT * FROM homes AS h, svm_predict_set('homes', h) LIMIT 1;
SELECT * FROM svm_confusion('homes', 'homes');
SELECT * FROM svm_roc('homes', 'homes');
SELECT * FROM svm_export_rows('homes', 'homes') LIMIT 1;
SELECT split_part(svm_export('homes', 'liblinear'), 'w', 1);
SELECT svm_create_function('homes', 'guess');
SELECT svm_create_function('homes', 'guess_always', immutable => true);
SELECT abs(guess(h) - svm_predict('homes', h)) < 0.01 AS same, abs(guess_always(area, age, place) - svm_predict('homes', h)) < 0.01 AS held, pg_typeof(guess(h))
FROM homes AS h WHERE id = 9;
SELECT svm_refresh('homes');
SELECT version, task, followed ->> 'begun_from' AS from, training_r2 > 0.9 AS good FROM svm_versions WHERE name = 'homes' ORDER BY version;
-- c and gamma are chosen by errors on rows held out, in the label's unit.
SELECT c, count(*) AS folds, sum(rows) AS rows, bool_and(accuracy IS NULL AND auc IS NULL) AS no_classes, bool_and(overall BETWEEN 4000 AND 200000) AS in_units, bool_or(best) AS best
FROM svm_cross_validate('homes', 'price', '{area, age}', c => '{0.0001, 0.1}', metric => 'rmse') GROUP BY c ORDER BY c;
SELECT bool_and(score BETWEEN 0.01 AND 1) AS r2 FROM svm_cross_validate('homes', 'age', '{price, area}', c => '{1}', task => 'regression', epsilon => 0.1) HAVING count(*) = 5;
CREATE VIEW parted AS SELECT *, id % 3 AS part FROM homes;
SELECT svm_train_query('SELECT area, age, price FROM parted WHERE part <> 1', 'price', model => 'by_hand', c => 0.1);
SELECT abs(score / (SELECT rmse FROM svm_evaluate('by_hand', 'SELECT * FROM parted WHERE part = 1')) - 1) < 0.01 AS as_by_hand
FROM svm_cross_validate('parted', 'price', '{area, age}', c => '{0.1}', metric => 'rmse', fold_column => 'part') WHERE fold = '1';
SELECT svm_train('homes', 'price', '{area, age}', name, c => 'auto', solver => solver, kernel => kernel, rank => CASE kernel WHEN 'rbf' THEN 30 END, gamma => gamma, metric => metric)
FROM (VALUES ('auto_c', 'auto', 'linear', NULL::svm_numbers, NULL), ('auto_scan', 'scan', 'linear', NULL, 'mae'), ('auto_rbf', 'auto', 'rbf', 'auto', 'rmse')) AS v (name, solver, kernel, gamma, metric);
SELECT m.name, v.validation -> 0 ->> 'metric' AS metric, v.validation @? '$[*].score ? (@ != null)' AS scored, m.c > 0.01 AS not_least, m.training_r2 > 0.9 AS good, m.gap <= 1e-3 AS certified FROM svm_models AS m JOIN svm_version AS v ON v.id = m.id
WHERE m.name LIKE 'auto%' ORDER BY m.name;
SELECT svm_train('homes', 'age', '{area, price}', 'by_metric', metric => 'r2', c => '{0.1, 1}');
SELECT task FROM svm_models WHERE name = 'by_metric';
-- The next version of a model, and a refresh, keep its task; another one forgets what belonged to the first.
SET client_min_messages = error;
CREATE TABLE drifting AS SELECT id, area, price FROM homes;
SELECT svm_train('drifting', 'price', '{area}', 'drifting', epsilon => 0.1, loss => 'epsilon_insensitive');
UPDATE drifting SET price = id % 3;
SELECT svm_train('drifting', 'price', '{area}', 'drifting');
SELECT svm_train('drifting', 'price', '{area}', 'drifting', task => 'classification');
UPDATE drifting SET price = 0.5 WHERE id = 50;
SELECT svm_train('drifting', 'price', '{area}', 'drifting');
SELECT version, task, loss FROM svm_versions WHERE name = 'drifting' ORDER BY version;
SELECT svm_train('drifting', 'price', '{area}', 'drifting', metric => 'rmse', c => '{1, 2}', options => '{"inherit": false, "deploy": "always"}');
UPDATE drifting SET price = NULL;
SELECT svm_refresh('drifting');
SELECT svm_train('drifting', 'price', '{area}', 'nothing', task => 'regression');
SELECT svm_train_query('SELECT 1.5 AS a, 2.5 AS t, 0 AS w', 't', model => 'nothing', weight => 'w');
SELECT svm_train_query('SELECT 1.5 AS a, 1e200::float8 AS t', 't', model => 'nothing', task => 'regression');
SELECT svm_train_query('SELECT 1.5 AS a, ''-Infinity''::float8 AS t', 't', model => 'nothing', task => 'regression', bad_rows => 'skip');
SELECT svm_train_query('SELECT area, 1e15 + price / 1000000 AS t FROM homes', 't', model => 'nothing');
SET client_min_messages = warning;
-- Sides are nobody's classes; what the other task compares by is refused.
SELECT DISTINCT class FROM svm_weights('homes');
SELECT svm_as_sql('homes', 'above');
SELECT svm_explain('homes', h, class => 'above') FROM homes AS h LIMIT 1;
SELECT svm_create_function('homes', 'x', kind => 'probability');
SELECT svm_update('homes', 'homes');
SELECT svm_train('homes', 'price', '{area, age}', 'homes', options => '{"deploy": "if_better", "relation": "homes", "metric": "auc"}', task => 'regression');
SELECT svm_train('homes', 'place', '{area, age}', options => '{"deploy": "if_better", "relation": "homes", "metric": "rmse"}', task => 'classification');
SELECT svm_train('homes', 'price', '{area, age}', task => 'regression', metric => 'accuracy', c => 'auto');
SELECT svm_train('homes', 'price', '{area, age}', task => 'classification', metric => 'mae', c => 'auto');
SELECT svm_train('homes', 'price', '{area, age}', loss => 'epsilon_insensitive', solver => 'newton');
SELECT svm_train('homes', 'price', '{area, age}', loss => 'squared_epsilon_insensitive', solver => 'ocas');
SELECT svm_train('homes', 'price', '{area, age}', epsilon => 1e17);
-- What travels has all that the certificate needs.
SELECT a.label_centre = b.label_centre AND a.label_deviation = b.label_deviation AND a.epsilon = b.epsilon AND a.training_rmse = b.training_rmse AS same
FROM svm_versions AS a, svm_versions AS b WHERE a.name = 'homes' AND b.name = 'copied';
-- LIBLINEAR's files, both ways: of an array, without what scaling did.
CREATE TABLE arrays AS SELECT ARRAY[area / 100, age / 10.0]::float8[] AS features, price / 100000 AS label FROM homes;
SELECT svm_train('arrays', 'label', '{features}', 'file', loss => 'epsilon_insensitive', epsilon => 0.05);
SELECT split_part(svm_export('file', 'liblinear'), 'w', 1);
SELECT svm_import('from_file', svm_export('file', 'liblinear'), features => 'array');
SELECT max(abs(svm_predict('file', a) - svm_predict('from_file', a))) < 1e-9 AS same, count(*) FROM arrays AS a;
SELECT svm_export('from_file', 'liblinear') = svm_export('file', 'liblinear') AS again, r2 > 0.9 AS good FROM svm_evaluate('from_file', 'arrays');
SELECT task, loss, label_type, label_values FROM svm_versions WHERE name = 'from_file';
SELECT svm_import('of_liblinear', E'solver_type L2R_L2LOSS_SVR\nnr_class 2\nnr_feature 2\nbias 1\nw\n0.5 \n-2 \n10 \n');
SELECT svm_predict('of_liblinear', '1:4 2:1');
SELECT svm_import('x', E'solver_type L2R_L2LOSS_SVR\nnr_class 2\nnr_feature 1\nbias -1\nw\n1 2\n');
SELECT svm_import('x', E'solver_type L2R_L2LOSS_SVR\nnr_class 2\nnr_feature 1\nbias -1\nw\n1\n', classes => '{"1": "a"}');
-- A regression stays one, or says why not; a key asks for one too; a metric of the other kind compares nothing; one that explains nothing is held back.
CREATE TABLE kept AS SELECT id, area, age, price FROM homes;
SELECT svm_train('kept', 'price', '{area, age}');
SELECT svm_train('kept', 'price', '{area, age}', probability => true);
SELECT svm_train('kept', 'price', '{area, age}', class_weight => 'balanced');
SELECT svm_train('kept', 'price', '{area, age}', options => '{"deploy": "if_better", "relation": "kept", "metric": "auc"}');
SELECT svm_train_query('SELECT sin(id) AS noise, price FROM kept', 'price', '{noise}', 'kept_price');
SELECT version, task, deployed FROM svm_versions WHERE name = 'kept_price' ORDER BY version;
-- LIBSVM's machines of numbers, both ways.
SELECT svm_train('homes', 'price', '{area, age}', 'for_libsvm', kernel => 'rbf', scale => 'none', gamma => 0.001);
SELECT split_part(svm_export('for_libsvm', 'libsvm_model'), E'\n', 1) AS type, split_part(svm_export('homes', 'libsvm_model'), E'\n', 2) AS kernel;
SELECT svm_import('of_libsvm', svm_export('for_libsvm', 'libsvm_model'), 'array');
SELECT task, loss FROM svm_versions WHERE name = 'of_libsvm';
SELECT bool_and(abs(svm_predict('of_libsvm', ARRAY[area, age]::float8[]) / svm_predict('for_libsvm', h) - 1) < 1e-6) AS same FROM homes AS h;
SELECT svm_import('of_nu', E'svm_type nu_svr\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho -1\nprobA 0.5\nSV\n1 1:1\n-0.5 1:1 2:1\n', 'array');
SELECT svm_predict('of_nu', '{2, 4}'::float8[]);
SELECT svm_import('x', svm_export('for_libsvm', 'libsvm_model'), classes => '{"1": "a"}');
-- Quantiles: the certificate once more, the share of labels below, the mean loss, what is kept.
SELECT svm_train('homes', 'price', '{area, age}', 'plain_90', scale => 'none', intercept => false, c => 0.001, options => '{"quantiles": 0.9}');
WITH w AS (SELECT max(weight) FILTER (WHERE feature = 'area') AS area, max(weight) FILTER (WHERE feature = 'age') AS age FROM svm_weights('plain_90')),
v AS (SELECT label_centre AS m, label_deviation AS s, c FROM svm_versions WHERE name = 'plain_90'),
r AS (SELECT (h.price - v.m - w.area * h.area - w.age * h.age) / v.s AS r FROM homes AS h, w, v)
SELECT abs((0.5 * ((w.area / s) ^ 2 + (w.age / s) ^ 2) + c * (SELECT sum(greatest(0.9 * r, -0.1 * r)) FROM r))
    / (SELECT primal FROM svm_models WHERE name = 'plain_90') - 1) < 1e-5 AS as_certified
FROM w, v;
SELECT svm_train('homes', 'price', '{area, age}', 'quantile_' || tau, loss => 'quantile', tolerance => 1e-4, options => format('{"quantiles": [%s], "intercept": "free"}', tau)::jsonb)
FROM unnest('{0.1, 0.5, 0.9}'::text[]) AS tau;
SELECT name, task, loss, quantiles, epsilon, gap <= 1e-4 AS certified FROM svm_versions WHERE name LIKE 'quantile%' ORDER BY name;
SELECT name, abs(avg((price <= svm_predict(name, h))::int) - right(name, 3)::float8) < 0.03 AS share,
    abs(avg(greatest(right(name, 3)::float8 * (price - svm_predict(name, h)), (right(name, 3)::float8 - 1) * (price - svm_predict(name, h))))
        / (SELECT pinball FROM svm_evaluate(name, 'homes')) - 1) < 1e-9 AS pinball
FROM homes AS h, unnest('{quantile_0.1, quantile_0.5, quantile_0.9}'::text[]) AS name GROUP BY name ORDER BY name;
SELECT bool_and(svm_predict('quantile_0.1', h) < svm_predict('quantile_0.9', h)) AS apart FROM homes AS h;
SELECT pinball IS NULL AS none_of_means FROM svm_evaluate('homes', 'homes');
SELECT svm_train('homes', 'price', '{area, age}', 'quantile_' || solver, tolerance => CASE solver WHEN 'ocas' THEN 2e-2 ELSE 1e-3 END, solver => solver, kernel => kernel, options => options::jsonb || '{"quantiles": 0.9}')
FROM (VALUES ('scan', 'linear', '{}'), ('ocas', 'linear', '{}'), ('block', 'linear', '{}'), ('indexed', 'linear', '{}'), ('auto', 'rbf', '{"method": "exact"}'),
    ('interior_point', 'rbf', '{}')) AS v (solver, kernel, options);
SELECT name, loss, gap <= tolerance AS certified, abs((SELECT avg((price <= svm_predict(name, h))::int) FROM homes AS h) - 0.9) < 0.05 AS share
FROM svm_versions WHERE name IN ('quantile_scan', 'quantile_ocas', 'quantile_block', 'quantile_indexed', 'quantile_auto', 'quantile_interior_point') ORDER BY name;
-- Several quantiles by one training: as each by its own, in their order where heads cross; the middle one stands for all.
SELECT svm_train('homes', 'price', '{area, age}', 'band', tolerance => 1e-4, options => '{"quantiles": [0.9, 0.1, 0.5], "intercept": "free"}');
SELECT quantiles, (SELECT count(*) FROM svm_head WHERE version_id = v.id) AS heads, gap <= 1e-4 AS certified FROM svm_versions AS v WHERE name = 'band';
SELECT bool_and(abs(q[1] - svm_predict('quantile_0.1', h)) < 500 AND abs(q[2] - svm_predict('quantile_0.5', h)) < 500 AND abs(q[3] - svm_predict('quantile_0.9', h)) < 500) AS as_each,
    bool_and(q[2] = svm_predict('band', h) AND q[2] = svm_decision('band', h) AND svm_predict('band', h, NULL::float8) = q[2]) AS middle,
    avg((price BETWEEN q[1] AND q[3])::int) BETWEEN 0.77 AND 0.83 AS eight_of_ten
FROM homes AS h, svm_predict_quantiles('band', h) AS q;
SELECT cardinality(svm_predict_quantiles('band', '1:100 2:10')), svm_predict_quantiles('band', ARRAY[100, 10]::float8[]) = svm_predict_quantiles('band', '1:100 2:10') AS of_an_array,
    svm_predict('band', ARRAY[100, 10]::float8[]) = (svm_predict_quantiles('band', '1:100 2:10'))[2] AS middle, svm_predict_quantiles('band', NULL::text) IS NULL AS nothing;
SELECT bool_and(decision = svm_predict('band', h)) AS as_predicted FROM svm_predict_query('band', 'SELECT * FROM homes WHERE id < 9 ORDER BY id') AS q, homes AS h WHERE h.id = q.row_number;
SELECT class, count(*) AS weights FROM svm_weights('band') GROUP BY class ORDER BY class;
SELECT rows, abs(pinball / (SELECT avg(pinball) FROM unnest('{quantile_0.1, quantile_0.5, quantile_0.9}'::text[]) AS name, svm_evaluate(name, 'homes')) - 1) < 0.001 AS mean_of_each,
    abs(mae / (SELECT avg(abs(price - svm_predict('band', h))) FROM homes AS h) - 1) < 1e-9 AS of_the_middle
FROM svm_evaluate('band', 'homes');
SELECT svm_train('homes', 'price', '{area, age}', 'band_' || solver, tolerance => CASE solver WHEN 'ocas' THEN 2e-2 ELSE 1e-3 END, solver => solver, kernel => kernel, rank => rank, options => options::jsonb || '{"quantiles": [0.1, 0.9]}')
FROM (VALUES ('scan', 'linear', NULL, '{}'), ('ocas', 'linear', NULL, '{}'), ('block', 'linear', NULL, '{}'), ('auto', 'rbf', NULL, '{"method": "exact"}'), ('stream', 'rbf', 50, '{}'),
    ('interior_point', 'rbf', NULL, '{}')) AS v (solver, kernel, rank, options);
SELECT name, gap <= tolerance AS certified, (SELECT avg((price BETWEEN q[1] AND q[2])::int) BETWEEN 0.7 AND 0.9 FROM homes AS h, svm_predict_quantiles(name, h) AS q) AS eight_of_ten
FROM svm_versions WHERE name LIKE 'band\_%' AND name <> 'band_copied' ORDER BY name;
-- quantiles that are next to each other cross somewhere, and are sorted
CREATE TABLE crossing AS SELECT tossed(i, 11) AS x, tossed(i, 12) AS t FROM generate_series(1, 100) AS i;
SELECT svm_train('crossing', 't', '{x}', 'crossing', kernel => 'rbf', c => 10, options => '{"quantiles": [0.4, 0.45, 0.5, 0.55, 0.6]}');
SELECT bool_and(q = (SELECT array_agg(one ORDER BY one) FROM unnest(q) AS one)) AS sorted, bool_and(q[3] = svm_predict('crossing', r)) AS middle
FROM (SELECT i / 50.0 - 0.5 AS x FROM generate_series(0, 100) AS i) AS r, LATERAL (SELECT svm_predict_quantiles('crossing', r) AS q) AS s;
DROP TABLE crossing;
SELECT svm_import('band_copied', svm_export('band', 'pgsvm')) FROM (SELECT 1) AS one;
SELECT bool_and(svm_predict_quantiles('band_copied', h) = svm_predict_quantiles('band', h)) AS same FROM homes AS h;
SELECT svm_create_function('band', 'middle_always', immutable => true);
SELECT bool_and(middle_always(area, age) = svm_predict('band', h)) AS held FROM homes AS h;
DROP FUNCTION middle_always;
SELECT abs(score / overall - 1) < 0.2 AS near FROM svm_cross_validate('homes', 'price', '{area, age}', c => '{0.1}', folds => 2, options => '{"quantiles": [0.1, 0.9]}');
-- as SQL, and explained: the middle one, or the one that is named, where heads cross too
CREATE FUNCTION off(model text, relation text, tau float8 DEFAULT NULL) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE worst float8;
BEGIN
    EXECUTE format('SELECT max(abs(s.by_sql - s.by_model)) FROM (SELECT %s AS by_sql, %s AS by_model FROM %s AS r) AS s',
        CASE WHEN tau IS NULL THEN svm_as_sql(model) ELSE svm_as_sql(model, tau) END,
        CASE WHEN tau IS NULL THEN format('svm_predict(%L, r)', model)
            ELSE format('(svm_predict_quantiles(%1$L, r))[(SELECT array_position(quantiles, %2$L::float8) FROM svm_versions WHERE name = %1$L)]', model, tau) END,
        relation) INTO worst;
    RETURN worst;
END$$;
SELECT name, tau, off(name, 'homes', tau) / 1e5 < 1e-6 AS as_predicted FROM unnest('{band, band_auto, band_stream}'::text[]) AS name, unnest('{0.1, NULL, 0.9}'::float8[]) AS tau ORDER BY name, tau;
SELECT off('quantile_0.5', 'homes') < 1e-6 AS one, off('quantile_0.5', 'homes', 0.5) < 1e-6 AS named;
SELECT svm_train_query('SELECT x, x AS also, t FROM (SELECT tossed(i, 11) AS x, tossed(i, 12) AS t FROM generate_series(1, 100) AS i) AS s', 't', '{x, also}', 'crossing_lines', c => 100,
    options => '{"quantiles": [0.45, 0.5, 0.55]}');
CREATE TABLE far AS SELECT i / 2.0 AS x, 3 - i / 2.0 AS also FROM generate_series(-20, 20) AS i;
SELECT tau, off('crossing_lines', 'far', tau) < 1e-9 AS as_predicted FROM unnest('{0.45, NULL, 0.5, 0.55}'::float8[]) AS tau;
SELECT svm_as_sql('band', 0.2);
SELECT model, class, bool_and(abs(sum - q[at]) / (1 + abs(q[at])) < 1e-9) AS they_sum_up FROM (
    SELECT 'band' AS model, h.id, class, array_position('{0.1, 0.5, 0.9}'::text[], class) AS at, sum(contribution), svm_predict_quantiles('band', h) AS q
    FROM homes AS h, unnest('{0.1, 0.9, NULL}'::text[]) AS tau, svm_explain('band', h, class => coalesce(tau::float8, 0.5), baseline => 'mean') GROUP BY h.id, h, class
    UNION ALL SELECT 'crossing_lines', x::int, class, array_position('{0.45, 0.5, 0.55}'::text[], class), sum(contribution), svm_predict_quantiles('crossing_lines', f)
    FROM far AS f, unnest('{0.45, 0.5, 0.55}'::float8[]) AS tau, svm_explain('crossing_lines', f, class => tau) GROUP BY x, f, class
    UNION ALL SELECT 'band_auto', h.id, class, array_position('{0.1, 0.9}'::text[], class), sum(contribution), svm_predict_quantiles('band_auto', h)
    FROM homes AS h, svm_explain('band_auto', h) WHERE id < 20 GROUP BY h.id, h, class
) AS s GROUP BY model, class ORDER BY model, class;
SELECT DISTINCT class, count(*) FROM homes AS h, svm_explain('homes', h) WHERE h.id = 1 GROUP BY class;
SELECT count(*) FROM homes AS h, svm_explain('band', h, class => 'half') WHERE h.id = 1;
DROP TABLE far;
SELECT svm_predict_quantiles('homes', h) FROM homes AS h WHERE h.id = 1;
SELECT svm_classify('band', h) FROM homes AS h WHERE h.id = 1;
-- c is chosen by the loss of the quantile, as by hand
SELECT svm_train_query('SELECT area, age, price FROM parted WHERE part <> 1', 'price', model => 'by_hand_90', c => 0.1, options => '{"quantiles": 0.9}');
SELECT abs(score / (SELECT pinball FROM svm_evaluate('by_hand_90', 'SELECT * FROM parted WHERE part = 1')) - 1) < 0.01 AS as_by_hand
FROM svm_cross_validate('parted', 'price', '{area, age}', c => '{0.1}', loss => 'quantile', fold_column => 'part', options => '{"quantiles": 0.9}') WHERE fold = '1';
SELECT svm_train('homes', 'price', '{area, age}', 'quantile_c', c => 'auto', options => '{"quantiles": 0.9}');
-- scans choose it on a sample of their rows, by errors too
SELECT svm_train('homes', 'price', '{area, age}', 'scan_c', c => 'auto', solver => 'scan', options => '{"quantiles": [0.1, 0.9]}');
SELECT svm_train('homes', 'price', '{area, age}', 'scan_c_mean', c => 'auto', solver => 'scan', metric => 'rmse', task => 'regression');
SELECT m.name, m.c > 0.001 AS chosen, bool_and((it ->> 'overall')::float8 BETWEEN 800 AND 50000) AS in_units, m.gap <= 1e-3 AS certified,
    (SELECT count(*) FROM svm_head AS h WHERE h.version_id = v.id) AS heads
FROM svm_models AS m JOIN svm_version AS v ON v.id = m.id, jsonb_array_elements(v.validation) AS it WHERE m.name LIKE 'scan\_c%' AND (it ->> 'c')::float8 > 0.005
GROUP BY m.name, m.c, m.gap, v.id ORDER BY m.name;
SELECT validation -> 0 ->> 'metric' AS metric FROM svm_version AS v JOIN svm_models AS m ON v.id = m.id WHERE m.name = 'quantile_c';
-- the next version keeps it, another loss forgets it; what travels has it
SELECT svm_train('homes', 'price', '{area}', 'quantile_c', c => 1);
SELECT svm_train('homes', 'price', '{area}', 'quantile_c', loss => 'epsilon_insensitive', epsilon => 0.2);
SELECT svm_train('homes', 'price', '{area}', 'quantile_c', options => '{"quantiles": 0.25}');
SET client_min_messages = error;
SELECT svm_train('homes', 'price', '{area}', 'quantile_c', options => '{"deploy": "if_better", "relation": "homes", "metric": "pinball"}');
SET client_min_messages = warning;
SELECT svm_refresh('quantile_c');
SELECT version, loss, quantiles, epsilon FROM svm_versions WHERE name = 'quantile_c' ORDER BY version;
SELECT svm_import('quantile_copied', svm_export('quantile_0.9', 'pgsvm')) FROM (SELECT 1) AS one;
SELECT quantiles, (SELECT pinball FROM svm_evaluate('quantile_copied', 'homes')) = (SELECT pinball FROM svm_evaluate('quantile_0.9', 'homes')) AS same
FROM svm_versions WHERE name = 'quantile_copied';
SELECT svm_export('quantile_0.9', 'liblinear');
SET client_min_messages = notice;
\set VERBOSITY terse
SELECT svm_train('homes', 'price', '{area, age}', 'said', tolerance => 1e-6, options => '{"quantiles": 0.9}');
SELECT svm_train('homes', 'price', '{area, age}', 'said', tolerance => 1e-6, options => '{"quantiles": [0.9, 0.2]}');
\set VERBOSITY default
SET client_min_messages = warning;
-- what is no quantile, and what does not go with one
SELECT svm_train('homes', 'price', '{area, age}', options => '{"quantiles": 0}');
SELECT svm_train('homes', 'price', '{area, age}', options => '{"quantiles": [0.5, 1]}');
SELECT svm_train('homes', 'price', '{area, age}', options => '{"quantiles": 1e-9}');
SELECT svm_train('homes', 'price', '{area, age}', options => '{"quantiles": []}');
SELECT svm_train('homes', 'price', '{area, age}', options => '{"quantiles": null}');
SELECT svm_train('homes', 'price', '{area, age}', options => '{"quantiles": [null]}');
SELECT svm_train('homes', 'price', '{area, age}', options => '{"quantiles": "NaN"}');
SELECT svm_train('homes', 'price', '{area, age}', options => '{"quantiles": [0.5, 0.5]}');
SELECT svm_train('homes', 'price', '{area, age}', options => jsonb_build_object('quantiles', (SELECT jsonb_agg(i / 40.0) FROM generate_series(1, 33) AS i)));
SELECT svm_train('homes', 'price', '{area, age}', loss => 'epsilon_insensitive', options => '{"quantiles": 0.5}');
SELECT svm_train('homes', 'price', '{area, age}', loss => 'hinge', options => '{"quantiles": 0.5}');
SELECT svm_train('homes', 'price', '{area, age}', loss => 'quantile', epsilon => 0.1);
SELECT svm_train('homes', 'price', '{area, age}', loss => 'quantile', solver => 'newton');
SELECT svm_train('homes', 'price', '{area, age}', loss => 'quantile', task => 'classification');
SELECT svm_train('homes', 'price', '{area, age}', loss => 'pinball');
SELECT svm_train('homes', 'price', '{area, age}', task => 'regression', metric => 'pinball', c => 'auto');
SELECT svm_train('homes', 'price', '{area, age}', options => '{"tau": 0.5}');
-- Between which numbers the label lies, by rows held out.
CREATE VIEW half AS SELECT * FROM homes WHERE id % 2 = 0;
CREATE VIEW other_half AS SELECT * FROM homes WHERE id % 2 = 1;
SELECT svm_train('half', 'price', '{area, age}', name, c => c, gamma => gamma, solver => solver, kernel => CASE WHEN rank > 0 THEN 'rbf' ELSE 'linear' END,
    rank => rank, fold_order => fold_order, options => options)
FROM (VALUES ('sure', '1'::svm_numbers, NULL::svm_numbers, 'auto', NULL::int, NULL, '{"intervals": true}'::jsonb), ('sure_scan', '1', NULL, 'scan', NULL, NULL, '{"intervals": true}'),
    ('sure_newton', '1', NULL, 'newton', NULL, NULL, '{"intervals": true}'), ('sure_forward', '1', NULL, 'auto', NULL, 'id', '{"intervals": true}'),
    ('sure_exact', '1', NULL, 'auto', 30, NULL, '{"intervals": true, "method": "exact"}'), ('sure_points', '1', NULL, 'interior_point', 30, NULL, '{"intervals": true}'),
    ('sure_c', 'auto', NULL, 'auto', NULL, NULL, '{}'), ('sure_c_scan', 'auto', NULL, 'scan', NULL, NULL, '{}'), ('sure_gamma', '1', 'auto', 'auto', 30, NULL, '{}'),
    ('sure_gamma_scan', '1', 'auto', 'scan', 30, NULL, '{}')) AS v (name, c, gamma, solver, rank, fold_order, options);
SELECT v.name, v.interval_rows, avg((h.price BETWEEN i.lower AND i.upper)::int) BETWEEN 0.87 AND 0.93 AS covers, round(avg(i.upper - i.lower)::numeric, -3) AS width
FROM svm_versions AS v, other_half AS h, svm_interval(v.name, h) AS i WHERE v.name LIKE 'sure%' GROUP BY v.name, v.interval_rows ORDER BY v.name;
SELECT coverage, abs(avg((h.price BETWEEN i.lower AND i.upper)::int) - coverage) < 0.04 AS covers, bool_and(abs((i.lower + i.upper) / 2 - svm_predict('sure', h)) < 1e-6) AS around
FROM unnest('{0.5, 0.8, 0.95, 0.999}'::float8[]) AS coverage, other_half AS h, svm_interval('sure', h, coverage) AS i GROUP BY coverage ORDER BY coverage;
SELECT svm_train_query('SELECT area, age, price FROM homes WHERE id <= 9', 'price', model => 'few', options => '{"intervals": true, "folds": 3}');
-- nine rows say something up to a coverage of 9 / 10
SELECT upper < 'Infinity' AS finite, lower < upper AS some FROM svm_interval('few', '{100, 10}'::float8[], 0.9);
SELECT lower, upper FROM svm_interval('few', '{100, 10}'::float8[], 0.91);
SELECT svm_interval('few', NULL::float8[]), svm_interval('few', '{1, 2}'::float8[], NULL), svm_interval(NULL, '{1, 2}'::float8[]);
SELECT pg_typeof(svm_interval('few', '{100, 10}'::float8[])), (svm_interval('few', '1:100 2:10', 0.5)).lower = (svm_interval('few', '{100, 10}'::float8[], 0.5)).lower AS same;
-- a refresh holds rows out as before
SELECT svm_refresh('sure_c'), svm_refresh('sure_forward');
SELECT name, version, interval_rows FROM svm_versions WHERE name IN ('sure_c', 'sure_forward') ORDER BY name, version;
SELECT svm_import('sure_copied', svm_export('sure', 'pgsvm'), 'pgsvm');
SELECT bool_and(svm_interval('sure_copied', h, 0.8) = svm_interval('sure', h, 0.8)) AS same FROM homes AS h;
SELECT replace(svm_export('few', 'pgsvm'), '"interval_rows":9', '"interval_rows":8') AS damaged \gset
SELECT svm_import('x', :'damaged', 'pgsvm');
SELECT svm_refresh('sure');
SELECT version, interval_rows FROM svm_versions WHERE name = 'sure' ORDER BY version;
SELECT svm_train('half', 'age', '{area, price}', 'sure_age', options => '{"intervals": true}');
SELECT task, interval_rows FROM svm_versions WHERE name = 'sure_age';
SELECT svm_interval('homes', h) FROM homes AS h LIMIT 1;
SELECT svm_interval('from_file', '{1, 1}'::float8[]);
SELECT svm_interval('dear', h) FROM homes AS h LIMIT 1;
SELECT svm_interval('sure', h, coverage => 1) FROM homes AS h LIMIT 1;
SELECT svm_interval('sure', h, coverage => 0) FROM homes AS h LIMIT 1;
SELECT svm_interval('sure', h, coverage => 'NaN') FROM homes AS h LIMIT 1;
SELECT svm_train('half', 'price', '{area, age}', options => '{"intervals": true}', task => 'classification');
SELECT svm_train('half', 'price', '{area, age}', options => '{"intervals": "yes"}');
SELECT svm_train('half', 'price', '{area, age}', options => '{"intervals": true}', probability => true);
DROP VIEW half, other_half;
DROP VIEW parted;
DROP TABLE arrays;
DROP TABLE drifting;
DROP FUNCTION guess(anyelement);
DROP FUNCTION guess_always;
DROP TABLE homes, weighed;
DROP FUNCTION tossed;
DELETE FROM svm_model;
