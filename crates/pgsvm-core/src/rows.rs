//! Rows as they lie in memory and where they come from.
//!
//! Knows the packed row, the page of rows, and the border over which examples come in. Must not know who reads rows,
//! or what is minimized over them.

pub(crate) mod batch;
pub(crate) mod blocks;
pub(crate) mod facts;
pub(crate) mod map;
pub(crate) mod page;
pub(crate) mod row;
pub mod source;
pub(crate) mod visited;
