//! Builds a request from an operation and the arguments of a call.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::error::Failure;
use super::host::{self, HostRule};
use super::operation::{Body, Method, Operation, SecretHeader};
use super::secret::Secret;
use super::template::{Item, Kind, Template, invalid, missing, text};
use super::web::OutgoingRequest;
use super::{Access, OperationError, Refusal, media};

/// Headers that are set by the exchange, and by nobody else.
const OURS: [&str; 18] = [
    "accept", "accept-encoding", "connection", "content-encoding", "content-length",
    "content-type", "expect", "host", "http2-settings", "keep-alive", "proxy-authorization",
    "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "via", "forwarded",
];
/// Headers that say who asks: no argument fills them.
const WHO: [&str; 4] = ["authorization", "cookie", "x-forwarded-for", "x-real-ip"];
/// The longest header that an argument fills, in bytes.
const MAX_HEADER: usize = 8 * 1024;

/// An operation in which nothing is wrong.
pub(super) struct Form {
    method: Method,
    url: Template,
    headers: Vec<(HeaderName, Item)>,
    secrets: BTreeMap<String, (HeaderName, SecretHeader)>,
    body: Body,
    pub(super) content: Vec<String>,
    accept: HeaderValue,
    idempotency: Option<HeaderName>,
}

/// A request before its secrets are known.
pub(super) struct Request {
    outgoing: OutgoingRequest,
    secrets: Vec<(HeaderName, SecretHeader)>,
}

impl Form {
    pub(super) fn parse(operation: &Operation) -> Result<Self, OperationError> {
        let url = Template::parse(&operation.url)?;
        let bodyless = matches!(operation.method, Method::Get | Method::Head);
        if bodyless && operation.body != Body::None {
            return Err(OperationError::Body { method: operation.method.as_str() });
        }
        let mut headers = Vec::new();
        for (name, value) in &operation.headers {
            headers.push((header(name)?, item(name, value)?));
        }
        let mut secrets = BTreeMap::new();
        for (name, secret) in &operation.secrets {
            HeaderValue::from_str(&secret.prefix).map_err(|_| unfit(name, "cannot hold that"))?;
            secrets.insert(name.to_ascii_lowercase(), (header(name)?, secret.clone()));
        }
        let twice = headers.iter().find(|(name, _)| secrets.contains_key(name.as_str()));
        if let Some((name, _)) = twice {
            return Err(unfit(name.as_str(), "is set twice"));
        }
        let idempotency = operation.idempotency_header.as_deref().map(header).transpose()?;
        let content: Result<Vec<String>, _> =
            operation.content.iter().map(|text| media::declared(text)).collect();
        let content = content?;
        let accept = if content.is_empty() { "*/*".to_owned() } else { content.join(", ") };
        let accept = HeaderValue::from_str(&accept)
            .map_err(|_| OperationError::Content { text: accept.clone() })?;
        let (method, body) = (operation.method, operation.body.clone());
        let form = Self { method, url, headers, secrets, body, content, accept, idempotency };
        form.once()?;
        Ok(form)
    }

    /// No argument has two places.
    fn once(&self) -> Result<(), OperationError> {
        let whole = match &self.url {
            Template::Whole(name) => Some(name.as_str()),
            Template::Fixed { .. } => None,
        };
        let body = match &self.body {
            Body::Argument(name) | Body::Text(name) => Some(name.as_str()),
            Body::None | Body::Rest => None,
        };
        let of_url = self.url.places().into_iter().map(|place| place.name.as_str());
        let of_headers =
            self.headers.iter().filter_map(|(_, item)| item.place().map(|p| p.name.as_str()));
        let mut seen = BTreeSet::new();
        for name in of_url.chain(of_headers).chain(whole).chain(body) {
            if !seen.insert(name) {
                return Err(OperationError::Twice { name: name.to_owned() });
            }
        }
        Ok(())
    }

    /// The host of an operation that has one.
    pub(super) fn host(&self) -> Option<HostRule> {
        self.url.host()
    }

