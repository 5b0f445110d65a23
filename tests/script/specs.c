/* specs.c - models, optimisers, data and presets as values of Lua. */
#include "script_fixture.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void all_mistakes_of_one_table_come_at_once(void **state)
{
    struct script_fixture *f = *state;
    static const char *const expected[] = {
        "prompt:1: model.activation: 'dreLU' is none of",
        "prompt:1: model.dropout is 3,",
        "prompt:1: unknown setting 'model.init.knd' (did you mean "
        "'model.init.kind'?)",
        "prompt:1: unknown setting 'model.layrs' (did you mean "
        "'model.layers'?)",
        "prompt:1: model.hidden: a whole number expected, got string '16'",
        "prompt:1: model.embed: a whole number expected, got number 2.5",
        "prompt:1: model.window: a whole number or a list of them expected, "
        "got function",
        "prompt:1: model: options have names, this one is a number",
        NULL};
    static const char chunk[] =
        "qn.qrnn{ layrs = 2, hidden = '16', dropout = 3, embed = 2.5, "
        "activation = 'dreLU', init = { knd = 1 }, window = print, 4 }";
    assert_fails(f, chunk, expected[0]);
    for (int i = 0; expected[i] != NULL; i++) {
        assert_holds(complained(f), expected[i]);
    }
}

static void complaints_come_in_the_same_order_every_time(void **state)
{
    struct script_fixture *f = *state;
    must(f, "ok, e = pcall(qn.train, { zeta = 1, beta = 2, alpha = 3, "
            "seq = {}, batch = {}, stats = 4, name = 5, seed = '6' })");
    must(f, "print(e.message)");
    assert_string_equal(
        printed(f), "unknown setting 'alpha' (did you mean 'model.alpha'?)\n"
                    "unknown setting 'beta' (did you mean 'optim.beta1'?)\n"
                    "unknown setting 'zeta'\n"
                    "batch: a whole number expected, got table\n"
                    "name: text expected, got number 5\n"
                    "seed: a whole number expected, got string '6'\n"
                    "seq: a whole number expected, got table\n"
                    "stats: a table or a spec expected, got number\n"
                    "data.train is not set: give the path of a text, or "
                    "builtin:kjv\n");
}

static void a_mistake_is_a_table_to_branch_on(void **state)
{
    struct script_fixture *f = *state;
    must(f, "ok, e = pcall(qn.qrnn, { hidden = 0, layers = 0 })");
    assert_prints(f, "ok, e.code, #e.items", "false\tusage\t2\n");
    assert_prints(f,
                  "tostring(e) == 'prompt:1: ' .. e.items[1] .. "
                  "'\\nprompt:1: ' .. e.items[2]",
                  "true\n");
    must(f, "ok, e = pcall(function() qn.qrnn{ hidden = 0 } end)");
    assert_prints(f, "e.where, e.items[1]:match('^model.hidden') ~= nil",
                  "prompt:1:\ttrue\n");
}

static void values_of_every_type_are_taken(void **state)
{
    struct script_fixture *f = *state;
    assert_prints(f,
                  "qn.qrnn{ window = { 6, 2 }, alpha = 1, activation = "
                  "'elu' }",
                  "qn.qrnn{ window = { 6, 2 }, activation = \"elu\", "
                  "alpha = 1 }\n");
    assert_prints(f,
                  "qn.qrnn{ window = 3, ['init.kind'] = 'normal', init = { "
                  "std = 1/3 } }.init.std == 1/3",
                  "true\n");
    assert_prints(f, "qn.adam{ lr = 1e-4, clip_norm = 'none' }.clip_norm",
                  "nil\n");
    must(f, "p = qn.preset('demo', { tags = { 'a', 'b' }, data = { lower = "
            "true, valid = 0.1 }, stats = { every = 5 }, stop = { after = "
            "'2 minutes' }, hidden = nil })");
    assert_prints(f, "p.tags, p.data.lower, p.data.valid, p.stats.every",
                  "{ \"a\", \"b\" }\ttrue\t0.1\t5 steps\n");
    assert_fails(f, "qn.adam{ lr = 0/0 }", "optim.lr");
    assert_fails(f, "qn.adam{ lr = math.huge }", "optim.lr");
    assert_fails(f, "qn.adam{ lr = 'a lot' }", "a number expected");
    assert_fails(f, "qn.preset('demo', { notes = 'a\\0b' })", "NUL");
    assert_fails(f, "qn.preset('demo', { tags = { 1 } })", "tags");
    assert_fails(f, "qn.preset('demo', { data = { lower = 1 } })",
                 "data.lower: true or false expected, got number 1");
    assert_fails(f, "qn.qrnn(3)", "table expected");
    assert_fails(f, "t = {} t.model = t qn.train(t)", "unknown setting");
}

