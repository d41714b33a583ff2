/* The loopback: a fake of the runtime and of the collectives library with the
 * same ABI. Host memory stands for device memory, and a virtual clock keeps the
 * time that the machine file's model gives. One thread drives all ranks, or
 * several threads or processes drive their share; the figures are the same.
 *
 * Every function of the fake is hidden and named zbl_*: a public hip* or nccl*
 * name in an executable would be bound by a real librccl. */
#ifndef ZBL_WORLD_H
#define ZBL_WORLD_H

#include "../abi.h"
#include "collectives.h"
#include "hub.h"

/* HIP's numbers, or CUDA's in a build with CUDA's names. */
#ifndef ZBL_VENDOR
#define ZBL_VENDOR ZB_ROCM
#endif

/* The version of the simulated API: HIP 6.0, major·10⁷ + minor·10⁵, or CUDA 12.0, major·1000 +
 * minor·10. */
static const int zbl_api_version = ZBL_VENDOR == ZB_CUDA ? 12000 : 60000000;

/* The error for a stream that does not exist: in HIP hipErrorContextIsDestroyed, except for
 * launches of kernels (ROCm/clr, hipamd/src/hip_stream.cpp and hip_module.cpp). */
enum {
  ZBL_ERR_STREAM = ZBL_VENDOR == ZB_CUDA ? ZB_ERR_HANDLE : 709,
  ZBL_ERR_LAUNCHED_ON = ZBL_VENDOR == ZB_CUDA ? ZB_ERR_HANDLE : ZB_ERR_VALUE,
  ZBL_ERR_GRAPH = ZBL_VENDOR == ZB_CUDA ? ZB_ERR_VALUE : ZB_ERR_STATE /* hipGraphDestroy */
};

/* The cost model of one collective over `ranks` ranks from `first` on, stride apart: bytes per
 * second, then seconds. k is the factor of the bus bandwidth. */
typedef struct zbl_curve {
  int collective; /* enum zbl_collective */
  int first, ranks, stride;
  double b, a, r, floor, k;
  int extrapolated; /* parts of it are not measured */
  int point, points; /* its first measured point, and their number; ascending in bytes */
} zbl_curve;

/* A measured time, which replaces the model's. */
typedef struct zbl_point {
  double bytes, seconds;
} zbl_point;

/* The planted faults of a machine file. A rank count of 0 or a negative rank means that there is
 * no fault of that kind. */
typedef struct zbl_faults {
  double *late; /* by rank: seconds by which it reaches every collective late; or NULL */
  double *hbm;  /* by rank: the remaining share of the memory's rate; or NULL */
  struct { double from, to, factor; } dip;       /* bytes, bytes, × T */
  struct { int first, ranks; double part, factor; } flaky; /* of launches, × T */
  struct { int node; double part, factor, launches; } contention; /* between nodes of `node` ranks */
  struct { int rank; double bytes; uint64_t launch; } hang, async;
  struct {
    int kind, rank; /* enum zbl_data_fault */
    uint64_t index;
    double part;     /* share of the launches it can occur in */
    int first;       /* only in the first launch of a communicator */
    uint64_t launch; /* not before this launch of a communicator */
    int across;      /* bits: only in data written by another stream, by a copy */
  } data;
  struct { int on, rank; uint64_t byte; } store;   /* a bit there flips */
  struct { int rank; double factor; } kernels; /* × the virtual time of its kernels and products */
  struct { int rank; double hz, after; } clock; /* of the units, after this many seconds */
  struct { int call, rank; } stall; /* enum zbl_stalls: it never returns */
  double beside; /* × a kernel's time while a collective runs on its device; 0: none */
} zbl_faults;

/* The calls that a fault can keep from returning. */
enum zbl_stalls { ZBL_STALL_NONE, ZBL_STALL_RUNTIME, ZBL_STALL_INIT, ZBL_STALL_ABORT };

