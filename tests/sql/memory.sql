-- what would take much memory is refused before it does: texts, arrays and lists that no training has a use for
SET pgsvm.workers = 0;
CREATE TABLE points AS SELECT i AS id, sin(i) AS x, sin(i) > 0.3 AS good FROM generate_series(1, 100) AS i;

-- texts of labels, folds and classes are as long as a category's at most
SELECT svm_train_query($$SELECT repeat(good::text, 1000) AS label, x FROM points$$, 'label', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query($$SELECT ('1e-' || 16000 + id)::numeric AS label, x FROM points$$, 'label', model => 'm');
\echo :LAST_ERROR_SQLSTATE
CREATE VIEW with_folds AS SELECT x, good, repeat((id % 3)::text, 1001) AS fold FROM points;
SELECT count(*) FROM svm_cross_validate('with_folds', 'good', fold_column => 'fold');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_metrics(repeat(good::text, 1000), 'true') FROM points;
\echo :LAST_ERROR_SQLSTATE
SELECT svm_metrics('true', 'true', repeat('true', 1000)) FROM points;
\echo :LAST_ERROR_SQLSTATE
SELECT (svm_metrics(repeat('a', 1000) || good, repeat('a', 996) || good)).rows FROM points;
\echo :LAST_ERROR_SQLSTATE
SELECT (svm_metrics(repeat('a', 990) || i, 'a')).rows FROM generate_series(1, 40000) AS i;
\echo :LAST_ERROR_SQLSTATE

-- a row too long for the cache is refused before its numbers are read
SET pgsvm.cache_size = '256kB';
SELECT svm_train_query('SELECT array_fill(x, ARRAY[5000000]) AS v, good FROM points LIMIT 2', 'good', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query($$SELECT array_fill(1, ARRAY[200000]) AS i, array_fill(x, ARRAY[200000]) AS v, good FROM points LIMIT 2$$,
                       'good', model => 'm', features => ARRAY['sparse(i, v)']);
\echo :LAST_ERROR_SQLSTATE
RESET pgsvm.cache_size;

-- arguments
SELECT svm_train('points', repeat('x', 2000000));
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM svm_cross_validate('points', 'good', c => array_fill(1::float8, ARRAY[1000000]));
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', model => 'm', options => jsonb_build_object('fold_column', repeat('x', 20000)));
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', model => 'm', class_weight => '{"a": [' || repeat('1, ', 3000) || '1]}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', features => ARRAY[repeat('x', 2000)]);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'good', exclude => (SELECT array_agg('column ' || i) FROM generate_series(1, 10000) AS i));
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision(repeat('x', 2000), ARRAY[1.0]);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_load_libsvm(repeat('x', 100000), content => '1 1:1');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_load_libsvm('t', path => '/' || repeat('x', 100000));
\echo :LAST_ERROR_SQLSTATE

-- long queries train, are stored and follow
SET client_min_messages = warning;
CREATE FUNCTION commented(columns text, bytes int) RETURNS text LANGUAGE sql
    AS $$ SELECT format('SELECT %s FROM points /* %s */', columns, repeat('c', bytes)) $$;
SELECT svm_train_query(commented('id, x, good', 100000), 'good', model => 'long', key => 'id');
SELECT svm_train_query(commented('id, x, good', 900000), 'good', model => 'long', key => 'id');
SELECT length(query) FROM svm_source ORDER BY 1;
SELECT svm_refresh('long');
SELECT svm_update_query('long', commented('id, x, good', 900000));
\echo :LAST_ERROR_SQLSTATE
SELECT svm_forget_query('long', commented('id + 1000 AS id', 900000));
\echo :LAST_ERROR_SQLSTATE
RESET client_min_messages;
SELECT svm_create_function('long', repeat('x', 100000));
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query(commented('id, x, good', 1100000), 'good', model => 'long');
\echo :LAST_ERROR_SQLSTATE
-- errors of what a query runs come through, the long ones cut off
CREATE FUNCTION complain(bytes int) RETURNS float8 LANGUAGE plpgsql IMMUTABLE
    AS $$ BEGIN RAISE 'no: %', repeat('m', bytes) USING DETAIL = repeat('d', bytes), HINT = repeat('h', bytes), ERRCODE = 'P0009'; END $$;
SELECT svm_train_query('SELECT good, x + complain(20) AS x FROM points', 'good', model => 'no');
\echo :LAST_ERROR_SQLSTATE
CREATE FUNCTION told(statement text) RETURNS TABLE (state text, message text, detail text, hint text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    message := left(message, 10) || ' ' || length(message); detail := length(detail); hint := length(hint);
    RETURN NEXT;
END $$;
CREATE VIEW complaining AS SELECT id, good, CASE WHEN id > 7 THEN complain(100000 + id::int) ELSE x END AS x FROM points;
SELECT told.* FROM (VALUES
    ('SELECT svm_train_query(''SELECT good, x + complain(100000) AS x FROM points'', ''good'', model => ''no'')'),
    ('SELECT svm_train(''complaining'', ''good'', model => ''no'')'),
    ('SELECT svm_evaluate(''long'', ''complaining'')'),
    ('SELECT svm_suspects(''long'', ''complaining'')'),
    ('SELECT svm_forget_query(''long'', ''SELECT complain(100000)::int AS id'')')) AS given (statement), told(statement);
DROP FUNCTION complain CASCADE;
SELECT svm_drop('long');

-- more models at one place in a query than it keeps at hand
SET client_min_messages = warning;
SELECT count(svm_train('points', 'good', ARRAY['x'], model => 'm' || i, seed => i, max_passes => 50)) FROM generate_series(1, 12) AS i;
SELECT count(*) FILTER (WHERE svm_classify('m' || (id % 12 + 1), p) = (svm_predict('m' || (id % 12 + 1), p) = 1)::text) FROM points AS p;
-- a code of a trigger's own
CREATE FUNCTION not_today() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not today' USING ERRCODE = 'MY002'; END $$;
CREATE TRIGGER not_today BEFORE INSERT ON svm_version FOR EACH ROW EXECUTE FUNCTION not_today();
SELECT svm_train('points', 'good', '{x}', 'not_today');
\echo :LAST_ERROR_SQLSTATE
DROP FUNCTION not_today CASCADE;
