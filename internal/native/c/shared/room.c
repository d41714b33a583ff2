/* Returns how much host memory is left for allocations on the program's GPUs. Linux gives out
 * more address space than there is memory, and kills the process that touches too much. */
#include "../fake/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Returns the number after a word in a file; UINT64_MAX if there is none. An empty word means the
 * beginning of the file. */
static uint64_t zbs_number_behind(const char *root, const char *file, const char *word) {
  char path[256], line[128];
  uint64_t n = UINT64_MAX;
  size_t length = strlen(word);
  FILE *f;
  snprintf(path, sizeof path, "%s%s", root, file);
  f = fopen(path, "r");
  while (f != NULL && n == UINT64_MAX && fgets(line, sizeof line, f) != NULL) {
    if (strncmp(line, word, length) == 0 && sscanf(line + length, "%" SCNu64, &n) != 1) {
      n = UINT64_MAX;
    }
  }
  if (f != NULL) {
    fclose(f);
  }
  return n;
}

/* Returns how much memory a control group's limit leaves, in bytes. */
static uint64_t zbs_room_of_group(const char *root, const char *limit, const char *usage) {
  uint64_t most = zbs_number_behind(root, limit, ""), used = zbs_number_behind(root, usage, "");
  return most == UINT64_MAX || used == UINT64_MAX ? UINT64_MAX : most > used ? most - used : 0;
}

/* Returns the bytes that are left on the host and in this process's container. Linux shows the
 * container's limit at the same paths (proc_meminfo(5); the kernel's cgroup-v2.rst, and cgroup-v1's
 * memory.rst). The argument `root` is a prefix of the paths. */
static uint64_t zbs_room(const char *root) {
  uint64_t kib = zbs_number_behind(root, "/proc/meminfo", "MemAvailable:");
  uint64_t room = kib < UINT64_MAX / 1024 ? kib * 1024 : UINT64_MAX;
  uint64_t two = zbs_room_of_group(root, "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current");
  uint64_t one = zbs_room_of_group(root, "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                                   "/sys/fs/cgroup/memory/memory.usage_in_bytes");
  room = two < room ? two : room;
  return one < room ? one : room;
}
