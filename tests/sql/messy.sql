-- Columns as people have them: the least that can be typed trains, says what it made of them, and is the model of the table cleaned by
-- hand.
\set SHOW_CONTEXT never
CREATE SCHEMA messy;
SET search_path = messy, public;
SET pgsvm.cache_size = '16MB';
SET client_min_messages = warning;

-- a number between 0 and 1 that is the same everywhere
CREATE FUNCTION draw(i bigint, of int) RETURNS float8 LANGUAGE sql IMMUTABLE AS
    'SELECT (((i * 7919 + of * 104729) % 1000003 * 48271) % 2147483647) / 2147483647.0::float8';

-- what is meant
CREATE TABLE meant AS
SELECT i, price, share, weight, day, city, zip, job, note,
    CASE WHEN i % 50 = 3 THEN NULL ELSE
        0.002 * price + 0.02 * share - 0.5 * coalesce(weight, 5) + (day - date '2020-01-01') / 400.0 + zip % 3 + (city % 5) / 5.0 > 2.5 END AS good
FROM (
    SELECT i, round((draw(i, 1) * 2000)::numeric, 2) AS price, (draw(i, 2) * 1000)::int / 10.0 AS share,
        CASE WHEN i % 17 = 0 THEN NULL ELSE round((draw(i, 3) * 10)::numeric, 1) END AS weight,
        date '2020-01-01' + (draw(i, 4) * 1500)::int AS day, (draw(i, 5) * 1105)::int AS city, (draw(i, 6) * 96)::int AS zip,
        CASE WHEN i % 31 = 0 THEN NULL ELSE (ARRAY['clerk', 'cook', 'smith'])[1 + (draw(i, 7) * 3)::int % 3] END AS job,
        (ARRAY['red', 'blue', 'old', 'new', 'small'])[1 + (draw(i, 8) * 4)::int] AS note
    FROM generate_series(1, 6000) AS i
) AS drawn;

CREATE TABLE messy AS
SELECT
    CASE WHEN i % 100 = 0 THEN '' ELSE '$' || to_char(price, 'FM9,999,990.00') END AS price,
    share || ' %' AS share,
    coalesce(weight::text, '?') AS weight,
    CASE WHEN i % 40 = 0 THEN 'n/a' ELSE to_char(day, 'DD.MM.YYYY') END AS day,
    'city ' || city AS city, job, good
FROM meant ORDER BY i;

-- what the NOTICE says of it is in tests/e2e/test_messy.py
SELECT svm_train('messy', 'good');
SELECT column_name, type, treatment, features, nulls FROM svm_features('messy_good');

CREATE TABLE clean AS
SELECT CASE WHEN i % 100 <> 0 THEN price END AS price, share, weight, CASE WHEN i % 40 <> 0 THEN day END AS day,
    'city ' || city AS city, job, good
FROM meant WHERE good IS NOT NULL ORDER BY i;
SELECT svm_train('clean', 'good', nulls => 'mean');

-- the same model
SELECT count(*), max(abs(m.weight - c.weight)) < 1e-6 AS same
FROM svm_weights('messy_good') AS m FULL JOIN svm_weights('clean_good') AS c USING (feature);
SELECT bool_and(abs(svm_decision('messy_good', m) - svm_decision('clean_good', c)) < 1e-6) AS same
FROM (SELECT row_number() OVER () AS n, messy FROM messy WHERE good IS NOT NULL) AS a (n, m)
JOIN (SELECT row_number() OVER () AS n, clean FROM clean) AS b (n, c) USING (n);

-- a prediction reads as the training did: of a row, of what is clean, of a document, by a function, in an evaluation
SELECT svm_create_function('messy_good', 'good_score', kind => 'decision', immutable => true);
SELECT bool_and(abs(svm_decision('messy_good', m) - svm_decision('messy_good', to_jsonb(m))) < 1e-9) AS documents,
    bool_and(abs(svm_decision('messy_good', m) - good_score(price, share, weight, day, city, job)) < 1e-9) AS functions
FROM messy AS m;
SELECT bool_and(abs(svm_decision('messy_good', c) - svm_decision('clean_good', c)) < 1e-6) AS clean_columns FROM clean AS c;
SELECT svm_decision('messy_good', r) = svm_decision('messy_good', n) AS unread_is_null
FROM (SELECT '$5.00', '1 %', 'no idea', '1.1.2021', 'city 7', 'cook') AS r (price, share, weight, day, city, job),
    (SELECT '$5.00', '1 %', NULL::text, '1.1.2021', 'city 7', 'cook') AS n (price, share, weight, day, city, job);
