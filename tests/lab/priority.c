/* priority.c - where a person watches, threads that compute give way. */
#include "lab_fixture.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool is_called(const char *thread, const char *name)
{
    char path[64], text[32] = "";
    (void)snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", thread);
    FILE *f = fopen(path, "r");
    bool is = f != NULL && fgets(text, sizeof text, f) != NULL &&
              strncmp(text, name, strlen(name)) == 0;
    if (f != NULL) {
        (void)fclose(f);
    }
    return is;
}

/* Of the process's only thread of this name. */
static int niceness(const char *name)
{
    int nice = -100, n = 0;
    DIR *dir = opendir("/proc/self/task");
    assert_non_null(dir);
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        if (is_called(e->d_name, name)) {
            nice = getpriority(PRIO_PROCESS, (id_t)atoi(e->d_name));
            n++;
        }
    }
    (void)closedir(dir);
    assert_int_equal(n, 1);
    return nice;
}

/* Of the threads of a run in a lab where they give way, or do not. */
static void check_run(struct lab_fixture *f, bool gives_way, int want)
{
    static const char *const endless[] = {"steps=1000000",
                                          "checkpoint.every=1 steps", NULL};
    struct lab_fixture own = {.base = f->base};
    struct qn_train_env env = f->base->env;
    env.log = NULL;
    env.gives_way = gives_way;
    assert_ok(qn_lab_new(&env, &own.lab, &err));
    qn_run_id id = start_run(&own, endless, false);
    wait_step(&own, id, 3); /* the saver has written the first checkpoint */
    assert_int_equal(niceness("trainer"), want);
    assert_int_equal(niceness("saver"), want);
    qn_lab_free(own.lab, false);
}

static void a_run_gives_way_where_that_is_asked_for(void **state)
{
    int before = getpriority(PRIO_PROCESS, 0);
    check_run(*state, false, before);
    check_run(*state, true, before + 5 < 19 ? before + 5 : 19);
    assert_int_equal(getpriority(PRIO_PROCESS, 0), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_run_gives_way_where_that_is_asked_for,
                                        lab_fixture_setup,
                                        lab_fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
