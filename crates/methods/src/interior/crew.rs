//! The machines as their caller sees them: threads of this process ([`crate::interior::threads`]), or processes to which the caller deals
//! out rows and which run [`crate::interior::work_in_slots`].

use crate::base::memory::OutOfMemory;
use crate::interior::exchange::Halt;
use crate::interior::machine::{Left, News, Orders};
use crate::rows::row::Row;

/// What the machines are at.
pub enum CrewState {
    /// They work, or have not begun.
    Working,
    /// All have ended, machine by machine.
    Left(Vec<Left>),
    /// One has ended early.
    Halted(Halt),
}

/// The machines of a solver: `begin`, then `take` of every row, `start`, and `listen` until all have left or one has halted.
pub trait Crew {
    /// Prepares for these orders, and rows of so many dense values.
    fn begin(&mut self, orders: Orders, width: usize) -> Result<(), Halt>;

    /// How many there are, known once it has begun.
    fn machines(&self) -> usize;

    /// Makes room for all the rows that are to come.
    fn expect_rows(&mut self) -> Result<(), OutOfMemory>;

    /// Gives a row to a machine.
    fn take(&mut self, machine: usize, row: &Row<'_>) -> Result<(), OutOfMemory>;

    /// Whether each has a spool for its part of the factor.
    fn can_spool(&self) -> bool {
        false
    }

    /// Bytes of the rows that all hold so far.
    fn bytes(&self) -> usize;

    /// All rows have come.
    fn start(&mut self) -> Result<(), Halt>;

    /// What has happened, waited for for some milliseconds, or, where this thread is one of them, for as long as it works; `tell`
    /// hears what the master says meanwhile.
    fn listen(&mut self, tell: &mut dyn FnMut(News)) -> CrewState;
}
