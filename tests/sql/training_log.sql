-- What happened when in a training. Times depend on the machine; what must hold for all of them is compared.
SET client_min_messages = error;
CREATE TABLE waves (a real, b real, c real, side boolean);
INSERT INTO waves SELECT x, y, z, x + y / 2 + 0.6 * sin(i * 3.7) * cos(i * 0.77) > 0
FROM generate_series(1, 4000) AS i, LATERAL (SELECT 3 * sin(i * 12.9898), cos(i * 78.233), sin(i * i * 0.37)) AS p (x, y, z);

-- a log is in order, ends with what the version says, and never claims more than is so
CREATE FUNCTION checked(model text) RETURNS TABLE (starts text, ends text, in_order boolean, as_stored boolean, honest boolean)
LANGUAGE sql AS $$
    WITH log AS (SELECT * FROM svm_training_log(checked.model)),
    steps AS (
        SELECT step = row_number() OVER () AND seconds >= lag(seconds, 1, 0) OVER () AND pass >= lag(pass, 1, 0) OVER ()
            AND rows_read >= lag(rows_read, 1, 0) OVER () AND visits >= lag(visits, 1, 0) OVER ()
            AND updates BETWEEN lag(updates, 1, 0) OVER () AND visits AND evictions >= lag(evictions, 1, 0) OVER () AS in_order,
            primal IS NULL OR dual IS NULL OR dual <= primal * (1 + 1e-6) AS honest
        FROM log
    ), last AS (SELECT * FROM log ORDER BY step DESC LIMIT 1)
    SELECT (SELECT event FROM log WHERE step = 1), last.event, (SELECT bool_and(in_order) FROM steps),
        last.pass = version.passes AND abs(last.primal - version.primal) <= 1e-9 * version.primal
            AND abs(last.dual - version.dual) <= 1e-6 * version.primal AND last.seconds <= version.seconds,
        (SELECT bool_and(honest) FROM steps)
    FROM last, svm_models AS version WHERE version.name = checked.model
$$;

-- rows that stream, by every solver
SET pgsvm.cache_size = '16kB';
SELECT svm_train('waves', 'side', model => 'stream');
SELECT svm_train('waves', 'side', model => 'paper', options => '{"policy": "paper"}');
SELECT svm_train('waves', 'side', model => 'block', solver => 'block', tolerance => 0.01);
SELECT svm_train('waves', 'side', model => 'selective', solver => 'selective_block');
SELECT svm_train('waves', 'side', model => 'pegasos', solver => 'block', tolerance => 0.05, options => '{"inner": "pegasos"}');
SELECT svm_train('waves', 'side', model => 'by_block', solver => 'block', max_passes => 5, options => '{"inner": "pegasos", "inner_updates": "block"}');
-- rows in the cache; of several classes; with C chosen
SET pgsvm.cache_size = '16MB';
SELECT svm_train('waves', 'side', model => 'resident');
SELECT svm_train('waves', 'side', model => 'at_once', solver => 'block', tolerance => 0.05, options => '{"inner": "pegasos"}');
SELECT svm_train_query('SELECT a, b, (3 * side::int + (c > 0)::int) AS kind FROM waves', 'kind', model => 'classes');
SELECT svm_train('waves', 'side', model => 'chosen', c => NULL, options => '{"costs": [0.1, 1]}');
SELECT name, checked.* FROM svm_models, checked(name) ORDER BY name;

-- what is stored is the best there was, also where passes run out
SELECT svm_train('waves', 'side', model => 'short', loss => 'hinge', c => 10000, scale => 'none', max_passes => 7, tolerance => 1e-9);
SELECT svm_train('waves', 'side', model => 'short_block', loss => 'hinge', c => 10000, solver => 'block', max_passes => 7, tolerance => 1e-9);
SELECT version.name, bool_and(version.gap <= log.gap) AS none_better
FROM svm_models AS version, svm_training_log(version.name) AS log
WHERE version.name <> 'chosen' AND log.gap IS NOT NULL GROUP BY version.name ORDER BY version.name;

-- blocks are numbered in each pass; what was computed is there, what was not is NULL
SELECT count(DISTINCT block) > 2 AS several, min(block) AS first, bool_and(block IS NULL OR event = 'block') AS in_blocks_only
FROM svm_training_log('block');
SELECT event, min(pass) AS first_pass, bool_and(dual IS NULL) AS no_dual, bool_and(primal IS NULL) AS no_primal, bool_and(gap IS NULL) AS no_gap
FROM svm_training_log('selective') WHERE pass <= 1 GROUP BY event ORDER BY event;
-- a pass reads every row once, a verifying pass too; rows in the cache are read from the table only
SELECT bool_and(rows_read = 4000 * (1 + pass)) AS each_pass FROM svm_training_log('block') WHERE event IN ('load', 'pass', 'verify');
SELECT DISTINCT rows_read, evictions FROM svm_training_log('resident');
-- one training after the other: heads for each fold and C, then the one that is kept
SELECT heads, min(event) AS first FROM svm_training_log('chosen') GROUP BY heads ORDER BY min(step);

-- versions, and what becomes of them
SELECT svm_train('waves', 'side', model => 'stream', max_passes => 1, tolerance => 1e-9, options => '{"deploy": true}');
SELECT max(pass) FILTER (WHERE name = 'stream@1') > 2 AS long, max(pass) FILTER (WHERE name = 'stream') AS short
FROM unnest(ARRAY['stream@1', 'stream']) AS name, svm_training_log(name);
SELECT count(*) FROM svm_log;
SELECT svm_drop('stream');
SELECT count(*) FROM svm_log;
SELECT * FROM svm_training_log(NULL);
\set VERBOSITY terse
SELECT * FROM svm_training_log('stream');
SELECT * FROM svm_training_log('block@7');
\set VERBOSITY default

-- who may see a version sees its log, and nobody changes it
CREATE ROLE regress_svm_log_reader;
SET ROLE regress_svm_log_reader;
SELECT count(*) FROM svm_log;
\set VERBOSITY terse
SELECT * FROM svm_training_log('resident');
RESET ROLE;
SELECT svm_grant('resident', 'regress_svm_log_reader');
SET ROLE regress_svm_log_reader;
SELECT count(*) > 3 AS visible FROM svm_training_log('resident');
INSERT INTO svm_log SELECT * FROM svm_log;
UPDATE svm_log SET gap = '{0}';
DELETE FROM svm_log;
\set VERBOSITY default
RESET ROLE;
SELECT svm_revoke('resident', 'regress_svm_log_reader');
DROP ROLE regress_svm_log_reader;

-- a version of before there was a log
DELETE FROM svm_log WHERE version_id = svm_internal.svm_version_id('block');
SELECT count(*) FROM svm_training_log('block');

-- a long training's log is thinned out, and still begins and ends where it did
SELECT svm_train('waves', 'side', model => 'long', solver => 'block', tolerance => 1e-9, max_passes => 3000,
    options => '{"inner": "pegasos"}');
SELECT count(*) BETWEEN 1000 AND 2049 AS bounded, min(pass), max(pass) FROM svm_training_log('long');

SELECT count(svm_drop(name)) FROM svm_models;
DROP FUNCTION checked;
DROP TABLE waves;
