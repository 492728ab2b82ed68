//! One head: choose candidates, solve over them, decide all rows, and again.

mod ending;

use crate::base::memory::{copied, filled, gathered, OutOfMemory, Room as _};
use crate::exact::candidates::Candidates;
use crate::exact::effort;
use crate::exact::head::ending::{Again, Rounds};
use crate::exact::intercept::Constant;
use crate::exact::interior;
use crate::exact::kernel_rows::KernelRows;
use crate::exact::known::Known;
use crate::exact::outliers::Outliers;
use crate::exact::{Deciding, ExactError, ExactJob};
use crate::kernels::{Expansion, KernelError, Rows, ValueRounding};
use crate::maps::low_rank::{LowRankError, LowRankSource};
use crate::objective::evaluation::right_side;
use crate::objective::heads::HeadSpec;
use crate::objective::report::{Certificate, HeadReport};
use crate::rows::source::{Source, Spool};

/// Rows with a margin below the first of these are candidates; where they do not fit the memory, below the next one. Rows with
/// a dual variable are in any case.
const NEAR: [f64; 4] = [1.5, 1.25, 1.1, 1.0];
/// The part of the tolerance that the candidates' own gap may have before all rows are read.
const OWN_SHARE: f64 = 0.25;
/// The same of the gap that the last pass over all rows found, 1 before the first.
const LAST_SHARE: f64 = 0.02;
/// A pass is one in 64 bits at once where the last one brought no more than one candidate of so many.
const FEW: usize = 32;
/// And where the candidates' own gap will be no more than this part of the tolerance.
const SURELY: f64 = 0.5;
/// Working sets between two looks at the candidates' own gap, and most of them, times candidates, before all rows are read.
const SETS_BETWEEN: usize = 8;
const MOST_SETS_TIMES_CANDIDATES: usize = 40_000_000;
/// Seconds on a usual processor that a head may work on its candidates for each pass it may make, however short they are, up to
/// [`ExactJob::least_seconds`].
const LEAST_SECONDS_A_PASS: f64 = 0.1;
/// And that steps along pairs take before anything else is tried.
const PAIRS_FIRST: f64 = 0.01;
/// Passes, one after the other, that come no nearer and find no more candidates: what is left then is rounding. Nearer is a gap of at most so many
/// times the smallest before.
const MOST_STALLED: u32 = 3;
const NEARER: f64 = 0.9;
/// Candidates may become so many times what they are at first, and so many more.
const GROWTH: f64 = 1.25;
const ROOM: usize = 64;
/// A dual above P(0) by more than this part of it is none: rounding does not do that.
const NO_INNER_PRODUCT: f64 = 1e-6;
/// No candidate.
const NONE: u32 = u32::MAX;

pub(super) struct Head {
    spec: HeadSpec,
    /// By row: its side, 0 where it takes no part; its dual variable, of the machine of low rank and then at the end; its candidate.
    sides: Vec<i8>,
    /// By row what its score has beside a decision; empty where that is nothing.
    pub(super) offsets: Vec<f64>,
    pub(super) duals: Vec<f64>,
    places: Vec<u32>,
    pub(super) candidates: Candidates,
    kernel_rows: Option<KernelRows>,
    /// Where the loss is truncated; and whether rows have changed sides, so that a pass is to say what decisions are.
    outliers: Option<Outliers>,
    resorted: bool,
    /// Rows with margins below it are candidates.
    near: f64,
    stage: Stage,
    passes: u32,
    sets: usize,
    /// Seconds that passes, candidates that were given up, and all of them at once have taken, about.
    seconds: f64,
    /// Whether no more is to be computed than what there is comes to.
    is_spent: bool,
    /// Whether pairs have come no nearer for a while, so that all candidates are to be solved for at once, if they fit.
    stands: bool,
    /// What rows of each side weigh, negative ones first, once a pass has told.
    side_weights: [f64; 2],
    /// Where rows have offsets, what they lose at weights of 0, those that are no outliers; and all, none of them more than an outlier.
    pub(super) at_zero: [f64; 2],
    /// The best that passes in 64 bits have seen, over all rounds; and what it is made again for.
    best: Option<Known>,
    again: Option<Again>,
    rounds: Rounds,
    /// Candidates that have been solved for all at once, the last time.
    at_once: usize,
    proved: Proved,
    pub(super) report: HeadReport,
}

