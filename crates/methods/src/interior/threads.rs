//! Machines as threads of this process, and who listens to them. A thread ends when its work is done, when another one has ended
//! early, or when nobody listens any more: then its next look for interrupts unwinds it.

use std::any::Any;
use std::cell::RefCell;
use std::io;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{unbounded, Receiver, Sender};

use crate::base::interrupts;
use crate::base::memory::OutOfMemory;
use crate::interior::crew::{Crew, CrewState};
use crate::interior::exchange::{Channels, Halt};
use crate::interior::factoring::Share;
use crate::interior::machine::{work, Left, News, Orders};
use crate::rows::row::Row;

/// How long the listener waits for news.
const PATIENCE: Duration = Duration::from_millis(10);

thread_local! {
    /// Of a machine's thread, whether it is to end.
    static STOP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// What a thread unwinds with that is to end.
struct Ended;

/// Ends the thread where it is to end.
fn look() {
    let stops = STOP.with_borrow(|stop| stop.as_ref().is_some_and(|it| it.load(Ordering::Relaxed)));
    if stops {
        resume_unwind(Box::new(Ended));
    }
}

enum Message {
    News(News),
    Left(usize, Box<Result<Left, Halt>>),
    Panicked(Box<dyn Any + Send>),
}

/// So many machines that are threads of this process.
pub struct Threads {
    orders: Option<Orders>,
    shares: Vec<Share>,
    machines: usize,
    running: Option<Machines>,
}

impl Threads {
    pub fn new(machines: usize) -> Self {
        Self {
            orders: None,
            shares: Vec::new(),
            machines,
            running: None,
        }
    }
}

impl Crew for Threads {
    fn begin(&mut self, orders: Orders, width: usize) -> Result<(), Halt> {
        self.orders = Some(orders);
        self.shares = (0..self.machines).map(|_| Share::new(width)).collect();
        Ok(())
    }

    fn machines(&self) -> usize {
        self.machines
    }

    fn expect_rows(&mut self) -> Result<(), OutOfMemory> {
        let Some(orders) = &self.orders else {
            return Ok(());
        };
        for (machine, share) in self.shares.iter_mut().enumerate() {
            share.room_for(orders.rows_of(machine, self.machines))?;
        }
        Ok(())
    }

    fn take(&mut self, machine: usize, row: &Row<'_>) -> Result<(), OutOfMemory> {
        self.shares[machine].take(row)
    }

    fn bytes(&self) -> usize {
        self.shares.iter().map(Share::bytes).sum()
    }

    fn start(&mut self) -> Result<(), Halt> {
        if let Some(orders) = self.orders.take() {
            let machines = Machines::start(orders, std::mem::take(&mut self.shares));
            self.running = Some(machines.map_err(|_| Halt::NoMachine)?);
        }
        Ok(())
    }

    fn listen(&mut self, tell: &mut dyn FnMut(News)) -> CrewState {
        let running = self.running.as_mut();
        running.map_or(CrewState::Working, |machines| machines.listen(tell))
    }
}

/// The threads.
struct Machines {
    stop: Arc<AtomicBool>,
    messages: Receiver<Message>,
    threads: Vec<JoinHandle<()>>,
    left: Vec<Option<Left>>,
    /// Why the first that says a reason has ended early, and how many have ended.
    halt: Option<Halt>,
    ended: usize,
}

impl Machines {
    /// One for each share.
    fn start(orders: Orders, shares: Vec<Share>) -> io::Result<Self> {
        let (sender, messages) = unbounded();
        let mut machines = Self {
            stop: Arc::new(AtomicBool::new(false)),
            messages,
            threads: Vec::new(),
            left: shares.iter().map(|_| None).collect(),
            halt: None,
            ended: 0,
        };
        let orders = Arc::new(orders);
        let all = Channels::between(shares.len());
        for (machine, (share, exchange)) in shares.into_iter().zip(all).enumerate() {
            let (orders, stop) = (Arc::clone(&orders), Arc::clone(&machines.stop));
            let sender = sender.clone();
            let run = move || run(machine, &orders, (share, exchange), stop, &sender);
            let thread = Builder::new().name("machine".into()).spawn(run)?;
            machines.threads.push(thread);
        }
        Ok(machines)
    }

    /// What has happened, waited for for some milliseconds.
    fn listen(&mut self, tell: &mut dyn FnMut(News)) -> CrewState {
        let Ok(message) = self.messages.recv_timeout(PATIENCE) else {
            return CrewState::Working;
        };
        match message {
            Message::News(news) => {
                tell(news);
                return CrewState::Working;
            }
            Message::Panicked(panic) => resume_unwind(panic),
            Message::Left(machine, left) => {
                self.ended += 1;
                match *left {
                    Ok(left) => self.left[machine] = Some(left),
                    Err(halt) => {
                        self.halt = Some(match self.halt.take() {
                            Some(known) => known.or(halt),
                            None => halt,
                        });
                    }
                }
            }
        }
        if self.ended < self.left.len() {
            return CrewState::Working;
        }
        match self.halt.take() {
            Some(halt) => CrewState::Halted(halt),
            None => CrewState::Left(self.left.drain(..).flatten().collect()),
        }
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // it has caught every panic
            let _ = thread.join();
        }
    }
}

/// What a thread does.
fn run(
    machine: usize,
    orders: &Orders,
    (share, mut exchange): (Share, Channels),
    stop: Arc<AtomicBool>,
    sender: &Sender<Message>,
) {
    STOP.set(Some(stop));
    interrupts::check_by(look);
    // nobody may listen any more
    let say = |message| drop(sender.send(message));
    let tell = |news| {
        if machine == 0 {
            say(Message::News(news));
        }
    };
    let worked = catch_unwind(AssertUnwindSafe(|| {
        work(orders, share, None, &mut exchange, tell)
    }));
    match worked {
        Ok(left) => say(Message::Left(machine, Box::new(left))),
        Err(panic) if panic.is::<Ended>() => {}
        Err(panic) => say(Message::Panicked(panic)),
    }
}
