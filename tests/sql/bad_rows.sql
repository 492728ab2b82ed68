-- What is wrong with the values of a row: bad_rows => 'skip' predicts NULL for it in whichever form the row comes, and an error without
-- that is the same in every form.
\set SHOW_CONTEXT never
CREATE SCHEMA bad_rows;
SET search_path = bad_rows, public;
SET pgsvm.cache_size = '16MB';
SET client_min_messages = warning;

-- a column for each kind of feature
CREATE TABLE rows AS
SELECT i * 7919 % 1000 / 1000.0::float8 AS num, date '2020-01-01' + i % 150 AS day, timestamp '2020-01-01' + i % 150 * interval '1 h' AS ts,
    i % 90 * '1.25'::money AS cost, i % 50 * interval '1 day 02:00' AS lasts, time '00:00' + i % 100 * interval '3 minutes' AS at,
    'c' || i % 4 AS cat, i % 5 AS code, ('c' || i % 4)::char(5) AS pad, i * 7919 % 100 || '.5' AS txt,
    ARRAY[i * 7919 % 1000 / 1000.0, i % 7]::float8[] AS arr, ARRAY[1, 2] AS idx, ARRAY[i % 3 + 0.5, i % 4 + 1]::float8[] AS val,
    '1:' || i % 5 || ' 3:2' AS pairs, (ARRAY['red', 'blue', 'old'])[1 + i % 3] || ' house ' || i % 5 AS body,
    to_tsvector('simple', (ARRAY['red', 'blue', 'old'])[1 + i % 3] || ' house') AS vec, ARRAY['w' || i % 3, 'v' || i % 5] AS tags,
    (ARRAY['ACGT', 'GGGT', 'TTAC'])[1 + i % 3] AS dna, i * 7919 % 1000 > 500 AS y
FROM generate_series(1, 200) AS i;
CREATE TABLE parts (part text, field text, features text);
INSERT INTO parts VALUES
    ('number', 'num', '{num}'), ('date', 'day', '{day}'), ('timestamp', 'ts', '{ts}'), ('money', 'cost', '{cost}'),
    ('interval', 'lasts', '{lasts}'), ('time', 'at', '{at}'), ('category', 'cat', '{cat}'), ('integers', 'code', '{category(code)}'),
    ('padded', 'pad', '{category(pad)}'), ('both', 'code', '{code,category(code)}'), ('parsed', 'txt', '{number(txt)}'), ('array', 'arr', '{arr}'),
    ('sparse', 'idx', '{"sparse(idx, val)"}'), ('libsvm', 'pairs', '{libsvm(pairs)}'), ('text', 'body', '{text(body)}'),
    ('lexemes', 'body', '{"text(body, simple)"}'), ('ngrams', 'body', '{"ngrams(body, 1, 2)"}'), ('tsvector', 'vec', '{vec}'), ('words', 'tags', '{tags}'),
    ('letters', 'dna', '{"weighted_degree(dna, 2)"}'), ('log', 'num', '{log(num)}'), ('polynomial', 'arr', '{"polynomial(arr, 2)"}'),
    ('bucket', 'num', '{"bucket(num, 3)"}'), ('time parts', 'ts', '{parts(ts)}'), ('crossed', 'cat', '{"cross(cat, pad)"}'),
    ('weighted', 'cat', '{"cross(cat, num)"}'), ('products', 'num', '{"hash(polynomial(num, 2), 5)"}');
SELECT count(svm_train('rows', 'y', features::text[], model => part, scale => 'none', nulls => 'skip', bad_rows => 'skip')) AS skipping,
    count(svm_train('rows', 'y', features::text[], model => part || ' strict', scale => 'none', nulls => 'skip')) AS strict
FROM parts;

