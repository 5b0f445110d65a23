/* complete_files.c - names of files for a half-typed path in quotes. */
#include "script/complete_files.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/lua_util.h"

#include <stdlib.h>
#include <string.h>

struct listing {
    char **names;
    size_t n;
};

static void free_listing(void *p)
{
    struct listing *l = p;
    for (size_t i = 0; i < l->n; i++) {
        free(l->names[i]);
    }
    free(l->names);
    free(l);
}

/* Whether the name can stand in quotes of either kind as it is. */
static bool is_plain(const char *name)
{
    for (; *name != '\0'; name++) {
        unsigned char c = (unsigned char)*name;
        if (c < ' ' || c == 0x7f || strchr("\"'\\", c) != NULL) {
            return false;
        }
    }
    return true;
}

/* "folder/name", with "/" behind when it is a folder. */
static void add_file(lua_State *L, int set, const char *folder,
                     const char *name)
{
    lua_pushfstring(L, "%s%s", folder, name);
    if (qn_path_is_dir(lua_tostring(L, -1))) {
        lua_pushliteral(L, "/");
        lua_concat(L, 2);
    }
    lua_pushboolean(L, true);
    lua_rawset(L, set);
}

void qn_complete_files(lua_State *L, int set, const char *path, size_t len)
{
    int top = lua_gettop(L);
    const char *word = lua_pushlstring(L, path, len);
    const char *slash = strrchr(word, '/');
    const char *start = slash != NULL ? slash + 1 : word;
    /* Up to its slash: "" is the working folder. */
    const char *folder = lua_pushlstring(L, word, (size_t)(start - word));
    struct qn_lua_box *box = qn_lua_box(L, free_listing);
    struct listing *l = qn_xcalloc(1, sizeof *l);
    box->p = l;
    if (is_plain(word) && qn_dir_list(folder[0] != '\0' ? folder : ".",
                                      &l->names, &l->n, NULL) != QN_OK) {
        l->n = 0;
    }
    for (size_t i = 0; i < l->n; i++) {
        const char *name = l->names[i];
        bool is_shown = name[0] != '.' || start[0] == '.';
        if (is_shown && is_plain(name) && qn_starts_with(name, start)) {
            add_file(L, set, folder, name);
        }
    }
    qn_lua_box_free(box);
    lua_settop(L, top);
}
