//! Mode `auto`: the whole result with values masked if it fits, otherwise its most useful part. A
//! text of more than twice the budget is not masked to find out whether it fits then.
//!
//! A result within the budget keeps its blocks, their order and its structured value; nothing is
//! added. Of a larger one, each text block gets a share of the budget: small blocks are shown
//! whole, and the rest of the budget is divided equally among the others (max-min fairness). Each
//! of them is then cut according to its format, see [`excerpt`].

mod block_budgets;
mod block_continuation;
mod block_excerpt;
mod blocks;
mod cut_text;
mod excerpt;
mod excerpt_request;
mod hidden_characters;
mod pruned_json;
mod render_budget;
mod resource_address;
mod structured_value;
mod table;
mod text;
mod verbatim_content;

use std::borrow::Cow;

use serde_json::{Value, json};
use weaver_types::{ContentBlocks, Frame, RawContent, RawResult, Warning};

use self::block_continuation::CutBlock;
use self::block_excerpt::Omission;
use self::render_budget::SharedBudget;
use super::build::empty_frame;
use crate::content::{Content, Shape};
use crate::redact::Redactor;
use crate::spec::{EffectiveLimits, FrameSpec};
use crate::tabular;

pub(crate) use excerpt::{of_content as excerpt_of, of_rows as excerpt_table};
pub(crate) use excerpt_request::{Continuation, Excerpt, ExcerptRequest};
pub(crate) use render_budget::RenderBudget;
pub(crate) use text::{PageEnd, fitting_chars, page_of_lines};
pub(crate) use verbatim_content::Masker;

/// The note on a text whose lines can be queried as rows.
const LINES_ARE_ROWS: &str = "`filter`, `sort` and `group_by` read its lines as rows.";

/// Builds the first frame of a result in mode `auto`.
pub(crate) fn build(
    redactor: &Redactor,
    raw: &RawResult,
    spec: &FrameSpec<'_>,
    limits: &EffectiveLimits,
) -> Frame {
    let mut masker = Masker::new(redactor, limits);
    let mut frame = empty_frame(raw, spec, limits.mode);
    let may_fit_whole = limits.allowed.is_none()
        && !is_far_too_large(raw, limits)
        && !has_too_many_rows(raw, limits);
    let cut = match if may_fit_whole { whole_content(raw, limits, &mut masker) } else { None } {
        Some((content, structured)) => {
            (frame.content, frame.structured) = (content, structured);
            FrameNotes::default()
        }
        None => {
            // Start over: what was masked in the failed attempt must not be counted.
            masker = Masker::new(redactor, limits);
            fill_excerpts(redactor, raw, limits, &mut masker, &mut frame)
        }
    };
    finish_frame(frame, raw, cut, masker)
}

/// All blocks and the structured value, masked; `None` if they exceed the budget.
fn whole_content(
    raw: &RawResult,
    limits: &EffectiveLimits,
    masker: &mut Masker<'_>,
) -> Option<(Vec<Value>, Option<Value>)> {
    let (blocks, structured) = blocks::of_result(raw);
    let bytes: usize = blocks.iter().map(blocks::text_bytes).sum();
    if bytes > limits.max_text_bytes() || has_text_of_twice_the_budget(&blocks, limits) {
        return None;
    }
    let is_repeated = |value| {
        blocks::text_repeats(&blocks, value)
            || blocks::texts_repeat_rows(&blocks, value)
            || ContentBlocks::are_listed_in(&blocks, value)
    };
    let repeated = structured.is_some_and(is_repeated);
    let mut budget = SharedBudget::from_limits(limits);
    let mut shown = Vec::with_capacity(blocks.len());
    for block in blocks.iter() {
        let block = masker.block(block);
        if !blocks::readable_texts(&block).into_iter().all(|text| budget.add(text)) {
            return None;
        }
        shown.push(block);
    }
    let structured = structured.map(|value| match repeated {
        // What the reader sees twice is one value.
        true => masker.without_counting(|masker| masker.structured(value, &blocks, &shown)),
        false => masker.structured(value, &blocks, &shown),
    });
    let unrepeated = structured.as_ref().filter(|_| !repeated);
    let fits = unrepeated.is_none_or(|value| budget.add(Cow::Owned(value.to_string())));
    fits.then_some((shown, structured))
}

/// True if a text does not fit even if masks halve it. It is not scanned to find out.
fn has_text_of_twice_the_budget(blocks: &[Value], limits: &EffectiveLimits) -> bool {
    let RenderBudget { tokens, chars } = RenderBudget::from_limits(limits);
    let twice = RenderBudget { tokens: tokens.saturating_mul(2), chars: chars.saturating_mul(2) };
    let mut texts = blocks.iter().filter_map(|block| block.get("text")?.as_str());
    texts.any(|text| !twice.fits_text(text, limits))
}

