//! Proposes a destination from what a call names; no decision reads it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{TrustedDestination, UrlAuthority};
use crate::value_search::{ValueText, find_in_texts};

impl TrustedDestination {
    /// The host of a URL as a destination, without its port. `None` for anything but a plain `http`
    /// or `https` URL.
    #[must_use]
    pub fn from_url(url: &str) -> Option<Self> {
        let host = UrlAuthority::from_url(url)?.host.to_ascii_lowercase();
        let is_plain = !host.ends_with('.');
        is_plain.then_some(Self { host, subdomains_only: false, port: None })
    }

    /// The host that all URLs in these arguments share; `None` if there are several hosts or none.
    /// Only texts that are entirely a URL count.
    #[must_use]
    pub fn from_arguments(arguments: &Value) -> Option<Self> {
        let mut hosts = BTreeSet::new();
        let mut note = |text: ValueText<'_>, _: &[_]| -> Option<()> {
            if let ValueText::Text(text) = text {
                hosts.extend(Self::from_url(text));
            }
            None
        };
        find_in_texts(arguments, &mut Vec::new(), &mut note);
        hosts.pop_first().filter(|_| hosts.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_point_to_one_host_or_to_none() {
        use serde_json::json;
        let of =
            |arguments| TrustedDestination::from_arguments(&arguments).map(|one| one.to_string());
        let docs = Some("docs.rs".to_owned());
        assert_eq!(of(json!({ "url": "https://docs.rs:8080/a" })), docs);
        let nested =
            json!({ "a": [{ "b": "http://docs.rs/1" }], "c": "https://docs.rs/2", "d": 1 });
        assert_eq!(of(nested), docs);
        assert_eq!(of(json!(["https://docs.rs/", "https://a.docs.rs/"])), None);
        assert_eq!(of(json!({ "text": "see https://docs.rs/", "n": null })), None);
    }

    #[test]
    fn a_url_names_its_host() {
        let of = |url| TrustedDestination::from_url(url).map(|one| one.to_string());
        assert_eq!(of("https://Docs.rs:443/a"), Some("docs.rs".to_owned()));
        assert_eq!(of("https://a@docs.rs/"), None);
        assert_eq!(of("docs.rs"), None);
    }
}
