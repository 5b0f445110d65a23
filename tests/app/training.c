/* training.c - quern train, resume and rerun, from first line to last byte. */
#include "shell.h"

#include "base/mem.h"
#include "base/str.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* How many lines of each event came. */
struct tally {
    int start, step, eval, stats, checkpoint, sample, done, lines;
    int last_step;
    double last_loss;
};

/* Shares add up to 1, counts to the count. */
static void check_layer(const json_t *layer, int i)
{
    assert_true(number(layer, "layer") == i + 1);
    assert_string_equal(string(layer, "of"), "c");
    double sum = number(layer, "negative") + number(layer, "near") +
                 number(layer, "positive") + number(layer, "nan");
    /* Quotients of integers below 2^53: a few roundings. */
    assert_true(fabs(sum - 1) < 1e-12);
    assert_true(number(layer, "zero") <= number(layer, "near"));
    assert_true(number(layer, "count") == 4 * 8 * 12);
}

static void check_step(const json_t *line, struct tally *t, const char *run)
{
    assert_string_equal(string(line, "run"), run);
    assert_true(number(line, "step") == ++t->last_step);
    assert_true(fabs(number(line, "epoch") - t->last_step / 40.0) < 1e-12);
    assert_true(number(line, "lr") == 0.01);
    assert_true(number(line, "grad_norm") > 0);
    assert_true(number(line, "tokens_per_s") > 0);
    t->last_loss = number(line, "loss");
    t->step++;
}

static void check_rare(const json_t *line, const char *event, struct tally *t)
{
    if (strcmp(event, "eval") == 0) {
        assert_string_equal(string(line, "split"), "valid");
        double bits = number(line, "loss") / log(2);
        assert_true(fabs(number(line, "bpc") - bits) < 1e-12);
        t->eval++;
    } else if (strcmp(event, "stats") == 0) {
        const json_t *layers = json_object_get(line, "layers");
        assert_int_equal(json_array_size(layers), 2);
        check_layer(json_array_get(layers, 0), 0);
        check_layer(json_array_get(layers, 1), 1);
        t->stats++;
    } else if (strcmp(event, "checkpoint") == 0) {
        assert_true(json_is_boolean(json_object_get(line, "best")));
        t->checkpoint++;
    } else if (strcmp(event, "sample") == 0) {
        assert_true(strlen(string(line, "text")) > 0);
        t->sample++;
    } else {
        fail_msg("event %s was not expected", event);
    }
    /* A checkpoint is told when it is committed, some steps later. */
    bool later = strcmp(event, "checkpoint") == 0;
    assert_true(number(line, "step") <= t->last_step);
    assert_true(later || number(line, "step") == t->last_step);
}

static void check_done(const json_t *line, const struct tally *t,
                       const char *run)
{
    const json_t *best = json_object_get(line, "best");
    assert_string_equal(string(line, "run"), run);
    assert_true(number(line, "steps") == t->last_step);
    assert_true(number(line, "seconds") > 0);
    assert_true(number(best, "step") <= t->last_step);
    assert_true(number(best, "loss") > 0);
}

static struct tally check_lines(char *text)
{
    struct tally t = {0};
    char run[256] = "";
    char *rest = NULL;
    for (char *l = strtok_r(text, "\n", &rest); l != NULL;
         l = strtok_r(NULL, "\n", &rest)) {
        json_t *line = parse(l);
        const char *event = string(line, "event");
        if (strcmp(event, "start") == 0) {
            assert_int_equal(t.lines, 0);
            (void)snprintf(run, sizeof run, "%s", string(line, "run"));
            assert_non_null(strstr(string(line, "dir"), run));
            assert_true(number(line, "memory") > 1e6);
            t.start++;
        } else if (strcmp(event, "step") == 0) {
            check_step(line, &t, run);
        } else if (strcmp(event, "done") == 0) {
            check_done(line, &t, run);
            t.done++;
        } else {
            check_rare(line, event, &t);
        }
        t.lines++;
        json_decref(line);
    }
    return t;
}

static void json_lines_follow_their_schema(void **state)
{
    (void)state;
    char *out =
        quern_out("train --json " TINY "steps=30 stats.every=10 eval.every=15 "
                  "checkpoint.every=10 sample.every=15");
    struct tally t = check_lines(out);
    assert_int_equal(t.start, 1);
    assert_int_equal(t.step, 30);
    assert_int_equal(t.stats, 4); /* 1, 10, 20, 30 */
    assert_int_equal(t.eval, 2);
    assert_int_equal(t.sample, 2);
    assert_true(t.checkpoint >= 3);
    assert_int_equal(t.done, 1);
    assert_true(t.last_loss < 3); /* ln 11 = 2.4 at the start */
    free(out);
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++) {
        n++;
    }
    return n;
}

