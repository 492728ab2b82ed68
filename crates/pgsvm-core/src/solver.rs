//! Dual coordinate descent over rows that somebody else delivers: one or more heads, each with its own weights.
//!
//! The trainer decides which row comes next; the solver visits it. A round is
//!
//! 1. a *full* pass: every row once, training it and summing the loss at the weights of the pass's start, which gives
//!    the primal there exactly;
//! 2. perhaps a *verifying* pass, when a head seems to have arrived: v and the dual from the dual variables exactly,
//!    the primal at the newest weights;
//! 3. *active* passes over the rows that still matter.
//!
//! This module moves the heads through those passes. What a pass means for a head, whatever holds its weights, is its
//! [`Course`]; [`proximal::rule`] sets the strength of its proximal shift.
//!
//! | form | weights | visits | proof |
//! |---|---|---|---|
//! | [`single`]: one head by itself | [`proximal::iterate`] | [`visit`] | [`single::verify`] |
//! | [`joint`]: many heads side by side | `joint/matrix.rs` | `joint/visit.rs`, `joint/lanes.rs` | `joint/verify.rs` |
//!
//! [`single::pegasos`] takes the place of coordinate descent where the primal is to be solved. [`proximal::moments`] finds
//! out whether columns differ so much in scale that the shift needs a metric, [`proximal::dual_moments`] makes one from the
//! rows that hold the weights where a head does not get on; [`sums::intercept`] finds the best intercept for weights whose
//! primal is taken.

mod certificate;
pub(crate) mod divided;
mod joint;
mod proximal;
pub(crate) mod single;
mod sums;
mod visit;

use crate::base::interrupts;
use crate::base::memory::{gathered, Room};
use crate::cache::Facts;
use crate::rows::row::Row;
use crate::simd::{Kernel, Real};
use crate::task::problem::Problem;
use crate::training::{HeadReport, HeadSpec, Start, StopReason, TrainError};
use certificate::progress::Course;
pub(crate) use joint::matrix::Column;
use joint::Bank;
use proximal::dual_moments::DualMoments;
use proximal::moments::Moments;
use single::head::{Blocks, Head};
use visit::visitor::Sums;

/// Blocks that a head visits before the next head does: few, so that they are still in the processor's cache then.
const BLOCKS_AT_A_TIME: usize = 128;

/// The same for a bank, in which all heads visit a row together, so many times as many heads: hundreds of them take their
/// time.
const BANK_BLOCKS_AT_A_TIME: usize = 1024;

/// Full passes that a head waits for others before it is verified without them.
const PATIENCE: u32 = 2;

/// A walk over the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    Full,
    Verify { everything: bool },
    Active,
}

pub(crate) struct Solver<T> {
    form: Form<T>,
    intercept: f64,
    /// Full passes completed.
    full_passes: u32,
    /// Full passes since a head began to wait for a verifying pass.
    waited: u32,
    /// Whether all rows are in the cache, as full passes say.
    at_hand: bool,
    /// Visits before the last active pass began.
    visits_before: u64,
    /// Column scales, while they are learned: in the first full pass, perhaps the second, or where heads begin from dual
    /// variables in the verifying passes before.
    moments: Option<Moments>,
    /// Whether another verifying pass is to come before the first pass that trains: in it heads that begin from dual
    /// variables learn the metric to begin with.
    looks_again: bool,
    /// Mean squares of the columns, once learned.
    mean_squares: Option<Vec<f32>>,
}

/// Who holds the heads' weights and dual variables.
enum Form<T> {
    /// Each head by itself.
    Apart(Vec<Head<T>>),
    /// All of them together: a row is read once for all heads.
    Together(Box<Bank>),
}

