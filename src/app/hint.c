/* hint.c - a command line that a person can copy into a shell. */
#include "app/hint.h"

#include <ctype.h>
#include <string.h>

/* Whether a shell takes c as it is, wherever in a word it stands. */
static bool is_plain(char c)
{
    return isalnum((unsigned char)c) ||
           (c != '\0' && strchr("_-./:@%+,=", c) != NULL) ||
           (unsigned char)c >= 0x80;
}

/* Inside single quotes only such a quote is special. */
void qn_hint_word(struct qn_str *out, const char *word)
{
    size_t plain = 0;
    while (is_plain(word[plain])) {
        plain++;
    }
    if (plain > 0 && word[plain] == '\0') {
        qn_str_addf(out, " %s", word);
        return;
    }
    qn_str_add(out, " '");
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            qn_str_add(out, "'\\''");
        } else {
            qn_str_add_bytes(out, word, 1);
        }
    }
    qn_str_add(out, "'");
}

static void add_option(struct qn_str *out, const char *name, const char *value)
{
    if (value != NULL) {
        qn_hint_word(out, name);
        qn_hint_word(out, value);
    }
}

void qn_hint_resume(struct qn_str *out, const char *store, const char *data,
                    const char *run)
{
    qn_str_add(out, "quern");
    add_option(out, "--store", store);
    add_option(out, "--data", data);
    qn_hint_word(out, "resume");
    qn_hint_word(out, run);
}

void qn_hint_compare(struct qn_str *out, const char *store, const char *then,
                     const char *now)
{
    qn_str_add(out, "quern");
    add_option(out, "--store", store);
    qn_hint_word(out, "compare");
    qn_hint_word(out, then);
    qn_hint_word(out, now);
}
