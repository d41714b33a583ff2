/* Runs one block of a kernel whose threads wait for each other, on the host.
 * Each thread is a fiber, and a loop runs the fibers that can continue.
 *
 * The rules are strict. Anything that may hang or be wrong on a GPU ends the
 * launch with a reason: a barrier or a shuffle that some threads do not reach,
 * because they have returned or wait at another line; a lane that does not
 * exist; too much shared memory. Shared memory begins as NaN. */
#ifndef ZB_HOST_BLOCK_H
#define ZB_HOST_BLOCK_H

#include "host_fiber.h"

#include <stdio.h>
#include <string.h>

enum zbk_state { ZBK_READY, ZBK_AT_BARRIER, ZBK_AT_SHUFFLE, ZBK_DONE };
enum { ZBK_SHARED_BYTES = 64 << 10, ZBK_SHARED_SITES = 32 };

struct zbk_thread {
  zbk_fiber fiber;
  zbk_dim3 index;
  zbk_state state;
  int line;      /* line of the source at which the thread waits */
  unsigned from; /* the lane whose value the thread wants in a shuffle */
  zb_u64 gives, gets;
};

struct zbk_block {
  zbk_thread *threads, *now;
  unsigned count;
  zbk_fiber main;
  void (*body)(void *);
  void *argument;
  char *shared;
  size_t used;
  struct {
    const void *site;
    void *at;
  } arrays[ZBK_SHARED_SITES];
  int sites;
  char why[160]; /* the reason of a failure; empty if there is none */
};

static thread_local zbk_block *zbk_here;

/* Gives control to the loop. Returns when the thread can continue. */
static __attribute__((noinline)) void zbk_wait(zbk_state state, int line) {
  zbk_block *b = zbk_here;
  b->now->state = state;
  b->now->line = line;
  zbk_fiber_switch(&b->now->fiber, &b->main, state == ZBK_DONE);
}

/* Notes the reason for which the launch ends. */
static void zbk_fail(const char *what, int line, unsigned number) {
  zbk_block *b = zbk_here;
  snprintf(b->why, sizeof b->why, "%s (line %d, thread %u of block %u,%u,%u)",
           what, line, number, blockIdx.x, blockIdx.y, blockIdx.z);
}

/* Returns the shared array that belongs to a site of the source. The first
 * thread that reaches the site makes the array. */
static inline void *zbk_shared(const void *site, size_t bytes, size_t align,
                        int line) {
  zbk_block *b = zbk_here;
  for (int i = 0; i < b->sites; i++) {
    if (b->arrays[i].site == site) {
      return b->arrays[i].at;
    }
  }
  size_t at = (b->used + align - 1) / align * align;
  if (at + bytes > ZBK_SHARED_BYTES || b->sites == ZBK_SHARED_SITES) {
    zbk_fail("more than 64 KiB of shared memory", line,
             (unsigned)(b->now - b->threads));
    zbk_wait(ZBK_DONE, line);
  }
  memset(b->shared + at, 0xff, bytes);
  b->arrays[b->sites].site = site;
  b->arrays[b->sites++].at = b->shared + at;
  b->used = at + bytes;
  return b->shared + at;
}

template <typename T> static T zbk_shuffle(T v, unsigned from, int line) {
  zbk_thread *t = zbk_here->now;
  static_assert(sizeof v <= sizeof t->gives, "a shuffle of 8 bytes at most");
  memcpy(&t->gives, &v, sizeof v);
  t->from = from;
  zbk_wait(ZBK_AT_SHUFFLE, line);
  memcpy(&v, &t->gets, sizeof v);
  return v;
}

static inline unsigned zbk_lane(void) {
  return (unsigned)(zbk_here->now - zbk_here->threads) % ZB_WAVE;
}

#define ZB_BARRIER() zbk_wait(ZBK_AT_BARRIER, __LINE__)
#define ZB_SHFL_XOR(v, mask)                                                   \
  zbk_shuffle(v, zbk_lane() ^ (unsigned)(mask), __LINE__)