/// What passes have said: once there are any in 64 bits these alone, and nothing else ends a head.
#[derive(Default)]
struct Proved {
    begun: bool,
    /// The smallest gap of all, and passes since that came no nearer.
    least: Option<f64>,
    stalled: u32,
}

impl Proved {
    /// From now on passes have 64 bits.
    fn begin(&mut self) {
        if !self.begun {
            *self = Self {
                begun: true,
                ..Self::default()
            };
        }
    }

    /// Takes the gap of a pass; whether it came nearer.
    fn take(&mut self, gap: f64) -> bool {
        let before = self.least.unwrap_or(f64::INFINITY);
        self.least = Some(gap.min(before));
        gap <= NEARER * before
    }
}

enum Stage {
    /// Candidates are gathered; so many rows have been read.
    Gathering(usize),
    Solving,
    /// All rows are read.
    Passing(Box<Pass>),
}

/// A pass over all rows with all support vectors.
struct Pass {
    machine: Option<Expansion>,
    row: usize,
    /// Losses of rows that are no candidates, and by how much they may be more for what 64 bits lose of decisions.
    losses: f64,
    lost: f64,
    rounding: ValueRounding,
    /// What rows of each side weigh, negative ones first.
    side_weights: [f64; 2],
    at_zero: [f64; 2],
    /// Candidates at its beginning.
    candidates: usize,
    correct: u64,
    /// Rows at a decision of 0, those of the negative side counted down.
    ties: i64,
    rows: u64,
    /// Rows that lose and found no room among the candidates.
    left_out: u64,
}

/// What a step has come to.
pub(super) enum HeadStep {
    Working,
    /// A pass has ended, with this gap.
    Passed(f64),
    /// The same, and the head with it.
    Ended(f64),
}

impl Head {
    pub(super) fn new<S, P>(
        job: &ExactJob,
        spec: HeadSpec,
        duals: Vec<f32>,
        (decisions, groups, offsets): (&[f32], &[u32], &[f64]),
        width: usize,
    ) -> Result<Self, ExactError<S, P>> {
        let constant = Constant::new(job.intercept, 0.0);
        let sides = gathered(groups.iter().map(|group| spec.signs.of(*group as usize)))?;
        let truncation = spec.truncation.or(job.truncation);
        let outliers = Outliers::of((job.loss, truncation), (&sides, decisions))?;
        let mut head = Self {
            outliers,
            resorted: false,
            sides,
            offsets: copied(offsets)?,
            places: filled(NONE, duals.len())?,
            candidates: Candidates::new(job.kernel, job.loss, constant, width),
            kernel_rows: None,
            spec,
            duals: gathered(duals.iter().map(|dual| f64::from(*dual)))?,
            near: NEAR[0],
            stage: Stage::Gathering(0),
            passes: 0,
            sets: 0,
            seconds: 0.0,
            is_spent: false,
            stands: false,
            side_weights: [0.0; 2],
            at_zero: [0.0; 2],
            best: None,
            again: None,
            rounds: Rounds::FIRST,
            at_once: 0,
            proved: Proved::default(),
            report: HeadReport {
                certificate: Certificate::of(f64::INFINITY, 0.0),
                training_accuracy: 0.0,
                ties: 0.0,
                stop: None,
                support_vectors: 0,
                truncated: None,
                kappa: 0.0,
                updates: None,
                rounding: 0.0,
            },
        };
        head.forget_outliers();
        head.near = head.nearest(job, decisions, width)?;
        Ok(head)
    }

    /// Rows read of the pass under way, and working sets so far.
    pub(super) fn progress(&self) -> (usize, usize) {
        let rows = match &self.stage {
            Stage::Gathering(row) => *row,
            Stage::Solving => 0,
            Stage::Passing(pass) => pass.row,
        };
        (rows, self.sets)
    }

    /// The side of a row, and the weight of its loss.
    fn of_row(&self, row: usize, cost: f32) -> (f32, f64) {
        let side = self.sides[row];
        let positive = match side > 0 {
            true => f64::from(self.spec.positive_weight),
            false => 1.0,
        };
        let weight = self.spec.c * f64::from(cost) * positive;
        (f32::from(side), weight)
    }

    pub(super) fn step<S: Source, P: Spool>(
        &mut self,
        job: &ExactJob,
        source: &mut LowRankSource<S, P>,
        deciding: &mut Deciding,
        decisions: &mut [f32],
    ) -> Result<HeadStep, ExactError<S::Error, P::Error>> {
        self.stage = match std::mem::replace(&mut self.stage, Stage::Solving) {
            Stage::Gathering(row) => self.gather(job, source, deciding, (decisions, row))?,
            Stage::Solving => self.solve(job)?,
            Stage::Passing(pass) => {
                return self.pass(job, source, deciding, decisions, pass);
            }
        };
        Ok(HeadStep::Working)
    }

