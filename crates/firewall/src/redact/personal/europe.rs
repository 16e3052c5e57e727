//! Document and register numbers of Europe.

use super::americas::{has_mod_11_check, is_not_repeated};
use super::checksum::{
    all_same, char_value, is_day, is_luhn_valid, is_mod_11_10_valid, parse_digits, remainder,
    value_at, weighted_sum,
};
use super::context::topic::*;
use super::document_rule::{DocumentRule, rows};

/// The rules.
pub(super) const RULES: &[DocumentRule] = rows! {
    "uk-nhs" "health_id" ["999~999~9999"] SeparatedAndAlone HEALTH, nhs, ["patient 894 809 0097 given" => "894 809 0097"], ["lot 894 809 0097 shipped"];
    "uk-nino" "national_id" ["AA~99~99~99~A", "AA~999999~A", "AA~999999A"] Always UK | PERSON, nino, ["it is KS 53 43 82 B here" => "KS 53 43 82 B"], ["lot ks 53 43 82 b shipped"];
    "uk-driving-licence" "driver_license" ["*****999999***AA"] Always DRIVER, uk_licence, ["it is CHCRV054258JRVTV here" => "CHCRV054258JRVTV"], ["lot chcrv054258jrvtv shipped"];
    "uk-vehicle" "vehicle_id" ["AA99~AAA", "A999~AAA"] Keyword VEHICLE, is_not_repeated, ["plate IH08ORY given" => "IH08ORY"], ["lot IH08ORY shipped"];
    "passport" "passport" ["AA9999999", "AA999999", "A9999999", "AAA999999", "99AA99999", "99999999", "999999999~A", "99~99~999999", "A*9999999", "A99999999"] Keyword PASSPORT, is_not_repeated, ["passport GL0836476 given" => "GL0836476"], ["lot GL0836476 shipped"];
    "es-nif" "national_id" ["99999999~A", "99~999~999~A"] Always PERSON | TAX, nif, ["it is 05501135-H here" => "05501135-H"], ["lot 05501135-h shipped"];
    "es-nie" "national_id" ["A~9999999~A"] Always PERSON, nie, ["it is Y-2474338-N here" => "Y-2474338-N"], ["lot y-2474338-n shipped"];
    "es-cif" "tax_id" ["A~9999999~*"] Keyword TAX, is_not_repeated, ["tax id W80892600 given" => "W80892600"], ["lot W80892600 shipped"];
    "it-fiscal-code" "national_id" ["AAAAAA**A**A***A"] Always TAX, fiscal_code, ["it is BJPDDY91TK3XDJ7Z here" => "BJPDDY91TK3XDJ7Z"], ["lot bjpddy91tk3xdj7z shipped"];
    "it-vat" "tax_id" ["99999999999", "AA99999999999"] Keyword TAX, it_vat, ["tax id 41787316847 given" => "41787316847"], ["lot 41787316847 shipped"];
    "it-driver-license" "driver_license" ["AA9999999A"] Keyword DRIVER, is_not_repeated, ["driving licence QY2975054C given" => "QY2975054C"], ["lot QY2975054C shipped"];
    "it-identity-card" "national_id" ["AA99999AA", "9999999AA", "AA9999999"] Keyword PASSPORT, is_not_repeated, ["passport OI21831CD given" => "OI21831CD"], ["lot OI21831CD shipped"];
    "pl-pesel" "national_id" ["99999999999"] Keyword PERSON, pesel, ["national id 81723093900 given" => "81723093900"], ["lot 81723093900 shipped"];
    "pl-nip" "tax_id" ["999~999~99~99", "999~99~99~999", "9999999999"] Keyword TAX, nip, ["tax id 601-736-22-48 given" => "601-736-22-48"], ["lot 601-736-22-48 shipped"];
    "pl-regon" "company_id" ["999999999"] Keyword TAX, regon, ["tax id 174502880 given" => "174502880"], ["lot 174502880 shipped"];
    "pl-identity-card" "national_id" ["AAA~999999"] Alone PASSPORT, pl_card, ["passport DRI032207 given" => "DRI032207"], ["lot DRI032207 shipped"];
    "de-tax-id" "tax_id" ["99~999~999~999"] SeparatedAndAlone TAX, de_tax, ["tax id 61 944 313 545 given" => "61 944 313 545"], ["lot 61 944 313 545 shipped"];
    "de-tax-number" "tax_id" ["99~999~99999", "999~999~99999", "999~9999~9999", "9999999999999"] Keyword TAX, is_not_repeated, ["tax id 81/888/24744 given" => "81/888/24744"], ["lot 81/888/24744 shipped"];
    "de-vat" "tax_id" ["AA~999~999~999", "AA~999999999"] Always TAX, de_vat, ["it is DE299544098 here" => "DE299544098"], ["lot de299544098 shipped"];
    "eu-vat" "tax_id" ["AA999999999", "AA*9999999*", "AA99999999", "AA9999999999", "AA999999999999", "AA999999999A99", "AAA99999999", "AA9999999A", "AA*9999999A"] Keyword TAX, is_not_repeated, ["tax id JV558602536 given" => "JV558602536"], ["lot JV558602536 shipped"];
    "de-identity-card" "passport" ["A********"] Alone PASSPORT, icao, ["passport MPLM35299 given" => "MPLM35299"], ["lot MPLM35299 shipped"];
    "de-identity-card-digits" "passport" ["A********9", "A99999999"] Keyword PASSPORT, is_not_repeated, ["passport LS68G7ZQI9 given" => "LS68G7ZQI9"], ["lot LS68G7ZQI9 shipped"];
    "de-passport" "passport" ["A********"] Keyword PASSPORT, de_passport, ["passport C01X00T47 given" => "C01X00T47"], ["passport MANAGER22", "lot C01X00T47 shipped"];
    "de-social-security" "national_id" ["99~999999~A~999"] Always PERSON, de_social, ["it is 65 530513 K 177 here" => "65 530513 K 177"], ["lot 65 530513 k 177 shipped"];
    "de-health-insurance" "health_id" ["A999999999"] Alone HEALTH, de_health, ["patient J582653047 given" => "J582653047"], ["lot J582653047 shipped"];
    "de-physician" "medical_license" ["999999999"] Keyword HEALTH, de_physician, ["patient 451061274 given" => "451061274"], ["lot 451061274 shipped"];
    "de-practice" "medical_license" ["99999999~9"] Keyword HEALTH, is_not_repeated, ["patient 133713059 given" => "133713059"], ["lot 133713059 shipped"];
    "de-register" "company_id" ["AAA~9999", "AAA~99999", "AAA~999999"] Always COMPANY, is_commercial_register, ["it is HRB 0766 here" => "HRB 0766"], ["lot hrb 0766 shipped"];
    "de-driver-license" "driver_license" ["A99*****999", "A********9*"] Keyword DRIVER, is_not_repeated, ["driving licence I52R4325715 given" => "I52R4325715"], ["lot I52R4325715 shipped"];
    "fi-hetu-letter" "national_id" ["999999A999*"] Always PERSON, hetu, ["it is 010594Y9032 here" => "010594Y9032"], ["it is 010594Y9033 here"];
    "fi-hetu" "national_id" ["999999-999*"] Separated PERSON, hetu, ["it is 181145-426U here" => "181145-426U"], ["lot 181145426U shipped"];
    "se-personnummer-long" "national_id" ["99999999-9999"] SeparatedOrAlone PERSON, personnummer, ["it is 19910924-2397 here" => "19910924-2397"], ["lot 199109242397 shipped"];
    "se-personnummer" "national_id" ["999999-9999"] Separated PERSON, personnummer, ["it is 930690-1472 here" => "930690-1472"], ["lot 9306901472 shipped"];
    "se-organisation" "company_id" ["999999~9999"] SeparatedAndAlone COMPANY, organisation, ["company 166778-1353 given" => "166778-1353"], ["lot 166778-1353 shipped"];
    "no-fodselsnummer" "national_id" ["999999~99999"] Alone PERSON, fodselsnummer, ["national id 714326-12630 given" => "714326-12630"], ["lot 714326-12630 shipped"];
    "dk-cpr" "national_id" ["999999~9999"] Keyword PERSON, day_first, ["national id 260571-4726 given" => "260571-4726"], ["lot 260571-4726 shipped"];
    "is-kennitala" "national_id" ["999999~9999"] Keyword PERSON, kennitala, ["national id 270606-9384 given" => "270606-9384"], ["lot 270606-9384 shipped"];
    "fr-nir" "national_id" ["9~99~99~99~999~999~99", "9~99~99~9A~999~999~99"] SeparatedOrAlone PERSON, nir, ["it is 2 92 09 23 355 505 56 here" => "2 92 09 23 355 505 56"], ["it is 2 92 09 23 355 505 57 here"];
    "fr-siren" "company_id" ["999~999~999", "999~999~999~99999"] Keyword TAX, is_luhn_valid, ["tax id 735 680 746 given" => "735 680 746"], ["lot 735 680 746 shipped"];
    "nl-bsn" "national_id" ["9999~99~999", "999~999~999"] Keyword PERSON, bsn, ["national id 6429-33-200 given" => "6429-33-200"], ["lot 6429-33-200 shipped"];
    "be-national-number" "national_id" ["99~99~99~999~99"] SeparatedOrAlone PERSON, be_national, ["it is 96.61.30-001.87 here" => "96.61.30-001.87"], ["lot 96613000187 shipped"];
    "ch-ahv" "national_id" ["999~9999~9999~99"] Always PERSON, ahv, ["it is 756.3314.6863.06 here" => "756.3314.6863.06"], ["it is 756.3314.6863.07 here"];
    "at-svnr" "national_id" ["9999~999999"] Keyword PERSON, svnr, ["national id 9331-060527 given" => "9331-060527"], ["lot 9331-060527 shipped"];
    "pt-nif" "tax_id" ["999~999~999"] Keyword TAX, pt_nif, ["tax id 579-832-147 given" => "579-832-147"], ["lot 579-832-147 shipped"];
    "cz-rodne-cislo" "national_id" ["999999~9999"] Keyword PERSON, rodne_cislo, ["national id 759727/3706 given" => "759727/3706"], ["lot 759727/3706 shipped"];
    "ro-cnp" "national_id" ["9999999999999"] Alone PERSON, cnp, ["national id 5680705184547 given" => "5680705184547"], ["lot 5680705184547 shipped"];
    "bg-egn" "national_id" ["9999999999"] Keyword PERSON, egn, ["national id 8626073453 given" => "8626073453"], ["lot 8626073453 shipped"];
    "hr-oib" "national_id" ["99999999999"] Keyword PERSON | TAX, is_mod_11_10_valid, ["national id 09743590318 given" => "09743590318"], ["lot 09743590318 shipped"];
    "ee-lt-code" "national_id" ["99999999999"] Alone PERSON, isikukood, ["national id 28701044528 given" => "28701044528"], ["lot 28701044528 shipped"];
    "gr-amka" "national_id" ["99999999999"] Keyword PERSON, amka, ["national id 21093742167 given" => "21093742167"], ["lot 21093742167 shipped"];
    "ie-pps" "national_id" ["9999999A", "9999999AA"] Alone TAX | PERSON, pps, ["tax id 4887992H given" => "4887992H"], ["lot 4887992H shipped"];
    "tr-tckn" "national_id" ["99999999999"] Keyword PERSON, tckn, ["national id 24898763502 given" => "24898763502"], ["lot 24898763502 shipped"];
    "tr-plate" "vehicle_id" ["99~A~9999", "99~AA~999", "99~AA~9999", "99~AAA~99", "99~AAA~999", "99~AAA~9999"] Keyword VEHICLE, is_not_repeated, ["plate 56 I 8997 given" => "56 I 8997"], ["lot 56 I 8997 shipped"];
    "ru-inn" "tax_id" ["9999999999", "999999999999"] Keyword TAX, inn, ["tax id 6125523367 given" => "6125523367"], ["lot 6125523367 shipped"];
    "ru-snils" "national_id" ["999~999~999~99"] Separated PERSON, snils, ["it is 183-800-496 77 here" => "183-800-496 77"], ["lot 18380049677 shipped"];
};

