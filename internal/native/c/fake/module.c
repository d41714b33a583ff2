/* Modules and kernels. The loopback's kernels are compiled into the binary, so a
 * module is only a name, and a function stands for a row of the kernel table. */
#include "pool.h"
#include "stream.h"

#include "../../kernels/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ZBL_MODULE = 0x6d6f6475, ZBL_FUNCTION = 0x66756e63, ZBL_MAX_PARAMS = 16 };

/* The error for a module that does not exist. HIP reports it as not found
 * (ROCm/clr, hipamd/src/hip_platform.cpp, unloadModule and getDynFunc). */
enum { ZBL_ERR_MODULE = ZBL_VENDOR == ZB_CUDA ? ZB_ERR_HANDLE : ZB_ERR_NOT_FOUND };

/* The duration of a kernel in seconds. No figure depends on it. Streams through memory have a
 * modelled time if the machine file gives a bandwidth. */
static const double zbl_kernel_seconds = 5e-6;

/* A function of a module. It is freed with its module. */
typedef struct zbl_function {
  uint32_t magic;
  const zbl_kernel *kernel; /* NULL for a function in a program's own module */
  void *own;
  struct zbl_function *next;
} zbl_function;

typedef struct zbl_module {
  uint32_t magic;
  zbl_function *functions; /* the functions that were looked up */
  void *own;               /* the program's own code; NULL for zbench's kernels */
} zbl_module;

/* A program's own code, as the shared libraries provide it (shared/modules.c). The functions load()
 * and launch() return a HIP error; find() returns NULL if the code has no such kernel. */
typedef struct zbl_own_code {
  int (*load)(void **own, const void *image);
  void (*unload)(void *own);
  void *(*find)(void *own, const char *name);
  int (*launch)(void *kernel, const zbk_launch *how, void **params, void **extra,
                zbl_stream *s);
} zbl_own_code;

static const zbl_own_code *zbl_own_codes;

/* A launch that waits in a stream. Its parameters are copied when the host launches it. */
typedef struct zbl_launched {
  const zbl_kernel *kernel;
  zbk_launch how;
  void *params[ZBL_MAX_PARAMS];
  uint64_t values[ZBL_MAX_PARAMS];
  uint64_t behind; /* number of earlier collectives on the device */
} zbl_launched;

static int zbl_moduleLoad(void **module, const void *image) {
  zbl_module *m;
  void *own = NULL;
  int code = ZB_OK;
  ZBL_ENTER;
  ZBL_REFUSE(module == NULL || image == NULL, ZB_ERR_VALUE);
  if (strcmp(image, "zbench loopback kernels") != 0) {
    code = zbl_own_codes != NULL ? zbl_own_codes->load(&own, image) : ZB_ERR_VALUE;
  }
  ZBL_REFUSE(code != ZB_OK, code);
  m = zbl_new_handle(sizeof *m);
  ZBL_REFUSE(m == NULL, ZB_ERR_MEMORY);
  *m = (zbl_module){.magic = ZBL_MODULE, .own = own};
  *module = m;
  return ZB_OK;
}

static int zbl_moduleUnload(void *module) {
  ZBL_ENTER;
  zbl_module *m = zbl_behind(module, ZBL_MODULE);
  ZBL_REFUSE(m == NULL, module == NULL ? ZB_ERR_HANDLE : ZBL_ERR_MODULE);
  while (m->functions != NULL) {
    zbl_function *f = m->functions;
    m->functions = f->next;
    zbl_free_handle(f);
  }
  if (m->own != NULL) {
    zbl_own_codes->unload(m->own);
  }
  zbl_free_handle(m);
  return ZB_OK;
}

/* Returns the function object for a kernel or for own code; the other argument is NULL. */
static zbl_function *zbl_function_for(zbl_module *m, const zbl_kernel *kernel, void *own) {
  zbl_function *f = m->functions;
  while (f != NULL && (f->kernel != kernel || f->own != own)) {
    f = f->next;
  }
  if (f == NULL && (f = zbl_new_handle(sizeof *f)) != NULL) {
    *f = (zbl_function){ZBL_FUNCTION, kernel, own, m->functions};
    m->functions = f;
  }
  return f;
}

static int zbl_moduleFunction(void **function, void *module, const char *name) {
  ZBL_ENTER;
  const zbl_kernel *k = NULL;
  void *own = NULL;
  zbl_module *m = zbl_behind(module, ZBL_MODULE);
  ZBL_REFUSE(function == NULL || name == NULL || name[0] == 0, ZB_ERR_VALUE);
  ZBL_REFUSE(m == NULL, module == NULL ? ZB_ERR_HANDLE : ZBL_ERR_MODULE);
  if (m->own != NULL) {
    own = zbl_own_codes->find(m->own, name);
  } else {
    k = zbl_kernel_find(name);
  }
  ZBL_REFUSE(k == NULL && own == NULL, ZB_ERR_NOT_FOUND);
  *function = zbl_function_for(m, k, own);
  return *function != NULL ? ZB_OK : zbl_said(ZB_ERR_MEMORY);
}