static void a_person_reads_a_line_every_so_often(void **state)
{
    (void)state;
    char *out = quern_out("train " TINY "steps=30 log.every=10");
    assert_int_equal(count(out, " of 30  epoch "), 4); /* 1, 10, 20, 30 */
    assert_int_equal(count(out, "valid loss"), 2);     /* and the best */
    assert_int_equal(count(out, "done: 30 steps"), 1);
    assert_int_equal(count(out, ": 30 steps, kept in "), 1);
    assert_int_equal(count(out, "\nmemory: "), 1);
    assert_int_equal(count(out, "  grad norm "), 4);
    free(out);
    out = quern_out("train " TINY "steps=1");
    assert_int_equal(count(out, "done: 1 step in"), 1);
    free(out);
    out = quern_out("train " TINY "steps=30 stop.after='0.000001 s'");
    assert_int_equal(count(out, "done: 1 of 30 steps in "), 1);
    assert_int_equal(count(out, " (stop.after)"), 1);
    free(out);
}

/* A number that no decimals help: some 1e25 after a step that is far too wide.
 */
static void a_person_can_read_a_huge_loss(void **state)
{
    (void)state;
    char *out = quern_out("train " TINY "steps=2 optim.kind=sgd optim.lr=1e9 "
                          "stop.nan=ignore log.every=1");
    char *huge = strstr(out, "step 2 of 2 ");
    assert_non_null(huge);
    huge[strcspn(huge, "\n")] = '\0';
    const char *loss = strstr(huge, "loss ");
    if (loss == NULL || strspn(loss + 5, "0123456789.") > 5 ||
        loss[5 + strspn(loss + 5, "0123456789.")] != 'e') {
        fail_msg("%s", huge);
    }
    free(out);
}

/* Every line of a person's is about the step of the one before, or a later. */
static void what_a_person_reads_is_in_the_order_of_steps(void **state)
{
    (void)state;
    char *out = quern_out("train " TINY "steps=45 log.every=10 eval.every=15 "
                          "stats.every=9");
    int64_t before = 0;
    int n_shares = 0;
    for (char *line = out; *line != '\0'; line += strcspn(line, "\n") + 1) {
        int64_t step;
        char *end;
        if (strncmp(line, "step ", 5) == 0) {
            step = strtol(line + 5, &end, 10);
            n_shares += strncmp(end, "  cell states", 13) == 0;
            if (step < before) {
                fail_msg("step %d after %d:\n%s", (int)step, (int)before, out);
            }
            before = step;
        }
    }
    assert_int_equal(n_shares, 6); /* 1, 9, 18, 27, 36, 45 */
    assert_int_equal(count(out, "step 45  cell states"), 1);
    free(out);
}

static void a_resume_begins_with_its_start(void **state)
{
    (void)state;
    free(quern_out("train " TINY "steps=3 name=over"));
    char *out = quern_out("resume --json over steps=4 optim.lr=0.5");
    assert_int_equal(count(out, "\"event\":\"set\""), 2);
    assert_int_equal(strncmp(out, "{\"event\":\"start\"", 16), 0);
    free(out);
}

static void a_run_without_a_name_is_numbered(void **state)
{
    (void)state;
    for (int i = 1; i <= 2; i++) {
        char *out = quern_out("train " TINY "steps=1");
        char *name = qn_xasprintf("-run-%d:", i);
        assert_non_null(strstr(out, name));
        free(name);
        free(out);
    }
}

/* Paths of the only run whose name this is. */
static void assert_same_model(const char *a, const char *b, int step)
{
    if (sh("cmp store/*-%s/checkpoints/%d/model.safetensors "
           "store/*-%s/checkpoints/%d/model.safetensors",
           a, step, b, step) != 0) {
        fail_msg("the weights of %s and %s differ", a, b);
    }
}

static void killed_and_resumed_it_ends_in_the_same_bytes(void **state)
{
    (void)state;
    /* Far more lines than a pipe holds: it cannot be done before the kill. */
    const char *settings = TINY "steps=1000 checkpoint.every=50 eval.every=100 "
                                "model.dropout=0.2";
    free(quern_out("train %s name=whole", settings));
    struct child c = child_start("train --json %s name=torn", settings);
    assert_true(child_reach(&c, 120));
    assert_int_equal(kill(c.pid, SIGKILL), 0);
    assert_int_equal(child_end(&c), 128 + SIGKILL);
    assert_int_equal(sh("test -e store/*-torn/checkpoints/1000"), 1);
    char *out = quern_out("resume torn");
    assert_int_equal(count(out, "done: 1000 steps"), 1);
    assert_same_model("whole", "torn", 1000);
    free(out);
}

