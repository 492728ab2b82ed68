//! A solver visits what a map makes of stored rows as it visits the same rows stored.

use std::ops::Range;
use std::sync::OnceLock;

use super::certificate::proof::Proof;
use super::certificate::state::Verifying;
use super::divided::{Member, Shared, Team};
use super::driver::Method;
use super::ledger::Ledgers;
use super::scans::{ScanRows, Scans};
use super::sums::intercept::Breakpoints;
use super::sums::terms::Terms;
use super::{Pass, Solver};
use crate::objective::heads::HeadSpec;
use crate::objective::loss::Loss;
use crate::objective::losses::parabola::SQUARED_HINGE;
use crate::objective::problem::Problem;
use crate::rows::blocks::Blocks;
use crate::rows::facts::Facts;
use crate::rows::map::RowMap;
use crate::rows::page::{Page, PageMut};
use crate::rows::row::{row_words, write, Row, RowHead};
use crate::rows::visited::{VisitedPage, VisitedRows};
use crate::simd::{Isa, Level, Real, Work};

const ROWS: usize = 203;
const DENSE: usize = 3;
const SPARSE: u32 = 4;
const WIDTH: usize = 4;

/// Beside each dense value its square, and beside each sparse one half of it.
struct Squares {
    made: Vec<OnceLock<Vec<u32>>>,
}

impl Squares {
    fn new() -> Self {
        Self {
            made: (0..ROWS).map(|_| OnceLock::new()).collect(),
        }
    }
}

/// The words of a row with these numbers, its squared norm included.
fn words(head: RowHead, dense: &[f32], sparse: &[(u32, f32)]) -> Vec<u32> {
    let mut words = vec![0; row_words(dense.len(), sparse.len())];
    for (word, x) in write(&mut words, head, dense.len(), sparse.iter().copied())
        .iter_mut()
        .zip(dense)
    {
        *word = x.to_bits();
    }
    let all = dense.iter().copied().chain(sparse.iter().map(|(_, x)| *x));
    words[4] = all.map(|x| x * x).sum::<f32>().to_bits();
    words
}

fn squares_of(row: &Row<'_>) -> Vec<u32> {
    let head = RowHead {
        offset: None,
        ordinal: row.ordinal() as u32,
        group: row.group() as u32,
        cost: row.cost(),
    };
    let squares = row.dense().iter().map(|x| x * x);
    let dense: Vec<f32> = row.dense().iter().copied().chain(squares).collect();
    let entries = row.sparse().iter().flat_map(|&[j, bits]| {
        let (j, x) = (j + DENSE as u32, f32::from_bits(bits));
        [(j, x), (j + SPARSE, x / 2.0)]
    });
    words(head, &dense, &entries.collect::<Vec<_>>())
}

impl RowMap for Squares {
    fn facts(&self, stored: &Facts) -> Facts {
        Facts {
            dense: 2 * stored.dense,
            features: 2 * stored.features,
            occurring: 2 * stored.occurring,
            ..*stored
        }
    }

    fn visited<'a>(&'a self, stored: Row<'a>) -> Row<'a> {
        let made = self.made[stored.ordinal()].get_or_init(|| squares_of(&stored));
        Row::new(made, 2 * DENSE)
    }
}

fn stored() -> (Vec<u32>, Facts) {
    let mut page = vec![0; 1 << 14];
    let mut open = PageMut::create(&mut page, DENSE);
    for n in 0..ROWS {
        let number = |k: usize| ((n * 37 + k * 101) % 97) as f32 / 48.0 - 1.0;
        let head = RowHead {
            offset: None,
            ordinal: n as u32,
            group: u32::from(number(0) * number(1) + 0.2 * number(5) > 0.1),
            cost: 1.0 + (n % 3) as f32,
        };
        let dense: Vec<f32> = (0..DENSE).map(number).collect();
        let entries = [(DENSE as u32 + n as u32 % SPARSE, number(7))];
        let words = words(head, &dense, &entries[..n % 2]);
        open.push(words.len()).unwrap().copy_from_slice(&words);
    }
    (page, facts())
}

fn facts() -> Facts {
    Facts {
        rows: ROWS,
        dense: DENSE,
        features: DENSE + SPARSE as usize,
        occurring: DENSE + SPARSE as usize,
        groups: 2,
        folds: 1,
        class_changes: ROWS / 2,
        max_row_words: 16,
        mean_row_words: 12,
        stored_row_words: 12,
        most_visited_words: 0,
        mean_q: 1.0,
        weighed: 0,
        positive: 1,
        ..Facts::default()
    }
}

/// One pass over the blocks, by the solver or the members of a team.
struct Walk<'a, 'b, T, M> {
    solver: &'a mut Solver<T>,
    blocks: Blocks<'b, M>,
    pass: Pass,
}