static void a_spec_reads_like_its_table(void **state)
{
    struct script_fixture *f = *state;
    must(f, "m = qn.qrnn{ layers = 3, init = { kind = 'normal' } }");
    assert_prints(f, "m.layers, m.hidden, m.init.kind, m.cell",
                  "3\t256\tnormal\tqrnn\n");
    assert_fails(f, "m.hiden",
                 "a spec of model has no field 'hiden' (did you "
                 "mean 'hidden'?)");
    assert_fails(f, "m.hidden = 3", "use spec:with{ hidden = ... }");
    assert_fails(f, "m[1]", "a spec of model has no field '1'");
    assert_prints(f, "getmetatable(m)", "quern.spec\n");
}

static void specs_are_equal_by_what_they_say(void **state)
{
    struct script_fixture *f = *state;
    must(f, "m = qn.qrnn{ layers = 2, window = { 2, 2 } }");
    assert_prints(f, "m == qn.qrnn{}:with{ window = { 2, 2 } }", "true\n");
    assert_prints(f, "m == m:with{ hidden = 300 }", "false\n");
    assert_prints(f, "m:with{ hidden = 300 }:with{ hidden = 256 } == m",
                  "true\n");
    assert_prints(f, "qn.adam{} == qn.sgd{}, qn.adam{} == qn.qrnn{}",
                  "false\tfalse\n");
    assert_prints(f, "qn.sgd{ lr = 1 } == qn.sgd{ lr = 1.0 }", "true\n");
}

static void the_text_of_a_spec_makes_it_again(void **state)
{
    struct script_fixture *f = *state;
    must(f, "function again(v) return load('return ' .. tostring(v))() == v "
            "end");
    assert_prints(f,
                  "again(qn.qrnn{ window = { 6, 2 }, init = { kind = "
                  "'normal', std = 0.2 }, dropout = 0.25 })",
                  "true\n");
    assert_prints(f, "again(qn.sgd{ lr = 1, clip_norm = 10 })", "true\n");
    assert_prints(f, "again(qn.adam{})", "true\n");
    assert_prints(f,
                  "again(qn.corpus{ train = TEXT, lower = true, valid = "
                  "0.1 })",
                  "true\n");
    assert_prints(f,
                  "again(qn.preset('demo', { notes = 'say \"hi\"', model = "
                  "{ hidden = 8 } }))",
                  "true\n");
}

static void with_checks_what_it_changes(void **state)
{
    struct script_fixture *f = *state;
    must(f, "m = qn.qrnn{ activation = 'elu', alpha = 0.2 }");
    assert_fails(f, "m:with{ activation = 'tanh' }", "model.alpha applies to");
    assert_fails(f, "m:with{ hiden = 2 }", "model.hiden");
    assert_fails(f, "m.with{}", "spec expected");
    must(f, "p = qn.preset('demo', { epochs = 2 })");
    assert_prints(f, "p:with{ steps = 10 }.epochs", "nil\n");
    assert_prints(f, "p:with{ steps = 10 }",
                  "qn.preset(\"demo\", { steps = 10 })\n");
    assert_prints(f, "p:with{ steps = 10 }:with{ epochs = 3 }.steps", "nil\n");
}

