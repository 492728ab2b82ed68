//! Where rows come from, and where they are kept until somebody visits them.
//!
//! Knows rows, and of what is minimized how a row's group gives its side. Must not know methods: which weights are found, and how.

pub mod cache;
pub mod maps;
pub mod reader;
pub mod scaling;

pub(crate) use pgsvm_base as base;
pub(crate) use pgsvm_objective as objective;
pub(crate) use pgsvm_rows as rows;
pub(crate) use pgsvm_simd as simd;
