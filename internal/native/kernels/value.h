/* The data of streams and norms. */

/* Element i of an array: near normal (the sum of four uniforms, standard
 * deviation 1.155), all bits of its mantissa random, the same bits on every
 * machine because it is made in integers: data that are all alike let a GPU
 * clock higher than a training run's do. */
template <typename T> struct zb_values;
template <> struct zb_values<double> {
  static ZB_METHOD double at(zb_u64 seed, zb_u32 array, zb_u64 i) {
    zb_u64 h = zb_mix64(zb_mix64(seed ^ array) ^ i);
    long long sum = (long long)((h & 0xffff) + (h >> 16 & 0xffff) +
                                (h >> 32 & 0xffff) + (h >> 48)) -
                    131070;
    long long low = (long long)(h * 0x9e3779b97f4a7c15u >> 30);
    return (double)(sum * ((long long)1 << 34) + low) * 0x1p-49;
  }
};
template <> struct zb_values<float> {
  static ZB_METHOD float at(zb_u64 seed, zb_u32 array, zb_u64 i) {
    zb_u64 h = zb_mix64(zb_mix64(seed ^ array) ^ i);
    int sum = (int)((h & 0xffff) + (h >> 16 & 0xffff) + (h >> 32 & 0xffff) +
                    (h >> 48)) -
              131070;
    int low = (int)(h * 0x9e3779b97f4a7c15u >> 58);
    return (float)(sum * 64 + low) * 0x1p-21f;
  }
};