/// Weights of a head, the intercept last.
pub(crate) enum Found<'a, T> {
    Own(&'a [T]),
    Shared(Column<'a>),
}

impl<T: Real> Solver<T> {
    /// `together`: rows that are trained with one another between two passes over all.
    pub(crate) fn new(
        problem: &Problem,
        specs: &[HeadSpec],
        facts: &Facts,
        together: usize,
    ) -> Result<Self, TrainError> {
        for (index, spec) in specs.iter().enumerate() {
            if spec.signs.groups() < facts.groups {
                return Err(TrainError::Head { head: index });
            }
        }
        let intercept = if problem.intercept() { 1.0 } else { 0.0 };
        let courses = specs.iter().map(|spec| {
            interrupts::look();
            Course::new(problem, spec, facts, together)
        });
        let courses = gathered(courses)?;
        let form = if problem.pegasos().is_none() && Bank::suits(&courses) {
            Form::Together(Box::new(Bank::new(specs, courses, intercept, facts)?))
        } else {
            let mut heads = Vec::new();
            heads.room(specs.len())?;
            for (course, spec) in courses.into_iter().zip(specs) {
                heads.push(Head::new(spec, course, intercept, facts)?);
            }
            Form::Apart(heads)
        };
        let mut this = Self {
            form,
            intercept,
            full_passes: 0,
            waited: 0,
            at_hand: false,
            visits_before: 0,
            moments: Moments::new(facts)?,
            looks_again: false,
            mean_squares: None,
        };
        if problem.pegasos().is_some() {
            let heads = this.heads_mut().iter_mut();
            heads.for_each(|head| head.descend(facts.rows));
        }
        Ok(this)
    }

    /// Begins a head from these dual variables and weights: a verifying pass must come first. Without weights it begins at
    /// the v of the dual variables.
    pub(crate) fn set_start(&mut self, head: usize, start: Start) {
        let at_weights = start.weights.is_some();
        match &mut self.form {
            Form::Apart(heads) => heads[head].set_start(start),
            Form::Together(bank) => bank.set_start(head, &start),
        }
        self.begin_elsewhere(head, at_weights);
    }

    /// Lets a head begin from dual variables, and from these weights or else the v of the dual variables.
    pub(crate) fn begin_elsewhere(&mut self, head: usize, at_weights: bool) {
        if let Some(course) = self.courses_mut().nth(head) {
            course.begin_elsewhere(at_weights);
        }
    }

    /// Sets the dual variables of a head that begins elsewhere, of the rows from `first` on.
    pub(crate) fn put_duals(&mut self, head: usize, first: usize, duals: &[f32]) {
        match &mut self.form {
            Form::Apart(heads) => heads[head].alpha[first..][..duals.len()].copy_from_slice(duals),
            Form::Together(bank) => bank.put_duals(head, first, duals),
        }
    }

    /// The heads that are held each by itself.
    fn heads(&self) -> &[Head<T>] {
        match &self.form {
            Form::Apart(heads) => heads,
            Form::Together(_) => &[],
        }
    }

    fn heads_mut(&mut self) -> &mut [Head<T>] {
        match &mut self.form {
            Form::Apart(heads) => heads,
            Form::Together(_) => &mut [],
        }
    }

    /// Whether several trainers can share a pass: heads that are held together are trained by one.
    pub(crate) fn divisible(&self) -> bool {
        !self.heads().is_empty()
    }

    fn courses(&self) -> impl Iterator<Item = &Course> {
        let (heads, bank) = match &self.form {
            Form::Apart(heads) => (heads.as_slice(), &[][..]),
            Form::Together(bank) => (&[][..], bank.courses()),
        };
        heads.iter().map(|head| &head.course).chain(bank)
    }

    fn courses_mut(&mut self) -> impl Iterator<Item = &mut Course> {
        let (heads, bank) = match &mut self.form {
            Form::Apart(heads) => (heads.as_mut_slice(), &mut [][..]),
            Form::Together(bank) => (&mut [][..], bank.courses_mut()),
        };
        heads.iter_mut().map(|head| &mut head.course).chain(bank)
    }

    fn running(&self) -> impl Iterator<Item = &Course> {
        self.courses().filter(|course| course.runs())
    }

    /// Heads that still run: what a visit of a row takes is that of one head as many times.
    pub(crate) fn running_heads(&self) -> usize {
        self.running().count()
    }

    /// Whether rows may sleep between full passes (otherwise the caller chooses the rows by `margin`).
    pub(crate) fn let_rows_sleep(&mut self, sleeps: bool) {
        self.courses_mut()
            .for_each(|course| course.let_rows_sleep(sleeps));
    }

    /// Whether every head has ended.
    pub(crate) fn done(&self) -> bool {
        self.running().next().is_none()
    }

    /// The smallest tolerance of the heads that run.
    pub(crate) fn tolerance(&self) -> f64 {
        self.running()
            .map(Course::tolerance)
            .fold(f64::INFINITY, f64::min)
    }

    /// How many heads there are.
    pub(crate) fn len(&self) -> usize {
        self.courses().count()
    }

    /// The smallest primals known, summed over the heads; infinite before all have one.
    pub(crate) fn known_primal(&self) -> f64 {
        self.courses().map(Course::best_primal).sum()
    }

    /// The duals of the last pass, summed over the heads.
    pub(crate) fn known_dual(&self) -> f64 {
        self.courses().map(Course::last_dual).sum()
    }

    /// The dual at the present dual variables, summed over the heads; None where that takes a pass over the rows. Costs
    /// as much as a look at every weight.
    pub(crate) fn dual(&mut self) -> Option<f64> {
        match &mut self.form {
            Form::Apart(heads) => heads.iter().map(Head::dual).sum(),
            Form::Together(bank) => Some(bank.dual()),
        }
    }

    pub(crate) fn full_passes(&self) -> u32 {
        self.full_passes
    }

    /// How the heads ended, or stand.
    pub(crate) fn reports(&self, rows: usize) -> impl Iterator<Item = HeadReport> + '_ {
        self.courses().map(move |course| course.report(rows))
    }

    /// The weights of a head's certificate.
    pub(crate) fn weights(&self, head: usize) -> Found<'_, T> {
        match &self.form {
            Form::Apart(heads) => Found::Own(heads[head].weights()),
            Form::Together(bank) => Found::Shared(bank.weights(head)),
        }
    }

    /// The dual variables of a head by ordinal: the values at 0, step, 2 step and so on, and that step.
    pub(crate) fn duals(&self, head: usize) -> (&[f32], usize) {
        match &self.form {
            Form::Apart(heads) => (&heads[head].alpha, 1),
            Form::Together(bank) => bank.duals(head),
        }
    }

    /// <w, x> + b of a head that has ended, at its certificate's weights.
    #[inline(always)]
    pub(crate) fn decision<K: Kernel>(&self, head: usize, row: &Row<'_>) -> f32 {
        match &self.form {
            Form::Apart(heads) => decision::<K, T>(heads[head].weights(), row, self.intercept),
            Form::Together(bank) => {
                decision::<K, f32>(bank.final_weights(head), row, self.intercept)
            }
        }
    }

    /// Bits of the rows `64 n..64 (n + 1)` that some head is awake for, or the one whose turn it is.
    pub(crate) fn awake(&self, n: usize) -> u64 {
        match &self.form {
            Form::Apart(heads) => {
                let running = heads.iter().filter(|head| head.course.runs());
                running.fold(0, |awake, head| awake | !head.asleep.word(n))
            }
            Form::Together(bank) => bank.awake_word(n),
        }
    }

    fn running_sums(&self) -> impl Iterator<Item = Sums> + '_ {
        let all = self.courses().zip(self.sums());
        all.filter(|(course, _)| course.runs())
            .map(|(_, sums)| sums)
    }

    /// Whether active passes leave this row out, for every head.
    #[inline(always)]
    pub(crate) fn asleep(&self, ordinal: usize) -> bool {
        match &self.form {
            Form::Apart(heads) => heads
                .iter()
                .all(|head| !head.course.runs() || head.asleep.get(ordinal)),
            Form::Together(bank) => bank.asleep(ordinal),
        }
    }

    /// What the rows visited between full passes since the last one began have left of the subproblems' gaps.
    pub(crate) fn open(&self) -> f64 {
        self.running_sums().map(|sums| sums.open).sum()
    }

    /// The largest range of projected gradients of the active pass so far.
    pub(crate) fn violation(&self) -> f64 {
        self.running_sums().map(Sums::violation).fold(0.0, f64::max)
    }

    /// The largest magnitude of a projected gradient since the last active pass began.
    pub(crate) fn largest_gradient(&self) -> f64 {
        self.running_sums()
            .map(Sums::largest_gradient)
            .fold(0.0, f64::max)
    }

    /// What visits have summed so far for each head.
    fn sums(&self) -> impl Iterator<Item = Sums> + '_ {
        let pending = move |head| match &self.form {
            Form::Apart(_) => Sums::ZERO,
            Form::Together(bank) => bank.pending(head),
        };
        let courses = self.courses().enumerate();
        courses.map(move |(head, course)| course.sums.with(pending(head)))
    }

    pub(crate) fn visits(&self) -> u64 {
        self.sums().map(|sums| sums.visits).sum()
    }

    pub(crate) fn updates(&self) -> u64 {
        self.sums().map(|sums| sums.updates).sum()
    }

    /// The largest best gap of the heads.
    pub(crate) fn gap(&self) -> f64 {
        self.courses().map(Course::gap).fold(0.0, f64::max)
    }

    /// Begins a full pass. `undisturbed`: all rows are in the cache; every one is visited once, and none between.
    pub(crate) fn begin_full(&mut self, undisturbed: bool) -> Result<(), TrainError> {
        self.at_hand = undisturbed;
        match &mut self.form {
            Form::Apart(heads) => running(heads).for_each(Head::begin_full),
            Form::Together(bank) => bank.begin_full(undisturbed)?,
        }
        Ok(())
    }

    /// Visits blocks of rows of the arena, all rows in a full pass and else those awake. Gives back how many of the
    /// blocks and values that was, whatever the number of heads: about `budget` values, but at least a block.
    #[inline(always)]
    pub(crate) fn visit_blocks<K: Kernel, const FULL: bool>(
        &mut self,
        blocks: Blocks<'_>,
        budget: usize,
    ) -> (usize, usize) {
        let (mut done, mut values) = (0, 0);
        let at_a_time = match self.form {
            Form::Apart(_) => BLOCKS_AT_A_TIME,
            Form::Together(_) => match self.in_turns() && !FULL {
                true => BLOCKS_AT_A_TIME,
                false => (BANK_BLOCKS_AT_A_TIME / self.len()).clamp(1, BLOCKS_AT_A_TIME),
            },
        };
        while done < blocks.numbers.len() && (done == 0 || values < budget) {
            let end = (done + at_a_time).min(blocks.numbers.len());
            let some = Blocks {
                numbers: &blocks.numbers[done..end],
                ..blocks
            };
            if let (true, Some(moments)) = (FULL, &mut self.moments) {
                moments.learn_blocks(some);
            }
            match &mut self.form {
                Form::Apart(heads) => {
                    let mut most = 0;
                    for head in running(heads) {
                        most = most.max(head.visit_blocks::<K, FULL>(some));
                    }
                    values += most;
                }
                Form::Together(bank) => values += bank.visit_blocks::<FULL>(some),
            }
            done = end;
        }
        (done, values)
    }

    /// Visits a row in a full pass. True when some head still learns from it within `margin` of its bounds.
    #[inline(always)]
    pub(crate) fn visit_full<K: Kernel>(&mut self, row: &Row<'_>, margin: f64) -> bool {
        if let Some(moments) = &mut self.moments {
            moments.learn_one(row);
        }
        match &mut self.form {
            Form::Apart(heads) => {
                let mut keep = false;
                for head in running(heads) {
                    keep |= head.visit_full::<K>(row).matters(margin);
                }
                keep
            }
            Form::Together(bank) => bank.visit_row::<true>(row) <= margin,
        }
    }

    /// Visits a row between full passes; otherwise as [`Self::visit_full`].
    #[inline(always)]
    pub(crate) fn visit_active<K: Kernel>(&mut self, row: &Row<'_>, margin: f64) -> bool {
        match &mut self.form {
            Form::Apart(heads) => {
                let mut keep = false;
                for head in running(heads) {
                    keep |= head.visit_active::<K>(row).matters(margin);
                }
                keep
            }
            Form::Together(bank) => bank.visit_row::<false>(row) <= margin,
        }
    }

    /// Whether weights are scattered: to be asked for one visit ahead.
    #[inline(always)]
    pub(crate) fn scattered(&self) -> bool {
        match &self.form {
            Form::Apart(heads) => heads.first().is_some_and(Head::scattered),
            Form::Together(bank) => bank.scattered(),
        }
    }

    /// Asks for the weights that a visit of this row needs.
    #[inline(always)]
    pub(crate) fn ask<const FULL: bool>(&mut self, row: &Row<'_>) {
        match &mut self.form {
            Form::Apart(heads) => running(heads).for_each(|head| head.ask::<FULL>(row)),
            Form::Together(bank) => bank.ask::<FULL>(row.sparse()),
        }
    }

    /// Visits a row between full passes, asleep or not, and grades it: how many of `margins`, ascending, are too small for
    /// any head to learn from it within them.
    #[inline(always)]
    pub(crate) fn visit_graded<K: Kernel>(&mut self, row: &Row<'_>, margins: &[f64]) -> usize {
        match &mut self.form {
            Form::Apart(heads) => {
                let mut grade = margins.len();
                for head in running(heads) {
                    head.asleep.set(row.ordinal(), false);
                    let outcome = head.visit_active::<K>(row);
                    grade = grade.min(margins.partition_point(|margin| !outcome.matters(*margin)));
                }
                grade
            }
            Form::Together(bank) => {
                bank.wake(row.ordinal());
                let held = bank.visit_row::<false>(row);
                margins.partition_point(|margin| *margin < held)
            }
        }
    }

    /// Has Pegasos make an update by a row alone.
    #[inline(always)]
    pub(crate) fn descend_by_row<K: Kernel>(&mut self, row: &Row<'_>) {
        for head in running(self.heads_mut()) {
            head.descend_by_row::<K>(row);
        }
    }

    /// Has Pegasos look at a row of a block by which it is to make an update.
    #[inline(always)]
    pub(crate) fn look<K: Kernel>(&mut self, row: &Row<'_>) {
        for head in running(self.heads_mut()) {
            head.look::<K>(row);
        }
    }

    /// Begins the update by the block looked at.
    pub(crate) fn begin_update(&mut self) {
        running(self.heads_mut()).for_each(Head::begin_update);
    }

    /// Adds a row of a block of `size` rows.
    #[inline(always)]
    pub(crate) fn descend_by_block<K: Kernel>(&mut self, row: &Row<'_>, size: usize) {
        for head in running(self.heads_mut()) {
            head.descend_by_block::<K>(row, size);
        }
    }

    /// Ends the update by a block.
    pub(crate) fn end_update(&mut self) {
        running(self.heads_mut()).for_each(Head::end_update);
    }

    /// Measures a row in a full pass without training it.
    #[inline(always)]
    pub(crate) fn measure<K: Kernel>(&mut self, row: &Row<'_>) {
        match &mut self.form {
            Form::Apart(heads) => {
                for head in running(heads) {
                    head.measure::<K>(row);
                }
            }
            Form::Together(bank) => bank.measure(row),
        }
    }

    /// Ends a full pass. True when a verifying pass is due; otherwise call [`Self::advance`].
    pub(crate) fn end_full(&mut self) -> bool {
        self.full_passes += 1;
        match &mut self.form {
            Form::Apart(heads) => running(heads).for_each(Head::end_full),
            Form::Together(bank) => bank.end_full(),
        }
        let wanted = self.running().any(Course::wants_proof);
        let due = self.wants_proof() || (wanted && self.waited == PATIENCE);
        self.waited = if wanted && !due { self.waited + 1 } else { 0 };
        due
    }

    /// Whether a verifying pass is due at once: nothing is trained in it, so half of the heads that run must want it, or one
    /// that cannot wait. So many heads that arrive far apart are verified in few passes; none waits longer than
    /// [`PATIENCE`]. In a bank whose rows are all at hand the next full pass finds the primal of those that wait beside what
    /// it trains for the others: there all heads must want it, or one whose gap is known, for which it costs next to nothing.
    pub(crate) fn wants_proof(&self) -> bool {
        if self.running().any(Course::cannot_wait) {
            return true;
        }
        let running = self.running_heads();
        let wanting = self.running().filter(|it| it.wants_proof()).count();
        let least = match &self.form {
            Form::Together(_) if self.at_hand && self.running().any(Course::is_known) => 1,
            Form::Together(_) if self.at_hand => running,
            _ => running.div_ceil(2),
        };
        wanting >= least.max(1)
    }

    /// Begins a verifying pass of the heads that want one. False when rows with a = 0 need not be looked at.
    pub(crate) fn begin_verify(&mut self) -> Result<bool, TrainError> {
        match &mut self.form {
            Form::Apart(heads) => {
                let mut everything = false;
                let looks_again = self.looks_again;
                let verified = |head: &&mut Head<T>| looks_again || head.course.wants_proof();
                for head in running(heads).filter(verified) {
                    everything |= head.begin_verify()?;
                }
                Ok(everything)
            }
            Form::Together(bank) => bank.begin_verify(self.at_hand),
        }
    }

    /// Checks the rows of these blocks in a verifying pass, or only those with a > 0 in some head. Gives back how many
    /// of the blocks and values that was: about `budget` values, but at least a block.
    #[inline(always)]
    pub(crate) fn check_blocks<K: Kernel>(
        &mut self,
        blocks: Blocks<'_>,
        everything: bool,
        budget: usize,
    ) -> (usize, usize) {
        let mut values = 0;
        let sets_out = self.sets_out();
        for place in 0..blocks.numbers.len() {
            if values >= budget {
                return (place, values);
            }
            if sets_out {
                let numbers = &blocks.numbers[place..=place];
                self.learn_blocks(Blocks { numbers, ..blocks });
            }
            let (first, rows) = blocks.rows(place);
            let slots = first..first + rows.count_ones() as usize;
            if let (true, Form::Together(bank)) = (everything, &mut self.form) {
                values += bank.check_rows(blocks.page, slots);
                continue;
            }
            for slot in slots {
                values += 1;
                if everything || self.needs_check(slot) {
                    let row = blocks.page.peek_row(slot);
                    values += row.values();
                    self.check_row::<K>(&row);
                }
            }
        }
        (blocks.numbers.len(), values)
    }

    /// Checks a row of those that come one by one in a verifying pass.
    #[inline(always)]
    pub(crate) fn check<K: Kernel>(&mut self, row: &Row<'_>) {
        if self.sets_out() {
            if let Some(moments) = &mut self.moments {
                moments.learn_one(row);
            }
            for head in running(self.heads_mut()) {
                head.learn_row(row);
            }
        }
        self.check_row::<K>(row);
    }

    /// Whether a verifying pass also learns whether the shift is to be measured in a metric: where heads by themselves begin
    /// from dual variables, until that is decided.
    #[inline(always)]
    pub(crate) fn sets_out(&self) -> bool {
        self.full_passes == 0 && self.moments.is_some() && !self.heads().is_empty()
    }

    #[inline(always)]
    fn learn_blocks(&mut self, blocks: Blocks<'_>) {
        if let Some(moments) = &mut self.moments {
            moments.learn_blocks(blocks);
        }
        for head in running(self.heads_mut()) {
            head.learn_blocks(blocks);
        }
    }

    #[inline(always)]
    fn check_row<K: Kernel>(&mut self, row: &Row<'_>) {
        match &mut self.form {
            Form::Apart(heads) => {
                for head in running(heads) {
                    head.check::<K>(row);
                }
            }
            Form::Together(bank) => bank.check(row),
        }
    }

    /// Whether some head needs this row in a verifying pass that skips what it can.
    #[inline(always)]
    pub(crate) fn needs_check(&self, ordinal: usize) -> bool {
        match &self.form {
            Form::Apart(heads) => heads.iter().any(|head| head.needs_check(ordinal)),
            Form::Together(bank) => bank.needs_check(ordinal),
        }
    }

    /// Ends a verifying pass: heads whose gap is within the tolerance, or out of passes, end. True when another one is due.
    pub(crate) fn end_verify(&mut self) -> Result<bool, TrainError> {
        if std::mem::take(&mut self.looks_again) {
            self.begin_in_metric()?;
        }
        match &mut self.form {
            Form::Apart(heads) => running(heads).for_each(Head::end_verify),
            Form::Together(bank) => bank.end_verify()?,
        }
        if self.sets_out() && !self.done() {
            self.looks_again = self.needs_look()?;
        }
        Ok(self.looks_again)
    }

    /// Behind a verifying pass of what came from elsewhere: whether columns seem to differ in scale, so that another one has
    /// to look at all rows.
    fn needs_look(&mut self) -> Result<bool, TrainError> {
        let Some(moments) = self.moments.take() else {
            return Ok(false);
        };
        let follows = |course: &Course| course.takes_metric() && course.sums.alpha > 0.0;
        if !self.running().any(follows) {
            // nothing to follow: columns are looked at in the first full pass
            self.moments = Some(moments.another()?);
            return Ok(false);
        }
        if moments.metric(self.intercept)?.is_none() {
            self.mean_squares = Some(moments.mean_squares()?);
            return Ok(false);
        }
        self.moments = Some(moments.of_all_rows()?);
        for head in running(self.heads_mut()) {
            head.dual_moments = Some(DualMoments::new(head.iterate.len() - 1)?);
        }
        Ok(true)
    }

    /// At the end of that other pass: has the heads begin in a metric if columns do differ. They take over their v behind
    /// this, so that it is exact in the metric.
    fn begin_in_metric(&mut self) -> Result<(), TrainError> {
        let Some(moments) = self.moments.take() else {
            return Ok(());
        };
        let differ = moments.metric(self.intercept)?.is_some();
        let squares = moments.mean_squares()?;
        for head in running(self.heads_mut()) {
            match differ {
                true => head.begin_in_metric(&squares)?,
                false => head.dual_moments = None,
            }
        }
        self.mean_squares = Some(squares);
        Ok(())
    }

    /// Corrects kappa and moves the centre after a full pass and its verification.
    pub(crate) fn advance(&mut self) -> Result<(), TrainError> {
        if self.full_passes == 0 {
            return Ok(());
        }
        let mut metric = None;
        if let Some(moments) = self.moments.take() {
            if self.running().any(Course::takes_metric) {
                self.moments = moments.second_look(self.intercept)?;
                if self.moments.is_none() {
                    metric = moments.metric(self.intercept)?;
                    self.mean_squares = Some(moments.mean_squares()?);
                }
            }
        }
        if let (Some(metric), Form::Together(bank)) = (&metric, &mut self.form) {
            if !bank.suits_metric(metric) {
                self.form = Form::Apart(bank.part()?);
            }
        }
        match &mut self.form {
            Form::Apart(heads) => {
                for head in running(heads) {
                    head.advance(metric.as_ref(), self.mean_squares.as_deref())?;
                }
            }
            Form::Together(bank) => return bank.advance(metric.as_ref()),
        }
        Ok(())
    }

    pub(crate) fn begin_active(&mut self) {
        self.visits_before = self.visits();
        match &mut self.form {
            Form::Apart(heads) => running(heads).for_each(|head| head.course.begin_active()),
            Form::Together(bank) => bank.begin_active(),
        }
    }

    /// Visits of the active pass that is at its end, a running head.
    pub(crate) fn mean_active_visits(&self) -> usize {
        let running = match self.in_turns() {
            true => 1,
            false => self.running().count().max(1) as u64,
        };
        (self.visits() - self.visits_before) as usize / running as usize
    }

    /// How many times as long as at first active passes may go on until the next full one.
    pub(crate) fn patience(&self) -> usize {
        let least = || self.running().map(Course::patience).min().unwrap_or(1);
        self.turn().map_or_else(least, Course::patience)
    }

    /// Whether a verifying pass is due at the end of an active pass over all rows that are awake.
    pub(crate) fn seems_to_arrive(&mut self) -> bool {
        match &mut self.form {
            Form::Apart(heads) => running(heads).for_each(Head::estimate_active),
            Form::Together(bank) => bank.estimate_active(),
        }
        self.turn()
            .map_or_else(|| self.wants_proof(), Course::wants_proof)
    }

    /// Whether heads do better to take turns in the active passes from here to the next full one; `awake`: rows that some
    /// head is awake for.
    pub(crate) fn better_in_turns(&self, awake: usize) -> bool {
        match &self.form {
            Form::Apart(_) => false,
            Form::Together(bank) => bank.better_in_turns(awake),
        }
    }

    /// Whether heads take turns in active passes.
    pub(crate) fn in_turns(&self) -> bool {
        self.turn().is_some()
    }

    /// The course of the head whose turn it is.
    fn turn(&self) -> Option<&Course> {
        match &self.form {
            Form::Apart(_) => None,
            Form::Together(bank) => bank.turn(),
        }
    }

    /// Makes it the next head's turn; false where all have had theirs.
    pub(crate) fn next_turn(&mut self) -> Result<bool, TrainError> {
        match &mut self.form {
            Form::Apart(_) => Ok(false),
            Form::Together(bank) => bank.next_turn(),
        }
    }

    pub(crate) fn end_active(&mut self) {
        match &mut self.form {
            Form::Apart(heads) => running(heads).for_each(Head::end_active),
            Form::Together(bank) => bank.end_active(),
        }
    }

    /// Ends every head where it stands.
    pub(crate) fn stop(&mut self) {
        if let Form::Together(bank) = &mut self.form {
            bank.end_turns();
        }
        self.courses_mut()
            .filter(|course| course.runs())
            .for_each(|course| course.stop = Some(StopReason::Requested));
    }
}

/// The heads that run. Rows are visited in plain loops over them: Iterator's own functions need not be inlined, and where
/// they are not, what they call misses the kernel's instructions.
#[inline(always)]
fn running<T>(heads: &mut [Head<T>]) -> impl Iterator<Item = &mut Head<T>> {
    heads.iter_mut().filter(|head| head.course.runs())
}

#[inline(always)]
fn decision<K: Kernel, V: Real>(weights: &[V], row: &Row<'_>, intercept: f64) -> f32 {
    let dense = row.dense();
    let mut sum = V::dot_dense::<K>(dense, &weights[..dense.len()]);
    sum += V::dot_sparse::<K>(row.sparse(), weights);
    sum += intercept * weights.last().map_or(0.0, |last| last.to());
    sum as f32
}
