-- Functions that hold a model: in indexes and generated columns, whatever becomes of the version.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE TYPE mood AS ENUM ('low', 'high');
CREATE TABLE leads AS SELECT i AS id, i % 17 AS a, (i % 23)::numeric AS "B c", CASE i % 3 WHEN 0 THEN 'red' WHEN 1 THEN 'blue' END AS colour,
    i % 2 = 0 AS flag, (i % 4)::smallint AS grade, CASE i % 2 WHEN 0 THEN 'low'::mood ELSE 'high' END AS mood,
    ('c' || i % 3)::char(4) AS padded, date '2024-01-01' + i % 30 AS day, timestamp '2024-01-01' + i * interval '1 minute' AS at,
    timestamptz '2024-01-01 00:00+00' + i * interval '1 hour' AS seen, ARRAY[i % 5, i % 7, i % 2]::real[] AS x,
    ARRAY[i % 3, i % 3 + 2] AS idx, ARRAY[1.5, i % 2]::real[] AS val, (i % 5 + 1) || ':2.5' AS words,
    (ARRAY['no', 'it''s', 'yes'])[i * i % 13 / 5 + 1] AS answer, i * i % 13 / 5 AS answer_number, i % 17 + i % 5 > 10 AS won
FROM generate_series(1, 500) AS i;
SELECT svm_train('leads', 'won', ARRAY['a', 'B c', 'colour', 'flag', 'category(grade)', 'mood', 'padded', 'day', 'at', 'seen'],
    'kinds', nulls => 'mean', probability => true);
SELECT svm_train('leads', 'won', ARRAY['x'], 'list');
SELECT svm_train('leads', 'won', ARRAY['sparse(idx, val)', 'libsvm(words)', 'a'], 'pairs', nulls => 'zero');
SELECT svm_train('leads', 'answer', ARRAY['a', 'x', 'colour'], 'three', nulls => 'skip');
SELECT svm_train('leads', 'answer_number', ARRAY['a', 'x'], 'number');
UPDATE leads SET a = NULL WHERE id % 50 = 0;
UPDATE leads SET x = NULL WHERE id % 60 = 0;
UPDATE leads SET x[2] = NULL WHERE id % 70 = 0 AND x IS NOT NULL;
CREATE TABLE wide AS SELECT i % 17 + i % 5 > 10 AS won, i FROM generate_series(1, 100) AS i;
SELECT format('ALTER TABLE wide %s', string_agg(format('ADD c%s int', n), ', ')) FROM generate_series(1, 120) AS n \gexec
\set ECHO none
SELECT format('UPDATE wide SET %s', string_agg(format('c%1$s = (i * %1$s) %% 17', n), ', ')) FROM generate_series(1, 120) AS n \gexec
\set ECHO all
SELECT svm_train_query('SELECT * FROM wide', 'won', (SELECT array_agg('c' || n) FROM generate_series(1, 120) AS n), 'wide', probability => true);
SELECT svm_train_query('SELECT * FROM wide', 'won', (SELECT array_agg('c' || n) FROM generate_series(1, 90) AS n), 'ninety');
SELECT svm_train_query('SELECT *, ''a'' || i % 3 AS kind FROM wide', 'won', (SELECT ARRAY['kind'] || array_agg('c' || n) FROM generate_series(1, 120) AS n), 'wide_kinds');

SELECT svm_create_function('kinds', 'kinds_score', kind => 'decision', immutable => true);
SELECT svm_create_function('kinds', 'kinds_class', immutable => true);
SELECT svm_create_function('kinds', kind => 'probability', immutable => true);
SELECT svm_create_function('list', 'list_score', 'decision', true), svm_create_function('list', 'list_class', 'class', true);
SELECT svm_create_function('pairs', 'pairs_score', 'decision', true);
SELECT svm_create_function('three', 'three_class', immutable => true), svm_create_function('number', 'number_class', immutable => true);
SELECT svm_create_function('wide', 'wide_score', 'decision', true), svm_create_function('wide', 'wide_probability', 'probability', true);
SELECT array_length(string_to_array(svm_create_function('ninety', 'ninety_score', 'decision', true)::text, ','), 1) AS arguments;

