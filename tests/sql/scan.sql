-- Training by scans: the same optimum as by rows that are kept, with whatever features, weights, classes and NULLs; what it
-- does not take; that rows are gone over in parallel; and that its aggregate is for nobody else.
SET client_min_messages = warning;
SET pgsvm.workers = 0;
DELETE FROM svm_model;
CREATE FUNCTION drawn(id int, k int) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT (hashint8extended(id, k) & 1048575) / 1048576.0 $$;
CREATE TABLE points AS
SELECT i AS id, (drawn(i, 1) * 1000)::real AS metres, drawn(i, 2) - 0.5 AS tilt, 7.0 AS same, (drawn(i, 4) * 4)::int AS kind,
       (ARRAY['red', 'green', 'blue'])[1 + i % 3] AS colour, ARRAY[drawn(i, 5), drawn(i, 6) * 100] AS both,
       CASE WHEN i % 50 > 0 THEN drawn(i, 7) END AS holes, 1 + i % 3 AS counts,
       '1:' || round(drawn(i, 8)::numeric, 3) || ' ' || (2 + i % 40) || ':1' AS words,
       drawn(i, 1) + drawn(i, 2) + drawn(i, 3) / 2 > 1.2 AS side
FROM generate_series(1, 20000) AS i;
ANALYZE points;

CREATE TABLE cases (name text, features text[], more text);
INSERT INTO cases VALUES
    ('columns', '{metres, tilt, same}', ''), ('raw', '{metres, tilt}', ', scale => ''none'''), ('minmax', '{metres, both}', ', scale => ''minmax'', c => 100'),
    ('array', '{both, tilt}', ', c => 0.01'), ('category', '{metres, colour}', ''), ('sparse', '{libsvm(words)}', ', scale => ''none'''),
    ('maxabs', '{libsvm(words), tilt}', ', scale => ''maxabs'''), ('mean', '{metres, holes, colour}', ', nulls => ''mean'''),
    ('skip', '{metres, holes}', ', nulls => ''skip'''), ('zero', '{metres, holes}', ', nulls => ''zero'''),
    ('weighted', '{metres, tilt}', ', weight => ''counts'''), ('balanced', '{metres, tilt}', ', class_weight => ''balanced'''),
    ('classes', '{metres, tilt}', ', class_weight => ''{"true": 3}'''),
    ('free', '{metres, tilt}', ', options => ''{"intercept": "free"}'''), ('through_0', '{metres, tilt}', ', intercept => false');
DO $$
DECLARE one record; solver text;
BEGIN
    FOR one IN TABLE cases LOOP
        FOREACH solver IN ARRAY '{scan, newton}'::text[] LOOP
            EXECUTE format('SELECT svm_train(''points'', ''side'', %L, model => %L, solver => %L, tolerance => 1e-6 %s)',
                           one.features, solver || '_' || one.name, solver, one.more);
        END LOOP;
    END LOOP;
END $$;
SELECT c.name, s.solver, s.stop_reason, s.gap BETWEEN 0 AND 1e-6 AS certified, s.passes <= 5 AS soon, abs(s.primal - n.primal) <= 2e-6 * n.primal AS same,
       abs(s.training_accuracy - n.training_accuracy) <= 1e-3 AS as_good, s.features = n.features AS columns, s.rows_used = n.rows_used AS rows
FROM cases AS c JOIN svm_models AS s ON s.name = 'scan_' || c.name JOIN svm_models AS n ON n.name = 'newton_' || c.name ORDER BY c.name;
SELECT count(*) AS differ FROM points AS p WHERE svm_predict('scan_mean', p) <> svm_predict('newton_mean', p);

-- The hinge, with little room too: rows near the margin are held, all others summed up.
DO $$
DECLARE one record; solver text;
BEGIN
    FOR one IN TABLE cases LOOP
        CONTINUE WHEN one.name = 'free';
        FOREACH solver IN ARRAY '{scan, stream}'::text[] LOOP
            EXECUTE format('SELECT svm_train(''points'', ''side'', %L, model => %L, solver => %L, loss => ''hinge'' %s)',
                           one.features, 'hinge_' || solver || '_' || one.name, solver, one.more);
        END LOOP;
    END LOOP;