static void steps_and_epochs_are_not_given_together(void **state)
{
    struct script_fixture *f = *state;
    assert_fails(f,
                 "qn.train{ data = { train = TEXT }, steps = 1, epochs = 1 "
                 "}",
                 "steps and epochs exclude each other");
    assert_prints(f, "qn.preset('demo', { steps = 1, epochs = 'none' }).steps",
                  "1\n");
}

static void a_key_is_given_once(void **state)
{
    struct script_fixture *f = *state;
    assert_fails(f,
                 "qn.train{ data = { train = TEXT }, model = { hidden = 8 "
                 "}, ['model.hidden'] = 9 }",
                 "model.hidden is given twice");
    assert_fails(f,
                 "qn.preset('demo', { model = qn.qrnn{ hidden = 8 }, "
                 "['model.hidden'] = 9 })",
                 "model.hidden is given twice");
    assert_prints(f,
                  "qn.preset('demo', { model = qn.qrnn{ hidden = 8 }, "
                  "['model.layers'] = 5 }).model.layers",
                  "5\n");
}

static void a_spec_in_the_wrong_place_is_named(void **state)
{
    struct script_fixture *f = *state;
    assert_fails(f, "qn.train{ data = { train = TEXT }, model = qn.adam{} }",
                 "model: a spec of optim stands here");
    assert_fails(f, "qn.train{ data = { train = TEXT }, model = 3 }",
                 "model: a table or a spec expected, got number");
    assert_fails(f, "qn.train(qn.adam{})",
                 "options: a spec of optim stands here");
    assert_fails(f, "qn.train{ preset = 3 }", "preset: a name");
    assert_fails(f, "qn.train{ preset = 'demmo' }",
                 "no preset is called 'demmo' (did you mean 'demo'?)");
    assert_fails(f, "qn.preset('demmo')", "did you mean 'demo'?");
}

static void a_whole_spec_replaces_what_a_preset_says_of_it(void **state)
{
    struct script_fixture *f = *state;
    must(f, "p = qn.preset('demo', { model = qn.qrnn{ hidden = 8 } })");
    assert_prints(f, "p.model.layers, p.model.hidden, p.model.window",
                  "2\t8\t{ 2 }\n");
    must(f, "p = qn.preset('demo', { model = { hidden = 8 } })");
    assert_prints(f, "p.model.layers, p.model.hidden, p.model.window",
                  "3\t8\t{ 6, 2 }\n");
    must(f, "p = qn.preset('demo', { model = { init = { kind = 'normal' } } "
            "})");
    assert_prints(f, "p.model.init.kind", "normal\n");
}

static void a_corpus_says_what_it_found(void **state)
{
    struct script_fixture *f = *state;
    must(f, "d = qn.corpus{ train = TEXT }");
    assert_prints(f, "d.sizes", "{ test = 72, train = 1296, valid = 72 }\n");
    assert_prints(f, "d.symbols, #d.hash, d.train == TEXT", "11\t64\ttrue\n");
    assert_prints(f, "qn.corpus{ train = 'text.txt' }.sizes.train",
                  "1296\n"); /* in the data folder */
    assert_prints(f, "d:with{ valid = 0 }.sizes.valid", "0\n");
}

static void a_missing_text_is_a_fact_and_no_mistake(void **state)
{
    struct script_fixture *f = *state;
    must(f, "v, message, code = qn.corpus{ train = 'nowhere.txt' }");
    assert_prints(f, "v, message:match('nowhere.txt'), code",
                  "nil\tnowhere.txt\tnot_found\n");
    assert_fails(f, "assert(qn.corpus{ train = 'nowhere.txt' })",
                 "nowhere.txt");
    assert_fails(f, "qn.corpus{}", "data.train is not set");
    assert_fails(f, "qn.corpus{ train = TEXT, vocab_size = 5 }",
                 "prompt:1: data.vocab_size is 5");
    must(f, "v, message, code = qn.train{ data = { train = 'nowhere.txt' } }");
    assert_prints(f, "v, code", "nil\tnot_found\n");
}

