//! Words that speak of a number: in its own field, near enough, and whole.

use super::check;

#[test]
fn a_word_names_the_number_next_to_it() {
    check(&[
        ("2 09 23 355 505 +57 phone", "phone=09 23 355 505"),
        ("296462994                 passport", ""),
        ("296462994 a passport", "us-passport=296462994 | passport=296462994 a"),
        ("lot DE299544098", ""),
        ("order for a phone 419-06-3188", "phone=419-06-3188 | us-ssn=419-06-3188"),
        ("order for a phone DE299544098", "de-vat=DE299544098"),
        ("phone 447 712 円", ""),
        ("phone 449.000", "phone=449.000"),
        ("serVer 126.0.0.0", "ipv4=126.0.0.0"),
    ]);
}

#[test]
fn a_word_of_another_field_says_nothing() {
    check(&[
        ("447182090  – phone", ""),
        ("447182090 is phone", "phone=447182090"),
        ("a=phone b=447182090", ""),
        ("phone 00493 0123 456", "phone=00493 0123 456"),
        ("phone, b=447182090", "phone=447182090"),
        ("x,account phone\n1,123456789012345", ""),
        ("{\"a\":\"phone\"},\"b\":\"447182090\"", ""),
        ("{\"f\":\"phone\", \"e\":447182090}", ""),
        ("{\"homePhone\":\"x\"}, 5551234567", "phone=5551234567"),
        ("{\"phone\":{\"home\":\"447182090\"}}", "phone=447182090"),
        ("{f:phone, e:447182090}", "phone=447182090"),
    ]);
}

#[test]
fn a_word_stands_by_itself() {
    check(&[
        ("lots 4539148803436467", ""),
        ("_server 126.0.0.0", "ipv4=126.0.0.0"),
        ("telx 5551234567", ""),
        ("{\"ph1\":447182090}", ""),
        ("Éphone 5551234567", ""),
    ]);
}

#[test]
fn a_date_of_birth_is_a_date_behind_its_word() {
    check(&[
        ("DOB 1980/3/2", "date-of-birth=1980/3/2"),
        ("DOB 2/3/1980", "date-of-birth=2/3/1980"),
        ("DOB 29/02/1980", "date-of-birth=29/02/1980"),
        ("DOB 30/02/1980", ""),
        ("DOB: 12(03)1980", ""),
        ("{\"birth_date\":\"1080-03-12\"}", ""),
    ]);
}

#[test]
fn a_number_of_a_document_stands_by_itself() {
    check(&[
        ("bank 0151 40882193", "bank-account=40882193"),
        ("it is T11BE2498H-", "sg-uen-entity=T11BE2498H"),
        ("it is T11BE2498H-her", ""),
        ("it is/19910924-2397 here", ""),
        ("     KK3285435", ""),
        ("lead,012 34 5678,warm", "us-ssn=012 34 5678"),
        ("SSN 078-05-1121:8", ""),
        ("SSN 4190631a8", ""),
        ("ssn: 700123456%", ""),
        ("-token abc1234567", ""),
    ]);
}
