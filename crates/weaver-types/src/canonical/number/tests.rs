use super::*;

/// RFC 8785 appendix B: IEEE 754 bits and their text.
const APPENDIX_B: &[(u64, &str)] = &[
    (0x0000_0000_0000_0000, "0"),
    (0x8000_0000_0000_0000, "0"),
    (0x0000_0000_0000_0001, "5e-324"),
    (0x8000_0000_0000_0001, "-5e-324"),
    (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
    (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
    (0x4340_0000_0000_0000, "9007199254740992"),
    (0xc340_0000_0000_0000, "-9007199254740992"),
    (0x4430_0000_0000_0000, "295147905179352830000"),
    (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
    (0x44b5_2d02_c7e1_4af6, "1e+23"),
    (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
    (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
    (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
    (0x444b_1ae4_d6e2_ef50, "1e+21"),
    (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
    (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
    (0x41b3_de43_5555_5553, "333333333.3333332"),
    (0x41b3_de43_5555_5554, "333333333.33333325"),
    (0x41b3_de43_5555_5555, "333333333.3333333"),
    (0x41b3_de43_5555_5556, "333333333.3333334"),
    (0x41b3_de43_5555_5557, "333333333.33333343"),
    (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
    (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
];

#[test]
fn doubles_are_written_as_rfc_8785_appendix_b_says() {
    for (bits, text) in APPENDIX_B {
        assert_eq!(&ecmascript_text(f64::from_bits(*bits)), text, "{bits:016x}");
    }
}

fn reads(text: &str, profile: Profile) -> Result<String, CanonicalFault> {
    read(text, profile).and_then(|n| write(&n, profile))
}

#[test]
fn integers_keep_their_exact_value_or_are_refused() {
    let cases = [
        ("9007199254740992", true, true),
        ("-9007199254740992", true, true),
        ("9007199254740993", false, true),
        ("-9007199254740993", false, true),
        ("9007199254740993.0", false, true),
        ("18446744073709551615", false, true),
        ("-9223372036854775808", false, true),
        ("18446744073709551616", false, false),
        ("-9223372036854775809", false, false),
        ("123456789012345678901234567890", false, false),
    ];
    for (text, document, foreign) in cases {
        let want = |ok: bool| {
            if ok {
                Ok(text.trim_end_matches(".0").to_owned())
            } else {
                Err(CanonicalFault::IntegerRange)
            }
        };
        assert_eq!(reads(text, Profile::Document), want(document), "{text} in a document");
        assert_eq!(reads(text, Profile::Foreign), want(foreign), "{text} from elsewhere");
    }
}

#[test]
fn a_double_beyond_64_bits_is_read_back_from_its_own_text() {
    assert_eq!(reads("1e20", Profile::Foreign), Ok("100000000000000000000".to_owned()));
    assert_eq!(
        reads("100000000000000000000", Profile::Foreign),
        Ok("100000000000000000000".to_owned())
    );
    assert_eq!(reads("100000000000000000001", Profile::Foreign), Err(CanonicalFault::IntegerRange));
    assert_eq!(reads("1e20", Profile::Document), Err(CanonicalFault::IntegerRange));
    assert_eq!(reads("1e21", Profile::Document), Ok("1e+21".to_owned()));
}

#[test]
fn overflow_and_underflow_are_refused() {
    for text in ["1e400", "-1e400", "0.1e-400", "1e-324", "1.7976931348623159e308"] {
        assert_eq!(reads(text, Profile::Foreign), Err(CanonicalFault::Precision), "{text}");
        assert_eq!(reads(text, Profile::Document), Err(CanonicalFault::Precision), "{text}");
    }
    assert_eq!(reads("0e-400", Profile::Foreign), Ok("0".to_owned()));
    assert_eq!(reads("-0.000e400", Profile::Document), Ok("0".to_owned()));
}

#[test]
fn a_record_has_integers_only() {
    for text in ["1.0", "1e0", "0.5", "-0.0", "1E3"] {
        assert_eq!(reads(text, Profile::Record), Err(CanonicalFault::Float), "{text}");
    }
    assert_eq!(reads("-0", Profile::Record), Ok("0".to_owned()));
    let half = Number::from_f64(1.0).map(|n| write(&n, Profile::Record));
    assert_eq!(half, Some(Err(CanonicalFault::Float)));
}

#[test]
fn a_tie_between_shortest_texts_goes_to_the_even_digit() {
    let quarters = |n: f64| ecmascript_text(n / 4.0);
    assert_eq!(quarters(5_699_815_695_124_825.0), "1424953923781206.2");
    assert_eq!(quarters(5_699_815_695_124_827.0), "1424953923781206.8");
    assert_eq!(quarters(-5_699_815_695_124_823.0), "-1424953923781205.8");
    assert_eq!(ecmascript_text(2_f64.powi(-24)), "5.960464477539063e-8");
}
