//! What a role has done when it gives control back.

/// What a call of a role's `step` achieved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Some work was done and the other role may have become able to go on: notify it.
    Progress,
    /// Nothing can be done before the other role makes progress.
    Blocked,
    /// The role has finished; further calls return `Done` again.
    Done,
}
