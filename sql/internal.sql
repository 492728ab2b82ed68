-- svm_internal holds the functions that tables, policies, triggers and aggregates call and people do not, so that \df svm_*
-- shows what people call. A schema of that name that is somebody's stays theirs.
DO $$
BEGIN
    IF pg_catalog.to_regnamespace('svm_internal') IS NULL THEN
        CREATE SCHEMA svm_internal;
    ELSIF NOT EXISTS (
        SELECT FROM pg_catalog.pg_depend AS member JOIN pg_catalog.pg_extension AS extension
            ON extension.oid OPERATOR(pg_catalog.=) member.refobjid AND extension.extname OPERATOR(pg_catalog.=) 'pgsvm'
        WHERE member.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_namespace'::pg_catalog.regclass::oid
            AND member.objid OPERATOR(pg_catalog.=) 'svm_internal'::pg_catalog.regnamespace::oid
            AND member.deptype OPERATOR(pg_catalog.=) 'e'
            AND member.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass::oid
    ) THEN
        RAISE EXCEPTION 'schema "svm_internal" is there already and is not of extension pgsvm' USING
            ERRCODE = 'duplicate_schema',
            DETAIL = 'The extension keeps functions that nobody calls by name in a schema of this name.',
            HINT = 'ALTER SCHEMA svm_internal RENAME TO another_name';
    END IF;
END;
$$;
GRANT USAGE ON SCHEMA svm_internal TO PUBLIC;
COMMENT ON SCHEMA svm_internal IS 'functions of extension pgsvm that its tables and functions call and people do not';


-- What trainings by scans have PostgreSQL's own plans sum up: see src/scanning.rs.
CREATE OR REPLACE FUNCTION svm_internal.svm_scan_add(internal, bytea, VARIADIC "any") RETURNS internal
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_scan_add_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_scan_combine(internal, internal) RETURNS internal
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_scan_combine_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_scan_serialize(internal) RETURNS bytea
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_scan_serialize_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_scan_deserialize(bytea, internal) RETURNS internal
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_scan_deserialize_wrapper';
COMMENT ON FUNCTION svm_internal.svm_scan_add IS 'part of svm_scan';
COMMENT ON FUNCTION svm_internal.svm_scan_combine IS 'part of svm_scan';
COMMENT ON FUNCTION svm_internal.svm_scan_serialize IS 'part of svm_scan';
COMMENT ON FUNCTION svm_internal.svm_scan_deserialize IS 'part of svm_scan';
CREATE OR REPLACE AGGREGATE svm_internal.svm_scan(bytea, VARIADIC "any") (
    SFUNC = svm_internal.svm_scan_add,
    STYPE = internal,
    SSPACE = 100000,
    FINALFUNC = svm_internal.svm_scan_serialize,
    COMBINEFUNC = svm_internal.svm_scan_combine,
    SERIALFUNC = svm_internal.svm_scan_serialize,
    DESERIALFUNC = svm_internal.svm_scan_deserialize,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE svm_internal.svm_scan(bytea, VARIADIC "any") IS 'part of svm_train with solver => ''scan''';
CREATE OR REPLACE FUNCTION svm_internal.svm_scan_join(internal, bytea) RETURNS internal
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_scan_join_wrapper';
COMMENT ON FUNCTION svm_internal.svm_scan_join(internal, bytea) IS 'part of svm_scan';
CREATE OR REPLACE AGGREGATE svm_internal.svm_scan_join(part bytea) (
    SFUNC = svm_internal.svm_scan_join,
    STYPE = internal,
    SSPACE = 100000,
    FINALFUNC = svm_internal.svm_scan_serialize,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE svm_internal.svm_scan_join(bytea) IS 'part of svm_scan: joins what scans of several parts have found';

-- The same over rows, with a state that is no internal one: Citus hands states about as values, and knows the types of arguments only
-- where they are declared.
CREATE OR REPLACE FUNCTION svm_internal.svm_scan_rows_add(bytea, bytea, record) RETURNS bytea
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_scan_rows_add_wrapper';
CREATE OR REPLACE FUNCTION svm_internal.svm_scan_rows_combine(bytea, bytea) RETURNS bytea
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_scan_rows_combine_wrapper';
COMMENT ON FUNCTION svm_internal.svm_scan_rows_add IS 'part of svm_scan_rows';
COMMENT ON FUNCTION svm_internal.svm_scan_rows_combine IS 'part of svm_scan_rows';
CREATE OR REPLACE AGGREGATE svm_internal.svm_scan_rows(told bytea, part record) (
    SFUNC = svm_internal.svm_scan_rows_add,
    STYPE = bytea,
    SSPACE = 100000,
    COMBINEFUNC = svm_internal.svm_scan_rows_combine,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE svm_internal.svm_scan_rows(bytea, record) IS 'part of svm_train with solver => ''scan'', where Citus has the rows';
