//! The hash of a text: what its hashed feature is, and what distinct values are counted by. Tables in memory do not use it:
//! a user who fills a table could choose texts that all fall together.
//!
//! FNV-1a in 64 bits over the bytes, and then the finalizer of MurmurHash3, which lets every bit of the
//! sum reach every bit of the result. Both are a few lines, public domain and fixed by their
//! publication: models store features by this hash, so it must never change, on no platform.

/// The hash of a text.
pub fn of_text(text: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    of_number(hash)
}

/// The hash of a number: the finalizer alone, which maps 0 to itself.
pub fn of_number(number: u64) -> u64 {
    let mut hash = number;
    hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_models_store() {
        // worked out by an independent program
        let known = [
            ("", 0xefd0_1f60_ba99_2926),
            ("a", 0x82a2_a958_a9be_ce5b),
            ("free money", 0x11b0_d810_cfeb_62df),
        ];
        for (text, hash) in known {
            assert_eq!(of_text(text), hash, "{text}");
        }
    }
}
