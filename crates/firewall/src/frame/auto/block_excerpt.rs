//! A block that is no text, within its space: whole, with an excerpt of the document that it
//! embeds, or described.

use serde_json::{Value, json};

use super::part::Part;
use super::{RenderBudget, blocks, text};
use crate::content::Content;
use crate::spec::Limits;

/// What is shown of a masked block, and what is to be said of it.
pub(super) fn of_masked(
    mut block: Value,
    space: RenderBudget,
    limits: &Limits,
) -> (Value, Option<String>) {
    if left_beside(&block, space, limits).is_some() {
        return (block, None);
    }
    let size = block.to_string().len();
    let document = block.pointer_mut("/resource/text").filter(|text| text.is_string());
    if let Some(Value::String(document)) = document.map(Value::take)
        && let Some(space) = left_beside(&block, space, limits)
    {
        let content = Content::Text(&document);
        let (columns, order) = (&[], &[]);
        let part = Part {
            content: &content,
            offset: 0,
            limit: limits.rows,
            space,
            columns,
            order,
            first: true,
        };
        let excerpt = text::excerpt(&document, &part, limits);
        if let Some(text) = block.pointer_mut("/resource/text") {
            *text = Value::String(excerpt.text);
        }
        return (block, excerpt.note);
    }
    let said = format!("(a block of {size} bytes, not shown)");
    let note = "A block that is too large is not shown.".to_owned();
    (json!({ "type": "text", "text": said }), Some(note))
}

/// What is left of the space beside a block; nothing where the block does not fit.
fn left_beside(block: &Value, space: RenderBudget, limits: &Limits) -> Option<RenderBudget> {
    blocks::texts(block).iter().try_fold(space, |left, text| {
        if !left.holds(text, limits) {
            return None;
        }
        let tokens = left.tokens - left.size(text, limits);
        let chars = match left.chars {
            usize::MAX => usize::MAX,
            chars => chars - text.chars().count(),
        };
        Some(RenderBudget { tokens, chars })
    })
}
