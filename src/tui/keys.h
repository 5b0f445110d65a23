/* keys.h - one table from keys to actions; help and hints come from it, too. */
#ifndef QN_TUI_KEYS_H
#define QN_TUI_KEYS_H

#include "base/str.h"
#include "tui/input.h"

enum qn_action {
    QN_ACT_NONE,
    QN_ACT_HELP,
    QN_ACT_FOCUS_NEXT,
    QN_ACT_FOCUS_PROMPT,
    QN_ACT_FOCUS_LOSS,
    QN_ACT_FOCUS_CELLS,
    QN_ACT_MAXIMISE,
    QN_ACT_ACCURACY,
    QN_ACT_LOG_Y,
    QN_ACT_GLYPHS,
    QN_ACT_PAUSE,
    QN_ACT_STOP,
    QN_ACT_NEXT_RUN,
    QN_ACT_LAYER_UP,
    QN_ACT_LAYER_DOWN,
    QN_ACT_QUANTITY,
    QN_ACT_SMOOTH_MORE,
    QN_ACT_SMOOTH_LESS,
    QN_ACT_PAGE_UP,
    QN_ACT_PAGE_DOWN,
    QN_ACT_LIVE,
    QN_ACT_REPAINT,
    QN_ACT_QUIT
};

/* Where a key means this. */
enum qn_key_place { QN_IN_PROMPT = 1, QN_IN_PANES = 2, QN_EVERYWHERE = 3 };

/* What this key does while the prompt has the focus, or a pane. */
enum qn_action qn_keys_find(const struct qn_key *key, bool in_prompt);

/* Rows for the help: "F8 or p", what it does. */
int qn_keys_n(void);
void qn_keys_help(int i, struct qn_str *keys, const char **help);

/* The bottom row: "F1 help", "F8 pause", ..., most useful first; NULL after
 * the last. */
struct qn_hint {
    const char *key, *label;
    const char *if_paused; /* the label while the run is; NULL = the same */
    bool of_classifiers;   /* of no use for another run */
};
const struct qn_hint *qn_keys_hints(bool in_prompt);

#endif
