-- What someone runs into who begins: each answer says what to type
CREATE EXTENSION IF NOT EXISTS pgsvm;
CREATE SCHEMA first_steps;
SET search_path = first_steps, public;
SET client_min_messages = warning;

-- entries of features that commas split
CREATE TABLE mails AS SELECT i AS id, 'word' || i % 6 || ' and word' || i % 3 AS body, i % 5 AS age, i % 4 AS size,
    ARRAY[i % 3, 5]::int[] AS idx, ARRAY[1, i % 2]::real[] AS val, i % 2 = 0 AS spam, CASE (i + (i % 10 = 0)::int) % 2 WHEN 0 THEN '<=50K' ELSE '>50K' END AS income
FROM generate_series(1, 200) AS i;
SELECT svm_train('mails', 'spam', '{text(body, english)}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('mails', 'spam', '{age,hash(sparse(idx,val),18)}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('mails', 'spam', '{polynomial(age,size,2),cross(age,size)}');
SELECT svm_train('mails', 'spam', '{text(body}');
SELECT svm_train('mails', 'spam', ARRAY['text(body, english)'], model => 'mails');

-- two arrays that are one sparse vector
SELECT svm_load_libsvm('pairs', content => E'+1 1:0.5 3:-2\n-1 2:1\n+1 1:0.6 3:-1\n-1 2:0.5\n');
SELECT svm_train('pairs', 'label');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('pairs', 'label', ARRAY['sparse(idx, val)'], model => 'pairs');

-- numbers to predict are no classes
CREATE TABLE patients AS SELECT i + 40 * sin(i) AS x, i / 4.0 AS target, i % 150 AS days, (i % 15)::text AS ward
FROM generate_series(1, 450) AS i;
SELECT svm_train('patients', 'target', '{x}', model => 'patients', task => 'classification');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('patients', 'days', '{x}', model => 'days', tolerance => 0.5);
SELECT svm_train_query('SELECT x, target > 50 AS label FROM patients', 'label', model => 'patients');

-- an evaluation on labels that are written otherwise
CREATE TABLE later AS SELECT *, income || '.' AS written, 'unknown ' || id AS other FROM mails;
SELECT svm_train('mails', 'income', '{age,size,body}', model => 'incomes');
SELECT accuracy, unseen_labels FROM svm_evaluate('incomes', 'later', label => 'written');
SELECT accuracy, unseen_labels FROM svm_evaluate('incomes', 'later', label => 'other');
SELECT unseen_labels FROM svm_evaluate('incomes', 'later', label => 'income');

-- hints name the function that was called
SELECT svm_classify('incomes', '{"age": 3, "size": 2, "body": "word1"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_classify('incomes', ARRAY[1, 2]);
SELECT svm_decision('patients', '{"x": 0.5}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('patients', '{0.5}');
SELECT svm_decision('patients', '{"x": 0.5}'::jsonb) IS NOT NULL AS decided;
SELECT svm_margin('incomes', t, '>50K') FROM (SELECT 1 AS age) AS t;
SELECT * FROM svm_explain('incomes', '{"age": 3}'::text);
SELECT svm_explain('incomes', t) FROM (SELECT 1 AS age) AS t;
SELECT * FROM svm_evaluate('incomes', 'patients', label => 'ward');

-- names that are nearly right, and arguments among the options
CREATE ROLE regress_svm_beginner;
SELECT svm_grant('incomes', 'PUBLIC');
SELECT svm_revoke('incomes', 'Public');
SELECT svm_grant('incomes', 'REGRESS_SVM_BEGINNER');
\echo :LAST_ERROR_SQLSTATE
DROP ROLE regress_svm_beginner;
SELECT svm_drop('incmes');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('mails', 'spam', '{age}', model => 'ages', options => '{"c": 5}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('mails', 'spam', '{age}', model => 'ages', c => 1, options => '{"costs": [1, 2]}');
\echo :LAST_ERROR_SQLSTATE
CREATE TABLE empty AS SELECT * FROM mails LIMIT 0;
SELECT svm_train('empty', 'spam', model => 'empty');
\echo :LAST_ERROR_SQLSTATE

-- a column that is NULL in all rows leaves no row
CREATE TABLE noted AS SELECT age + 3 * spam::int AS age, NULL::text AS note, NULL::float8 AS "Late fee", spam FROM mails;
SELECT svm_train('noted', 'spam', model => 'noted', nulls => 'skip');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('noted', 'spam', '{age,"Late fee"}', model => 'noted', nulls => 'skip');

-- nor does it say anything where a NULL counts; a UUID or NULL does
SELECT svm_train('noted', 'spam', model => 'noted');
SELECT feature FROM svm_weights('noted');
ALTER TABLE noted ADD id serial;
SELECT svm_train('noted', 'spam', model => 'noted', key => 'id');
SELECT feature FROM svm_weights('noted') WHERE abs(weight) > 1e-9 ORDER BY feature COLLATE "C";
CREATE TABLE traced AS SELECT age + 3 * spam::int AS age, CASE WHEN age + size > 3 THEN gen_random_uuid()::text END AS trace, spam FROM mails;
SELECT svm_train('traced', 'spam', model => 'traced');
SELECT feature FROM svm_weights('traced') ORDER BY feature COLLATE "C";

-- what a format cannot hold
SET client_min_messages = notice;
SELECT left(svm_export('incomes'), 11);
SELECT left(svm_export('incomes', 'pgsvm'), 1);
SELECT svm_drop(name) FROM (VALUES ('mails'), ('pairs'), ('days'), ('patients'), ('incomes'), ('noted'), ('traced')) AS made(name);
DROP SCHEMA first_steps CASCADE;
