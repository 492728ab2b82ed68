//! Numbers of transactions, of 64 bits, which never come again. Rows show the lower half of the number of the transaction
//! that inserted them. Any process.

use pgrx::pg_sys;

/// The first transaction that is one: what has a number below was there when the cluster was made, or was frozen by a server
/// before 9.4, which forgot who inserted it.
const FIRST: u32 = 3;

/// The transactions that had ended when a snapshot was taken, as all before them had: they insert no more rows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ended {
    /// The first one that may go on: the oldest that was running, or the next one.
    end: u64,
    /// The next one later on.
    next: u64,
}

impl Ended {
    /// Those of a snapshot.
    ///
    /// # Safety
    /// It is one of the executor's for reading tables, in use.
    pub unsafe fn before(snapshot: pg_sys::Snapshot) -> Self {
        let next = next();
        // SAFETY: as the caller promises.
        let oldest = unsafe { (*snapshot).xmin }.into_inner();
        let running = (next as u32).wrapping_sub(oldest);
        Self::until(next.saturating_sub(u64::from(running)), next)
    }

    /// Those with numbers below `end`, where `next` is the next one.
    pub fn until(end: u64, next: u64) -> Self {
        Self { end, next }
    }

    /// The number of the transaction that shows as `shown` in a row that one of these inserted; None where that is not sure.
    ///
    /// Only the last transaction that shows like that can be told, and it need not be the one: a row may be older by 2^32.
    /// What is told is never less than the truth, and below `end`. So a row inserted later in the place of this one, by a
    /// transaction that was running at the snapshot or came after it, is never told the same number: its own is at least
    /// `end` of the earlier snapshot.
    #[inline]
    pub fn number(&self, shown: u32) -> Option<u64> {
        let number = last_before(self.next, shown)?;
        (shown >= FIRST && number < self.end).then_some(number)
    }

    /// The same for a row of a catalog, some of which were there when the cluster was made.
    pub fn number_in_catalog(&self, shown: u32) -> Option<u64> {
        match shown {
            0..FIRST => Some(u64::from(shown)),
            _ => self.number(shown),
        }
    }
}

/// The number of the transaction, or the subtransaction, at hand, which gets one if it has none.
pub fn current() -> u64 {
    // SAFETY: inside a transaction that may write.
    let shown = unsafe { pg_sys::GetCurrentTransactionId() }.into_inner();
    last_before(next(), shown).unwrap_or_default()
}

/// Whether transaction `number` has begun and shows as `shown`.
pub fn shows_as(number: u64, shown: u32) -> bool {
    number as u32 == shown && number < next()
}

/// The number of the next transaction.
fn next() -> u64 {
    // SAFETY: it reads shared memory under PostgreSQL's own lock.
    unsafe { pg_sys::ReadNextFullTransactionId() }.value
}

/// The last number before `next` that shows like this.
#[inline]
fn last_before(next: u64, shown: u32) -> Option<u64> {
    let last = next.checked_sub(1)?;
    last.checked_sub(u64::from((last as u32).wrapping_sub(shown)))
}
