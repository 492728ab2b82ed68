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
DROP FUNCTION equal, objective;
DROP TABLE weighed, repeated, weighed_in_order;
DELETE FROM svm_model;