END $$;
SELECT c.name, s.solver, s.stop_reason, s.gap BETWEEN 0 AND 1e-3 AS certified, s.passes <= 30 AS soon, s.primal / n.primal BETWEEN 0.998 AND 1.002 AS same,
       s.dual <= n.primal * (1 + 1e-9) AS dual_below, abs(s.training_accuracy - n.training_accuracy) < 0.005 AS as_good
FROM cases AS c JOIN svm_models AS s ON s.name = 'hinge_scan_' || c.name JOIN svm_models AS n ON n.name = 'hinge_stream_' || c.name ORDER BY c.name;
SET pgsvm.cache_size = '1MB';
SELECT svm_train('points', 'side', '{metres, tilt, both}', 'little', solver => 'scan', loss => 'hinge');
RESET pgsvm.cache_size;
SELECT name, stop_reason, gap BETWEEN 0 AND 1e-3 AS certified FROM svm_models WHERE name = 'little';
SELECT max(cache_rows) BETWEEN 1 AND 20000 AS some_held FROM svm_training_log('little');

-- OCAS and cutting planes as published.
SELECT svm_train('points', 'side', '{metres, tilt}', 'ocas', solver => 'ocas', c => 0.001), svm_train('points', 'side', '{metres, tilt}', 'ocas_1', solver => 'ocas', c => 0.001, options => '{"lambda": 1}'),
       svm_train('points', 'side', '{metres, tilt}', 'planes', solver => 'cutting_plane', c => 0.001), svm_train('points', 'side', '{metres, tilt}', 'held', solver => 'scan', loss => 'hinge', c => 0.001);
SELECT m.name, m.solver, m.loss, m.stop_reason, m.gap BETWEEN 0 AND 1e-3 AS certified, m.primal / h.primal BETWEEN 0.998 AND 1.002 AS same
FROM svm_models AS m, svm_models AS h WHERE m.name IN ('ocas', 'ocas_1', 'planes', 'held') AND h.name = 'held' ORDER BY 1;

-- SVMperf's stop: what the mean loss may be lowered by.
SELECT svm_train('points', 'side', '{metres, tilt}', 'mean_loss', solver => solver, c => 0.001, loss => 'hinge', options => '{"stop": "svmperf"}') FROM unnest('{ocas, cutting_plane, scan}'::text[]) AS solver;
SELECT version, solver, stop_reason, (primal - dual) / (c * rows_used) BETWEEN 0 AND 1e-3 AS within, gap BETWEEN 0 AND 0.1 AS certified FROM svm_versions WHERE name = 'mean_loss' ORDER BY version;

-- Several classes in one scan each; what happened when.
SELECT svm_train('points', 'kind', '{metres, tilt, both}', 'kinds', solver => 'scan');
SELECT name, classes, stop_reason, gap <= 1e-3 AS certified, passes <= 12 AS soon FROM svm_models WHERE name = 'kinds';
SELECT count(*) = 1 + max(pass) AS a_line_a_scan, bool_and(cache_rows = 0) AS nothing_kept, max(rows_read) = 20000 * (1 + max(pass)) AS all_rows FROM svm_training_log('kinds');

-- What rows held out tell is found on the sample, here all rows: as of kept rows.
SELECT svm_train('points', 'side', '{metres, tilt}', 'chosen', solver => solver, loss => loss, c => NULL, probability => true) FROM unnest('{scan, stream}'::text[], '{hinge, hinge}'::text[]) AS of(solver, loss);
SELECT count(DISTINCT c) AS chosen, bool_and(probabilities) AS probabilities FROM svm_versions WHERE name = 'chosen';
SELECT svm_train('points', 'kind', '{metres, tilt, both}', 'likely', solver => 'scan', probability => true);
SELECT count(*), abs(sum(probability) - 1) < 1e-6 AS whole FROM points AS p, svm_predict_set('likely', p) WHERE id = 9;

