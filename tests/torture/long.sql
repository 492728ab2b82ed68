-- Texts of 70 kB and more: queries, options, labels, lists of columns, and errors of whatever a query runs.
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
SELECT svm_update_query('commented', commented('id + 100 AS id, y, x', 900000));
SELECT svm_forget_query('commented', commented('id', 900000));
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
SET client_min_messages = notice;
SELECT svm_train('constants', 'y', model => 'constants');
SET client_min_messages = error;
DO $$ BEGIN EXECUTE 'CREATE TABLE missing AS SELECT i % 2 AS y, ' || (SELECT string_agg(format('nullif(i, 3) AS %s_%s', repeat('p', 55), j), ', ') FROM generate_series(1, 1500) AS j) || ' FROM generate_series(1, 40) AS i'; END $$;
SELECT svm_train('missing', 'y', model => 'no');
-- errors of somebody's functions, and of casts, of any length
CREATE FUNCTION complain(bytes int) RETURNS float8 LANGUAGE plpgsql IMMUTABLE
    AS $$ BEGIN RAISE 'no: %', repeat('m', bytes) USING DETAIL = repeat('d', bytes), HINT = repeat('h', bytes), ERRCODE = 'P0009'; END $$;
SELECT svm_train_query('SELECT y, x + complain(1000000) AS x FROM small', 'y', model => 'no');
CREATE VIEW complaining AS SELECT id, y, CASE WHEN id > 7 THEN complain(1000000 + id) ELSE x END AS x, word FROM small;
SELECT svm_train('complaining', 'y', '{x}', 'no');
SELECT rows FROM svm_evaluate('m', 'complaining');
SELECT count(*) FROM svm_suspects('m', 'complaining');
CREATE VIEW mistyped AS SELECT id, CASE WHEN id > 7 THEN repeat('y', 1000000) ELSE '1' END AS y, x, word FROM small;
SELECT rows FROM svm_evaluate('m', 'mistyped');
SELECT svm_update_query('m', 'SELECT id, complain(1000000)::int AS y, x, word FROM small');
SELECT svm_forget_query('m', 'SELECT complain(1000000)::int AS id');
SELECT svm_decision('m', jsonb_build_object('x', repeat('1', 1000000), 'word', 'word 1'));
