//! Document and register numbers of Asia, Africa and Oceania.

use super::americas::is_not_repeated;
use super::checksum::{
    all_same, char_value, is_day, is_luhn_valid, is_verhoeff_valid, parse_digits, value_at,
    weighted_sum,
};
use super::context::topic::*;
use super::document_rule::{DocumentRule, rows};

/// The rules.
pub(super) const RULES: &[DocumentRule] = rows! {
    "sg-nric" "national_id" ["A9999999A"] Always PERSON, nric, ["it is G5461908T here" => "G5461908T"], ["lot g5461908t shipped"];
    "sg-uen" "company_id" ["99999999A", "999999999A"] Alone COMPANY, uen, ["company 78843962J given" => "78843962J"], ["lot 78843962J shipped"];
    "sg-uen-entity" "company_id" ["A99AA9999A"] Always COMPANY, uen_entity, ["it is T11BE2498H here" => "T11BE2498H"], ["lot t11be2498h shipped"];
    "au-abn" "tax_id" ["99~999~999~999"] Separated AU | TAX | COMPANY, abn, ["it is 50 575 416 187 here" => "50 575 416 187"], ["lot 50575416187 shipped"];
    "au-acn" "company_id" ["999~999~999"] SeparatedAndAlone AU | COMPANY, acn, ["company 118 847 760 given" => "118 847 760"], ["lot 118 847 760 shipped"];
    "au-tfn" "tax_id" ["999~999~999"] SeparatedAndAlone AU | TAX, tfn, ["tax id 106 911 772 given" => "106 911 772"], ["lot 106 911 772 shipped"];
    "au-medicare" "health_id" ["9999~99999~9"] SeparatedAndAlone AU | HEALTH, medicare, ["patient 5830-76777-4 given" => "5830-76777-4"], ["lot 5830-76777-4 shipped"];
    "in-pan" "tax_id" ["AAAAA9999A"] Always TAX | CARD, pan, ["it is VLSHQ4798C here" => "VLSHQ4798C"], ["lot vlshq4798c shipped"];
    "in-aadhaar" "national_id" ["9999~9999~9999"] SeparatedAndAlone PERSON, aadhaar, ["national id 3684 2944 2365 given" => "3684 2944 2365"], ["lot 3684 2944 2365 shipped"];
    "in-passport" "passport" ["A99~99999", "A9999999"] Alone PASSPORT, in_passport, ["passport X7110687 given" => "X7110687"], ["lot X7110687 shipped"];
    "in-voter" "national_id" ["AAA9999999"] Alone VOTER, in_voter, ["voter XHC0288119 given" => "XHC0288119"], ["lot XHC0288119 shipped"];
    "in-gstin" "tax_id" ["99AAAAA9999A*A*"] Always TAX, gstin, ["it is 08RZLAK0804NXZ8 here" => "08RZLAK0804NXZ8"], ["lot 08rzlak0804nxz8 shipped"];
    "in-vehicle" "vehicle_id" ["AA~99~AA~9999", "AA~99~A~9999", "AA~9~AA~9999", "AA~9~A~9999", "99AA9999AA", "AA~99~AAA~9999"] Keyword VEHICLE, in_vehicle, ["plate AF35TR3260 given" => "AF35TR3260"], ["lot AF-35-TR-3260 shipped"];
    "kr-rrn" "national_id" ["999999-9999999"] Separated PERSON, rrn, ["it is 411014-2358872 here" => "411014-2358872"], ["lot 4110142358872 shipped"];
    "kr-passport" "passport" ["A999A9999"] Always PASSPORT, kr_passport, ["it is M649A2227 here" => "M649A2227"], ["lot m649a2227 shipped"];
    "kr-passport-old" "passport" ["A99999999"] Alone PASSPORT, kr_passport, ["passport M96139606 given" => "M96139606"], ["lot M96139606 shipped"];
    "kr-brn" "company_id" ["999~99~99999"] SeparatedAndAlone COMPANY, brn, ["company 196-34-84214 given" => "196-34-84214"], ["lot 196-34-84214 shipped"];
    "kr-driver-license" "driver_license" ["99~99~999999~99"] Separated DRIVER, kr_driver, ["it is 16-38-287667-84 here" => "16-38-287667-84"], ["lot 163828766784 shipped"];
    "th-id" "national_id" ["9~9999~99999~99~9"] Separated PERSON, thai, ["it is 7-2381-59510-55-7 here" => "7-2381-59510-55-7"], ["lot 7238159510557 shipped"];
    "cn-resident-id" "national_id" ["99999999999999999*"] Always PERSON, resident, ["it is 368719206711158834 here" => "368719206711158834"], ["it is 368719206711158835 here"];
    "tw-id" "national_id" ["A999999999"] Alone PERSON, taiwan, ["national id R293665838 given" => "R293665838"], ["lot R293665838 shipped"];
    "hk-id" "national_id" ["A999999*"] Keyword PERSON, hong_kong, ["national id U6843031 given" => "U6843031"], ["lot U6843031 shipped"];
    "jp-my-number" "national_id" ["9999~9999~9999"] Keyword PERSON, my_number, ["national id 7705 7416 5970 given" => "7705 7416 5970"], ["lot 7705 7416 5970 shipped"];
    "my-nric" "national_id" ["999999~99~9999"] Separated PERSON, mykad, ["it is 610926-29-7125 here" => "610926-29-7125"], ["lot 610926297125 shipped"];
    "id-nik" "national_id" ["9999999999999999"] Keyword PERSON, nik, ["national id 4621324401929026 given" => "4621324401929026"], ["lot 4621324401929026 shipped"];
    "ph-tin" "tax_id" ["999~999~999", "999~999~999~999", "999~999~999~99999"] Keyword TAX, ph_tin, ["tax id 282-258-823 given" => "282-258-823"], ["lot 282-258-823 shipped"];
    "ph-passport" "passport" ["A9999999A"] Keyword PASSPORT, is_not_repeated, ["passport Z2077993R given" => "Z2077993R"], ["lot Z2077993R shipped"];
    "il-id" "national_id" ["999999999"] Keyword PERSON, is_luhn_valid, ["national id 968401539 given" => "968401539"], ["lot 968401539 shipped"];
    "kz-iin" "national_id" ["999999999999"] Keyword PERSON, iin, ["national id 270818515680 given" => "270818515680"], ["lot 270818515680 shipped"];
    "ae-id" "national_id" ["999~9999~9999999~9"] Separated PERSON, emirates, ["it is 784-2063-4844229-3 here" => "784-2063-4844229-3"], ["lot 784206348442293 shipped"];
    "ng-nin" "national_id" ["99999999999"] Keyword PERSON, nin, ["national id 27919459027 given" => "27919459027"], ["lot 27919459027 shipped"];
    "za-id" "national_id" ["999999~9999~99~9"] Alone PERSON, south_africa, ["national id 660311-5052-24-8 given" => "660311-5052-24-8"], ["lot 660311-5052-24-8 shipped"];
    "za-company" "company_id" ["9999~999999~99"] Separated COMPANY, za_company, ["it is 2002/999517/99 here" => "2002/999517/99"], ["lot 200299951799 shipped"];
    "nz-ird" "tax_id" ["99~999~999", "999~999~999"] Keyword TAX, is_not_repeated, ["tax id 56-882-848 given" => "56-882-848"], ["lot 56-882-848 shipped"];
    "other-plate" "vehicle_id" ["AAA~999AA", "AA~99~AA", "AA~999~AA", "9999~AAA", "AAA~9999", "AA99AAAA", "AA9999"] Keyword VEHICLE, is_plate, ["plate EYQ-358DE given" => "EYQ-358DE"], ["lot EYQ-358DE shipped", "client registration - RFC 7591"];
};

