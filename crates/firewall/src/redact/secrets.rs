//! Secrets without a telling prefix: recognised by their name, their context or their form.
//!
//! Each scanner reads the text once. A hit depends on at most 512 bytes before and after it.

mod account_list;
mod aligned_table;
mod assigned_value;
mod assignment;
mod credential_call;
mod folded_name;
mod keyword_proximity;
mod keywords;
mod labelled_value;
mod line_value;
mod password_table;
pub(crate) mod secret_name;
#[cfg(test)]
mod tests;
mod token_form;
mod token_stats;
mod vendor_id;

use std::ops::Range;

pub(crate) use aligned_table::{ColumnReader, cells_below};
pub(crate) use assigned_value::is_secret_text;
pub(crate) use credential_call::credential_in_call;
pub(crate) use secret_name::SecretKind;
pub(crate) use token_stats::{is_dated, is_random_token};

use super::covered_ranges::CoveredRanges;
use super::scan_window::ScanWindow;
use super::scanner::{ScanHit, ScanRule, Scanner};
use super::text_cache::TextCache;

/// A hit depends on at most this many bytes before and after it.
#[cfg(test)]
const REACH: usize = 512;

/// The longest value that is read. A longer one is masked to the end of its token run.
const MAX_VALUE_BYTES: usize = 320;

const PASSWORD_RULE: usize = 0;
const SECRET_RULE: usize = 1;
const VENDOR_TOKEN_RULE: usize = 2;
const NAMED_TOKEN_RULE: usize = 3;
const TOKEN_FORM_RULE: usize = 4;

/// The scanner for the engine.
pub(crate) const SCANNER: Scanner = Scanner { rules: RULES, scan };

