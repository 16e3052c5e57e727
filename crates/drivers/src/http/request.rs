//! Builds a request from an operation and the arguments of a call.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::error::RequestFailure;
use super::host::{self, HostRule};
use super::operation::{Body, Method, Operation, SecretHeader};
use super::restricted_client::HttpRequest;
use super::secret::Secret;
use super::url_template::{
    LiteralOrPlaceholder, UrlTemplate, invalid_argument, missing_argument, scalar_text,
};
use super::{Access, OperationError, Refusal, media};
use crate::placeholder::PlaceholderKind;

/// Headers that only the transport sets.
const TRANSPORT_HEADERS: [&str; 18] = [
    "accept", "accept-encoding", "connection", "content-encoding", "content-length",
    "content-type", "expect", "host", "http2-settings", "keep-alive", "proxy-authorization",
    "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "via", "forwarded",
];
/// Headers that identify the caller; arguments must not fill them.
const IDENTITY_HEADERS: [&str; 4] = ["authorization", "cookie", "x-forwarded-for", "x-real-ip"];
/// The longest header value that an argument may fill.
const MAX_HEADER_BYTES: usize = 8 * 1024;

/// An operation that has been checked.
pub(super) struct ParsedOperation {
    method: Method,
    url: UrlTemplate,
    headers: Vec<(HeaderName, LiteralOrPlaceholder)>,
    secrets: BTreeMap<String, (HeaderName, SecretHeader)>,
    body: Body,
    pub(super) content: Vec<String>,
    accept: HeaderValue,
    idempotency: Option<HeaderName>,
}

/// A request whose secrets have not been added.
pub(super) struct PendingRequest {
    outgoing: HttpRequest,
    secrets: Vec<(HeaderName, SecretHeader)>,
}

impl ParsedOperation {
    pub(super) fn parse(operation: &Operation) -> Result<Self, OperationError> {
        let url = UrlTemplate::parse(&operation.url)?;
        let bodyless = matches!(operation.method, Method::Get | Method::Head);
        if bodyless && operation.body != Body::None {
            return Err(OperationError::Body { method: operation.method.as_str() });
        }
        let mut headers = Vec::new();
        for (name, value) in &operation.headers {
            headers.push((parse_header_name(name)?, parse_header_value(name, value)?));
        }
        let mut secrets = BTreeMap::new();
        for (name, secret) in &operation.secrets {
            HeaderValue::from_str(&secret.prefix)
                .map_err(|_| header_error(name, "cannot hold that"))?;
            secrets.insert(name.to_ascii_lowercase(), (parse_header_name(name)?, secret.clone()));
        }
        let twice = headers.iter().find(|(name, _)| secrets.contains_key(name.as_str()));
        if let Some((name, _)) = twice {
            return Err(header_error(name.as_str(), "is set twice"));
        }
        let idempotency =
            operation.idempotency_header.as_deref().map(parse_header_name).transpose()?;
        let content: Result<Vec<String>, _> =
            operation.content.iter().map(|text| media::parse_declared(text)).collect();
        let content = content?;
        let accept = if content.is_empty() { "*/*".to_owned() } else { content.join(", ") };
        let accept = HeaderValue::from_str(&accept)
            .map_err(|_| OperationError::Content { text: accept.clone() })?;
        let (method, body) = (operation.method, operation.body.clone());
        let form = Self { method, url, headers, secrets, body, content, accept, idempotency };
        form.check_unique_placeholders()?;
        Ok(form)
    }

    /// Checks that no argument has two placeholders.
    fn check_unique_placeholders(&self) -> Result<(), OperationError> {
        let whole = match &self.url {
            UrlTemplate::WholeUrl(name) => Some(name.as_str()),
            UrlTemplate::FixedHost { .. } => None,
        };
        let body = match &self.body {
            Body::Argument(name) | Body::Text(name) => Some(name.as_str()),
            Body::None | Body::Rest => None,
        };
        let of_url =
            self.url.placeholders().into_iter().map(|placeholder| placeholder.name.as_str());
        let of_headers =
            self.headers.iter().filter_map(|(_, item)| item.placeholder().map(|p| p.name.as_str()));
        let mut seen = BTreeSet::new();
        for name in of_url.chain(of_headers).chain(whole).chain(body) {
            if !seen.insert(name) {
                return Err(OperationError::Twice { name: name.to_owned() });
            }
        }
        Ok(())
    }

