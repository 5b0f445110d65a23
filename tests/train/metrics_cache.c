/* metrics_cache.c - with a cache or without one, a history is the same. */
#include "metrics_text.h"

#include "train/metrics_cache.h"
#include "train/metrics_fill.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHE "metrics.cache"
#define LINES "metrics.jsonl"

/* Replace what a file holds; nothing need survive a crash here. */
static void put_bytes(const char *folder, const char *name, const char *text,
                      size_t len)
{
    char *path = qn_path_join(folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_true(len == 0 || fwrite(text, 1, len, f) == len);
    assert_int_equal(fclose(f), 0);
    free(path);
}

static struct qn_bytes get_bytes(const char *folder, const char *name)
{
    char *path = qn_path_join(folder, name);
    struct qn_bytes bytes;
    assert_int_equal(qn_file_read(path, &bytes, NULL), QN_OK);
    free(path);
    return bytes;
}

/* What the folder's lines say by way of its cache, or without one. */
static void check_history(const char *folder, const struct qn_str *text)
{
    struct qn_metrics a, b;
    put_bytes(folder, LINES, text->text, text->len);
    assert_int_equal(qn_metrics_read(folder, &a, NULL), QN_OK);
    assert_int_equal(qn_metrics_parse(text->text, text->len, &b, NULL), QN_OK);
    assert_same_metrics(&a, &b);
    qn_metrics_free(&a);
    qn_metrics_free(&b);
}

/* A cache of the text's whole lines, which become metrics.jsonl. */
static void make_cache(const char *folder, const struct qn_str *text)
{
    struct qn_metrics_fill f = {.lines = 0};
    size_t used;
    put_bytes(folder, LINES, text->text, text->len);
    char *path = qn_path_join(folder, LINES);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(
        qn_metrics_fill_add(&f, text->text, text->len, &used, NULL), QN_OK);
    qn_metrics_fill_end(&f);
    struct qn_metrics_prefix prefix = {
        .len = f.len, .lines = f.lines, .segments = f.segments};
    qn_metrics_cache_save(folder, fd, prefix, &f.m);
    (void)close(fd);
    free(path);
    qn_metrics_fill_free(&f);
}

/* Whether the cache in the folder is believed. */
static bool is_believed(const char *folder)
{
    struct qn_metrics_prefix prefix;
    struct qn_metrics m;
    char *path = qn_path_join(folder, LINES);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    bool is = qn_metrics_cache_load(folder, fd, &prefix, &m);
    if (is) {
        qn_metrics_free(&m);
    }
    (void)close(fd);
    free(path);
    return is;
}

/* Torn tails, growth and resumes behind the cache, a torn line repaired. */
static void histories_are_the_same_with_a_cache(void **state)
{
    const char *folder = *state;
    for (uint64_t seed = 1; seed <= 25; seed++) {
        struct history h = {.seed = seed << 40};
        add_lines(&h, (int)draw(&h, 150));
        size_t whole = h.text.len;
        add_torn(&h);
        make_cache(folder, &h.text);
        assert_true(is_believed(folder));
        check_history(folder, &h.text);
        h.text.len = whole; /* as a resume repairs it */
        h.text.text[whole] = '\0';
        check_history(folder, &h.text);
        for (int i = 0; i < 4; i++) {
            add_lines(&h, (int)draw(&h, 40));
            check_history(folder, &h.text);
        }
        assert_true(is_believed(folder));
        qn_str_free(&h.text);
    }
}

static void a_resume_behind_the_cache_cuts_into_it(void **state)
{
    const char *folder = *state;
    struct history h = {.seed = 3};
    struct qn_metrics m;
    for (int i = 0; i < 50; i++) {
        add_step(&h, false);
    }
    make_cache(folder, &h.text);
    qn_str_add(&h.text, "{\"segment\":2,\"from\":30}\n");
    h.step = 30;
    add_step(&h, false);
    check_history(folder, &h.text);
    assert_int_equal(qn_metrics_read(folder, &m, NULL), QN_OK);
    assert_int_equal(m.n_steps, 31);
    assert_true(m.step[29].step == 30 && m.step[29].segment == 1);
    assert_true(m.step[30].step == 31 && m.step[30].segment == 2);
    qn_metrics_free(&m);
    qn_str_free(&h.text);
}

static void a_line_damaged_behind_the_cache_has_its_number(void **state)
{
    const char *folder = *state;
    struct history h = {.seed = 4};
    struct qn_metrics m;
    struct qn_err err = {""};
    add_lines(&h, 20);
    make_cache(folder, &h.text);
    qn_str_add(&h.text, "{}\n{]\n");
    put_bytes(folder, LINES, h.text.text, h.text.len);
    assert_int_equal(qn_metrics_read(folder, &m, &err), QN_EFORMAT);
    assert_non_null(strstr(err.text, "metrics.jsonl: line 22 is no JSON"));
    qn_str_free(&h.text);
}

/* The lines say other numbers than the cache, so that it shows which of them
 * was read; the ends of the file are as they were. */
static void the_cache_is_what_is_read(void **state)
{
    const char *folder = *state;
    struct history h = {.seed = 5};
    struct qn_metrics m;
    while (h.text.len < 20000) {
        add_step(&h, false);
    }
    make_cache(folder, &h.text);
    char *middle = strstr(h.text.text + 10000, "\"step\":");
    memcpy(middle, "\"stop\":", 7);
    put_bytes(folder, LINES, h.text.text, h.text.len);
    assert_int_equal(qn_metrics_read(folder, &m, NULL), QN_OK);
    assert_int_equal(m.n_steps, h.step);
    qn_metrics_free(&m);
    qn_str_free(&h.text);
}

/* Of the same length and of another, in all ways that the ends show. */
static void another_file_is_not_mistaken_for_the_cached_one(void **state)
{
    const char *folder = *state;
    struct history h = {.seed = 6};
    while (h.text.len < 20000) {
        add_step(&h, false);
    }
    make_cache(folder, &h.text);
    const size_t places[] = {
        0, 1, 100, 4095, h.text.len - 4096, h.text.len - 40, h.text.len - 1};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char was = h.text.text[places[i]];
        h.text.text[places[i]] = was == '7' ? '8' : '7';
        put_bytes(folder, LINES, h.text.text, h.text.len);
        assert_false(is_believed(folder));
        h.text.text[places[i]] = was;
    }
    put_bytes(folder, LINES, h.text.text, h.text.len - 1);
    assert_false(is_believed(folder));
    put_bytes(folder, LINES, "", 0);
    assert_false(is_believed(folder));
    put_bytes(folder, LINES, h.text.text, h.text.len);
    assert_true(is_believed(folder));
    h.text.text[0] = '['; /* damage is found, not covered */
    struct qn_metrics m;
    put_bytes(folder, LINES, h.text.text, h.text.len);
    assert_int_equal(qn_metrics_read(folder, &m, NULL), QN_EFORMAT);
    qn_str_free(&h.text);
}

