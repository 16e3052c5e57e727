//! The attributes that all spans and metrics of this process share.

use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::resource::v1::Resource;

/// The version of the semantic conventions that the names follow.
pub(super) const SCHEMA: &str = "https://opentelemetry.io/schemas/1.39.0";

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// An attribute of a span or a metric.
pub(super) fn attribute(name: &str, value: &str) -> KeyValue {
    let value = AnyValue { value: Some(any_value::Value::StringValue(value.to_owned())) };
    KeyValue { key: name.to_owned(), value: Some(value), ..KeyValue::default() }
}

/// This process as an OpenTelemetry resource.
pub(super) fn resource() -> Resource {
    let attributes = vec![
        attribute("service.name", "weaver"),
        attribute("service.version", VERSION),
        attribute("service.instance.id", &std::process::id().to_string()),
    ];
    Resource { attributes, ..Resource::default() }
}

/// This program as an instrumentation scope.
pub(super) fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: "weaver".to_owned(),
        version: VERSION.to_owned(),
        ..InstrumentationScope::default()
    }
}
