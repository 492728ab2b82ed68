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
-- words in another case are named as they are written here
SELECT svm_train('churn', 'y', model => 'm', kernel => 'RBF');
SELECT svm_train('churn', 'y', model => 'm', loss => 'Hinge');
SELECT svm_train('churn', 'y', model => 'm', solver => 'Stream');
SELECT svm_train('churn', 'y', model => 'm', scale => 'STANDARD');
SELECT svm_train('churn', 'y', model => 'm', c => 'AUTO');
SELECT svm_train('churn', 'y', model => 'm', kernel => 'rbf', gamma => 'Scale');
SELECT svm_train('churn', 'y', model => 'm', kernel => 'rbf', options => '{"method": "EXACT"}');
SELECT svm_train('churn', 'y', model => 'm', loss => 'ramp', options => '{"truncation": "Auto"}');
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
SELECT svm_train('churn', 'y', ARRAY['age', 'spend', 'category(plan)'], 'exact', kernel => 'rbf', gamma => 2, c => 3, weight => 'w',
    class_weight => '{"true": 2, "false": 1}', key => 'id', options => '{"method": "exact", "max_categories": 5}');
SET client_min_messages = notice;
SELECT svm_grant('exact', 'public');
SET client_min_messages = warning;

-- a key that the source has, the primary one first; or else how to get one
CREATE TABLE numbered (nr int PRIMARY KEY, id int, a float8, y bool);
INSERT INTO numbered SELECT i, i, i % 7, i % 2 = 0 FROM generate_series(1, 50) AS i;
CREATE TABLE bare AS SELECT a, y FROM numbered;
CREATE VIEW seen AS SELECT a, y FROM numbered;
SET client_min_messages = error;
SELECT svm_train('numbered', 'y', model => 'numbered'), svm_train_query('SELECT nr, a, y FROM numbered', 'y', model => 'queried'),
    svm_train('bare', 'y', model => 'bare'), svm_train('seen', 'y', model => 'seen');
SET client_min_messages = warning;
SELECT svm_forget('numbered', 'SELECT 1 AS nr');
SELECT svm_forget('queried', 'SELECT 1 AS nr');
SELECT svm_forget('bare', 'SELECT 1 AS nr');
SELECT svm_update('seen', 'bare');
DROP TABLE bare;
SELECT svm_forget('bare', 'numbered');

-- labels that are numbers or dates, and columns that other columns are made of
SELECT svm_train_query('SELECT id, age, plan, date ''2024-01-01'' + id AS day FROM churn', 'age', model => 'old', task => 'classification');
SELECT svm_train_query('SELECT id, age, plan, date ''2024-01-01'' + id AS day FROM churn', 'day', exclude => '{id}', model => 'days');
SELECT svm_train('churn', 'plan = ''a''', model => 'plan_a');
-- texts that are numbers
CREATE TABLE codes AS SELECT to_char(i, 'FM0000') AS code, i * 7 % 100 AS z, i % 3 = 0 AS y FROM generate_series(1, 300) AS i;
SELECT svm_train('codes', 'y', '{code}');
SELECT svm_train('codes', 'y', '{code,z}');
SELECT svm_train('codes', 'y');
-- forms of one column that are given several
SELECT svm_train('churn', 'y', '{category(plan,part),age}');
SELECT svm_train('churn', 'y', ARRAY['category(plan, part)', 'age']);
SELECT svm_train('churn', 'y', '{categorical(plan),age}');

-- versions, numbers where relations are, counts below 0
SELECT svm_train('churn', 'y', '{age,spend}', 'kept', key => 'id'), svm_train('churn', 'y', '{age}', 'kept', key => 'id', options => '{"deploy": false}');
SELECT svm_deploy('kept@2');
SELECT svm_deploy('kept');
SELECT svm_drop('kept@2');
SELECT svm_drop('kept', 1);
SELECT svm_drop('bare', 1);
SELECT svm_refresh('kept@1');
SELECT svm_forget('kept', 7);
SELECT svm_forget('kept', '7');
SELECT svm_update('kept', 7);
SELECT * FROM svm_predict_set('kept', (SELECT c FROM churn AS c WHERE id = 1), -1);
SELECT count(*) FROM svm_predict_set('kept', (SELECT c FROM churn AS c WHERE id = 1), 0);
SELECT * FROM svm_explain('kept', (SELECT c FROM churn AS c WHERE id = 1), -1);
SELECT * FROM svm_suspects('kept', 'churn', -1);

