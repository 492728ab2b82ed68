-- Keys and dual variables of models that were trained by scans: one more reading learns them at the weights found, and follow-ups go on from
-- there by rows that are kept.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
DELETE FROM svm_model;

CREATE TABLE events (id int PRIMARY KEY, label text, x float8, y float8, colour text, w real, held float8);
INSERT INTO events SELECT id, CASE WHEN id % 3 = 0 THEN 'no' ELSE 'yes' END,
    (id * 7919 % 1000) / 400.0 + (id % 3) / 1.5, (id * 104729 % 1000) / 300.0 - (id % 3) / 2.0,
    (ARRAY['red', 'green', 'blue'])[1 + id % 4 % 3], 1 + id % 2, CASE WHEN id % 5 > 0 THEN id % 7 END
FROM generate_series(1, 3000) AS id;

CREATE VIEW thirds AS SELECT id, CASE WHEN x > 2 THEN 'far' WHEN y > 1.5 + x THEN 'high' ELSE 'low' END AS label, x, y FROM events;

-- By C, loss and class, how far what is stored as dual variables is from what the margins say: C c max(0, 1 - m) times 2 of the squared
-- hinge; of the hinge C c within the margin and 0 beyond it.
CREATE FUNCTION duals_of(model text) RETURNS TABLE (id bigint, dual float8) LANGUAGE sql AS $$
    SELECT e.id, coalesce(d.dual, 0) FROM (SELECT id, row_number() OVER () - 1 AS place FROM events) AS e
        LEFT JOIN (SELECT first_row + part AS place, dual FROM svm_dual, unnest(rows, duals) AS u (part, dual)
            WHERE version_id = svm_internal.svm_version_id(model) AND head = 0) AS d USING (place)
$$;
CREATE FUNCTION margins_of(name text) RETURNS TABLE (id int, cost real, margin float8) LANGUAGE sql AS $$
    SELECT id, w, svm_decision(name, e) * CASE label WHEN 'yes' THEN 1 ELSE -1 END FROM events AS e
$$;

SELECT svm_train('events', 'label', '{x, y, colour}', 'squared', c => .5, loss => 'squared_hinge', solver => 'scan', weight => 'w', options => '{"duals": true}');
SELECT count(*), max(abs(dual - .5 * 2 * cost * greatest(0, 1 - margin))) < 1e-4 AS are_slopes, sum(dual) > 0 AS are_some
FROM duals_of('squared') JOIN margins_of('squared') USING (id);
SELECT svm_train('events', 'label', '{x, y, colour}', 'hinge', c => .5, loss => 'hinge', solver => 'scan', weight => 'w', options => '{"duals": true}');
SELECT count(*), bool_and(abs(dual - .5 * cost) < 1e-6) FILTER (WHERE margin < .95) AS at_their_bounds,
    bool_and(dual = 0) FILTER (WHERE margin > 1.05) AS none_beyond, bool_and(dual BETWEEN 0 AND .5 * cost) AS within
FROM duals_of('hinge') JOIN margins_of('hinge') USING (id);

-- Each way by scans: a key is learned, and a refresh begins where the scans have ended.
SELECT svm_train('events', 'label', '{x, y, colour}', solver || ' ' || loss, loss => loss, solver => solver, weight => 'w', key => 'id')
FROM (VALUES ('scan', 'squared_hinge'), ('scan', 'hinge'), ('ocas', 'hinge'), ('cutting_plane', 'hinge')) AS given (solver, loss);
SELECT svm_train('events', 'label', '{x, y, colour}', 'average', loss => 'hinge', solver => 'scan', weight => 'w', key => 'id', options => '{"machines": "average"}');
SELECT svm_train('events', 'label', '{x, y, colour}', 'kernel', loss => 'squared_hinge', solver => 'scan', weight => 'w', key => 'id', kernel => 'rbf', gamma => .5);
SELECT svm_train('events', 'label', '{x, y, held}', 'with means', loss => 'squared_hinge', solver => 'scan', key => 'id', nulls => 'mean');
SELECT svm_train('thirds', 'label', '{x, y}', 'three classes', loss => 'squared_hinge', solver => 'scan', key => 'id');
SELECT svm_train('events', 'label', '{x, y}', 'truncated', loss => 'truncated_squared_hinge', solver => 'scan', key => 'id');
SELECT name, (SELECT sum(rows) FROM svm_key WHERE version_id = svm_internal.svm_version_id(name)) AS keys,
    gap <= 1e-3 OR name = 'average' AS arrived FROM svm_models WHERE name NOT IN ('hinge', 'squared') ORDER BY name;