    /// Takes candidates out of the next rows.
    fn gather<S: Source, P: Spool>(
        &mut self,
        job: &ExactJob,
        source: &mut LowRankSource<S, P>,
        deciding: &mut Deciding,
        (decisions, mut begun): (&[f32], usize),
    ) -> Result<Stage, ExactError<S::Error, P::Error>> {
        let sides = &self.sides;
        let last = deciding.read(source, &mut begun, |row| sides[row] != 0)?;
        for at in 0..deciding.rows.len() {
            let row = deciding.ordinals[at] as usize;
            let (side, weight) = self.of_row(row, deciding.costs[at]);
            let (known, decision) = (self.duals[row], f64::from(decisions[row]));
            let is_near = f64::from(side) * decision < self.near || known > 0.0;
            // what is known at first is about the machine of low rank
            let (dual, decision) = match self.passes {
                0 => (0.0, deciding.offsets[at]),
                _ => (known, decision),
            };
            if weight > 0.0 && is_near && !self.is_out(row) {
                self.places[row] = self.candidates.len() as u32;
                let weighted = (side, weight);
                let rows = (&deciding.rows, at);
                self.candidates.push(
                    rows,
                    row as u32,
                    weighted,
                    dual,
                    (decision, deciding.offsets[at]),
                )?;
            }
        }
        if !last {
            return Ok(Stage::Gathering(begun));
        }
        self.candidates.close()?;
        if self.again.is_none() {
            self.open_kernel_rows(job)?;
        }
        match std::mem::take(&mut self.resorted) {
            true => Ok(self.begin_pass(job)?),
            false => Ok(Stage::Solving),
        }
    }

    fn is_out(&self, row: usize) -> bool {
        self.outliers.as_ref().is_some_and(|it| it.has(row))
    }

    /// Outliers have no dual variables.
    fn forget_outliers(&mut self) {
        if let Some(outliers) = &self.outliers {
            let duals = self.duals.iter_mut().enumerate();
            duals
                .filter(|(row, _)| outliers.has(*row))
                .for_each(|(_, dual)| *dual = 0.0);
        }
    }

    /// Makes room for kernel rows of as many candidates as there may become.
    fn open_kernel_rows<S, P>(&mut self, job: &ExactJob) -> Result<(), ExactError<S, P>> {
        let candidates = self.candidates.len();
        let stride = ((candidates as f64 * GROWTH) as usize + ROOM).min(self.duals.len());
        let taken = self.candidates.bytes();
        let left = job.memory_bytes.saturating_sub(taken);
        match KernelRows::new(stride, left)? {
            Ok(kernel_rows) => self.kernel_rows = Some(kernel_rows),
            Err(bytes) => {
                return Err(ExactError::Room {
                    bytes: taken + bytes,
                })
            }
        }
        Ok(())
    }

    /// Works on the dual over the candidates.
    fn solve(&mut self, job: &ExactJob) -> Result<Stage, OutOfMemory> {
        let count = self.candidates.len();
        let bytes = job.memory_bytes.saturating_sub(self.candidates.bytes());
        let at_once = effort::all_at_once(count);
        let most = self.most_seconds(job);
        let spent = self.spent();
        let Some(kernel_rows) = &mut self.kernel_rows else {
            return self.begin_pass(job);
        };
        let wants_at_once = self.stands || self.candidates.seconds > at_once.max(PAIRS_FIRST);
        if wants_at_once
            && spent + at_once <= most.min(job.most_seconds)
            && interior::fits(count, bytes)
        {
            kernel_rows.release();
            interior::solve(&mut self.candidates)?;
            self.seconds += at_once;
            self.at_once = count;
            self.proved.begin();
            return self.begin_pass(job);
        }
        if spent > most {
            self.is_spent = true;
            self.proved.begin();
            self.candidates.place_intercept()?;
            return self.begin_pass(job);
        }
        let goes_on = self.candidates.improve(kernel_rows)?;
        self.sets += 1;
        if goes_on && !self.sets.is_multiple_of(SETS_BETWEEN) {
            return Ok(Stage::Solving);
        }
        self.candidates.place_intercept()?;
        let own = self.candidates.objectives();
        let gap = Certificate::of(own.primal(), own.dual()).gap;
        // while rows are missing among the candidates there is no use in solving exactly
        let wanted = self.rounds.share * job.tolerance;
        let enough = (OWN_SHARE * wanted).max(LAST_SHARE * self.report.certificate.gap);
        match goes_on && gap > enough && self.sets * count < MOST_SETS_TIMES_CANDIDATES {
            true => Ok(Stage::Solving),
            false => self.begin_pass(job),
        }
    }

