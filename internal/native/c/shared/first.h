/* The public names of the runtime library. The first public function that a program calls opens
 * the world. Before that the program may fork and set environment variables, as before its first
 * call of HIP. A public name jumps to its function and leaves registers and stack unchanged, so
 * it fits every signature. */
#ifndef ZBS_FIRST_H
#define ZBS_FIRST_H

#include "more.h"
#include "names.h"

/* 1 once the world has been opened, or could not be opened. */
__attribute__((visibility("hidden"))) uint8_t zbs_entered;
__attribute__((visibility("hidden"))) void zbs_enter(void);

/* zbs_first calls zbs_enter and preserves the registers that hold arguments, because a public
 * name calls it before its own function uses them. ZBS_ENTERS is the assembly of a public
 * name. */
#if defined(__x86_64__)
__asm__(".text\n.type zbs_first, %function\nzbs_first:\n\t"
        "push %rdi\n\tpush %rsi\n\tpush %rdx\n\tpush %rcx\n\t"
        "push %r8\n\tpush %r9\n\tpush %rax\n\tpush %r10\n\tsub $128, %rsp\n\t"
        "movups %xmm0, (%rsp)\n\tmovups %xmm1, 16(%rsp)\n\t"
        "movups %xmm2, 32(%rsp)\n\tmovups %xmm3, 48(%rsp)\n\t"
        "movups %xmm4, 64(%rsp)\n\tmovups %xmm5, 80(%rsp)\n\t"
        "movups %xmm6, 96(%rsp)\n\tmovups %xmm7, 112(%rsp)\n\t"
        "call zbs_enter\n\t"
        "movups (%rsp), %xmm0\n\tmovups 16(%rsp), %xmm1\n\t"
        "movups 32(%rsp), %xmm2\n\tmovups 48(%rsp), %xmm3\n\t"
        "movups 64(%rsp), %xmm4\n\tmovups 80(%rsp), %xmm5\n\t"
        "movups 96(%rsp), %xmm6\n\tmovups 112(%rsp), %xmm7\n\t"
        "add $128, %rsp\n\tpop %r10\n\tpop %rax\n\tpop %r9\n\tpop %r8\n\t"
        "pop %rcx\n\tpop %rdx\n\tpop %rsi\n\tpop %rdi\n\tret\n"
        ".size zbs_first, . - zbs_first\n");
#define ZBS_ENTERS(to)                                                         \
  "cmpb $0, zbs_entered(%rip)\n\tje 1f\n\tjmp " to "\n1:\tcall zbs_first\n\tjmp " to
#elif defined(__aarch64__)
__asm__(".text\n.type zbs_first, %function\nzbs_first:\n\t"
        "stp x29, x30, [sp, #-208]!\n\tstp x0, x1, [sp, #16]\n\t"
        "stp x2, x3, [sp, #32]\n\tstp x4, x5, [sp, #48]\n\t"
        "stp x6, x7, [sp, #64]\n\tstr x8, [sp, #80]\n\t"
        "stp q0, q1, [sp, #96]\n\tstp q2, q3, [sp, #128]\n\t"
        "stp d4, d5, [sp, #160]\n\tstp d6, d7, [sp, #176]\n\t"
        "bl zbs_enter\n\t"
        "ldp d6, d7, [sp, #176]\n\tldp d4, d5, [sp, #160]\n\t"
        "ldp q2, q3, [sp, #128]\n\tldp q0, q1, [sp, #96]\n\t"
        "ldr x8, [sp, #80]\n\tldp x6, x7, [sp, #64]\n\t"
        "ldp x4, x5, [sp, #48]\n\tldp x2, x3, [sp, #32]\n\t"
        "ldp x0, x1, [sp, #16]\n\tldp x29, x30, [sp], #208\n\tret\n"
        ".size zbs_first, . - zbs_first\n");
#define ZBS_ENTERS(to)                                                         \
  "adrp x16, zbs_entered\n\tadd x16, x16, :lo12:zbs_entered\n\t"               \
  "ldarb w16, [x16]\n\tcbz w16, 1f\n\tb " to "\n1:\t"                          \
  "stp x29, x30, [sp, #-16]!\n\tbl zbs_first\n\tldp x29, x30, [sp], #16\n\tb " to
#endif

/* ZBS_OPENING defines the public name of a function that needs the world. ZBS_PUBLIC defines the
 * public name of a function that needs no world. */
#define ZBS_OPENING(field, name)                                               \
  extern __typeof__(zbl_##field) zbs_do_##field __asm__("zbs_do_" #field)      \
      __attribute__((alias("zbl_" #field), visibility("hidden"), used));       \
  extern __typeof__(zbl_##field) zbs_##field __asm__(name)                     \
      __attribute__((visibility("default")));                                  \
  __asm__(".text\n.globl " name "\n.type " name ", %function\n" name ":\n\t"   \
          ZBS_ENTERS("zbs_do_" #field) "\n.size " name ", . - " name "\n");
#define ZBS_PUBLIC(field, name)                                                \
  extern __typeof__(zbl_##field) zbs_##field __asm__(name)                     \
      __attribute__((alias("zbl_" #field), visibility("default")));
#define ZBS_FORWARDED(field, name) ZBS_OPENING(field, "zbench_" #field)

#define PICK_ZB_RUNTIME ZBS_OPENING
#define PICK_ZB_LOOPBACK ZBS_OPENING
#define PICK_ZB_COLLECTIVES ZBS_FORWARDED
#define PICK_ZB_COMPILER ZBS_FORWARDED
#define PICK_ZB_DRIVER ZBS_FORWARDED
#define PICK_ZB_NONE(field, name)
ZB_SYMBOLS(ZBS_EACH)
ZBS_MORE_CALLED(ZBS_EACH)
#define ZBS_LT(field, ...) ZBS_OPENING(lt_##field, "zbench_lt_" #field)
ZB_LT_SYMBOLS(ZBS_LT)
#undef PICK_ZB_RUNTIME
#define PICK_ZB_RUNTIME ZBS_PUBLIC
ZBS_MORE_REGISTERED(ZBS_EACH)

#endif
