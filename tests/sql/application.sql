-- What an application sends: objects of jsonb, NULL in every place, thresholds, and models that are not its own.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE TYPE mood AS ENUM ('low', 'high');
CREATE TABLE visits AS SELECT i AS id, i % 17 AS a, (i % 23)::numeric AS b,
    CASE i % 3 WHEN 0 THEN 'red' WHEN 1 THEN 'blue' END AS colour, i % 2 = 0 AS flag, (i % 4)::smallint AS grade,
    CASE i % 2 WHEN 0 THEN 'low'::mood ELSE 'high' END AS mood, date '2024-01-01' + i % 30 AS day,
    timestamp '2024-01-01' + i * interval '1 minute' AS at, timestamptz '2024-01-01 00:00+00' + i * interval '1 hour' AS seen,
    CASE WHEN i % 11 > 0 THEN ARRAY[i % 5, CASE WHEN i % 7 > 0 THEN i % 7 END]::real[] END AS x,
    ARRAY[i % 3, i % 3 + 2] AS idx, ARRAY[1.5, i % 2]::real[] AS val, (i % 5 + 1) || ':2.5' AS words,
    CASE WHEN i % 17 + i % 5 > 10 THEN 'yes' ELSE 'no' END AS answer
FROM generate_series(1, 500) AS i;

-- an object predicts what the row does, whatever kind of feature
SELECT svm_train('visits', 'answer', ARRAY['a', 'b', 'colour', 'flag', 'category(grade)', 'mood', 'day', 'at', 'seen'],
    'kinds', nulls => 'mean', probability => true);
SELECT svm_train('visits', 'answer', ARRAY['x'], 'numbers', nulls => 'skip');
SELECT svm_train('visits', 'answer', ARRAY['a', 'sparse(idx, val)', 'libsvm(words)'], 'pairs');
SELECT svm_train_query('SELECT * FROM visits WHERE colour IS NOT NULL', 'answer', ARRAY['a', 'b', 'flag'], 'half');
SELECT svm_train_query('SELECT *, a % 3 AS third FROM visits', 'third', ARRAY['a', 'b', 'flag'], 'colours', probability => true);
SELECT model, count(*) FILTER (WHERE svm_decision(model, v, class) IS DISTINCT FROM svm_decision(model, to_jsonb(v), class)) AS jsonb,
    count(*) FILTER (WHERE svm_classify(model, v) IS DISTINCT FROM svm_classify(model, to_json(v))) AS json,
    count(svm_classify(model, v)) AS predicted
FROM visits AS v, (VALUES ('kinds', 'yes'), ('numbers', 'yes'), ('pairs', 'no'), ('half', 'no'), ('colours', '1')) AS m (model, class)
GROUP BY model ORDER BY model;
SELECT count(*) FROM visits AS v, svm_predict_set('colours', v) AS a JOIN LATERAL svm_predict_set('colours', to_jsonb(v)) AS b USING (rank, class, decision, probability);
SELECT (svm_metrics(answer, svm_classify('kinds', to_jsonb(v)))).rows FROM visits AS v;
SELECT svm_decision('pairs', '{"a": 1, "idx": [0], "val": [1], "words": "{1:2.5,2:1}/9"}'::jsonb)
    = svm_decision('pairs', '{"a": 1, "idx": [0], "val": [true], "words": "1:2.5 2:1", "more": {}}'::jsonb) AS same;
SELECT svm_decision('numbers', '{"x": "[1,2]"}'::jsonb) = svm_decision('numbers', ARRAY[1, 2]) AS same;
SELECT abs(sum(contribution) - svm_decision('kinds', to_jsonb(v))) < 1e-12 AS sums FROM visits AS v, svm_explain('kinds', to_jsonb(v), 99)
WHERE id = 7 GROUP BY v.*;

-- objects that will not do
SELECT svm_decision('kinds', '{"a": 1}'::jsonb);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('pairs', '[1, 2]'::jsonb);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('pairs', '3'::jsonb);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('pairs', '{"a": "one", "idx": [0], "val": [1], "words": "1:1"}'::jsonb);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('pairs', '{"a": {}, "idx": [0], "val": [1], "words": "1:1"}'::jsonb);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('pairs', '{"a": 1e400, "idx": [0], "val": [1], "words": "1:1"}'::jsonb);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('pairs', '{"a": 1, "idx": [0.5], "val": [1], "words": "1:1"}'::jsonb);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('pairs', '{"a": 1, "idx": [1, 2], "val": [1], "words": "1:1"}'::jsonb);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('pairs', '{"a": 1, "idx": [[1]], "val": [1], "words": "1:1"}'::jsonb);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('numbers', '{"x": [1, 2, 3]}'::jsonb);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('numbers', '{"x": "[1,two]"}'::jsonb);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('kinds', to_jsonb(v) || '{"day": "yesterdayish"}') FROM visits AS v LIMIT 1;
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('kinds', to_jsonb(v) || '{"day": 20240101}') FROM visits AS v LIMIT 1;
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('kinds', to_jsonb(v) || '{"colour": []}') FROM visits AS v LIMIT 1;
\echo :LAST_ERROR_SQLSTATE

