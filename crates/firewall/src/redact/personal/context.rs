//! The words around a candidate, and the topics they indicate.

use std::cell::{Cell, RefCell};

use super::candidate::byte_at;
use super::mentions::{Mention, MentionReader, topics_of_text};
use super::word_gap::{
    is_adjacent, is_in_same_field, is_on_line_above, names_from_behind, names_what_follows,
};
use crate::redact::column_headings::Headings;

/// How far before a candidate a word counts at all, in bytes.
const WIDE_BYTES: usize = 56;
/// How far before a candidate a word can be its label, in bytes.
const LABEL_BYTES: usize = 32;
/// How far after a candidate a word counts, in bytes.
const AFTER_BYTES: usize = 28;

/// Topics of words, as bits.
pub(super) mod topic {
    macro_rules! topics {
        ($($name:ident = $bit:literal,)*) => {
            $(pub(in crate::redact::personal) const $name: u64 = 1 << $bit;)*
        };
    }
    /// Topics whose numbers are not phone numbers.
    pub(in crate::redact::personal) const NUMBERED_TOPICS: u64 =
        OTHER | CARD | SSN | TAX | PASSPORT | DRIVER | BANK | ROUTING | PERSON | HEALTH | DEVICE;

    /// Topics whose short words may be part of longer names.
    pub(in crate::redact::personal) const SHORT_WORD_TOPICS: u64 =
        PHONE | IP | SSN | MAC | OTHER | VERSION;

    topics! {
        PHONE = 0, OTHER = 1, VERSION = 2, IP = 3, CARD = 4, SSN = 5, TAX = 6, PASSPORT = 7,
        DRIVER = 8, BANK = 9, ROUTING = 10, PERSON = 11, HEALTH = 12, VEHICLE = 13, CALL = 14,
        MAC = 15, COMPANY = 16, VOTER = 17, NPI = 18, DEA = 19, UK = 20, AU = 21, DEVICE = 22,
        BIRTH = 23, ORIGIN = 24, ORDER = 25,
    }
}
use topic::*;

