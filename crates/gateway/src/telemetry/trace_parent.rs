//! The trace context in the `_meta` of a message: W3C Trace Context, as MCP carries it.

use serde_json::{Map, Value};

/// The key of the context in `_meta`.
pub(crate) const META_KEY: &str = "traceparent";
const SAMPLED: u8 = 1;

tokio::task_local! {
    /// The context of the HTTP request that is processed.
    static REQUEST_PARENT: TraceParent;
}

/// The trace and span that a message belongs to: the `traceparent` of W3C Trace Context.
///
/// `tracestate` and `baggage` are not forwarded: they are free text, which would reach a server
/// without passing the policy and the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TraceParent {
    pub(crate) trace: [u8; 16],
    pub(crate) span: [u8; 8],
    pub(crate) sampled: bool,
}

impl TraceParent {
    /// The context of a request, if it has a well-formed one.
    pub(crate) fn from_params(params: &Map<String, Value>) -> Option<Self> {
        Self::parse(params.get("_meta")?.get(META_KEY)?.as_str()?)
    }

    /// Processes an HTTP request that has this context in its header.
    pub(crate) async fn scope_request<F: Future>(self, request: F) -> F::Output {
        REQUEST_PARENT.scope(self, request).await
    }

    /// The context of the HTTP request that this task processes.
    pub(crate) fn of_http_request() -> Option<Self> {
        REQUEST_PARENT.try_get().ok()
    }

    /// Parses the text form. Extra fields of later versions are ignored, as the recommendation
    /// asks.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split('-');
        let (version, trace) = (parse_hex::<1>(fields.next()?)?, parse_hex::<16>(fields.next()?)?);
        let (span, flags) = (parse_hex::<8>(fields.next()?)?, parse_hex::<1>(fields.next()?)?);
        let is_well_formed = match version {
            [0xff] => return None,
            [0] => fields.next().is_none(),
            _ => true,
        };
        let [flags] = flags;
        let sampled = flags & SAMPLED != 0;
        (is_well_formed && trace != [0; 16] && span != [0; 8]).then_some(Self {
            trace,
            span,
            sampled,
        })
    }

    /// The text form.
    pub(crate) fn to_text(self) -> String {
        let flags = u8::from(self.sampled);
        format!("00-{}-{}-{flags:02x}", hex(&self.trace), hex(&self.span))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Exactly `N` bytes of lower-case hexadecimal digits.
fn parse_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, odd_digit) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !odd_digit.is_empty() {
        return None;
    }
    let mut out = [0; N];
    for (byte, [high, low]) in out.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_recommendation_are_read_and_others_are_not() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let parsed = TraceParent::parse(text).unwrap();
        assert_eq!((parsed.to_text().as_str(), parsed.sampled), (text, true));
        let off = TraceParent::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00");
        assert!(!off.unwrap().sampled);
        let later = "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes";
        assert_eq!(TraceParent::parse(later).unwrap().to_text(), text);
        for bad in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e47-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473ß-00f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceParent::parse(bad), None, "{bad}");
        }
    }
}
