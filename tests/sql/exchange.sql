-- Models and data from and to other programs: LIBLINEAR's model format and LIBSVM files
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE SCHEMA tested;
SET search_path = tested, public;
-- a file of data
SELECT svm_load_libsvm('small', content => E'+1 1:0.5 3:-2\n-1 2:1e-1 # a comment\n\n# another\n1 3:1\r\n-1\n');
SELECT * FROM small;
\d small
SELECT svm_load_libsvm('"Odd name"', content => '');
SELECT count(*) FROM "Odd name";
CREATE SCHEMA elsewhere;
SELECT svm_load_libsvm('elsewhere.more', content => (SELECT string_agg(format('%s %s:%s %s:1', i % 2, 1 + i % 10, i / 100.0, 20 + i % 7), E'\n') FROM generate_series(1, 1000) AS i));
SELECT svm_train('elsewhere.more', 'label', ARRAY['sparse(idx, val)'], model => 'more');
SELECT round(avg((svm_predict('more', m) = label)::int), 2) > 0.5 AS better_than_a_coin FROM elsewhere.more AS m;
-- a model of LIBLINEAR's, of two classes; the weights speak for the first label
\set model 'solver_type L2R_L2LOSS_SVC_DUAL\nnr_class 2\nlabel -1 1\nnr_feature 3\nbias 1\nw\n0.5 \n-0.25 \n1.0000000000000001e-05 \n0.125 \n'
SELECT svm_import('two', :'model');
SELECT svm_decision('two', '1:1 2:2 9:5'), svm_predict('two', '1:1'), svm_predict('two', '2:4'), svm_classify('two', small) FROM small LIMIT 1;
SELECT name, version, rows_used, features, loss, c, solver, gap, stop_reason FROM svm_models WHERE name = 'two';
SELECT svm_export('two');
SELECT svm_export('two') = :'model' AS same;
-- for rows with an array; labels with names
SELECT svm_import('two', :'model', 'array', '{"1": "good", "-1": "bad"}');
SELECT svm_decision('two', '{1,2,0}'::float8[]), svm_classify('two', '{1,2,0}'::float8[]), svm_classify('two', '{1,0,0}'::float8[]), svm_decision('two@1', '1:1 2:2');
SELECT svm_export('two') = :'model' AS same, svm_export('two@1') = :'model' AS first_too;
SELECT svm_import('text', :'model', features => 'libsvm');
SELECT svm_decision('text', t) FROM (SELECT '1:1 2:2' AS features) AS t;
-- three classes, in any order; logistic regression has probabilities
\set three 'solver_type L2R_LR\nnr_class 3\nlabel 7 3 5\nnr_feature 2\nbias -1\nw\n1 0.5 -2 \n0 1.5 0 \n'
SELECT svm_import('three', :'three');
SELECT svm_export('three') = :'three' AS same, svm_predict('three', '1:1'), svm_predict('three', '2:1'), svm_predict('three', '1:-1'), svm_decision('three', '1:1', '5');
SELECT svm_probability('three', '1:1', '7') = 1 / (1 + exp(-1.0::float8)) / (1 / (1 + exp(-1.0::float8)) + 1 / (1 + exp(-0.5::float8)) + 1 / (1 + exp(2.0::float8))) AS probability;
-- of two classes with weights for each their difference decides
SELECT svm_import('pair', E'solver_type MCSVM_CS\nnr_class 2\nlabel 1 2\nnr_feature 1\nbias -1\nw\n0.5 0.25 \n');
SELECT svm_decision('pair', '1:1'), svm_predict('pair', '1:1'), svm_predict('pair', '1:-1');
SELECT svm_export('pair');
-- what was trained here: dense columns count from 1, labels that are no integers are numbered
CREATE TABLE dense AS SELECT i::float8 AS a, i % 3 AS b, CASE WHEN i > 5 THEN 'yes' ELSE 'no' END AS y, i > 5 AS t, CASE WHEN i > 5 THEN 1.5 ELSE 1 END AS n,
    ARRAY[i, i % 3]::real[] AS x FROM generate_series(1, 10) AS i;
SELECT svm_train('dense', 'y', ARRAY['a', 'b'], model => 'dense'), svm_train('dense', 't', ARRAY['x'], model => 'truth', intercept => false, scale => 'none', loss => 'squared_hinge'),
    svm_train('dense', 'n', ARRAY['x'], model => 'half', task => 'classification');