-- NULL predicts NULL, of a model that has no rule for it
SELECT svm_decision('half', r) IS NULL, svm_predict('pairs', to_jsonb(r), NULL) IS NULL, svm_classify('colours', to_jsonb(r))
FROM (SELECT NULL::int AS a, 1 AS b, NULL::boolean AS flag, NULL::int[] AS idx, NULL::real[] AS val, NULL AS words) AS r;
SELECT svm_classify('colours', r), svm_margin('colours', r, 1), svm_probability('colours', r, 1)
FROM (SELECT NULL::int AS a, 1 AS b, true AS flag) AS r;
SELECT svm_classify('pairs', r), svm_decision('pairs', r)
FROM (SELECT NULL::int AS a, ARRAY[1] AS idx, ARRAY[1.5] AS val, '1:2' AS words) AS r;
SELECT count(*) FROM svm_predict_set('colours', '{"a": null, "b": 1, "flag": true}'::jsonb);
SELECT count(*) FROM svm_explain('pairs', '{"a": null, "idx": [1], "val": [1], "words": "1:2"}'::jsonb);
SHOW pgsvm.predict_nulls;
SET pgsvm.predict_nulls = 'sometimes';
\echo :LAST_ERROR_SQLSTATE
SET pgsvm.predict_nulls = 'error';
SELECT svm_classify('pairs', r) FROM (SELECT NULL::int AS a, ARRAY[1] AS idx, ARRAY[1.5] AS val, '1:2' AS words) AS r;
\echo :LAST_ERROR_SQLSTATE
SELECT svm_classify('pairs', '{"a": null, "idx": [1], "val": [1], "words": "1:2"}'::jsonb);
\echo :LAST_ERROR_SQLSTATE
-- where the model has a rule the setting says nothing
SELECT svm_classify('numbers', NULL::real[]) IS NULL, svm_decision('kinds', v) IS NOT NULL FROM visits AS v WHERE id = 2;

-- an error about a row says which
ALTER TABLE visits ADD PRIMARY KEY (id, grade);
UPDATE visits SET a = NULL WHERE id = 77;
SELECT sum(svm_decision('pairs', v)) FROM visits AS v;
\echo :LAST_ERROR_SQLSTATE
UPDATE visits SET a = 3, words = '2:x' WHERE id = 77;
SELECT sum(svm_decision('pairs', v)) FROM visits AS v;
\echo :LAST_ERROR_SQLSTATE
UPDATE visits SET words = '2:1' WHERE id = 77;
RESET pgsvm.predict_nulls;

-- NULL without a type, as a parameter is or a column of a subquery
SELECT svm_classify('pairs', NULL), svm_decision('pairs', NULL, NULL), svm_predict('pairs', NULL, NULL), svm_classify('pairs', NULL, NULL);
SELECT svm_decision('kinds', r) = svm_decision('kinds', s) AS same
FROM (SELECT NULL AS a, NULL AS b, NULL AS colour, NULL AS flag, NULL AS grade, NULL AS mood, NULL AS day, NULL AS at, NULL AS seen) AS r,
    (SELECT NULL::int AS a, NULL::int AS b, NULL::text AS colour, NULL::boolean AS flag, NULL::int AS grade, NULL::mood AS mood,
        NULL::date AS day, NULL::timestamp AS at, NULL::timestamptz AS seen) AS s;
SELECT svm_decision('numbers', r) IS NULL FROM (SELECT NULL AS x) AS r;
SELECT svm_classify('pairs', r) IS NULL FROM (SELECT 1 AS a, NULL AS idx, NULL AS val, NULL AS words) AS r;
PREPARE asked AS SELECT svm_classify('colours', r) FROM (SELECT $1 AS a, 2 AS b, true AS flag) AS r;
EXECUTE asked(NULL);
EXECUTE asked('3');
\echo :LAST_ERROR_SQLSTATE
PREPARE all_of_it AS SELECT * FROM svm_explain($1, $2, $3, $4);
EXECUTE all_of_it('pairs', NULL, NULL, NULL);

-- the class by a threshold of the probability
SELECT threshold, count(*) FILTER (WHERE svm_classify('kinds', v, threshold => threshold) = 'yes') =
    count(*) FILTER (WHERE svm_probability('kinds', v) >= threshold) AS right, count(svm_classify('kinds', v, threshold)) AS rows
FROM visits AS v, unnest(ARRAY[0, 0.3, 0.5, 1]) AS threshold GROUP BY threshold ORDER BY threshold;
SELECT svm_classify('kinds', v, threshold => NULL) IS NULL, svm_classify('kinds', to_jsonb(v), 0), svm_classify('kinds', v, 1)
FROM visits AS v LIMIT 1;
SELECT svm_classify('kinds', v, 30) FROM visits AS v LIMIT 1;
\echo :LAST_ERROR_SQLSTATE
SELECT svm_classify('kinds', v, 'NaN') FROM visits AS v LIMIT 1;
\echo :LAST_ERROR_SQLSTATE
SELECT svm_classify('pairs', v, .3) FROM visits AS v LIMIT 1;
\echo :LAST_ERROR_SQLSTATE
SELECT svm_classify('colours', v, .3) FROM visits AS v LIMIT 1;
\echo :LAST_ERROR_SQLSTATE

-- an error in a query says where
SELECT svm_train_query('SELECT a, b answer FORM visits', 'answer', model => 'none');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query($$ SELECT 'é' AS e, bb, answer FROM visits$$, 'answer', model => 'none');
\echo :LAST_ERROR_SQLSTATE
DO $$ BEGIN
    PERFORM svm_train_query('SELECT nothing', 'answer', model => 'none');
EXCEPTION WHEN undefined_column THEN NULL; END $$;
SELECT 1 / 0;

-- a view on a model that its reader may not use
CREATE ROLE regress_svm_reader;
CREATE VIEW answers AS SELECT id, svm_classify('pairs', v) AS answer FROM visits AS v;
GRANT SELECT ON answers TO regress_svm_reader;
SET ROLE regress_svm_reader;
SELECT count(answer) FROM answers;
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
SELECT svm_grant('pairs', 'regress_svm_reader');
SET ROLE regress_svm_reader;
SELECT count(answer) FROM answers;
RESET ROLE;
DROP VIEW answers;
SELECT svm_revoke('pairs', 'regress_svm_reader');
DROP ROLE regress_svm_reader;
