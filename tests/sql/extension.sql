-- CREATE and DROP EXTENSION: nothing is left behind, any schema will do, and pg_dump takes the models along
SELECT extversion, extrelocatable, extnamespace::regnamespace FROM pg_extension WHERE extname = 'pgsvm';

DROP EXTENSION pgsvm;
SELECT (SELECT count(*) FROM pg_proc WHERE proname LIKE 'svm\_%') AS functions,
       (SELECT count(*) FROM pg_class WHERE relname LIKE 'svm\_%') AS relations;

CREATE SCHEMA "Learning place";
CREATE EXTENSION pgsvm SCHEMA "Learning place";

-- members outside the chosen schema
SELECT p.oid::regprocedure
FROM pg_proc p
JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE e.extname = 'pgsvm' AND p.pronamespace <> '"Learning place"'::regnamespace;

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
