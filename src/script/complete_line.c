/* complete_line.c - read a half-typed line up to the cursor. */
#include "script/complete_line.h"

#include <ctype.h>
#include <string.h>

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == ':' ||
           (unsigned char)c >= 0x80;
}

static int skip_spaces_back(const char *line, int i)
{
    while (i > 0 && isspace((unsigned char)line[i - 1])) {
        i--;
    }
    return i;
}

static int word_start(const char *line, int end)
{
    while (end > 0 && is_word(line[end - 1])) {
        end--;
    }
    return end;
}

static void copy_word(char *out, const char *line, int from, int to)
{
    size_t len = (size_t)(to - from);
    out[0] = '\0';
    if (len < QN_CALLEE_LEN) {
        memcpy(out, line + from, len);
        out[len] = '\0';
    }
}

/* What a bracket or a string that opens at 'at' belongs to: the call whose name
 * stands before it, the call around it, or the key that it is given to. */
static void find_owner(const char *line, int at, const struct qn_cursor *c,
                       struct qn_frame *out)
{
    out->callee[0] = out->key[0] = '\0';
    int end = skip_spaces_back(line, at);
    int start = word_start(line, end);
    if (start < end) {
        copy_word(out->callee, line, start, end);
        return;
    }
    char before = end > 0 ? line[end - 1] : '\0';
    if (before == '=') {
        end = skip_spaces_back(line, end - 1);
        copy_word(out->key, line, word_start(line, end), end);
    } else if ((before == '(' || before == ',') && c->n_frames > 0 &&
               c->frame[c->n_frames - 1].bracket == '(') {
        memcpy(out->callee, c->frame[c->n_frames - 1].callee, QN_CALLEE_LEN);
    }
}

static void open_frame(const char *line, int at, struct qn_cursor *c)
{
    if (c->n_frames == QN_MAX_FRAMES) {
        c->is_lost = true;
        return;
    }
    struct qn_frame f = {.bracket = line[at]};
    find_owner(line, at, c, &f);
    c->frame[c->n_frames++] = f;
}

/* The end of the string that opens at i, or point when it is open there. */
static int string_end(const char *line, int i, int point)
{
    char quote = line[i];
    for (i++; i < point && line[i] != quote; i++) {
        if (line[i] == '\\' && i + 1 < point) {
            i++;
        }
    }
    return i;
}

void qn_cursor_find(const char *line, int point, struct qn_cursor *out)
{
    memset(out, 0, sizeof *out);
    for (int i = 0; i < point && !out->is_lost; i++) {
        char c = line[i];
        if (c == '"' || c == '\'') {
            int end = string_end(line, i, point);
            if (end >= point) {
                out->in_string = true;
                out->start = i + 1;
                out->string.bracket = c;
                find_owner(line, i, out, &out->string);
                return;
            }
            i = end;
        } else if (c == '-' && i + 1 < point && line[i + 1] == '-') {
            out->is_lost = memchr(line + i, '\n', (size_t)(point - i)) == NULL;
            while (i < point && line[i] != '\n') {
                i++;
            }
        } else if (c == '(' || c == '{' || c == '[') {
            open_frame(line, i, out);
        } else if ((c == ')' || c == '}' || c == ']') && out->n_frames > 0) {
            out->n_frames--;
        }
    }
    out->start = word_start(line, point);
    int end = skip_spaces_back(line, out->start);
    out->before = end > 0 ? line[end - 1] : '\0';
}
