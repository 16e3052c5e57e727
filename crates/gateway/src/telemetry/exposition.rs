//! The Prometheus text exposition format, version 0.0.4.

use std::fmt::Write as _;

use super::family::{MetricFamily, MetricKind, Sample, SampleValue};
use super::histogram::{BOUNDS, Histogram};

/// The media type of the format.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Renders metrics as text.
pub(crate) fn render(families: &[MetricFamily]) -> String {
    let mut out = String::new();
    for family in families {
        let kind = match family.kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        let help = family.help.replace('\\', "\\\\").replace('\n', "\\n");
        let name = family.name;
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for sample in &family.samples {
            match &sample.value {
                SampleValue::Number(number) => {
                    let _ = writeln!(out, "{name}{} {number}", labels(sample, None));
                }
                SampleValue::Histogram(found) => histogram(&mut out, name, sample, found),
            }
        }
    }
    out
}

/// Writes a histogram; in this format each bucket includes the ones below it.
fn histogram(out: &mut String, name: &str, sample: &Sample, found: &Histogram) {
    let mut up_to = 0;
    for (bound, count) in BOUNDS.iter().zip(found.counts) {
        up_to += count;
        let _ = writeln!(out, "{name}_bucket{} {up_to}", labels(sample, Some(&bound.to_string())));
    }
    let Histogram { count, sum, .. } = found;
    let _ = writeln!(out, "{name}_bucket{} {count}", labels(sample, Some("+Inf")));
    let label_text = labels(sample, None);
    let _ = writeln!(out, "{name}_sum{label_text} {sum}\n{name}_count{label_text} {count}");
}

/// The labels in braces; empty if there are none.
fn labels(sample: &Sample, bound: Option<&str>) -> String {
    let pairs = sample.labels.iter().map(|(name, value)| (*name, value.as_str()));
    let all: Vec<String> = pairs
        .chain(bound.map(|bound| ("le", bound)))
        .map(|(name, value)| {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            format!("{name}=\"{value}\"")
        })
        .collect();
    if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn buckets_grow_and_label_values_are_escaped() {
        let mut times = Histogram::default();
        times.record(Duration::from_millis(3));
        times.record(Duration::from_secs(1_000));
        let names = ["x_seconds", "x", "s"];
        let family = MetricFamily::new(MetricKind::Histogram, names, "A\nb\\")
            .with(&[("server", "a\"\\\n")], SampleValue::Histogram(Box::new(times)));
        let text = render(&[family]);
        assert!(text.starts_with("# HELP x_seconds A\\nb\\\\\n# TYPE x_seconds histogram\n"));
        for line in [
            "x_seconds_bucket{server=\"a\\\"\\\\\\n\",le=\"0.002\"} 0",
            "x_seconds_bucket{server=\"a\\\"\\\\\\n\",le=\"0.005\"} 1",
            "x_seconds_bucket{server=\"a\\\"\\\\\\n\",le=\"300\"} 1",
            "x_seconds_bucket{server=\"a\\\"\\\\\\n\",le=\"+Inf\"} 2",
            "x_seconds_count{server=\"a\\\"\\\\\\n\"} 2",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
