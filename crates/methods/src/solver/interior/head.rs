//! A head that is solved by an interior point, from pass to pass.

use crate::base::memory::{copied, filled, gathered, OutOfMemory, Room};
use crate::base::zeros::zeros;
use crate::linalg::lower::Lower;
use crate::linalg::one_plus::OnePlus;
use crate::objective::central_path::{
    first_slack, length_within, products_of_row, MIDDLE, NEAR, STUCK, STUCK_STEPS,
};
use crate::objective::minimized::{balanced, Objective};
use crate::objective::report::relative_gap;
use crate::simd::Level;
use crate::solver::bundle::head::{Due, FoundByPass, GivenHead};
use crate::solver::fixed_weights::{product, Numbers};
use crate::solver::interior::pass::{
    copied_steps, Begin, Direction, Evaluated, InteriorPass, InteriorSums, Near, Side, Taken, Task,
    Tried,
};
use crate::solver::sums::tally::Tally;

/// The mu that are tried, as parts of the mean product.
const TRIED: [f64; 8] = [1e-4, 1e-3, 5e-3, 0.02, 0.06, 0.15, 0.35, 0.7];

/// How it goes.
pub struct InteriorHead {
    /// A free intercept is nu, and no column of the rows; one in the norm is the weight of a constant.
    objective: Objective,
    tolerance: f64,
    max_passes: u32,
    begin: Begin,
    /// Where it begins near weights that are known.
    near: Option<Near>,
    /// w at the beginning, and with nu behind it now.
    first: Vec<f64>,
    w: Vec<f64>,
    steps: Vec<Taken>,
    stage: Stage,
    eta: f64,
    /// Rows that take part.
    rows: f64,
    passes: u32,
    short: u32,
    /// The point of the least gap so far.
    best: Option<Known>,
}

/// A point, and what is known of it.
struct Known {
    w: Vec<f64>,
    gap: f64,
    found: FoundByPass,
}

enum Stage {
    Losses,
    Sides,
    Slopes,
    Evaluate,
    Factoring(Box<System>),
    Try(Box<Direction>, Vec<f64>),
    Ended,
}

/// The system of a step.
struct System {
    factor: OnePlus,
    right: [Numbers; 3],
    balance: [f64; 3],
    /// sum y a
    lack: f64,
}

impl InteriorHead {
    /// To be solved; with such an intercept as `given` has.
    pub fn new(given: GivenHead) -> Result<Self, OutOfMemory> {
        let GivenHead {
            objective,
            tolerance,
            max_passes,
            length,
            ..
        } = given;
        Ok(Self {
            objective: match objective.free {
                true => Objective {
                    intercept: 0.0,
                    ..objective
                },
                false => objective,
            },
            tolerance,
            max_passes,
            begin: Begin {
                shares: [0.0; 2],
                slack: 0.0,
                mean_weight: 1.0,
            },
            near: None,
            first: zeros(length)?,
            w: zeros(length)?,
            steps: Vec::new(),
            stage: Stage::Sides,
            eta: f64::INFINITY,
            rows: 0.0,
            passes: 0,
            short: 0,
            best: None,
        })
    }

    /// Has it begin near these weights, the intercept last; to be called before its first pass.
    pub fn begin_near(&mut self, mut weights: Vec<f64>) {
        let has_intercept = self.objective.free || self.objective.intercept != 0.0;
        if let Some(intercept) = weights.last_mut().filter(|_| !has_intercept) {
            *intercept = 0.0;
        }
        self.near = Some(Near {
            w: Numbers(weights),
            mu: 0.0,
        });
        self.stage = Stage::Losses;
    }

    /// What is due.
    pub fn due(&self) -> Due {
        match self.stage {
            Stage::Losses | Stage::Sides | Stage::Slopes | Stage::Evaluate | Stage::Try(..) => {
                Due::Pass
            }
            Stage::Factoring(_) => Due::Solving,
            Stage::Ended => Due::Ended,
        }
    }

    /// The weights, nu last.
    pub fn w(&self) -> &[f64] {
        &self.w
    }

    /// Goes on with what is to be computed.
    pub fn compute(&mut self) -> Result<(), OutOfMemory> {
        let Stage::Factoring(system) = &mut self.stage else {
            return Ok(());
        };
        if system.factor.step(Level::best()) {
            let direction = system.direction(self.objective.free)?;
            let mus = TRIED.map(|part| part * self.eta / self.products());
            self.stage = Stage::Try(Box::new(direction), gathered(mus)?);
        }
        Ok(())
    }

