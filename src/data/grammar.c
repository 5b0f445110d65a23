/* grammar.c - a text to learn from where there is no other: seeded sentences.
 *
 * A context-free grammar with some memory: a paragraph keeps one person and one
 * place, so that names and pronouns agree over several lines. One sentence a
 * line, an empty line between paragraphs. */
#include "data/source.h"

#include "base/assert.h"
#include "base/rng.h"
#include "base/str.h"

#include <string.h>

#define TEXT_SIZE 2000000
#define SEED 20180427
/* Deep enough for every rule; beyond it the first alternative is taken, which
 * leads to words in a few steps. */
#define MAX_DEPTH 12

/* Alternatives are parted by "|", and "<name>" is replaced. Early alternatives
 * are likelier, as a few words of a language are most of its use. */
struct rule {
    const char *name, *alternatives;
};
static const struct rule rules[] = {
    {"sentence",
     "<did>.|<did>, and <did>.|when <did>, <did>.|<did>, but <did>.|"
     "\"<is>,\" said <hero>.|\"<is>,\" <he> said, \"and <is>.\"|"
     "\"<asks>?\" asked <hero>.|<time>, <did>.|<is>, so <did>.|"
     "<did> before <did>.|not one of <the many> <past> <the one>.|"
     "<number> <many> (and <number> <many>) <past> <place>.|"
     "if <is>, then <is>.|<hero> did not <plain> <the one>; <he> <past> "
     "<the one> instead."},
    {"opening",
     "<hero> came to <place> <time>.|<time>, <hero> <moved> near <place>.|"
     "there was <the one> in <place>, and <hero> <past> it.|"
     "<hero> was the <quality> <one> of <place>."},
    {"did",
     "<someone> <past> <the one>|<someone> <past> <the many>|"
     "<the many> <past> <the one>|<hero> <past> <the one> <where>|"
     "<the one> <where> <past> <the many>|<someone> <moved> <where>|"
     "there were <number> <many> <where>|<the one> that <past> <the one> "
     "<moved> <where>|<he> <past> <his> <one>|nobody <past> <him>|"
     "<someone> <softly> <past> <the one>"},
    {"is", "<the one> <does> <the many>|<the many> <plain> <the one>|"
           "<the one> is <quality>|<the many> are <quality>|"
           "<the one> of <the many> is <quality>|<the many> of <the one> are "
           "<quality>|a <one> that <does> <the one> never <does> <the many>|"
           "every <one> <does> a <one>|all <many> <plain> <the one>"},
    {"asks",
     "does <the one> <plain> <the many>|do <the many> <plain> <the one>|"
     "is <the one> <quality>|are <the many> <quality>|who <past> <the one>|"
     "where is <the one>"},
    {"someone", "<hero>|<he>|<the one>|<person>"},
    {"the one", "the <one>|a <one>|<his> <one>|the <quality> <one>"},
    {"the many",
     "the <many>|<his> <many>|the <number> <many>|<quality> <many>"},
    {"where",
     "near <place>|in the <one> of <place>|behind <the one>|under <the one>|"
     "beyond <the many>|on the road to <place>|between <the many> and "
     "<the many>"},
    {"time",
     "in the morning|at night|after the rain|that winter|on the third day|"
     "long ago|before dawn|in the year <number> hundred and <number>"},
    {"one",
     "river|house|horse|king|lamp|stone|tree|ship|child|bird|garden|bell|wolf|"
     "bridge|teacher|letter|mountain|window|farmer|fox|tower|key|sailor|"
     "mirror|shepherd|candle|violin|weaver|harbour|compass|meadow|glazier"},
    {"many",
     "rivers|houses|horses|kings|lamps|stones|trees|ships|children|birds|"
     "gardens|bells|wolves|bridges|teachers|letters|mountains|windows|farmers|"
     "foxes|towers|keys|sailors|mirrors|shepherds|candles|violins|weavers|"
     "harbours|compasses|meadows|glaziers"},
    {"past",
     "saw|heard|found|carried|watched|followed|left|praised|counted|painted|"
     "forgot|remembered|sold|mended|feared|answered|measured|guarded|"
     "described|abandoned"},
    {"does",
     "sees|hears|finds|carries|watches|follows|leaves|praises|counts|paints|"
     "forgets|remembers|sells|mends|fears|answers|measures|guards|describes|"
     "abandons"},
    {"plain",
     "see|hear|find|carry|watch|follow|leave|praise|count|paint|forget|"
     "remember|sell|mend|fear|answer|measure|guard|describe|abandon"},
    {"moved",
     "walked|stood|slept|waited|sang|ran|rested|vanished|travelled|laughed"},
    {"softly", "slowly|often|quietly|never|gladly|suddenly|almost|twice"},
    {"quality",
     "old|small|quiet|bright|cold|strange|green|broken|heavy|distant|golden|"
     "patient|hollow|narrow|weary|silver|curious|nameless"},
    {"number",
     "two|three|four|seven|twelve|nine|twenty|thirty-one|forty|sixty-six"},
};
static const struct hero {
    const char *name, *he, *him, *his;
} heroes[] = {
    {"Anna", "she", "her", "her"},    {"Boris", "he", "him", "his"},
    {"Clara", "she", "her", "her"},   {"Daniel", "he", "him", "his"},
    {"Edith", "she", "her", "her"},   {"Felix", "he", "him", "his"},
    {"Greta", "she", "her", "her"},   {"Henrik", "he", "him", "his"},
    {"Ingrid", "she", "her", "her"},  {"Jonas", "he", "him", "his"},
    {"Katrin", "she", "her", "her"},  {"Ludwig", "he", "him", "his"},
    {"Martha", "she", "her", "her"},  {"Nikolai", "he", "him", "his"},
    {"Ottilie", "she", "her", "her"}, {"Quentin", "he", "him", "his"},
};
static const char *const places[] = {
    "Oakham",  "Vellin", "the north gate", "Marrow Hill", "Tarn",
    "Westing", "Zell",   "the old mill",   "Ulverby",     "Quay Street",
    "Juniper", "Port X", "Ysmere",         "Kestrel",     "Dunmoor",
};
#define N_RULES (sizeof rules / sizeof *rules)
#define N_HEROES (sizeof heroes / sizeof *heroes)
#define N_PLACES (sizeof places / sizeof *places)

