//! `svm_explain`: what each feature of a row adds to the decision. A feature's contribution is its
//! weight times its value, so that those of all features and the intercept sum to the decision. `kernel_contributions` has
//! those of kernel machines.

use super::kernel_contributions;
use super::ranked::top_n;
use super::{any_null, null, site};
use crate::base::errors::{shortened, Code, Failure, OrRaise};
use crate::combinations::models;
use crate::features::FeatureBuffer;
use crate::model::Model;
use crate::pg::result_set::{float8, ResultSet};
use crate::pg::select::text_datum;
use crate::pg::varlena::Varlena;
use crate::pg::{c_function, Patience};
use pgrx::pg_sys;
use pgsvm_core::memory::{OutOfMemory, Room};
use pgsvm_core::quantiles;
use std::rc::Rc;

c_function!(
    svm_explain_wrapper,
    pg_finfo_svm_explain_wrapper,
    svm_explain
);

/// One feature's part in a decision; ids as weights have them.
pub struct Contribution {
    pub feature: u64,
    pub value: f64,
    /// None of a kernel machine.
    pub weight: Option<f64>,
    pub amount: f64,
}

/// What contributions are counted from.
#[derive(Clone, Copy, PartialEq)]
pub enum Baseline {
    /// A row of zeros.
    Zero,
    /// The mean of the rows trained on.
    Mean,
}

impl Baseline {
    /// The fifth argument; functions of 0.2.0 have none.
    ///
    /// # Safety
    /// `fcinfo` is PostgreSQL's, with a text for the fifth argument if there is one.
    unsafe fn read(fcinfo: pg_sys::FunctionCallInfo, model: &Model) -> Result<Self, Failure> {
        // SAFETY: as the caller promises.
        unsafe {
            let count = (*fcinfo).nargs as usize;
            let given = (*fcinfo).args.as_slice(count).get(4);
            match given.filter(|given| !given.isnull) {
                None => Ok(Self::Zero),
                Some(given) => Self::of_word(Varlena::open(given.value).payload(), model),
            }
        }
    }

    fn of_word(word: &[u8], model: &Model) -> Result<Self, Failure> {
        match word {
            b"zero" => Ok(Self::Zero),
            b"mean" if model.features.spread.mean.is_empty() => {
                Err(models::baseline_mean(&model.name))
            }
            b"mean" => Ok(Self::Mean),
            other => Err(Failure::new(
                Code::ERRCODE_INVALID_PARAMETER_VALUE,
                format!(
                    "unknown baseline '{}'",
                    shortened(&String::from_utf8_lossy(&other[..other.len().min(1000)]))
                ),
            )
            .hint("baseline => 'zero', or 'mean' for what differs from the mean of the rows trained on")),
        }
    }

    /// A feature's value in the row to compare with.
    pub fn of(self, model: &Model, feature: u64) -> f64 {
        match self {
            Self::Zero => 0.0,
            Self::Mean => model.features.mean(feature).unwrap_or(0.0),
        }
    }

    /// The name of the row that says what is decided there.
    fn name(self) -> &'static str {
        match self {
            Self::Zero => "(intercept)",
            Self::Mean => "(mean row)",
        }
    }
}

/// `svm_explain(model, features, top_n, class, baseline) -> TABLE(class, feature, value, weight, contribution)`:
/// the largest contributions, the baseline's, and the sum of all others. Of two classes it is the
/// decision for the second that is explained, of more that for the predicted one, unless `class` names
/// another; of several quantiles the one that stands for all. No rows for a row with a NULL under nulls => 'skip'.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with four arguments or five.
unsafe fn svm_explain(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises; the values are of the declared types.
    unsafe {
        let mut rows = ResultSet::begin(fcinfo);
        if any_null(fcinfo, 2) {
            return null(fcinfo);
        }
        // with 0 the baseline and the sum of all
        let top_n = top_n(fcinfo, 0);
        if let Some(explanation) = Explanation::of_call(fcinfo).or_raise() {
            explanation.put(top_n, &mut rows);
        }
        null(fcinfo)
    }
}

/// What a decision is made of.
struct Explanation {
    model: Rc<Model>,
    class: usize,
    /// Of several quantiles, the place of the one whose prediction is explained.
    quantile: Option<usize>,
    baseline: Baseline,
    /// The largest first, of equals the first feature.
    contributions: Vec<Contribution>,
    /// What is decided at the baseline.
    base: f64,
    /// Of a kernel machine, what no feature makes alone.
    interactions: Option<f64>,
}

impl Explanation {
    /// What a call asks about; None for a row with a NULL under nulls => 'skip'.
    ///
    /// # Safety
    /// As for `svm_explain`; model and features are not NULL.
    unsafe fn of_call(fcinfo: pg_sys::FunctionCallInfo) -> Result<Option<Self>, Failure> {
        // SAFETY: as the caller promises; the values are of the declared types.
        unsafe {
            let named = !(*fcinfo).args.as_slice(4)[3].isnull;
            let (used, features) = site::current(fcinfo);
            let model = used.model.clone();
            let baseline = Baseline::read(fcinfo, &model)?;
            let class = match named {
                true => Some(used.class.read(&model, fcinfo, 3)?),
                false => None,
            };
            let Some(decisions) = used.decisions(features)? else {
                return Ok(None);
            };
            let mut quantile = None;
            let class = match (class, model.heads.len()) {
                // predictions are sorted: which head says a quantile depends on the row
                (named, 2..) if model.regresses => {
                    let place = named.unwrap_or_else(|| quantiles::middle(&model.quantiles));
                    quantile = Some(place);
                    model.head_in_order(place, decisions)
                }
                (None, 1) => 1,
                (Some(_), 1) if model.regresses => 1,
                (named, _) => named.unwrap_or_else(|| model.class(decisions)),
            };
            let Some(row) = used.argument.row(&model, features)? else {
                return Ok(None);
            };
            let explained = Self::of(model, class, row, baseline)?;
            Ok(Some(Self {
                quantile,
                ..explained
            }))
        }
    }

