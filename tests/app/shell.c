/* shell.c - the program in a folder of its own: run it, look at what it says.
 */
#include "shell.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void write_text(void)
{
    struct qn_str text = {0};
    for (int i = 0; i < 60; i++) {
        qn_str_add(&text, "the cat sat on the mat; ");
    }
    write_file("text.txt", text.text, text.len);
    qn_str_free(&text);
}

int shell_setup(void **state)
{
    const char *tmp = getenv("TMPDIR");
    char *folder = qn_xasprintf("%s/quern-app-XXXXXX", tmp ? tmp : "/tmp");
    if (mkdtemp(folder) == NULL || chdir(folder) != 0) {
        return -1;
    }
    static const char *const folders[] = {"HOME", "XDG_STATE_HOME",
                                          "XDG_DATA_HOME", "XDG_CACHE_HOME"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        (void)setenv(folders[i], folder, 1);
    }
    (void)unsetenv("QUERN_DATA");
    (void)setenv("QUERN_STORE", "store", 1);
    (void)setenv("LC_ALL", "C.UTF-8", 1);
    write_text();
    *state = folder;
    return 0;
}

int shell_teardown(void **state)
{
    char *folder = *state;
    (void)chdir("/");
    (void)qn_remove_tree(folder, NULL);
    free(folder);
    return 0;
}

static char *read_all(const char *name)
{
    struct qn_bytes bytes = {0};
    if (qn_file_read(name, &bytes, NULL) != QN_OK) {
        return qn_xstrdup("");
    }
    return bytes.data;
}

/* The exit status as a shell tells it. */
static int status_of(int wait_status)
{
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status)
                                  : 128 + WTERMSIG(wait_status);
}

static char *vformat(const char *format, va_list args) QN_PRINTF(1, 0);
static struct outcome vquern(const char *format, va_list args) QN_PRINTF(1, 0);

static char *vformat(const char *format, va_list args)
{
    char text[8192];
    (void)vsnprintf(text, sizeof text, format, args);
    return qn_xstrdup(text);
}

static struct outcome vquern(const char *format, va_list args)
{
    char *line = vformat(format, args);
    /* Braces: a redirection of the caller's comes after ours and wins. */
    char *command =
        qn_xasprintf("{ %s %s; } >.out 2>.err </dev/null", QUERN, line);
    struct outcome o = {.status = status_of(system(command))};
    o.out = read_all(".out");
    o.err = read_all(".err");
    free(command);
    free(line);
    return o;
}

struct outcome quern(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct outcome o = vquern(format, args);
    va_end(args);
    return o;
}

void outcome_free(struct outcome *o)
{
    free(o->out);
    free(o->err);
}

char *quern_out(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct outcome o = vquern(format, args);
    va_end(args);
    if (o.status != 0) {
        fail_msg("quern %s: %d, %s", format, o.status, o.err);
    }
    free(o.err);
    return o.out;
}

int sh(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *line = vformat(format, args);
    va_end(args);
    int status = status_of(system(line));
    free(line);
    return status;
}

struct child child_start(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *line = vformat(format, args);
    va_end(args);
    /* Should this test fail, nobody waits for the child: it ends, too. */
    char *command = qn_xasprintf("echo $$; exec setpriv --pdeathsig KILL %s %s "
                                 "2>.err </dev/null",
                                 QUERN, line);
    struct child c = {.out = popen(command, "r")};
    free(command);
    free(line);
    assert_non_null(c.out);
    char pid[64];
    int64_t number = 0;
    assert_non_null(fgets(pid, sizeof pid, c.out));
    pid[strcspn(pid, "\n")] = '\0';
    assert_true(qn_parse_int(pid, &number));
    c.pid = (pid_t)number;
    return c;
}

json_t *child_line(struct child *c)
{
    char line[65536];
    return fgets(line, sizeof line, c->out) != NULL ? parse(line) : NULL;
}

bool child_reach(struct child *c, int step)
{
    json_t *line;
    while ((line = child_line(c)) != NULL) {
        bool reached = strcmp(string(line, "event"), "step") == 0 &&
                       number(line, "step") >= step;
        json_decref(line);
        if (reached) {
            return true;
        }
    }
    return false;
}

int child_end(struct child *c)
{
    char rest[4096];
    while (fread(rest, 1, sizeof rest, c->out) > 0) {
    }
    return status_of(pclose(c->out));
}

void write_file(const char *name, const void *data, size_t len)
{
    struct qn_err err;
    if (qn_file_write(name, data, len, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
}

json_t *parse(const char *text)
{
    json_error_t why;
    json_t *value = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    if (value == NULL) {
        fail_msg("no JSON (%s): %s", why.text, text);
    }
    return value;
}

double number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    if (!json_is_number(v)) {
        char *text = json_dumps(object, 0);
        fail_msg("no number \"%s\" in %s", key, text);
    }
    return json_number_value(v);
}

const char *string(const json_t *object, const char *key)
{
    const char *v = json_string_value(json_object_get(object, key));
    if (v == NULL) {
        char *text = json_dumps(object, 0);
        fail_msg("no string \"%s\" in %s", key, text);
    }
    return v;
}
