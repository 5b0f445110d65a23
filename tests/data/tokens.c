/* tokens.c - English falls into the words of Penn Treebank. */
#include "data/tokens.h"

#include "base/mem.h"
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

/* The words of text[0..len), each with a newline after it, into out. */
static void split(struct qn_tokens *t, const char *text, size_t len,
                  struct qn_str *out)
{
    const char *word;
    size_t n;
    qn_tokens_start(t, text, len);
    while (qn_tokens_next(t, &word, &n)) {
        assert_true(n > 0);
        qn_str_add_bytes(out, word, n);
        qn_str_add(out, "\n");
    }
    assert_false(qn_tokens_next(t, &word, &n));
}

/* 'words' are parted by single spaces. */
static void check_with(struct qn_tokens *t, const char *text, const char *words)
{
    struct qn_str out = {0};
    split(t, text, strlen(text), &out);
    for (size_t i = 0; i < out.len; i++) {
        out.text[i] = out.text[i] == '\n' ? ' ' : out.text[i];
    }
    if (out.len > 0) {
        out.text[out.len - 1] = '\0';
    }
    assert_string_equal(out.len > 0 ? out.text : "", words);
    qn_str_free(&out);
}

static void check(const char *text, const char *words)
{
    struct qn_tokens *t = qn_tokens_new(false);
    check_with(t, text, words);
    qn_tokens_free(t);
}

static void white_space_parts_words_and_is_none(void **state)
{
    (void)state;
    check("", "");
    check(" \t\r\n\v\f", "");
    check("  one\ttwo\r\nthree  ", "one two three");
    check("a\xc2\xa0z\xc2\xa0y\xe2\x80\x8ax\xe2\x80\xa8w\xe3\x80\x80v",
          "a z y x w v");
    check("\xef\xbb\xbf\"Fine\" \xef\xbb\xbf it is", "`` Fine '' it is");
    /* Of no width, and no letter at all: not white space. */
    check("a\xe2\x80\x8bz \xe2\x80z", "a\xe2\x80\x8bz \xe2\x80z");
}

static void line_breaks_of_html_are_white_space(void **state)
{
    (void)state;
    check("One.<br /><br />Two.<br>Three<BR/>four", "One . Two . Three four");
    check("<br /> \"So", "`` So");
    check("so<br />\"it", "so `` it");
    check("so<br>\"it", "so `` it");
    check("<b>bold</b> <brr> <br", "< b > bold < /b > < brr > < br");
}

static void marks_are_words(void **state)
{
    (void)state;
    check("What?! No way!!!", "What ? ! No way ! ! !");
    check("(a)[b]{c}<d>;e", "( a ) [ b ] { c } < d > ; e");
    check("me@here.org #1 $5 50% R&B", "me @ here.org # 1 $ 5 50 % R & B");
    check("and/or *very* _so_", "and/or *very* _so_");
}

static void emoticons_fall_apart(void **state)
{
    (void)state;
    check("fun :-) :) ;) :D", "fun : - ) : ) ; ) : D");
}

static void commas_and_colons_stay_before_digits(void **state)
{
    (void)state;
    check("1,000,000 at 10:30, fine", "1,000,000 at 10:30 , fine");
    check("so,what:this", "so , what : this");
    check("in 1999, 2000,", "in 1999 , 2000 ,");
    check("a,,b", "a , , b");
    check("$1,234.56.", "$ 1,234.56 .");
}

static void pairs_of_dashes_are_words(void **state)
{
    (void)state;
    check("well--no --- ---- a-b -c", "well -- no -- - -- -- a-b -c");
}

static void full_stops_in_a_row_are_one_word(void **state)
{
    (void)state;
    check("Well...no.. yes....", "Well ... no .. yes ....");
    check("... and", "... and");
    check("the U.S... and", "the U.S ... and");
}

static void a_stop_that_ends_a_sentence_is_split_off(void **state)
{
    (void)state;
    check("It ends. It begins.", "It ends . It begins .");
    check("He said \"no.\" (He did.) Yes.'",
          "He said `` no . '' ( He did . ) Yes . '");
    check("one.two .5 2.5 end", "one.two .5 2.5 end");
    check("a . b .", "a . b .");
    check("So am I. You", "So am I . You");
    check("plan b. Scored 7. Next 4.5.", "plan b . Scored 7 . Next 4.5 .");
    check("fine.) fine.]}> fine.x fine.)x",
          "fine . ) fine . ] } > fine.x fine. ) x");
}

static void abbreviations_and_initials_keep_their_stop(void **state)
{
    (void)state;
    check("Mr. and MRS. Smith, etc. ok", "Mr. and MRS. Smith , etc. ok");
    check("J. R. R. in the U.S. at 5 p.m. e.g. i.e. Ph.D.",
          "J. R. R. in the U.S. at 5 p.m. e.g. i.e. Ph.D.");
    check("(Dr. Who vs. etc.)", "( Dr. Who vs. etc. )");
    check("the U.S.'s and U.S.-based", "the U.S. 's and U.S.-based");
    check("U.S. Us. UU.S. U..S. ", "U.S. Us . UU.S . U .. S.");
    check("Mrx. emr.", "Mrx . emr .");
}

