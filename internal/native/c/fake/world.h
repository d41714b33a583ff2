/* The loopback: a simulation of the runtime and of the collectives library with
 * the same ABI. Host memory stands for device memory. A virtual clock keeps the
 * time that the machine file's model gives. One thread drives all ranks, or
 * several threads or processes drive their share; the figures are the same.
 *
 * Every function of the loopback is hidden and named zbl_*. A real librccl would
 * use a public hip* or nccl* name of the executable instead of the vendor's
 * function. */
#ifndef ZBL_WORLD_H
#define ZBL_WORLD_H

#include "../abi.h"
#include "collectives.h"
#include "hub.h"

/* The vendor whose numbers are used: HIP's, or CUDA's in a build with CUDA's names. */
#ifndef ZBL_VENDOR
#define ZBL_VENDOR ZB_ROCM
#endif

/* The version of the simulated API: HIP 6.0 as major·10⁷ + minor·10⁵, or CUDA 12.0 as major·1000
 * + minor·10. */
static const int zbl_api_version = ZBL_VENDOR == ZB_CUDA ? 12000 : 60000000;

/* The error for a stream that does not exist. In HIP it is hipErrorContextIsDestroyed, except
 * when a kernel is launched (ROCm/clr, hipamd/src/hip_stream.cpp and hip_module.cpp). */
enum {
  ZBL_ERR_STREAM = ZBL_VENDOR == ZB_CUDA ? ZB_ERR_HANDLE : 709,
  ZBL_ERR_LAUNCHED_ON = ZBL_VENDOR == ZB_CUDA ? ZB_ERR_HANDLE : ZB_ERR_VALUE,
  ZBL_ERR_GRAPH = ZBL_VENDOR == ZB_CUDA ? ZB_ERR_VALUE : ZB_ERR_STATE /* hipGraphDestroy */
};

/* The cost model of one collective over `ranks` ranks, which begin at `first` and lie `stride`
 * apart. The field b is in bytes per second; the fields a, r and floor are in seconds. The field k
 * is the bus factor. */
typedef struct zbl_curve {
  int collective; /* enum zbl_collective */
  int first, ranks, stride;
  double b, a, r, floor, k;
  int extrapolated; /* 1 if parts of the curve are not measured */
  int point, points; /* point: index of the curve's first measured point; points: number of measured
                      * points, ascending in bytes */
} zbl_curve;

/* A measured time. It replaces the model's time. */
typedef struct zbl_point {
  double bytes, seconds;
} zbl_point;

/* The faults that a machine file plants. If a fault's number of ranks is 0, or its rank is
 * negative, that fault is not planted. */
typedef struct zbl_faults {
  double *late; /* by rank: delay at every collective, in seconds; or NULL */
  double *hbm;  /* by rank: remaining share of the memory's bandwidth; or NULL */
  struct { double from, to, factor; } dip;       /* from, to: range of sizes, in bytes; factor: for
                                                  * the time in that range */
  struct { int first, ranks; double part, factor; } flaky; /* part: share of the launches that are
                                                            * slow; factor: for their time */
  struct { int node; double part, factor, launches; } contention; /* between nodes of `node` ranks
                                                                   * each */
  struct { int rank; double bytes; uint64_t launch; } hang, async;
  struct {
    int kind, rank; /* enum zbl_data_fault */
    uint64_t index;
    double part;     /* share of the launches in which the fault can occur */
    int first;       /* 1: only in the first launch of a communicator */
    uint64_t launch; /* not before the launch of a communicator with this number */
    int across;      /* bit 0: only in data that another stream wrote; bit 1: only in data that a
                      * copy wrote; bit 2: only on a stream of high priority */
  } data;
  struct { int on, rank; uint64_t byte; } store;   /* a bit of this byte of a kernel's output
                                                    * flips */
  struct { int rank; double factor; } kernels; /* factor of the virtual time of the rank's kernels
                                                * and products */
  struct { int rank; double hz, after; } clock; /* clock rate of the rank's units after this many
                                                 * seconds */
  struct { int call, rank; } stall; /* an enum zbl_stalls: this call of the rank never returns */
  double beside; /* factor of a kernel's time while a collective runs on its device; 0: not
                  * planted */
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
  ZBL_STALE_SEND /* the rank sends the content that the buffer had before the last kernel or copy */
};

/* The constants of messages between two devices: xGMI within a node, rails between nodes. b, a,
 * r, floor and k are as in a curve. If node is 0 there are no ways, and a message takes the time
 * of its communicator's curve. left_rail and left_link are the remaining shares of bandwidth, 1
 * if healthy. */
typedef struct zbl_ways {
  int node; /* number of GPUs per node; 0 if there are no ways */
  zbl_curve link, rail;
  double *left_rail; /* by device */
  double *left_link; /* by device × the other device's position on the node */
} zbl_ways;

enum { ZBL_MAX_RANKS = 1 << 20, ZBL_MAX_CURVES = 1 << 20, ZBL_RUNG = 4 };

enum zbl_memory { ZBL_OF_DEVICE, ZBL_OF_HOST, ZBL_MANAGED, ZBL_REGISTERED };

/* Current and largest amount of memory in use, in bytes. */
typedef struct zbl_usage {
  uint64_t now, high;
} zbl_usage;

