-- Many classes, weights of classes and rows, cross-validation, choice of C, probabilities: what training makes of them
SET client_min_messages = warning;
CREATE TABLE irises AS
SELECT i AS id,
       (ARRAY['setosa', 'versicolor', 'virginica'])[1 + i % 3] AS kind,
       1 + i % 3 + sin(i) AS length,
       3 - i % 3 + 1.5 * cos(3 * i) AS width,
       i % 2 + 1 AS copies
FROM generate_series(1, 300) AS i;

-- a head for each class, in the order of the labels; each is the training of that class against the rest
SELECT svm_train('irises', 'kind', ARRAY['length', 'width'], tolerance => 1e-6);
SELECT svm_train_query(format('SELECT length, width, kind = %L AS is_it FROM irises', kind), 'is_it', model => kind, tolerance => 1e-6)
FROM (SELECT DISTINCT kind FROM irises ORDER BY kind) AS kinds;
SELECT h.head, h.class, h.gap <= 1e-6 AS certified, h.stop_reason,
       abs(h.primal - alone.primal) < 2e-6 * alone.primal AS same_primal,
       abs(h.dual - alone.dual) < 2e-6 * alone.dual AS same_dual,
       abs(h.training_accuracy - alone.training_accuracy) < 0.01 AS same_accuracy
FROM svm_models AS m
JOIN svm_model ON svm_model.name = m.name
JOIN svm_version AS v ON v.model_id = svm_model.id
JOIN svm_head AS h ON h.version_id = v.id
JOIN svm_models AS alone ON alone.name = h.class
WHERE m.name = 'irises_kind' ORDER BY h.head;
SELECT m.name, v.label_values, m.training_accuracy, abs(m.primal - sum(h.primal)) < 1e-9 AS summed, m.gap = max(h.gap) AS largest
FROM svm_models AS m
JOIN svm_model USING (name)
JOIN svm_version AS v ON v.model_id = svm_model.id
JOIN svm_head AS h ON h.version_id = v.id
WHERE m.name = 'irises_kind' GROUP BY 1, 2, 3, m.primal, m.gap;

-- labels of other types, in the order of their type
CREATE TYPE stature AS ENUM ('small', 'middle', 'large');
SELECT svm_train_query('SELECT length, width, (ARRAY[''large'', ''small'', ''middle''])[1 + id % 3]::stature AS y FROM irises', 'y', model => 'enum');
SELECT svm_train_query('SELECT length, width, (ARRAY[10, 9, 2])[1 + id % 3] AS y FROM irises', 'y', model => 'int');
SELECT svm_train_query('SELECT length, width, (ARRAY[1.50, -0.25, 10])[1 + id % 3]::numeric AS y FROM irises', 'y', model => 'numeric', task => 'classification');
SELECT svm_train_query('SELECT length, width, (ARRAY[1.5, -0.0, 0])[1 + id % 3]::float8 AS y FROM irises', 'y', model => 'zeros', task => 'classification');
SELECT m.name, v.label_type, v.label_values, (SELECT array_agg(h.class ORDER BY head) FROM svm_head AS h WHERE h.version_id = v.id) AS heads
FROM svm_model AS m JOIN svm_version AS v ON v.model_id = m.id
WHERE m.name IN ('enum', 'int', 'numeric', 'zeros') ORDER BY m.name;

-- labels that are one number in double precision stay apart, and only what tells them apart predicts them
CREATE TABLE near AS SELECT i AS x, 9007199254740990::bigint + i % 4 AS whole, 9007199254740990.50 + i % 4 AS fraction,
    (ARRAY[-0.10, -0.100000000000000000001, 0.100, 0.1])[1 + i % 4] AS tenth, (ARRAY['Infinity', '-Infinity', 1e300])[1 + i % 3]::numeric AS far
FROM generate_series(1, 60) AS i;
SELECT svm_train('near', label, ARRAY['x'], model => label, task => 'classification') FROM unnest(ARRAY['whole', 'fraction', 'tenth', 'far']) AS label;
SELECT m.name, v.label_type, v.label_values FROM svm_model AS m JOIN svm_version AS v ON v.model_id = m.id
WHERE m.name IN ('whole', 'fraction', 'tenth', 'far') ORDER BY m.name;
SELECT bool_and(svm_classify('whole', near)::bigint = svm_predict('whole', near, NULL::bigint)) AS whole,
    bool_and(svm_classify('tenth', near)::numeric = svm_predict('tenth', near, NULL::numeric)) AS tenth FROM near;
SELECT svm_decision('whole', near, 9007199254740993) = svm_decision('whole', near, '9007199254740993'::text) AS exact,
    svm_decision('whole', near, 9007199254740993.0) = svm_decision('whole', near, '9007199254740993'::text) AS point,
    svm_decision('whole', near, '9.007199254740993e15'::text) = svm_decision('whole', near, '9007199254740993'::text) AS exponent,
    svm_decision('tenth', near, 0.1::real) = svm_decision('tenth', near, '0.1'::text) AS single FROM near LIMIT 1;
