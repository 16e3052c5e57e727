//! Lists of field names, as lower-case words separated by single blanks; each list is sorted.

/// Endings of names of secrets: `db_password`, `stripeApiKey`.
pub(super) const SECRET_ENDINGS: &[&str] = &[
    "2fa code", "access code", "access key", "access keys", "access token", "account key",
    "api key", "api keys", "api secret", "api token", "app secret", "auth", "auth key",
    "auth token", "authorization", "backup codes", "bearer", "bearer token", "card pin",
    "client secret", "connection string", "cookie", "cookies", "credential", "credentials", "cvc",
    "cvv", "encryption key", "hmac key", "id token", "jsessionid", "jwt", "login code",
    "master key", "mfa code", "mnemonic", "one time code", "otp", "otp code", "passcode",
    "passphrase", "passwd", "password", "password hash", "passwords", "passwort", "phpsessid",
    "pin code", "pin number", "private key", "private keys", "pwd", "recovery code",
    "recovery codes", "refresh token", "sas token", "secret", "secret access key", "secret key",
    "secrets", "secure string", "security answer", "security code", "seed phrase", "session id",
    "session key", "session token", "shared key", "shared secret", "signing key", "ssh key",
    "storage key", "token", "totp code", "two factor code", "verification code", "webhook secret",
];

/// Endings of names of personal data, with the kind of value: `user_email`, `billingCardNumber`.
pub(super) const PERSONAL_ENDINGS: &[(&str, &str)] = &[
    ("account no", "bank_account"),
    ("account number", "bank_account"),
    ("acct number", "bank_account"),
    ("bank account", "bank_account"),
    ("birth date", "date_of_birth"),
    ("birthdate", "date_of_birth"),
    ("birthday", "date_of_birth"),
    ("card no", "card"),
    ("card num", "card"),
    ("card number", "card"),
    ("cell phone", "phone"),
    ("contact number", "phone"),
    ("credit card", "card"),
    ("date of birth", "date_of_birth"),
    ("debit card", "card"),
    ("dob", "date_of_birth"),
    ("driver licence", "driver_license"),
    ("driver licence number", "driver_license"),
    ("driver license", "driver_license"),
    ("driver license number", "driver_license"),
    ("drivers license", "driver_license"),
    ("drivers license number", "driver_license"),
    ("driving licence", "driver_license"),
    ("driving licence number", "driver_license"),
    ("e mail", "email"),
    ("e mail address", "email"),
    ("email", "email"),
    ("email address", "email"),
    ("email addresses", "email"),
    ("emails", "email"),
    ("fax number", "phone"),
    ("iban", "iban"),
    ("mail address", "email"),
    ("mobile no", "phone"),
    ("mobile number", "phone"),
    ("msisdn", "phone"),
    ("national id", "national_id"),
    ("national id number", "national_id"),
    ("national insurance number", "national_id"),
    ("nino", "national_id"),
    ("passport", "passport"),
    ("passport no", "passport"),
    ("passport number", "passport"),
    ("phone", "phone"),
    ("phone no", "phone"),
    ("phone number", "phone"),
    ("phone numbers", "phone"),
    ("phones", "phone"),
    ("routing number", "bank_account"),
    ("social insurance number", "national_id"),
    ("social security", "ssn"),
    ("social security no", "ssn"),
    ("social security number", "ssn"),
    ("sort code", "bank_account"),
    ("ssn", "ssn"),
    ("tax id", "tax_id"),
    ("tax number", "tax_id"),
    ("taxpayer id", "tax_id"),
    ("telephone", "phone"),
    ("telephone number", "phone"),
];

/// Endings that count even without a word boundary before them: `userpassword`.
pub(super) const SECRET_GLUED: &[&str] = &[
    "accesskey", "accesstoken", "apikey", "apisecret", "apitoken", "appsecret", "authtoken",
    "bearertoken", "clientsecret", "connectionstring", "encryptionkey", "passphrase", "passwd",
    "password", "privatekey", "refreshtoken", "secretkey", "sessionid", "sessiontoken",
    "signingkey",
];

