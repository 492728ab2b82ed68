-- Kernel machines and interior points that begin near what another model decides.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET pgsvm.workers = 0;
DELETE FROM svm_model;
CREATE FUNCTION drawn(id int, k int) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT (hashint8extended(id, k) & 1048575) / 1048576.0 $$;
CREATE TABLE rings AS
SELECT id, radius * cos(angle) AS x, radius * sin(angle) AS y, CASE WHEN id % 2 = 0 THEN 'inner' ELSE 'outer' END AS ring, 'q' || (4 * angle / 6.2832)::int % 4 AS part,
    'c' || id % 3 AS colour, radius * cos(angle) + 0.8 * drawn(id, 3) > 0.4 AS side
FROM (SELECT i AS id, 1 + i % 2 + 1.4 * (drawn(i, 1) - 0.5) AS radius, 6.2831853 * drawn(i, 2) AS angle FROM generate_series(1, 1500) AS i) AS drawn;
CREATE VIEW later AS SELECT id, CASE WHEN id % 100 = 50 THEN -x ELSE x END AS x, y, ring, part, colour, side FROM rings WHERE id > 10;

-- the same training from nothing and near a model of slightly other rows: how many passes, or steps, each takes
CREATE PROCEDURE near(settings text, label text = 'ring', features text = '{x, y}') LANGUAGE plpgsql AS $$
DECLARE
    options jsonb = coalesce(substring(settings FROM 'options => ''(.*?)''')::jsonb, '{}');
    rest text = regexp_replace(settings, ',? *options => ''.*?''', '');
    call text = 'SELECT svm_train(%L, ''' || label || ''', ''' || features || ''', %L, ' || rest || ', options => %L)';
BEGIN
    EXECUTE format(call, 'rings', 'known', options || '{"inherit": false}');
    COMMIT;
    EXECUTE format(call, 'later', 'cold', options || '{"inherit": false}');
    COMMIT;
    EXECUTE format(call, 'later', 'warm', options || '{"inherit": false, "warm_start": "known"}');
END $$;
CREATE FUNCTION steps(model text) RETURNS bigint LANGUAGE sql AS $$ SELECT max(pass) FROM svm_training_log(model) $$;
CREATE VIEW found AS
SELECT w.gap BETWEEN 0 AND 1e-3 AS certified, abs(w.primal / c.primal - 1) < 2e-3 AS same_objective, steps('warm') < steps('cold') AS fewer, v.followed ? 'begun_from' AS from_nothing
FROM svm_models AS w, svm_models AS c, svm_versions AS v WHERE w.name = 'warm' AND c.name = 'cold' AND v.name = 'warm' AND v.version = w.version;
CALL near($$kernel => 'rbf', gamma => 1, c => 10, solver => 'interior_point', loss => 'hinge'$$);
SELECT * FROM found;
CALL near($$kernel => 'rbf', gamma => 1, c => 10, solver => 'interior_point', loss => 'hinge', options => '{"machines": "scans"}'$$);
SELECT * FROM found;
CALL near($$kernel => 'rbf', gamma => 1, c => 10, rank => 50, solver => 'newton', loss => 'squared_hinge'$$);
SELECT * FROM found;
CALL near($$kernel => 'rbf', gamma => 1, c => 10, rank => 50, solver => 'scan', loss => 'squared_hinge'$$);
SELECT certified, same_objective, from_nothing FROM found;
CALL near($$kernel => 'rbf', gamma => 1, c => 10, loss => 'hinge', options => '{"method": "low_rank"}'$$);
SELECT certified, same_objective, from_nothing FROM found;
CALL near($$kernel => 'rbf', gamma => 1, c => 10, loss => 'hinge', options => '{"method": "exact"}'$$);
SELECT certified, same_objective, from_nothing FROM found;
CALL near($$kernel => 'polynomial', degree => 2, coef0 => 1, loss => 'squared_hinge', options => '{"method": "exact"}'$$);
SELECT certified, same_objective, from_nothing FROM found;
-- hyperplanes, with sparse features too
CALL near($$solver => 'interior_point', loss => 'hinge', c => 10$$, features => '{x, y, colour}', label => 'side');
SELECT * FROM found;
CALL near($$solver => 'interior_point', loss => 'hinge', c => 10, options => '{"machines": "scans"}'$$, label => 'side');
SELECT * FROM found;
-- rows of unit length, and scaled otherwise
CALL near($$kernel => 'rbf', gamma => 4, c => 10, solver => 'interior_point', loss => 'hinge', options => '{"normalize_rows": true}'$$, label => 'side', features => '{x, y, colour}');
SELECT * FROM found;
SELECT svm_train('rings', 'ring', '{x, y}', 'known', kernel => 'rbf', gamma => 0.5, scale => 'none', loss => 'squared_hinge', options => '{"inherit": false, "method": "low_rank"}'),
    svm_train('rings', 'ring', '{x, y}', 'cold', kernel => 'rbf', gamma => 1, rank => 40, solver => 'newton', loss => 'squared_hinge', options => '{"inherit": false}');
SELECT svm_train('rings', 'ring', '{x, y}', 'warm', kernel => 'rbf', gamma => 1, rank => 40, solver => 'newton', loss => 'squared_hinge', options => '{"inherit": false, "warm_start": "known"}');
SELECT w.gap <= 1e-3 AS certified, abs(w.primal / c.primal - 1) < 2e-3 AS same_objective, w.passes < c.passes AS fewer FROM svm_models AS w, svm_models AS c WHERE w.name = 'warm' AND c.name = 'cold';
-- several classes: two by two, each against the rest, and a model that tells them apart otherwise
CALL near($$kernel => 'rbf', gamma => 1, c => 10, rank => 40, solver => 'newton', loss => 'squared_hinge'$$, label => 'part');
SELECT * FROM found;
CALL near($$kernel => 'rbf', gamma => 1, c => 10, rank => 40, solver => 'newton', loss => 'squared_hinge', options => '{"multiclass": "one_vs_rest"}'$$, label => 'part');
SELECT * FROM found;
CALL near($$kernel => 'rbf', gamma => 1, c => 10, solver => 'interior_point', loss => 'hinge'$$, label => 'part');
SELECT * FROM found;
SELECT svm_train('rings', 'part', '{x, y}', 'other', kernel => 'rbf', gamma => 1, c => 10, rank => 40, options => '{"multiclass": "one_vs_one", "warm_start": "warm"}');
SELECT followed FROM svm_versions WHERE name = 'other';
-- with a key of both, rows begin at their dual variables
SELECT svm_train('rings', 'ring', '{x, y}', 'keyed', kernel => 'rbf', gamma => 1, c => 10, key => 'id', loss => 'hinge', options => '{"method": "low_rank"}'),
    svm_train('later', 'ring', '{x, y}', 'keyed cold', kernel => 'rbf', gamma => 1, c => 10, key => 'id', loss => 'hinge', options => '{"method": "low_rank"}');
SELECT svm_train('later', 'ring', '{x, y}', 'keyed warm', kernel => 'rbf', gamma => 1, c => 10, key => 'id', loss => 'hinge', options => '{"method": "low_rank", "warm_start": "keyed"}');
SELECT v.followed, w.gap <= 1e-3 AS certified, abs(w.primal / c.primal - 1) < 2e-3 AS same_objective,
    (SELECT max(visits) FROM svm_training_log('keyed warm')) < (SELECT max(visits) FROM svm_training_log('keyed cold')) AS fewer
FROM svm_models AS w, svm_models AS c, svm_versions AS v WHERE w.name = 'keyed warm' AND c.name = 'keyed cold' AND v.name = 'keyed warm';

-- what a training cannot begin from
RESET client_min_messages;
SELECT svm_train('rings', 'ring', '{x, y}', 'bad', kernel => 'polynomial', options => '{"warm_start": "keyed"}');
SELECT svm_train('rings', 'ring', '{x, y}', 'bad', options => '{"warm_start": "keyed"}');
SELECT svm_train('rings', 'ring', '{x, y}', 'bad', solver => 'interior_point', loss => 'hinge', options => '{"warm_start": "keyed"}');
SELECT svm_train('rings', 'ring', '{x}', 'bad', kernel => 'rbf', options => '{"warm_start": "keyed"}');
SELECT svm_train('rings', 'ring', '{x, y}', 'bad', kernel => 'rbf', gamma => '{0.1,1}', options => '{"warm_start": "keyed"}');
SELECT svm_train('rings', 'ring', '{x, y}', 'bad', kernel => 'rbf', c => '{0.1,1}', options => '{"warm_start": "keyed"}');
