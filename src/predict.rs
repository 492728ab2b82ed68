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
use crate::pg::varlena::{self, Varlena};
use argument::Argument;
use pgrx::{pg_sys, PgMemoryContexts};
use std::rc::Rc;

/// What a place in a query that calls one of the functions remembers from row to row: the models it
/// was asked for, the last one first.
struct CallSite {
    uses: Vec<Use>,
    /// The model argument is the same in every call: a constant or a parameter.
    constant_name: bool,
}

/// One model as a call site uses it.
struct Use {
    /// The model argument that all this belongs to, as bytes.
    name: Vec<u8>,
    freshness: Freshness,
    model: Rc<Model>,
    argument: Argument,
    /// The labels as text values that live as long as the call site; made when first needed.
    labels: Option<[pg_sys::Datum; 2]>,
}

/// Models that one call site keeps at hand, for queries whose model argument differs from row to row.
const USES_KEPT: usize = 8;

/// The decision of the model that the first argument names about the features in the second, and
/// the use of it. None for a row with a NULL under nulls => 'skip'.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with two arguments that are not NULL.
#[inline]
unsafe fn decision<'a>(fcinfo: pg_sys::FunctionCallInfo) -> (Option<f64>, &'a mut Use) {
    // SAFETY: as the caller promises; a call site lives in memory that outlives the call.
    unsafe {
        let arguments = (*fcinfo).args.as_slice(2);
        let used = current_use(fcinfo, arguments[0].value);
        let decision = used.argument.decision(&used.model, arguments[1].value);
        match decision {
            Ok(decision) => (decision, used),
            Err(failure) => failure.raise(),
        }
    }
}

/// The decision, and the use of the model, when the model is the one of the call before and the
/// features are a plain array: what nearly every row of a scan is. Neither panics nor raises an
/// error; None leaves the call to `decision`.
///
/// # Safety
/// As for `decision`.
#[inline(always)]
unsafe fn decision_at_once<'a>(fcinfo: pg_sys::FunctionCallInfo) -> Option<(f64, &'a mut Use)> {
    // SAFETY: as for `decision`; `fn_extra` is set by `current_use` alone.
    unsafe {
        let site = (*(*fcinfo).flinfo).fn_extra.cast::<CallSite>().as_mut()?;
        let arguments = (*fcinfo).args.as_ptr();
        let used = site.uses.first_mut()?;
        let same = site.constant_name
            || varlena::plain_payload((*arguments).value)? == used.name.as_slice();
        if !same || !used.freshness.holds_now() {
            return None;
        }
        let datum = (*arguments.add(1)).value;
        let decision = used.argument.plain_array_decision(&used.model, datum)?;
        Some((decision, used))
    }
}

/// The use of the named model at this call site, made or renewed where it does not hold any more.
///
/// # Safety
/// As for `decision`; `name` is the first argument.
#[inline]
unsafe fn current_use<'a>(fcinfo: pg_sys::FunctionCallInfo, name: pg_sys::Datum) -> &'a mut Use {
    // SAFETY: only this function sets `fn_extra`, and to a call site, which lives as long as the
    // function's memory context.
    unsafe {
        let name = Varlena::open(name);
        let info = (*fcinfo).flinfo;
        if (*info).fn_extra.is_null() {
            let site = CallSite {
                uses: Vec::new(),
                constant_name: pg_sys::get_fn_expr_arg_stable(info, 0),
            };
            let site = PgMemoryContexts::For((*info).fn_mcxt).leak_and_drop_on_delete(site);
            (*info).fn_extra = site.cast();
        }
        let site = &mut *(*info).fn_extra.cast::<CallSite>();
        let fresh = site
            .uses
            .first_mut()
            .is_some_and(|first| first.name == name.payload() && first.freshness.holds());
        if !fresh {
            renew(fcinfo, name.payload(), &mut site.uses);
        }
        &mut site.uses[0]
    }
}

/// Brings the use of the named model to the front, looked up again where it does not hold any more.
///
/// # Safety
/// As for `current_use`.
#[cold]
unsafe fn renew(fcinfo: pg_sys::FunctionCallInfo, name: &[u8], uses: &mut Vec<Use>) {
    let known = uses.iter().position(|known| known.name == name);
    if let Some(at) = known {
        uses[..=at].rotate_right(1);
        if uses[0].freshness.holds() {
            return;
        }
    }
    let freshness = Freshness::now(known.map(|_| uses[0].freshness));
    // SAFETY: as the caller promises.
    let (schema, info) = unsafe { (statement::schema_of_call(fcinfo), (*fcinfo).flinfo) };
    let model = model::find(schema, &String::from_utf8_lossy(name)).or_raise();
    if known.is_some() && Rc::ptr_eq(&uses[0].model, &model) {
        uses[0].freshness = freshness;
        return;
    }
    // SAFETY: the function's memory context outlives the call site.
    let argument = unsafe {
        let type_id = pg_sys::get_fn_expr_argtype(info, 1);
        Argument::new(&model, type_id, (*info).fn_mcxt).or_raise()
    };
    let renewed = Use {
        name: name.to_vec(),
        freshness,
        model,
        argument,
        labels: None,
    };
    match known {
        Some(_) => uses[0] = renewed,
        None => {
            uses.truncate(USES_KEPT - 1);
            uses.insert(0, renewed);
        }
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
    svm_decision,
    first svm_decision_at_once
);
c_function!(
    svm_predict_wrapper,
    pg_finfo_svm_predict_wrapper,
    svm_predict,
    first svm_predict_at_once
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

/// # Safety
/// As for `decision`.
#[inline(always)]
unsafe fn svm_decision_at_once(fcinfo: pg_sys::FunctionCallInfo) -> Option<pg_sys::Datum> {
    // SAFETY: as the caller promises.
    unsafe { decision_at_once(fcinfo) }.map(|(decision, _)| float8(decision))
}

/// `svm_predict(model, features) -> float8`: the label, where labels are numbers or booleans.
///
/// # Safety
/// As for `decision`.
unsafe fn svm_predict(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let (decision, used) = decision(fcinfo);
        let Some(numbers) = used.model.numbers else {
            label_is_no_number(&used.model).raise()
        };
        match decision {
            Some(decision) => float8(numbers[model::side(decision)]),
            None => null(fcinfo),
        }
    }
}

/// # Safety
/// As for `decision`.
#[inline(always)]
unsafe fn svm_predict_at_once(fcinfo: pg_sys::FunctionCallInfo) -> Option<pg_sys::Datum> {
    // SAFETY: as the caller promises.
    let (decision, used) = unsafe { decision_at_once(fcinfo) }?;
    let [negative, positive] = used.model.numbers?;
    Some(float8([negative, positive][model::side(decision)]))
}

/// `svm_classify(model, features) -> text`: the label as text.
///
/// # Safety
/// As for `decision`.
unsafe fn svm_classify(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises; the labels live as long as the call site.
    unsafe {
        let (decision, used) = decision(fcinfo);
        let Some(decision) = decision else {
            return null(fcinfo);
        };
        let labels = used.labels.get_or_insert_with(|| {
            PgMemoryContexts::For((*(*fcinfo).flinfo).fn_mcxt)
                .switch_to(|_| used.model.labels.each_ref().map(|label| text_datum(label)))
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
