/* The position of a block's tile. */
#ifndef ZB_MUON_PLACE_H
#define ZB_MUON_PLACE_H

struct zb_place {
  zb_u32 i, j;
};

/* Returns the tile of a block in a triangle. Row i of the triangle begins at block i(i+1)/2. The
 * square root is inexact from 2^24 on, so the result is corrected. */
ZB_FN zb_place zb_in_triangle(zb_u32 block) {
  zb_u32 i = (zb_u32)((ZB_SQRT(8.0f * (float)block + 1) - 1) / 2);
  while (i * (i + 1) / 2 > block) {
    i--;
  }
  while ((i + 1) * (i + 2) / 2 <= block) {
    i++;
  }
  return {i, block - i * (i + 1) / 2};
}

#endif
