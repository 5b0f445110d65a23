/* builtin.c - tests of the texts that need no file. */
#include "data/source.h"

#include "base/str.h"
#include "../base/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define VERSES                                                                 \
    "Ge1:1 In the beginning.\\nGe1:2 And.\\nGe1:11 Eleven.\\nGe2:1 Thus.\\n"   \
    "Rev22:21 Amen.\\n"

/* What was logged, in order. */
struct heard {
    int n;
    char last[512];
};

static void hear(void *user, enum qn_log_level level, const char *line)
{
    struct heard *h = user;
    (void)level;
    h->n++;
    (void)snprintf(h->last, sizeof h->last, "%s", line);
}

/* Make the folder the home of everything: caches in it, programs from it. */
static void live_in(const char *folder)
{
    char *cache = qn_path_join(folder, "cache");
    assert_int_equal(setenv("XDG_CACHE_HOME", cache, 1), 0);
    assert_int_equal(setenv("PATH", folder, 1), 0);
    free(cache);
}

/* A command "bible" that runs this line of shell. */
static void make_bible(const char *folder, const char *line)
{
    char *path = qn_path_join(folder, "bible");
    char *script = qn_xasprintf("#!/bin/sh\n%s\n", line);
    assert_int_equal(qn_file_write(path, script, strlen(script), NULL), QN_OK);
    assert_int_equal(chmod(path, 0755), 0);
    free(script);
    free(path);
}

/* Read a built-in text and say where it came from. */
static char *read_text(const char *given, struct heard *heard,
                       struct qn_bytes *text)
{
    char *path = NULL;
    struct qn_log *log = qn_log_new(hear, heard);
    assert_int_equal(qn_source_read(given, NULL, log, text, &path, NULL),
                     QN_OK);
    qn_log_free(log);
    return path;
}

static void check_falls_back(const char *folder)
{
    struct heard heard = {0};
    struct qn_bytes text;
    char *path = read_text("builtin:kjv", &heard, &text);
    assert_string_equal(path, "builtin:grammar");
    assert_int_equal(heard.n, 1);
    assert_string_equal(heard.last,
                        "install bible-kjv and bible-kjv-text for the real "
                        "text (apt install bible-kjv bible-kjv-text)");
    char *cached = qn_path_join(folder, "cache/quern/kjv.txt");
    assert_false(qn_path_exists(cached));
    free(cached);
    free(path);
    qn_bytes_free(&text);
}

static void check_is_bible(int n_heard)
{
    struct heard heard = {0};
    struct qn_bytes text;
    char *path = read_text("builtin:kjv", &heard, &text);
    assert_string_equal(path, "builtin:kjv");
    assert_string_equal(text.data, "In the beginning.\nAnd.\nEleven.\n\n"
                                   "Thus.\nAmen.\n");
    assert_int_equal(heard.n, n_heard);
    free(path);
    qn_bytes_free(&text);
}

static void bible_loses_references_and_parts_chapters(void **state)
{
    live_in(*state);
    make_bible(*state,
               "test \"$*\" = '-f gen1:1-rev22:21' && printf '" VERSES "'");
    check_is_bible(0);
}

static void bible_is_made_once_and_then_cached(void **state)
{
    live_in(*state);
    make_bible(*state, "printf '" VERSES "'");
    check_is_bible(0);
    make_bible(*state, "exit 1");
    check_is_bible(0);
}

static void missing_bible_gives_grammar_and_one_notice(void **state)
{
    live_in(*state);
    check_falls_back(*state);
}

static void failing_bible_gives_grammar(void **state)
{
    live_in(*state);
    make_bible(*state, "printf '" VERSES "'; exit 1");
    check_falls_back(*state);
}

static void half_a_bible_gives_grammar(void **state)
{
    live_in(*state);
    make_bible(*state, "printf 'Ge1:1 In the beginning.\\n'");
    check_falls_back(*state);
    make_bible(*state, "printf 'no verses\\nRev22:21 Amen.\\n'");
    check_falls_back(*state);
    make_bible(*state, "exit 0");
    check_falls_back(*state);
}

