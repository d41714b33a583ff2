/* Processes that are killed at each system call that makes, joins, leaves or removes the
 * file where they meet: left_test FOLDER. Whatever is left is removed, and what another
 * process uses stays. Exits 0 when all is as it should be. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int calls_left = -1; /* until this process is killed; negative: it is not */
static int no_memory;

static int killed(void) {
  if (calls_left == 0) {
    kill(getpid(), SIGKILL);
  }
  calls_left -= calls_left > 0;
  return 0;
}

/* Killed before each of them, and so after the one before. */
#define open(...) (killed() ? -1 : (open)(__VA_ARGS__))
#define flock(...) (killed() ? -1 : (flock)(__VA_ARGS__))
#define fstat(...) (killed() ? -1 : (fstat)(__VA_ARGS__))
#define ftruncate(...) (killed() ? -1 : (ftruncate)(__VA_ARGS__))
#define fcntl(...) (killed() ? -1 : (fcntl)(__VA_ARGS__))
#define mmap(...) (killed() || no_memory ? MAP_FAILED : (mmap)(__VA_ARGS__))
#define munmap(...) (killed() ? -1 : (munmap)(__VA_ARGS__))
#define unlink(...) (killed() ? -1 : (unlink)(__VA_ARGS__))

#include "../unity.c"
#include "check.h"

static const char machine[] = "zbench-machine 1\nranks 64\ngpus_per_process 1\nhbm_bytes 1073741824\n";

enum { ENDED = 3, RACES = 300 };

static char path[4096];

static int is_there(void) { return access(path, F_OK) == 0; }

static int joins(int exists) {
  const zbl_share how = {.path = path, .count = 1, .exists = exists};
  char why[256];
  return zbl_join_world(machine, &how, why, sizeof why);
}

static void leaves(void) {
  zbl_leave_file(path);
  zbl_shutdown();
}

static void lives(void) {
  CHECK(joins(0));
  leaves();
}

static void cleans(void) { zbl_remove_left(path); }

/* Runs it in a process that is killed at its nth call. 0 when it ended before. */
static int killed_at(int n, void (*run)(void)) {
  int status = 0;
  pid_t child = fork();
  if (child == 0) {
    calls_left = n;
    run();
    calls_left = -1;
    _exit(failures > 0 ? 1 : ENDED);
  }
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == ENDED);
  return WIFSIGNALED(status);
}

static void at_every_call(void) {
  int left = 0, n = 0;
  for (; killed_at(n, lives); n++) {
    int there = is_there();
    CHECK(zbl_remove_left(path) == there);
    CHECK(!is_there());
    left += there;
  }
  CHECK(n > left && left >= 8); /* the first leave no file, and the last ones */
  CHECK(!is_there());
}

/* A process that has the world open, and that ends when it is killed. */
static pid_t holder(void) {
  int ready[2];
  char byte;
  pid_t child;
  CHECK(pipe(ready) == 0);
  if ((child = fork()) == 0) {
    CHECK(joins(0) && write(ready[1], "1", 1) == 1);
    for (;;) {
      pause();
    }
  }
  CHECK(read(ready[0], &byte, 1) == 1);
  close(ready[0]);
  close(ready[1]);
  return child;
}

static void end_of(pid_t child) {
  kill(child, SIGKILL);
  CHECK(waitpid(child, NULL, 0) == child);
}

static void beside_another(void) {
  struct stat before, now;
  pid_t child = holder();
  CHECK(stat(path, &before) == 0);
  for (int n = 0; killed_at(n, lives); n++) {
    CHECK(zbl_remove_left(path) == 0);
  }
  CHECK(stat(path, &now) == 0 && now.st_ino == before.st_ino);
  end_of(child);
  CHECK(zbl_remove_left(path) == 1 && !is_there());
}

static void while_removing(void) {
  int left, again = 1;
  for (int n = 0; again; n++) {
    end_of(holder());
    again = killed_at(n, cleans);
    left = is_there();
    CHECK(zbl_remove_left(path) == left && !is_there());
  }
}

/* Who joins while another removes has the file that the path names. */
static void at_once(void) {
  pid_t child = fork();
  if (child == 0) {
    for (;;) {
      zbl_remove_left(path);
    }
  }
  for (int i = 0; i < RACES; i++) {
    CHECK(joins(0) && zbl_names(path, zbl.shared_fd));
    leaves();
  }
  end_of(child);
}

/* Only the own file is removed, by whatever name it has then. */
static void another_has_the_name(void) {
  char moved[sizeof path + 8];
  snprintf(moved, sizeof moved, "%s.moved", path);
  CHECK(joins(0) && rename(path, moved) == 0 && symlink(moved, path) == 0);
  zbl_remove_name(path);
  CHECK(access(moved, F_OK) == 0);
  leaves();
  CHECK(access(moved, F_OK) == 0 && is_there());
  CHECK(!joins(0)); /* nor is a link followed */
  CHECK(unlink(path) == 0 && unlink(moved) == 0);
  CHECK(!joins(1) && !is_there()); /* nor a file made that was there */
}

/* A world that cannot be joined leaves no file that nobody needs. */
static void refused(void) {
  no_memory = 1;
  CHECK(!joins(0) && !is_there());
  no_memory = 0;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    return 2;
  }
  snprintf(path, sizeof path, "%s/world", argv[1]);
  at_every_call();
  beside_another();
  while_removing();
  at_once();
  another_has_the_name();
  refused();
  return failures > 0;
}