SELECT rows, accuracy > 0.9 AS good FROM svm_evaluate('messy_good', 'messy');
SELECT feature, value FROM svm_explain('messy_good', (SELECT m FROM messy AS m LIMIT 1)) WHERE feature IN ('price', 'share') ORDER BY feature;
SELECT svm_as_sql('messy_good');

-- columns that are named are categories; number() and time() ask for what is meant
SELECT svm_train('messy', 'good', '{number(price),"number(share)",number(weight),time(day),city,job}', model => 'asked', nulls => 'auto');
SELECT max(abs(m.weight - c.weight)) < 1e-6 AS same
FROM svm_weights('messy_good') AS m FULL JOIN svm_weights('asked') AS c USING (feature);
SELECT svm_train('messy', 'good', '{number(price)}', model => 'strict', nulls => 'error');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('meant', 'good', '{number(good)}');
SELECT svm_train('meant', 'good', '{number(day)}');
SELECT svm_train('meant', 'good', '{time(note)}', model => 'nothing');

-- with a key, refreshed, and dumped as it is stored: rows that come are read in the same way
CREATE TABLE keyed AS SELECT row_number() OVER () AS id, * FROM messy;
SELECT svm_train('keyed', 'good', model => 'keyed', key => 'id', tolerance => 1e-6);
UPDATE keyed SET price = '$1.00' WHERE id = 5;
UPDATE keyed SET good = true WHERE id = 3;
SELECT svm_refresh('keyed');
SELECT svm_train('keyed', 'good', model => 'anew', exclude => '{id}', tolerance => 1e-6);
SELECT max(abs(m.weight - c.weight)) < 1e-2 AS same FROM svm_weights('keyed') AS m FULL JOIN svm_weights('anew') AS c USING (feature);

-- codes
CREATE TABLE coded AS
SELECT zip, i % 7 AS weekday, draw(i, 9) AS x,
    draw(i, 10) < CASE WHEN (zip * 37) % 11 < 5 THEN 0.8 ELSE 0.2 END + CASE WHEN i % 7 IN (0, 6) THEN 0.2 ELSE -0.1 END AS sold FROM meant;
SELECT svm_train('coded', 'sold');
SELECT svm_train('coded', 'sold', '{category(zip),category(weekday),x}', model => 'by_zip');
SELECT svm_train_query('SELECT zip::text AS zip, x, sold FROM coded', 'sold', model => 'text_zip');
SELECT column_name, treatment, features FROM svm_features('text_zip');

-- titles of few words are texts, keys are none
CREATE TABLE titled AS
SELECT (ARRAY['The', 'A', 'My', 'No'])[1 + (draw(i, 11) * 3)::int] || ' ' || (ARRAY['red', 'lost', 'last', 'good'])[1 + (draw(i, 12) * 3)::int] || ' '
    || (ARRAY['House', 'River', 'Day', 'Love', 'War'])[1 + (draw(i, 13) * 4)::int] || i % 89 AS title, 'user ' || i AS login, i % 3 = 0 AS liked
FROM generate_series(1, 1000) AS i;
SELECT svm_train('titled', 'liked');
SELECT svm_train('titled', 'liked', exclude => '{login}');

-- rows that are bad end the training, or are left out and counted
CREATE TABLE arrays AS
SELECT i AS n, ARRAY[draw(i, 14), draw(i, 15), draw(i, 16)] AS x, ARRAY['a', 'b'] AS tags, CASE WHEN draw(i, 14) > 0.5 THEN 'yes' ELSE 'no' END AS y
FROM generate_series(1, 3000) AS i;
CREATE TABLE spoiled AS
SELECT n, CASE n WHEN 1 THEN x || 1 WHEN 700 THEN x || '{1}' WHEN 900 THEN '{1,NaN,1}' WHEN 2900 THEN '{1,-Infinity,1}' WHEN 2950 THEN '{1,3e38,1}' ELSE x END AS x,
    CASE WHEN n IN (1, 700, 900, 2900, 2950) THEN 'bad' ELSE 'good' || n % 2 END AS kind, y
