/* tokens.c - English text into words, as Penn Treebank's tokenisers split it.
 *
 * One walk from left to right. What stands between white space falls into
 * marks, which are words of their own, and the runs between them; a run then
 * loses its clitics at the end. Words are pieces of the copied text, or the
 * spelling that the treebank has for a mark.
 */
#include "data/tokens.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

struct word {
    const char *text;
    size_t len;
};

/* A run falls into at most a stem of two words and this many clitics. */
#define MOST_CLITICS 2
#define MOST_WORDS (MOST_CLITICS + 2)

struct qn_tokens {
    bool lower;
    char *text;
    size_t len, cap, at;
    struct word queue[MOST_WORDS]; /* those of the last run, the next on top */
    int n_queue;
};

struct qn_tokens *qn_tokens_new(bool lower)
{
    struct qn_tokens *t = qn_xcalloc(1, sizeof *t);
    t->lower = lower;
    return t;
}

void qn_tokens_free(struct qn_tokens *t)
{
    if (t != NULL) {
        free(t->text);
        free(t);
    }
}

/* Does text[0..len) begin with s? */
static bool begins(const char *text, size_t len, const char *s)
{
    size_t n = strlen(s);
    return n <= len && memcmp(text, s, n) == 0;
}

/* Bytes of what people write for an apostrophe: U+2019, the acute accent, and
 * U+0092, which is byte 0x92 of Windows-1252 read as Latin-1. */
static size_t apostrophe_len(const char *text, size_t len)
{
    if (begins(text, len, "\xe2\x80\x99")) {
        return 3;
    }
    return begins(text, len, "\xc2\xb4") || begins(text, len, "\xc2\x92") ? 2
                                                                          : 0;
}

void qn_tokens_start(struct qn_tokens *t, const char *text, size_t len)
{
    if (len > t->cap) {
        t->text = qn_xrealloc(t->text, len, 1);
        t->cap = len;
    }
    t->len = t->at = 0;
    t->n_queue = 0;
    for (size_t i = 0; i < len;) {
        size_t n = apostrophe_len(text + i, len - i);
        t->text[t->len++] = n > 0 ? '\'' : text[i];
        i += n > 0 ? n : 1;
    }
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Are the n bytes at text the same as s but for the case of ASCII letters? */
static bool same(const char *text, size_t n, const char *s)
{
    size_t i = 0;
    while (i < n && s[i] != '\0' && lower(text[i]) == lower(s[i])) {
        i++;
    }
    return i == n && s[i] == '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return lower(c) >= 'a' && lower(c) <= 'z';
}

/* Bytes of the white space at text: ASCII's, no-break space, those from U+2000
 * to U+200A, the separators of lines and paragraphs, the ideographic space, and
 * the byte order mark, which is none but begins many a text. */
static size_t blank_len(const char *text, size_t len)
{
    if (*text == ' ' || (*text >= '\t' && *text <= '\r')) {
        return 1;
    }
    if (begins(text, len, "\xc2\xa0")) {
        return 2;
    }
    if (begins(text, len, "\xe2\x80") && len > 2) {
        unsigned char last = (unsigned char)text[2];
        bool space = last >= 0x80 && last <= 0x8a;
        return space || last == 0xa8 || last == 0xa9 ? 3 : 0;
    }
    bool other = begins(text, len, "\xe3\x80\x80") ||
                 begins(text, len, QN_BYTE_ORDER_MARK);
    return other ? 3 : 0;
}

/* Bytes of the HTML line break at text: <br>, <br/>, <br />. */
static size_t break_len(const char *text, size_t len)
{
    static const char *const forms[] = {"<br>", "<br/>", "<br />"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        size_t n = strlen(forms[i]);
        if (n <= len && same(text, n, forms[i])) {
            return n;
        }
    }
    return 0;
}

/* Bytes at 'at' that part words and are none; 0 when there are none. */
static size_t gap_len(const struct qn_tokens *t, size_t at)
{
    const char *text = t->text + at;
    return *text == '<' ? break_len(text, t->len - at)
                        : blank_len(text, t->len - at);
}

/* Words that keep their full stop, without it. None of them is common at the
 * end of a sentence but "etc". */
static const char *const abbreviations[] = {
    "adj",  "approx", "apr",  "assn", "assoc", "asst", "aug", "ave",
    "blvd", "bros",   "capt", "cf",   "cmdr",  "co",   "col", "corp",
    "dec",  "dept",   "dr",   "esq",  "est",   "etc",  "feb", "fig",
    "gen",  "gov",    "hon",  "inc",  "jan",   "jr",   "lt",  "ltd",
    "maj",  "messrs", "mlle", "mme",  "mr",    "mrs",  "ms",  "mt",
    "nov",  "oct",    "ph.d", "prof", "rep",   "rev",  "sen", "sept",
    "sgt",  "sr",     "st",   "supt", "univ",  "vol",  "vs",
};

/* "U.S", "e.g", "J": letters parted by stops. A single small letter is none,
 * nor is the word I. */
static bool is_initials(const char *word, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (i % 2 == 0 ? !is_letter(word[i]) : word[i] != '.') {
            return false;
        }
    }
    return len == 1 ? *word >= 'A' && *word <= 'Z' && *word != 'I'
                    : len % 2 == 1;
}

