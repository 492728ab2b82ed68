//! `svm_explain`: what each feature of a row adds to the decision. A feature's contribution is its
//! weight times its value, so that those of all features and the intercept sum to the decision.

use super::ranked::top_n;
use super::{any_null, null, site};
use crate::base::errors::{shortened, Code, Failure, OrRaise};
use crate::features::FeatureBuffer;
use crate::model::Model;
use crate::pg::result_set::{float8, ResultSet};
use crate::pg::select::text_datum;
use crate::pg::varlena::Varlena;
use crate::pg::{c_function, Patience};
use pgrx::pg_sys;
use pgsvm_core::memory::{OutOfMemory, Room};

c_function!(
    svm_explain_wrapper,
    pg_finfo_svm_explain_wrapper,
    svm_explain
);

/// One feature's part in a decision; ids as weights have them.
struct Contribution {
    feature: u64,
    value: f64,
    /// What the value is compared with.
    base: f64,
    weight: f64,
}

impl Contribution {
    fn amount(&self) -> f64 {
        (self.value - self.base) * self.weight
    }
}

/// What contributions are counted from.
#[derive(Clone, Copy, PartialEq)]
enum Baseline {
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
        let given = unsafe {
            let count = (*fcinfo).nargs as usize;
            let given = (*fcinfo).args.as_slice(count).get(4);
            match given.filter(|given| !given.isnull) {
                None => return Ok(Self::Zero),
                Some(given) => Varlena::open(given.value),
            }
        };
        let hint =
            "baseline => 'zero', or 'mean' for what differs from the mean of the rows trained on";
        match given.payload() {
            b"zero" => Ok(Self::Zero),
            b"mean" if model.features.spread.mean.is_empty() => Err(Failure::new(
                Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!(
                    "model \"{}\" does not know the means of its features",
                    model.name
                ),
            )
            .detail("Models with up to 4096 features that this version has trained do, but for those of rows of unit length.")
            .hint("Take baseline => 'zero'; a model trained before means were kept can be trained again")),
            b"mean" => Ok(Self::Mean),
            other => Err(Failure::new(
                Code::ERRCODE_INVALID_PARAMETER_VALUE,
                format!(
                    "unknown baseline '{}'",
                    shortened(&String::from_utf8_lossy(&other[..other.len().min(1000)]))
                ),
            )
            .hint(hint)),
        }
    }

    /// A feature's value in the row to compare with.
    fn of(self, model: &Model, feature: u64) -> f64 {
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
/// another. No rows for a row with a NULL under nulls => 'skip'.
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
        let top_n = top_n(fcinfo);
        let named = !(*fcinfo).args.as_slice(4)[3].isnull;
        let (used, features) = site::current(fcinfo);
        let model = used.model.clone();
        let baseline = Baseline::read(fcinfo, &model).or_raise();
        let class = match named {
            true => Some(used.class.read(&model, fcinfo, 3).or_raise()),
            false => None,
        };
        let Some(decisions) = used.decisions(features).or_raise() else {
            return null(fcinfo);
        };
        let class = class.unwrap_or_else(|| match model.heads.len() {
            1 => 1,
            _ => model.class(decisions),
        });
        let Some(row) = used.argument.row(&model, features).or_raise() else {
            return null(fcinfo);
        };
        let (mut contributions, base) = contributions(&model, class, row, baseline).or_raise();
        let mut patience = Patience::default();
        // of equals the first feature first
        contributions.sort_unstable_by(|a, b| {
            patience.tick();
            let by_amount = b.amount().abs().total_cmp(&a.amount().abs());
            by_amount.then(a.feature.cmp(&b.feature))
        });
        let (listed, others) = contributions.split_at(top_n.min(contributions.len()));
        let mut put = |feature: &str, value: Option<f64>, weight: Option<f64>, amount: f64| {
            rows.put(|| {
                [
                    Some(text_datum(&model.labels[class])),
                    Some(text_datum(feature)),
                    value.map(float8),
                    weight.map(float8),
                    Some(float8(amount)),
                ]
            });
        };
        for one in listed {
            let name = model.features.feature_name(one.feature);
            put(&name, Some(one.value), Some(one.weight), one.amount());
        }
        put(baseline.name(), Some(1.0), Some(base), base);
        if !others.is_empty() {
            let sum = others.iter().map(Contribution::amount).sum();
            put("(all others)", None, None, sum);
        }
        null(fcinfo)
    }
}

/// The contributions to the decision for a class that are not zero, and what is decided where there are none.
fn contributions(
    model: &Model,
    class: usize,
    row: &FeatureBuffer,
    baseline: Baseline,
) -> Result<(Vec<Contribution>, f64), Failure> {
    model.check_linear("svm_explain")?;
    let (head, sign) = model.head_of_class(class);
    let mut base = sign * model.heads[head].intercept;
    let mut found = Vec::new();
    let mut patience = Patience::default();
    let mut add = |feature: u64, weight: f64, value: f64| {
        patience.tick();
        let one = Contribution {
            feature,
            value,
            base: baseline.of(model, feature),
            weight: sign * weight,
        };
        base += one.base * one.weight;
        if one.amount() == 0.0 {
            return Ok(());
        }
        found.room(1)?.push(one);
        Ok::<_, OutOfMemory>(())
    };
    let dense = model.dense_of(head).iter().zip(&row.dense);
    for (feature, (weight, value)) in (0..).zip(dense) {
        add(feature, *weight, *value)?;
    }
    let id = |sparse: u32| model.dense_count as u64 + u64::from(sparse);
    let mut present = row.sparse_index.iter().zip(&row.sparse_value).peekable();
    // a feature that the row has not is away from its mean too
    let known = match baseline {
        Baseline::Zero => 0,
        Baseline::Mean => (model.features.spread.mean.len()).saturating_sub(model.dense_count),
    };
    for (sparse, weights) in model
        .sparse
        .iter()
        .take_while(|(id, _)| (*id as usize) < known)
    {
        while present.next_if(|(at, _)| **at < sparse).is_some() {}
        let value = present.next_if(|(at, _)| **at == sparse);
        add(
            id(sparse),
            weights[head],
            value.map_or(0.0, |(_, value)| f64::from(*value)),
        )?;
    }
    for (sparse, value) in present.filter(|(at, _)| **at as usize >= known) {
        if let Some(weights) = model.sparse.of_heads(*sparse) {
            add(id(*sparse), weights[head], f64::from(*value))?;
        }
    }
    Ok((found, base))
}
