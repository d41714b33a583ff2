/* A library runs code of its own while it is opened. It may hang, crash, end the
 * process, or print without end. So a child process opens each file first, and
 * this process opens only what the child has survived.
 *
 * The child is forked and not executed anew: it has the same loader, the same
 * environment and the same libraries, whatever started this program. It stays in
 * C: of Go's threads a fork has none. It opens files and looks up nothing, so no
 * device is touched. */
#include "trial.h"

#include "dl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ZB_TRIAL_PATH = 4096 };

struct zb_trial {
  pid_t pid;
  int link, said; /* requests and answers; what the child prints */
  size_t printed;
  char words[ZB_TRIAL_WORDS]; /* the last of it */
  size_t held;
};

static int64_t zb_trial_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A crash ends the child with the signal: Go's handlers would print a trace. What
 * asks the whole job to stop is for the parent to act on. */
static void zb_trial_signals(void) {
  static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE};
  for (int s = 1; s < NSIG; s++) {
    signal(s, SIG_DFL);
  }
  for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) {
    signal(ignored[i], SIG_IGN);
  }
}

/* Leaves the child its link alone, as descriptor 3. What it prints goes to the
 * parent, which shows it when something is wrong. */
static void zb_trial_descriptors(int link, int said) {
  int null = open("/dev/null", O_RDONLY);
  if (null >= 0) {
    dup2(null, 0);
  }
  dup2(said, 1);
  dup2(said, 2);
  if (link != 3) {
    dup2(link, 3);
  }
#ifdef SYS_close_range
  if (syscall(SYS_close_range, 4u, ~0u, 0u) == 0) {
    return;
  }
#endif
  for (int fd = 4; fd < 4096; fd++) {
    close(fd);
  }
}

/* The child: opens what it is asked to until the parent is gone. */
static void zb_trial_child(pid_t parent, int link, int said, const sigset_t *mask) {
  struct rlimit none = {0, 0};
  char path[ZB_TRIAL_PATH], why[256], done = 1;
  ssize_t got;
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(0);
  }
  setrlimit(RLIMIT_CORE, &none);
  zb_trial_signals();
  zb_trial_descriptors(link, said);
  sigprocmask(SIG_SETMASK, mask, NULL);
  while ((got = recv(3, path, sizeof path - 1, 0)) > 0) {
    path[got] = '\0';
    if (strchr(path, '/') == NULL || zb_file_fault(path, why, sizeof why) == 0) {
      zb_open(path, 0, why, sizeof why);
    }
    if (send(3, &done, 1, MSG_NOSIGNAL) != 1) {
      break;
    }
  }
  _exit(0);
}

/* Starts a child. It dies with the thread that calls this, so that thread must
 * stay. NULL where no process can be made. */
zb_trial *zb_trial_start(void) {
  int link[2], said[2];
  sigset_t all, mask;
  pid_t parent = getpid();
  zb_trial *t = calloc(1, sizeof *t);
  if (t == NULL || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) != 0) {
    free(t);
    return NULL;
  }
  if (pipe2(said, O_CLOEXEC) != 0) {
    close(link[0]);
    close(link[1]);
    free(t);
    return NULL;
  }
  fcntl(said[0], F_SETFL, O_NONBLOCK);
  /* No signal may reach the child while Go's handlers are in place. */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mask);
  t->pid = fork();
  if (t->pid == 0) {
    zb_trial_child(parent, link[1], said[1], &mask);
  }
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  close(link[1]);
  close(said[1]);
  t->link = link[0];
  t->said = said[0];
  if (t->pid < 0) {
    close(t->link);
    close(t->said);
    free(t);
    return NULL;
  }
  return t;
}

/* Asks the child to open a file; 0 where it cannot be asked. */
int zb_trial_ask(zb_trial *t, const char *path) {
  size_t len = strlen(path);
  t->printed = t->held = 0;
  return len > 0 && len < ZB_TRIAL_PATH &&
         send(t->link, path, len, MSG_NOSIGNAL) == (ssize_t)len;
}

/* Takes what the child has printed and keeps the end of it. Returns 0 when there
 * was nothing. */
static int zb_trial_listen(zb_trial *t) {
  char text[4096];
  ssize_t got = read(t->said, text, sizeof text);
  size_t take = got < 0 ? 0 : (size_t)got, room;
  t->printed += take;
  if (take > sizeof t->words) {
    memcpy(t->words, text + take - sizeof t->words, sizeof t->words);
    t->held = sizeof t->words;
  } else if (take > 0) {
    room = sizeof t->words - take;
    if (t->held > room) {
      memmove(t->words, t->words + t->held - room, room);
      t->held = room;
    }
    memcpy(t->words + t->held, text, take);
    t->held += take;
  }
  return take > 0;
}

/* Waits for an answer for so many milliseconds. */
int zb_trial_wait(zb_trial *t, int ms) {
  int64_t until = zb_trial_now() + ms;
  for (;;) {
    struct pollfd fds[2] = {{t->link, POLLIN, 0}, {t->said, POLLIN, 0}};
    int64_t left = until - zb_trial_now();
    char answer;
    if (left < 0 || poll(fds, 2, (int)left) == 0) {
      return ZB_TRIAL_NOTHING;
    }
    while (t->printed <= ZB_TRIAL_PRINTED && zb_trial_listen(t)) {
    }
    if (t->printed > ZB_TRIAL_PRINTED) {
      return ZB_TRIAL_FLOODED;
    }
    if (fds[0].revents != 0) {
      return recv(t->link, &answer, 1, 0) == 1 ? ZB_TRIAL_OPENED : ZB_TRIAL_ENDED;
    }
    if ((fds[1].revents & POLLIN) == 0 && (fds[1].revents & POLLHUP) != 0) {
      /* It has closed its output: poll would come back at once for ever. */
      struct timespec moment = {0, 1000000};
      nanosleep(&moment, NULL);
    }
  }
}

/* How the child ended, within so many milliseconds; 0 when it has not. */
static int zb_trial_reap(zb_trial *t, int ms, int *status) {
  int64_t until = zb_trial_now() + ms;
  struct timespec moment = {0, 1000000};
  for (;;) {
    pid_t got = waitpid(t->pid, status, WNOHANG);
    if (got == t->pid || (got < 0 && errno == ECHILD)) {
      return got == t->pid;
    }
    if (zb_trial_now() >= until) {
      return 0;
    }
    nanosleep(&moment, NULL);
  }
}

/* Ends the child, with what it started, and frees t. Returns the status of
 * waitpid, or −1 where the child did not end by itself within patience_ms. words
 * gets the end of what it printed. */
int zb_trial_end(zb_trial *t, int patience_ms, char *words, size_t len) {
  int status = 0, by_itself, ignored;
  size_t n;
  close(t->link);
  by_itself = zb_trial_reap(t, patience_ms, &status);
  kill(-t->pid, SIGKILL);
  if (!by_itself) {
    kill(t->pid, SIGKILL);
    zb_trial_reap(t, 1000, &ignored); /* one that waits for a dead disk stays */
  }
  while (t->printed <= ZB_TRIAL_PRINTED && zb_trial_listen(t)) {
  }
  close(t->said);
  if (len > 0) {
    n = t->held < len - 1 ? t->held : len - 1;
    memcpy(words, t->words + t->held - n, n);
    words[n] = '\0';
  }
  free(t);
  return by_itself ? status : -1;
}
