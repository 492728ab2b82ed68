-- What hints say to type is typed, and works
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS pgsvm;
CREATE SCHEMA hinted;
SET search_path = hinted, public;
SET pgsvm.cache_size = '16MB';
SET client_min_messages = warning;
CREATE TABLE churn AS
SELECT i AS id, i * 7919 % 1000 / 1000.0 AS age, i * 48271 % 997 / 997.0 AS spend, ('10.0.0.' || i % 5)::inet AS ip,
    chr(97 + i % 3) AS plan, (i % 4)::text AS city, md5(i::text)::uuid AS token, jsonb_build_object('field', i % 7) AS doc, (i % 8)::bit(3) AS flags,
    i * 7919 % 1000 / 1000.0 + i * 48271 % 997 / 997.0 > 1 AS y
FROM generate_series(1, 800) AS i;

-- the hint of what fails, whose SELECT is run then, and what that returned
CREATE FUNCTION typed(statement text, OUT hint text, OUT returned text) LANGUAGE plpgsql AS $$
BEGIN
    hint := sql_tests.hint_of(statement);
    EXECUTE rtrim(substring(hint FROM 'SELECT svm.*?\)(?:[.;]|$)'), '.;') INTO returned;
END $$;

-- probabilities that a model does not have
SELECT svm_train('churn', 'y', '{age,spend}', model => 'm');
SELECT * FROM typed('SELECT svm_classify(''m'', churn, 0.3) FROM churn');
SELECT feature FROM svm_weights('m') ORDER BY 1;
SELECT svm_train('churn', 'y', '{age,spend}', model => 'm', probability => false);
SELECT * FROM typed('SELECT svm_probability(''m'', churn) FROM churn');

-- expressions, and types that no features come from, in place of features
SELECT * FROM typed($$SELECT svm_train('churn', 'y', '{ip::text,age}', 'by_text')$$);
SELECT * FROM typed($$SELECT svm_train('churn', 'y', '{age*2,spend}', model => 'doubled')$$);
SELECT * FROM typed($$SELECT svm_train('churn', 'y', ARRAY['lower(plan)', 'spend'], 'lowered')$$);
SELECT * FROM typed($$SELECT svm_train('churn', 'y', '{flags,age}', 'flagged')$$);
SELECT * FROM typed($$SELECT svm_train('churn', 'y', '{ip,age}', 'by_ip')$$);
SELECT * FROM typed($$SELECT svm_train('churn', 'y', '{category(ip),age}', 'by_ip')$$);
SELECT * FROM typed($$SELECT svm_train('churn', 'y', '{doc,age}', 'objects')$$);
SELECT * FROM typed($$SELECT svm_train('churn', 'plan = ''a''', '{age,spend}')$$);
SELECT svm_train('churn', 'y', '{token,age}');
SELECT svm_train('churn', 'y', '{category(token)}');
SELECT svm_train_query('SELECT * FROM churn', 'y', '{age*2,spend}', 'doubled');
SELECT svm_train('churn', 'y', '{categry(plan),age}');
-- names
SELECT svm_train('churn', 'y', '{agee,spend}');
SELECT svm_train('churn', 'y', '{zzzz,yyyy,spend}');
SELECT svm_train('churn', 'y', '{age}');
SELECT svm_decision('churn', t) FROM churn AS t;
SELECT svm_decision('chrun_y', t) FROM churn AS t;
SELECT svm_decision('CHURN_Y', t) FROM churn AS t;
CREATE ROLE regress_svm_reader;
GRANT USAGE ON SCHEMA hinted TO regress_svm_reader;
GRANT SELECT ON churn TO regress_svm_reader;
SELECT svm_grant('churn_y', 'regress_svm_reader');
SET ROLE regress_svm_reader;
-- of those that may be used, and no others
SELECT svm_decision('chrun_y', t) FROM churn AS t;
SELECT svm_decision('doubledd', t) FROM churn AS t;
RESET ROLE;
SELECT svm_revoke('churn_y', 'regress_svm_reader');
DROP OWNED BY regress_svm_reader;
DROP ROLE regress_svm_reader;

