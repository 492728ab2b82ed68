//! How large a JSON text makes what is read of it. A reader of JSON asks for memory without a way to fail: so what it reads
//! is small, or read into lists that ask for it with one.

/// Bytes of a text within JSON, or items of a list, that need no way to fail.
pub const SMALL_BYTES: usize = 16 << 10;
/// Most commas: what there may be of items.
const MOST_COMMAS: usize = 1000;
/// Most lists and objects within each other.
const MOST_DEPTH: usize = 128;

/// What is said of JSON that is not small.
pub const TOO_LARGE: &str = "it holds a text of more than 16 kB, or more than 1000 items";

/// Whether each of its texts is small; there may be any number of them.
pub fn has_small_texts(json: &str) -> bool {
    let found = look(json);
    found.longest <= SMALL_BYTES && found.depth <= MOST_DEPTH
}

/// Whether all that is read of it stays small: texts and numbers of them.
pub fn is_small(json: &str) -> bool {
    let found = look(json);
    found.longest <= SMALL_BYTES && found.commas <= MOST_COMMAS
}

/// The longest text, quotes aside; the commas outside texts; how many lists and objects are within each other.
struct Found {
    longest: usize,
    commas: usize,
    depth: usize,
}

fn look(json: &str) -> Found {
    let (mut longest, mut commas) = (0, 0);
    let (mut open, mut depth) = (0usize, 0);
    let mut begun = None;
    let mut bytes = json.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match (byte, begun) {
            (b'"', None) => begun = Some(at + 1),
            (b'"', Some(start)) => {
                longest = longest.max(at - start);
                begun = None;
            }
            // what follows it ends no text
            (b'\\', Some(_)) => {
                bytes.next();
            }
            (b',', None) => commas += 1,
            (b'[' | b'{', None) => {
                open += 1;
                depth = depth.max(open);
            }
            (b']' | b'}', None) => open = open.saturating_sub(1),
            _ => {}
        }
    }
    Found {
        longest,
        commas,
        depth,
    }
}
