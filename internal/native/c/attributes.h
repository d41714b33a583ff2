/* What devices are asked for, by name: the vendors' numbers differ. */
#ifndef ZB_ATTRIBUTES_H
#define ZB_ATTRIBUTES_H

/* ATTR(field, rocm, cuda): the values of hipDeviceAttribute_t and of
 * cudaDeviceAttr, 0 where a vendor has none. Clocks are in kHz, memory in bytes,
 * the width of the memory's bus in bits. HIP tells dies (XCCs) from 7.0 on. */
#define ZB_ATTRIBUTES(ATTR)                                                    \
  ATTR(clockRate, 5, 13)                                                       \
  ATTR(l2CacheSize, 19, 38)                                                    \
  ATTR(capabilityMajor, 23, 75)                                                \
  ATTR(capabilityMinor, 61, 76)                                                \
  ATTR(maxThreadsPerBlock, 56, 1)                                              \
  ATTR(memoryBusWidth, 59, 37)                                                 \
  ATTR(memoryClockRate, 60, 36)                                                \
  ATTR(multiprocessorCount, 63, 16)                                            \
  ATTR(maxSharedPerBlock, 74, 8)                                               \
  ATTR(maxSharedPerBlockOptin, 75, 97)                                         \
  ATTR(warpSize, 87, 10)                                                       \
  ATTR(dieCount, 10018, 0)

/* The columns of all lists, which bench/backend has too. */
enum { ZB_ROCM = 0, ZB_CUDA = 1, ZB_VENDORS = 2 };

/* One row of the attributes as data: a name and its number by vendor. */
typedef struct zb_attribute {
  const char *field;
  int number[ZB_VENDORS]; /* by ZB_ROCM, ZB_CUDA */
} zb_attribute;

#endif
