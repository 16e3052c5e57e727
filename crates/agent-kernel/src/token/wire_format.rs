//! The wire format of a token.
//!
//! ```text
//! token   = head, caveat*, mac (32)
//! head    = version (1), length of claims (2), claims
//! claims  = text key, text token, text tenant, text principal, text capability,
//!           fingerprint (32), text run, option (arguments (32)), text audience, policy (32),
//!           raw (1), issued (8), expires (8), constraints
//! constraints = option (max_rows (4)), option (max_fields (4)), option (max_chars (4)),
//!           option (mode (1)), option (timeout_ms (4)), option (count (2), text*)
//! caveat  = length (2), kind (1), content
//! text    = length (2), UTF-8
//! option  = 0, or 1 and the value
//! ```
//!
//! Numbers are big endian; times are microseconds. Each token has exactly one encoding, and nothing
//! may follow its end.

use std::collections::BTreeSet;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use weaver_types::digest::{Digest, DomainTag};
use weaver_types::{
    AgentId, CapabilityId, Constraints, KeyId, PrincipalId, ResponseMode, RunId, Tenant, Timestamp,
    TokenClaims, TokenId,
};

use super::{Caveat, MAX_CAVEATS, MAX_TOKEN_BYTES};
use crate::error::AttenuationError;

/// The newest version of the format, and the one that is written.
pub(super) const VERSION: u8 = 1;
/// The length of a MAC, in bytes.
pub(super) const MAC_BYTES: usize = 32;
const AGENT_CAVEAT: u8 = 1;
const ARGUMENTS_CAVEAT: u8 = 2;
const EXPIRY_CAVEAT: u8 = 3;

/// The parts of a token; only the lengths are parsed so far.
pub(super) struct TokenParts<'a> {
    /// Version, length and claims.
    pub(super) head: &'a [u8],
    /// The id of the key.
    pub(super) key: &'a str,
    pub(super) caveats: &'a [u8],
    pub(super) mac: &'a [u8; MAC_BYTES],
}

/// Splits a token; `None` when it is malformed or has another version.
pub(super) fn split(token: &[u8]) -> Option<TokenParts<'_>> {
    if token.len() > MAX_TOKEN_BYTES {
        return None;
    }
    let (body, mac) = token.split_last_chunk::<MAC_BYTES>()?;
    let mut rest = Reader(body);
    if rest.byte()? != VERSION {
        return None;
    }
    let claims = rest.bytes()?;
    let key = Reader(claims).text()?;
    let (head, caveats) = body.split_at_checked(body.len().checked_sub(rest.0.len())?)?;
    Some(TokenParts { head, key, caveats, mac })
}

/// Splits the caveats of a token, as received; `None` when one is cut off or there are too many.
pub(super) fn split_caveats(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut split_off = Vec::new();
    while !bytes.is_empty() {
        let mut rest = Reader(bytes);
        rest.bytes()?;
        let (one, rest_of_bytes) =
            bytes.split_at_checked(bytes.len().checked_sub(rest.0.len())?)?;
        if split_off.len() == MAX_CAVEATS {
            return None;
        }
        split_off.push(one);
        bytes = rest_of_bytes;
    }
    Some(split_off)
}

/// The MAC of a caveat, keyed with the MAC before it.
pub(super) fn chained_mac(mac: &[u8], caveat: &[u8]) -> Option<Hmac<Sha256>> {
    let mut next = <Hmac<Sha256> as KeyInit>::new_from_slice(mac).ok()?;
    next.update(DomainTag::CAVEAT.as_str().as_bytes());
    next.update(&[0]);
    next.update(caveat);
    Some(next)
}

/// Adds a caveat to a token.
pub(super) fn add_caveat(token: &[u8], caveat: &Caveat) -> Result<Vec<u8>, AttenuationError> {
    let parts = split(token).ok_or(AttenuationError::Malformed)?;
    let before = split_caveats(parts.caveats).ok_or(AttenuationError::Malformed)?.len();
    if before >= MAX_CAVEATS {
        return Err(AttenuationError::Depth { limit: MAX_CAVEATS });
    }
    let added =
        encode_caveat(caveat).ok_or(AttenuationError::TooLarge { limit: MAX_TOKEN_BYTES })?;
    let mac =
        chained_mac(parts.mac, &added).ok_or(AttenuationError::Malformed)?.finalize().into_bytes();
    let out = [parts.head, parts.caveats, &added, &mac].concat();
    if out.len() > MAX_TOKEN_BYTES {
        return Err(AttenuationError::TooLarge { limit: MAX_TOKEN_BYTES });
    }
    Ok(out)
}

