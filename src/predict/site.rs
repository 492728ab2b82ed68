//! What a call site remembers from row to row (`fn_extra`): the models it was asked for, and how each
//! one's features come out of the argument. For every function whose arguments start with a model's
//! name and its features; a call that finds everything as the one before left it makes no look-up, no
//! allocation and no guarded call into the server.

use super::argument::RowArgument;
use super::complaints::Called;
use crate::base::errors::{Failure, OrRaise};
use crate::model::{self, side, ClassArgument, Freshness, Model};
use crate::pg::statement;
use crate::pg::varlena::{self, Varlena};
use pgrx::{pg_sys, PgMemoryContexts};
use std::collections::HashMap;
use std::rc::{Rc, Weak};

/// What a place in a query that calls one of the functions remembers from row to row.
struct CallSite {
    /// Of the model that it was asked for last.
    last: Option<Use>,
    /// Of others, by the model argument.
    others: HashMap<Box<[u8]>, Parked>,
    /// Bytes that `others` take, about.
    bytes: usize,
    /// The model argument is a constant, the same in every call.
    constant_name: bool,
}

/// One model as a call site uses it.
pub struct Use {
    /// The model argument that all this belongs to, as bytes.
    name: Box<[u8]>,
    freshness: Freshness,
    pub model: Rc<Model>,
    pub argument: RowArgument,
    pub class: ClassArgument,
    /// What the heads decided about the last row.
    decisions: Vec<f64>,
    labels: LabelData,
}

/// The labels as the function returns them; made when needed.
struct LabelData {
    values: Vec<Option<pg_sys::Datum>>,
    /// Holds them, below the site's own.
    context: Option<pg_sys::MemoryContext>,
}

/// A use of a model that others came after. The model itself may be gone: what models take together is limited where they
/// are kept, and no site holds more than one beside that.
struct Parked {
    used: Unused,
    model: Weak<Model>,
    bytes: usize,
}

/// A use without its model.
struct Unused {
    freshness: Freshness,
    argument: RowArgument,
    class: ClassArgument,
    decisions: Vec<f64>,
    labels: LabelData,
}

/// Bytes that a call site's uses may take together, models aside, for queries whose model argument differs from row to row.
const PARKED_BYTES: usize = 16 << 20;

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
    fn new(name: &[u8], freshness: Freshness, model: Rc<Model>, argument: RowArgument) -> Self {
        Self {
            name: name.into(),
            freshness,
            model,
            argument,
            class: ClassArgument::default(),
            decisions: Vec::new(),
            labels: LabelData {
                values: Vec::new(),
                context: None,
            },
        }
    }

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

    /// The number that a regression predicts. None for a row with a NULL under nulls => 'skip'.
    ///
    /// # Safety
    /// As for `decision`.
    pub unsafe fn number(&mut self, features: pg_sys::Datum) -> Result<Option<f64>, Failure> {
        let model = Rc::clone(&self.model);
        // SAFETY: as the caller promises.
        unsafe {
            match model.heads.len() {
                1 => self.decision(features),
                _ => Ok(self.decisions(features)?.map(|all| model.number(all))),
            }
        }
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

    /// A label as the function returns it, which `make` writes when it is first needed; it lives as long as this use and
    /// the call site, whose memory `context` is.
    pub fn label(
        &mut self,
        class: usize,
        context: pg_sys::MemoryContext,
        make: impl FnOnce(&str) -> pg_sys::Datum,
    ) -> pg_sys::Datum {
        let labels = &self.model.labels;
        self.labels.values.resize(labels.len(), None);
        let own = *self.labels.context.get_or_insert_with(|| below(context));
        *self.labels.values[class].get_or_insert_with(|| {
            // SAFETY: the context lives as long as the labels.
            unsafe { PgMemoryContexts::For(own).switch_to(|_| make(&labels[class])) }
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
        let used = site.last.as_mut()?;
        let same = site.constant_name || varlena::plain_payload((*arguments).value)? == &*used.name;
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
                last: None,
                others: HashMap::new(),
                bytes: 0,
                constant_name: statement::argument_is_constant(info, 0),
            };
            let site = PgMemoryContexts::For((*info).fn_mcxt).leak_and_drop_on_delete(site);
            (*info).fn_extra = site.cast();
        }
        let site = &mut *(*info).fn_extra.cast::<CallSite>();
        let fresh = site
            .last
            .as_mut()
            .is_some_and(|last| *last.name == *name.payload() && last.freshness.holds());
        if !fresh {
            renew(fcinfo, name.payload(), site);
        }
        match &mut site.last {
            Some(last) => last,
            None => unreachable!("a use was put there"),
        }
    }
}

