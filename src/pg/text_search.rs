//! PostgreSQL's text search: configurations by name, texts as lexemes, and the bytes of a `tsvector`. Any process.

use super::long_errors::cut_off;
use super::select::{connected, Parameter, PreparedSelect};
use super::snapshot::with_catalog;
use super::value;
use core::ffi::CStr;
use pgrx::pg_sys;

/// Bytes of the word that says how many lexemes there are, and of each lexeme's entry.
const WORD: usize = size_of::<u32>();
/// Of a position the bits that are not its weight.
const POSITION: u16 = (1 << 14) - 1;

/// A configuration, and its name with its schema.
pub struct Configuration {
    pub oid: pg_sys::Oid,
    pub name: String,
}

impl Configuration {
    /// The configuration of this name; what PostgreSQL says where there is none, after which the statement must end with an
    /// ERROR.
    pub fn find(name: &str) -> Result<Self, String> {
        let oid = value::read(name, pg_sys::REGCONFIGOID)?;
        let oid = pg_sys::Oid::from(oid.value() as u32);
        let name = qualified(oid).ok_or_else(|| "it is gone".to_owned())?;
        Ok(Self { oid, name })
    }
}

/// The catalog of configurations.
const CONFIGURATIONS: u32 = 3602;

/// What the lexemes of a text depend on, but for files of dictionaries: the parser, and which dictionaries with which options take
/// which tokens.
const DEFINITION: &str = "SELECT pg_catalog.hashtextextended(pg_catalog.concat_ws(E'\\n', config.oid, parser.prsstart::pg_catalog.oid,
         parser.prstoken::pg_catalog.oid, parser.prsend::pg_catalog.oid, (
             SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', map.maptokentype, map.mapseqno, dict.oid,
                 template.tmplinit::pg_catalog.oid, template.tmpllexize::pg_catalog.oid, dict.dictinitoption), E'\\n'
                 ORDER BY map.maptokentype, map.mapseqno)
             FROM pg_catalog.pg_ts_config_map AS map
             JOIN pg_catalog.pg_ts_dict AS dict ON dict.oid OPERATOR(pg_catalog.=) map.mapdict
             JOIN pg_catalog.pg_ts_template AS template ON template.oid OPERATOR(pg_catalog.=) dict.dicttemplate
             WHERE map.mapcfg OPERATOR(pg_catalog.=) config.oid
         )), 0)
     FROM pg_catalog.pg_ts_config AS config
     JOIN pg_catalog.pg_ts_parser AS parser ON parser.oid OPERATOR(pg_catalog.=) config.cfgparser
     WHERE config.oid OPERATOR(pg_catalog.=) $1::pg_catalog.oid";

/// A number by which what a configuration makes of texts is known, not 0; None where there is no such configuration.
pub fn definition(configuration: pg_sys::Oid) -> Option<u64> {
    let mut found = None;
    let catalog = pg_sys::Oid::from(CONFIGURATIONS);
    let find = || {
        let oid = Parameter::Int8(i64::from(configuration.to_u32()));
        PreparedSelect::kept(DEFINITION, &[pg_sys::INT8OID]).for_each(&[oid], |row| {
            found = row.int8(1).map(|hash| (hash as u64).max(1));
            true
        });
    };
    with_catalog(catalog, || connected(find));
    found
}

/// The name of a configuration with its schema, quoted where SQL wants it.
fn qualified(oid: pg_sys::Oid) -> Option<String> {
    let address = pg_sys::ObjectAddress {
        classId: pg_sys::Oid::from(CONFIGURATIONS),
        objectId: oid,
        objectSubId: 0,
    };
    // SAFETY: a catalog look-up inside a transaction; the name is a terminated string in the current memory context.
    unsafe {
        let name = pg_sys::getObjectIdentity(&address, true);
        (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
    }
}

/// The lexemes of a text, in the current memory context.
///
/// # Safety
/// `text` is a text, not NULL.
pub unsafe fn lexemes(configuration: pg_sys::Oid, text: pg_sys::Datum) -> pg_sys::Datum {
    let function = pg_sys::Oid::from(pg_sys::F_TO_TSVECTOR_REGCONFIG_TEXT);
    // SAFETY: as the caller promises; the function takes an oid and a text.
    cut_off(|| unsafe {
        let configuration = pg_sys::Datum::from(configuration);
        pg_sys::OidFunctionCall2Coll(function, pg_sys::DEFAULT_COLLATION_OID, configuration, text)
    })
}

/// The lexemes of a `tsvector`, behind its varlena header.
pub struct Lexemes<'a> {
    payload: &'a [u8],
    count: usize,
}

/// One of them.
pub struct Lexeme<'a> {
    pub bytes: &'a [u8],
    /// Of each place two bytes.
    places: &'a [u8],
}

impl<'a> Lexemes<'a> {
    /// None where the bytes contradict themselves.
    pub fn new(payload: &'a [u8]) -> Option<Self> {
        let count = word(payload, 0)? as usize;
        let fits = count.checked_mul(WORD)?.checked_add(WORD)? <= payload.len();
        fits.then_some(Self { payload, count })
    }

    pub fn len(&self) -> usize {
        self.count
    }

    /// The one with this number; None where the bytes contradict themselves.
    pub fn get(&self, number: usize) -> Option<Lexeme<'a>> {
        let entry = word(self.payload, WORD + number * WORD)?;
        let (has_places, length) = (entry & 1 == 1, (entry >> 1 & 0x7ff) as usize);
        let texts = self.payload.get(WORD + self.count * WORD..)?;
        let begin = (entry >> 12) as usize;
        let end = begin + length;
        let bytes = texts.get(begin..end)?;
        let places = match has_places {
            false => &[][..],
            true => {
                let at = end.next_multiple_of(2);
                let count = usize::from(short(texts, at)?);
                texts.get(at + 2..at + 2 + 2 * count)?
            }
        };
        Some(Lexeme { bytes, places })
    }
}

impl Lexeme<'_> {
    /// Where it stands in its text, where that is kept.
    pub fn places(&self) -> impl ExactSizeIterator<Item = u16> + '_ {
        let (pairs, _) = self.places.as_chunks::<2>();
        pairs
            .iter()
            .map(|pair| u16::from_ne_bytes(*pair) & POSITION)
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let (word, _) = bytes.get(at..)?.split_first_chunk()?;
    Some(u32::from_ne_bytes(*word))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    let (short, _) = bytes.get(at..)?.split_first_chunk()?;
    Some(u16::from_ne_bytes(*short))
}
