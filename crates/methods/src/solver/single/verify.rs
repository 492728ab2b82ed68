//! A head by itself in a verifying pass.

use crate::base::memory::OutOfMemory;
use crate::objective::loss::{by_loss, LossFunction, NO_LOSS_FROM};
use crate::rows::filing::LeftOut;
use crate::rows::row::Row;
use crate::simd::{Isa, Real, Work};
use crate::solver::certificate::dual::{Verified, BALANCED};
use crate::solver::certificate::proof::Proof;
use crate::solver::certificate::state::{HeadState, Verifying};
use crate::solver::certificate::truncated::Sides;
use crate::solver::proximal::form::WeightMap;
use crate::solver::single::head::Head;
use crate::solver::single::skippable::Look;
use crate::solver::visit::visitor::{exact_score, score, HeadView};

/// The work of [`HeadView::check`], for whoever has it done apart.
pub(in crate::solver) struct Check<'a, T> {
    pub(in crate::solver) head: &'a HeadView<'a, T>,
    pub(in crate::solver) row: &'a Row<'a>,
    pub(in crate::solver) proof: &'a mut Proof,
}

impl<T: Real> Work for Check<'_, T> {
    type Output = Option<Look>;

    #[inline(always)]
    fn run<K: Isa>(self) -> Option<Look> {
        self.head.check::<K>(self.row, self.proof)
    }
}

/// The work of [`Head::check`].
struct CheckRow<'a, T> {
    head: &'a mut Head<T>,
    row: &'a Row<'a>,
}

impl<T: Real> Work for CheckRow<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        self.head.check_here::<K>(self.row);
    }
}

impl<T: Real> HeadView<'_, T> {
    /// Adds a row to the proof.
    #[inline(always)]
    pub(in crate::solver) fn check<K: Isa>(
        &self,
        row: &Row<'_>,
        proof: &mut Proof,
    ) -> Option<Look> {
        by_loss!(self.terms.loss, loss => self.check_with::<K, _>(loss, row, proof))
    }

    #[inline(always)]
    fn check_with<K: Isa, L: LossFunction>(
        &self,
        loss: L,
        row: &Row<'_>,
        proof: &mut Proof,
    ) -> Option<Look> {
        let y = f64::from(self.signs[row.group()]);
        if y == 0.0 {
            return None;
        }
        let WeightMap {
            dense, intercept, ..
        } = self.form;
        let dual = &self.alpha[row.ordinal()];
        if let Some(positive) = self.positive {
            positive.set(row.ordinal(), y > 0.0);
        }
        let score = match (proof.primal, self.start) {
            (true, Some(start)) if proof.exact => Some(exact_score(row, start, intercept)),
            (true, Some(start)) => Some(score::<K, T>(row, start, dense, intercept) + row.offset()),
            _ => None,
        };
        let look = score.map(|score| Look {
            margin: y * score,
            cost: self.terms.cost(row.cost(), y),
            is_out: false,
            turns: false,
            has_dual: false,
        });
        let (is_out, turns) = self.sort(loss, row, (y, score), proof);
        let before = dual.get();
        if is_out {
            let of_loss = (loss, &self.terms);
            proof.leave_out::<K, L>(row, of_loss, (y, before), intercept);
            return look.map(|look| Look {
                is_out,
                turns,
                ..look
            });
        }
        let checked = proof.check::<K, L>(row, (loss, &self.terms), (y, before, score), intercept);
        if checked.alpha != before {
            dual.set(checked.alpha);
        }
        if let Some(settled) = checked.settled {
            self.shrunk.set(row.ordinal(), settled);
        }
        look.map(|look| Look {
            turns,
            has_dual: checked.alpha > 0.0,
            ..look
        })
    }
}

impl<T> HeadView<'_, T> {
    /// Where the loss is truncated, finds the side of a row with sign `y` at this score: whether it is that of outliers, and another
    /// one than where it is.
    #[inline(always)]
    fn sort<L: LossFunction>(
        &self,
        loss: L,
        row: &Row<'_>,
        (y, score): (f64, Option<f64>),
        proof: &mut Proof,
    ) -> (bool, bool) {
        let (Some(outliers), Some(score)) = (self.outliers, score) else {
            return (false, false);
        };
        let at = (self.terms.cost(row.cost(), y), loss.value(y * score));
        outliers.sort(row.ordinal(), at, &mut proof.sorted)
    }
}

/// The margins from where a row has no loss, and up to where it is an outlier.
fn kinks(state: &HeadState) -> [Option<f64>; 2] {
    let truncated = &state.truncated;
    let out = || {
        state
            .ledger
            .terms
            .loss
            .margin_at(truncated.line().most_loss)
    };
    [Some(NO_LOSS_FROM), truncated.is().then(out)]
}

