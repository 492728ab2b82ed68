//! What is asked and what is answered: the problem, the heads and values of C to be trained, how good decisions are.
//!
//! Knows formulas and checked parameters. Must not know weights, caches or passes.

pub mod calibration;
pub mod central_path;
pub mod conformal;
pub mod evaluation;
pub mod fit;
pub mod heads;
pub mod isotonic;
pub mod loss;
pub mod losses;
pub mod minimized;
pub mod outside;
pub mod pairs;
pub mod plan;
pub mod problem;
pub mod quantiles;
pub mod report;
pub mod rounded;
pub mod scoring;
pub mod solver_choice;

pub(crate) use pgsvm_base as base;
pub(crate) use pgsvm_rows as rows;
pub(crate) use pgsvm_simd as simd;
