-- Texts of 70 kB and more wherever a text can be given: queries, and each argument of every function of ours.
SET client_min_messages = error;
CREATE TABLE small AS SELECT i AS id, i % 2 AS y, i % 3 AS class, sin(i) AS x, 'word ' || i % 5 AS word FROM generate_series(1, 60) AS i;
SELECT svm_train('small', 'y', '{x,word}', 'm', key => 'id', probability => true);
SELECT svm_train('small', 'class', '{x,word}', 'm3', probability => true);
-- queries: comments, and columns by the hundred
CREATE FUNCTION commented(columns text, bytes int) RETURNS text LANGUAGE sql
    AS $$ SELECT 'SELECT ' || columns || ' FROM small /* ' || repeat('c', bytes) || ' */' $$;
SELECT svm_train_query(commented('id, y, x', 100000), 'y', model => 'commented', key => 'id');
SELECT svm_train_query(commented('id, y, x', 900000), 'y', model => 'commented', key => 'id');
SELECT svm_refresh('commented');
SELECT svm_update('commented', query => commented('id + 100 AS id, y, x', 900000));
SELECT svm_forget('commented', query => commented('id', 900000));
SELECT svm_train_query((SELECT 'SELECT id, y, ' || string_agg(format('sin(x * %s) AS %s_%1$s', i, repeat('c', 50)), ', ') || ' FROM small' FROM generate_series(1, 1500) AS i), 'y', model => 'columns', key => 'id');
SELECT svm_refresh('columns');
SELECT svm_train_query('SELECT ' || repeat('(', 100) || repeat('x', 900000), 'y', model => 'no');
SELECT svm_train_query((SELECT 'SELECT s.y, s.x FROM small AS s WHERE ' || string_agg(format('%s.x IS NOT NULL', repeat('n', 60) || i), ' AND ') FROM generate_series(1, 10000) AS i), 'y', model => 'no');
-- options and weights of classes
SELECT svm_train('small', 'y', '{x}', 'no', options => jsonb_build_object('costs', (SELECT jsonb_agg(i) FROM generate_series(1, 999) AS i)));
SELECT svm_train('small', 'y', '{x}', 'no', options => jsonb_build_object('costs', (SELECT jsonb_agg(repeat('x', 16000)) FROM generate_series(1, 60) AS i)));
SELECT svm_train('small', 'y', '{x}', 'no', options => jsonb_build_object(repeat('x', 16000), (SELECT jsonb_agg(repeat('x', 16000)) FROM generate_series(1, 60) AS i)));
SELECT svm_train('small', 'word', '{x}', 'weighed', class_weight => (SELECT jsonb_object_agg('word ' || i || repeat('x', 900), 2) FROM generate_series(1, 900) AS i)::text);
SELECT svm_train('small', 'word', '{x}', 'weighed', class_weight => (SELECT jsonb_object_agg('word ' || i % 5, 2) FROM generate_series(1, 900) AS i)::text);
SELECT svm_train('small', 'word', '{x}', 'weighed');
SELECT svm_train('small', 'y', (SELECT array_agg('column ' || i) FROM generate_series(1, 20000) AS i), 'no');
SELECT svm_train('small', 'y', exclude => (SELECT array_agg('column ' || i) FROM generate_series(1, 20000) AS i), model => 'no');
-- long labels and many: the queries of an evaluation
CREATE TABLE labelled AS SELECT repeat('l', 990) || i % 100 AS y, sin(i) AS x, cos(i) AS z FROM generate_series(1, 1000) AS i;
SELECT svm_train('labelled', 'y', '{x,z}', 'labelled', max_passes => 2, probability => true);
SELECT rows FROM svm_evaluate('labelled', 'labelled');
SELECT count(*) FROM svm_confusion('labelled', 'labelled');
SELECT count(*) FROM svm_confusion('labelled', 'labelled', label => 'y');
CREATE TABLE mislabelled AS SELECT repeat('l', 900000) || i AS y, sin(i) AS x, cos(i) AS z FROM generate_series(1, 3) AS i;
SELECT count(*) FROM svm_confusion('labelled', 'mislabelled');
SELECT rows FROM svm_evaluate('labelled', 'mislabelled');
SELECT count(*) FROM svm_suspects('labelled', 'mislabelled');
SELECT count(*) FROM svm_suspects('labelled', 'labelled');
SELECT length(svm_as_sql('labelled')), length(svm_export('labelled', format => 'pgsvm'));
SELECT svm_train('mislabelled', 'y', '{x}', 'no');
SELECT svm_train('mislabelled', 'x', '{y}', 'no');
-- columns that can be no features, all told at once
DO $$ BEGIN EXECUTE 'CREATE TABLE points AS SELECT i % 2 AS y, ' || (SELECT string_agg(format('point(i, 1) AS %s_%s', repeat('p', 55), j), ', ') FROM generate_series(1, 1500) AS j) || ' FROM generate_series(1, 40) AS i'; END $$;
SELECT svm_train('points', 'y', model => 'no');
SELECT svm_train('points', 'y', (SELECT array_agg(attname::text) FROM pg_attribute WHERE attrelid = 'points'::regclass AND attnum > 1), 'no');
DO $$ BEGIN EXECUTE 'CREATE TABLE constants AS SELECT i % 2 AS y, i AS x, ' || (SELECT string_agg(format('1 AS %s_%s', repeat('p', 55), j), ', ') FROM generate_series(1, 1500) AS j) || ' FROM generate_series(1, 40) AS i'; END $$;
SELECT svm_train('constants', 'y', model => 'constants');
DO $$ BEGIN EXECUTE 'CREATE TABLE missing AS SELECT i % 2 AS y, ' || (SELECT string_agg(format('nullif(i, 3) AS %s_%s', repeat('p', 55), j), ', ') FROM generate_series(1, 1500) AS j) || ' FROM generate_series(1, 40) AS i'; END $$;
SELECT svm_train('missing', 'y', model => 'no');
-- every function with one argument long, the others usual
CREATE TABLE usual (type regtype, name text, value text);
INSERT INTO usual VALUES ('text', 'model', '''m'''), ('text', 'label', '''y'''), ('text', 'query', '''SELECT id, y, x, word FROM small'''), ('text', 'role', '''postgres'''),
    ('text', 'format', '''pgsvm'''), ('text', 'name', '''n'''), ('text', NULL, '''x'''), ('regclass', NULL, '''small'''), ('anyelement', NULL, 's'), ('record', NULL, 's'),
    ('int', NULL, '1'), ('bigint', NULL, '1'), ('float8', NULL, '.5'), ('boolean', NULL, 'true'), ('jsonb', NULL, '''{}'''), ('text[]', NULL, '''{x}'''), ('anycompatible', NULL, '''1'''),
    ('float8[]', NULL, '''{1}'''), ('"any"', NULL, 'y');
