//! An item as a block of text.
//!
//! Each item is a heading in brackets at the start of a line, then its text. No line of a text
//! begins with a bracket, so that nothing inside an item can pass for another one.

use weaver_text::escape;
use weaver_types::Integrity;

use crate::compile::ContextItem;

/// One item with its heading, ending in an empty line.
pub(super) fn block(item: &ContextItem) -> String {
    block_of(item, item.text())
}

/// The same with another text in place of its own.
pub(super) fn block_of(item: &ContextItem, text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 24);
    out.push('[');
    out.push_str(item.kind().heading());
    if item.kind().marks_trust() && item.label().integrity == Integrity::Untrusted {
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
