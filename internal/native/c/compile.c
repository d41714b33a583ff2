/* Compiles a kernel's source to code, and loads code as a module. hiprtc and nvrtc differ only
 * in their names. */
#include "compile.h"

#include <stdlib.h>

static int zb_compile_failed(zb_compiled *out, const char *call, int result) {
  out->call = call;
  out->result = result;
  return 1;
}

/* Copies the compiler's log. A log without text consists of a single zero byte. */
static void zb_take_log(const zb_table *t, void *program, zb_compiled *out) {
  size_t bytes = 0;
  if (t->rtcLogSize(program, &bytes) != 0 || bytes <= 1) {
    return;
  }
  out->log = calloc(1, bytes + 1);
  if (out->log != NULL && t->rtcLog(program, out->log) != 0) {
    out->log[0] = '\0';
  }
}

static int zb_take_code(const zb_table *t, void *program, zb_compiled *out) {
  int code = t->rtcCodeSize(program, &out->bytes);
  if (code != 0) {
    return zb_compile_failed(out, "size of the code", code);
  }
  out->code = malloc(out->bytes + 1);
  if (out->code == NULL) {
    return zb_compile_failed(out, "memory for the code", 1);
  }
  out->code[out->bytes] = '\0';
  code = t->rtcCode(program, out->code);
  return code == 0 ? 0 : zb_compile_failed(out, "code", code);
}

/* Compiles a source with the given options. If the options name no architecture, hiprtc compiles
 * for the current device, so this function sets the device in the same thread; device −1 sets none.
 * hiprtc fails without a message if TMPDIR is not a folder, and hiprtc 5.7 aborts the process for
 * an unknown architecture. */
void zb_compile(const zb_table *t, int device, const char *source,
                const char *name, int count, const char *const *options,
                zb_compiled *out) {
  void *program = NULL;
  int code;
  *out = (zb_compiled){0};
  if (device >= 0 && (code = t->setDevice(device)) != 0) {
    zb_compile_failed(out, "set device", code);
    return;
  }
  code = t->rtcCreate(&program, source, name, 0, NULL, NULL);
  if (code != 0) {
    zb_compile_failed(out, "create program", code);
    return;
  }
  code = t->rtcCompile(program, count, options);
  zb_take_log(t, program, out);
  if (code != 0) {
    zb_compile_failed(out, "compile", code);
  } else {
    zb_take_code(t, program, out);
  }
  t->rtcDestroy(&program);
}

/* Loads code onto a device. The driver's calls need an initialised device. Freeing NULL makes
 * CUDA's runtime initialise it; before CUDA 12, setting the device did not. Once a device is
 * initialised, setting it also makes its context current for the driver (CUDA Runtime API,
 * "Interactions with the CUDA Driver API"). */
int zb_load_module(const zb_table *t, int device, const void *image,
                   void **module) {
  int code;
  if (t->moduleLoad == NULL) {
    return ZB_ERR_NOT_FOUND;
  }
  if ((code = t->setDevice(device)) != 0 || (code = t->freeDevice(NULL)) != 0) {
    return zb_told(t, code);
  }
  return zb_told(t, t->moduleLoad(module, image));
}
