//! Why masked values may not go to a tool, in words. No decision reads them.

use weaver_types::{MaskedValue, SinkKind, ValueFamily};

use crate::query::PolicyQuery;

/// The maximum number of masks that one reason names.
const MAX_NAMED_MASKS: usize = 3;

/// Why the first of these values, and what others, may not go to the tool.
pub(crate) fn describe_masked_values(
    query: &PolicyQuery<'_>,
    first: &MaskedValue,
    blocked: &[&MaskedValue],
) -> String {
    let descriptions: Vec<String> = blocked
        .iter()
        .take(MAX_NAMED_MASKS)
        .map(|one| format!("`{}` at `{}`", one.mask, one.place))
        .collect();
    let more = match blocked.len().saturating_sub(MAX_NAMED_MASKS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let origins: Vec<&str> = first.origins.iter().map(String::as_str).collect();
    let origin = if origins.is_empty() { "elsewhere".to_owned() } else { origins.join(", ") };
    let is_own_server = query.origin.is_some_and(|origin| first.origins.contains(origin));
    let rule = match first.family {
        _ if is_own_server && query.capability.sink() == SinkKind::None => {
            "the call names a host, so it could leave that server"
        }
        ValueFamily::Secret if is_own_server => {
            "a secret does not go back there with what sends, pays or names a host"
        }
        ValueFamily::Secret => "a secret goes back to its own origin only",
        ValueFamily::Personal => {
            "it may go back there and to local writes, and beyond that where the contract of the \
             tool has it in `accepts_masked`"
        }
    };
    format!(
        "{}{more} would go to `{}`: the {} comes from {origin}, and {rule}",
        descriptions.join(", "),
        query.capability.id(),
        first.kind.replace('_', " "),
    )
}