/// Words by topic, separated by bars. A trailing star accepts any ending.
pub(super) const TOPIC_WORDS: &[(u64, &str)] = &[
    (
        PHONE,
        "phone*|telephone*|telefon*|téléphone|teléfono|mobile*|móvil|cell|cellphone|\
         celular|cellulare|tel|fax|telefax|whatsapp|call me|call us|call him|\
         call her|call on|call at|someone call|reach me|reach us|hotline|helpline|\
         sms|text me|dial|handy|telepono|desk:|office:|-office|-desk|office phone|office number|emergency contact|msisdn|\
         landline|ring me|his number|her number|my number|our number|their number|\
         your number|contact number|contact no|numéro de tél|portable|gsm|rufnummer|\
         mobil|puhelin|matkapuhelin|komórka|pager|voicemail|switchboard|toll-free|\
         toll free|hp|viber|handynummer|mobilnummer|durchwahl|erreichbar unter|erreichen mich unter|\
         tél|joindre au|joignable au|appelez*|appeler le|tfno|tlf|celulares|llámame*|llame al|\
         llamar al|llámame al|llámanos al|llámenos al|or text|llámenos*|chiamami*|chiamare il|telemóvel|telemovel|telefone|fone|me liga*|\
         ligue para|volej*|zavolej*|telefoon*|mobiel*|bel me|selfoon|telepon|telp|no hp|hubungi|simu|\
         điện thoại|sđt|đt|di động|komórk*|zadzwoń*|telefonszám|puh|tlf.|rückruf*|rufen sie*|rappelez*|oddzwoń*|terugbel*|\
         call back|callback|direct line|direct dial|numaram|перезвон*|回电|折り返し|직통|\
         телефон*|тел|моб|мобильн*|сотов*|звоните|звони|позвоните|\
         电话|手机|联系方式|座机|热线|致电|拨打|請打|请打|電話|手機|携帯|連絡先|ケータイ|\
         전화|휴대폰|핸드폰|연락처|팩스|โทร|มือถือ|เบอร์|هاتف|جوال|موبايل|تليفون|تلفون|محمول|\
         تلفن|موبایل|همراه|فون|फोन|फ़ोन|मोबाइल|ফোন|মোবাইল|ဖုန်း|ስልክ|\
         τηλ|τηλέφων*|κιν|κινητ*|φαξ|טלפון|נייד|פקס|port. :|port.:",
    ),
    (
        BIRTH,
        "birth*|dob|d.o.b|d.o.b.|born|born on|geboren*|geburt*|naissance|né le|née le|\
         nacimiento|nascita|nato il|nata il|nascimento|geboorte*|urodz*|födelse*|生年月日",
    ),
    (
        CALL,
        "call|calling|called|contact|contact us|reach|number is|mine is|customer service|\
         support line|number at|contacto|contatto|cel|cep|kom|mob|ph|wa|ring|sel|piga|arayın|\
         gọi|recapito|kontakt|contactez*|text me|ruf*|erreichbar|erreichst|melde dich|llám*|llam*|appel*|joindre|joignable|\
         chiam*|ligue|liga-me|me liga|ligar|zadzwoń|dzwoń|bel me|bel mij|bellen|volejte|zavolej*|ringe|\
         позвони*|звони*|mi número|mi numero|\
         meine nummer|mon numéro|il mio numero|meu número|meu numero|mijn nummer|mój numer|mitt nummer|我的号码|私の番号|내 번호",
    ),
    (
        OTHER,
        "batch|badge|meeting id|webinar id|conference id|\
         serial|seq|version|build|commit|price|amount|total|count|epoch|timestamp|ts|\
         bug|issue|case no|lat|lon|lng|coordinates|point|size|bytes|\
         offset|port|pid|tid|items|qty|quantity|lot|\
         model|part no|asin|duration|elapsed|checksum|hash|sha|uuid|uid|request|\
         trace|span|id|\
         job|run|zip|postal code|postcode|case|key|account|rows|lines|pages|page|usd|eur|gbp|user",
    ),
    (
        OTHER,
        "serien*|vertrag*|mitglied*|polic*|policy|member|membership|booking|\
         reservation|confirmation|claim|contract|stock|units|menge|stück|lager*|beleg*|\
         numéro de série|contrat*|adhérent*|réservation|billet|número de serie|número de série|contrato*|\
         reserva*|socio|póliza|numero di serie|contratto|prenotazione|polizza|matricola|serienummer|\
         contractnummer|seryjny|umow*|rezerwacj*|bilet*|polis*|серийн*|договор*|брон*|билет*|квитанц*|\
         фактур*|полис*|счёт*|счет*|序列号|合同*|会员号|预订*|编号|シリアル*|会員*|予約*|契約*|예약*|계약*|\
         회원*|시리얼*|접수번호|관리번호|상품번호|거래번호|승인번호|受付番号|管理番号|商品番号|品番|整理番号|\
         流水号|编码|工单号|批次号|批号|货号|条码|артикул*|заявк*|обращени*|протокол*|lote|lotto|lotnummer|charge nr|chargen*|\
         partij*|partia|devis|preventivo|presupuesto|orçamento|riferimento|referencia|üyelik no|poliçe*|\
         rezervasyon*|sözleşme*|seri no|kontrak|asset*|meter reading|docket|permit|mandat*|\
         zähler*|protocollo|zaaknummer|polisnummer|dossiernummer|ticketnummer|\
         codice cliente|cod. cliente|código de cliente|codigo de cliente|n° client|nº client|n.º cliente|nº cliente|\
         numéro client|numéro de client|número de cliente|numero cliente|klantnummer|klantnr|klantcode|\
         numer klienta|nr klienta|номер клиента|код клиента|客户编号|客户号|お客様番号|顧客番号|고객번호|müşteri no*",
    ),
    (
        OTHER | ORDER,
        "account id|account ids|aws account|account-id|account-ids|account_id|accountid|owner account|owner-account|\
         owner_account|owneraccount|order*|sku|isbn*|issn|ticket*|tracking|invoice|reference|ean|upc|gtin|barcode|parcel|shipment|awb|\
         bestell*|auftrag*|rechnungs*|sendung*|lieferung*|kdnr|kd-nr|waybill|consignment|rma|remessa|paczk*|\
         bon de livraison|bordereau|\
         lieferschein*|kundennummer|kundennr|kunden-nr|aktenzeichen|artikel*|vorgangsnummer|\
         commande*|facture*|numéro de suivi|n° de suivi|suivi|référence*|colis|dossier|\
         pedido*|factura*|seguimiento|expediente|albarán|encomenda*|fatura*|nota fiscal|rastreio|\
         ordine*|ordini|fattura*|spedizione|pratica|bestelnummer|bestelling*|factuur*|\
         zamówien*|zamowien*|faktur*|przesyłk*|objednávk*|sipariş*|siparis*|pesanan|resi|\
         đơn hàng|vận đơn|заказ*|накладн*|трек-номер|счёт-фактур*|订单*|單號|单号|快递*|受注*|発注*|請求*|請求書*|청구*|takip no|kargo*|zlecen*|zending*|ddt|bolla|guia de remessa|lot no|lot|订单号|訂單*|\
         运单*|发票*|注文*|伝票*|追跡*|お問い合わせ番号|주문*|송장*|운송장*|part|range",
    ),
    (
        OTHER | ORDER,
        "ref|bon|kassenbon*|ऑर्डर|bank_code|bankcode|bankid|bank code|blz|bankleitzahl|ihr zeichen|unser zeichen|inventar*|n° de série|nº de série|kundnummer*|kollinummer*|asiakasnumero*|kundenummer*|\
         customer no*|customer number|customer id|po number|po no*|purchase order*|quote*|договір*|\
         comanda|comenzii|comandă|factur*|colet*|dosar*|nr. înregistrare|awb nr|ordre*|bestilling*|pakke*|sagsnr|\
         sagsnummer|aftale*|avtale*|regning*|beställning*|ärende*|avtal*|paket*|leverans*|kolli|kollinr|tilaus*|\
         lasku|laskun*|lähety*|sopimu*|viitenumero|viite|rendelés*|számla*|csomag*|szerződés*|ügyszám*|cikkszám*|\
         zásilk*|smlouv*|reklamac*|narudžb*|pošiljk*|ugovor*|račun*|naročil*|užsakym*|tellimus*|pasūtīj*|\
         παραγγελ*|τιμολόγ*|αποστολ*|σύμβασ*|замовлен*|рахунок*|рахунк*|посилк*|посылк*|поръчк*|пратка|фактура|\
         hóa đơn|hợp đồng|tagihan|no resi|chamado|ordem de serviço|sinistre|vorgang|zaak|offerte*|zgłoszen*|reklamacj*|\
         talep no*|fiş no*|الطلب|طلب رقم|الفاتورة|فاتورة|الشحنة|شحنة|العقد|سفارش|فاکتور|آرڈر|הזמנה|הזמנת|חשבונית|משלוח|\
         חוזה|คำสั่งซื้อ|ใบแจ้งหนี้|พัสดุ|สัญญา|आदेश|चालान",
    ),
    (
        VERSION,
        "versión|versiones|versão|versões|версия|версии|версию|版本|バージョン|버전|wersja|wersji|\
         sürüm*|phiên bản|version*|ver|release*|build|firmware|upgrade*|driver|semver|bump*|package|\
         pkg|lib|library|dependency|tag|chapter|section|abschnitt|kapitel|ziffer|oid|assembly|sdk|runtime|\
         kernel|plugin|extension|ios|android|chrome|chromium|firefox|jdk|jre|framework|update*|patch|downgrade*|rev|revision|installed|install|requires|replaces|fips",
    ),
    (
        IP,
        "ip|ips|ipv4|ipv6|address*|addr|host*|server*|client*|src|dst|source|peer|\
         remote*|gateway|dns|nameserver|ping|listen*|bind*|connect*|loopback|subnet|\
         route|cidr|default|broadcast|unspecified|network|interface|localhost|\
         nat64|prefix|netmask|resolver|vpn|proxy|allow|deny|via|multicast|forwarded|ssh|x-real-ip|upstream",
    ),
    (ORIGIN, "from"),
    (
        CARD,
        "cartão|cartao|кредитн*|карта|карты|карту|картой|卡号|银行卡|信用卡|カード*|카드*|karta|karty|\
         kartę|kart no|kart numarası|kártya*|kaart|card*|credit*|debit*|visa|mastercard|amex|pan|payment*|cc|carte|karte|\
         kreditkarte|tarjeta|cvv|expir*|maestro|billing",
    ),
    (SSN, "ssn*|social security*|social sec|soc sec|ss#|social"),
    (
        TAX,
        "tax*|tin|itin|ein|fein|steuer*|idnr|vat|ust-id*|ustid*|umsatzsteuer*|taxpayer*|\
         fiscal*|fiscale|partita iva|p.iva|piva|nif|cif|nip|regon|inn|инн|tva|btw|\
         mwst|rfc|cuit|cuil|rut|ruc|nit|abn|gst|gstin|finanzamt|iva|pps|ppsn|pps number|siren|siret|utr|\
         tfn|cnpj|oib",
    ),
    (
        PASSPORT,
        "passport*|travel document|reisepass*|pass-nr*|passnummer|passeport|\
         pasaporte|passaporto|paszport|여권*|护照|旅券|паспорт*|pasaport|paspoort|hmpo|\
         ausweis*|personalausweis*|identity card|id card|carta d'identità|\
         carta di identità|carta identità|dowód*|dowod*|document number|perso",
    ),
    (
        DRIVER,
        "driver licen*|driver's licen*|drivers licen*|driver_licen*|drivers_licen*|\
         driverlicen*|driverslicen*|driving licen*|driving_licen*|licence number|\
         license number|licence no|license no|dl number|dl no|dl#|dln|lic#|\
         führerschein*|fuehrerschein*|permis de conduire|patente di guida|\
         carnet de conducir|dvla|운전면허*|rijbewijs|prawo jazdy",
    ),
    (
        BANK,
        "account*|acct|bank*|konto*|kontonummer|sort code|checking|savings|iban|\
         routing|acc no|a/c",
    ),
    (ROUTING, "aba*|routing*|rtn|transit|wire*"),
    (
        PERSON,
        "national id*|national identity*|identity number|identity code|id number|\
         id no|citizen*|personal id*|personal identity|identification*|\
         national number|id code|nric|fin|mykad|nik|ktp|kimlik*|tc|tckn|personnummer|\
         pnr|hetu|henkilötunnus*|fødselsnummer|fodselsnummer|personnr|cpr|cpr-nr|pesel|nin|\
         bsn|burgerservicenummer|sofinummer|nir|insee|sécurité sociale|\
         securite sociale|numéro de sécu|rijksregister*|registre national|rodné*|\
         rodne*|cnp|egn|егн|fnr|fnr.|f.nr|oib|amka|isikukood|asmens kodas|personas kods|emso|jmbg|dni|\
         nie|curp|cpf|rg|cedula|cédula|rut|aadhaar*|aadhar*|uidai|resident*|身份证*|\
         주민*|마이넘버|マイナンバー|my number|ahv|avs|svnr|sozialversicherung*|rvnr|\
         teudat zehut|ת.ז|תעודת זהות|sin|social insurance|rsa id|id nr|snils|снилс|rrn|frn|外国人*|\
         외국인*|birth number|kennitala|insurance number|umid|tnin|thai id|iin",
    ),
    (
        HEALTH,
        "medicare*|mbi|beneficiary|medicaid|hicn|nhs*|health*|krankenkasse|\
         krankenversich*|kvnr|versichertennummer|egk*|patient*|mrn|medical*|lanr|\
         arztnummer|bsnr|betriebsstätte*|member id|subscriber*|insurance*|philhealth",
    ),
    (
        VEHICLE,
        "vehicle*|registration|number plate|licence plate|license plate|plate*|\
         plaka*|vrn|car|kennzeichen|kfz*|targa|vin|chassis|reg no|immatriculation|\
         matrícula|matricula|v5c",
    ),
    (MAC, "mac*|hardware address|physical address|ethernet*|bssid|hwaddr|wlan*|ether"),
    (
        COMPANY,
        "uen|acn|company*|business*|orgnummer|organisationsnummer|org nr|org.nr|\
         organization number|organisation*|acra|handelsregister*|unique entity*|brn|\
         사업자*|registered number|företag*|corporate*|australian company*",
    ),
    (VOTER, "voter*|epic|elector*|election*"),
    (NPI, "npi*|provider*|national provider*|prescriber"),
    (DEA, "dea*|certificate*|medical license|prescriber"),
    (UK, "nino|national insurance*|ni number|ni no|nhs*|uk|british"),
    (AU, "abn|acn|tfn|australian*|medicare*|tax file*"),
    (DEVICE, "imei*|meid|device*|handset|sim|iccid|imsi"),
];

