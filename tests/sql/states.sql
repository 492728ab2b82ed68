-- what anybody may hand to the aggregates of scans: bytes made up, which say how long they are
SET client_min_messages = error;
CREATE ROLE regress_svm_anybody;
CREATE SCHEMA AUTHORIZATION regress_svm_anybody;
CREATE FUNCTION zeros(count int) RETURNS bytea LANGUAGE sql RETURN decode(repeat('00', count), 'hex');
-- what every order begins with, and a number of eight bytes as orders have it
CREATE FUNCTION marked(rest bytea) RETURNS bytea LANGUAGE sql RETURN '\x08'::bytea || 'svm_scan'::bytea
    || '\x05'::bytea || (SELECT extversion::bytea FROM pg_extension WHERE extname = 'pgsvm') || rest;
CREATE FUNCTION claims(number bigint) RETURNS bytea LANGUAGE sql RETURN '\xfd'::bytea
    || (SELECT string_agg(substring(int8send(number) FROM place FOR 1), '' ORDER BY place DESC) FROM generate_series(1, 8) AS place);
CREATE FUNCTION tried(call text, given bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    found text;
BEGIN
    EXECUTE call INTO found USING given;
    RETURN 'taken';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SET ROLE regress_svm_anybody;

-- the job's SELECT, a list of texts, and a text in that list that are longer than there is memory
CREATE TEMP TABLE orders AS
SELECT what, size, marked(before || claims(size) || zeros(behind)) AS told
FROM (VALUES ('text', ''::bytea), ('list', '\x0000'), ('text in a list', '\x000001')) AS place (what, before),
    unnest(ARRAY[1::bigint << 31, 1::bigint << 40, 140737488355328, 9223372036854775807]) AS size,
    unnest(ARRAY[0, 5000]) AS behind;
SELECT what, tried('SELECT svm_internal.svm_scan($1, 1.0)', told) AS scan,
    tried('SELECT svm_internal.svm_scan_rows($1, ROW(1.0))', told) AS rows, count(*)
FROM orders GROUP BY 1, 2, 3 ORDER BY 1 DESC;

-- states: of a kind that there is not, lists longer than their bytes, none at all, bytes behind the end
CREATE AGGREGATE regress_svm_anybody.joined(bytea) (SFUNC = svm_internal.svm_scan_rows_combine, STYPE = bytea);
SELECT what, tried('SELECT svm_internal.svm_scan_join(part) FROM unnest(ARRAY[$1, $1]) AS part', state) AS scan_join,
    tried('SELECT regress_svm_anybody.joined(part) FROM unnest(ARRAY[$1, $1]) AS part', state || '\x0000') AS joined
FROM (VALUES
    (1, 'nothing', '\x00'::bytea), (2, 'no bytes', ''), (3, 'bytes behind', '\x0000'), (4, 'no kind', '\x0107'),
    (5, 'a long list', '\x0101' || claims(1::bigint << 40)), (6, 'a long list with bytes', '\x0101' || claims(1::bigint << 40) || zeros(5000)),
    (7, 'many heads of nothing', '\x0101fb8813' || zeros(5000)),
    -- sums of Newton's method over rows without a value: a matrix of no columns, by whose width was divided
    (8, 'a matrix of nothing', '\x0101010000'::bytea || zeros(36) || zeros(36) || zeros(37) || '\x010000' || zeros(19) || zeros(3)),
    (9, 'sums of nothing', '\x0101010000'::bytea || zeros(36) || zeros(36) || zeros(37) || '\x00' || zeros(19) || zeros(3)),
    -- a product of no columns, bins of which there are none, and planes of no weights
    (10, 'a product of nothing', '\x010101000100' || zeros(3)), (11, 'a line of nothing', '\x0101010002' || zeros(18) || zeros(3)),
    (12, 'planes of nothing', '\x01010101' || zeros(50)), (13, 'averages of nothing', '\x010200000000')
) AS made (place, what, state) ORDER BY place;

-- small bytes do not become large values: 5000 lists of nothing, 24 bytes each, and as many heads, 80
SELECT tried('SELECT svm_internal.svm_scan($1, 1.0)', marked('\x0000fb8813' || zeros(5000)));

-- the parts of aggregates are for their owner alone, but for those that Citus calls by itself
SELECT svm_internal.svm_has_rights_of('postgres');
\echo :LAST_ERROR_SQLSTATE
CREATE AGGREGATE regress_svm_anybody.taken(boolean, boolean) (SFUNC = svm_internal.svm_ranking_combine, STYPE = internal);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_internal.svm_scan_rows_combine('\x00', '\x00');
\echo :LAST_ERROR_SQLSTATE
-- aggregates over them go on
SELECT (svm_metrics(i % 2, i % 3)).rows, svm_auc(i, i > 3), svm_log_loss(0.5, i > 3) IS NOT NULL FROM generate_series(1, 9) AS i;
RESET ROLE;
SELECT p.oid::regprocedure FROM pg_proc AS p WHERE p.pronamespace = 'svm_internal'::regnamespace
    AND has_function_privilege('regress_svm_anybody', p.oid, 'EXECUTE') ORDER BY p.proname COLLATE "C", p.pronargs;

-- a training under a name that is taken says by whom only to who may see that model
CREATE TABLE points AS SELECT i AS x, i > 5 AS y FROM generate_series(1, 10) AS i;
GRANT SELECT ON points TO regress_svm_anybody;
SELECT svm_train('points', 'y', model => 'hidden');
SET ROLE regress_svm_anybody;
SELECT svm_train('points', 'y', model => 'hidden');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_drop('hidden');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_internal.svm_model_owner('hidden');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_internal.svm_is_taken('hidden'), svm_internal.svm_is_taken('free');
RESET ROLE;
SELECT svm_grant('hidden', 'regress_svm_anybody');
SET ROLE regress_svm_anybody;
SELECT regexp_replace(tried('SELECT svm_train(''points'', ''y'', model => ''hidden'')', NULL), 'role ".*"', 'role "…"');
RESET ROLE;
SELECT svm_drop('hidden');
DROP OWNED BY regress_svm_anybody;
DROP ROLE regress_svm_anybody;

-- what an index says that is not so: numbers of another width, none, bytes of others
SELECT svm_index('points', ARRAY['x'], 'kept');
SELECT tried('SELECT svm_train(''points'', ''y'', ARRAY[''x''], ''by index'', options => ''{"index": "kept"}'')', NULL);
UPDATE svm_index SET lengths = '{2}';
UPDATE svm_index_chunk SET numbers = '\x00' || zeros(80) WHERE part = 0;
SELECT tried('SELECT svm_train(''points'', ''y'', ARRAY[''x''], ''by index'', options => ''{"index": "kept"}'')', NULL);
UPDATE svm_index SET lengths = '{2147483647}';
SELECT tried('SELECT svm_train(''points'', ''y'', ARRAY[''x''], ''by index'', options => ''{"index": "kept"}'')', NULL);
UPDATE svm_index SET lengths = '{1}';
UPDATE svm_index_chunk SET numbers = '\x0200000000';
SELECT tried('SELECT svm_train(''points'', ''y'', ARRAY[''x''], ''by index'', options => ''{"index": "kept"}'')', NULL);
UPDATE svm_index_chunk SET numbers = '', tuples = zeros(80);
SELECT tried('SELECT svm_train(''points'', ''y'', ARRAY[''x''], ''by index'', options => ''{"index": "kept"}'')', NULL);
SELECT tried('SELECT svm_refresh_index(''kept'')', NULL);
