-- Rows that do not fit the cache filed in chunks, which passes leave out where none of their rows can matter.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET pgsvm.workers = 0;
DELETE FROM svm_model;
CREATE TABLE pebbles AS
SELECT i AS id, x, y, x + y > 0 AS truth, (x + y > 0) <> (i % 5 = 0) AS side, 1 + (i % 3) AS w,
    CASE WHEN i % 7 = 0 THEN 'left' WHEN x > abs(y) THEN 'right' WHEN y > 0 THEN 'up' ELSE 'left' END AS part
FROM (SELECT i, (sin(i * 12.9898) * 3)::real AS x, (cos(i * 78.233) * 3)::real AS y FROM generate_series(1, 20000) AS i) AS s;
SET pgsvm.cache_size = '64kB';

SELECT svm_train('pebbles', 'side', '{x, y}', 'ramp', solver => 'indexed', loss => 'ramp', key => 'id'),
    svm_train('pebbles', 'side', '{x, y}', 'bent', solver => 'indexed', loss => 'truncated_squared_hinge'),
    svm_train('pebbles', 'side', '{x, y}', 'heavy', solver => 'indexed', loss => 'ramp', weight => 'w', probability => true),
    svm_train('pebbles', 'part', '{x, y}', 'parts', solver => 'indexed', loss => 'ramp'),
    svm_train('pebbles', 'side', '{x, y}', 'plain', solver => 'indexed'),
    svm_train('pebbles', 'side', '{x, y}', 'stream', solver => 'stream', loss => 'ramp');
SELECT name, solver, loss, gap BETWEEN 0 AND 1e-3 AS certified, outliers > 0 AS has_outliers, stop_reason FROM svm_models ORDER BY name;
-- the same objective, by fewer rows
SELECT abs(a.truncated_primal - b.truncated_primal) < 0.01 * b.truncated_primal AS same
FROM svm_models AS a, svm_models AS b WHERE a.name = 'ramp' AND b.name = 'stream';
SELECT max(rows_read) < 20000 * (1 + max(pass)) AS leaves_out FROM svm_training_log('bent');
SELECT max(rows_read) = 20000 * (1 + max(pass)) AS leaves_out_nothing FROM svm_training_log('stream');
SELECT avg(((svm_decision('ramp', p) > 0) = truth)::int) > 0.99 AS guarded FROM pebbles AS p;
-- it goes on from what it knows, C is chosen
SELECT svm_refresh('ramp'), svm_train('pebbles', 'side', '{x, y}', 'warm', solver => 'indexed', loss => 'ramp', options => '{"warm_start": "heavy"}'),
    svm_train('pebbles', 'side', '{x, y}', 'chosen', solver => 'indexed', loss => 'ramp', c => NULL);
SELECT name, version, solver, gap BETWEEN 0 AND 1e-3 AS certified, stop_reason FROM svm_models WHERE name IN ('ramp', 'warm', 'chosen') ORDER BY name;
-- by Newton's method: what it finds over all rows, by fewer of them, but of the convex loss where one label in five is wrong
SELECT svm_train('pebbles', 'side', '{x, y}', name || loss, solver => solver, loss => loss, c => 10, tolerance => 1e-6, scale => 'none', options => options::jsonb)
FROM (VALUES ('led_', 'newton', '{}'), ('chunks_', 'indexed', '{"inner": "newton"}')) AS s (name, solver, options), unnest('{squared_hinge,truncated_squared_hinge}'::text[]) AS loss;
SELECT svm_train('pebbles', 'part', '{x, y}', name || 'parts', solver => solver, loss => 'truncated_squared_hinge', weight => 'w', options => options::jsonb)
FROM (VALUES ('led_', 'newton', '{"intercept": "free"}'), ('chunks_', 'indexed', '{"intercept": "free", "inner": "newton"}')) AS s (name, solver, options);
SELECT svm_train('pebbles', 'side', '{x, y}', 'chunks_dual', solver => 'indexed', options => '{"inner": "dual"}');
SELECT c.name, c.solver, c.gap BETWEEN 0 AND 1e-3 AS certified, abs(c.primal - l.primal) < 1e-6 * l.primal AS primal, abs(c.dual - l.dual) < 1e-6 * l.dual AS dual, c.outliers IS NOT DISTINCT FROM l.outliers AS outliers, c.stop_reason,
    (SELECT max(rows_read) FROM svm_training_log(c.name)) < (SELECT max(rows_read) FROM svm_training_log(l.name)) AS leaves_out, (SELECT count(*) FROM svm_training_log(c.name) WHERE event = 'verify') <= 1 AS newton
FROM svm_models AS c JOIN svm_models AS l ON l.name = replace(c.name, 'chunks', 'led') WHERE c.name LIKE 'chunks%' ORDER BY c.name;
SELECT name, solver, gap BETWEEN 0 AND 1e-3 AS certified, (SELECT bool_or(event = 'verify') FROM svm_training_log(name)) AS visits FROM svm_models WHERE name = 'chunks_dual';
-- T, P and the rows themselves
SELECT abs(m.truncated_primal - t.is) < 1e-5 * t.is AS truncated, abs(m.primal - t.is) < 1e-5 * t.is AS primal, m.outliers = t.outliers AS outliers
FROM svm_models AS m, (SELECT sum(least(2.25, greatest(0, 1 - margin) ^ 2)) * 10 + (SELECT sum(weight ^ 2) / 2 FROM svm_weights('chunks_truncated_squared_hinge')) AS is, count(*) FILTER (WHERE greatest(0, 1 - margin) ^ 2 > 2.25) AS outliers
    FROM (SELECT CASE WHEN side THEN 1 ELSE -1 END * svm_decision('chunks_truncated_squared_hinge', p) AS margin FROM pebbles AS p) AS s) AS t
WHERE m.name = 'chunks_truncated_squared_hinge';
-- rows that fit are trained as ever
RESET pgsvm.cache_size;
SELECT svm_train('pebbles', 'side', '{x, y}', 'fits', solver => 'indexed', loss => 'ramp');
SELECT solver, gap BETWEEN 0 AND 1e-3 AS certified FROM svm_models WHERE name = 'fits';

-- refused
SELECT svm_train('pebbles', 'side', '{x, y}', 'no', solver => 'index');
SELECT svm_train('pebbles', 'side', '{x, y}', 'no', solver => 'indexed', options => '{"policy": "paper"}');
SELECT svm_train('pebbles', 'side', '{x, y}', 'no', solver => 'indexed', options => '{"blocks": 4}');
SELECT svm_train('pebbles', 'side', '{x, y}', 'no', solver => 'indexed', loss => 'hinge', options => '{"inner": "newton"}');
SELECT svm_train('pebbles', 'side', '{x, y}', 'no', solver => 'indexed', loss => 'ramp', options => '{"inner": "newton"}');
SELECT svm_train('pebbles', 'side', '{x, y}', 'no', solver => 'indexed', options => '{"inner": "pegasos"}');
SELECT svm_train('pebbles', 'side', '{x, y}', 'no', solver => 'stream', options => '{"inner": "newton"}');
SELECT svm_train('pebbles', 'side', '{x, y}', 'no', solver => 'indexed', options => '{"inner": "newton", "chunks_by": "forest"}');
SELECT svm_train('pebbles', 'side', '{x, y}', 'no', solver => 'indexed', options => '{"inner": "newton", "inner_rounds": 3}');
SELECT svm_train('pebbles', 'side', '{x, y}', 'no', solver => 'indexed', options => '{"stop": "projected_gradient"}');
