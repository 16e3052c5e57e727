//! Spans and metrics: what is reported, what never is, and that nothing is decided by it.

use std::collections::BTreeMap;

use opentelemetry::global;
use opentelemetry::trace::Status;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, SdkMeterProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use serde_json::json;
use weaver_agent_kernel::{Caller, DriverError, OTEL_AVAILABLE, block_on, instrument};
use weaver_types::{
    CapabilityDraft, Effects, ReasonCode, RunBudget, SafetyMode, TelemetrySettings, Verdict,
};

use crate::support::{Asked, World, ana, answer, draft, open_policy, succeeded};

fn world() -> World {
    let world = World::new(open_policy());
    world.tool("fs.read", Effects::READ_LOCAL).tool("disk.wipe", Effects::DESTROY_LOCAL);
    world.answering(draft("fs.fail", Effects::READ_LOCAL), |_| {
        Err(DriverError::Failed("no".to_owned()))
    });
    for (id, trace, metric) in [("quiet.trace", false, true), ("quiet.metric", true, false)] {
        let emit = TelemetrySettings { trace, metric };
        world.register(CapabilityDraft { emit, ..draft(id, Effects::READ_LOCAL) });
    }
    world
}

const IDS: [&str; 6] =
    ["fs.read", "fs.fail", "disk.wipe", "no.such", "quiet.trace", "quiet.metric"];

/// One call of each sort; how they came out.
fn play(world: &World) -> Vec<(Verdict, ReasonCode, bool)> {
    let run = world.run_with(RunBudget::unlimited(), SafetyMode::Normal);
    let call = |id: &&str| {
        let asked = Asked::new(id).with(json!({ "secret": "hunter2" }));
        let done = world.call(&run, &ana(), &asked);
        (answer(&done).0, answer(&done).1, succeeded(&done))
    };
    IDS.iter().map(call).collect()
}

fn attribute(span: &SpanData, key: &str) -> String {
    let key = format!("weaver_kernel.{key}");
    let found = span.attributes.iter().find(|one| one.key.as_str() == key);
    found.map(|one| one.value.to_string()).unwrap_or_default()
}

/// What a span says is wrong.
fn error(span: &SpanData) -> Option<&str> {
    match &span.status {
        Status::Error { description } => Some(description),
        _ => None,
    }
}

/// The milliseconds of a histogram, by the attributes of its points.
fn milliseconds(metrics: &InMemoryMetricExporter, name: &str) -> BTreeMap<String, f64> {
    let last = metrics.get_finished_metrics().unwrap().pop().unwrap();
    let all = last.scope_metrics().flat_map(|scope| scope.metrics());
    let mut out = BTreeMap::new();
    for metric in all.filter(|metric| metric.name() == name) {
        let AggregatedMetrics::F64(MetricData::Histogram(histogram)) = metric.data() else {
            continue;
        };
        for point in histogram.data_points() {
            let mut of: Vec<_> = point.attributes().map(|a| a.value.to_string()).collect();
            of.sort();
            out.insert(of.join(" "), point.sum());
        }
    }
    out
}

/// The sums of a counter, or the counts of a histogram, by their attributes.
fn points(metrics: &InMemoryMetricExporter, name: &str) -> BTreeMap<String, u64> {
    let last = metrics.get_finished_metrics().unwrap().pop().unwrap();
    let mut out = BTreeMap::new();
    for metric in last.scope_metrics().flat_map(|scope| scope.metrics()) {
        if metric.name() != name {
            continue;
        }
        let words = |attributes: Vec<String>| attributes.join(" ");
        match metric.data() {
            AggregatedMetrics::U64(MetricData::Sum(sum)) => {
                for point in sum.data_points() {
                    let mut of: Vec<_> = point.attributes().map(|a| a.value.to_string()).collect();
                    of.sort();
                    out.insert(words(of), point.value());
                }
            }
            AggregatedMetrics::F64(MetricData::Histogram(histogram)) => {
                assert_eq!(metric.unit(), "ms");
                for point in histogram.data_points() {
                    let mut of: Vec<_> = point.attributes().map(|a| a.value.to_string()).collect();
                    of.sort();
                    out.insert(words(of), point.count());
                }
            }
            other => panic!("{other:?}"),
        }
    }
    out
}