/* Returns the factor by which the kernels of a device are slower; 1 if no such fault is planted. */
static double zbl_slowness(int device) {
  return device == zbl.faults.kernels.rank ? zbl.faults.kernels.factor : 1;
}

/* Returns the duration in seconds of a kernel that is not a stream through memory. */
static double zbl_plain_time(int device) { return zbl_kernel_seconds * zbl_slowness(device); }

/* Returns the bytes that a stream moves, counted as in STREAM: every array once.
 * The kernel's name gives the operation and the type; the kernel's fifth argument
 * is the number of elements. */
static double zbl_streamed_bytes(const zbl_launched *l) {
  static const struct {
    const char *prefix;
    int arrays;
  } streams[] = {{"zb_read_", 1}, {"zb_write_", 1}, {"zb_copy_", 2}, {"zb_scale_", 2},
                 {"zb_add_", 3},  {"zb_triad_", 3}, {"zb_dot_", 2}};
  enum { ELEMENTS = 4 };
  if (strcmp(l->kernel->file, "stream.hip") != 0 || l->kernel->nparams <= ELEMENTS) {
    return 0;
  }
  for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
    size_t n = strlen(streams[i].prefix);
    if (strncmp(l->kernel->name, streams[i].prefix, n) == 0) {
      int element = strncmp(l->kernel->name + n, "f64", 3) == 0 ? 8 : 4;
      return (double)l->values[ELEMENTS] * element * streams[i].arrays;
    }
  }
  return 0;
}

/* Returns the duration of a kernel in seconds. A stream through memory takes its bytes divided by
 * the memory's bandwidth, with the noise of a launch, if the machine file gives a bandwidth. On a
 * device with slow kernels the duration is multiplied. */
static double zbl_kernel_time(const zbl_launched *l, int device) {
  double bytes = zbl.hbm_rate > 0 ? zbl_streamed_bytes(l) : 0;
  if (bytes > 0) {
    return zbl_noisy(bytes / zbl_hbm_rate(device), zbl_draws(zbl_kernel_turn(device)), 0);
  }
  return zbl_plain_time(device);
}

/* Flips one bit of a launch's output, as the planted fault of a memory cell. */
static void zbl_flip(char *out, int device) {
  char *at = out + zbl.faults.store.byte;
  if (zbl.faults.store.on && zbl.faults.store.rank == device && zbl_owner(at) == device) {
    *at ^= 1;
  }
}

/* Applies the planted fault of a memory cell to a kernel's output, to which its first argument
 * points. Kernels that fill or check are exempt, because they are the reference. */
static void zbl_store_fault(const zbl_launched *l, int device) {
  if (strcmp(l->kernel->file, "data.hip") != 0 && strcmp(l->kernel->file, "verify.hip") != 0 &&
      strstr(l->kernel->name, "_fill") == NULL) {
    zbl_flip((char *)(uintptr_t)l->values[0], device);
  }
}

/* Sets the counters that zb_clock reads to their values after the given seconds. They count at the
 * reported clock rate, and more slowly after a planted drop. Both counters began a second
 * earlier. */
static void zbl_count(int device, double seconds) {
  const double rate = zbl_attribute("clockRate") * 1e3, began = 1;
  double slow = 0;
  if (device == zbl.faults.clock.rank) {
    slow = fmax(0, seconds - zbl.faults.clock.after);
  }
  zbk_set_counters((unsigned long long)((began + seconds - slow) * rate + slow * zbl.faults.clock.hz),
            (unsigned long long)((began + seconds) * 1e9));
}

/* Reports whether a kernel's data is computed. It is not needed for a stream through memory whose
 * time is modelled from the bandwidth. */
static int zbl_kernel_works(const zbl_launched *l) {
  return zbl.wall || zbl.moves_data > 0 || zbl.hbm_rate == 0 || zbl_streamed_bytes(l) == 0;
}

/* Keeps the old content of a kernel's outputs if a fault makes a rank send stale data. */
static void zbl_before_kernel(const zbl_launched *l, const zbl_stream *s) {
  for (int i = 0; i < l->kernel->nparams && zbl.faults.data.kind == ZBL_STALE_SEND; i++) {
    if (l->kernel->size[i] == sizeof(void *)) {
      zbl_before_write(s, (const char *)(uintptr_t)l->values[i], 0);
    }
  }
}

/* Runs a kernel. The kernel sees the results of all earlier work on its stream. A delay kernel
 * takes the requested nanoseconds and does nothing else. */
