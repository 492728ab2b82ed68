//! The `class` argument, of any type: which class of the model its text names.

use super::Model;
use crate::errors::Failure;
use crate::pg::types::{type_kind, TypeKind};
use crate::pg::value;
use crate::pg::varlena::Varlena;
use pgrx::pg_sys;
use std::borrow::Cow;

/// What one use of a model remembers of the argument.
#[derive(Default)]
pub struct ClassArgument {
    form: Option<Form>,
    /// The last text and its class.
    last: Option<(Vec<u8>, usize)>,
}

#[derive(Clone, Copy)]
enum Form {
    /// Text and its kin; whether blanks at the end count nothing.
    Text { padded: bool },
    /// All else is read as its type prints it.
    Printed(pg_sys::Oid),
}

impl ClassArgument {
    /// The class that argument `number` (from 0) names.
    ///
    /// # Errors
    /// When the model has none of that name.
    ///
    /// # Safety
    /// `fcinfo` is PostgreSQL's, with that argument not NULL.
    pub unsafe fn read(
        &mut self,
        model: &Model,
        fcinfo: pg_sys::FunctionCallInfo,
        number: usize,
    ) -> Result<usize, Failure> {
        // SAFETY: as the caller promises.
        let (datum, form) = unsafe {
            let argument = (*fcinfo).args.as_slice(number + 1)[number];
            let form = *self.form.get_or_insert_with(|| {
                Form::of(pg_sys::get_fn_expr_argtype((*fcinfo).flinfo, number as _))
            });
            (argument.value, form)
        };
        match form {
            Form::Text { padded } => {
                // SAFETY: the type is of variable length and kept like text.
                let value = unsafe { Varlena::open(datum) };
                let text = match padded {
                    true => value.payload().trim_ascii_end(),
                    false => value.payload(),
                };
                self.find(model, text)
            }
            Form::Printed(type_id) => {
                // SAFETY: the argument is of this type.
                let text = unsafe { value::printed(datum, type_id) };
                self.find(model, text.as_bytes())
            }
        }
    }

    fn find(&mut self, model: &Model, text: &[u8]) -> Result<usize, Failure> {
        if let Some((_, class)) = self.last.as_ref().filter(|(last, _)| last == text) {
            return Ok(*class);
        }
        let name: Cow<'_, str> = String::from_utf8_lossy(text);
        let class = model
            .class_named(&name)
            .ok_or_else(|| model.unknown_class(&name))?;
        self.last = Some((text.to_vec(), class));
        Ok(class)
    }
}

impl Form {
    fn of(type_id: pg_sys::Oid) -> Self {
        match type_kind(type_id) {
            TypeKind::Text => Self::Text {
                // SAFETY: a catalog look-up.
                padded: unsafe { pg_sys::getBaseType(type_id) } == pg_sys::BPCHAROID,
            },
            _ => Self::Printed(type_id),
        }
    }
}
