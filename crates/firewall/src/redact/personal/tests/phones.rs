//! Phone numbers: their groups, what stands around them, and what they go on with.

use super::{check, found};

#[test]
fn a_phone_is_told_by_its_groups_and_by_what_stands_around() {
    check(&[
        ("\"KK3285435\"", "us-dea=KK3285435"),
        ("0 30 1234567", ""),
        ("0 532 771 44 08", "phone=0 532 771 44 08"),
        ("0(536-00-1234", "phone=0(536-00-1234"),
        ("00 49 30 1234567", "phone=00 49 30 1234567"),
        ("0049 301234567", ""),
        ("00493 0123 456", ""),
        ("01 23 45 67", ""),
        ("01 234567890", ""),
        ("012 345 678", "phone=012 345 678"),
        ("0123.456789", ""),
        ("#0151 40882193", ""),
        ("0151 40882193%", ""),
        ("0151 40882193@", ""),
        ("0151 40882193,1", ""),
        ("0151 40882193, 1", "phone=0151 40882193"),
        ("0151 40882193.", "phone=0151 40882193"),
        ("01 23 45 67 89 01", ""),
        ("+41 44 668 18 00 1 2 3", "phone=+41 44 668 18 00"),
        ("+41 44 668 18 00 1 2 3 4", ""),
        ("phone 3.141", ""),
        ("phone 12345678-1234-4234-8234-123456789012", ""),
        ("phone 3.1415927", ""),
        ("phone 123456", ""),
        ("phone 1234567", "phone=1234567"),
        ("phone 1234567890123456", ""),
        ("phone $1234567", ""),
        ("phone #1234567", ""),
        ("order 1234567 phone", "phone=1234567"),
        ("phone order 1234567", ""),
        ("order phone 1234567", "phone=1234567"),
        ("0151 40882193-1", ""),
        ("0151 40882193_", ""),
        ("01512345678", "phone=01512345678"),
        ("0223 4567 8901", ""),
        ("03.3581.7742", "phone=03.3581.7742"),
        ("030 1234567 1", "phone=030 1234567"),
        ("038-051141", "phone=038-051141 | us-ssn=038-051141"),
        ("0412345678", "phone=0412345678"),
        ("078/512198", ""),
        ("1 (415) 555-2671", "phone=(415) 555-2671"),
        ("+1 415555 2132 1", "phone=+1 415555 2132"),
        ("(1) 6123-9452", "phone=(1) 6123-9452"),
        ("1+14155552671", ""),
        ("+1-903-140-4508x764764 home", "phone=+1-903-140-4508x764764"),
        ("(11) 9 6123-9452", "phone=(11) 9 6123-9452"),
        ("+11155 552671)", ""),
        ("115 555 2671", ""),
        ("139 1087 4462", "phone=139 1087 4462"),
        ("+141-555526071", ""),
        ("(15) 5552671", ""),
        ("1:0151 40882193", ""),
        ("202- 555-2143 ext.12", "phone=202- 555-2143 ext.12"),
        ("202-555-2143   x12", "phone=202-555-2143"),
        ("202-555-2143 ext  . 12", "phone=202-555-2143"),
        ("202-555-2143 ext. . 12", "phone=202-555-2143"),
        ("(37) 7880-632", "phone=(37) 7880-632"),
        ("+41 (0)96 471 07 95", "phone=+41 (0)96 471 07 95 | phone=(0)96 471 07 95"),
        ("+41 41 (0)96 471 07 95", "phone=+41 41 (0)96 471 07 | phone=(0)96 471 07 95"),
        ("(415) 020-7251 x259", ""),
        ("415.555.2671", "phone=415.555.2671 | uk-nhs=415.555.2671"),
        ("415555 2671", ""),
        ("4539 1488 0343 6467 123", "card=4539 1488 0343 6467 123"),
        ("455 555)2671", "phone=455 555)2671"),
        ("612 44 71 20", "phone=612 44 71 20"),
        ("+99 123 456 78", "phone=+99 123 456 78"),
        ("a-0151 40882193", ""),
        ("call 123 4567", "phone=123 4567"),
        ("call 12345678", ""),
        ("Desk +41 (0)9 471 07 95 1", "phone=+41 (0)9 471 07 95 1"),
        ("DOB 31/04/1980", ""),
        ("J582653047", "de-health-insurance=J582653047"),
        ("name,stock\na,5551234567", ""),
        ("name,phone\na,5551234567", "phone=5551234567"),
        ("name,phone sales\na,5551234567", ""),
        ("name,order phone\na,5551234567", ""),
        ("lead,202-555-2143 ext. 123456,warm", "phone=202-555-2143 ext. 123456"),
        ("national id 05501137c", "es-nif=05501137c"),
        ("national id 568070518457", ""),
        ("order SSN 0478-05-1220", "phone=0478-05-1220"),
        ("phone 12 12 2180 1", "phone=12 12 2180 1"),
        ("phone 123456789012345", "phone=123456789012345"),
        ("phone 13 1 1980 12", ""),
        ("phone 1980 13 12 12", "phone=1980 13 12 12"),
        ("phone 1980-3-12", ""),
        ("phone 1980-03-12T10:11:12;5551234 x", "phone=5551234"),
        ("phone 2 03 1980", "phone=03 1980"),
        ("phone 20-03-1980", ""),
        ("phone 2355712a2", ""),
        ("phone 3 12 2980 12", "phone=3 12 2980 12"),
    ]);
}

