/* input.c - tests of the decoder: whatever arrives, in whatever pieces. */
#include "tui/input.h"

#include "base/mem.h"
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Keys as text ("code:ch:alt:length;"), and all their bytes. */
struct heard {
    struct qn_str keys, bytes;
    struct qn_input *in;
    const char *more; /* fed from inside the first key; NULL = nothing */
};

static void on_key(void *user, const struct qn_key *key)
{
    struct heard *h = user;
    qn_str_addf(&h->keys, "%d:%x:%d:%zu;", (int)key->code, (unsigned)key->ch,
                key->alt, key->len);
    qn_str_add_bytes(&h->bytes, key->bytes, key->len);
    const char *more = h->more;
    h->more = NULL;
    if (more)
        qn_input_feed(h->in, more, strlen(more));
}

static struct heard *listen(void)
{
    struct heard *h = qn_xcalloc(1, sizeof *h);
    h->in = qn_input_new(on_key, h);
    qn_str_add(&h->keys, "");
    qn_str_add(&h->bytes, "");
    return h;
}

static void forget(struct heard *h)
{
    qn_input_free(h->in);
    qn_str_free(&h->keys);
    qn_str_free(&h->bytes);
    free(h);
}

static void hear(struct heard *h, const char *bytes)
{
    qn_input_feed(h->in, bytes, strlen(bytes));
}

static void add_key(struct qn_str *s, int code, unsigned ch, bool alt,
                    size_t len)
{
    qn_str_addf(s, "%d:%x:%d:%zu;", code, ch, alt, len);
}

#define PASTED "paste\r\033[Aé"

static const struct sample {
    const char *bytes;
    enum qn_key_code code;
    uint32_t ch;
    bool alt;
    size_t len; /* of what the key carries; 0 = all bytes */
} samples[] = {
    {"a", QN_KEY_CHAR, 'a', false, 0},
    {"\r", QN_KEY_CHAR, '\r', false, 0},
    {"\177", QN_KEY_CHAR, 0x7f, false, 0},
    {"é", QN_KEY_CHAR, 0xe9, false, 0},
    {"日", QN_KEY_CHAR, 0x65e5, false, 0},
    {"😀", QN_KEY_CHAR, 0x1f600, false, 0},
    {"\033x", QN_KEY_CHAR, 'x', true, 0},
    {"\033é", QN_KEY_CHAR, 0xe9, true, 0},
    {"\033\r", QN_KEY_CHAR, '\r', true, 0},
    {"\033[A", QN_KEY_UP, 0, false, 0},
    {"\033OB", QN_KEY_DOWN, 0, false, 0},
    {"\033[C", QN_KEY_RIGHT, 0, false, 0},
    {"\033OD", QN_KEY_LEFT, 0, false, 0},
    {"\033[H", QN_KEY_HOME, 0, false, 0},
    {"\033[7~", QN_KEY_HOME, 0, false, 0},
    {"\033[4~", QN_KEY_END, 0, false, 0},
    {"\033[3~", QN_KEY_DELETE, 0, false, 0},
    {"\033[5~", QN_KEY_PAGE_UP, 0, false, 0},
    {"\033[6~", QN_KEY_PAGE_DOWN, 0, false, 0},
    {"\033OP", QN_KEY_F1, 0, false, 0},
    {"\033[[A", QN_KEY_F1, 0, false, 0},
    {"\033[11~", QN_KEY_F1, 0, false, 0},
    {"\033[[E", QN_KEY_F1 + 4, 0, false, 0},
    {"\033[15~", QN_KEY_F1 + 4, 0, false, 0},
    {"\033[20~", QN_KEY_F1 + 8, 0, false, 0},
    {"\033[24~", QN_KEY_F12, 0, false, 0},
    {"\033[1;5C", QN_KEY_OTHER, 0, false, 0},
    {"\033[<35;10;20M", QN_KEY_OTHER, 0, false, 0},
    {"\033[200~" PASTED "\033[201~", QN_KEY_PASTE, 0, false, sizeof PASTED - 1},
};
#define N_SAMPLES (sizeof samples / sizeof *samples)

