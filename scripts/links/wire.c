/* A network switch in user space, for kernels without netem. scripts/links.sh builds and starts it.
 *
 *   wire NAME N MBIT DELAY_MS
 *
 * It makes N tap devices, NAME0 to NAME(N-1). A frame arrives DELAY_MS after it was sent. A port
 * receives MBIT million bits per second. The switch does not limit the rate at which a port sends: the
 * sending host does that, so that its TCP sees its own queue. The switch prints a line when the devices
 * are ready. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { PORTS = 16, FRAME = 9100, MAC = 6, QUEUE = 16 << 20 };

typedef struct frame {
  struct frame *next;
  uint64_t due; /* ns */
  ssize_t length;
  unsigned char bytes[FRAME];
} frame;

static struct {
  int fd, known;
  unsigned char mac[MAC];
  uint64_t receives; /* ns; the port is busy receiving until then */
  size_t queued;
  frame *first, *last;
} port[PORTS];

static int ports;
static double ns_per_byte;
static uint64_t delay;

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* Queues a frame for a port, behind the frames that are already queued for it. */
static void forward(int to, const unsigned char *bytes, ssize_t length) {
  frame *f = port[to].queued < QUEUE ? malloc(sizeof *f) : NULL;
  if (f == NULL) {
    return; /* the frame is dropped */
  }
  f->next = NULL;
  f->length = length;
  memcpy(f->bytes, bytes, (size_t)length);
  f->due = port[to].receives = later(port[to].receives, now() + delay);
  port[to].receives += (uint64_t)((double)length * ns_per_byte);
  port[to].queued += (size_t)length;
  if (port[to].last != NULL) {
    port[to].last->next = f;
  } else {
    port[to].first = f;
  }
  port[to].last = f;
}

/* Reads the frames that a port sends. A frame to an unknown receiver goes to all other ports. */
static void take(int from) {
  unsigned char bytes[FRAME];
  for (ssize_t n; (n = read(port[from].fd, bytes, sizeof bytes)) >= 2 * MAC;) {
    int to = -1;
    memcpy(port[from].mac, bytes + MAC, MAC);
    port[from].known = 1;
    for (int i = 0; i < ports && !(bytes[0] & 1); i++) {
      if (port[i].known && memcmp(port[i].mac, bytes, MAC) == 0) {
        to = i;
      }
    }
    for (int i = 0; i < ports; i++) {
      if (i != from && (to < 0 || i == to)) {
        forward(i, bytes, n);
      }
    }
  }
}

/* Writes to a port the frames that are due. */
static void give(int to) {
  while (port[to].first != NULL && port[to].first->due <= now()) {
    frame *f = port[to].first;
    if (write(port[to].fd, f->bytes, (size_t)f->length) < 0) {
      /* The host is not up yet: the frame is lost. */
    }
    port[to].queued -= (size_t)f->length;
    port[to].first = f->next;
    if (f->next == NULL) {
      port[to].last = NULL;
    }
    free(f);
  }
}

static int open_port(int i, const char *name) {
  struct ifreq r = {0};
  r.ifr_flags = IFF_TAP | IFF_NO_PI;
  snprintf(r.ifr_name, IFNAMSIZ, "%s%d", name, i);
  port[i].fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
  return port[i].fd >= 0 && ioctl(port[i].fd, TUNSETIFF, &r) == 0;
}

int main(int argc, char **argv) {
  struct pollfd on[PORTS + 1];
  if (argc != 5 || (ports = atoi(argv[2])) < 2 || ports > PORTS) {
    fprintf(stderr, "usage: wire NAME 2..%d MBIT DELAY_MS\n", PORTS);
    return 2;
  }
  ns_per_byte = 8000 / atof(argv[3]);
  delay = (uint64_t)(1e6 * atof(argv[4]));
  for (int i = 0; i < ports; i++) {
    if (!open_port(i, argv[1])) {
      perror("/dev/net/tun");
      return 1;
    }
    on[i] = (struct pollfd){.fd = port[i].fd, .events = POLLIN};
  }
  on[ports] = (struct pollfd){.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), .events = POLLIN};
  sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 10}); /* the switch must run before the ranks' processes */
  puts("ready");
  fflush(stdout);
  for (;;) {
    uint64_t due = 0;
    for (int i = 0; i < ports; i++) {
      if (port[i].first != NULL && (due == 0 || port[i].first->due < due)) {
        due = port[i].first->due;
      }
    }
    struct itimerspec at = {.it_value = {(time_t)(due / 1000000000u), (long)(due % 1000000000u)}};
    timerfd_settime(on[ports].fd, TFD_TIMER_ABSTIME, &at, NULL);
    poll(on, (nfds_t)ports + 1, -1);
    for (int i = 0; i < ports; i++) {
      take(i);
    }
    for (int i = 0; i < ports; i++) {
      give(i);
    }
  }
}
