//! What a call site remembers from row to row (`fn_extra`): the models it was asked for, and how each
//! one's features come out of the argument. For every function whose arguments start with a model's
//! name and its features; a call that finds everything as the one before left it makes no look-up, no
//! allocation and no guarded call into the server.

use super::argument::Argument;
use crate::base::errors::{Failure, OrRaise};
use crate::model::{self, side, ClassArgument, Freshness, Model};
use crate::pg::statement;
use crate::pg::varlena::{self, Varlena};
use pgrx::{pg_sys, PgMemoryContexts};
use std::rc::Rc;

/// What a place in a query that calls one of the functions remembers from row to row: the models it
/// was asked for, the last one first.
struct CallSite {
    uses: Vec<Use>,
    /// The model argument is a constant, the same in every call.
    constant_name: bool,
}

/// One model as a call site uses it.
pub struct Use {
    /// The model argument that all this belongs to, as bytes.
    name: Vec<u8>,
    freshness: Freshness,
    pub model: Rc<Model>,
    pub argument: Argument,
    pub class: ClassArgument,
    /// What the heads decided about the last row.
    decisions: Vec<f64>,
    /// The labels as the function returns them, alive as long as the call site; made when needed.
    labels: Vec<Option<pg_sys::Datum>>,
}

/// Models that one call site keeps at hand, for queries whose model argument differs from row to row.
const USES_KEPT: usize = 8;

/// The use of the model that the first argument names, and the features in the second.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with a model's name and features first, neither of them NULL.
#[inline]
pub unsafe fn current<'a>(fcinfo: pg_sys::FunctionCallInfo) -> (&'a mut Use, pg_sys::Datum) {
    // SAFETY: as the caller promises; a call site lives in memory that outlives the call.
    unsafe {
        let arguments = (*fcinfo).args.as_slice(2);
        let used = current_use(fcinfo, arguments[0].value);
        (used, arguments[1].value)
    }
}

impl Use {
    /// The decision of a model with one head. None for a row with a NULL under nulls => 'skip'.
    ///
    /// # Safety
    /// `features` came with this use from `current`.
    #[inline]
    pub unsafe fn decision(&mut self, features: pg_sys::Datum) -> Result<Option<f64>, Failure> {
        // SAFETY: as the caller promises.
        unsafe { self.argument.decision(&self.model, features) }
    }

    /// The decisions of all heads. None for a row with a NULL under nulls => 'skip'.
    ///
    /// # Safety
    /// As for `decision`.
    pub unsafe fn decisions(&mut self, features: pg_sys::Datum) -> Result<Option<&[f64]>, Failure> {
        let decisions = &mut self.decisions;
        // SAFETY: as the caller promises.
        let answered = unsafe { self.argument.decisions(&self.model, features, decisions) }?;
        Ok(answered.then_some(decisions))
    }

    /// The class that the model predicts. None for a row with a NULL under nulls => 'skip'.
    ///
    /// # Safety
    /// As for `decision`.
    pub unsafe fn predicted(&mut self, features: pg_sys::Datum) -> Result<Option<usize>, Failure> {
        let model = Rc::clone(&self.model);
        // SAFETY: as the caller promises.
        unsafe {
            Ok(match model.heads.len() {
                1 => self.decision(features)?.map(side),
                _ => self.decisions(features)?.map(|all| model.class(all)),
            })
        }
    }

    /// A label as the function returns it, which `make` writes when it is first needed; it lives in
    /// `context`.
    pub fn label(
        &mut self,
        class: usize,
        context: pg_sys::MemoryContext,
        make: impl FnOnce(&str) -> pg_sys::Datum,
    ) -> pg_sys::Datum {
        let labels = &self.model.labels;
        self.labels.resize(labels.len(), None);
        *self.labels[class].get_or_insert_with(|| {
            // SAFETY: the context outlives the call site.
            unsafe { PgMemoryContexts::For(context).switch_to(|_| make(&labels[class])) }
        })
    }
}

/// The decision, and the use of the model, when the model is the one of the call before and the
/// features are a plain array: what nearly every row of a scan is. Neither panics nor raises an
/// error; None leaves the call to `current`.
///
/// # Safety
/// As for `current`.
#[inline(always)]
pub unsafe fn decision_at_once<'a>(fcinfo: pg_sys::FunctionCallInfo) -> Option<(f64, &'a mut Use)> {
    // SAFETY: as for `current`; `fn_extra` is set by `current_use` alone.
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
/// As for `current`; `name` is the first argument.
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
                constant_name: statement::argument_is_constant(info, 0),
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
        class: ClassArgument::default(),
        decisions: Vec::new(),
        labels: Vec::new(),
    };
    match known {
        Some(_) => uses[0] = renewed,
        None => {
            uses.truncate(USES_KEPT - 1);
            uses.insert(0, renewed);
        }
    }
}