fn nhs(text: &[u8]) -> bool {
    let check = (11 - weighted_sum(text, &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11) % 11;
    check < 10 && value_at(text, 9) == check && !all_same(text)
}

fn nino(text: &[u8]) -> bool {
    let Some([a, b]) = text.get(..2) else { return false };
    !b"DFIQUV".contains(a)
        && !b"DFIOQUV".contains(b)
        && !matches!(&[*a, *b], b"BG" | b"GB" | b"NK" | b"KN" | b"NT" | b"TN" | b"ZZ")
        && text.last().is_some_and(|byte| (b'A'..=b'D').contains(byte))
}

fn uk_licence(text: &[u8]) -> bool {
    let month = parse_digits(text, 6, 8);
    let surname = text.get(..5).unwrap_or_default();
    let letters = surname.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let padded = surname.iter().skip(letters).all(|byte| *byte == b'9');
    let initials = text.get(11..13).unwrap_or_default();
    let named = initials.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'9');
    let half = if month > 50 { month - 50 } else { month };
    letters > 0 && padded && named && is_day(half, parse_digits(text, 8, 10))
}

const NIF_LETTERS: &[u8] = b"TRWAGMYFPDXBNJZSQVHLCKE";

fn nif(text: &[u8]) -> bool {
    NIF_LETTERS.get(parse_digits(text, 0, 8) as usize % 23) == text.get(8)
        && parse_digits(text, 0, 8) > 0
}