#[test]
fn spans_and_metrics_tell_what_was_done_and_change_nothing() {
    const { assert!(OTEL_AVAILABLE) };
    let spans = InMemorySpanExporter::default();
    let tracers = SdkTracerProvider::builder().with_simple_exporter(spans.clone()).build();
    let metrics = InMemoryMetricExporter::default();
    let meters = SdkMeterProvider::builder().with_periodic_exporter(metrics.clone()).build();
    global::set_tracer_provider(tracers.clone());
    global::set_meter_provider(meters.clone());

    let before = play(&world());
    assert!(spans.get_finished_spans().unwrap().is_empty(), "it has to be asked for");
    let world = world();
    assert!(instrument(&world.kernel) && !instrument(&world.kernel), "once");
    assert_eq!(play(&world), before, "the same verdicts with and without");
    let mut dry = world.run();
    dry.dry_run = true;
    world.call(&dry, &ana(), &Asked::new("fs.read"));

    let spans = spans.get_finished_spans().unwrap();
    let named = |name: &str| spans.iter().filter(|span| span.name == name).count();
    assert_eq!((named("weaver_kernel.grant"), named("weaver_kernel.invoke")), (5, 3));
    let of = |name: &str, id: &str| {
        let fits = |span: &&SpanData| span.name == name && attribute(span, "capability_id") == id;
        spans.iter().find(fits).unwrap_or_else(|| panic!("{name} {id}")).clone()
    };
    let read = of("weaver_kernel.invoke", "fs.read");
    assert_eq!(
        (attribute(&read, "status"), attribute(&read, "principal_id")),
        ("ok".into(), "ana".into())
    );
    assert!(attribute(&read, "call_id").starts_with("call_"));
    assert_eq!(attribute(&read, "response_mode"), "table");
    let failed = of("weaver_kernel.invoke", "fs.fail");
    assert_eq!(
        (attribute(&failed, "status"), attribute(&failed, "reason_code")),
        ("error".into(), "execution_failed".into())
    );
    let code = Some(ReasonCode::ExecutionFailed.as_str());
    assert_eq!([&read, &failed].map(error), [None, code]);
    assert_eq!(attribute(&of("weaver_kernel.grant", "disk.wipe"), "status"), "hold");
    assert_eq!(attribute(&of("weaver_kernel.grant", "no.such"), "reason_code"), "not_found");
    let traces: std::collections::BTreeSet<_> =
        spans.iter().map(|span| span.span_context.trace_id().to_string()).collect();
    assert_eq!(traces.len(), 1, "one run, one trace");
    assert!(!format!("{spans:?}").contains("hunter2"));

    meters.force_flush().unwrap();
    let invocations = points(&metrics, "weaver_kernel.invocations");
    let wanted = [("error fs.fail", 1), ("fs.read ok", 1), ("ok quiet.trace", 1)]
        .map(|(k, n)| (k.to_owned(), n));
    assert_eq!(invocations, BTreeMap::from(wanted.clone()));
    assert_eq!(points(&metrics, "weaver_kernel.invocation_duration"), BTreeMap::from(wanted));
    let denials = points(&metrics, "weaver_kernel.policy_denials");
    let wanted = [("disk.wipe floor_hold", 1), ("no.such not_found", 1)];
    assert_eq!(denials, BTreeMap::from(wanted.map(|(k, n)| (k.to_owned(), n))));

    // A token that does not count is a refused invocation.
    let (run, who, asked) = (world.run(), ana(), Asked::new("fs.read"));
    let caller = Caller { run: &run, principal: &who };
    let token = block_on(world.kernel.grant(caller, asked.call())).token.unwrap();
    for _ in 0..2 {
        block_on(world.kernel.invoke(caller, &token, &asked.arguments, asked.mode));
    }
    meters.force_flush().unwrap();
    assert_eq!(points(&metrics, "weaver_kernel.invocations")["deny fs.read"], 1);

    // How long a call took, in milliseconds.
    let clock = std::sync::Arc::clone(&world.clock);
    world.answering(draft("fs.slow", Effects::READ_LOCAL), move |_| {
        clock.advance(std::time::Duration::from_millis(20));
        Ok(weaver_types::RawResult::text("done"))
    });
    assert!(succeeded(&world.call(&run, &who, &Asked::new("fs.slow"))));
    meters.force_flush().unwrap();
    let took = milliseconds(&metrics, "weaver_kernel.invocation_duration")["fs.slow ok"];
    assert!((19.9..20.1).contains(&took), "{took}");
    tracers.shutdown().unwrap();
}