-- fields of objects
SELECT svm_decision('m', '{"age": "", "spend": 1}'::jsonb);
SELECT svm_decision('m', '{"age": "old", "spend": 1}'::jsonb);
SELECT svm_decision('m', '{"age": null, "spend": 1}'::jsonb);
SET pgsvm.predict_nulls = 'null';
SELECT svm_decision('m', '{"age": null, "spend": 1}'::jsonb);
RESET pgsvm.predict_nulls;

-- texts that are no classes
SELECT svm_train_query($$SELECT 'it''s ' || i AS who, i AS x FROM generate_series(1, 30000) AS i$$, 'who', model => 'who');

-- what is tried where a model has learned nothing: of a kernel gamma first, of many classes a kernel, of categories no scale
SELECT svm_train('churn', 'y', '{age,spend}', model => 'narrow', kernel => 'rbf', gamma => 0.00001);
SELECT svm_train('churn', 'y', '{age,spend}', model => 'narrow', kernel => 'rbf', gamma => 'auto');
CREATE TABLE rings AS SELECT cos(i) * (1 + i % 60) AS a, sin(i) * (1 + i % 60) AS b, i % 60 AS ring FROM generate_series(1, 3000) AS i;
SELECT svm_train('rings', 'ring');
SELECT svm_train('churn', 'y', '{plan,city}', model => 'categories');

-- a kernel machine in other programs' formats
SELECT svm_export('narrow');
SELECT svm_export('narrow', format => 'libsvm_model') LIKE 'svm_type c_svc%' AS libsvm, svm_export('narrow', format => 'pgsvm') LIKE '{"pgsvm"%' AS whole;
SELECT svm_train('churn', 'city', '{age,spend}', model => 'cities', kernel => 'rbf', options => '{"method": "exact"}');
SELECT svm_export('cities');

-- predictions of a relation by its name, as of a query
SELECT count(*), count(DISTINCT row_key), count(label) FROM svm_predict_query('m', 'churn', key => 'id');
SELECT count(*) FROM svm_predict_query('m', '"churn"') AS a JOIN svm_predict_query('m', 'SELECT * FROM churn') AS b USING (row_number, label, decision);
SELECT * FROM svm_predict_query('m', 'churnn');
\echo :LAST_ERROR_SQLSTATE

-- the label that rows lack
SELECT * FROM svm_suspects('m', 'SELECT age, spend FROM churn', folds => 3);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM svm_suspects('m', 'SELECT age, spend FROM churn');
CREATE TABLE unlabelled AS SELECT age, spend, y AS answer FROM churn;
SELECT * FROM svm_suspects('m', 'unlabelled');
SELECT count(*) > 0 AS found FROM svm_suspects('m', 'SELECT *, answer AS y FROM hinted.unlabelled', folds => 3);

-- passes are those that were asked for, and those that measure
SELECT svm_train('churn', 'y', '{age,spend}', model => 'short', max_passes => 2, tolerance => 1e-9, solver => 'stream', loss => 'hinge');
SELECT svm_train('churn', 'y', '{age,spend}', model => 'short', max_passes => 1, tolerance => 1e-9);

-- memory: a cache that leaves room, and nothing about indices where there are none
SET pgsvm.max_memory = '17MB';
SET pgsvm.cache_size = '18MB';
SELECT svm_train('churn', 'y', '{age,spend}', model => 'small');
SET pgsvm.cache_size = '12MB';
SELECT svm_train('churn', 'y', '{age,spend}', model => 'small');
CREATE TABLE wide AS SELECT array_agg(sin(i * k) ORDER BY k) AS x, i % 2 = 0 AS y FROM generate_series(1, 20) AS i, generate_series(1, 1000) AS k GROUP BY i;
SELECT svm_train('wide', 'y', model => 'wide', c => '{0.1,1,10}');
SET pgsvm.cache_size = '16900kB';
SELECT svm_train('wide', 'y', model => 'wide', c => '{0.1,1,10}');
SET pgsvm.cache_size = '11MB';
SELECT svm_train('wide', 'y', model => 'wide', c => '{0.1,1,10}');
SET pgsvm.max_features = 500;
SELECT svm_train('wide', 'y', model => 'wide');
RESET pgsvm.max_features;
RESET pgsvm.max_memory;

