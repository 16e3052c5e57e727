//! Values and tokens at the borders of what counts.

use super::check;

#[test]
fn a_value_is_read_from_its_sign_to_its_end() {
    check(&[
        ("\"password\": \"Mot de passe\"", ""),
        ("\"password\": \"q8\\\"Vn2\"", "password-assignment=q8\\\"Vn2"),
        ("'password': 'plo ver\n'", ""),
        ("<password><![CDATA[q8Vn2Lm]]></password>", "password-assignment=q8Vn2Lm"),
        (
            "<password>q8Vn2Lm                                             </password>",
            "password-assignment=q8Vn2Lm",
        ),
        ("<token>12345678901234567890</token>", "secret-assignment=12345678901234567890"),
        ("pass: hunter", ""),
        ("pass=$abcde", ""),
        ("pass=|abc12", ""),
        ("pass=пароль1", ""),
        ("password =\n                                                q8Vn2Lm9!", ""),
        ("password = \"(x)\"", ""),
        ("password = \"enter your pass1\"", ""),
        ("password = token", ""),
        ("password:                         q8Vn2Lm", ""),
        ("password: 'éS'", ""),
        ("password: dGhpcyBhIHRlcQ", "password-assignment=dGhpcyBhIHRlcQ"),
        ("password=\"q8Vn2Lm", "password-assignment=q8Vn2Lm"),
        ("password=@\"q8Vn2Lm\"", "password-assignment=q8Vn2Lm"),
        ("password=\\\n$abc12", "password-assignment=$abc12"),
        ("password=\\\na-b", ""),
        ("password=a.b1", ""),
        ("password=a_b", ""),
        ("password=ABC)", "password-assignment=ABC"),
        ("password=abc=", ""),
        ("password_:hash", ""),
        ("PuttyPassword=0-A", "password-assignment=0-A"),
        ("secret=userToken12)", ""),
        ("token = \"abc def 1234567\"", ""),
        ("token xqzbtrwqlmnpvcxkjhgf", ""),
        ("token:\n  a1b2c3d4ef", "secret-assignment=a1b2c3d4ef"),
        ("token:\n  a1bcdefghij", ""),
        ("token: abcdefghij#kl", ""),
        ("token=982374650192837465", ""),
        ("token=a/b/c/d/e1f2g3", ""),
        ("token=dead1beef2cafe3", "secret-assignment=dead1beef2cafe3"),
        ("token=userToken12", "secret-assignment=userToken12"),
    ]);
}

#[test]
fn a_name_and_a_sign_come_before_a_value() {
    check(&[
        ("--abbbbbbbbbbbbbbbbbbbbbb-password q8Vn2Lm", "password-assignment=q8Vn2Lm"),
        ("--abbbbbbbbbbbbbbbbbbbbbbb-password q8Vn2Lm", ""),
        ("abcdefkey=q8Vn2LmZ7rKd0XbL5vW3", "secret-assignment=q8Vn2LmZ7rKd0XbL5vW3"),
        ("abcdekey=q8Vn2LmZ7rKd0XbL5vW3", ""),
        ("akey=t7Yq2mN8rKd0XbL5vW3z", ""),
        ("mysession=q8Vn2LmZ7rKd0XbL5vW3", ""),
        ("--password .:/x1", "password-assignment=.:/x1 | password-assignment=/x1"),
        ("-password p@ss", "password-assignment=p@ss"),
        ("password://q8Vn2Lm", ""),
        ("password:: q8Vn2Lm", ""),
        ("--password:q8Vn2Lm", "password-assignment=q8Vn2Lm"),
        ("password==q8Vn2Lm", ""),
        ("password>q8Vn2Lm<", ""),
        ("-pw q8Vn2Lm9x", "password-assignment=q8Vn2Lm9x"),
        ("secret_next: \"prod5zyxlmy-cmk2\"", ""),
        ("session=q8Vn2LmZ7rKd0XbL5vW3", "secret-assignment=q8Vn2LmZ7rKd0XbL5vW3"),
        ("-token abc1234567", ""),
    ]);
}

