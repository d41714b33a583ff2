/* The loopback's conversions of binary16 held to the compiler's own type: all numbers of
 * 16 bits, and of 32 bits those around every boundary between two of them, and every
 * 4,099th. */
#include "../c/fake/number.c"

#include <stdio.h>

__extension__ typedef _Float16 native_half;

static int failures;

static void same(const char *what, uint32_t of, uint32_t got, uint32_t want) {
  if (got != want && failures++ < 10) {
    fprintf(stderr, "%s %08x: %08x, not %08x\n", what, of, got, want);
  }
}

static float widened(uint16_t bits) {
  native_half half;
  memcpy(&half, &bits, sizeof half);
  return (float)half;
}

static void narrow(uint32_t bits) {
  native_half half = (native_half)zbl_float_of(bits);
  uint16_t want;
  memcpy(&want, &half, sizeof want);
  same("to half", bits, zbl_to_half(zbl_float_of(bits)), want);
}

int main(void) {
  for (uint32_t h = 0; h < 1 << 16; h++) {
    float wide = widened((uint16_t)h);
    uint32_t bits = zbl_bits_of(wide), middle = bits + 0x1000; /* where it is normal */
    float between = (wide + widened((uint16_t)(h + 1))) / 2;
    same("from half", h, zbl_bits_of(zbl_from_half((uint16_t)h)), bits);
    for (uint32_t i = 0; i < 5; i++) {
      narrow(bits + i - 2);
      narrow(middle + i - 2);
      narrow(zbl_bits_of(between) + i - 2);
    }
  }
  for (uint64_t bits = 0; bits < 1ull << 32; bits += 4099) {
    narrow((uint32_t)bits);
  }
  return failures != 0;
}
