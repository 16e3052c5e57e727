//! Recognises labelled values that belong to nobody: documentation addresses, example domains, accounts
//! of services, published test card numbers, telephone numbers of fiction. A redactor leaves them visible, so they count neither way and are
//! reported separately. This is written independently of the code that it measures.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Published test card numbers in the corpus.
const TEST_CARD_NUMBERS: [&str; 9] = [
    "30569309025904", "371449635398431", "378282246310005", "4012888888881881", "4111111111111111",
    "4242424242424242", "5019717010103742", "5555555555554444", "6011111111111117",
];

/// Whether a labelled value of this kind belongs to nobody.
pub fn is_unowned(kind: &str, value: &str) -> bool {
    match kind {
        "EMAIL" => value.rsplit_once('@').is_some_and(|(_, domain)| {
            is_example(domain) || domain.ends_with(".iam.gserviceaccount.com")
        }),
        "PHONE" => is_fictional_number(value),
        "IP" => address(value).is_some_and(is_unowned_address),
        "CREDIT_CARD" => {
            let digits: String = value.chars().filter(char::is_ascii_digit).collect();
            TEST_CARD_NUMBERS.contains(&digits.as_str())
        }
        _ => false,
    }
}

/// True for 555-0100 to 555-0199 of any area of North America.
fn is_fictional_number(value: &str) -> bool {
    let digits: String = value.chars().filter(char::is_ascii_digit).collect();
    let national = digits.strip_prefix('1').filter(|rest| rest.len() == 10).unwrap_or(&digits);
    let is_foreign = value.starts_with('+') && !value.starts_with("+1");
    let area = national.len().saturating_sub(7);
    let local = national.get(area..).unwrap_or_default();
    !is_foreign && matches!(area, 0 | 3) && local.starts_with("55501")
}

fn is_example(domain: &str) -> bool {
    let domain = domain.to_ascii_lowercase();
    let top = domain.rsplit('.').next().unwrap_or_default();
    ["example", "test", "invalid", "localhost"].contains(&top)
        || ["example.com", "example.net", "example.org", "example.edu"].contains(&domain.as_str())
}

fn address(value: &str) -> Option<IpAddr> {
    value.split('/').next()?.parse().ok()
}

fn is_unowned_address(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_unowned_v4(v4),
        IpAddr::V6(v6) => is_unowned_v6(v6),
    }
}

fn is_unowned_v4(v4: Ipv4Addr) -> bool {
    v4.is_loopback()
        || v4.is_unspecified()
        || v4.is_broadcast()
        || v4.is_documentation()
        || v4.is_multicast()
}

fn is_unowned_v6(v6: Ipv6Addr) -> bool {
    let [first, second, rest @ ..] = v6.segments();
    let nat64 = (first, second) == (0x64, 0xff9b) && rest.iter().take(4).all(|part| *part == 0);
    let low = u32::try_from(v6.to_bits() & u128::from(u32::MAX)).unwrap_or_default();
    let inner = v6.to_ipv4_mapped().or(nat64.then(|| Ipv4Addr::from_bits(low)));
    v6.is_loopback()
        || v6.is_unspecified()
        || (first, second) == (0x2001, 0x0db8)
        || first == 0xff02
        || inner.is_some_and(is_unowned_v4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_somebodys_is_scored() {
        for (kind, unowned, owned) in [
            ("EMAIL", "a@example.net", "a@corp.example.net"),
            ("EMAIL", "a@b.test", "a@test.com"),
            ("EMAIL", "ci@p.iam.gserviceaccount.com", "ci@gserviceaccount.com"),
            ("PHONE", "+1 (212) 555-0117", "+1 (212) 555-1117"),
            ("PHONE", "555-0117", "+44 20 5550 117"),
            ("IP", "::ffff:127.0.0.1", "::ffff:10.0.0.1"),
            ("IP", "64:ff9b::192.0.2.0/96", "64:ff9b::8.8.4.4"),
            ("IP", "2001:db8::/32", "2001:db9::1"),
            ("IP", "0.0.0.0/0", "10.0.0.0/8"),
            ("CREDIT_CARD", "4012-8888-8888-1881", "4539-1488-0343-6467"),
        ] {
            assert!(is_unowned(kind, unowned) && !is_unowned(kind, owned), "{kind} {unowned}");
        }
        assert!(!is_unowned("PHONE", "a@example.net"));
    }
}
