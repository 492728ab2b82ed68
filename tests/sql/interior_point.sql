-- PSVM: solver 'interior_point', a factor of the kernel matrix of all rows and interior points on it; what it stores and refuses.
SET client_min_messages = warning;
SET pgsvm.workers = 0;
DELETE FROM svm_model;
CREATE FUNCTION drawn(id int, k int) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT (hashint8extended(id, k) & 1048575) / 1048576.0 $$;

CREATE TABLE circles AS
SELECT id, radius * cos(angle) AS x, radius * sin(angle) AS y,
       CASE WHEN (radius < 1.5) = (id % 20 <> 3) THEN 'inner' ELSE 'outer' END AS ring,
       (4 * angle / 6.2832)::int % 4 AS quarter, 0.5 + id % 3 AS weight
FROM (SELECT i AS id, 1 + i % 2 + 0.4 * (drawn(i, 1) - 0.5) AS radius, 6.2831853 * drawn(i, 2) AS angle
      FROM generate_series(1, 2000) AS i) AS drawn;

SELECT svm_train('circles', 'ring', '{x, y}', 'usual', kernel => 'rbf', solver => 'interior_point');
SELECT solver, loss, kernel, landmarks, features, training_accuracy > 0.94 AS good, gap BETWEEN 0 AND 1e-3 AS certified,
       left_out BETWEEN 0 AND 0.01 AS nearly_all FROM svm_models;

-- As many columns as rows to a power, or as a rank says, or as leave out no more than a part of the trace.
SELECT svm_train('circles', 'ring', '{x, y}', 'power', kernel => 'rbf', solver => 'interior_point', options => '{"rank_exponent": 0.3}'),
       svm_train('circles', 'ring', '{x, y}', 'ranked', kernel => 'rbf', solver => 'interior_point', rank => 20, loss => 'hinge'),
       svm_train('circles', 'ring', '{x, y}', 'traced', kernel => 'rbf', solver => 'interior_point', options => '{"trace_tolerance": 0.05, "intercept": "free"}');
SELECT name, landmarks, landmarks BETWEEN 2 AND 30 AS few, left_out <= 0.05 AS within FROM svm_models WHERE name <> 'traced' ORDER BY name;
SELECT landmarks BETWEEN 2 AND 30 AS few, left_out <= 0.05 AS within FROM svm_models WHERE name = 'traced';

-- How many machines there are changes no more than rounding.
SELECT svm_train('circles', 'ring', '{x, y}', 'machines_' || machines, kernel => 'rbf', gamma => 1, solver => 'interior_point', weight => 'weight',
                 class_weight => 'balanced', options => jsonb_build_object('machines', machines, 'duals', true))
FROM unnest('{1, 2, 3}'::int[]) AS machines;
SELECT max(primal) - min(primal) <= 1e-6 * max(primal) AS primal, max(dual) - min(dual) <= 1e-6 * max(dual) AS dual,
       count(DISTINCT landmarks) AS ranks FROM svm_models WHERE name LIKE 'machines%';
SELECT max(abs(svm_decision('machines_1', c.*) - svm_decision('machines_3', c.*))) < 1e-4 AS same FROM circles AS c;

