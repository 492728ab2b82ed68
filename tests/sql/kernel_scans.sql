-- Kernel machines of low rank by scans: landmarks of a sample, rows mapped where they are scanned, and none kept.
SET client_min_messages = warning;
DELETE FROM svm_model;
CREATE FUNCTION drawn(id int, k int) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT (hashint8extended(id, k) & 1048575) / 1048576.0 $$;
CREATE TABLE circles AS
SELECT id, radius * cos(angle) AS x, radius * sin(angle) AS y, CASE WHEN radius < 1.5 THEN 'inner' ELSE 'outer' END AS ring,
       (4 * angle / 6.2832)::int % 4 AS quarter, 1 + (id % 3) AS cost
FROM (SELECT i AS id, 1 + i % 2 + 0.4 * (drawn(i, 1) - 0.5) AS radius, 6.2831853 * drawn(i, 2) AS angle
      FROM generate_series(1, 4000) AS i) AS drawn;
ANALYZE circles;

SELECT svm_train('circles', 'ring', '{x, y}', loss, kernel => 'rbf', gamma => 1, rank => 30, loss => loss, solver => 'scan')
FROM unnest('{hinge, squared_hinge}'::text[]) AS loss;
-- the same of rows that are kept, whose landmarks are others
SELECT svm_train('circles', 'ring', '{x, y}', loss || '_kept', kernel => 'rbf', gamma => 1, rank => 30, loss => loss, solver => 'stream')
FROM unnest('{hinge, squared_hinge}'::text[]) AS loss;
SELECT name, kernel, landmarks, training_accuracy > 0.99 AS good, gap BETWEEN 0 AND 1e-3 AS certified, left_out BETWEEN 0 AND 0.3 AS nearly_all
FROM svm_models ORDER BY name;
SELECT sum(greatest(0, 1 - (CASE ring WHEN 'outer' THEN 1 ELSE -1 END) * svm_decision('hinge', c)))
       <= (SELECT primal FROM svm_models WHERE name = 'hinge') AS losses_are_within FROM circles AS c;
-- classes, weights, a kernel of another kind, all kinds of landmarks, C and probabilities on the sample
SELECT svm_train('circles', 'quarter', '{x, y}', 'quarters', kernel => 'polynomial', degree => 2, coef0 => 1, solver => 'scan', weight => 'cost');
SELECT svm_train('circles', 'ring', '{x, y}', landmarks, kernel => 'rbf', gamma => 1, rank => 20, solver => 'scan',
                 options => jsonb_build_object('landmarks', landmarks))
FROM unnest('{pivots, drawn, uniform, centres}'::text[]) AS landmarks;
SELECT svm_train('circles', 'ring', '{x, y}', 'chosen', kernel => 'rbf', solver => 'scan', c => NULL, probability => true);
SELECT svm_train('circles', 'ring', '{x, y}', 'alone', kernel => 'rbf', gamma => 1, rank => 20, solver => 'scan', options => '{"machines": "average"}');
SELECT svm_train('circles', 'ring', '{x, y}', 'planes', kernel => 'rbf', gamma => 1, rank => 10, solver => 'ocas', tolerance => 0.01);
SELECT name, landmarks, training_accuracy > 0.95 AS good, gap BETWEEN 0 AND 1e-2 AS certified FROM svm_models
WHERE name IN ('quarters', 'pivots', 'drawn', 'uniform', 'centres', 'chosen', 'alone', 'planes') ORDER BY name;
SELECT bool_and(svm_probability('chosen', c, ring) > 0.5) AS all_likely FROM circles AS c;

-- PSVM by scans, where no machine holds rows, beside machines that do
SELECT svm_train('circles', 'ring', '{x, y}', 'by_scans_' || kernel, kernel => kernel, gamma => CASE kernel WHEN 'rbf' THEN 1.0 END, rank => 20,
                 solver => 'interior_point', tolerance => 1e-4, options => '{"machines": "scans"}')
FROM unnest('{rbf, linear}'::text[]) AS kernel;
SELECT svm_train('circles', 'ring', '{x, y}', 'by_machines_linear', kernel => 'linear', solver => 'interior_point', tolerance => 1e-4);
SELECT name, landmarks, solver, training_accuracy > 0.99 AS good, gap BETWEEN 0 AND 1e-4 AS certified FROM svm_models WHERE name LIKE 'by_%' ORDER BY name;
SELECT abs(one.primal / other.primal - 1) < 2e-4 AS alike FROM svm_models AS one, svm_models AS other
WHERE one.name = 'by_scans_linear' AND other.name = 'by_machines_linear';
SELECT count(*) > 5 AS scans, max(gap) AS largest, min(gap) <= 1e-4 AS arrived FROM svm_training_log('by_scans_rbf') WHERE event = 'pass';

-- What it does not take says so, and what to do.
\set ON_ERROR_STOP off
SELECT svm_train('circles', 'ring', '{x, y}', 'no', kernel => 'rbf', solver => 'scan', options => '{"method": "exact"}');
SELECT svm_cross_validate('circles', 'ring', features => '{x, y}', kernel => 'rbf', solver => 'scan', options => '{"gammas": [0.1, 1]}');
SELECT svm_train('circles', 'ring', '{x, y}', 'no', kernel => 'rbf', solver => 'scan', rank => 4001);
SELECT svm_train('circles', 'ring', '{x, y}', 'no', kernel => 'sigmoid', gamma => 1, coef0 => -5, solver => 'scan');
SELECT svm_train_query('SELECT CASE id WHEN 77 THEN 1e25 ELSE x END AS x, y, ring FROM circles', 'ring', model => 'no', kernel => 'polynomial', gamma => 1, scale => 'none', solver => 'scan');
SELECT svm_train('circles', 'ring', '{x, y}', 'no', kernel => 'rbf', solver => 'interior_point', options => '{"machines": "average"}');
SELECT svm_train('circles', 'ring', '{x, y}', 'no', solver => 'scan', options => '{"machines": "scans"}');
SELECT svm_train_query('SELECT sparse, ring FROM circles, LATERAL (SELECT array_agg(CASE i WHEN circles.id THEN 1 ELSE 0 END)::real[] AS sparse FROM generate_series(1, 4100) AS i) AS wide WHERE id <= 40', 'ring',
                       model => 'no', kernel => 'linear', scale => 'none', solver => 'interior_point', options => '{"machines": "scans"}');
SELECT count(*) FROM svm_models WHERE name = 'no';
