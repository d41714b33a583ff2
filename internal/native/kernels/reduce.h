/* The sum over a block's threads, in every one of them: by shuffles within the
 * waves, by shared memory between them. All threads call it, in blocks of whole
 * waves in one dimension. A kernel calls it once for each number that it has the
 * room for: the shared memory is the function's own. */
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
  ZB_BARRIER(); /* before somebody's next sum writes there */
  return v;
#endif
}