fn nie(text: &[u8]) -> bool {
    let head = match text.first() {
        Some(b'X') => 0,
        Some(b'Y') => 10_000_000,
        Some(b'Z') => 20_000_000,
        _ => return false,
    };
    NIF_LETTERS.get((head + parse_digits(text, 1, 8)) as usize % 23) == text.get(8)
}

fn fiscal_code(text: &[u8]) -> bool {
    const ODD: [u32; 26] = [
        1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24,
        23,
    ];
    let rank = |byte: u8| match byte {
        b'0'..=b'9' => usize::from(byte - b'0'),
        _ => usize::from(byte.saturating_sub(b'A')),
    };
    let sum: u32 = text
        .iter()
        .take(15)
        .enumerate()
        .map(|(place, byte)| match place % 2 {
            0 => ODD.get(rank(*byte)).copied().unwrap_or(0),
            _ => rank(*byte) as u32,
        })
        .sum();
    let month = text.get(8).is_some_and(|byte| b"ABCDEHLMPRST".contains(byte));
    month && value_at(text, 15) == sum % 26 + 10
}

fn it_vat(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"IT").unwrap_or(text);
    digits.len() == 11 && is_luhn_valid(digits)
}

fn pesel(text: &[u8]) -> bool {
    let check = (10 - weighted_sum(text, &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3]) % 10) % 10;
    check == value_at(text, 10) && is_day(parse_digits(text, 2, 4) % 20, parse_digits(text, 4, 6))
}

