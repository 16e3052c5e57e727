//! Addresses, domains and telephone numbers that standards reserve. They belong to nobody and so reveal nothing about
//! anybody; masking one would hide what a reader needs, such as that a server listens on loopback
//! or that a text is an example.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Top-level domains that never exist in the DNS (RFC 2606, RFC 6761).
const RESERVED_TLDS: [&[u8]; 4] = [b"example", b"test", b"invalid", b"localhost"];
/// Top-level domains in which `example` is reserved (RFC 2606; `example.edu` by its registry).
const EXAMPLE_TLDS: [&[u8]; 4] = [b"com", b"net", b"org", b"edu"];

/// True for loopback (127/8), 0/8, which no host has, 255.255.255.255, the documentation blocks (RFC 5737) and
/// multicast (224/4). Private and link-local addresses identify one host of a network and are not
/// included.
pub(super) fn is_reserved_v4(address: Ipv4Addr) -> bool {
    address.is_loopback()
        || address.octets().first() == Some(&0)
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
}

/// True for a netmask, such as 255.255.240.0, and for a wildcard mask, such as 0.0.15.255.
///
/// A wildcard mask must begin with a zero octet: 3.255.255.255, for instance, is more often a
/// host's address than a mask.
pub(super) fn is_mask(address: Ipv4Addr) -> bool {
    let bits = address.to_bits();
    let netmask = bits.leading_ones() + bits.trailing_zeros() == u32::BITS;
    let wildcard = bits.leading_zeros() + bits.trailing_ones() == u32::BITS;
    netmask || wildcard && bits.leading_zeros() >= 8
}

/// True for `::1`, `::`, the documentation blocks (RFC 3849, RFC 9637), permanent multicast groups,
/// and addresses that embed a reserved IPv4 address.
pub(super) fn is_reserved_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = embedded_ipv4(address) {
        return is_reserved_v4(inner);
    }
    let [first, second, ..] = address.segments();
    let documentation = first == 0x2001 && second == 0x0db8 || first == 0x3fff && second < 0x1000;
    address.is_loopback()
        || address.is_unspecified()
        || documentation
        || is_permanent_multicast(address)
}

/// The IPv4 address embedded in a mapped (`::ffff:0:0/96`), compatible (`::/96`), translated
/// (`::ffff:0:0:0/96`) or NAT64 (`64:ff9b::/96`) address.
fn embedded_ipv4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let (high, low) = match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => (high, low),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => (high, low),
        _ => return None,
    };
    Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
}

/// True for a permanently assigned multicast group. Solicited-node groups (`ff02::1:ff00:0/104`)
/// contain the end of a host's address and are excluded.
fn is_permanent_multicast(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let solicited = matches!(segments, [0xff02, 0, 0, 0, 0, 1, 0xff00..=0xffff, _]);
    let permanent = segments.first().is_some_and(|first| first & 0xfff0 == 0xff00);
    permanent && !solicited
}

/// True for a number of North America that is kept for fiction: 555-0100 to 555-0199 of any area, and
/// every number of the area 555, which no region has, behind the 1 of the continent.
pub(super) fn is_fictional_number(digits: &[u8], has_plus: bool) -> bool {
    match (digits, has_plus) {
        ([b'1', b'5', b'5', b'5', rest @ ..], _) if rest.len() == 7 => true,
        ([b'1', b'2'..=b'9', _, _, local @ ..], _) | ([b'2'..=b'9', _, _, local @ ..], false)
            if local.len() == 7 =>
        {
            local.starts_with(b"55501")
        }
        (local, false) => local.len() == 7 && local.starts_with(b"55501"),
        _ => false,
    }
}

/// True for the domain of accounts of services at Google, which name a program and not a person.
pub(super) fn is_of_service_account(domain: &[u8]) -> bool {
    domain.ends_with(b".iam.gserviceaccount.com")
}

/// True for an example domain, given its labels from last to first: a reserved top-level domain, or
/// `example.com` and its siblings themselves. Subdomains of `example.com` do not count, because
/// many systems use them for test users who stand for real ones.
pub(super) fn is_example_domain<'l>(mut labels: impl Iterator<Item = &'l [u8]>) -> bool {
    let is_one = |label: &[u8], of: &[&[u8]]| of.iter().any(|one| one.eq_ignore_ascii_case(label));
    let Some(top) = labels.next() else { return false };
    is_one(top, &RESERVED_TLDS)
        || is_one(top, &EXAMPLE_TLDS)
            && labels.next().is_some_and(|label| label.eq_ignore_ascii_case(b"example"))
            && labels.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_contiguous() {
        for mask in ["255.255.255.0", "255.255.240.0", "128.0.0.0", "0.0.0.255", "0.0.15.255"] {
            assert!(is_mask(mask.parse().unwrap()), "{mask}");
        }
        for other in ["255.0.255.0", "0.0.255.0", "10.0.0.255", "3.255.255.255", "192.168.0.0"] {
            assert!(!is_mask(other.parse().unwrap()), "{other}");
        }
    }

    #[test]
    fn numbers_of_fiction_have_their_exchange_or_their_area() {
        for (number, has_plus) in [
            ("5550142", false),
            ("2125550117", false),
            ("12125550117", true),
            ("15552229999", true),
        ] {
            assert!(is_fictional_number(number.as_bytes(), has_plus), "{number}");
        }
        for (number, has_plus) in [
            ("5551142", false),
            ("2125551117", false),
            ("0305550117", false),
            ("5552187740", false),
            ("4755550117", true),
            ("122125550117", true),
        ] {
            assert!(!is_fictional_number(number.as_bytes(), has_plus), "{number}");
        }
    }

    #[test]
    fn an_address_inside_an_address_decides() {
        for reserved in ["::ffff:127.0.0.1", "::ffff:c000:201", "64:ff9b::192.0.2.1", "::1", "::"] {
            assert!(is_reserved_v6(reserved.parse().unwrap()), "{reserved}");
        }
        for other in ["::ffff:10.0.0.1", "::ffff:0:8.8.4.4", "64:ff9b::808:404", "::8.8.4.4"] {
            assert!(!is_reserved_v6(other.parse().unwrap()), "{other}");
        }
    }

    #[test]
    fn blocks_end_where_they_end() {
        for (inside, outside) in [
            ("2001:db8:ffff::1", "2001:db9::1"),
            ("3fff:fff::1", "3fff:1000::1"),
            ("ff02::1", "ff02::1:ff12:3456"),
            ("ff0e::101", "ff3e::101"),
        ] {
            assert!(is_reserved_v6(inside.parse().unwrap()), "{inside}");
            assert!(!is_reserved_v6(outside.parse().unwrap()), "{outside}");
        }
    }
}
