//! The attributes that all spans and metrics of this process share.

use std::collections::BTreeMap;

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

/// What tells this gateway from others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExportedResource<'a> {
    /// The attributes of the configuration.
    pub(crate) configured: &'a BTreeMap<String, String>,
    /// The id of the store: it is the same after a restart, and another one for each gateway.
    pub(crate) instance: &'a str,
}

impl ExportedResource<'_> {
    /// This gateway as an OpenTelemetry resource, with what the standard variables say.
    pub(super) fn to_otlp(self) -> Resource {
        let variable = |name: &str| std::env::var(name).ok();
        self.with_variables(variable("OTEL_SERVICE_NAME"), variable("OTEL_RESOURCE_ATTRIBUTES"))
    }

    /// What is configured counts before `OTEL_SERVICE_NAME`, and that before
    /// `OTEL_RESOURCE_ATTRIBUTES`.
    fn with_variables(self, name: Option<String>, attributes: Option<String>) -> Resource {
        let own = [
            ("service.name", "weaver"),
            ("service.version", VERSION),
            ("service.instance.id", self.instance),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut all = BTreeMap::from(own);
        all.extend(parse_attributes(&attributes.unwrap_or_default()));
        let name = name.filter(|name| !name.is_empty());
        all.extend(name.map(|name| ("service.name".to_owned(), name)));
        all.extend(self.configured.clone());
        let attributes = all.iter().map(|(name, value)| attribute(name, value)).collect();
        Resource { attributes, ..Resource::default() }
    }
}

/// Parses `OTEL_RESOURCE_ATTRIBUTES`: `name=value` pairs with commas, where values are
/// percent-encoded. As the specification demands, an error discards the whole value.
fn parse_attributes(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let parsed: Option<BTreeMap<String, String>> = pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=')?;
            let name = Some(name.trim()).filter(|name| !name.is_empty())?;
            Some((name.to_owned(), percent_decoded(value.trim())?))
        })
        .collect();
    parsed.unwrap_or_else(|| {
        tracing::warn!("OTEL_RESOURCE_ATTRIBUTES is ignored: it is not a list of `name=value`");
        BTreeMap::new()
    })
}

fn percent_decoded(text: &str) -> Option<String> {
    let (mut decoded, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            decoded.push(*byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok()?;
        decoded.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    String::from_utf8(decoded).ok()
}

/// This program as an instrumentation scope.
pub(super) fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: "weaver".to_owned(),
        version: VERSION.to_owned(),
        ..InstrumentationScope::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(
        configured: &[(&str, &str)],
        name: Option<&str>,
        attributes: Option<&str>,
    ) -> BTreeMap<String, String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let configured = configured.iter().map(owned).collect();
        let resource = ExportedResource { configured: &configured, instance: "id-1" };
        let resource =
            resource.with_variables(name.map(str::to_owned), attributes.map(str::to_owned));
        let text = |pair: KeyValue| match pair.value.unwrap().value.unwrap() {
            any_value::Value::StringValue(value) => (pair.key, value),
            other => panic!("{other:?}"),
        };
        resource.attributes.into_iter().map(text).collect()
    }

    #[test]
    fn the_standard_variables_count_and_the_configuration_before_them() {
        let plain = told(&[], None, None);
        assert_eq!(
            (plain["service.name"].as_str(), plain["service.instance.id"].as_str()),
            ("weaver", "id-1")
        );
        let attributes =
            "deployment.environment.name=prod%2Ceu, service.name=x,service.instance.id=pod-7";
        let named = told(&[], Some("gate"), Some(attributes));
        assert_eq!(named["deployment.environment.name"], "prod,eu");
        assert_eq!(named["service.name"], "gate");
        assert_eq!(named["service.instance.id"], "pod-7");
        assert_eq!(told(&[], Some(""), Some(attributes))["service.name"], "x");
        let own = told(&[("service.name", "own"), ("team", "a")], Some("gate"), Some(attributes));
        assert_eq!((own["service.name"].as_str(), own["team"].as_str()), ("own", "a"));
        for broken in ["a", "a=1,b", "=1", "a=%2", "a=%zz"] {
            assert_eq!(told(&[], None, Some(broken)), plain, "{broken}");
        }
    }
}