    /// What the pass that comes is to sum up.
    pub fn pass(&self) -> Result<InteriorPass, OutOfMemory> {
        Ok(InteriorPass {
            objective: self.objective.copied()?,
            begin: self.begin,
            near: self.near.as_ref().map(Near::copied).transpose()?,
            w: Numbers::of(&self.first)?,
            steps: copied_steps(&self.steps)?,
            task: match &self.stage {
                Stage::Losses => Task::Losses,
                Stage::Sides => Task::Sides,
                Stage::Slopes => Task::Slopes,
                Stage::Try(direction, mus) => Task::Try {
                    direction: direction.copied()?,
                    mus: copied(mus)?,
                },
                Stage::Evaluate | Stage::Factoring(_) | Stage::Ended => Task::Evaluate,
            },
        })
    }

    /// Takes what that pass has summed up over all rows; what is known now, where it has looked at a point.
    pub fn take(&mut self, sums: InteriorSums) -> Result<Option<FoundByPass>, OutOfMemory> {
        self.passes += 1;
        match (std::mem::replace(&mut self.stage, Stage::Ended), sums) {
            (Stage::Losses, InteriorSums::Losses([losses, at_0], rows)) => {
                self.decide_near(losses, at_0, rows as f64);
                self.stage = Stage::Sides;
                Ok(None)
            }
            (Stage::Sides, InteriorSums::Sides(sides)) => Ok(self.begin(&sides)),
            (Stage::Slopes, InteriorSums::Slopes(sum, rows)) => {
                self.rows = rows as f64;
                self.begin.slack = first_slack(sum, self.rows);
                self.stage = Stage::Evaluate;
                Ok(None)
            }
            (Stage::Evaluate, InteriorSums::Evaluated(sums)) => self.look(*sums).map(Some),
            (Stage::Try(direction, mus), InteriorSums::Tried(tried)) => {
                self.go(&direction, &mus, &tried)?;
                self.stage = Stage::Evaluate;
                Ok(None)
            }
            (stage, _) => {
                self.stage = stage;
                Ok(None)
            }
        }
    }

    /// How near it begins; not at all where weights are no better than none.
    fn decide_near(&mut self, losses: f64, at_0: f64, rows: f64) {
        self.near = self.near.take().and_then(|near| {
            let primal = self.half_square(&near.w.0) + losses;
            let mu = NEAR * primal / (products_of_row(self.objective.loss) * rows);
            (primal < at_0).then_some(Near { mu, ..near })
        });
    }

    /// Half of what weights have in the primal.
    fn half_square(&self, w: &[f64]) -> f64 {
        let counted = &w[..w.len() - usize::from(self.objective.free)];
        0.5 * product(counted, counted)
    }

    /// Products that are to become mu.
    fn products(&self) -> f64 {
        products_of_row(self.objective.loss) * self.rows
    }

    /// What sums of a over either side are multiplied by for sum y a = 0.
    fn shares(&self, sides: &[Side; 2]) -> [f64; 2] {
        match self.objective.free {
            true => balanced(sides[0].duals, sides[1].duals),
            false => [1.0; 2],
        }
    }

    /// Half of C c, or near weights that are known what goes with their margins, of the heavier side as much as makes sum y a = 0. Where one side has no rows, what is best is known at once.
    fn begin(&mut self, sides: &[Side; 2]) -> Option<FoundByPass> {
        let [negative, positive] = sides;
        if self.objective.free && negative.duals.min(positive.duals) == 0.0 {
            let nu = if positive.rows > 0 { 1.0 } else { -1.0 };
            self.w.fill(0.0);
            if let Some(last) = self.w.last_mut() {
                *last = nu;
            }
            let rows = negative.rows + positive.rows;
            return Some(FoundByPass {
                primal: 0.0,
                dual: 0.0,
                tally: Tally {
                    correct: rows,
                    rows,
                    ..Tally::EMPTY
                },
                summed: false,
                arrived: true,
                gives_up: false,
            });
        }
        self.begin.shares = self.shares(sides);
        let rows = (negative.rows + positive.rows) as f64;
        self.begin.mean_weight = (negative.duals + positive.duals) / (MIDDLE * rows);
        for (side, share) in sides.iter().zip(self.begin.shares) {
            for (w, v) in self.first.iter_mut().zip(&side.v.0) {
                *w += share * v;
            }
        }
        self.w.copy_from_slice(&self.first);
        self.stage = Stage::Slopes;
        if let (Some(near), Some(last)) = (&self.near, self.w.last_mut()) {
            if self.objective.free {
                *last = near.last();
            }
            self.rows = (negative.rows + positive.rows) as f64;
            self.stage = Stage::Evaluate;
        }
        None
    }

