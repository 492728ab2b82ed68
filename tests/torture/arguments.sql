-- Every function of ours with one of its arguments of 70 kB or more, the others usual.
SET client_min_messages = error;
CREATE TABLE small AS SELECT i AS id, i % 2 AS y, i % 3 AS class, sin(i) AS x, 'word ' || i % 5 AS word FROM generate_series(1, 60) AS i;
SELECT svm_train('small', 'y', '{x,word}', 'm', key => 'id', probability => true);
CREATE TABLE usual (type regtype, name text, value text);
INSERT INTO usual VALUES ('text', 'model', '''m'''), ('text', 'label', '''y'''), ('text', 'query', '''SELECT id, y, x, word FROM small'''), ('text', 'role', '''postgres'''),
    ('text', 'format', '''pgsvm'''), ('text', 'name', '''n'''), ('text', NULL, '''x'''), ('regclass', NULL, '''small'''), ('anyelement', NULL, 's'), ('record', NULL, 's'),
    ('int', NULL, '1'), ('bigint', NULL, '1'), ('float8', NULL, '.5'), ('boolean', NULL, 'true'), ('jsonb', NULL, '''{}'''), ('text[]', NULL, '''{x}'''), ('anycompatible', NULL, '''1'''),
    ('float8[]', NULL, '''{1}'''), ('"any"', NULL, 'y');
CREATE TABLE long (type regtype, value text);
INSERT INTO long VALUES ('text', 'repeat(''x'', 70000)'), ('text', 'repeat(''"{x,\'', 300000)'), ('text', '''{"x": "'' || repeat(''x'', 900000) || ''"}'''),
    ('anyelement', '(SELECT w FROM (SELECT id, y, x, repeat(word, 200000) AS word FROM small LIMIT 1) AS w)'),
    ('anyelement', '(SELECT to_jsonb(w) FROM (SELECT id, y, x, repeat(word, 200000) AS word FROM small LIMIT 1) AS w)'),
    ('anyelement', '(SELECT to_jsonb(w) FROM (SELECT id, y, repeat(''1'', 100000)::numeric AS x, word FROM small LIMIT 1) AS w)'),
    ('anyelement', 'array_fill(1.5::float8, ARRAY[100000])'), ('anyelement', 'repeat(''1'', 100000)::numeric'), ('anyelement', 'repeat(''1 '', 100000)::text'),
    ('record', '(SELECT w FROM (SELECT id, y, x, repeat(word, 200000) AS word FROM small LIMIT 1) AS w)'),
    ('jsonb', 'jsonb_build_object(repeat(''x'', 900000), 1)'), ('jsonb', '(SELECT jsonb_agg(i) FROM generate_series(1, 100000) AS i)'), ('jsonb', 'jsonb_build_object(''relation'', repeat(''x'', 900000))'),
    ('text[]', '(SELECT array_agg(''c'' || i) FROM generate_series(1, 20000) AS i)'), ('text[]', 'ARRAY[repeat(''x'', 900000)]'),
    ('anycompatible', 'repeat(''1'', 100000)::numeric'), ('anycompatible', 'repeat(''x'', 900000)'), ('float8[]', 'array_fill(1.5::float8, ARRAY[100000])'),
    ('"any"', 'repeat(''x'', 900000)'), ('"any"', 'repeat(''1'', 100000)::numeric');
WITH ours AS (
    SELECT p.oid, p.oid::regproc AS name, p.pronargs, p.pronargdefaults, p.proargnames, p.proargtypes
    FROM pg_proc AS p JOIN pg_depend AS d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
    JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'pgsvm'
    WHERE p.prorettype NOT IN ('internal'::regtype, 'trigger'::regtype, 'event_trigger'::regtype) AND p.prokind IN ('f', 'a')
        AND NOT 'internal'::regtype = ANY (p.proargtypes::oid[])
)
SELECT format('SELECT %s(%s) IS NULL FROM small AS s WHERE id = 1', ours.name, string_agg(
    CASE WHEN place.number = at.number THEN long.value
        ELSE (SELECT u.value FROM usual AS u WHERE u.type = ours.proargtypes[at.number - 1] AND coalesce(u.name = ours.proargnames[at.number], true) ORDER BY u.name IS NULL LIMIT 1) END,
    ', ' ORDER BY at.number))
FROM ours, generate_series(1, ours.pronargs) AS place (number), long, generate_series(1, ours.pronargs) AS at (number)
WHERE long.type = ours.proargtypes[place.number - 1] AND at.number <= greatest(place.number, ours.pronargs - ours.pronargdefaults)
GROUP BY ours.oid, ours.name, place.number, long.value
ORDER BY ours.oid, place.number, long.value
\gexec