static void expect(struct qn_str *s, const struct sample *k)
{
    add_key(s, (int)k->code, (unsigned)k->ch, k->alt,
            k->len > 0 ? k->len : strlen(k->bytes));
}

/* Everything in a row, so that each key has a neighbour. */
static void keys_do_not_depend_on_where_the_bytes_were_cut(void **state)
{
    (void)state;
    struct qn_str all = {0}, wanted = {0};
    for (size_t i = 0; i < N_SAMPLES; i++) {
        qn_str_add(&all, samples[i].bytes);
        expect(&wanted, &samples[i]);
    }
    for (size_t cut = 0; cut <= all.len; cut++) {
        struct heard *h = listen();
        qn_input_feed(h->in, all.text, cut);
        qn_input_feed(h->in, all.text + cut, all.len - cut);
        assert_string_equal(h->keys.text, wanted.text);
        assert_int_equal(qn_input_patience_ms(h->in), 0);
        forget(h);
    }
    struct heard *h = listen();
    for (size_t i = 0; i < all.len; i++)
        qn_input_feed(h->in, all.text + i, 1);
    assert_string_equal(h->keys.text, wanted.text);
    forget(h);
    qn_str_free(&all);
    qn_str_free(&wanted);
}

static void keys_carry_the_bytes_they_were_made_of(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SAMPLES; i++) {
        struct heard *h = listen();
        hear(h, samples[i].bytes);
        assert_string_equal(h->bytes.text, samples[i].code == QN_KEY_PASTE
                                               ? PASTED
                                               : samples[i].bytes);
        forget(h);
    }
}

/* A cut sequence, and what it is when nothing more comes. */
static void what_is_held_back_comes_out_by_the_clock(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        enum qn_key_code code;
        uint32_t ch;
        bool alt;
    } held[] = {
        {"\033", QN_KEY_ESC, 0, false},
        {"\033[", QN_KEY_CHAR, '[', true},
        {"\033O", QN_KEY_CHAR, 'O', true},
        {"\303", QN_KEY_CHAR, 0xc3, false},
        {"\033\303", QN_KEY_CHAR, 0xc3, true},
    };
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
        struct heard *h = listen();
        struct qn_str wanted = {0};
        add_key(&wanted, (int)held[i].code, (unsigned)held[i].ch, held[i].alt,
                strlen(held[i].bytes));
        hear(h, held[i].bytes);
        assert_string_equal(h->keys.text, "");
        assert_true(qn_input_patience_ms(h->in) > 0);
        qn_input_flush(h->in);
        assert_string_equal(h->keys.text, wanted.text);
        assert_int_equal(qn_input_patience_ms(h->in), 0);
        qn_str_free(&wanted);
        forget(h);
    }
}

static void escape_twice_is_one_at_once_and_one_that_waits(void **state)
{
    (void)state;
    struct heard *h = listen();
    struct qn_str wanted = {0};
    add_key(&wanted, QN_KEY_ESC, 0, false, 1);
    hear(h, "\033\033");
    assert_string_equal(h->keys.text, wanted.text);
    add_key(&wanted, QN_KEY_UP, 0, false, 3);
    hear(h, "[A");
    assert_string_equal(h->keys.text, wanted.text);
    qn_str_free(&wanted);
    forget(h);
}

/* Alt-[ and then a key: the key is not taken for the sequence's end. */
static void a_broken_sequence_leaves_the_key_behind_it_whole(void **state)
{
    (void)state;
    static const char *const broken[] = {"\033[", "\033O", "\033[1;"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        for (int key = 0; key < 2; key++) {
            struct heard *h = listen();
            struct qn_str wanted = {0};
            hear(h, broken[i]);
            hear(h, key == 0 ? "\033[A" : "é");
            add_key(&wanted, QN_KEY_OTHER, 0, false, strlen(broken[i]));
            if (key == 0)
                add_key(&wanted, QN_KEY_UP, 0, false, 3);
            else
                add_key(&wanted, QN_KEY_CHAR, 0xe9, false, 2);
            assert_string_equal(h->keys.text, wanted.text);
            qn_str_free(&wanted);
            forget(h);
        }
    }
}