static void endless_output_is_cut_off(void **state)
{
    live_in(*state);
    make_bible(*state, "exec /usr/bin/yes Ge1:1");
    check_falls_back(*state);
}

static void a_writer_that_is_cut_off_ends(void **state)
{
    live_in(*state);
    /* As the program does; a child would inherit that. */
    assert_true(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    char *marker = qn_path_join(*state, "went-on");
    char *line = qn_xasprintf("/usr/bin/yes Ge1:1 | /usr/bin/head -c 70000000\n"
                              "echo more\n"
                              "echo > '%s'",
                              marker);
    make_bible(*state, line);
    check_falls_back(*state);
    assert_false(qn_path_exists(marker));
    free(line);
    free(marker);
    assert_true(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
}

static void an_empty_cache_is_made_anew(void **state)
{
    live_in(*state);
    char *folder = qn_path_join(*state, "cache/quern");
    char *path = qn_path_join(folder, "kjv.txt");
    assert_int_equal(qn_make_dirs(folder, NULL), QN_OK);
    assert_int_equal(qn_file_write(path, "", 0, NULL), QN_OK);
    make_bible(*state, "printf '" VERSES "'");
    check_is_bible(0);
    free(path);
    free(folder);
}

static void unwritable_cache_is_a_warning(void **state)
{
    live_in(*state);
    make_bible(*state, "printf '" VERSES "'");
    char *below_a_file = qn_path_join(*state, "bible/cache");
    assert_int_equal(setenv("XDG_CACHE_HOME", below_a_file, 1), 0);
    free(below_a_file);
    check_is_bible(1);
}

static void grammar_is_always_the_same_text(void **state)
{
    (void)state;
    struct qn_bytes text;
    char hash[65];
    qn_grammar_text(&text);
    qn_sha256_hex(text.data, text.len, hash);
    assert_string_equal(
        hash,
        "31e045423a3b9f32ed4ef29217a835cdab3faec2a075b7269e83f83e671e7798");
    qn_bytes_free(&text);
}

static void grammar_is_lines_of_plain_text(void **state)
{
    (void)state;
    struct qn_bytes text;
    qn_grammar_text(&text);
    assert_in_range(text.len, 2000000, 2010000);
    assert_int_equal(strlen(text.data), text.len);
    size_t line = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        assert_true(c == '\n' || (c >= ' ' && c <= '~'));
        assert_true(strchr("<>|", c) == NULL);
        if (c == '\n') {
            assert_true(i - line < 400);
            line = i + 1;
        }
    }
    assert_int_equal(line, text.len);
    qn_bytes_free(&text);
}

static void unknown_builtin_names_those_there_are(void **state)
{
    (void)state;
    struct qn_err err;
    struct qn_bytes text;
    char *path;
    assert_int_equal(
        qn_source_read("builtin:nix", NULL, NULL, &text, &path, &err),
        QN_ENOTFOUND);
    assert_string_equal(err.text, "builtin:nix: no such built-in text; there "
                                  "are builtin:kjv and builtin:grammar");
}

#define IN_SCRATCH(test)                                                       \
    cmocka_unit_test_setup_teardown(test, make_scratch, remove_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(bible_loses_references_and_parts_chapters),
        IN_SCRATCH(bible_is_made_once_and_then_cached),
        IN_SCRATCH(missing_bible_gives_grammar_and_one_notice),
        IN_SCRATCH(failing_bible_gives_grammar),
        IN_SCRATCH(half_a_bible_gives_grammar),
        IN_SCRATCH(endless_output_is_cut_off),
        IN_SCRATCH(a_writer_that_is_cut_off_ends),
        IN_SCRATCH(an_empty_cache_is_made_anew),
        IN_SCRATCH(unwritable_cache_is_a_warning),
        cmocka_unit_test(grammar_is_always_the_same_text),
        cmocka_unit_test(grammar_is_lines_of_plain_text),
        cmocka_unit_test(unknown_builtin_names_those_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
