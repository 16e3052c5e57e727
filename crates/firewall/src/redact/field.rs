//! Field names that say that their value is sensitive.

use weaver_text::split;

/// Names, as words, at whose end a name is sensitive: `user_email`, `billingCardNumber`.
const ENDINGS: &[&str] = &[
    "access key",
    "access token",
    "account number",
    "api key",
    "auth",
    "auth key",
    "auth token",
    "authorization",
    "bearer",
    "bearer token",
    "card number",
    "client secret",
    "connection string",
    "cookie",
    "credential",
    "credentials",
    "credit card",
    "cvc",
    "cvv",
    "date of birth",
    "dob",
    "email",
    "email address",
    "encryption key",
    "iban",
    "id token",
    "mail address",
    "mobile number",
    "national id",
    "otp",
    "passcode",
    "passphrase",
    "passport",
    "passport number",
    "passwd",
    "password",
    "passwords",
    "phone",
    "phone number",
    "pin code",
    "private key",
    "pwd",
    "refresh token",
    "routing number",
    "secret",
    "secret key",
    "secrets",
    "security code",
    "session token",
    "signing key",
    "social security",
    "social security number",
    "ssn",
    "tax id",
    "telephone",
    "token",
    "webhook secret",
];

/// Endings so telling that they count inside a run of lower-case letters too: `userpassword`.
const GLUED: &[&str] = &[
    "accesskey",
    "accesstoken",
    "apikey",
    "authtoken",
    "cardnumber",
    "clientsecret",
    "creditcard",
    "emailaddress",
    "passphrase",
    "passwd",
    "password",
    "phonenumber",
    "privatekey",
    "refreshtoken",
    "secretkey",
];

/// Names that end in a sensitive word and hold no secret: places in a listing, and the tokens of
/// a language model.
const PLAIN: &[&str] = &[
    "continuation token",
    "cursor token",
    "next page token",
    "next token",
    "page token",
    "previous page token",
    "prev page token",
    "sync token",
    "eos token",
    "bos token",
    "pad token",
    "unk token",
    "stop token",
    "per token",
];

/// Words at the start of a name that ask a question about the rest: `has_password`.
const QUESTIONS: &[&str] = &["has", "is", "needs", "requires", "require", "no", "without"];

/// The longest name that is looked at, in bytes; longer ones are scanned as text only.
const MAX_NAME: usize = 256;

/// True when a value under this name is never shown, whatever it is.
///
/// Matches by the end of the name, split into words: `user_email` and `apiKey` are sensitive,
/// `token_count`, `max_tokens`, `email_verified` and `next_page_token` are not.
pub(crate) fn is_sensitive(name: &str) -> bool {
    if name.len() > MAX_NAME {
        return false;
    }
    let mut words = split::identifier(name);
    while words.last().is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit())) {
        words.pop();
    }
    if words.first().is_some_and(|word| QUESTIONS.contains(&word.as_str())) && words.len() > 1 {
        return false;
    }
    let name = words.join(" ");
    if PLAIN.iter().any(|plain| ends_with_words(&name, plain)) {
        return false;
    }
    let glued = name.replace(' ', "");
    ENDINGS.iter().any(|ending| ends_with_words(&name, ending))
        || GLUED.iter().any(|ending| glued.ends_with(ending))
}

fn ends_with_words(name: &str, ending: &str) -> bool {
    name.strip_suffix(ending).is_some_and(|before| before.is_empty() || before.ends_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_matched_by_their_end() {
        for name in [
            "email",
            "user_email",
            "userEmail",
            "Email-Address",
            "apiKey",
            "API_KEY",
            "x-api-key",
            "Authorization",
            "password",
            "userPassword",
            "userpassword",
            "DB_PASSWORD",
            "passwd",
            "card_number",
            "cardNumber",
            "ssn",
            "SSN",
            "cvv",
            "token",
            "access_token",
            "accesstoken",
            "secret",
            "client_secret",
            "phone1",
            "email_2",
            "set-cookie",
            "pass\u{200b}word",
            "ｐａｓｓｗｏｒｄ",
        ] {
            assert!(is_sensitive(name), "{name}");
        }
    }

    #[test]
    fn names_that_only_speak_of_it_are_shown() {
        for name in [
            "token_count",
            "max_tokens",
            "total_tokens",
            "tokens",
            "next_page_token",
            "nextPageToken",
            "pageToken",
            "email_verified",
            "has_password",
            "is_secret",
            "password_length",
            "phone_type",
            "secretary",
            "id",
            "name",
            "compass",
            "author",
            "",
            "card",
            "key",
            "price_per_token",
        ] {
            assert!(!is_sensitive(name), "{name}");
        }
    }
}
