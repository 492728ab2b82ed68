//! A machine of PSVM. Together with the others it computes the factor, then solves head after head, and returns what it found about its rows.
//! The code is the same whether machines are threads or processes.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::base::memory::{copied, filled, gathered, list, received, OutOfMemory, Room as _};
use crate::base::thinned::Thinned;
use crate::interior::exchange::{combined, Combine, Exchange, Halt, MachineTimes};
use crate::interior::factoring::{factor, Aim, Factored, Share};
use crate::interior::head::{Head, Rules, Solved, StepState};
use crate::interior::sums::Normal;
use crate::interior::values::FactorSpool;
use crate::kernels::{Expansion, Factor, Rows};
use crate::objective::heads::HeadSpec;
use crate::objective::report::HeadReport;

/// Rows over all machines whose decisions are kept, about.
const SAMPLED: usize = 30_000;

/// The orders of a machine.
#[derive(Debug, Serialize, Deserialize)]
pub struct Orders {
    pub(super) aim: Aim,
    pub(super) rules: Rules,
    #[serde(deserialize_with = "list")]
    pub(super) specs: Vec<HeadSpec>,
    /// Rows of all machines.
    pub(super) rows: usize,
    pub(super) keep_duals: bool,
    pub(super) keep_weights: bool,
    /// Whether H goes to spools.
    pub(super) spooled: bool,
    /// The master's: a machine of as many heads near which they begin.
    #[serde(skip)]
    pub(super) first: Option<Expansion>,
}

impl Orders {
    /// Whether H goes to spools, as it would not fit memory.
    pub fn spooled(&self) -> bool {
        self.spooled
    }

    /// Columns of the factor at most.
    pub fn rank(&self) -> usize {
        self.aim.rank
    }

    /// How many heads there are.
    pub fn heads(&self) -> usize {
        self.specs.len()
    }

    /// How many of all rows this one of so many machines is to get.
    pub fn rows_of(&self, machine: usize, machines: usize) -> usize {
        self.rows.saturating_sub(machine).div_ceil(machines)
    }
}

/// What the master says on the way.
#[derive(Debug, Clone, Copy)]
pub enum News {
    /// So many columns of the factor have been made.
    Column(usize),
    /// The factor has been made.
    Factored,
    /// So many steps of a head have been taken.
    Stepped(usize, u32, StepState),
}

/// What is left of a head, of all rows.
#[derive(Debug)]
pub(super) struct FoundHead {
    pub(super) weights: Vec<f64>,
    pub(super) intercept: f64,
    pub(super) report: HeadReport,
    /// C² l e / 2
    pub(super) bound: f64,
}

/// Weights on the way.
#[derive(Debug)]
pub(super) struct KeptWeights {
    /// Steps that the head had taken.
    pub(super) step: u32,
    /// Of phi(x), nu behind them.
    pub(super) weights: Vec<f32>,
}

/// What is left of a machine. On its way from another process it has what the master alone is asked for no more.
#[derive(Serialize, Deserialize)]
pub struct Left {
    /// The same of all machines.
    #[serde(skip)]
    pub(super) heads: Vec<FoundHead>,
    pub(super) steps: u32,
    /// The master's.
    #[serde(skip)]
    pub(super) factor: Option<Factor>,
    #[serde(skip)]
    pub(super) rests: Vec<f64>,
    /// Of the last head, where they are wanted.
    #[serde(skip)]
    pub(super) kept: Option<Thinned<KeptWeights>>,
    pub(super) trace: f64,
    /// Of the rows whose decisions are kept their groups, and their offsets if they have some; by head their decisions, and if wanted by row the dual variables.
    #[serde(deserialize_with = "list")]
    pub(super) groups: Vec<u32>,
    #[serde(deserialize_with = "list")]
    pub(super) offsets: Vec<f64>,
    #[serde(deserialize_with = "received")]
    pub(super) decisions: Vec<Vec<f32>>,
    #[serde(deserialize_with = "received")]
    pub(super) duals: Vec<Vec<f32>>,
    pub(super) times: MachineTimes,
}

/// Works to the end.
pub(super) fn work<E: Exchange>(
    orders: &Orders,
    mut share: Share,
    spool: Option<Box<dyn FactorSpool>>,
    exchange: &mut E,
    mut tell: impl FnMut(News),
) -> Result<Left, Halt> {
    let began = Instant::now();
    let mut factored = factor(&orders.aim, &share, spool, exchange, |columns| {
        tell(News::Column(columns));
    })?;
    factored.constant = orders.rules.constant();
    tell(News::Factored);
    let held = share.bytes() + factored.values().bytes();
    share.rows = Rows::new(0);
    let mut left = Left::new(orders, &share, exchange)?;
    let mut normal = Normal::new(factored.rank())?;
    let starts = starts(orders, &factored, exchange)?;
    for (number, spec) in orders.specs.iter().enumerate() {
        let head = Head::new(spec, orders.rules, &share, &factored)?;
        let most = head.largest_bound();
        let mut step = 0;
        // bounds of all heads are known from here on, so that the weights of all are worth a look
        let keeps = orders.keep_weights && exchange.own() == 0 && number + 1 == orders.heads();
        let mut kept = keeps.then(|| Thinned::of_weights(factored.rank() + 1, orders.heads()));
        let found = head.solve(&starts[number], &mut normal, exchange, |head| {
            tell(News::Stepped(number, step, head.state()));
            if let Some(kept) = &mut kept {
                KeptWeights::keep(kept, step, head);
            }
            step += 1;
        })?;
        left.kept = kept;
        let most = found.duals.iter().copied().fold(most, f64::max);
        let most = combined(exchange, [-most], Combine::Least)?[0];
        let support = found.report.support_vectors as f64;
        let bound = 0.5 * most * most * support * factored.rest;
        left.take(orders, found, bound, exchange)?;
    }
    left.trace = factored.trace;
    let held = held.max(held_by_heads(&share, &factored));
    left.end(orders, factored, exchange)?;
    left.times = exchange.times(began);
    left.times.bytes = held as u64;
    Ok(left)
}