static void an_interrupt_keeps_a_checkpoint_and_says_how_to_go_on(void **state)
{
    (void)state;
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < 3; i++) {
        struct child c =
            child_start("train --json " TINY "steps=100000 name=cut%d", i);
        assert_true(child_reach(&c, 20));
        assert_int_equal(kill(c.pid, signals[i]), 0);
        assert_int_equal(child_end(&c), 0);
        if (sh("grep -q 'quern resume .*cut%d' .err", i) != 0) {
            fail_msg("signal %d: no word of quern resume", signals[i]);
        }
        char *steps = quern_out("resume cut%d steps=1000", i);
        assert_int_equal(count(steps, "done: 1000 steps"), 1);
        free(steps);
    }
}

/* What is said can be copied as it is, wherever the runs lie. */
static void the_way_to_go_on_names_store_and_data(void **state)
{
    (void)state;
    assert_int_equal(sh("mkdir \"it's data\" && mv text.txt it*"), 0);
    struct child c =
        child_start("train --json --store \"my 'own' \\$store\" "
                    "--data \"it's data\" " TINY "steps=100000 name=far");
    /* The pipe holds some hundred steps more than were read. */
    assert_true(child_reach(&c, 20));
    assert_int_equal(kill(c.pid, SIGINT), 0);
    assert_int_equal(child_end(&c), 0);
    assert_int_equal(
        sh("sed 's|.*go on with: quern|%s|; s|$| steps=2000|' .err "
           ">.go && sh .go >.out",
           QUERN),
        0);
    assert_int_equal(sh("grep -q 'done: 2000 steps' .out"), 0);
}

static void a_run_under_nohup_outlives_a_hang_up(void **state)
{
    (void)state;
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction before;
    assert_int_equal(sigaction(SIGHUP, &ignore, &before), 0);
    struct child c = child_start("train --json " TINY "steps=600 name=kept");
    assert_int_equal(sigaction(SIGHUP, &before, NULL), 0);
    assert_true(child_reach(&c, 20));
    assert_int_equal(kill(c.pid, SIGHUP), 0);
    assert_int_equal(child_end(&c), 0);
    char *out = quern_out("runs --json");
    json_t *run = parse(out);
    assert_string_equal(string(run, "state"), "done");
    json_decref(run);
    free(out);
}

static void a_finished_run_says_so_and_is_no_failure(void **state)
{
    (void)state;
    free(quern_out("train " TINY "steps=3 name=over"));
    struct outcome o = quern("resume over");
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.err, "done"));
    assert_string_equal(o.out, "");
    outcome_free(&o);
    char *out = quern_out("resume over steps=5");
    assert_int_equal(count(out, "done: 5 steps"), 1);
    free(out);
}

static void a_run_in_use_is_not_resumed(void **state)
{
    (void)state;
    struct child c = child_start("train --json " TINY "steps=100000 name=busy");
    assert_true(child_reach(&c, 5));
    struct outcome o = quern("resume busy");
    assert_int_equal(o.status, 1);
    outcome_free(&o);
    assert_int_equal(kill(c.pid, SIGKILL), 0);
    (void)child_end(&c);
}

static void a_loss_that_is_not_finite_ends_with_a_failure(void **state)
{
    (void)state;
    struct outcome o =
        quern("train --json " TINY "steps=1000 optim.kind=sgd optim.lr=1e30 "
              "optim.clip_norm=none name=nan");
    assert_int_equal(o.status, 1);
    assert_non_null(strstr(o.err, "not finite"));
    assert_non_null(strstr(o.err, "quern resume"));
    assert_non_null(strstr(o.out, "\"event\":\"nan\""));
    assert_non_null(strstr(o.out, "\"event\":\"error\""));
    /* What is not finite is null: all lines are JSON. */
    char *rest = NULL;
    for (char *l = strtok_r(o.out, "\n", &rest); l != NULL;
         l = strtok_r(NULL, "\n", &rest)) {
        json_decref(parse(l));
    }
    outcome_free(&o);
}

/* The first line of text that is an event of this name. */
static json_t *find_event(char *text, const char *name)
{
    json_t *found = NULL;
    char *rest = NULL;
    for (char *l = strtok_r(text, "\n", &rest); l != NULL;
         l = strtok_r(NULL, "\n", &rest)) {
        json_t *line = parse(l);
        if (found == NULL && strcmp(string(line, "event"), name) == 0) {
            found = line;
        } else {
            json_decref(line);
        }
    }
    assert_non_null(found);
    return found;
}