fn nric(text: &[u8]) -> bool {
    let sum = weighted_sum(text.get(1..).unwrap_or_default(), &[2, 7, 6, 5, 4, 3, 2]);
    let (offset, letters) = match text.first() {
        Some(b'S') => (0, b"JZIHGFEDCBA"),
        Some(b'T') => (4, b"JZIHGFEDCBA"),
        Some(b'F') => (0, b"XWUTRQPNMLK"),
        Some(b'G') => (4, b"XWUTRQPNMLK"),
        Some(b'M') => (3, b"XWUTRQPNJLK"),
        _ => return false,
    };
    let place = (sum + offset) as usize % 11;
    let place = if text.first() == Some(&b'M') { 10 - place } else { place };
    let letters: &[u8] = letters;
    let expected =
        if text.first() == Some(&b'M') { b"KLJNPQRTUWX".get(place) } else { letters.get(place) };
    expected == text.last()
}

fn uen(text: &[u8]) -> bool {
    let place = |weights: &[u32]| weighted_sum(text, weights) as usize % 11;
    match text.len() {
        9 => b"XMKECAWLJDB".get(place(&[10, 4, 9, 3, 8, 2, 7, 1])) == text.last(),
        _ => b"ZKCMDNERGWH".get(place(&[10, 8, 6, 4, 9, 7, 5, 3, 1])) == text.last(),
    }
}