impl<T: Real> Head<T> {
    /// Begins to verify; true when rows with a = 0 must be looked at too, for the primal at the newest weights.
    pub fn begin_verify(&mut self) -> Result<bool, OutOfMemory> {
        self.iterate.write_weights(&mut self.start);
        self.start_is_zero = false;
        let present = self.dual().unwrap_or(self.state.last_dual());
        if !self.state.asks_again() {
            // what is proved again is feasible
            self.make_feasible();
        }
        let verifying = self.state.begin_verify(present);
        if let Some(outliers) = &mut self.outliers {
            outliers.begin(self.state.truncated.line());
        }
        if verifying.exact || self.state.truncated.looks_at_best() {
            self.start.copy_from_slice(&self.best_w);
        }
        if verifying.best_duals {
            self.exchange_duals(BALANCED);
        }
        let sorts = self.state.sorts_rows();
        let shifts = self.shifts();
        let free = self.iterate.frees_intercept();
        let kind = (sorts, self.outliers.is_some(), free);
        let proof = Proof::new(self.iterate.len(), verifying, shifts, kind)?;
        self.proof = Some(Box::new(proof));
        Ok(verifying.primal)
    }

    /// Which units of rows the verifying pass that has begun may leave out as far as this head is concerned.
    pub(in crate::solver) fn may_leave_out(&mut self) -> Result<LeftOut, OutOfMemory> {
        let (Some(proof), Some(skippable)) = (&self.proof, &mut self.skippable) else {
            return Ok(match self.skippable {
                Some(_) => LeftOut::ALL,
                None => LeftOut::NONE,
            });
        };
        skippable.kinks = kinks(&self.state);
        if self.state.truncated.opens() {
            skippable.forget();
        }
        let weights = proof.primal.then_some(&self.start[..]);
        skippable.drafts = self.state.may_draft();
        skippable.begin(weights, &self.alpha, self.iterate.intercept())
    }

    /// The same of the full pass that has begun.
    pub(in crate::solver) fn may_leave_out_of_full(&mut self) -> Result<LeftOut, OutOfMemory> {
        let Some(skippable) = &mut self.skippable else {
            return Ok(LeftOut::NONE);
        };
        skippable.kinks = kinks(&self.state);
        let intercept = self.iterate.intercept();
        let may = skippable.begin_full(&self.start, &self.alpha, intercept)?;
        Ok(match self.state.truncated.opens() {
            // any visit may put any row on another side
            true => LeftOut::NONE,
            false => may,
        })
    }

    /// The full pass that has begun leaves these out. `queries`: it reads what a forest was asked for.
    pub(in crate::solver) fn leave_out_of_full(&mut self, left_out: &LeftOut, queries: bool) {
        let Some(skippable) = &mut self.skippable else {
            return;
        };
        skippable.leave_out(left_out, true);
        self.state.sees_all = *left_out == LeftOut::NONE || (skippable.is_strict() && !queries);
        self.state.queries = queries;
        if let Some(query) = &mut self.query {
            query.begin();
        }
    }

    /// In a full pass, how a row that has been visited stands at the weights of the start.
    #[inline(always)]
    pub(in crate::solver) fn look_from_start<K: Isa>(&mut self, row: &Row<'_>) {
        let Some(mut skippable) = self.skippable.take() else {
            return;
        };
        let view = self.view().1;
        let y = f64::from(view.signs[row.group()]);
        if let (Some(start), true) = (view.start, y != 0.0) {
            let WeightMap {
                dense, intercept, ..
            } = view.form;
            let look = Look {
                margin: y * (score::<K, T>(row, start, dense, intercept) + row.offset()),
                cost: view.terms.cost(row.cost(), y),
                is_out: view.outliers.is_some_and(|it| it.has(row.ordinal())),
                turns: false,
                has_dual: view.alpha[row.ordinal()].get() > 0.0,
            };
            skippable.take(row, Some(look));
            if let Some(query) = &mut self.query {
                query.take(row.ordinal(), &look, false);
            }
        }
        self.skippable = Some(skippable);
    }

    /// Whether the verifying pass needs this row even if it looks at the dual only.
    #[inline(always)]
    pub fn needs_check(&self, ordinal: usize) -> bool {
        self.proof.is_some() && self.alpha[ordinal] > 0.0
    }

    /// An empty proof of the kind that is under way, for some of the rows.
    pub(in crate::solver) fn another_proof(&self) -> Result<Option<Box<Proof>>, OutOfMemory> {
        match &self.proof {
            Some(proof) => {
                let shifts = proof.breakpoints.is_some();
                let verifying = Verifying {
                    primal: proof.primal,
                    best_duals: false,
                    exact: proof.exact,
                };
                let kind = (proof.sorts, proof.finds_outliers(), proof.balances());
                let another = Proof::new(proof.v.len(), verifying, shifts, kind)?;
                Ok(Some(Box::new(another)))
            }
            None => Ok(None),
        }
    }

