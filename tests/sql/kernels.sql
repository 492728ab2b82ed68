-- Kernel machines of low rank: what they learn, from which columns, what is stored, who sees it, and what they cannot do.
SET client_min_messages = warning;
SET pgsvm.workers = 0;
DELETE FROM svm_model;
CREATE FUNCTION drawn(id int, k int) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT (hashint8extended(id, k) & 1048575) / 1048576.0 $$;

CREATE TABLE circles AS
SELECT id, radius * cos(angle) AS x, radius * sin(angle) AS y, CASE WHEN radius < 1.5 THEN 'inner' ELSE 'outer' END AS ring,
       (4 * angle / 6.2832)::int % 4 AS quarter
FROM (SELECT i AS id, 1 + i % 2 + 0.4 * (drawn(i, 1) - 0.5) AS radius, 6.2831853 * drawn(i, 2) AS angle
      FROM generate_series(1, 2000) AS i) AS drawn;

-- No line tells one ring from the other, and the hint says what does.
SELECT svm_train('circles', 'ring', '{x, y}', 'line');
SELECT svm_train('circles', 'ring', '{x, y}', 'rbf', kernel => 'rbf', options => '{"method": "low_rank"}');
SELECT svm_train('circles', 'ring', '{x, y}', 'polynomial', kernel => 'polynomial', degree => 2, coef0 => 1, options => '{"method": "low_rank"}');
SELECT svm_train('circles', 'ring', '{x, y}', landmarks, kernel => 'rbf', gamma => 1, rank => 20, loss => 'hinge',
                 options => jsonb_build_object('landmarks', landmarks))
FROM unnest('{pivots, drawn, uniform, centres}'::text[]) AS landmarks;
SELECT name, kernel, landmarks, features, training_accuracy > 0.99 AS good, gap BETWEEN 0 AND 1e-3 AS certified,
       left_out BETWEEN 0 AND 0.3 AS nearly_all
FROM svm_models ORDER BY name;
SELECT name, features -> 'kernel' ->> 'function' AS function, (features -> 'kernel' ->> 'gamma')::numeric(8, 4) AS gamma,
       features -> 'kernel' -> 'degree' AS degree, features -> 'kernel' -> 'chosen' AS chosen
FROM svm_version JOIN svm_model ON svm_model.id = model_id ORDER BY name;

-- Every way to give features decides alike, also by what is stored: factors of kernel values, of scaled rows.
SELECT max(abs(svm_decision('rbf', c.*) - svm_decision('rbf', ARRAY[x, y]))) AS array_apart,
       max(abs(svm_decision('rbf', c.*) - svm_decision('rbf', jsonb_build_object('x', x, 'y', y)))) AS document_apart
