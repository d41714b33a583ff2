/* The program's kernels. Records the kernels that the start-up code registers, and finds host
 * versions of them. The loopback has no GPU that could run their code; zbench_kernels.h explains
 * how to supply host versions. */
#include "zbench_kernels.h"

#include "../fake/stream.h"
#include "more.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ZBL_ERR_FUNCTION = 98, ZBL_ERR_NO_BINARY = 209, ZBL_MOST_OBJECTS = 16 };

/* A registered kernel: its name, and the address by which the program launches it. */
typedef struct zbl_registered {
  const void *host;
  char *name;
  void **module;
  int looked, known; /* looked: a host version was searched; known: a host version exists */
  zbench_kernel_version version;
  struct zbl_registered *next;
} zbl_registered;

/* The registered kernels. Programs register kernels before the world is open and after it is
 * closed, so the list has a lock of its own. */
static struct {
  pthread_mutex_t lock;
  zbl_registered *all;
  int opened, objects;
  int (*find[ZBL_MOST_OBJECTS])(const char *, zbench_kernel_version *);
} zbl_program_kernels = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Registers a module. It is only a handle, because its code cannot run. */
static void **zbl_registerFatBinary(const void *data) {
  void **module = malloc(sizeof *module);
  if (module != NULL) {
    *module = (void *)(uintptr_t)data;
  }
  return module;
}

static void zbl_forget_variables(const void *owner);

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
  zbl_forget_variables(module);
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

/* Looks for a kernel's host version, at most once. */
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
