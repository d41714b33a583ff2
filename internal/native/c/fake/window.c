/* Registered buffers, windows, and a communicator's policy for compute units. They decide how a
 * collective runs (NVIDIA/nccl at v2.30.7, src/enqueue.cc, taskAppend). */
#include "comm.h"

#include <ctype.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

/* Refuses a function that is newer than the version that the loopback reports. */
static int zbl_too_old(int first, const char *name) {
  int now = zbl_coll_version();
  ZBL_FAIL(now < first, ZB_COLL_USAGE, "%s came with %d.%d, and the loopback has version %d.%d.%d", name, first / 10000,
           first / 100 % 100, now / 10000, now / 100 % 100, now % 100);
  return 0;
}

/* Refuses function `name` if it is too new. `first` is the first of NVIDIA/nccl's tags whose
 * nccl.h.in has it. */
#define ZBL_SINCE(first, name)                                                 \
  do {                                                                         \
    int old = zbl_too_old(first, name);                                        \
    if (old != 0) {                                                            \
      return old;                                                              \
    }                                                                          \
  } while (0)

/* ncclConfig_t as of NCCL 2.28. The structures of older versions are shorter. */
typedef struct zbl_config {
  size_t size;
  unsigned magic, version;
  int blocking, cluster, least, most;
  const char *net;
  int share, traffic;
  const char *name;
  int collnet, policy;
} zbl_config;

enum { ZBL_EFFICIENCY = 1, ZBL_ZERO = 2 };

enum { ZBL_UNDEFINED = INT_MIN };
static const unsigned zbl_config_magic = 0xcafebeef;

/* The value of a field; ZBL_UNDEFINED if the caller's structure is too short to have the field. */
#define ZBL_CONFIGURED(c, field)                                               \
  ((c)->size >= offsetof(zbl_config, field) + sizeof (c)->field ? (c)->field   \
                                                                : ZBL_UNDEFINED)

static int zbl_flag_ok(int v) { return v == ZBL_UNDEFINED || v == 0 || v == 1; }
static int zbl_policy_ok(int v) { return v == ZBL_UNDEFINED || (v & ~(ZBL_EFFICIENCY | ZBL_ZERO)) == 0; }
static int zbl_number_ok(int v) { return v == ZBL_UNDEFINED || v > 0; }

/* Returns 1 if a configuration is valid; NULL is valid too (ROCm/rccl, src/init.cc,
 * parseCommConfig). */
static int zbl_config_ok(const zbl_config *c) {
  int least, most, cluster;
  if (c == NULL) {
    return 1;
  }
  if (c->magic != zbl_config_magic) {
    return 0;
  }
  least = ZBL_CONFIGURED(c, least);
  most = ZBL_CONFIGURED(c, most);
  cluster = ZBL_CONFIGURED(c, cluster);
  return zbl_policy_ok(ZBL_CONFIGURED(c, policy)) && zbl_flag_ok(ZBL_CONFIGURED(c, blocking)) && zbl_flag_ok(ZBL_CONFIGURED(c, share)) &&
         (cluster == ZBL_UNDEFINED || cluster >= 0) && zbl_number_ok(least) &&
         zbl_number_ok(most) && (most == ZBL_UNDEFINED || least <= most);
}

/* Reports whether a communicator with this configuration blocks. Without a configuration the result
 * is `given`. */
static int zbl_waits_for(const zbl_config *c, int given) {
  int blocking = c != NULL ? ZBL_CONFIGURED(c, blocking) : given;
  return blocking != 0;
}

/* Returns the policy of a configuration. Libraries before 2.27 do not have the field. */
static int zbl_policy_of(const zbl_config *c) {
  int policy = c != NULL && zbl_coll_version() >= 22703 ? ZBL_CONFIGURED(c, policy) : 0;
  return policy == ZBL_UNDEFINED ? 0 : policy;
}

static const char zbl_bad_config[] = "ncclConfig_t is not of NCCL_CONFIG_INITIALIZER, or invalid";