/// True for JSON without blocks that cannot fit into any frame. It is measured without being
/// serialised into the one text block that it would become.
fn is_far_too_large(raw: &RawResult, limits: &EffectiveLimits) -> bool {
    match (&raw.blocks, &raw.content) {
        (None, RawContent::Json(value)) => {
            crate::frame::json_len_within(value, limits.max_text_bytes()).is_none()
        }
        (None, RawContent::Rows(rows)) => rows.text().len() > limits.max_text_bytes(),
        _ => false,
    }
}

/// True if a rule limits the rows and there are more: in the content, in a block, or in a list of
/// the structured value.
fn has_too_many_rows(raw: &RawResult, limits: &EffectiveLimits) -> bool {
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
        texts.any(|text| has_more(&Content::from_text(text, tabular::rows)))
            || structured.is_some_and(|value| pruned_json::has_list_longer_than(value, limits.rows))
    };
    has_more(&Content::read_tabular(&raw.content)) || raw.blocks.as_ref().is_some_and(is_beyond)
}

/// Fills the frame with the most useful part of every block.
fn fill_excerpts(
    redactor: &Redactor,
    raw: &RawResult,
    limits: &EffectiveLimits,
    masker: &mut Masker<'_>,
    frame: &mut Frame,
) -> FrameNotes {
    let is_separate = shows_content_separately(raw, limits);
    let (blocks, structured) = match (&raw.blocks, is_separate) {
        (None, true) => (Cow::Owned(Vec::new()), None),
        _ => match blocks::of_result(raw) {
            // Shown once, as the rows of the structured value.
            (blocks, Some(value)) if is_separate && blocks::texts_repeat_rows(&blocks, value) => {
                (Cow::Owned(Vec::new()), Some(value))
            }
            laid_out => laid_out,
        },
    };
    let single = !is_separate && (blocks::is_one_text(&blocks) || raw.blocks.is_none());
    let shown_blocks = shown_blocks(&blocks, limits, masker);
    let mut shares = block_budgets::allocate(&shown_blocks, usize::from(is_separate), limits);
    let content_share = if is_separate { shares.pop() } else { None };
    let mut cut = FrameNotes::default();
    let mut shown_text = None;
    let order = tabular::names_in_order(raw);
    let has_json_views = crate::view::has_json_views(&raw.content);
    let mut show = |(content, separator): (&Content<'_>, char),
                    budget,
                    frame: &mut Frame,
                    masker: &mut Masker<'_>| {
        let request = ExcerptRequest {
            content,
            separator,
            offset: 0,
            char_offset: 0,
            limit: None,
            budget,
            columns: &[],
            column_order: &order,
            is_first_page: true,
            has_json_views,
        };
        let excerpt = excerpt::of_content(redactor, limits, &request, masker)?;
        frame.content.push(json!({ "type": "text", "text": excerpt.text }));
        shown_text.get_or_insert(excerpt.text);
        Some((excerpt.note, excerpt.rest))
    };
    let mut single_rest = None;
    let mut cut_blocks = Vec::new();
    let (mut withheld_blocks, mut unshown_blocks) = (0, 0);
    let (mut has_extra_fields, mut has_rows_in_lines) = (false, false);
    for (index, (block, share)) in shown_blocks.into_iter().zip(shares).enumerate() {
        if share.tokens == 0 && blocks::text_bytes(&block) > 0 {
            unshown_blocks += 1;
            cut_blocks.push(CutBlock::unshown(index));
            continue;
        }
        let Some(text) = block.get("text").and_then(Value::as_str) else {
            if limits.allowed.is_none() {
                let (block, cut) =
                    block_excerpt::of_masked_block(block.into_owned(), share, limits);
                frame.content.push(block);
                cut_blocks.extend(cut.map(|Omission { note, rest }| CutBlock {
                    index,
                    note,
                    rest,
                }));
            } else {
                withheld_blocks += 1;
            }
            continue;
        };
        has_extra_fields |= blocks::readable_texts(&block).len() > 1;
        let content = match single {
            // A text without fields is not shown where only named fields may be seen.
            _ if limits.restricts_fields() && single => Content::read_tabular(&raw.content),
            _ if limits.restricts_fields() => Content::from_text(text, tabular::rows),
            true => Content::read_excerpted(&raw.content),
            false => Content::from_text(text, tabular::rows_of_data),
        };
        let table = (&content, tabular::separator(text));
        let Some((note, rest)) = show(table, share, frame, masker) else { continue };
        let is_cut = note.is_some() || rest.is_some();
        let is_file = || matches!(content, Content::Text(_)) && tabular::rows(text).is_some();
        has_rows_in_lines |= single && is_cut && is_file();
        match single {
            true => {
                cut.notes.extend(note);
                single_rest = single_rest.or(rest);
            }
            false => cut_blocks.extend(is_cut.then_some(CutBlock { index, note, rest })),
        }
    }
    cut.notes.extend(block_continuation::notes(&cut_blocks, blocks.len()));
    if let Some(share) = content_share {
        let shown = show((&Content::read_excerpted(&raw.content), ','), share, frame, masker);
        if let Some((note, rest)) = shown {
            cut.notes.extend(note);
            single_rest = rest;
        }
    }
    cut.next = match single || is_separate {
        true => Vec::from_iter(single_rest.map(|rest| rest.into_first_query(has_json_views))),
        false => block_continuation::rest_queries(redactor, raw, limits, cut_blocks),
    };
    cut.notes.extend(has_rows_in_lines.then(|| LINES_ARE_ROWS.to_owned()));
    cut.notes.extend(has_extra_fields.then(|| "Fields next to a text are not shown.".to_owned()));
    cut.notes.extend(
        (unshown_blocks > 0)
            .then(|| format!("Not shown for want of space: {unshown_blocks} more blocks.")),
    );
    let unshown = "A block without fields is not shown.".to_owned();
    cut.notes.extend(std::iter::repeat_n(unshown, withheld_blocks));
    frame.structured = structured
        .map(Cow::Borrowed)
        .or_else(|| structured_value::of_result(raw, limits))
        .and_then(|value| {
            let wrapped = shown_text.and_then(|text| masker.wrapped(&value, &blocks, &text));
            let wrapped =
                wrapped.or_else(|| masker.wrapped_blocks(&value, &blocks, &frame.content));
            wrapped.or_else(|| structured_value::shortened(&value, limits, masker))
        });
    cut
}

