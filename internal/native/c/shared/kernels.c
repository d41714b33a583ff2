/* Kernels of the program: what its start-up code registers, and launches of it. The
 * loopback has no GPU to run their code on; zbench_kernels.h says how host versions of
 * them are supplied. */
#include "zbench_kernels.h"

#include "../fake/stream.h"
#include "more.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ZBL_ERR_FUNCTION = 98, ZBL_ERR_NO_BINARY = 209, ZBL_MOST_OBJECTS = 16 };

/* A registered kernel: the address that the program launches it by, and its name. */
typedef struct zbl_registered {
  const void *host;
  char *name;
  void **module;
  int looked, known; /* for a host version; whether there is one */
  zbench_kernel_version version;
  struct zbl_registered *next;
} zbl_registered;

/* Programs register before the world is open and after it is closed, so this has a lock
 * of its own. */
static struct {
  pthread_mutex_t lock;
  zbl_registered *all;
  int opened, objects;
  int (*find[ZBL_MOST_OBJECTS])(const char *, zbench_kernel_version *);
} zbl_program_kernels = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A module is a handle and no more: what lies in it cannot be run. */
static void **zbl_registerFatBinary(const void *data) {
  void **module = malloc(sizeof *module);
  if (module != NULL) {
    *module = (void *)(uintptr_t)data;
  }
  return module;
}

static void zbl_unregisterFatBinary(void **module) {
  zbl_registered **at = &zbl_program_kernels.all;
  pthread_mutex_lock(&zbl_program_kernels.lock);
  while (*at != NULL) {
    zbl_registered *r = *at;
    if (r->module == module) {
      *at = r->next;
      free(r->name);
      free(r);
    } else {
      at = &r->next;
    }
  }
  pthread_mutex_unlock(&zbl_program_kernels.lock);
  free(module);
}

static void zbl_registerFunction(void **module, const void *host, char *device,
                                 const char *name, unsigned limit, void *tid, void *bid,
                                 void *block, void *grid, int *size) {
  zbl_registered *r = calloc(1, sizeof *r);
  (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)size;
  if (r == NULL || (r->name = strdup(name)) == NULL) {
    free(r);
    return;
  }
  r->host = host;
  r->module = module;
  pthread_mutex_lock(&zbl_program_kernels.lock);
  r->next = zbl_program_kernels.all;
  zbl_program_kernels.all = r;
  pthread_mutex_unlock(&zbl_program_kernels.lock);
}

/* Variables of the device's are reached by its kernels alone, which do not run. */
static void zbl_registerVar(void **module, void *var, char *host, char *device, int ext,
                            size_t size, int constant, int global) {
  (void)module, (void)var, (void)host, (void)device, (void)ext, (void)size,
      (void)constant, (void)global;
}

/* A managed variable is memory that the host uses, too. */
static void zbl_registerManagedVar(void *module, void **pointer, void *init,
                                   const char *name, size_t size, unsigned align) {
  (void)module, (void)name, (void)align;
  *pointer = calloc(1, size > 0 ? size : 1);
  if (*pointer != NULL && init != NULL) {
    memcpy(*pointer, init, size);
  }
}

/* Between kernel<<<…>>> and the launch that the compiler makes of it. */
static _Thread_local struct {
  zbs_dim3 grid, block;
  size_t shared;
  void *stream;
} zbl_call_now;

static int zbl_pushCall(zbs_dim3 grid, zbs_dim3 block, size_t shared, void *stream) {
  zbl_call_now.grid = grid;
  zbl_call_now.block = block;
  zbl_call_now.shared = shared;
  zbl_call_now.stream = stream;
  return ZB_OK;
}

static int zbl_popCall(zbs_dim3 *grid, zbs_dim3 *block, size_t *shared, void **stream) {
  *grid = zbl_call_now.grid;
  *block = zbl_call_now.block;
  *shared = zbl_call_now.shared;
  *stream = zbl_call_now.stream;
  return ZB_OK;
}

/* Opens one of the shared objects with host versions. */
static void zbl_open_kernels(const char *path) {
  void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *find = object != NULL ? dlsym(object, "zbench_kernel") : NULL;
  if (find == NULL) {
    fprintf(stderr, "zbench loopback: ZBENCH_LOOPBACK_KERNELS: %s\n", dlerror());
  } else if (zbl_program_kernels.objects < ZBL_MOST_OBJECTS) {
    memcpy(&zbl_program_kernels.find[zbl_program_kernels.objects++], &find, sizeof find);
  }
}

static void zbl_open_all_kernels(void) {
  const char *paths = getenv("ZBENCH_LOOPBACK_KERNELS");
  char *copy = paths != NULL ? strdup(paths) : NULL, *save = NULL;
  zbl_program_kernels.opened = 1;
  for (char *p = copy != NULL ? strtok_r(copy, ":", &save) : NULL; p != NULL;
       p = strtok_r(NULL, ":", &save)) {
    zbl_open_kernels(p);
  }
  free(copy);
}

/* Looks for the kernel's host version, once. */
static void zbl_look_for_version(zbl_registered *r) {
  r->looked = 1;
  if (!zbl_program_kernels.opened) {
    zbl_open_all_kernels();
  }
  for (int i = 0; i < zbl_program_kernels.objects && !r->known; i++) {
    zbench_kernel_version v = {0};
    r->known = zbl_program_kernels.find[i](r->name, &v) && v.run != NULL &&
               v.params >= 0 && v.params <= ZBENCH_MOST_PARAMS;
    r->version = v;
  }
  if (!r->known) {
    fprintf(stderr,
            "zbench loopback: the kernel %s has no version for the host. "
            "ZBENCH_LOOPBACK_KERNELS names shared objects that have one "
            "(zbench_kernels.h, docs/LOOPBACK.md). rccl-tests with a folder verifiable needs none "
            "with -c 0. ZBENCH_LOOPBACK_UNKNOWN_KERNELS=skip leaves such kernels out, "
            "for times alone.\n",
            r->name);
  }
}