fn nip(text: &[u8]) -> bool {
    weighted_sum(text, &[6, 5, 7, 2, 3, 4, 5, 6, 7]) % 11 == value_at(text, 9) && !all_same(text)
}

fn regon(text: &[u8]) -> bool {
    weighted_sum(text, &[8, 9, 2, 3, 4, 5, 6, 7]) % 11 % 10 == value_at(text, 8) && !all_same(text)
}

fn pl_card(text: &[u8]) -> bool {
    let Some((head, tail)) = text.split_at_checked(3) else { return false };
    let rest = tail.get(1..).unwrap_or_default();
    let sum = weighted_sum(head, &[7, 3, 1]) + weighted_sum(rest, &[7, 3, 1, 7, 3]);
    sum % 10 == value_at(text, 3)
}

fn de_tax(text: &[u8]) -> bool {
    let head = text.get(..10).unwrap_or_default();
    let often = |digit: u8| head.iter().filter(|byte| **byte == digit).count();
    value_at(text, 0) > 0
        && (b'0'..=b'9').all(|digit| often(digit) <= 3)
        && is_mod_11_10_valid(text)
}

fn de_vat(text: &[u8]) -> bool {
    text.starts_with(b"DE") && is_mod_11_10_valid(text.get(2..).unwrap_or_default())
}