/// Its rules.
const RULES: &[ScanRule] = &[
    ScanRule {
        id: "password-assignment",
        kind: "password",
        masks: &[
            ("password=hunter2", "hunter2"),
            ("{\"password\": \"correct horse\"}", "correct horse"),
            ("{\\\"userPassword\\\": \\\"abc\\\"}", "abc"),
            ("PGPASSWORD=hw3m6rCkhLEr8$2 psql", "hw3m6rCkhLEr8$2"),
            ("Server=x;Uid=sa;Pwd=S3cr3t!;", "S3cr3t!"),
            ("Uid=sa;Password=q8&Vn2Lm;", "q8&Vn2Lm"),
            ("Server=x;Uid=sa;Password=Birch_xYz\"/>", "Birch_xYz"),
            ("?password=q8Vn2Lm&x=1;", "q8Vn2Lm"),
            ("mysqldump --password s3cr3t db", "s3cr3t"),
            ("<password>q8Vn2Lm</password>", "q8Vn2Lm"),
            ("<property name=\"db.password\">q8Vn2Lm</property>", "q8Vn2Lm"),
            ("<add key=\"DbPassword\" value=\"q8Vn2Lm\"/>", "q8Vn2Lm"),
            ("- name: DB_PASSWORD\n  value: q8Vn2Lm", "q8Vn2Lm"),
            ("define('DB_PASSWORD', 'q8Vn2Lm');", "q8Vn2Lm"),
            ("'db_password' => 'q8Vn2Lm'", "q8Vn2Lm"),
            ("host,password\ndb-1,q8Vn2Lm", "q8Vn2Lm"),
            ("| user | Passwort |\n|---|---|\n| bob | q8Vn2Lm |", "q8Vn2Lm"),
            ("| Nom | Nouveau mot de passe |\n|---|---|\n| bob | q8Vn2Lm |", "q8Vn2Lm"),
            ("用户名\t密码\nbob\tq8Vn2Lm", "q8Vn2Lm"),
            ("psk=\"q8Vn2Lm-x\"", "q8Vn2Lm-x"),
            ("let password: &str = \"q8Vn2Lm\";", "q8Vn2Lm"),
            ("DB_PASSWORD=x&q8Vn2Lm", "x&q8Vn2Lm"),
            ("DB_PASSWORD=Kd83;jQ2!pLw9", "Kd83;jQ2!pLw9"),
            ("export DB_PASSWORD=Kd83,jQ2!pLw9", "Kd83,jQ2!pLw9"),
            ("DB_PASSWORD=Kd83<jQ2!pLw9", "Kd83<jQ2!pLw9"),
            ("DB_PASSWORD=Kd83)jQ2!pLw9", "Kd83)jQ2!pLw9"),
            ("DB_PASSWORD=Kd83'jQ2!pLw9", "Kd83'jQ2!pLw9"),
            ("DB_PASSWORD=Blue7 whale 44 song\nX=1", "Blue7 whale 44 song"),
            ("db:\n  password: Tr0ub4dor(3xK9", "Tr0ub4dor(3xK9"),
            ("DB_PASSWORD=Kd83{jQ2pLw", "Kd83{jQ2pLw"),
            ("DB_PASSWORD=[Kd83jQ2pLw", "[Kd83jQ2pLw"),
            ("password: \"(Kd83jQ2pLw)\"", "(Kd83jQ2pLw)"),
            ("DB_PASSWORD='[Kd83jQ2pLw'", "[Kd83jQ2pLw"),
            ("DB_PASSWORD=Kd83jQ2pL=", "Kd83jQ2pL="),
            ("//npm.corp.net/:_password=aHVudGVyMg==", "aHVudGVyMg=="),
            ("password: aHVudGVyMg==", "aHVudGVyMg=="),
            ("DB_PASSWORD_PROD=Kd83jQ2pL", "Kd83jQ2pL"),
            ("db.password.prod=Kd83jQ2pL", "Kd83jQ2pL"),
            ("adminPasswordValue: Kd83jQ2pL", "Kd83jQ2pL"),
            ("mot_de_passe=q8Vn2Lm", "q8Vn2Lm"),
            ("DB_PASSWORD=Mastodon#4471x", "Mastodon#4471x"),
            ("DB_PASSWORD=dummyKd83jQ2", "dummyKd83jQ2"),
            ("password: |\n  swordfish99x\nuser: bob", "swordfish99x"),
            ("- name: DB_PASSWORD\n  value: >-\n    q8Vn2Lm\n", "q8Vn2Lm"),
            ("**Passwort:** q8Vn2Lm", "q8Vn2Lm"),
            ("<b>Password:</b> q8Vn2Lm", "q8Vn2Lm"),
            ("<strong>Password</strong>: q8Vn2Lm now", "q8Vn2Lm"),
            ("<p>Password: <code>q8Vn2Lm</code></p>", "q8Vn2Lm"),
            ("<td>password</td><td>q8Vn2Lm</td>", "q8Vn2Lm"),
            ("<th>Password:</th>\n <td><code>q8Vn2Lm</code></td>", "q8Vn2Lm"),
            ("<key>password</key>\n<string>q8Vn2Lm</string>", "q8Vn2Lm"),
            ("| Password | q8Vn2Lm | rotate it |", "q8Vn2Lm"),
            ("user,bob\nPassword,q8Vn2Lm\n", "q8Vn2Lm"),
            ("PGPASSWORD=heather.Moor7 psql", "heather.Moor7"),
            ("/x?user=app&password=heather.Moor7&n=1", "heather.Moor7"),
            ("Environment=\"SMTP_PASS=heather.Moor7\"", "heather.Moor7"),
            ("password: '{cipher}q8Vn2Lm'", "{cipher}q8Vn2Lm"),
            ("chpasswd <<EOF\nroot:x\nbob:q8Vn2Lm\nEOF", "q8Vn2Lm"),
            ("chpasswd:\n  list: |\n    root:q8Vn2Lm\n", "q8Vn2Lm"),
            ("password: Some(\"q8Vn2Lm\".to_owned())", "q8Vn2Lm"),
            ("password = SecretString::from(\"q8Vn2Lm\")", "q8Vn2Lm"),
            ("password = new Password('q8Vn2Lm')", "q8Vn2Lm"),
            ("char pass[32] = \"q8Vn2Lm\";", "q8Vn2Lm"),
            ("pass_phrase=q8Vn-2Lm", "q8Vn-2Lm"),
            ("wpa2-pre-shared-key=\"heather.Moor7\"", "heather.Moor7"),
            ("\"db_password\": {\"type\": \"string\", \"value\": \"q8Vn2Lm\"}", "q8Vn2Lm"),
        ],
        keeps: &[
            "password: required",
            "the password is wrong",
            "password=${DB_PASSWORD}",
            "password_length: 12",
            "PuttyPassword=0",
            "\"password\": \"string\"",
            "forgot password? click",
            "password = getPassword()",
            "password: user.password,",
            "[\"name\", \"password\", \"email\"]",
            "connect(user=user, password=password)",
            "--password-file /run/x",
            "--from-file=password=./pw2.txt",
            "--password <password>",
            "name,password_changed\nann,2026-01-02b",
            "field,password\nlength,12",
            "  password: hash(u2f_key),\n",
            "password = sha256(\n",
            "password=data[0]",
            "password: [abc1d, e2f3]",
            "password: \"[a-z0-9]{8,}\"",
            "password=$1;shift",
            "password: Option<String>,",
            "password_policy: strict1",
            "password_test: passed",
            "DB_PASSWORD_PROD=${DB_PASSWORD}",
            "DB_PASSWORD=your-password-123",
            "DB_PASSWORD=example123",
            "password: |\n  Your password, with 8 letters.\n",
            "password: |\nuser1: x",
            "<th>User</th><th>Password</th></tr><tr><td>bob1x2</td>",
            "<td>password</td><td>string</td>",
            "<label>Password:</label> <input id=\"pw1x2\">",
            "**Password:** required",
            "| password | string |",
            "| user | password | utf8mb4 |",
            "Password,base64",
            "password,email\n",
            "password,q8Vn2Lm,x\n",
            "def connect(host, user, password, port=5432):\n    return open_it(host, user, retries2, port)\n",
            "log.info('login', password)\nlog.info('login', message2)",
            "from auth import login, logout, password\nfrom utils import parse, dump, base64url2",
            "    user, password,\n    host1x2, port2x3,\n",
            "password=config.Token2",
            "password=cfg.Db2",
            "connect(password=form.pass2)",
            "DB_PASSWORD=settings.Pwd1",
            "password: ENC(4d8L20bFyQttau44JQy5JVRNj9XuerVY)",
            "DB_PASSWORD=\n\nREDIS_HOST=127.0.0.2\n",
            "prompt('Password: ', -echo => '*1');",
            "host=h.x;password=h.pw;",
            "deploy ALL=(root) NOPASSWD: /usr/bin/systemctl restart x",
            "errors.rejectValue(\"password\", \"mismatch\")",
            "alias pw='pwgen -s 24 1'",
            "passwd:x:44:17::/nonexistent:/usr/sbin/nologin",
            "| `X_PASSWORD` | none |\n| `X_PIN_FILE` | y2 |",
            "password: '{cipher}4d8L20bFyQttau44JQy5JVRNj9XuerVY'",
            "password: AgB4d8L2/0bFyQttau44JQy5JVRNj9XuerVYoEvZvBinAaZHsdqPT1R/vNccGXBeFUi9/zao1Rg1Lm/5od1",
            "password = getSetting(\"db.password2\")",
            "密码：至少12位，见第4章",
            "暗証番号: 8～20文字",
            "Passwort: 8–64 Zeichen",
            "password changed: 27/11/2026",
            "password: SHA-256",
            "password_ttl: 15m\npassword: 15m",
            "'USERPWD', 'HTTP200ALIASES', 'FILE'",
            "(\"x,\", \"pass\", \"import sys\")",
            "pwd: *mut crate::passwd",
            "log_passwd: __u32,",
            "passwd: *all*authentication*tokens*",
            "the <pass> column to determine which 2 files",
            "password: :password1",
            "password = data?.password1;",
            "password => `cat pw1`,",
            "password: ^[a-f0-9]{40}$",
            "\"users\": {\"value\": \"q8Vn2Lm\"}",
            "\"RememberPassword\"=dword:00000001",
            "`{\"Proxy-Authorization\": \"Basic <username>:<password>\"}`.",
            "Client(password=\"fake\")",
            "PWD=/builds/x8f3k2/app\nOLDPWD=/srv",
            "\"PWD=/app\",\"OLDPWD=/\"",
            "| mysql.session | caching_sha2_password | password |",
            "\"generate-password\": \"1.7.1\"",
            "password: redis://:password@host has no user",
            "password: @DB_PASSWORD",
            "{\"password\": \"Неверный пароль, осталось попыток: %d\"}",
            "- Password: \"remember me\" was removed",
            "x = a.password || null,\n  y = b.port || this.options.port2,\n",
            "root:q8Vn2Lm\nbob:heather.Moor7",
            "type Format =\n  | \"password\"\n  | \"date\"\nfunction f(\n  x: RegExp | Check<string>,\n",
        ],
    },
    ScanRule {
        id: "secret-assignment",
        kind: "secret",
        masks: &[
            ("api_key=ABCDEFGH12345678", "ABCDEFGH12345678"),
            ("plaid_TOKEN :::= \"z18cqmjv8tp9v7oo4mmlcrgo0\"", "z18cqmjv8tp9v7oo4mmlcrgo0"),
            ("twitchToken := \"iviqrkgt6zv115b3pfkig5iu7sjnrv\"", "iviqrkgt6zv115b3pfkig5iu7sjnrv"),
            ("aws_secret_access_key=q8rXUtnFEMI/K7MDENG", "q8rXUtnFEMI/K7MDENG"),
            ("System.setProperty(\"X_TOKEN\", \"hxio5pnt465azx2du\")", "hxio5pnt465azx2du"),
            ("<fooToken>\n  hxio5pnt465azx2du\n</fooToken>", "hxio5pnt465azx2du"),
            ("var fooToken string = \"hxio5pnt465azx2du\"", "hxio5pnt465azx2du"),
            ("x --token=abc1234567", "abc1234567"),
            ("x --account-key q8rXUtnFEMI/K7MDENG+bPxRf2==", "q8rXUtnFEMI/K7MDENG+bPxRf2=="),
            (
                "SECRET_KEY_BASE=9f86d081884c7d659a2feaa0c55ad015",
                "9f86d081884c7d659a2feaa0c55ad015",
            ),
            ("APP_KEY=base64:q8rXUtnFEMI/K7MDENG+bPxRf2==", "base64:q8rXUtnFEMI/K7MDENG+bPxRf2=="),
            ("api_key_prod: ABCDEFGH12345678", "ABCDEFGH12345678"),
            ("secret:prod/pg-Ab3dEf", "prod/pg-Ab3dEf"),
            ("encryption key: q8Vn2LmZ7rKd0XbL5vW3", "q8Vn2LmZ7rKd0XbL5vW3"),
            (
                "AUTH_SECRET=/V6w7pRji7s7o1P5Z8s738XKSARTOr7MxezdyZr1lS0=",
                "/V6w7pRji7s7o1P5Z8s738XKSARTOr7MxezdyZr1lS0=",
            ),
            ("API-Schlüssel: q8Vn2LmZ7rKd0XbL5vW3", "q8Vn2LmZ7rKd0XbL5vW3"),
            ("токен: q8Vn2LmZ7rKd0XbL5vW3", "q8Vn2LmZ7rKd0XbL5vW3"),
            ("name,api_key\nci,q8Vn2LmZ7rKd0XbL5vW3", "q8Vn2LmZ7rKd0XbL5vW3"),
            ("radius_secret = heather.Moor7\n", "heather.Moor7"),
            (
                " id |  token\n----+-----\n 4  | 9f86d081884c7d659a2feaa0c55ad015\n",
                "9f86d081884c7d659a2feaa0c55ad015",
            ),
        ],
        keeps: &[
            "total tokens: 123456",
            "key: value",
            "token: abcdefghijkl",
            "api: https://example.com/v1/users",
            "author: jane2020",
            "token_count=12345678",
            "key = os.environ.get1",
            "access_key=short",
            "secret_name: my-app-v2-secret",
            "nextPageToken: CAUQAA1234567",
            "token_text: COVID19abcd",
            "auth = base64.b64encode(user_passwd.encode()).decode('ascii')\n",
            "arn:aws:secretsmanager:eu-north-1:220844172208:secret:prod/pg-Ab3dEf",
            "role: arn:aws:secretsmanager:eu-north-1:220844172208:secret:api-q8Vn2LmZ7r",
            "cache key: node-modules-Linux-b59cc2ad9004ea5caee65a3b9ff01273",
            "Cache hit for restore-key: Linux-cargo-b59cc2ad9004ea5caee65a3b",
            "sort key: q8Vn2LmZ7rKd0XbL5vW3",
            "proxy_pass http://auth:9000/verify2;",
            "kernel key: 9f86d081884c7d659a2feaa0c55ad015",
            "publishable_key = q8Vn2LmZ7rKd0XbL5vW3",
            "\"hashed_secret\": \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b\"",
            "otpauth://totp/x?secret=BASE32SECRET&issuer=x",
            "\"S3Key\": \"q8Vn2LmZ7rKd0XbL5vW3\"",
            "\"lastAccess\": \"2018-01-19T11:06:13Z\"",
            "\"LockToken\": \"3f8a1c5e-77b0-4f6d-9a2e-5c1d0b9e8f7a\"",
            "branch/main/graph/badge.svg?token=yt4XSmQNKQ",
            "sec-websocket-key: fTCoTw9rut+kPlAO3cDjE5==",
            "SPEC CHECKSUMS:\n  KeychainAccess: 9c4e1f7ab2d8056e3f91a7c5d40b86e2aa01bb02",
            "token,count\ntoken_expired,12\n",
            "MLKEM768X25519PrivateKey = hpke.MLKEM768X25519PrivateKey\n",
            "Sec-WebSocket-Key: q8Vn2LmZ7rKd0XbL5vW3zP==",
            "CrashReporter Key:   9c4e1f7ab2d8056e3f91a7c5d40b86e2aa01bb02",
            "\"AWS::AppSync::ApiKey\": \"3d104ea0be48564b\"",
            "[user]\n\tsigningkey = E78ABECAAD40151D\n",
            "Cache saved with key: node-modules-8a3cc29db0c7ed55135a06d2bc584a31",
            "user.reset_token = SecureRandom.urlsafe_base64\n",
            "encrypt(sessionKey: Uint8Array, config?: Config)",
            "shields.io/codecov/c/gh/a/b?token=aJj1Yg0NUq&style=flat",
            "a/b.svg?style=shield&circle-token=5f0a78473b0f440afb218bf2b82323cc6b3cb43f",
            "def generate_key(cls) -> bytes:\n    return base64.urlsafe_b64encode(os.urandom(32))",
        ],
    },
    ScanRule {
        id: "vendor-token",
        kind: "api_key",
        masks: &[
            (
                "airvisual - '3f8a1c5e-77b0-4f6d-9a2e-5c1d0b9e8f7a'",
                "3f8a1c5e-77b0-4f6d-9a2e-5c1d0b9e8f7a",
            ),
            (
                "calendarific\n  use 9c4e1f7ab2d8056e3f91a7c5d40b86e2 here",
                "9c4e1f7ab2d8056e3f91a7c5d40b86e2",
            ),
            (
                "<add key=\"https://nuget.corp.net/v3\" value=\"t7Yq2mN8rKd0XbL5vW3zPq9x\"/>",
                "t7Yq2mN8rKd0XbL5vW3zPq9x",
            ),
            ("{\"name\": \"clickup\", \"v\": \"t7Yq2mN8rKd0XbL5vW3z\"}", "t7Yq2mN8rKd0XbL5vW3z"),
            (
                "airvisual auth token 3f8a1c5e-77b0-4f6d-9a2e-5c1d0b9e8f7a",
                "3f8a1c5e-77b0-4f6d-9a2e-5c1d0b9e8f7a",
            ),
        ],
        keeps: &[
            "cloudflare build commit 9c4e1f7ab2d8056e3f91a7c5d40b86e2aa01bb02",
            "docs at https://www.notion.so/Page-9c4e1f7ab2d8056e3f91a7c5d40b86e2",
            "github.com/a/b checksum 9c4e1f7ab2d8056e3f91a7c5d40b86e2",
            "github.com/a/b v0.9.1/go.mod h1:gMNfM4oqnu9h4WtoxZQOZG4lAV0w4jlUXFYMTvNQrvx=",
            "SPEC CHECKSUMS:\n  FirebaseAuth: 9c4e1f7ab2d8056e3f91a7c5d40b86e2aa01bb02",
            "auth0|2fafd830a09ccff4ff58f0b1",
            "vercel prj_t7Yq2mN8rKd0XbL5vW3zPq9x",
            "weibo: session: _OAuth2SessionT",
            "github.com/grafana/regexp v0.0.0-20220304095617-2e8d9baf4ac2",
            "arn:aws:mediaconnect:us-east-1:123456789012:flow:1-23aBC45dEF67hiJ8-12AbC34DE5fG",
            "dhl or ups 1Z999AA10123456784",
            "stripe evt_3Nx7Yq2mN8rKd0XbL5vW3zPq for pi_3Nx7Yq2mN8rKd0XbL5vW3zQr",
            "airtable rec8mN2rKd0XbL5vq in tbl7Yq2mN8rKd0Xbq",
            "AZURE_CLIENT_ID=3f8a1c5e-77b0-4f6d-9a2e-5c1d0b9e8f7a",
            "gitlab tenantId: 3f8a1c5e-77b0-4f6d-9a2e-5c1d0b9e8f7a",
            "Stripe(\"pk_live_t7Yq2mN8rKd0XbL5vW3zPq9x\")",
            "mapbox <Captcha sitekey=\"6Lt7Yq2mN8rKd0XbL5vW3zPq9xt7Yq2mN8rKd0Xb\"/>",
            "github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIt7Yq2mN8rKd0XbL5vW3zPq9xt7Yq2mN8rKd0XbL5v",
            "github\n|1|t7Yq2mN8rKd0XbL5vW3zPq9xt7Y=|x",
            "exports.AuthPlus = exports.vision_v1p2beta1 = exports.vision_v1p1beta1 = exports.vision",
            "\"AWS::AppSync::DataSource\": \"bd3a7e7a9c35a4f0\"",
            "PAYPAL_CLIENT_ID=q8Vn2LmZ7rKd0XbL5vW3zPq9xt7Yq2mN8rKd0XbL",
            "sendgrid\n--001a113ee97c89842f0539be8e7a\n",
            "web3.utils.randomHex(32) 0x139f5b88b72a25eab053d3b57fe1f8a9dbc62a526b1cb177",
            "UID:x@google.com\nCREATED:20241004T175920Z",
            "alchemy signup?referral=55a35117-028e-4b7c-9e47-e275ad0acc6d",
            "CLOUDFLARE_ZONE_ID=9c4e1f7ab2d8056e3f91a7c5d40b86e2",
            "RECAPTCHA_SITE_KEY=6Lt7Yq2mN8rKd0XbL5vW3zPq9xt7Yq2mN8rKd0Xb",
            "github.com/a/b.git\", \"reference\": \"9c4e1f7ab2d8056e3f91a7c5d40b86e2aa01bb02\"",
        ],
    },
    ScanRule {
        id: "named-token",
        kind: "secret",
        masks: &[
            ("the secret {t7Yq2mN8rKd0XbL5vW3z} goes here", "t7Yq2mN8rKd0XbL5vW3z"),
            ("API-TOKEN  q8Vn2LmZ7rKd0XbL5v", "q8Vn2LmZ7rKd0XbL5v"),
            (
                "the token for the API is 9c4e1f7ab2d8056e3f91a7c5d40b86e2aa01bb02",
                "9c4e1f7ab2d8056e3f91a7c5d40b86e2aa01bb02",
            ),
            ("密钥：q8Vn2LmZ7rKd0XbL5v", "q8Vn2LmZ7rKd0XbL5v"),
            ("Unseal Key 1: q8Vn2LmZ7rKd0XbL5v", "q8Vn2LmZ7rKd0XbL5v"),
            ("I rotated the key, the old one was q8Vn2LmZ7rKd0XbL5vW3z", "q8Vn2LmZ7rKd0XbL5vW3z"),
        ],
        keeps: &[
            "api key rotation",
            "lf5d8y5f   db_password   2 weeks ago   2 weeks ago\nwbk92dz0dfiad9pwnj5n26a8n   other",
            "untrusted comment: signature from minisign secret key\nRUuG9KC8nPCRbXYSVFPypxqLaB+Txs8rORZ37UlLXgL8hrmG",
            "isinstance(key, (ed25519.Ed25519PrivateKey, ed25519.Ed25519PublicKey))",
            "access token required",
            "monkey 9c4e1f7ab2d8056e3f91a7c5d40b86e2",
            "`api_token` char(60) COLLATE utf8mb4_unicode_ci DEFAULT NULL",
            "token varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci",
            "the partition key (q8Vn2LmZ7rKd0XbL5vW3)",
            "ds:X509Certificate>MIIC7jCCAdagAwIBAgIQq7Rz1WmB0xLkVt4eYc9NaHsUd2PfGj8o</ds:X509Certificate token",
            "ACCESS_VIOLATION at token=0x00007ff8a44172b0",
            "token_accessor  q8Vn2LmZ7rKd0XbL5v",
            "{\"token_type\":\"x\",\"session_state\":\"3f8a1c5e-77b0-4f6d-9a2e-5c1d0b9e8f7a\"}",
            "\"SecretVersions\": {\"3f8a1c5e-77b0-4f6d-9a2e-5c1d0b9e8f7a\": [1]}",
            "\"_$s5Depot5TokenV6secretSSvg\", referenced from:\n  _$s5Depot4MainO3runyyFZ",
            "token.png?ex=c2ddb5bd&hm=22206990aa0d1105d3f9c52f630fda8b64f7b8cc6db16cabf6cbabc6a3bc721b",
        ],
    },
    ScanRule {
        id: "token-form",
        kind: "api_key",
        masks: &[
            ("sid SK0123456789abcdef0123456789abcdef", "SK0123456789abcdef0123456789abcdef"),
            ("m 0123456789abcdef0123456789abcde7-us12", "0123456789abcdef0123456789abcde7-us12"),
            (
                "123456789:AAabcdefghij0123456789abcdefghijABC",
                "123456789:AAabcdefghij0123456789abcdefghijABC",
            ),
        ],
        keeps: &["SKU0123456789", "en-us1", "1:AA"],
    },
];

