/* The data of streams and norms. */

/* Element i of an array. It is nearly normal (the sum of four uniform numbers,
 * standard deviation 1.155), and all bits of its mantissa are random. It is
 * computed with integers, so that every host gives the same bits. With uniform
 * data a GPU would clock higher than in a training run. */
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