static void double_quotes_open_and_close(void **state)
{
    (void)state;
    check("\"Go,\" he said.", "`` Go , '' he said .");
    check("(\"a\") [\"b\"] x\"y\"", "( `` a '' ) [ `` b '' ] x '' y ''");
    check("``a'' ''b''", "`` a '' `` b ''");
    check("<\"a\"> {\"a\"}", "< `` a '' > { `` a '' }");
    check("say \"so", "say `` so");
    check("a\xc2\xa0\"so\"", "a `` so ''");
}

static void clitics_are_split_off(void **state)
{
    (void)state;
    check("It's I'm he'd we'll you're they've",
          "It 's I 'm he 'd we 'll you 're they 've");
    check("can't won't DON'T IT'S", "ca n't wo n't DO N'T IT 'S");
    check("shouldn't've", "should n't 've");
    check("it's, it's.", "it 's , it 's .");
    check("dogs' tails", "dogs ' tails");
    check("'s n't 'tis' ' ''s", "'s n't 't is ' ' `` s");
    check("'quoted' o'clock rock'n'roll ma'am's",
          "'quoted ' o'clock rock'n'roll ma'am 's");
}

static void clitics_are_counted_to_two(void **state)
{
    (void)state;
    check("a's's's's", "a's's 's 's");
    check("cannot've's", "can not 've 's");
}

static void some_words_are_two(void **state)
{
    (void)state;
    check("I cannot, Cannot", "I can not , Can not");
    check("gonna gotta wanna gimme lemme d'ye more'n",
          "gon na got ta wan na gim me lem me d 'ye more 'n");
    check("'Tis 'twas", "'T is 't was");
    check("cannots scannot gonnaa", "cannots scannot gonnaa");
}

static void typesetters_marks_are_spelt_as_the_treebank_does(void **state)
{
    (void)state;
    check("\xe2\x80\x9cI don\xe2\x80\x99t,\xe2\x80\x9d he said\xe2\x80\xa6",
          "`` I do n't , '' he said ...");
    check("\xe2\x80\x9cNo.\xe2\x80\x9d", "`` No . ''");
    check("\xe2\x80\x98so\xe2\x80\x99 a\xe2\x80\x94z", "` so ' a -- z");
    check("don\xc2\xb4t a \xe2\x80\x93 z", "do n't a -- z");
}

static void marks_of_windows_read_as_latin_1_are_marks(void **state)
{
    (void)state;
    check("so\xc2\x85 and\xc2\x97well \xc2\x96 it\xc2\x92s",
          "so ... and -- well -- it 's");
    check("\xc2\x93No.\xc2\x94 \xc2\x91"
          "B",
          "`` No . '' ` B");
}

static void other_letters_are_letters(void **state)
{
    (void)state;
    check("caf\xc3\xa9 na\xc3\xafve, \xe2\x82\xac"
          "5",
          "caf\xc3\xa9 na\xc3\xafve , \xe2\x82\xac"
          "5");
}

static void lower_is_of_ascii_and_comes_after_splitting(void **state)
{
    (void)state;
    struct qn_tokens *t = qn_tokens_new(true);
    check_with(t, "The U.S. CAN'T, J. \xc3\x89t\xc3\xa9. AZ@[`{",
               "the u.s. ca n't , j. \xc3\x89t\xc3\xa9 . az @ [ ` {");
    /* A small single letter would end the sentence. */
    check_with(t, "J. Smith", "j. smith");
    qn_tokens_free(t);
}

static void texts_follow_each_other(void **state)
{
    (void)state;
    struct qn_tokens *t = qn_tokens_new(false);
    const char *word;
    size_t len;
    qn_tokens_start(t, "can't", 5);
    assert_true(qn_tokens_next(t, &word, &len));
    /* The queue of the text before is forgotten. */
    check_with(t, "a much longer text", "a much longer text");
    check_with(t, "", "");
    check_with(t, "b", "b");
    qn_tokens_free(t);
    qn_tokens_free(NULL);
}

static void a_text_is_copied(void **state)
{
    (void)state;
    char text[] = "one two";
    struct qn_tokens *t = qn_tokens_new(true);
    qn_tokens_start(t, text, strlen(text));
    memset(text, 'x', sizeof text);
    const char *word;
    size_t len;
    assert_true(qn_tokens_next(t, &word, &len));
    assert_int_equal(len, 3);
    assert_memory_equal(word, "one", 3);
    qn_tokens_free(t);
}