static zbl_registered *zbl_registered_of(const void *host) {
  zbl_registered *r;
  pthread_mutex_lock(&zbl_program_kernels.lock);
  for (r = zbl_program_kernels.all; r != NULL && r->host != host; r = r->next) {
  }
  if (r != NULL && !r->looked) {
    zbl_look_for_version(r);
  }
  pthread_mutex_unlock(&zbl_program_kernels.lock);
  return r;
}

/* A launch of a host version: its arguments are taken when it is made, each at a
 * multiple of 16 bytes behind this. */
typedef struct zbl_host_launch {
  zbench_kernel_version version;
  zbench_launch how;
  size_t bytes;
  _Alignas(16) char args[];
} zbl_host_launch;

enum { ZBL_ARGUMENT_ALIGN = 16 };

static size_t zbl_argument_room(size_t bytes) {
  return (bytes + ZBL_ARGUMENT_ALIGN - 1) / ZBL_ARGUMENT_ALIGN * ZBL_ARGUMENT_ALIGN;
}

static int zbl_host_run(zbl_op *op, zbl_stream *s) {
  zbl_host_launch *l = op->data;
  void *args[ZBENCH_MOST_PARAMS];
  size_t at = 0;
  s->s = zbl_arrival(op, s);
  zbl_reveal(s);
  for (int i = 0; i < l->version.params; i++) {
    args[i] = l->args + at;
    at += zbl_argument_room(l->version.size[i]);
  }
  l->version.run(&l->how, args);
  s->s = zbl.wall ? zbl_wall_now() : s->s + zbl_plain_time(s->device);
  return 1;
}

static const zbl_kind zbl_host_kernels = {.run = zbl_host_run,
                                          .release = zbl_free_copied};

static int zbl_host_put(const void *what, zbl_stream *s) {
  const zbl_host_launch *from = what;
  zbl_host_launch *l = aligned_alloc(ZBL_ARGUMENT_ALIGN, from->bytes);
  if (l == NULL) {
    return ZB_ERR_MEMORY;
  }
  memcpy(l, from, from->bytes);
  zbl_push(s, zbl_new_op(s, &zbl_host_kernels, l, s->lane->h));
  return ZB_OK;
}

/* Launches a kernel that has a host version. */
static int zbl_launch_version(const zbl_registered *r, const zbench_launch *how,
                              void **params, zbl_stream *s) {
  size_t bytes = sizeof(zbl_host_launch), at = 0;
  zbl_host_launch *l;
  int code;
  for (int i = 0; i < r->version.params; i++) {
    bytes += zbl_argument_room(r->version.size[i]);
  }
  bytes = zbl_argument_room(bytes);
  l = aligned_alloc(ZBL_ARGUMENT_ALIGN, bytes);
  if (l == NULL) {
    return ZB_ERR_MEMORY;
  }
  memset(l, 0, bytes);
  l->version = r->version;
  l->how = *how;
  l->bytes = bytes;
  for (int i = 0; i < r->version.params; i++) {
    memcpy(l->args + at, params[i], r->version.size[i]);
    at += zbl_argument_room(r->version.size[i]);
  }
  code = zbl_do(s, zbl_host_put, l, bytes);
  free(l);
  return code;
}

/* A kernel that cannot run is an error of its launch, and stays one of its stream: a
 * program that looks at neither would take what it finds for the kernel's work.
 * ZBENCH_LOOPBACK_UNKNOWN_KERNELS=skip leaves such kernels out. */
static int zbl_no_version(zbl_stream *s) {
  const char *unknown = getenv("ZBENCH_LOOPBACK_UNKNOWN_KERNELS");
  if (unknown != NULL && strcmp(unknown, "skip") == 0) {
    return ZB_OK;
  }
  s->error = ZBL_ERR_NO_BINARY;
  return ZBL_ERR_NO_BINARY;
}

/* The stream's device is the kernel's, whichever is current (ROCm/clr,
 * hipamd/src/hip_platform.cpp, ihipLaunchKernel). */
static int zbl_launchFunction(const void *function, zbs_dim3 grid, zbs_dim3 block,
                              void **params, size_t shared, void *stream) {
  const zbench_launch how = {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared};
  const zbl_kernel limits = {.nparams = 0};
  const zbk_launch asked = {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z},
                            (unsigned)shared};
  const zbl_registered *r = zbl_registered_of(function);
  zbl_stream *s;
  ZBL_ENTER;
  s = zbl.count > 0 ? zbl_stream_of(stream) : NULL;
  if (s == NULL) {
    return zbl_said(ZB_ERR_HANDLE);
  }
  if (r == NULL) {
    return zbl_said(ZBL_ERR_FUNCTION);
  }
  if (shared > ZBK_MOST_SHARED || !zbl_launchable(&limits, &asked)) {
    return zbl_said(ZB_ERR_VALUE);
  }
  return zbl_said(r->known ? zbl_launch_version(r, &how, params, s) : zbl_no_version(s));
}

static int zbl_launchCooperative(const void *function, zbs_dim3 grid, zbs_dim3 block,
                                 void **params, unsigned shared, void *stream) {
  return zbl_launchFunction(function, grid, block, params, shared, stream);
}