/// The topics of the words around a candidate.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TopicContext {
    /// Topics of all words around.
    pub(super) anywhere: u64,
    /// Topics of words right before.
    pub(super) right_before: u64,
    /// Topics of words right after.
    pub(super) right_after: u64,
    /// Topics of words right before in the same field, or a few bytes after.
    pub(super) label: u64,
    /// Topics of the last word before.
    pub(super) last_label: u64,
    /// No other word is between the last word before and the candidate.
    pub(super) is_adjacent: bool,
}

impl TopicContext {
    /// Reads the words around a range.
    pub(super) fn around(reader: &ContextReader<'_>, start: usize, end: usize) -> Self {
        let bytes = reader.bytes;
        let mut context = Self::default();
        let mut mentions = reader.mentions.borrow_mut();
        let floor = start.saturating_sub(WIDE_BYTES);
        let mut last = 0;
        mentions.for_each(bytes, floor, start, |Mention { start: from, end: to, topics }| {
            if !is_in_same_field(bytes, from..to, start) {
                return;
            }
            context.anywhere |= topics;
            let gap = bytes.get(to..start).unwrap_or_default();
            if gap.len() <= LABEL_BYTES && (!gap.contains(&b'\n') || is_on_line_above(gap)) {
                context.right_before |= topics;
                if !gap.iter().any(|byte| b",;{}|".contains(byte)) {
                    context.label |= topics;
                }
            }
            if to > last {
                last = to;
                context.last_label = 0;
                context.is_adjacent = is_adjacent(gap);
            }
            if to == last {
                context.last_label |= topics;
            }
        });
        let ceiling = end.saturating_add(AFTER_BYTES).min(bytes.len());
        mentions.for_each(bytes, end, ceiling, |Mention { start: from, end: to, topics }| {
            context.anywhere |= topics;
            if names_what_follows(bytes, to) {
                return;
            }
            if names_from_behind(bytes.get(end..from).unwrap_or_default()) {
                context.right_after |= topics;
            }
            if from - end <= 16 {
                context.label |= topics;
            }
        });
        context
    }

