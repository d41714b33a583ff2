/* A file system that has no room: what the client is built with instead of fallocate. */
#include <errno.h>
#include <sys/types.h>

int client_no_room(int fd, int mode, off_t offset, off_t length) {
  (void)fd, (void)mode, (void)offset, (void)length;
  errno = ENOSPC;
  return -1;
}
