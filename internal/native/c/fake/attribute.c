/* The attributes of the loopback's devices. The values are an MI300X's (AMD CDNA 3 ISA guide and
 * MI300X data sheet); the name is from the machine file. */
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

/* Attributes that zbench does not read, but other programs do. The numbers are
 * from hipDeviceAttribute_t. The values are the same as in hipDeviceProp_t
 * (shared/properties.c). */
static int zbl_other_attribute(int number, int device, int *value) {
  enum { ZBL_BUS = 67, ZBL_DOMAIN = 69 };
  static const struct {
    int number, value;
  } rows[] = {{0, 0} /* EccEnabled */,        {2, 8} /* AsyncEngineCount */,
              {3, 1} /* CanMapHostMemory */,  {6, 0} /* ComputeMode */,
              {8, 1} /* ConcurrentKernels */, {9, 1} /* ConcurrentManagedAccess */,
              {10, 1} /* CooperativeLaunch */, {11, 1} /* CooperativeMultiDeviceLaunch */,
              {13, 0} /* DirectManagedMemAccessFromHost */,
              {16, 0} /* Integrated */,       {17, 0} /* IsMultiGpuBoard */,
              {18, 0} /* KernelExecTimeout */, {24, 1} /* ManagedMemory */,
              {26, 1024}, {27, 1024}, {28, 1024} /* MaxBlockDim */,
              {29, 2147483647}, {30, 65536}, {31, 65536} /* MaxGridDim */,
              {57, 2048} /* MaxThreadsPerMultiProcessor */,
              {58, 2147483647} /* MaxPitch */, {65, 0} /* PageableMemoryAccess */,
              {68, 0} /* PciDeviceId */,      {71, 65536} /* MaxRegistersPerBlock */,
              {72, 65536} /* MaxRegistersPerMultiprocessor */,
              {76, 65536} /* SharedMemPerMultiprocessor */,
              {78, 1} /* StreamPrioritiesSupported */,
              {83, 2147483647} /* TotalConstantMemory */,
              {85, 1} /* UnifiedAddressing */, {10000, 100000} /* ClockInstructionRate */,
              {10002, 65536} /* MaxSharedMemoryPerMultiprocessor */,
              {10011, 1} /* IsLargeBar */,    {10014, 0} /* ImageSupport */};
  if (number == ZBL_BUS || number == ZBL_DOMAIN) { /* as in zbl_devicePCI */
    device += zbl.first;
    *value = number == ZBL_BUS ? device & 0xff : device >> 8 & 0xffff;
    return 1;
  }
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (rows[i].number == number) {
      *value = rows[i].value;
      return 1;
    }
  }
  return 0;
}

static int zbl_deviceAttribute(int *value, int attribute, int device) {
  static const struct {
    const char *field;
    int number[ZB_VENDORS];
  } rows[] = {
#define ZBL_ROW(field, ...) {#field, {__VA_ARGS__}},
      ZB_ATTRIBUTES(ZBL_ROW)
#undef ZBL_ROW
  };
  ZBL_REFUSE(value == NULL, ZB_ERR_VALUE);
  ZBL_REFUSE(device < 0 || device >= zbl.count, ZB_ERR_DEVICE);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (rows[i].number[ZBL_VENDOR] == attribute) {
      *value = zbl_attribute(rows[i].field);
      return ZB_OK;
    }
  }
  return ZBL_VENDOR == ZB_ROCM && zbl_other_attribute(attribute, device, value)
             ? ZB_OK
             : zbl_said(ZB_ERR_VALUE);
}

static int zbl_deviceName(char *name, int len, int device) {
  ZBL_REFUSE(device < 0 || device >= zbl.count, ZB_ERR_DEVICE);
  ZBL_REFUSE(name == NULL || len < 1, ZB_ERR_VALUE);
  snprintf(name, (size_t)len, "%s", zbl.gpu);
  return ZB_OK;
}

/* PCI addresses ascend with the device numbers here. On real nodes the order may differ. */
static int zbl_devicePCI(char *address, int len, int device) {
  ZBL_REFUSE(device < 0 || device >= zbl.count, ZB_ERR_DEVICE);
  ZBL_REFUSE(address == NULL || len < 13, ZB_ERR_VALUE);
  device += zbl.first;
  snprintf(address, (size_t)len, "%04x:%02x:00.0",
           (unsigned)(device >> 8) & 0xffffu, (unsigned)device & 0xffu);
  return ZB_OK;
}

static int zbl_driverGetVersion(int *version) {
  ZBL_REFUSE(version == NULL, ZB_ERR_VALUE);
  *version = zbl_api_version;
  return ZB_OK;
}

/* Accepts any size up to all of the shared memory, which any block may use. */
static int zbl_functionAttribute(void *function, int attribute, int value) {
  ZBL_REFUSE(function == NULL, ZB_ERR_HANDLE);
  return zbl_said(attribute == ZB_FUNCTION_MAX_SHARED && value >= 0 &&
                          value <= zbl_attribute("maxSharedPerBlock")
                      ? ZB_OK
                      : ZB_ERR_VALUE);
}
