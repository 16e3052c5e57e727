//! Keys that name their vendor.

use crate::redact::checksum;
use crate::redact::old::rule::{Find, Rule};

/// One key: its name, its anchors, its pattern, an example, and something that only looks alike.
macro_rules! keys {
    ($($id:literal, [$($anchor:literal),+], $pattern:literal, $example:literal, $other:literal;)*) => {
        pub(super) const RULES: &[Rule] = &[$(Rule {
            id: $id,
            kind: "api_key",
            find: Find::Near {
                anchors: &[$($anchor),+],
                before: 8,
                after: 96,
                pattern: $pattern,
                check: varied,
            },
            masks: &[($example, $example)],
            keeps: &[$other],
        }),*];
    };
}

/// Not one letter over and over.
fn varied(text: &str) -> bool {
    checksum::entropy(text) >= 2.6
}

keys! {
    "aws-access-key-id", ["AKIA", "ASIA", "ABIA", "ACCA"], r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b", "AKIAIOSFODNN7EXAMPLE", "TODAYINASIAASACKOFRICEFELLOVER";
    "github", ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"\bgh[pousr]_[A-Za-z0-9]{36,251}", "ghp_0123456789abcdefghij0123456789abcdef", "ghr_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    "github-fine-grained", ["github_pat_"], r"\bgithub_pat_\w{36,255}", "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz0123456789", "github_pat_";
    "gitlab", ["glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glcbt-", "glsoat-", "glimt-", "glagent-", "gloas-", "glffct-"], r"\bgl(?:pat|dt|rt|ptt|ft|cbt|soat|imt|agent|oas|ffct)-[\w\-=.]{20,300}", "glpat-puomsfmp3c7bxzgwcfmp", "glpat-short";
    "slack", ["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xapp-"], r"\b(?:xox[abeprs](?:\.xox[bp])?|xapp)-[\w-]{10,250}", "xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOHcBrzzqy", "xoxb-";
    "slack-webhook", ["hooks.slack.com/"], r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{40,64}", "hooks.slack.com/services/T0123ABCD/B0123ABCD/abcdefghij0123456789abcd", "hooks.slack.com/services/";
    "stripe", ["sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "rk_prod_", "whsec_"], r"\b(?:[sr]k_(?:live|test|prod)_|whsec_)[A-Za-z0-9]{10,250}", "sk_live_4eC39HqLyjWDarjtT1zdp7dc", "pk_live_";
    "google", ["AIza"], r"\bAIza[\w-]{35}", "AIzaSyDdI0hCZtE6vySjMm-WEfRq3CPzqKqqsHI", "AIzaShort";
    "google-oauth", ["ya29.", "GOCSPX-"], r"\b(?:ya29\.[\w-]{20,250}|GOCSPX-[\w-]{20,40})", "GOCSPX-aB3dE5fG7hI9jK1lM3nO5pQ7", "ya29.x";
    "anthropic", ["sk-ant-"], r"\bsk-ant-[\w-]{20,250}", "sk-ant-api03-abc123xyz-456def789ghij-klmnopqrstuvwx", "sk-ant-";
    "openai", ["sk-"], r"\bsk-(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9][\w-]{18,250}[A-Za-z0-9]", "sk-proj-Ab12Cd34Ef56Gh78Ij90", "task-force-is-a-long-word-here1";
    "npm", ["npm_"], r"\bnpm_[A-Za-z0-9]{36}\b", "npm_0123456789abcdefghij0123456789abcdef", "npm_config_registry";
    "pypi", ["pypi-AgE"], r"\bpypi-AgE[\w-]{40,1000}", "pypi-AgEIcHlwaS5vcmce7b21ffa6aa9630042a3f7a272b7c2d5f374cb51538e4", "pypi-AgE";
    "rubygems", ["rubygems_"], r"\brubygems_[a-f0-9]{48}\b", "rubygems_0123456789abcdef0123456789abcdef0123456789abcdef", "rubygems_x";
    "shopify", ["shpss_", "shpat_", "shpca_", "shppa_"], r"\bshp(?:ss|at|ca|pa)_[a-fA-F0-9]{32}\b", "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", "shpss_x";
    "sendgrid", ["SG."], r"\bSG\.[\w-]{16,32}\.[\w-]{16,64}", "SG.abcdefghij0123456789AB.abcdefghij0123456789abcdefghij0123456789ABC", "SG.1";
    "twilio", ["SK", "AC"], r"\b(?:SK|AC)[0-9a-f]{32}\b", "SK0123456789abcdef0123456789abcdef", "SKU0123456789";
    "mailgun", ["key-", "pubkey-"], r"\b(?:pub)?key-[0-9a-f]{32}\b", "key-0123456789abcdef0123456789abcdef", "key-value-store";
    "mailchimp", ["-us"], r"\b[0-9a-f]{32}-us\d{1,2}\b", "0123456789abcdef0123456789abcdef-us12", "en-us1";
    "digitalocean", ["dop_v1_", "doo_v1_", "dor_v1_"], r"\bdo[opr]_v1_[a-f0-9]{64}\b", "dop_v1_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "dop_v1_";
    "huggingface", ["hf_", "api_org_"], r"\b(?:hf|api_org)_[A-Za-z0-9]{30,40}\b", "hf_AbCdEfGhIjKlMnOpQrStUvWxYz01234567", "hf_hub_download";
    "databricks", ["dapi"], r"\bdapi[a-f0-9]{32}(?:-\d)?\b", "dapi0123456789abcdef0123456789abcdef", "dapi";
    "linear", ["lin_api_", "lin_oauth_"], r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,64}\b", "lin_api_0123456789abcdefghij0123456789abcdefghij", "lin_api_";
    "notion", ["ntn_", "secret_"], r"\b(?:ntn_|secret_)[A-Za-z0-9]{43,50}\b", "ntn_0123456789abcdefghij0123456789abcdefghij012", "secret_name";
    "planetscale", ["pscale_"], r"\bpscale_(?:tkn|pw|oauth)_[\w=.-]{32,64}", "pscale_tkn_0123456789abcdefghij0123456789ab", "pscale_x";
    "postman", ["PMAK-"], r"\bPMAK-[a-fA-F0-9]{24}-[a-fA-F0-9]{34}\b", "PMAK-0123456789abcdef01234567-0123456789abcdef0123456789abcdef01", "PMAK-";
    "pulumi", ["pul-"], r"\bpul-[a-f0-9]{40}\b", "pul-0123456789abcdef0123456789abcdef01234567", "pul-x";
    "doppler", ["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."], r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,64}", "dp.pt.0123456789abcdefghij0123456789abcdefghij012", "dp.pt.";
    "dynatrace", ["dt0c01.", "dt0s01."], r"\bdt0[a-z]01\.[A-Z0-9]{24}\.[A-Z0-9]{64}\b", "dt0c01.ABCDEFGHIJKLMNOPQRSTUVWX.ABCDEFGHIJKLMNOPQRSTUVWXYZ234567ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "dt0c01.";
    "grafana", ["glsa_", "glc_", "eyJrIjoi"], r"\b(?:glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/]{32,400}={0,3}|eyJrIjoi[A-Za-z0-9]{70,400}={0,3})", "glsa_0123456789abcdefghij0123456789ab_0123abcd", "glsa_";
    "vault", ["hvs.", "hvb.", "hvr."], r"\bhv[sbr]\.[\w-]{24,300}", "hvs.CAESIB8KI2QJk0ePUYdOQXaxl0z4Ab", "hvs.x";
    "terraform", [".atlasv1."], r"\b[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,70}", "Abcdefgh012345.atlasv1.0123456789abcdefghij0123456789abcdefghij0123456789abcdefghij", ".atlasv1.";
    "newrelic", ["NRAK-", "NRJS-", "NRII-"], r"\bNR(?:AK|JS|II)-[A-Za-z0-9-]{19,40}", "NRAK-ABCDEFGHIJ0123456789KLMNOPQ", "NRAK-";
    "age", ["AGE-SECRET-KEY-1"], r"\bAGE-SECRET-KEY-1[A-Z0-9]{58}", "AGE-SECRET-KEY-1QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE", "AGE-SECRET-KEY-1";
    "telegram", [":AA"], r"\b\d{5,16}:AA[\w-]{32,34}", "123456789:AAabcdefghij0123456789abcdefghijABC", "1:AA";
    "flyio", ["fo1_", "fm1a_", "fm1r_", "fm2_"], r"\b(?:fo1_[\w-]{43}|fm1[ar]_[A-Za-z0-9+/]{80,400}={0,3}|fm2_[A-Za-z0-9+/]{80,400}={0,3})", "fo1_0123456789abcdefghij0123456789abcdefghij012", "fo1_";
    "frameio", ["fio-u-"], r"\bfio-u-[\w=-]{40,80}", "fio-u-0123456789abcdefghij0123456789abcdefghij", "fio-u-";
    "adafruit", ["aio_"], r"\baio_[A-Za-z0-9]{28}\b", "aio_0123456789abcdefghij01234567", "aio_pika";
    "square", ["EAAA", "sq0"], r"\b(?:EAAA[\w-]{22,60}|sq0[a-z]{3}-[\w-]{22,43})", "sq0csp-0123456789abcdefghij0123456789abcdefghij012", "sq0";
    "artifactory", ["AKCp", "cmVmd"], r"\b(?:AKCp[A-Za-z0-9]{69}|cmVmd[A-Za-z0-9]{59})\b", "cmVmdABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456", "cmVmd";
    "clojars", ["CLOJARS_"], r"(?i)\bCLOJARS_[a-z0-9]{60}\b", "CLOJARS_0123456789abcdefghij0123456789abcdefghij0123456789abcdefghij", "CLOJARS_";
    "duffel", ["duffel_"], r"\bduffel_(?:test|live)_[\w=-]{43}", "duffel_test_0123456789abcdefghij0123456789abcdefghij012", "duffel_";
    "easypost", ["EZAK", "EZTK"], r"\bEZ[AT]K[A-Za-z0-9]{54}\b", "EZAK0123456789abcdefghij0123456789abcdefghij01234567890123", "EZAK";
    "flutterwave", ["FLWSECK", "FLWPUBK"], r"\bFLW(?:SEC|PUB)K(?:_TEST)?-[A-Za-z0-9-]{12,40}", "FLWSECK_TEST-0123456789abcdef", "FLWSECK";
    "infracost", ["ico-"], r"\bico-[A-Za-z0-9]{32}\b", "ico-0123456789abcdefghij0123456789ab", "ico-XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX";
    "prefect", ["pnu_"], r"\bpnu_[A-Za-z0-9]{36}\b", "pnu_0123456789abcdefghij0123456789abcdef", "pnu_";
    "readme", ["rdme_"], r"\brdme_[a-z0-9]{70}\b", "rdme_0123456789abcdefghij0123456789abcdefghij0123456789abcdefghij0123456789", "rdme_";
    "sentry", ["sntrys_", "sntryu_"], r"\bsntry[su]_[A-Za-z0-9+/=_]{40,300}", "sntryu_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "sntryu_";
    "shippo", ["shippo_"], r"\bshippo_(?:live|test)_[a-fA-F0-9]{40}\b", "shippo_live_0123456789abcdef0123456789abcdef01234567", "shippo_";
    "sourcegraph", ["sgp_"], r"\bsgp_(?:[a-fA-F0-9]{16}_|local_)?[a-fA-F0-9]{40}\b", "sgp_0123456789abcdef0123456789abcdef01234567", "sgp_";
    "supabase", ["sbp_"], r"\bsbp_[a-f0-9]{40}\b", "sbp_0123456789abcdef0123456789abcdef01234567", "sbp_";
    "typeform", ["tfp_"], r"\btfp_[\w.=-]{40,59}", "tfp_0123456789abcdefghij0123456789abcdefghij012345", "tfp_";
    "alibaba", ["LTAI"], r"\bLTAI[A-Za-z0-9]{17,24}\b", "LTAIabcdefghij01234567", "LTAI";
    "onepassword", ["ops_eyJ"], r"\bops_eyJ[A-Za-z0-9+/]{100,400}={0,3}", "ops_eyJ0123456789abcdefghij0123456789abcdefghij0123456789abcdefghij0123456789abcdefghij0123456789abcdefghij0123456789", "ops_eyJ";
    "perplexity", ["pplx-"], r"\bpplx-[A-Za-z0-9]{40,60}\b", "pplx-0123456789abcdefghij0123456789abcdefghij01234567", "pplx-";
    "openshift", ["sha256~"], r"\bsha256~[\w-]{43}", "sha256~0123456789abcdefghij0123456789abcdefghij012", "sha256~";
    "heroku", ["HRKU-"], r"\bHRKU-[\w-]{36,70}", "HRKU-01234567-89ab-cdef-0123-456789abcdef", "HRKU-";
    "groq", ["gsk_"], r"\bgsk_[A-Za-z0-9]{40,60}\b", "gsk_0123456789abcdefghij0123456789abcdefghij01234567", "gsk_";
    "replicate", ["r8_"], r"\br8_[A-Za-z0-9]{37}\b", "r8_0123456789abcdefghij0123456789abcdefg", "r8_";
    "docker", ["dckr_pat_", "dckr_oat_"], r"\bdckr_[po]at_[\w-]{27,40}", "dckr_pat_0123456789abcdefghij0123456", "dckr_pat_";
    "atlassian", ["ATATT3", "ATCTT3"], r"\bAT[AC]TT3[\w=-]{60,300}", "ATATT3xFfGF0abcdefghij0123456789abcdefghij0123456789abcdefghij0123456789", "ATATT3";
    "airtable", ["pat"], r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}\b", "patAbCdEfGh012345.0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "patch";
    "freemius", ["sk_"], r#"["']sk_[^\s"']{29}["']"#, "'sk_ubb4yN3mzqGR2x8#P7r5&@*xC$utE'", "'sk_short'";
}
