//! Numbers of transactions, of 64 bits, which never come again. Rows show the lower half of the number of the transaction
//! that inserted them. Any process.

use core::cell::Cell;
use pgrx::pg_sys;

/// The first transaction that is one: what has a number below was there when the cluster was made, or was frozen by a server
/// before 9.4, which forgot who inserted it.
const FIRST: u32 = 3;

/// The transactions that had ended when a snapshot was taken: they insert no more rows.
#[derive(Debug)]
pub struct EndedTransactions {
    /// All below this one had: the oldest that was running, or the next one.
    end: u64,
    /// The next one later on.
    next: u64,
    /// Says which of those between the two had; null where none is taken to have.
    snapshot: pg_sys::Snapshot,
    /// What was found last of those between the two, of which many rows come one after the other.
    last: Cell<(u64, bool)>,
    /// Whether one was asked for that had not.
    is_unsettled: Cell<bool>,
}

impl Default for EndedTransactions {
    fn default() -> Self {
        Self::until(0, 0)
    }
}

impl EndedTransactions {
    /// Those of a snapshot.
    ///
    /// # Safety
    /// It is one of the executor's for reading tables, in use as long as `self` is asked.
    pub unsafe fn before(snapshot: pg_sys::Snapshot) -> Self {
        let next = next();
        // SAFETY: as the caller promises.
        let oldest = unsafe { (*snapshot).xmin }.into_inner();
        let running = (next as u32).wrapping_sub(oldest);
        Self {
            snapshot,
            ..Self::until(next.saturating_sub(u64::from(running)), next)
        }
    }

    /// Those with numbers below `end`, where `next` is the next one.
    pub fn until(end: u64, next: u64) -> Self {
        Self {
            end,
            next,
            snapshot: core::ptr::null_mut(),
            last: Cell::new((0, false)),
            is_unsettled: Cell::new(false),
        }
    }

    /// The number of the transaction that shows as `shown` in a row that one of these inserted; None where that is not sure.
    ///
    /// Only the last transaction that shows like that can be told, and it need not be the one: a row may be older by 2^32.
    /// What is told is never less than the truth, and had ended. So a row inserted later in the place of this one, by a
    /// transaction that was running at the snapshot or came after it, is never told the same number: its own, M say, is
    /// another one, and what is told of it is M, or more by 2^32 or a multiple, which nothing that had ended at the snapshot
    /// can be while M was running.
    #[inline]
    pub fn number(&self, shown: u32) -> Option<u64> {
        let number = last_before(self.next, shown)?;
        let had_ended = number < self.end || self.had_ended(number);
        (shown >= FIRST && had_ended).then_some(number)
    }

    /// The same for a row of a catalog, some of which were there when the cluster was made.
    pub fn number_in_catalog(&self, shown: u32) -> Option<u64> {
        match shown {
            0..FIRST => Some(u64::from(shown)),
            _ => self.number(shown),
        }
    }

    /// Whether a row was met whose transaction had not ended: it is the one at hand, or, of a catalog, ended after the snapshot.
    pub fn is_unsettled(&self) -> bool {
        self.is_unsettled.get()
    }

    /// Whether a transaction from `end` on had ended, others before it not.
    #[inline]
    fn had_ended(&self, number: u64) -> bool {
        let (last, had_ended) = self.last.get();
        match last == number {
            true => had_ended,
            false => self.look(number),
        }
    }

    #[cold]
    fn look(&self, number: u64) -> bool {
        let shown = pg_sys::TransactionId::from(number as u32);
        // SAFETY: the snapshot is in use, and the number is none below its oldest, so what is known of it was not removed. A
        // snapshot does not count the transaction that took it as running.
        let had_ended = unsafe {
            !self.snapshot.is_null()
                && !pg_sys::XidInMVCCSnapshot(shown, self.snapshot)
                && !pg_sys::TransactionIdIsCurrentTransactionId(shown)
        };
        self.last.set((number, had_ended));
        self.is_unsettled.set(self.is_unsettled() || !had_ended);
        had_ended
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