/// The blocks as their shares are computed: blocks without a text are masked first, since they are
/// shown as a whole.
fn shown_blocks<'b>(
    blocks: &'b [Value],
    limits: &EffectiveLimits,
    masker: &mut Masker<'_>,
) -> Vec<Cow<'b, Value>> {
    let has_text = |block: &Value| block.get("text").is_some_and(Value::is_string);
    let shown = blocks.iter().map(|block| match limits.allowed {
        None if !has_text(block) => Cow::Owned(masker.block(block)),
        _ => Cow::Borrowed(block),
    });
    shown.collect()
}

/// True if the content needs a block of its own: JSON without blocks that is far too large for one,
/// or a structured value that the text block does not repeat.
fn shows_content_separately(raw: &RawResult, limits: &EffectiveLimits) -> bool {
    let Some(laid_out) = &raw.blocks else { return is_far_too_large(raw, limits) };
    let Some(value) = &laid_out.structured else { return false };
    let is_content = || match &raw.content {
        RawContent::Json(content) => content == value,
        RawContent::Rows(rows) => rows.to_value() == *value,
        RawContent::Text(_) | RawContent::Binary { .. } => false,
    };
    !blocks::text_repeats(&laid_out.blocks, value) && is_content()
}

/// The frame with its notes, warnings and the queries for more.
pub(crate) fn finish_frame(
    mut frame: Frame,
    raw: &RawResult,
    FrameNotes { notes, next }: FrameNotes,
    masker: Masker<'_>,
) -> Frame {
    let redactor = masker.redactor();
    let (counts, masks) = masker.into_counts();
    frame.notes = notes;
    frame.notes.extend(masks);
    frame.notes.extend(hidden_characters::note(&frame, raw, redactor));
    let driver_notes = raw.notes.iter().map(|note| redacted_driver_note(note));
    frame.notes.extend(driver_notes);
    if frame.handle.is_some() {
        let mut next = next.into_iter();
        frame.next = next.next();
        frame.next_parts = next.collect();
    }
    frame.warnings = counts.into_iter().map(|(kind, count)| Warning { kind, count }).collect();
    for finding in &raw.findings {
        frame.warnings.push(Warning { kind: (*finding).to_owned(), count: 1 });
    }
    frame
}

/// The structured value of a frame, unless a text block repeats it.
pub(crate) fn unrepeated_structured(frame: &Frame) -> Option<&Value> {
    frame.structured.as_ref().filter(|value| !blocks::text_repeats(&frame.content, value))
}

/// Notes below a frame: what was cut, and the queries that show it, one for each part.
#[derive(Default)]
pub(crate) struct FrameNotes {
    pub(crate) notes: Vec<String>,
    pub(crate) next: Vec<Value>,
}

/// A note of the driver, redacted and escaped, since it may quote a server.
fn redacted_driver_note(note: &str) -> String {
    let clean =
        Redactor::builtin().redact_text(note, &mut crate::redact::Counts::new()).into_owned();
    weaver_text::escape::line(&clean).into_owned()
}

#[cfg(test)]
mod tests;
