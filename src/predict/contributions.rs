//! `svm_explain`: what each feature of a row adds to the decision. A feature's contribution is its
//! weight times its value, so that those of all features and the intercept sum to the decision.

use super::ranked::top_n;
use super::{any_null, null, site};
use crate::base::errors::{Code, Failure, OrRaise};
use crate::features::FeatureBuffer;
use crate::model::Model;
use crate::pg::result_set::{float8, ResultSet};
use crate::pg::select::text_datum;
use crate::pg::{c_function, Patience};
use pgrx::pg_sys;

c_function!(
    svm_explain_wrapper,
    pg_finfo_svm_explain_wrapper,
    svm_explain
);

/// One feature's part in a decision; ids as weights have them.
struct Contribution {
    feature: u64,
    value: f64,
    weight: f64,
}

impl Contribution {
    fn amount(&self) -> f64 {
        self.value * self.weight
    }
}

/// `svm_explain(model, features, top_n, class) -> TABLE(class, feature, value, weight, contribution)`:
/// the largest contributions, the intercept's, and the sum of all others. Of two classes it is the
/// decision for the second that is explained, of more that for the predicted one, unless `class` names
/// another. No rows for a row with a NULL under nulls => 'skip'.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with four arguments.
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
        let mut contributions = contributions(&model, class, row).or_raise();
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
        let (head, sign) = model.head_of_class(class);
        let intercept = sign * model.heads[head].intercept;
        put("(intercept)", Some(1.0), Some(intercept), intercept);
        if !others.is_empty() {
            let sum = others.iter().map(Contribution::amount).sum();
            put("(all others)", None, None, sum);
        }
        null(fcinfo)
    }
}

/// The contributions to the decision for a class that are not zero.
fn contributions(
    model: &Model,
    class: usize,
    row: &FeatureBuffer,
) -> Result<Vec<Contribution>, Failure> {
    let (head, sign) = model.head_of_class(class);
    let dense = model.dense_of(head).iter().zip(&row.dense);
    let dense = (0..).zip(dense.map(|(weight, value)| (*weight, *value)));
    let sparse = row.sparse_index.iter().zip(&row.sparse_value);
    let sparse = sparse.filter_map(|(id, value)| {
        let weight = model.sparse.of_heads(*id)?[head];
        let feature = model.dense_count as u64 + u64::from(*id);
        Some((feature, (weight, f64::from(*value))))
    });
    let all = || {
        let mut patience = Patience::default();
        let all = dense.clone().chain(sparse.clone());
        all.inspect(move |_| patience.tick())
    };
    let counts = |(weight, value): (f64, f64)| weight * value != 0.0;
    let mut contributions = Vec::new();
    let count = all().filter(|(_, product)| counts(*product)).count();
    contributions.try_reserve_exact(count).map_err(|_| {
        Failure::new(
            Code::ERRCODE_OUT_OF_MEMORY,
            format!("out of memory for {count} contributions"),
        )
    })?;
    let counting = all().filter(|(_, product)| counts(*product));
    contributions.extend(counting.map(|(feature, (weight, value))| Contribution {
        feature,
        value,
        weight: sign * weight,
    }));
    Ok(contributions)
}
