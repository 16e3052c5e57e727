//! Words of sentences about passwords, in lower case. A list need not be complete: a value that looks
//! like a password needs none of them.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::redact::validators::words;

/// Verbs that say what a password is.
pub(in crate::redact) const VERBS: &[&str] = words![
    "is" "was" "are" "be" "now" "reads" "stays" "remains" "ay" "ist" "lautet" "bleibt" "jetzt" "est" "ni" "yw" "és" "estas" "it's" "c'est" "c’est" "reste"
    "es" "è" "é" "e" "e'" "je" "to" "jest" "är" "er" "ir" "on" "este" "yra" "adalah" "là" "blijft" "je:" "е" "це"
    "war" "wird" "heißt" "becomes" "était" "sera" "devient" "era" "fue" "será" "queda"
    "estaba" "foi" "ficou" "fica" "sarà" "diventa" "werd" "wordt" "luidt" "luidde" "było" "był" "będzie" "brzmi"
    "bude" "zní" "znie" "var" "blir" "bliver" "blev" "blei" "lyder" "oli" "volt" "lesz" "fost" "idi" "olacak" "был" "была"
    "было" "будет" "буде" "був" "било" "ήταν" "bija" "buvo" "bus" "būs"
    "это" "теперь" "тепер" "је" "είναι" "היא" "הוא" "هي" "هو" "است" "है" "是" "为"
];

/// Adverbs between such a verb and the password.
pub(in crate::redact) const ADVERBS: &[&str] = words![
    "now" "still" "currently" "as" "follows" "today" "again" "simply" "just" "ab" "heute" "jetzt" "nun" "sofort"
    "weiterhin" "maintenant" "désormais" "ahora" "hoy" "ora" "adesso" "oggi" "agora" "hoje" "teraz" "od" "dziś" "nu"
    "vanaf" "vandaag" "şimdi" "noch" "immer" "wieder" "wie" "folgt" "aktuell" "derzeit" "toujours" "encore" "actuellement"
    "todavía" "aún" "siempre" "actualmente" "ancora" "sempre" "attualmente" "ainda" "atualmente" "nog" "steeds" "altijd"
    "momenteel" "wciąż" "nadal" "jeszcze" "zawsze" "stále" "ještě" "ännu" "fortfarande" "alltid" "stadig" "fortsatt" "alltid"
    "vielä" "edelleen" "aina" "még" "mindig" "încă" "hâlâ" "всё" "ещё" "always" "actually" "apparently"
    "zurzeit" "übrigens" "einfach" "simplement" "simplemente" "semplicemente" "simplesmente" "gewoon" "po" "prostu"
];

/// Beginnings of words that say that a password was changed.
const CHANGES: &[&str] = words![
    "chang" "reset" "updat" "switch" "rotat" "geänd" "gesetzt" "umgestellt" "zurückges" "modifi" "remplac" "cambi"
    "alter" "mud" "passou" "gewijz" "verand" "inges" "zmien" "ändra" "bytt" "ændr" "endre" "skift" "změn" "schimb"
    "сменил" "измен"
];

/// True for a text that begins with such a word.
pub(in crate::redact) fn is_change(text: &str) -> bool {
    text == "set" || CHANGES.iter().any(|stem| text.starts_with(stem))
}

/// Prepositions before what it was changed to.
pub(in crate::redact) const PREPOSITIONS: &[&str] = words![
    "to" "auf" "zu" "in" "în" "en" "à" "a" "por" "para" "naar" "op" "na" "till" "til"
];

/// Prepositions before what a password belongs to.
pub(in crate::redact) const OWNING: &[&str] = words![
    "for" "of" "für" "vom" "von" "zum" "zur" "pour" "du" "de" "del" "della" "per" "para" "do" "da" "voor" "van" "till" "til"
    "na" "k" "ke" "pentru" "для" "от" "від" "за" "untuk" "için" "για" "στο"
];

/// True for an ending of English adjectives, which say of what kind a password is.
pub(in crate::redact) fn is_adjective(word: &str) -> bool {
    const ENDINGS: [&str; 17] = [
        "al", "ic", "ous", "ive", "ful", "less", "ent", "ant", "ary", "ory", "ish", "ly", "ing",
        "ed", "en", "er", "est",
    ];
    ENDINGS.iter().any(|end| word.ends_with(end))
}

/// Words of sentences that say what passwords must be, or what became of one.
pub(in crate::redact) const DEMANDS: &[&str] = words![
    "must" "should" "minimum" "least" "characters" "policy" "length" "expires" "expired" "required" "forgot" "wrong"
    "invalid" "muss" "mindestens" "zeichen" "caractères" "expiré" "caracteres" "caducada" "scade" "scaduta" "znaków"
    "musi" "должен" "минимум" "example" "examples" "e.g" "beispiel" "exemple" "ejemplo" "esempio" "пример" "minlength"
];

/// Parts of words for an account.
const ACCOUNT_WORDS: &[&str] = words![
    "user" "login" "account" "benutzer" "konto" "identifiant" "usuario" "usuário" "utente" "utilizator" "gebruiker"
    "användar" "brukernavn" "bruger" "tunnus" "felhasznál" "uživ" "kullanıcı" "логин" "користувач" "потребител"
    "ユーザー" "账号" "帳號" "用户" "사용자" "pengguna" "käyttäj" "utilisateur" "uporabni" "vartotoj" "tài khoản" "lietot" "kasutaja" "korisnik" "notandi"
];

/// Parts of words for a wireless network.
const NETWORK_WORDS: &[&str] = words!["guest network" "wireless" "вайфай" "вай-фай" "واي فاي" "الواي" "ไวไฟ" "와이파이" "無線" "无线" "wifi" "wi-fi" "wlan" "wpa" "ssid" "netzwerk:" "réseau:" "réseau :" "livebox" "freebox" "hotspot" "nettet" "nätverk" "netværk" "nettverk" "gastnetz" "gästenetz"];

/// Words with a number behind that are no password: `Windows2022`, `ISO-27001`.
pub(in crate::redact) const NUMBERED: &[&str] = words![
    "iso" "rfc" "tls" "http" "windows" "server" "seite" "page" "version" "covid"
];

static ACCOUNTS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| matcher(ACCOUNT_WORDS));
static NETWORKS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| matcher(NETWORK_WORDS));

fn matcher(words: &[&str]) -> Option<AhoCorasick> {
    AhoCorasick::builder().ascii_case_insensitive(true).build(words).ok()
}

/// True for a text that names an account.
pub(in crate::redact) fn names_account(text: &str) -> bool {
    // The matcher folds the letters of ASCII alone.
    let is_named = |text: &str| ACCOUNTS.as_ref().is_some_and(|words| words.is_match(text));
    is_named(text) || !text.is_ascii() && is_named(&text.to_lowercase())
}

/// True for a text that names a wireless network.
pub(in crate::redact) fn names_network(text: &str) -> bool {
    NETWORKS.as_ref().is_some_and(|words| words.is_match(text))
}