FROM arrays ORDER BY arrays.n;
SELECT svm_train('spoiled', 'y', '{x,kind}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('spoiled', 'y', '{x,kind}', bad_rows => 'skip');
SELECT svm_train_query('SELECT * FROM spoiled WHERE kind <> ''bad''', 'y', '{x,kind}', model => 'by_hand');
SELECT count(*), max(abs(m.weight - c.weight)) < 1e-6 AS same FROM svm_weights('spoiled_y') AS m FULL JOIN svm_weights('by_hand') AS c USING (feature);
SELECT svm_train('spoiled', 'y', '{x,kind}', bad_rows => 'drop');
SELECT DISTINCT rows FROM svm_cross_validate('spoiled', 'y', features => '{x}', c => '{1}', folds => 2, bad_rows => 'skip');
-- it goes on so
SELECT svm_train('spoiled', 'y', '{x}');
SELECT svm_train('spoiled', 'y', '{x}', model => 'kept', key => 'n', options => '{"bad_rows": "skip"}');
UPDATE spoiled SET x = '{NaN,0,0}' WHERE n = 10;
SELECT svm_refresh('kept');
SELECT svm_train('spoiled', 'y', '{x}', model => 'scanned', solver => 'scan', bad_rows => 'skip');

-- and its predictions are NULL for such rows, which evaluations leave out and count, as rows with NULL under nulls => 'skip'
CREATE TABLE weighed AS
SELECT n, CASE n WHEN 5 THEN 'NaN' WHEN 6 THEN 'Infinity' WHEN 7 THEN 1e39 ELSE x[1] END AS a, x[2] AS b,
    CASE n WHEN 8 THEN '1:x' ELSE '1:' || x[3] || ' 3:1' END AS pairs, CASE n WHEN 9 THEN '{1}' ELSE '{1,2}'::int[] END AS idx,
    x[1:2] AS val, CASE WHEN x[1] + x[2] > 1 THEN 'yes' ELSE 'no' END AS y,
    CASE WHEN x[1] > 0.6 THEN 'no' WHEN x[2] > 0.5 THEN 'yes' ELSE 'maybe' END AS y3
FROM arrays ORDER BY n;
CREATE TABLE sound AS SELECT * FROM weighed WHERE n NOT IN (5, 6, 7, 8, 9);
CREATE FUNCTION mends(name text, label text, OUT nulls text, OUT answers bigint, OUT rows_left_out bigint, OUT same boolean, OUT suspects boolean,
    OUT lines bigint, OUT queried bigint, OUT as_json text) LANGUAGE plpgsql AS $$
DECLARE
    good record; all_rows record; sound text;
BEGIN
    SELECT string_agg(n::text, ',' ORDER BY n) FILTER (WHERE said IS NULL), count(said) INTO nulls, answers
    FROM (SELECT n, svm_classify(name, w) AS said FROM weighed AS w) AS asked;
    SELECT * INTO all_rows FROM svm_evaluate(name, 'weighed', label => label);
    sound := format('SELECT * FROM weighed WHERE n NOT IN (%s)', nulls);
    SELECT * INTO good FROM svm_evaluate(name, sound, label => label);
    rows_left_out := all_rows.rows_left_out;
    same := (all_rows.rows, all_rows.accuracy, all_rows.auc) = (good.rows, good.accuracy, good.auc)
        AND (SELECT array_agg(t) FROM svm_confusion(name, 'weighed', label => label) AS t)
            = (SELECT array_agg(t) FROM svm_confusion(name, sound, label => label) AS t);
    suspects := (SELECT bool_and(example ->> 'n' NOT IN ('5', '6', '7', '8', '9')) FROM svm_suspects(name, 'weighed', 3000));
    lines := (SELECT count(*) FROM svm_export_rows(name, 'weighed', label => label, scaled => false));
    queried := (SELECT count(q.label) FROM svm_predict_query(name, 'SELECT * FROM weighed') AS q);
    as_json := (SELECT string_agg(n::text, ',' ORDER BY n) FROM weighed AS w WHERE svm_classify(name, to_jsonb(w)) IS NULL);
END $$;
SELECT svm_train('weighed', 'y', '{a,b,"libsvm(pairs)"}', model => 'two', bad_rows => 'skip');
SELECT svm_train('weighed', 'y', '{a,b}', model => 'rbf', kernel => 'rbf', probability => true, bad_rows => 'skip');
SELECT svm_train('weighed', 'y3', '{a,"sparse(idx, val)"}', model => 'three', bad_rows => 'skip');
SELECT svm_train('weighed', 'y', '{a,b,"polynomial(a, 2)"}', model => 'made', nulls => 'mean', bad_rows => 'skip');
SELECT name, (mends(name, label)).* FROM (VALUES ('two', 'y'), ('rbf', 'y'), ('three', 'y3'), ('made', 'y')) AS all_models (name, label);
SELECT count(*) > 2 AS curve FROM svm_roc('two', 'weighed');
SELECT svm_probability('rbf', t) FROM weighed AS t WHERE n = 5;
SELECT svm_decision('spoiled_y', t) IS NULL AS nothing, count(*) FROM spoiled AS t GROUP BY 1 ORDER BY 1;
SELECT rows, rows_left_out FROM svm_evaluate('kept', 'spoiled', features => 'x');
-- arrays, texts, and what is wrong with them
SELECT svm_decision('kept', x) IS NULL FROM (VALUES ('{1,NaN,1}'::float8[]), ('{1,2}'), ('{1,1,3e38}'), ('{1e39,1,1}'), ('{1,2,3}')) AS t (x);
SELECT svm_decision('kept', '1:1 2:NaN') IS NULL AND svm_decision('kept', '1:x') IS NULL AND svm_decision('kept', '4:1') IS NULL AS nothing;
-- not so what is wrong with the call
SELECT svm_decision('two', t) FROM (SELECT 1.0 AS a) AS t;
SELECT svm_decision('kept', '2026-01-01'::date);
-- a function that holds the model
SELECT svm_create_function('kept', 'held', immutable => true);
SELECT count(held(x)) FROM spoiled;
-- a new version is compared on such a table
SELECT svm_train('sound', 'y', '{a,b}', model => 'watched', bad_rows => 'skip');
SELECT svm_train('weighed', 'y', '{a,b}', model => 'watched', c => 2, bad_rows => 'skip',
    options => '{"deploy": "if_better", "relation": "weighed", "metric": "accuracy"}');
SELECT svm_train('sound', 'y', '{a,b}', model => 'tested', solver => 'stream', bad_rows => 'skip', options => '{"watch": "weighed"}');
SELECT count(*) <= 5 AS judged FROM svm_suspects('tested', 'weighed', 5, folds => 3);
-- the text of a model says so too
SELECT svm_import('again', svm_export('kept', format => 'pgsvm'));
SELECT rows, rows_left_out FROM svm_evaluate('again', 'spoiled', features => 'x');
-- the default stays an error
SELECT svm_train('sound', 'y', '{a,b}', model => 'strict');
SELECT * FROM svm_evaluate('strict', 'weighed');
\echo :LAST_ERROR_SQLSTATE

-- an array that is NULL in the first row, and a table without a label
CREATE TABLE gaps AS SELECT CASE WHEN n % 10 <> 1 THEN x END AS x, y FROM arrays ORDER BY n;
SELECT svm_train('gaps', 'y');
SELECT svm_train_query('SELECT 1.5 AS x, NULL::boolean AS y FROM generate_series(1, 3)', 'y', model => 'none');
\echo :LAST_ERROR_SQLSTATE

-- types that are no features by themselves
CREATE TABLE typed AS
SELECT i % 90 * '1.25'::money AS cost, i % 50 * interval '1 day 02:00' AS lasts, time '00:00' + i % 400 * interval '3 minutes' AS at,
    B'101' AS flags, gen_random_uuid() AS token, i % 90 > 40 AS y
FROM generate_series(1, 900) AS i;
SELECT svm_train('typed', 'y');
SELECT column_name, treatment FROM svm_features('typed_y');

-- the mean of rows that have a value, wherever the first is that has none, whatever the scale and whoever reads
CREATE TABLE late AS SELECT i, CASE WHEN i <> 999 THEN 100 + i % 7 END::float8 AS a, i % 7 > 3 AS y FROM generate_series(1, 1000) AS i;
SELECT svm_train('late', 'y', '{a}', model => 'late', scale => scale, solver => solver, options => '{"inherit": false}')
FROM unnest('{none,maxabs,minmax,standard}'::text[]) AS scale, unnest('{stream,scan}'::text[]) AS solver;
SELECT count(*), bool_and(abs((v.features #>> '{means,0}')::float8 - (SELECT avg(a) FROM late)) < 1e-4) AS means FROM svm_version AS v JOIN svm_model AS m ON m.id = v.model_id WHERE m.name = 'late';