static bool keeps_its_stop(const char *word, size_t len)
{
    if (is_initials(word, len)) {
        return true;
    }
    size_t n = sizeof abbreviations / sizeof *abbreviations;
    for (size_t i = 0; i < n; i++) {
        if (same(word, len, abbreviations[i])) {
            return true;
        }
    }
    return false;
}

/* Closing quotes and brackets, which may stand between a stop and the end. */
static size_t closer_len(const char *text, size_t len)
{
    if (memchr("])}>\"'", *text, 6) != NULL) {
        return 1;
    }
    if (begins(text, len, "\xe2\x80\x9d")) {
        return 3;
    }
    return begins(text, len, "\xc2\x94") ? 2 : 0;
}

/* Does the full stop at 'at', of the word from 'start' on, end a sentence? */
static bool ends_sentence(const struct qn_tokens *t, size_t start, size_t at)
{
    size_t next = at + 1;
    while (next < t->len && gap_len(t, next) == 0) {
        size_t n = closer_len(t->text + next, t->len - next);
        if (n == 0) {
            return false;
        }
        next += n;
    }
    return !keeps_its_stop(t->text + start, at - start);
}

static size_t run_of(const struct qn_tokens *t, size_t at, char c)
{
    size_t n = 0;
    while (at + n < t->len && t->text[at + n] == c) {
        n++;
    }
    return n;
}

/* Bytes of the mark at 'at', 0 when there is none. 'start' is where the run
 * began that it would end. */
static size_t ascii_mark_len(const struct qn_tokens *t, size_t start, size_t at)
{
    size_t left = t->len - at;
    size_t n;
    switch (t->text[at]) {
    case ';':
    case '@':
    case '#':
    case '$':
    case '%':
    case '&':
    case '?':
    case '!':
    case '(':
    case ')':
    case '[':
    case ']':
    case '{':
    case '}':
    case '<':
    case '>':
    case '"':
        return 1;
    case ',':
    case ':': /* 1,000 and 10:30 stay whole */
        return left > 1 && is_digit(t->text[at + 1]) ? 0 : 1;
    case '-':
    case '`':
    case '\'':
        return left > 1 && t->text[at + 1] == t->text[at] ? 2 : 0;
    case '.':
        n = run_of(t, at, '.');
        return n > 1 || ends_sentence(t, start, at) ? n : 0;
    default:
        return 0;
    }
}

/* The marks of typesetters and how the treebank writes them. Those of two bytes
 * are Windows-1252's read as Latin-1: IMDb's reviews have many. */
static const struct {
    const char *mark, *word;
} typeset[] = {
    {"\xe2\x80\x9c", "``"},  /* left double quote */
    {"\xe2\x80\x9d", "''"},  /* right double quote */
    {"\xe2\x80\x98", "`"},   /* left single quote */
    {"\xe2\x80\xa6", "..."}, /* ellipsis */
    {"\xe2\x80\x93", "--"},  /* en dash */
    {"\xe2\x80\x94", "--"},  /* em dash */
    {"\xc2\x93", "``"},      {"\xc2\x94", "''"}, {"\xc2\x91", "`"},
    {"\xc2\x85", "..."},     {"\xc2\x96", "--"}, {"\xc2\x97", "--"},
};
#define N_TYPESET ((int)(sizeof typeset / sizeof *typeset))

static int find_typeset(const struct qn_tokens *t, size_t at)
{
    if (t->text[at] != '\xe2' && t->text[at] != '\xc2') {
        return -1;
    }
    for (int i = 0; i < N_TYPESET; i++) {
        if (begins(t->text + at, t->len - at, typeset[i].mark)) {
            return i;
        }
    }
    return -1;
}

