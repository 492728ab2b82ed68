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
SELECT svm_decision(repeat('x', 2000), ARRAY[1.0]);
\echo :LAST_ERROR_SQLSTATE

-- more models at one place in a query than it keeps at hand
SET client_min_messages = warning;
SELECT count(svm_train('points', 'good', ARRAY['x'], model => 'm' || i, seed => i, max_passes => 50)) FROM generate_series(1, 12) AS i;
SELECT count(*) FILTER (WHERE svm_classify('m' || (id % 12 + 1), p) = (svm_predict('m' || (id % 12 + 1), p) = 1)::text) FROM points AS p;
