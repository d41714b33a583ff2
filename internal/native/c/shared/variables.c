/* Variables of the program's device code. Each device has its own copy in its memory. A copy is
 * made on first use, with the initial value from the code object. */
#include "../fake/stream.h"
#include "more.h"

#include <stdlib.h>
#include <string.h>

enum { ZBL_ERR_SYMBOL = 13 };

/* One device's copy. The field `block` is the number of its memory block, which shows whether that
 * memory still exists. */
typedef struct zbl_there {
  void *at;
  uint32_t block;
} zbl_there;

typedef struct zbl_variable {
  const void *host;  /* the host variable by which the program refers to this variable; NULL for a
                      * module's variable */
  const void *owner; /* the code with which the variable was registered or loaded */
  char *name;
  zbl_found holds;
  void *managed; /* the single copy of a managed variable, for the host and all devices; else
                  * NULL */
  zbl_there *places; /* the copies, by device of the world */
  struct zbl_variable *next;
} zbl_variable;

/* All variables, protected by the lock of zbl_program_kernels. */
static zbl_variable *zbl_variables;

/* The argument of __hipRegisterFatBinary (Clang, lib/CodeGen/CGCUDANV.cpp). */
typedef struct zbl_wrapper {
  uint32_t magic, version;
  const void *binary, *unused;
} zbl_wrapper;

static const uint32_t zbl_wrapper_magic = 0x48495046; /* the letters "HIPF" */

/* Returns a variable's initial value from the code object that it was registered with. */
static const char *zbl_first_value(void **module, const char *name, size_t bytes) {
  const zbl_wrapper *wrapper = *module;
  zbl_found found = {NULL, 0};
  const char *object = NULL;
  if (wrapper != NULL && memcmp(wrapper, &zbl_wrapper_magic, sizeof zbl_wrapper_magic) == 0) {
    object = zbl_object_of(wrapper->binary);
  }
  return object != NULL && zbl_find_in(object, name, "", &found) && found.bytes >= bytes
             ? found.first
             : NULL;
}

/* Adds a variable. The caller holds the lock. */
static void zbl_add_variable(const zbl_variable *what, const char *name) {
  zbl_variable *v = malloc(sizeof *v);
  if (v == NULL || (*v = *what, v->name = strdup(name)) == NULL) {
    abort();
  }
  v->next = zbl_variables;
  zbl_variables = v;
}

static void zbl_registerVar(void **module, void *var, char *host, char *device, int ext,
                            size_t size, int constant, int global) {
  const zbl_variable v = {.host = var, .owner = module,
                          .holds = {zbl_first_value(module, device, size), size}};
  (void)host, (void)ext, (void)constant, (void)global;
  pthread_mutex_lock(&zbl_program_kernels.lock);
  zbl_add_variable(&v, device);
  pthread_mutex_unlock(&zbl_program_kernels.lock);
}

/* Registers a managed variable, whose memory the host uses too. */
static void zbl_registerManagedVar(void *module, void **pointer, void *init,
                                   const char *name, size_t size, unsigned align) {
  zbl_variable v = {.owner = module, .holds = {init, size}};
  (void)align;
  v.managed = *pointer = calloc(1, size > 0 ? size : 1);
  if (*pointer == NULL) {
    return;
  }
  if (init != NULL) {
    memcpy(*pointer, init, size);
  }
  pthread_mutex_lock(&zbl_program_kernels.lock);
  zbl_add_variable(&v, name);
  pthread_mutex_unlock(&zbl_program_kernels.lock);
}

/* Forgets the variables of code that is unloaded. The caller holds the lock. Managed
 * memory stays, because the program's destructors may still use it. */
static void zbl_forget_variables(const void *owner) {
  zbl_variable **at = &zbl_variables;
  while (*at != NULL) {
    zbl_variable *v = *at;
    if (v->owner == owner) {
      *at = v->next;
      free(v->places);
      free(v->name);
      free(v);
    } else {
      at = &v->next;
    }
  }
}

/* Returns the copy of a variable on a device. After hipDeviceReset the copy is made again. The
 * caller holds both locks. */
static int zbl_place_of(zbl_variable *v, int device, void **to) {
  zbl_there *place;
  const zbl_block *b;
  if (v->managed != NULL) {
    *to = v->managed;
    return ZB_OK;
  }
  if (zbl.count <= 0) {
    return ZB_ERR_NO_DEVICE;
  }
  if (v->places == NULL && (v->places = calloc((size_t)zbl.ranks, sizeof *v->places)) == NULL) {
    return ZB_ERR_MEMORY;
  }
  place = &v->places[device];
  b = place->at != NULL ? zbl_block_of(place->at) : NULL;
  if (b == NULL || b->id != place->block) {
    int code = zbl_map_block(&place->at, v->holds.bytes, ZBL_OF_DEVICE, device);
    if (code != ZB_OK) {
      return code;
    }
    place->block = zbl_block_of(place->at)->id;
    if (v->holds.first != NULL) {
      memcpy(place->at, v->holds.first, v->holds.bytes);
    }
  }
  *to = place->at;
  return ZB_OK;
}

/* A search for a variable on a device: by the host variable, or by owner and name. A NULL owner
 * matches any. */
typedef struct zbl_wanted {
  const void *host, *owner;
  const char *name;
  int device;
} zbl_wanted;

static int zbl_is_wanted(const zbl_variable *v, const zbl_wanted *what) {
  return what->name != NULL ? strcmp(v->name, what->name) == 0 &&
                                  (what->owner == NULL || v->owner == what->owner)
                            : v->host == what->host && what->host != NULL;
}

static int zbl_find_variable(const zbl_wanted *what, void **to, size_t *bytes) {
  zbl_variable *v;
  int code;
  pthread_mutex_lock(&zbl_program_kernels.lock);
  for (v = zbl_variables; v != NULL && !zbl_is_wanted(v, what); v = v->next) {
  }
  code = v == NULL ? ZBL_ERR_SYMBOL : zbl_place_of(v, what->device, to);
  if (code == ZB_OK) {
    *bytes = v->holds.bytes;
  }
  pthread_mutex_unlock(&zbl_program_kernels.lock);
  return code;
}
