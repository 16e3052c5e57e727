//! Address ranges: which addresses are public, and which others an operator allows.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use super::OperationError;

/// A range of addresses: `10.1.0.0/16`, `fd00::/8`, or a single address.
///
/// ```
/// use weaver_drivers::http::AddressRange;
///
/// let network: AddressRange = "10.1.0.0/16".parse()?;
/// assert!(network.contains("10.1.2.3".parse().unwrap()));
/// assert!(!network.contains("10.2.2.3".parse().unwrap()));
/// # Ok::<(), weaver_drivers::http::OperationError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AddressRange {
    address: IpAddr,
    prefix: u8,
}

impl AddressRange {
    /// Whether the range contains an address. An IPv4-mapped IPv6 address counts as its IPv4
    /// address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        is_within(address.to_canonical(), self.address, self.prefix)
    }

    fn is_one_address(&self) -> bool {
        self.prefix == address_bits(self.address)
    }
}

impl FromStr for AddressRange {
    type Err = OperationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || OperationError::AddressRange { text: text.escape_debug().take(80).collect() };
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| bad())?;
        let prefix = match prefix {
            Some(prefix) => prefix.parse().map_err(|_| bad())?,
            None => address_bits(address),
        };
        // Bits beyond the prefix suggest that another range was meant.
        let host_bits = bits(address) & !prefix_mask(prefix, address_bits(address));
        if prefix > address_bits(address) || host_bits != 0 || address != address.to_canonical() {
            return Err(bad());
        }
        Ok(Self { address, prefix })
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

fn address_bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

fn prefix_mask(prefix: u8, width: u8) -> u128 {
    let host = u32::from(width.saturating_sub(prefix));
    u128::MAX.checked_shl(host).unwrap_or(0)
}

fn is_within(address: IpAddr, network: IpAddr, prefix: u8) -> bool {
    address.is_ipv4() == network.is_ipv4()
        && (bits(address) ^ bits(network)) & prefix_mask(prefix, address_bits(network)) == 0
}