    /// Seconds that it has taken on a usual processor, about.
    pub(super) fn spent(&self) -> f64 {
        self.seconds + self.candidates.seconds
    }

    /// And that it may: as many as its passes in 64 bits with all candidates.
    fn most_seconds(&self, job: &ExactJob) -> f64 {
        let rows = self.sides.iter().filter(|side| **side != 0).count();
        let values = rows * self.candidates.len();
        let pass = effort::wide_values(values, self.candidates.width());
        let passes = f64::from(job.max_passes);
        (passes * pass).max((passes * LEAST_SECONDS_A_PASS).min(job.least_seconds))
    }

    fn begin_pass(&mut self, job: &ExactJob) -> Result<Stage, OutOfMemory> {
        self.sets = 0;
        self.candidates.balance()?;
        if let Some(outliers) = &mut self.outliers {
            outliers.begin_pass();
        }
        let rounding = self.candidates.rounding(job.tolerance);
        let machine = self.machine(job)?;
        Ok(Stage::Passing(Box::new(Pass {
            machine: match rounding.is_of_decisions() {
                true => machine,
                false => machine.map(Expansion::of_differences),
            },
            row: 0,
            losses: 0.0,
            lost: 0.0,
            rounding,
            side_weights: [0.0; 2],
            at_zero: [0.0; 2],
            candidates: self.candidates.len(),
            correct: 0,
            ties: 0,
            rows: 0,
            left_out: 0,
        })))
    }

    /// The support vectors as a machine; None where there are none.
    fn machine(&self, job: &ExactJob) -> Result<Option<Expansion>, OutOfMemory> {
        let mut landmarks = Rows::new(self.candidates.width());
        let mut factors: Vec<f64> = Vec::new();
        let support = |(at, dual): (usize, &f64)| (*dual > 0.0).then_some(at);
        for at in self.candidates.duals.iter().enumerate().filter_map(support) {
            self.candidates.copy_to(at, &mut landmarks)?;
            factors.room(1)?.push(self.candidates.factor(at));
        }
        let intercept = self.candidates.intercept();
        Expansion::new(job.kernel, landmarks, factors, vec![intercept])
    }

    /// Reads the next rows with all support vectors.
    fn pass<S: Source, P: Spool>(
        &mut self,
        job: &ExactJob,
        source: &mut LowRankSource<S, P>,
        deciding: &mut Deciding,
        decisions: &mut [f32],
        mut pass: Box<Pass>,
    ) -> Result<HeadStep, ExactError<S::Error, P::Error>> {
        let wide = self.proved.begun;
        let sides = &self.sides;
        let last = deciding.read(source, &mut pass.row, |row| sides[row] != 0)?;
        let intercept = self.candidates.constant.intercept;
        deciding.decide(pass.machine.as_ref().ok_or(intercept), wide)?;
        let support = pass.machine.as_ref().map_or(0, |it| it.landmarks().len());
        let (values, width) = (deciding.rows.len() * support, deciding.rows.width());
        self.seconds += match wide {
            true => effort::wide_values(values, width),
            false => effort::values(values, width),
        };
        for at in 0..deciding.rows.len() {
            decisions[deciding.ordinals[at] as usize] = deciding.values[at] as f32;
            self.look(job, deciding, at, &mut pass)?;
        }
        match last {
            false => {
                self.stage = Stage::Passing(pass);
                Ok(HeadStep::Working)
            }
            true => self.end_pass(job, &pass, decisions),
        }
    }

