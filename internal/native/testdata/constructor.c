/* What a library may do while it is opened: it notes its process in the file of
 * NOTED, and then what a macro says. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *idle(void *unused) {
  for (;;) pause();
  return unused;
}

#ifdef THREADS
static pthread_t thread;
__attribute__((destructor)) static void end(void) {
  pthread_cancel(thread);
  pthread_join(thread, NULL);
}
#endif

__attribute__((constructor)) static void begin(void) {
  const char *to = getenv("NOTED");
  FILE *f = to != NULL ? fopen(to, "a") : NULL;
  if (f != NULL) {
    fprintf(f, NAME " %d %s\n", (int)getpid(), getenv("NOTED_TOO"));
    fclose(f);
  }
#ifdef THREADS
  if (pthread_create(&thread, NULL, idle, NULL) != 0) abort();
#endif
#ifdef HELPER
  pid_t helper = fork();
  if (helper == 0) idle(NULL);
  f = fopen(to, "a");
  fprintf(f, "helper %d x\n", (int)helper);
  fclose(f);
#endif
#ifdef HANG
  idle(NULL);
#endif
#ifdef CUTS_OFF
  for (int fd = 0; fd < 64; fd++) close(fd);
  idle(NULL);
#endif
  (void)idle;
}
