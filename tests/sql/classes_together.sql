-- Several classes told apart together by cutting planes (Crammer and Singer): one objective and one certificate, of which each class has an
-- equal part; where rows are here, by scans, and without a line search; what it does not take.
SET client_min_messages = warning;
SET pgsvm.workers = 0;
DELETE FROM svm_model;
CREATE FUNCTION drawn(id int, k int) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT (hashint8extended(id, k) & 1048575) / 1048576.0 $$;
CREATE TABLE kinds AS
SELECT id, x, y, ARRAY[x, y] AS both, 1 + id % 3 AS counts, (ARRAY['zero', 'one', 'two', 'three'])[1 + CASE WHEN id % 10 = 0 THEN drawn(id, 3) * 3 ELSE 1.5 + x + 0.7 * y END::int] AS kind,
       x + y > 0 AS side
FROM (SELECT id, 2 * drawn(id, 1) - 1 AS x, 2 * drawn(id, 2) - 1 AS y FROM generate_series(1, 20000) AS id) AS drawn;
ANALYZE kinds;

SELECT svm_train('kinds', 'kind', '{x, y}', 'here', c => 0.01, options => '{"multiclass": "crammer_singer"}'),
       svm_train('kinds', 'kind', '{x, y}', 'planes', solver => 'cutting_plane', c => 0.01, options => '{"multiclass": "crammer_singer"}'),
       svm_train('kinds', 'kind', '{both}', 'farther', solver => 'ocas', c => 0.01, options => '{"multiclass": "crammer_singer", "lambda": 1}');
SET pgsvm.cache_size = '256kB';
SELECT svm_train('kinds', 'kind', '{x, y}', 'scanned', solver => 'ocas', c => 0.01, options => '{"multiclass": "crammer_singer"}');
RESET pgsvm.cache_size;
SELECT m.name, m.solver, m.loss, m.classes, m.stop_reason, m.gap BETWEEN 0 AND 1e-3 AS certified, m.primal / h.primal BETWEEN 0.998 AND 1.002 AS same,
       m.dual <= h.primal AND h.dual <= m.primal AS duals_below, m.training_accuracy > 0.6 AS good
FROM svm_models AS m, svm_models AS h WHERE h.name = 'here' ORDER BY 1;
SELECT o.name, count(*) AS heads, max(h.primal) / min(h.primal) < 1 + 1e-12 AS equal_parts, abs(sum(h.primal) / v.primal - 1) < 1e-12 AS whole
FROM svm_head AS h JOIN svm_version AS v ON v.id = h.version_id JOIN svm_model AS o ON o.id = v.model_id GROUP BY o.name, v.primal ORDER BY 1;
SELECT count(*) = 1 + max(pass) AS a_line_a_scan, bool_and(cache_rows = 0) AS nothing_held FROM svm_training_log('scanned');

-- What is certified is so of the rows, by the weights that are stored; and those of all classes sum up to 0.
CREATE TABLE raw AS SELECT svm_train('kinds', 'kind', '{x, y}', 'raw', solver => 'ocas', c => 0.01, scale => 'none', weight => 'counts', class_weight => '{"zero": 2}', options => '{"multiclass": "crammer_singer"}');
WITH weights AS (
    SELECT class, sum(weight) FILTER (WHERE feature = 'x') AS x, sum(weight) FILTER (WHERE feature = 'y') AS y, sum(weight) FILTER (WHERE feature = '(intercept)') AS b
    FROM svm_weights('raw') GROUP BY class
), losses AS (
    SELECT k.id, k.counts * CASE kind WHEN 'zero' THEN 2 ELSE 1 END AS cost,
           max(CASE WHEN class <> kind THEN 1 + w.x * k.x + w.y * k.y + b ELSE 0 END) - sum(CASE WHEN class = kind THEN w.x * k.x + w.y * k.y + b ELSE 0 END) AS loss,
           max(w.x * k.x + w.y * k.y + b) AS most, max(CASE WHEN class = kind THEN w.x * k.x + w.y * k.y + b END) AS own
    FROM (SELECT id, counts, kind, x::float4::float8 AS x, y::float4::float8 AS y FROM kinds) AS k, weights AS w GROUP BY k.id, k.counts, k.kind
)
SELECT abs((SELECT sum(x * x + y * y + b * b) FROM weights) / 2 + 0.01 * sum(cost * greatest(losses.loss, 0)) - min(m.primal)) < 1e-9 * min(m.primal) AS objective,
       abs(avg((own >= most)::int) - min(m.training_accuracy)) < 1e-9 AS accuracy, (SELECT abs(sum(x)) + abs(sum(y)) + abs(sum(b)) < 1e-9 FROM weights) AS zero
FROM losses, svm_models AS m WHERE m.name = 'raw';
SELECT abs(e.accuracy - m.training_accuracy) < 1e-9 AS as_evaluated FROM svm_evaluate('here', 'kinds') AS e, svm_models AS m WHERE m.name = 'here';
SELECT split_part(svm_export('here'), E'\n', 1) AS written_as;

-- SVMperf's stop; balanced classes; a kernel's rows; two classes, which are told apart as ever.
SELECT svm_train('kinds', 'kind', '{x, y}', 'mean', solver => 'ocas', c => 0.01, options => '{"multiclass": "crammer_singer", "stop": "svmperf"}'),
       svm_train('kinds', 'kind', '{x, y}', 'balanced', solver => 'ocas', c => 0.01, class_weight => 'balanced', options => '{"multiclass": "crammer_singer"}'),
       svm_train('kinds', 'kind', '{x, y}', 'kernel', solver => 'ocas', c => 0.01, kernel => 'rbf', rank => 20, options => '{"multiclass": "crammer_singer"}'),
       svm_train('kinds', 'side', '{x, y}', 'two', solver => 'ocas', c => 0.01, options => '{"multiclass": "crammer_singer"}');
SELECT name, loss, classes, stop_reason, gap BETWEEN 0 AND CASE name WHEN 'mean' THEN 0.1 ELSE 1e-3 END AS certified, name <> 'mean' OR (primal - dual) / (c * rows_used) <= 1e-3 AS within
FROM svm_models WHERE name IN ('mean', 'balanced', 'kernel', 'two') ORDER BY 1;
SELECT k.training_accuracy >= h.training_accuracy AS as_good FROM svm_models AS k, svm_models AS h WHERE k.name = 'kernel' AND h.name = 'here';

-- What it does not take says so, and what to do.
\set ON_ERROR_STOP off
SELECT svm_train('kinds', 'kind', '{x}', 'no', solver => 'stream', loss => 'hinge', options => '{"multiclass": "crammer_singer"}');
SELECT svm_train('kinds', 'kind', '{x}', 'no', solver => 'stream', options => '{"multiclass": "crammer_singer"}');
SELECT svm_train('kinds', 'kind', '{x}', 'no', solver => 'ocas', options => '{"multiclass": "together"}');
SELECT svm_train('kinds', 'kind', '{x}', 'no', solver => 'ocas', c => NULL, options => '{"multiclass": "crammer_singer"}');
SELECT svm_train('kinds', 'kind', '{x}', 'no', solver => 'ocas', probability => true, options => '{"multiclass": "crammer_singer"}');
SELECT svm_train('kinds', 'kind', '{x}', 'no', solver => 'ocas', loss => 'squared_hinge', options => '{"multiclass": "crammer_singer"}');
SELECT svm_train('kinds', 'kind', '{x}', 'no', solver => 'ocas', key => 'id', options => '{"multiclass": "crammer_singer"}');