    /// Says at the start what would refuse every request.
    pub(super) fn fits(&self, access: &Access) -> Result<(), OperationError> {
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

    /// An address of the first host; of any, where a call brings it.
    pub(super) fn origin(&self) -> Result<Url, OperationError> {
        let text = match &self.url {
            Template::Whole(_) => "https://example.com",
            Template::Fixed { origin, .. } => origin,
        };
        Url::parse(text).map_err(|_| OperationError::Url { why: "its host is not valid" })
    }

    /// Puts the arguments of a call in their places.
    pub(super) fn fill(
        &self,
        arguments: &Map<String, Value>,
        key: &str,
    ) -> Result<Request, Failure> {
        self.filled(arguments, key).map_err(Failure::before)
    }

    fn filled(&self, arguments: &Map<String, Value>, key: &str) -> Result<Request, Refusal> {
        let mut used = BTreeSet::new();
        let url = self.url.fill(arguments, &mut used)?;
        let mut headers = HeaderMap::new();
        for (name, item) in &self.headers {
            if let Some(value) = value(name, item, arguments, &mut used)? {
                headers.insert(name, value);
            }
        }
        if let Some(name) = &self.idempotency {
            let value = HeaderValue::from_str(key).map_err(|_| invalid(key, "is no key"))?;
            headers.insert(name, value);
        }
        let body = self.body(arguments, &mut used)?;
        let surplus = arguments.keys().find(|name| !used.contains(name.as_str()));
        if let Some(name) = surplus.filter(|_| self.body != Body::Rest) {
            return Err(invalid(name, "has no place in the request"));
        }
        let (method, accept) = (self.method.wire(), self.accept.clone());
        let secret = !self.secrets.is_empty();
        let outgoing =
            OutgoingRequest { method, url, headers, secret, accept, body, head_only: false };
        Ok(Request { outgoing, secrets: self.secrets.values().cloned().collect() })
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
                let value = arguments.get(name).ok_or_else(|| missing(name))?;
                Ok(json(value.to_string()))
            }
            Body::Text(name) => {
                used.insert(name);
                let value = arguments.get(name).ok_or_else(|| missing(name))?;
                let kind = HeaderValue::from_static("text/plain; charset=utf-8");
                Ok(Some((kind, text(name, value)?.into_bytes())))
            }
        }
    }
}

impl Request {
    /// A request with the secrets of a form, of whose answer only the head is wanted.
    pub(super) fn without_body(method: reqwest::Method, url: Url, form: Option<&Form>) -> Self {
        let secrets: Vec<_> =
            form.map(|form| form.secrets.values().cloned().collect()).unwrap_or_default();
        let outgoing = OutgoingRequest {
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

    /// The request as it is sent, and its secrets.
    pub(super) async fn with_secrets(mut self) -> Result<(OutgoingRequest, Vec<Secret>), Failure> {
        let mut known = Vec::new();
        for (name, header) in &self.secrets {
            let secret = header.provider.secret().await;
            let secret = secret.map_err(|error| Failure::before(Refusal::Secret(error)))?;
            let text = zeroize::Zeroizing::new(format!("{}{}", header.prefix, secret.expose()));
            let form = |_| Failure::before(Refusal::Secret(super::SecretError::Form));
            let mut value = HeaderValue::from_str(&text).map_err(form)?;
            value.set_sensitive(true);
            self.outgoing.headers.insert(name, value);
            known.push(secret);
        }
        Ok((self.outgoing, known))
    }
}

fn unfit(name: &str, why: &'static str) -> OperationError {
    OperationError::Header { name: name.escape_debug().take(80).collect(), why }
}

/// A header that an operation may set.
fn header(name: &str) -> Result<HeaderName, OperationError> {
    let read = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unfit(name, "has no name"))?;
    if OURS.contains(&read.as_str()) {
        return Err(unfit(name, "is set by the exchange itself"));
    }
    Ok(read)
}

fn item(name: &str, value: &str) -> Result<Item, OperationError> {
    let item = Item::parse(value)?;
    match &item {
        Item::Literal(text) => {
            HeaderValue::from_str(text).map_err(|_| unfit(name, "cannot hold that"))?;
        }
        Item::Place(place) if place.kind == Kind::Spread => {
            return Err(OperationError::placeholder(value));
        }
        Item::Place(_) if WHO.iter().any(|who| name.eq_ignore_ascii_case(who)) => {
            return Err(unfit(name, "says who asks, which no argument does; give it a secret"));
        }
        Item::Place(_) => {}
    }
    Ok(item)
}

/// One header's value: one line of printable ASCII.
fn value<'a>(
    name: &HeaderName,
    item: &'a Item,
    arguments: &Map<String, Value>,
    used: &mut BTreeSet<&'a str>,
) -> Result<Option<HeaderValue>, Refusal> {
    let place = match item {
        Item::Literal(text) => {
            return HeaderValue::from_str(text)
                .map(Some)
                .map_err(|_| invalid(name.as_str(), "is none"));
        }
        Item::Place(place) => place,
    };
    used.insert(&place.name);
    let given = match arguments.get(&place.name).filter(|value| !value.is_null()) {
        Some(given) => text(&place.name, given)?,
        None if place.kind == Kind::Optional => return Ok(None),
        None => return Err(missing(&place.name)),
    };
    let printable = given.bytes().all(|b| matches!(b, b' '..=b'~'));
    if !printable || given.len() > MAX_HEADER || given.trim() != given {
        return Err(invalid(&place.name, "is no line of printable ascii, which a header needs"));
    }
    HeaderValue::from_str(&given).map(Some).map_err(|_| invalid(&place.name, "fits no header"))
}
