/* Switches stacks: each GPU thread of a block with barriers runs on its own
 * stack. On x86-64 the switch is in assembly and takes a few nanoseconds.
 * Elsewhere, and under the address sanitizer, which must be told of each switch,
 * it uses ucontext. */
#ifndef ZB_HOST_FIBER_H
#define ZB_HOST_FIBER_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define ZBK_ASAN 1
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__x86_64__) && !defined(ZBK_ASAN) && !defined(ZBK_UCONTEXT)
#define ZBK_ASSEMBLY 1
#else
#include <ucontext.h>
#endif

enum { ZBK_STACK = 256 << 10 }; /* address space; pages that are not touched cost nothing */

struct zbk_fiber {
  void *sp; /* stack pointer where the fiber stopped; with ZBK_ASSEMBLY */
#ifndef ZBK_ASSEMBLY
  ucontext_t context;
#endif
  void *fake; /* the sanitizer's fake stack */
  char *stack; /* NULL for the stack of the thread itself */
};

#ifdef ZBK_ASSEMBLY
extern "C" void zbk_switch_stack(void **from, void *to);
__asm__(".text\n"
        ".p2align 4\n"
        ".hidden zbk_switch_stack\n"
        ".globl zbk_switch_stack\n"
        ".type zbk_switch_stack,@function\n"
        "zbk_switch_stack:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n"
        "  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n"
        "  popq %r12\n  popq %rbx\n  popq %rbp\n"
        "  ret\n"
        ".size zbk_switch_stack, .-zbk_switch_stack\n");
#endif

/* Prepares a fiber that begins with `entry`, which never returns. */
static void zbk_fiber_begin(zbk_fiber *f, char *stack, void (*entry)(void)) {
  f->stack = stack;
  f->fake = NULL;
#ifdef ZBK_ASSEMBLY
  /* Six registers, then the address to which the switch returns, placed so that
   * the stack is aligned as after a call. */
  void **top = reinterpret_cast<void **>(stack + ZBK_STACK) - 2;
  *top = reinterpret_cast<void *>(entry);
  top[1] = NULL;
  for (int i = 1; i <= 6; i++) {
    top[-i] = NULL;
  }
  f->sp = top - 6;
#else
  getcontext(&f->context);
  f->context.uc_stack.ss_sp = stack;
  f->context.uc_stack.ss_size = ZBK_STACK;
  f->context.uc_link = NULL;
  makecontext(&f->context, entry, 0);
#endif
}

#ifdef ZBK_ASAN
/* The bounds of the thread's own stack, which the first fiber finds out. */
static thread_local const void *zbk_own_stack;
static thread_local size_t zbk_own_size;
#endif

/* Must be called first in a fiber. */
static inline void zbk_fiber_entered(void) {
#ifdef ZBK_ASAN
  __sanitizer_finish_switch_fiber(NULL, &zbk_own_stack, &zbk_own_size);
#endif
}

/* Switches fibers. `last` is true if `from` will not run again. */
static void zbk_fiber_switch(zbk_fiber *from, zbk_fiber *to, bool last) {
#ifdef ZBK_ASAN
  const void *stack = to->stack != NULL ? to->stack : zbk_own_stack;
  size_t size = to->stack != NULL ? (size_t)ZBK_STACK : zbk_own_size;
  __sanitizer_start_switch_fiber(last ? NULL : &from->fake, stack, size);
#endif
  (void)last;
#ifdef ZBK_ASSEMBLY
  zbk_switch_stack(&from->sp, to->sp);
#else
  swapcontext(&from->context, &to->context);
#endif
#ifdef ZBK_ASAN
  __sanitizer_finish_switch_fiber(from->fake, NULL, NULL);
#endif
}

/* Returns n stacks, each with an inaccessible page below it; NULL if there is
 * no memory. */
static char *zbk_stacks(unsigned n, size_t *stride) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  *stride = ZBK_STACK + page;
  void *all = mmap(NULL, n * *stride, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) {
    return NULL;
  }
  for (unsigned i = 0; i < n; i++) {
    if (mprotect((char *)all + i * *stride, page, PROT_NONE) != 0) {
      munmap(all, n * *stride);
      return NULL;
    }
  }
  return (char *)all;
}

#endif
