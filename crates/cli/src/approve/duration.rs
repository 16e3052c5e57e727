//! Parses points in time, and prints durations for people.

use std::time::Duration;

use weaver_types::Timestamp;

use crate::{Exit, Failure, age};

/// A time in RFC 3339, or a span from now such as `90m` or `7d`.
pub(super) fn parse_time(text: &str, now: Timestamp) -> Result<Timestamp, Failure> {
    age::parse(text)
        .ok()
        .map(|span| now.after(span))
        .or_else(|| Timestamp::parse_rfc3339(text))
        .ok_or_else(|| {
            let shown = weaver_text::escape::line(weaver_text::escape::truncate(text, 80));
            let message = format!("`{shown}` is neither a time nor a span");
            Failure::new(Exit::Usage, "approve.time", message).with_next_step(
                "write RFC 3339, such as 2027-01-31T00:00:00Z, or a span such as 2h or 7d",
            )
        })
}

/// A duration in the largest unit that fits: `12 min`.
pub(crate) fn duration_text(span: Duration) -> String {
    match span.as_secs() {
        s @ 0..120 => format!("{s} s"),
        s @ 120..7_200 => format!("{} min", s / 60),
        s @ 7_200..172_800 => format!("{} h", s / 3_600),
        s => format!("{} days", s / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_spans_are_read() {
        let now = Timestamp::from_micros(1_800_000_000_000_000);
        assert_eq!(parse_time("90m", now).unwrap(), now.after(Duration::from_secs(5_400)));
        assert_eq!(parse_time("7d", now).unwrap(), now.after(Duration::from_secs(604_800)));
        assert_eq!(parse_time(&now.rfc3339(), now).unwrap(), now);
        for wrong in ["", "d", "-1h", "1.5h", "1 h", "tomorrow", "99999999999999999999s", "ß"] {
            assert_eq!(parse_time(wrong, now).unwrap_err().code, "approve.time", "{wrong}");
        }
    }

    #[test]
    fn spans_are_said_in_one_unit() {
        let said = [0, 119, 120, 7_199, 7_200, 172_799, 172_800]
            .map(|seconds| duration_text(Duration::from_secs(seconds)));
        assert_eq!(said, ["0 s", "119 s", "2 min", "119 min", "2 h", "47 h", "2 days"]);
    }
}
