//! Which rows cannot matter, proven: the slack of a row's margin, in a metric.
//!
//! Knows margins, certificates and how far weights can have moved. Must not know how rows are read or in which order.

pub mod measuring;
pub mod slack;
