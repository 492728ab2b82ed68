//! Heads whose rows are scanned by others: their ledgers, and the weights of their best primals. They have no dual variables.

use crate::base::memory::{copied, OutOfMemory, Room};
use crate::base::zeros::zeros;
use crate::objective::heads::HeadSpec;
use crate::objective::minimized::{Intercept, Objective};
use crate::objective::problem::Problem;
use crate::objective::report::HeadReport;
use crate::objective::solver_choice::Cuts;
use crate::rows::facts::Facts;
use crate::rows::row::Row;
use crate::simd::{Isa, Level, Work};
use crate::solver::bundle::classes::Classes;
use crate::solver::bundle::head::{FoundByPass, GivenHead};
use crate::solver::by_newton::NewtonHeads;
use crate::solver::driver::decision;
use crate::solver::ledger::bounds::Primal;
use crate::solver::ledger::{Ledger, Ledgers};
use crate::solver::newton::given::found;
use crate::solver::newton::head::{Given, Newton};
use crate::solver::newton::pace::Costs;
use crate::solver::weights::Weights;

pub struct ScannedHeads {
    heads: Vec<Scanned>,
    intercept: Intercept,
}

/// Dual variables as a function of a row: those that go with its margin, as slopes of the loss ([`Objective::dual_of`]). They are a
/// beginning for whoever goes on from them; a certificate needs the sums of a pass.
pub struct DualsByRow {
    objective: Objective,
    w: Vec<f64>,
}

impl DualsByRow {
    /// The dual variable of a row, 0 of one that takes no part.
    pub fn of(&self, row: &Row<'_>) -> f32 {
        Level::best().run(DualOf(self, row))
    }
}

struct DualOf<'a, 'r>(&'a DualsByRow, &'a Row<'r>);

impl Work for DualOf<'_, '_> {
    type Output = f32;

    #[inline(always)]
    fn run<K: Isa>(self) -> f32 {
        let Self(DualsByRow { objective, w }, row) = self;
        let (y, cost) = objective.side(row);
        if y == 0.0 {
            return 0.0;
        }
        let within = objective.within(y, objective.score::<K>(row, w));
        objective.dual_of(cost, within) as f32
    }
}

struct Scanned {
    ledger: Ledger,
    signs: Vec<i8>,
    /// The weights of the best primal, the intercept's last.
    best: Vec<f64>,
    /// Those that sorted rows for the round of that; none where no method sorts by rounds.
    sorted_at: Vec<f64>,
}

impl ScannedHeads {
    pub fn new(
        problem: &Problem,
        specs: &[HeadSpec],
        facts: &Facts,
        intercept: Intercept,
    ) -> Result<Self, OutOfMemory> {
        let mut heads = Vec::new();
        heads.room(specs.len())?;
        for spec in specs {
            let ledger = Ledger::new(problem, spec, facts, specs.len());
            let by_rounds = ledger.outliers.is_truncated() && !problem.loss().is_smooth();
            heads.push(Scanned {
                ledger,
                signs: spec.signs.list(facts.groups)?,
                best: zeros(facts.features + 1)?,
                sorted_at: match by_rounds {
                    true => zeros(facts.features + 1)?,
                    false => Vec::new(),
                },
            });
        }
        Ok(Self { heads, intercept })
    }

    /// The constant behind a row's features.
    pub fn constant(&self) -> f64 {
        self.intercept.constant()
    }

    /// Whether intercepts are in no norm.
    pub fn is_free(&self) -> bool {
        self.intercept == Intercept::Free
    }

    fn objective(&self, head: usize) -> Result<Objective, OutOfMemory> {
        let Scanned { ledger, signs, .. } = &self.heads[head];
        Ok(ledger.objective(copied(signs)?, self.intercept))
    }

    /// What says each row's dual variable at the weights of a head's certificate.
    pub fn dual_variables(&self, head: usize) -> Result<DualsByRow, OutOfMemory> {
        Ok(DualsByRow {
            objective: self.objective(head)?,
            w: copied(&self.heads[head].best)?,
        })
    }

    /// A head to be solved by a bundle.
    pub fn given(&self, head: usize, cuts: Cuts) -> Result<GivenHead, OutOfMemory> {
        let Scanned {
            ledger,
            best,
            sorted_at,
            ..
        } = &self.heads[head];
        Ok(GivenHead {
            objective: Objective {
                sorted_at: copied(sorted_at)?,
                ..self.objective(head)?
            },
            classes: None,
            stop: ledger.stop_rule(),
            tolerance: ledger.tolerance(),
            max_passes: ledger.max_passes(),
            length: best.len(),
            cuts,
            heads: self.heads.len(),
        })
    }

    /// All heads, one for each class, to be told apart together by a bundle.
    pub fn given_together(&self, cuts: Cuts) -> Result<GivenHead, OutOfMemory> {
        let first = self.given(0, cuts)?;
        let classes = self.heads.iter().map(|head| {
            let weight = f64::from(head.ledger.terms.positive_weight);
            (&head.signs[..], weight)
        });
        Ok(GivenHead {
            classes: Some(Classes::of(classes)?),
            objective: Objective {
                signs: Vec::new(),
                ..first.objective
            },
            length: first.length * self.heads.len(),
            heads: 1,
            ..first
        })
    }

    /// These weights sort rows for the round of what comes next: what is known of another round is about another problem.
    pub fn be_sorted_at(&mut self, head: usize, w: &[f64]) {
        let head = &mut self.heads[head];
        if head.sorted_at != w {
            head.sorted_at.copy_from_slice(w);
            head.ledger.begin_anew();
        }
    }

    /// Takes what a pass over all rows has found for a head, with its weights.
    pub fn take_found(&mut self, head: usize, found: &FoundByPass, w: &[f64]) {
        let head = &mut self.heads[head];
        let primal = Primal {
            summed: found.summed,
            ..Primal::of(found.primal, &found.tally, None)
        };
        let (pair, ends) = ((primal, found.dual), (true, found.arrived));
        let support = found.tally.support;
        if head.ledger.take_pair(pair, (support, 0, 0), ends) {
            head.best.copy_from_slice(w);
        }
        if head.ledger.runs() && found.gives_up {
            head.ledger.end_unfinished();
        }
        head.end();
    }

    /// Ends heads that still run, where no method gets them any further.
    pub fn end_unfinished(&mut self) {
        for head in self.heads.iter_mut().filter(|head| head.ledger.runs()) {
            head.ledger.end_unfinished();
            head.end();
        }
    }

    /// How the heads ended, or stand.
    pub fn reports(&self, rows: usize) -> impl Iterator<Item = HeadReport> + '_ {
        self.ledgers().map(move |it| {
            let knows = it.stop.passes() > 0 && !it.outliers.is_truncated();
            it.report(rows, knows)
        })
    }
}

