use super::*;

fn value<'t>(decision: &str, label: &str, text: &'t str) -> Option<&'t str> {
    let at = text.find(label).unwrap();
    let found = by_name(decision).unwrap()(text, at..at + label.len(), text.len())?;
    text.get(found)
}

#[test]
fn form_and_place_of_a_value_are_added_up() {
    for (text, found) in [
        // Letters and digits count where a sign, a verb or the label is directly before them.
        ("password: Nebelhorn41", Some("Nebelhorn41")),
        ("password is Nebelhorn41", Some("Nebelhorn41")),
        ("password Nebelhorn41", Some("Nebelhorn41")),
        ("password for Nebelhorn41", None),
        ("password for now is Nebelhorn41", Some("Nebelhorn41")),
        ("password was changed to Nebelhorn41", Some("Nebelhorn41")),
        ("password was sent to Nebelhorn41", None),
        // With a sign inside they may stand further off, at the end of a clause or near an account.
        ("password for Nebel-horn41.", Some("Nebel-horn41")),
        ("password for the Nebel-horn41.", None),
        ("password for the Nebel-horn41, user bob", Some("Nebel-horn41")),
        ("user bob, password for the Nebel-horn41.", Some("Nebel-horn41")),
        // What was made as a password counts anywhere near.
        ("password for the old Vencejo-386*x", Some("Vencejo-386*x")),
        ("password was set to Nebelhorn41", Some("Nebelhorn41")),
        ("password for one of the three oldest Vencejo-386*x", None),
        // Demands on passwords take away more than a sign gives.
        ("password minimum: Nebelhorn41", None),
        // Nothing is found beyond the end of a sentence, of a line and of a field.
        ("password. Nebel-horn41", None),
        ("the password\nNebel-horn41", None),
        // A label that fills its line announces the next one.
        ("password\nNebel-horn41", Some("Nebel-horn41")),
        ("password\nNebel-horn41 is old", Some("Nebel-horn41")),
        ("password\nNebel-horn41 old", None),
        // The answer to a question is all of the next turn of a chat.
        ("<jo> the password?\n<kim> wet-socks-drying\n", Some("wet-socks-drying")),
        ("[9:41] jo: password?\n[9:42] kim: Nebel-horn41", Some("Nebel-horn41")),
        ("jo: password?\nkim: Nebel-horn41", Some("Nebel-horn41")),
        ("jo: password?\nkim: Nebel-horn41 perhaps", None),
        ("new password?\nemail: Nebel-horn41", None),
        ("password:\n  Nebel-horn41", Some("Nebel-horn41")),
        ("password:\n\nNebel-horn41", None),
        ("password field\nNebel-horn41", None),
        ("password\", \"Nebel-horn41", None),
        ("password: [REDACTED] Nebel-horn41", None),
        // A call and an assignment are program text.
        ("password: nebel41x(", None),
        ("password: nebel=41x", None),
        ("password: host-7: Nebelhorn41", Some("Nebelhorn41")),
    ] {
        assert_eq!(value("spoken_password", "password", text), found, "{text:?}");
    }
}

#[test]
fn a_label_is_a_word_or_a_part_of_a_compound() {
    for (text, label, found) in [
        ("Startkennwort: Nebel-41x", "kennwort", true),
        ("WLAN-Passwort: Nebel-41x", "Passwort", true),
        ("паролата е Nebel-41x", "парол", true),
        ("passwordnya Nebel-41x", "password", true),
        ("password-nya Nebel-41x", "password", true),
        ("userPassword Nebel-41x", "Password", false),
        ("db_password Nebel-41x", "password", false),
        ("db.password Nebel-41x", "password", false),
        ("db.password = Nebel-41x", "password", true),
        ("--password Nebel-41x", "password", false),
        ("$password Nebel-41x", "password", false),
        ("password_old Nebel-41x", "password", false),
        ("passwordMin Nebel-41x", "password", false),
        ("password2: Nebel-41x", "password", true),
        ("u:password1@nebel/41x", "password", false),
        ("password(Nebel-41x", "password", false),
        ("password-min Nebel-41x", "password", false),
    ] {
        assert_eq!(value("spoken_password", label, text).is_some(), found, "{text:?}");
    }
}

