//! Document and register numbers: a shape, a check, and words if these are not conclusive.

use std::sync::LazyLock;

use super::candidate::{Candidate, HYPHEN, POINT, byte_at, byte_before};
use super::context::CandidateContext;
use super::document_rule::{DocumentRule, Evidence};

/// All tables, in the order of their rule numbers.
pub(super) const TABLES: [&[DocumentRule]; 3] =
    [super::americas::RULES, super::europe::RULES, super::asia::RULES];

/// The number of rules.
pub(super) const RULE_COUNT: usize = TABLES[0].len() + TABLES[1].len() + TABLES[2].len();

/// A shape as bit masks, one bit per letter or digit.
struct NumberShape {
    /// Positions of letters.
    letters: u64,
    /// Positions of letters or digits.
    either: u64,
    /// Positions that a separator may precede.
    breaks: u64,
    /// The last of these positions, where a check digit may be separate.
    last_break: u64,
    /// Only hyphens may be separators.
    hyphens: bool,
    /// The index of the rule among all.
    index: usize,
    row: &'static DocumentRule,
}

/// Shapes by their number of letters and digits.
static SHAPES: LazyLock<Vec<Vec<NumberShape>>> = LazyLock::new(|| {
    let mut lengths: Vec<Vec<NumberShape>> = Vec::new();
    for (index, row) in TABLES.into_iter().flatten().enumerate() {
        for text in row.shapes {
            let mut shape = NumberShape {
                letters: 0,
                either: 0,
                breaks: 0,
                last_break: 0,
                hyphens: false,
                index,
                row,
            };
            let mut length = 0;
            for sign in text.bytes() {
                match sign {
                    b'~' | b'-' => {
                        shape.last_break = 1 << length;
                        shape.breaks |= shape.last_break;
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

/// Calls `found` with the index of every rule that a candidate matches.
pub(super) fn for_each_match(
    context: &CandidateContext<'_>,
    candidate: &Candidate,
    mut found: impl FnMut(usize),
) {
    let Some(shapes) = SHAPES.get(candidate.len()) else { return };
    if !candidate.has_single_separators {
        return;
    }
    let mut part = None;
    for shape in shapes.iter().filter(|shape| shape.matches(candidate)) {
        if *part.get_or_insert_with(|| is_part_of_longer(context.bytes, candidate)) {
            return;
        }
        let row = shape.row;
        let written = !candidate.is_single_group()
            && candidate.break_mask == shape.breaks
            && !candidate.has_lowercase;
        let lone = || is_alone(context.bytes, candidate);
        let sure = match row.evidence {
            Evidence::Always => !candidate.has_lowercase || lone(),
            Evidence::Separated => written,
            Evidence::SeparatedOrAlone => written || lone(),
            Evidence::Alone => lone(),
            Evidence::SeparatedAndAlone => written && lone(),
            Evidence::Keyword => false,
        };
        // Computing the check is faster than reading the words.
        if (row.check)(candidate.chars())
            && (sure && !context.is_labelled_as_other() || has_topic(context, row.topics))
            && !is_cloud_account(context.bytes, candidate)
        {
            found(shape.index);
        }
    }
}

/// True if a word of these topics labels the candidate, and no word for an order, such as `nota
/// fiscal`, is closer; or if it is the heading of the column.
fn has_topic(context: &CandidateContext<'_>, topics: u64) -> bool {
    context.get().has_label(topics) && !context.is_labelled_as_order()
        || context.is_under_heading_of(topics)
}

impl NumberShape {
    fn matches(&self, candidate: &Candidate) -> bool {
        candidate.letter_mask & !self.either == self.letters
            && (candidate.break_mask == 0 || candidate.break_mask == self.breaks || candidate.break_mask == self.last_break)
            && !(self.hyphens && candidate.separators & !HYPHEN != 0)
            // A single point in a number is a decimal point.
            && !(candidate.separators & POINT != 0 && candidate.break_mask != self.breaks)
    }
}

/// True for the account of a cloud, of twelve digits, which the names of its resources repeat:
/// `"Account": "590827331500", "Arn": "arn:aws:iam::590827331500:user/x"`.
fn is_cloud_account(bytes: &[u8], candidate: &Candidate) -> bool {
    const REACH: usize = 96;
    if candidate.len() != 12 || !candidate.is_single_group() || candidate.letter_mask != 0 {
        return false;
    }
    let around = candidate.start.saturating_sub(REACH)..bytes.len().min(candidate.end + REACH);
    bytes.get(around).is_some_and(|text| memchr::memmem::find(text, b"arn:aws").is_some())
}

/// True if only blanks and quotes surround the candidate.
fn is_alone(bytes: &[u8], candidate: &Candidate) -> bool {
    let bare = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'');
    let length = candidate.end - candidate.start;
    bytes.len() <= length + 4
        && bytes.iter().take(candidate.start).all(bare)
        && bytes.iter().skip(candidate.end).all(bare)
}

/// True if the surrounding bytes make the candidate a part of something longer.
fn is_part_of_longer(bytes: &[u8], candidate: &Candidate) -> bool {
    let (left, right) = (byte_before(bytes, candidate.start), byte_at(bytes, candidate.end));
    let further = byte_before(bytes, candidate.start.saturating_sub(1));
    let beyond = byte_at(bytes, candidate.end + 1);
    matches!(left, b'_' | b'$' | b'+' | b'@' | b'%')
        || matches!(left, b'-' | b'.' | b'/' | b':')
            && further.is_ascii_alphanumeric()
            && !(left == b':' && further.is_ascii_alphabetic())
        || matches!(right, b'_' | b'@' | b'%')
        || matches!(right, b'-' | b'.' | b'/' | b':') && beyond.is_ascii_alphanumeric()
}
