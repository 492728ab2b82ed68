-- Rows that do not fit the cache are spooled, and the spool keeps to temp_file_limit. (The message is the server's own;
-- from 18 on it quotes the setting's name: the second expected file.)
SET pgsvm.cache_size = '1MB';
SET temp_file_limit = '1MB';
SELECT svm_train_query('SELECT i % 2 = 0 AS good, array_fill(i::real, ARRAY[100]) AS v FROM generate_series(1, 10000) AS i', 'good', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SET pgsvm.workers = 0;
SELECT svm_train_query('SELECT i % 2 = 0 AS good, array_fill(i::real, ARRAY[100]) AS v FROM generate_series(1, 10000) AS i', 'good', model => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM svm_models;
