-- with helpers, however many, the same rows give the same model bit for bit, and the same errors
\set VERBOSITY terse
\set SHOW_CONTEXT never
SET client_min_messages = error;
SET pgsvm.cache_size = '128MB';

CREATE FUNCTION weights(named text) RETURNS text LANGUAGE sql AS $$
    SELECT md5(string_agg(w.weights::text || v.intercept || v.primal || v.dual || v.rows_skipped || v.features::text, '|' ORDER BY w.head, w.first_feature))
    FROM svm_model m JOIN svm_version v ON v.model_id = m.id AND v.version = m.current_version JOIN svm_weight w ON w.version_id = v.id
    WHERE m.name = named
$$;
-- trains with no helper and with some, each row a way to divide the work: who plays the roles, and how many help
CREATE FUNCTION compared(source text, arguments text) RETURNS TABLE (workers int, helpers int, same boolean) LANGUAGE plpgsql AS $$
DECLARE
    first text;
BEGIN
    -- no training takes anything over from one of before
    DELETE FROM svm_model WHERE name = 'compared';
    FOREACH workers IN ARRAY ARRAY[1, 2] LOOP
        FOREACH helpers IN ARRAY ARRAY[0, 1, 2, 5] LOOP
            PERFORM set_config('pgsvm.helpers', helpers::text, true), set_config('pgsvm.workers', workers::text, true);
            EXECUTE format('SELECT svm_train(%L, ''label'', model => ''compared'', %s)', source, arguments);
            first := coalesce(first, weights('compared'));
            same := weights('compared') = first;
            RETURN NEXT;
        END LOOP;
    END LOOP;
END $$;

-- every form of value: by value, of fixed length, with a long header, a short one, compressed, out of line, NULL; rows that
-- are gone, and pages without rows
CREATE TYPE size AS ENUM ('small', 'large');
CREATE TABLE forms (id int, code uuid, label text, a float8, b numeric(12, 4), c boolean, d size, e name, f text, g timestamptz,
                    inline real[], pressed int[], afar real[]);
ALTER TABLE forms ALTER COLUMN afar SET STORAGE EXTERNAL;
INSERT INTO forms
SELECT i, md5(i::text)::uuid, CASE WHEN hashint4(i) > 0 THEN 'yes' ELSE 'no' END, CASE WHEN i % 11 > 0 THEN hashint4(i + 1) / 2e9 END,
       hashint4(i + 2) / 1e6, i % 5 = 0, (ARRAY['small', 'large'])[1 + i % 2]::size, 'colour ' || i % 9, repeat('word ', i % 6),
       timestamptz '2026-01-01 00:00+00' + i * interval '1 hour',
       ARRAY(SELECT hashint4(i * k) / 2e9 FROM generate_series(1, CASE WHEN i > 0 THEN 20 END) AS k),
       CASE WHEN i % 4 < 3 THEN ARRAY(SELECT k % 3 + i % 2 FROM generate_series(1, CASE WHEN i > 0 THEN 700 END) AS k) END,
       ARRAY(SELECT hashint4(i + k) / 2e9 FROM generate_series(1, CASE WHEN i > 0 THEN 600 END) AS k)
FROM generate_series(1, 9000) AS i;
DELETE FROM forms WHERE id % 7 = 0 OR id BETWEEN 2000 AND 3000;
SELECT pg_table_size('forms') > 16 * 1024 * 1024 AS large;
-- in the session itself, rows of which are expected to fit the cache
SELECT * FROM compared('forms', 'nulls => ''mean'', max_passes => 3, tolerance => 0.5');
SELECT * FROM compared('forms', 'nulls => ''skip'', max_passes => 3, tolerance => 0.5, probability => true') WHERE workers = 1;
SELECT * FROM compared('forms', 'nulls => ''zero'', max_passes => 3, tolerance => 0.5, key => ''id''') WHERE workers = 1;
SELECT * FROM compared('forms', 'nulls => ''zero'', max_passes => 3, tolerance => 0.5, key => ''code'', features => ARRAY[''a'', ''afar'']') WHERE workers = 1;
-- in workers, with rows that stream
SET pgsvm.min_parallel_size = 0;
SET pgsvm.cache_size = '1MB';
SELECT * FROM compared('forms', 'nulls => ''mean'', max_passes => 3, tolerance => 0.5, solver => ''block''');
RESET pgsvm.min_parallel_size;
SET pgsvm.cache_size = '128MB';

