//! Renders an item as a block of text.
//!
//! A block is a heading in brackets at the start of a line, then the text of the item. Lines of the
//! text that begin with a bracket are indented, so that no text can pass itself off as another
//! item.

use weaver_text::escape;
use weaver_types::Integrity;

use crate::compile::ContextItem;

/// The block of an item with its own text, ending in an empty line.
pub(super) fn render_block(item: &ContextItem) -> String {
    render_block_with_text(item, item.text())
}

/// The block of an item with another text in place of its own.
pub(super) fn render_block_with_text(item: &ContextItem, text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 24);
    out.push('[');
    out.push_str(item.kind().heading());
    if item.kind().shows_untrusted() && item.label().integrity == Integrity::Untrusted {
        out.push_str(" untrusted");
    }
    if let Some(handle) = item.handle() {
        out.push_str(&format!(" handle={handle}"));
    }
    out.push_str("]\n");
    for line in escape::block(text).split('\n') {
        if line.starts_with('[') {
            out.push(' ');
        }
        out.push_str(line);
        out.push('\n');
    }
    out.push('\n');
    out
}