impl Scanned {
    /// Where it has ended with a constant decision, its weights are that.
    fn end(&mut self) {
        if let (false, Some(intercept)) = (self.ledger.runs(), self.ledger.constant()) {
            self.best.fill(0.0);
            if let Some(last) = self.best.last_mut() {
                *last = intercept;
            }
        }
    }
}

impl Ledgers for ScannedHeads {
    fn len(&self) -> usize {
        self.heads.len()
    }

    fn ledger(&self, head: usize) -> &Ledger {
        &self.heads[head].ledger
    }

    fn ledger_mut(&mut self, head: usize) -> &mut Ledger {
        &mut self.heads[head].ledger
    }

    fn weights(&self, head: usize) -> Weights<'_> {
        let (intercept, w) = self.heads[head].best.split_last().unwrap_or((&0.0, &[]));
        Weights::of(w, *intercept)
    }

    fn sorted_at(&self, head: usize) -> &[f64] {
        &self.heads[head].sorted_at
    }

    #[inline(always)]
    fn decision<K: Isa>(&self, head: usize, row: &Row<'_>) -> f32 {
        decision::<K, f64>(&self.heads[head].best, row, self.intercept.constant())
    }
}

impl NewtonHeads for ScannedHeads {
    fn newton(&self, head: usize, costs: Costs) -> Result<Option<Newton>, OutOfMemory> {
        let Scanned { ledger, best, .. } = &self.heads[head];
        let w = zeros(best.len())?;
        let given = Given::of(ledger, self.objective(head)?, w);
        Newton::new(given, costs).map(Some)
    }

    fn take_newton(&mut self, head: usize, newton: &Newton, arrived: bool) {
        if newton.is_beside() {
            return;
        }
        let head = &mut self.heads[head];
        if !newton.is_free() {
            head.ledger.take_nothing(|| newton.at_zero());
        }
        let (pair, (support, unseen)) = found(newton);
        let ends = (newton.is_at_best(), arrived);
        if head.ledger.take_pair(pair, (support, unseen, 0), ends) {
            head.best.copy_from_slice(newton.best());
            head.ledger.outliers.take(newton.outliers());
        }
        head.end();
    }

    fn leave_newton(&mut self, head: usize, _: &Newton) {
        let head = &mut self.heads[head];
        head.ledger.end_unfinished();
        head.end();
    }
}