fn uen_entity(text: &[u8]) -> bool {
    const SIGNS: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWX0123456789";
    let sum: usize = text
        .iter()
        .zip([4, 3, 5, 3, 10, 2, 2, 5, 7])
        .map(|(byte, weight)| SIGNS.iter().position(|sign| sign == byte).unwrap_or(0) * weight)
        .sum();
    matches!(text.first(), Some(b'T' | b'S' | b'R')) && SIGNS.get((sum + 6) % 11) == text.last()
}

fn abn(text: &[u8]) -> bool {
    let sum = weighted_sum(text, &[10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19]);
    value_at(text, 0) > 0 && sum >= 10 && (sum - 10).is_multiple_of(89)
}

fn acn(text: &[u8]) -> bool {
    let sum = weighted_sum(text, &[8, 7, 6, 5, 4, 3, 2, 1]);
    (10 - sum % 10) % 10 == value_at(text, 8) && !all_same(text)
}

fn tfn(text: &[u8]) -> bool {
    weighted_sum(text, &[1, 4, 3, 7, 5, 8, 6, 9, 10]).is_multiple_of(11) && !all_same(text)
}

fn medicare(text: &[u8]) -> bool {
    (2..=6).contains(&value_at(text, 0))
        && weighted_sum(text, &[1, 3, 7, 9, 1, 3, 7, 9]) % 10 == value_at(text, 8)
}

fn pan(text: &[u8]) -> bool {
    text.get(3).is_some_and(|byte| b"ABCFGHJLPTNSDME".contains(byte))
}

fn aadhaar(text: &[u8]) -> bool {
    value_at(text, 0) >= 2 && is_verhoeff_valid(text) && !text.iter().eq(text.iter().rev())
}

fn in_passport(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_alphabetic)
        && value_at(text, 1) > 0
        && text.last() != Some(&b'0')
}

fn in_voter(text: &[u8]) -> bool {
    text.get(1).is_some_and(|byte| b"ABCDGHJKMNPRSYVTWXLZEFIOU".contains(byte))
}

fn gstin(text: &[u8]) -> bool {
    matches!(parse_digits(text, 0, 2), 1..=37) && text.get(13) == Some(&b'Z')
}

fn in_vehicle(text: &[u8]) -> bool {
    parse_digits(text, text.len().saturating_sub(4), text.len()) > 0
}

fn rrn(text: &[u8]) -> bool {
    let born = is_day(parse_digits(text, 2, 4), parse_digits(text, 4, 6));
    let sum = weighted_sum(text, &[2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]);
    match value_at(text, 6) {
        1..=4 => born,
        5..=8 => born && (13 - sum % 11) % 10 == value_at(text, 12),
        _ => false,
    }
}

fn kr_passport(text: &[u8]) -> bool {
    text.first().is_some_and(|byte| b"MSROD".contains(byte))
}

fn brn(text: &[u8]) -> bool {
    let sum = weighted_sum(text, &[1, 3, 7, 1, 3, 7, 1, 3, 5]) + value_at(text, 8) * 5 / 10;
    (10 - sum % 10) % 10 == value_at(text, 9) && !all_same(text)
}

