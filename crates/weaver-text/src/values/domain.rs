//! Recognises host names by their top-level domain.

/// Country-code top-level domains.
const COUNTRY_DOMAINS: &str = "ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi \
    bj bm bn bo br bs bt bv bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj \
    dk dm do dz ec ee eg er es et eu fi fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs \
    gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn kp kr \
    kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv \
    mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa \
    re ro rs ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st su sv sx sy sz tc td tf tg th \
    tj tk tl tm tn to tr tt tv tw tz ua ug uk us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw";
/// Other top-level domains open to anybody.
const OTHER_DOMAINS: &str = "com net org edu gov mil int info biz name pro aero coop museum jobs mobi travel \
    tel cat asia post xxx app dev page web site online store shop tech cloud space fun icu top xyz \
    vip club live life world today news blog wiki email link click download zip mov foo new how \
    work works win bid loan men date party review science stream trade cricket racing faith \
    accountant webcam host hosting website press digital agency company solutions services support \
    systems network center group team media studio design art photo photos video audio music movie \
    game games bet casino poker bank finance financial money cash credit loans insurance tax trading \
    exchange market markets capital fund ventures holdings partners global international city london \
    paris berlin tokyo nyc one two zone land house homes estate properties rent rentals apartments \
    health care clinic doctor dental hospital school academy college university education training \
    institute foundation charity church community social chat dating love family baby kids pet dog \
    fish garden kitchen restaurant bar pub cafe pizza beer wine coffee food recipes cooking fashion \
    clothing shoes jewelry watch gold style beauty hair makeup fit fitness yoga run bike golf \
    football soccer tennis ski surf fishing hotel hotels tours vacations flights cruises holiday \
    taxi limo auto cars car moto parts repair tools toys gifts cards deals sale discount coupons \
    promo cheap bargains red blue green pink black lol wtf ninja guru rocks cool buzz best plus \
    codes software computer data domains engineer engineering expert google amazon azure aws \
    android apple microsoft bot ai cyou monster quest rest bond sbs cfd beauty lat ltd llc inc gmbh \
    onion eth crypto nft dao arpa internal intranet localdomain lan corp";

/// Whether a word without a scheme counts as a host.
pub(super) fn is_host(text: &str) -> bool {
    let text = text.strip_suffix(['.', '。', '｡']).unwrap_or(text);
    let labels: Vec<&str> = text.split(['.', '。', '｡']).collect();
    let (Some(first), Some(last)) = (labels.first(), labels.last()) else { return false };
    if labels.len() < 2 || !is_name(text) {
        return false;
    }
    if labels.len() == 4 && labels.iter().all(|label| label.parse::<u8>().is_ok()) {
        return true;
    }
    let last = last.to_lowercase();
    let foreign = !last.is_ascii() && last.chars().all(char::is_alphabetic);
    first.eq_ignore_ascii_case("www")
        || last.starts_with("xn--")
        || foreign
        || COUNTRY_DOMAINS.split_ascii_whitespace().any(|known| known == last)
        || OTHER_DOMAINS.split_ascii_whitespace().any(|known| known == last)
}

/// The host at the start of a dotted name with an unknown top-level domain. If the rest starts with
/// a capital letter, it is the next sentence and is removed; otherwise the whole name counts as a
/// host.
pub(super) fn host_before_sentence(text: &str) -> Option<&str> {
    if !is_name(text) || is_host(text) {
        return None;
    }
    let mut rest = text;
    while let Some((head, last)) = rest.rsplit_once('.') {
        if is_host(head) {
            return Some(if last.starts_with(char::is_uppercase) { head } else { text });
        }
        rest = head;
    }
    None
}

/// Whether a text is a syntactically valid host name.
pub(super) fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    !text.is_empty()
        && text.len() <= 253
        && text.split(['.', '。', '｡']).all(|label| !label.is_empty() && label.chars().all(plain))
}
