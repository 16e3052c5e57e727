//! Mode `auto`: the result as it is, masked, where it fits; beyond that the most useful part of it.
//!
//! A result within the budget keeps its blocks, their order and its structured value, and nothing
//! is added to it. Of a larger one each text block gets a share of the budget: small blocks are
//! shown whole, what is left is divided among the others (max-min fairness), and each of them is
//! cut in its own form, see [`excerpt`].

mod block_budgets;
mod block_excerpt;
mod blocks;
mod excerpt;
mod part;
mod pruned_json;
mod table;
mod text;
mod verbatim_content;

use std::borrow::Cow;

use serde_json::{Value, json};
use weaver_types::{ContentBlocks, Frame, RawContent, RawResult, StructuredContent, Warning};

use super::build::empty;
use crate::content::{Content, Shape};
use crate::redact::Redactor;
use crate::spec::{FrameSpec, Limits};
use crate::tabular;

pub(crate) use excerpt::{of_content as excerpt_of, of_rows as excerpt_table};
pub(crate) use part::{Excerpt, Part};
pub(crate) use text::{CutUnit, window as text_window};
pub(crate) use verbatim_content::Masker;

/// The items of each list that a shortened structured value has, from most to least.
const SHORTENED: [usize; 5] = [50, 10, 3, 1, 0];

/// What may be shown: tokens, and characters where a rule bounds them.
#[derive(Clone, Copy)]
pub(crate) struct RenderBudget {
    pub(crate) tokens: usize,
    pub(crate) chars: usize,
}

impl RenderBudget {
    fn of(limits: &Limits) -> Self {
        Self { tokens: limits.tokens, chars: limits.chars }
    }

    /// Whether a text fits.
    pub(crate) fn holds(self, text: &str, limits: &Limits) -> bool {
        self.size(text, limits) <= self.tokens
            && (self.chars == usize::MAX || text.chars().count() <= self.chars)
    }

    /// The tokens of a text, or more than there is room for.
    pub(crate) fn size(self, text: &str, limits: &Limits) -> usize {
        // A token has at least one byte, so most texts are never counted.
        let counted = limits.counter().count_up_to(text, self.tokens.saturating_add(1));
        counted.tokens().unwrap_or(usize::MAX)
    }
}

/// The first frame of a result in mode `auto`.
pub(crate) fn build(
    redactor: &Redactor,
    raw: &RawResult,
    spec: &FrameSpec<'_>,
    limits: &Limits,
) -> Frame {
    let mut masker = Masker::new(redactor, limits);
    let mut frame = empty(raw, spec, limits.mode);
    let whole = limits.allowed.is_none()
        && !is_far_too_large(raw, limits)
        && !has_too_many_rows(raw, limits);
    let cut = match if whole { as_is(raw, limits, &mut masker) } else { None } {
        Some((content, structured)) => {
            (frame.content, frame.structured) = (content, structured);
            FrameNotes::default()
        }
        None => {
            // What was masked in vain does not count.
            masker = Masker::new(redactor, limits);
            parts(redactor, raw, limits, &mut masker, &mut frame)
        }
    };
    finish(frame, raw, cut, masker)
}

/// Everything, masked, unless it is too large.
fn as_is(
    raw: &RawResult,
    limits: &Limits,
    masker: &mut Masker<'_>,
) -> Option<(Vec<Value>, Option<Value>)> {
    let space = RenderBudget::of(limits);
    let (blocks, structured) = blocks::of(raw);
    let bytes: usize = blocks.iter().map(blocks::text_bytes).sum();
    if bytes > limits.most_bytes() {
        return None;
    }
    let repeated = structured.is_some_and(|value| blocks::repeats(&blocks, value));
    let mut size = 0_usize;
    let mut chars = 0_usize;
    let mut shown = Vec::with_capacity(blocks.len());
    for block in blocks.iter() {
        let block = masker.block(block);
        for text in blocks::texts(&block) {
            size = size.saturating_add(space.size(&text, limits));
            chars = chars.saturating_add(text.chars().count());
        }
        if size > space.tokens || chars > space.chars {
            return None;
        }
        shown.push(block);
    }
    let structured = match structured {
        Some(value) => {
            let value = masker.structured(value, &blocks, &shown);
            if !repeated {
                let text = value.to_string();
                size = size.saturating_add(space.size(&text, limits));
                chars = chars.saturating_add(text.chars().count());
            }
            Some(value)
        }
        None => None,
    };
    (size <= space.tokens && chars <= space.chars).then_some((shown, structured))
}