/// By head the weights near which it begins, the intercept behind them; none where it begins from nothing.
fn starts<E: Exchange>(
    orders: &Orders,
    factored: &Factored,
    exchange: &mut E,
) -> Result<Vec<Vec<f64>>, Halt> {
    let heads = orders.heads();
    let is_master = exchange.own() == 0;
    let known = orders.first.as_ref();
    let known = known.filter(|it| is_master && it.machines() == heads);
    let own = f64::from(u8::from(known.is_some()));
    let [known_by] = combined(exchange, [own], Combine::Sum)?;
    let mut all = filled(Vec::new(), heads)?;
    if known_by == 0.0 {
        return Ok(all);
    }
    let length = factored.rank() + 1;
    let mut weights = match known {
        Some(known) => factored.projected(known)?,
        None => filled(0.0, heads * length)?,
    };
    exchange.combine(&mut weights, Combine::Sum)?;
    for (own, weights) in all.iter_mut().zip(weights.chunks_exact(length)) {
        *own = copied(weights)?;
    }
    Ok(all)
}

/// Bytes that heads take beside the factor.
fn held_by_heads(share: &Share, factored: &Factored) -> usize {
    share.bytes()
        + factored.values().bytes()
        + Head::bytes(share.len())
        + Normal::bytes(factored.rank())
}

/// Of a machine's rows every so many-th of all rows is kept.
fn sampled(rows: usize, exchange: &impl Exchange) -> impl Fn(&usize) -> bool {
    let stride = rows.div_ceil(SAMPLED).max(1);
    let (own, machines) = (exchange.own(), exchange.machines());
    move |row| (row * machines + own).is_multiple_of(stride)
}

impl KeptWeights {
    /// Those that cannot be had are missing, and no reason to end.
    fn keep(kept: &mut Thinned<Self>, step: u32, head: &Head<'_>) {
        let (w, nu) = head.weights();
        let all = w.iter().chain([&nu]).map(|weight| *weight as f32);
        if let Ok(weights) = gathered(all) {
            kept.keep(Self { step, weights });
        }
    }
}

impl Left {
    fn new(orders: &Orders, share: &Share, exchange: &impl Exchange) -> Result<Self, OutOfMemory> {
        let (mut groups, mut offsets) = (Vec::new(), Vec::new());
        for row in (0..share.len()).filter(sampled(orders.rows, exchange)) {
            groups.room(1)?.push(share.groups[row]);
            if let Some(offset) = share.offsets.get(row) {
                offsets.room(1)?.push(*offset);
            }
        }
        Ok(Self {
            heads: Vec::new(),
            steps: 0,
            factor: None,
            rests: Vec::new(),
            kept: None,
            trace: 0.0,
            groups,
            offsets,
            decisions: Vec::new(),
            duals: Vec::new(),
            times: MachineTimes::default(),
        })
    }

    fn take(
        &mut self,
        orders: &Orders,
        found: Solved,
        bound: f64,
        exchange: &impl Exchange,
    ) -> Result<(), OutOfMemory> {
        let mut decisions = filled(0.0f32, self.groups.len())?;
        let rows = (0..found.decisions.len()).filter(sampled(orders.rows, exchange));
        for (out, row) in decisions.iter_mut().zip(rows) {
            *out = found.decisions[row] as f32;
        }
        self.decisions.room(1)?.push(decisions);
        if orders.keep_duals {
            let mut duals = filled(0.0f32, found.duals.len())?;
            for (out, dual) in duals.iter_mut().zip(&found.duals) {
                *out = *dual as f32;
            }
            self.duals.room(1)?.push(duals);
        }
        self.steps += found.steps;
        self.heads.room(1)?.push(FoundHead {
            weights: found.weights,
            intercept: found.intercept,
            report: found.report,
            bound,
        });
        Ok(())
    }

    fn end(
        &mut self,
        orders: &Orders,
        mut factored: Factored,
        exchange: &impl Exchange,
    ) -> Result<(), OutOfMemory> {
        self.rests = std::mem::take(&mut factored.rests);
        if exchange.own() == 0 {
            self.factor = factored.into_factor(orders.aim.kernel)?;
        }
        Ok(())
    }
}