/* A slow line cuts a paste anywhere: its rest must not be taken for keys. */
static void a_paste_is_waited_for_longer_than_an_escape(void **state)
{
    (void)state;
    struct heard *h = listen();
    assert_int_equal(qn_input_patience_ms(h->in), 0);
    hear(h, "\033");
    int escape = qn_input_patience_ms(h->in);
    assert_in_range(escape, 1, 100);
    hear(h, "[200~one\r");
    assert_true(qn_input_patience_ms(h->in) > 0);
    assert_true(qn_input_patience_ms(h->in) >= 10 * escape);
    assert_string_equal(h->keys.text, "");
    hear(h, "two\r\033[201~");
    assert_int_equal(qn_input_patience_ms(h->in), 0);
    assert_string_equal(h->bytes.text, "one\rtwo\r");
    forget(h);
}

static void an_unfinished_paste_is_handed_on_as_far_as_it_came(void **state)
{
    (void)state;
    struct heard *h = listen();
    struct qn_str wanted = {0};
    hear(h, "\033[200~one\r\033[20");
    qn_input_flush(h->in);
    add_key(&wanted, QN_KEY_PASTE, 0, false, 8);
    assert_string_equal(h->keys.text, wanted.text);
    assert_string_equal(h->bytes.text, "one\r\033[20");
    hear(h, "x");
    add_key(&wanted, QN_KEY_CHAR, 'x', false, 1);
    assert_string_equal(h->keys.text, wanted.text);
    qn_str_free(&wanted);
    forget(h);
}

static void a_receiver_may_feed_more_from_inside_a_key(void **state)
{
    (void)state;
    static const char *const first[] = {"a", "\033[200~p\033[201~", "\033[A"};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        struct heard *h = listen();
        h->more = "\033[B";
        hear(h, first[i]);
        hear(h, "z");
        size_t n = h->bytes.len;
        assert_true(n > 4);
        assert_string_equal(h->bytes.text + n - 4, "\033[Bz");
        assert_int_equal(qn_input_patience_ms(h->in), 0);
        forget(h);
    }
}

/* Bytes that often belong to sequences, so that many begin and few end. */
static char random_byte(uint64_t r)
{
    static const char likely[] = "\033\033\033[[O~0120;AP\303\251\345\360";
    return r % 3 > 0 ? likely[(r >> 8) % (sizeof likely - 1)]
                     : (char)(1 + (r >> 8) % 255);
}

/* Outside pastes every byte comes out again, in order. */
static void random_bytes_come_out_as_they_went_in(void **state)
{
    (void)state;
    uint64_t seed = 20;
    for (int round = 0; round < 300; round++) {
        struct heard *h = listen();
        struct qn_str fed = {0};
        for (int i = 0; i < 200; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            char byte = random_byte(seed >> 16);
            if (strstr(fed.text ? fed.text : "", "\033[200") && byte == '~')
                byte = 'x';
            qn_str_add_bytes(&fed, &byte, 1);
            qn_input_feed(h->in, &byte, 1);
            if ((seed >> 60) == 0)
                qn_input_flush(h->in);
        }
        qn_input_flush(h->in);
        assert_int_equal(qn_input_patience_ms(h->in), 0);
        assert_string_equal(h->bytes.text, fed.text);
        qn_str_free(&fed);
        forget(h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_do_not_depend_on_where_the_bytes_were_cut),
        cmocka_unit_test(keys_carry_the_bytes_they_were_made_of),
        cmocka_unit_test(what_is_held_back_comes_out_by_the_clock),
        cmocka_unit_test(escape_twice_is_one_at_once_and_one_that_waits),
        cmocka_unit_test(a_broken_sequence_leaves_the_key_behind_it_whole),
        cmocka_unit_test(a_paste_is_waited_for_longer_than_an_escape),
        cmocka_unit_test(an_unfinished_paste_is_handed_on_as_far_as_it_came),
        cmocka_unit_test(a_receiver_may_feed_more_from_inside_a_key),
        cmocka_unit_test(random_bytes_come_out_as_they_went_in),
    };
    return cmocka_run_group_tests_name("input", tests, NULL, NULL);
}