/// True for JSON without blocks that no frame shows whole. It is measured without being written
/// out: the one text block that it would be laid out as is as large as the result.
fn is_far_too_large(raw: &RawResult, limits: &Limits) -> bool {
    match (&raw.blocks, &raw.content) {
        (None, RawContent::Json(value)) => crate::json::is_longer(value, limits.most_bytes()),
        (None, RawContent::Rows(rows)) => rows.text().len() > limits.most_bytes(),
        _ => false,
    }
}

/// True where a rule bounds the rows and there are more: in the content, in a block, or in a list
/// of the structured value.
fn has_too_many_rows(raw: &RawResult, limits: &Limits) -> bool {
    if !limits.bounds_rows {
        return false;
    }
    let has_more = |content: &Content<'_>| match content.shape() {
        Shape::Rows { rows, .. } => rows.len() > limits.rows,
        Shape::List(items) => items.len() > limits.rows,
        _ => false,
    };
    let is_beyond = |laid_out: &ContentBlocks| {
        let mut texts = laid_out.blocks.iter().filter_map(|block| block.get("text")?.as_str());
        let structured = laid_out.structured.as_ref();
        texts.any(|text| has_more(&Content::of_text(text)))
            || structured.is_some_and(|value| pruned_json::has_list_over(value, limits.rows))
    };
    has_more(&Content::read_rows(&raw.content)) || raw.blocks.as_ref().is_some_and(is_beyond)
}

/// The most useful part of every block.
fn parts(
    redactor: &Redactor,
    raw: &RawResult,
    limits: &Limits,
    masker: &mut Masker<'_>,
    frame: &mut Frame,
) -> FrameNotes {
    let apart = is_apart(raw, limits);
    let (blocks, structured) = match (&raw.blocks, apart) {
        (None, true) => (Cow::Owned(Vec::new()), None),
        _ => blocks::of(raw),
    };
    let single = !apart && (blocks::is_one_text(&blocks) || raw.blocks.is_none());
    let shown_blocks = shown_blocks(&blocks, limits, masker);
    let mut shares = block_budgets::of(&shown_blocks, usize::from(apart), limits);
    let own_share = if apart { shares.pop() } else { None };
    let mut cut = FrameNotes::default();
    let mut shown_text = None;
    let order = tabular::names_in_order(raw);
    let mut show = |content: &Content<'_>, space, frame: &mut Frame, masker: &mut Masker<'_>| {
        let limit = limits.rows;
        let order = &order;
        let part = Part { content, offset: 0, limit, space, columns: &[], order, first: true };
        let excerpt = excerpt::of_content(redactor, limits, &part, masker);
        frame.content.push(json!({ "type": "text", "text": excerpt.text }));
        shown_text.get_or_insert(excerpt.text);
        cut.notes.extend(excerpt.note);
        excerpt.next
    };
    let mut next = None;
    let mut fieldless = 0;
    let mut other_notes = Vec::new();
    let mut fields_beside = false;
    for (block, share) in shown_blocks.into_iter().zip(shares) {
        let Some(text) = block.get("text").and_then(Value::as_str) else {
            if limits.allowed.is_none() {
                let (block, note) = block_excerpt::of_masked(block.into_owned(), share, limits);
                frame.content.push(block);
                other_notes.extend(note);
            } else {
                fieldless += 1;
            }
            continue;
        };
        fields_beside |= blocks::texts(&block).len() > 1;
        let content =
            if single { Content::read_rows(&raw.content) } else { Content::of_text(text) };
        let found = show(&content, share, frame, masker);
        next = next.or(found.filter(|_| single));
    }
    if let Some(share) = own_share {
        next = show(&Content::read_rows(&raw.content), share, frame, masker);
    }
    cut.next = next;
    cut.notes.extend(other_notes);
    cut.notes.extend(fields_beside.then(|| "Fields beside a text are not shown.".to_owned()));
    let unshown = "A block without fields is not shown.".to_owned();
    cut.notes.extend(std::iter::repeat_n(unshown, fieldless));
    frame.structured =
        structured.map(Cow::Borrowed).or_else(|| structure_of(raw, limits)).and_then(|value| {
            let wrapped = shown_text.and_then(|text| masker.wrapped(&value, &blocks, &text));
            wrapped.or_else(|| shortened(&value, limits, masker))
        });
    cut
}