SET client_min_messages = notice;
SELECT split_part(svm_export('dense'), 'w', 1);
SELECT split_part(svm_export('truth'), 'w', 1);
SELECT split_part(svm_export('half', 'liblinear'), 'w', 1);
SET client_min_messages = warning;
-- and back: the same decisions
SELECT svm_import('back', svm_export('dense'), 'array');
SELECT bool_and(svm_decision('back', ARRAY[a, b]) = svm_decision('dense', d)) AS same FROM dense AS d;
SELECT svm_export('back') = svm_export('dense') AS same;
-- numbers of every size
SELECT svm_import('numbers', E'solver_type L2R_LR\nnr_class 2\nlabel 1 2\nnr_feature 8\nbias -1\nw\n1e-300\n123456789012345678\n12345678901234567\n0.0001\n0.00001234\n-3\n1e16\n0.1\n');
SELECT split_part(svm_export('numbers'), E'w\n', 2);
-- errors
SELECT svm_load_libsvm('small', content => '1 1:1');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_load_libsvm('bad', content => E'1 1:1\n\nx 1:1');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_load_libsvm('bad', content => E'1 1:1\n1 1:1 2');
SELECT svm_load_libsvm('bad', content => E'1 1:1\n1 2 3:1');
SELECT svm_load_libsvm('bad', content => '1 qid:3 1:1');
SELECT svm_load_libsvm('bad', content => '1 -1:1');
SELECT svm_load_libsvm('bad', content => '1 3000000000:1');
SELECT svm_load_libsvm('bad', content => '1 1:nan');
SELECT svm_load_libsvm('bad', content => '1 1:1e40');
SELECT svm_load_libsvm('bad', content => 'nan 1:1');
SELECT svm_load_libsvm('bad', content => '1,2 1:1');
SELECT svm_load_libsvm('bad', content => '1 2:1 2:2');
SELECT svm_load_libsvm('bad', content => '1 5:1 2:2');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_load_libsvm('bad');
SELECT svm_load_libsvm('bad', '/tmp/x', '1 1:1');
SELECT svm_load_libsvm(NULL, '/tmp/x');
SELECT svm_load_libsvm('bad', '/no/such/file');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_load_libsvm('bad', '/tmp');
SELECT svm_load_libsvm('a.b.c.d', content => '');
SELECT svm_load_libsvm('bad name', content => '');
CREATE ROLE plain;
GRANT CREATE ON SCHEMA elsewhere TO plain;
GRANT USAGE ON SCHEMA elsewhere TO plain;
SET ROLE plain;
SELECT svm_load_libsvm('elsewhere.x', '/etc/passwd');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_load_libsvm('elsewhere.own', content => '1 1:1');
SELECT svm_import('two', :'model');
SELECT svm_export('two');
RESET ROLE;
DROP TABLE elsewhere.own;
REVOKE ALL ON SCHEMA elsewhere FROM plain;
DROP ROLE plain;
BEGIN READ ONLY;
SELECT svm_import('x', :'model');
ROLLBACK;
BEGIN READ ONLY;
SELECT svm_load_libsvm('x', content => '');
ROLLBACK;
SELECT svm_export('two', 'pmml');
-- the table that is filled is the one that was made, whatever is found first under its name
CREATE TEMPORARY TABLE shadowed (label text);
SELECT svm_load_libsvm('shadowed', content => '1 1:2');
SELECT (SELECT count(*) FROM pg_temp.shadowed) AS temporary, (SELECT count(*) FROM tested.shadowed) AS tested;
SET search_path = pg_temp, tested, public;
SELECT svm_load_libsvm('made', content => '1 1:2'), svm_load_libsvm('public.made', content => E'1 1:2\n2 3:4');
SELECT (SELECT count(*) FROM pg_temp.made) AS temporary, (SELECT count(*) FROM public.made) AS public;
SET search_path = '';
SELECT public.svm_load_libsvm('made', content => '1 1:2');
\echo :LAST_ERROR_SQLSTATE
SET search_path = tested, public;
DROP TABLE pg_temp.shadowed, tested.shadowed, pg_temp.made, public.made;
SELECT svm_export('nobody');
SELECT svm_export(NULL);
SELECT svm_train('small', 'label', ARRAY['sparse(idx, val)'], model => 'counts_from_1');
CREATE TABLE zeroth AS SELECT i % 2 AS y, format('0:%s 1:%s', i % 2, i) AS f FROM generate_series(1, 10) AS i;
SELECT svm_train('zeroth', 'y', ARRAY['libsvm(f)'], model => 'zeroth');
SELECT svm_export('zeroth');
SELECT svm_import('x', NULL);
SELECT svm_import('x@1', :'model');
SELECT svm_import('x', :'model', 'columns');
SELECT svm_import('x', :'model', classes => '{"1": "a"}');
SELECT svm_import('x', :'model', classes => '{"1": "a", "-1": "a"}');
SELECT svm_import('x', :'model', classes => '[1]');
SELECT svm_import('x', '');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_import('x', E'solver_type L2R_LR\nnr_class 2\nlabel 1 2\nbias -1\nw\n');
SELECT svm_import('x', E'solver_type ONECLASS_SVM\nnr_class 2\nnr_feature 1\nbias -1\nw\n1');
SELECT svm_import('x', E'solver_type L2R_LR\nnr_class 1\nlabel 1\nnr_feature 1\nbias -1\nw\n1');
SELECT svm_import('x', E'solver_type L2R_LR\nnr_class 1000000000\nlabel 1\nnr_feature 1\nbias -1\nw\n1');
SELECT svm_import('x', E'solver_type L2R_LR\nnr_class 3\nlabel 1 2 1\nnr_feature 1\nbias -1\nw\n1');
SELECT svm_import('x', E'solver_type L2R_LR\nnr_class two\n');
SELECT svm_import('x', E'solver_type L2R_LR\nnr_class 2\nlabel 1 2.5\n');
SELECT svm_import('x', E'solver_type L2R_LR\nkernel rbf\n');
SELECT svm_import('x', E'solver_type L2R_LR\nnr_class 2\nlabel 1 2\nnr_feature -1\n');
SELECT svm_import('x', E'solver_type L2R_LR\nnr_class 2\nlabel 1 2\nnr_feature 2000000000\nbias -1\nw\n1');
SELECT svm_import('x', E'solver_type L2R_LR\nnr_class 2\nlabel 1 2\nnr_feature 2\nbias -1\nw\n1\n1 2');
SELECT svm_import('x', E'solver_type L2R_LR\nnr_class 2\nlabel 1 2\nnr_feature 2\nbias -1\nw\n1\nnan');
SELECT svm_import('x', E'solver_type L2R_LR\nnr_class 2\nlabel 1 2\nnr_feature 2\nbias -1\nw\n1\n2\n3');
SET client_min_messages = error;
DELETE FROM svm_model;
DROP SCHEMA tested, elsewhere CASCADE;