-- A query, a view, partitions; in parallel, and with the plan that the planner takes.
CREATE VIEW seen AS SELECT metres, tilt, side FROM points WHERE id > 100;
CREATE TABLE parts (metres float8, tilt float8, side bool, id int) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (7000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (7000) TO (30000);
INSERT INTO parts SELECT metres, tilt, side, id FROM points WHERE id > 100;
ANALYZE parts;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;
SELECT svm_train('seen', 'side', '{metres, tilt}', 'seen', solver => 'scan', tolerance => 1e-6),
       svm_train('parts', 'side', '{metres, tilt}', 'parts', solver => 'scan', tolerance => 1e-6),
       svm_train_query('SELECT s.metres, s.tilt, s.side FROM seen AS s JOIN (SELECT 1 AS one) AS o ON true', 'side', '{metres, tilt}', model => 'joined', solver => 'scan', tolerance => 1e-6);
SELECT max(primal) <= min(primal) * (1 + 1e-6) AS same_objective, bool_and(gap <= 1e-6) AS certified FROM svm_models WHERE name IN ('seen', 'parts', 'joined');
EXPLAIN (COSTS off) SELECT svm_internal.svm_scan('\x00', side, metres, tilt) FROM points;
-- More columns than a call has room for go as rows, to an aggregate whose state travels as bytes; here by workers too.
SELECT svm_train_query(format('SELECT side, %s FROM points WHERE id <= 2000', string_agg(format('drawn(id, %s) AS x%s', n, n), ', ')), 'side', model => 'many', solver => 'scan', loss => loss, c => 0.01),
       svm_train_query(format('SELECT side, ARRAY[%s] AS x FROM points WHERE id <= 2000', string_agg(format('drawn(id, %s)', n), ', ')), 'side', model => 'one', solver => 'scan', loss => loss, c => 0.01)
FROM generate_series(1, 120) AS n, unnest('{squared_hinge, hinge}'::text[]) AS loss GROUP BY loss;
SELECT a.version, a.features, abs(a.primal / b.primal - 1) <= 1e-3 AS same FROM svm_versions AS a JOIN svm_versions AS b USING (version) WHERE (a.name, b.name) = ('many', 'one') ORDER BY version;
EXPLAIN (COSTS off) SELECT svm_internal.svm_scan_rows('\x00', ROW(side, metres, tilt)) FROM points;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; RESET max_parallel_workers_per_gather;

-- What it does not take says so, and what to do.
-- Whoever has rows may train on them alone, for the average of what they find: of one part it is the optimum.
SELECT svm_train('points', 'side', '{metres}', 'alone_' || loss, loss => loss, solver => 'scan', options => '{"machines": "average"}') FROM unnest('{hinge,squared_hinge}'::text[]) AS loss;
SELECT svm_train('points', 'side', '{metres}', 'alone_free_' || loss, loss => loss, solver => 'scan', options => '{"machines": "average", "intercept": "free"}') FROM unnest('{hinge,squared_hinge}'::text[]) AS loss;
SELECT name, passes, gap BETWEEN 0 AND 1e-3 AS near FROM svm_models WHERE name LIKE 'alone%' ORDER BY name;
\set ON_ERROR_STOP off
SELECT svm_train('points', 'side', '{metres}', 'no', solver => 'scan', options => '{"machines": 2}');
SELECT svm_train('points', 'side', '{metres}', 'no', solver => 'scan', options => '{"machines": "mean"}');
SELECT svm_train('points', 'side', '{metres}', 'no', options => '{"machines": "average"}');
SET pgsvm.cache_size = '64kB';
SELECT svm_train('points', 'side', '{metres}', 'no', solver => 'scan', options => '{"machines": "average"}');
RESET pgsvm.cache_size;
SET pgsvm.cache_size = '128kB';
SELECT svm_train_query('SELECT metres, id IN (7, 9000) AS side FROM points', 'side', model => 'no', solver => 'scan', c => NULL);
RESET pgsvm.cache_size;
SELECT svm_train('points', 'side', '{metres, tilt}', 'warm', solver => 'scan', options => '{"warm_start": "seen"}');
SELECT svm_train('points', 'side', '{metres}', 'no', solver => 'scan', options => '{"warm_start": "seen"}');
SELECT svm_train('points', 'side', '{metres, tilt}', 'off_norm_' || solver, solver => solver, loss => 'hinge', options => '{"intercept": "free"}') FROM unnest('{stream,scan}'::text[]) AS solver;
SELECT m.name, m.gap BETWEEN 0 AND 1e-3 AS certified, abs(m.primal / s.primal - 1) < 2e-3 AS same, m.stop_reason
FROM svm_models AS m, svm_models AS s WHERE m.name LIKE 'off_norm%' AND s.name = 'off_norm_stream' ORDER BY m.name;
SELECT svm_train('points', 'side', '{metres}', 'no', solver => 'ocas', loss => 'squared_hinge');
SELECT svm_train('points', 'side', '{metres}', 'no', solver => 'stream', loss => 'hinge', options => '{"stop": "svmperf"}');
SELECT svm_train('points', 'side', '{metres}', 'no', solver => 'scan', options => '{"stop": "svmperf"}');
SELECT svm_train('points', 'side', '{metres}', 'no', solver => 'scan', options => '{"lambda": 0.5}');
SELECT svm_train('points', 'side', '{metres}', 'no', solver => 'ocas', options => '{"lambda": 0}');
SELECT svm_train_query('SELECT metres + random() AS metres, side FROM points', 'side', model => 'no', solver => 'scan');
SELECT svm_train_query('SELECT metres, side FROM points FOR UPDATE', 'side', model => 'no', solver => 'scan');
-- What is wrong with rows is told as ever.
SELECT svm_train_query('SELECT metres, side FROM points WHERE false', 'side', model => 'no', solver => 'scan');
SELECT svm_train_query('SELECT metres, side FROM points WHERE side', 'side', model => 'no', solver => 'scan');
SELECT svm_train_query('SELECT metres, CASE WHEN id < 0 THEN side END AS side FROM points', 'side', model => 'no', solver => 'scan');
SELECT svm_train_query('SELECT NULLIF(id, 7) AS n, side FROM points', 'side', model => 'no', solver => 'scan', nulls => 'error');
SELECT svm_train_query('SELECT CASE WHEN id = 700 THEN ''Infinity'' ELSE metres END AS metres, side FROM points ORDER BY id', 'side', model => 'no', solver => 'scan');
SELECT svm_train_query('SELECT CASE WHEN id = 700 THEN array_append("both", 1) ELSE "both" END AS "both", side FROM points ORDER BY id', 'side', model => 'no', solver => 'scan');
SELECT svm_train_query('SELECT metres, side, -1 AS w FROM points', 'side', model => 'no', solver => 'scan', weight => 'w');
-- Its aggregate is part of it.
SELECT svm_internal.svm_scan(NULL, 1);
SELECT svm_internal.svm_scan('\x00', 1);
SELECT svm_internal.svm_scan(decode(repeat('08', 300), 'hex'), metres) FROM points;
SELECT svm_internal.svm_scan_rows(NULL, ROW(1));
SELECT svm_internal.svm_scan_rows('\x00', NULL);
SELECT svm_internal.svm_scan_rows('\x00', ROW(1));
SELECT svm_internal.svm_scan_rows(decode(repeat('08', 300), 'hex'), ROW(metres)) FROM points;
SELECT svm_internal.svm_scan_rows_add('\x00', '\x00', ROW(1));
SELECT svm_internal.svm_scan_rows_combine('\x00', '\x00');
CREATE AGGREGATE joined(bytea) (SFUNC = svm_internal.svm_scan_rows_combine, STYPE = bytea);
SELECT joined(part) FROM unnest('{"\\x00", "\\xff", "\\x"}'::bytea[]) AS part;
SELECT joined(part) IS NULL AS nothing FROM unnest('{NULL, NULL}'::bytea[]) AS part;

-- Where rows that stream miss the tolerance and scans finish, a free intercept stays free.
CREATE TABLE far AS SELECT 100 + i * 7919 % 97 / 10.0 AS a, 200 + i * 104729 % 89 / 10.0 AS b,
    i * 7919 % 97 > i * 104729 % 89 + (i % 13 - 6) * 5 AS y FROM generate_series(1, 300) AS i;
SET client_min_messages = error;
SELECT svm_train('far', 'y', model => 'goes_over', loss => 'hinge', scale => 'none', max_passes => 20, options => '{"intercept": "free"}'),
    svm_train('far', 'y', model => 'streams', loss => 'hinge', scale => 'none', solver => 'stream', options => '{"intercept": "free"}');
RESET client_min_messages;
SELECT o.solver, abs(o.primal / s.primal - 1) < 2e-3 AS same, o.dual < 1.0001 * s.primal AND s.dual < 1.0001 * o.primal AS below
FROM svm_models AS o, svm_models AS s WHERE o.name = 'goes_over' AND s.name = 'streams';
