//! Rows as they lie in memory and where they come from.
//!
//! Knows the packed row, the page of rows, and the border over which examples come in. Must not know who reads rows,
//! or what is minimized over them.

pub mod batch;
pub mod blocks;
pub mod compact;
pub mod facts;
pub mod filing;
pub mod in_memory;
pub mod map;
pub mod page;
pub mod row;
pub mod source;
pub mod throttled;
pub mod visited;
