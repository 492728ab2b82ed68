-- What is said where something that was typed is not what was meant, has no effect, or makes a model of little use
\set SHOW_CONTEXT never
CREATE SCHEMA said;
SET search_path = said, public;
SET pgsvm.cache_size = '16MB';
SET client_min_messages = warning;
CREATE TABLE clients AS
SELECT i AS id, i / 50 AS shop, i % 50 AS day, i * 7919 % 1000 / 1000.0 AS age, (i * 48271 % 997)::int AS spent, chr(97 + i % 3) AS plan,
    'the ' || chr(97 + i % 7) || ' ' || chr(98 + i % 5) AS note, i * 7919 % 1000 > i * 48271 % 997 AS churned
FROM generate_series(1, 1000) AS i;

-- a parenthesis that is not closed, also where a comma splits the entry
SELECT svm_train('clients', 'churned', '{age,category(plan}');
SELECT svm_train('clients', 'churned', '{text(note, english,age}');
-- words of a number
SELECT svm_train('clients', 'churned', '{text(age),spent}');
SELECT svm_train('clients', 'churned', '{age,"ngrams(spent, 1, 3)"}');
-- a name where a query belongs
SELECT svm_train_query('clients', 'churned', model => 'm');
SELECT svm_train_query(' said."clients" ', 'churned', model => 'm');
SELECT count(*) FROM (SELECT svm_train_query('TABLE clients', 'churned', '{age,spent}', model => 'm')) AS trained;
-- the relation in the model's place
SELECT * FROM svm_evaluate('clients', 'm');
SELECT * FROM svm_confusion('SELECT * FROM clients', 'm');
SELECT * FROM svm_suspects('clients', 'm');
SELECT * FROM svm_evaluate('clients', 'nobody');
-- several columns as a key
SELECT svm_train('clients', 'churned', '{age,spent}', key => 'shop,day');
SELECT svm_train('clients', 'churned', '{age,spent}', key => '{shop, day}', model => 'm', c => 2);
SELECT svm_train('clients', 'churned', '{age,spent}', key => 'shop,hour');

-- hints that say what to type propose a model of the label's own
SELECT svm_train('clients', 'age', task => 'classification');
SELECT svm_train('clients', 'age > 0.5');
SELECT svm_train('clients', 'spent * 2 > 900', '{age}');

-- fields of a jsonb
CREATE TABLE events AS
SELECT i, CASE WHEN i % 3 > 0 THEN jsonb_build_object('kind', 'click', 'visits', i % 7, 'tags', '[]'::jsonb, 'page', 'p' || i % 3) END AS props,
    jsonb_build_object('page''s', 'p' || i % 3) AS texts, '[1]'::jsonb AS list, json_build_object('visits', 1) AS plain, i % 7 > 3 AS bought
FROM generate_series(1, 300) AS i;
SELECT svm_train('events', 'bought', '{props}');
SELECT svm_train('events', 'bought', '{texts}', model => 'of_texts');
SELECT svm_train('events', 'bought', '{list}');
SELECT svm_train('events', 'bought', '{plain}');
-- who may not read the table is told so, and a query is not run for it
SELECT svm_train_query('SELECT * FROM events', 'bought', '{props}', model => 'm');
CREATE ROLE regress_svm_said;
GRANT USAGE ON SCHEMA said TO regress_svm_said;
SET ROLE regress_svm_said;
SELECT svm_train('events', 'bought', '{props}');
RESET ROLE;
-- columns that are NULL in all rows
SELECT svm_train_query('SELECT i % 5 AS x, (props ->> ''visit'')::float8 AS visits, i % 3 AS z, bought FROM events', 'bought', model => 'empty');
SELECT svm_train_query('SELECT i % 5 AS x, (props ->> ''visit'')::float8 AS visits, props ->> ''knd'' AS kind, bought FROM events', 'bought', '{x,visits,kind}',
    model => 'empty_named');
-- NULL in JSON is NULL, where training met none too
SELECT svm_train('clients', 'churned', '{age,spent,plan}', 'strict');
SELECT svm_classify('strict', '{"age": null, "spent": 3, "plan": "a"}'::jsonb) IS NULL AS number, svm_classify('strict', '{"age": 0.5, "spent": null, "plan": "a"}'::jsonb) IS NULL AS integer,
    svm_classify('strict', '{"age": 0.5, "spent": 3, "plan": null}'::jsonb) IS NULL AS category, svm_decision('strict', '{"age": null, "spent": 3, "plan": "a"}'::jsonb) IS NULL AS decision,
    (SELECT svm_classify('strict', r) IS NULL FROM (SELECT NULL::numeric AS age, 3 AS spent, 'a'::text AS plan) AS r) AS row;
-- and so is a null in place of the object
SELECT svm_classify('strict', 'null'::jsonb) IS NULL AS class, svm_decision('strict', 'null'::json) IS NULL AS decision,
    (SELECT count(*) FROM svm_predict_set('strict', 'null'::jsonb)) AS answers;