CREATE TABLE before AS SELECT name, passes, primal FROM svm_models;
SELECT svm_refresh(name) FROM before WHERE name NOT IN ('hinge', 'squared');
-- nothing has changed: the same objective, but of the average, which was none; and of the kernel machine, whose landmarks are chosen anew
SELECT name, solver, abs(m.primal - b.primal) <= 2e-3 * b.primal OR name IN ('average', 'kernel') AS same, m.gap <= 1e-3 AS arrived
FROM svm_models AS m JOIN before AS b USING (name) WHERE name NOT IN ('hinge', 'squared') ORDER BY name;

-- Another follow-up, and options that scans alone have: the model stays with its solver.
SELECT svm_train('events', 'label', '{x, y, colour}', 'lambda', loss => 'hinge', solver => 'ocas', key => 'id', options => '{"lambda": 0.2, "stop": "svmperf"}');
SELECT svm_refresh(name) FROM (VALUES ('average'), ('lambda'), ('kernel'), ('lambda'), ('scan squared_hinge')) AS again (name);
SELECT svm_forget('lambda', 'SELECT 2 AS id'), svm_update('lambda', 'SELECT * FROM events WHERE id = 2');
SELECT name, version, solver, loss, stop_reason FROM svm_models WHERE name IN ('average', 'lambda', 'kernel') ORDER BY name;
SELECT version, landmarks < 200 AS of_low_rank FROM svm_versions WHERE name = 'kernel' ORDER BY version;
CREATE TABLE six AS SELECT id, id > 3 AS late FROM generate_series(1, 6) AS id;
SELECT svm_train('six', 'late', '{id}', 'six', solver => 'scan', key => 'id');
SET client_min_messages = notice;
\set VERBOSITY terse
SELECT svm_refresh('six');
\set VERBOSITY default
SET client_min_messages = warning;

-- Rows that come, go and change.
CREATE TABLE more AS SELECT id + 5000 AS id, label, x, y, colour, w, held FROM events WHERE id <= 30;
SELECT svm_update('scan hinge', 'more');
CREATE TABLE gone AS SELECT generate_series(1, 40) AS id;
SELECT svm_forget('cutting_plane hinge', 'gone');
UPDATE events SET x = x + .5 WHERE id BETWEEN 100 AND 150;
DELETE FROM events WHERE id > 2950;
SELECT svm_refresh('scan squared_hinge'), svm_refresh('ocas hinge');
SELECT name, version, followed FROM svm_versions WHERE name IN ('scan squared_hinge', 'ocas hinge') AND deployed ORDER BY name;
SELECT name, rows_used, gap <= 1e-3 AS arrived FROM svm_models WHERE name IN ('scan hinge', 'cutting_plane hinge', 'ocas hinge') ORDER BY name;
SELECT svm_train('events', 'label', '{x, y, colour}', 'anew', loss => 'hinge', weight => 'w');
SELECT abs(a.primal - o.primal) <= 2e-3 * a.primal AS as_anew FROM svm_models AS a, svm_models AS o WHERE a.name = 'anew' AND o.name = 'ocas hinge';

-- Bad keys are told as by other solvers.
SELECT svm_train('events', 'label', '{x, y}', 'wrong', solver => 'scan', key => 'w');
SELECT svm_train('events', 'label', '{x, y}', 'wrong', solver => 'scan', key => 'colour');
SELECT svm_train_query('SELECT CASE WHEN id <> 7 THEN id END AS id, label, x FROM events', 'label', '{x}', 'wrong', solver => 'scan', key => 'id');
SELECT svm_train('events', 'colour', '{x, y}', 'wrong', solver => 'ocas', key => 'id', options => '{"multiclass": "crammer_singer"}');
SELECT count(*) AS none FROM svm_models WHERE name = 'wrong';
SELECT svm_drop(name) FROM svm_models;
DROP VIEW thirds;
DROP TABLE events, before, more, gone, six;
DROP FUNCTION duals_of, margins_of;