    /// What there is to say of the point, and the system of the next step.
    fn look(&mut self, sums: Evaluated) -> Result<FoundByPass, OutOfMemory> {
        let Evaluated {
            sides,
            gram,
            right,
            balance,
            eta,
            tally,
        } = sums;
        self.eta = eta;
        let primal = self.half_square(&self.w) + self.objective.c * tally.start_loss;
        let dual = self.feasible(&sides)?;
        let gap = relative_gap(primal, dual);
        let arrived = gap <= self.tolerance;
        let stuck = self.short >= STUCK_STEPS || self.passes >= self.max_passes;
        let goes_on = primal.is_finite() && eta.is_finite() && eta > 0.0;
        let gives_up = !arrived && (stuck || !goes_on);
        let found = FoundByPass {
            primal,
            dual,
            tally,
            summed: false,
            arrived,
            gives_up,
        };
        if primal.is_finite() && self.best.as_ref().is_none_or(|best| gap < best.gap) {
            let w = copied(&self.w)?;
            self.best = Some(Known { w, gap, found });
        }
        if let Some(best) = self.best.take_if(|_| gives_up) {
            self.w = best.w;
            return Ok(FoundByPass {
                gives_up,
                ..best.found
            });
        }
        if let (false, Some(mut gram)) = (arrived || gives_up, gram) {
            let matrix = std::mem::replace(gram.sums_mut(), Lower::NONE);
            self.stage = Stage::Factoring(Box::new(System {
                factor: OnePlus::new(matrix)?,
                right,
                balance,
                lack: sides[1].duals - sides[0].duals,
            }));
        }
        Ok(found)
    }

    /// D at a scaled down on its heavier side.
    fn feasible(&self, sides: &[Side; 2]) -> Result<f64, OutOfMemory> {
        let mut v = filled(0.0, self.w.len())?;
        let mut own_terms = 0.0;
        for (side, share) in sides.iter().zip(self.shares(sides)) {
            own_terms += share * (side.linear - share * side.bent);
            for (sum, own) in v.iter_mut().zip(&side.v.0) {
                *sum += share * own;
            }
        }
        Ok((own_terms - 0.5 * product(&v, &v)).max(0.0))
    }

    /// Takes the step that leaves least of eta.
    fn go(&mut self, direction: &Direction, mus: &[f64], tried: &Tried) -> Result<(), OutOfMemory> {
        let left = |(mu, length, curve): (f64, f64, f64)| {
            let slope = self.products() * mu - self.eta;
            self.eta + length * (slope + length * curve)
        };
        let all = mus.iter().zip(&tried.least).zip(&tried.curves);
        let all = all.map(|((mu, least), curve)| (*mu, length_within(*least), *curve));
        let best = all.min_by(|one, other| left(*one).total_cmp(&left(*other)));
        let Some((mu, length, _)) = best else {
            return Ok(());
        };
        let [u, more] = &direction.u;
        let mut step = Numbers::of(&u.0)?;
        for (own, more) in step.0.iter_mut().zip(&more.0) {
            *own += mu * more;
        }
        let shift = direction.shift[0] + mu * direction.shift[1];
        for (w, own) in self.w.iter_mut().zip(&step.0) {
            *w += length * own;
        }
        if let Some(nu) = self.w.last_mut() {
            *nu += length * shift;
        }
        self.short = if length < STUCK { self.short + 1 } else { 0 };
        self.steps.room(1)?.push(Taken {
            u: step,
            shift,
            mu,
            length,
        });
        Ok(())
    }
}

impl System {
    /// u and d nu, once I + M is factored.
    fn direction(&self, intercept: bool) -> Result<Direction, OutOfMemory> {
        let solved = |at: usize| {
            let mut x = copied(&self.right[at].0)?;
            self.factor.solve(&mut x);
            Ok::<_, OutOfMemory>(x)
        };
        let [of_z, of_mu, of_y] = [solved(0)?, solved(1)?, solved(2)?];
        // y' S v, S = (D + Y H H' Y)^-1
        let by_s = |at: usize, x: &[f64]| self.balance[at] - product(&self.right[2].0, x);
        let each = by_s(2, &of_y);
        let shift = match intercept && each > 0.0 {
            true => [(by_s(0, &of_z) + self.lack) / each, by_s(1, &of_mu) / each],
            false => [0.0; 2],
        };
        let less = |mut x: Vec<f64>, shift: f64| {
            for (x, y) in x.iter_mut().zip(&of_y) {
                *x -= shift * y;
            }
            Numbers(x)
        };
        Ok(Direction {
            u: [less(of_z, shift[0]), less(of_mu, shift[1])],
            shift,
        })
    }
}