#[test]
fn one_letter_names_a_number_in_a_signature() {
    check(&[
        ("T 0731 44172-208", "phone=0731 44172-208"),
        ("Kern GmbH\n  F: 0731 44172-208", "phone=0731 44172-208"),
        ("Ann Kern | T. 0731 44172-208", "phone=0731 44172-208"),
        ("Ann Kern \u{b7} T 0731 44172-208", "phone=0731 44172-208"),
        ("Ulm, F 0731 44172-208", "phone=0731 44172-208"),
        ("0731 44172-208", ""),
        ("Kern T 0731 44172-208", ""),
        ("|T 0731 44172-208", ""),
        ("X 0731 44172-208", ""),
        ("t 0731 44172-208", ""),
        ("T0731 44172-208", ""),
        ("T 7731 44172-208", ""),
        ("T 0031 44172-208", ""),
        ("T 073144172208", ""),
        ("T 0731 4417", ""),
    ]);
}

#[test]
fn a_number_of_an_order_is_none_in_any_language() {
    for word in [
        "comanda",
        "factură",
        "colet",
        "rendelésszám",
        "számla",
        "szerződés",
        "tilausnumero",
        "lasku",
        "viitenumero",
        "ärende",
        "beställning",
        "avtal",
        "narudžba",
        "račun",
        "naročilo",
        "рахунок",
        "номер замовлення",
        "поръчка",
        "παραγγελία",
        "hóa đơn",
        "tagihan",
        "رقم الطلب",
        "الفاتورة",
        "سفارش",
        "מספר הזמנה",
        "חשבונית",
        "หมายเลขคำสั่งซื้อ",
        "ใบแจ้งหนี้",
        "Vorgang",
        "sinistre",
        "zaak",
        "talep no",
        "Rendelésszám:",
        "Ärende",
    ] {
        for number in ["054-4417220", "0744 172 208", "040 441 7220", "06 20 441 7220"] {
            assert_eq!(found(&format!("{word} {number}")), "", "{word}");
        }
    }
    for text in ["tel. 040 441 7220", "tilaus, puh. 040 441 7220", "comanda, telefon: 0744 172 208"]
    {
        assert!(!found(text).is_empty(), "{text}");
    }
}

#[test]
fn a_cell_below_a_heading_that_names_a_phone_is_one_of_7_to_15_digits() {
    // So far below that nothing but the column says what it is.
    let below = |heading: &str, cell: &str| {
        let between = format!("{},-\n", "x".repeat(60));
        found(&format!("name,{heading}\n{between}a,{cell}\n"))
    };
    for (cell, is_one) in [
        ("555123", false),
        ("5551234", true),
        ("555123400000123", true),
        ("5551234000001234", false),
        ("555 12 34", true),
    ] {
        let wanted = if is_one { format!("phone={cell}") } else { String::new() };
        assert_eq!(below("phone", cell), wanted, "{cell}");
    }
    for (heading, is_one) in [
        ("phone", true),
        ("mobile number", true),
        ("contact", true),
        ("call", true),
        ("city", false),
        ("order phone", false),
        ("phone firmware", false),
        ("passport phone", false),
        ("phone views", false),
    ] {
        let wanted = if is_one { "phone=5551234" } else { "" };
        assert_eq!(below(heading, "5551234"), wanted, "{heading}");
    }
    assert_eq!(found(&format!("name,phone\n{},-\na,5551234,1\n", "x".repeat(60))), "phone=5551234");
}