-- what is left out already stays left out in every hint that leaves out more, and such hints do not undo each other
RESET pgsvm.cache_size;
CREATE TABLE people AS
SELECT 'user ' || i AS "Login", to_char(i, 'FM0000') AS code, i * 7919 % 1000 / 1000.0 AS age, i * 48271 % 997 / 997.0 AS "Net spend",
    CASE WHEN i * 7919 % 1000 > 480 THEN 50 ELSE 0 END + i % 40 AS refund, 1000 + i AS ticket, NULL::float8 AS nothing, i * 7919 % 1000 > 480 AS y
FROM generate_series(1, 900) AS i;
CREATE FUNCTION leaving(statement text, OUT hint text, OUT returned text) LANGUAGE plpgsql AS $$
BEGIN
    hint := sql_tests.hint_of(statement);
    SELECT string_agg(match[1], ' ') INTO returned FROM regexp_matches(hint, 'exclude => (''(?:[^'']|'''')*'')', 'g') AS match;
END $$;
SELECT * FROM leaving($$SELECT svm_train('people', 'y')$$);
SELECT * FROM leaving($$SELECT svm_train('people', 'y', exclude => '{Net spend}')$$);
SELECT * FROM leaving($$SELECT svm_train('people', 'y', exclude => '{Net spend,Login}')$$);
SELECT * FROM leaving($$SELECT svm_train('people', 'y', exclude => '{Net spend,Login,code}', nulls => 'skip')$$);
SELECT * FROM leaving($$SELECT * FROM svm_cross_validate('people', 'y', exclude => '{Net spend,Login}', folds => 2)$$);
SELECT svm_train('people', 'y', exclude => '{Net spend,Login,code}');
SELECT svm_train('people', 'y', exclude => '{"Net spend",Login,code,refund,ticket}');
SELECT svm_train('people', 'y', '{age,refund,ticket,Net spend}', model => 'by name');

-- a model is trained again by the call that trained it: on its query, which its owner alone sees
SELECT svm_train_query('SELECT * FROM churn WHERE age < 0.9', 'y', '{age,spend}', model => 'it''s of a query');
SELECT * FROM typed('SELECT svm_probability(''it''''s of a query'', churn) FROM churn');
SELECT * FROM typed('SELECT svm_create_function(''it''''s of a query@1'', ''of_query'', kind => ''probability'')');
SELECT * FROM typed('SELECT svm_forget_query(''it''''s of a query'', ''SELECT 1 AS id'')');
SELECT svm_train_query('SELECT * FROM churn', 'y', '{age,spend}', model => 'curved', kernel => 'rbf');
SELECT svm_train_query('SELECT id, age, spend, y FROM churn', 'y', model => 'keyed', key => 'id');
SELECT svm_forget_query('keyed', 'SELECT id::text FROM churn');
SELECT svm_train_query('SELECT age, spend, y FROM churn' || repeat(' ', 500), 'y', model => 'long');
SELECT svm_forget_query('long', 'SELECT 1 AS id');
SELECT svm_import('stranger', svm_export('long', format => 'pgsvm'));
SELECT svm_probability('stranger', churn) FROM churn;
BEGIN READ ONLY;
SELECT svm_train_query('SELECT * FROM churn', 'y');
ROLLBACK;
SELECT svm_train_query('SELECT age, spend, y FROM churn', 'y', model => 'shared');
SELECT svm_probability('shared', churn) FROM churn;
CREATE ROLE regress_svm_reader;
GRANT USAGE ON SCHEMA hinted TO regress_svm_reader;
GRANT SELECT ON churn TO regress_svm_reader;
SELECT svm_grant('shared', 'regress_svm_reader');
CREATE FUNCTION asked_as_owner() RETURNS float8 LANGUAGE sql SECURITY DEFINER SET search_path = hinted, public AS
    $$SELECT svm_probability('curved@1', churn) FROM churn$$;