/// A document number whose last digit is the ICAO check digit of machine-readable documents.
fn icao(text: &[u8]) -> bool {
    let letters = text.iter().filter(|byte| byte.is_ascii_alphabetic());
    letters.clone().all(|byte| b"CFGHJKLMNPRTVWXYZ".contains(byte))
        && weighted_sum(text, &[7, 3, 1, 7, 3, 1, 7, 3]) % 10 == value_at(text, 8)
        && text.last().is_some_and(u8::is_ascii_digit)
}

/// The number of a German passport as it is printed, without the check digit: no vowels, so that no
/// words come about.
fn de_passport(text: &[u8]) -> bool {
    let (letters, digits): (Vec<u8>, Vec<u8>) = text.iter().partition(|b| b.is_ascii_alphabetic());
    text.first().is_some_and(|first| b"CFGHJKLMNPRTVWXYZ".contains(first))
        && (letters.iter().all(|byte| b"CFGHJKLMNPRTVWXYZ".contains(byte)) || is_mixed(text))
        && digits.len() >= 3
        && !all_same(&digits)
}

/// True for letters and digits in turn, as no word with a number has them.
fn is_mixed(text: &[u8]) -> bool {
    let turns = |pair: &[u8]| matches!(pair, [a, b] if a.is_ascii_digit() != b.is_ascii_digit());
    text.windows(2).filter(|pair| turns(pair)).count() >= 4
}

fn digit_sum(sum: u32) -> u32 {
    sum / 10 + sum % 10
}

fn de_social(text: &[u8]) -> bool {
    let Some((head, tail)) = text.split_at_checked(8) else { return false };
    let letter = value_at(tail, 0).saturating_sub(9);
    let mut digits: Vec<u32> = head.iter().map(|byte| char_value(*byte)).collect();
    digits.extend([letter / 10, letter % 10, value_at(tail, 1), value_at(tail, 2)]);
    let weights = [2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1];
    let sum: u32 =
        digits.iter().zip(weights).map(|(digit, weight)| digit_sum(digit * weight)).sum();
    let day = parse_digits(text, 2, 4);
    let born = is_day(parse_digits(text, 4, 6), if day > 50 { day - 50 } else { day });
    born && sum % 10 == value_at(tail, 3)
}

fn de_health(text: &[u8]) -> bool {
    let letter = value_at(text, 0).saturating_sub(9);
    let mut digits = vec![letter / 10, letter % 10];
    digits.extend(text.iter().skip(1).take(8).map(|byte| char_value(*byte)));
    let weights = [1, 2, 1, 2, 1, 2, 1, 2, 1, 2];
    let sum: u32 =
        digits.iter().zip(weights).map(|(digit, weight)| digit_sum(digit * weight)).sum();
    sum % 10 == value_at(text, 9)
}

fn de_physician(text: &[u8]) -> bool {
    let sum = weighted_sum(text, &[4, 9, 4, 9, 4, 9]);
    (10 - sum % 10) % 10 == value_at(text, 6) && !all_same(text.get(..7).unwrap_or_default())
}

