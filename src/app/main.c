/* main.c - take the command line apart and call the command. */
#include "app/commands.h"
#include "app/out.h"
#include "base/mem.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>

static int run(const struct qn_args *args)
{
    if (args->option[QN_OPT_VERSION] != NULL) {
        struct qn_out out = {.failed = false};
        (void)qn_out_line(&out, "quern " QN_VERSION);
        return qn_out_close(&out, QN_EXIT_OK);
    }
    if (args->option[QN_OPT_HELP] != NULL) {
        return qn_help_command(args->command);
    }
    return args->command->run(args);
}

/* A closed standard stream must not become the number of some file of a run.
 * Read-only, so that writing to it fails. */
static void fill_closed_streams(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0) {
            (void)open("/dev/null", O_RDONLY);
        }
    }
}

int main(int argc, char **argv)
{
    struct qn_args args;
    struct qn_err err;
    fill_closed_streams();
    qn_mem_return_large();
    /* Characters as the terminal has them; numbers always with a point. */
    (void)setlocale(LC_ALL, "");
    (void)setlocale(LC_NUMERIC, "C");
    /* A pipe that nobody reads is a failed write, said like any other. */
    (void)signal(SIGPIPE, SIG_IGN);
    /* So is a file that may not grow any further. */
    (void)signal(SIGXFSZ, SIG_IGN);
    enum qn_status status = qn_args_parse(&args, argc, argv, &err);
    int result = status == QN_OK ? run(&args) : qn_give_up(status, &err);
    qn_args_free(&args);
    return result;
}