/* A range of memory that devices can access. Until it is touched it is only address space. */
typedef struct zbl_block {
  char *base;
  size_t bytes;
  int device, kind; /* enum zbl_memory */
  unsigned flags;   /* flags that the program gave */
  uint32_t id;      /* unique within the process */
  zbl_ref exported; /* where the exported bytes are in the arena; 0 if never exported */
  int opened;       /* the block belongs to another process */
  int opens;        /* number of times that this process has opened the block without closing it */
  zbl_usage *usage; /* a pool's usage that includes the block; NULL if none does */
  struct zbl_block *next;
} zbl_block;

typedef struct zbl_device {
  char *newest; /* start and length of the newest block; 0 if there is none */
  size_t bytes;
  zbl_block *blocks; /* the device's blocks, the newest first */
  uint64_t used;
  struct zbl_stream *null; /* the null stream, once it has been used */
  int blocking; /* number of streams ordered with the null stream, including itself */
  uint64_t streamed; /* number of products, and of kernels that streamed
                      * through the device's memory, in this case */
  uint64_t calls, left; /* calls: number of collectives enqueued on the device; left: number of them
                         * that have left its streams */
  struct { double from, to; } busy; /* the latest busy period of collectives */
  size_t stack;      /* size of a thread's stack plus 1; 0 if the program has not set it */
  unsigned flags;    /* flags that the program has set */
} zbl_device;

/* How a curve changes if a call does not run on the usual kernels: a factor for the bandwidth, and
 * a factor for the latencies. The field `node` is the number of GPUs per node, 0 if unknown. */
typedef struct zbl_faster {
  double rate, latency;
  int node;
} zbl_faster;

/* The clock that a program other than zbench sees: its own, the model's, or its own at the
 * pace of the model. */
enum zbl_shown { ZBL_HIDDEN, ZBL_SHOWN, ZBL_PACED };

/* The machine in this process: the content of the machine file, the devices, and the shared state.
 * Devices are numbered within the world. Device 0 of the API is the first device of this
 * process. */
typedef struct zbl_world {
  int open; /* number of times that the world has been opened */
  int moves_data; /* number of drivers that want data moved; 0: launches move no data */
  int parted; /* some launches moved only blocks, and left pages that are not read again */
  zbl_hub *hub;
  char *arena;
  uint64_t mapped;
  int several; /* other threads or processes drive the same world */
  int shared_fd, slot; /* shared_fd: the shared file, −1 for none; slot: this process's number */
  int first, count; /* the devices that this process sees */
  zbl_bell *rung[ZBL_RUNG]; /* the bells to ring when the lock is released */
  int rung_count;
  int wakes; /* number of sleepers woken at once: one per CPU of the host */
  void *kept; /* a free arena block that keeps its pages; see heap.c */
  int driving, stop; /* the thread that drives the streams; see drive.c */
  zbl_bell nudge;    /* the driving thread sleeps on this bell while it is idle */
  pthread_t driver;
  int waits; /* blocking calls wait for ever, as the real ones do */
  int derives; /* groups without a curve get a derived curve; if 0, their calls are refused */
  int multi_rank; /* a device may have several ranks of a communicator */
  int skips; /* kernels of the program without a host version are skipped */
  int warns; /* NCCL_DEBUG asks for warnings */
  int explains; /* hangs are explained; see silence.c */
  int shown; /* an enum zbl_shown: the clock that other programs see */
  double stall_rate; /* speed of time in a stall, relative to the host's clock; see host.c */
  int wall;  /* time is the host's time, and kernels run on its CPUs */
  int cores; /* number of CPUs for kernels; 0: all */
  char gpu[64];
  uint64_t seed;
  int ranks, gpus_per_process, processes;
  int coll_version; /* reported version of the collectives library; 0: the default */
  uint64_t hbm_bytes;
  uint64_t taken; /* bytes of the hub's room that this process uses */
  double hbm_rate; /* memory bandwidth of a GPU in bytes per second; 0: not modelled */
  double launch, exit_jitter, noise, event;
  double registers; /* host's cost of registering a buffer for one rank, in seconds */
  zbl_faster copies, symmetric; /* rate 0: not modelled */
  zbl_curve *curves;
  int curve_count;
  zbl_point *points;
  int point_count;
  zbl_faults faults;
  zbl_ways ways;
  zbl_device *devices;
  zbl_block **blocks; /* the blocks of all devices, sorted by address */
  size_t block_count, block_room;
  zbl_lane *lanes; /* lanes by modelled process, seats by device; both in the arena */
  zbl_seat *seats;
  int kernel_failures; /* number of launches that would hang or give wrong data on a GPU */
  char kernel_why[160]; /* error of the last such launch */
} zbl_world;

/* The place of a random number: a launch within a case. */
typedef struct zbl_turn {
  uint64_t key, launch;
} zbl_turn;

static inline double zbl_later(double a, double b) { return a > b ? a : b; }

extern zbl_world zbl;

/* Reports whether [ptr, ptr+bytes) lies inside the newest block of a device, which is a rank's
 * arena. */
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
/* Returns zeroed memory of at most 192 bytes for a handle; NULL if there is no memory. The
 * memory begins with a magic number. It is a valid handle as long as that number is not 0. */
void *zbl_new_handle(size_t bytes);
void zbl_free_handle(void *p);
/* Returns the object behind a handle of a kind; NULL if the handle is invalid. */
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

/* Returns a runtime error from the function if `when` is true. */
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