fn is_commercial_register(text: &[u8]) -> bool {
    text.starts_with(b"HRA") || text.starts_with(b"HRB")
}

fn hetu(text: &[u8]) -> bool {
    const SIGNS: &[u8] = b"0123456789ABCDEFHJKLMNPRSTUVWXY";
    let (head, tail) = match text.len() {
        10 => (parse_digits(text, 0, 6), parse_digits(text, 6, 9)),
        _ => (parse_digits(text, 0, 6), parse_digits(text, 7, 10)),
    };
    let century = text.len() == 10 || text.get(6).is_some_and(|byte| b"ABCDEFYXWVU".contains(byte));
    century
        && tail >= 2
        && is_day(parse_digits(text, 2, 4), parse_digits(text, 0, 2))
        && SIGNS.get((head * 1000 + tail) as usize % 31) == text.last()
}

fn personnummer(text: &[u8]) -> bool {
    let short = if text.len() == 12 { text.get(2..) } else { Some(text) };
    let century = text.len() == 10 || matches!(parse_digits(text, 0, 2), 18..=20);
    let Some(short) = short else { return false };
    let day = parse_digits(short, 4, 6);
    let day = if day > 60 { day - 60 } else { day };
    century && is_day(parse_digits(short, 2, 4), day) && is_luhn_valid(short)
}

fn organisation(text: &[u8]) -> bool {
    value_at(text, 2) >= 2 && value_at(text, 0) > 0 && is_luhn_valid(text)
}

/// Begins with a day and a month.
fn day_first(text: &[u8]) -> bool {
    is_day(parse_digits(text, 2, 4), parse_digits(text, 0, 2))
}

fn fodselsnummer(text: &[u8]) -> bool {
    let day = parse_digits(text, 0, 2);
    let day = if day > 40 { day - 40 } else { day };
    let month = parse_digits(text, 2, 4);
    let month = if month > 40 { month - 40 } else { month };
    is_day(month, day)
        && has_mod_11_check(text, &[3, 7, 6, 1, 8, 9, 4, 5, 2])
        && has_mod_11_check(text, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2])
}

fn kennitala(text: &[u8]) -> bool {
    day_first(text) && has_mod_11_check(text, &[3, 2, 7, 6, 5, 4, 3, 2])
}

fn nir(text: &[u8]) -> bool {
    // The departments of Corsica, 2A and 2B, count as 19 and 18.
    let digits: Vec<u8> = match text.get(5..7) {
        Some(b"2A") => [text.get(..5), Some(b"19"), text.get(7..)],
        Some(b"2B") => [text.get(..5), Some(b"18"), text.get(7..)],
        _ => [Some(text), None, None],
    }
    .into_iter()
    .flatten()
    .flatten()
    .copied()
    .collect();
    let month = matches!(parse_digits(text, 3, 5), 1..=12 | 20..=42 | 50..=99);
    let sum = remainder(digits.iter().take(13).copied(), 97);
    matches!(text.first(), Some(b'1' | b'2' | b'3' | b'4' | b'7' | b'8'))
        && month
        && digits.iter().all(u8::is_ascii_digit)
        && 97 - sum == parse_digits(&digits, 13, 15)
}

fn bsn(text: &[u8]) -> bool {
    let sum = weighted_sum(text, &[9, 8, 7, 6, 5, 4, 3, 2]);
    sum >= value_at(text, 8) && (sum - value_at(text, 8)).is_multiple_of(11) && !all_same(text)
}

fn be_national(text: &[u8]) -> bool {
    let head = parse_digits(text, 0, 9);
    let check = parse_digits(text, 9, 11);
    let month = parse_digits(text, 2, 4) % 20;
    is_day(month, parse_digits(text, 4, 6))
        && (97 - head % 97 == check
            || u64::from(check) == 97 - (2_000_000_000 + u64::from(head)) % 97)
}