-- The sum of y a is 0, and what is stored with the model is the primal by hand: half the squares, and what rows lose.
WITH dual AS (
    SELECT first_row + row + 1 AS id, dual
    FROM svm_dual, unnest(rows, duals) AS d (row, dual) WHERE version_id = svm_internal.svm_version_id('machines_2')
)
SELECT abs(sum(CASE ring WHEN 'outer' THEN dual ELSE -dual END)) <= 1e-5 * sum(dual) AS balanced FROM dual JOIN circles USING (id);
SELECT svm_train('circles', 'ring', '{x, y}', 'plain', kernel => 'rbf', gamma => 1, solver => 'interior_point', tolerance => 1e-6);
WITH form AS (
    SELECT id, features -> 'kernel' AS kernel FROM svm_version WHERE id = svm_internal.svm_version_id('plain')
), factor AS (
    SELECT first_feature + ordinality - 1 AS landmark, factor
    FROM svm_weight, unnest(weights) WITH ORDINALITY AS w (factor, ordinality) WHERE version_id = svm_internal.svm_version_id('plain')
), norm AS (
    SELECT sum(a.factor * b.factor * exp(-((k.dense[1] - l.dense[1]) ^ 2 + (k.dense[2] - l.dense[2]) ^ 2))) AS square
    FROM factor AS a JOIN svm_landmark AS k USING (landmark), factor AS b JOIN svm_landmark AS l USING (landmark)
    WHERE k.version_id = svm_internal.svm_version_id('plain') AND l.version_id = svm_internal.svm_version_id('plain')
), lost AS (
    SELECT sum(greatest(0, 1 - CASE ring WHEN 'outer' THEN 1 ELSE -1 END * svm_decision('plain', c.*))) AS losses FROM circles AS c
)
SELECT abs(0.5 * square + losses - primal) < 1e-3 * primal AS as_told FROM norm, lost, svm_models WHERE name = 'plain';
-- Fine and Scheinberg's bound
SELECT (features #>> '{kernel,bound}')::float8 > 0 AS bound,
       abs((features #>> '{kernel,bound}')::float8 - 0.5 * support_vectors * 2000 * left_out) < 1e-6 * (features #>> '{kernel,bound}')::float8 AS by_hand
FROM svm_version JOIN svm_head ON svm_head.version_id = svm_version.id, LATERAL (SELECT left_out FROM svm_models WHERE name = 'plain') AS m
WHERE svm_version.id = svm_internal.svm_version_id('plain');

-- A line of the log for the factor, and one for each step; the last one is the certificate.
SELECT event, count(*) > 1 AS several, bool_and(dual IS NOT NULL) AS dual FROM svm_training_log('plain') GROUP BY event ORDER BY event;
SELECT l.gap = m.gap AS gap, l.primal = m.primal AS primal, l.pass = m.passes + 1 AS steps FROM svm_training_log('plain') AS l, svm_models AS m
WHERE m.name = 'plain' ORDER BY step DESC LIMIT 1;

-- A linear one is a hyperplane, and everything that is about a weight for each feature works.
CREATE TABLE halves AS
SELECT id, x, y, x * y AS z, format('1:%s 2:%s 9:%s', x, y, x * y) AS entries, CASE WHEN (x + 2 * y > 0.3) = (id % 20 <> 3) THEN 'above' ELSE 'below' END AS half FROM circles;
SELECT svm_train('halves', 'half', '{x, y, z}', 'lines', solver => 'interior_point', tolerance => 1e-4),
       svm_train('halves', 'half', '{x, y, z}', 'lines_too', loss => 'hinge', tolerance => 1e-4),
       svm_train('halves', 'half', '{libsvm(entries)}', 'lines_sparse', solver => 'interior_point', rank => 3),
       svm_train('halves', 'half', '{x, y, z}', 'lines_unit', solver => 'interior_point', options => '{"normalize_rows": true}'),
       svm_train('halves', 'half', '{x, y, z}', 'lines_alone', intercept => false, solver => 'interior_point', tolerance => 1e-4),
       svm_train('halves', 'half', '{x, y, z}', 'lines_alone_too', intercept => false, loss => 'hinge', tolerance => 1e-4);
SELECT name, kernel, landmarks, training_accuracy > 0.9 AS good, gap <= 1e-3 AS certified FROM svm_models WHERE name LIKE 'lines%' ORDER BY name;
SELECT accuracy = training_accuracy AS as_trained FROM svm_models, LATERAL svm_evaluate(name, 'halves') WHERE name IN ('lines', 'lines_sparse', 'lines_unit');
SELECT abs(a.primal - b.primal) < 1e-4 * b.primal AS same FROM svm_models AS a, svm_models AS b WHERE a.name = 'lines_alone' AND b.name = 'lines_alone_too';
SELECT max(abs(a.weight - b.weight)) < 0.05 AS close FROM svm_weights('lines') AS a JOIN svm_weights('lines_too') AS b USING (class, feature);
SELECT bool_and(abs(a.weight - b.weight) < 0.05) AS close
FROM (SELECT *, row_number() OVER (ORDER BY feature) FROM svm_weights('lines')) AS a
JOIN (SELECT *, row_number() OVER (ORDER BY feature) FROM svm_weights('lines_sparse')) AS b USING (row_number);
SELECT svm_as_sql('lines') IS NOT NULL AS as_sql;
-- its rank is that training's own
SELECT svm_train('halves', 'half', '{libsvm(entries)}', 'lines_sparse');
SELECT solver, kernel FROM svm_models WHERE name = 'lines_sparse';

-- The squared hinge, whose dual variables have no upper bound; and losses that are truncated, in rounds.
SELECT svm_train('halves', 'half', '{x, y, z}', 'squares', solver => 'interior_point', loss => 'squared_hinge', tolerance => 1e-4, options => '{"duals": true}'),
       svm_train('halves', 'half', '{x, y, z}', 'squares_too', loss => 'squared_hinge', tolerance => 1e-4, options => '{"intercept": "free"}'),
       svm_train('halves', 'half', '{x, y, z}', 'squares_by_scans', solver => 'interior_point', loss => 'squared_hinge', tolerance => 1e-4, options => '{"machines": "scans"}'),
       svm_train('circles', 'ring', '{x, y}', 'ramp', kernel => 'rbf', solver => 'interior_point', loss => 'ramp'),
       svm_train('circles', 'ring', '{x, y}', 'ramps_of_squares', kernel => 'rbf', solver => 'interior_point', loss => 'truncated_squared_hinge', options => '{"truncation": 2}'),
       svm_train('circles', 'ring', '{x, y}', 'ramp_chosen', kernel => 'rbf', solver => 'interior_point', loss => 'ramp', options => '{"truncation": "auto", "machines": 2}');
SELECT name, loss, gap BETWEEN 0 AND 1e-3 AS certified, training_accuracy > 0.9 AS good, truncation > 0 AS truncated, outliers > 50 AS has_outliers, truncated_primal <= primal AS is_less,
       stop_reason FROM svm_models WHERE name LIKE 'squares%' OR name LIKE 'ramp%' ORDER BY name;
SELECT max(primal) / min(primal) < 1 + 3e-4 AS same FROM svm_models WHERE name LIKE 'squares%';
-- With its intercept in the norm it is the problem of coordinate descent.
SELECT svm_train('halves', 'half', '{x, y, z}', 'norm', solver => 'interior_point', tolerance => 1e-4, options => '{"intercept": "regularized"}'),
       svm_train('halves', 'half', '{x, y, z}', 'norm_by_scans', solver => 'interior_point', tolerance => 1e-4, options => '{"intercept": "regularized", "machines": "scans"}'),
       svm_train('halves', 'half', '{x, y, z}', 'norm_too', loss => 'hinge', tolerance => 1e-4),
       svm_train('circles', 'ring', '{x, y}', 'round_norm', kernel => 'rbf', solver => 'interior_point', options => '{"intercept": "regularized"}');
SELECT max(primal) / min(primal) < 1 + 3e-4 AS same, max(gap) <= 1e-4 AS certified FROM svm_models WHERE name LIKE 'norm%';
SELECT gap BETWEEN 0 AND 1e-3 AS certified, training_accuracy > 0.9 AS good FROM svm_models WHERE name = 'round_norm';

-- Several classes share the factor; C chosen, and probabilities, by machines of low rank before.
SELECT svm_train('circles', 'quarter', '{x, y}', 'quarters', kernel => 'rbf', solver => 'interior_point', options => '{"machines": 2}'),
       svm_train('circles', 'ring', '{x, y}', 'chosen', kernel => 'rbf', c => NULL, probability => true, solver => 'interior_point');
SELECT name, classes, landmarks, training_accuracy > 0.93 AS good, gap <= 1e-3 AS certified, probabilities FROM svm_models WHERE name IN ('quarters', 'chosen') ORDER BY name;
SELECT accuracy > 0.93 AS good FROM svm_evaluate('quarters', 'circles');
SELECT count(*), min(accuracy) > 0.9 AS good FROM svm_cross_validate('circles', 'ring', c => '{0.1, 1}', folds => 3, features => '{x, y}', kernel => 'rbf', solver => 'interior_point');

-- Without an intercept, of sparse rows, of a query, of a polynomial; a cache through which rows stream while they are read.
SELECT svm_train('circles', 'ring', '{x, y}', 'no_intercept', kernel => 'rbf', intercept => false, solver => 'interior_point'),
       svm_train_query('SELECT format(''1:%s 3:%s 1000000:%s'', x, y, id % 3) AS entries, ring FROM circles', 'ring', '{libsvm(entries)}', model => 'sparse',
                       kernel => 'polynomial', degree => 2, coef0 => 1, solver => 'interior_point') IS NOT NULL AS query;
SELECT name, training_accuracy > 0.94 AS good, gap <= 1e-3 AS certified FROM svm_models WHERE name IN ('no_intercept', 'sparse') ORDER BY name;
SELECT intercept = 0 AS none FROM svm_version WHERE id = svm_internal.svm_version_id('no_intercept');
CREATE TABLE wide AS SELECT id, ring, ARRAY[x, y] || ARRAY(SELECT 0.01 * drawn(id, k) FROM generate_series(3, 100) AS k) AS v FROM circles;
SET pgsvm.cache_size = '2500kB';
SELECT svm_train('wide', 'ring', '{v}', 'streamed', kernel => 'rbf', gamma => 1, rank => 20, scale => 'none', solver => 'interior_point', options => '{"machines": 1}');
SELECT rows_used, training_accuracy > 0.9 AS good, gap <= 1e-3 AS certified FROM svm_models WHERE name = 'streamed';
RESET pgsvm.cache_size;

-- Errors.
SET pgsvm.cache_size = '1MB';
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'rbf', solver => 'interior_point', rank => 500, options => '{"machines": 1}');
\echo :LAST_ERROR_SQLSTATE
RESET pgsvm.cache_size;
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'rbf', solver => 'interior_point', loss => 'truncated_squared_hinge', options => '{"machines": "scans"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'rbf', solver => 'interior_point', rank => 2001);
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'rbf', solver => 'interior_point', rank => 20, options => '{"rank_exponent": 0.5}');
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'rbf', solver => 'interior_point', options => '{"rank_exponent": 1.5}');
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'rbf', solver => 'interior_point', options => '{"trace_tolerance": 0}');
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'rbf', solver => 'interior_point', options => '{"machines": 65}');
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'rbf', options => '{"machines": 2}');
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'rbf', solver => 'interior_point', options => '{"method": "exact"}');
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'rbf', solver => 'interior_point', options => '{"stop": "projected_gradient"}');
-- of several gammas, which machines of low rank compare, the interior point is that of the best
SELECT svm_train('circles', 'ring', '{x, y}', 'by_gammas', kernel => 'rbf', gamma => '{0.001, 1}', solver => 'interior_point'),
    svm_train('circles', 'ring', '{x, y}', 'by_gamma', kernel => 'rbf', gamma => 1, solver => 'interior_point');
