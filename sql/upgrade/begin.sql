-- For functions and views whose form changes. An upgrade script does not drop them itself but says so,
--     SELECT @extschema@.svm_outdated('FUNCTION', 'svm_weights(text)');
--     SELECT @extschema@.svm_outdated('VIEW', 'svm_progress');
-- with types of ours written @extschema@.svm_roc_point, and what is there as svm_internal.svm_auc_final(internal); an
-- aggregate is a FUNCTION here too. Behind it drop.sql refuses
-- the whole update where something of the user's hangs on one of them, and drops them together; when the replaceable
-- part has made the new ones, end.sql gives each the owner and the rights of the one it replaces: that of the same name
-- whose first arguments are most alike. What stands in these three files is gone when the update ends.
-- PL/pgSQL is in every database from which nobody dropped it; there PostgreSQL's error says to create it.

-- Whoever owns the extension without being a superuser may have added objects of his own to it, and CREATE OR REPLACE would leave them his.
DO $$
DECLARE
    search_path text := pg_catalog.current_setting('search_path');
    added record;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    SELECT pg_describe_object(member.classid, member.objid, 0) AS object, owner.rolname AS owner INTO added
    FROM pg_extension AS extension JOIN pg_roles AS extowner ON extowner.oid = extension.extowner AND NOT extowner.rolsuper
    JOIN pg_depend AS member ON (member.refclassid, member.refobjid, member.deptype) = ('pg_extension'::regclass, extension.oid, 'e')
    JOIN pg_shdepend AS owned ON (owned.classid, owned.objid, owned.objsubid, owned.deptype) = (member.classid, member.objid, 0, 'o')
        AND owned.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
    JOIN pg_roles AS owner ON owner.oid = owned.refobjid AND NOT owner.rolsuper
    WHERE extension.extname = 'pgsvm' ORDER BY 1 LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'cannot update extension pgsvm while % belongs to role "%"', added.object, added.owner USING
            ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = 'The role that owns the extension is no superuser, and an update runs as one: what is replaced must not be that role''s.',
            HINT = 'What was added to the extension: ALTER EXTENSION pgsvm DROP …. What REASSIGN OWNED gave away a superuser takes back: ALTER … OWNER TO CURRENT_USER.';
    END IF;
    PERFORM set_config('search_path', search_path, true);
END;
$$;

CREATE TABLE svm_outdated (
    object oid PRIMARY KEY,
    class pg_catalog.regclass NOT NULL,
    name pg_catalog.name NOT NULL,
    arguments pg_catalog.text[] NOT NULL,
    owner oid NOT NULL,
    -- its rights, and those it was installed with
    rights pg_catalog.aclitem[] NOT NULL,
    initial pg_catalog.aclitem[] NOT NULL,
    -- the objects of that name that stay
    kept oid[]
);

CREATE FUNCTION svm_outdated(kind text, name text) RETURNS void
    LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO @extschema@.svm_outdated (object, class, name, arguments, owner, rights, initial)
    SELECT object, class, object_name, arguments, owner, coalesce(acl, default_acl), coalesce(initprivs, default_acl)
    FROM (
        SELECT oid, 'pg_proc'::regclass, proname, proargtypes::oid[]::regtype[]::text[], proowner, proacl,
            acldefault('f', proowner)
        FROM pg_proc WHERE $1 = 'FUNCTION' AND oid = (
            CASE WHEN starts_with($2, 'svm_internal.') THEN $2 ELSE '@extschema@.' || $2 END
        )::regprocedure
        UNION ALL
        SELECT oid, 'pg_class'::regclass, relname, '{}', relowner, relacl, acldefault('r', relowner)
        FROM pg_class WHERE $1 = 'VIEW' AND oid = ('@extschema@.' || $2)::regclass
    ) AS it (object, class, object_name, arguments, owner, acl, default_acl)
    LEFT JOIN pg_init_privs ON (objoid, classoid, objsubid) = (object, class, 0)
$$;