/// Encodes the head of a token; `None` when a part is too long.
pub(super) fn encode_head(claims: &TokenClaims) -> Option<Vec<u8>> {
    if claims.v != VERSION {
        return None;
    }
    let mut out = Writer(Vec::with_capacity(384));
    out.0.extend([VERSION, 0, 0]);
    let begin = out.0.len();
    write_claims(&mut out, claims)?;
    let length = u16::try_from(out.0.len().checked_sub(begin)?).ok()?.to_be_bytes();
    out.0.get_mut(1..begin)?.copy_from_slice(&length);
    (out.0.len() + MAC_BYTES <= MAX_TOKEN_BYTES).then_some(out.0)
}

/// The token id in an authenticated head.
pub(super) fn token_name(head: &[u8]) -> Option<&str> {
    let (_version, rest) = head.split_first()?;
    let mut claims = Reader(Reader(rest).bytes()?);
    claims.bytes()?;
    claims.text()
}

/// Parses the claims in an authenticated head.
pub(super) fn parse_claims(head: &[u8]) -> Option<TokenClaims> {
    let mut rest = Reader(head);
    let v = rest.byte()?;
    let mut rest = Reader(rest.bytes()?);
    let claims = read_claims(&mut rest, v)?;
    rest.0.is_empty().then_some(claims)
}

fn write_claims(out: &mut Writer, claims: &TokenClaims) -> Option<()> {
    out.text(claims.key_id.as_str())?;
    out.text(claims.token_id.as_str())?;
    out.text(claims.tenant.as_str())?;
    out.text(claims.principal.as_str())?;
    out.text(claims.capability.as_str())?;
    out.digest(&claims.fingerprint);
    out.text(claims.run.as_str())?;
    out.option(claims.arguments.as_ref(), |out, digest| {
        out.digest(digest);
        Some(())
    })?;
    out.text(&claims.audience)?;
    out.digest(&claims.policy);
    out.0.push(claims.raw.into());
    out.0.extend(claims.issued_at.micros().to_be_bytes());
    out.0.extend(claims.expires_at.micros().to_be_bytes());
    write_constraints(out, &claims.constraints)
}

fn read_claims(rest: &mut Reader<'_>, v: u8) -> Option<TokenClaims> {
    Some(TokenClaims {
        v,
        key_id: KeyId::parse(rest.text()?).ok()?,
        token_id: TokenId::parse(rest.text()?).ok()?,
        tenant: Tenant::parse(rest.text()?).ok()?,
        principal: PrincipalId::parse(rest.text()?).ok()?,
        capability: CapabilityId::parse(rest.text()?).ok()?,
        fingerprint: rest.digest()?,
        run: RunId::parse(rest.text()?).ok()?,
        arguments: rest.option(Reader::digest)?,
        audience: rest.text()?.to_owned(),
        policy: rest.digest()?,
        raw: rest.flag()?,
        issued_at: rest.time()?,
        expires_at: rest.time()?,
        constraints: read_constraints(rest)?,
    })
}

fn write_constraints(out: &mut Writer, limits: &Constraints) -> Option<()> {
    let Constraints {
        max_tokens,
        max_rows,
        max_fields,
        max_chars,
        allowed_fields,
        mode,
        timeout_ms,
    } = limits;
    for number in [max_tokens, max_rows, max_fields, max_chars] {
        out.option(number.as_ref(), Writer::number)?;
    }
    out.option(mode.as_ref(), |out, mode| {
        out.0.push(mode_code(*mode));
        Some(())
    })?;
    out.option(timeout_ms.as_ref(), Writer::number)?;
    out.option(allowed_fields.as_ref(), |out, fields| {
        out.0.extend(u16::try_from(fields.len()).ok()?.to_be_bytes());
        fields.iter().try_for_each(|field| out.text(field))
    })
}

fn read_constraints(rest: &mut Reader<'_>) -> Option<Constraints> {
    Some(Constraints {
        max_tokens: rest.option(Reader::number)?,
        max_rows: rest.option(Reader::number)?,
        max_fields: rest.option(Reader::number)?,
        max_chars: rest.option(Reader::number)?,
        mode: rest.option(|rest| parse_mode(rest.byte()?))?,
        timeout_ms: rest.option(Reader::number)?,
        allowed_fields: rest.option(read_fields)?,
    })
}

