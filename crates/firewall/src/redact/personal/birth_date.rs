//! Dates of birth: a date right after a word for it.

use std::ops::Range;

use super::checksum::{is_day, number};
use super::cluster::{Cluster, before};
use super::context::{Words, topic};

/// The date of birth that groups of digits are.
pub(super) fn date(words: &Words<'_>, cluster: &Cluster) -> Option<Range<usize>> {
    let digits = cluster.compact();
    let (first, second) = match *cluster.sizes() {
        [4, 1 | 2, 1 | 2] if matches!(digits, [b'1', b'9', ..] | [b'2', b'0', ..]) => (4, 0),
        [1 | 2, 1 | 2, 2 | 4] => (0, 0),
        _ => return None,
    };
    let opened = matches!(
        before(words.bytes, cluster.start),
        b' ' | b'"' | b'\'' | b':' | b'=' | b'(' | b'\t' | b'>'
    );
    if cluster.letters != 0 || !cluster.simple || !opened {
        return None;
    }
    let sizes: Vec<usize> = cluster.sizes().iter().map(|size| usize::from(*size)).collect();
    let [a, b, c] = *sizes.as_slice() else { return None };
    let (left, right) = match first {
        4 => (number(digits, a, a + b), number(digits, a + b, a + b + c)),
        _ => (number(digits, second, a), number(digits, a, a + b)),
    };
    let exists = is_day(left, right) || first == 0 && is_day(right, left);
    let born = exists && words.get().last & words.get().label & topic::BIRTH != 0;
    born.then_some(cluster.start..cluster.end)
}
