//! Document and register numbers of North and South America.

use super::checksum::{
    all_same, counts_up, is_day, is_luhn_valid, parse_digits, value_at, weighted_sum,
};
use super::context::topic::*;
use super::document_rule::{DocumentRule, rows};

/// The rules.
pub(super) const RULES: &[DocumentRule] = rows! {
    "us-itin" "tax_id" ["999-99-9999", "999-999999", "99999-9999"] SeparatedAndAlone TAX, itin, ["tax id 993-87-8180 given" => "993-87-8180"], ["lot 993-87-8180 shipped"];
    "us-ein" "tax_id" ["99-9999999"] Keyword TAX, ein, ["tax id 59-6955053 given" => "59-6955053"], ["lot 59-6955053 shipped"];
    "us-npi" "medical_license" ["9999~999~999"] SeparatedAndAlone NPI, npi, ["NPI 2505-189-433 given" => "2505-189-433"], ["lot 2505-189-433 shipped"];
    "us-mbi" "health_id" ["9A*9~A*9~AA99"] SeparatedOrAlone HEALTH, mbi, ["it is 5J78-Y10-JM95 here" => "5J78-Y10-JM95"], ["lot 5J78Y10JM95 shipped"];
    "us-dea" "medical_license" ["AA9999999", "A99999999"] Alone DEA, dea, ["DEA KK3285435 given" => "KK3285435"], ["lot KK3285435 shipped"];
    "us-passport" "passport" ["999999999", "A99999999"] Keyword PASSPORT, is_not_repeated, ["passport 296462994 given" => "296462994"], ["lot 296462994 shipped"];
    "us-aba" "bank_account" ["9999-9999-9"] Separated ROUTING, aba, ["it is 8033-4646-6 here" => "8033-4646-6"], ["lot 803346466 shipped"];
    "bank-account" "bank_account" ["99999999", "999999999", "9999999999", "99999999999", "999999999999", "9999999999999", "99999999999999", "999999999999999", "9999999999999999", "99999999999999999"] Keyword BANK, is_account_number, ["account 86435127 given" => "86435127"], ["lot 86435127 shipped", "account id 864351274", "account 12345678", "<BANKTRANLIST><DTSTART>20090401<DTEND>20090523122017", "\"bank_code\": \"34070093\"", "Account: 590827331500, Arn: arn:aws:iam::x"];
    "driver-license" "driver_license" ["A999999", "A9999999", "A99999999", "A999999999", "A99999999999", "A999999999999", "A9999999999999", "A99999999999999", "AA999999", "AA9999999", "AA99999", "9999999", "99999999", "999999999", "9999999999", "99AAA99999", "999AA9999", "99999999AA", "9999999A", "99999999A", "999999999A", "A99A99999999", "A9999~99999~99999", "A999~9999~9999", "A999~999~99~999~9", "9AAAAA9999", "*9*****999**", "*******999**", "A9**999***9"] Keyword DRIVER, is_not_repeated, ["driving licence R556136 given" => "R556136"], ["lot R556136 shipped"];
    "ca-sin" "national_id" ["999~999~999"] SeparatedAndAlone PERSON, sin, ["national id 157-718-388 given" => "157-718-388"], ["lot 157-718-388 shipped"];
    "br-cpf" "national_id" ["999~999~999~99"] Separated PERSON, cpf, ["it is 413.796.558-70 here" => "413.796.558-70"], ["lot 41379655870 shipped"];
    "br-cnpj" "company_id" ["99~999~999~9999~99"] Separated TAX, cnpj, ["it is 72.415.416/0525-72 here" => "72.415.416/0525-72"], ["lot 72415416052572 shipped"];
    "mx-curp" "national_id" ["AAAA999999AAAAAA*9"] Always PERSON, curp, ["it is CVOP630510XTDDTB92 here" => "CVOP630510XTDDTB92"], ["lot cvop630510xtddtb92 shipped"];
    "mx-rfc" "tax_id" ["AAAA~999999~***", "AAA~999999~***"] Keyword TAX, rfc, ["tax id RWCE440817EA8 given" => "RWCE440817EA8"], ["lot RWCE440817EA8 shipped"];
    "ar-cuit" "tax_id" ["99~99999999~9"] Separated TAX, cuit, ["it is 33-91740382-7 here" => "33-91740382-7"], ["lot 33917403827 shipped"];
    "cl-rut" "national_id" ["99~999~999~*", "9~999~999~*"] Separated PERSON | TAX, rut, ["it is 81.282.949-1 here" => "81.282.949-1"], ["lot 812829491 shipped"];
    "uy-ci" "national_id" ["9~999~999~9"] Keyword PERSON, ci, ["national id 0-829-651-4 given" => "0-829-651-4"], ["lot 0-829-651-4 shipped"];
    "dni-cedula" "national_id" ["99~999~999", "9999999999", "99999999"] Keyword PERSON, is_not_repeated, ["national id 44.508.815 given" => "44.508.815"], ["lot 44.508.815 shipped"];
    "imei" "device_id" ["99~999999~999999~9"] Keyword DEVICE, is_luhn_valid, ["IMEI 28-193625-235196-5 given" => "28-193625-235196-5"], ["lot 28-193625-235196-5 shipped"];
    "vin" "vehicle_id" ["*************9999", "************99999", "*****************"] Alone VEHICLE, vin, ["plate 7DU8ZCH21D8WX9543 given" => "7DU8ZCH21D8WX9543"], ["lot 7DU8ZCH21D8WX9543 shipped"];
};

