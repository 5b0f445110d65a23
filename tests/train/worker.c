/* worker.c - a classifier on a thread is given texts to judge. */
#include "labelled.h"

#include "base/mem.h"
#include "base/wake.h"
#include "train/worker.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define LONG_WORDS 20000

struct bench {
    struct qn_wake *wake;
    struct qn_worker *worker;
};

/* A worker of the trainer that 'create' makes, held before its first step. */
static struct bench start(struct labelled *l, const struct qn_spec *spec)
{
    struct bench b;
    struct qn_trainer *t;
    struct qn_err err;
    assert_int_equal(qn_wake_new(&b.wake, &err), QN_OK);
    struct qn_outlet *outlet = qn_outlet_new(b.wake);
    struct qn_sink sink = qn_outlet_sink(outlet);
    if (qn_trainer_create(&l->f->env, spec, &sink, &t, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(qn_worker_start(t, outlet, true, &b.worker, &err), QN_OK);
    return b;
}

static void finish(struct bench *b)
{
    qn_worker_free(b->worker, false);
    qn_wake_free(b->wake);
}

static struct qn_note wait_note(struct bench *b, enum qn_note_kind kind)
{
    struct qn_note n = {.kind = QN_NOTE_SET};
    while (n.kind != kind) {
        if (qn_worker_take_note(b->worker, &n)) {
            continue;
        }
        struct pollfd fd = {.fd = qn_wake_fd(b->wake), .events = POLLIN};
        if (poll(&fd, 1, 60000) == 0) {
            fail_msg("note %d has not come for a minute", (int)kind);
        }
        qn_wake_clear(b->wake);
    }
    return n;
}

/* The text is given away. */
static bool ask(struct bench *b, char *text, uint64_t ticket)
{
    struct qn_command c = {.kind = QN_CMD_CLASSIFY,
                           .document = text,
                           .document_len = strlen(text),
                           .ticket = ticket};
    return qn_worker_post(b->worker, &c);
}

static void a_text_of_any_length_is_judged(void **state)
{
    struct qn_spec spec = labelled_spec(*state, NULL);
    struct bench b = start(*state, &spec);
    struct qn_str text = {0};
    for (int i = 0; i < LONG_WORDS; i++) {
        qn_str_add(&text, i % 2 == 0 ? "bright " : "film ");
    }
    assert_true(ask(&b, qn_str_take(&text), 7));
    struct qn_note n = wait_note(&b, QN_NOTE_REPLY);
    assert_int_equal(n.ticket, 7);
    assert_int_equal(n.status, QN_OK);
    assert_int_equal(n.judgement.words, LONG_WORDS);
    assert_int_equal(n.judgement.known, spec.data.max_words);
    assert_true(n.judgement.probability > 0 && n.judgement.probability < 1);
    assert_int_equal(n.judgement.label, n.judgement.probability > 0.5);
    assert_true(ask(&b, qn_xstrdup("qux"), 8));
    n = wait_note(&b, QN_NOTE_REPLY);
    assert_int_equal(n.ticket, 8);
    assert_int_equal(n.status, QN_EUSAGE);
    assert_string_equal(n.text,
                        "the run knows no word of the text, which has 1");
    finish(&b);
}

static void an_evaluation_tells_its_accuracy(void **state)
{
    struct qn_spec spec = labelled_spec(*state, NULL);
    struct bench b = start(*state, &spec);
    struct qn_command c = {
        .kind = QN_CMD_EVALUATE, .split = QN_TEST, .ticket = 1};
    assert_true(qn_worker_post(b.worker, &c));
    struct qn_note n = wait_note(&b, QN_NOTE_REPLY);
    assert_int_equal(n.status, QN_OK);
    assert_int_equal(n.reading, QN_READ_ACCURACY);
    assert_int_equal(n.predictions, 12);
    assert_true(n.accuracy >= 0 && n.accuracy <= 1);
    finish(&b);
}

static void
questions_of_the_wrong_kind_are_answered_with_a_sentence(void **state)
{
    struct labelled *l = *state;
    struct qn_spec spec = labelled_spec(l, NULL);
    struct bench b = start(l, &spec);
    struct qn_command sample = {.kind = QN_CMD_SAMPLE,
                                .own_prompt = true,
                                .temperature = -1,
                                .seed = -1,
                                .ticket = 1};
    assert_true(qn_worker_post(b.worker, &sample));
    struct qn_note n = wait_note(&b, QN_NOTE_REPLY);
    assert_int_equal(n.status, QN_EUSAGE);
    assert_non_null(strstr(n.text, "classifier"));
    finish(&b);
    spec = fixture_spec(l->f, NULL);
    b = start(l, &spec);
    assert_true(ask(&b, qn_xstrdup("the cat"), 2));
    n = wait_note(&b, QN_NOTE_REPLY);
    assert_int_equal(n.status, QN_EUSAGE);
    assert_non_null(strstr(n.text, "language model"));
    finish(&b);
}

/* Nobody frees a text that is left but the worker: the sanitiser counts. */
static void texts_that_come_too_late_are_not_lost(void **state)
{
    struct qn_spec spec = labelled_spec(*state, NULL);
    struct bench b = start(*state, &spec);
    struct qn_command go = {.kind = QN_CMD_RESUME};
    assert_true(qn_worker_post(b.worker, &go));
    while (ask(&b, qn_xstrdup("bright film"), 0)) {
        ; /* until it has ended or its queue is full */
    }
    (void)wait_note(&b, QN_NOTE_DONE);
    qn_worker_join(b.worker);
    assert_false(ask(&b, qn_xstrdup("bright film"), 1));
    finish(&b);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, labelled_setup, labelled_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_text_of_any_length_is_judged),
        CASE(an_evaluation_tells_its_accuracy),
        CASE(questions_of_the_wrong_kind_are_answered_with_a_sentence),
        CASE(texts_that_come_too_late_are_not_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