/// Field names, which must be strictly ascending, so that there is only one encoding.
fn read_fields(rest: &mut Reader<'_>) -> Option<BTreeSet<String>> {
    let count = u16::from_be_bytes(*rest.array()?);
    let mut fields: BTreeSet<String> = BTreeSet::new();
    for _ in 0..count {
        let field = rest.text()?;
        if fields.last().is_some_and(|last| last.as_str() >= field) {
            return None;
        }
        fields.insert(field.to_owned());
    }
    Some(fields)
}

fn mode_code(mode: ResponseMode) -> u8 {
    match mode {
        ResponseMode::Raw => 0,
        ResponseMode::Table => 1,
        ResponseMode::Summary => 2,
        ResponseMode::HandleOnly => 3,
        ResponseMode::Auto => 4,
    }
}

fn parse_mode(code: u8) -> Option<ResponseMode> {
    let modes = [
        ResponseMode::Raw,
        ResponseMode::Table,
        ResponseMode::Summary,
        ResponseMode::HandleOnly,
        ResponseMode::Auto,
    ];
    modes.into_iter().find(|mode| mode_code(*mode) == code)
}

fn encode_caveat(caveat: &Caveat) -> Option<Vec<u8>> {
    let (kind, content) = match caveat {
        Caveat::Agent(agent) => (AGENT_CAVEAT, agent.as_str().as_bytes().to_vec()),
        Caveat::Arguments(digest) => (ARGUMENTS_CAVEAT, digest.as_bytes().to_vec()),
        Caveat::ExpiresAt(at) => (EXPIRY_CAVEAT, at.micros().to_be_bytes().to_vec()),
    };
    let length = u16::try_from(content.len().checked_add(1)?).ok()?;
    Some([length.to_be_bytes().as_slice(), &[kind], &content].concat())
}

/// Parses an authenticated caveat; `None` for a kind that this build does not know.
pub(super) fn parse_caveat(bytes: &[u8]) -> Option<Caveat> {
    let (kind, content) = Reader(bytes).bytes()?.split_first()?;
    match *kind {
        AGENT_CAVEAT => AgentId::parse(std::str::from_utf8(content).ok()?).ok().map(Caveat::Agent),
        ARGUMENTS_CAVEAT => Some(Caveat::Arguments(Digest::from_bytes(content.try_into().ok()?))),
        EXPIRY_CAVEAT => {
            let at = i64::from_be_bytes(content.try_into().ok()?);
            Some(Caveat::ExpiresAt(Timestamp::from_micros(at)))
        }
        _ => None,
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn text(&mut self, text: &str) -> Option<()> {
        self.0.extend(u16::try_from(text.len()).ok()?.to_be_bytes());
        self.0.extend(text.as_bytes());
        Some(())
    }

    fn digest(&mut self, digest: &Digest) {
        self.0.extend(digest.as_bytes());
    }

    fn number(&mut self, number: &u32) -> Option<()> {
        self.0.extend(number.to_be_bytes());
        Some(())
    }

    fn option<T>(
        &mut self,
        value: Option<&T>,
        write: impl Fn(&mut Self, &T) -> Option<()>,
    ) -> Option<()> {
        self.0.push(value.is_some().into());
        value.map_or(Some(()), |value| write(self, value))
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (split_off, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(split_off)
    }

    fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| *byte)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// A length, then that number of bytes.
    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = u16::from_be_bytes(*self.array()?);
        let (split_off, rest) = self.0.split_at_checked(length.into())?;
        self.0 = rest;
        Some(split_off)
    }

    fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    fn digest(&mut self) -> Option<Digest> {
        self.array().map(|bytes| Digest::from_bytes(*bytes))
    }

    fn number(&mut self) -> Option<u32> {
        self.array().map(|bytes| u32::from_be_bytes(*bytes))
    }

    fn time(&mut self) -> Option<Timestamp> {
        self.array().map(|bytes| Timestamp::from_micros(i64::from_be_bytes(*bytes)))
    }

    /// An optional value; the outer `None` means malformed.
    fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.flag()? { read(self).map(Some) } else { Some(None) }
    }
}
