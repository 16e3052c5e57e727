//! Generates passphrases.

use weaver_types::Random;
use zeroize::Zeroizing;

use super::SecretError;

/// The characters of a generated passphrase: 32 that are not easily confused when copied by hand.
const ALPHABET: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";
/// The number of groups of five letters; a group holds 25 bits.
const GROUPS: usize = 5;

/// Generates a passphrase of 125 random bits, in groups that are easy to copy. It is for the user
/// to keep: show it once and store it nowhere.
///
/// # Errors
/// [`SecretError::Random`].
pub fn generate_passphrase(random: &dyn Random) -> Result<Zeroizing<String>, SecretError> {
    let mut bytes = Zeroizing::new([0_u8; GROUPS * 5]);
    random.fill(bytes.as_mut_slice())?;
    let mut text = Zeroizing::new(String::with_capacity(GROUPS * 6));
    for (index, byte) in bytes.iter().enumerate() {
        if index > 0 && index % 5 == 0 {
            text.push('-');
        }
        let letter = ALPHABET.get(usize::from(byte % 32)).copied().unwrap_or(b'a');
        text.push(char::from(letter));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use weaver_types::OsRandom;

    use super::*;

    #[test]
    fn a_passphrase_is_long_and_never_the_same() {
        let [one, two] = [(), ()].map(|()| generate_passphrase(&OsRandom).unwrap());
        assert_eq!(one.len(), GROUPS * 6 - 1);
        assert_ne!(*one, *two);
    }
}
