/* A vendor's other libraries, which have no state. Every public name jumps to the runtime library,
 * which has the function under one of zbench's own names. A jump leaves registers and stack
 * unchanged, so it fits every signature. FORWARD is the kind of library, such as
 * ZB_COLLECTIVES. */
#include "more.h"
#include "names.h"

#if defined(__x86_64__)
#define ZBS_JUMP(to) "jmp " to "@PLT"
#elif defined(__aarch64__)
#define ZBS_JUMP(to) "b " to
#endif

#define ZBS_FORWARD(field, name)                                               \
  __asm__(".text\n.globl " name "\n.type " name ", %function\n" name ":\n\t"   \
          ZBS_JUMP("zbench_" #field) "\n.size " name ", . - " name "\n");
#define ZBS_SKIP(field, name)

/* Each function of RCCL and NCCL also has a second name. Profilers replace the first name
 * and call the second (nccl.h.in, pnccl). */
#define ZBS_FORWARD_TWICE(field, name)                                         \
  ZBS_FORWARD(field, name)                                                     \
  ZBS_FORWARD(field, "p" name)

#if FORWARD_COLLECTIVES
#define PICK_ZB_COLLECTIVES ZBS_FORWARD_TWICE
#else
#define PICK_ZB_COLLECTIVES ZBS_SKIP
#endif
#if FORWARD_COMPILER
#define PICK_ZB_COMPILER ZBS_FORWARD
#else
#define PICK_ZB_COMPILER ZBS_SKIP
#endif
#if FORWARD_DRIVER
#define PICK_ZB_DRIVER ZBS_FORWARD
#else
#define PICK_ZB_DRIVER ZBS_SKIP
#endif
#define PICK_ZB_RUNTIME ZBS_SKIP
#define PICK_ZB_LOOPBACK ZBS_SKIP
#define PICK_ZB_NONE ZBS_SKIP
ZB_SYMBOLS(ZBS_EACH)
ZBS_MORE(ZBS_EACH)
ZB_OTHER_NAMES(ZBS_OTHER)

#if FORWARD_HEURISTICS
#include "../blas.h"
#if ZB_NAMES
#define ZBS_LT(field, args, rocm, cuda, ...) ZBS_FORWARD(lt_##field, #cuda)
#else
#define ZBS_LT(field, args, rocm, cuda, ...) ZBS_FORWARD(lt_##field, #rocm)
#endif
ZB_LT_SYMBOLS(ZBS_LT)
#endif

/* Prints a line when the library is loaded, as some real libraries do. */
#ifdef NOISY
#include <stdio.h>
__attribute__((constructor)) static void zbs_talk(void) {
  printf("RCCL version : a library that prints on standard output\n");
  fflush(stdout);
}
#endif
