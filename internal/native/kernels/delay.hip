/* after: prelude.h */
/* Holds a stream for `ns` nanoseconds, so that the host can run ahead. Launch one thread.
 * On the host the kernel does nothing, because the loopback adds the time to its own
 * clock. It also does nothing on a GPU whose clock is not known. */
ZB_KERNEL(zb_delay)(zb_u64 ns) {
#if defined(ZB_AMD)
  /* the constant clock, 100 MHz on every gfx9 (hipDeviceAttributeWallClockRate
   * reports 100,000 kHz) */
  zb_u64 start = __builtin_amdgcn_s_memrealtime();
  while ((__builtin_amdgcn_s_memrealtime() - start) * 10 < ns) {
    __builtin_amdgcn_s_sleep(8);
  }
#elif defined(ZB_NVIDIA)
  zb_u64 start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < ns);
#else
  (void)ns;
#endif
}
