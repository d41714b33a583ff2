/* Decides which of the world's devices a process sees, from the launcher that started it. */
#include "../fake/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The variables of each launcher: the process's number and the number of processes,
 * first in the world and then on its node. The innermost launcher comes first, as in
 * internal/launch/table.go, which gives the sources. */
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

/* Returns a whole file as text; NULL if it cannot be read. The caller frees it. */
static char *zbs_read(const char *path) {
  FILE *f = fopen(path, "rb");
  char *text = NULL;
  long size = -1;
  if (f == NULL) {
    return NULL;
  }
  if (fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) >= 0 &&
      fseek(f, 0, SEEK_SET) == 0 && (text = malloc((size_t)size + 1)) != NULL) {
    text[fread(text, 1, (size_t)size, f)] = '\0';
  }
  fclose(f);
  return text;
}

/* Returns a variable's value; NULL if it is unset or empty. */
static const char *zbs_variable(const char *name) {
  const char *text = getenv(name);
  return text == NULL || *text == '\0' ? NULL : text;
}

/* Returns a variable's number, or the leading number as in Slurm's "8(x2)"; −1 if there is none. */
static int zbs_number(const char *name) {
  const char *text = zbs_variable(name);
  char *end;
  long n = text == NULL ? -1 : strtol(text, &end, 10);
  return text == NULL || end == text || n < 0 || n > 1 << 24 ? -1 : (int)n;
}

/* Returns the innermost launcher whose variables are set; NULL if there is none. A launcher that
 * does not give the process's number on its node comes last, because Slurm's PMI-2 sets two of
 * Hydra's variables. */
static const struct zbs_launcher *zbs_launcher_of(void) {
  const struct zbs_launcher *half = NULL;
  for (size_t i = 0; i < sizeof zbs_launchers / sizeof *zbs_launchers; i++) {
    const struct zbs_launcher *l = &zbs_launchers[i];
    if (zbs_number(l->rank) < 0 || zbs_number(l->size) < 1) {
      continue;
    }
    if (zbs_number(l->local) >= 0) {
      return l;
    }
    half = half == NULL ? l : half;
  }
  return half;
}

/* Returns the number of ranks in a machine file; 0 if the file does not give it. */
static int zbs_ranks(const char *machine) {
  const char *line = strstr(machine, "\nranks ");
  return line == NULL ? 0 : atoi(line + strlen("\nranks "));
}

/* Sets the first GPU of the process's node and the number of GPUs there. Every process of the
 * launcher drives the same number of GPUs. */
static void zbs_node(const struct zbs_launcher *l, int ranks, zbl_share *how) {
  int rank = zbs_number(l->rank), size = zbs_number(l->size);
  int local = zbs_number(l->local), on_node = zbs_number(l->on_node);
  int each = size > 0 ? ranks / size : 0;
  if (each > 0 && local >= 0 && local <= rank && on_node > 0 && on_node < size) {
    how->first = (rank - local) * each;
    how->count = on_node * each;
  }
}

/* Reads a list of numbers that selects some of `of` GPUs. Writes the first selected GPU and the
 * number of selected GPUs. Returns 0 if the numbers are not consecutive and ascending. The list
 * ends at the first entry that is not a number; repeated numbers are ignored (ROCm/clr,
 * rocclr/device/rocm/rocdevice.cpp, Device::init). */
static int zbs_listed(const char *list, int of, int *first, int *count) {
  *first = *count = 0;
  for (const char *at = list;; at++) {
    char *end;
    long n = strtol(at, &end, 10);
    if (end == at || (*end != ',' && *end != '\0') || n < 0 || n >= of) {
      return 1;
    }
    if (*count == 0) {
      *first = (int)n;
    } else if (n > *first + *count || n < *first) {
      return 0;
    }
    *count += n == *first + *count;
    if (*end == '\0') {
      return 1;
    }
    at = end;
  }
}

/* Limits the process to the GPUs that variables select: first ROCr's variable, then HIP's, which
 * numbers the remaining GPUs. Returns an error in the variables, or NULL. */
static const char *zbs_see(int ranks, zbl_share *how) {
  static const char *const of_rocm[][2] = {{"ROCR_VISIBLE_DEVICES", NULL},
                                           {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"}};
  static const char *const of_cuda[][2] = {{"CUDA_VISIBLE_DEVICES", NULL}, {NULL, NULL}};
  const char *const(*names)[2] = ZBL_VENDOR == ZB_CUDA ? of_cuda : of_rocm;
  for (int i = 0; i < 2 && names[i][0] != NULL; i++) {
    const char *list = zbs_variable(names[i][0]);
    int all = how->count > 0 ? how->count : ranks, first, count;
    if (list == NULL && names[i][1] != NULL) {
      list = zbs_variable(names[i][1]);
    }
    if (list == NULL) {
      continue;
    }
    if (!zbs_listed(list, all, &first, &count)) {
      return "HIP_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES names GPUs "
             "that are not consecutive: the loopback shows none";
    }
    if (count == 0) {
      return "HIP_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES leaves the "
             "process no GPU";
    }
    how->first += first;
    how->count = count;
  }
  return NULL;
}

/* Decides which GPUs the process sees. By default these are the GPUs of its launcher's node; if the
 * launcher runs all processes on one host, they are the whole world. With ZBENCH_LOOPBACK_GPUS the
 * process sees that many GPUs of its own. Without a launcher, ZBENCH_LOOPBACK_FIRST and
 * ZBENCH_LOOPBACK_COUNT select the GPUs. If none of these is set, variables such as
 * HIP_VISIBLE_DEVICES select among the GPUs. Returns an error in these variables, or NULL. */
static const char *zbs_place(int ranks, zbl_share *how) {
  int own = zbs_number("ZBENCH_LOOPBACK_GPUS");
  int first = zbs_number("ZBENCH_LOOPBACK_FIRST"), count = zbs_number("ZBENCH_LOOPBACK_COUNT");
  const struct zbs_launcher *l = zbs_launcher_of();
  if (first >= 0 || count > 0) {
    how->first = first > 0 ? first : 0;
    how->count = count > 0 ? count : ranks - how->first;
    return NULL;
  }
  if (own > 0) {
    how->first = l != NULL ? zbs_number(l->rank) * own : 0;
    how->count = own;
    return NULL;
  }
  if (l != NULL) {
    zbs_node(l, ranks, how);
  }
  return zbs_see(ranks, how);
}
