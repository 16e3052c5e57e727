//! Writes the log messages of a gateway to standard error, one a line: as text or as JSON objects.
//!
//! Only messages of our own crates are written. What libraries log at their lower levels holds
//! headers and bodies, which may be secret.

use std::fmt::{self, Write as _};
use std::io::IsTerminal as _;
use std::panic;

use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, filter};
use weaver_gateway::config::LogFormat;
use weaver_types::{Clock as _, SystemClock};

/// The longest message, and the longest value of a field, in bytes before they are escaped.
const MAX_MESSAGE_BYTES: usize = 4096;
const MAX_VALUE_BYTES: usize = 1024;
/// The most fields of a message.
const MAX_FIELDS: usize = 16;
/// Marks a text that was cut.
const ELLIPSIS: char = '…';

/// Starts writing messages to standard error: those that `WEAVER_LOG` selects; by default warnings
/// as text, and in JSON also what the gateway does.
pub(crate) fn start(format: LogFormat) {
    let (text, json) = match format {
        LogFormat::Text => ("warn", false),
        LogFormat::Json => ("info", true),
    };
    let level_filter =
        EnvFilter::try_from_env("WEAVER_LOG").unwrap_or_else(|_| EnvFilter::new(text));
    let our_crates = filter::filter_fn(is_from_our_crates);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let registry = tracing_subscriber::registry().with(level_filter);
    // A host that has its own logger keeps it.
    let _ = if json {
        panic::set_hook(Box::new(|panicked| {
            let place = panicked.location().map(ToString::to_string).unwrap_or_default();
            tracing::error!(place, "a part of the gateway stopped at an error in the program");
        }));
        registry
            .with(lines.event_format(JsonLineFormat::default()).with_filter(our_crates))
            .try_init()
    } else {
        let lines = lines.with_ansi(std::io::stderr().is_terminal());
        registry.with(lines.with_filter(our_crates)).try_init()
    };
}

/// Whether a message comes from our own crates.
fn is_from_our_crates(metadata: &Metadata<'_>) -> bool {
    let target = metadata.target();
    ["weaver", "contextweaver"].into_iter().any(|name| target.starts_with(name))
}

/// One JSON object a line: `time`, `level`, `target`, `message`, and the fields under `fields`.
#[derive(Default)]
struct JsonLineFormat {
    clock: SystemClock,
}

impl<S, N> FormatEvent<S, N> for JsonLineFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut recorded = EventFields::default();
        event.record(&mut recorded);
        let metadata = event.metadata();
        let mut line = json!({
            "time": self.clock.now().rfc3339(),
            "level": metadata.level().as_str(),
            "target": metadata.target(),
            "message": recorded.message,
        });
        if let (Some(line), false) = (line.as_object_mut(), recorded.fields.is_empty()) {
            line.insert("fields".to_owned(), Value::Object(recorded.fields));
        }
        writeln!(writer, "{line}")
    }
}

/// The message of an event, and its fields.
#[derive(Default)]
struct EventFields {
    message: String,
    fields: Map<String, Value>,
}

impl EventFields {
    fn put(&mut self, field: &Field, value: Value) {
        if self.fields.len() < MAX_FIELDS {
            self.fields.insert(field.name().to_owned(), value);
        }
    }

    fn put_text(&mut self, field: &Field, text: fmt::Arguments<'_>) {
        match field.name() {
            "message" => self.message = bounded(text, MAX_MESSAGE_BYTES),
            _ => self.put(field, Value::String(bounded(text, MAX_VALUE_BYTES))),
        }
    }
}

impl Visit for EventFields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put_text(field, format_args!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put_text(field, format_args!("{value}"));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, json!(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, json!(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, json!(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, json!(value));
    }
}

/// The text up to a length. The rest is never formatted into memory.
fn bounded(text: fmt::Arguments<'_>, max_bytes: usize) -> String {
    let mut out = BoundedText { text: String::new(), max_bytes };
    if out.write_fmt(text).is_err() {
        out.text.push(ELLIPSIS);
    }
    out.text
}

struct BoundedText {
    text: String,
    max_bytes: usize,
}

impl fmt::Write for BoundedText {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let remaining = self.max_bytes.saturating_sub(self.text.len());
        if more.len() <= remaining {
            self.text.push_str(more);
            return Ok(());
        }
        for symbol in more.chars() {
            if self.text.len() + symbol.len_utf8() > self.max_bytes {
                break;
            }
            self.text.push(symbol);
        }
        Err(fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(bounded(format_args!("{}{}", "ab", "cd"), 4), "abcd");
        assert_eq!(bounded(format_args!("{}{}", "ab", "ßd"), 3), "ab…");
        assert_eq!(bounded(format_args!("{}", "x".repeat(5_000)), 8), "xxxxxxxx…");
    }

    #[test]
    fn an_event_is_one_line_of_json_whatever_stands_in_it() {
        use std::sync::{Arc, Mutex};

        #[derive(Clone, Default)]
        struct Buffer(Arc<Mutex<Vec<u8>>>);

        impl std::io::Write for Buffer {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0.lock().unwrap().extend_from_slice(bytes);
                Ok(bytes.len())
            }

            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }

        let buffer = Buffer::default();
        let sink = buffer.clone();
        let lines = tracing_subscriber::fmt::layer()
            .event_format(JsonLineFormat::default())
            .with_writer(move || sink.clone())
            .with_filter(filter::filter_fn(is_from_our_crates));
        let registry = tracing_subscriber::registry().with(lines);
        tracing::subscriber::with_default(registry, || {
            let error = "line\n{\"level\":\"ERROR\"}\u{1b}[31m";
            tracing::warn!(target: "weaver_gateway", error, calls = 3, odd = f64::NAN, "a\nb");
            tracing::error!(target: "weaver_gateway", "{}", "y".repeat(1_000_000));
            tracing::error!(target: "hyper", "authorization: Bearer abc");
        });
        let text = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert_eq!(lines[0]["message"], "a\nb");
        assert_eq!(lines[0]["fields"]["error"], "line\n{\"level\":\"ERROR\"}\u{1b}[31m");
        assert_eq!(lines[0]["fields"]["calls"], 3);
        assert_eq!(lines[0]["level"], "WARN");
        assert!(text.len() < 2 * MAX_MESSAGE_BYTES, "{}", text.len());
    }
}
