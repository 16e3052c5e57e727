//! Counts refused HTTP requests by reason.

use super::EventCounter;

macro_rules! refusals {
    ($($(#[doc = $doc:literal])* $name:ident = $text:literal;)*) => {
        /// Why a request over HTTP is refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum HttpRefusal {
            $($(#[doc = $doc])* $name,)*
        }

        impl HttpRefusal {
            pub(crate) const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The value of the label `reason`.
            pub(crate) fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

refusals! {
    /// It names another host.
    Host = "host";
    /// It comes from a web page of another origin.
    Origin = "origin";
    /// It has no token.
    NoToken = "no_token";
    /// Its `Authorization` header cannot be read.
    Header = "authorization_header";
    /// Nobody has this token of the gateway's form.
    UnknownToken = "unknown_token";
    /// The token has expired, or another one has replaced it.
    ExpiredToken = "expired_token";
    /// The client of the token was removed.
    RemovedToken = "removed_token";
    /// The token is for something else: metrics, or sessions.
    Purpose = "purpose";
    /// The clients cannot be read.
    Clients = "clients_unreadable";
    /// The token of an issuer cannot be parsed.
    MalformedToken = "malformed_token";
    /// No key of the issuer made the signature.
    Signature = "signature";
    /// The policy does not trust the issuer.
    Issuer = "issuer";
    /// The token is for another server.
    Audience = "audience";
    /// The token of an issuer is not valid for another reason.
    InvalidToken = "invalid_token";
    /// The token names a key that the issuer did not have when it was asked last, a moment ago.
    UnknownKey = "unknown_key";
    /// The issuer cannot be asked now.
    IssuerUnavailable = "issuer_unavailable";
    /// The token lacks a scope.
    Scope = "scope";
    /// The policy gives its subject no role.
    NoRole = "no_role";
}

/// How many requests were refused for each reason.
#[derive(Debug)]
pub(crate) struct HttpRefusalCounters(Vec<EventCounter>);

impl Default for HttpRefusalCounters {
    fn default() -> Self {
        Self(HttpRefusal::ALL.iter().map(|_| EventCounter::default()).collect())
    }
}

impl HttpRefusalCounters {
    /// Counts a refused request.
    pub(crate) fn add(&self, reason: HttpRefusal) {
        let counters = HttpRefusal::ALL.iter().zip(&self.0);
        let counter = counters.into_iter().find(|(known, _)| **known == reason);
        counter.into_iter().for_each(|(_, counter)| counter.add(1));
    }

    /// All reasons with their counts.
    pub(crate) fn all(&self) -> impl Iterator<Item = (HttpRefusal, u64)> {
        HttpRefusal::ALL.iter().zip(&self.0).map(|(reason, counter)| (*reason, counter.get()))
    }
}