-- they say what the model says
SELECT count(*) FILTER (WHERE kinds_score(a, "B c", colour, flag, grade, mood, padded, day, at, seen) IS DISTINCT FROM svm_decision('kinds', l)) AS score,
    count(*) FILTER (WHERE kinds_class(a, "B c", colour, flag, grade, mood, padded, day, at, seen) IS DISTINCT FROM svm_predict('kinds', l, NULL::boolean)) AS class,
    count(*) FILTER (WHERE probability_kinds(a, "B c", colour, flag, grade, mood, padded, day, at, seen) IS DISTINCT FROM svm_probability('kinds', l)) AS probability,
    count(*) FILTER (WHERE list_score(x) IS DISTINCT FROM svm_decision('list', l)) AS list,
    count(*) FILTER (WHERE list_class(x) IS DISTINCT FROM svm_predict('list', l, NULL::boolean)) AS list_class,
    count(*) FILTER (WHERE pairs_score(idx, val, words, a) IS DISTINCT FROM svm_decision('pairs', l)) AS pairs,
    count(*) FILTER (WHERE three_class(a, x, colour) IS DISTINCT FROM svm_classify('three', l)) AS three,
    count(*) FILTER (WHERE number_class(a, x) IS DISTINCT FROM svm_predict('number', l)) AS number,
    count(three_class(a, x, colour)) AS not_null, count(list_score(x)) AS lists
FROM leads AS l;
SELECT format('SELECT count(*) FILTER (WHERE wide_score(ARRAY[%1$s]) IS DISTINCT FROM svm_decision(''wide'', ARRAY[%1$s]::float8[])) AS score,
    count(*) FILTER (WHERE wide_probability(ARRAY[%1$s]) IS DISTINCT FROM svm_probability(''wide'', ARRAY[%1$s]::float8[])) AS probability,
    count(*) FILTER (WHERE ninety_score(%2$s) IS DISTINCT FROM svm_decision(''ninety'', w)) AS ninety, count(*) AS rows FROM wide AS w',
    string_agg('c' || n, ', '), string_agg('c' || n, ', ') FILTER (WHERE n <= 90)) AS query
FROM generate_series(1, 120) AS n \gset
:query;
-- a setting does not change them
SET pgsvm.predict_nulls = 'error';
SELECT list_score(NULL) IS NULL AND list_score(ARRAY[1, NULL, 3]) IS NULL AND number_class(NULL, '{1,2,3}') IS NULL AS null;
RESET pgsvm.predict_nulls;
-- an index serves the query, and the plan shows no more than the call
CREATE INDEX best ON leads (kinds_score(a, "B c", colour, flag, grade, mood, padded, day, at, seen));
ALTER TABLE leads ADD score float8 GENERATED ALWAYS AS (list_score(x)) STORED,
    ADD class text GENERATED ALWAYS AS (three_class(a, x, colour)) STORED;
