//! Object ids of vendors. They look random and occur near the vendor's name, but are not secret:
//! knowing one gives no access.

/// Prefixes of object ids and publishable keys of Stripe, Slack, GitHub and language model APIs.
const PREFIXES: [&[u8]; 42] = [
    b"acct_", b"asst_", b"batch_", b"card_", b"ch_", b"chatcmpl-", b"cn_", b"cus_", b"dp_",
    b"evt_", b"file-", b"file_", b"il_", b"in_", b"mandate_", b"msg_", b"org-", b"pi_", b"plan_",
    b"pk_live_", b"pk_test_", b"pm_", b"po_", b"price_", b"prod_", b"proj_", b"py_", b"re_",
    b"req_", b"resp_", b"run_", b"seti_", b"src_", b"step_", b"sub_", b"sub_sched_", b"thread_",
    b"toolu_", b"tr_", b"txn_", b"txr_", b"we_",
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
        || AWS_PREFIXES
            .iter()
            .filter_map(|prefix| after(&prefix))
            .any(|rest| matches!(rest.len(), 8 | 17) && rest.iter().all(u8::is_ascii_hexdigit))
        || is_parcel_number(token)
        || token.len() == 17 && AIRTABLE.iter().filter_map(|prefix| after(&prefix)).any(is_word)
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
