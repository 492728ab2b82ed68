//! From a training on a map to interior points over the same rows: the same heads, at the C that was given or chosen.

use crate::base::memory::{OutOfMemory, Room as _};
use crate::interior::{Crew, Halt, InteriorOutcome, InteriorSolver, InteriorStep, InteriorTerms};
use crate::kernels::{Expansion, LowRank};
use crate::objective::problem::Problem;
use crate::objective::report::{relative_gap, Certificate};
use crate::training::log::{Event, LogEntry, Snapshot};
use crate::training::Trainer;

impl Trainer {
    /// Interior points for the final heads of this training, over the rows that `map` was made for and with its kernel, by these
    /// machines, near the machine `first` where there is one. To be called when the training has ended. None where there are no such heads.
    pub fn interior_point<C: Crew>(
        &self,
        map: &LowRank,
        problem: &Problem,
        terms: InteriorTerms,
        (first, crew): (Option<Expansion>, C),
    ) -> Result<Option<InteriorSolver<C>>, Halt> {
        let report = self.report()?;
        let mut specs = Vec::new();
        for (spec, _) in self.heads()?.into_iter().take(report.heads.len()) {
            specs.room(1)?.push(spec);
        }
        let rows = report.rows as usize;
        let solver = (!specs.is_empty())
            .then(|| InteriorSolver::new(terms, map, problem, specs, (rows, first), crew))
            .transpose()?;
        Ok(solver.map(|solver| solver.of_targets(self.epsilon())))
    }
}

impl LogEntry {
    /// The log of the training before, or of its reading alone, with an entry for the factor, one for each step of interior points, and the certificates
    /// at the end. With several heads, which are solved one after the other, bounds of all are known from the first step of the last one on.
    pub fn with_interior_points(
        before: &[LogEntry],
        found: &InteriorOutcome,
        reading_alone: bool,
    ) -> Result<Vec<LogEntry>, OutOfMemory> {
        let mut all = Vec::new();
        all.room(before.len() + found.log.len() + 1)?;
        let kept = before.iter();
        all.extend(kept.filter(|it| !reading_alone || it.event == Event::Load));
        let (Some(last), Some(ended)) = (all.last().copied(), before.last()) else {
            return Ok(all);
        };
        let rows = last.rows_read;
        let mut entry = LogEntry {
            event: Event::Factor,
            pass: 0,
            block: None,
            heads: found.reports.len() as u32,
            dual: None,
            primal: None,
            gap: None,
            projected_gradient: None,
            cache_rows: ended.cache_rows,
            ..last
        };
        for step in &found.log {
            entry.seconds = ended.seconds + step.seconds;
            if let (Some((head, _)), Some(state)) = (step.head, step.state) {
                entry.event = Event::Pass;
                entry.pass += 1;
                entry.visits += rows;
                entry.heads = (found.reports.len() - head) as u32;
                entry.stands_at(found, head, (state.primal, state.dual));
            }
            all.push(entry);
        }
        entry.seconds = ended.seconds + found.seconds;
        all.push(entry.proved_by(&found.reports));
        Ok(all)
    }

    /// Says what is known when this head stands there, and those before it where they ended.
    fn stands_at(&mut self, found: &InteriorOutcome, head: usize, (primal, dual): (f64, f64)) {
        let ended = found.reports[..head]
            .iter()
            .map(|report| report.certificate);
        let sum = |of: fn(&Certificate) -> f64| ended.clone().map(|it| of(&it)).sum::<f64>();
        let gaps = ended.clone().map(|it| it.gap);
        let is_last = head + 1 == found.reports.len();
        self.dual = Some(dual + sum(|it| it.dual));
        self.primal = is_last.then(|| primal + sum(|it| it.primal));
        self.gap = is_last.then(|| gaps.fold(relative_gap(primal, dual), f64::max));
    }
}

impl Snapshot {
    /// Weights on the way of interior points, where they were kept: at steps of the last head, those before it being where they ended, and
    /// all at the end. They belong to entries of the log that [`LogEntry::with_interior_points`] makes of the same entries before.
    pub fn of_interior_points(
        before: &[LogEntry],
        found: &InteriorOutcome,
    ) -> Result<Vec<Self>, OutOfMemory> {
        let mut all = Vec::new();
        let (Some(ended), Some(last)) = (before.last(), found.reports.len().checked_sub(1)) else {
            return Ok(all);
        };
        if found.kept.is_empty() {
            return Ok(all);
        }
        all.room(found.kept.len() + 1)?;
        for (step, weights) in &found.kept {
            let is_of = |it: &&InteriorStep| it.head == Some((last, *step));
            if let Some(noted) = found.log.iter().find(is_of) {
                let mut snapshot = Self::of_ended(found, last, ended.seconds + noted.seconds)?;
                let room = snapshot.weights.room(weights.len())?;
                room.extend_from_slice(weights);
                all.push(snapshot);
            }
        }
        all.push(Self::of_ended(
            found,
            last + 1,
            ended.seconds + found.seconds,
        )?);
        Ok(all)
    }

    /// The weights of so many heads as they ended.
    fn of_ended(found: &InteriorOutcome, heads: usize, seconds: f64) -> Result<Self, OutOfMemory> {
        let mut weights = Vec::new();
        for (own, intercept) in found.weights.iter().zip(&found.intercepts).take(heads) {
            let all = own.iter().chain([intercept]);
            let room = weights.room(own.len() + 1)?;
            room.extend(all.map(|weight| *weight as f32));
        }
        Ok(Self { seconds, weights })
    }
}
