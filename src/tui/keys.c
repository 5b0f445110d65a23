/* keys.c - the table that dispatches keys and writes the help. */
#include "tui/keys.h"

#include <stddef.h>

#define F(n) QN_KEY_F1 + (n)-1
#define CTRL(c) ((c)&0x1f)

/* A way to press an action: a code with its character (0 for keys without). */
struct press {
    enum qn_key_code code;
    uint32_t ch;
    bool alt;
    enum qn_key_place place;
    const char *name;
};

#define MAX_PRESSES 4

static const struct {
    enum qn_action action;
    const char *help;
    struct press press[MAX_PRESSES];
} table[] = {
    {QN_ACT_HELP,
     "this help",
     {{F(1), 0, false, QN_EVERYWHERE, "F1"},
      {QN_KEY_CHAR, 'h', true, QN_EVERYWHERE, "Alt-h"},
      {QN_KEY_CHAR, '?', false, QN_IN_PANES, "?"}}},
    {QN_ACT_FOCUS_NEXT,
     "focus the next pane",
     {{F(6), 0, false, QN_EVERYWHERE, "F6"},
      {QN_KEY_CHAR, 'o', true, QN_EVERYWHERE, "Alt-o"},
      {QN_KEY_CHAR, '\t', false, QN_IN_PANES, "Tab"}}},
    {QN_ACT_FOCUS_LOSS,
     "focus the loss",
     {{QN_KEY_CHAR, '1', true, QN_EVERYWHERE, "Alt-1"},
      {QN_KEY_CHAR, '1', false, QN_IN_PANES, "1"}}},
    {QN_ACT_FOCUS_CELLS,
     "focus the cell states",
     {{QN_KEY_CHAR, '2', true, QN_EVERYWHERE, "Alt-2"},
      {QN_KEY_CHAR, '2', false, QN_IN_PANES, "2"}}},
    {QN_ACT_FOCUS_PROMPT,
     "back to the prompt",
     {{QN_KEY_CHAR, '3', true, QN_EVERYWHERE, "Alt-3"},
      {QN_KEY_ESC, 0, false, QN_IN_PANES, "Esc"},
      {QN_KEY_CHAR, ':', false, QN_IN_PANES, ":"},
      {QN_KEY_CHAR, 'i', false, QN_IN_PANES, "i"}}},
    {QN_ACT_MAXIMISE,
     "one pane large, and back",
     {{F(3), 0, false, QN_EVERYWHERE, "F3"},
      {QN_KEY_CHAR, 'e', false, QN_IN_PANES, "e"},
      {QN_KEY_CHAR, '\r', false, QN_IN_PANES, "Enter"}}},
    {QN_ACT_ACCURACY,
     "the loss or, of classifiers, the accuracy",
     {{QN_KEY_CHAR, 'a', true, QN_EVERYWHERE, "Alt-a"},
      {QN_KEY_CHAR, 'a', false, QN_IN_PANES, "a"}}},
    {QN_ACT_LOG_Y,
     "loss axis linear or logarithmic",
     {{F(5), 0, false, QN_EVERYWHERE, "F5"},
      {QN_KEY_CHAR, 'y', false, QN_IN_PANES, "y"}}},
    {QN_ACT_SMOOTH_MORE,
     "smooth the training curve more",
     {{QN_KEY_CHAR, 's', false, QN_IN_PANES, "s"}}},
    {QN_ACT_SMOOTH_LESS,
     "smooth it less",
     {{QN_KEY_CHAR, 'S', false, QN_IN_PANES, "S"}}},
    {QN_ACT_LAYER_UP,
     "the layer before",
     {{QN_KEY_UP, 0, false, QN_IN_PANES, "Up"},
      {QN_KEY_CHAR, 'k', false, QN_IN_PANES, "k"},
      {QN_KEY_CHAR, '[', false, QN_IN_PANES, "["},
      {QN_KEY_CHAR, 'p', true, QN_EVERYWHERE, "Alt-p"}}},
    {QN_ACT_LAYER_DOWN,
     "the layer after",
     {{QN_KEY_DOWN, 0, false, QN_IN_PANES, "Down"},
      {QN_KEY_CHAR, 'j', false, QN_IN_PANES, "j"},
      {QN_KEY_CHAR, ']', false, QN_IN_PANES, "]"},
      {QN_KEY_CHAR, 'n', true, QN_EVERYWHERE, "Alt-n"}}},
    {QN_ACT_QUANTITY,
     "the next of what is counted: c, z, h, f, o",
     {{F(2), 0, false, QN_EVERYWHERE, "F2"},
      {QN_KEY_CHAR, 'c', false, QN_IN_PANES, "c"}}},
    {QN_ACT_NEXT_RUN,
     "the next run",
     {{F(4), 0, false, QN_EVERYWHERE, "F4"},
      {QN_KEY_CHAR, 'r', false, QN_IN_PANES, "r"}}},
    {QN_ACT_GLYPHS,
     "graphs in braille, blocks or ASCII (if you see boxes)",
     {{F(7), 0, false, QN_EVERYWHERE, "F7"},
      {QN_KEY_CHAR, 'g', false, QN_IN_PANES, "g"}}},
    {QN_ACT_PAUSE,
     "pause the run, or go on",
     {{F(8), 0, false, QN_EVERYWHERE, "F8"},
      {QN_KEY_CHAR, 'p', false, QN_IN_PANES, "p"}}},
    {QN_ACT_STOP,
     "stop the run: save, discard or cancel",
     {{F(9), 0, false, QN_EVERYWHERE, "F9"},
      {QN_KEY_CHAR, 'x', false, QN_IN_PANES, "x"}}},
    {QN_ACT_PAGE_UP,
     "back in the prompt's output",
     {{QN_KEY_PAGE_UP, 0, false, QN_EVERYWHERE, "PgUp"}}},
    {QN_ACT_PAGE_DOWN,
     "forward in it",
     {{QN_KEY_PAGE_DOWN, 0, false, QN_EVERYWHERE, "PgDn"}}},
    {QN_ACT_LIVE, "to its end", {{QN_KEY_END, 0, false, QN_IN_PANES, "End"}}},
    {QN_ACT_REPAINT,
     "draw the whole screen again",
     {{QN_KEY_CHAR, CTRL('l'), false, QN_EVERYWHERE, "Ctrl-L"}}},
    {QN_ACT_QUIT,
     "quit (asks while a run trains)",
     {{F(10), 0, false, QN_EVERYWHERE, "F10"},
      {QN_KEY_CHAR, 'q', false, QN_IN_PANES, "q"},
      {QN_KEY_CHAR, CTRL('d'), false, QN_IN_PANES, "Ctrl-D"}}},
};