FROM circles AS c;
WITH stored AS (
    SELECT v.id, v.intercept, v.features -> 'kernel' AS kernel FROM svm_version AS v JOIN svm_model AS m ON m.id = v.model_id WHERE m.name = 'rbf'
), factor AS (
    SELECT version_id, first_feature + ordinality - 1 AS landmark, factor
    FROM svm_weight, unnest(weights) WITH ORDINALITY AS w (factor, ordinality)
), by_hand AS (
    SELECT c.id, s.intercept + sum(f.factor * exp(-(s.kernel ->> 'gamma')::float8 * (
        ((c.x - (s.kernel #>> '{scaling,centre,0}')::float8) * (s.kernel #>> '{scaling,factor,0}')::float8 - l.dense[1]) ^ 2
        + ((c.y - (s.kernel #>> '{scaling,centre,1}')::float8) * (s.kernel #>> '{scaling,factor,1}')::float8 - l.dense[2]) ^ 2))) AS decision
    FROM stored AS s JOIN svm_landmark AS l ON l.version_id = s.id JOIN factor AS f USING (version_id, landmark), circles AS c
    WHERE c.id <= 100 GROUP BY c.id, s.intercept
)
SELECT count(*), max(abs(decision - svm_decision('rbf', c.*))) < 1e-4 AS same FROM by_hand JOIN circles AS c USING (id);

-- Exact ones, which small tables get unasked: all support vectors are landmarks.
SELECT svm_train('circles', 'ring', '{x, y}', 'unasked', kernel => 'rbf'),
       svm_train('circles', 'ring', '{x, y}', 'exact', kernel => 'rbf', loss => 'hinge', tolerance => 1e-4, options => '{"method": "exact", "duals": true}'),
       svm_train('circles', 'ring', '{x, y}', 'full', kernel => 'rbf', loss => 'hinge', tolerance => 1e-4, rank => 500);
SELECT name, landmarks = support_vectors AS all_of_them, left_out < 1e-4 AS nothing, m.gap BETWEEN 0 AND 1e-3 AS certified, m.training_accuracy > 0.99 AS good
FROM svm_models AS m JOIN svm_head ON version_id = svm_internal.svm_version_id(name) WHERE name IN ('unasked', 'exact', 'full') ORDER BY name;
SELECT abs(e.primal - f.primal) < 2e-4 * f.primal AS same FROM svm_models AS e, svm_models AS f WHERE e.name = 'exact' AND f.name = 'full';
SELECT max(abs(svm_decision('exact', c.*) - svm_decision('full', c.*))) < 0.02 AS close FROM circles AS c;
SELECT sum(cardinality(d.rows)) = max(h.support_vectors) AS duals FROM svm_dual AS d JOIN svm_head AS h USING (version_id) WHERE version_id = svm_internal.svm_version_id('exact');
-- With a free intercept, as LIBSVM has it.
SELECT svm_train('circles', 'ring', '{x, y}', 'free exact', kernel => 'rbf', loss => 'hinge', tolerance => 1e-4, options => '{"method": "exact", "intercept": "free", "duals": true}'),
       svm_train('circles', 'ring', '{x, y}', 'free full', kernel => 'rbf', loss => 'hinge', tolerance => 1e-4, rank => 400, options => '{"intercept": "free"}');
SELECT abs(e.primal - f.primal) < 2e-4 * f.primal AS same, e.primal < (SELECT primal FROM svm_models WHERE name = 'exact') AS lower, e.gap <= 1e-4 AND f.gap <= 1e-4 AS certified
FROM svm_models AS e, svm_models AS f WHERE e.name = 'free exact' AND f.name = 'free full';
SELECT svm_train('circles', 'quarter', '{x, y}', 'exact_quarters', kernel => 'polynomial', coef0 => 1, options => '{"method": "exact"}', probability => true);
SELECT classes, training_accuracy > 0.95 AS good, gap <= 1e-3 AS certified, probabilities FROM svm_models WHERE name = 'exact_quarters';
SELECT accuracy = training_accuracy AS as_trained FROM svm_models, LATERAL svm_evaluate(name, 'circles') WHERE name = 'exact_quarters';
-- where memory does not hold them it is low rank, unless exact ones were asked for
SET pgsvm.cache_size = '128kB';
CREATE TABLE many_circles AS SELECT x + i / 100.0::float8 AS x, y, ring FROM circles, generate_series(1, 4) AS i;
SELECT svm_train('many_circles', 'ring', '{x, y}', 'unasked', kernel => 'rbf', c => 0.001);
SELECT landmarks < 100 AS low_rank FROM svm_models WHERE name = 'unasked';
SELECT svm_train('many_circles', 'ring', '{x, y}', 'exact', kernel => 'rbf', c => 0.001, options => '{"method": "exact"}');
\echo :LAST_ERROR_SQLSTATE
RESET pgsvm.cache_size;

-- Several classes, weights, class weights, probabilities, C chosen, cross-validation.
SELECT svm_train('circles', 'quarter', '{x, y}', 'quarters', kernel => 'rbf', probability => true);
SELECT classes, landmarks > 50 AS exact, training_accuracy > 0.95 AS good, probabilities FROM svm_models WHERE name = 'quarters';
SELECT abs(sum(svm_probability('quarters', c.*, class)) - 1) < 1e-9 AS one FROM circles AS c, unnest('{0, 1, 2, 3}'::text[]) AS class WHERE c.id = 1;
SELECT accuracy > 0.95 AS good FROM svm_evaluate('quarters', 'circles');
SELECT svm_train('circles', 'ring', '{x, y}', 'chosen', kernel => 'rbf', c => NULL, weight => 'id', class_weight => 'balanced');
SELECT c < 1000 AS chosen, training_accuracy > 0.99 AS good FROM svm_models WHERE name = 'chosen';
SELECT count(*), min(accuracy) > 0.9 AS good FROM svm_cross_validate('circles', 'ring', c => '{0.1, 1}', folds => 3, features => '{x, y}', kernel => 'rbf');

-- Other kinds of features: arrays, sparse ones, categories, booleans, missing values, rows of length 1, columns of one value.
CREATE TABLE kinds AS
SELECT id, ring, ARRAY[x, y]::real[] AS both, CASE id % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'b' ELSE 'c' END AS word, id % 2 = 0 AS even,
       CASE WHEN id % 7 = 0 THEN NULL ELSE x END AS sometimes, 1 AS one, x, y,
       format('1:%s 3:%s 1000000:%s', x::numeric(8, 4), y::numeric(8, 4), id % 3) AS entries
FROM circles;
SELECT svm_train('kinds', 'ring', '{both}', 'arrays', kernel => 'rbf'),
       svm_train('kinds', 'ring', '{both, word, even}', 'mixed', kernel => 'rbf'),
       svm_train('kinds', 'ring', '{libsvm(entries)}', 'entries', kernel => 'rbf', gamma => 1),
       svm_train('kinds', 'ring', '{sometimes, x, y, one}', 'missing', kernel => 'rbf', nulls => 'mean'),
       svm_train('kinds', 'ring', '{x, y, one}', 'unit', kernel => 'rbf', gamma => 4, scale => 'none', options => '{"normalize_rows": true}'),
       svm_train('kinds', 'ring', '{x, y, one}', 'constant', kernel => 'polynomial', degree => 2, scale => 'none'),
       svm_train_query('SELECT x, y, ring FROM kinds WHERE id > 10', 'ring', model => 'query', kernel => 'rbf') IS NOT NULL AS query;
SELECT name, rows_used, features, training_accuracy > 0.95 AS good FROM svm_models
WHERE name IN ('arrays', 'mixed', 'entries', 'missing', 'unit', 'constant', 'query') ORDER BY name;
SELECT name, m.accuracy = training_accuracy AS as_trained
FROM svm_models, LATERAL svm_evaluate(name, 'kinds') AS m
WHERE name IN ('arrays', 'mixed', 'entries', 'missing', 'unit', 'constant') ORDER BY name;
-- values that the training did not see, and rows of other widths
SELECT svm_decision('mixed', k) IS NOT NULL AS known FROM (SELECT ARRAY[0, 1]::real[] AS both, 'new' AS word, true AS even) AS k;
SELECT svm_decision('entries', '1:1 2000000:5'::text) IS NOT NULL;

-- A cache that holds neither the rows nor what is made of them.
SET pgsvm.cache_size = '128kB';
SELECT svm_train('circles', 'ring', '{x, y}', 'streamed', kernel => 'rbf', rank => 30);
SELECT training_accuracy > 0.99 AS good, gap <= 1e-3 AS certified, landmarks FROM svm_models WHERE name = 'streamed';
RESET pgsvm.cache_size;

-- A new version takes kernel and parameters over; another kernel takes no parameters over.
SELECT svm_train('circles', 'ring', '{x, y}', 'over', kernel => 'rbf', gamma => 2, rank => 25, options => '{"landmarks": "uniform"}');
SELECT svm_train('circles', 'ring', '{x, y}', 'over');
SELECT svm_train('circles', 'ring', '{x, y}', 'over', gamma => 3);
SELECT svm_train('circles', 'ring', '{x, y}', 'over', kernel => 'polynomial', coef0 => 1);
SELECT svm_train('circles', 'ring', '{x, y}', 'over', kernel => 'linear');
SELECT version, kernel, CASE WHEN landmarks > 50 OR kernel = 'polynomial' THEN 'all support vectors' ELSE landmarks::text END AS landmarks, given FROM svm_versions WHERE name = 'over' ORDER BY version;
SELECT svm_decision('over@1', c.*) = svm_decision('over@2', c.*) AS same FROM circles AS c WHERE id = 1;

-- As text it moves to another database, and into a function that reads no table.
SELECT svm_import('carried', svm_export('mixed', format => 'pgsvm')), svm_import('carried_entries', svm_export('entries', format => 'pgsvm'));
SELECT bool_and(svm_decision('mixed', k.*) = svm_decision('carried', k.*)) AS same,
       bool_and(svm_decision('entries', k.*) = svm_decision('carried_entries', k.*)) AS same_entries
FROM kinds AS k WHERE id <= 200;
SELECT svm_create_function('quarters', 'quarter_of', immutable => true);
SELECT bool_and(quarter_of(x, y)::text = svm_classify('quarters', c.*)) AS same FROM circles AS c WHERE id <= 200;
DROP FUNCTION quarter_of;
SELECT svm_import('broken', regexp_replace(svm_export('rbf', format => 'pgsvm'), '\{"landmark[^\n]*\n', ''));
SELECT svm_import('broken', replace(svm_export('pivots', format => 'pgsvm'), '"dense":[', '"dense":[1,'));
SELECT count(*) FROM svm_problems;

-- Why: what goes of the decision when a feature is put back to the baseline; with what features make together the sum is the decision.
SELECT class, feature, value, weight, round(contribution::numeric, 1) AS contribution FROM svm_explain('polynomial', ARRAY[1.5, 0.2]);
SELECT abs(sum(contribution) - svm_decision('rbf', ARRAY[1, 2])) < 1e-9 AS adds_up,
    abs(max(contribution) FILTER (WHERE feature = 'x') - (svm_decision('rbf', ARRAY[1, 2]) - svm_decision('rbf', ARRAY[0, 2]))) < 1e-9 AS x_by_hand,
    max(contribution) FILTER (WHERE feature = '(row of zeros)') = svm_decision('rbf', ARRAY[0, 0]) AS at_zero
FROM svm_explain('rbf', ARRAY[1, 2]);
WITH mean AS (SELECT avg(x) AS x, avg(y) AS y FROM circles)
SELECT string_agg(feature, ' ' ORDER BY feature) AS features, abs(sum(contribution) - max(svm_decision('rbf', ARRAY[1, 2]))) < 1e-9 AS adds_up,
    abs(max(contribution) FILTER (WHERE feature = 'y') - max(svm_decision('rbf', ARRAY[1, 2]) - svm_decision('rbf', ARRAY[1, mean.y]))) < 1e-6 AS y_by_hand
FROM svm_explain('rbf', ARRAY[1, 2], baseline => 'mean'), mean;
SELECT class, feature, round(sum(contribution)::numeric, 3) = round(svm_decision('quarters', ARRAY[1, 2], '2')::numeric, 3) AS sum FROM svm_explain('quarters', ARRAY[1, 2], top_n => 0, class => 2)
GROUP BY class, GROUPING SETS ((feature), ()) HAVING feature IS NULL;
SELECT feature, value FROM svm_explain('mixed', (SELECT k FROM kinds AS k WHERE id = 4)) ORDER BY feature;
SELECT feature, value FROM svm_explain('entries', '1:0.5 3:1 2000000:2'::text) ORDER BY feature;
-- of degree 1 it is a sum of weights, and features make nothing together
SELECT svm_train('circles', 'quarter', '{x, y}', 'plain', kernel => 'polynomial', degree => 1, rank => 2);
SELECT abs(contribution) < 1e-4 AS nothing FROM svm_explain('plain', ARRAY[1, 2]) WHERE feature = '(interactions)';

-- What is about a weight for each feature is for linear models.
SELECT class, feature FROM svm_weights('pivots') WHERE feature IN ('landmark 1', 'landmark 20', '(intercept)') ORDER BY feature;
SELECT count(*) FROM svm_features('rbf');
\set VERBOSITY terse
SELECT svm_export('rbf');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('circles', 'ring', '{x, y}', 'line', options => '{"warm_start": "rbf"}');

-- Errors.
\set VERBOSITY default
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'gaus');
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'polinomial');
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'rbf', gamma => 0);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'rbf', gamma => 'NaN');
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'rbf', gamma => 1e-60);
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'polynomial', degree => 0);
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'polynomial', degree => 33);
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'polynomial', coef0 => 'Infinity');
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'rbf', rank => 0);
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'rbf', rank => 2001);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', gamma => 1);
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', rank => 10);
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', options => '{"landmarks": "centres"}');
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'rbf', degree => 2);
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'rbf', coef0 => 1);
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'rbf', options => '{"landmarks": "support"}');
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'rbf', options => '{"method": "smo"}');
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', options => '{"method": "exact"}');
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'sigmoid', gamma => 3);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('circles', 'ring', '{x, y}', 'bad', kernel => 'rbf', options => '{"warm_start": "line"}');
SELECT svm_train('kinds', 'ring', '{libsvm(entries)}', 'bad', kernel => 'rbf', options => '{"landmarks": "centres"}');
CREATE TABLE huge AS SELECT id, x * 1e30 AS x, y, ring FROM circles;
SELECT svm_train('huge', 'ring', '{x, y}', 'bad', kernel => 'polynomial', scale => 'none', gamma => 1);
CREATE TABLE nothing AS SELECT 0 AS x, ring FROM circles LIMIT 10;
SELECT svm_train('nothing', 'ring', '{x}', 'bad', kernel => 'polynomial', scale => 'none');
SELECT count(*) FROM svm_models WHERE name = 'bad';

