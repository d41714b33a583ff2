/* A GPU whose runtime has stopped answering: who wants memory of it waits for ever, and
 * others do not. */

enum { STUCK = 5, PATIENCE = 2 };

/* How a process ends that wants memory of a GPU, and has an alarm where it is the one. */
static int asking_of(int device) {
  int status = -1;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    void *memory = NULL;
    alarm(device == STUCK ? PATIENCE : TOO_LONG);
    _exit(hipSetDevice(device) != hipSuccess || hipMalloc(&memory, 64) != hipSuccess);
  }
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}

static void stuck_gpu(void) {
  int status = asking_of(STUCK - 1);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  status = asking_of(STUCK);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
}