#[test]
fn a_column_of_passwords_has_a_heading() {
    check(&[
        ("\tpassword\n\tq8Vn2Lm", ""),
        (
            "u,password,a password,b password\nx,q8Vn2Lm,q8Vn2Lx,q8Vn2Lz",
            "password-assignment=q8Vn2Lm | password-assignment=q8Vn2Lx | password-assignment=q8Vn2Lz",
        ),
        ("user,  password\nbob,q8Vn2Lm", "password-assignment=q8Vn2Lm"),
        ("\"user\",\"password\"\n\"bob\",\"q8Vn2Lm\"", "password-assignment=q8Vn2Lm"),
        (
            " user |   password   | n\n------+--------------+---\n bob  | q8Vn2Lm      | 1",
            "password-assignment=q8Vn2Lm",
        ),
        ("user,1password\nbob,q8Vn2Lm", ""),
        ("user,a:password\nbob,q8Vn2Lm", ""),
        ("user|  password\nbob|q8Vn2Lm", "password-assignment=q8Vn2Lm"),
        ("| user | password= |\n|---|---|\n| bob | q8Vn2Lm |", ""),
    ]);
}

#[test]
fn a_token_near_a_word_looks_random_and_is_one() {
    check(&[
        (
            "aBox: 3f8a1c5e-77b0-4f6d-9a2e-5c1d0b9e8f7a",
            "vendor-token=3f8a1c5e-77b0-4f6d-9a2e-5c1d0b9e8f7a",
        ),
        (
            "airvisual - 3f8a1c5e-77b0-4f6d-9a2e-5c1d0b9e8f7a'",
            "vendor-token=3f8a1c5e-77b0-4f6d-9a2e-5c1d0b9e8f7a",
        ),
        ("box \"t7Yq2mN8rKd0XbL\"", ""),
        ("Box t7Yq2mN8rKd0XbL5vW3z", ""),
        ("heroku i-0a1b2c3d4e5f6a7b8c", "vendor-token=i-0a1b2c3d4e5f6a7b8c"),
        ("key \"t7Yq2mN8rKd0Xb\"", ""),
        ("key \"t7Yq2mN8rKd0XbL5v\"", "named-token=t7Yq2mN8rKd0XbL5v"),
        ("key=q8Vn2LmZ7rKd0XbL5vW", "secret-assignment=q8Vn2LmZ7rKd0XbL5vW"),
        ("secret \"t7Yq2mN8rKd0Xb\"", ""),
        ("secret #t7Yq2mN8rKd0XbL5vW3z", ""),
        ("secret %t7Yq2mN8rKd0XbL5vW3z", ""),
        ("secret _t7Yq2mN8rKd0XbL5vW3z_", "named-token=t7Yq2mN8rKd0XbL5vW3z_"),
        ("secret {2024-01-02T10x20y30z40w}", "named-token=2024-01-02T10x20y30z40w"),
        ("secret {2024-01x0112345678a5c", "named-token=2024-01x0112345678a5c"),
        ("secret {20a4-01-0212345678ac}", ""),
        ("secret {aa/bb1cc2dd3ee4ff5gg6hh7ii8jj9kk0ll}", ""),
        ("secret {abc.t7Yq2mN8rKd0XbL.def}", "named-token=abc.t7Yq2mN8rKd0XbL.def"),
        (
            "secret: 3f8a1c5e-77b0-4f6d-9a2e-5c1d0b9e8f7a.",
            "named-token=3f8a1c5e-77b0-4f6d-9a2e-5c1d0b9e8f7a | secret-assignment=3f8a1c5e-77b0-4f6d-9a2e-5c1d0b9e8f7a",
        ),
        ("stripe \"1q8Vn2LmZ7rKdX\"", "vendor-token=1q8Vn2LmZ7rKdX"),
        ("stripe \"q8Vn2LmZ7rKd\"", ""),
        ("stripe id t7Yq2mN8rKd0XbL5vW3z", ""),
        ("stripe key 3f8a1c5e-77b0-4f6d-9a2e-5c1d0b9e8f7a", ""),
        ("stripe pi_3Nx7Yq2mN8rKd0XbL5vW3-zQr", "vendor-token=pi_3Nx7Yq2mN8rKd0XbL5vW3-zQr"),
        ("stripe {a1B2c3D.e4F5g6H}", ""),
        (
            "the secret {t7Yq2mN8rKd/XbL5vW3zQ9x8bL/vW3z1}",
            "named-token=t7Yq2mN8rKd/XbL5vW3zQ9x8bL/vW3z1",
        ),
        (
            "the secret {t7Yq2mN8rKd/XbL5vW3zQ9x8bL5/W3z1k}",
            "named-token=t7Yq2mN8rKd/XbL5vW3zQ9x8bL5/W3z1k",
        ),
    ]);
}

