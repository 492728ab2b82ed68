-- CREATE and DROP EXTENSION: nothing is left behind, any schema will do, and pg_dump takes the models along
SELECT extversion, extrelocatable, extnamespace::regnamespace FROM pg_extension WHERE extname = 'pgsvm';

DROP EXTENSION pgsvm;
SELECT (SELECT count(*) FROM pg_proc WHERE proname LIKE 'svm\_%') AS functions,
       (SELECT count(*) FROM pg_class WHERE relname LIKE 'svm\_%') AS relations;

CREATE SCHEMA "Learning place";
CREATE EXTENSION pgsvm SCHEMA "Learning place";

-- members outside the chosen schema and svm_internal
SELECT p.oid::regprocedure
FROM pg_proc p
JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE e.extname = 'pgsvm' AND p.pronamespace NOT IN ('"Learning place"'::regnamespace, 'svm_internal'::regnamespace);

-- members without a comment
SELECT pg_describe_object(d.classid, d.objid, 0)
FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
LEFT JOIN pg_type t ON d.classid = 'pg_type'::regclass AND t.oid = d.objid
WHERE e.extname = 'pgsvm' AND obj_description(d.objid, d.classid::regclass::name) IS NULL
    -- of a composite type the pg_class row has none, of an array type and a table's row type none is wanted
    AND (t.oid IS NULL OR t.typtype = 'c' AND (SELECT relkind FROM pg_class WHERE oid = t.typrelid) = 'c')
    AND d.classid <> 'pg_cast'::regclass AND (d.classid <> 'pg_class'::regclass OR (SELECT relkind FROM pg_class WHERE oid = d.objid) <> 'c')
ORDER BY 1;
-- columns of views and of composite types without one
SELECT c.relname, a.attname
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
LEFT JOIN pg_type t ON t.oid = c.reltype
JOIN pg_depend d ON (d.classid, d.objid) IN (('pg_class'::regclass, c.oid), ('pg_type'::regclass, t.oid)) AND d.deptype = 'e'
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE e.extname = 'pgsvm' AND c.relkind IN ('v', 'c') AND col_description(c.oid, a.attnum) IS NULL
ORDER BY 1, a.attnum;
-- settings without a short or a long one, but for those of the feature in_backend_tests
SELECT name FROM pg_settings WHERE name LIKE 'pgsvm.%' AND (coalesce(short_desc, '') = '' OR coalesce(extra_desc, '') = '')
    AND name NOT LIKE 'pgsvm.%\_allocation%';

-- tables whose rows a dump leaves out: what is known of rows as they lie in this cluster; and sequences: these two are there
-- for dumps of 0.2.0, and nothing draws from them
SELECT c.oid::regclass
FROM pg_class c
JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE e.extname = 'pgsvm' AND c.relkind IN ('r', 'S') AND c.oid <> ALL (coalesce(e.extconfig, '{}'))
ORDER BY 1;

DROP EXTENSION pgsvm;
DROP SCHEMA "Learning place";
CREATE EXTENSION pgsvm;

-- a schema called svm_internal that is somebody's stays theirs
DROP EXTENSION pgsvm;
CREATE SCHEMA svm_internal;
\set SHOW_CONTEXT never
CREATE EXTENSION pgsvm;
\echo :LAST_ERROR_SQLSTATE
DROP SCHEMA svm_internal;
CREATE EXTENSION pgsvm;
