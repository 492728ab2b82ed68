-- A row of weight 3 is three rows, in all that is learned of the rows: the same objective, to the ninth digit.
\set SHOW_CONTEXT never
-- unscaled columns are not certain to the ninth digit
SET client_min_messages = error;
CREATE TABLE weighed AS
    SELECT 3 + hashint4(i) / 2e9 AS a, 1e4 * hashint4(i + 10000) / 2e9 AS b, CASE WHEN i % 7 > 0 THEN hashint4(-i) / 2e9 END AS c, 'k' || i % 5 AS kind,
        format('1:%s %s:1', i % 4 + 1, 2 + i % 9) AS entries, 1 + (i * 7) % 4 AS w,
        hashint4(i) / 2e9 + hashint4(i + 10000) / 4e9 + hashint4(i + 20000) / 3e9 > .4 AS y, abs(hashint4(i) / 2 + hashint4(i + 20000) / 3) % 3 AS z
    FROM generate_series(1, 400) AS i;
CREATE TABLE repeated AS SELECT weighed.*, t FROM weighed, generate_series(1, w) AS t ORDER BY a, t;
-- the same row comes first, by which 32-bit numbers are kept
CREATE TABLE weighed_in_order AS SELECT * FROM weighed ORDER BY a;

CREATE FUNCTION objective(training text) RETURNS float8 LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE training;
    RETURN primal FROM svm_models WHERE name = 'm';
END $$;
CREATE FUNCTION equal(label text, arguments text) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN abs(one / other - 1) < 1e-9 THEN 'equal' ELSE format('%s and %s', one, other) END
    FROM objective(format('SELECT svm_train(''weighed_in_order'', %L, features => ''{a,b,c,kind,libsvm(entries)}'', model => ''m'', weight => ''w'',
            tolerance => 1e-11, max_passes => 10000, options => ''{"inherit": false}'', %s)', label, arguments)) AS one,
        objective(format('SELECT svm_train(''repeated'', %L, features => ''{a,b,c,kind,libsvm(entries)}'', model => ''m'',
            tolerance => 1e-11, max_passes => 10000, options => ''{"inherit": false}'', %s)', label, arguments)) AS other
$$;
SELECT label, nulls, scale, class_weight,
    equal(label, format('solver => ''newton'', nulls => %L, scale => %L, class_weight => %L', nulls, scale, class_weight))
FROM unnest('{y,z}'::text[]) AS label, unnest('{mean,skip,zero}'::text[]) AS nulls, unnest('{standard,none,maxabs,minmax}'::text[]) AS scale,
    unnest(ARRAY['balanced', NULL]) AS class_weight;
-- weights of classes are no rows
SELECT equal('y', $$solver => 'newton', nulls => 'mean', class_weight => '{"true": 3}'$$);
-- by every way that rows are read
SELECT way, equal('y', way || $$, nulls => 'mean', class_weight => 'balanced'$$)
FROM unnest(ARRAY[$$solver => 'scan'$$, $$solver => 'indexed'$$, $$solver => 'block'$$, $$solver => 'stream'$$]) AS way;
SET pgsvm.cache_size = '64kB';
SELECT equal('y', $$solver => 'newton', nulls => 'mean', class_weight => 'balanced'$$);
RESET pgsvm.cache_size;
-- buckets and splines
SELECT abs(objective($$SELECT svm_train('weighed_in_order', 'y', ARRAY['bucket(a, 6)', 'spline(b, 4)'], 'm', weight => 'w', solver => 'newton', tolerance => 1e-11)$$)
    / objective($$SELECT svm_train('repeated', 'y', ARRAY['bucket(a, 6)', 'spline(b, 4)'], 'm', solver => 'newton', tolerance => 1e-11, options => '{"inherit": false}')$$) - 1) < 1e-9;
-- balanced: n / (K n_k) of the weights, within the digits that a factor keeps
SELECT abs(objective($$SELECT svm_train('weighed_in_order', 'y', '{a,b}', 'm', weight => 'w', class_weight => 'balanced', solver => 'newton', tolerance => 1e-11, options => '{"inherit": false}')$$)
    / objective(format($$SELECT svm_train('weighed_in_order', 'y', '{a,b}', 'm', weight => 'w', class_weight => %L, solver => 'newton', tolerance => 1e-11, options => '{"inherit": false}')$$,
        (SELECT jsonb_object_agg(y, s / 2 * 1.0 / n) FROM (SELECT y, sum(w) AS n, sum(sum(w)) OVER () AS s FROM weighed GROUP BY y) AS sizes))) - 1) < 1e-6;
-- what weights of rows and of classes lose together in 32 bits, and what the factors of balanced classes do: as docs/reference/certificate.md says
CREATE TABLE rounded AS SELECT (3 + hashint4(i) / 2e9)::real::float8 AS a, (hashint4(i + 10000) / 2e9)::real::float8 AS b, 0.01 + 3 * (hashint4(i + 30000) / 4e9 + 0.55) AS w,
    CASE WHEN hashint4(i) / 2e9 + hashint4(i + 10000) / 4e9 + hashint4(i + 20000) / 3e9 > .3 THEN 'yes' ELSE 'no' END AS y FROM generate_series(1, 1000) AS i;
SELECT svm_train('rounded', 'y', '{a,b}', 'named', weight => 'w', class_weight => '{"yes": 1.3, "no": 0.77}', scale => 'none', loss => 'squared_hinge', tolerance => 1e-8),
    svm_train('rounded', 'y', '{a,b}', 'balanced', weight => 'w', class_weight => 'balanced', scale => 'none', loss => 'squared_hinge', tolerance => 1e-8);
WITH classes (model, y, counts) AS (
    VALUES ('named', 'yes', 1.3), ('named', 'no', 0.77) UNION ALL SELECT 'balanced', y, (sum(sum(w)) OVER ())::float8 / (2 * sum(w)) FROM rounded GROUP BY y
), computed AS (
    SELECT model, 0.5 * ((SELECT intercept ^ 2 FROM svm_head WHERE version_id = min(id)) + (SELECT sum(u ^ 2) FROM svm_weight, unnest(weights) AS u WHERE version_id = min(id)))
        + sum(w * counts * greatest(0, 1 - CASE y WHEN 'yes' THEN 1 ELSE -1 END * svm_decision(model, r)) ^ 2) AS primal
    FROM rounded AS r JOIN classes USING (y), svm_internal.svm_version_id(model) AS id GROUP BY model
)
SELECT model, abs(computed.primal / stored.primal - 1) < CASE model WHEN 'named' THEN 1e-7 ELSE 1.1e-6 END AS as_said FROM computed JOIN svm_models AS stored ON stored.name = model ORDER BY model;
DROP TABLE rounded;
DROP FUNCTION equal, objective;
DROP TABLE weighed, repeated, weighed_in_order;
DELETE FROM svm_model;