-- all of a model as one text, for another database
CREATE TABLE moved AS SELECT i % 17 AS a, CASE WHEN i % 7 > 0 THEN i % 23 / 7.0 END AS b, 'c' || i % 5 AS colour,
    ARRAY[i % 3, i % 3 + 2] AS idx, ARRAY[1.5, i % 2]::real[] AS val, ARRAY[i % 5, i % 4, 0]::float8[] AS x,
    (ARRAY['no', 'it''s', 'a "maybe"'])[i * i % 13 / 5 + 1] AS answer
FROM generate_series(1, 400) AS i;
SELECT svm_train('moved', 'answer', ARRAY['a', 'b', 'colour', 'sparse(idx, val)', 'x'], 'moving', nulls => 'mean', probability => true, c => 0.1);
SELECT svm_train('moved', 'colour', ARRAY['x'], 'plain', intercept => false);
SELECT svm_export('moving', format => 'pgsvm') AS whole \gset
SELECT svm_import('came', :'whole'), svm_import(NULL, :'whole'), svm_import('plain_too', svm_export('plain@1', 'pgsvm'));
SELECT count(*) FILTER (WHERE svm_decision('moving@1', m, class) IS DISTINCT FROM svm_decision('came', m, class)) AS decisions,
    count(*) FILTER (WHERE svm_probability('moving@1', m, class) IS DISTINCT FROM svm_probability('moving@2', m, class)) AS probabilities,
    count(*) FILTER (WHERE svm_classify('plain', m) IS DISTINCT FROM svm_classify('plain_too', m)) AS classes, count(*) AS rows
FROM moved AS m, unnest(ARRAY['no', 'it''s', 'a "maybe"']) AS class;
-- what is written again is what was read, but for the name
SELECT svm_export('moving@2', 'pgsvm') = replace(:'whole', '"moving@1"', '"moving@2"') AS same;
SELECT to_jsonb(v) - '{id,name,version,trained_at,owner,deployed,granted_to,source,trained_by,given}'::text[] =
    (SELECT to_jsonb(w) - '{id,name,version,trained_at,owner,deployed,granted_to,source,trained_by,given}'::text[] FROM svm_versions AS w WHERE name = 'came') AS same
