/* The file where the processes of a world meet. This code makes and clears the file, and removes
 * its name. A process that uses the file holds a lock on one byte of it (lost.c). A process that
 * makes, joins or removes it locks the whole file (flock). The kernel releases both locks however
 * a process ends, and processes of every PID namespace see them. */
#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bits 16 and up of a hub's magic number are the same in every build. */
enum { ZBL_MAGIC_BUILD = 16 };

/* Reports whether the path itself, not a link, names the open file. By now the name may belong to
 * another file. */
static int zbl_names(const char *path, int fd) {
  struct stat here, there;
  return fstat(fd, &here) == 0 && lstat(path, &there) == 0 &&
         here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

static int zbl_is_own_file(const struct stat *st) {
  return S_ISREG(st->st_mode) && st->st_uid == geteuid();
}

/* Opens the file where processes meet, and locks it. A file that no process has open belongs to a
 * finished world and is cleared. Links and files of other users are refused, because another user
 * may guess the path. */
const char *zbl_open_file(const char *path, int exists) {
  struct stat st;
  zbl.shared_fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (exists ? 0 : O_CREAT), 0600);
  if (zbl.shared_fd < 0 || fstat(zbl.shared_fd, &st) != 0) {
    return strerror(errno);
  }
  if (!zbl_is_own_file(&st)) {
    return "it is not a file of this user";
  }
  if (flock(zbl.shared_fd, LOCK_EX) != 0 || fstat(zbl.shared_fd, &st) != 0) {
    return strerror(errno);
  }
  if (st.st_nlink == 0) { /* the last process has just removed the file */
    close(zbl.shared_fd);
    return zbl_open_file(path, exists);
  }
  if ((st.st_size == 0 || zbl_nobody(zbl.shared_fd)) &&
      (ftruncate(zbl.shared_fd, 0) != 0 ||
       ftruncate(zbl.shared_fd, (off_t)ZBL_ARENA) != 0)) {
    return strerror(errno);
  }
  return NULL;
}

/* Removes the name of this process's file, unless the name belongs to another file by now. */
void zbl_remove_name(const char *path) {
  if (zbl.several && zbl.shared_fd >= 0 && zbl_names(path, zbl.shared_fd)) {
    unlink(path);
  }
}

/* Gives up this process's slot, if it has one. If no other process has a slot, removes the file
 * and returns 1. */
int zbl_leave_file(const char *path) {
  struct stat st;
  int last;
  if (zbl.shared_fd < 0 || fstat(zbl.shared_fd, &st) != 0 || !zbl_is_own_file(&st) ||
      flock(zbl.shared_fd, LOCK_EX) != 0) {
    return 0;
  }
  zbl_give_up_slot(zbl.shared_fd);
  last = zbl_nobody(zbl.shared_fd);
  if (last) {
    zbl_remove_name(path);
  }
  flock(zbl.shared_fd, LOCK_UN);
  return last;
}

/* Reports whether an open file may be one where processes met, made by any build, even if its maker
 * was killed early. */
static int zbl_was_met_in(int fd) {
  struct stat st;
  uint64_t magic = 0;
  return fstat(fd, &st) == 0 && zbl_is_own_file(&st) && (st.st_mode & 07777) == 0600 &&
         pread(fd, &magic, sizeof magic, 0) >= 0 &&
         (magic == 0 ? st.st_size == 0 || st.st_size == (off_t)ZBL_ARENA
                     : magic >> ZBL_MAGIC_BUILD == ZBL_MAGIC >> ZBL_MAGIC_BUILD);
}

/* Removes a file where processes met, if no process uses it. Returns 1 if the file was removed. */
int zbl_remove_left(const char *path) {
  struct stat st;
  int fd, gone = 0;
  if (lstat(path, &st) != 0 || !zbl_is_own_file(&st)) { /* only regular files, because opening a
                                                         * device can do harm */
    return 0;
  }
  fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) {
    return 0;
  }
  if (zbl_was_met_in(fd) && flock(fd, LOCK_EX | LOCK_NB) == 0) {
    gone = zbl_nobody(fd) && zbl_names(path, fd) && unlink(path) == 0;
  }
  close(fd);
  return gone;
}