static void every_tensor_of_a_model_can_be_listed(void **state)
{
    struct script_fixture *f = *state;
    must(f, "m = qn.qrnn{ layers = 2, hidden = 12, embed = 6 } "
            "p = m:params(11)");
    assert_prints(f, "p.tensors[1]",
                  "{ count = 66, name = \"embedding.weight\", shape = { 11, 6 "
                  "} }\n");
    must(f, "sum = 0 for _, t in ipairs(p.tensors) do local n = 1 for _, d in "
            "ipairs(t.shape) do n = n * d end assert(n == t.count) "
            "sum = sum + n end assert(sum == p.all and p.trainable == sum)");
    must(f, "print(p)");
    assert_holds(printed(f), " parameters, as the paper counts; ");
    assert_holds(printed(f), "\nembedding.weight             11 x 6");
    must(f, "d = qn.corpus{ train = TEXT } "
            "assert(tostring(m:params(d)) == tostring(p))");
    assert_prints(f, "#qn.lstm{}:params(5).tensors > 3", "true\n");
    assert_fails(f, "m:params()", "the number of symbols is needed");
    assert_fails(f, "m:params(0)", "a number of symbols expected, got 0");
    assert_fails(f, "m:params(1.5)", "a number of symbols expected, got 1.5");
    assert_fails(f, "m:params(m)", "a qn.corpus or a number");
    assert_fails(f, "qn.adam{}:params(3)", "a spec of optim has no parameters");
}

static void cells_and_optimisers_have_their_own_makers(void **state)
{
    struct script_fixture *f = *state;
    assert_prints(f, "qn.lstm{ hidden = 8 }", "qn.lstm{ hidden = 8 }\n");
    assert_prints(f, "qn.lstm{}.cell, qn.rmsprop{}.kind", "lstm\trmsprop\n");
    assert_prints(f, "qn.rmsprop{ rho = 0.95 }", "qn.rmsprop{ rho = 0.95 }\n");
    assert_prints(f,
                  "qn.sgd{ lr = 1, momentum = 0.9, decay = 0.95, decay_after "
                  "= 6 }.decay_after",
                  "6\n");
    assert_fails(f, "qn.lstm{ pooling = 'f' }", "model.pooling");
    assert_fails(f, "qn.adam{ momentum = 0.5 }", "optim.momentum");
}

static void the_module_is_closed(void **state)
{
    struct script_fixture *f = *state;
    assert_fails(f, "qn.trian{}",
                 "qn has no field 'trian' (did you mean "
                 "'train'?)");
    assert_fails(f, "qn.train = print", "qn is closed: 'train'");
    assert_fails(f, "qn.mine = print", "qn is closed: 'mine'");
    assert_prints(f, "require 'quern' == qn, qn.version",
                  "true\t" QN_VERSION "\n");
    must(f, "n = 0 for name, value in pairs(qn) do n = n + 1 end");
    assert_prints(f, "n > 8", "true\n");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, script_fixture_setup,                \
                                    script_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_mistakes_of_one_table_come_at_once),
        TEST(complaints_come_in_the_same_order_every_time),
        TEST(a_mistake_is_a_table_to_branch_on),
        TEST(values_of_every_type_are_taken),
        TEST(a_spec_reads_like_its_table),
        TEST(specs_are_equal_by_what_they_say),
        TEST(the_text_of_a_spec_makes_it_again),
        TEST(with_checks_what_it_changes),
        TEST(steps_and_epochs_are_not_given_together),
        TEST(a_key_is_given_once),
        TEST(a_spec_in_the_wrong_place_is_named),
        TEST(a_whole_spec_replaces_what_a_preset_says_of_it),
        TEST(a_corpus_says_what_it_found),
        TEST(a_missing_text_is_a_fact_and_no_mistake),
        TEST(every_tensor_of_a_model_can_be_listed),
        TEST(cells_and_optimisers_have_their_own_makers),
        TEST(the_module_is_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