-- a model that follows its table reads it with helpers too
SELECT svm_train('forms', 'label', model => 'followed', nulls => 'zero', key => 'id', tolerance => 0.1);
DELETE FROM forms WHERE id BETWEEN 100 AND 200;
SELECT svm_refresh('followed');
SELECT followed->'rows' AS rows FROM svm_version ORDER BY trained_at DESC LIMIT 1;

-- expressions and filters, row-level security, rows of the same transaction
CREATE VIEW derived AS SELECT label, ln(2 + a) AS a, b * 2 AS b, e || '' AS e, inline, afar FROM forms WHERE f <> 'word ';
SELECT * FROM compared('derived', 'nulls => ''skip'', max_passes => 3, tolerance => 0.5') WHERE workers = 1;
ALTER TABLE forms ENABLE ROW LEVEL SECURITY;
CREATE POLICY half ON forms USING (id % 2 = 0);
CREATE ROLE regress_half;
GRANT SELECT ON forms TO regress_half;
SELECT count(*) AS visible FROM forms WHERE id % 2 = 0 AND a IS NOT NULL AND pressed IS NOT NULL \gset
BEGIN;
SET LOCAL ROLE regress_half;
SELECT svm_train('forms', 'label', model => 'half', nulls => 'skip', max_passes => 3, tolerance => 0.5);
SELECT rows_used = :visible AS only_visible_rows FROM svm_models WHERE name = 'half';
ROLLBACK;
BEGIN;
INSERT INTO forms SELECT * FROM forms WHERE id < 4000;
DELETE FROM forms WHERE id > 8000;
SELECT count(*) AS present FROM forms \gset
SELECT svm_train('forms', 'label', model => 'own', nulls => 'zero', max_passes => 3, tolerance => 0.5);
SELECT rows_used = :present AS own_rows FROM svm_models WHERE name = 'own';
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT svm_train('forms', 'label', model => 'own', nulls => 'zero', max_passes => 3, tolerance => 0.5);
COMMIT;
DROP OWNED BY regress_half;
DROP ROLE regress_half;

-- partitions: one with its columns in another order, one with columns that came later, one without rows, one with partitions
-- of its own; those of them that a query needs, as it is planned and as it starts
CREATE TABLE parts (LIKE forms) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (2000);
CREATE TABLE parts_2 (afar real[], gone text, label text, id int, code uuid, a float8, b numeric(12, 4), c boolean, d size, e name,
                      f text, g timestamptz, pressed int[], inline real[]);
ALTER TABLE parts_2 DROP COLUMN gone;
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (2000) TO (5000);
CREATE TABLE parts_3 AS SELECT id, code, label, a, b, c, d, e, f, g, inline, pressed FROM forms WHERE id BETWEEN 5000 AND 5999;
ALTER TABLE parts_3 ADD COLUMN afar real[] DEFAULT array_fill(0.25::real, ARRAY[600]);
ALTER TABLE parts ATTACH PARTITION parts_3 FOR VALUES FROM (5000) TO (6000);
CREATE TABLE parts_4 PARTITION OF parts FOR VALUES FROM (6000) TO (9000) PARTITION BY HASH (id);
CREATE TABLE parts_4_0 PARTITION OF parts_4 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_4_1 PARTITION OF parts_4 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE parts_5 PARTITION OF parts FOR VALUES FROM (9001) TO (9000000);
INSERT INTO parts SELECT * FROM forms WHERE id < 5000 OR id BETWEEN 6000 AND 8999;
SELECT * FROM compared('parts', 'nulls => ''skip'', max_passes => 3, tolerance => 0.5, key => ''id''') WHERE workers = 1;
CREATE TABLE in_order_of_parts AS SELECT * FROM parts;
SELECT svm_train('in_order_of_parts', 'label', model => 'in_order', nulls => 'skip', max_passes => 3, tolerance => 0.5, key => 'id');
SELECT weights('in_order') = weights('compared') AS same;
CREATE VIEW planned_parts AS SELECT * FROM parts WHERE id >= 5000;
CREATE VIEW started_parts AS SELECT * FROM parts WHERE id >= current_setting('parts.first')::int;
SET parts.first = 5000;
EXPLAIN (COSTS off) SELECT * FROM started_parts;
SELECT * FROM compared('planned_parts', 'nulls => ''skip'', max_passes => 3, tolerance => 0.5') WHERE workers = 1;
SELECT * FROM compared('started_parts', 'nulls => ''skip'', max_passes => 3, tolerance => 0.5') WHERE workers = 1;
-- tables side by side, one of them twice, and tables joined
CREATE VIEW beside AS SELECT label, a, afar FROM forms WHERE id % 2 = 0 UNION ALL SELECT label, 1.5, inline || afar[21:] FROM forms
                      WHERE id < 3000 UNION ALL SELECT label, a, afar FROM parts;
