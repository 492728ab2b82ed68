-- Rows to train on and rows to evaluate with, by their keys.
-- for ever the same
SELECT string_agg(svm_split(i, 0.5)::int::text, '' ORDER BY i) AS half, string_agg(svm_split(i, 0.5, 1)::int::text, '' ORDER BY i) AS other_seed,
    string_agg(svm_split('key ' || i)::int::text, '' ORDER BY i) AS usual FROM generate_series(1, 64) AS i;
-- by the key's text, whatever its type
SELECT count(*) FILTER (WHERE svm_split(i) <> svm_split(i::bigint) OR svm_split(i) <> svm_split(i::text) OR svm_split(i) <> svm_split(i::numeric)
    OR svm_split(i) <> svm_split(i::text::varchar) OR svm_split(i) <> svm_split(i::text::name)) AS differ FROM generate_series(-500, 500) AS i;
SELECT svm_split('a literal'), svm_split('a literal', 1), svm_split('a literal', 0), svm_split(DATE '2026-01-31', share => 0.99), svm_split('2026-01-31', share => 0.99);
-- as many as asked for, whatever the seed, and two seeds have nothing to do with each other
SELECT share, seed, round(avg(svm_split(i, share, seed)::int), 2) AS found
FROM generate_series(1, 20000) AS i, unnest(ARRAY[0, 0.1, 0.5, 0.8, 1]) AS share, unnest(ARRAY[0, 7, -1]) AS seed GROUP BY share, seed ORDER BY share, seed;
SELECT round(avg((svm_split(i, 0.5) = svm_split(i, 0.5, 1))::int), 2) AS together, bool_and(svm_split(i, 0.6) OR NOT svm_split(i, 0.5)) AS larger_keeps
FROM generate_series(1, 20000) AS i;
SELECT svm_split(NULL::int), svm_split(NULL::text), svm_split(1, NULL), svm_split(1, 0.5, NULL);
-- an index may hold it
CREATE TABLE keyed AS SELECT i AS id, i % 2 = 0 AS even FROM generate_series(1, 100) AS i;
CREATE INDEX ON keyed (id) WHERE svm_split(id);
ALTER TABLE keyed ADD train boolean GENERATED ALWAYS AS (svm_split(id)) STORED;
SELECT count(*) FILTER (WHERE train) = count(*) FILTER (WHERE svm_split(id)) AS same, count(*) FILTER (WHERE train) BETWEEN 70 AND 90 AS most FROM keyed;
DROP TABLE keyed;
SELECT svm_split(1, 1.5);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_split(1, 'NaN');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_split(1, -0.1);
\echo :LAST_ERROR_SQLSTATE