fn kr_driver(text: &[u8]) -> bool {
    matches!(parse_digits(text, 0, 2), 11..=28)
}

fn thai(text: &[u8]) -> bool {
    let sum = weighted_sum(text, &[13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]);
    (1..=8).contains(&value_at(text, 0)) && (11 - sum % 11) % 10 == value_at(text, 12)
}

fn resident(text: &[u8]) -> bool {
    let sum = weighted_sum(text, &[7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]);
    matches!(parse_digits(text, 0, 2), 11..=82)
        && matches!(parse_digits(text, 6, 8), 18..=20)
        && is_day(parse_digits(text, 10, 12), parse_digits(text, 12, 14))
        && b"10X98765432".get(sum as usize % 11) == text.last()
}

fn taiwan(text: &[u8]) -> bool {
    const RANKS: [u32; 26] = [
        10, 11, 12, 13, 14, 15, 16, 17, 34, 18, 19, 20, 21, 22, 35, 23, 24, 25, 26, 27, 28, 29, 32,
        30, 31, 33,
    ];
    let place = text.first().map_or(0, |byte| usize::from(byte.saturating_sub(b'A')));
    let rank = RANKS.get(place).copied().unwrap_or(0);
    let rest = text.get(1..).unwrap_or_default();
    let sum = rank / 10 + rank % 10 * 9 + weighted_sum(rest, &[8, 7, 6, 5, 4, 3, 2, 1, 1]);
    matches!(value_at(text, 1), 1 | 2 | 8 | 9) && sum.is_multiple_of(10)
}

fn hong_kong(text: &[u8]) -> bool {
    let sum = 36 * 9 + weighted_sum(text, &[8, 7, 6, 5, 4, 3, 2]);
    let check = match text.last() {
        Some(b'A') => 10,
        Some(byte) if byte.is_ascii_digit() => char_value(*byte),
        _ => return false,
    };
    (sum + check).is_multiple_of(11)
}

fn my_number(text: &[u8]) -> bool {
    let sum = weighted_sum(text, &[6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
    value_at(text, 11) == if sum <= 1 { 0 } else { 11 - sum }
}

fn mykad(text: &[u8]) -> bool {
    let state = parse_digits(text, 6, 8);
    is_day(parse_digits(text, 2, 4), parse_digits(text, 4, 6))
        && matches!(state, 1..=16 | 21..=59 | 82)
}

fn nik(text: &[u8]) -> bool {
    let day = parse_digits(text, 6, 8);
    let day = if day > 40 { day - 40 } else { day };
    matches!(parse_digits(text, 0, 2), 11..=94) && is_day(parse_digits(text, 8, 10), day)
}

/// Not the number of a standard: `RFC 7591`.
fn is_plate(text: &[u8]) -> bool {
    const STANDARDS: [&[u8]; 6] = [b"RFC", b"ISO", b"IEC", b"DIN", b"PEP", b"ANSI"];
    is_not_repeated(text) && !STANDARDS.iter().any(|name| text.starts_with(name))
}

fn ph_tin(text: &[u8]) -> bool {
    value_at(text, 0) < 6 && !all_same(text.get(..9).unwrap_or_default())
}

fn iin(text: &[u8]) -> bool {
    is_day(parse_digits(text, 2, 4), parse_digits(text, 4, 6))
        && (1..=6).contains(&value_at(text, 6))
}

fn emirates(text: &[u8]) -> bool {
    text.starts_with(b"784") && matches!(parse_digits(text, 3, 7), 1900..=2099)
}

fn nin(text: &[u8]) -> bool {
    value_at(text, 0) > 0 && !all_same(text)
}

fn south_africa(text: &[u8]) -> bool {
    is_day(parse_digits(text, 2, 4), parse_digits(text, 4, 6))
        && value_at(text, 10) <= 2
        && is_luhn_valid(text)
}

fn za_company(text: &[u8]) -> bool {
    matches!(parse_digits(text, 0, 4), 1900..=2099)
}