#define ZB_SHARED(type, name, n)                                               \
  static char zbk_site_##name;                                                 \
  type(&name)[n] = *static_cast<type(*)[n]>(                                   \
      zbk_shared(&zbk_site_##name, sizeof(type[n]),                            \
                 alignof(type) > 16 ? alignof(type) : 16, __LINE__))
#define ZB_SHARED_AT_LAUNCH(type, name)                                        \
  type *name = reinterpret_cast<type *>(zbk_here->shared)

static void zbk_entry(void) {
  zbk_fiber_entered();
  zbk_here->body(zbk_here->argument);
  zbk_wait(ZBK_DONE, 0);
}

/* Checks that threads [from, to) all wait in the given state at the same line.
 * If not, notes the failure and returns false. */
static bool zbk_agree(zbk_block *b, unsigned from, unsigned to,
                      zbk_state state, const char *what) {
  const zbk_thread *waits = NULL;
  for (unsigned i = from; i < to; i++) {
    if (b->threads[i].state == state) {
      waits = &b->threads[i];
      break;
    }
  }
  for (unsigned i = from; i < to; i++) {
    if (b->threads[i].state != state || b->threads[i].line != waits->line) {
      zbk_fail(what, waits->line, i);
      return false;
    }
  }
  return true;
}

/* Gives their values to the lanes of a wave that wait for a shuffle. */
static void zbk_exchange(zbk_block *b, unsigned from, unsigned to) {
  if (!zbk_agree(b, from, to, ZBK_AT_SHUFFLE,
                 "a shuffle that not all lanes of the wave reach")) {
    return;
  }
  for (unsigned i = from; i < to; i++) {
    zbk_thread *t = &b->threads[i];
    if (from + t->from >= to) {
      zbk_fail("a shuffle from a lane that does not exist", t->line, i);
      return;
    }
    t->gets = b->threads[from + t->from].gives;
  }
  for (unsigned i = from; i < to; i++) {
    b->threads[i].state = ZBK_READY;
  }
}

/* Decides which threads continue, once none of them can run. Returns false if all are
 * done or something is wrong. */
static bool zbk_decide(zbk_block *b) {
  bool shuffled = false;
  unsigned at_barrier = 0;
  for (unsigned w = 0; w < b->count; w += ZB_WAVE) {
    unsigned end = b->count - w < ZB_WAVE ? b->count : w + ZB_WAVE;
    unsigned waits = 0;
    for (unsigned i = w; i < end; i++) {
      waits += b->threads[i].state == ZBK_AT_SHUFFLE;
      at_barrier += b->threads[i].state == ZBK_AT_BARRIER;
    }
    if (waits > 0) {
      shuffled = true;
      zbk_exchange(b, w, end);
      if (b->why[0] != '\0') {
        return false;
      }
    }
  }
  if (shuffled || at_barrier == 0) {
    return shuffled;
  }
  if (!zbk_agree(b, 0, b->count, ZBK_AT_BARRIER,
                 "a barrier that not all threads of the block reach")) {
    return false;
  }
  for (unsigned i = 0; i < b->count; i++) {
    b->threads[i].state = ZBK_READY;
  }
  return true;
}

/* Runs one block to its end. The stacks are reused; everything else is initialised. */
static void zbk_block_run(zbk_block *b, size_t launched, char *stacks,
                          size_t stride) {
  zbk_here = b;
  b->used = launched;
  b->sites = 0;
  memset(b->shared, 0xff, launched);
  for (unsigned i = 0; i < b->count; i++) {
    zbk_thread *t = &b->threads[i];
    unsigned plane = blockDim.x * blockDim.y;
    t->index = {i % blockDim.x, i % plane / blockDim.x, i / plane};
    t->state = ZBK_READY;
    zbk_fiber_begin(&t->fiber, stacks + i * stride + (stride - ZBK_STACK),
                    zbk_entry);
  }
  do {
    for (unsigned i = 0; i < b->count && b->why[0] == '\0'; i++) {
      if (b->threads[i].state == ZBK_READY) {
        b->now = &b->threads[i];
        threadIdx = b->now->index;
        zbk_fiber_switch(&b->main, &b->now->fiber, false);
      }
    }
  } while (b->why[0] == '\0' && zbk_decide(b));
  zbk_here = NULL;
}

#endif
