/* What the loopback's devices say of themselves: an MI300X's attributes (AMD
 * CDNA 3 ISA guide and MI300X data sheet), the machine file's name. */
#include "world.h"

#include <stdio.h>
#include <string.h>

static int zbl_attribute(const char *field) {
  static const struct {
    const char *field;
    int value;
  } values[] = {
      {"clockRate", 2100000},       {"l2CacheSize", 4 << 20},
      {"capabilityMajor", 9},       {"capabilityMinor", 4},
      {"maxThreadsPerBlock", 1024}, {"memoryBusWidth", 8192},
      {"memoryClockRate", 1300000}, {"multiprocessorCount", 304},
      {"maxSharedPerBlock", 65536}, {"maxSharedPerBlockOptin", 65536},
      {"warpSize", 64},             {"dieCount", 8}};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    if (strcmp(values[i].field, field) == 0) {
      return values[i].value;
    }
  }
  return 0;
}

static int zbl_deviceAttribute(int *value, int attribute, int device) {
  static const struct {
    const char *field;
    int number[2];
  } rows[] = {
#define ZBL_ROW(field, rocm, cuda) {#field, {rocm, cuda}},
      ZB_ATTRIBUTES(ZBL_ROW)
#undef ZBL_ROW
  };
  if (device < 0 || device >= zbl.count) {
    return zbl_said(ZB_ERR_DEVICE);
  }
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (rows[i].number[ZBL_VENDOR] == attribute) {
      *value = zbl_attribute(rows[i].field);
      return ZB_OK;
    }
  }
  return zbl_said(ZB_ERR_VALUE);
}

static int zbl_deviceName(char *name, int len, int device) {
  if (device < 0 || device >= zbl.count) {
    return zbl_said(ZB_ERR_DEVICE);
  }
  if (name == NULL || len < 1) {
    return zbl_said(ZB_ERR_VALUE);
  }
  snprintf(name, (size_t)len, "%s", zbl.gpu);
  return ZB_OK;
}

/* Addresses in the order of the devices; real ones need not be. */
static int zbl_devicePCI(char *address, int len, int device) {
  if (device < 0 || device >= zbl.count) {
    return zbl_said(ZB_ERR_DEVICE);
  }
  if (address == NULL || len < 13) {
    return zbl_said(ZB_ERR_VALUE);
  }
  device += zbl.first;
  snprintf(address, (size_t)len, "%04x:%02x:00.0",
           (unsigned)(device >> 8) & 0xffffu, (unsigned)device & 0xffu);
  return ZB_OK;
}

static int zbl_driverGetVersion(int *version) {
  *version = zbl_api_version;
  return ZB_OK;
}

/* Any block may have all the shared memory there is; asking for more fails. */
static int zbl_functionAttribute(void *function, int attribute, int value) {
  if (function == NULL) {
    return zbl_said(ZB_ERR_HANDLE);
  }
  return zbl_said(attribute == ZB_FUNCTION_MAX_SHARED && value >= 0 &&
                          value <= zbl_attribute("maxSharedPerBlock")
                      ? ZB_OK
                      : ZB_ERR_VALUE);
}
