-- Machines of solver 'interior_point' with a key: the dual variable of every row is stored, and the model follows its table.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET pgsvm.workers = 0;
DELETE FROM svm_model;
CREATE FUNCTION drawn(id int, k int) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT (hashint8extended(id, k) & 1048575) / 1048576.0 $$;
CREATE FUNCTION made(first int, last int) RETURNS TABLE (id int, x float8, y float8, side bool, part text) LANGUAGE sql AS $$
    SELECT i, drawn(i, 1), drawn(i, 2), drawn(i, 1) + drawn(i, 2) + .4 * drawn(i, 3) > 1.2, (ARRAY['p', 'q', 'r'])[1 + (3 * drawn(i, 1))::int % 3]
    FROM generate_series(first, last) AS i $$;
CREATE TABLE points AS SELECT * FROM made(1, 400);
SELECT svm_train('points', 'side', '{x, y}', 'line', solver => 'interior_point', scale => 'none', key => 'id', options => '{"duals": true}'),
    svm_train('points', 'side', '{x, y}', 'curve', solver => 'interior_point', kernel => 'rbf', gamma => 2, rank => 40, scale => 'none', key => 'id'),
    svm_train('points', 'part', '{x, y}', 'parts', solver => 'interior_point', kernel => 'rbf', rank => 30, key => 'id');
SELECT name, sum(k.rows) AS keys, (SELECT count(*) FROM svm_key_dual AS d WHERE d.version_id = svm_internal.svm_version_id(name)) AS heads
FROM svm_key AS k JOIN svm_model ON k.version_id = svm_internal.svm_version_id(name) GROUP BY name ORDER BY name;
-- The dual of the dual variables: of sum a y = 0, none beyond C, and what the certificate says.
WITH signed AS (
    SELECT d.dual::float8 AS a, CASE WHEN p.side THEN 1 ELSE -1 END AS s, p.x, p.y
    FROM svm_dual AS v, unnest(v.rows, v.duals) AS d (row, dual), points AS p
    WHERE v.version_id = svm_internal.svm_version_id('line') AND p.id = v.first_row + d.row + 1),
sums AS (SELECT sum(a) AS all_of, sum(a * s) AS balance, sum(a * s * x) AS x, sum(a * s * y) AS y, max(a) AS most FROM signed)
SELECT abs(balance) < 1e-3 AS balanced, most <= 1.000001 AS bounded, (all_of - (x * x + y * y) / 2) / dual BETWEEN .999 AND 1.0001 AS is_dual
FROM sums, svm_models WHERE name = 'line';

-- Rows come, go and change.
INSERT INTO points SELECT * FROM made(401, 420);
DELETE FROM points WHERE id <= 10;
UPDATE points SET x = x + .1 WHERE id % 100 = 50;
SET client_min_messages = notice;
\set VERBOSITY terse
SELECT svm_refresh('line');
\set VERBOSITY default
SET client_min_messages = warning;
SELECT svm_refresh(name) FROM unnest('{curve,parts}'::text[]) AS name;
SELECT v.name, v.version, v.rows_used, v.followed, v.solver FROM svm_versions AS v WHERE deployed ORDER BY name;
SELECT svm_train('points', 'side', '{x, y}', 'anew line', solver => 'interior_point', scale => 'none'),
    svm_train('points', 'side', '{x, y}', 'anew curve', solver => 'interior_point', kernel => 'rbf', gamma => 2, rank => 40, scale => 'none'),
    svm_train('points', 'part', '{x, y}', 'anew parts', solver => 'interior_point', kernel => 'rbf', rank => 30);
SELECT a.name, abs(a.primal / b.primal - 1) < 1e-6 AS same FROM svm_models AS a JOIN svm_models AS b ON b.name = 'anew ' || a.name ORDER BY 1;
CREATE TABLE more AS SELECT * FROM made(421, 430);
CREATE TABLE gone AS SELECT id FROM points WHERE id BETWEEN 30 AND 49;
SELECT svm_update('line', 'more'), svm_forget('curve', 'gone');
SELECT name, version, rows_used, followed -> 'rows' AS rows FROM svm_versions WHERE deployed AND name IN ('line', 'curve') ORDER BY name;
-- By scans keys are learned by one more reading; a refresh keeps rows.
\set ON_ERROR_STOP off
SELECT svm_train('points', 'side', '{x, y}', 'scanned', solver => 'interior_point', key => 'id', options => '{"machines": "scans"}');
SELECT svm_refresh('scanned');
SELECT name, version, rows_used, gap <= 1e-3 AS arrived FROM svm_versions WHERE deployed AND name = 'scanned';
SELECT svm_update('line', 'more');
