//! A block other than text within its budget: shown whole, with an excerpt of its embedded
//! document, or replaced by a description.

use serde_json::{Value, json};

use super::excerpt_request::{Continuation, ExcerptRequest};
use super::{RenderBudget, blocks, text};
use crate::content::Content;
use crate::spec::EffectiveLimits;

/// What is left out of a block: the note about it, and where the rest of its document begins.
pub(super) struct Omission {
    pub(super) note: Option<String>,
    pub(super) rest: Option<Continuation>,
}

/// What is shown of a masked block; where something is left out, also what.
pub(super) fn of_masked_block(
    mut block: Value,
    budget: RenderBudget,
    limits: &EffectiveLimits,
) -> (Value, Option<Omission>) {
    if budget_after(&block, budget, limits).is_some() {
        return (block, None);
    }
    let size = block.to_string().len();
    let document = block.pointer_mut("/resource/text").filter(|text| text.is_string());
    if let Some(Value::String(document)) = document.map(Value::take)
        && let Some(remaining) = budget_after(&block, budget, limits)
    {
        let content = Content::Text(&document);
        let (columns, column_order) = (&[], &[]);
        let request = ExcerptRequest {
            content: &content,
            offset: 0,
            char_offset: 0,
            limit: None,
            budget: remaining,
            columns,
            column_order,
            separator: ',',
            is_first_page: true,
            has_json_views: false,
        };
        let excerpt = text::excerpt(&document, || None, &request, limits);
        if let Some(text) = block.pointer_mut("/resource/text") {
            *text = Value::String(excerpt.text);
        }
        return (block, Some(Omission { note: excerpt.note, rest: excerpt.rest }));
    }
    let description = format!("(a block of {size} bytes, not shown)");
    let note = "A block that is too large is not shown.".to_owned();
    (
        json!({ "type": "text", "text": description }),
        Some(Omission { note: Some(note), rest: None }),
    )
}

/// The budget that is left after a block; `None` if the block does not fit.
fn budget_after(
    block: &Value,
    budget: RenderBudget,
    limits: &EffectiveLimits,
) -> Option<RenderBudget> {
    blocks::readable_texts(block).iter().try_fold(budget, |left, text| {
        if !left.fits_text(text, limits) {
            return None;
        }
        let tokens = left.tokens - left.token_count(text, limits);
        let chars = match left.chars {
            usize::MAX => usize::MAX,
            chars => chars - text.chars().count(),
        };
        Some(RenderBudget { tokens, chars })
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::with_limits;
    use super::*;

    #[test]
    fn what_a_block_takes_of_a_budget_is_gone() {
        let block = json!({ "type": "resource", "resource": { "text": "abcd efgh", "uri": "a" } });
        let left = |tokens: usize, chars: usize| {
            with_limits(8_000, None, |limits| {
                let budget = RenderBudget { tokens, chars };
                budget_after(&block, budget, limits).map(|left| (left.tokens, left.chars))
            })
        };
        let (tokens, chars) = left(1_000, 100).unwrap();
        assert_eq!(chars, 90);
        let taken = 1_000 - tokens;
        assert!((2..10).contains(&taken), "{taken}");
        assert_eq!(left(taken, 10), Some((0, 0)));
        assert_eq!((left(taken - 1, 10), left(taken, 9)), (None, None));
        assert_eq!(left(taken, usize::MAX), Some((0, usize::MAX)));
    }
}