    /// Counts a row that has been decided; where it loses and is no candidate it becomes one if there is room.
    fn look(
        &mut self,
        job: &ExactJob,
        deciding: &Deciding,
        at: usize,
        pass: &mut Pass,
    ) -> Result<(), OutOfMemory> {
        let (row, decision) = (deciding.ordinals[at] as usize, deciding.values[at]);
        let (side, weight) = self.of_row(row, deciding.costs[at]);
        let margin = f64::from(side) * decision;
        pass.rows += 1;
        pass.side_weights[usize::from(side > 0.0)] += weight.max(0.0);
        pass.correct += u64::from(right_side(margin, f64::from(side)));
        if margin == 0.0 {
            pass.ties += i64::from(self.sides[row]);
        }
        if !self.offsets.is_empty() && weight > 0.0 {
            let most = self.outliers.as_ref().map_or(f64::INFINITY, Outliers::most);
            let lost = job.loss.value(f64::from(side) * deciding.offsets[at]);
            pass.at_zero[0] += if self.is_out(row) { 0.0 } else { weight * lost };
            pass.at_zero[1] += weight * lost.min(most);
        }
        if let Some(outliers) = &mut self.outliers {
            if weight > 0.0 && outliers.look(row, weight, job.loss.value(margin)) {
                return Ok(());
            }
        }
        if self.places[row] != NONE {
            self.candidates.decisions[self.places[row] as usize] = decision;
            return Ok(());
        }
        let rounding = &pass.rounding;
        let length = rounding.length(deciding.rows.wide_square(at));
        let off = rounding.off_at((&deciding.rows, at), length);
        let loss = weight * job.loss.value(margin);
        let lost = weight * job.loss.value(margin - off) - loss;
        if loss <= 0.0 {
            pass.lost += lost;
            return Ok(());
        }
        self.take_in(deciding, at, (side, weight), (loss, lost), pass)
    }

    /// Makes a row that loses a candidate, if there is room.
    fn take_in(
        &mut self,
        deciding: &Deciding,
        at: usize,
        weighted: (f32, f64),
        (loss, lost): (f64, f64),
        pass: &mut Pass,
    ) -> Result<(), OutOfMemory> {
        let row = deciding.ordinals[at] as usize;
        let room = self.kernel_rows.as_ref().map_or(0, KernelRows::candidates);
        if self.candidates.len() < room {
            self.places[row] = self.candidates.len() as u32;
            let rows = (&deciding.rows, at);
            return self.candidates.push(
                rows,
                row as u32,
                weighted,
                0.0,
                (deciding.values[at], deciding.offsets[at]),
            );
        }
        pass.losses += loss;
        pass.lost += lost;
        pass.left_out += 1;
        Ok(())
    }

    /// The certificate over all rows, and what comes next.
    fn end_pass<S, P>(
        &mut self,
        job: &ExactJob,
        pass: &Pass,
        decisions: &mut [f32],
    ) -> Result<HeadStep, ExactError<S, P>> {
        let certificate = self.certify(pass);
        if self.proved.begun {
            self.refuse_beyond(job)?;
        }
        match self.again.take() {
            Some(Again::AtEnd) => return Ok(self.end(job)),
            Some(Again::ForRound) => {
                self.keep_best(job)?;
                return self.begin_round(job, decisions, false);
            }
            None => {}
        }
        let is_last = self.is_spent || self.passes >= job.max_passes;
        let ends = certificate.gap <= self.rounds.share * job.tolerance || is_last;
        let came = pass.left_out > 0 || self.candidates.len() > pass.candidates;
        let is_nearer = self.proved.take(certificate.gap) || came;
        self.proved.stalled = if is_nearer {
            0
        } else {
            self.proved.stalled + 1
        };
        let stands = self.proved.stalled >= MOST_STALLED;
        if self.proved.begun {
            let is_best = self.keep_best(job)?;
            let all_at_once = self.at_once == self.candidates.len() && !came;
            let gives_up = stands && (self.stands || self.at_once > 0);
            if stands && !gives_up {
                (self.stands, self.proved.stalled) = (true, 0);
            }
            if ends || gives_up || all_at_once {
                let may_go_on = (!is_last, !gives_up && !all_at_once);
                if let Some(step) = self.end_round(job, may_go_on, is_best, decisions)? {
                    return Ok(step);
                }
            }
        } else if ends || stands {
            // so it is in 32 bits
            self.proved.begin();
            self.candidates.close()?;
            self.stage = self.begin_pass(job)?;
            return Ok(HeadStep::Passed(certificate.gap));
        }
        // candidates alone will have come near enough, and few have joined them
        let few = FEW * (self.candidates.len() - pass.candidates) <= pass.candidates;
        let own_gap = LAST_SHARE * certificate.gap;
        if few && pass.left_out == 0 && own_gap <= SURELY * job.tolerance {
            self.proved.begin();
        }
        match pass.left_out {
            0 => {
                self.candidates.close()?;
                self.stage = Stage::Solving;
            }
            _ => self.choose_anew(job, decisions)?,
        }
        Ok(HeadStep::Passed(certificate.gap))
    }

