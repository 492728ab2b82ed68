-- Settings are checked when they are set, and what is none cannot be set.
\set SHOW_CONTEXT never
LOAD 'pgsvm';
SET pgsvm.worker = 1;
\echo :LAST_ERROR_SQLSTATE
SELECT set_config('pgsvm.cachesize', '1GB', false);
\echo :LAST_ERROR_SQLSTATE
SET pgsvm.cache_size = 0;
\echo :LAST_ERROR_SQLSTATE
SET pgsvm.cache_size = '15kB';
\echo :LAST_ERROR_SQLSTATE
SET pgsvm.cache_size = '33GB';
\echo :LAST_ERROR_SQLSTATE
-- from 18 on the range has its unit
\set VERBOSITY sqlstate
SET pgsvm.cache_size = -2;
\set VERBOSITY default
\echo :LAST_ERROR_SQLSTATE
SET pgsvm.cache_size = '16kB';
SET pgsvm.cache_size = '32GB';
SET pgsvm.cache_size = -1;
\set VERBOSITY sqlstate
SET pgsvm.min_parallel_size = -2;
\set VERBOSITY default
\echo :LAST_ERROR_SQLSTATE
SET pgsvm.workers = 3;
\echo :LAST_ERROR_SQLSTATE
SET pgsvm.helpers = 17;
\echo :LAST_ERROR_SQLSTATE
SET pgsvm.trainers = 0;
\echo :LAST_ERROR_SQLSTATE
SET pgsvm.trainers = 65;
\echo :LAST_ERROR_SQLSTATE
SET pgsvm.machines = 65;
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY sqlstate
SET pgsvm.retry_seconds = -1;
\set VERBOSITY default
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY sqlstate
SET pgsvm.spool_rate = -1;
\set VERBOSITY default
\echo :LAST_ERROR_SQLSTATE
SET pgsvm.keep_versions = -1;
\echo :LAST_ERROR_SQLSTATE
SET pgsvm.predict_nulls = 'sometimes';
\echo :LAST_ERROR_SQLSTATE
-- PostgreSQL takes anything before the library is there, and drops it then
\c -
SET pgsvm.worker = 1;
SET pgsvm.workers = 9;
SET pgsvm.cache_size = '1kB';
SET pgsvm.helpers = 1;
LOAD 'pgsvm';
SHOW pgsvm.worker;
\echo :LAST_ERROR_SQLSTATE
SHOW pgsvm.workers;
SHOW pgsvm.cache_size;
SHOW pgsvm.helpers;
-- what superusers let trainings have bounds what anybody sets
RESET pgsvm.helpers;
CREATE TABLE bounded AS SELECT i AS x, i > 5 AS y FROM generate_series(1, 10) AS i;
SET pgsvm.cache_size = '10GB';
SELECT svm_train('bounded', 'y', model => 'bounded');
\echo :LAST_ERROR_SQLSTATE
SET pgsvm.max_memory = '1536MB';
SET pgsvm.cache_size = -1;
SET maintenance_work_mem = '2GB';
SELECT svm_cross_validate('bounded', 'y', folds => 2);
\echo :LAST_ERROR_SQLSTATE
RESET maintenance_work_mem;
SET pgsvm.helpers = 16;
SELECT svm_train('bounded', 'y', model => 'bounded');
\echo :LAST_ERROR_SQLSTATE
RESET pgsvm.helpers;
SET pgsvm.machines = 18;
SELECT svm_train('bounded', 'y', model => 'bounded');
\echo :LAST_ERROR_SQLSTATE
RESET pgsvm.machines;
SET pgsvm.trainers = 17;
SELECT svm_train('bounded', 'y', model => 'bounded');
\echo :LAST_ERROR_SQLSTATE
SET pgsvm.max_trainers = 0;
\echo :LAST_ERROR_SQLSTATE
SET pgsvm.max_workers = -1;
\echo :LAST_ERROR_SQLSTATE
SET pgsvm.max_trainers = 17;
SET client_min_messages = warning;
SELECT svm_train('bounded', 'y', model => 'bounded');
SELECT svm_drop('bounded');
RESET client_min_messages;
DROP TABLE bounded;
