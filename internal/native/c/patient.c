/* Timers of a process that follows another may be late. Go's runtime has a thread
 * that sleeps for 20 µs again and again while any other thread of it runs or is in C.
 * Where a thousand processes share a host's cores, that is a fifth of their CPU
 * time. It takes the timer slack of the thread that starts it, which has to be set
 * before the runtime begins: by a constructor. */
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

/* How late a timer may be, in nanoseconds. What waits by timers are heartbeats and
 * deadlines of seconds; the timed loops poll. */
static const unsigned long zb_slack_ns = 5000000;

/* The rank variables of the launchers (internal/launch). A rank above 0 follows. */
static const char *const zb_rank_variables[] = {
    "ZBENCH_RANK", "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};

__attribute__((constructor)) static void zb_patient(void) {
  for (size_t i = 0; i < sizeof zb_rank_variables / sizeof *zb_rank_variables; i++) {
    const char *rank = getenv(zb_rank_variables[i]);
    if (rank != NULL && *rank != '\0') { /* the innermost launcher's */
      if (strcmp(rank, "0") != 0) {
        prctl(PR_SET_TIMERSLACK, zb_slack_ns, 0, 0, 0);
      }
      return;
    }
  }
}