enum zbl_data_fault {
  ZBL_DATA_OK,
  ZBL_MISSING, /* the rank's contribution is missing */
  ZBL_DOUBLED, /* the rank's contribution counts twice */
  ZBL_SWAPPED, /* two blocks of the result are swapped */
  ZBL_STALE,   /* the rank's receive buffer is not written */
  ZBL_CORRUPT, /* one element of the rank's result has a bit flipped */
  ZBL_STALE_SEND /* the rank sends the buffer's content before the last kernel or copy wrote it */
};

/* The constants of messages between two devices: xGMI within a node, rails between nodes; b, a,
 * r, floor and k as in a curve. Without ways (node 0) messages take the time of their
 * communicator's curve. left_rail and left_link are the remaining shares of bandwidth, 1 if
 * healthy. */
typedef struct zbl_ways {
  int node; /* GPUs of a node; 0: there are no ways */
  zbl_curve link, rail;
  double *left_rail; /* by device */
  double *left_link; /* by device × the other's place on the node */
} zbl_ways;

enum { ZBL_MAX_RANKS = 1 << 20, ZBL_MAX_CURVES = 1 << 20, ZBL_RUNG = 4 };

enum zbl_memory { ZBL_OF_DEVICE, ZBL_OF_HOST, ZBL_MANAGED, ZBL_REGISTERED };

/* The present and the largest amount of memory, in bytes. */
typedef struct zbl_usage {
  uint64_t now, high;
} zbl_usage;

/* A range of memory that devices can access. It is only address space until touched. */
typedef struct zbl_block {
  char *base;
  size_t bytes;
  int device, kind; /* enum zbl_memory */
  unsigned flags;   /* given by the program */
  uint32_t id;      /* unique within the process */
  zbl_ref exported; /* where other processes find it, or found it; 0: nowhere */
  int opened;       /* it belongs to another process */
  int opens;        /* how often this process has opened it and not closed it */
  zbl_usage *usage; /* counted here in addition to its device; NULL: nowhere */
  struct zbl_block *next;
} zbl_block;

typedef struct zbl_device {
  char *newest; /* start and length of the newest block; 0 for none */
  size_t bytes;
  zbl_block *blocks; /* the newest first */
  uint64_t used;
  struct zbl_stream *null; /* its null stream, once it was used */
  int blocking; /* streams ordered with the null stream, itself included */
  uint64_t streamed; /* products, and kernels that went through its memory, in this case */
  uint64_t calls, left; /* collectives: enqueued on it, and gone from its streams */
  struct { double from, to; } busy; /* the last period of collectives without a gap */
  size_t stack;      /* a thread's stack plus 1; 0 if the program has not set it */
  unsigned flags;    /* set by the program */
} zbl_device;

/* How a curve changes if something other than the usual kernels runs the call: factors for its
 * bandwidth and its latencies. node: GPUs per node, 0 if unknown. */
typedef struct zbl_faster {
  double rate, latency;
  int node;
} zbl_faster;

/* The clock that a program other than zbench sees: its own, the model's, or its own at the
 * model's pace. */
enum zbl_shown { ZBL_HIDDEN, ZBL_SHOWN, ZBL_PACED };

/* The machine in this process: the machine file's content, the devices, and the shared state.
 * Devices are numbered within the world; the API's device 0 is the first one of this process. */
