//! Lines that a command reads which sets passwords: `chpasswd`, `newusers`.

use super::credential_value;
use super::secret_name::SecretKind;
use super::{PASSWORD_RULE, ScanHit, slice};
use crate::redact::scan_window::ScanWindow;
use crate::redact::work_meter;

const COMMANDS: [&[u8]; 2] = [b"chpasswd", b"newusers"];
/// How far below its command a line is read, in bytes.
const MAX_BYTES_BELOW: usize = 440;

/// Finds the passwords of the lines below such a command: `root:x`, in `newusers` with more fields.
pub(super) fn scan(window: &ScanWindow<'_>, hits: &mut Vec<ScanHit>) {
    let bytes = window.bytes();
    for command in COMMANDS {
        // A line that was read is not read again, however many commands there are.
        let mut read_up_to = 0;
        for at in memchr::memmem::find_iter(bytes, command) {
            if at < read_up_to {
                continue;
            }
            let run = slice(bytes, at..bytes.len().min(at + MAX_BYTES_BELOW));
            let mut start = at;
            for (number, line) in run.split_inclusive(|b| *b == b'\n').enumerate() {
                let text = line.trim_ascii();
                let indent = line.len() - line.trim_ascii_start().len();
                let (from, end) = (start + indent, start + line.len());
                start = end;
                if number == 0 || text == b"list: |" {
                    read_up_to = end;
                    continue;
                }
                work_meter::add_bytes(line.len());
                let Some(password) = password_of_line(text) else { break };
                read_up_to = end;
                let range = from + password.start..from + password.end;
                let value = slice(bytes, range.clone());
                let is_secret = std::str::from_utf8(value)
                    .is_ok_and(|text| credential_value::is_secret_text(text, SecretKind::Password));
                if is_secret && !window.covered.covers(&range) {
                    hits.push(ScanHit { range, rule: PASSWORD_RULE });
                }
            }
        }
    }
}

/// Where the password of an account is in its line; `None` for another line.
fn password_of_line(line: &[u8]) -> Option<std::ops::Range<usize>> {
    let name = memchr::memchr(b':', line)?;
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || b"_-.".contains(b);
    let rest = slice(line, name + 1..line.len());
    let len = memchr::memchr(b':', rest).unwrap_or(rest.len());
    let is_account =
        name > 0 && len > 0 && slice(line, 0..name).iter().all(is_name) && !rest.contains(&b' ');
    is_account.then(|| name + 1..name + 1 + len)
}
