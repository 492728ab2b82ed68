//! `svm_decision`, `svm_predict` and `svm_classify`: one row in, one answer out. Called for each row,
//! in any backend or parallel worker, so a call that finds everything as the one before left it makes
//! no look-up, no allocation and no guarded call into the server.
//!
//! What is learned once hangs on the call site (`fn_extra`): the model, and how its features come out
//! of the argument.

mod argument;

use crate::errors::{Code, Failure, OrRaise};
use crate::model::{self, Freshness, Model};
use crate::pg::c_function;
use crate::pg::select::text_datum;
use crate::pg::statement;
use crate::pg::varlena::Varlena;
use argument::Argument;
use pgrx::{pg_sys, PgMemoryContexts};
use std::rc::Rc;

/// What a place in a query that calls one of the functions remembers from row to row.
struct CallSite {
    /// The model argument that all this belongs to, as bytes.
    name: Vec<u8>,
    freshness: Freshness,
    model: Rc<Model>,
    argument: Argument,
    /// The labels as text values that live as long as the call site; made when first needed.
    labels: Option<[pg_sys::Datum; 2]>,
}

/// The decision of the model that the first argument names about the features in the second, and the
/// call site. None for a row with a NULL under nulls => 'skip'.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with two arguments that are not NULL.
#[inline]
unsafe fn decision<'a>(fcinfo: pg_sys::FunctionCallInfo) -> (Option<f64>, &'a mut CallSite) {
    // SAFETY: as the caller promises; a call site lives in memory that outlives the call.
    unsafe {
        let arguments = (*fcinfo).args.as_slice(2);
        let site = call_site(fcinfo, arguments[0].value);
        let decision = site.argument.decision(&site.model, arguments[1].value);
        match decision {
            Ok(decision) => (decision, site),
            Err(failure) => failure.raise(),
        }
    }
}

/// The call site, made or renewed where it does not belong to this model and statement.
///
/// # Safety
/// As for `decision`; `name` is the first argument.
#[inline]
unsafe fn call_site<'a>(fcinfo: pg_sys::FunctionCallInfo, name: pg_sys::Datum) -> &'a mut CallSite {
    // SAFETY: only this function sets `fn_extra`, and to a call site.
    unsafe {
        let name = Varlena::open(name);
        let mut known = (*(*fcinfo).flinfo).fn_extra.cast::<CallSite>().as_mut();
        let fresh = known
            .as_mut()
            .is_some_and(|site| site.name == name.payload() && site.freshness.holds());
        match known {
            Some(site) if fresh => site,
            known => renew(fcinfo, name.payload(), known),
        }
    }
}

/// # Safety
/// As for `call_site`.
#[cold]
unsafe fn renew<'a>(
    fcinfo: pg_sys::FunctionCallInfo,
    name: &[u8],
    known: Option<&'a mut CallSite>,
) -> &'a mut CallSite {
    // SAFETY: as the caller promises.
    let (schema, info) = unsafe { (statement::schema_of_call(fcinfo), (*fcinfo).flinfo) };
    let earlier = known
        .as_ref()
        .filter(|site| site.name == name)
        .map(|site| site.freshness);
    let freshness = Freshness::now(earlier);
    let model = model::find(schema, &String::from_utf8_lossy(name)).or_raise();
    if let Some(site) = known {
        if site.name == name && Rc::ptr_eq(&site.model, &model) {
            site.freshness = freshness;
            return site;
        }
    }
    // SAFETY: the function's memory context outlives the call site, which is dropped with it; an
    // earlier call site stays until then too, as values handed out may point to its labels.
    unsafe {
        let type_id = pg_sys::get_fn_expr_argtype(info, 1);
        let site = CallSite {
            name: name.to_vec(),
            freshness,
            argument: Argument::new(&model, type_id, (*info).fn_mcxt).or_raise(),
            model,
            labels: None,
        };
        let site = PgMemoryContexts::For((*info).fn_mcxt).leak_and_drop_on_delete(site);
        (*info).fn_extra = site.cast();
        &mut *site
    }
}

/// # Safety
/// `fcinfo` is PostgreSQL's.
#[inline]
unsafe fn null(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe { (*fcinfo).isnull = true };
    pg_sys::Datum::from(0)
}

fn float8(value: f64) -> pg_sys::Datum {
    pg_sys::Datum::from(value.to_bits())
}

c_function!(
    svm_decision_wrapper,
    pg_finfo_svm_decision_wrapper,
    svm_decision
);
c_function!(
    svm_predict_wrapper,
    pg_finfo_svm_predict_wrapper,
    svm_predict
);
c_function!(
    svm_classify_wrapper,
    pg_finfo_svm_classify_wrapper,
    svm_classify
);

/// `svm_decision(model, features) -> float8`: weights times features plus intercept.
///
/// # Safety
/// As for `decision`.
unsafe fn svm_decision(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        match decision(fcinfo).0 {
            Some(decision) => float8(decision),
            None => null(fcinfo),
        }
    }
}

/// `svm_predict(model, features) -> float8`: the label, where labels are numbers or booleans.
///
/// # Safety
/// As for `decision`.
unsafe fn svm_predict(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let (decision, site) = decision(fcinfo);
        let Some(numbers) = site.model.numbers else {
            label_is_no_number(&site.model).raise()
        };
        match decision {
            Some(decision) => float8(numbers[model::side(decision)]),
            None => null(fcinfo),
        }
    }
}

/// `svm_classify(model, features) -> text`: the label as text.
///
/// # Safety
/// As for `decision`.
unsafe fn svm_classify(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises; the labels live as long as the call site.
    unsafe {
        let (decision, site) = decision(fcinfo);
        let Some(decision) = decision else {
            return null(fcinfo);
        };
        let labels = site.labels.get_or_insert_with(|| {
            PgMemoryContexts::For((*(*fcinfo).flinfo).fn_mcxt)
                .switch_to(|_| site.model.labels.each_ref().map(|label| text_datum(label)))
        });
        labels[model::side(decision)]
    }
}

fn label_is_no_number(model: &Model) -> Failure {
    let name = model.base_name();
    Failure::new(
        Code::ERRCODE_DATATYPE_MISMATCH,
        format!(
            "model \"{name}\" predicts labels of type {}, not numbers",
            model.label_type
        ),
    )
    .hint(format!(
        "svm_classify returns the label as text: SELECT svm_classify('{}', …).",
        name.replace('\'', "''")
    ))
}