#[test]
fn labels_with_other_meanings_need_more() {
    for (decision, label, text, found) in [
        ("spoken_short", "pw", "pw Nebel-41x", true),
        ("spoken_short", "pw", "sudopw Nebel-41x", false),
        ("spoken_short", "pw", "pws Nebel-41x", false),
        ("spoken_short", "secret", "the secret is Nebel-41x", true),
        ("spoken_short", "secret", "the secret Nebel-41x", false),
        ("spoken_pair", "login", "login: bob / Nebel-41x", true),
        ("spoken_pair", "login", "login: Nebel-41x", false),
        ("spoken_pair", "wifi", "wifi: Cabin / wet-socks-drying", true),
        ("spoken_key", "key", "wifi, key: Nebel-41x", true),
        ("spoken_key", "key", "wifi, key: wet-socks-drying", true),
        ("spoken_key", "key", "wifi, key: wet-socks", true),
        ("spoken_key", "key", "wifi, key: required", false),
        ("spoken_key", "key", "key: Nebel-41x", false),
        ("spoken_key", "key", "key: 4bT9xQ2mZ7vLp1KdR5sW", false),
        ("spoken_key", "ключ", "ключ доступа: 4bT9xQ2mZ7vLp1KdR5sW", true),
        ("spoken_key", "schlüssel", "Lizenzschlüssel 4bT9xQ2mZ7vLp1KdR5sW", true),
        ("spoken_key", "Schlüssel", "Der Schlüssel Nebel-41x", false),
        ("printed_secret", "password", "$ bw get password wiki\nhT6qLm2Zx9Pr\n", true),
        ("printed_secret", "password", "$ bw get password wiki\nnot found2 here\n", false),
        ("printed_secret", "password", "$ git rev-parse password\n9c4e1f7ab2d8056e\n", false),
        ("printed_secret", "password", "the password\nhT6qLm2Zx9Pr\n", false),
    ] {
        assert_eq!(value(decision, label, text).is_some(), found, "{text:?}");
    }
}

#[test]
fn what_only_resembles_a_password_is_none() {
    for text in [
        "deploy@build7", "build-7?", "a-zA-Z0-9!", "env:P12PASS", "ISO-27001", "Windows2022!",
        "0x7ff8a441", "a/b/c1d2", "config.Token2", "SHA-256", "2026-03-12",
    ] {
        let sentence = format!("password: {text}");
        assert_eq!(value("spoken_password", "password", &sentence), None, "{text}");
    }
}

#[test]
fn a_word_is_a_password_only_where_one_is_told() {
    for (text, label, found) in [
        ("Parool on kiluvõileib, kasutaja ladu", "Parool", Some("kiluvõileib")),
        ("Benutzer lager, Passwort: Haselnuss", "Passwort", Some("Haselnuss")),
        ("gebruiker balie, wachtwoord zandkasteel", "wachtwoord", Some("zandkasteel")),
        ("Senha do Wi-Fi da pousada: redeNaVaranda", "Senha", Some("redeNaVaranda")),
        ("Das Kennwort lautet Herbstnebel.", "Kennwort", Some("Herbstnebel")),
        ("Le mot de passe du wifi est tarte aux pommes.", "mot de passe", Some("tarte aux pommes")),
        // Nothing is told of an account or a network.
        ("wachtwoord zandkasteel", "wachtwoord", None),
        ("Auch ein Passwort: Haselnuss", "Passwort", None),
        // A label and a word fill their line, or it is said whose password it is.
        ("Passwort: Haselnuss", "Passwort", Some("Haselnuss")),
        ("the password for the printer is kuckucksuhr", "password", Some("kuckucksuhr")),
        ("the password for the printer is optional", "password", None),
        ("the password for the printer is case-sensitive", "password", None),
        // The words are said of passwords, in any language.
        ("Parool on vale, kasutaja ladu", "Parool", None),
        ("user gast, password required", "password", None),
        ("Benutzer lager, Passwort: abgelaufen", "Passwort", None),
        ("usuario ana, contraseña bloqueada", "contraseña", None),
        ("the wifi password is on the fridge", "password", None),
        ("the wifi password is the same as last year", "password", None),
        ("user = name\npassword = formfield", "password", None),
        // The clause goes on, or there are more signs.
        ("kullanıcı şifre ekranında, şifre: alanı boş", "şifre: ", None),
        ("login(user: String, password: CharArray): Session", "password", None),
    ] {
        assert_eq!(value("spoken_password", label, text), found, "{text:?}");
    }
}

#[test]
fn below_a_command_stands_what_it_shows() {
    for (label, text, found) in [
        ("op read ", "$ op read op://x/nas/password\nkastanie-am-see", Some("kastanie-am-see")),
        (
            "pass show ",
            "$ pass show berg/ap7\nEdelweiss Firn 4478\nurl: x",
            Some("Edelweiss Firn 4478"),
        ),
        (
            "CONFIG GET ",
            "db:6379> CONFIG GET requirepass\n1) \"requirepass\"\n2) \"nelkenöl\"",
            Some("nelkenöl"),
        ),
        (
            "etcdctl get",
            "$ X=3 etcdctl get /a/password\n/a/password\nTannen*zapfen",
            Some("Tannen*zapfen"),
        ),
        ("pass show ", "$ pass show x/y\nError: x/y is not in the password store.", None),
        ("CONFIG GET ", "db:6379> CONFIG GET appendonly\n1) \"appendonly\"\n2) \"yes\"", None),
        ("pass show ", "please pass show tickets\nKiesel-weg-7", None),
    ] {
        assert_eq!(value("printed_named_secret", label, text), found, "{text:?}");
    }
}