/// Makes the use of the named model the last one, looked up again where it does not hold any more.
///
/// # Safety
/// As for `current_use`.
#[cold]
unsafe fn renew(fcinfo: pg_sys::FunctionCallInfo, name: &[u8], site: &mut CallSite) {
    let mut known = site.take(name);
    if known.as_mut().is_some_and(|known| known.freshness.holds()) {
        site.last = known;
        return;
    }
    let freshness = Freshness::now(known.as_ref().map(|known| known.freshness));
    // SAFETY: as the caller promises.
    let schema = unsafe { statement::schema_of_call(fcinfo) };
    let model = model::find(schema, &String::from_utf8_lossy(name)).or_raise();
    if let Some(mut known) = known {
        if Rc::ptr_eq(&known.model, &model) {
            known.freshness = freshness;
            site.last = Some(known);
            return;
        }
        known.labels.free();
    }
    // SAFETY: as the caller promises.
    let called = unsafe { Called::at(fcinfo) };
    let argument = RowArgument::new(&model, called).or_raise();
    site.last = Some(Use::new(name, freshness, model, argument));
}

impl CallSite {
    /// The use of the named model, if it is known and the model is still there; the last use is put aside for it.
    fn take(&mut self, name: &[u8]) -> Option<Use> {
        if let Some(last) = self.last.take() {
            if *last.name == *name {
                return Some(last);
            }
            self.park(last);
        }
        let (name, parked) = self.others.remove_entry(name)?;
        self.bytes -= parked.bytes;
        let Unused {
            freshness,
            argument,
            class,
            decisions,
            mut labels,
        } = parked.used;
        let Some(model) = parked.model.upgrade() else {
            labels.free();
            return None;
        };
        Some(Use {
            name,
            freshness,
            model,
            argument,
            class,
            decisions,
            labels,
        })
    }

    /// Puts a use aside. Where all together are too many they are forgotten.
    fn park(&mut self, used: Use) {
        let labels = used.labels.values.len() * LABEL_BYTES;
        let bytes = USE_BYTES + used.argument.bytes() + labels;
        if self.bytes + bytes > PARKED_BYTES || self.others.try_reserve(1).is_err() {
            for (_, mut parked) in self.others.drain() {
                parked.used.labels.free();
            }
            self.bytes = 0;
        }
        self.bytes += bytes;
        let parked = Parked {
            model: Rc::downgrade(&used.model),
            bytes,
            used: Unused {
                freshness: used.freshness,
                argument: used.argument,
                class: used.class,
                decisions: used.decisions,
                labels: used.labels,
            },
        };
        self.others.insert(used.name, parked);
    }
}

/// Bytes that a use takes beside what its argument does, and a label in PostgreSQL's memory, about.
const USE_BYTES: usize = 1024;
const LABEL_BYTES: usize = 64;

impl LabelData {
    /// Frees them; not where the site's own memory goes, as they are below that.
    fn free(&mut self) {
        self.values.clear();
        if let Some(context) = self.context.take() {
            // SAFETY: made by `below`, deleted once; who asked for a label of an earlier row has copied it.
            unsafe { pg_sys::MemoryContextDelete(context) };
        }
    }
}

/// A small memory context below another one.
fn below(parent: pg_sys::MemoryContext) -> pg_sys::MemoryContext {
    // SAFETY: the parent is one; the name is a constant.
    unsafe {
        pg_sys::AllocSetContextCreateInternal(
            parent,
            c"pgsvm labels".as_ptr(),
            pg_sys::ALLOCSET_SMALL_MINSIZE as usize,
            pg_sys::ALLOCSET_SMALL_INITSIZE as usize,
            pg_sys::ALLOCSET_SMALL_MAXSIZE as usize,
        )
    }
}
