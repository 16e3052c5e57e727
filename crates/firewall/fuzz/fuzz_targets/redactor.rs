//! Redaction: a stream gives what the whole text gives, the places are those of the masks, and what
//! was redacted stays as it is.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use weaver_firewall::{Firewall, MASK};

static FIREWALL: LazyLock<Firewall> = LazyLock::new(Firewall::new);

fuzz_target!(|input: (u64, u8, &str)| {
    let (sizes, repeat, part) = input;
    // Repeated, so that texts get longer than one step of the machine.
    let text = part.repeat(1 + usize::from(repeat % 24));
    let whole = FIREWALL.redact_text(&text);
    let spans = FIREWALL.value_spans(&text);

    let mut rebuilt = String::new();
    let mut at = 0;
    for span in &spans {
        assert!(at <= span.range.start && span.range.start < span.range.end);
        rebuilt.push_str(&text[at..span.range.start]);
        rebuilt.push_str(MASK);
        at = span.range.end;
    }
    rebuilt.push_str(&text[at..]);
    assert_eq!(rebuilt, whole.text, "the places are not those of the masks");

    let mut stream = FIREWALL.stream_redactor().with_spans();
    let mut out = String::new();
    let mut rest = text.as_str();
    let sizes = sizes.to_le_bytes();
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let size = sizes.next().map_or(64, |size| 1 + usize::from(*size));
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(size.min(rest.len())));
        out.push_str(&stream.push(piece));
        rest = after;
    }
    out.push_str(&stream.finish());
    assert_eq!(out, whole.text, "the stream gives something else");
    assert_eq!(stream.spans(), spans);

    assert_eq!(FIREWALL.redact_text(&whole.text).text, whole.text, "a second time masks more");
});
