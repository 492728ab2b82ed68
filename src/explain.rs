//! What a model has learned: its weights by name, and its decision as SQL.
//! Runs in the calling backend and only reads. Why a model decides about one row as it does
//! is `predict::contributions`.

mod as_sql;
mod weights;