/// The kind of the values that names of this kind announce.
pub(crate) fn kind_of_value(name: SecretKind) -> &'static str {
    let rule = match name {
        SecretKind::Password | SecretKind::Pass => PASSWORD_RULE,
        SecretKind::Secret | SecretKind::Weak => SECRET_RULE,
    };
    RULES.get(rule).map_or("secret", |rule| rule.kind)
}

/// Finds secrets in a text.
fn scan(window: &ScanWindow<'_>, hits: &mut Vec<ScanHit>) {
    assignment::scan(window, hits);
    account_list::scan(window, hits);
    let mut named = CoveredRanges::default();
    named.add(hits.iter().map(|hit| hit.range.clone()));
    keyword_proximity::scan(window, &named, hits);
    let mut runs = TextCache::default();
    for hit in hits.iter_mut().filter(|hit| hit.range.len() >= MAX_VALUE_BYTES) {
        hit.range.end =
            hit.range.end.max(runs.run_end(window.text, hit.range.end.saturating_sub(1)));
    }
}

/// The byte at an index, or 0 beyond the text.
fn byte_at(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// The bytes of a range; empty if it is out of bounds.
fn slice(bytes: &[u8], range: Range<usize>) -> &[u8] {
    bytes.get(range).unwrap_or_default()
}
