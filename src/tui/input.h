/* input.h - bytes from a terminal into keys: pure, without a terminal.
 *
 * Every unit comes out with the bytes it was made of, so that keys nobody
 * claims can be handed to Readline as they came. A lone ESC and the start of an
 * escape sequence look alike: the decoder holds it back until more comes or the
 * caller's clock says that nothing will (qn_input_flush).
 */
#ifndef QN_TUI_INPUT_H
#define QN_TUI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum qn_key_code {
    QN_KEY_CHAR, /* code = the code point, alt = ESC came before it */
    QN_KEY_ESC,
    QN_KEY_F1, /* F1 .. F12 follow each other */
    QN_KEY_F12 = QN_KEY_F1 + 11,
    QN_KEY_UP,
    QN_KEY_DOWN,
    QN_KEY_LEFT,
    QN_KEY_RIGHT,
    QN_KEY_HOME,
    QN_KEY_END,
    QN_KEY_PAGE_UP,
    QN_KEY_PAGE_DOWN,
    QN_KEY_DELETE,
    QN_KEY_PASTE, /* bytes = what was pasted, brackets taken off */
    QN_KEY_OTHER  /* a sequence of no meaning here */
};

struct qn_key {
    enum qn_key_code code;
    uint32_t ch; /* of QN_KEY_CHAR; control characters as they are */
    bool alt;
    const char *bytes; /* valid during the call */
    size_t len;
};

typedef void (*qn_key_fn)(void *user, const struct qn_key *key);

struct qn_input;
struct qn_input *qn_input_new(qn_key_fn fn, void *user);
void qn_input_free(struct qn_input *in); /* NULL is fine */

void qn_input_feed(struct qn_input *in, const char *bytes, size_t len);
/* How long to wait for more before the flush; 0 = nothing is held back. A paste
 * is worth a second: what came too late would be taken for keys, and run. */
int qn_input_patience_ms(const struct qn_input *in);
/* Nothing more came: what is held back is what it looks like. An unfinished
 * paste is handed on as far as it came. */
void qn_input_flush(struct qn_input *in);

#endif