SELECT * FROM compared('beside', 'nulls => ''skip'', max_passes => 3, tolerance => 0.5') WHERE workers = 1;
CREATE VIEW joined AS SELECT forms.label, parts.afar FROM forms JOIN parts USING (id);
SELECT * FROM compared('joined', 'nulls => ''skip'', max_passes => 3, tolerance => 0.5') WHERE workers = 1;

-- rows too long to be handed over are fetched by whoever reads
CREATE TABLE long AS
SELECT i % 2 AS label, ARRAY(SELECT (hashint4(i * k) / 2e9 + i % 2)::float8 FROM generate_series(1, CASE WHEN i > 0 THEN 300 END) AS k) AS x, repeat(md5(i::text), CASE WHEN i % 50 = 0 THEN 20000 ELSE 5 END) AS z
FROM generate_series(1, 6000) AS i;
SELECT * FROM compared('long', 'max_passes => 3, tolerance => 0.5, options => ''{"hash_bits": 8}''') WHERE workers = 1;

-- errors are those of whoever reads alone, row numbers too
\set VERBOSITY default
-- places of rows are the same whenever dead ones go
CREATE TABLE broken (LIKE forms INCLUDING STORAGE);
INSERT INTO broken
SELECT id, code, label, CASE id WHEN 7001 THEN 'NaN' ELSE a END, b, c, d, e, f, g, inline, pressed, CASE WHEN id = 8000 THEN afar[1:599] ELSE afar END
FROM forms ORDER BY id;
SET pgsvm.helpers = 0;
SELECT svm_train('broken', 'label', model => 'refused', nulls => 'mean');
SET pgsvm.helpers = 2;
SELECT svm_train('broken', 'label', model => 'refused', nulls => 'mean');
SELECT svm_train('broken', 'label', model => 'refused');
SELECT svm_train('broken', 'label', model => 'refused', nulls => 'zero', features => ARRAY['inline', 'afar'], key => 'c');
SELECT svm_train('broken', 'label', model => 'refused', features => ARRAY['afar']);
-- and those of the query itself
SELECT svm_train_query('SELECT label, 1 / (id - 8003) AS x, afar FROM forms WHERE id <> 8000', 'label', model => 'refused');
DO $$ BEGIN
    PERFORM svm_train('broken', 'label', model => 'refused', features => ARRAY['afar']);
EXCEPTION WHEN others THEN
    PERFORM svm_train('forms', 'label', model => 'after', features => ARRAY['inline'], tolerance => 0.5);
END $$;
SELECT rows_used = (SELECT count(*) FROM forms) AS trained FROM svm_models WHERE name = 'after';

-- no worker to be had
SET max_parallel_workers = 0;
SELECT svm_train('forms', 'label', model => 'none', features => ARRAY['inline'], tolerance => 0.5);
SELECT weights('none') = weights('after') AS same;
RESET max_parallel_workers;
