//! A collector of traces and metrics: it decodes what it gets with the messages that OpenTelemetry
//! publishes.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
pub(super) use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use prost::Message as _;

/// A collector on this machine.
pub(super) struct Collector {
    address: String,
    told: Arc<Mutex<Told>>,
}

/// What it was told.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    pub(super) spans: Vec<Span>,
    /// The last value of each metric: the sum of its points, or the count of a histogram.
    pub(super) metrics: BTreeMap<String, u64>,
    /// The attributes of a point of each.
    pub(super) attributes: BTreeMap<String, BTreeMap<String, String>>,
    /// The attributes of the gateways that sent metrics, each once.
    pub(super) resources: BTreeSet<BTreeMap<String, String>>,
    /// Every request had the header that the configuration names.
    pub(super) authorized: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Span {
    pub(super) trace: String,
    pub(super) span: String,
    pub(super) parent: String,
    pub(super) name: String,
    pub(super) kind: SpanKind,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) failed: bool,
    pub(super) attributes: BTreeMap<String, String>,
}

impl Collector {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let told = Arc::new(Mutex::new(Told { authorized: true, ..Told::default() }));
        let shared = Arc::clone(&told);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, shared) = (stream.unwrap(), Arc::clone(&shared));
                std::thread::spawn(move || serve(&stream, &shared));
            }
        });
        Self { address, told }
    }

    pub(super) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn told(&self) -> Told {
        self.told.lock().unwrap().clone()
    }
}

fn serve(stream: &TcpStream, told: &Mutex<Told>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if line.trim().is_empty() {
                break;
            }
            head.push(line.trim().to_lowercase());
        }
        let field = |name: &str| head.iter().find_map(|line| line.strip_prefix(name));
        let length: usize = field("content-length: ").unwrap().parse().unwrap();
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        if field("content-encoding: ") == Some("gzip") {
            body = unzipped(&body);
        }
        assert_eq!(field("content-type: "), Some("application/x-protobuf"));
        let mut told = told.lock().unwrap();
        told.authorized &= field("authorization: ") == Some("bearer s3cret");
        match head[0].split(' ').nth(1).unwrap() {
            "/v1/traces" => told.spans.extend(spans(&body)),
            "/v1/metrics" => {
                let request = ExportMetricsServiceRequest::decode(body.as_slice()).unwrap();
                let resource = request.resource_metrics[0].resource.as_ref().unwrap();
                told.resources.insert(attributes(&resource.attributes));
                for Metric { name, value, attributes } in metrics(&body) {
                    told.metrics.insert(name.clone(), value);
                    told.attributes.entry(name).or_default().extend(attributes);
                }
            }
            other => panic!("{other}"),
        }
        let mut out = stream;
        out.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
    }
}

/// What a collector that passes messages on has compressed.
fn unzipped(body: &[u8]) -> Vec<u8> {
    let mut gzip = Command::new("gzip");
    let mut gzip = gzip.arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    gzip.stdin.take().unwrap().write_all(body).unwrap();
    gzip.wait_with_output().unwrap().stdout
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn attributes(pairs: &[KeyValue]) -> BTreeMap<String, String> {
    let pairs = pairs.iter().map(|pair| {
        let Some(any_value::Value::StringValue(text)) =
            pair.value.as_ref().and_then(|value| value.value.clone())
        else {
            panic!("{pair:?}")
        };
        (pair.key.clone(), text)
    });
    pairs.collect()
}

fn spans(body: &[u8]) -> Vec<Span> {
    let request = ExportTraceServiceRequest::decode(body).unwrap();
    let resource = request.resource_spans[0].resource.as_ref().unwrap();
    assert!(attributes(&resource.attributes).contains_key("service.name"));
    let scopes = request.resource_spans.iter().flat_map(|of| &of.scope_spans);
    let spans = scopes.flat_map(|scope| &scope.spans).map(|span| Span {
        trace: hex(&span.trace_id),
        span: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        name: span.name.clone(),
        kind: SpanKind::try_from(span.kind).unwrap(),
        from: span.start_time_unix_nano,
        to: span.end_time_unix_nano,
        failed: span.status.as_ref().is_some_and(|status| status.code() == StatusCode::Error),
        attributes: attributes(&span.attributes),
    });
    spans.collect()
}

struct Metric {
    name: String,
    value: u64,
    attributes: BTreeMap<String, String>,
}

fn metrics(body: &[u8]) -> Vec<Metric> {
    let request = ExportMetricsServiceRequest::decode(body).unwrap();
    let scopes = request.resource_metrics.iter().flat_map(|of| &of.scope_metrics);
    let metrics = scopes.flat_map(|scope| &scope.metrics).map(|metric| {
        let first = match metric.data.as_ref().unwrap() {
            Data::Gauge(gauge) => &gauge.data_points[0].attributes,
            Data::Sum(sum) => &sum.data_points[0].attributes,
            Data::Histogram(histogram) => &histogram.data_points[0].attributes,
            other => panic!("{other:?}"),
        };
        let number = |value: &Option<Value>| match value {
            Some(Value::AsInt(number)) => u64::try_from(*number).unwrap(),
            other => panic!("{other:?}"),
        };
        let value = match metric.data.as_ref().unwrap() {
            Data::Gauge(gauge) => gauge.data_points.iter().map(|at| number(&at.value)).sum(),
            Data::Sum(sum) => {
                assert!(sum.is_monotonic && sum.aggregation_temporality == 2);
                sum.data_points.iter().map(|at| number(&at.value)).sum()
            }
            Data::Histogram(histogram) => histogram
                .data_points
                .iter()
                .map(|at| {
                    assert_eq!(at.bucket_counts.len(), at.explicit_bounds.len() + 1);
                    assert_eq!(at.bucket_counts.iter().sum::<u64>(), at.count);
                    at.count
                })
                .sum(),
            other => panic!("{other:?}"),
        };
        Metric { name: metric.name.clone(), value, attributes: attributes(first) }
    });
    metrics.collect()
}
