//! Features that a training cannot make where it is asked to.

use super::combinations;

combinations! {
    visit() {
        what: "\"expansion\": \"visit\"",
        with: "features but weighted_degree and spectrum, kernels, keys, blocks, \"normalize_rows\", a scale but 'none' and 'standard'",
        why: not_yet,
        code: ERRCODE_FEATURE_NOT_SUPPORTED,
        message: "\"expansion\": \"visit\" is for weighted_degree(column, d) and spectrum(column, k), alone or with others",
        reason: "Only rows that are visited one by one, as they came, are kept in their short form.",
        hint: "Leave \"expansion\" out of the options. With kernels, keys, blocks, \"normalize_rows\" or a scale other than 'none' and 'standard' features are stored",
    }
}