SELECT svm_predict('whole', near) FROM near;
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('tenth', near) FROM near;
SELECT svm_predict('far', near) IS NOT NULL AS far FROM near LIMIT 1;
SELECT svm_decision('whole', near, 9007199254740994) FROM near;
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT x, ''1e400''::numeric * x AS y FROM near', 'y', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT x, ''NaN''::numeric AS y FROM near', 'y', model => 'm');
\echo :LAST_ERROR_SQLSTATE

-- rows of the same class each, more classes than the bank has lanes
SELECT svm_train_query('SELECT i % 40 AS y, array_agg((i % 40 = j)::int + sin(i * j) / 10 ORDER BY j) AS x
    FROM generate_series(1, 2000) AS i, generate_series(0, 39) AS j GROUP BY i', 'y', model => 'forty');
SELECT count(*), bool_and(svm_head.gap <= 1e-3) AS certified, min(round(svm_head.training_accuracy::numeric, 2)) AS worst
FROM svm_head JOIN svm_version AS v ON v.id = version_id JOIN svm_model AS m ON m.id = model_id WHERE m.name = 'forty';

-- a row of weight 2 is two rows, one of weight 0 none
SELECT svm_train_query('SELECT i.* FROM irises AS i, generate_series(1, copies)', 'kind', ARRAY['length', 'width'], scale => 'none', model => 'repeated', tolerance => 1e-6);
SELECT svm_train('irises', 'kind', ARRAY['length', 'width'], weight => 'copies', scale => 'none', model => 'weighted', tolerance => 1e-6);
SELECT svm_train_query('SELECT *, copies - 1 AS w FROM irises', 'kind', ARRAY['length', 'width'], weight => 'w', scale => 'none', model => 'halved', tolerance => 1e-6);
SELECT svm_train_query('SELECT * FROM irises WHERE copies = 2', 'kind', ARRAY['length', 'width'], scale => 'none', model => 'half', tolerance => 1e-6);
-- a class weight is a weight of its rows; balanced_examples: n / (classes * rows of the class)
SELECT svm_train('irises', 'kind', ARRAY['length', 'width'], class_weight => '{"setosa": 3, "virginica": 0.5}', scale => 'none', model => 'by label', tolerance => 1e-6);
SELECT svm_train_query('SELECT *, CASE kind WHEN ''setosa'' THEN 3 WHEN ''virginica'' THEN 0.5 ELSE 1 END AS w FROM irises', 'kind', ARRAY['length', 'width'], weight => 'w', scale => 'none', model => 'by row', tolerance => 1e-6);
SELECT svm_train_query('SELECT * FROM irises WHERE kind <> ''setosa'' OR id % 5 = 0', 'kind', ARRAY['length', 'width'], class_weight => 'balanced_examples', scale => 'none', model => 'balanced', tolerance => 1e-6);
SELECT svm_train_query('WITH t AS (SELECT * FROM irises WHERE kind <> ''setosa'' OR id % 5 = 0)
    SELECT t.*, (SELECT count(*) FROM t) / 3.0 / (SELECT count(*) FROM t AS u WHERE u.kind = t.kind) AS w FROM t', 'kind', ARRAY['length', 'width'], weight => 'w', scale => 'none', model => 'by count', tolerance => 1e-6);
SELECT a.name, b.name, a.rows_used, b.rows_used, abs(a.primal - b.primal) < 2e-6 * a.primal AS same_primal
FROM (VALUES ('weighted', 'repeated'), ('halved', 'half'), ('by label', 'by row'), ('balanced', 'by count')) AS pairs (one, other)
JOIN svm_models AS a ON a.name = one JOIN svm_models AS b ON b.name = other ORDER BY 1;
SELECT v.class_weight, v.weight_column, m.name FROM svm_version AS v JOIN svm_model AS m ON m.id = v.model_id
WHERE m.name IN ('by label', 'by row', 'balanced') ORDER BY m.name;
-- balanced: the same for the positive class of each head alone. Expected is what LIBLINEAR 2.3 finds by
-- train -s 2 -B 1 -c 1 -e 1e-9 -w1 3.666667 -w2 0.733333 -w3 0.733333 (the hinge loss: -s 3), and so does LinearSVC of
-- scikit-learn 1.9.1 by class_weight='balanced'
CREATE VIEW few_setosa AS SELECT kind, length, width FROM irises WHERE kind <> 'setosa' OR id % 5 = 0;
SELECT svm_train('few_setosa', 'kind', class_weight => 'balanced', scale => 'none', tolerance => 1e-8, max_passes => 10000);
SELECT class, feature, round(weight::numeric, 2) AS weight, abs(weight - expected) < 2e-4 AS as_expected FROM (VALUES
    ('setosa', 'length', -0.7249), ('setosa', 'width', 0.3456), ('setosa', '(intercept)', 0.0679),
    ('versicolor', 'length', -0.2645), ('versicolor', 'width', 0.1149), ('versicolor', '(intercept)', 0.2143),
    ('virginica', 'length', 0.6403), ('virginica', 'width', -0.2968), ('virginica', '(intercept)', -1.2677)
) AS liblinear (class, feature, expected) JOIN svm_weights('few_setosa_kind') USING (class, feature) ORDER BY class, feature;
SELECT svm_train('few_setosa', 'kind', class_weight => 'balanced', scale => 'none', loss => 'hinge', model => 'hinged', tolerance => 1e-5);
SELECT h.class, round(h.primal::numeric, 1) AS primal, expected FROM (VALUES ('setosa', 80.4), ('versicolor', 140.1), ('virginica', 88.7))
    AS liblinear (class, expected) JOIN svm_head AS h USING (class)
JOIN svm_version AS v ON v.id = version_id JOIN svm_model AS m ON m.id = model_id WHERE m.name = 'hinged' ORDER BY 1;
-- versions say it by another word than 0.2.0, which meant balanced_examples by balanced; of two classes all say the same
SELECT svm_train('few_setosa', 'kind', class_weight => 'balanced_heads', scale => 'none', model => 'same word', tolerance => 1e-8, max_passes => 10000);
SELECT svm_train_query('SELECT length, width, kind = ''setosa'' AS is_it FROM few_setosa', 'is_it', class_weight => word, model => 'two ' || word, tolerance => 1e-6)
FROM unnest('{balanced, balanced_examples}'::text[]) AS word;
SELECT name, class_weight, round(svm_models.primal::numeric, 3) AS primal FROM svm_models JOIN svm_versions USING (name, version)
WHERE name IN ('few_setosa_kind', 'same word') OR name LIKE 'two %' ORDER BY name;

-- cross-validation: a row for each C and fold, equally many rows of each class in each fold, nothing stored
SELECT c, fold, rows, accuracy BETWEEN 0.5 AND 1 AS learned, auc BETWEEN 0.5 AND 1 AS ranked, objective > 0 AS objective, best
FROM svm_cross_validate('irises', 'kind', c => ARRAY[0.0001, 1], folds => 3, features => ARRAY['length', 'width'], loss => 'hinge') ORDER BY c, fold;
SELECT count(*) FROM svm_models WHERE name LIKE 'irises%';
-- by a column, which is no feature then: the folds are its values, and as good as separate trainings say (0.63 each; those
-- of folds stop at a gap of 1e-2)
SELECT fold, rows, abs(accuracy - 0.63) < 0.04 AS as_separately, best
FROM svm_cross_validate('irises', 'kind', c => ARRAY[1.0], fold_column => 'copies', features => ARRAY['length', 'width'], loss => 'hinge', scale => 'none', tolerance => 1e-6) ORDER BY fold;
SELECT c, count(*) AS folds FROM svm_cross_validate('irises', 'kind', fold_column => 'copies') GROUP BY c ORDER BY c;

-- C chosen: what was found is kept, and the model is that of a training with this C
SELECT svm_train('irises', 'kind', ARRAY['length', 'width'], c => NULL, loss => 'hinge', model => 'chosen', options => '{"costs": [0.0001, 1, 10], "folds": 4}');
SELECT m.c, jsonb_array_length(v.validation) AS validated,
       (SELECT count(*) FROM jsonb_array_elements(v.validation) AS e WHERE (e ->> 'best')::bool AND (e ->> 'c')::float8 = m.c) AS best
FROM svm_models AS m JOIN svm_model USING (name) JOIN svm_version AS v ON v.model_id = svm_model.id WHERE m.name = 'chosen';
SELECT svm_train('irises', 'kind', ARRAY['length', 'width'], c => (SELECT c FROM svm_models WHERE name = 'chosen'), loss => 'hinge', model => 'given');
SELECT abs(a.primal - b.primal) < 2e-3 * a.primal AS same_primal, a.gap <= 1e-3 AS certified
FROM svm_models AS a, svm_models AS b WHERE a.name = 'chosen' AND b.name = 'given';

-- probabilities: a sigmoid for each head, falling as decisions grow
SELECT svm_train('irises', 'kind', ARRAY['length', 'width'], probability => true, model => 'probable');
SELECT svm_train_query('SELECT length, width, kind = ''setosa'' AS y FROM irises', 'y', probability => true, c => NULL, model => 'probably');
SELECT m.name, h.class, h.sigmoid_slope < 0 AS falls, h.sigmoid_offset IS NOT NULL AS offset
FROM svm_head AS h JOIN svm_version AS v ON v.id = h.version_id JOIN svm_model AS m ON m.id = v.model_id
WHERE m.name LIKE 'probabl%' AND h.class <> 'versicolor' ORDER BY 1, 2;

-- a version that is not deployed, and the first, which is
SELECT svm_train('irises', 'kind', ARRAY['length'], model => 'probable', options => '{"deploy": false}');
SELECT svm_train('irises', 'kind', ARRAY['length'], model => 'fresh', options => '{"deploy": false}');
SELECT m.name, m.current_version, max(v.version) FROM svm_model AS m JOIN svm_version AS v ON v.model_id = m.id
WHERE m.name IN ('probable', 'fresh') GROUP BY 1, 2 ORDER BY 1;
SELECT svm_train('irises', 'kind', ARRAY['length'], model => 'probable');
SELECT current_version FROM svm_model WHERE name = 'probable';

DELETE FROM svm_model;
DROP TABLE irises CASCADE;
DROP TYPE stature;