#[test]
fn a_word_before_a_token_stands_alone() {
    check(&[
        ("apis=t7Yq2mN8rKd0XbL5vW3z", ""),
        ("asanas t7Yq2mN8rKd0XbL5vW3z", "vendor-token=t7Yq2mN8rKd0XbL5vW3z"),
        (
            "commit                         secret t7Yq2mN8rKd0XbL5vW3z",
            "named-token=t7Yq2mN8rKd0XbL5vW3z",
        ),
        ("keyX=t7Yq2mN8rKd0XbL5vW3z", ""),
        (
            "secret ...........................................t7Yq2mN8rKd0XbL5vW3z",
            "named-token=t7Yq2mN8rKd0XbL5vW3z",
        ),
        ("secret CHECKSUMX t7Yq2mN8rKd0XbL5vW3z", "named-token=t7Yq2mN8rKd0XbL5vW3z"),
        ("tokens 9c4e1f7ab2d8056e3f91a7c5d40b86e2", "named-token=9c4e1f7ab2d8056e3f91a7c5d40b86e2"),
        ("TOKENX t7Yq2mN8rKd0XbL5vW3z", ""),
        (
            "xairtable 3f8a1c5e-77b0-4f6d-9a2e-5c1d0b9e8f7a",
            "vendor-token=3f8a1c5e-77b0-4f6d-9a2e-5c1d0b9e8f7a",
        ),
    ]);
}

#[test]
fn of_a_column_twelve_cells_are_read() {
    let cells: String = (0..13).map(|n| format!("\nb{n},q8Vn2Lm{n}")).collect();
    let found: Vec<String> = (0..12).map(|n| format!("password-assignment=q8Vn2Lm{n}")).collect();
    check(&[(&format!("user,password{cells}"), &found.join(" | "))]);
}

#[test]
fn what_hangs_on_to_a_token_is_a_part_of_it_up_to_128_bytes() {
    let token = "t7Yq2mN8rKd0XbL5vW3z";
    let text = format!("secret {token}:{}", "a".repeat(130));
    check(&[(&text, &format!("named-token={token}:{}", "a".repeat(127)))]);
}

#[test]
fn a_token_is_known_by_its_form() {
    check(&[
        ("12345:AAabcdefghij0123456789abcdefghijA", ""),
        (
            "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1T3BlbkFJx",
            "token-form=a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1T3BlbkFJx",
        ),
        ("SK0123456789abcdef0123456789abcde", ""),
        ("SK0123456789abcdef0123456789abcdeF", ""),
        (
            "x aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3dE5gH7_mmk",
            "token-form=aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3dE5gH7_mmk",
        ),
        (
            "x aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3dE5gH7a.atlasv1.q9Wz2",
            "token-form=aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3dE5gH7a.atlasv1.q9Wz2",
        ),
        ("x aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3dE5", ""),
        (
            "x aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3AZDOq9Wz2",
            "token-form=aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3AZDOq9Wz2",
        ),
        (
            "x aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3dE5gH7aB3AZDXq9Wz2",
            "",
        ),
        ("x MTk4NjIyNDgzNDcxOTI1Mj.GxY7k2.aB3dE5gH7aB3dE5gH7aB3dE5gH7", ""),
        ("x s.aB3dE5gH7aB3dE5gH7aB3dE", ""),
        ("x s.aB3dE5gH7aB3dE5gH7aB3dE5", "token-form=s.aB3dE5gH7aB3dE5gH7aB3dE5"),
    ]);
}

#[test]
fn a_value_is_random_by_its_turns_and_letters() {
    check(&[
        ("key: \"abc1234bc1234567\"", ""),
        ("key: \"azbababababababab8ab12\"", ""),
        ("key=3f8a1c5e-77b0-4f6d-9a2e-5c1d0b9e8f7a", ""),
        ("key=aabbccddee1122334455", ""),
        ("key=aabbccddee11223A34455", "secret-assignment=aabbccddee11223A34455"),
        ("key=xQZbTrW/qLmNpVcXkJhG-f", "secret-assignment=xQZbTrW/qLmNpVcXkJhG-f"),
        ("secret {20a4-01-0212345678abc}", "named-token=20a4-01-0212345678abc"),
        ("secret {abcd1efghijklmnopqrstuvwxyzabcd2}", ""),
        ("stripe \"dead1beef2cafe3\"", "vendor-token=dead1beef2cafe3"),
        ("token:\n  xqzbtrwqlmnpvcxkjhgf", "secret-assignment=xqzbtrwqlmnpvcxkjhgf"),
        ("token=HelloWorldThisIsATestName", ""),
        ("TOKENX 9185d7a08bdc731378226e4d46f222517b0b28c4", ""),
    ]);
}
