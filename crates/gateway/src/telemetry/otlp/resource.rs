//! What all spans and metrics of a process have in common, and attributes.

use super::protobuf::Message;

/// The version of the semantic conventions whose names are used.
const SCHEMA: &str = "https://opentelemetry.io/schemas/1.39.0";

/// An attribute of a span or a metric.
pub(super) fn attribute(message: &mut Message, field: u32, name: &str, value: &str) {
    message.message(field, |pair| {
        pair.text(1, name);
        pair.message(2, |any| any.text(1, value));
    });
}

/// The request of an export: one resource with one scope, whose items `write` adds.
pub(super) fn request(write: impl FnOnce(&mut Message)) -> Vec<u8> {
    let version = env!("CARGO_PKG_VERSION");
    let mut request = Message::default();
    request.message(1, |of_resource| {
        of_resource.message(1, |resource| {
            attribute(resource, 1, "service.name", "weaver");
            attribute(resource, 1, "service.version", version);
            attribute(resource, 1, "service.instance.id", &std::process::id().to_string());
        });
        of_resource.message(2, |of_scope| {
            of_scope.message(1, |scope| {
                scope.text(1, "weaver");
                scope.text(2, version);
            });
            write(of_scope);
            of_scope.text(3, SCHEMA);
        });
        of_resource.text(3, SCHEMA);
    });
    request.into_bytes()
}
