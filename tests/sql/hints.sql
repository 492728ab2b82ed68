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

-- fails with a hint, whose SELECT is run then: the hint, and what it returned
CREATE FUNCTION typed(statement text, OUT hint text, OUT returned text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
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

SET client_min_messages = error;
SELECT count(svm_drop(name)) > 0 AS dropped FROM (SELECT DISTINCT name FROM svm_models) AS models;
DROP SCHEMA hinted CASCADE;
