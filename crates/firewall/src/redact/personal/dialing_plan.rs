//! Dialing plans: country codes with the minimum and maximum number of digits after them.

/// Triples of country code, minimum digits, maximum digits.
const COUNTRY_CODES: &[u16] = &[
    1, 10, 10, 7, 10, 10, 20, 8, 10, 27, 9, 9, 30, 10, 10, 31, 9, 9, 32, 8, 9, 33, 9, 9, 34, 9, 9,
    36, 8, 9, 39, 6, 11, 40, 9, 9, 41, 9, 9, 43, 6, 13, 44, 9, 10, 45, 8, 8, 46, 7, 10, 47, 8, 8,
    48, 9, 9, 49, 6, 12, 51, 8, 9, 52, 10, 11, 53, 8, 8, 54, 10, 11, 55, 10, 11, 56, 9, 9, 57, 8,
    10, 58, 10, 10, 60, 8, 10, 61, 9, 9, 62, 8, 12, 63, 8, 10, 64, 8, 10, 65, 8, 8, 66, 8, 9, 81,
    9, 10, 82, 8, 10, 84, 9, 10, 86, 9, 11, 90, 10, 10, 91, 10, 10, 92, 9, 10, 93, 9, 9, 94, 9, 9,
    95, 7, 10, 98, 10, 10, 212, 9, 9, 213, 8, 9, 216, 8, 8, 218, 9, 9, 220, 7, 7, 221, 9, 9, 225,
    10, 10, 233, 9, 9, 234, 8, 10, 237, 9, 9, 244, 9, 9, 249, 9, 9, 250, 9, 9, 251, 9, 9, 254, 9,
    9, 255, 9, 9, 256, 9, 9, 258, 8, 9, 260, 9, 9, 261, 9, 9, 263, 8, 9, 264, 8, 9, 350, 8, 8, 351,
    9, 9, 352, 6, 11, 353, 7, 9, 354, 7, 9, 355, 8, 9, 356, 8, 8, 357, 8, 8, 358, 6, 11, 359, 7, 9,
    370, 8, 8, 371, 8, 8, 372, 7, 8, 373, 8, 8, 374, 8, 8, 375, 9, 9, 376, 6, 9, 377, 8, 9, 378, 6,
    10, 380, 9, 9, 381, 8, 9, 382, 8, 8, 383, 8, 8, 385, 8, 9, 386, 8, 8, 387, 8, 8, 389, 8, 8,
    420, 9, 9, 421, 9, 9, 423, 7, 7, 501, 7, 7, 502, 8, 8, 503, 8, 8, 504, 8, 8, 505, 8, 8, 506, 8,
    8, 507, 7, 8, 509, 8, 8, 590, 9, 9, 591, 8, 8, 592, 7, 7, 593, 8, 9, 594, 9, 9, 595, 8, 9, 596,
    9, 9, 597, 6, 7, 598, 8, 8, 599, 7, 8, 673, 7, 7, 675, 7, 8, 679, 7, 7, 687, 6, 6, 689, 6, 8,
    852, 8, 8, 853, 8, 8, 855, 8, 9, 856, 8, 10, 870, 9, 12, 880, 8, 10, 886, 8, 9, 960, 7, 7, 961,
    7, 8, 962, 8, 9, 963, 8, 9, 964, 8, 10, 965, 8, 8, 966, 9, 9, 967, 7, 9, 968, 8, 8, 970, 8, 9,
    971, 8, 9, 972, 8, 9, 973, 8, 8, 974, 8, 8, 975, 8, 8, 976, 8, 8, 977, 8, 10, 992, 9, 9, 993,
    8, 8, 994, 9, 9, 995, 9, 9, 996, 9, 9, 998, 9, 9,
];

/// True for a country code followed by as many digits as that country's numbers have.
pub(super) fn is_international(digits: &[u8]) -> bool {
    (1..=3).any(|width| has_country_code(digits, width))
}

/// True if the first `width` digits are a country code and the number has a length of that plan.
pub(super) fn has_country_code(digits: &[u8], width: usize) -> bool {
    let Some((code, rest)) = digits.split_at_checked(width) else { return false };
    let code = code.iter().fold(0_u16, |sum, byte| sum * 10 + u16::from(byte - b'0'));
    let american = code != 1 || rest.first().is_some_and(|first| *first >= b'2');
    let fits = |fewest: u16, most: u16| (fewest.into()..=most.into()).contains(&rest.len());
    let mut plans = COUNTRY_CODES.as_chunks::<3>().0.iter();
    american && plans.any(|[known, fewest, most]| *known == code && fits(*fewest, *most))
}

/// A North American number: area code and exchange begin with 2 to 9, and neither is a service
/// code.
pub(super) fn is_north_american(digits: &[u8]) -> bool {
    let ten = if digits.len() == 11 { digits.strip_prefix(b"1") } else { Some(digits) };
    let Some([a, b, c, d, e, f, ..]) = ten else { return false };
    let service = |second: &u8, third: &u8| (second, third) == (&b'1', &b'1');
    ten.is_some_and(|ten| ten.len() == 10)
        && *a >= b'2'
        && *d >= b'2'
        && !service(b, c)
        && !service(e, f)
        && *b != b'9'
}
