//! One operation of an HTTP API: what is asked, and where the arguments of a call go.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use weaver_types::Millicents;

use super::request::Form;
use super::{Access, OperationError, SecretProvider};

/// A method.
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
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Get, Self::Head, Self::Post, Self::Put, Self::Patch, Self::Delete];

    /// Its name, in capital letters.
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

    pub(super) fn wire(self) -> reqwest::Method {
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

/// What the body of a request is made of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Body {
    /// There is none.
    #[default]
    None,
    /// A JSON object of the arguments that have no other place.
    Rest,
    /// The value of one argument, as JSON.
    Argument(String),
    /// The text of one argument, as it is.
    Text(String),
}

/// A header that holds a secret.
#[derive(Clone)]
pub struct SecretHeader {
    /// What stands before it, for example `Bearer `.
    pub prefix: String,
    /// Where it comes from.
    pub provider: Arc<dyn SecretProvider>,
}

/// One operation: a method, an address and places for the arguments of a call.
///
/// Which operation a call means is fixed here; its arguments fill the places and select nothing
/// else. A call with an argument that has no place is refused.
#[derive(Clone)]
pub struct Operation {
    /// The method.
    pub method: Method,
    /// The address. `{name}` stands for an argument: in the path for one segment or a part of one,
    /// in the query for one value. `{name?}` in the query is left out where the call has none.
    /// `{name...}` is several segments, or a parameter for each entry of a list. The host is fixed;
    /// only where the whole address is one `{name}` does a call bring it, and then only to the
    /// hosts of the [`Access`](super::Access).
    pub url: String,
    /// Headers: a text as it is, `{name}` or `{name?}`.
    pub headers: BTreeMap<String, String>,
    /// Headers that hold a secret.
    pub secrets: BTreeMap<String, SecretHeader>,
    /// The body.
    pub body: Body,
    /// The media types that an answer may have: `application/json` alone, by default.
    pub content: BTreeSet<String>,
    /// The header that takes the idempotency key, which is the same in every attempt of a call.
    pub idempotency_header: Option<String>,
    /// What one call costs: nothing, by default.
    pub price: Millicents,
}

impl Operation {
    /// An operation without headers and body that answers with JSON.
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

    /// Whether a driver can be made of it. Nothing is sent, and no client is made.
    ///
    /// # Errors
    /// [`OperationError`], when the operation means nothing, or could reach no host.
    pub fn check(&self, access: &Access) -> Result<(), OperationError> {
        Form::parse(self)?.fits(access)
    }

    /// The same with this body.
    #[must_use]
    pub fn with_body(mut self, body: Body) -> Self {
        self.body = body;
        self
    }

    /// The same with a header that holds a secret behind `prefix`.
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
    /// Texts of headers may be secrets: only names are shown.
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
