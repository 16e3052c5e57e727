//! What is wrong with an operation, and why a request or its response was refused.

use std::time::Duration;

use weaver_agent_kernel::DriverError;

use super::TlsFault;
use super::client_error::ClientError;
use super::secret::SecretError;
use crate::mcp::MessageFault;

/// Why an operation, a host or a network cannot be used. No message holds a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OperationError {
    /// The URL template is invalid or ambiguous.
    #[error("the url is refused: {why}")]
    Url {
        /// Why.
        why: &'static str,
    },
    /// A placeholder is malformed.
    #[error(
        "`{text}` is not a placeholder; write {{name}} in a path, {{name}} or {{name?}} as a whole value, {{name...}} for several"
    )]
    Placeholder {
        /// The part of the template.
        text: String,
    },
    /// Two placeholders use the same argument.
    #[error("`{name}` has two places")]
    Twice {
        /// The argument's name.
        name: String,
    },
    /// A header is malformed, or reserved for the transport.
    #[error("the header `{name}` {why}")]
    Header {
        /// Its name.
        name: String,
        /// What is wrong.
        why: &'static str,
    },
    /// The method allows no body.
    #[error("a request with {method} has no body; remove `body`, or use another method")]
    Body {
        /// The method.
        method: &'static str,
    },
    /// An argument chooses the host, and no host is allowed.
    #[error("one argument is the whole url, and no host is allowed; name the hosts")]
    NoHosts,
    /// The text is not a host rule.
    #[error("`{text}` is not a host; write `api.example.com`, `*.example.com` or `host:port`")]
    Host {
        /// The text.
        text: String,
    },
    /// The text is not an address range.
    #[error("`{text}` is not an address and no range of them; write `10.1.0.0/16`")]
    AddressRange {
        /// The text.
        text: String,
    },
    /// A secret would be sent unencrypted.
    #[error("a secret goes to https, or to this machine; use https")]
    PlainSecret,
    /// The text is not a media type.
    #[error("`{text}` is not a media type; write `application/json` or `text/*`")]
    Content {
        /// The text.
        text: String,
    },
    /// The certificates of an authority cannot be used.
    #[error("the certificates of the authority cannot be used: {why}; write them in PEM")]
    CertificateAuthority {
        /// Why.
        why: &'static str,
    },
    /// No HTTP client can be built.
    #[error("{0}")]
    Client(String),
}

impl OperationError {
    pub(super) fn placeholder(text: &str) -> Self {
        Self::Placeholder { text: text.escape_debug().take(80).collect() }
    }

    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Url { .. } => "http.template",
            Self::Placeholder { .. } => "http.placeholder",
            Self::Twice { .. } => "http.twice",
            Self::Header { .. } => "http.header",
            Self::Body { .. } => "http.body",
            Self::NoHosts => "http.no_hosts",
            Self::Host { .. } => "http.host",
            Self::AddressRange { .. } => "http.network",
            Self::PlainSecret => "http.plain_secret",
            Self::Content { .. } => "http.content",
            Self::CertificateAuthority { .. } => "http.authority",
            Self::Client(_) => "http.client",
        }
    }
}

