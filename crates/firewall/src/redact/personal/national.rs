//! Numbers of documents and registers: a shape, a check, and words where these say too little.

use std::sync::LazyLock;

use super::cluster::{Cluster, HYPHEN, POINT, before, byte};
use super::context::Words;
use super::document_rule::{DocumentRule, Evidence};

/// All tables, one after the other.
pub(super) const TABLES: [&[DocumentRule]; 3] =
    [super::americas::ROWS, super::europe::ROWS, super::asia::ROWS];

/// How many rows there are.
pub(super) const COUNT: usize = TABLES[0].len() + TABLES[1].len() + TABLES[2].len();

/// A shape as bits, one for each letter or digit.
struct Shape {
    /// Must be letters.
    letters: u64,
    /// May be letters or digits.
    either: u64,
    /// A separator may stand before.
    breaks: u64,
    /// The last of these places, where a check digit may stand apart.
    last: u64,
    /// Only hyphens may stand there.
    hyphens: bool,
    /// The place of the row among all.
    index: usize,
    row: &'static DocumentRule,
}

/// Shapes by the number of letters and digits.
static SHAPES: LazyLock<Vec<Vec<Shape>>> = LazyLock::new(|| {
    let mut lengths: Vec<Vec<Shape>> = Vec::new();
    for (index, row) in TABLES.into_iter().flatten().enumerate() {
        for text in row.shapes {
            let mut shape =
                Shape { letters: 0, either: 0, breaks: 0, last: 0, hyphens: false, index, row };
            let mut length = 0;
            for sign in text.bytes() {
                match sign {
                    b'~' | b'-' => {
                        shape.last = 1 << length;
                        shape.breaks |= shape.last;
                        shape.hyphens |= sign == b'-';
                    }
                    b'A' => shape.letters |= 1 << length,
                    b'*' => shape.either |= 1 << length,
                    _ => {}
                }
                length += usize::from(!matches!(sign, b'~' | b'-'));
            }
            if lengths.len() <= length {
                lengths.resize_with(length + 1, Vec::new);
            }
            if let Some(list) = lengths.get_mut(length) {
                list.push(shape);
            }
        }
    }
    lengths
});

/// The places of the rows that a cluster is a value of.
pub(super) fn kinds(words: &Words<'_>, cluster: &Cluster, mut found: impl FnMut(usize)) {
    let Some(shapes) = SHAPES.get(cluster.len()) else { return };
    if !cluster.simple {
        return;
    }
    let mut part = None;
    for shape in shapes.iter().filter(|shape| shape.fits(cluster)) {
        if *part.get_or_insert_with(|| is_part(words.bytes, cluster)) {
            return;
        }
        let row = shape.row;
        let written = !cluster.is_one() && cluster.breaks == shape.breaks && !cluster.lower;
        let lone = || is_alone(words.bytes, cluster);
        let sure = match row.evidence {
            Evidence::Always => !cluster.lower || lone(),
            Evidence::Separated => written,
            Evidence::SeparatedOrAlone => written || lone(),
            Evidence::Alone => lone(),
            Evidence::SeparatedAndAlone => written && lone(),
            Evidence::Keyword => false,
        };
        // The sum is quicker to look at than the words, where there is one.
        let asked = row.evidence == Evidence::Keyword && !speaks(words, row.topics);
        if !asked
            && (row.check)(cluster.compact())
            && (sure && !words.deny() || speaks(words, row.topics))
        {
            found(shape.index);
        }
    }
}

/// True when a word of these subjects is the label of the candidate, and none for an order, such as
/// `nota fiscal`, stands nearer.
fn speaks(words: &Words<'_>, topics: u64) -> bool {
    words.get().speaks(topics) && !words.is_called_an_order()
}

impl Shape {
    fn fits(&self, cluster: &Cluster) -> bool {
        cluster.letters & !self.either == self.letters
            && (cluster.breaks == 0 || cluster.breaks == self.breaks || cluster.breaks == self.last)
            && !(self.hyphens && cluster.separators & !HYPHEN != 0)
            // One point in a number is a decimal one.
            && !(cluster.separators & POINT != 0 && cluster.breaks != self.breaks)
    }
}

/// Nothing but blanks and quotes stands around.
fn is_alone(bytes: &[u8], cluster: &Cluster) -> bool {
    let bare = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'');
    let length = cluster.end - cluster.start;
    bytes.len() <= length + 4
        && bytes.iter().take(cluster.start).all(bare)
        && bytes.iter().skip(cluster.end).all(bare)
}

/// True when the bytes around make the candidate a part of something else.
fn is_part(bytes: &[u8], cluster: &Cluster) -> bool {
    let (left, right) = (before(bytes, cluster.start), byte(bytes, cluster.end));
    let further = before(bytes, cluster.start.saturating_sub(1));
    let beyond = byte(bytes, cluster.end + 1);
    matches!(left, b'_' | b'$' | b'+' | b'@' | b'%')
        || matches!(left, b'-' | b'.' | b'/' | b':')
            && further.is_ascii_alphanumeric()
            && !(left == b':' && further.is_ascii_alphabetic())
        || matches!(right, b'_' | b'@' | b'%')
        || matches!(right, b'-' | b'.' | b'/' | b':') && beyond.is_ascii_alphanumeric()
}
