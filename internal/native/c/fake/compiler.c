/* The loopback's compiler. The kernels are already in the binary, so it turns a source into a
 * token that moduleLoad knows. It checks its input as strictly as the real compilers, and fails if
 * a source has #error. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

enum { ZBL_PROGRAM = 0x70726f67 };

static const char zbl_code[] = "zbench loopback kernels";
static const char zbl_log[] = "error: #error in the source";

typedef struct zbl_program {
  uint32_t magic;
  int compiled, failed;
  char *source;
} zbl_program;

static zbl_program *zbl_program_of(void *handle) {
  zbl_program *p = handle;
  return p != NULL && p->magic == ZBL_PROGRAM ? p : NULL;
}

static int zbl_rtcVersion(int *major, int *minor) {
  *major = 6;
  *minor = 0;
  return 0;
}

static int zbl_rtcCreate(void **program, const char *source, const char *name,
                         int headers, const char *const *texts,
                         const char *const *names) {
  zbl_program *p;
  if (source == NULL || name == NULL || headers != 0 || texts != NULL ||
      names != NULL) {
    return ZB_RTC_INPUT;
  }
  p = calloc(1, sizeof *p);
  if (p == NULL || (p->source = strdup(source)) == NULL) {
    free(p);
    return 1;
  }
  p->magic = ZBL_PROGRAM;
  *program = p;
  return 0;
}

/* Reports whether zbench passes the option, and hiprtc or nvrtc understands it. */
static int zbl_option(const char *option) {
  static const char *const known[] = {"-std=c++17", "-O3", "--offload-arch=gfx",
                                      "-arch=sm_", "-D"};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (strncmp(option, known[i], strlen(known[i])) == 0) {
      return 1;
    }
  }
  return 0;
}

static int zbl_rtcCompile(void *program, int count,
                          const char *const *options) {
  zbl_program *p = zbl_program_of(program);
  if (p == NULL) {
    return ZB_RTC_PROGRAM;
  }
  for (int i = 0; i < count; i++) {
    if (!zbl_option(options[i])) {
      return ZB_RTC_OPTION;
    }
  }
  p->failed = strstr(p->source, "#error") != NULL;
  p->compiled = !p->failed;
  return p->failed ? ZB_RTC_COMPILATION : 0;
}

static int zbl_rtcLogSize(void *program, size_t *bytes) {
  zbl_program *p = zbl_program_of(program);
  if (p == NULL) {
    return ZB_RTC_PROGRAM;
  }
  *bytes = p->failed ? sizeof zbl_log : 1;
  return 0;
}

static int zbl_rtcLog(void *program, char *log) {
  zbl_program *p = zbl_program_of(program);
  if (p == NULL) {
    return ZB_RTC_PROGRAM;
  }
  memcpy(log, p->failed ? zbl_log : "", p->failed ? sizeof zbl_log : 1);
  return 0;
}

static int zbl_rtcCodeSize(void *program, size_t *bytes) {
  zbl_program *p = zbl_program_of(program);
  if (p == NULL || !p->compiled) {
    return ZB_RTC_PROGRAM;
  }
  *bytes = sizeof zbl_code;
  return 0;
}

static int zbl_rtcCode(void *program, char *code) {
  zbl_program *p = zbl_program_of(program);
  if (p == NULL || !p->compiled) {
    return ZB_RTC_PROGRAM;
  }
  memcpy(code, zbl_code, sizeof zbl_code);
  return 0;
}

static int zbl_rtcDestroy(void **program) {
  zbl_program *p = program != NULL ? zbl_program_of(*program) : NULL;
  if (p == NULL) {
    return ZB_RTC_PROGRAM;
  }
  p->magic = 0;
  free(p->source);
  free(p);
  *program = NULL;
  return 0;
}

static const char *zbl_rtcErrorString(int error) {
  switch (error) {
  case 0:
    return "no error";
  case ZB_RTC_INPUT:
    return "invalid input";
  case ZB_RTC_PROGRAM:
    return "invalid program";
  case ZB_RTC_OPTION:
    return "invalid option";
  case ZB_RTC_COMPILATION:
    return "compilation error";
  }
  return "internal error";
}
