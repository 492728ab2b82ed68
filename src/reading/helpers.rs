//! Several processes fetch the rows of one table, or of several one after the other, as of partitions. Helpers are workers
//! that do what costs a row most where it comes from PostgreSQL: they bring its page, see whether it is visible, take it
//! apart and detoast it. The process that plays the reader does all the rest, and gets the rows in the order in which it
//! would have met them alone; so nothing that is learned from rows, and no error in them, depends on helpers.
//!
//! The tables are cut into [`crate::planning::pieces`]. The reader takes one after the other: one that nobody has taken it fetches
//! itself, any other it receives from the helper that has, whose queue holds just that piece next. A helper waits when its
//! queue is full.

use crate::base::errors::OrRaise;
use crate::pg::executor::{Continue, DeformedRow, RowPlace, RunningQuery};
use crate::pg::origin::KnownColumns;
use crate::pg::packed_rows::{Ending, RowPacker, RowUnpacker, Shape};
use crate::pg::query::{self, Planned};
use crate::pg::queue::{Receiver, Sender};
use crate::pg::wait::failed_elsewhere;
use crate::planning::job::{Job, Role};
use crate::planning::pieces::{Fetcher, TablePieces};
use std::cell::Cell;

/// Size of a helper's queue: more than a piece of most tables.
pub const QUEUE_BYTES: usize = 2 << 20;
/// Rows after which a helper's query pauses at the latest.
const MANY_ROWS: u64 = 1 << 20;

/// What the reader has of its helpers.
pub struct Helpers {
    pieces: TablePieces,
    /// By worker number, of those that help.
    queues: Vec<Option<Receiver>>,
}

impl Helpers {
    /// The helpers of a job, who share these pieces with this process and send rows through these queues.
    pub fn new(job: &Job, pieces: TablePieces, queue: impl Fn(usize) -> Receiver) -> Self {
        let helps = |(worker, role): (usize, &Role)| (*role == Role::Helper).then(|| queue(worker));
        Self {
            pieces,
            queues: job.roles.iter().enumerate().map(helps).collect(),
        }
    }

    /// Lets them go: one that waits for room in its queue must not wait for ever.
    fn dismiss(self) {
        self.queues.into_iter().flatten().for_each(Receiver::close);
    }
}

/// The rows of a query, fetched by this process alone or with helpers.
pub enum SourceRows {
    Alone(RunningQuery),
    Together(Box<HelpedRows>),
}

/// Rows that several processes fetch.
pub struct HelpedRows {
    running: RunningQuery,
    helpers: Helpers,
    unpacker: RowUnpacker,
    piece: u32,
    from: Fetcher,
    /// Whether rows of a helper's message are left.
    open: bool,
    /// Rows of the piece that a helper has sent so far.
    rows: u64,
    /// Rows of the piece, fetched here, that were handed on before.
    again: u64,
}

impl SourceRows {
    /// Starts the query of a job.
    pub fn start(planned: &Planned, job: &Job, helpers: Option<Helpers>) -> Self {
        let running = running(planned, job);
        let Some(helpers) = helpers else {
            return Self::Alone(running);
        };
        match Shape::of(planned).filter(|_| helpers.pieces.cut.fits(planned)) {
            Some(shape) => Self::Together(Box::new(HelpedRows::start(running, helpers, shape))),
            // the plan is another one than it was
            None => {
                helpers.dismiss();
                Self::Alone(running)
            }
        }
    }

    /// Pushes `rows` rows into `visit`, or as many as there are; true when there may be more.
    pub fn run(&mut self, rows: u64, visit: &mut dyn FnMut(&DeformedRow<'_>) -> Continue) -> bool {
        match self {
            Self::Alone(running) => running.run(rows, visit),
            Self::Together(together) => together.run(rows, visit),
        }
    }

    /// The query that runs in this process.
    pub fn running(&mut self) -> &mut RunningQuery {
        match self {
            Self::Alone(running) => running,
            Self::Together(together) => &mut together.running,
        }
    }

    /// Where the row that was handed on last lies, if that is known; nothing can be handed on afterwards.
    pub fn place(&mut self) -> Option<RowPlace> {
        match self {
            Self::Alone(running) => running.place(),
            Self::Together(together) => together.place(),
        }
    }

    /// Ends the query.
    pub fn finish(self) {
        match self {
            Self::Alone(running) => running.finish(),
            Self::Together(together) => {
                together.running.finish();
                together.helpers.dismiss();
            }
        }
    }
}

impl HelpedRows {
    fn start(running: RunningQuery, helpers: Helpers, shape: Shape) -> Self {
        let mut this = Self {
            running,
            helpers,
            unpacker: RowUnpacker::new(shape),
            piece: 0,
            from: Fetcher::Reader,
            open: false,
            rows: 0,
            again: 0,
        };
        this.begin();
        this
    }

