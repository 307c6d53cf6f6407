"""What column names say: patterns over their words, in the literature's and everyday's languages.

Patterns match whole words: `homeAddress_2` is "home address", and no "id" is found in "candidate".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

_PERSON = (
    "patient|person|personal|user|customer|client|employee|staff|student|pupil|member|subject|participant|respondent|"
    "applicant|citizen|voter|donor|record|case"
)
IDENTIFIERS = {
    r"(first|last|middle|full|family|given|maiden|user|nick)? ?name|surname|forename|initials|"
    r"(nach|vor|familien|geburts|ruf)name|nom|prenom|patronyme|^nombre|apellido": "a name",
    r"e ?mail|(e ?)?mail ?adresse|courriel|correo": "an e-mail address",
    r"(tele|cell)?phone|telefono?|tel|mobile|fax|(telefon|handy|mobil|mobilfunk) ?(nummer|nr)|handy|"
    r"(numero|no) de (telephone|portable)": "a telephone number",
    r"address|(wohn|post|heimat)?adresse|anschrift|direccion|street|strasse|rue|calle|house (no|number)|"
    r"haus ?(nummer|nr)": "an address",
    r"ssn|social security|national (id|insurance)|tax (id|number)|passport|licen[cs]e|iban|account|vin|"
    r"card (no|number)|medical record|mrn|"
    r"(kunden?|personal|matrikel|mitglieds?|patienten|fall|versicherten|versicherungs|sozialversicherungs|"
    r"krankenversicherten|steuer|ausweis|pass|reisepass|konto|karten|kreditkarten|fuhrerschein) ?(nummer|nr|id)|"
    r"kennzeichen|aktenzeichen|identifiant|matricule|nir|"
    r"(numero|no) (de )?(securite sociale|compte|client|patient|dossier|passeport|carte)|"
    r"securite sociale": "a number given to one person",
    rf"({_PERSON}) ?(id|nr|no|num|number|code|key)|(device|family|household) ?id|u?uid|guid": "a number given to one",
    r"url|website|homepage|ip|imei|cookie": "an address on the net",
    r"photo|picture|portrait|signature|fingerprint|biometric": "a likeness",
    r"comment|remark|note|memo|free ?text|bemerkung(en)?|anmerkung(en)?|kommentar|notiz(en)?|freitext|commentaire|"
    r"remarque|texte libre": "free text, in which anybody may be named",
}
"""Pattern → what it is, and it leads to one person."""
_DIFFERENT = ("a number given to one person", "a number given to one", "an e-mail address")
SHARED = {pattern: what for pattern, what in IDENTIFIERS.items() if what not in _DIFFERENT}
"""Of these, what several people may have: names, addresses, telephones."""
NUMBER_OF_A_PERSON = "id|mrn|ssn"
"""Names of numbers that tell people apart, so that one which repeats tells that a person has several records."""
OF_A_PERSON = {rf"^({_PERSON})s?$": "a person"} | {
    pattern: what for pattern, what in IDENTIFIERS.items() if what in _DIFFERENT
}
"""Names of columns that tell people apart, few as they may be; `patient`, and not `patient sex`."""
ABOUT = (
    r"type|kind|status|class|category|group|count|^num|number of|flag|has|is|rate|balance|country|city|state|county|"
    r"region|product|brand|company|school|hospital|department|course|file"
)
"""Words beside which those above no longer lead to one person: `phone_type`, `country name`."""
SENSITIVE = {
    r"disease|illness|diagnos(is|es|e|tic)|icd|hiv|aids|cancer|tumou?r|diabet(es|ic)|symptom|severity|condition|"
    r"medication|medicine|drug|prescription|treatment|therapy|surgery|comorbidit(y|ie)|disabilit(y|ie)|disabled|"
    r"mental|depression|allerg(y|ie)|pregnan(t|cy)|abortion|blood|dna|health|krankheit(en)?|befund|"
    r"medikamente?|behandlung|behinderung|schwanger(schaft)?|maladie|medicament|traitement|handicap|grossesse|sante|"
    r"enfermedad": "health",
    r"(test |lab )?result": "the outcome of a test",
    r"religion|religious|faith|denomination|konfession|glaube": "religion",
    r"(sexual )?orientation|sexuality": "sexual orientation",
    r"politic(s|al)|party|vote|voting|partei|parti politique": "political opinion",
    r"(labou?r|trade) union|union member(ship)?|^union$|gewerkschaft|syndicat": "trade union membership",
    r"crime|criminal|offen[cs]e|conviction|arrest|felony|prison|straftat|vorstrafe|delit|condamnation": "crime",
    r"salary|salaries|income|wage|earning|pay|pincp|bonus|wealth|debt|loan|credit|mortgage|bankruptcy|"
    r"gehalt|lohn|einkommen|vermogen|schulden|kredit|salaire|dette|revenu|salario|sueldo|ingreso": "money",
    r"grade|gpa": "an assessment",
}
"""Pattern → what it is about, and it must not be learnt."""
POSTAL = r"zip|zip ?code|postal|code postal|post ?code|plz|postleitzahl"
KNOWN = {
    rf"{POSTAL}|city|town|municipality|county|state|region|province|district|country|nation|(birth)?place|residence|"
    r"neighbou?rhood|nuts|lat|latitude|lon|lng|longitude|location|ort|wohnort|geburtsort|land|stadt|"
    r"gemeinde|kreis|landkreis|bezirk|bundesland|ville|commune|departement|pays|lieu|ciudad|pais": "a place",
    r"age|birth|born|dob|birth(day|date)|alter|geburt\w*|edad|naissance": "age or birth",
    r"sex|gender|geschlecht|sexe|sexo|genero": "sex",
    r"race|racial|ethnic|ethnicity|hispanic|skin|ethnie|rasse": "race or ethnicity",
    r"national(ity)?|nativity|native|citizen(ship)?|immigra(nt|tion)|language|ancestry|origin|nationalit(at|e)|"
    r"staatsangehorigkeit|staatsburgerschaft|herkunft|muttersprache|sprache|langue|origine": "origin",
    r"marital|married|spouse|relationship|household|famil(y|ie)|child|children|sibling|parent|"
    r"familienstand|zivilstand|verheiratet|kinder|haushalt|etat civil|"
    r"situation (familiale|matrimoniale)|enfant": "family",
    r"education|school|schooling|degree|university|qualification|bildung|ausbildung|"
    r"(schul|hochschul|bildungs)?abschluss|schule|diplome|etudes|formation": "education",
    r"occupation|job|profession|employ(er|ment|ed)|work(er|ing)?|work ?class|industry|department|isco|nace|isic|beruf|"
    r"arbeit(geber|sort|splatz)?|tatigkeit|branche|wirtschaftszweig|abteilung|metier|emploi|employeur": "work",
    r"admission|admitted|discharged?|visit|arrival|hired?|death|died|enrol\w*|"
    r"(aufnahme|entlassungs?|eintritts?|austritts?|sterbe|einstellungs)(datum|tag)|aufnahme|entlassung|deces|"
    r"date (d )?(entree|sortie|admission)|embauche": "an event that others saw",
    r"height|weight|eye|hair|vehicle|car|military|veteran|gewicht|korpergrosse|grosse|augenfarbe|"
    r"haarfarbe|fahrzeug|taille|poids": "what can be seen",
}
"""Pattern → what it is, and others may know it."""
NOMINAL = (
    r"race|racial|rasse|ethnic|ethnicity|ethnie|hispanic|sex|gender|geschlecht|sexe|sexo|genero|region|state|county|"
    r"province|district|country|nation|bundesland|landkreis|staat|marital|familienstand|zivilstand|occupation|"
    r"profession|beruf|religion|konfession|national|nationality|nativity|citizen|citizenship|staatsangehorigkeit|industry|"
    r"branche|wirtschaftszweig|language|sprache|relationship|work ?class|origin|herkunft|ancestry"
)
"""Names of what has no order, so that whole numbers there are codes, and no number lies between two of them."""
WEIGHTS = r"fnlwgt|p?wgtp?|(instance|sample|sampling|survey|person|household|final|analysis|design) (weight|wt)"
MEASURES = (
    r"salary|income|wage|weight|height|amount|price|cost|value|balance|revenue|sale|payment|fee|tax|gain|loss|total|"
    r"sum|count|size|area|length|distance|duration|time|second|minute|hour|day|rate|ratio|score|level|population|"
    r"\w*(betrag|preis|kosten|wert|menge|umsatz|gewinn|verlust|summe|anzahl|saldo|gebuhr|gehalt|lohn|einkommen|"
    r"gewicht|grosse|flache|lange|abstand|dauer|zeit|stunden?|punkte)|"
    r"montant|prix|cout|valeur|solde|quantite|somme|surface|longueur|distance|duree|temps|heure|jour|taux|niveau|"
    r"salaire|revenu|poids"
)
"""Whole numbers that differ from record to record without being an identifier."""


def words(name: str) -> str:
    """Split a name into words, in small letters without accents.

    >>> words("homeAddress_2"), words("Prénom"), words("capital-gain"), words("Straße")
    ('home address', 'prenom', 'capital gain', 'strasse')
    """
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c)).replace("ß", "ss")
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", plain)
    return " ".join(re.findall(r"[^\W\d_]+", parted)).lower()


def named(patterns: str | Mapping[str, str], name: str) -> str | None:
    """Find what the first pattern among the words of a name, in the singular or the plural, stands for."""
    table = {patterns: patterns} if isinstance(patterns, str) else patterns
    plain = words(name)
    texts = {plain, re.sub("([aou])e", r"\1", plain)}  # a Größe may be written groesse
    found = (what for pattern, what in table.items() if any(re.search(rf"\b(?:{pattern})s?\b", t) for t in texts))
    return next(found, None)
