/* disk.c - a small disk that is really full, and a store that is read only.
 *
 * Both are mounted where only this process and its children see them. */
#define _GNU_SOURCE /* unshare */
#include "subject.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Weights of some 60 KB, a state of twice that. */
#define SETTINGS                                                               \
    "data.train=text.txt batch=4 seq=8 threads=2 model.layers=2 "              \
    "model.hidden=36 model.embed=8 optim.lr=0.01 eval.every=5 "                \
    "stats.every=5 checkpoint.every=5 name=run steps=20 "

static void write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);
    if (fd >= 0) {
        (void)!write(fd, text, strlen(text));
        (void)close(fd);
    }
}

/* Mounts of our own, as root or as root of a name space of our own. */
static bool may_mount(void)
{
    uid_t user = getuid();
    gid_t group = getgid();
    char map[64];
    if (unshare(CLONE_NEWNS) != 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
            return false;
        }
        write_text("/proc/self/setgroups", "deny");
        (void)snprintf(map, sizeof map, "0 %lu 1", (unsigned long)user);
        write_text("/proc/self/uid_map", map);
        (void)snprintf(map, sizeof map, "0 %lu 1", (unsigned long)group);
        write_text("/proc/self/gid_map", map);
    }
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static int setup(void **state)
{
    if (shell_setup(state) != 0 || mkdir("disk", 0777) != 0) {
        return -1;
    }
    write_sentences("text.txt", 100, 5);
    return mount("none", "disk", "tmpfs", 0, "size=2m");
}

static int teardown(void **state)
{
    (void)umount2("disk", MNT_DETACH);
    return shell_teardown(state);
}

/* Leave so many KB on the disk. */
static void leave_room(int kb)
{
    assert_int_equal(
        sh("rm -f disk/ballast; "
           "free=$(df -k --output=avail disk | tail -n 1); "
           "head -c $(((free - %d) * 1024)) /dev/zero >disk/ballast",
           kb),
        0);
}

static void make_room(void)
{
    assert_int_equal(unlink("disk/ballast"), 0);
}

static bool reach_pause(struct child *c)
{
    json_t *line;
    bool paused = false;
    while (!paused && (line = child_line(c)) != NULL) {
        paused = strcmp(string(line, "event"), "pause") == 0;
        json_decref(line);
    }
    return paused;
}

static void same_as_calm(void)
{
    char *run = only_run("disk/store"), *of = only_run("calm");
    char *a = qn_path_join(run, "checkpoints/20/model.safetensors");
    char *b = qn_path_join(of, "checkpoints/20/model.safetensors");
    same_bytes(a, b);
    struct view x = view_of(run), y = view_of(of);
    same_view(&x, &y);
    view_free(&x);
    view_free(&y);
    free(a);
    free(b);
    free(run);
    free(of);
}

/* What became of a run on a disk with so much room; it may not pause at all,
 * or not even begin. */
enum fate { NOT_MADE, PAUSED, NEVER_FULL };

static enum fate train_with_room(int kb)
{
    enum fate fate = PAUSED;
    leave_room(kb);
    struct child c = child_start("train --json --store disk/store " SETTINGS);
    bool paused = reach_pause(&c);
    make_room();
    int status = child_end(&c);
    char *said = file_text(".err");
    if (paused) {
        if (status != 0 || !is_one_sentence(said)) {
            fail_msg("%d KB: status %d, %s", kb, status, said);
        }
        same_as_calm();
    } else if (status == 0) {
        assert_string_equal(said, "");
        same_as_calm();
        fate = NEVER_FULL;
    } else {
        fate = NOT_MADE;
        if (status != 1 || !is_one_sentence(said) ||
            sh("test -z \"$(ls -A disk/store 2>.ls)\"") != 0) {
            fail_msg("%d KB: status %d, %s", kb, status, said);
        }
    }
    free(said);
    assert_int_equal(sh("rm -rf disk/store"), 0);
    return fate;
}

/* From where a run cannot be made to where the disk is large enough: room ends
 * in the folder's files, in lines, in weights and in states. */