    /// The host, if the operation fixes it.
    pub(super) fn host(&self) -> Option<HostRule> {
        self.url.host()
    }

    /// Rejects at startup what would refuse every request.
    pub(super) fn check_access(&self, access: &Access) -> Result<(), OperationError> {
        if self.host().is_none() && access.hosts.is_empty() {
            return Err(OperationError::NoHosts);
        }
        let origin = self.origin()?;
        if origin.scheme() == "https" || host::is_loopback(&origin) {
            return Ok(());
        }
        if !access.plain_http {
            let why = "http is for this machine, unless plain http is allowed; use https";
            return Err(OperationError::Url { why });
        }
        if self.secrets.is_empty() { Ok(()) } else { Err(OperationError::PlainSecret) }
    }

    /// A URL of the fixed host; of any host if an argument is the URL.
    pub(super) fn origin(&self) -> Result<Url, OperationError> {
        let text = match &self.url {
            UrlTemplate::WholeUrl(_) => "https://example.com",
            UrlTemplate::FixedHost { origin, .. } => origin,
        };
        Url::parse(text).map_err(|_| OperationError::Url { why: "its host is not valid" })
    }

    /// Fills the placeholders with the arguments of a call.
    pub(super) fn fill(
        &self,
        arguments: &Map<String, Value>,
        key: &str,
    ) -> Result<PendingRequest, RequestFailure> {
        self.try_fill(arguments, key).map_err(RequestFailure::before_sending)
    }

    fn try_fill(
        &self,
        arguments: &Map<String, Value>,
        key: &str,
    ) -> Result<PendingRequest, Refusal> {
        let mut used = BTreeSet::new();
        let url = self.url.fill(arguments, &mut used)?;
        let mut headers = HeaderMap::new();
        for (name, item) in &self.headers {
            if let Some(value) = header_value(name, item, arguments, &mut used)? {
                headers.insert(name, value);
            }
        }
        if let Some(name) = &self.idempotency {
            let value =
                HeaderValue::from_str(key).map_err(|_| invalid_argument(key, "is not a key"))?;
            headers.insert(name, value);
        }
        let body = self.body(arguments, &mut used)?;
        let surplus = arguments.keys().find(|name| !used.contains(name.as_str()));
        if let Some(name) = surplus.filter(|_| self.body != Body::Rest) {
            return Err(invalid_argument(name, "has no place in the request"));
        }
        let (method, accept) = (self.method.to_reqwest(), self.accept.clone());
        let secret = !self.secrets.is_empty();
        let outgoing = HttpRequest { method, url, headers, secret, accept, body, head_only: false };
        Ok(PendingRequest { outgoing, secrets: self.secrets.values().cloned().collect() })
    }

    fn body<'a>(
        &'a self,
        arguments: &Map<String, Value>,
        used: &mut BTreeSet<&'a str>,
    ) -> Result<Option<(HeaderValue, Vec<u8>)>, Refusal> {
        let json = |value: String| {
            Some((HeaderValue::from_static("application/json"), value.into_bytes()))
        };
        match &self.body {
            Body::None => Ok(None),
            Body::Rest => {
                let rest = arguments.iter().filter(|(name, _)| !used.contains(name.as_str()));
                let rest: Map<String, Value> =
                    rest.map(|(name, value)| (name.clone(), value.clone())).collect();
                Ok(json(Value::Object(rest).to_string()))
            }
            Body::Argument(name) => {
                used.insert(name);
                let value = arguments.get(name).ok_or_else(|| missing_argument(name))?;
                Ok(json(value.to_string()))
            }
            Body::Text(name) => {
                used.insert(name);
                let value = arguments.get(name).ok_or_else(|| missing_argument(name))?;
                let kind = HeaderValue::from_static("text/plain; charset=utf-8");
                Ok(Some((kind, scalar_text(name, value)?.into_bytes())))
            }
        }
    }
}

