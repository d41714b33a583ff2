/* Which of the world's devices a process sees, by the launcher that has started it. */
#include <stdlib.h>
#include <string.h>

/* A launcher's variables: the process's number in the world and how many there are,
 * and the same on its node. The innermost launcher comes first, as in
 * internal/launch/table.go, where the sources are. */
static const struct zbs_launcher {
  const char *rank, *size, *local, *on_node;
} zbs_launchers[] = {
    {"ZBENCH_RANK", "ZBENCH_WORLD_SIZE", "ZBENCH_LOCAL_RANK", "ZBENCH_LOCAL_SIZE"},
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"},
};

/* A variable's value, NULL where it is unset or empty. */
static const char *zbs_variable(const char *name) {
  const char *text = getenv(name);
  return text == NULL || *text == '\0' ? NULL : text;
}

/* A variable's number, or the beginning of one as in Slurm's 8(x2); else −1. */
static int zbs_number(const char *name) {
  const char *text = zbs_variable(name);
  char *end;
  long n = text == NULL ? -1 : strtol(text, &end, 10);
  return text == NULL || end == text || n < 0 || n > 1 << 24 ? -1 : (int)n;
}

/* How many ranks a machine file has; 0 where it does not say. */
static int zbs_ranks(const char *machine) {
  const char *line = strstr(machine, "\nranks ");
  return line == NULL ? 0 : atoi(line + strlen("\nranks "));
}

/* Where the launcher gives each process so many GPUs of the world, the first of its
 * node's and how many the node has. */
static void zbs_node(const struct zbs_launcher *l, int ranks, zbl_share *how) {
  int rank = zbs_number(l->rank), size = zbs_number(l->size);
  int local = zbs_number(l->local), on_node = zbs_number(l->on_node);
  int each = size > 0 ? ranks / size : 0;
  if (each > 0 && local >= 0 && local <= rank && on_node > 0 && on_node < size) {
    how->first = (rank - local) * each;
    how->count = on_node * each;
  }
}

/* A process sees the GPUs of its launcher's node: a launcher that has all processes on
 * one host makes that the whole world. With ZBENCH_LOOPBACK_GPUS it sees so many of its
 * own. ZBENCH_LOOPBACK_FIRST and ZBENCH_LOOPBACK_COUNT name them without a launcher. */
static void zbs_place(int ranks, zbl_share *how) {
  int own = zbs_number("ZBENCH_LOOPBACK_GPUS");
  int first = zbs_number("ZBENCH_LOOPBACK_FIRST"), count = zbs_number("ZBENCH_LOOPBACK_COUNT");
  const struct zbs_launcher *l = zbs_launchers;
  const struct zbs_launcher *end = l + sizeof zbs_launchers / sizeof *l;
  if (first >= 0 || count > 0) {
    how->first = first > 0 ? first : 0;
    how->count = count > 0 ? count : ranks - how->first;
    return;
  }
  while (l < end && (zbs_number(l->rank) < 0 || zbs_number(l->size) < 1)) {
    l++;
  }
  if (own > 0) {
    how->first = l < end ? zbs_number(l->rank) * own : 0;
    how->count = own;
  } else if (l < end) {
    zbs_node(l, ranks, how);
  }
}