FROM svm_versions AS v WHERE name = 'moving' AND version = 1;
SELECT * FROM svm_features('came') EXCEPT SELECT * FROM svm_features('moving@1');
SELECT line, left(regexp_replace(text, '^({"[a-z]+":).*', '\1'), 30) AS begins
FROM string_to_table(rtrim(:'whole', E'\n'), E'\n') WITH ORDINALITY AS t (text, line);
-- texts that are none
SELECT svm_import('bad', left(:'whole', 60));
\echo :LAST_ERROR_SQLSTATE
SELECT svm_import('bad', regexp_replace(:'whole', E'\n[^\n]*\n$', ''));
\echo :LAST_ERROR_SQLSTATE
SELECT svm_import('bad', replace(:'whole', '{"lines":', '{"chunk":{"head":0,"first":0,"weights":[1]}}' || E'\n' || '{"lines":'));
\echo :LAST_ERROR_SQLSTATE
SELECT svm_import('bad', replace(:'whole', '{"pgsvm":1', '{"pgsvm":2'));
\echo :LAST_ERROR_SQLSTATE
SELECT svm_import('bad', replace(:'whole', '"first":0', '"first":99999999'));
\echo :LAST_ERROR_SQLSTATE
SELECT svm_import('bad', replace(:'whole', '"nulls":"mean"', '"nulls":"median"'));
\echo :LAST_ERROR_SQLSTATE
SELECT svm_import('bad', replace(:'whole', '"class":"no"', '"class":"yes"'));
\echo :LAST_ERROR_SQLSTATE
SELECT svm_import('bad', replace(:'whole', '"lines":', '"limes":'));
\echo :LAST_ERROR_SQLSTATE
SELECT svm_import('bad', '{"pgsvm":1}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_import('bad', :'whole', classes => '{"1": "no"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_import('b@d', :'whole');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_export('moving', 'onnx');
\echo :LAST_ERROR_SQLSTATE
-- what is read of a text is small, or read with a way to fail
SELECT svm_import('bad', E'{"pgsvm":1,"name":"m@1"}\n{"version":{"a":' || repeat('[', 200) || repeat(']', 200) || '}}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_import('bad', E'{"pgsvm":1,"name":"m@1"}\n{"version":{"a":"' || repeat('x', 20000) || '"}}');
\echo :LAST_ERROR_SQLSTATE
-- Each field of each kind of line, damaged in each way: refused as such, or of no harm. (A NULL where there may be one, another name.)
CREATE FUNCTION tried(content text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM svm_import('damaged', content);
    RETURN 'imported';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE;
END $$;
CREATE FUNCTION damaged(content text) RETURNS TABLE (kind text, field text, value text, state text) LANGUAGE sql AS $$
    WITH lines AS (
        SELECT string_to_array(rtrim(content, E'\n'), E'\n') AS all
    ), first AS (
        -- of each kind of line the first one
        SELECT DISTINCT ON (kind) number, line::jsonb, (SELECT min(key) FROM jsonb_object_keys(line::jsonb) AS key) AS kind
        FROM lines, unnest("all") WITH ORDINALITY AS it (line, number) ORDER BY kind, number
    ), fields AS (
        SELECT kind, number, line, '{}'::text[] || key AS path FROM first, jsonb_object_keys(line) AS key
        UNION ALL SELECT kind, number, line, ARRAY[kind, key] FROM first, jsonb_object_keys(CASE jsonb_typeof(line -> kind) WHEN 'object' THEN line -> kind ELSE '{}' END) AS key
    )
    SELECT kind, array_to_string(path, '.'), value, tried(array_to_string("all"[:number - 1]
        || CASE value WHEN 'missing' THEN (line #- path)::text ELSE replace(jsonb_set(line, path, '"@"')::text, '"@"', value) END
        || "all"[number + 1:], E'\n') || E'\n')
    FROM lines, fields, unnest(ARRAY['missing', 'null', 'true', '-1', '0.5', '7', '1e400', '-1e-20000', '9223372036854775808', '"x"', '""', '"\u0000"', '"\ud800"', '"infinity"',
        '"2026-02-30T00:00:00+00:00"', '[]', '[1]', '["x"]', '{}', '{"a": 1e20000}', '{"a": 1e-20000}']) AS value
$$;
SELECT svm_train('moved', 'answer', ARRAY['a', 'x'], 'machine', kernel => 'rbf', rank => 8, probability => true, c => 0.1);
CREATE TABLE damage AS SELECT 'linear' AS of, * FROM damaged(:'whole') UNION ALL SELECT 'kernel', * FROM damaged(svm_export('machine', 'pgsvm'));
SELECT of, state, count(*) > 100 AS many FROM damage GROUP BY 1, 2 ORDER BY 1, 2;
SELECT field, string_agg(value, '  ' ORDER BY value COLLATE "C") AS imported FROM damage WHERE state = 'imported' AND of = 'linear' GROUP BY field ORDER BY field COLLATE "C";
SELECT field, string_agg(value, '  ' ORDER BY value COLLATE "C") AS imported FROM damage AS d WHERE state = 'imported' AND of = 'kernel'
    AND NOT EXISTS (SELECT FROM damage AS other WHERE other.of = 'linear' AND (other.field, other.value, other.state) = (d.field, d.value, d.state)) GROUP BY field ORDER BY field COLLATE "C";
-- what was imported can be shown, used and exported again
SELECT count(*) > 100 AS all FROM svm_versions AS v WHERE name = 'damaged' AND svm_export(name || '@' || version, 'pgsvm') IS NOT NULL;
SELECT svm_import('bad', replace(:'whole', '"loss": "squared_hinge", ', ''));
SELECT svm_import('bad', regexp_replace(:'whole', '"trained_at": "[^"]*"', '"trained_at": "yesterday"'));
SELECT svm_import('bad', replace(:'whole', '"label_column":"answer"', '"label_column":null'));
SELECT svm_import('bad', replace(:'whole', '"head": 1,', '"head": 2,'));
SELECT svm_import('bad', regexp_replace(:'whole', '"primal": [0-9.e+-]+', '"primal": "much"'));
-- times as PostgreSQL writes them, and others
SELECT time, tried(regexp_replace(:'whole', '"trained_at": "[^"]*"', format('"trained_at": "%s"', time))) FROM unnest('{2026-01-31T23:59:59.5+01:00,2024-02-29T00:00:00+00:00,1900-03-01T12:00:00.123456-00:19:32,294275-12-31T00:00:00+15,
    "",now,2026-01-31,2026-02-29T00:00:00+00:00,2026-04-31T00:00:00+00:00,2026-13-01T00:00:00+00:00,2026-00-01T00:00:00+00:00,2026-01-00T00:00:00+00:00,2026-01-01T24:00:00+00:00,2026-01-01T00:60:00+00:00,
    2026-01-01T00:00+00:00,2026-01-01T00:00:00,2026-01-01T00:00:00+16:00,2026-01-01T00:00:00.+00:00,0000-01-01T00:00:00+00:00,999999-01-01T00:00:00+00:00,2026-1-01T00:00:00+00:00,2026-01-01T00:00:00+00:00:00:00}'::text[]) AS time;
-- Columns of svm_version that stay behind.
SELECT attname FROM pg_attribute WHERE attrelid = 'svm_version'::regclass AND attnum > 0 AND NOT attisdropped
    AND NOT split_part(:'whole', E'\n', 2)::jsonb -> 'version' ? attname AND attname <> 'classes_by' ORDER BY attname COLLATE "C";
SELECT attname FROM pg_attribute WHERE attrelid = 'svm_head'::regclass AND attnum > 0 AND NOT attisdropped
    AND NOT split_part(:'whole', E'\n', 3)::jsonb -> 'head' ? attname ORDER BY attname COLLATE "C";
-- Each line of the header of LIBLINEAR's format, missing, twice, and with a word that is none.
SELECT key, sql_tests.import_says(replace(:'model', key || rest || E'\n', '')) AS missing, sql_tests.import_says(replace(:'model', key || rest || E'\n', key || rest || E'\n' || key || rest || E'\n')) AS twice,
    sql_tests.import_says(replace(:'model', key || rest || E'\n', key || E' word\n')) AS word
FROM regexp_matches(split_part(:'model', E'w\n', 1), '([a-z_]+)( [^\n]*)\n', 'g') WITH ORDINALITY AS it (line, number), LATERAL (SELECT line[1], line[2]) AS parts (key, rest) ORDER BY number;
SELECT sql_tests.import_says(replace(:'model', E'w\n', '')) AS missing, sql_tests.import_says(replace(:'model', E'w\n', E'w\nw\n')) AS twice;
