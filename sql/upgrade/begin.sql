-- For functions and views whose form changes. An upgrade script does not drop them itself but says so,
--     SELECT @extschema@.svm_outdated('FUNCTION', 'svm_weights(text)');
--     SELECT @extschema@.svm_outdated('VIEW', 'svm_progress');
-- with types of ours written @extschema@.svm_roc_point, and what is there as svm_internal.svm_auc_final(internal); an
-- aggregate is a FUNCTION here too. Behind it drop.sql refuses
-- the whole update where something of the user's hangs on one of them, and drops them together; when the replaceable
-- part has made the new ones, end.sql gives each the owner and the rights of the one it replaces: that of the same name
-- whose first arguments are most alike. What stands in these three files is gone when the update ends.
-- PL/pgSQL is in every database from which nobody dropped it; there PostgreSQL's error says to create it.

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