static int zbl_commInitConfig(void **comm, int nranks, zb_unique_id id, int rank,
                              void *config) {
  const zbl_config *c = config;
  static const zbl_caller asked = {"commInitRankConfig", NULL};
  ZBL_REFUSE_CALL(!zbl_config_ok(c), &asked, ZB_COLL_ARGUMENT, "%s", zbl_bad_config);
  int code = zbl_join_rank(comm, nranks, id, rank, zbl_waits_for(c, 1), ZBL_NO_VIRTUAL);
  if (code == 0 || code == ZB_COLL_IN_PROGRESS) {
    ((zbl_comm *)*comm)->policy = zbl_policy_of(c);
  }
  return code;
}

/* Refuses a communicator that cannot be split. */
static int zbl_check_parent(const zbl_caller *a, zbl_comm *c, void **out, const void *config) {
  ZBL_REFUSE_CALL(c == NULL, a, ZB_COLL_ARGUMENT, "%s", zbl_no_comm);
  ZBL_REFUSE_CALL(out == NULL, a, ZB_COLL_ARGUMENT, "newcomm is NULL");
  ZBL_REFUSE_CALL(!zbl_config_ok(config), a, ZB_COLL_ARGUMENT, "%s", zbl_bad_config);
  ZBL_REFUSE_CALL(zbl_not_ready(c), a, ZB_COLL_ARGUMENT, "%s", zbl_unready);
  ZBL_REFUSE_CALL(zbl_group_mixes(c->nonblocking), a, ZB_COLL_ARGUMENT, "%s", zbl_mixed);
  return 0;
}

static int zbl_commSplit(void *comm, int color, int key, void **out, void *config) {
  zbl_comm *c = zbl_comm_of(comm);
  const zbl_caller asked = {"commSplit", c};
  int code;
  ZBL_ENTER;
  code = zbl_check_parent(&asked, c, out, config);
  if (code != 0) {
    return code;
  }
  ZBL_REFUSE_CALL(color < -1, &asked, ZB_COLL_ARGUMENT, "color is below NCCL_SPLIT_NOCOLOR");
  return zbl_split_rank(c, color, key, zbl_waits_for(config, !c->nonblocking) ? 0 : 1, out);
}

/* A registered buffer or a window. It can be used like any other buffer. */
typedef struct zbl_registration {
  uint32_t magic;
  zbl_comm *comm;
  char *at;
  size_t bytes;
  struct zbl_registration *next; /* the communicator's next window */
} zbl_registration;

enum { ZBL_REGISTRATION = 0x72656769, ZBL_WINDOW = 0x77696e64 };

static int zbl_registers(uint32_t magic, zbl_comm *c, void *p, size_t bytes, void **handle) {
  zbl_registration *r = malloc(sizeof *r);
  ZBL_FAIL(r == NULL, ZB_COLL_UNHANDLED, "out of memory");
  *r = (zbl_registration){magic, c, p, bytes, NULL};
  *handle = r;
  c->lane->h += zbl.registers;
  return 0;
}

/* Reports whether a registration of a kind belongs to the communicator. */
static int zbl_is_registered(const zbl_registration *r, uint32_t magic, const void *comm) {
  return r != NULL && r->magic == magic && r->comm == comm;
}

static int zbl_deregisters(zbl_registration *r) {
  r->magic = 0;
  free(r);
  return 0;
}

static int zbl_commRegister(void *comm, void *p, size_t bytes, void **handle) {
  zbl_comm *c = zbl_comm_of(comm);
  ZBL_ENTER;
  ZBL_FAIL(c == NULL || handle == NULL || !zbl_valid_range(p, bytes),
           ZB_COLL_ARGUMENT, "ncclCommRegister: invalid argument");
  return zbl_registers(ZBL_REGISTRATION, c, p, bytes, handle);
}

/* Does the same as ROCm/rccl, src/register.cc, ncclCommDeregister_impl. */
static int zbl_commDeregister(void *comm, void *handle) {
  ZBL_FAIL(zbl_comm_of(comm) == NULL, ZB_COLL_ARGUMENT, "ncclCommDeregister: no communicator");
  ZBL_FAIL(!zbl_is_registered(handle, ZBL_REGISTRATION, comm), ZB_COLL_USAGE, "ncclCommDeregister: no such registration");
  return zbl_deregisters(handle);
}

/* Allocates device memory. An error of the runtime becomes an error of the collectives library. */
static int zbl_collMalloc(void **p, size_t bytes) {
  return p == NULL ? zbl_failing(ZB_COLL_ARGUMENT, "ncclMemAlloc: nowhere to put it")
         : zbl_mallocDevice(p, bytes) == ZB_OK ? 0
                                               : ZB_COLL_UNHANDLED;
}