SET ROLE regress_svm_reader;
SELECT svm_probability('shared', churn) FROM churn;
SELECT hinted.asked_as_owner();
RESET ROLE;
DROP OWNED BY regress_svm_reader;
DROP ROLE regress_svm_reader;

-- names as people have them: what is typed works
CREATE TABLE "Odd names" AS
SELECT age AS "A", spend AS "it's", plan AS "q""uote", 'user ' || id AS "Key {x}", y AS "Yes, or no?" FROM churn;
SELECT * FROM typed($$SELECT svm_train('"Odd names"', 'Yes, or no?', '{A*2,it''s}', 'odd', c => 2, kernel => 'rbf', class_weight => '{"true": 2}', options => '{"folds": 3}', probability => true)$$);
SELECT * FROM typed($$SELECT svm_train('"Odd names"', '"Yes, or no?" = false', exclude => ARRAY['q"uote', 'Key {x}', 'Yes, or no?'], model => 'od''d', seed => 5)$$);
SELECT * FROM typed($$SELECT svm_train_query('SELECT * FROM "Odd names" -- all', 'Yes, or no?', '{A*2,it''s}', 'odd')$$);
SELECT * FROM typed($$SELECT svm_train_query('SELECT * FROM "Odd names";', 'Yes, or no?', '{A*2,it''s}', 'odd')$$);
SELECT * FROM leaving($$SELECT svm_train('"Odd names"', 'Yes, or no?', exclude => ARRAY['q"uote'])$$);
SELECT svm_train('"Odd names"', 'Yes, or no?', exclude => '{"q\"uote","Key {x}"}');
SELECT svm_cross_validate('"Odd names"', 'Yes, or no?', '{A*2}', folds => 2);
SELECT svm_select_features('"Odd names"', 'Yes, or no?', '{A*2,it''s}', c => 2, folds => 2);
CREATE VIEW computed AS SELECT *, "A"*2 AS a_2 FROM hinted."Odd names";
SELECT count(*) FROM svm_select_features('computed', 'Yes, or no?', features => '{a_2,"it''s"}', c => 2.0, options => '{"folds":2}');
SELECT svm_decision('odd@77', t) FROM "Odd names" AS t;
SELECT svm_decision('ODD', t) FROM "Odd names" AS t;

-- fields of objects by a dot or an arrow, a table in front of a column, all columns as a label, a table that has another name now
SELECT * FROM typed($$SELECT svm_train('churn', 'y', '{doc.field,age}', model => 'dotted')$$);
SELECT * FROM typed($$SELECT svm_train('churn', 'y', '{doc->field,age}', model => 'arrow')$$);
SELECT * FROM typed($$SELECT svm_train('churn', 'doc->field', '{age}', model => 'labels')$$);
SELECT * FROM typed($$SELECT svm_train('churn', 'doc.field', '{age}', model => 'labels')$$);
SELECT svm_train('churn', 'y', '{churn.age}');
SELECT svm_train('churn', 'churn.y');
SELECT svm_train('churn', '*');
SELECT svm_train_query('SELECT doc, y FROM churn', 'y', '{doc}', model => 'no');
CREATE TABLE former AS SELECT age, spend, y FROM churn;
SELECT svm_train('former', 'y', model => 'former');
ALTER TABLE former RENAME TO latter;
SELECT svm_probability('former', l) FROM latter AS l LIMIT 1;

