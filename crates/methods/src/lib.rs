//! How weights are found, and what is known of them on the way.
//!
//! Knows losses, rows and sums over rows. Must not know in which order rows come (schedules do), nor who holds them: exact kernel machines
//! and interior points read them again from a source of [`maps`].

pub mod exact;
pub mod interior;
pub mod scanning;
pub mod screening;
pub mod solver;

pub(crate) use pgsvm_base as base;
pub(crate) use pgsvm_delivery::{maps, reader};
pub(crate) use pgsvm_kernels as kernels;
pub(crate) use pgsvm_linalg as linalg;
pub(crate) use pgsvm_objective as objective;
pub(crate) use pgsvm_rows as rows;
pub(crate) use pgsvm_simd as simd;