impl<T: Real, M: RowMap> Work for Walk<'_, '_, T, M> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let (blocks, most) = (self.blocks, usize::MAX);
        let mut heads = self.solver.whole();
        match self.pass {
            Pass::Full => heads.visit_blocks::<K, true>(blocks, most),
            Pass::Active => heads.visit_blocks::<K, false>(blocks, most),
            Pass::Verify { everything } => heads.check_blocks::<K>(blocks, everything, most),
        };
    }
}

struct Part<'a, 'b, T, M> {
    member: &'a mut Member<T>,
    shared: &'a Shared<'b, T>,
    walk: (Blocks<'a, M>, Pass),
}

impl<T: Real, M: RowMap> Work for Part<'_, '_, T, M> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        self.member.visit::<K>(self.shared, self.walk, usize::MAX);
    }
}

fn walk<T: Real, M: RowMap>(
    solver: &mut Solver<T>,
    team: &mut Option<Team<T>>,
    blocks: Blocks<'_, M>,
    pass: Pass,
) {
    let level = Level::best();
    let Some(team) = team else {
        return level.run(Walk {
            solver,
            blocks,
            pass,
        });
    };
    team.begin(solver, blocks.numbers.len(), pass).unwrap();
    let (members, shared) = team.divide(solver).unwrap();
    for member in members {
        let (shared, walk) = (&shared, (blocks, pass));
        level.run(Part {
            member,
            shared,
            walk,
        });
    }
    team.end(solver, pass);
}

/// The sum of all decisions.
struct Decisions(f64);

impl<T: Real> Scans<Solver<T>> for Decisions {
    fn add<K: Isa>(&mut self, solver: &Solver<T>, row: &Row<'_>) -> usize {
        self.0 += f64::from(solver.decision::<K>(0, row));
        row.values()
    }
}

/// Trains heads over the rows of a page; their weights, dual variables and gaps.
fn trained<M: RowMap>(
    page: VisitedPage<'_, M>,
    facts: &Facts,
    (heads, members, loss): (usize, usize, Loss),
) -> Vec<u64> {
    let problem = Problem::new(loss, 0.7, 1e-3).unwrap();
    let spec = |head: usize| HeadSpec::new(vec![-1, 1], 0.1 + 0.2 * head as f64);
    let specs: Vec<_> = (0..heads).map(spec).collect();
    let mut solver = Solver::<f32>::new(&problem, &specs, facts, ROWS).unwrap();
    let mut team = (members > 1).then(|| Team::new(members, solver.singles().unwrap()).unwrap());
    let numbers: Vec<u32> = (0..ROWS.div_ceil(WIDTH) as u32).rev().collect();
    let blocks = Blocks {
        page,
        numbers: &numbers,
        width: WIDTH,
    };
    solve(&mut solver, &mut team, blocks);
    let mut found = Vec::new();
    for head in 0..heads {
        found.extend(solver.weights(head).iter().map(f64::to_bits));
        let dual = |row| u64::from(solver.duals(head).get(row).to_bits());
        found.extend((0..ROWS).map(dual));
    }
    let gaps = solver.reports(ROWS).map(|report| report.certificate.gap);
    found.extend(gaps.map(f64::to_bits));
    found
}

/// Passes over the blocks until the solver is done.
fn solve<M: RowMap>(solver: &mut Solver<f32>, team: &mut Option<Team<f32>>, blocks: Blocks<'_, M>) {
    for _ in 0..40 {
        solver.begin_full(true).unwrap();
        walk(solver, team, blocks, Pass::Full);
        let mut due = solver.end_full().unwrap();
        while due {
            let everything = solver.begin_verify().unwrap();
            walk(solver, team, blocks, Pass::Verify { everything });
            due = solver.end_verify().unwrap();
        }
        if solver.done() {
            break;
        }
        solver.advance().unwrap();
        solver.begin_active();
        walk(solver, team, blocks, Pass::Active);
        solver.end_active().unwrap();
    }
    solver.stop();
}

#[test]
fn rows_of_a_map_are_visited_as_the_same_rows_stored() {
    let (stored, facts) = stored();
    let stored = Page::new(&stored, DENSE);
    let map = Squares::new();
    let visited = map.facts(&facts);
    let mut page = vec![0; 1 << 14];
    let mut open = PageMut::create(&mut page, visited.dense);
    for slot in 0..ROWS {
        let words = squares_of(&stored.row(slot).unwrap());
        open.push(words.len()).unwrap().copy_from_slice(&words);
    }
    let page = VisitedPage::as_stored(Page::new(&page, visited.dense));
    let mapped = VisitedPage::mapped(stored, &map);
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        for (heads, members) in [(1, 1), (1, 2), (3, 1), (19, 1)] {
            let how = (heads, members, loss);
            let (there, made) = (trained(page, &visited, how), trained(mapped, &visited, how));
            assert_eq!(there, made, "{how:?}");
            assert!(there.iter().any(|bits| *bits != 0), "{how:?}");
            let plain = VisitedPage::as_stored(stored);
            let plain = trained(plain, &facts, how);
            assert_ne!(
                plain.last(),
                there.last(),
                "{how:?}: squares change nothing"
            );
        }
    }
}

