/* after: prelude.h */
/* Measures the clock rate of the compute units while other kernels run. On the stream of the work,
 * a launch with `ends` = 0 precedes the work, and a launch with `ends` = 1 follows it. Each launch
 * has one block per unit and one thread per block. The first launch notes the two counters of each
 * unit on which it runs. The second launch adds the differences since then to counts[0] (cycles)
 * and counts[1] (nanoseconds). Their quotient is the mean clock rate between the launches. Counters
 * are subtracted only on the same unit, because the counters of different units need not agree.
 *
 * The array `counts` has 2 words, then 2 for each possible number of a unit; all words are zero at
 * first.
 *
 * Assumed: on gfx942 and gfx950, s_memtime counts the cycles of the unit's clock (AMD's ISA
 * guides), and s_memrealtime counts at a constant 100 MHz. RCCL's tools assume 25 MHz on other
 * GPUs, so no clock is counted there. On NVIDIA, %clock64 counts the cycles of the unit's clock,
 * and %globaltimer counts nanoseconds, sometimes in steps of a microsecond. Both keep counting
 * while a unit waits. */
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

/* Returns the number of the unit, below 4,096. On AMD, bits 8 to 15 of HW_ID number
 * the unit by engine and array, and the lowest four bits of XCC_ID number the
 * die. */
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
    start[1] = 0; /* so that nothing is added by a second block on the unit, or by a later
                   * launch without a first launch */
  }
}
