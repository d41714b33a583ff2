/* hipDeviceProp_t in its two forms: R0000 of HIP before 6.0, and R0600 of later versions. Programs
 * that were built for a HIP before 6.0 still request R0000. A property that is not published for an
 * MI300X is 0. The layouts are facts of the interface; a test compares them with the headers. */
#include "properties.h"

#include "../fake/world.h"
#include "more.h"

#include <stdio.h>
#include <string.h>

/* hipDeviceArch_t: its first 11 features (atomics, doubles, votes, shuffles), system
 * fences and three-dimensional grids. */
enum { ZBS_ARCH = 0x7ff | 1 << 12 | 1 << 15 };

/* Values of an MI300X that both forms have, from AMD's CDNA 3 ISA guide and from the values
 * that ROCm reports. */
#define ZBS_FILL(p)                                                            \
  (p)->totalGlobalMem = zbl.hbm_bytes;                                         \
  (p)->sharedMemPerBlock = (size_t)zbl_attribute("maxSharedPerBlock");         \
  (p)->regsPerBlock = 65536;                                                   \
  (p)->warpSize = zbl_attribute("warpSize");                                   \
  (p)->maxThreadsPerBlock = zbl_attribute("maxThreadsPerBlock");               \
  (p)->clockRate = zbl_attribute("clockRate");                                 \
  (p)->memoryClockRate = zbl_attribute("memoryClockRate");                     \
  (p)->memoryBusWidth = zbl_attribute("memoryBusWidth");                       \
  (p)->totalConstMem = 2147483647;                                             \
  (p)->major = zbl_attribute("capabilityMajor");                               \
  (p)->minor = zbl_attribute("capabilityMinor");                               \
  (p)->multiProcessorCount = zbl_attribute("multiprocessorCount");             \
  (p)->l2CacheSize = zbl_attribute("l2CacheSize");                             \
  (p)->maxThreadsPerMultiProcessor = 2048;                                     \
  (p)->clockInstructionRate = 100000;                                          \
  (p)->arch = ZBS_ARCH;                                                        \
  (p)->concurrentKernels = 1;                                                  \
  (p)->pciDomainID = device >> 8 & 0xffff;                                     \
  (p)->pciBusID = device & 0xff;                                               \
  (p)->maxSharedMemoryPerMultiProcessor = 65536;                               \
  (p)->canMapHostMemory = 1;                                                   \
  (p)->cooperativeLaunch = 1;                                                  \
  (p)->cooperativeMultiDeviceLaunch = 1;                                       \
  (p)->memPitch = 2147483647;                                                  \
  (p)->textureAlignment = 256;                                                 \
  (p)->texturePitchAlignment = 256;                                            \
  (p)->isLargeBar = 1;                                                         \
  (p)->managedMemory = 1;                                                      \
  (p)->concurrentManagedAccess = 1;                                            \
  for (int i = 0; i < 3; i++) {                                                \
    (p)->maxThreadsDim[i] = zbl_attribute("maxThreadsPerBlock");               \
    (p)->maxGridSize[i] = i == 0 ? 2147483647 : 65536;                         \
  }                                                                            \
  snprintf((p)->name, sizeof(p)->name, "%s", zbl.gpu);                         \
  snprintf((p)->gcnArchName, sizeof(p)->gcnArchName, "gfx942:sramecc+:xnack-")

static int zbl_asked_device(const void *properties, int *device) {
  if (properties == NULL) {
    return ZB_ERR_VALUE;
  }
  if (*device < 0 || *device >= zbl.count) {
    return ZB_ERR_DEVICE;
  }
  *device += zbl.first;
  return ZB_OK;
}

static int zbl_properties0000(void *properties, int device) {
  zbs_properties_0000 *p = properties;
  int code = zbl_asked_device(properties, &device);
  if (code == ZB_OK) {
    memset(p, 0, sizeof *p);
    ZBS_FILL(p);
    p->gcnArch = 942;
  }
  return zbl_said(code);
}

/* The name without a form stands for the old form (ROCm/clr, hipamd/src/hip_hcc.map.in). */
static int zbl_properties0(void *properties, int device) {
  return zbl_properties0000(properties, device);
}

static int zbl_properties0600(void *properties, int device) {
  zbs_properties_0600 *p = properties;
  int code = zbl_asked_device(properties, &device);
  if (code == ZB_OK) {
    memset(p, 0, sizeof *p);
    ZBS_FILL(p);
    snprintf(p->uuid, sizeof p->uuid, "zbench%09d", device);
    p->unifiedAddressing = 1;
    p->asyncEngineCount = 8;
    p->streamPrioritiesSupported = 1;
    p->sharedMemPerMultiprocessor = 65536;
    p->sharedMemPerBlockOptin = (size_t)zbl_attribute("maxSharedPerBlockOptin");
    p->regsPerMultiprocessor = 65536;
    p->hostRegisterSupported = 1;
  }
  return zbl_said(code);
}