-- good and bad values of each: in a row, and in a document that no row would make
CREATE TABLE given (part text, columns text, document jsonb);
INSERT INTO given (part, columns) VALUES
    ('number', '0.5::float8 AS num'), ('number', '''NaN''::float8 AS num'), ('number', '''-Infinity''::float8 AS num'), ('number', '''NaN''::numeric AS num'),
    ('number', '1e400::numeric AS num'), ('number', 'NULL::float8 AS num'), ('date', '''infinity''::date AS day'), ('date', '''2020-05-05''::date AS day'),
    ('timestamp', '''-infinity''::timestamp AS ts'), ('time parts', '''infinity''::timestamp AS ts'), ('money', '5::money AS cost'),
    ('interval', '''1 day''::interval AS lasts'), ('time', '''10:00''::time AS at'), ('category', '''none''::text AS cat'), ('both', '3 AS code'),
    ('parsed', '''abc''::text AS txt'), ('parsed', '''NaN''::text AS txt'), ('parsed', '''1e999''::text AS txt'), ('parsed', '''7.5''::text AS txt'),
    ('array', '''{1,2}''::float8[] AS arr'), ('array', '''[4:5]={1,2}''::float8[] AS arr'), ('array', '''{{1,2},{3,4}}''::float8[] AS arr'),
    ('array', '''{{{1}},{{3}}}''::float8[] AS arr'), ('array', '''{}''::float8[] AS arr'), ('array', '''{1}''::float8[] AS arr'), ('array', '''{1,NaN}''::float8[] AS arr'),
    ('array', '''{1,NULL}''::float8[] AS arr'), ('array', '''{1,NaN}''::numeric[] AS arr'), ('polynomial', '''{{1,2},{3,4}}''::float8[] AS arr'),
    ('polynomial', '''{1}''::float8[] AS arr'), ('polynomial', '''{1,Infinity}''::float8[] AS arr'), ('polynomial', '''{1e200,1}''::float8[] AS arr'),
    ('sparse', '''{1}''::int[] AS idx, ''{1}''::float8[] AS val'), ('sparse', '''{1}''::int[] AS idx, ''{1,2}''::float8[] AS val'),
    ('sparse', '''{1,1}''::int[] AS idx, ''{1,2}''::float8[] AS val'), ('sparse', '''{-1}''::int[] AS idx, ''{1}''::float8[] AS val'),
    ('sparse', '''{1}''::int[] AS idx, ''{NaN}''::float8[] AS val'), ('sparse', '''{1}''::int[] AS idx, ''{1e39}''::float8[] AS val'),
    ('sparse', '''{{1,2}}''::int[] AS idx, ''{1,2}''::float8[] AS val'), ('sparse', '''{1,2}''::int[] AS idx, ''{{1,2}}''::float8[] AS val'),
    ('libsvm', '''1:1''::text AS pairs'), ('libsvm', '''''::text AS pairs'), ('libsvm', '''1:x''::text AS pairs'), ('libsvm', '''1 1:1''::text AS pairs'),
    ('libsvm', '''1:1 1:2''::text AS pairs'), ('libsvm', '''-1:1''::text AS pairs'), ('libsvm', '''1:NaN''::text AS pairs'),
    ('libsvm', '''99999999999:1''::text AS pairs'), ('text', '''''::text AS body'), ('tsvector', '''red''::tsvector AS vec'),
    ('words', '''{}''::text[] AS tags'), ('words', '''{w1,NULL}''::text[] AS tags'), ('words', '''{{w1,v2},{w2,v1}}''::text[] AS tags'),
    ('letters', '''ACGT''::text AS dna'), ('letters', '''ACXT''::text AS dna'), ('log', '-5::float8 AS num'), ('log', '''NaN''::float8 AS num'),
    ('bucket', '''Infinity''::float8 AS num'), ('products', '1e300::float8 AS num'), ('products', '''NaN''::float8 AS num'),
    ('weighted', '''c1''::text AS cat, ''NaN''::float8 AS num'), ('weighted', '''c1''::text AS cat, 1e39::float8 AS num');
INSERT INTO given (part, document)
SELECT part, jsonb_build_object('num', 1, 'val', '[1]'::jsonb, 'pad', 'c1') || jsonb_build_object(field, value)
FROM parts, jsonb_array_elements('["abc", "", "NaN", "[1,2]", "1:1", true, 5, -1, 1.5, 1e400, null, {}, {"a": 1}, [], [1], [1, "x"], [1, null], [[1, 2], [3, 4]],
    [[[1]]], ["w1"], [["w1"], ["w2"]], [["w1"], [2]], [[[[[[[["w1"]]]]]]]]]') AS value;
INSERT INTO given (part, document) SELECT part, document::jsonb FROM parts, (VALUES ('5'), ('"abc"'), ('[1, 2]'), ('null')) AS v (document);

CREATE TYPE answer AS (state text, said text);
CREATE FUNCTION asked(query text) RETURNS answer LANGUAGE plpgsql AS $$
DECLARE
    a answer;
BEGIN
    EXECUTE query INTO a.said;
    a.said := round(a.said::numeric, 3)::text;
    RETURN a;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS a.state = RETURNED_SQLSTATE, a.said = MESSAGE_TEXT;
    RETURN a;
END $$;
CREATE TABLE answers AS
SELECT part, given.columns, given.document, form, skipping, strict
FROM given CROSS JOIN LATERAL (VALUES
        ('row', CASE WHEN columns IS NOT NULL THEN 'r' END),
        ('jsonb', CASE WHEN columns IS NOT NULL THEN 'to_jsonb(r)' ELSE format('%L::jsonb', document) END),
        ('json', CASE WHEN columns IS NOT NULL THEN 'to_json(r)' ELSE format('%L::json', document) END)
    ) AS forms (form, argument),
    asked(format('SELECT svm_decision(%L, %s) FROM (SELECT %s) AS r', part, argument, coalesce(columns, '1'))) AS skipping,
    asked(format('SELECT svm_decision(%L, %s) FROM (SELECT %s) AS r', part || ' strict', argument, coalesce(columns, '1'))) AS strict
WHERE argument IS NOT NULL;
-- a bad row has no answer where the strict model has an error, and the same answer where that has one
SELECT form, count(*) FILTER (WHERE (strict).state IS NOT NULL) > 15 AS bad, count(*) FILTER (WHERE (strict).state IS NULL AND (strict).said IS NOT NULL) > 15 AS good,
    count(*) FILTER (WHERE (skipping).state IS NOT NULL) AS errors,
    count(*) FILTER (WHERE (strict).state IS NOT NULL AND (skipping).said IS NOT NULL) AS answered,
    count(*) FILTER (WHERE (strict).state IS NULL AND (skipping).said IS DISTINCT FROM (strict).said) AS others
FROM answers GROUP BY form ORDER BY form;
-- the forms of a row agree, to the word
SELECT a.part, a.columns, a.strict AS of_row, b.form, b.strict
FROM answers AS a JOIN answers AS b USING (part, columns) WHERE a.form = 'row' AND a.strict IS DISTINCT FROM b.strict;
-- what is said
SELECT DISTINCT (strict).* FROM answers WHERE form = 'row' AND (strict).state IS NOT NULL ORDER BY 1, 2;
SELECT part, count(*) FILTER (WHERE (skipping).said IS NOT NULL) AS good, string_agg(DISTINCT (strict).state, ' ') AS states
FROM answers WHERE form = 'jsonb' AND document IS NOT NULL GROUP BY part ORDER BY part;
SELECT svm_decision('array strict', '{"arr": [[1, 2], [3, 4]]}'::jsonb);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('number strict', '{"num": "abc"}'::jsonb);
SELECT svm_decision('date strict', '{"day": "31.31.2020"}'::jsonb);
SELECT svm_decision('number strict', '5'::jsonb);
SELECT svm_decision('category strict', E'{"cat": "\\u0000"}'::json);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('category', E'{"cat": "\\u0000"}'::json) IS NULL AS nothing;

-- a field that is not there is wrong with the call
SELECT svm_decision('number', '{"nun": 1}'::jsonb);
\echo :LAST_ERROR_SQLSTATE

-- many complaints of PostgreSQL's own in one statement, and what comes after
SELECT count(svm_decision('date', jsonb_build_object('day', CASE WHEN i % 2 = 0 THEN 'no day' ELSE '2020-03-03' END))) AS answers FROM generate_series(1, 20000) AS i;
SELECT count(svm_decision('tsvector', jsonb_build_object('vec', CASE WHEN i % 2 = 0 THEN '''' || repeat('x', 40000) ELSE 'red' END))) AS answers FROM generate_series(1, 100) AS i;

-- arguments
SELECT model, given, asked(format('SELECT svm_decision(%L, %s)', model, given)) AS skipping, asked(format('SELECT svm_decision(%L, %s)', model || ' strict', given)) AS strict
FROM (VALUES ('array', '''{{1,2},{3,4}}''::float8[]'), ('array', '''{1,NaN}''::float8[]'), ('array', '''{1}''::real[]'), ('array', '''1:1 2:2'''), ('array', '''1:1 3:2'''),
    ('array', '''1:1 2:NaN'''), ('array', '''1:1 1:2'''), ('array', '''abc'''), ('libsvm', '''1:1'''), ('libsvm', '''1:x'''), ('text', '''a red house'''))
    AS asked (model, given);

-- functions that hold a model, evaluations of documents, and the explanation of a row
SELECT svm_create_function('array', 'held', kind => 'decision', immutable => true);
SELECT x::text, held(x) IS NULL AS nothing FROM (VALUES ('{1,2}'::float8[]), ('{{1,2},{3,4}}'), ('{1,NaN}'), ('{1}')) AS t (x);
CREATE TABLE documents AS
SELECT CASE i WHEN 1 THEN '{"num": "abc"}' WHEN 2 THEN '{"num": [1]}' WHEN 3 THEN '5' ELSE to_jsonb(r) END AS document, y
FROM (SELECT row_number() OVER () AS i, * FROM rows) AS r;
SELECT rows, rows_left_out FROM svm_evaluate('number', 'documents', features => 'document');
SELECT * FROM svm_evaluate('number strict', 'documents', features => 'document');
\echo :LAST_ERROR_SQLSTATE

-- svm_versions counts all rows that were left out, for whichever reason
CREATE TABLE holes AS
SELECT i, CASE WHEN i <= 3 THEN 'NaN' WHEN i BETWEEN 11 AND 17 THEN NULL ELSE num END AS num, CASE WHEN i BETWEEN 21 AND 25 THEN 0 ELSE 1 END AS weight,
    CASE WHEN i BETWEEN 31 AND 32 THEN NULL ELSE y END AS y
FROM (SELECT row_number() OVER () AS i, * FROM rows) AS r;
SELECT svm_train('holes', 'y', '{num}', model => 'stream', solver => 'stream', nulls => 'skip', bad_rows => 'skip', weight => 'weight');
SELECT svm_train('holes', 'y', '{num}', model => 'scan', solver => 'scan', nulls => 'skip', bad_rows => 'skip', weight => 'weight');
SELECT svm_train('holes', 'y', '{num}', model => 'key', key => 'i', nulls => 'skip', bad_rows => 'skip', weight => 'weight');
SELECT svm_train('holes', 'y', '{num}', model => 'rbf', kernel => 'rbf', nulls => 'skip', bad_rows => 'skip', weight => 'weight');
SELECT svm_train('holes', 'y', '{num}', model => 'bad', nulls => 'mean', bad_rows => 'skip');
SELECT svm_refresh('key');
SELECT name, version, rows_used, rows_skipped FROM svm_versions WHERE name IN ('stream', 'scan', 'key', 'rbf', 'bad') ORDER BY name, version;
DROP SCHEMA bad_rows CASCADE;
