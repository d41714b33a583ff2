/* Returns the sum over a block's threads, in every thread. It uses shuffles within a
 * wave, and shared memory between waves. All threads must call it, in
 * one-dimensional blocks of whole waves. Each call of the function in a kernel has
 * its own shared memory. */
template <typename T> ZB_FN T zb_block_sum(T v) {
#ifdef ZB_FOLDED
  return v;
#else
  ZB_SHARED(T, waves, 1024 / ZB_WAVE);
  ZB_UNROLLED
  for (int m = ZB_WAVE / 2; m > 0; m /= 2) {
    v += ZB_SHFL_XOR(v, m);
  }
  if (threadIdx.x % ZB_WAVE == 0) {
    waves[threadIdx.x / ZB_WAVE] = v;
  }
  ZB_BARRIER();
  v = 0;
  for (zb_u32 w = 0; w < blockDim.x / ZB_WAVE; w++) {
    v += waves[w];
  }
  ZB_BARRIER(); /* so that no thread overwrites the sum with its next sum */
  return v;
#endif
}