SELECT a.solver, a.features #>> '{kernel,gamma}' AS gamma, a.primal = b.primal AS same
FROM svm_version AS a, svm_version AS b WHERE a.model_id = (SELECT id FROM svm_model WHERE name = 'by_gammas') AND b.model_id = (SELECT id FROM svm_model WHERE name = 'by_gamma');
SELECT svm_drop('by_gammas'), svm_drop('by_gamma');
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', solver => 'interior_point', gamma => 1);
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'sigmoid', gamma => 3, solver => 'interior_point');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM svm_models WHERE name = 'bad';

-- A step too few is told; so is what the model is made of.
SET client_min_messages = error;
SELECT svm_train('circles', 'ring', '{x, y}', 'short', kernel => 'rbf', solver => 'interior_point', max_passes => 2) IS NOT NULL AS stored;
SET client_min_messages = warning;
SELECT stop_reason, gap BETWEEN 1e-3 AND 1 AS wide FROM svm_models WHERE name = 'short';
SELECT name, rows_used, svm_import('carried', svm_export(name, format => 'pgsvm')) FROM svm_models WHERE name = 'plain';
SELECT bool_and(svm_decision('plain', c.*) = svm_decision('carried', c.*)) AS same FROM circles AS c;
SELECT count(*) FROM svm_problems;
DELETE FROM svm_model;
