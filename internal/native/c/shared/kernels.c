/* Launches the program's kernels, if they have host versions. */
#include "zbench_kernels.h"

#include "../fake/stream.h"
#include "more.h"

#include <stdlib.h>
#include <string.h>

/* The launch configuration. It is valid between kernel<<<…>>> and the launch call that the compiler
 * generates. */
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

/* A launch of a kernel's host version. Copies of its arguments follow this struct, each at a
 * multiple of 16 bytes. */
typedef struct zbl_host_launch {
  zbench_kernel_version version;
  const void *owner; /* the code with which the kernel was registered or loaded */
  zbench_launch how;
  size_t bytes;
  _Alignas(16) char args[];
} zbl_host_launch;

enum { ZBL_ARGUMENT_ALIGN = 16 };

static size_t zbl_argument_room(size_t bytes) {
  return (bytes + ZBL_ARGUMENT_ALIGN - 1) / ZBL_ARGUMENT_ALIGN * ZBL_ARGUMENT_ALIGN;
}

/* The kernel that is running. Its caller holds the loopback's lock. */
static struct {
  const void *owner;
  int device;
} zbl_running;

/* Implements zbench_launch.symbol. A variable of the kernel's own code is found before variables
 * of other code. */
static void *zbl_kernel_symbol(const char *name) {
  zbl_wanted what = {.owner = zbl_running.owner, .name = name, .device = zbl_running.device};
  size_t bytes;
  void *at = NULL;
  if (zbl_find_variable(&what, &at, &bytes) != ZB_OK) {
    what.owner = NULL;
    zbl_find_variable(&what, &at, &bytes);
  }
  return at;
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
  zbl_running.owner = l->owner;
  zbl_running.device = s->device;
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
  l->how.symbol = zbl_kernel_symbol;
  l->owner = r->module;
  l->bytes = bytes;
  for (int i = 0; i < r->version.params; i++) {
    memcpy(l->args + at, params[i], r->version.size[i]);
    at += zbl_argument_room(r->version.size[i]);
  }
  code = zbl_do(s, zbl_host_put, l, bytes);
  free(l);
  return code;
}

/* Fails the launch of a kernel without a host version, and keeps the error in its stream. Without
 * the kept error, a program that does not check the launch would mistake old memory for the
 * kernel's result. With ZBENCH_LOOPBACK_UNKNOWN_KERNELS=skip such a kernel is left out instead. */
static int zbl_no_version(zbl_stream *s) {
  if (zbl.skips) {
    zbl.hub->skipped++;
    return ZB_OK;
  }
  s->error = ZBL_ERR_NO_BINARY;
  return ZBL_ERR_NO_BINARY;
}

/* Launches a kernel. It runs on the stream's device, whatever device is current
 * (ROCm/clr, hipamd/src/hip_platform.cpp, ihipLaunchKernel). */
static int zbl_launchFunction(const void *function, zbs_dim3 grid, zbs_dim3 block,
                              void **params, size_t shared, void *stream) {
  const zbench_launch how = {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared, NULL};
  const zbl_kernel limits = {.nparams = 0};
  const zbk_launch asked = {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z},
                            (unsigned)shared};
  const zbl_registered *r = zbl_registered_of(function);
  zbl_stream *s;
  ZBL_ENTER;
  s = zbl.count > 0 ? zbl_stream_of(stream) : NULL;
  ZBL_REFUSE(s == NULL, ZBL_ERR_LAUNCHED_ON);
  ZBL_REFUSE(r == NULL, ZBL_ERR_FUNCTION);
  ZBL_REFUSE(shared > ZBK_MOST_SHARED || !zbl_launchable(&limits, &asked), ZB_ERR_VALUE);
  return zbl_said(r->known ? zbl_launch_version(r, &how, params, s) : zbl_no_version(s));
}

static int zbl_launchCooperative(const void *function, zbs_dim3 grid, zbs_dim3 block,
                                 void **params, unsigned shared, void *stream) {
  return zbl_launchFunction(function, grid, block, params, shared, stream);
}