    #[inline(always)]
    pub fn check<K: Isa>(&mut self, row: &Row<'_>) {
        K::apart(CheckRow { head: self, row });
    }

    #[inline(always)]
    fn check_here<K: Isa>(&mut self, row: &Row<'_>) {
        if let Some(mut proof) = self.proof.take() {
            let view = self.view().1;
            let look = view.check::<K>(row, &mut proof);
            if let (true, Some(skippable)) = (proof.primal, &mut self.skippable) {
                skippable.take(row, look);
            }
            if let (Some(query), Some(look)) = (&mut self.query, &look) {
                query.take(row.ordinal(), look, true);
            }
            self.proof = Some(proof);
        }
    }

    /// Ends the head when the verified gap is within the tolerance or no pass is left; else takes over the exact v.
    pub fn end_verify(&mut self) -> Result<(), OutOfMemory> {
        let Some(mut proof) = self.proof.take() else {
            return Ok(());
        };
        if let (true, Some(skippable)) = (proof.primal, &mut self.skippable) {
            skippable.add_left_out(&mut proof);
        }
        let (tally, shifted) = proof.losses(|breakpoints| self.better(breakpoints));
        self.state.sums.full = tally;
        let norm = self.start_norm();
        let drafts = self.skippable.as_ref().is_some_and(|it| it.drafts);
        let found = (tally.start_loss, proof.sorted);
        match (
            &mut self.outliers,
            self.state.take_sides(norm, found, drafts),
        ) {
            (Some(outliers), Sides::Found) => {
                outliers.take_found(&mut self.alpha, &mut self.shrunk);
            }
            (Some(outliers), Sides::Anew) => {
                proof.keep_sides();
                self.best_w.fill(T::of(0.0));
                if self.state.truncated.opens() {
                    // from weights that the wrong labels have led to none of these would be found
                    self.alpha.fill(0.0);
                    proof.scale(0.0);
                    self.iterate
                        .begin_with(&proof.v, self.state.begin_anew(), true);
                }
                outliers.clear(self.state.truncated.opens());
                if let Some(skippable) = &mut self.skippable {
                    skippable.forget();
                }
            }
            _ => proof.keep_sides(),
        }
        if self.state.end_verify_primal(norm, shifted) {
            self.take_start(shifted);
        }
        if self.state.truncated.has_sorted() && !self.state.may_shift() {
            // the weights become v, which has lost rows, and without a shift nothing keeps them near where they were
            let share = self.state.best_share(proof.proved());
            self.scale_duals(share);
            proof.scale(share);
        }
        let proved = proof.proved();
        let verified = self.state.end_verify(proved, drafts);
        let balanced = |shrink: f64| proved.balance.map(|factor| factor * shrink);
        self.keep_verified(verified, balanced);
        match verified {
            Verified::Ended { shrink } => self.balance_duals(balanced(shrink)),
            Verified::EndedWithBest => self.exchange_duals(BALANCED),
            Verified::Again { shrink } => self.exchange_duals(balanced(shrink)),
            Verified::Exactly => {}
            Verified::GoesOn { .. } => {
                if let (false, Some(skippable)) = (self.state.truncated.is(), &mut self.skippable) {
                    skippable.doubt();
                }
                if self.state.truncated.has_sorted() {
                    // v has lost rows that the weights are still good for
                    self.iterate.move_centre(self.state.kappa())?;
                }
                if let Some(query) = &mut self.query {
                    query.begin_anew();
                    self.state.finds_more = true;
                }
                self.go_on_from(&mut proof.v);
            }
            Verified::Begins { .. } if self.descent.is_some() => self.go_on_from(&mut proof.v),
            Verified::Begins { kappa, at_v, .. } => self.iterate.begin_with(&proof.v, kappa, at_v),
        }
        if !self.state.runs() {
            self.end();
        }
        Ok(())
    }

    /// Lays the dual variables just verified aside, where they are the best.
    fn keep_verified(&mut self, verified: Verified, balanced: impl Fn(f64) -> [f64; 2]) {
        let lay = match verified {
            Verified::GoesOn { lay } | Verified::Begins { lay, .. } => lay,
            _ => return,
        };
        match lay {
            Some(shrink) => self.keep_best_duals(balanced(shrink)),
            // the best ones are of other rows
            None if self.state.truncated.has_sorted() => self.best_duals.fill(0.0),
            None => {}
        }
    }
}