typedef struct zbl_world {
  int open; /* number of opens */
  int moves_data; /* 0: launches do not */
  int parted; /* some launches moved only blocks: there are pages that nobody reads again */
  zbl_hub *hub;
  char *arena;
  uint64_t mapped;
  int several; /* other processes drive the same world */
  int shared_fd, slot; /* of the file, −1 for none; this process's number */
  int first, count; /* the devices that this process sees */
  zbl_bell *rung[ZBL_RUNG]; /* to wake when the lock is released */
  int rung_count;
  int wakes; /* sleepers woken at once: one per CPU of the host */
  void *kept; /* a free arena block that keeps its pages; see heap.c */
  int driving, stop; /* the thread that drives the streams; see drive.c */
  zbl_bell nudge;    /* it sleeps on this bell while it is idle */
  pthread_t driver;
  int waits; /* blocking calls wait for ever, like the real ones */
  int derives; /* groups without a curve get a derived one; otherwise their calls are refused */
  int multi_rank; /* a device may have several ranks of a communicator */
  int skips; /* kernels of the program without a host version are skipped */
  int warns; /* NCCL_DEBUG asks for warnings */
  int explains; /* hangs are explained; see silence.c */
  int shown; /* enum zbl_shown: what other programs see of the clock */
  double stall_rate; /* times as fast as the host's clock, see host.c */
  int wall;  /* time is the host's time, and kernels run on its CPUs */
  int cores; /* how many of them; 0: all that there are */
  char gpu[64];
  uint64_t seed;
  int ranks, gpus_per_process, processes;
  int coll_version; /* of the collectives library; 0: the loopback's own */
  uint64_t hbm_bytes;
  uint64_t taken; /* bytes of the hub's room that this process uses */
  double hbm_rate; /* of a GPU's memory, bytes per second; 0: not modelled */
  double launch, exit_jitter, noise, event;
  double registers; /* host's cost of registering a buffer for a rank */
  zbl_faster copies, symmetric; /* of rate 0: not modelled */
  zbl_curve *curves;
  int curve_count;
  zbl_point *points;
  int point_count;
  zbl_faults faults;
  zbl_ways ways;
  zbl_device *devices;
  zbl_block **blocks; /* of all devices, sorted by address */
  size_t block_count, block_room;
  zbl_lane *lanes; /* by modelled process, and by device, in the arena */
  zbl_seat *seats;
  int kernel_failures; /* launches that a GPU might hang in or get wrong, */
  char kernel_why[160]; /* and the error of the last */
} zbl_world;

/* The position of a random draw: a launch within a case. */
typedef struct zbl_turn {
  uint64_t key, launch;
} zbl_turn;

static inline double zbl_later(double a, double b) { return a > b ? a : b; }

extern zbl_world zbl;

/* Whether [ptr, ptr+bytes) lies inside the newest block of a device, which is a rank's arena. */
static inline int zbl_in_newest(int device, const void *ptr, uint64_t bytes) {
  const zbl_device *d = &zbl.devices[device];
  size_t offset = (size_t)((const char *)ptr - d->newest);
  return offset < d->bytes && bytes <= d->bytes - offset;
}

/* machine.c */
int zbl_reset(const char *text, char *err, size_t errlen);
int zbl_join_world(const char *text, const zbl_share *how, char *err, size_t errlen);
void zbl_shutdown(void);
void zbl_fill(zb_table *t);

/* lt.c */
struct zb_lt;
void zbl_lt_fill(struct zb_lt *lt);

const zbl_curve *zbl_curve_for(int collective, int first, int ranks, int stride);
zbl_curve zbl_derived(int collective, int first, int ranks, int stride);

/* fault.c */
void zbl_no_faults(void);
int zbl_read_fault(const char *text);
double zbl_faulty(const zbl_curve *c, double bytes, double t, uint64_t draws);
double zbl_contended(int from, int to, zbl_turn at);
double zbl_faulty_between(int from, int to, double bytes, double t, uint64_t draws);
double zbl_late(int rank);
double zbl_hbm_rate(int rank);
void zbl_busy(int device, double from, double to);
double zbl_beside(int device, double from, double seconds);
int zbl_hangs(int rank, double bytes, uint64_t launch);
void zbl_stalled(int call, int rank);
int zbl_data_fault(int device, zbl_turn at, uint64_t number);
void zbl_fired(void);
int zbl_async(int rank, double bytes, uint64_t launch);

