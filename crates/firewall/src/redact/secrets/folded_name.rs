//! Names with letters beyond ASCII. Accents are folded, so `contraseña` becomes `contrasena`; words
//! of other scripts are compared verbatim.

/// The longest name, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// Words for a password in scripts without case, or in all cases; a name ends with one of them.
const PASSWORD_WORDS: [&str; 15] = [
    "пароль",
    "Пароль",
    "ПАРОЛЬ",
    "密码",
    "密碼",
    "口令",
    "パスワード",
    "暗証番号",
    "비밀번호",
    "비번",
    "암호",
    "รหัสผ่าน",
    "كلمة المرور",
    "كلمة السر",
    "पासवर्ड",
];

/// The same for a token or a key.
const TOKEN_WORDS: [&str; 18] = [
    "токен", "Токен", "ТОКЕН", "ключ", "Ключ", "КЛЮЧ", "密钥", "密鑰", "秘钥", "令牌", "トークン",
    "キー", "토큰", "키", "टोकन", "कुंजी", "مفتاح", "מפתח",
];

/// Base letters by the second UTF-8 byte: after `0xc3` (whose capitals are 32 lower), `0xc4` and
/// `0xc5`.
const LATIN_1: &[u8; 32] = b"aaaaaaaceeeeiiiidnooooo_ouuuuypy";
const LATIN_EXTENDED: [(u8, &[u8; 64]); 2] = [
    (0xc4, b"AaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiIiIiJjKkkLlLlLlL"),
    (0xc5, b"lLlNnNnNnnNnOoOoOoOoRrRrRrSsSsSsSsTtTtTtUuUuUuUuUuUuWwYyYZzZzZzs"),
];

/// A name with accented letters replaced by their ASCII base letters.
pub(super) struct FoldedName {
    bytes: [u8; MAX_NAME_BYTES],
    len: usize,
}

impl FoldedName {
    /// Folds a name; characters without a base letter are dropped.
    pub(super) fn fold(name: &[u8]) -> Self {
        let mut folded = Self { bytes: [0; MAX_NAME_BYTES], len: 0 };
        let mut lead = 0;
        for byte in name {
            let letter = match (lead, *byte) {
                (_, byte) if byte.is_ascii() => Some(byte),
                (0xc3, second) => {
                    let letter = LATIN_1.get(usize::from(second & 0x1f));
                    let is_capital = second & 0x20 == 0;
                    letter.map(|b| if is_capital { b.to_ascii_uppercase() } else { *b })
                }
                (first, second) => LATIN_EXTENDED
                    .iter()
                    .find(|(known, _)| *known == first)
                    .and_then(|(_, letters)| letters.get(usize::from(second & 0x3f)).copied()),
            };
            lead = *byte;
            if let (Some(letter), Some(slot)) = (letter, folded.bytes.get_mut(folded.len)) {
                *slot = letter;
                folded.len += 1;
            }
        }
        folded
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

/// True for a name that ends with a word for a password in another script.
pub(super) fn ends_with_password_word(name: &[u8]) -> bool {
    PASSWORD_WORDS.iter().any(|word| name.ends_with(word.as_bytes()))
}

/// True for a name that ends with a word for a token in another script.
pub(super) fn ends_with_token_word(name: &[u8]) -> bool {
    TOKEN_WORDS.iter().any(|word| name.ends_with(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_are_folded() {
        for (name, folded) in [
            ("contraseña", "contrasena"),
            ("CONTRASEÑA", "CONTRASENA"),
            ("hasło", "haslo"),
            ("Şifre", "Sifre"),
            ("lösenord", "losenord"),
            ("jelszó", "jelszo"),
            ("mật", "mt"),
        ] {
            assert_eq!(
                String::from_utf8_lossy(FoldedName::fold(name.as_bytes()).as_bytes()),
                folded
            );
        }
        assert!(
            ends_with_password_word("服务器密码".as_bytes())
                && !ends_with_password_word("密码器".as_bytes())
        );
    }
}
