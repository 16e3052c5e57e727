//! Object ids of vendors. They look random and occur near the vendor's name, but are not secret:
//! knowing one gives no access.

/// Object ids of Slack and language model APIs, with a hyphen after their prefix.
const PREFIXES: [&[u8]; 3] = [b"chatcmpl-", b"file-", b"org-"];

/// Words before the underscore of a key: `sk_live_…`, `tok_…`. Before that of an object there is its
/// kind: `evt_…`, `prj_…`.
const KEY_PREFIXES: [&[u8]; 17] = [
    b"sk", b"rk", b"tok", b"token", b"key", b"api", b"apikey", b"secret", b"pat", b"pass", b"pw",
    b"access", b"auth", b"live", b"test", b"prod", b"whsec",
];

/// Prefixes of AWS resource ids, followed by eight or seventeen hexadecimal digits.
const AWS_PREFIXES: [&[u8]; 16] = [
    b"i-", b"ami-", b"vol-", b"vpc-", b"subnet-", b"sg-", b"eni-", b"igw-", b"rtb-", b"nat-",
    b"snap-", b"acl-", b"lt-", b"eipalloc-", b"vpce-", b"fs-",
];

/// Prefixes of Airtable object ids, followed by fourteen letters and digits.
const AIRTABLE: [&[u8]; 8] = [b"rec", b"tbl", b"viw", b"fld", b"app", b"usr", b"att", b"wsp"];

/// True for an object id of a known form.
pub(super) fn is_vendor_id(token: &[u8]) -> bool {
    let after = |prefix: &&&[u8]| token.strip_prefix(**prefix);
    PREFIXES.iter().filter_map(|prefix| after(&prefix)).any(is_word)
        || is_object_id(token)
        || token.contains(&b'/') && token.split(|b| *b == b'/').all(is_airtable_id)
        || AWS_PREFIXES
            .iter()
            .filter_map(|prefix| after(&prefix))
            .any(|rest| matches!(rest.len(), 8 | 17) && rest.iter().all(u8::is_ascii_hexdigit))
        || is_parcel_number(token)
        || is_airtable_id(token)
}

/// True for what a vendor calls public: a publishable key of Stripe, the key of a project of PostHog,
/// the account in an address of Twilio, the keys with which pages of PubNub publish and subscribe.
pub(super) fn is_published(token: &[u8]) -> bool {
    let key = [&b"pk_live_"[..], b"pk_test_", b"phc_"].iter().find_map(|p| token.strip_prefix(*p));
    let is_hex = |rest: &[u8]| rest.len() == 32 && rest.iter().all(u8::is_ascii_hexdigit);
    token.starts_with(b"pk.eyJ")
        || token.starts_with(b"z6Mk")
        || token.starts_with(b"pub-c-")
        || token.starts_with(b"sub-c-")
        || token.starts_with(b"sb_publishable_")
        || token.strip_prefix(b"pub").is_some_and(is_hex)
        || key.is_some_and(is_word)
        || is_object_of_twilio(token) && !token.starts_with(b"SK")
}

/// True for the identifier of an account, a message, a key and the like of Twilio: two letters and 32
/// hexadecimal digits.
pub(super) fn is_object_of_twilio(token: &[u8]) -> bool {
    let (kind, rest) = token.split_at_checked(2).unwrap_or_default();
    kind.iter().all(u8::is_ascii_uppercase)
        && rest.len() == 32
        && rest.iter().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
}

/// A kind, an underscore, and letters and digits: `evt_3Nx7Yq2mN8rKd0XbL5vW3zPq`, or what
/// [`is_published`].
fn is_object_id(token: &[u8]) -> bool {
    if is_published(token) {
        return true;
    }
    let Some(end) = token.iter().position(|b| *b == b'_') else { return false };
    let (kind, rest) = token.split_at(end);
    (2..=8).contains(&kind.len())
        && kind.iter().all(u8::is_ascii_alphabetic)
        && !KEY_PREFIXES.iter().any(|key| key.eq_ignore_ascii_case(kind))
        && rest.get(1..).is_some_and(|rest| rest.len() >= 10 && is_word(rest))
}

fn is_airtable_id(token: &[u8]) -> bool {
    token.len() == 17
        && AIRTABLE.iter().filter_map(|prefix| token.strip_prefix(*prefix)).any(is_word)
}

/// A number by which UPS finds a parcel.
fn is_parcel_number(token: &[u8]) -> bool {
    let rest = token.strip_prefix(b"1Z").unwrap_or_default();
    rest.len() == 16 && rest.iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
}

fn is_word(rest: &[u8]) -> bool {
    !rest.is_empty() && rest.iter().all(u8::is_ascii_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::is_vendor_id;

    #[test]
    fn identifiers_are_told_from_keys() {
        for known in [
            "evt_3Nx7Yq2mN8rKd0XbL5vW3zPq",
            "pk_live_3Nx7Yq2mN8rKd0XbL5vW3zPq",
            "recEMXilKaQE43JbZ",
            "i-0123456789abcdef0",
            "1Z999AA10123456784",
        ] {
            assert!(is_vendor_id(known.as_bytes()), "{known}");
        }
        for key in [
            "sk_live_3Nx7Yq2mN8rKd0XbL5vW3zPq",
            "recEMXilKaQE43JbZx",
            "i-0123",
            "evt_",
            "key-0123456789abcdef",
        ] {
            assert!(!is_vendor_id(key.as_bytes()), "{key}");
        }
    }
}
