//! Values as people and programs of many countries write them, each beside what looks like it.

use crate::support::check;

#[test]
fn accounts_with_letters_in_their_bank_code() {
    check(&[
        ("GB50 NWBK 6013 2240 7715 80", "[REDACTED]"),
        ("IBAN: GB50 NWBK 6013 2240 7715 80", "IBAN: [REDACTED]"),
        ("\"GB50 NWBK 6013 2240 7715 80\",", "\"[REDACTED]\","),
        ("pay\nNL49 RABO 0127 4439 81\ntoday", "pay\n[REDACTED]\ntoday"),
        ("GB49 NWBK 6013 2240 7715 80", "="),
        ("plate GB51 NKT", "="),
    ]);
}

#[test]
fn phones_with_their_word_before_after_and_above() {
    check(&[
        ("手机：139 1087 4462", "手机：[REDACTED]"),
        ("請打 02 8646 1190 / tel", "請打 [REDACTED] / tel"),
        ("cep: 532 771 44 08", "cep: [REDACTED]"),
        ("Phone number:\n934 471 208", "Phone number:\n[REDACTED]"),
        ("934 471 208 - phone", "[REDACTED] - phone"),
        ("chiamami al 347 118 2090", "chiamami al [REDACTED]"),
        ("gasto de 934 471 208 en\ntotal", "="),
        ("mobile traffic grew to 447 712 GB", "="),
    ]);
}

#[test]
fn phones_in_a_column() {
    check(&[
        ("name,phone\nAda,9845120763\nBo,912447712", "name,phone\nAda,[REDACTED]\nBo,[REDACTED]"),
        ("id;\"Mobile No\"\n1;\"447 71 208\"", "id;\"Mobile No\"\n1;\"[REDACTED]\""),
        (
            "| name | phone |\n|---|---|\n| Ines | 912447712 |",
            "| name | phone |\n|---|---|\n| Ines | [REDACTED] |",
        ),
        ("\"a, b\",tel\n\"c, d\",912447712", "\"a, b\",tel\n\"c, d\",[REDACTED]"),
        ("phone,total\n+49 89 7742118,912447712", "phone,total\n[REDACTED],912447712"),
        ("id,phone_model\n1,9845120763", "="),
        ("id,order\n1,9845120763", "="),
    ]);
}

#[test]
fn orders_are_no_phones() {
    check(&[
        ("Bestellnummer 0151 40882193", "="),
        ("n° de commande 06 71 84 22 09", "="),
        ("Pedido 612 44 71 20 entregado", "="),
        ("номер заказа 8 916 330-27-18", "="),
        ("Заказ 8 916 330-27-18", "="),
        ("注文番号：03-3581-7742", "="),
        ("주문번호 010-4477-1208", "="),
        ("Bestellung unter Tel. 0151 40882193", "Bestellung unter Tel. [REDACTED]"),
    ]);
}

#[test]
fn cards_of_thirteen_digits_need_their_word() {
    check(&[
        ("Visa 4485127701935", "Visa [REDACTED]"),
        ("cartão 4485127701935", "cartão [REDACTED]"),
        ("ean 4485127701935", "="),
        ("artikel 4485127701935", "="),
        ("4485127701935", "="),
    ]);
}

#[test]
fn versions_in_a_row_are_no_addresses() {
    check(&[
        ("bump foo from 1.12.44.8 to 1.12.45.0", "="),
        ("версия 81.12.44.3", "="),
        ("版本 81.12.44.3", "="),
        ("connection from 81.12.44.3", "connection from [REDACTED]"),
    ]);
}

#[test]
fn passwords_in_sentences_of_many_languages() {
    check(&[
        ("The password for the box is Tr4ctor-Beam.", "The password for the box is [REDACTED]."),
        ("password was changed to Cobalt99x", "password was changed to [REDACTED]"),
        (
            "Das Passwort für den Server lautet Wald3sel!",
            "Das Passwort für den Server lautet [REDACTED]",
        ),
        ("Le mot de passe est Bruyere!62.", "Le mot de passe est [REDACTED]."),
        ("contraseña: s0lYluna", "contraseña: [REDACTED]"),
        ("CONTRASEÑA=canela7", "CONTRASEÑA=[REDACTED]"),
        ("a senha é Jacaranda#2", "a senha é [REDACTED]"),
        ("Пароль от сервера: zimaBelaya7", "Пароль от сервера: [REDACTED]"),
        ("密码：Chun!tian88", "密码：[REDACTED]"),
        ("パスワードは yuki-Onna9 です", "パスワードは [REDACTED] です"),
        ("비밀번호는 gimchi_77 입니다", "비밀번호는 [REDACTED] 입니다"),
        ("Das Passwort ist falsch.", "="),
        ("the password is stored in Vault", "="),
        ("the password for the box is rotated every 90 days", "="),
        ("the password is SHA-256 hashed, 8-12 characters long", "="),
        ("add the password to info@example.com", "="),
        ("密码长度至少8位", "="),
        ("пароль должен содержать не менее 8 символов", "="),
        ("\"password\": \"Mot de passe\"", "="),
        ("password: \"パスワード\"", "="),
    ]);
}

#[test]
fn calls_and_files_give_no_secret() {
    check(&[
        ("Set(\"Authorization\", token)", "="),
        ("Set(\"Authorization\", \"Bearer \"+accessToken2)", "="),
        ("Set(\"Authorization\", \"Bearer \" + cfg.Token)", "="),
        ("header(\"Authorization\", authHeader)", "="),
        ("Set(\"Authorization\", \"q8Vn2LmZ7rKd\")", "Set(\"Authorization\", \"[REDACTED]\")"),
        ("openssl pkcs12 -password env:P12PASS -in x", "="),
        ("openssl rsa -passin file:/run/secrets/pw1", "="),
        ("docker run --user nginx:nginx alpine", "="),
        ("curl --user tom:Osprey#2291 https://h", "curl --user [REDACTED] https://h"),
        ("spotify playlist id 7uqUejvjKF0mypTle3pYL3", "="),
    ]);
}

#[test]
fn webhooks_are_masked_whole() {
    const ID: &str = "585e32b8-a790-410d-acf3-5230ae7ea2dd";
    const HEX: &str = "a66941d58facd8c50d7f3cb43ecec710";
    for url in [
        format!("https://corp.webhook.office.com/webhookb2/{ID}@{ID}/IncomingWebhook/{HEX}/{ID}"),
        format!("https://outlook.office.com/webhook/{ID}@{ID}/IncomingWebhook/{HEX}/{ID}"),
        format!("https://corp.tines.io/webhook/{HEX}/{HEX}"),
        "https://hooks.zapier.com/hooks/catch/1184720/7fkj9pm/".to_owned(),
    ] {
        check(&[(&format!("post to {url} now"), "post to [REDACTED] now")]);
    }
    let key = format!("api-{ID}");
    check(&[
        (&format!("launchdarkly token: {key}"), "launchdarkly token: [REDACTED]"),
        (&format!("pod {key} restarted"), "="),
        ("key spu-a66941d58facd8c50d7f3cb43ecec710", "key [REDACTED]"),
    ]);
}
