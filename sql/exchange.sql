-- Exchange: models and data from and to other programs

CREATE OR REPLACE FUNCTION svm_export(model text, format text DEFAULT 'libsvm') RETURNS text
    LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_export_wrapper';
COMMENT ON FUNCTION svm_export IS
    'a model as text: all of it, for svm_import in another database, or in the format of LIBLINEAR or LIBSVM, which their programs read';

CREATE OR REPLACE FUNCTION svm_internal.svm_content(model text) RETURNS text
    LANGUAGE sql STABLE
    RETURN svm_export($1, 'pgsvm');
COMMENT ON FUNCTION svm_internal.svm_content(text) IS 'part of svm_tell_nodes';

CREATE OR REPLACE FUNCTION svm_export_rows(
    model text, relation regclass, label text DEFAULT NULL, features text DEFAULT NULL, scaled boolean DEFAULT true
)
RETURNS TABLE (
    row_number bigint,
    -- the label, and index:value of each feature that is not 0, from 1 and ascending
    line text
)
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 AS 'MODULE_PATHNAME', 'svm_export_rows_wrapper';
COMMENT ON FUNCTION svm_export_rows IS
    'the rows of a relation as the model was trained on such: lines of a LIBSVM file';

CREATE OR REPLACE FUNCTION svm_import(
    name text,
    content text,
    features text DEFAULT 'sparse',
    classes jsonb DEFAULT NULL
) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_import_wrapper';
COMMENT ON FUNCTION svm_import IS
    'stores a model that svm_export wrote, or LIBLINEAR or LIBSVM has trained, as a new version of the model and returns its name';

CREATE OR REPLACE FUNCTION svm_load_libsvm(
    relation text,
    path text DEFAULT NULL,
    content text DEFAULT NULL
) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_load_libsvm_wrapper';
COMMENT ON FUNCTION svm_load_libsvm IS
    'makes a table (label, idx, val) out of a LIBSVM file of the server or a text and returns the number of its rows';
