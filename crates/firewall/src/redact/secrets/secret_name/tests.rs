use super::*;

#[test]
fn names_tell_what_they_hold() {
    for (name, expected) in [
        ("password", Some(SecretKind::Password)),
        ("PGPASSWORD", Some(SecretKind::Password)),
        ("db.userPassword2", Some(SecretKind::Password)),
        ("pass", Some(SecretKind::Pass)),
        ("apiKey", Some(SecretKind::Secret)),
        ("X-Api-Key", Some(SecretKind::Secret)),
        ("slackToken", Some(SecretKind::Secret)),
        ("JWT_SECRET", Some(SecretKind::Chosen)),
        ("sessionSecret", Some(SecretKind::Chosen)),
        ("jwtsecret", Some(SecretKind::Chosen)),
        ("client_secret", Some(SecretKind::Secret)),
        ("APIKEY", Some(SecretKind::Secret)),
        ("jwtKey", Some(SecretKind::Chosen)),
        ("SECRET_KEY", Some(SecretKind::Chosen)),
        ("aes_key", Some(SecretKind::Secret)),
        ("fileKey", None),
        ("issue_key", None),
        ("file_api_key", Some(SecretKind::Secret)),
        ("key", Some(SecretKind::Weak)),
        ("monkey", None),
        ("keyword", None),
        ("tokens", None),
        ("passwordHash", None),
        ("secret_name", None),
        ("nextPageToken", None),
        ("public_key", None),
        ("STRIPE_PUBLISHABLE_KEY", None),
        ("hashed_secret", None),
        ("siteKey", None),
        ("author", None),
        ("contraseña", Some(SecretKind::Password)),
        ("DB_CONTRASEÑA", Some(SecretKind::Password)),
        ("пароль", Some(SecretKind::Password)),
        ("über", None),
        ("DB_PASSWORD_PROD", Some(SecretKind::Password)),
        ("smtpPasswordOld", Some(SecretKind::Password)),
        ("db.password.staging", Some(SecretKind::Password)),
        ("PASSWORD_TEXT", Some(SecretKind::Password)),
        ("db_pass_ro", Some(SecretKind::Pass)),
        ("token_value", Some(SecretKind::Secret)),
        ("SecretString", Some(SecretKind::Secret)),
        ("api_key_prod", Some(SecretKind::Secret)),
        ("SECRET_KEY_BASE", Some(SecretKind::Chosen)),
        ("mot_de_passe", Some(SecretKind::Password)),
        ("motDePasse", Some(SecretKind::Password)),
        ("password_policy", None),
        ("password_length_prod", None),
        ("token_text", None),
        ("secret_base", None),
        ("pass_value", None),
        ("public_key_value", None),
        ("next_token_value", None),
        ("key_value", None),
        ("value", None),
        ("new", None),
        ("il_passe", None),
        ("impasse", None),
    ] {
        assert_eq!(secret_kind(name.as_bytes()), expected, "{name}");
    }
}

#[test]
fn a_word_before_a_key_says_that_it_is_public() {
    for (text, is_public) in [
        ("cache key", true),
        ("the Primary key", true),
        ("(sort key", true),
        ("encryption key", false),
        ("cache  key", false),
        ("cache-key", false),
        ("cache, key", false),
        ("subcache key", false),
        ("key", false),
        (" key", false),
    ] {
        let key = text.len() - "key".len();
        assert_eq!(is_public_phrase(text.as_bytes(), key), is_public, "{text}");
    }
}

#[test]
fn words_are_taken_from_the_end() {
    assert_eq!(split_last_word(b"myAPIKey2"), (&b"myAPI"[..], &b"Key"[..]));
    assert_eq!(split_last_word(b"MY_TOKEN"), (&b"MY_"[..], &b"TOKEN"[..]));
    assert_eq!(split_last_word(b"__"), (&b""[..], &b""[..]));
}