CREATE TABLE long (type regtype, value text);
INSERT INTO long VALUES ('text', 'repeat(''x'', 70000)'), ('text', 'repeat(''"{x,\'', 300000)'), ('text', '''{"x": "'' || repeat(''x'', 900000) || ''"}'''),
    ('anyelement', '(SELECT w FROM (SELECT id, y, x, repeat(word, 200000) AS word FROM small LIMIT 1) AS w)'),
    ('anyelement', '(SELECT to_jsonb(w) FROM (SELECT id, y, x, repeat(word, 200000) AS word FROM small LIMIT 1) AS w)'),
    ('anyelement', '(SELECT to_jsonb(w) FROM (SELECT id, y, repeat(''1'', 100000)::numeric AS x, word FROM small LIMIT 1) AS w)'),
    ('anyelement', 'array_fill(1.5::float8, ARRAY[100000])'), ('anyelement', 'repeat(''1'', 100000)::numeric'), ('anyelement', 'repeat(''1 '', 100000)::text'),
    ('record', '(SELECT w FROM (SELECT id, y, x, repeat(word, 200000) AS word FROM small LIMIT 1) AS w)'),
    ('jsonb', 'jsonb_build_object(repeat(''x'', 900000), 1)'), ('jsonb', '(SELECT jsonb_agg(i) FROM generate_series(1, 100000) AS i)'), ('jsonb', 'jsonb_build_object(''relation'', repeat(''x'', 900000))'),
    ('text[]', '(SELECT array_agg(''c'' || i) FROM generate_series(1, 20000) AS i)'), ('text[]', 'ARRAY[repeat(''x'', 900000)]'),
    ('anycompatible', 'repeat(''1'', 100000)::numeric'), ('anycompatible', 'repeat(''x'', 900000)'), ('float8[]', 'array_fill(1.5::float8, ARRAY[100000])'),
    ('"any"', 'repeat(''x'', 900000)'), ('"any"', 'repeat(''1'', 100000)::numeric');
WITH ours AS (
    SELECT p.oid, p.oid::regproc AS name, p.pronargs, p.pronargdefaults, p.proargnames, p.proargtypes
    FROM pg_proc AS p JOIN pg_depend AS d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
    JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'pgsvm'
    WHERE p.prorettype NOT IN ('internal'::regtype, 'trigger'::regtype, 'event_trigger'::regtype) AND p.prokind IN ('f', 'a')
        AND NOT 'internal'::regtype = ANY (p.proargtypes::oid[])
)
SELECT format('SELECT %s(%s) IS NULL FROM small AS s WHERE id = 1', ours.name, string_agg(
    CASE WHEN place.number = at.number THEN long.value
        ELSE (SELECT u.value FROM usual AS u WHERE u.type = ours.proargtypes[at.number - 1] AND coalesce(u.name = ours.proargnames[at.number], true) ORDER BY u.name IS NULL LIMIT 1) END,
    ', ' ORDER BY at.number))
FROM ours, generate_series(1, ours.pronargs) AS place (number), long, generate_series(1, ours.pronargs) AS at (number)
WHERE long.type = ours.proargtypes[place.number - 1] AND at.number <= greatest(place.number, ours.pronargs - ours.pronargdefaults)
GROUP BY ours.oid, ours.name, place.number, long.value
ORDER BY ours.oid, place.number, long.value
\gexec