static size_t mark_len(const struct qn_tokens *t, size_t start, size_t at)
{
    int i = find_typeset(t, at);
    return i >= 0 ? strlen(typeset[i].mark) : ascii_mark_len(t, start, at);
}

/* Does a double quote at 'at' open? After white space or a bracket it does. */
static bool opens(const struct qn_tokens *t, size_t at)
{
    if (at == 0 || memchr("([{<", t->text[at - 1], 4) != NULL) {
        return true;
    }
    /* The white space before 'at' has one of these lengths, a break up to 6. */
    for (size_t n = 1; n <= 6 && n <= at; n++) {
        if (gap_len(t, at - n) == n) {
            return true;
        }
    }
    return false;
}

/* The mark of n bytes at 'at' as the treebank writes it. */
static struct word spell_mark(const struct qn_tokens *t, size_t at, size_t n)
{
    const char *text = t->text + at;
    int i = find_typeset(t, at);
    if (i >= 0) {
        return (struct word){typeset[i].word, strlen(typeset[i].word)};
    }
    if (*text == '"' || *text == '\'') {
        return (struct word){opens(t, at) ? "``" : "''", 2};
    }
    return (struct word){text, n};
}

/* Bytes of the clitic that ends a run: "'s", "n't", a lone apostrophe. What is
 * before it must be something. */
static size_t clitic_len(struct word run)
{
    static const char *const clitics[] = {"'",   "'s",  "'m",  "'d",
                                          "'ll", "'re", "'ve", "n't"};
    for (size_t i = 0; i < sizeof clitics / sizeof *clitics; i++) {
        size_t n = strlen(clitics[i]);
        if (n < run.len && same(run.text + run.len - n, n, clitics[i])) {
            return n;
        }
    }
    return 0;
}

/* Bytes of the first half of a word that the treebank writes as two. */
static size_t half_len(struct word run)
{
    static const struct {
        const char *whole;
        size_t half;
    } pairs[] = {
        {"cannot", 3}, {"d'ye", 1},   {"gimme", 3}, {"gonna", 3}, {"gotta", 3},
        {"lemme", 3},  {"more'n", 4}, {"wanna", 3}, {"'tis", 2},  {"'twas", 2},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (same(run.text, run.len, pairs[i].whole)) {
            return pairs[i].half;
        }
    }
    return 0;
}

static void push(struct qn_tokens *t, struct word w)
{
    t->queue[t->n_queue++] = w;
}

/* Queue the words of a run, the last one first. */
static void split_run(struct qn_tokens *t, struct word run)
{
    for (int i = 0; i < MOST_CLITICS; i++) {
        size_t n = clitic_len(run);
        if (n == 0) {
            break;
        }
        run.len -= n;
        push(t, (struct word){run.text + run.len, n});
    }
    size_t half = half_len(run);
    if (half > 0) {
        push(t, (struct word){run.text + half, run.len - half});
        run.len = half;
    }
    push(t, run);
}

static size_t run_end(const struct qn_tokens *t, size_t start)
{
    size_t at = start;
    while (at < t->len && gap_len(t, at) == 0 && mark_len(t, start, at) == 0) {
        at++;
    }
    return at;
}

static void skip_gaps(struct qn_tokens *t)
{
    while (t->at < t->len) {
        size_t n = gap_len(t, t->at);
        if (n == 0) {
            return;
        }
        t->at += n;
    }
}

/* Queue what stands at t->at, which is no gap. */
static void take(struct qn_tokens *t)
{
    size_t start = t->at;
    size_t n = mark_len(t, start, start);
    if (n > 0) {
        t->at += n;
        push(t, spell_mark(t, start, n));
        return;
    }
    t->at = run_end(t, start);
    char *run = t->text + start;
    size_t len = t->at - start;
    for (size_t i = 0; t->lower && i < len; i++) {
        run[i] = lower(run[i]);
    }
    split_run(t, (struct word){run, len});
}

bool qn_tokens_next(struct qn_tokens *t, const char **word, size_t *len)
{
    if (t->n_queue == 0) {
        skip_gaps(t);
        if (t->at == t->len) {
            return false;
        }
        take(t);
    }
    struct word w = t->queue[--t->n_queue];
    *word = w.text;
    *len = w.len;
    return true;
}
