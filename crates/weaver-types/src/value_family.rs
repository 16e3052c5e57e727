//! The kinds of values that redaction finds, and the family of each: secret or personal data.
//!
//! The lists live here because two crates that do not depend on each other need them: the firewall
//! masks by kind, and policy documents name kinds.

use serde::{Deserialize, Serialize};

/// Kinds of personal data, sorted.
pub const PERSONAL_KINDS: [&str; 18] = [
    "bank_account", "card", "company_id", "date_of_birth", "device_id", "driver_license", "email",
    "health_id", "iban", "ip", "mac", "medical_license", "national_id", "passport", "phone", "ssn",
    "tax_id", "vehicle_id",
];

/// Kinds of secrets. The last four stand for text that could not be examined and may hold a secret.
pub const SECRET_KINDS: [&str; 15] = [
    "api_key", "authorization", "bearer", "connection_string", "jwt", "password", "private_key",
    "secret", "session", "signature", "webhook", "long_run", "unread", "unscanned", "value",
];

/// Whether a masked value is a secret or personal data, which decides whether a contract can reveal
/// it.
///
/// ```
/// use weaver_types::ValueFamily;
///
/// assert_eq!(ValueFamily::of("email"), ValueFamily::Personal);
/// assert_eq!(ValueFamily::of("password"), ValueFamily::Secret);
/// // What nobody has classified is never shown.
/// assert_eq!(ValueFamily::of("badge"), ValueFamily::Secret);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueFamily {
    /// A key, a token, a password: masked whatever a contract says.
    Secret,
    /// Data about a person: masked if the contract asks for it, or if there is no contract.
    Personal,
}

crate::words! { ValueFamily: "Its name in lists and rule files.";
    Secret = "secret", Personal = "personal",
}

impl ValueFamily {
    /// The family of a kind. Kinds that are not listed are secrets.
    #[must_use]
    pub fn of(kind: &str) -> Self {
        if PERSONAL_KINDS.binary_search(&kind).is_ok() { Self::Personal } else { Self::Secret }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_and_apart() {
        assert!(PERSONAL_KINDS.is_sorted());
        for kind in SECRET_KINDS {
            assert_eq!(ValueFamily::of(kind), ValueFamily::Secret, "{kind}");
        }
        for kind in PERSONAL_KINDS {
            assert_eq!(ValueFamily::of(kind), ValueFamily::Personal, "{kind}");
        }
    }
}
