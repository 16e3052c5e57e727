//! Social security numbers of the United States.

use super::checksum::{number, same};
use super::cluster::{BLANK, Cluster, HYPHEN, POINT, before, byte};
use super::context::{Words, topic};

/// True when a cluster of nine digits is a number that can have been given out.
pub(super) fn is_ssn(words: &Words<'_>, cluster: &Cluster) -> bool {
    let bytes = words.bytes;
    let digits = cluster.compact();
    if digits.len() != 9 || cluster.letters != 0 || !is_given(digits) {
        return false;
    }
    let one_sign = matches!(cluster.separators, BLANK | HYPHEN | POINT);
    let glued = matches!(before(bytes, cluster.start), b'-' | b'.' | b'_' | b'/' | b'+' | b'$')
        || matches!(byte(bytes, cluster.end), b'_' | b'%')
        || matches!(byte(bytes, cluster.end), b'-' | b'.' | b',' | b':' | b'/')
            && byte(bytes, cluster.end + 1).is_ascii_digit();
    if glued {
        return false;
    }
    let named = || words.get().near & topic::SSN != 0;
    match cluster.sizes() {
        [3, 2, 4] => one_sign && cluster.simple && !words.is_called_an_order() || named(),
        [3, 6] => cluster.separators == HYPHEN || named(),
        // Five and four digits are a postal code too.
        [5, 4] | [9] => named(),
        _ => false,
    }
}

fn is_given(digits: &[u8]) -> bool {
    let (area, group, serial) = (number(digits, 0, 3), number(digits, 3, 5), number(digits, 5, 9));
    // Numbers that were printed on cards, and were taken for real ones.
    let specimen = matches!(digits, b"078051120" | b"219099999" | b"987654321");
    area != 0
        && area != 666
        && area < 900
        && group != 0
        && serial != 0
        && !same(digits)
        && !specimen
}
