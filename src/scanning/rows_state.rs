//! The state of the aggregate over whole rows: that of a scan, with a count of what has come from other processes.

use crate::base::errors::{Code, Failure};
use crate::pg::aggregate::State;
use crate::pg::flat_state::{self, FlatState};
use crate::pg::record::{RowShape, RowValue};
use crate::pg::varlena::Varlena;
use crate::scanning::state::{unread, ScanResult, ScanState, Taking};
use pgrx::pg_sys;
use pgsvm_core::message::{self, MessageError};
use serde::{Deserialize, Serialize};

/// A scan of rows.
#[derive(Default)]
pub(super) struct RowsState {
    scan: ScanState,
    /// What the rows look like, from the first on.
    shape: Option<RowShape>,
    arrived: Arrived,
}

/// States that have come as bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrived {
    pub states: u64,
    pub bytes: u64,
}

/// What a state says of the rows, and how it came together.
#[derive(Serialize, Deserialize)]
pub struct Gathered {
    pub found: Option<ScanResult>,
    pub arrived: Arrived,
}

impl RowsState {
    /// Takes a row in. `message`: the message of the scan, for the first one.
    pub(super) fn take<'a>(
        &mut self,
        row: &RowValue,
        message: impl FnOnce() -> Option<Varlena<'a>>,
    ) -> Result<(), Failure> {
        let shape = self.shape.get_or_insert_with(|| RowShape::of(row));
        if !shape.fits(row) {
            return Err(Failure::new(
                Code::ERRCODE_DATATYPE_MISMATCH,
                "rows of a scan differ in their types",
            ));
        }
        let types: Vec<_> = match self.scan.is_new() {
            true => shape.columns().iter().map(|it| it.type_oid).collect(),
            false => Vec::new(),
        };
        let (values, nulls) = shape.deform(row);
        let columns = values.iter().copied().zip(nulls.iter().copied());
        self.scan.take(columns, || {
            let message = message();
            let message = message.as_ref().map_or(&[][..], Varlena::payload);
            Taking::of_message(message, types.into_iter())
        })
    }
}

impl State for RowsState {
    fn merge(&mut self, other: &mut Self) -> Result<(), Failure> {
        let (own, more) = (&mut self.arrived, other.arrived);
        own.states = own.states.saturating_add(more.states);
        own.bytes = own.bytes.saturating_add(more.bytes);
        self.scan.merge(&mut other.scan)
    }

    fn write(&mut self, out: &mut Vec<u8>) -> Result<(), Failure> {
        let gathered = Gathered {
            found: self.scan.end()?,
            arrived: self.arrived,
        };
        Ok(message::encode_into(&gathered, out)?)
    }

    fn read(bytes: &[u8]) -> Result<Option<Self>, Failure> {
        let Gathered { found, arrived } = Gathered::read(bytes).map_err(unread)?;
        Ok(Some(Self {
            scan: ScanState::ended(found),
            shape: None,
            arrived: match arrived.states {
                // that of one process, which has just come
                0 => Arrived {
                    states: 1,
                    bytes: bytes.len() as u64,
                },
                _ => arrived,
            },
        }))
    }
}

impl FlatState for RowsState {
    fn methods() -> &'static pg_sys::ExpandedObjectMethods {
        static METHODS: pg_sys::ExpandedObjectMethods = flat_state::methods::<RowsState>();
        &METHODS
    }
}

impl Gathered {
    /// What a state's bytes say.
    pub fn read(bytes: &[u8]) -> Result<Self, MessageError> {
        let gathered: Self = message::decode(bytes)?;
        Ok(Self {
            found: ScanResult::checked(gathered.found)?,
            ..gathered
        })
    }
}
