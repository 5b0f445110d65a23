/* keys.c - tests of the key table: what it says is what it does. */
#include "tui/keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const enum qn_key_code plain[] = {
    QN_KEY_ESC,       QN_KEY_UP,     QN_KEY_DOWN,  QN_KEY_LEFT,
    QN_KEY_RIGHT,     QN_KEY_HOME,   QN_KEY_END,   QN_KEY_PAGE_UP,
    QN_KEY_PAGE_DOWN, QN_KEY_DELETE, QN_KEY_PASTE, QN_KEY_OTHER};
#define N_PLAIN ((int)(sizeof plain / sizeof *plain))
#define N_CHARS 128
/* Characters without and with Alt, function keys, the rest. */
#define N_KEYS (2 * N_CHARS + 12 + N_PLAIN)

static struct qn_key key_at(int i)
{
    if (i < 2 * N_CHARS)
        return (struct qn_key){.code = QN_KEY_CHAR,
                               .ch = (uint32_t)(i % N_CHARS),
                               .alt = i >= N_CHARS};
    i -= 2 * N_CHARS;
    if (i < 12)
        return (struct qn_key){.code = (enum qn_key_code)(QN_KEY_F1 + i)};
    return (struct qn_key){.code = plain[i - 12]};
}

/* The name that help gives a key, as far as the table has such keys. */
static void name_of(const struct qn_key *key, struct qn_str *out)
{
    static const char *const names[] = {
        [QN_KEY_ESC] = "Esc",      [QN_KEY_UP] = "Up",
        [QN_KEY_DOWN] = "Down",    [QN_KEY_END] = "End",
        [QN_KEY_PAGE_UP] = "PgUp", [QN_KEY_PAGE_DOWN] = "PgDn",
        [QN_KEY_OTHER] = NULL};
    if (key->code >= QN_KEY_F1 && key->code <= QN_KEY_F12)
        qn_str_addf(out, "F%d", (int)key->code - QN_KEY_F1 + 1);
    else if (key->code != QN_KEY_CHAR)
        qn_str_add(out, names[key->code] ? names[key->code] : "none");
    else if (key->ch == '\t')
        qn_str_add(out, "Tab");
    else if (key->ch == '\r')
        qn_str_add(out, "Enter");
    else if (key->ch < 0x20)
        qn_str_addf(out, "Ctrl-%c", (char)(key->ch + '@'));
    else
        qn_str_addf(out, "%s%c", key->alt ? "Alt-" : "", (char)key->ch);
}

/* Whether this is a word of "F9 x". */
static bool is_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = strstr(words, word); p; p = strstr(p + 1, word)) {
        bool begins = p == words || p[-1] == ' ';
        if (begins && (p[n] == ' ' || p[n] == '\0'))
            return true;
    }
    return false;
}

/* How many rows of the help name this key. */
static int rows_that_name(const char *name)
{
    int n = 0;
    for (int i = 0; i < qn_keys_n(); i++) {
        struct qn_str keys = {0};
        const char *help;
        qn_keys_help(i, &keys, &help);
        n += is_word(keys.text, name);
        qn_str_free(&keys);
    }
    return n;
}

/* A name in two rows would be one key for two actions. */
static void every_key_that_acts_stands_in_one_row_of_the_help(void **state)
{
    (void)state;
    int acting = 0;
    for (int i = 0; i < N_KEYS; i++) {
        struct qn_key key = key_at(i);
        bool acts = qn_keys_find(&key, true) != QN_ACT_NONE ||
                    qn_keys_find(&key, false) != QN_ACT_NONE;
        struct qn_str name = {0};
        name_of(&key, &name);
        if (key.alt && (key.ch == '\t' || key.ch < 0x20))
            assert_false(acts); /* such keys have no name */
        else
            assert_int_equal(rows_that_name(name.text), acts);
        acting += acts;
        qn_str_free(&name);
    }
    int named = 0;
    for (int i = 0; i < qn_keys_n(); i++) {
        struct qn_str keys = {0};
        const char *help;
        qn_keys_help(i, &keys, &help);
        for (const char *p = keys.text; *p; p++)
            named += *p == ' ';
        named++;
        qn_str_free(&keys);
    }
    assert_int_equal(named, acting);
}

static void every_action_has_a_key_and_one_row_of_help(void **state)
{
    (void)state;
    int n = 0;
    for (int action = QN_ACT_NONE + 1; action <= QN_ACT_QUIT; action++) {
        bool found = false;
        for (int i = 0; i < N_KEYS && !found; i++) {
            struct qn_key key = key_at(i);
            found = (int)qn_keys_find(&key, false) == action;
        }
        assert_true(found);
        n++;
    }
    assert_int_equal(qn_keys_n(), n);
    for (int i = 0; i < n; i++) {
        struct qn_str keys = {0};
        const char *help = NULL;
        qn_keys_help(i, &keys, &help);
        assert_true(keys.len > 0);
        assert_true(strlen(help) > 0);
        qn_str_free(&keys);
    }
}

/* The prompt keeps what a person types. */
static void characters_act_only_in_panes_or_with_alt_or_control(void **state)
{
    (void)state;
    for (uint32_t ch = 0x20; ch < N_CHARS; ch++) {
        struct qn_key key = {.code = QN_KEY_CHAR, .ch = ch};
        assert_int_equal(qn_keys_find(&key, true), QN_ACT_NONE);
    }
    static const char editing[] = "\r\t\b\001\003\004\005\013\022\025\027\031";
    for (const char *c = editing; *c; c++) {
        struct qn_key key = {.code = QN_KEY_CHAR, .ch = (uint32_t)*c};
        assert_int_equal(qn_keys_find(&key, true), QN_ACT_NONE);
    }
}

static void hints_name_keys_that_act(void **state)
{
    (void)state;
    for (int in_prompt = 0; in_prompt < 2; in_prompt++) {
        const struct qn_hint *h = qn_keys_hints(in_prompt == 1);
        int of_classifiers = 0;
        assert_non_null(h->key);
        for (; h->key; h++) {
            /* "Up Down", "s S": each word; Readline's own and ^C apart. */
            bool readline = in_prompt == 1 && strstr("Tab ^C ^D", h->key);
            struct qn_str name = {0};
            qn_str_add_bytes(&name, h->key, strcspn(h->key, " "));
            assert_true(readline || rows_that_name(name.text) == 1);
            assert_true(strlen(h->label) > 0);
            of_classifiers += h->of_classifiers;
            assert_int_equal(h->if_paused != NULL,
                             strcmp(h->label, "pause") == 0);
            qn_str_free(&name);
        }
        assert_int_equal(of_classifiers, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_that_acts_stands_in_one_row_of_the_help),
        cmocka_unit_test(every_action_has_a_key_and_one_row_of_help),
        cmocka_unit_test(characters_act_only_in_panes_or_with_alt_or_control),
        cmocka_unit_test(hints_name_keys_that_act),
    };
    return cmocka_run_group_tests_name("keys", tests, NULL, NULL);
}
