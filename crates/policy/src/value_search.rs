//! Searches a value for texts, at whatever depth.

use serde_json::Value;

use crate::critical::PathStep;

/// A text in a value.
#[derive(Clone, Copy)]
pub(crate) enum ValueText<'v> {
    /// The name of a member, and its value.
    Name(&'v str, &'v Value),
    Text(&'v str),
}

impl<'v> ValueText<'v> {
    pub(crate) fn as_str(self) -> &'v str {
        match self {
            Self::Name(text, _) | Self::Text(text) => text,
        }
    }
}

/// The first thing that `find` returns for a text below a path. The name of a member comes with the path
/// of its object.
pub(crate) fn find_in_texts<'v, T>(
    value: &'v Value,
    at: &mut Vec<PathStep<'v>>,
    find: &mut dyn FnMut(ValueText<'v>, &[PathStep<'v>]) -> Option<T>,
) -> Option<T> {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
        Value::String(text) => find(ValueText::Text(text), at),
        Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
            at.push(PathStep::item(index));
            let found = find_in_texts(item, at, find);
            at.pop();
            found
        }),
        Value::Object(members) => members.iter().find_map(|(name, member)| {
            let found = find(ValueText::Name(name, member), at);
            at.push(PathStep::member(name));
            let found = found.or_else(|| find_in_texts(member, at, find));
            at.pop();
            found
        }),
    }
}

/// Whether a text in a value passes a test, or the name of a member.
pub(crate) fn any_text(value: &Value, test: impl Fn(&str) -> bool) -> bool {
    let mut find = |text: ValueText<'_>, _: &[PathStep<'_>]| test(text.as_str()).then_some(());
    find_in_texts(value, &mut Vec::new(), &mut find).is_some()
}
