-- Shared memory that /dev/shm cannot give. (Where it can, the training succeeds: the second expected file.)
CREATE TABLE points AS SELECT i AS x, i > 10 AS good FROM generate_series(1, 20) AS i;
SET client_min_messages = warning;
SET pgsvm.min_parallel_size = 0;
SET pgsvm.max_memory = '32GB';
SET pgsvm.cache_size = '32767MB';
SELECT svm_train('points', 'good');
\echo :LAST_ERROR_SQLSTATE
SET pgsvm.cache_size = '1MB';
SELECT svm_train('points', 'good');
DELETE FROM svm_model;
DROP TABLE points;
