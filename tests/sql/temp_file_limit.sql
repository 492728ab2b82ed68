-- Rows that do not fit the cache are spooled, and the spool keeps to temp_file_limit: rows too irregular to be
-- compressed below it. (The message is the server's own; from 18 on it quotes the setting's name: the second expected
-- file.)
SET pgsvm.cache_size = '1MB';
SET temp_file_limit = '1MB';
SELECT svm_train_query('SELECT i % 2 = 0 AS good, ARRAY(SELECT sin(i * j)::real FROM generate_series(1, 100) AS j) AS v FROM generate_series(1, 10000) AS i', 'good', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SET pgsvm.workers = 0;
SELECT svm_train_query('SELECT i % 2 = 0 AS good, ARRAY(SELECT sin(i * j)::real FROM generate_series(1, 100) AS j) AS v FROM generate_series(1, 10000) AS i', 'good', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM svm_models;