    /// No machine has a dual above P(0), but where k is no inner product.
    fn refuse_beyond<S, P>(&self, job: &ExactJob) -> Result<(), ExactError<S, P>> {
        let (dual, loss) = (self.report.certificate.dual, job.loss.value(0.0));
        let nothing = self.side_weights.iter().sum::<f64>() * loss;
        let [dual, nothing] = self
            .outliers
            .as_ref()
            .map_or([dual, nothing], |it| it.taken_out(dual, (nothing, loss)));
        let nothing = match self.offsets.is_empty() {
            true => nothing,
            false => self.at_zero[0],
        };
        let beyond = dual / nothing - 1.0;
        match beyond > NO_INNER_PRODUCT {
            true => Err(ExactError::Read(LowRankError::Kernel(
                KernelError::NotPositive {
                    row: 0,
                    residual: -beyond,
                },
            ))),
            false => Ok(()),
        }
    }

    /// What a pass says over all rows.
    fn certify(&mut self, pass: &Pass) -> Certificate {
        self.passes += 1;
        (self.side_weights, self.at_zero) = (pass.side_weights, pass.at_zero);
        let found = self.candidates.objectives();
        let constant = self.outliers.as_ref().map_or(0.0, Outliers::cost);
        let primal = found.primal() + pass.losses + constant;
        let [above, below] = self.candidates.lost(&pass.rounding);
        let lost = [above + pass.lost, below];
        // dual variables of 0 are as feasible
        let pair = (primal, found.dual().max(0.0) + constant);
        let (certificate, rounding) = Certificate::widened(pair, lost, ValueRounding::NOT_COUNTED);
        let rows = pass.rows.max(1) as f64;
        let duals = self.candidates.duals.iter();
        self.report = HeadReport {
            certificate,
            training_accuracy: pass.correct as f64 / rows,
            ties: pass.ties as f64 / rows,
            truncated: self
                .outliers
                .as_ref()
                .map(|it| it.report(certificate.primal)),
            support_vectors: duals.filter(|dual| **dual > 0.0).count() as u64,
            rounding,
            ..self.report
        };
        certificate
    }

    /// Writes the candidates' dual variables to their rows.
    fn take_duals(&mut self) {
        self.duals.fill(0.0);
        let rows = self.candidates.rows.iter();
        for (row, dual) in rows.zip(&self.candidates.duals) {
            self.duals[*row as usize] = *dual;
        }
    }

    /// Candidates are chosen again, by what is known now: those that say nothing make room for those that lose.
    fn choose_anew<S, P>(
        &mut self,
        job: &ExactJob,
        decisions: &[f32],
    ) -> Result<(), ExactError<S, P>> {
        self.take_duals();
        self.forget_outliers();
        self.near = self.nearest(job, decisions, self.candidates.width())?;
        self.gather_anew(job, self.candidates.constant.intercept);
        Ok(())
    }

    /// The margin below which rows are candidates: the largest with which they fit the memory.
    fn nearest<S, P>(
        &self,
        job: &ExactJob,
        decisions: &[f32],
        width: usize,
    ) -> Result<f64, ExactError<S, P>> {
        // as they come and in panels; half of the memory, or what a working set's kernel rows leave of it
        let row_bytes = 8 * width + 92;
        let kernel_bytes = (KernelRows::LEAST as f64 * 4.0 * GROWTH) as usize;
        let both = row_bytes + row_bytes.max(kernel_bytes);
        let beside = KernelRows::LEAST * 4 * ROOM;
        let most = job.memory_bytes.saturating_sub(beside) / both;
        let mut counts = [0usize; NEAR.len()];
        let rows = decisions.iter().zip(&self.sides).zip(&self.duals);
        for (row, ((decision, side), dual)) in rows.enumerate() {
            if self.is_out(row) {
                continue;
            }
            let margin = f64::from(*decision) * f64::from(*side);
            let is_near = |near: &f64| *dual > 0.0 || (*side != 0 && margin < *near);
            let counted = NEAR.iter().rposition(is_near).map_or(0, |last| last + 1);
            counts[..counted].iter_mut().for_each(|count| *count += 1);
        }
        let fitting = counts.iter().position(|count| *count <= most);
        fitting.map(|place| NEAR[place]).ok_or(ExactError::Room {
            bytes: both * counts[NEAR.len() - 1] + beside,
        })
    }
}