#define N_ROWS ((int)(sizeof table / sizeof *table))

static bool pressed(const struct press *p, const struct qn_key *key)
{
    return p->code == key->code && p->ch == key->ch && p->alt == key->alt;
}

enum qn_action qn_keys_find(const struct qn_key *key, bool in_prompt)
{
    enum qn_key_place place = in_prompt ? QN_IN_PROMPT : QN_IN_PANES;
    for (int i = 0; i < N_ROWS; i++) {
        for (int k = 0; k < MAX_PRESSES && table[i].press[k].name; k++) {
            const struct press *p = &table[i].press[k];
            if ((p->place & place) && pressed(p, key))
                return table[i].action;
        }
    }
    return QN_ACT_NONE;
}

int qn_keys_n(void)
{
    return N_ROWS;
}

void qn_keys_help(int i, struct qn_str *keys, const char **help)
{
    for (int k = 0; k < MAX_PRESSES && table[i].press[k].name; k++)
        qn_str_addf(keys, "%s%s", k > 0 ? " " : "", table[i].press[k].name);
    *help = table[i].help;
}

const struct qn_hint *qn_keys_hints(bool in_prompt)
{
    static const struct qn_hint prompt[] = {
        {"F1", "help", NULL, false},       {"F8", "pause", "go on", false},
        {"F9", "stop", NULL, false},       {"^D", "quit", NULL, false},
        {"Alt-a", "accuracy", NULL, true}, {"F6", "focus", NULL, false},
        {"F3", "maximise", NULL, false},   {"F5", "log y", NULL, false},
        {"F2", "c z h f o", NULL, false},  {"^C", "clear", NULL, false},
        {"Tab", "complete", NULL, false},  {NULL, NULL, NULL, false},
    };
    static const struct qn_hint panes[] = {
        {"?", "help", NULL, false},        {"p", "pause", "go on", false},
        {"x", "stop", NULL, false},        {"q", "quit", NULL, false},
        {"a", "accuracy", NULL, true},     {"Esc", "prompt", NULL, false},
        {"e", "maximise", NULL, false},    {"y", "log y", NULL, false},
        {"Up Down", "layer", NULL, false}, {"s S", "smooth", NULL, false},
        {"c", "c z h f o", NULL, false},   {NULL, NULL, NULL, false},
    };
    return in_prompt ? prompt : panes;
}