static void no_truncated_or_flipped_cache_is_believed(void **state)
{
    const char *folder = *state;
    struct history h = {.seed = 7};
    struct qn_metrics_prefix prefix;
    struct qn_metrics m;
    add_lines(&h, 40);
    make_cache(folder, &h.text);
    struct qn_bytes b = get_bytes(folder, CACHE);
    assert_true(qn_metrics_cache_parse(b.data, b.len, &prefix, &m));
    qn_metrics_free(&m);
    for (size_t i = 0; i < b.len; i++) {
        char *part = qn_xmalloc(i); /* so that a sanitizer sees its end */
        memcpy(part, b.data, i);
        assert_false(qn_metrics_cache_parse(part, i, &prefix, &m));
        free(part);
        for (int bit = 0; bit < 8; bit++) {
            b.data[i] = (char)(b.data[i] ^ 1 << bit);
            assert_false(qn_metrics_cache_parse(b.data, b.len, &prefix, &m));
            b.data[i] = (char)(b.data[i] ^ 1 << bit);
        }
    }
    /* And one that is not, in place. */
    b.data[b.len / 2] = (char)(b.data[b.len / 2] ^ 1);
    put_bytes(folder, CACHE, b.data, b.len);
    assert_false(is_believed(folder));
    check_history(folder, &h.text);
    qn_bytes_free(&b);
    qn_str_free(&h.text);
}

static void words_that_change_places_are_noticed(void **state)
{
    const char *folder = *state;
    struct history h = {.seed = 8};
    struct qn_metrics_prefix prefix;
    struct qn_metrics m;
    add_lines(&h, 40);
    make_cache(folder, &h.text);
    struct qn_bytes b = get_bytes(folder, CACHE);
    for (size_t i = 9; i + 2 < b.len / 8; i++) {
        uint64_t pair[2], swapped[2];
        memcpy(pair, b.data + 8 * i, sizeof pair);
        swapped[0] = pair[1];
        swapped[1] = pair[0];
        memcpy(b.data + 8 * i, swapped, sizeof pair);
        if (pair[0] != pair[1]) {
            assert_false(qn_metrics_cache_parse(b.data, b.len, &prefix, &m));
        }
        memcpy(b.data + 8 * i, pair, sizeof pair);
    }
    qn_bytes_free(&b);
    qn_str_free(&h.text);
}

static uint64_t word(const struct qn_bytes *b, size_t i)
{
    uint64_t v = 0;
    for (int k = 7; k >= 0; k--) {
        v = v << 8 | (unsigned char)b->data[8 * i + (size_t)k];
    }
    return v;
}