static int zbl_kernel_run(zbl_op *op, zbl_stream *s) {
  zbl_launched *l = op->data;
  if (zbl_undecided(s->device, l->behind)) {
    return 0;
  }
  s->s = zbl_arrival(op, s);
  if (strcmp(l->kernel->name, "zb_delay") == 0) {
    s->s += (double)l->values[0] * 1e-9;
    return 1;
  }
  zbl_reveal(s);
  if (strcmp(l->kernel->name, "zb_clock") == 0) { /* the kernel takes no modelled time */
    zbl_count(s->device, s->s);
    if (zbk_run(l->kernel, &l->how, 0, l->params, zbl.kernel_why, sizeof zbl.kernel_why)) {
      zbl.kernel_failures++;
      s->error = ZB_ERR_LAUNCH;
    }
    return 1;
  }
  if (!zbl_kernel_works(l)) {
    s->s = zbl_beside(s->device, s->s, zbl_kernel_time(l, s->device));
    return 1;
  }
  zbl_before_kernel(l, s);
  if (zbl.wall && l->kernel->part != NULL) {
    zbl_pool_run(l->kernel->part, l->params);
  } else if (zbk_run(l->kernel, &l->how, 1, l->params, zbl.kernel_why,
              sizeof zbl.kernel_why)) {
    zbl.kernel_failures++;
    s->error = ZB_ERR_LAUNCH;
  }
  zbl_store_fault(l, s->device);
  s->s = zbl.wall ? zbl_wall_now() : zbl_beside(s->device, s->s, zbl_kernel_time(l, s->device));
  return 1;
}

static const zbl_kind zbl_kernels = {.run = zbl_kernel_run,
                                     .done = zbl_kernel_run,
                                     .release = zbl_free_copied};

/* The largest number of blocks in the second and third dimension.
 * hipModuleLaunchKernel refuses more; CUDA's limit is one less (CUDA C++
 * Programming Guide, "Compute Capabilities"). */
enum { ZBL_MOST_BLOCKS = ZBL_VENDOR == ZB_CUDA ? 65535 : 65536 };

/* Reports whether hipModuleLaunchKernel accepts the launch, by the limits of gfx942. */
static int zbl_launchable(const zbl_kernel *k, const zbk_launch *l) {
  uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
  for (int i = 0; i < 3; i++) {
    if (l->grid[i] == 0 || l->grid[i] > (i == 0 ? INT32_MAX : ZBL_MOST_BLOCKS) ||
        l->block[i] == 0 || l->block[i] > ZBK_MOST_THREADS ||
        (uint64_t)l->grid[i] * l->block[i] > UINT32_MAX) {
      return 0;
    }
  }
  return threads <= ZBK_MOST_THREADS && l->shared <= ZBK_MOST_SHARED &&
         k->nparams <= ZBL_MAX_PARAMS;
}

/* Puts a launch on a stream, at the call and again at each launch of a graph that contains it. */
static int zbl_kernel_put(const void *what, zbl_stream *s) {
  zbl_launched *l = malloc(sizeof *l);
  if (l == NULL) {
    return ZB_ERR_MEMORY;
  }
  memcpy(l, what, sizeof *l);
  l->behind = zbl.devices[s->device].calls;
  for (int i = 0; i < l->kernel->nparams; i++) {
    l->params[i] = &l->values[i];
  }
  zbl_push(s, zbl_new_op(s, &zbl_kernels, l, s->lane->h));
  return ZB_OK;
}

static int zbl_launchKernel(void *function, unsigned gx, unsigned gy,
                            unsigned gz, unsigned bx, unsigned by, unsigned bz,
                            unsigned shared, void *stream, void **params,
                            void **extra) {
  ZBL_ENTER;
  const zbl_function *f = zbl_behind(function, ZBL_FUNCTION);
  const zbl_kernel *k = f != NULL ? f->kernel : NULL;
  const zbk_launch how = {{gx, gy, gz}, {bx, by, bz}, shared};
  zbl_stream *s = zbl_stream_of(stream);
  zbl_launched l = {.kernel = k, .how = how};
  ZBL_REFUSE(s == NULL, ZBL_ERR_LAUNCHED_ON);
  if (f == NULL) { /* the error of ROCm/clr, hipamd/src/hip_module.cpp, ihipModuleLaunchKernel */
    return zbl_said(ZB_ERR_HANDLE);
  }
  if (k == NULL) {
    static const zbl_kernel limits = {.nparams = 0};
    return zbl_said(zbl_launchable(&limits, &how)
                        ? zbl_own_codes->launch(f->own, &how, params, extra, s)
                        : ZB_ERR_VALUE);
  }
  ZBL_REFUSE(extra != NULL || !zbl_launchable(k, &how), ZB_ERR_VALUE);
  for (int i = 0; i < k->nparams; i++) {
    memcpy(&l.values[i], params[i], k->size[i]);
  }
  return zbl_said(zbl_do(s, zbl_kernel_put, &l, sizeof l));
}
