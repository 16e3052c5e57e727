//! One operation of an HTTP API: its method, URL and headers, and where arguments go.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use weaver_types::Millicents;

use super::request::ParsedOperation;
use super::{Access, OperationError, SecretProvider};

/// An HTTP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// `GET`.
    #[default]
    Get,
    /// `HEAD`.
    Head,
    /// `POST`.
    Post,
    /// `PUT`.
    Put,
    /// `PATCH`.
    Patch,
    /// `DELETE`.
    Delete,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 6] =
        [Self::Get, Self::Head, Self::Post, Self::Put, Self::Patch, Self::Delete];

    /// Its name in upper case.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    pub(super) fn to_reqwest(self) -> reqwest::Method {
        match self {
            Self::Get => reqwest::Method::GET,
            Self::Head => reqwest::Method::HEAD,
            Self::Post => reqwest::Method::POST,
            Self::Put => reqwest::Method::PUT,
            Self::Patch => reqwest::Method::PATCH,
            Self::Delete => reqwest::Method::DELETE,
        }
    }
}

/// The body of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Body {
    /// No body.
    #[default]
    None,
    /// A JSON object of all arguments that have no placeholder.
    Rest,
    /// The value of one argument, as JSON.
    Argument(String),
    /// The text of one argument, unchanged.
    Text(String),
}

/// A header that contains a secret.
#[derive(Clone)]
pub struct SecretHeader {
    /// The text before the secret, for example `Bearer `.
    pub prefix: String,
    /// Provides the secret.
    pub provider: Arc<dyn SecretProvider>,
}

/// One operation: a method, a URL, and placeholders for arguments.
///
/// A call cannot choose another operation: its arguments fill the placeholders and nothing else. A
/// call with an argument that has no placeholder is refused.
#[derive(Clone)]
pub struct Operation {
    /// The method.
    pub method: Method,
    /// The URL. `{name}` is an argument: in the path one segment or a part of one, in the query one
    /// value. `{name?}` in the query is omitted if the argument is absent. `{name...}` is several
    /// segments, or one parameter for each entry of a list. The host is fixed, unless the whole URL
    /// is one `{name}`: then the argument is the URL, limited to the hosts of the
    /// [`Access`](super::Access).
    pub url: String,
    /// Header values: a literal, `{name}` or `{name?}`.
    pub headers: BTreeMap<String, String>,
    /// Headers that contain a secret.
    pub secrets: BTreeMap<String, SecretHeader>,
    /// The body.
    pub body: Body,
    /// The media types that a response may have: only `application/json` by default.
    pub content: BTreeSet<String>,
    /// The header for the idempotency key, which is the same for every attempt of a call.
    pub idempotency_header: Option<String>,
    /// The price of one call: nothing by default.
    pub price: Millicents,
}

impl Operation {
    /// An operation without headers and body that returns JSON.
    #[must_use]
    pub fn new(method: Method, url: impl Into<String>) -> Self {
        Self {
            method,
            url: url.into(),
            headers: BTreeMap::new(),
            secrets: BTreeMap::new(),
            body: Body::None,
            content: BTreeSet::from(["application/json".to_owned()]),
            idempotency_header: None,
            price: Millicents(0),
        }
    }

    /// Checks the operation without building a client or sending anything.
    ///
    /// # Errors
    /// [`OperationError`], if the operation is invalid or can reach no host.
    pub fn check(&self, access: &Access) -> Result<(), OperationError> {
        ParsedOperation::parse(self)?.check_access(access)
    }

    /// The same with this body.
    #[must_use]
    pub fn with_body(mut self, body: Body) -> Self {
        self.body = body;
        self
    }

    /// Adds a header that contains a secret after `prefix`.
    #[must_use]
    pub fn with_secret(
        mut self,
        header: impl Into<String>,
        prefix: impl Into<String>,
        provider: impl SecretProvider + 'static,
    ) -> Self {
        let secret = SecretHeader { prefix: prefix.into(), provider: Arc::new(provider) };
        self.secrets.insert(header.into(), secret);
        self
    }
}

impl fmt::Debug for Operation {
    /// Header values may be secrets, so only names are shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operation")
            .field("method", &self.method.as_str())
            .field("url", &self.url.split('?').next().unwrap_or_default())
            .field("headers", &self.headers.keys())
            .field("secrets", &self.secrets.keys())
            .field("body", &self.body)
            .field("content", &self.content)
            .finish_non_exhaustive()
    }
}

impl FromStr for Method {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|method| method.as_str() == text).ok_or(())
    }
}