-- a label that is misspelt, wherever one is named
SELECT * FROM svm_evaluate('m', 'unlabelled');
SELECT * FROM svm_evaluate('m', 'unlabelled', 'Answer');
SELECT * FROM svm_confusion('m', 'unlabelled', label => 'answr');
SELECT * FROM svm_roc('m', 'SELECT * FROM unlabelled', label => 'ansewr');
SELECT * FROM svm_export_rows('m', 'unlabelled', label => 'answers');
SELECT * FROM svm_evaluate('m', '"Odd names"', 'yes, or no');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM svm_evaluate('m', 'churn', features => 'spent', label => 'y');
SELECT * FROM svm_suspects('m', 'SELECT age, spend, y AS "Y" FROM churn');
CREATE VIEW shouted AS SELECT age, spend, y AS "Y" FROM churn;
SELECT * FROM svm_suspects('m', 'shouted');
SELECT count(*) >= 0 AS found FROM svm_suspects('m', 'SELECT *, "Y" AS y FROM hinted.shouted');
SELECT svm_train('churn', 'y', '{age,spend}', model => 'watched', options => '{"watch": "shouted"}');
SELECT svm_train('churn', 'Y', '{age,spend}');

-- labels of other types, and names of classes and of columns to leave out
CREATE TABLE dated AS SELECT age AS "A", spend, date '2020-01-01' + (100 * (age + spend))::int AS "Since", jsonb_build_object('y', y) AS "object's", y FROM churn;
SELECT * FROM typed($$SELECT svm_train('dated', 'Since', '{A,spend}', model => 'dated')$$);
SELECT label_values FROM svm_versions WHERE name = 'dated';
SELECT * FROM typed($$SELECT svm_train('dated', 'object''s', exclude => '{y,Since}', model => 'dated', tolerance => 0.01)$$);
SELECT feature_columns FROM svm_versions WHERE name = 'dated' ORDER BY version DESC LIMIT 1;
SELECT * FROM typed($$SELECT svm_train_query('SELECT * FROM dated', 'Since', '{A,spend}', model => 'dated')$$);
SELECT svm_train('dated', 'y', '{A,spend}', class_weight => '{"True": 2}');
SELECT svm_train_query('SELECT spend, repeat(y::text, 300) AS "Long label" FROM dated', 'Long label', model => 'long label');
SELECT svm_index('dated', name => 'kept', exclude => '{sepnd}');
\echo :LAST_ERROR_SQLSTATE


-- nor does it tell whoever may only run a function what its owner trained on
CREATE TABLE confidential AS SELECT i AS ssn, sin(i) AS x, cos(i) AS z, sin(i) > .1 AS y FROM generate_series(1, 200) AS i;
SET client_min_messages = error;
SELECT svm_train('confidential', 'y', '{x,z}', 'confided', probability => true, key => 'ssn');
SELECT svm_create_function('confided', 'confided_probability', kind => 'probability');
SELECT svm_train('confidential', 'y', '{x,z}', 'confided', probability => false, key => 'ssn', options => '{"inherit": false, "deploy": true}');
CREATE ROLE regress_svm_reader;
GRANT USAGE ON SCHEMA hinted TO regress_svm_reader;
GRANT EXECUTE ON FUNCTION confided_probability TO regress_svm_reader;
SET ROLE regress_svm_reader;
SELECT confided_probability(ARRAY[1, 2]::float8[]);
RESET ROLE;
SELECT svm_probability('confided', c) FROM confidential AS c LIMIT 1;
SELECT svm_drop('confided');
DROP FUNCTION confided_probability;
DROP OWNED BY regress_svm_reader;
DROP ROLE regress_svm_reader;
DROP TABLE confidential;

SET client_min_messages = error;
SELECT count(svm_drop(name)) > 0 AS dropped FROM (SELECT DISTINCT name FROM svm_models) AS models;
DROP SCHEMA hinted CASCADE;