    /// As many rows as are asked for, whatever pieces they are of: what is made of rows depends on where calls end.
    fn run(&mut self, rows: u64, visit: &mut dyn FnMut(&DeformedRow<'_>) -> Continue) -> bool {
        let (left, enough) = (Cell::new(rows), Cell::new(false));
        let visit = &mut |row: &DeformedRow<'_>| {
            left.set(left.get() - 1);
            let verdict = visit(row);
            enough.set(matches!(verdict, Continue::No));
            verdict
        };
        while left.get() > 0 && !enough.get() {
            let ending = match self.from {
                Fetcher::Reader => self.fetch(left.get(), visit),
                Fetcher::Helper(worker) => self.receive(worker, left.get(), visit),
            };
            match ending {
                Ending::None => {}
                Ending::GivenBack => self.fetch_here(self.rows),
                Ending::Piece => {
                    self.piece += 1;
                    if self.piece == self.helpers.pieces.cut.count() {
                        return false;
                    }
                    self.begin();
                }
            }
        }
        !enough.get()
    }

    /// Begins the piece where this process is.
    fn begin(&mut self) {
        self.rows = 0;
        match self.helpers.pieces.take(self.piece, Fetcher::Reader) {
            Ok(()) => self.fetch_here(0),
            Err(helper) => self.from = helper,
        }
    }

    /// Fetches the piece in this process, but for the rows that were handed on already.
    fn fetch_here(&mut self, again: u64) {
        self.from = Fetcher::Reader;
        self.again = again;
        let (table, pages) = self.helpers.pieces.cut.piece(self.piece);
        self.running.restrict(table, pages);
    }

    fn fetch(&mut self, rows: u64, visit: &mut dyn FnMut(&DeformedRow<'_>) -> Continue) -> Ending {
        let again = &mut self.again;
        let more = self.running.run(rows, &mut |row| {
            if *again > 0 {
                *again -= 1;
                return Continue::Yes;
            }
            visit(row)
        });
        match more {
            true => Ending::None,
            false => Ending::Piece,
        }
    }

    /// Of a row that a helper has sent it is found by fetching the piece up to it here too.
    fn place(&mut self) -> Option<RowPlace> {
        if let Fetcher::Helper(_) = self.from {
            self.fetch_here(self.rows.saturating_sub(1));
            self.fetch(self.again + 1, &mut |_| Continue::No);
        }
        self.running.place()
    }

    fn receive(
        &mut self,
        worker: usize,
        rows: u64,
        visit: &mut dyn FnMut(&DeformedRow<'_>) -> Continue,
    ) -> Ending {
        if !std::mem::replace(&mut self.open, true) {
            let queue = self.helpers.queues[worker].as_mut();
            let Some(message) = queue.and_then(Receiver::next) else {
                failed_elsewhere("a helper of the training ended without an error");
            };
            // SAFETY: the helper packed columns of the same query. The next message is waited for when this one is done.
            unsafe { self.unpacker.open(message) };
        }
        let unpacker = &mut self.unpacker;
        let count = &mut self.rows;
        let visit = &mut |row: &DeformedRow<'_>| {
            *count += 1;
            visit(row)
        };
        match self.running.like_rows(|| unpacker.rows(rows, visit)) {
            None => Ending::None,
            Some(ending) => {
                self.open = false;
                ending
            }
        }
    }
}

/// Fetches pieces of the tables, in a worker: until none is left, nobody listens, or a row is too long to be handed over, as
/// there will be more of those.
pub fn help(job: &Job, worker: usize, pieces: TablePieces, sender: &mut Sender) {
    let planned = query::plan(&job.statement.select);
    let mut running = running(&planned, job);
    if let Some(shape) = Shape::of(&planned).filter(|_| pieces.cut.fits(&planned)) {
        let mut packer = RowPacker::new(shape);
        for piece in 0..pieces.cut.count() {
            if pieces.take(piece, Fetcher::Helper(worker)).is_err() {
                continue;
            }
            let (table, pages) = pieces.cut.piece(piece);
            running.restrict(table, pages);
            if !send_piece(&mut running, &mut packer, sender) {
                break;
            }
        }
    }
    running.finish();
}

/// Starts the query of a job in this process.
pub fn running(planned: &Planned, job: &Job) -> RunningQuery {
    let known = KnownColumns {
        origins: job
            .looks
            .slacks
            .then(|| job.statement.columns.decoded.clone()),
        derived: job
            .index
            .is_some()
            .then(|| job.statement.columns.features.clone()),
    };
    RunningQuery::start_knowing(planned, known)
}

/// Sends the rows of a piece; false when nobody listens, and for a piece given back.
fn send_piece(running: &mut RunningQuery, packer: &mut RowPacker, sender: &mut Sender) -> bool {
    loop {
        let (mut packed, mut ripe) = (true, false);
        let more = running.run(MANY_ROWS, &mut |row| {
            // SAFETY: the row is one of the query whose columns the packer knows.
            packed = unsafe { packer.push(row) }.or_raise();
            ripe = packer.is_ripe();
            match packed && !ripe {
                true => Continue::Yes,
                false => Continue::No,
            }
        });
        let ending = match (packed, ripe || more) {
            (false, _) => Ending::GivenBack,
            (true, true) => Ending::None,
            (true, false) => Ending::Piece,
        };
        let sent = packer.take(ending, |message| sender.send(message));
        if !sent || ending != Ending::None {
            return sent && ending == Ending::Piece;
        }
    }
}