#[test]
fn a_scan_takes_in_every_row_once() {
    let (stored, facts) = stored();
    let page = VisitedPage::as_stored(Page::new(&stored, DENSE));
    let problem = Problem::new(Loss::Hinge, 1.0, 1e-3).unwrap();
    let specs = [HeadSpec::new(vec![-1, 1], 1.0)];
    let mut solver = Solver::<f32>::new(&problem, &specs, &facts, ROWS).unwrap();
    let numbers: Vec<u32> = (0..ROWS.div_ceil(WIDTH) as u32).collect();
    let blocks = Blocks {
        page,
        numbers: &numbers,
        width: WIDTH,
    };
    for _ in 0..3 {
        solver.begin_full(true).unwrap();
        walk(&mut solver, &mut None, blocks, Pass::Full);
        solver.end_full().unwrap();
        solver.advance().unwrap();
    }
    let decisions = (0..ROWS).map(|slot| decision(&solver, page.row(slot)));
    let magnitude: f64 = decisions.clone().map(f64::abs).sum();
    assert!(magnitude > 1.0, "{magnitude}");
    let all: f64 = decisions.sum();
    let (mut sums, mut values) = (Decisions(0.0), 0);
    for slots in [0..7, 7..7, 7..ROWS] {
        values += sums.scan(&solver, VisitedRows::Slots { page, slots });
    }
    assert!((sums.0 - all).abs() < 1e-4 * magnitude, "{} {all}", sums.0);
    let stored: usize = (0..ROWS).map(|slot| page.row(slot).values()).sum();
    assert_eq!(values, stored);
}

/// What the first head decides for a row.
fn decision(solver: &Solver<f32>, row: Row<'_>) -> f64 {
    let weights = solver.weights(0);
    let dense = row.dense().iter().enumerate();
    let dense: f64 = dense.map(|(j, x)| f64::from(*x) * weights.get(j)).sum();
    let sparse = row.sparse().iter().map(|&[j, bits]| {
        let x = f32::from_bits(bits);
        f64::from(x) * weights.get(j as usize)
    });
    dense + sparse.sum::<f64>() + weights.intercept()
}

/// Checks some rows of a page at dual variables and weights of their own making.
struct Checks<'a> {
    proof: &'a mut Proof,
    page: VisitedPage<'a>,
    slots: Range<usize>,
}

impl Work for Checks<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let terms = Terms {
            c: 0.7,
            positive_weight: 2.0,
            loss: Loss::SquaredHinge,
        };
        for slot in self.slots {
            let row = self.page.row(slot);
            let y = if row.group() == 1 { 1.0 } else { -1.0 };
            let alpha = (row.ordinal() % 4) as f32 / 8.0;
            let score = row.dense().iter().map(|x| f64::from(*x)).sum::<f64>() - 0.3;
            let at = (y, alpha, Some(score));
            self.proof
                .check::<K, _>(&row, (SQUARED_HINGE, &terms), at, 1.0);
        }
    }
}

/// As where each of several processes has some of the rows.
#[test]
fn sums_over_parts_of_the_rows_join_to_those_over_all() {
    let (stored, facts) = stored();
    let page = VisitedPage::as_stored(Page::new(&stored, DENSE));
    let verifying = Verifying {
        primal: true,
        best_duals: false,
        exact: false,
    };
    let over = |slots| {
        let mut proof =
            Proof::new(facts.features + 1, verifying, true, (false, false, false)).unwrap();
        Level::best().run(Checks {
            proof: &mut proof,
            page,
            slots,
        });
        proof
    };
    for parts in [
        vec![0..ROWS / 2, ROWS / 2..ROWS],
        vec![0..0, 0..70, 70..71, 71..ROWS],
    ] {
        let (mut whole, mut joined) = (over(0..ROWS), over(0..0));
        parts.into_iter().for_each(|part| joined.join(&over(part)));
        let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-12 * (1.0 + a.abs()), "{a} {b}");
        let [of_all, of_parts] = [&whole, &joined].map(Proof::proved);
        close(of_all.norm, of_parts.norm);
        close(of_all.alpha, of_parts.alpha);
        close(of_all.diag, of_parts.diag);
        assert_eq!(of_all.support, of_parts.support);
        for (a, b) in whole.v.iter().zip(&joined.v) {
            close(*a, *b);
        }
        let better =
            |found: &Breakpoints| found.better(0.0, 0.7, (Loss::SquaredHinge, false), |it| it);
        let (all, shifted) = joined.losses(better);
        let (expected, best) = whole.losses(better);
        close(expected.start_loss, all.start_loss);
        assert_eq!((expected.rows, expected.correct), (all.rows, all.correct));
        let (shifted, best) = (shifted.expect("a better one"), best.expect("a better one"));
        assert_eq!(
            (shifted.intercept, shifted.turned),
            (best.intercept, best.turned)
        );
        close(best.gain, shifted.gain);
    }
}
