//! How several trainers share a pass, or a portion of one.
//!
//! Several heads are dealt out among the trainers ([`crate::solver::part`]); each trainer shows all rows to its heads. The rows of a single
//! head are divided among the trainers ([`crate::solver::divided`]).

use crate::base::memory::{filled, gathered, OutOfMemory, Room};
use crate::rows::compact::make_room;
use crate::rows::facts::Facts;
use crate::simd::{Isa, Level, Real, Work};
use crate::solver::divided::Team;
use crate::solver::driver::TakesRows;
use crate::solver::ledger::Ledgers;
use crate::solver::{Pass, Solver};
use crate::training::schedule::working_set::GROUP;
use crate::training::threads::ThreadPool;

/// Each trainer gets so many values at least, times its heads: calling a thread takes as long as some thousand values (50,000
/// where it sleeps).
const LEAST_VALUES: usize = 1 << 14;
/// Of rows that are divided, where parts see each other several times in a pass so many times as many; else times the number
/// of trainers squared, but no more than `MOST_TIMES`: such parts take more visits the more of them there are.
const PORTION_TIMES: usize = 4;
const MOST_TIMES: usize = 16;
/// And of divided rows so many for each feature: adding up the changes of u takes as long as one or two values for each feature.
const VALUES_PER_FEATURE: usize = 4;
/// And each part of a portion so many rows for each value of a row: with fewer, parts move the weights against each other, and passes
/// become more. Measured: mnist, whose portions have one row for each of its columns, takes half as many passes again.
const ROWS_PER_VALUE: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::training) enum Sharing {
    Alone,
    /// Heads are dealt out.
    Heads,
    /// Rows are divided.
    Rows,
}

/// The trainers: threads, and what each has of its own where rows are divided.
pub(in crate::training) struct Crew<T> {
    pub(in crate::training) pool: ThreadPool,
    pub(in crate::training) team: Option<Team<T>>,
    /// Whether the team has begun to check what is shown to it.
    checks: bool,
}

impl<T: Real> Crew<T> {
    /// Threads that can visit such rows.
    pub(in crate::training) fn new(trainers: usize, facts: &Facts) -> Result<Self, OutOfMemory> {
        let pool = ThreadPool::new(trainers - 1);
        if facts.most_visited_words > 0 {
            let mut rooms = filled(Ok(()), trainers)?;
            let room = |room: &mut Result<(), OutOfMemory>| {
                *room = make_room(facts.max_row_words, facts.most_visited_words);
            };
            pool.side_by_side(&mut rooms, room);
            rooms.into_iter().collect::<Result<(), _>>()?;
        }
        Ok(Self {
            pool,
            team: None,
            checks: false,
        })
    }

    /// How a pass of so many values is shared.
    pub(in crate::training) fn shares_pass(
        &self,
        solver: &Solver<T>,
        facts: &Facts,
        values: usize,
    ) -> Sharing {
        let members = self.pool.members();
        self.sharing((solver, facts), values, MOST_TIMES.min(members * members))
    }

    /// How a portion of a pass is shared.
    pub(in crate::training) fn shares(
        &self,
        solver: &Solver<T>,
        facts: &Facts,
        values: usize,
    ) -> Sharing {
        match self.sharing((solver, facts), values, PORTION_TIMES) {
            Sharing::Rows if !self.sees_enough(facts, values) => Sharing::Alone,
            sharing => sharing,
        }
    }

    /// Whether each part of a portion has rows enough to move the weights about as all of it would.
    fn sees_enough(&self, facts: &Facts, values: usize) -> bool {
        let words = facts.mean_row_words.max(1);
        values / self.pool.members() >= ROWS_PER_VALUE * words * words
    }

    fn sharing(
        &self,
        (solver, facts): (&Solver<T>, &Facts),
        values: usize,
        times: usize,
    ) -> Sharing {
        let members = self.pool.members();
        if members == 1 {
            return Sharing::Alone;
        }
        if let Some(parts) = solver.dealt(members) {
            let worth = values * solver.running_heads() >= parts * LEAST_VALUES;
            return match parts > 1 && worth {
                true => Sharing::Heads,
                false => Sharing::Alone,
            };
        }
        let least = (times * LEAST_VALUES).max(VALUES_PER_FEATURE * facts.features);
        match values >= members * least {
            true => Sharing::Rows,
            false => Sharing::Alone,
        }
    }

    /// Has a team ready for these heads.
    pub(in crate::training) fn gather(&mut self, solver: &Solver<T>) -> Result<(), OutOfMemory> {
        if let (None, Some(heads)) = (&self.team, solver.singles()) {
            self.team = Some(Team::new(self.pool.members(), heads)?);
        }
        Ok(())
    }

    /// Forgets what there was for other heads.
    pub(in crate::training) fn part(&mut self) {
        (self.team, self.checks) = (None, false);
    }

    /// Shows a portion of so many values to all heads; `found`: what they say of its rows.
    pub(in crate::training) fn show(
        &mut self,
        (solver, facts, level): (&mut Solver<T>, &Facts, Level),
        portion: &impl Portion,
        (values, pass): (usize, Pass),
        found: &mut Vec<u8>,
    ) -> Result<(), OutOfMemory> {
        match self.shares(solver, facts, values) {
            Sharing::Alone => show_alone(solver, level, portion, found),
            Sharing::Heads => self.show_to_parts((solver, level), portion, found),
            Sharing::Rows => self.show_to_team((solver, level), portion, pass, found),
        }
    }