/// Accepts any number that is not one digit repeated, nor digits in the order of counting.
pub(super) fn is_not_repeated(text: &[u8]) -> bool {
    !all_same(text) && !counts_up(text)
}

/// Accepts the same, but no date, alone or with a time.
fn is_account_number(text: &[u8]) -> bool {
    let is_date = matches!(text.len(), 8 | 14)
        && matches!(text, [b'1', b'9', ..] | [b'2', b'0', ..])
        && is_day(parse_digits(text, 4, 6), parse_digits(text, 6, 8));
    is_not_repeated(text) && !is_date
}

fn itin(text: &[u8]) -> bool {
    let group = parse_digits(text, 3, 5);
    value_at(text, 0) == 9 && matches!(group, 50..=65 | 70..=88 | 90..=92 | 94..=99)
}

fn ein(text: &[u8]) -> bool {
    !counts_up(text)
        && !matches!(parse_digits(text, 0, 2), 0 | 7..=9 | 17..=19 | 28..=29 | 49 | 69..=70 | 78..=79 | 89 | 96..=97)
}

fn npi(text: &[u8]) -> bool {
    let mut whole = b"80840".to_vec();
    whole.extend_from_slice(text);
    matches!(text.first(), Some(b'1' | b'2'))
        && is_luhn_valid(&whole)
        && !all_same(text.get(..9).unwrap_or(text))
}

fn mbi(text: &[u8]) -> bool {
    value_at(text, 0) > 0 && !text.iter().any(|byte| b"SLOIBZ".contains(byte))
}

fn dea(text: &[u8]) -> bool {
    let odd = value_at(text, 2) + value_at(text, 4) + value_at(text, 6);
    let even = value_at(text, 3) + value_at(text, 5) + value_at(text, 7);
    let kind = text.first().is_some_and(|byte| b"ABCDEFGHJKLMPRSTUX".contains(byte));
    let nine = text.get(1).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'9');
    kind && nine && (odd + 2 * even) % 10 == value_at(text, 8)
}

fn aba(text: &[u8]) -> bool {
    let region = matches!(parse_digits(text, 0, 2), 1..=12 | 21..=32 | 61..=72 | 80);
    region && weighted_sum(text, &[3, 7, 1, 3, 7, 1, 3, 7, 1]).is_multiple_of(10)
}

fn sin(text: &[u8]) -> bool {
    !matches!(text.first(), Some(b'0' | b'8')) && is_luhn_valid(text)
}

/// Check digit by weights, modulo 11; the remainders 10 and 11 count as 0.
pub(super) fn has_mod_11_check(text: &[u8], weights: &[u32]) -> bool {
    let check = match 11 - weighted_sum(text, weights) % 11 {
        10 | 11 => 0,
        check => check,
    };
    value_at(text, weights.len()) == check
}

fn cpf(text: &[u8]) -> bool {
    !all_same(text)
        && has_mod_11_check(text, &[10, 9, 8, 7, 6, 5, 4, 3, 2])
        && has_mod_11_check(text, &[11, 10, 9, 8, 7, 6, 5, 4, 3, 2])
}

fn cnpj(text: &[u8]) -> bool {
    !all_same(text)
        && has_mod_11_check(text, &[5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])
        && has_mod_11_check(text, &[6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])
}

fn curp(text: &[u8]) -> bool {
    let sex = text.get(10).is_some_and(|byte| matches!(byte, b'H' | b'M' | b'X'));
    sex && is_day(parse_digits(text, 6, 8), parse_digits(text, 8, 10))
}

fn rfc(text: &[u8]) -> bool {
    let from = text.len() - 9;
    is_day(parse_digits(text, from + 2, from + 4), parse_digits(text, from + 4, from + 6))
}

fn cuit(text: &[u8]) -> bool {
    let kind = matches!(parse_digits(text, 0, 2), 20 | 23 | 24 | 27 | 30 | 33 | 34);
    let check = 11 - weighted_sum(text, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
    kind && value_at(text, 10) == if check == 11 { 0 } else { check }
}

fn rut(text: &[u8]) -> bool {
    let Some((last, digits)) = text.split_last() else { return false };
    let weights = [2, 3, 4, 5, 6, 7, 2, 3];
    let sum: u32 = digits.iter().rev().zip(weights).map(|(b, w)| u32::from(b - b'0') * w).sum();
    match 11 - sum % 11 {
        11 => *last == b'0',
        10 => *last == b'K',
        check => u32::from(*last) == check + 48,
    }
}

fn ci(text: &[u8]) -> bool {
    (10 - weighted_sum(text, &[2, 9, 8, 7, 6, 3, 4]) % 10) % 10 == value_at(text, 7)
}

/// A vehicle identification number with its check digit; letters count by their rank.
fn vin(text: &[u8]) -> bool {
    const WEIGHTS: [u32; 17] = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];
    let rank = |byte: &u8| match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        b'A'..=b'H' => u32::from(byte - b'A') + 1,
        b'J'..=b'R' => u32::from(byte - b'J') + 1,
        _ => u32::from(byte.saturating_sub(b'S')) + 2,
    };
    let sum: u32 = text.iter().zip(WEIGHTS).map(|(byte, weight)| rank(byte) * weight).sum();
    let check = if sum % 11 == 10 { b'X' } else { b'0' + u8::try_from(sum % 11).unwrap_or(0) };
    text.get(8) == Some(&check)
        && text.iter().any(u8::is_ascii_alphabetic)
        && !text.iter().any(|byte| matches!(byte, b'I' | b'O' | b'Q'))
}
