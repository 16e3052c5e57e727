//! Verifying a token, beside a bare HMAC of the same bytes.

use std::hint::black_box;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use weaver_agent_kernel::{Caveat, Token};
use weaver_benches::Failure;
use weaver_benches::kernel::Desk;
use weaver_benches::measure::micros;

use crate::Effort;

/// Verifications of one batch.
const EACH: usize = 2_000;

/// Nanoseconds: of the bare HMAC, whose key is taken in already; of the verification of a token,
/// from its bytes and from its text; and with one and with eight caveats.
pub fn times(effort: &Effort) -> Result<Value, Failure> {
    let desk = Desk::new()?;
    let keys = desk.keys();
    let token = desk.grant().token.ok_or("no token")?;
    let text = token.to_text();
    let bytes = URL_SAFE_NO_PAD.decode(&text)?;
    let (head, mac) = bytes.split_last_chunk::<32>().ok_or("no MAC")?;
    let keyed = <Hmac<Sha256> as KeyInit>::new_from_slice(&[7; 32])?;
    let bare = micros(effort.batches, EACH, || {
        let mut own = keyed.clone();
        own.update(black_box(head));
        assert!(own.verify_slice(black_box(mac)).is_err());
    });
    let verify = |token: &Token| {
        micros(effort.batches, EACH, || assert!(keys.verify(black_box(token)).is_ok()))
    };
    let own = verify(&token);
    let from_text = micros(effort.batches, EACH, || {
        assert!(keys.verify(&Token::from_text(black_box(&text))).is_ok());
    });
    let caveat = Caveat::arguments(&json!({ "team": "north" }))?;
    let one = token.attenuate(&caveat)?;
    let eight = (0..7).try_fold(one.clone(), |token, _| token.attenuate(&caveat))?;
    Ok(json!({
        "bytes": bytes.len(),
        "bare_ns": bare * 1e3,
        "verify_ns": own * 1e3,
        "verify_text_ns": from_text * 1e3,
        "over_bare_ns": (own - bare) * 1e3,
        "over_bare_from_text_ns": (from_text - bare) * 1e3,
        "one_caveat_ns": verify(&one) * 1e3,
        "eight_caveats_ns": verify(&eight) * 1e3,
    }))
}