CREATE INDEX by_score ON leads (score);
ANALYZE leads;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM leads ORDER BY kinds_score(a, "B c", colour, flag, grade, mood, padded, day, at, seen) DESC LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id FROM leads ORDER BY score DESC LIMIT 10;
RESET enable_seqscan;
SELECT array_agg(id ORDER BY id) = (SELECT array_agg(id ORDER BY id) FROM (SELECT id FROM leads AS l ORDER BY svm_decision('list', l) DESC NULLS LAST, id LIMIT 10) AS s) AS same
FROM (SELECT id FROM leads ORDER BY score DESC NULLS LAST, id LIMIT 10) AS s;
-- and go on when the version is gone
SELECT svm_drop(name) FROM unnest('{kinds,list,pairs,three,number}'::text[]) AS name;
INSERT INTO leads (id, a, "B c", colour, flag, grade, mood, padded, day, at, seen, x) VALUES
    (1001, 1, 2, 'blue', true, 1, 'low', 'c1', '2024-01-01', '2024-01-01', '2024-01-01', '{1,2,3}'), (1002, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT id, score IS NOT NULL AS scored, class IS NOT NULL AS classified,
    kinds_score(a, "B c", colour, flag, grade, mood, padded, day, at, seen) IS NOT NULL AS kinds FROM leads WHERE id > 1000 ORDER BY id;

-- what is refused
INSERT INTO leads (id, x) VALUES (1003, '{1,2}');
\echo :LAST_ERROR_SQLSTATE
INSERT INTO leads (id, x) VALUES (1003, '{1,2,NaN}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_create_function('wide', 'wide_score', 'decision', true);
CREATE FUNCTION taken(features float8[]) RETURNS float8 LANGUAGE sql RETURN 1;
SELECT svm_create_function('wide', 'taken', 'decision', true);
\echo :LAST_ERROR_SQLSTATE
CREATE VIEW scores AS SELECT wide_score(ARRAY[i]) FROM wide;
SELECT svm_create_function('wide', 'wide_score', 'decision', true);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_create_function('wide_kinds', 'many', 'class', true);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_create_function('ninety', 'x', 'probability', true);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_create_function('ninety', 'x', 'score', true);
\echo :LAST_ERROR_SQLSTATE
-- calls of count() would be ambiguous
SELECT svm_create_function('ninety', 'count');
SELECT svm_create_function('ninety', 'public.lower', 'decision', true);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT * FROM leads WHERE id <= 1000', 'answer', ARRAY['a', 'colour'], 'three', nulls => 'skip');
SELECT svm_create_function('three', 'x', 'decision', true);
\echo :LAST_ERROR_SQLSTATE
-- what others write in the language is checked
CREATE FUNCTION held(a int) RETURNS float8 LANGUAGE pgsvm IMMUTABLE AS 'decision';
\echo :LAST_ERROR_SQLSTATE
CREATE FUNCTION held(a int) RETURNS float8 LANGUAGE pgsvm IMMUTABLE AS E'decision\n{}';
\echo :LAST_ERROR_SQLSTATE
CREATE FUNCTION written(arguments text, result text, kind text, model text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE FUNCTION held(%s) RETURNS %s LANGUAGE pgsvm IMMUTABLE AS %L', arguments, result, kind || E'\n' || svm_export(model, 'pgsvm'));
    RETURN 'made';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT arguments, result, kind, written(arguments, result, kind, model)
FROM (VALUES ('a int, b int, c int', 'float8', 'decision', 'ninety'), ('a int, colour text', 'float8', 'decision', 'three'), ('a int[]', 'float8', 'probability', 'ninety'),
    ('a int, colour text', 'float8', 'class', 'three'), ('a int[]', 'text', 'decision', 'ninety'), ('a int[]', 'float8', 'decision', 'ninety')) AS f (arguments, result, kind, model);
SELECT held(1, 'red');
\echo :LAST_ERROR_SQLSTATE
SELECT held('{1,2}');
\echo :LAST_ERROR_SQLSTATE
EXPLAIN (COSTS off, VERBOSE) SELECT held(array_agg(i)) FROM generate_series(1, 90) AS i;
SELECT svm_internal.svm_language_call();
\echo :LAST_ERROR_SQLSTATE

-- functions that look the model up have kinds too
SELECT svm_create_function('wide', kind => 'decision'), svm_create_function('wide', 'likely', kind => 'probability');
SELECT decision_wide(w) = svm_decision('wide', w) AND likely(w) = svm_probability('wide', w) AS same FROM wide AS w LIMIT 1;
SELECT svm_create_function('wide', 'likely', kind => 'decision');
SELECT svm_create_function('wide', 'likely');
\echo :LAST_ERROR_SQLSTATE

-- an expression for an index of its own
SELECT svm_train_query('SELECT * FROM leads WHERE id <= 1000', 'won', ARRAY['a', 'day', 'at', 'seen'], 'times', nulls => 'mean');
SELECT svm_as_sql('times') AS expression \gset
SELECT regexp_replace(:'expression', '[0-9.e-]+', '#', 'g') AS expression;
CREATE INDEX by_expression ON leads ((:expression));
SELECT max(abs((:expression) - svm_decision('times', l))) < 1e-6 AS same FROM leads AS l;