-- labels that hardly anybody means to be classes: marks of missing values, those that differ in case alone, keys
CREATE TABLE answers AS
SELECT i AS id, i * 7919 % 100 AS a, (ARRAY['Yes', 'yes', 'No', '?', 'n/a', 'none'])[1 + i % 6] AS answer, 'code ' || i AS code, i % 2 = 0 AS y,
    (ARRAY['red', 'Red', 'blue', '', 'N/A'])[1 + i % 5] AS colour
FROM generate_series(1, 90) AS i;
SELECT svm_train('answers', 'answer', '{a}', model => 'answers');
SELECT svm_train('answers', 'answer', model => 'answers', exclude => '{code,colour}', c => 2);
SELECT svm_train('answers', 'code', '{a}', model => 'codes');
SELECT svm_train_query('SELECT a, left(code, 6) AS code FROM answers', 'code', '{a}', model => 'codes');
-- fields that an object does not have
SELECT svm_train('churn', 'y', '{age,spend}', 'fields');
SELECT svm_decision('fields', '{"age": 1}'::jsonb);
SELECT svm_decision('fields', '{"age": 1, "spent": 2, "plan": "a"}'::jsonb);
SELECT svm_decision('fields', '{"Age": 1, "spend": 2}'::json);
SELECT svm_decision('fields', '{"nested": {"spend": 1}, "age": 1}'::jsonb);
SELECT svm_decision('fields', '{"age": 1, "spend": null}'::jsonb) IS NULL AS is_null;

-- bits for hashed values change how these are kept, and nothing else
CREATE TABLE mixed AS
SELECT '$' || to_char(i * 7919 % 5000, 'FM9,999.00') AS price, to_char(date '2024-01-01' + i % 300, 'DD.MM.YYYY') AS since, 'user' || i AS login,
    repeat('word' || i % 40 || ' and word' || i % 7 || ' ', 3) || i AS body, 'c' || i % 300 AS city, i * 7919 % 5000 + i % 1000 > 3000 AS y
FROM generate_series(1, 2000) AS i;
SET client_min_messages = error;
SELECT svm_train('mixed', 'y', model => 'plain', exclude => '{login}'), svm_train('mixed', 'y', model => 'hashed', options => '{"hash_bits": 10, "max_categories": 50}');
SELECT column_name, plain.treatment, hashed.treatment AS with_bits
FROM svm_features('plain') AS plain FULL JOIN svm_features('hashed') AS hashed USING (column_name) ORDER BY column_name COLLATE "C";
SELECT svm_train('mixed', 'y', model => 'pairs', kernel => 'rbf', options => '{"multiclass": "ovo"}');

-- what has no effect, on an exact machine or on two classes
SET client_min_messages = notice;
\set VERBOSITY terse
SELECT svm_train('churn', 'y', '{age,spend}', 'effects', kernel => 'rbf', solver => 'newton', options => '{"method": "exact", "multiclass": "one_vs_one"}') \gset
SELECT svm_train('churn', 'y', '{age,spend}', 'effects', kernel => 'rbf', rank => 20, options => '{"method": "exact", "landmarks": "drawn"}') \gset
-- another label and another table under the name of a model
CREATE TABLE churn_2 AS SELECT * FROM churn;
SELECT svm_train('churn', 'plan', '{age,spend}', 'learns');
SELECT svm_train('churn', 'y', '{age,spend}', 'learns') \gset
SELECT svm_train('churn_2', 'y', '{age,spend}', 'learns') \gset
SELECT svm_train('churn', 'part', '{age,spend}', 'learns') \gset
-- how many machines a choice trains
SELECT svm_train('churn', 'y', '{age,spend}', 'chosen', kernel => 'rbf', c => '{0.1,1}', gamma => '{0.5,1,2}', options => '{"folds": 2, "method": "low_rank"}') \gset
SELECT svm_train('churn', 'y', '{age,spend}', 'chosen', kernel => 'rbf', c => '{0.1,1}', gamma => 1, fold_column => 'part', options => '{"method": "low_rank", "inherit": false}') \gset
\set VERBOSITY default
SET client_min_messages = warning;