static int zbl_collFree(void *p) {
  return zbl_freeDevice(p) == ZB_OK ? 0 : ZB_COLL_UNHANDLED;
}

/* A window is a registration that all ranks make together. */
enum { ZBL_SYMMETRIC_WINDOW = 1, ZBL_WINDOW_FLAGS = 3 };

static int zbl_is_set(const char *name, const char *value) {
  const char *text = getenv(name);
  return text != NULL && strcasecmp(text, value) == 0;
}

/* Registers a window. With NCCL_WIN_ENABLE=0 windows are accepted but not used (NVIDIA/nccl at
 * v2.30.7, src/init.cc, symmetricSupport). */
static int zbl_windowRegister(void *comm, void *p, size_t bytes, void **out, int flags) {
  zbl_comm *c = zbl_comm_of(comm);
  int code;
  ZBL_SINCE(22703, "ncclCommWindowRegister");
  ZBL_ENTER;
  ZBL_FAIL(c == NULL || out == NULL || (flags & ~ZBL_WINDOW_FLAGS) != 0 || !zbl_valid_range(p, bytes), ZB_COLL_ARGUMENT,
           "ncclCommWindowRegister: invalid argument");
  code = zbl_registers(ZBL_WINDOW, c, p, bytes, out);
  if (code == 0 && (flags & ZBL_SYMMETRIC_WINDOW) != 0 && !zbl_is_set("NCCL_WIN_ENABLE", "0")) {
    ((zbl_registration *)*out)->next = c->windows;
    c->windows = *out;
  }
  return code;
}

static int zbl_windowDeregister(void *comm, void *window) {
  ZBL_SINCE(22703, "ncclCommWindowDeregister");
  ZBL_ENTER;
  ZBL_FAIL(!zbl_is_registered(window, ZBL_WINDOW, comm), ZB_COLL_ARGUMENT, "ncclCommWindowDeregister: no such window of the communicator");
  for (zbl_registration **at = &((zbl_comm *)comm)->windows; *at != NULL; at = &(*at)->next) {
    if (*at == window) {
      *at = (*at)->next;
      break;
    }
  }
  return zbl_deregisters(window);
}

static int zbl_in_window(const zbl_comm *c, const char *p) {
  const zbl_registration *w = c->windows;
  while (w != NULL && (p < w->at || p >= w->at + w->bytes)) {
    w = w->next;
  }
  return w != NULL;
}

enum { ZBL_COPIES_BETWEEN_NODES = 23006 };

/* Returns how a collective runs. Copy engines run collectives that only move data. Kernels on
 * symmetric memory run collectives whose ranks can all access each other's memory. */
int zbl_run_by(const zbl_comm *c, int collective, const void *send, const void *recv) {
  const zbl_clique *q = c->clique;
  const zbl_shape *shape = &zbl_shapes[collective];
  int shares = !shape->reduces && (shape->send_all || shape->recv_all);
  int node = zbl.copies.node, near = node <= 0 || q->first / node == q->last / node;
  if (!zbl_in_window(c, send) || !zbl_in_window(c, recv)) {
    return ZBL_BY_KERNELS;
  }
  if (shares && (c->policy & ZBL_ZERO) != 0 && (near || zbl_coll_version() >= ZBL_COPIES_BETWEEN_NODES)) {
    return ZBL_BY_COPIES;
  }
  return near && shape->root_only == ZBL_NEITHER && (shape->reduces || (shares && !shape->send_all))
             ? ZBL_BY_SYMMETRIC
             : ZBL_BY_KERNELS;
}

/* The values of RCCL's enum ncclFunc_t that are equal in all versions, and the names of its
 * implementations (ROCm/rocm-systems, develop of 2026-10,
 * projects/rccl/src/include/rccl_common.h). */
static const int zbl_functions[] = {ZBL_BROADCAST, ZBL_REDUCE, ZBL_ALL_GATHER, ZBL_REDUCE_SCATTER, ZBL_ALL_REDUCE};
static const struct {
  int algo;
  const char *name;
} zbl_implementations[] = {[ZBL_BY_KERNELS] = {1, "RING"}, [ZBL_BY_SYMMETRIC] = {9, "SYM"}, [ZBL_BY_COPIES] = {11, "CE"}};
enum { ZBL_TELLS_IMPLEMENTATION = 23102, ZBL_FUNCTIONS = sizeof zbl_functions / sizeof *zbl_functions };