type Special4 = (Ipv4Addr, u8, &'static str);
type Special6 = (Ipv6Addr, u8, &'static str);

/// IPv4 ranges that are not public, after IANA's special-purpose address registry.
const SPECIAL_PURPOSE_V4: [Special4; 17] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, "this host"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "a carrier's own"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "for examples"),
    (Ipv4Addr::new(192, 31, 196, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(192, 175, 48, 0), 24, "reserved"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "for benchmarks"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "for examples"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "for examples"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
];

const fn v6_prefix(one: u16, two: u16) -> Ipv6Addr {
    Ipv6Addr::new(one, two, 0, 0, 0, 0, 0, 0)
}

/// IPv6 ranges that are not public. Everything outside of `2000::/3` is not public either.
const SPECIAL_PURPOSE_V6: [Special6; 11] = [
    (Ipv6Addr::LOCALHOST, 128, "loopback"),
    (Ipv6Addr::UNSPECIFIED, 128, "this host"),
    (v6_prefix(0xfc00, 0), 7, "unique local"),
    (v6_prefix(0xfe80, 0), 10, "link-local"),
    (v6_prefix(0xfec0, 0), 10, "site-local"),
    (v6_prefix(0xff00, 0), 8, "multicast"),
    (v6_prefix(0x2001, 0), 23, "reserved"),
    (v6_prefix(0x2001, 0xdb8), 32, "for examples"),
    (v6_prefix(0x2002, 0), 16, "a 6to4 tunnel"),
    (v6_prefix(0x3fff, 0), 20, "for examples"),
    (v6_prefix(0x5f00, 0), 16, "reserved"),
];

/// Addresses of cloud metadata services, which give out the machine's credentials. Some lie in
/// public ranges.
const METADATA_SERVICES: [IpAddr; 6] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

/// True for a public address: not private, not this machine, and not a metadata service.
pub(crate) fn is_public(address: IpAddr) -> bool {
    refusal_reason(address, &[]).is_none()
}

/// True for the address of a cloud metadata service, which gives out the machine's credentials.
pub(crate) fn is_metadata_service(address: IpAddr) -> bool {
    METADATA_SERVICES.contains(&address.to_canonical())
}

/// Why an address must not be connected to; `None` if it is public or allowed. A metadata service
/// must be allowed by its exact address, never by a range, so that a wide range cannot expose it by
/// accident.
pub(super) fn refusal_reason(address: IpAddr, allowed: &[AddressRange]) -> Option<&'static str> {
    let address = address.to_canonical();
    let mut ranges = allowed.iter().filter(|network| network.contains(address));
    if METADATA_SERVICES.contains(&address) {
        return (!ranges.any(AddressRange::is_one_address)).then_some("a metadata service");
    }
    if ranges.next().is_some() {
        return None;
    }
    match address {
        IpAddr::V4(_) => SPECIAL_PURPOSE_V4
            .iter()
            .find(|(network, prefix, _)| is_within(address, IpAddr::V4(*network), *prefix))
            .map(|(.., what)| *what),
        IpAddr::V6(inner) => refusal_reason_v6(inner, allowed),
    }
}

fn refusal_reason_v6(address: Ipv6Addr, allowed: &[AddressRange]) -> Option<&'static str> {
    // An address of the NAT64 prefix is as public as the IPv4 address it embeds.
    if let [0x64, 0xff9b, 0, 0, 0, 0, high, low] = address.segments() {
        let embedded = Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
        return refusal_reason(IpAddr::V4(embedded), allowed);
    }
    let special = SPECIAL_PURPOSE_V6
        .iter()
        .find(|(network, prefix, _)| is_within(IpAddr::V6(address), IpAddr::V6(*network), *prefix));
    let global = is_within(IpAddr::V6(address), IpAddr::V6(v6_prefix(0x2000, 0)), 3);
    special.map(|(.., what)| *what).or((!global).then_some("not global"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(address: &str, allowed: &[&str]) -> Option<&'static str> {
        let allowed: Vec<AddressRange> = allowed.iter().map(|text| text.parse().unwrap()).collect();
        refusal_reason(address.parse().unwrap(), &allowed)
    }

    #[test]
    fn only_public_addresses_pass() {
        for public in ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "64:ff9b::101:101"] {
            assert_eq!(refused(public, &[]), None, "{public}");
        }
        for (address, what) in [
            ("127.0.0.1", "loopback"),
            ("127.255.255.254", "loopback"),
            ("10.0.0.1", "private"),
            ("172.16.0.1", "private"),
            ("172.31.255.255", "private"),
            ("192.168.1.1", "private"),
            ("100.64.0.1", "a carrier's own"),
            ("169.254.1.1", "link-local"),
            ("0.0.0.0", "this host"),
            ("224.0.0.1", "multicast"),
            ("255.255.255.255", "reserved"),
            ("::1", "loopback"),
            ("::", "this host"),
            ("::ffff:127.0.0.1", "loopback"),
            ("::ffff:10.0.0.1", "private"),
            ("::7f00:1", "not global"),
            ("64:ff9b::7f00:1", "loopback"),
            ("64:ff9b:1::1", "not global"),
            ("fc00::1", "unique local"),
            ("fd12::1", "unique local"),
            ("fe80::1", "link-local"),
            ("fec0::1", "site-local"),
            ("ff02::1", "multicast"),
            ("2001::1", "reserved"),
            ("2002:7f00:1::", "a 6to4 tunnel"),
            ("2001:db8::1", "for examples"),
        ] {
            assert_eq!(refused(address, &[]), Some(what), "{address}");
        }
        assert_eq!(refused("172.32.0.1", &[]), None);
    }

    #[test]
    fn metadata_is_allowed_by_its_own_address_only() {
        for address in ["169.254.169.254", "168.63.129.16", "fd00:ec2::254", "100.100.100.200"] {
            assert_eq!(refused(address, &["0.0.0.0/0", "::/0"]), Some("a metadata service"));
            assert_eq!(refused(address, &[address]), None);
        }
        assert_eq!(refused("::ffff:169.254.169.254", &[]), Some("a metadata service"));
        assert_eq!(refused("10.0.0.1", &["10.0.0.0/8"]), None);
        assert_eq!(refused("::ffff:10.0.0.1", &["10.0.0.0/8"]), None);
        assert_eq!(refused("10.0.0.1", &["10.0.1.0/24", "::/0"]), Some("private"));
    }

    #[test]
    fn a_range_that_means_another_is_refused() {
        for bad in ["", "x", "10.0.0.1/8", "10.0.0.0/33", "::/129", "10.0.0.0/", "::ffff:10.0.0.1"]
        {
            assert_eq!(bad.parse::<AddressRange>().unwrap_err().code(), "http.network", "{bad}");
        }
        assert_eq!("10.0.0.1".parse::<AddressRange>().unwrap().to_string(), "10.0.0.1/32");
    }
}
