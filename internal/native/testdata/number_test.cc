/* Conversions of kernels/number.h as a filter: words of 32 bits in; out, for each,
 * what the float narrows to as f16 and bf16, what the low half widens to as each,
 * and both halves of narrow2 of it and 1, f16 xor bf16.
 *
 *   -DHOST     as the host's kernels convert
 *   -DZB_AMD   as AMD's do: its f16 by the compiler's own type */
#include <stdio.h>

#define ZB_FN static inline
#define ZB_METHOD inline
#ifdef HOST
#define ZB_HOST 1
#endif
typedef unsigned char zb_u8;
typedef unsigned short zb_u16;
typedef unsigned int zb_u32;
typedef unsigned long long zb_u64;
#include "../kernels/number.h"

int main() {
  static zb_u32 in[1 << 14], out[4 << 14];
  for (size_t n; (n = fread(in, 4, 1 << 14, stdin)) > 0;) {
    for (size_t i = 0; i < n; i++) {
      float v = zb_float_of(in[i]);
      out[4 * i] = zb_f16::narrow(v) | (zb_u32)zb_bf16::narrow(v) << 16;
      out[4 * i + 1] = zb_bits_of(zb_f16::wide((zb_u16)in[i]));
      out[4 * i + 2] = zb_bits_of(zb_bf16::wide((zb_u16)in[i]));
      out[4 * i + 3] = zb_f16::narrow2(v, 1) ^ zb_bf16::narrow2(v, 1);
    }
    fwrite(out, 16, n, stdout);
  }
  return 0;
}