static int zbl_collImpl(void *comm, int function, uint64_t count, int dtype, int op, const void *send, void *recv, int graph,
                        int *algo, int *protocol, int *channels) {
  const zbl_comm *c = zbl_comm_of(comm);
  (void)count, (void)dtype, (void)op, (void)graph;
  ZBL_SINCE(ZBL_TELLS_IMPLEMENTATION, "rcclGetCollImplInfo");
  ZBL_FAIL(c == NULL || function < 0 || function >= ZBL_FUNCTIONS || algo == NULL || protocol == NULL || channels == NULL,
           ZB_COLL_ARGUMENT, "rcclGetCollImplInfo: invalid argument");
  *algo = zbl_implementations[zbl_run_by(c, zbl_functions[function], send, recv)].algo;
  *protocol = 2; /* the protocol Simple */
  *channels = 1;
  return 0;
}

static int zbl_algoName(int algo, const char **name) {
  for (size_t i = 0; i < sizeof zbl_implementations / sizeof *zbl_implementations; i++) {
    if (zbl_implementations[i].algo == algo && name != NULL) {
      *name = zbl_implementations[i].name;
      return 0;
    }
  }
  return zbl_failing(ZB_COLL_ARGUMENT, "rcclGetAlgoName: invalid argument");
}

/* The file for the lines of NCCL_DEBUG_SUBSYS=TUNING; NULL if they are not requested. */
static FILE *zbl_tuning_file;

static void zbl_open_tuning(void) {
  const char *systems = getenv("NCCL_DEBUG_SUBSYS"), *name = getenv("NCCL_DEBUG_FILE");
  if ((zbl_is_set("NCCL_DEBUG", "INFO") || zbl_is_set("NCCL_DEBUG", "TRACE")) && systems != NULL &&
      (strcasestr(systems, "TUNING") != NULL || strcasestr(systems, "ALL") != NULL)) {
    zbl_tuning_file = name != NULL ? fopen(name, "w") : stdout;
    if (zbl_tuning_file != NULL) {
      setvbuf(zbl_tuning_file, NULL, _IOLBF, 0);
    }
  }
}

/* Writes on rank 0 how a collective runs (NVIDIA/nccl at v2.30.7, src/enqueue.cc, src/ce_coll.cc,
 * src/scheduler/symmetric_sched.cc). A collective made of messages has no line. The loopback has
 * no algorithms, so it calls its kernels a ring. */
void zbl_write_tuning(const zbl_comm *c, const zbl_call *call) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static const char *const ran[] = {[ZBL_BY_KERNELS] = "Algo RING proto SIMPLE channel{Lo..Hi}={0..0}",
                                    [ZBL_BY_SYMMETRIC] = "Kernel simulated nchannels 1 nthreads 1 nWorks 1",
                                    [ZBL_BY_COPIES] = "cudaMemcpy"};
  static const char *const way[] = {[ZBL_BY_KERNELS] = "", [ZBL_BY_SYMMETRIC] = " [Symmetric]", [ZBL_BY_COPIES] = " [Copy Engine]"};
  const zbl_shape *shape = &zbl_shapes[call->collective];
  pthread_once(&once, zbl_open_tuning);
  if (zbl_tuning_file != NULL && c->rank == 0 &&
      (call->by != ZBL_BY_KERNELS || shape->reduces || (!shape->send_all && call->collective != ZBL_GATHER))) {
    char name[32];
    snprintf(name, sizeof name, "%c%s", toupper(*shape->field), shape->field + 1);
    char *to = strstr(name, "To"); /* NCCL writes "to" in lower case */
    if (to != NULL) {
      *to = 't';
    }
    fprintf(zbl_tuning_file, "loopback:%d:%d [%d] NCCL INFO %s%s: %ld Bytes -> %s\n", (int)getpid(), (int)getpid(),
            c->device - zbl.first, name, way[call->by], (long)(call->count * zbl_width(call->dtype)), ran[call->by]);
  }
}
