/* A program's own modules: code objects that the program loads itself. Their kernels run if they
 * have host versions. */
#include "../fake/stream.h"
#include "more.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ZBL_ERR_KERNEL_FILE = 218, ZBL_ERR_NO_FILE = 301 };

typedef struct zbl_own_module {
  char *object; /* a copy, because the program may free its image */
  zbl_registered *kernels; /* the kernels that were looked up */
} zbl_own_module;

static int zbl_load_own(void **own, const void *image) {
  const char *object = zbl_object_of(image);
  zbl_own_module *m;
  if (object == NULL) { /* the error of ROCm/clr, hipamd/src/hip_fatbin.cpp, AddDevProgram */
    return ZBL_ERR_KERNEL_FILE;
  }
  m = calloc(1, sizeof *m);
  if (m == NULL || (m->object = malloc(zbl_object_bytes(object))) == NULL) {
    free(m);
    return ZB_ERR_MEMORY;
  }
  memcpy(m->object, object, zbl_object_bytes(object));
  *own = m;
  return ZB_OK;
}

static void zbl_unload_own(void *own) {
  zbl_own_module *m = own;
  pthread_mutex_lock(&zbl_program_kernels.lock);
  zbl_forget_variables(m);
  pthread_mutex_unlock(&zbl_program_kernels.lock);
  while (m->kernels != NULL) {
    zbl_registered *r = m->kernels;
    m->kernels = r->next;
    free(r->name);
    free(r);
  }
  free(m->object);
  free(m);
}

/* Returns the kernel with the given name; NULL if the code object has no such kernel. */
static void *zbl_find_own(void *own, const char *name) {
  zbl_own_module *m = own;
  zbl_registered *r = m->kernels;
  zbl_found found;
  while (r != NULL && strcmp(r->name, name) != 0) {
    r = r->next;
  }
  if (r != NULL || !zbl_find_in(m->object, name, ".kd", &found)) {
    return r;
  }
  r = calloc(1, sizeof *r);
  if (r == NULL || (r->name = strdup(name)) == NULL) {
    abort();
  }
  r->module = own;
  r->next = m->kernels;
  m->kernels = r;
  return r;
}

/* Reads arguments from one buffer. Each argument is aligned to its width (HIP's headers,
 * HIP_LAUNCH_PARAM_BUFFER_POINTER; LLVM, AMDGPU usage, "Kernarg Segment"). Only the size of a
 * struct is known, so it is aligned to the largest power of two that divides the size, at most
 * 8. */
static int zbl_unpack(const zbench_kernel_version *v, void **extra, void **params) {
  enum { END = 3, POINTER = 1, SIZE = 2 };
  char *buffer = NULL;
  size_t bytes = 0, at = 0;
  for (int i = 0; (uintptr_t)extra[i] != END; i += 2) {
    if ((uintptr_t)extra[i] == POINTER) {
      buffer = extra[i + 1];
    } else if ((uintptr_t)extra[i] == SIZE) {
      bytes = *(const size_t *)extra[i + 1];
    } else {
      return 0;
    }
  }
  for (int i = 0; i < v->params; i++) {
    size_t width = v->size[i] & (0 - v->size[i]);
    width = width > 8 ? 8 : width;
    at = (at + width - 1) / width * width;
    params[i] = buffer + at;
    at += v->size[i];
  }
  return v->params == 0 || (buffer != NULL && at <= bytes);
}