static void a_full_disk_pauses_and_loses_nothing(void **state)
{
    (void)state;
    static const int rooms[] = {0, 8, 24, 48, 100, 200, 330, 1800};
    int n[3] = {0};
    free(quern_out("train --json --store calm " SETTINGS));
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        n[train_with_room(rooms[i])]++;
    }
    assert_true(n[NOT_MADE] > 0);
    assert_true(n[PAUSED] >= 3);
    assert_true(n[NEVER_FULL] > 0);
}

/* Without a screen a paused run is nobody's, but this one goes on by itself. */
static void a_script_waits_for_room(void **state)
{
    (void)state;
    static const char lua[] =
        "local run = qn.train{ data = { train = 'text.txt' }, batch = 4,\n"
        "  seq = 8, threads = 2, name = 'run', steps = 20,\n"
        "  model = { layers = 2, hidden = 36, embed = 8 },\n"
        "  optim = { lr = 0.01 }, eval = { every = 5 },\n"
        "  stats = { every = 5 }, checkpoint = { every = 5 } }\n"
        "run:wait{ until_ = function() return run.state == 'paused' end }\n"
        "print('{\"event\":\"pause\"}')\n"
        "io.stdout:flush()\n"
        "assert(run:wait())\n";
    free(quern_out("train --json --store calm " SETTINGS));
    write_file("wait.lua", lua, strlen(lua));
    leave_room(200);
    struct child c = child_start("--store disk/store wait.lua");
    bool paused = reach_pause(&c);
    make_room();
    assert_int_equal(child_end(&c), 0);
    assert_true(paused);
    same_as_calm();
}

static void an_export_to_a_full_disk_leaves_nothing(void **state)
{
    (void)state;
    static const int rooms[] = {0, 4, 12, 60, 90};
    free(quern_out("train --json --store calm " SETTINGS));
    char *run = only_run("calm");
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        leave_room(rooms[i]);
        struct outcome o = tried("export %s --to disk/out", run);
        assert_int_equal(o.status, 1);
        check_sentence(&o, "No space left on device");
        assert_int_equal(sh("test ! -e disk/out"), 0);
        outcome_free(&o);
        make_room();
    }
    free(quern_out("export %s --to disk/out", run));
    free(run);
}

static void fails_with_a_sentence(const char *line)
{
    struct outcome o = tried("%s", line);
    if (o.status != 1) {
        fail_msg("%s: status %d", line, o.status);
    }
    check_sentence(&o, "Read-only file system");
    outcome_free(&o);
}

static void a_store_that_is_read_only_can_be_read(void **state)
{
    (void)state;
    static const char *const reading[] = {
        "runs",       "eval run",
        "stats run",  "sample run --length 5",
        "params run", "export run --to elsewhere",
        "look.lua"};
    static const char lua[] = "local run = assert(qn.run('run'))\n"
                              "assert(#qn.runs() == 1 and run.step == 20)\n"
                              "assert(assert(run:evaluate()).loss > 0)\n";
    (void)setenv("QUERN_STORE", "disk/store", 1);
    free(quern_out("train --json " SETTINGS));
    write_file("look.lua", lua, strlen(lua));
    assert_int_equal(mount("none", "disk", NULL, MS_REMOUNT | MS_RDONLY, NULL),
                     0);
    char *before = tree("disk/store", NULL);
    for (size_t i = 0; i < sizeof reading / sizeof *reading; i++) {
        struct outcome o = tried("%s", reading[i]);
        if (o.status != 0) {
            fail_msg("%s: status %d, %s", reading[i], o.status, o.err);
        }
        outcome_free(&o);
    }
    fails_with_a_sentence("train " SETTINGS);
    fails_with_a_sentence("resume run steps=30");
    fails_with_a_sentence("fork run steps=30");
    fails_with_a_sentence("rerun run");
    fails_with_a_sentence("export run --to disk/out");
    char *after = tree("disk/store", NULL);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_full_disk_pauses_and_loses_nothing),
        TEST(a_script_waits_for_room),
        TEST(an_export_to_a_full_disk_leaves_nothing),
        TEST(a_store_that_is_read_only_can_be_read),
    };
    if (!may_mount()) {
        printf("skipped: nothing may be mounted here: %s\n", strerror(errno));
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