/* As docs/run-format.md says. */
static void the_bytes_are_those_of_the_manual(void **state)
{
    const char *folder = *state;
    static const char lines[] =
        "{\"event\":\"step\",\"step\":5,\"epoch\":0.5,\"loss\":2,\"lr\":0.25,"
        "\"grad_norm\":4,\"tokens_per_s\":8,\"seconds\":1}\n"
        "{\"segment\":2,\"from\":5}\n"
        "{\"event\":\"eval\",\"step\":5,\"split\":\"valid\",\"loss\":1,"
        "\"perplexity\":2,\"predictions\":3,\"seconds\":0.5}\n";
    struct qn_str text = {0};
    qn_str_add(&text, lines);
    make_cache(folder, &text);
    struct qn_bytes b = get_bytes(folder, CACHE);
    assert_int_equal(b.len, 8 * (9 + 9 + 8 + 1));
    assert_memory_equal(b.data, "\x89QNMchc\n", 8);
    static const uint64_t header[] = {1, sizeof lines - 1, 3, 1};
    for (size_t i = 0; i < 4; i++) {
        assert_true(word(&b, 1 + i) == header[i]);
    }
    assert_true(word(&b, 7) == 1 && word(&b, 8) == 1);
    static const uint64_t step[] = {5, 1, 0x3fe0000000000000,
                                    0x4000000000000000};
    for (size_t i = 0; i < 4; i++) {
        assert_true(word(&b, 9 + i) == step[i]);
    }
    static const uint64_t eval[] = {5, 1, 1, 3, 0x3ff0000000000000};
    for (size_t i = 0; i < 5; i++) {
        assert_true(word(&b, 18 + i) == eval[i]);
    }
    assert_true(word(&b, 25) == 0x4000000000000000);
    /* Hashes of the one sample that is both, and of all. */
    uint64_t h =
        qn_mix64(0x9e3779b97f4a7c15u ^ (b.len - 8)) + 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < b.len / 8 - 1; i++) {
        h = qn_mix64(h ^ word(&b, i)) + 0x9e3779b97f4a7c15u;
    }
    h = qn_mix64(h) + 0x9e3779b97f4a7c15u;
    assert_true(word(&b, 5) == word(&b, 6));
    assert_true(word(&b, 26) == h);
    qn_bytes_free(&b);
    qn_str_free(&text);
}

/* More than 4 MB of lines. */
static void add_many(struct history *h, size_t bytes)
{
    size_t end = h->text.len + bytes;
    while (h->text.len < end) {
        add_step(h, false);
    }
}

static void a_long_file_gets_a_cache_and_a_short_one_none(void **state)
{
    const char *folder = *state;
    struct history h = {.seed = 9};
    add_many(&h, (size_t)4 << 19);
    check_history(folder, &h.text);
    check_names(folder, LINES);
    add_many(&h, (size_t)4 << 19);
    check_history(folder, &h.text);
    check_names(folder, CACHE " " LINES);
    struct qn_bytes first = get_bytes(folder, CACHE);
    add_many(&h, 1000);
    check_history(folder, &h.text); /* not worth a new one */
    struct qn_bytes second = get_bytes(folder, CACHE);
    assert_int_equal(first.len, second.len);
    add_many(&h, (size_t)4 << 20);
    check_history(folder, &h.text);
    struct qn_bytes third = get_bytes(folder, CACHE);
    assert_true(third.len > first.len);
    assert_true(is_believed(folder));
    qn_bytes_free(&first);
    qn_bytes_free(&second);
    qn_bytes_free(&third);
    qn_str_free(&h.text);
}

/* A folder of that name stands in the way, as a read-only store would. */
static void a_cache_that_cannot_be_written_harms_nobody(void **state)
{
    const char *folder = *state;
    struct history h = {.seed = 10};
    char *path = qn_path_join(folder, CACHE);
    add_many(&h, (size_t)4 << 20);
    assert_int_equal(qn_make_dirs(path, NULL), QN_OK);
    check_history(folder, &h.text);
    check_names(folder, CACHE " " LINES);
    assert_true(qn_path_is_dir(path));
    assert_int_equal(qn_remove_tree(path, NULL), QN_OK);
    put_bytes(folder, LINES, h.text.text, h.text.len);
    assert_int_equal(chmod(folder, 0500), 0);
    struct qn_metrics m;
    assert_int_equal(qn_metrics_read(folder, &m, NULL), QN_OK);
    assert_int_equal(m.n_steps, h.step);
    qn_metrics_free(&m);
    assert_int_equal(chmod(folder, 0700), 0);
    free(path);
    qn_str_free(&h.text);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, make_scratch, remove_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(histories_are_the_same_with_a_cache),
        CASE(a_resume_behind_the_cache_cuts_into_it),
        CASE(a_line_damaged_behind_the_cache_has_its_number),
        CASE(the_cache_is_what_is_read),
        CASE(another_file_is_not_mistaken_for_the_cached_one),
        CASE(no_truncated_or_flipped_cache_is_believed),
        CASE(words_that_change_places_are_noticed),
        CASE(the_bytes_are_those_of_the_manual),
        CASE(a_long_file_gets_a_cache_and_a_short_one_none),
        CASE(a_cache_that_cannot_be_written_harms_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
