/* Modules and kernels: the loopback's kernels are compiled into the binary, so
 * a module is a name and a function is a row of the kernel table. */
#include "stream.h"

#include "../../kernels/table.h"

#include <stdlib.h>
#include <string.h>

enum { ZBL_MODULE = 0x6d6f6475, ZBL_MAX_PARAMS = 16 };

/* What launching a kernel takes on the stream; no figure is made of it. */
static const double zbl_kernel_seconds = 5e-6;

typedef struct zbl_module {
  uint32_t magic;
} zbl_module;

/* A launch that waits in a stream: parameters are taken when it is made. */
typedef struct zbl_launch {
  const zbl_kernel *kernel;
  unsigned grid, block;
  void *params[ZBL_MAX_PARAMS];
  uint64_t values[ZBL_MAX_PARAMS];
} zbl_launch;

static int zbl_moduleLoad(void **module, const void *image) {
  zbl_module *m;
  if (strcmp(image, "zbench loopback kernels") != 0) {
    return ZB_ERR_VALUE;
  }
  m = malloc(sizeof *m);
  if (m == NULL) {
    return ZB_ERR_MEMORY;
  }
  m->magic = ZBL_MODULE;
  *module = m;
  return ZB_OK;
}

static int zbl_moduleUnload(void *module) {
  zbl_module *m = module;
  if (m == NULL || m->magic != ZBL_MODULE) {
    return ZB_ERR_HANDLE;
  }
  m->magic = 0;
  free(m);
  return ZB_OK;
}

static int zbl_moduleFunction(void **function, void *module, const char *name) {
  zbl_module *m = module;
  const zbl_kernel *k = zbl_kernel_find(name);
  if (m == NULL || m->magic != ZBL_MODULE) {
    return ZB_ERR_HANDLE;
  }
  if (k == NULL) {
    return ZB_ERR_NOT_FOUND;
  }
  *function = (void *)(uintptr_t)k;
  return ZB_OK;
}

/* A kernel sees what ran before it on its stream, results included. A delay
 * takes the time it was asked to, in nanoseconds, and does nothing else. */
static int zbl_kernel_run(zbl_op *op, zbl_stream *s) {
  zbl_launch *l = op->data;
  s->s = zbl_arrival(op, s);
  if (strcmp(l->kernel->name, "zb_delay") == 0) {
    s->s += (double)l->values[0] * 1e-9;
    return 1;
  }
  zbl_reveal(s);
  l->kernel->host(l->grid, l->block, l->params);
  s->s += zbl_kernel_seconds;
  return 1;
}

static void zbl_kernel_release(zbl_op *op) { free(op->data); }

static int zbl_launchKernel(void *function, unsigned gx, unsigned gy,
                            unsigned gz, unsigned bx, unsigned by, unsigned bz,
                            unsigned shared, void *stream, void **params,
                            void **extra) {
  const zbl_kernel *k = function;
  zbl_stream *s = zbl_stream_of(stream);
  zbl_launch *l;
  if (s == NULL || s->device != zbl_current_device()) {
    return ZB_ERR_HANDLE;
  }
  if (k == NULL || gx == 0 || bx == 0 || bx > 1024 || gy != 1 || gz != 1 ||
      by != 1 || bz != 1 || shared != 0 || extra != NULL ||
      k->nparams > ZBL_MAX_PARAMS) {
    return ZB_ERR_VALUE;
  }
  if (s->capture != NULL) {
    return ZB_ERR_NOT_SUPPORTED; /* the real one records it; nobody asks here */
  }
  l = calloc(1, sizeof *l);
  if (l == NULL) {
    return ZB_ERR_MEMORY;
  }
  *l = (zbl_launch){.kernel = k, .grid = gx, .block = bx};
  for (int i = 0; i < k->nparams; i++) {
    memcpy(&l->values[i], params[i], k->size[i]);
    l->params[i] = &l->values[i];
  }
  *zbl_host_clock(s->device) += zbl.launch;
  zbl_push(s, (zbl_op){.run = zbl_kernel_run, .release = zbl_kernel_release,
                       .posted = *zbl_host_clock(s->device), .data = l});
  return ZB_OK;
}
