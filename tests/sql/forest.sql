-- Rows that do not fit the cache filed by a metric forest, which passes ask for the chunks near the decision boundary.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET pgsvm.workers = 0;
DELETE FROM svm_model;
CREATE TABLE grove AS
SELECT i AS id, x, y, z, x + y > z AS truth, (x + y > z) <> (i % 50 = 0) AS side, 1 + (i % 3) AS w,
    CASE WHEN x > abs(y) THEN 'right' WHEN y > 0 THEN 'up' ELSE 'left' END AS part
FROM (SELECT i, sin(i * 12.9898) * 3 AS x, cos(i * 78.233) * 3 AS y, sin(i * 37.719) AS z FROM generate_series(1, 20000) AS i) AS s;
SET pgsvm.cache_size = '128kB';

SELECT svm_train('grove', 'side', '{x, y, z}', 'ramp', solver => 'indexed', loss => 'ramp', options => '{"chunks_by": "forest"}'),
    svm_train('grove', 'side', '{x, y, z}', 'bent', solver => 'indexed', loss => 'truncated_squared_hinge', weight => 'w', options => '{"chunks_by": "forest"}'),
    svm_train('grove', 'part', '{x, y, z}', 'parts', solver => 'indexed', loss => 'hinge', options => '{"chunks_by": "forest"}'),
    svm_train('grove', 'truth', '{x, y, z}', 'plain', solver => 'indexed', loss => 'hinge',
        options => '{"chunks_by": "forest", "tree_size": 2000, "tree_width": 4, "query_size": 500, "query_end": 5, "shrink_above": 0.5}'),
    svm_train('grove', 'truth', '{x, y, z}', 'slack', solver => 'indexed', loss => 'hinge', options => '{"chunks_by": "slack"}'),
    svm_train('grove', 'truth', '{x, y, z}', 'stream', solver => 'stream', loss => 'hinge');
SELECT name, solver, loss, gap BETWEEN 0 AND 1e-3 AS certified, outliers > 0 AS has_outliers, stop_reason FROM svm_models ORDER BY name;
-- the same objective
SELECT a.name, abs(a.primal - b.primal) <= 1e-3 * b.primal AS same
FROM svm_models AS a, svm_models AS b WHERE a.name IN ('plain', 'slack') AND b.name = 'stream' ORDER BY a.name;
-- by fewer rows: queries are passes too
SELECT max(rows_read) < 20000 * (1 + max(pass)) AS leaves_out FROM svm_training_log('plain');
SELECT avg(((svm_decision('ramp', p) > 0) = truth)::int) > 0.99 AS guarded FROM grove AS p;
-- an index that is kept, C that is chosen
SELECT svm_index('grove', '{x, y, z}', 'grove_kept');
SELECT svm_train('grove', 'truth', '{x, y, z}', 'kept', solver => 'indexed', loss => 'hinge', options => '{"chunks_by": "forest", "index": "grove_kept"}'),
    svm_train('grove', 'side', '{x, y, z}', 'chosen', solver => 'indexed', loss => 'ramp', c => NULL, options => '{"chunks_by": "forest"}');
SELECT name, gap BETWEEN 0 AND 1e-3 AS certified, stop_reason FROM svm_models WHERE name IN ('kept', 'chosen') ORDER BY name;
-- rows that fit are trained as ever
RESET pgsvm.cache_size;
SELECT svm_train('grove', 'truth', '{x, y, z}', 'fits', solver => 'indexed', options => '{"chunks_by": "forest"}');
SELECT solver, gap BETWEEN 0 AND 1e-3 AS certified FROM svm_models WHERE name = 'fits';

-- refused
SELECT svm_train('grove', 'side', '{x, y}', 'no', solver => 'indexed', options => '{"chunks_by": "cluster"}');
SELECT svm_train('grove', 'side', '{x, y}', 'no', solver => 'stream', options => '{"chunks_by": "forest"}');
SELECT svm_train('grove', 'side', '{x, y}', 'no', options => '{"tree_size": 1000}');
SELECT svm_train('grove', 'side', '{x, y}', 'no', solver => 'indexed', options => '{"tree_size": 1000}');
SELECT svm_train('grove', 'side', '{x, y}', 'no', solver => 'indexed', options => '{"chunks_by": "slack", "query_size": 1000}');
SELECT svm_train('grove', 'side', '{x, y}', 'no', solver => 'indexed', options => '{"chunks_by": "forest", "tree_size": 0}');
SELECT svm_train('grove', 'side', '{x, y}', 'no', solver => 'indexed', options => '{"chunks_by": "forest", "tree_width": 1}');
SELECT svm_train('grove', 'side', '{x, y}', 'no', solver => 'indexed', options => '{"chunks_by": "forest", "query_size": 0}');
SELECT svm_train('grove', 'side', '{x, y}', 'no', solver => 'indexed', options => '{"chunks_by": "forest", "query_end": "few"}');
SELECT svm_train('grove', 'side', '{x, y}', 'no', solver => 'indexed', options => '{"chunks_by": "forest", "shrink_above": 0}');
SELECT svm_train('grove', 'side', '{x, y}', 'no', solver => 'indexed', options => '{"chunks_by": "forest", "inner": "newton"}');
SELECT count(*) FROM svm_models WHERE name = 'no';
SELECT svm_drop_index('grove_kept');
DROP TABLE grove;
