/* after: prelude.h */
/* The clock of the compute units while other kernels run. One launch with ends 0
 * before the work and one with ends 1 behind it, on the work's stream, a thread a
 * block and a block a unit: the first notes the two counters of each unit that it
 * meets, the second adds what they counted since to counts[0], cycles, and counts[1],
 * nanoseconds. Their quotient is the mean clock of the units between the launches.
 * Counters are subtracted on one unit alone: those of two need not agree.
 *
 * counts has 2 words, then 2 for each number that a unit may have; all zero at first.
 *
 * Assumed: on gfx942 and gfx950 s_memtime counts the units' clock (AMD's ISA guides) and
 * s_memrealtime is constant, 100 MHz (RCCL's tools take 25 MHz elsewhere: no clock is
 * counted there); on NVIDIA %clock64 counts the unit's clock and
 * %globaltimer nanoseconds, at times in steps of a microsecond. Both count on in a unit
 * that waits. */
#if defined(__gfx942__) || defined(__gfx950__)
#define ZB_COUNTERS
#endif

ZB_FN zb_u64 zb_cycles(void) {
#if defined(ZB_HOST)
  return zbk_counters.cycles;
#elif defined(ZB_COUNTERS)
  return __builtin_amdgcn_s_memtime();
#elif defined(ZB_NVIDIA)
  zb_u64 v;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(v));
  return v;
#else
  return 0;
#endif
}

ZB_FN zb_u64 zb_nanoseconds(void) {
#if defined(ZB_HOST)
  return zbk_counters.ns;
#elif defined(ZB_COUNTERS)
  return __builtin_amdgcn_s_memrealtime() * 10;
#elif defined(ZB_NVIDIA)
  zb_u64 v;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(v));
  return v;
#else
  return 0;
#endif
}

/* The number of the unit, below 4,096. HW_ID has it in bits 8 to 15, by engine and
 * array; XCC_ID has the die's in the lowest four. */
ZB_FN zb_u32 zb_unit(void) {
#if defined(ZB_HOST)
  return blockIdx.x & 4095;
#elif defined(ZB_COUNTERS)
  return (zb_u32)__builtin_amdgcn_s_getreg(4 | 8 << 6 | 7 << 11) |
         (zb_u32)__builtin_amdgcn_s_getreg(20 | 0 << 6 | 3 << 11) << 8;
#elif defined(ZB_NVIDIA)
  zb_u32 v;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(v));
  return v & 4095;
#else
  return 0;
#endif
}

ZB_KERNEL(zb_clock)(zb_u64 *counts, zb_u32 ends) {
  zb_u64 cycles = zb_cycles(), ns = zb_nanoseconds();
  zb_u64 *start = counts + 2 + 2 * zb_unit();
  if (ends == 0) {
    start[0] = cycles;
    start[1] = ns;
  } else if (start[1] != 0) {
    ZB_ATOMIC_ADD(counts, cycles - start[0]);
    ZB_ATOMIC_ADD(counts + 1, ns - start[1]);
    start[1] = 0; /* a unit that this launch meets again, or a later one alone, adds nothing */
  }
}