    fn of(
        model: Rc<Model>,
        class: usize,
        row: &FeatureBuffer,
        baseline: Baseline,
    ) -> Result<Self, Failure> {
        let (mut contributions, base, interactions) = match &model.kernel {
            Some(machine) => {
                let found =
                    kernel_contributions::contributions((&model, machine), class, row, baseline)?;
                (found.contributions, found.base, Some(found.interactions))
            }
            None => {
                let side = model.head_of_class(class);
                let (contributions, base) = contributions(&model, side, row, baseline)?;
                (contributions, base, None)
            }
        };
        let mut patience = Patience::default();
        contributions.sort_unstable_by(|a, b| {
            patience.tick();
            let by_amount = b.amount.abs().total_cmp(&a.amount.abs());
            by_amount.then(a.feature.cmp(&b.feature))
        });
        Ok(Self {
            model,
            class,
            quantile: None,
            baseline,
            contributions,
            base,
            interactions,
        })
    }

    /// The rows of the result.
    ///
    /// # Safety
    /// `rows` are those of a call of `svm_explain`.
    unsafe fn put(&self, top_n: usize, rows: &mut ResultSet) {
        let quantile = self.quantile.map(|at| self.model.quantiles[at].to_string());
        let class = match self.model.regresses {
            true => quantile.as_deref(),
            false => Some(self.model.labels[self.class].as_str()),
        };
        let mut put = |feature: &str, value: Option<f64>, weight: Option<f64>, amount: f64| {
            let row = || {
                [
                    class.map(text_datum),
                    Some(text_datum(feature)),
                    value.map(float8),
                    weight.map(float8),
                    Some(float8(amount)),
                ]
            };
            // SAFETY: of the types that the function is declared to return.
            unsafe { rows.put(row) };
        };
        let top_n = top_n.min(self.contributions.len());
        let (listed, others) = self.contributions.split_at(top_n);
        for one in listed {
            let name = self.model.features.feature_name(one.feature);
            put(&name, Some(one.value), one.weight, one.amount);
        }
        let weight = self.model.kernel.is_none().then_some(self.base);
        let name = match &self.model.kernel {
            Some(_) if self.baseline == Baseline::Zero => "(row of zeros)",
            _ => self.baseline.name(),
        };
        put(name, Some(1.0), weight, self.base);
        if !others.is_empty() {
            let sum = others.iter().map(|one| one.amount).sum();
            put("(all others)", None, None, sum);
        }
        if let Some(interactions) = self.interactions {
            put("(interactions)", None, None, interactions);
        }
    }
}

/// The contributions to the decision of a head, with that sign, that are not zero, and what is decided where there are none.
fn contributions(
    model: &Model,
    (head, sign): (usize, f64),
    row: &FeatureBuffer,
    baseline: Baseline,
) -> Result<(Vec<Contribution>, f64), Failure> {
    let mut found = FoundContributions {
        model,
        baseline,
        head,
        sign,
        contributions: Vec::new(),
        base: sign * model.heads[head].intercept,
        patience: Patience::default(),
    };
    let dense = model.dense_of(head).iter().zip(&row.dense);
    for (feature, (weight, value)) in (0..).zip(dense) {
        found.add(feature, *weight, *value)?;
    }
    found.add_sparse(row)?;
    Ok((found.contributions, found.base))
}

/// The contributions found so far to the decision of a head, with that sign.
struct FoundContributions<'a> {
    model: &'a Model,
    baseline: Baseline,
    head: usize,
    sign: f64,
    contributions: Vec<Contribution>,
    /// What those at the baseline add up to, with the intercept.
    base: f64,
    patience: Patience,
}

impl FoundContributions<'_> {
    fn add(&mut self, feature: u64, weight: f64, value: f64) -> Result<(), OutOfMemory> {
        self.patience.tick();
        let (base, weight) = (self.baseline.of(self.model, feature), self.sign * weight);
        let amount = (value - base) * weight;
        self.base += base * weight;
        if amount != 0.0 {
            self.contributions.room(1)?.push(Contribution {
                feature,
                value,
                weight: Some(weight),
                amount,
            });
        }
        Ok(())
    }

    fn add_sparse(&mut self, row: &FeatureBuffer) -> Result<(), OutOfMemory> {
        let (model, head) = (self.model, self.head);
        let id = |sparse: u32| model.dense_count as u64 + u64::from(sparse);
        let mut present = row.sparse_index.iter().zip(&row.sparse_value).peekable();
        // a feature that the row has not is away from its mean too
        let known = match self.baseline {
            Baseline::Zero => 0,
            Baseline::Mean => (model.features.spread.mean.len()).saturating_sub(model.dense_count),
        };
        let with_means = model.sparse.iter();
        for (sparse, weights) in with_means.take_while(|(id, _)| (*id as usize) < known) {
            while present.next_if(|(at, _)| **at < sparse).is_some() {}
            let value = present.next_if(|(at, _)| **at == sparse);
            let value = value.map_or(0.0, |(_, value)| f64::from(*value));
            self.add(id(sparse), weights[head], value)?;
        }
        for (sparse, value) in present.filter(|(at, _)| **at as usize >= known) {
            if let Some(weights) = model.sparse.of_heads(*sparse) {
                self.add(id(*sparse), weights[head], f64::from(*value))?;
            }
        }
        Ok(())
    }
}