/// Why a request was not made, or its response refused. It contains no text of the server except
/// what [`Refusal::Status`] quotes, and never a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("`{name}` {what}")]
    Argument { name: String, what: &'static str },
    #[error("the url is refused: {0}")]
    Url(&'static str),
    #[error("the url is refused: only https is requested, and http where it is allowed")]
    Scheme,
    #[error("the url is refused: it holds a user or a password")]
    User,
    #[error("the host is not on the list of hosts")]
    Host,
    #[error("the host leads to an address that is not allowed ({0})")]
    Address(&'static str),
    #[error("the host has no address")]
    NoAddress,
    #[error("a secret would travel in the clear")]
    PlainSecret,
    #[error("{0}")]
    Secret(SecretError),
    #[error("no connection")]
    Connect,
    #[error("no connection: {0}")]
    Tls(TlsFault),
    #[error("the connection broke")]
    Broken,
    #[error("no answer within {0:?}")]
    Silent(Duration),
    #[error("it redirects (status {0}), and no further redirect is followed")]
    Redirects(u16),
    #[error("it redirects (status {status}) where it may not: {why}")]
    Redirect { status: u16, why: &'static str },
    #[error("the answer has more than {0} bytes")]
    TooLarge(usize),
    #[error("the answer is compressed, which was not asked for")]
    Encoding,
    #[error("the answer is not of a declared type")]
    Content,
    #[error("the answer is not JSON: {0}")]
    Json(MessageFault),
    #[error("status {status}{said}")]
    Status { status: u16, said: String, wait: Option<Duration> },
    #[error("{0}")]
    Client(ClientError),
}

impl Refusal {
    /// The stable code of this refusal.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Argument { .. } => "http.argument",
            Self::Url(_) => "http.url",
            Self::Scheme => "http.scheme",
            Self::User => "http.user",
            Self::Host => "http.host_refused",
            Self::Address(_) => "http.address_refused",
            Self::NoAddress => "http.no_address",
            Self::PlainSecret => "http.plain_secret",
            Self::Secret(error) => error.code(),
            Self::Connect => "http.connect",
            Self::Tls(_) => "http.tls",
            Self::Broken => "http.broken",
            Self::Silent(_) => "http.silent",
            Self::Redirects(_) => "http.redirects",
            Self::Redirect { .. } => "http.redirect",
            Self::TooLarge(_) => "http.too_large",
            Self::Encoding => "http.encoding",
            Self::Content => "http.content_type",
            Self::Json(_) => "http.json",
            Self::Status { .. } => "http.status",
            Self::Client(_) => "http.client",
        }
    }
}

/// A failed request, and whether the server may have acted on it.
#[derive(Debug)]
pub(crate) struct RequestFailure {
    pub(crate) refusal: Refusal,
    /// An earlier request of the redirect chain changes something, and the server answered it.
    pub(crate) acted_before: bool,
    /// The failed request is one that changes something.
    pub(crate) changes: bool,
}

impl RequestFailure {
    /// A failure before anything was sent.
    pub(crate) fn before_sending(refusal: Refusal) -> Self {
        Self { refusal, acted_before: false, changes: false }
    }

    /// The error for the kernel. A request that the server may have acted on counts as lost, so
    /// that a write is never assumed undone.
    pub(super) fn into_driver_error(self) -> DriverError {
        let text = format!("{} [{}]", self.refusal, self.refusal.code());
        if self.acted_before {
            return DriverError::Lost(text);
        }
        match self.refusal {
            Refusal::Argument { .. }
            | Refusal::Url(_)
            | Refusal::Scheme
            | Refusal::User
            | Refusal::Host
            | Refusal::Address(_) => DriverError::Invalid(text),
            Refusal::NoAddress
            | Refusal::PlainSecret
            | Refusal::Secret(_)
            | Refusal::Connect
            | Refusal::Tls(_)
            | Refusal::Client(_) => DriverError::Unavailable(text),
            Refusal::Broken => DriverError::Network(text),
            Refusal::Silent(after) => DriverError::Timeout(after),
            Refusal::Status { status, wait, .. } => status_error(status, wait, text),
            _ if self.changes => DriverError::Lost(text),
            _ => DriverError::Failed(text),
        }
    }
}

/// The error for an HTTP error status.
fn status_error(status: u16, wait: Option<Duration>, text: String) -> DriverError {
    match (status, wait) {
        (404 | 410, _) => DriverError::NotFound(text),
        (400 | 405 | 406 | 411 | 413..=417 | 422 | 431, _) => DriverError::Invalid(text),
        (425 | 429, wait) | (503, wait @ Some(_)) => DriverError::RateLimited { said: text, wait },
        (408 | 500.., _) => DriverError::Lost(text),
        _ => DriverError::Failed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(refusal: Refusal, acted_before: bool, changes: bool) -> &'static str {
        RequestFailure { refusal, acted_before, changes }.into_driver_error().code()
    }

    fn status(status: u16, wait: Option<Duration>) -> &'static str {
        code(Refusal::Status { status, said: String::new(), wait }, false, true)
    }

    #[test]
    fn a_status_means_what_it_says() {
        let wait = Some(Duration::from_secs(1));
        for (given, wait, wanted) in [
            (400, None, "driver.invalid"),
            (401, None, "driver.failed"),
            (403, None, "driver.failed"),
            (404, None, "driver.not_found"),
            (408, None, "driver.lost"),
            (409, None, "driver.failed"),
            (410, None, "driver.not_found"),
            (412, None, "driver.failed"),
            (422, None, "driver.invalid"),
            (429, None, "driver.rate_limited"),
            (500, None, "driver.lost"),
            (503, None, "driver.lost"),
            (503, wait, "driver.rate_limited"),
            (304, None, "driver.failed"),
        ] {
            assert_eq!(status(given, wait), wanted, "{given}");
        }
    }

    #[test]
    fn what_may_have_been_acted_on_is_never_taken_for_undone() {
        for refusal in [Refusal::Connect, Refusal::Host, Refusal::Redirects(303)] {
            assert_eq!(code(refusal, true, true), "driver.lost");
        }
        assert_eq!(code(Refusal::Connect, false, true), "driver.unavailable");
        assert_eq!(code(Refusal::TooLarge(1), false, true), "driver.lost");
        assert_eq!(code(Refusal::TooLarge(1), false, false), "driver.failed");
        assert_eq!(code(Refusal::Broken, false, true), "driver.network");
    }
}