/// The blocks as their shares are measured: those without a text of their own as they are shown.
fn shown_blocks<'b>(
    blocks: &'b [Value],
    limits: &Limits,
    masker: &mut Masker<'_>,
) -> Vec<Cow<'b, Value>> {
    let has_text = |block: &Value| block.get("text").is_some_and(Value::is_string);
    let shown = blocks.iter().map(|block| match limits.allowed {
        None if !has_text(block) => Cow::Owned(masker.block(block)),
        _ => Cow::Borrowed(block),
    });
    shown.collect()
}

/// True where the content is shown in a block of its own: it is JSON that came without blocks and
/// is far too large to be laid out as one, or a structured value that the text beside it does not
/// repeat.
fn is_apart(raw: &RawResult, limits: &Limits) -> bool {
    let Some(laid_out) = &raw.blocks else { return is_far_too_large(raw, limits) };
    let Some(value) = &laid_out.structured else { return false };
    let is_content = || match &raw.content {
        RawContent::Json(content) => content == value,
        RawContent::Rows(rows) => rows.to_value() == *value,
        RawContent::Text(_) | RawContent::Binary { .. } => false,
    };
    !blocks::repeats(&laid_out.blocks, value) && is_content()
}

/// The structured value of a result that is too large to have been kept as it was laid out; of many
/// rows as many as are shown of any list.
fn structure_of<'r>(raw: &'r RawResult, limits: &Limits) -> Option<Cow<'r, Value>> {
    let shown = SHORTENED[0].min(limits.rows);
    match (&raw.structured, &raw.content) {
        (StructuredContent::Beside(value), _) => Some(Cow::Borrowed(value)),
        (StructuredContent::Content, RawContent::Rows(rows))
            if raw.blocks.is_none() && rows.key().is_some() =>
        {
            Some(Cow::Owned(rows.with_list(rows.rows().take(shown).collect())))
        }
        (StructuredContent::Content, RawContent::Json(value))
            if raw.blocks.is_none() && value.is_object() =>
        {
            Some(Cow::Borrowed(value))
        }
        _ => None,
    }
}

/// A structured value with shorter lists, so that it still fits its schema; nothing where a host
/// restricts what may be seen of it.
fn shortened(value: &Value, limits: &Limits, masker: &mut Masker<'_>) -> Option<Value> {
    if limits.allowed.is_some() {
        return None;
    }
    let space = RenderBudget::of(limits);
    SHORTENED.into_iter().find_map(|items| {
        let items = items.min(limits.rows);
        let value = masker.structured(&pruned_json::with_lists_of(value, items), &[], &[]);
        space.holds(&value.to_string(), limits).then_some(value)
    })
}

/// The frame with its notes, warnings and the way to see more.
pub(crate) fn finish(
    mut frame: Frame,
    raw: &RawResult,
    FrameNotes { notes, next }: FrameNotes,
    masker: Masker<'_>,
) -> Frame {
    let (counts, masks) = masker.counts();
    frame.notes = notes;
    frame.notes.extend(masks);
    let own = raw.notes.iter().map(|note| masker_line(note));
    frame.notes.extend(own);
    frame.next = next.filter(|_| frame.handle.is_some());
    frame.warnings = counts.into_iter().map(|(kind, count)| Warning { kind, count }).collect();
    for finding in &raw.findings {
        frame.warnings.push(Warning { kind: (*finding).to_owned(), count: 1 });
    }
    frame
}

/// The structured value of a frame, where no text of it says the same.
pub(crate) fn unrepeated(frame: &Frame) -> Option<&Value> {
    frame.structured.as_ref().filter(|value| !blocks::repeats(&frame.content, value))
}

/// What is to be said under a frame: what was cut, and the query that shows it.
#[derive(Default)]
pub(crate) struct FrameNotes {
    pub(crate) notes: Vec<String>,
    pub(crate) next: Option<Value>,
}

/// A line of the driver: its words may repeat a server's.
fn masker_line(note: &str) -> String {
    let clean = Redactor::builtin().text(note, &mut crate::redact::Counts::new()).into_owned();
    weaver_text::escape::line(&clean).into_owned()
}

#[cfg(test)]
mod tests;