impl PendingRequest {
    /// A request with the secrets of an operation, whose response body is not needed.
    pub(super) fn without_body(
        method: reqwest::Method,
        url: Url,
        form: Option<&ParsedOperation>,
    ) -> Self {
        let secrets: Vec<_> =
            form.map(|form| form.secrets.values().cloned().collect()).unwrap_or_default();
        let outgoing = HttpRequest {
            method,
            url,
            headers: HeaderMap::new(),
            secret: !secrets.is_empty(),
            accept: HeaderValue::from_static("*/*"),
            body: None,
            head_only: true,
        };
        Self { outgoing, secrets }
    }

    /// Adds the secrets. Returns the request and the secrets, for masking.
    pub(super) async fn with_secrets(
        mut self,
    ) -> Result<(HttpRequest, Vec<Secret>), RequestFailure> {
        let mut secrets = Vec::new();
        for (name, header) in &self.secrets {
            let secret = header.provider.secret().await;
            let secret =
                secret.map_err(|error| RequestFailure::before_sending(Refusal::Secret(error)))?;
            let text = zeroize::Zeroizing::new(format!("{}{}", header.prefix, secret.expose()));
            let form =
                |_| RequestFailure::before_sending(Refusal::Secret(super::SecretError::Form));
            let mut value = HeaderValue::from_str(&text).map_err(form)?;
            value.set_sensitive(true);
            self.outgoing.headers.insert(name, value);
            secrets.push(secret);
        }
        Ok((self.outgoing, secrets))
    }
}

fn header_error(name: &str, why: &'static str) -> OperationError {
    OperationError::Header { name: name.escape_debug().take(80).collect(), why }
}

/// Parses the name of a header that an operation may set.
fn parse_header_name(name: &str) -> Result<HeaderName, OperationError> {
    let read =
        HeaderName::from_bytes(name.as_bytes()).map_err(|_| header_error(name, "has no name"))?;
    if TRANSPORT_HEADERS.contains(&read.as_str()) {
        return Err(header_error(name, "is set by the exchange itself"));
    }
    Ok(read)
}

fn parse_header_value(name: &str, value: &str) -> Result<LiteralOrPlaceholder, OperationError> {
    let item = LiteralOrPlaceholder::parse(value)?;
    match &item {
        LiteralOrPlaceholder::Literal(text) => {
            HeaderValue::from_str(text).map_err(|_| header_error(name, "cannot hold that"))?;
        }
        LiteralOrPlaceholder::Placeholder(placeholder)
            if placeholder.kind == PlaceholderKind::Spread =>
        {
            return Err(OperationError::placeholder(value));
        }
        LiteralOrPlaceholder::Placeholder(_)
            if IDENTITY_HEADERS.iter().any(|who| name.eq_ignore_ascii_case(who)) =>
        {
            return Err(header_error(
                name,
                "says who asks, which no argument does; give it a secret",
            ));
        }
        LiteralOrPlaceholder::Placeholder(_) => {}
    }
    Ok(item)
}

/// The value of one header: one line of printable ASCII.
fn header_value<'a>(
    name: &HeaderName,
    item: &'a LiteralOrPlaceholder,
    arguments: &Map<String, Value>,
    used: &mut BTreeSet<&'a str>,
) -> Result<Option<HeaderValue>, Refusal> {
    let placeholder = match item {
        LiteralOrPlaceholder::Literal(text) => {
            return HeaderValue::from_str(text)
                .map(Some)
                .map_err(|_| invalid_argument(name.as_str(), "is none"));
        }
        LiteralOrPlaceholder::Placeholder(placeholder) => placeholder,
    };
    used.insert(&placeholder.name);
    let given = match arguments.get(&placeholder.name).filter(|value| !value.is_null()) {
        Some(given) => scalar_text(&placeholder.name, given)?,
        None if placeholder.kind == PlaceholderKind::Optional => return Ok(None),
        None => return Err(missing_argument(&placeholder.name)),
    };
    let printable = given.bytes().all(|b| matches!(b, b' '..=b'~'));
    if !printable || given.len() > MAX_HEADER_BYTES || given.trim() != given {
        return Err(invalid_argument(
            &placeholder.name,
            "is not a line of printable ascii, which a header needs",
        ));
    }
    HeaderValue::from_str(&given)
        .map(Some)
        .map_err(|_| invalid_argument(&placeholder.name, "fits no header"))
}
