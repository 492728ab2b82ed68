-- svm_predict_query: what a model answers for the rows of a SELECT, which are read in batches, is what it answers row by row.
SET client_min_messages = error;
SET pgsvm.workers = 0;
DELETE FROM svm_model;
CREATE TABLE asked AS
SELECT i AS id, CASE WHEN i % 50 <> 7 THEN cos(i) * (1 + i % 2) + sin(i * i) / 9 END AS x, sin(i) * (1 + i % 2) AS y,
       CASE i % 3 WHEN 0 THEN 'red' WHEN 1 THEN 'green' END AS colour,
       CASE WHEN i % 6 > 0 THEN format('2:%s 7:%s', i % 5, i % 3) END AS entries,
       i % 2 AS ring, i % 4 AS quarter
FROM generate_series(1, 1000) AS i;

SELECT svm_train('asked', 'ring', '{x, y}', 'curve', kernel => 'rbf', rank => 30, nulls => 'mean', probability => true),
       svm_train('asked', 'ring', '{x, y}', 'exact', kernel => 'rbf', nulls => 'skip', options => '{"method": "exact"}'),
       svm_train('asked', 'quarter', '{x, y, colour}', 'quarters', kernel => 'rbf', rank => 20, nulls => 'zero'),
       svm_train('asked', 'ring', '{y, "libsvm(entries)"}', 'sparse', kernel => 'rbf', rank => 20, nulls => 'zero'),
       svm_train('asked', 'ring', '{x, y}', 'unit', kernel => 'rbf', rank => 20, nulls => 'mean', options => '{"normalize_rows": true}'),
       svm_train('asked', 'ring', '{x, y, colour}', 'line', nulls => 'mean', probability => true),
       svm_train('asked', 'quarter', '{x, y}', 'lines', nulls => 'skip', probability => true);

CREATE FUNCTION apart(model text, classes int) RETURNS TABLE (rows bigint, answered bigint, labels bigint, decision float8, probability float8)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY
    SELECT count(*), count(p.label), count(*) FILTER (WHERE p.label IS DISTINCT FROM svm_classify(model, a)),
           max(abs(p.decision - CASE classes WHEN 2 THEN svm_decision(model, a) ELSE svm_decision(model, a, p.label) END)),
           max(abs(p.probability - CASE classes WHEN 2 THEN svm_probability(model, a) ELSE svm_probability(model, a, p.label) END))
    FROM svm_predict_query(model, 'SELECT * FROM asked ORDER BY id DESC', 'id') AS p JOIN asked AS a ON a.id = p.row_key::int
    WHERE p.row_number = 1001 - a.id;
EXCEPTION WHEN object_not_in_prerequisite_state THEN
    RETURN QUERY
    SELECT count(*), count(p.label), count(*) FILTER (WHERE p.label IS DISTINCT FROM svm_classify(model, a)),
           max(abs(p.decision - CASE classes WHEN 2 THEN svm_decision(model, a) ELSE svm_decision(model, a, p.label) END)), NULL::float8
    FROM svm_predict_query(model, 'SELECT * FROM asked ORDER BY id DESC', 'id') AS p JOIN asked AS a ON a.id = p.row_key::int
    WHERE p.row_number = 1001 - a.id AND p.probability IS NULL;
END $$;
SELECT model, a.rows, a.answered, a.labels AS other_labels, a.decision < 1e-5 AS same_decisions, a.probability < 1e-5 AS same_probabilities
FROM (VALUES ('curve', 2), ('exact', 2), ('quarters', 4), ('sparse', 2), ('unit', 2), ('line', 2), ('lines', 4)) AS m (model, classes)
CROSS JOIN LATERAL apart(model, classes) AS a;

-- Without a key; of no rows; a query that joins, sorts and asks the same model itself; a constant.
SELECT row_number, row_key, label FROM svm_predict_query('line', 'SELECT 1 AS x, 1 AS y, ''red''::text AS colour');
SELECT count(*) FROM svm_predict_query('curve', 'SELECT * FROM asked WHERE false');
SELECT count(*), max(abs(decision - row_key::float8)) < 1e-5 AS same
FROM svm_predict_query('curve', 'SELECT a.x, a.y, svm_decision(''curve'', a) AS d FROM asked AS a JOIN asked AS b USING (id) ORDER BY a.y', 'd');
SELECT row_key, label IS NULL AS no_answer FROM svm_predict_query('exact', 'SELECT x, y, id FROM asked WHERE id IN (6, 7)', 'id') ORDER BY row_key;
SELECT count(*) FROM svm_predict_query(NULL, 'SELECT 1') AS a CROSS JOIN svm_predict_query('line', NULL) AS b;

-- Versions are named as elsewhere.
SELECT count(*) FROM svm_predict_query('curve@1', 'SELECT x, y FROM asked');

-- What is wrong.
SELECT * FROM svm_predict_query('nobody', 'SELECT 1');
SELECT * FROM svm_predict_query('line', 'SELECT x, y FROM asked');
SELECT * FROM svm_predict_query('line', 'SELECT x::text AS x, y, colour FROM asked');
SELECT * FROM svm_predict_query('line', 'SELECT * FROM asked', 'nokey');
SELECT * FROM svm_predict_query('line', 'SELECT * FROM nothing');
SELECT * FROM svm_predict_query('line', 'DELETE FROM asked');
SELECT * FROM svm_predict_query('line', 'SELECT 1; SELECT 2');
SELECT * FROM svm_predict_query('line', 'SELECT 1 / (500 - id) AS x, y, colour FROM asked');
SELECT svm_train_query('SELECT x, y, ring FROM asked WHERE x IS NOT NULL', 'ring', model => 'strict', kernel => 'rbf', rank => 10) IS NULL AS trained;
SET pgsvm.predict_nulls = 'error';
SELECT count(*) FROM svm_predict_query('strict', 'SELECT x, y FROM asked ORDER BY id');
RESET pgsvm.predict_nulls;
SELECT count(*), count(label) FROM svm_predict_query('strict', 'SELECT x, y FROM asked');

-- Rights are the caller's.
CREATE ROLE asker;
SELECT svm_grant('line', 'asker');
SET ROLE asker;
SELECT count(*) FROM svm_predict_query('line', 'SELECT * FROM asked');
SELECT count(*) FROM svm_predict_query('curve', 'SELECT 1 AS x, 2 AS y');
SELECT count(*) FROM svm_predict_query('line', 'SELECT 1 AS x, 2 AS y, NULL::text AS colour');
RESET ROLE;
SELECT svm_drop(name) FROM svm_models ORDER BY name;
DROP ROLE asker;
