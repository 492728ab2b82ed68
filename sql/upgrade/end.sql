-- Gives what replaces something outdated its owner and its rights: see begin.sql. What was granted and revoked since it was
-- installed is granted and revoked again; rights that the new version begins with otherwise hold.

DO $$
DECLARE
    search_path text := pg_catalog.current_setting('search_path');
    successor record;
    change record;
    installed aclitem[];
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    FOR successor IN
        SELECT DISTINCT ON (new.class, new.object) new.*, o.owner AS old_owner, o.rights, o.initial
        FROM (
            SELECT 'pg_proc'::regclass, oid, proname, proargtypes::oid[]::regtype[]::text[], proowner, 'ROUTINE',
                oid::regprocedure::text
            FROM pg_proc
            UNION ALL
            SELECT 'pg_class'::regclass, oid, relname, '{}', relowner, 'TABLE', oid::regclass::text FROM pg_class
        ) AS new (class, object, name, arguments, owner, kind, identity)
        JOIN pg_depend AS member ON (member.classid, member.objid) = (new.class, new.object) AND member.deptype = 'e'
        JOIN pg_extension ON member.refclassid = 'pg_extension'::regclass AND pg_extension.oid = member.refobjid
            AND extname = 'pgsvm'
        JOIN @extschema@.svm_outdated AS o ON (o.class, o.name) = (new.class, new.name)
        WHERE new.object <> ALL (o.kept)
        ORDER BY new.class, new.object, (
            SELECT count(*) FROM generate_subscripts(o.arguments, 1) AS place
            WHERE o.arguments[:place] = new.arguments[:place]
        ) DESC, cardinality(o.arguments) DESC
    LOOP
        IF successor.owner <> successor.old_owner THEN
            EXECUTE format('ALTER %s %s OWNER TO %s', successor.kind, successor.identity, successor.old_owner::regrole);
        END IF;
        SELECT initprivs INTO installed FROM pg_init_privs
            WHERE (objoid, classoid, objsubid) = (successor.object, successor.class, 0);
        FOR change IN
            WITH old AS (SELECT grantee, privilege_type, is_grantable FROM aclexplode(successor.rights)),
                first AS (SELECT grantee, privilege_type, is_grantable FROM aclexplode(successor.initial))
            SELECT 'REVOKE %s ON %s %s FROM %s CASCADE' AS statement, * FROM (TABLE first EXCEPT TABLE old) AS taken
            UNION ALL
            SELECT CASE WHEN is_grantable THEN 'GRANT %s ON %s %s TO %s WITH GRANT OPTION'
                ELSE 'GRANT %s ON %s %s TO %s' END, * FROM (TABLE old EXCEPT TABLE first) AS given
            ORDER BY statement DESC
        LOOP
            EXECUTE format(change.statement, change.privilege_type, successor.kind, successor.identity,
                CASE change.grantee WHEN 0 THEN 'PUBLIC' ELSE change.grantee::regrole::text END);
        END LOOP;
        -- PostgreSQL takes them for rights that come with the extension, which pg_dump would leave out
        DELETE FROM pg_init_privs
            WHERE (objoid, classoid, objsubid) = (successor.object, successor.class, 0) AND installed IS NULL;
        UPDATE pg_init_privs SET initprivs = installed
            WHERE (objoid, classoid, objsubid) = (successor.object, successor.class, 0);
        DELETE FROM pg_shdepend
            WHERE (classid, objid, objsubid) = (successor.class, successor.object, 0) AND deptype = 'i'
                AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
                AND refobjid NOT IN (SELECT grantee FROM aclexplode(installed));
    END LOOP;
    PERFORM set_config('search_path', search_path, true);
END;
$$;

-- What travels with models may have become more.
DO $$
DECLARE
    unpublished record;
BEGIN
    FOR unpublished IN
        SELECT pg_catalog.format('%s: %s', problem, pg_catalog.string_agg(table_name, ', ')) AS told,
            pg_catalog.string_agg(remedy, '; ') AS remedy
        FROM @extschema@.svm_problems WHERE problem OPERATOR(pg_catalog.~~) 'publication %' GROUP BY problem
    LOOP
        RAISE NOTICE '%', unpublished.told USING HINT = unpublished.remedy;
    END LOOP;
END;
$$;

DROP FUNCTION svm_outdated(text, text);
DROP TABLE svm_outdated;