    fn show_to_parts(
        &mut self,
        (solver, level): (&mut Solver<T>, Level),
        portion: &impl Portion,
        found: &mut Vec<u8>,
    ) -> Result<(), OutOfMemory> {
        let rows = portion.rows();
        let mut members = Vec::new();
        for part in solver.parts(self.pool.members())? {
            members.room(1)?.push((part, emptied(rows)?));
        }
        self.pool.side_by_side(&mut members, |(to, found)| {
            let share = Share::ALL;
            level.run(Show {
                to,
                portion,
                share,
                found,
            });
        });
        found.clear();
        found.room(rows)?.resize(rows, u8::MAX);
        for (_, own) in &members {
            let all = found.iter_mut().zip(own);
            all.for_each(|(all, own)| *all = (*all).min(*own));
        }
        Ok(())
    }

    fn show_to_team(
        &mut self,
        (solver, level): (&mut Solver<T>, Level),
        portion: &impl Portion,
        pass: Pass,
        found: &mut Vec<u8>,
    ) -> Result<(), OutOfMemory> {
        self.gather(solver)?;
        let (Some(team), rows) = (&mut self.team, portion.rows()) else {
            return Ok(());
        };
        let trains = !matches!(pass, Pass::Verify { .. });
        if trains || !self.checks {
            team.begin(solver, 0, pass)?;
            self.checks = !trains;
        }
        let (members, shared) = team.divide(solver)?;
        let count = members.len();
        let mut shown = Vec::new();
        for (number, member) in members.iter_mut().enumerate() {
            let share = Share { number, count };
            let to = member.shown(&shared);
            shown.room(1)?.push((to, share, emptied(rows)?));
        }
        self.pool.side_by_side(&mut shown, |(to, share, found)| {
            let share = *share;
            level.run(Show {
                to,
                portion,
                share,
                found,
            });
        });
        let parts = shown.iter().map(|(.., own)| own.chunks(GROUP));
        put_together(parts, rows, found)?;
        if trains {
            team.end(solver, pass);
        }
        Ok(())
    }

    /// Ends what a team has of a verifying pass.
    pub(in crate::training) fn end_checks(&mut self, solver: &mut Solver<T>) {
        if let (Some(team), true) = (&mut self.team, std::mem::take(&mut self.checks)) {
            team.end(solver, Pass::Verify { everything: true });
        }
    }
}

/// Rows to be shown to heads, [`GROUP`] after [`GROUP`].
pub(in crate::training) trait Portion: Sync {
    fn rows(&self) -> usize;
    /// Shows a share of them. Adds to `found` what the heads say of each row: less than what others say where it matters more.
    fn show<K: Isa>(&self, to: &mut impl TakesRows, share: Share, found: &mut Vec<u8>);
}

/// Every so many-th group of rows.
#[derive(Clone, Copy)]
pub(in crate::training) struct Share {
    number: usize,
    count: usize,
}

impl Share {
    const ALL: Share = Share {
        number: 0,
        count: 1,
    };

    /// Whether it has this group.
    #[inline(always)]
    pub(in crate::training) fn has(self, group: usize) -> bool {
        group % self.count == self.number
    }

    /// The next of its groups behind this one.
    #[inline(always)]
    pub(in crate::training) fn behind(self, group: usize) -> usize {
        group + self.count
    }
}

/// Puts together what was found of groups that were dealt by turns.
fn put_together<'a>(
    parts: impl Iterator<Item = impl Iterator<Item = &'a [u8]>>,
    rows: usize,
    found: &mut Vec<u8>,
) -> Result<(), OutOfMemory> {
    let mut parts = gathered(parts)?;
    let count = parts.len();
    found.clear();
    found.room(rows)?;
    for number in 0..rows.div_ceil(GROUP) {
        found.extend_from_slice(parts[number % count].next().unwrap_or_default());
    }
    Ok(())
}

/// Room for what is found of so many rows.
fn emptied(rows: usize) -> Result<Vec<u8>, OutOfMemory> {
    let mut found = Vec::new();
    found.room(rows)?;
    Ok(found)
}

/// Shows a portion to all heads; `found`: what they say of its rows.
pub(in crate::training) fn show_alone<T: Real>(
    solver: &mut Solver<T>,
    level: Level,
    portion: &impl Portion,
    found: &mut Vec<u8>,
) -> Result<(), OutOfMemory> {
    found.clear();
    found.room(portion.rows())?;
    level.run(Show {
        to: &mut solver.whole(),
        portion,
        share: Share::ALL,
        found,
    });
    Ok(())
}

struct Show<'a, V, P> {
    to: &'a mut V,
    portion: &'a P,
    share: Share,
    found: &'a mut Vec<u8>,
}

impl<V: TakesRows, P: Portion> Work for Show<'_, V, P> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        self.portion.show::<K>(self.to, self.share, self.found);
    }
}