static int zbl_launch_own(void *kernel, const zbk_launch *asked, void **params, void **extra,
                          zbl_stream *s) {
  zbl_registered *r = kernel;
  const zbench_launch how = {.grid = {asked->grid[0], asked->grid[1], asked->grid[2]},
                             .block = {asked->block[0], asked->block[1], asked->block[2]},
                             .shared = asked->shared};
  void *unpacked[ZBENCH_MOST_PARAMS];
  pthread_mutex_lock(&zbl_program_kernels.lock);
  if (!r->looked) {
    zbl_look_for_version(r);
  }
  pthread_mutex_unlock(&zbl_program_kernels.lock);
  if (!r->known) {
    return zbl_no_version(s);
  }
  if (extra == NULL) {
    return params == NULL && r->version.params > 0 ? ZB_ERR_VALUE
                                                   : zbl_launch_version(r, &how, params, s);
  }
  return zbl_unpack(&r->version, extra, unpacked) ? zbl_launch_version(r, &how, unpacked, s)
                                                  : ZB_ERR_VALUE;
}

static const zbl_own_code zbl_own_modules = {zbl_load_own, zbl_unload_own, zbl_find_own,
                                             zbl_launch_own};
static const zbl_own_code *zbl_own_codes = &zbl_own_modules;

/* Loads a module from a file. An empty file is an invalid value (ROCm/clr,
 * hipamd/src/hip_fatbin.cpp, ExtractFatBinaryUsingCOMGR). */
static int zbl_moduleLoadFile(void **module, const char *path) {
  FILE *f;
  char *image;
  long bytes;
  int code = ZB_ERR_VALUE;
  ZBL_REFUSE(module == NULL || path == NULL, ZB_ERR_VALUE);
  f = fopen(path, "rb");
  ZBL_REFUSE(f == NULL, ZBL_ERR_NO_FILE);
  fseek(f, 0, SEEK_END);
  bytes = ftell(f);
  rewind(f);
  image = bytes > 0 ? calloc(1, (size_t)bytes + sizeof(Elf64_Ehdr)) : NULL;
  if (image != NULL && fread(image, 1, (size_t)bytes, f) == (size_t)bytes) {
    code = zbl_is_elf(image) && zbl_object_bytes(image) > (size_t)bytes
               ? ZBL_ERR_KERNEL_FILE /* the file is truncated */
               : zbl_moduleLoad(module, image);
  }
  free(image);
  fclose(f);
  return zbl_said(code);
}

/* Loads a module with options. The options concern a device's compiler and are ignored. */
static int zbl_moduleLoadWith(void **module, const void *image, unsigned n, int *option,
                              void **values) {
  (void)n, (void)option, (void)values;
  return zbl_moduleLoad(module, image);
}

/* Returns a variable of a module on the current device (ROCm/clr,
 * hipamd/src/hip_module.cpp, hipModuleGetGlobal). */
static int zbl_moduleGlobal(void **p, size_t *bytes, void *module, const char *name) {
  zbl_module *m;
  zbl_wanted what = {.name = name, .device = zbl_current_device()};
  zbl_found found;
  size_t all;
  void *at;
  int code;
  ZBL_ENTER;
  ZBL_REFUSE((p == NULL && bytes == NULL) || name == NULL || name[0] == 0, ZB_ERR_VALUE);
  m = zbl_behind(module, ZBL_MODULE);
  ZBL_REFUSE(module == NULL, ZB_ERR_HANDLE);
  ZBL_REFUSE(m == NULL || (what.owner = m->own) == NULL, ZB_ERR_NOT_FOUND);
  code = zbl_find_variable(&what, &at, &all);
  if (code == ZBL_ERR_SYMBOL) {
    ZBL_REFUSE(!zbl_find_in(((zbl_own_module *)m->own)->object, name, "", &found),
               ZB_ERR_NOT_FOUND);
    pthread_mutex_lock(&zbl_program_kernels.lock);
    zbl_add_variable(&(zbl_variable){.owner = m->own, .holds = found}, name);
    pthread_mutex_unlock(&zbl_program_kernels.lock);
    code = zbl_find_variable(&what, &at, &all);
  }
  ZBL_REFUSE(code != ZB_OK, code);
  if (p != NULL) {
    *p = at;
  }
  if (bytes != NULL) {
    *bytes = all;
  }
  return ZB_OK;
}