/// The same for personal data: `useremail`.
pub(super) const PERSONAL_GLUED: &[(&str, &str)] = &[
    ("cardnumber", "card"),
    ("creditcard", "card"),
    ("dateofbirth", "date_of_birth"),
    ("email", "email"),
    ("emailaddress", "email"),
    ("passportnumber", "passport"),
    ("phonenumber", "phone"),
    ("socialsecuritynumber", "ssn"),
];

/// Names that end in a sensitive word but hold no secret: page tokens, and tokens of a language
/// model or a parser.
pub(super) const HARMLESS_ENDINGS: &[&str] = &[
    "bos token", "cancellation token", "continuation token", "cursor token", "design token",
    "end token", "eos token", "first token", "last token", "mask token", "next page token",
    "next token", "pad token", "page token", "per token", "prev page token", "previous page token",
    "resume token", "resumption token", "scroll token", "sep token", "skip token", "start token",
    "stop token", "sync token", "unk token",
];

/// First words that turn a name into a question: `has_password`.
pub(super) const QUESTION_WORDS: &[&str] =
    &["has", "is", "needs", "no", "require", "requires", "without"];

/// Words that suggest what the value is. A rule that requires such a word near a value then sees
/// the field name.
pub(super) const CONTEXT_WORDS: &[&str] = &[
    "aadhaar", "abn", "access", "account", "acct", "api", "apikey", "auth", "authorization",
    "bank", "bearer", "bic", "birth", "birthdate", "birthday", "born", "bsn", "card", "cc",
    "cedula", "cell", "client", "cnpj", "connection", "contact", "cookie", "cpf", "cred",
    "credential", "credentials", "credit", "curp", "dea", "debit", "dni", "dob", "document",
    "driver", "drivers", "driving", "dsn", "ein", "fax", "fiscal", "healthcare", "iban",
    "identification", "identity", "insurance", "ip", "itin", "key", "licence", "license", "login",
    "medicare", "mobile", "msisdn", "national", "nhs", "nie", "nif", "nin", "nino", "npi", "nric",
    "pan", "pass", "passphrase", "passport", "passwd", "password", "personal", "pesel", "phone",
    "pin", "private", "pwd", "registration", "resident", "routing", "secret", "security",
    "session", "signature", "sin", "social", "ssn", "steuer", "swift", "tax", "tel", "telephone",
    "tfn", "tin", "token", "uen", "vat", "voter", "webhook", "whatsapp",
];

/// Additional sensitive endings in results tagged as personal data.
pub(super) const PII_ENDINGS: &[&str] = &[
    "address", "address line", "family name", "first name", "full name", "given name", "ip",
    "last name", "legal name", "maiden name", "middle name", "place of birth", "postal code",
    "postcode", "street", "surname", "zip", "zip code",
];

/// Additional sensitive endings in results tagged as card data.
pub(super) const PCI_ENDINGS: &[&str] = &[
    "card holder", "card holder name", "cardholder", "cardholder name", "exp date", "exp month",
    "exp year", "expiration", "expiration date", "expiry", "expiry date", "magstripe",
    "name on card", "pan", "pin", "pin block", "service code", "track", "track data",
];

/// Additional sensitive endings in results tagged as secrets: the generic field names of secret
/// stores.
pub(super) const SECRETS_TAG_ENDINGS: &[&str] = &[
    "data", "payload", "pin", "plaintext", "secret binary", "secret data", "seed", "string data",
    "value",
];

/// Kinds for names that are sensitive only under a tag. The others have no kind, so a contract
/// cannot disclose their values by kind.
pub(super) const TAGGED_KINDS: &[(&str, &str)] = &[("ip", "ip"), ("pan", "card")];
