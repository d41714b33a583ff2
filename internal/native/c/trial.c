/* Opens libraries in a child process first. Opening a library runs its code, which may hang,
 * crash, end the process, or print without end. This process then opens only the files that the
 * child survived.
 *
 * The child is forked without exec, so that it has the same loader, environment and libraries,
 * whatever started this program. It runs only C, because a fork has none of Go's threads. It only
 * opens files and looks up no symbols, so no device is touched. */
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
  int link, said; /* link: requests and answers; said: the child's output */
  size_t printed;
  char words[ZB_TRIAL_WORDS]; /* the end of the child's output */
  size_t held;
};

static int64_t zb_trial_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Sets the child's signals. A crash ends the child by its signal, because Go's handlers would
 * print a trace. Signals that ask the whole job to stop are left to the parent. */
static void zb_trial_signals(void) {
  static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE};
  for (int s = 1; s < NSIG; s++) {
    signal(s, SIG_DFL);
  }
  for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) {
    signal(ignored[i], SIG_IGN);
  }
}

/* Gives the child only its link, as descriptor 3. Its output goes to the parent, which shows the
 * output if the library is not usable. */
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

/* Runs the child: opens the requested files until the parent is gone. */
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

/* Starts a child. The child dies with the calling thread, so that thread must not end. Returns
 * NULL if no process can be made. */
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
  /* No signal may reach the child as long as Go's handlers are installed. */
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

/* Asks the child to open a file. Returns 0 if the request cannot be sent. */
int zb_trial_ask(zb_trial *t, const char *path) {
  size_t len = strlen(path);
  t->printed = t->held = 0;
  return len > 0 && len < ZB_TRIAL_PATH &&
         send(t->link, path, len, MSG_NOSIGNAL) == (ssize_t)len;
}

/* Reads the child's output and keeps the end of it. Returns 0 if there was none. */
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

/* Waits up to `ms` milliseconds for the child's answer. */
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
      /* The child has closed its output, so poll would return at once, again and again. */
      struct timespec moment = {0, 1000000};
      nanosleep(&moment, NULL);
    }
  }
}

/* Waits up to `ms` milliseconds for the child to end. Returns 0 if it has not ended. */
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

/* Ends the child and its descendants, and frees t. Returns waitpid's status, or −1 if the child
 * did not end by itself within patience_ms. Writes the end of the child's output to `words`. */
int zb_trial_end(zb_trial *t, int patience_ms, char *words, size_t len) {
  int status = 0, by_itself, ignored;
  size_t n;
  close(t->link);
  by_itself = zb_trial_reap(t, patience_ms, &status);
  kill(-t->pid, SIGKILL);
  if (!by_itself) {
    kill(t->pid, SIGKILL);
    zb_trial_reap(t, 1000, &ignored); /* a child that waits for a dead disk cannot be reaped */
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
