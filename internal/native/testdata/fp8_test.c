/* Reductions in the 8-bit types: for e4m3 and e5m2, for the sum, the product, the
 * largest and the least, and the average of two, the result of all pairs of numbers, one byte each. */
#include "../c/fake/number.c"

#include <stdio.h>

int main(void) {
  for (int dtype = 10; dtype <= 11; dtype++) {
    for (int op = ZBL_SUM; op <= ZBL_AVG; op++) {
      for (int a = 0; a < 256; a++) {
        uint8_t left[256], right[256], sum[256];
        for (int b = 0; b < 256; b++) {
          left[b] = (uint8_t)a;
          right[b] = (uint8_t)b;
        }
        zbl_accumulate(sum, left, 256, dtype, op, 2, 1, NULL);
        zbl_accumulate(sum, right, 256, dtype, op, 2, 0, NULL);
        zbl_divide(sum, 256, dtype, op, 2);
        fwrite(sum, 1, 256, stdout);
      }
    }
  }
  return 0;
}