/* stale.c */
void zbl_before_write(const struct zbl_stream *s, const char *to, int copied);
const char *zbl_stale(const struct zbl_stream *s, const char *from, uint64_t bytes);
void zbl_forget_stale(void);

/* way.c */
int zbl_read_way(const char *key, const char *values);
void zbl_free_ways(void);
double zbl_way_time(int from, int to, double along, double bytes, uint64_t draws);

/* handle.c */
/* Returns zeroed memory of at most 192 bytes that begins with a magic number: it is a valid
 * handle while that is not 0. NULL if there is no memory. */
void *zbl_new_handle(size_t bytes);
void zbl_free_handle(void *p);
/* Returns the object behind a handle of that kind, NULL if it is none. */
void *zbl_behind(void *handle, uint32_t magic);
void zbl_forget_handles(void);

/* stream.c */
void zbl_free_streams(void);

/* result.c and wait.c */
void zbl_forget_range(const char *from, size_t bytes);
int zbl_wait_for_device(int device);

/* host.c */
struct timespec;
void zbl_kernel_clock(struct timespec *now);
double zbl_wall_now(void);
void zbl_show(int shown);
int zbl_paced(void);
void zbl_host_enters(zbl_lane *l);
double zbl_host_comes(void);
void zbl_host_meets(double at);
double zbl_host_posts(zbl_lane *l, double posted);
void zbl_host_calls(void);
int zbl_host_sees(double at);
void zbl_host_stalls(double quiet);
int zbl_host_finds(int pending, double at);
int64_t zbl_shown_now(void);
void zbl_shown_reach(int64_t at);
void zbl_host_becomes(double at);
double zbl_host_is(void);

/* pace.c */
void zbl_host_in(void);
void zbl_host_out(void);
void zbl_pace_begins(void);
int zbl_pace_sees(double at);
void zbl_pace_pushes(double due);

/* clock.c */
double zbl_model(const zbl_curve *c, double bytes);
uint64_t zbl_draws(zbl_turn at);
double zbl_noisy(double seconds, uint64_t draws, int group);
double zbl_uniform(uint64_t draws, uint64_t rank);
zbl_turn zbl_kernel_turn(int device);
zbl_lane *zbl_lane_of(int device);
double *zbl_host_clock(int device);
double zbl_host_cost(int device);
void zbl_check_barrier(void);

/* blocks.c */
int zbl_counts(int kind);
int zbl_note_block(zbl_block *block);
void zbl_forget_block(zbl_block *block);
void zbl_unexport(zbl_ref at);
void zbl_tell_memory(const char *format, uint64_t bytes, uint64_t left)
    __attribute__((format(printf, 1, 0)));
int zbl_take_room(size_t bytes);
void zbl_leave_room(size_t bytes);
void zbl_use(zbl_block *block, zbl_usage *usage);
zbl_block *zbl_block_of(const void *ptr);
int zbl_valid_range(const void *ptr, uint64_t bytes);
int zbl_owner(const void *ptr);
int zbl_copyable(const void *ptr, size_t bytes);

/* device.c */
int zbl_current_device(void);
int zbl_allocate(void **ptr, size_t bytes, int kind);
int zbl_allocate_on(void **ptr, size_t bytes, int kind, int device);
int zbl_map_block(void **ptr, size_t bytes, int kind, int device);
int zbl_said(int code);

/* Leaves the function with a runtime error. */
#define ZBL_REFUSE(when, code)                                                 \
  do {                                                                         \
    if (when) {                                                                \
      return zbl_said(code);                                                   \
    }                                                                          \
  } while (0)
void zbl_empty_devices(void);
void zbl_free_devices(void);

/* graph.c */
int zbl_refused_in_capture(void);
void zbl_capture_reset(void);
int zbl_exchange_mode(int mode);

/* comm.c */
void zbl_free_comms(void);
void zbl_alarm(void);

/* drive.c */
void zbl_drive_start(void);
void zbl_drive_stop(void);

#endif
