//! The error codes of JSON-RPC and of the protocol.

/// The message is not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The message is not a valid request.
pub const INVALID_REQUEST: i64 = -32600;
/// There is no such method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The parameters of the method are not valid.
pub const INVALID_PARAMS: i64 = -32602;
/// The request failed.
pub const INTERNAL: i64 = -32603;
/// There is no such session (Streamable HTTP).
pub const UNKNOWN_SESSION: i64 = -32001;
/// An unknown resource (legacy era; the modern one uses [`INVALID_PARAMS`]).
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// A header contradicts the body (2026-07-28).
pub const HEADER_MISMATCH: i64 = -32020;
/// The client lacks a capability that the request needs (2026-07-28).
pub const MISSING_CAPABILITY: i64 = -32021;
/// The protocol version of the request is not supported (2026-07-28).
pub const UNSUPPORTED_VERSION: i64 = -32022;
