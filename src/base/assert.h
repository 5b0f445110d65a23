/* assert.h - bugs of ours stop the program, in every build, terminal restored.
 */
#ifndef QN_BASE_ASSERT_H
#define QN_BASE_ASSERT_H

/* A broken contract between two pieces of our own code. Never for user input,
 * files or memory: those are qn_status. */
#define QN_ASSERT(condition)                                                   \
    ((condition) ? (void)0 : qn_assert_failed(#condition, __FILE__, __LINE__))

/* Say what broke on stderr and abort, after the restore hook has run. */
_Noreturn void qn_assert_failed(const char *condition, const char *file,
                                int line);
_Noreturn void qn_die(const char *why);

/* Called first when the program dies by assertion or lack of memory; it must be
 * async-signal-safe. The screen registers one that restores the terminal. */
void qn_set_restore_hook(void (*hook)(void));

#endif