-- Others predict, and may read landmarks, only where they were let.
SET client_min_messages = warning;
CREATE ROLE regress_svm_reader;
GRANT USAGE ON SCHEMA public TO regress_svm_reader;
SET ROLE regress_svm_reader;
SELECT count(*) FROM svm_landmark;
SELECT svm_decision('rbf', ARRAY[1, 2]);
RESET ROLE;
SET client_min_messages = notice;
SELECT svm_grant('rbf', 'regress_svm_reader');
SELECT svm_grant('line', 'regress_svm_reader');
SELECT svm_grant('centres', 'regress_svm_reader');
SET client_min_messages = warning;
SET ROLE regress_svm_reader;
SELECT count(*) FROM svm_landmark;
SELECT svm_decision('rbf', ARRAY[1, 2]) IS NOT NULL;
INSERT INTO svm_landmark SELECT version_id, 1000, dense, sparse_index, sparse_value FROM svm_landmark LIMIT 1;
UPDATE svm_landmark SET landmark = 5;
DELETE FROM svm_landmark;
RESET ROLE;

-- What is not whole, or makes no sense, is an error and no wrong prediction.
\c -
SET client_min_messages = warning;
DELETE FROM svm_landmark WHERE landmark = 3 AND version_id = svm_internal.svm_version_id('rbf');
SELECT svm_decision('rbf', ARRAY[1, 2]);
\echo :LAST_ERROR_SQLSTATE
SELECT model, version, table_name, problem FROM svm_problems;
UPDATE svm_landmark SET dense = '{1}' WHERE version_id = svm_internal.svm_version_id('pivots') AND landmark = 0;
SELECT svm_decision('pivots', ARRAY[1, 2]);
UPDATE svm_landmark SET sparse_index = '{1, 0}', sparse_value = '{1, 1}' WHERE version_id = svm_internal.svm_version_id('drawn') AND landmark = 0;
SELECT svm_decision('drawn', ARRAY[1, 2]);
UPDATE svm_landmark SET dense = '{NaN, 1}' WHERE version_id = svm_internal.svm_version_id('uniform') AND landmark = 0;
SELECT svm_decision('uniform', ARRAY[1, 2]);
UPDATE svm_version SET features = jsonb_set(features, '{kernel,gamma}', '-1') WHERE id = svm_internal.svm_version_id('centres');
SELECT svm_decision('centres', ARRAY[1, 2]);
UPDATE svm_version SET features = jsonb_set(features, '{kernel,scaling,centre}', '[1]') WHERE id = svm_internal.svm_version_id('polynomial');
SELECT svm_decision('polynomial', ARRAY[1, 2]);
UPDATE svm_version SET features = features - 'kernel' WHERE id = svm_internal.svm_version_id('quarters');
SELECT svm_classify('quarters', ARRAY[1, 2]);

