-- What 0.3.0 added: part of a new installation and of the update from 0.2.0 alike.

-- Ids are random, so that what a dump brings finds its own and nobody else's, whatever is there already.
CREATE FUNCTION svm_internal.svm_new_id() RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_new_id_wrapper';
COMMENT ON FUNCTION svm_internal.svm_new_id() IS 'a random number of 63 bits: the id of a new model or version';
ALTER TABLE svm_model ALTER id SET DEFAULT svm_internal.svm_new_id();
ALTER TABLE svm_version ALTER id SET DEFAULT svm_internal.svm_new_id();
-- What was learned of texts may take tens of megabytes, which pglz takes seconds for and nobody can cancel.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_settings WHERE name OPERATOR(pg_catalog.=) 'default_toast_compression'
        AND 'lz4' OPERATOR(pg_catalog.=) ANY (enumvals))
    THEN
        ALTER TABLE svm_version ALTER features SET COMPRESSION lz4;
    END IF;
END $$;

-- What C and gamma are given as: a number, a list of numbers or a word, whatever its type in SQL. A literal and a parameter of no
-- type become it, and numbers and arrays as their texts; src/request/numbers.rs reads it. It has no operators.
CREATE TYPE svm_numbers;
CREATE FUNCTION svm_internal.svm_numbers_in(cstring) RETURNS svm_numbers
    LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'textin';
CREATE FUNCTION svm_internal.svm_numbers_out(svm_numbers) RETURNS cstring
    LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'textout';
CREATE FUNCTION svm_internal.svm_numbers_receive(internal) RETURNS svm_numbers
    LANGUAGE internal STABLE STRICT PARALLEL SAFE AS 'textrecv';
CREATE FUNCTION svm_internal.svm_numbers_send(svm_numbers) RETURNS bytea
    LANGUAGE internal STABLE STRICT PARALLEL SAFE AS 'textsend';
COMMENT ON FUNCTION svm_internal.svm_numbers_in(cstring) IS 'part of svm_numbers';
COMMENT ON FUNCTION svm_internal.svm_numbers_out(svm_numbers) IS 'part of svm_numbers';
COMMENT ON FUNCTION svm_internal.svm_numbers_receive(internal) IS 'part of svm_numbers';
COMMENT ON FUNCTION svm_internal.svm_numbers_send(svm_numbers) IS 'part of svm_numbers';
CREATE TYPE svm_numbers (
    INPUT = svm_internal.svm_numbers_in,
    OUTPUT = svm_internal.svm_numbers_out,
    RECEIVE = svm_internal.svm_numbers_receive,
    SEND = svm_internal.svm_numbers_send,
    LIKE = text
);
COMMENT ON TYPE svm_numbers IS 'a number, a list of numbers to choose from, or ''auto'': what svm_train takes as c, gamma and epsilon';
CREATE CAST (smallint AS svm_numbers) WITH INOUT AS IMPLICIT;
CREATE CAST (smallint[] AS svm_numbers) WITH INOUT AS IMPLICIT;
CREATE CAST (int AS svm_numbers) WITH INOUT AS IMPLICIT;
CREATE CAST (int[] AS svm_numbers) WITH INOUT AS IMPLICIT;
CREATE CAST (bigint AS svm_numbers) WITH INOUT AS IMPLICIT;
CREATE CAST (bigint[] AS svm_numbers) WITH INOUT AS IMPLICIT;
CREATE CAST (real AS svm_numbers) WITH INOUT AS IMPLICIT;
CREATE CAST (real[] AS svm_numbers) WITH INOUT AS IMPLICIT;
CREATE CAST (float8 AS svm_numbers) WITH INOUT AS IMPLICIT;
CREATE CAST (float8[] AS svm_numbers) WITH INOUT AS IMPLICIT;
CREATE CAST (numeric AS svm_numbers) WITH INOUT AS IMPLICIT;
CREATE CAST (numeric[] AS svm_numbers) WITH INOUT AS IMPLICIT;
CREATE CAST (text AS svm_numbers) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (varchar AS svm_numbers) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (text[] AS svm_numbers) WITH INOUT AS IMPLICIT;
CREATE CAST (varchar[] AS svm_numbers) WITH INOUT AS IMPLICIT;

