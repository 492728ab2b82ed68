-- Rows as a model was trained on such, in LIBSVM's form.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE TABLE buyers AS
SELECT i, i % 4 AS visits, (i % 3) / 2.0 AS share, CASE WHEN i % 4 <> 1 THEN 'c' || i % 3 END AS city, 'offer ' || i % 2 || 'x' AS body, i % 4 + i % 3 > 2 AS bought
FROM generate_series(1, 60) AS i;
SELECT svm_train('buyers', 'bought', '{visits,share,city,text(body)}', 'raw', nulls => 'zero', scale => 'none');
SELECT * FROM svm_export_rows('raw', 'buyers') LIMIT 5;

-- the same features as svm_expand tells, with the same numbers
CREATE FUNCTION line_of(model text, example buyers, label text) RETURNS text LANGUAGE sql AS $$
    SELECT label || coalesce(string_agg(' ' || "position" || ':' || value, '' ORDER BY "position"), '')
    FROM svm_expand(model, example)
$$;
CREATE FUNCTION numbers(line text) RETURNS float8[] LANGUAGE sql AS $$
    SELECT array_agg(round(number::numeric, 6)::float8 ORDER BY at) FROM regexp_split_to_table(line, '[ :]') WITH ORDINALITY AS n (number, at)
$$;
SELECT count(*), bool_and(numbers(line) = numbers(line_of('raw', b, CASE WHEN bought THEN '+1' ELSE '-1' END))) AS same
FROM svm_export_rows('raw', 'buyers') JOIN (SELECT row_number() OVER () AS row_number, b FROM buyers AS b) AS b USING (row_number), LATERAL (SELECT (b.b).*) AS s;
-- dense features as they were scaled
SELECT svm_train('buyers', 'bought', '{visits,share,city}', 'scaled', nulls => 'zero');
SELECT line FROM svm_export_rows('scaled', 'buyers') LIMIT 3;
SELECT line FROM svm_export_rows('scaled', 'buyers', scaled => false) LIMIT 3;
SELECT abs(sum(x[1])) < 1e-9 AS mean_0, round(sum(x[1] ^ 2)) AS squares
FROM (SELECT ARRAY[substring(line FROM ' 1:([^ ]*)')::float8] AS x FROM svm_export_rows('scaled', 'buyers')) AS s;
SELECT svm_train('buyers', 'bought', '{visits,share,city}', 'unit', nulls => 'zero', options => '{"normalize_rows": true}');
SELECT bool_and(abs(1 - (SELECT sum(split_part(pair, ':', 2)::float8 ^ 2) FROM regexp_split_to_table(line, ' ') WITH ORDINALITY AS p (pair, at) WHERE at > 1)) < 1e-6) AS length_1
FROM svm_export_rows('unit', 'buyers');

-- a kernel machine's rows as it compares them, whatever the scale
SELECT svm_train('buyers', 'bought', '{visits,share,city}', 'curved', nulls => 'zero', kernel => 'rbf', scale => 'minmax');
SELECT bool_and(abs(substring(line FROM ' 1:([^ ]*)')::float8 - (visits - least) * factor) < 1e-9) AS scaled
FROM (SELECT row_number() OVER () AS row_number, visits FROM buyers) AS b JOIN svm_export_rows('curved', 'buyers') USING (row_number),
    (SELECT (features #>> '{kernel,scaling,centre,0}')::float8 AS least, (features #>> '{kernel,scaling,factor,0}')::float8 AS factor
     FROM svm_version AS v JOIN svm_model AS m ON m.id = v.model_id WHERE name = 'curved') AS s
WHERE substring(line FROM ' 1:') IS NOT NULL;

-- which rows, and their labels
SELECT svm_train('buyers', 'bought', '{visits,city}', 'strict', nulls => 'skip', scale => 'none');
SELECT count(*) = (SELECT count(*) FROM buyers WHERE city IS NOT NULL) AS complete FROM svm_export_rows('strict', 'buyers');
CREATE VIEW in_cities AS SELECT visits, share, city FROM buyers WHERE city IS NOT NULL;
SELECT svm_train('in_cities', 'city', '{visits,share}', 'cities', scale => 'none');
SELECT left(line, 1) AS class, count(*) FROM svm_export_rows('cities', 'in_cities') GROUP BY 1 ORDER BY 1;
CREATE TABLE others AS SELECT * FROM (VALUES (1, 0.5, 'c1'), (2, 0.25, 'elsewhere'), (3, 0, NULL), (0, 0, 'c2')) AS v (visits, share, town);
SELECT * FROM svm_export_rows('cities', 'others', 'town');
CREATE TABLE documents AS SELECT town, jsonb_build_object('visits', visits, 'share', share) AS doc FROM others;
SELECT * FROM svm_export_rows('cities', 'documents', 'town', 'doc');

-- a file comes back as a table
SELECT svm_load_libsvm('came_back', content => (SELECT string_agg(line, E'\n' ORDER BY row_number) FROM svm_export_rows('raw', 'buyers')));
SELECT svm_train('came_back', 'label', '{"sparse(idx, val)"}', 'again');
SELECT abs(one.primal - other.primal) < 2e-3 * one.primal AS same FROM svm_models AS one, svm_models AS other WHERE one.name = 'raw' AND other.name = 'again';

-- with the caller's rights
CREATE ROLE pgsvm_reader;
SELECT svm_grant('raw', 'pgsvm_reader');
GRANT SELECT (visits, share, city, body) ON buyers TO pgsvm_reader;
SET ROLE pgsvm_reader;
SELECT count(*) FROM svm_export_rows('raw', 'buyers');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
GRANT SELECT (bought) ON buyers TO pgsvm_reader;
SET ROLE pgsvm_reader;
SELECT count(*) FROM svm_export_rows('raw', 'buyers');
RESET ROLE;
DROP OWNED BY pgsvm_reader;
DROP ROLE pgsvm_reader;

-- what is wrong
SELECT svm_export_rows('nobody', 'buyers');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_export_rows(NULL, 'buyers');
SELECT svm_export_rows('raw', NULL);
SELECT svm_export_rows('raw', 'others');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('buyers', 'bought', '{visits,share}', 'maxabs', scale => 'maxabs');
SELECT svm_export_rows('maxabs', 'buyers');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM svm_export_rows('maxabs', 'buyers', scaled => false);
