-- Prediction
-- features: a row, an array of numbers, or a text in LIBSVM notation.

CREATE OR REPLACE FUNCTION svm_decision(model text, features anyelement) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_decision_wrapper';
CREATE OR REPLACE FUNCTION svm_decision(model text, features text) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_decision_wrapper';
COMMENT ON FUNCTION svm_decision(text, anyelement) IS
    'weights times features plus intercept: positive on the side of the positive label';
COMMENT ON FUNCTION svm_decision(text, text) IS
    'weights times features plus intercept: positive on the side of the positive label';

CREATE OR REPLACE FUNCTION svm_predict(model text, features anyelement) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_predict_wrapper';
CREATE OR REPLACE FUNCTION svm_predict(model text, features text) RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_predict_wrapper';
COMMENT ON FUNCTION svm_predict(text, anyelement) IS
    'the predicted label of a model whose label is a number, or 0 and 1 for a boolean';
COMMENT ON FUNCTION svm_predict(text, text) IS
    'the predicted label of a model whose label is a number, or 0 and 1 for a boolean';

CREATE OR REPLACE FUNCTION svm_classify(model text, features anyelement) RETURNS text
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_classify_wrapper';
CREATE OR REPLACE FUNCTION svm_classify(model text, features text) RETURNS text
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_classify_wrapper';
COMMENT ON FUNCTION svm_classify(text, anyelement) IS 'the predicted label as text';
COMMENT ON FUNCTION svm_classify(text, text) IS 'the predicted label as text';
