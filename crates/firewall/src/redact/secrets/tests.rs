mod rows;

use super::*;

fn masked(text: &str) -> Vec<(&'static str, String)> {
    let mut hits = Vec::new();
    scan(&ScanWindow::new(text), &mut hits);
    hits.sort_by_key(|hit| (hit.range.start, hit.range.end));
    hits.dedup_by(|a, b| a.range.start < b.range.end);
    hits.into_iter()
        .map(|hit| (RULES[hit.rule].id, text.get(hit.range).unwrap_or_default().to_owned()))
        .collect()
}

/// Texts and what is found in them, `rule=value` by `rule=value`, in the order of the text.
#[track_caller]
fn check(rows: &[(&str, &str)]) {
    let found = |text: &str| {
        let mut hits = Vec::new();
        scan(&ScanWindow::new(text), &mut hits);
        let mut hits: Vec<_> = hits
            .into_iter()
            .map(|hit| (hit.range.start, hit.range.end, RULES[hit.rule].id))
            .collect();
        hits.sort_unstable();
        hits.dedup();
        let shown = hits
            .into_iter()
            .map(|(start, end, id)| format!("{id}={}", text.get(start..end).unwrap()));
        shown.collect::<Vec<_>>().join(" | ")
    };
    let wrong: Vec<String> = rows
        .iter()
        .map(|(text, wanted)| (text, wanted, found(text)))
        .filter(|(_, wanted, found)| found != *wanted)
        .map(|(text, wanted, found)| format!("{text:?}\n  gives {found:?}\n  not   {wanted:?}"))
        .collect();
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn every_rule_masks_and_keeps_its_examples() {
    let mut wrong = Vec::new();
    for rule in RULES {
        for (text, secret) in rule.masks {
            let found = masked(text);
            if found.iter().all(|(_, value)| value != secret) || found.len() != 1 {
                wrong.push(format!("{}: {text:?} gives {found:?}", rule.id));
            }
        }
        for text in rule.keeps {
            let found = masked(text);
            if !found.is_empty() {
                wrong.push(format!("{}: {text:?} gives {found:?}", rule.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_hit_depends_on_its_neighbourhood_alone() {
    for rule in RULES {
        for (text, secret) in rule.masks {
            let filler = "lorem ipsum dolor sit amet, ".repeat(40);
            let far = format!("{filler}\n{text}\n{filler}");
            let at = far.find(secret).unwrap();
            let near = far.get(at - REACH..at + secret.len() + REACH).unwrap();
            let wide: Vec<_> = masked(&far);
            assert_eq!(wide, masked(near), "{}: {text:?}", rule.id);
            assert_eq!(wide.len(), 1, "{}: {text:?}", rule.id);
        }
    }
}

#[test]
fn a_long_value_is_masked_to_its_end() {
    let long = "q8Vn2LmZ7rKd".repeat(60);
    for text in [format!("token = {long} end"), format!("\"api_key\": \"{long}\",")] {
        let found = masked(&text);
        assert_eq!(found.first().map(|f| f.1.as_str()), Some(long.as_str()), "{text}");
    }
}

#[test]
fn notations_are_read() {
    for text in [
        "password=S",
        "password: S",
        "\"password\": \"S\"",
        "'password' => 'S'",
        "password := \"S\"",
        "--password S",
        "--password=S",
        "setProperty(\"db.password\", \"S\")",
        "<password>S</password>",
        "<password type=\"x\">\n  S\n</password>",
        "<password><![CDATA[S]]></password>",
        "name: PASSWORD\nvalue: S",
        "{\"name\": \"PASSWORD\", \"value\": \"S\"}",
        "password:\n  \"S\"",
        "password = \\\n  \"S\"",
        "let password: String = \"S\";",
        "$config['password'] = 'S';",
        "{\\\"password\\\": \\\"S\\\"}",
        "https://h/p?password=S&x=1",
        "jdbc:mysql://h/d?user=u&password=S",
    ] {
        let text = text.replace('S', "q8Vn2LmZ7rKd");
        let text = text.replace("PAq8Vn2LmZ7rKdq8Vn2LmZ7rKdWORD", "PASSWORD");
        let found = masked(&text.replace("q8Vn2LmZ7rKdtring", "String"));
        assert_eq!(found.len(), 1, "{text} gives {found:?}");
        assert_eq!(found.first().map(|f| f.1.as_str()), Some("q8Vn2LmZ7rKd"), "{text}");
    }
}

#[test]
fn hashes_and_identifiers_stay() {
    for text in [
        "stripe commit 9185d7a08bdc731378226e4d46f222517b0b28c4",
        "GET https://api.airtable.com/v1/users/18cd7b17-a21f-43a9-8a22-27d53afc62e4 200",
        "client_id = 73082700-1f09-405b-80d0-3131bfd6272d",
        "kms_key_id: 555ea4a3-d53a-4412-9c66-3a7cb667b0d6",
        "name=\"authenticity_token\" value=\"7SWa-Fo1_hsC6oovfBsJFLGPUl2EhkSWPbJh\"",
        "csrf-token=Mj2qykJO5rELyHgezQ69nzUX0i3OH67V7",
        "db-password: ENC[AES256_GCM,data:O+5l4g==,iv:c0dS4BCBMbnKsXYuzBuC]",
        "secret_name: \"prod5zyxlmy-cmk2\"",
        "\"keyVaultName\": \"web21prqodx24021\"",
    ] {
        assert_eq!(masked(text), [], "{text}");
    }
}
