/* available.c - how much memory the kernel and the cgroups would still give. */
#include "base/mem.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Where a version of cgroups keeps its numbers. */
struct cgroup_names {
    const char *root; /* of the mounted hierarchy */
    const char *limit, *usage;
    const char *reclaimable; /* in memory.stat: cache the kernel would drop */
};

static const struct cgroup_names cgroup_v2 = {
    .root = "/sys/fs/cgroup",
    .limit = "memory.max",
    .usage = "memory.current",
    .reclaimable = "inactive_file ",
};

static const struct cgroup_names cgroup_v1 = {
    .root = "/sys/fs/cgroup/memory",
    .limit = "memory.limit_in_bytes",
    .usage = "memory.usage_in_bytes",
    .reclaimable = "total_inactive_file ",
};

/* The number after 'key' at the start of a line of the file; an empty key means
 * the first line. False when there is none ("max" is none). */
static bool read_number(const char *path, const char *key, uint64_t *out)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    char line[256];
    bool found = false;
    while (!found && fgets(line, sizeof line, file) != NULL) {
        found = strncmp(line, key, strlen(key)) == 0 &&
                sscanf(line + strlen(key), "%" SCNu64, out) == 1;
    }
    (void)fclose(file);
    return found;
}

static bool read_in_group(const struct cgroup_names *names, const char *group,
                          const char *file, const char *key, uint64_t *out)
{
    /* On the stack: asking about memory must not take any. */
    char path[4352];
    int len = snprintf(path, sizeof path, "%s%s/%s", names->root, group, file);
    return len > 0 && (size_t)len < sizeof path && read_number(path, key, out);
}

/* What the group leaves, UINT64_MAX when it sets no limit. */
static uint64_t group_room(const struct cgroup_names *names, const char *group)
{
    uint64_t limit, usage, cache = 0;
    if (!read_in_group(names, group, names->limit, "", &limit) ||
        !read_in_group(names, group, names->usage, "", &usage)) {
        return UINT64_MAX;
    }
    (void)read_in_group(names, group, "memory.stat", names->reclaimable,
                        &cache);
    uint64_t used = usage > cache ? usage - cache : 0;
    return limit > used ? limit - used : 0;
}

/* The tightest of the group and its ancestors; cuts 'group' up on the way. */
static uint64_t ancestors_room(const struct cgroup_names *names, char *group)
{
    uint64_t least = UINT64_MAX;
    for (;;) {
        uint64_t room = group_room(names, group);
        least = room < least ? room : least;
        char *slash = strrchr(group, '/');
        if (slash == NULL) {
            return least;
        }
        *slash = '\0';
    }
}

/* A line of /proc/self/cgroup: "0::/path" or "4:cpu,memory:/path". */
static uint64_t cgroup_line_room(char *line)
{
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (group == NULL) {
        return UINT64_MAX;
    }
    *group++ = '\0';
    if (controllers[1] == '\0') {
        return ancestors_room(&cgroup_v2, group);
    }
    if (strstr(controllers, "memory") != NULL) {
        return ancestors_room(&cgroup_v1, group);
    }
    return UINT64_MAX;
}

static uint64_t cgroups_room(void)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (file == NULL) {
        return UINT64_MAX;
    }
    uint64_t least = UINT64_MAX;
    char line[4096];
    while (fgets(line, sizeof line, file) != NULL) {
        uint64_t room = cgroup_line_room(line);
        least = room < least ? room : least;
    }
    (void)fclose(file);
    return least;
}

size_t qn_mem_available(void)
{
    uint64_t kib;
    uint64_t room = cgroups_room();
    if (read_number("/proc/meminfo", "MemAvailable:", &kib) &&
        kib < room / 1024) {
        room = kib * 1024;
    }
    return room < SIZE_MAX ? (size_t)room : SIZE_MAX;
}

bool qn_mem_resident(size_t *now, size_t *most)
{
    static const char status[] = "/proc/self/status";
    uint64_t now_kib, most_kib;
    if (!read_number(status, "VmRSS:", &now_kib) ||
        !read_number(status, "VmHWM:", &most_kib)) {
        return false;
    }
    *now = (size_t)now_kib * 1024;
    *most = (size_t)most_kib * 1024;
    return true;
}