static void words_stay_until_the_next_text(void **state)
{
    (void)state;
    struct qn_tokens *t = qn_tokens_new(true);
    const char *first, *second;
    size_t n_first, n_second;
    qn_tokens_start(t, "ONE CAN'T", 9);
    assert_true(qn_tokens_next(t, &first, &n_first));
    assert_true(qn_tokens_next(t, &second, &n_second));
    while (qn_tokens_next(t, &second, &n_second)) {
    }
    assert_int_equal(n_first, 3);
    assert_memory_equal(first, "one", 3);
    assert_memory_equal(second, "n't", 3);
    qn_tokens_free(t);
}

/* Every pair and triple of bytes that may mean something, in an allocation of
 * its size: a sanitizer sees a step beyond the end. */
static void cut_texts_are_not_read_beyond_their_end(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "\xe2", "\xe2\x80", "\xc2", "\xe3\x80", "<br /", "<br",  "-",  "`", "'",
        "\"",   ".",        ",",    "n't",      "'l",    "\xff", "..", "a."};
    struct qn_tokens *t = qn_tokens_new(false);
    size_t n = sizeof pieces / sizeof *pieces;
    for (size_t i = 0; i < n * n; i++) {
        const char *a = pieces[i % n], *b = pieces[i / n];
        char *text = qn_xasprintf("%s%s", a, b);
        size_t len = strlen(text);
        char *exact = qn_xmalloc(len);
        memcpy(exact, text, len);
        struct qn_str out = {0};
        split(t, exact, len, &out);
        assert_true(out.len > 0);
        qn_str_free(&out);
        free(exact);
        free(text);
        qn_tokens_free(t);
        t = qn_tokens_new(false);
    }
    qn_tokens_free(t);
}

static void any_bytes_are_safe(void **state)
{
    (void)state;
    static const char text[] = "a\0z \0 .\0 \xff\xfe.\xe2\x80";
    struct qn_tokens *t = qn_tokens_new(true);
    struct qn_str out = {0};
    split(t, text, sizeof text - 1, &out);
    static const char words[] = "a\0z\n\0\n.\0\n\xff\xfe.\xe2\x80\n";
    assert_int_equal(out.len, sizeof words - 1);
    assert_memory_equal(out.text, words, out.len);
    qn_str_free(&out);
    qn_tokens_free(t);
}

static size_t count_words(const char *piece, size_t times)
{
    size_t n = strlen(piece), count = 0, len;
    char *text = qn_xmalloc(n * times);
    for (size_t i = 0; i < times; i++) {
        memcpy(text + i * n, piece, n);
    }
    struct qn_tokens *t = qn_tokens_new(true);
    const char *word;
    qn_tokens_start(t, text, n * times);
    while (qn_tokens_next(t, &word, &len)) {
        count++;
    }
    qn_tokens_free(t);
    free(text);
    return count;
}

/* A walk that looked back or ahead over a run again and again would take hours
 * for these. */
static void long_runs_take_one_walk(void **state)
{
    (void)state;
    const size_t n = 1000000;
    assert_int_equal(count_words(".", n), 1);
    assert_int_equal(count_words("a.", n), 1);
    assert_int_equal(count_words(".'", n), 4);
    assert_int_equal(count_words("'", n), n / 2);
    assert_int_equal(count_words(".)", n), 2 * n);
    assert_int_equal(count_words("a", n), 1);
    assert_int_equal(count_words("-", n), n / 2);
    assert_int_equal(count_words("\"", n), n);
    assert_int_equal(count_words("'s", n), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(white_space_parts_words_and_is_none),
        cmocka_unit_test(line_breaks_of_html_are_white_space),
        cmocka_unit_test(marks_are_words),
        cmocka_unit_test(emoticons_fall_apart),
        cmocka_unit_test(commas_and_colons_stay_before_digits),
        cmocka_unit_test(pairs_of_dashes_are_words),
        cmocka_unit_test(full_stops_in_a_row_are_one_word),
        cmocka_unit_test(a_stop_that_ends_a_sentence_is_split_off),
        cmocka_unit_test(abbreviations_and_initials_keep_their_stop),
        cmocka_unit_test(double_quotes_open_and_close),
        cmocka_unit_test(clitics_are_split_off),
        cmocka_unit_test(clitics_are_counted_to_two),
        cmocka_unit_test(some_words_are_two),
        cmocka_unit_test(typesetters_marks_are_spelt_as_the_treebank_does),
        cmocka_unit_test(marks_of_windows_read_as_latin_1_are_marks),
        cmocka_unit_test(other_letters_are_letters),
        cmocka_unit_test(lower_is_of_ascii_and_comes_after_splitting),
        cmocka_unit_test(texts_follow_each_other),
        cmocka_unit_test(a_text_is_copied),
        cmocka_unit_test(words_stay_until_the_next_text),
        cmocka_unit_test(cut_texts_are_not_read_beyond_their_end),
        cmocka_unit_test(any_bytes_are_safe),
        cmocka_unit_test(long_runs_take_one_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