fn ahv(text: &[u8]) -> bool {
    let sum = weighted_sum(text, &[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3]);
    text.starts_with(b"756") && (10 - sum % 10) % 10 == value_at(text, 12)
}

fn svnr(text: &[u8]) -> bool {
    let sum = weighted_sum(text, &[3, 7, 9, 0, 5, 8, 4, 2, 1, 6]);
    is_day(parse_digits(text, 6, 8), parse_digits(text, 4, 6))
        && sum % 11 == value_at(text, 3)
        && value_at(text, 0) > 0
}

fn pt_nif(text: &[u8]) -> bool {
    has_mod_11_check(text, &[9, 8, 7, 6, 5, 4, 3, 2]) && value_at(text, 0) > 0
}

fn rodne_cislo(text: &[u8]) -> bool {
    let month = parse_digits(text, 2, 4);
    let month = if month > 50 { month - 50 } else { month } % 20;
    let sum = remainder(text.iter().copied(), 11);
    is_day(month, parse_digits(text, 4, 6)) && sum == 0
}

fn cnp(text: &[u8]) -> bool {
    let sum = weighted_sum(text, &[2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]) % 11;
    let check = if sum == 10 { 1 } else { sum };
    value_at(text, 0) > 0
        && is_day(parse_digits(text, 3, 5), parse_digits(text, 5, 7))
        && value_at(text, 12) == check
}

fn egn(text: &[u8]) -> bool {
    let sum = weighted_sum(text, &[2, 4, 8, 5, 10, 9, 7, 3, 6]) % 11 % 10;
    is_day(parse_digits(text, 2, 4) % 20, parse_digits(text, 4, 6)) && value_at(text, 9) == sum
}

fn isikukood(text: &[u8]) -> bool {
    let first = weighted_sum(text, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 1]) % 11;
    let second = weighted_sum(text, &[3, 4, 5, 6, 7, 8, 9, 1, 2, 3]) % 11 % 10;
    let check = if first == 10 { second } else { first };
    (1..=6).contains(&value_at(text, 0))
        && is_day(parse_digits(text, 3, 5), parse_digits(text, 5, 7))
        && value_at(text, 10) == check
}

fn amka(text: &[u8]) -> bool {
    day_first(text) && is_luhn_valid(text)
}

fn pps(text: &[u8]) -> bool {
    let second = text.get(8).map_or(0, |byte| u32::from(byte.saturating_sub(64)) * 9);
    let sum = weighted_sum(text, &[8, 7, 6, 5, 4, 3, 2]) + second;
    let check = match sum % 23 {
        0 => b'W',
        rest => 64 + u8::try_from(rest).unwrap_or(0),
    };
    text.get(7) == Some(&check)
}

fn tckn(text: &[u8]) -> bool {
    let odd = value_at(text, 0)
        + value_at(text, 2)
        + value_at(text, 4)
        + value_at(text, 6)
        + value_at(text, 8);
    let even = value_at(text, 1) + value_at(text, 3) + value_at(text, 5) + value_at(text, 7);
    let all: u32 = text.iter().take(10).map(|byte| char_value(*byte)).sum();
    value_at(text, 0) > 0
        && (odd * 7 + 100 - even) % 10 == value_at(text, 9)
        && all % 10 == value_at(text, 10)
}

fn inn(text: &[u8]) -> bool {
    let check =
        |weights: &[u32]| weighted_sum(text, weights) % 11 % 10 == value_at(text, weights.len());
    match text.len() {
        10 => check(&[2, 4, 10, 3, 5, 9, 4, 6, 8]) && !all_same(text),
        _ => check(&[7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) && check(&[3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8]),
    }
}

fn snils(text: &[u8]) -> bool {
    let sum = weighted_sum(text, &[9, 8, 7, 6, 5, 4, 3, 2, 1]);
    sum % 101 % 100 == parse_digits(text, 9, 11) && sum > 0
}