    /// True if a word of one of these topics labels the candidate.
    pub(super) fn has_label(&self, topics: u64) -> bool {
        self.label & topics != 0
    }
}

/// A text with caches for what was read around its candidates.
#[derive(Debug)]
pub(super) struct ContextReader<'t> {
    pub(super) bytes: &'t [u8],
    mentions: RefCell<MentionReader>,
    phone_headings: RefCell<Headings>,
    birth_headings: RefCell<Headings>,
    /// The headings of other columns, by the topics that were asked for.
    topic_headings: RefCell<Vec<(u64, Headings)>>,
}

impl<'t> ContextReader<'t> {
    pub(super) fn new(bytes: &'t [u8]) -> Self {
        let (phone_headings, birth_headings) = (RefCell::default(), RefCell::default());
        let topic_headings = RefCell::default();
        Self { bytes, mentions: RefCell::default(), phone_headings, birth_headings, topic_headings }
    }
}

/// The words around one candidate, read on first use.
pub(super) struct CandidateContext<'s> {
    pub(super) bytes: &'s [u8],
    reader: &'s ContextReader<'s>,
    start: usize,
    end: usize,
    context: Cell<Option<TopicContext>>,
}

impl<'s> CandidateContext<'s> {
    pub(super) fn new(reader: &'s ContextReader<'s>, start: usize, end: usize) -> Self {
        Self { bytes: reader.bytes, reader, start, end, context: Cell::new(None) }
    }