SELECT svm_classify('strict', '3'::jsonb);
SELECT rows, rows_left_out FROM svm_evaluate('strict', 'SELECT CASE id % 4 WHEN 1 THEN ''null'' WHEN 2 THEN to_jsonb(c) || ''{"plan": null}'' ELSE to_jsonb(c) END AS features, churned FROM clients AS c',
    features => 'features');

SET client_min_messages = notice;
\set VERBOSITY terse
-- options without effect, said when they are given and not again
SELECT svm_train('clients', 'churned', '{age,spent}', 'effects',
    options => '{"min_df": 3, "max_df": 0.5, "max_words": 100, "sublinear": true, "hash_bits": 10, "max_categories": 5, "compression": "on"}') \gset
SELECT svm_train('clients', 'churned', '{age,spent}', 'effects') \gset
SELECT svm_train('clients', 'churned', '{age,plan}', 'effects') \gset
SELECT svm_train('clients', 'churned', '{age}', 'effects', options => '{"min_df": 3}') \gset
SELECT svm_train('clients', 'churned', '{age,text(note),category(plan)}', 'effects',
    options => '{"min_df": 1, "max_df": 1, "max_words": 100, "sublinear": true, "hash_bits": 10, "inherit": false}') \gset
-- other rows under the name of a model
SELECT svm_train_query('SELECT * FROM clients WHERE id % 2 = 0', 'churned', '{age,spent}', 'rows') \gset
SELECT svm_train_query('SELECT * FROM clients WHERE id % 2 = 0', 'churned', '{age,spent}', 'rows') \gset
SELECT svm_train_query('SELECT * FROM clients WHERE id % 2 = 1', 'churned', '{age,spent}', 'rows', c => 5) \gset
SELECT svm_train('clients', 'churned', '{age,spent}', 'rows') \gset
SELECT svm_train_query('SELECT * FROM clients', 'churned', '{age,spent}', 'rows') \gset
-- as many classes as an id or a number has
CREATE TABLE places AS
SELECT i * 7919 % 1000 / 1000.0 AS x, i * 48271 % 997 / 997.0 AS y, i * 31 % 101 AS z, 'p' || i * 7919 % 300 AS place FROM generate_series(1, 1500) AS i;
SELECT svm_train('places', 'place') \gset
\set VERBOSITY default
SET client_min_messages = warning;
SELECT svm_train('places', 'place') IS NOT NULL AS trained;
-- rare classes, first by their weights; and what was chosen by how it ranks
CREATE TABLE rare AS
SELECT i * 7919 % 1000 / 1000.0 AS x, i * 48271 % 997 / 997.0 AS y, i * 7919 % 1000 + i * 48271 % 997 + i * 31 % 400 > 1900 AS ill FROM generate_series(1, 2000) AS i;
SELECT count(*) FILTER (WHERE ill) BETWEEN 10 AND 100 AS is_rare FROM rare;
SELECT svm_train('rare', 'ill', c => '{0.0001,0.001}', metric => 'auc') IS NOT NULL AS trained;
-- a code that tells the classes apart
CREATE TABLE coded AS
SELECT i * 7919 % 10 AS code, i * 48271 % 997 / 997.0 AS y, i * 31 % 101 AS z, i * 7919 % 10 IN (1, 4, 6, 9) AS bought FROM generate_series(1, 2000) AS i;
SELECT svm_train('coded', 'bought') IS NOT NULL AS trained;
SELECT svm_train('coded', 'bought', ARRAY['category(code)', 'y', 'z'], 'as_code') IS NOT NULL AS trained;
-- words that give the label away
CREATE TABLE letters AS
SELECT (ARRAY['please find', 'thank you', 'we are glad', 'your bill'])[1 + i % 4] || ' number ' || i || ' of the ' || i % 23 || 'th ' || CASE WHEN i * 7919 % 10 > 5 THEN 'cancelled' ELSE '' END AS body,
    i * 31 % 17 AS z, i * 7919 % 10 > 5 AS cancelled FROM generate_series(1, 1000) AS i;
SELECT svm_train('letters', 'cancelled', '{text(body),z}') IS NOT NULL AS trained;
-- times of the day, and numbers with a unit
CREATE TABLE trips AS
SELECT lpad((6 + i * 7919 % 16)::text, 2, '0') || ':' || lpad((i * 31 % 60)::text, 2, '0') AS start, i * 7919 % 900 || ' kg' AS weight, i * 31 % 7 || ' cm' AS height,
    i * 7919 % 16 > 7 AS late FROM generate_series(1, 900) AS i;
SELECT svm_train('trips', 'late');
SELECT svm_train('trips', 'late', exclude => '{weight}') IS NOT NULL AS trained;
SELECT column_name, treatment FROM svm_features('trips_late');
SELECT svm_classify('trips_late', r) = svm_classify('trips_late', s) AS same FROM (SELECT '21:30' AS start, '3 cm' AS height) AS r, (SELECT time '21:30' AS start, '3 cm' AS height) AS s;
DROP OWNED BY regress_svm_said;
DROP ROLE regress_svm_said;
DROP SCHEMA said CASCADE;