-- what tells rows apart by its name is left out as number and as text; another one is named
CREATE TABLE orders AS
SELECT 'o' || i AS id, i * 7919 % 10007 AS customer_id, i * 104729 % 10007 AS "orderNo", i * 48271 % 997 / 997.0 AS amount, i * 7919 % 7 AS rooms, i * 48271 % 997 + i * 31 % 400 > 700 AS y
FROM generate_series(1, 900) AS i;
SELECT svm_train('orders', 'y', model => 'orders');
SELECT column_name FROM svm_features('orders') ORDER BY column_name COLLATE "C";
SELECT svm_train('orders', 'y', model => 'orders', exclude => '{customer_id,orderNo}', options => '{"inherit": false}');

-- labels that are numbers or times to predict: what is typed works
CREATE TABLE houses AS
SELECT (i * 7919 % 1009 * 100)::money AS price, '$' || to_char(i * 7919 % 5003 + 1000, 'FM9,999.00') AS asked,
    to_char(date '2024-01-01' + i * 104729 % 300, 'DD.MM.YYYY') AS sold, date '2024-01-01' + i * 7919 % 300 AS built, i * 48271 % 997 / 997.0 AS size
FROM generate_series(1, 2000) AS i;
CREATE FUNCTION typed(statement text, OUT hint text, OUT returned text) LANGUAGE plpgsql AS $$
BEGIN
    hint := sql_tests.hint_of(statement);
    EXECUTE rtrim(substring(hint FROM 'SELECT svm.*?\)(?:[.;]|$)'), '.;') INTO returned;
END $$;
SELECT svm_train('houses', 'price', '{size}', 'priced');
SELECT svm_train('houses', 'asked', '{size}', 'asked');
SELECT svm_train('houses', 'sold', '{size}', 'sold');
SELECT svm_train('houses', 'built', '{size}', 'built');
SET client_min_messages = error;
SELECT returned FROM typed($$SELECT svm_train('houses', 'price', '{size}', 'priced')$$);
SELECT returned FROM typed($$SELECT svm_train('houses', 'asked', '{size}', 'asked')$$);
SELECT returned FROM typed($$SELECT svm_train('houses', 'built', '{size}', 'built')$$);
SET client_min_messages = warning;
SELECT svm_train('houses', 'built > ''2024-05-01''', '{size}', 'old');

-- versions are whole numbers
SELECT svm_classify('kept@1.0', c) FROM churn AS c LIMIT 1;
-- features as R and scikit-learn write them, and fields of objects
CREATE TABLE documented AS SELECT age, spend, plan, jsonb_build_object('a', i.age, 'b', i.plan) AS doc, y FROM churn AS i;
SELECT svm_train('documented', 'y', '{cat(plan),age}', 'm');
SELECT svm_train('documented', 'y', '{age:plan,spend}', 'm');
SELECT svm_train('documented', 'y', '{doc->>a,age}', 'm');
SET client_min_messages = error;
SELECT returned FROM typed($$SELECT svm_train('documented', 'y', '{doc->>b,age}', 'of_fields')$$);
SET client_min_messages = warning;
-- options of other systems
SELECT sql_tests.hint_of(format('SELECT svm_train(''churn'', ''y'', options => %L)', jsonb_build_object(word, 1)))
FROM unnest('{dual,n_jobs,penalty,random_state,max_iter,tol,verbose,cache_size,decision_function_shape}'::text[]) AS word;
-- a NaN is no NULL
SELECT svm_train_query('SELECT CASE WHEN id = 7 THEN ''NaN'' ELSE age END::float8 AS age, y FROM churn ORDER BY id', 'y', model => 'm', nulls => 'mean');
-- what is held out for nothing
SELECT svm_train('churn', 'y', '{age}', 'm', fold_column => 'part');
SELECT svm_train('churn', 'y', '{age}', 'm', folds => 3);
-- labels in class_weight
SELECT svm_train('churn', 'y', '{age}', 'm', class_weight => '{"y": 5}');
SELECT svm_train('churn', 'y', '{age}', 'm', class_weight => '{"churned": 5, "false": 2}');
SELECT svm_train('churn', 'plan', '{age}', 'm', class_weight => '{"A": 5, "b": 2}');
-- a point that may part thousands, or not
CREATE TABLE prices AS SELECT i AS nr, (1000 + i * 37 % 9000) / 1000 || '.' || to_char(i * 37 % 1000, 'FM000') || ' EUR' AS price,
    (1000 + i * 37 % 9000) / 1000 || '.' || to_char(i * 37 % 1000, 'FM000') || ' kg' AS weight, (i * 37 % 97) / 10.0 || ' EUR' AS fee,
    'token ' || i * 7919 % 1009 AS token, i * 7919 % 1000003 AS "customerId", NULL::int AS empty, i * 37 % 97 + 40 * sin(i) > 48 AS y FROM generate_series(1, 300) AS i;