    pub(super) fn get(&self) -> TopicContext {
        let context = self.context.get();
        let context =
            context.unwrap_or_else(|| TopicContext::around(self.reader, self.start, self.end));
        self.context.set(Some(context));
        context
    }

    /// True if the candidate is a table cell in a column whose heading names telephones so.
    pub(super) fn is_under_phone_heading(&self, names: impl Fn(&[u8]) -> bool) -> bool {
        let mut headings = self.reader.phone_headings.borrow_mut();
        headings.has_heading(self.bytes, &(self.start..self.end), names)
    }

    /// The same of births.
    pub(super) fn is_under_birth_heading(&self, names: impl Fn(&[u8]) -> bool) -> bool {
        let mut headings = self.reader.birth_headings.borrow_mut();
        headings.has_heading(self.bytes, &(self.start..self.end), names)
    }

    /// True if the candidate is a table cell in a column whose heading has a word of these topics.
    pub(super) fn is_under_heading_of(&self, topics: u64) -> bool {
        let mut known = self.reader.topic_headings.borrow_mut();
        if !known.iter().any(|(of, _)| *of == topics) {
            known.push((topics, Headings::default()));
        }
        let names = |heading: &[u8]| topics_of_text(heading) & topics != 0;
        known.iter_mut().find(|(of, _)| *of == topics).is_some_and(|(_, headings)| {
            headings.has_heading(self.bytes, &(self.start..self.end), names)
        })
    }

    /// A word follows the candidate, as the unit of a count does: `447 712 GB`.
    pub(super) fn is_followed_by_word(&self) -> bool {
        let next = byte_at(self.bytes, self.end + 1);
        byte_at(self.bytes, self.end) == b' ' && (next.is_ascii_alphabetic() || !next.is_ascii())
    }

    /// The word right before names an order, an invoice or the like: `nota fiscal`, `lot no.`
    pub(super) fn is_labelled_as_order(&self) -> bool {
        let context = self.get();
        context.is_adjacent && context.last_label & context.right_before & topic::ORDER != 0
    }

    /// The label right before names something other than personal data.
    pub(super) fn is_labelled_as_other(&self) -> bool {
        let context = self.get();
        context.last_label & context.right_before & topic::OTHER != 0
    }
}
