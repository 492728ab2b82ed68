//! What a model has learned: its weights by name, its decision as SQL, and the rows whose labels it
//! doubts. Runs in the calling backend and only reads. Why a model decides about one row as it does
//! is `predict::contributions`.

mod as_sql;
mod suspects;
mod weights;