struct writer {
    struct qn_str out;
    uint64_t drawn;
    const struct hero *hero;
    const char *place;
};

static size_t draw(struct writer *w, size_t n)
{
    uint64_t bits = qn_mix64(SEED + 0x9e3779b97f4a7c15u * ++w->drawn);
    return (size_t)((bits >> 32) * n >> 32);
}

/* The less of two draws: 0 is likeliest. */
static size_t draw_skewed(struct writer *w, size_t n)
{
    size_t a = draw(w, n), b = draw(w, n);
    return a < b ? a : b;
}

static const char *find_rule(const char *name, size_t len)
{
    size_t i = 0;
    while (i < N_RULES && (strncmp(rules[i].name, name, len) != 0 ||
                           rules[i].name[len] != '\0')) {
        i++;
    }
    QN_ASSERT(i < N_RULES);
    return rules[i].alternatives;
}

/* What the paragraph has decided, or NULL. */
static const char *find_kept(const struct writer *w, const char *name,
                             size_t len)
{
    const struct rule kept[] = {
        {"hero", w->hero->name}, {"he", w->hero->he}, {"him", w->hero->him},
        {"his", w->hero->his},   {"place", w->place},
    };
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        if (strncmp(kept[i].name, name, len) == 0 &&
            kept[i].name[len] == '\0') {
            return kept[i].alternatives;
        }
    }
    return NULL;
}

static size_t count_alternatives(const char *alternatives)
{
    size_t n = 1;
    for (const char *p = alternatives; *p != '\0'; p++) {
        n += *p == '|';
    }
    return n;
}

static void expand(struct writer *w, const char *name, size_t len, int depth);

/* Write one alternative, up to its end or the next bar. */
static void expand_text(struct writer *w, const char *text, int depth)
{
    for (const char *p = text; *p != '\0' && *p != '|'; p++) {
        if (*p != '<') {
            qn_str_add_bytes(&w->out, p, 1);
            continue;
        }
        const char *end = strchr(p, '>');
        expand(w, p + 1, (size_t)(end - p - 1), depth + 1);
        p = end;
    }
}

static void expand(struct writer *w, const char *name, size_t len, int depth)
{
    const char *kept = find_kept(w, name, len);
    if (kept != NULL) {
        qn_str_add(&w->out, kept);
        return;
    }
    if (len == strlen("person") && strncmp(name, "person", len) == 0) {
        qn_str_add(&w->out, heroes[draw(w, N_HEROES)].name);
        return;
    }
    const char *text = find_rule(name, len);
    size_t chosen =
        depth < MAX_DEPTH ? draw_skewed(w, count_alternatives(text)) : 0;
    for (; chosen > 0; chosen--) {
        text = strchr(text, '|') + 1;
    }
    expand_text(w, text, depth);
}

/* A sentence begins with a capital, inside its quotation mark if it has one.
 */
static void add_sentence(struct writer *w, const char *rule)
{
    size_t start = w->out.len;
    expand(w, rule, strlen(rule), 0);
    char *first = w->out.text + start;
    first += *first == '"';
    if (*first >= 'a' && *first <= 'z') {
        *first = (char)(*first - 'a' + 'A');
    }
    qn_str_add(&w->out, "\n");
}

static void add_paragraph(struct writer *w)
{
    w->hero = &heroes[draw(w, N_HEROES)];
    w->place = places[draw(w, N_PLACES)];
    add_sentence(w, "opening");
    for (size_t n = 4 + draw(w, 6); n > 0; n--) {
        add_sentence(w, "sentence");
    }
}

void qn_grammar_text(struct qn_bytes *text)
{
    struct writer w = {0};
    while (w.out.len < TEXT_SIZE) {
        if (w.out.len > 0) {
            qn_str_add(&w.out, "\n");
        }
        add_paragraph(&w);
    }
    text->len = w.out.len;
    text->data = qn_str_take(&w.out);
}
