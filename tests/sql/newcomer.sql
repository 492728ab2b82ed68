-- What newcomers type, and what they are told
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS pgsvm;
CREATE SCHEMA newcomer;
SET search_path = newcomer, public;
SET pgsvm.cache_size = '16MB';
SET client_min_messages = warning;
CREATE TABLE churn AS
SELECT i AS id, i * 7919 % 1000 / 1000.0 AS age, i * 48271 % 997 / 997.0 AS spend, chr(97 + i % 3) AS plan, i % 3 AS part, 1.0 + i % 2 AS w,
    i * 7919 % 1000 / 1000.0 + i * 48271 % 997 / 997.0 > 1 AS y
FROM generate_series(1, 800) AS i;

-- words of other systems, the same words otherwise, and slips
SELECT svm_train('churn', 'y', model => 'm', kernel => 'guassian');
SELECT svm_train('churn', 'y', model => 'm', kernel => 'gaus');
SELECT svm_train('churn', 'y', model => 'm', metric => 'roc_auc');
SELECT svm_train('churn', 'y', model => 'm', metric => 'f1_macro');
SELECT svm_train('churn', 'y', model => 'm', metric => 'Balanced-Accuracy');
SELECT svm_train('churn', 'y', model => 'm', loss => 'hinge_squared');
SELECT svm_train('churn', 'y', model => 'm', loss => 'L2');
SELECT svm_train('churn', 'y', model => 'm', nulls => 'drop');
SELECT svm_train('churn', 'y', model => 'm', scale => 'standardize');
SELECT svm_train('churn', 'y', model => 'm', class_weight => 'balance');
-- arguments among the options, and options as they are written
SELECT svm_train('churn', 'y', model => 'm', options => '{"max_iter": 100}');
SELECT svm_train('churn', 'y', model => 'm', options => '{"kernel": "rbf"}');
SELECT svm_train('churn', 'y', model => 'm', options => '{"C": [0.1, 1]}');
SELECT svm_train('churn', 'y', model => 'm', options => '{"cv": 5}');
SELECT svm_train('churn', 'y', model => 'm', options => '{"zzzz": 5}');
SELECT svm_train('churn', 'y', model => 'm', options => '{"calibration": "platt"}');
SELECT svm_train('churn', 'y', model => 'm', options => '{"duals": "yes"}');
SELECT svm_train('churn', 'y', model => 'm', options => '{"deploy": "if_better", "relation": "churn", "metric": "roc_auc"}');
-- lists to choose from
SELECT svm_train('churn', 'y', model => 'm', c => 2, options => '{"costs": [0.5, 2]}');
SELECT svm_train('churn', 'y', model => 'm', c => 'auto', options => '{"costs": 1}');
SELECT svm_train('churn', 'y', model => 'm', kernel => 'rbf', gamma => 2, options => '{"gammas": [1, 2]}');
SELECT svm_train('churn', 'y', model => 'm', kernel => 'rbf', options => '{"gammas": 1}');

-- gamma's words: 'scale' is the default, and what another training had is not taken over then
SELECT svm_train('churn', 'y', '{age,spend}', 'curved', kernel => 'gaussian', gamma => 3);
SELECT svm_train('churn', 'y', '{age,spend}', 'curved', kernel => 'rbf');
SELECT svm_train('churn', 'y', '{age,spend}', 'curved', gamma => 'scale');
SELECT svm_train('churn', 'y', '{age,spend}', 'curved');
SELECT version, v.features #>> '{kernel,gamma}' AS gamma FROM svm_version AS v JOIN svm_model AS m ON m.id = v.model_id WHERE name = 'curved' ORDER BY version;
SELECT svm_train('churn', 'y', '{age,spend}', 'curved', gamma => 'sclae');
SELECT svm_train('churn', 'y', '{age,spend}', 'curved', gamma => 'scale', options => '{"choose": ["gamma"]}');
SELECT svm_train('churn', 'y', '{age,spend}', 'curved', c => 'scale');

-- hints name another model where what they say to train is another one
CREATE FUNCTION hint_of(statement text, OUT hint text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
END $$;
SELECT svm_train('churn', 'y', ARRAY['age', 'spend', 'category(plan)'], 'exact', kernel => 'rbf', gamma => 2, c => 3, weight => 'w',
    class_weight => '{"true": 2, "false": 1}', key => 'id', options => '{"method": "exact", "max_categories": 5}');
SELECT hint_of('SELECT svm_as_sql(''exact'')') AS hint \gset
SELECT substring(:'hint' FROM 'SELECT .*') AS statement \gset
\echo :statement
:statement;
SELECT name, version, v.features ? 'kernel' AS is_kernel, c, key_column, weight_column FROM svm_version AS v JOIN svm_model AS m ON m.id = v.model_id WHERE name LIKE 'exact%' ORDER BY name, version;
SELECT length(svm_as_sql('exact_linear')) > 0 AS written;
SET client_min_messages = notice;
SELECT svm_grant('exact', 'public');
SET client_min_messages = warning;