static void a_run_that_goes_back_says_so_and_gives_up(void **state)
{
    (void)state;
    struct outcome o = quern("train " TINY "steps=1000 optim.kind=sgd "
                             "optim.lr=1e30 optim.clip_norm=none log.every='1 "
                             "step' stop.nan=rollback name=back");
    assert_int_equal(o.status, 1);
    assert_non_null(strstr(o.err, "8 rollbacks to step 0"));
    assert_non_null(strstr(o.out, "step 0  back from step 2 at half the "
                                  "learning rate, 5e+29: the loss is not "
                                  "finite"));
    assert_int_equal(count(o.out, "step 1 of 1000"), 9);
    outcome_free(&o);
    o = quern("train --json " TINY "steps=1000 optim.kind=sgd optim.lr=1e30 "
              "optim.clip_norm=none stop.nan=rollback name=back2");
    json_t *line = find_event(o.out, "rollback");
    assert_true(number(line, "step") == 0 && number(line, "from") == 2);
    assert_non_null(strstr(string(line, "text"), "not finite"));
    json_decref(line);
    outcome_free(&o);
}

static void a_spike_is_a_line(void **state)
{
    (void)state;
    struct outcome o = quern("train --json " TINY "steps=60 optim.lr=0.2 "
                             "stop.spike=1.01 stop.nan=stop name=spike");
    assert_int_equal(o.status, 1);
    assert_non_null(strstr(o.err, "times the usual"));
    json_t *line = find_event(o.out, "spike");
    assert_true(number(line, "loss") > 0);
    assert_true(number(line, "step") > 1);
    json_decref(line);
    outcome_free(&o);
}

static void such_a_loss_may_stop_the_run_instead(void **state)
{
    (void)state;
    struct outcome o =
        quern("train " TINY "steps=1000 optim.kind=sgd optim.lr=1e30 "
              "optim.clip_norm=none stop.nan=stop name=nan");
    assert_int_equal(o.status, 1);
    assert_non_null(strstr(o.err, "not finite"));
    outcome_free(&o);
    char *out = quern_out("runs");
    assert_int_equal(count(out, "stopped"), 1);
    free(out);
}

static void a_rerun_has_the_settings_of_the_first(void **state)
{
    (void)state;
    free(quern_out("train " TINY "steps=20 name=first"));
    assert_int_equal(sh("mv store/*-first store/kept-first"), 0);
    free(quern_out("rerun kept-first"));
    assert_int_equal(
        sh("cmp store/kept-first/checkpoints/20/model.safetensors "
           "store/*-first~rerun-1/checkpoints/20/model.safetensors"),
        0);
    char *out = quern_out("rerun kept-first steps=7 name=second");
    assert_int_equal(count(out, "done: 7 steps"), 1);
    free(out);
}

static void without_a_terminal_the_workbench_trains_line_by_line(void **state)
{
    (void)state;
    char *out = quern_out(TINY "steps=3");
    assert_int_equal(count(out, "done: 3 steps"), 1);
    free(out);
    struct outcome o = quern(" ");
    assert_true(o.status != 0);
    assert_non_null(strstr(o.err, "terminal"));
    outcome_free(&o);
}

#define WITH_SHELL(test)                                                       \
    cmocka_unit_test_setup_teardown(test, shell_setup, shell_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SHELL(json_lines_follow_their_schema),
        WITH_SHELL(a_person_reads_a_line_every_so_often),
        WITH_SHELL(a_person_can_read_a_huge_loss),
        WITH_SHELL(what_a_person_reads_is_in_the_order_of_steps),
        WITH_SHELL(a_resume_begins_with_its_start),
        WITH_SHELL(a_run_without_a_name_is_numbered),
        WITH_SHELL(killed_and_resumed_it_ends_in_the_same_bytes),
        WITH_SHELL(an_interrupt_keeps_a_checkpoint_and_says_how_to_go_on),
        WITH_SHELL(the_way_to_go_on_names_store_and_data),
        WITH_SHELL(a_run_under_nohup_outlives_a_hang_up),
        WITH_SHELL(a_finished_run_says_so_and_is_no_failure),
        WITH_SHELL(a_run_in_use_is_not_resumed),
        WITH_SHELL(a_loss_that_is_not_finite_ends_with_a_failure),
        WITH_SHELL(such_a_loss_may_stop_the_run_instead),
        WITH_SHELL(a_run_that_goes_back_says_so_and_gives_up),
        WITH_SHELL(a_spike_is_a_line),
        WITH_SHELL(a_rerun_has_the_settings_of_the_first),
        WITH_SHELL(without_a_terminal_the_workbench_trains_line_by_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