-- Landmarks go with their version.
DELETE FROM svm_model;
SELECT count(*) FROM svm_landmark;
REVOKE USAGE ON SCHEMA public FROM regress_svm_reader;
DROP ROLE regress_svm_reader;

-- Rows far from 0: days since 1970, as they are. What is told of a machine is recomputed of what is stored of it: P of the factors, D of the
-- dual variables, decisions.
CREATE TABLE days AS
SELECT id, 20000 + id * 7919 % 900 AS day, 20300 + id * 104729 % 300 AS due, id * 7919 % 900 + id * 104729 % 300 > 600 + 50 * (id % 3) AS late
FROM generate_series(1, 150) AS id;
CREATE FUNCTION recomputed(name text) RETURNS TABLE (primal float8, dual float8, same_decisions boolean) LANGUAGE sql AS $$
    WITH v AS (SELECT id, c, intercept, (features #>> '{kernel,gamma}')::float8 AS gamma FROM svm_version WHERE id = svm_internal.svm_version_id(name)),
    z AS (SELECT landmark, dense[1]::float8 AS day, dense[2]::float8 AS due, weights[landmark + 1] AS factor
          FROM v JOIN svm_landmark AS l ON l.version_id = v.id JOIN svm_weight AS w ON w.version_id = v.id),
    x AS (SELECT d.id, day, due, CASE WHEN late THEN 1 ELSE -1 END AS y, coalesce(dual, 0) AS dual
          FROM (SELECT *, row_number() OVER () - 1 AS row FROM days) AS d
          LEFT JOIN (SELECT first_row + rows[n] AS row, duals[n]::float8 AS dual FROM v JOIN svm_dual AS s ON s.version_id = v.id, generate_series(1, cardinality(rows)) AS n) AS u USING (row)),
    f AS (SELECT x.id, y, dual, sum(factor * exp(greatest(-700, -gamma * ((x.day - z.day) ^ 2 + (x.due - z.due) ^ 2)))) + intercept AS f
          FROM v, x, z GROUP BY x.id, y, dual, intercept),
    norm AS (SELECT sum(a.factor * b.factor * exp(greatest(-700, -gamma * ((a.day - b.day) ^ 2 + (a.due - b.due) ^ 2)))) + max(intercept) ^ 2 AS norm FROM v, z AS a, z AS b),
    s AS (SELECT * FROM x WHERE dual > 0),
    dual AS (SELECT sum(a.dual * b.dual * a.y * b.y * (1 + exp(greatest(-700, -gamma * ((a.day - b.day) ^ 2 + (a.due - b.due) ^ 2))))) AS of_duals FROM v, s AS a, s AS b)
    SELECT norm / 2 + (SELECT c * sum(greatest(0, 1 - y * f)) FROM v, f GROUP BY c), (SELECT sum(dual) FROM f) - of_duals / 2,
           (SELECT bool_and(abs(f - svm_decision(name, d)) < 1e-6 * greatest(1, abs(f))) FROM f JOIN days AS d USING (id)) FROM norm, dual
$$;
SELECT svm_train('days', 'late', '{day, due}', 'days_' || c, kernel => 'rbf', gamma => gamma, scale => 'none', loss => 'hinge', c => c,
                 options => '{"method": "exact", "duals": true}')
FROM unnest('{1e-6, 1e-5, 1e-4}'::float8[], '{10, 100, 1000}'::int[]) AS given (gamma, c);
SELECT name, r.primal <= m.primal * (1 + 1e-9) AS primal, m.dual <= r.dual + 1e-9 * m.primal AS dual, m.gap <= 1e-3 AS certified, same_decisions
FROM svm_models AS m, recomputed(name) AS r WHERE name LIKE 'days%' ORDER BY name;

-- of low rank though nobody asked, and too coarse: no room for more landmarks, or no time for as many as would lower the objective
CREATE TABLE board AS SELECT a, b, (floor(8 * a) + floor(8 * b))::int % 2 = 0 AS y
FROM (SELECT hashint4(i) / 4294967296.0 + .5 AS a, hashint4(i + 1000000) / 4294967296.0 + .5 AS b FROM generate_series(1, 6000) AS i) AS drawn;
SET client_min_messages = warning;
SET pgsvm.cache_size = '2MB';
SELECT svm_train('board', 'y', '{a,b}', 'board', kernel => 'rbf', gamma => 20);
SELECT svm_train('board', 'y', '{a,b}', 'board', kernel => 'rbf', gamma => 20, rank => 156);
RESET pgsvm.cache_size;
SELECT svm_train('board', 'y', '{a,b}', 'board', kernel => 'rbf', gamma => 20);
SELECT version, training_accuracy > .75 AS good FROM svm_versions WHERE name = 'board' ORDER BY version;
DROP TABLE board;
DELETE FROM svm_model;
