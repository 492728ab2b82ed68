//! A pass under way over rows of this process, for heads whose dual variables are kept. Several threads may read rows at the same time: each
//! sums up rows of its own, and the sums are joined when the pass ends.

use std::sync::Arc;

use crate::base::memory::{all_of, OutOfMemory, Room};
use crate::rows::filing::{FiledRows, LeftOut};
use crate::rows::row::Row;
use crate::rows::visited::VisitedBatch;
use crate::simd::{Level, Real};
pub use crate::solver::by_passes::members::Portion;
use crate::solver::by_passes::members::{Filing, Member, MemberHead, Part};
use crate::solver::by_passes::unread::Unread;
use crate::solver::by_passes::{FixedWeights, Summed};
use crate::solver::head_sums::{HeadFound, HeadScan};
use crate::solver::visit::per_row::Dual;
use crate::solver::{share_of, Heads, Solver};

/// Words of rows, times heads, that are worth calling threads for.
const LEAST_VALUES: usize = 1 << 14;

/// A pass.
pub struct PassHere {
    heads: Vec<HeadHere>,
}

/// A head's part of it.
struct HeadHere {
    head: usize,
    pass: HeadScan,
    /// The sums of one thread, and those of several.
    sums: HeadFound,
    parts: Vec<HeadFound>,
}

impl PassHere {
    /// The pass of this method that comes.
    pub fn begin<H>(method: &mut (impl FixedWeights<H> + ?Sized)) -> Result<Self, OutOfMemory> {
        let pass = method.pass(&[])?;
        let heads = all_of(pass.into_iter().map(|(head, pass)| {
            Ok::<_, OutOfMemory>(HeadHere {
                head,
                sums: method.begin(head, &pass)?,
                pass,
                parts: Vec::new(),
            })
        }))?;
        Ok(Self { heads })
    }

    /// Heads that take part.
    pub fn heads(&self) -> usize {
        self.heads.len()
    }

    /// How many of so many threads are to read rows of so many words.
    pub fn threads_for(&self, words: usize, threads: usize) -> usize {
        match words * self.heads.len() >= LEAST_VALUES {
            true => threads,
            false => 1,
        }
    }

    /// Whether rows may be filed by what is found of them.
    pub fn may_file(&self) -> bool {
        self.heads.iter().all(|it| it.pass.may_file())
    }

    /// What so many threads need to read rows at the same time; `unread`: what heads know of chunks.
    fn members<'a, T: Real>(
        &'a mut self,
        solver: &'a mut Solver<T>,
        threads: usize,
        unread: &'a mut [Unread],
    ) -> Result<Vec<Member<'a>>, OutOfMemory> {
        let count = self.heads.len();
        let mut team = all_of((0..threads).map(|number| {
            let mut heads = Vec::new();
            heads.room(count)?;
            Ok::<_, OutOfMemory>(Member {
                number,
                beside: usize::from(threads > 1),
                heads,
                values: 0,
                blocks: 0,
            })
        }))?;
        let Heads::Single(singles) = &mut solver.heads else {
            return Ok(team);
        };
        let mut kept = singles.heads.iter_mut().enumerate();
        let mut unread = unread.iter_mut();
        for here in &mut self.heads {
            let Some((_, own)) = kept.find(|(head, _)| *head == here.head) else {
                break;
            };
            let duals = Dual::share(&mut own.alpha);
            let mut known = unread.find(|it| it.head == here.head);
            here.begin_parts(threads)?;
            let HeadHere {
                pass, sums, parts, ..
            } = here;
            let all = match threads {
                1 => std::slice::from_mut(sums),
                _ => parts,
            };
            for (member, sums) in team.iter_mut().zip(all) {
                member.heads.push(MemberHead {
                    pass,
                    sums,
                    duals,
                    unread: known.take(),
                });
            }
        }
        Ok(team)
    }

    /// Has rows of a portion visited by so many threads, which `side_by_side` has do their work; the values gone through, and the
    /// blocks of a page.
    pub fn visit<T: Real>(
        &mut self,
        solver: &mut Solver<T>,
        portion: &Portion<'_>,
        (threads, unread): (usize, &mut [Unread]),
        side_by_side: impl FnOnce(&mut [Member<'_>], &(dyn Fn(&mut Member<'_>) + Sync)),
    ) -> Result<(usize, usize), OutOfMemory> {
        let mut team = self.members(solver, threads, unread)?;
        let level = Level::best();
        side_by_side(&mut team, &|member| {
            level.run(Part {
                member,
                portion: portion.clone(),
                count: threads,
            })
        });
        let more = |gone: (usize, usize), member: &Member<'_>| {
            (gone.0 + member.values, gone.1 + member.blocks)
        };
        Ok(team.iter().fold((0, 0), more))
    }

    /// The same in a pass that files rows: `file` is told how far each is from mattering, and says in which chunk it lies.
    pub fn visit_filing<T: Real>(
        &mut self,
        solver: &mut Solver<T>,
        rows: VisitedBatch<'_>,
        unread: &mut [Unread],
        file: impl FnMut(&Row<'_>, u8) -> u16,
    ) -> Result<usize, OutOfMemory> {
        let mut team = self.members(solver, 1, unread)?;
        let mut values = 0;
        if let Some(member) = team.first_mut() {
            Level::best().run(Filing { member, rows, file })?;
            values = member.values;
        }
        Ok(values)
    }

    /// The last row has been read: what all threads have summed up, and what is known of rows that were left out.
    pub fn end(self, unread: &[Unread]) -> Result<Vec<Summed>, OutOfMemory> {
        let level = Level::best();
        all_of(self.heads.into_iter().map(|here| {
            let HeadHere {
                head,
                pass,
                mut sums,
                parts,
            } = here;
            for mut part in parts {
                part.finish(level);
                sums.join(&part);
            }
            sums.finish(level);
            let known = unread.iter().find(|it| it.head == head);
            let unread = known.map_or(0, |it| it.add_unread(&pass, &mut sums));
            Ok(Summed { pass, sums, unread })
        }))
    }
}