SELECT svm_train('prices', 'y', '{number(price),number(fee)}', 'points');
SELECT part ->> 'name' AS name, part -> 'reading' -> 'thousands' AS may_part_thousands
FROM svm_version AS v, jsonb_array_elements(v.features -> 'parts') AS part WHERE v.id = svm_internal.svm_version_id('points');
SELECT sql_tests.hint_of($$SELECT svm_train('prices', 'y', '{weight}', 'm')$$);
-- keys that are named, or taken as categories; not what honest numbers and texts are
SELECT svm_train('prices', 'y', '{token}', 'm');
SELECT svm_train('prices', 'y', '{token,number(fee)}', 'm', options => '{"hash_bits": 18}');
SELECT svm_train_query('SELECT * FROM prices WHERE nr <= 60', 'y', '{token,number(fee)}', 'm', options => '{"inherit": false}');
SELECT svm_train('prices', 'y', '{customerId,number(fee)}', 'm', options => '{"inherit": false}');
SELECT svm_train('prices', 'y', '{nr,number(fee)}', 'm', options => '{"inherit": false}');
SELECT svm_train_query('SELECT nr * 3 AS day, nr * 7919 % 1000003 AS amount, fee, y FROM prices', 'y', '{day,amount,number(fee)}', 'm', options => '{"inherit": false}');
-- what is NULL in all rows and left out is not to be left out
SELECT svm_train_query('SELECT fee, empty, y FROM prices', 'y', model => 'm', options => '{"inherit": false}');
SELECT svm_train_query('SELECT fee, empty, y FROM prices', 'y', '{number(fee),empty}', 'm', options => '{"inherit": false}');
-- keys that match nothing, and versions that are removed
SELECT svm_train('prices', 'y', '{number(fee)}', 'followed', key => 'nr');
SELECT svm_forget('followed', 'SELECT nr FROM generate_series(299, 310) AS nr');
SELECT svm_forget('followed', 'SELECT nr FROM (VALUES (3), (4), (3)) AS v (nr)');
SELECT svm_update('followed', 'SELECT * FROM prices WHERE nr > 1000');
SET client_min_messages = notice;
SELECT svm_prune('followed', 2);
SELECT svm_prune('followed', 2);
SET client_min_messages = warning;

-- nothing is said of a file that is not written
SET client_min_messages = notice;
SELECT svm_export('exact');
SELECT svm_export('answers', format => 'libsvm_model');
SET client_min_messages = warning;

-- what the owner of a model has put into its query runs with nobody else's rights when the query is looked at for a key
CREATE ROLE regress_svm_newcomer;
GRANT CREATE, USAGE ON SCHEMA newcomer TO regress_svm_newcomer;
SET ROLE regress_svm_newcomer;
CREATE FUNCTION spring(value int) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RAISE WARNING 'run as %', current_user;
    RETURN true;
END $$;
CREATE DOMAIN sprung AS int CHECK (newcomer.spring(VALUE));
SET client_min_messages = error;
SELECT svm_train_query('SELECT (''{1}''::newcomer.sprung[])[1] * i AS x, i % 2 = 0 AS y FROM generate_series(1, 10) AS i', 'y', model => 'springing');
SET client_min_messages = warning;
RESET ROLE;
SELECT svm_forget('springing', 'SELECT 1 AS nr');
SELECT svm_drop('springing');
DROP DOMAIN sprung;
DROP FUNCTION spring;
REVOKE ALL ON SCHEMA newcomer FROM regress_svm_newcomer;
DROP ROLE regress_svm_newcomer;