-- Probabilities by isotonic regression: points that rise, linear between them and constant beyond; NULL where the sigmoid says them.
-- It is stored beside them, for formats that know nothing else.
CREATE FUNCTION svm_internal.svm_is_isotonic(decisions float8[], probabilities float8[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE
        WHEN $1 IS NULL OR $2 IS NULL THEN $1 IS NULL AND $2 IS NULL
        WHEN coalesce(pg_catalog.array_ndims($1), 0) OPERATOR(pg_catalog.<>) 1
            OR pg_catalog.cardinality($1) OPERATOR(pg_catalog.>) 100
            OR pg_catalog.array_dims($1) OPERATOR(pg_catalog.<>) coalesce(pg_catalog.array_dims($2), '') THEN false
        ELSE (
            SELECT pg_catalog.bool_and(
                coalesce(point.decision OPERATOR(pg_catalog.>) '-Infinity'::float8, false)
                AND point.decision OPERATOR(pg_catalog.<) 'Infinity'::float8
                AND coalesce(point.probability OPERATOR(pg_catalog.>) 0::float8, false)
                AND point.probability OPERATOR(pg_catalog.<) 1::float8
                AND coalesce(point.decision OPERATOR(pg_catalog.>) point.decision_before, true)
                AND coalesce(point.probability OPERATOR(pg_catalog.>=) point.probability_before, true)
            )
            FROM (
                SELECT decision, probability,
                    pg_catalog.lag(decision) OVER places AS decision_before,
                    pg_catalog.lag(probability) OVER places AS probability_before
                FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) WITH ORDINALITY AS given (decision, probability, place)
                WINDOW places AS (ORDER BY place)
            ) AS point
        )
    END;
COMMENT ON FUNCTION svm_internal.svm_is_isotonic(float8[], float8[]) IS 'part of svm_head: whether these are points of an isotonic function';
ALTER TABLE svm_head ADD COLUMN isotonic_decisions float8[], ADD COLUMN isotonic_probabilities float8[],
    -- the negative label, of a head that tells two of several classes apart; NULL: the rest
    ADD COLUMN against text,
    ADD CONSTRAINT svm_head_isotonic CHECK (svm_internal.svm_is_isotonic(isotonic_decisions, isotonic_probabilities));

-- Dumps of 0.2.0 set these; nothing draws from them.
CREATE SEQUENCE svm_model_id_seq;
CREATE SEQUENCE svm_version_id_seq;

-- What belongs to a removed row goes with it, as the owner of the tables: those who may remove a model may not remove
-- its weights. Not where replication applies changes, which brings the removals themselves. Arguments: the column that
-- holds the id, and the tables.
CREATE FUNCTION svm_internal.svm_remove_children() RETURNS trigger
    LANGUAGE c SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'svm_remove_children_wrapper';
REVOKE ALL ON FUNCTION svm_internal.svm_remove_children() FROM PUBLIC;

CREATE TRIGGER svm_model_children AFTER DELETE ON svm_model
    FOR EACH ROW EXECUTE FUNCTION svm_internal.svm_remove_children('model_id', 'svm_permission', 'svm_version');
CREATE TRIGGER svm_model_emptied AFTER TRUNCATE ON svm_model
    FOR EACH STATEMENT EXECUTE FUNCTION svm_internal.svm_remove_children('model_id', 'svm_permission', 'svm_version');
CREATE TRIGGER svm_version_children AFTER DELETE ON svm_version
    FOR EACH ROW EXECUTE FUNCTION svm_internal.svm_remove_children('version_id', 'svm_head', 'svm_weight', 'svm_dual', 'svm_key',
        'svm_key_dual', 'svm_key_leeway', 'svm_key_scaling', 'svm_key_metric', 'svm_log', 'svm_source', 'svm_landmark');
CREATE TRIGGER svm_version_emptied AFTER TRUNCATE ON svm_version
    FOR EACH STATEMENT EXECUTE FUNCTION svm_internal.svm_remove_children('version_id', 'svm_head', 'svm_weight', 'svm_dual', 'svm_key',
        'svm_key_dual', 'svm_key_leeway', 'svm_key_scaling', 'svm_key_metric', 'svm_log', 'svm_source', 'svm_landmark');

-- Grants say whose model they are about.
CREATE FUNCTION svm_internal.svm_owner_changed() RETURNS trigger
    LANGUAGE c SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'svm_owner_changed_wrapper';
REVOKE ALL ON FUNCTION svm_internal.svm_owner_changed() FROM PUBLIC;
CREATE TRIGGER svm_model_owner AFTER UPDATE OF owner ON svm_model
    FOR EACH ROW EXECUTE FUNCTION svm_internal.svm_owner_changed();

-- How far the weights may move before a row whose dual variable is 0 can lose anything, of versions whose rows need not all
-- be looked at when they follow their table; in the chunks of svm_key. What the numbers are stands in
-- crates/methods/src/screening/slack.rs and src/pg/origin.rs. They are about the rows as they lie in this cluster, so
-- they do not leave it: no dump has them, and as unlogged tables they are in no publication, base backup or standby.
-- Without them a follow-up looks at every row.
CREATE UNLOGGED TABLE svm_key_leeway (
    version_id bigint NOT NULL,
    first_row bigint NOT NULL CHECK (first_row >= 0),
    -- 64 bits a row, of where it lies, who inserted it and its label; 0 where that says nothing of the row's values
    versions bytea NOT NULL,
    -- a byte a row: 0 for none, else sixteenths of octaves
    leeways bytea NOT NULL,
    PRIMARY KEY (version_id, first_row)
);
ALTER TABLE svm_key_leeway ALTER COLUMN versions SET STORAGE EXTERNAL, ALTER COLUMN leeways SET STORAGE EXTERNAL;

-- The scaling of the rows in which leeways are measured: (value - centre) * factor of a dense feature, value * factor of a
-- sparse one; empty arrays where nothing is scaled.
CREATE UNLOGGED TABLE svm_key_scaling (
    version_id bigint PRIMARY KEY,
    -- the transaction that stored it: of a row that another one brought or changed nothing is believed
    as_of bigint NOT NULL,
    -- dense features
    dense int NOT NULL CHECK (dense >= 0),
    centre float8[] NOT NULL,
    factor float8[] NOT NULL,
    sparse_factor real[] NOT NULL
);

-- The metrics that they are measured in, for scaled rows.
CREATE UNLOGGED TABLE svm_key_metric (
    version_id bigint NOT NULL,
    -- the label of the rows
    class text NOT NULL,
    -- by feature
    centre real[] NOT NULL,
    spread real[] NOT NULL,
    constant real NOT NULL,
    PRIMARY KEY (version_id, class)
);

-- The landmarks of a kernel machine, with which rows are compared: scaled rows of the table that it was trained on, or means
-- of such rows. How, and with which scaling, stands in svm_version.features; their factors are the weights in svm_weight.
CREATE TABLE svm_landmark (
    version_id bigint NOT NULL,
    landmark int NOT NULL CHECK (landmark >= 0),
    -- the first features, and ids and values of the others that are not 0, ascending
    dense real[] NOT NULL,
    sparse_index bigint[] NOT NULL,
    sparse_value real[] NOT NULL,
    PRIMARY KEY (version_id, landmark)
);
SELECT pg_catalog.pg_extension_config_dump('svm_landmark', '');
CREATE TRIGGER svm_landmark_changed AFTER INSERT OR UPDATE OR DELETE ON svm_landmark
    FOR EACH ROW EXECUTE FUNCTION svm_internal.svm_weight_changed();
ALTER TABLE svm_landmark ENABLE REPLICA TRIGGER svm_landmark_changed;

-- The query that a version was trained on, which is its owner's to see.
CREATE TABLE svm_source (
    version_id bigint PRIMARY KEY,
    query text NOT NULL
);
SELECT pg_catalog.pg_extension_config_dump('svm_source', '');

-- What 0.2.0 wrote where all who may use a model see it; its dumps do so too. As the owner of the tables, as nobody else
-- changes what a training wrote.
CREATE FUNCTION svm_internal.svm_query_moves() RETURNS trigger
    LANGUAGE c SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'svm_query_moves_wrapper';
REVOKE ALL ON FUNCTION svm_internal.svm_query_moves() FROM PUBLIC;
WITH moved AS (
    INSERT INTO svm_source (version_id, query) SELECT id, source_query FROM svm_version WHERE source_query IS NOT NULL
    RETURNING version_id
)
UPDATE svm_version AS version SET source_query = NULL,
    stored_rows = version.stored_rows OPERATOR(pg_catalog.||) '{"svm_source": 1}'::pg_catalog.jsonb
FROM moved WHERE version.id OPERATOR(pg_catalog.=) moved.version_id;

-- The source of a version with a key, or that says what its source read, is read again, with the rights of its model's owner: who has not got them gives no such
-- version to a model, no query to such a version, and no model with one to a role. Policies say so too, but not to a role with
-- BYPASSRLS. Argument: the column that says of which row that is, the model or the version.
CREATE FUNCTION svm_internal.svm_source_rights() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'svm_source_rights_wrapper';
REVOKE ALL ON FUNCTION svm_internal.svm_source_rights() FROM PUBLIC;
CREATE TRIGGER svm_source_rights AFTER INSERT ON svm_source
    FOR EACH ROW EXECUTE FUNCTION svm_internal.svm_source_rights('version_id');
-- triggers fire in the order of their names: rights come first
CREATE TRIGGER svm_version_source AFTER INSERT ON svm_version
    FOR EACH ROW WHEN (NEW.key_column IS NOT NULL OR NEW.source_reads IS NOT NULL)
    EXECUTE FUNCTION svm_internal.svm_source_rights('model_id');
CREATE TRIGGER svm_version_text AFTER INSERT ON svm_version
    FOR EACH ROW WHEN (NEW.source_query IS NOT NULL)
    EXECUTE FUNCTION svm_internal.svm_query_moves();
CREATE TRIGGER svm_model_source AFTER UPDATE OF owner ON svm_model
    FOR EACH ROW WHEN (NEW.owner_oid IS DISTINCT FROM OLD.owner_oid)
    EXECUTE FUNCTION svm_internal.svm_source_rights('id');

-- Indexes: what a table's rows were decoded to, kept for trainings that name one. Each row is known by where it lies and which
-- transaction inserted it (src/pg/origin.rs), which is so in this cluster only: what is kept of rows does not leave it, no dump
-- has it, and as an unlogged table it is in no publication, base backup or standby. An index without it serves as one of
-- which no row is known.
CREATE TABLE svm_index (
    id bigint PRIMARY KEY DEFAULT svm_internal.svm_new_id(),
    name text NOT NULL,
    -- as in svm_model
    owner name NOT NULL DEFAULT CURRENT_USER,
    owner_oid oid GENERATED ALWAYS AS (svm_internal.svm_role_oid(owner)) STORED,
    -- with its schema, as SQL writes it
    relation text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    refreshed_at timestamptz NOT NULL DEFAULT now(),
    -- what is kept, as entries of the argument features
    features text[] NOT NULL,
    -- the columns of which something is kept, and how many numbers each has: several of an array, NULL where only lists are
    -- made of it
    columns text[] NOT NULL,
    lengths int[] NOT NULL,
    -- what rows have any number of: of each list the kind, and the columns, from 0, that it is read from
    lists jsonb NOT NULL,
    -- of each table behind the relation 64 bits that say which one, and 64 for each column that say how it comes from a row
    tables bytea NOT NULL,
    UNIQUE (owner, name)
);
SELECT pg_catalog.pg_extension_config_dump('svm_index', '');

CREATE UNLOGGED TABLE svm_index_chunk (
    index_id bigint NOT NULL,
    chunk int NOT NULL CHECK (chunk >= 0),
    -- 0 is what rows are known by, and their numbers; behind it the lists
    part int NOT NULL CHECK (part >= 0),
    rows int NOT NULL CHECK (rows > 0),
    -- what the bytes are stands in src/index/chunks.rs
    tuples bytea NOT NULL,
    numbers bytea NOT NULL,
    -- nobody chooses it: what another role wrote than the index's owner is not believed
    written_by oid NOT NULL DEFAULT pg_catalog.to_regrole(pg_catalog.quote_ident(CURRENT_USER))::pg_catalog.oid,
    PRIMARY KEY (index_id, chunk, part)
);
-- they are compressed where that pays
ALTER TABLE svm_index_chunk ALTER COLUMN tuples SET STORAGE EXTERNAL, ALTER COLUMN numbers SET STORAGE EXTERNAL;

CREATE TRIGGER svm_index_children AFTER DELETE ON svm_index
    FOR EACH ROW EXECUTE FUNCTION svm_internal.svm_remove_children('index_id', 'svm_index_chunk');
CREATE TRIGGER svm_index_emptied AFTER TRUNCATE ON svm_index
    FOR EACH STATEMENT EXECUTE FUNCTION svm_internal.svm_remove_children('index_id', 'svm_index_chunk');

-- Models that the nodes of Citus predict with (svm_distribute_models): a reference table there, whose rows Citus changes on all nodes in
-- the transaction that changes them here. Without Citus it stays empty. Its policy looks into no other table, which Citus refuses,
-- so a row says itself who may use it. No dump has it: svm_distribute_models() fills it again.
ALTER TABLE svm_model ADD COLUMN on_nodes boolean NOT NULL DEFAULT false;

-- As svm_role_oid, of several.
CREATE FUNCTION svm_internal.svm_role_oids(roles name[]) RETURNS oid[]
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS 'SELECT pg_catalog.array_agg(svm_internal.svm_role_oid(role)) FROM pg_catalog.unnest($1) AS role';
COMMENT ON FUNCTION svm_internal.svm_role_oids(name[]) IS 'part of svm_node_model';
CREATE TABLE svm_internal.svm_node_model (
    id bigint PRIMARY KEY,
    name text NOT NULL UNIQUE,
    -- the current version, and all of it as svm_export writes it
    version int NOT NULL,
    version_id bigint NOT NULL,
    content text NOT NULL,
    -- '' where the role is gone
    owner name NOT NULL,
    -- whom the model is granted to, 'public' among them
    readers name[] NOT NULL,
    -- as in svm_model, on each node
    owner_oid oid GENERATED ALWAYS AS (svm_internal.svm_role_oid(owner)) STORED,
    reader_oids oid[] GENERATED ALWAYS AS (svm_internal.svm_role_oids(readers)) STORED
);

-- What nodes are told of a model that they are to have. Bound to the tables themselves, as nothing that runs with the rights of their
-- owner looks for a name in the extension's schema: whoever owns that may rename it, and put one of the same name in its place.
CREATE FUNCTION svm_internal.svm_told(model bigint, OUT name text, OUT version int, OUT version_id bigint, OUT owner name, OUT readers name[])
    RETURNS SETOF record LANGUAGE sql VOLATILE STRICT
BEGIN ATOMIC
    -- of two that change its grants at the same time the second waits here, and then sees what the first did
    SELECT FROM svm_model AS m WHERE m.id OPERATOR(pg_catalog.=) $1 FOR NO KEY UPDATE;
    SELECT m.name, v.version, v.id, coalesce(o.rolname, ''::pg_catalog.name),
        ARRAY(
            SELECT r.rolname FROM svm_permission AS p JOIN pg_catalog.pg_roles AS r ON r.oid OPERATOR(pg_catalog.=) p.grantee_oid
            WHERE p.model_id OPERATOR(pg_catalog.=) m.id
            UNION ALL SELECT p.grantee FROM svm_permission AS p
            WHERE p.model_id OPERATOR(pg_catalog.=) m.id AND p.grantee OPERATOR(pg_catalog.=) 'public'::pg_catalog.name
            ORDER BY 1
        )
    FROM svm_model AS m
        JOIN svm_version AS v ON v.model_id OPERATOR(pg_catalog.=) m.id AND v.version OPERATOR(pg_catalog.=) m.current_version
        LEFT JOIN pg_catalog.pg_roles AS o ON o.oid OPERATOR(pg_catalog.=) m.owner_oid
    WHERE m.id OPERATOR(pg_catalog.=) $1 AND m.on_nodes;
END;
COMMENT ON FUNCTION svm_internal.svm_told(bigint) IS 'part of svm_tell_nodes';

-- Brings a model's row there in line with what is here, as the owner of the tables.
CREATE FUNCTION svm_internal.svm_tell_nodes(model bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    is_so boolean := false;
    told record;
    title text;
    content text;
    detail text;
BEGIN
    IF to_regclass('pg_catalog.pg_dist_local_group') IS NOT NULL THEN
        EXECUTE 'SELECT groupid = 0 FROM pg_catalog.pg_dist_local_group' INTO is_so;
    END IF;
    IF NOT is_so THEN
        -- this is no coordinator
        RETURN;
    END IF;
    SELECT * INTO told FROM svm_internal.svm_told($1);
    IF NOT FOUND THEN
        title := (SELECT format('"%s"', n.name) FROM svm_internal.svm_node_model AS n WHERE n.id = $1);
        DELETE FROM svm_internal.svm_node_model AS n WHERE n.id = $1;
        RETURN;
    END IF;
    title := format('"%s"', told.name);
    EXECUTE 'SELECT EXISTS (SELECT FROM pg_catalog.pg_dist_partition WHERE logicalrelid = $1)' INTO is_so
        USING 'svm_internal.svm_node_model'::regclass;
    IF NOT is_so THEN
        EXECUTE 'SELECT pg_catalog.create_reference_table($1)' USING 'svm_internal.svm_node_model'::regclass;
    END IF;
    UPDATE svm_internal.svm_node_model AS n SET name = told.name, owner = told.owner, readers = told.readers
    WHERE n.id = $1 AND n.version_id = told.version_id;
    IF NOT FOUND THEN
        content := svm_internal.svm_content(format('%s@%s', told.name, told.version));
        DELETE FROM svm_internal.svm_node_model AS n WHERE n.id = $1;
        INSERT INTO svm_internal.svm_node_model (id, name, version, version_id, content, owner, readers)
        VALUES ($1, told.name, told.version, told.version_id, content, told.owner, told.readers);
    END IF;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
    RAISE EXCEPTION 'model % cannot be changed on the nodes of Citus', coalesce(title, 'number ' || $1) USING
        -- what Citus says of a node that does not answer
        ERRCODE = CASE WHEN SQLSTATE = 'XX000' AND strpos(SQLERRM, 'connection') > 0 THEN '08006' ELSE SQLSTATE END,
        DETAIL = concat_ws(' ', SQLERRM, nullif(detail, '')),
        HINT = 'It is changed on all nodes or on none. Which one does not answer: SELECT * FROM citus_check_cluster_node_health()';
END;
$$;
REVOKE ALL ON FUNCTION svm_internal.svm_tell_nodes(bigint) FROM PUBLIC;
COMMENT ON FUNCTION svm_internal.svm_tell_nodes(bigint) IS 'part of svm_model: brings nodes of Citus in line';

-- Whatever statement changes a model tells them. Not one that loads a dump, whose rows come in any order: there no node has it.
CREATE FUNCTION svm_internal.svm_model_told() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    told bigint[];
    one bigint;
BEGIN
    -- looked up first: Citus runs no statement inside another
    IF TG_OP = 'TRUNCATE' THEN
        told := ARRAY(SELECT n.id FROM svm_internal.svm_node_model AS n);
    ELSIF TG_TABLE_NAME = 'svm_model' THEN
        told := ARRAY[OLD.id];
    ELSIF TG_TABLE_NAME = 'svm_version' THEN
        told := ARRAY(SELECT n.id FROM svm_internal.svm_node_model AS n WHERE n.id = OLD.model_id AND n.version_id = OLD.id);
    ELSE
        one := CASE TG_OP WHEN 'DELETE' THEN OLD.model_id ELSE NEW.model_id END;
        told := ARRAY(SELECT n.id FROM svm_internal.svm_node_model AS n WHERE n.id = one);
    END IF;
    FOREACH one IN ARRAY told LOOP
        PERFORM svm_internal.svm_tell_nodes(one);
    END LOOP;
    RETURN NULL;
END;
$$;
REVOKE ALL ON FUNCTION svm_internal.svm_model_told() FROM PUBLIC;
COMMENT ON FUNCTION svm_internal.svm_model_told() IS 'part of svm_model: tells nodes of Citus';
CREATE TRIGGER svm_model_told AFTER UPDATE OF name, owner, current_version, on_nodes ON svm_model
    FOR EACH ROW WHEN (OLD.on_nodes OR NEW.on_nodes) EXECUTE FUNCTION svm_internal.svm_model_told();
CREATE TRIGGER svm_model_gone AFTER DELETE ON svm_model
    FOR EACH ROW WHEN (OLD.on_nodes) EXECUTE FUNCTION svm_internal.svm_model_told();
CREATE TRIGGER svm_model_all_gone AFTER TRUNCATE ON svm_model
    FOR EACH STATEMENT EXECUTE FUNCTION svm_internal.svm_model_told();
CREATE TRIGGER svm_version_gone AFTER DELETE ON svm_version
    FOR EACH ROW EXECUTE FUNCTION svm_internal.svm_model_told();
CREATE TRIGGER svm_permission_told AFTER INSERT OR DELETE ON svm_permission
    FOR EACH ROW EXECUTE FUNCTION svm_internal.svm_model_told();
CREATE TRIGGER svm_permission_all_gone AFTER TRUNCATE ON svm_permission
    FOR EACH STATEMENT EXECUTE FUNCTION svm_internal.svm_model_told();