impl HeadHere {
    /// Makes ready for so many threads, once a pass.
    fn begin_parts(&mut self, threads: usize) -> Result<(), OutOfMemory> {
        if threads > 1 && self.parts.is_empty() {
            self.parts.room(threads)?;
            for _ in 0..threads {
                self.parts.push(self.pass.begin()?);
            }
        }
        Ok(())
    }
}

/// Rows that lie in chunks.
impl PassHere {
    /// Has heads remember which of so many rows, of so many features, cannot have changed, where they do not yet; others are forgotten.
    pub fn remember(
        &self,
        unread: &mut Vec<Unread>,
        size: (usize, usize),
        filed: Option<&Arc<FiledRows>>,
    ) -> Result<(), OutOfMemory> {
        unread.retain(|it| self.heads.iter().any(|here| here.head == it.head));
        for (place, here) in self.heads.iter().enumerate() {
            if unread.get(place).is_none_or(|it| it.head != here.head) {
                unread.room(1)?;
                unread.insert(place, Unread::new(here.head, size, filed)?);
            }
        }
        Ok(())
    }

    /// What each head that takes part sums up, and its dual variables.
    fn known<'a, T: Real>(
        &'a self,
        solver: &'a Solver<T>,
    ) -> impl Iterator<Item = (&'a HeadScan, &'a [f32])> {
        self.heads.iter().map(|here| {
            let duals: &[f32] = match &solver.heads {
                Heads::Single(singles) => &singles.heads[here.head].alpha,
                Heads::Joint(_) => &[],
            };
            (&here.pass, duals)
        })
    }

    /// The chunks that it may leave out: those that no head needs.
    pub fn may_leave_out<T: Real>(
        &self,
        solver: &Solver<T>,
        unread: &mut [Unread],
    ) -> Result<LeftOut, OutOfMemory> {
        let mut left_out = LeftOut::ALL;
        for ((pass, duals), unread) in self.known(solver).zip(unread) {
            left_out.with(&unread.may_leave_out(pass, duals)?);
        }
        Ok(left_out)
    }

    /// It leaves these out.
    pub fn leave_out(&self, unread: &mut [Unread], left_out: &LeftOut) {
        for (here, unread) in self.heads.iter().zip(unread) {
            unread.leave_out(&here.pass, left_out);
        }
    }

    /// About the share of so many rows that passes to come would read, were they filed as they stand.
    pub fn share_to_read<T: Real>(
        &self,
        solver: &Solver<T>,
        unread: &[Unread],
        rows: usize,
    ) -> f64 {
        share_of(rows, |row| {
            let mut known = self.known(solver).zip(unread);
            known.any(|((_, duals), unread)| unread.reads(row, duals[row]))
        })
    }
}
