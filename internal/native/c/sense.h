/* Power and temperature from a vendor's management library: NVML, as declared in nvml.h of
 * CUDA 12. For amdgpu both are read from sysfs. */
#ifndef ZB_SENSE_H
#define ZB_SENSE_H

/* FUNCTION(field, args, name). Each function returns 0 on success. Power is in milliwatts. */
#define ZB_SENSE_SYMBOLS(FUNCTION)                                             \
  FUNCTION(init, (void), nvmlInit_v2)                                          \
  FUNCTION(find, (const char *pci, void **device),                             \
           nvmlDeviceGetHandleByPciBusId_v2)                                   \
  FUNCTION(power, (void *device, unsigned *mw), nvmlDeviceGetPowerUsage)       \
  FUNCTION(limit, (void *device, unsigned *mw),                                \
           nvmlDeviceGetEnforcedPowerLimit)                                    \
  FUNCTION(temperature, (void *device, int sensor, unsigned *celsius),         \
           nvmlDeviceGetTemperature)                                           \
  FUNCTION(reasons, (void *device, unsigned long long *bits),                  \
           nvmlDeviceGetCurrentClocksThrottleReasons)

/* NVML_TEMPERATURE_GPU, and bits of nvmlClocksThrottleReason…, the reasons for a lower clock */
enum {
  ZB_SENSE_GPU = 0,
  ZB_SENSE_POWER = 0x4 | 0x80,            /* SwPowerCap, HwPowerBrakeSlowdown */
  ZB_SENSE_TEMPERATURE = 0x20 | 0x40,     /* SwThermalSlowdown, HwThermalSlowdown */
  ZB_SENSE_HARDWARE = 0x8                 /* HwSlowdown */
};

typedef struct zb_sense {
#define ZB_SENSE_FIELD(field, args, name) int(*field) args;
  ZB_SENSE_SYMBOLS(ZB_SENSE_FIELD)
#undef ZB_SENSE_FIELD
} zb_sense;

/* Fills in the functions of the library and starts it. Returns 1 if it is ready. */
int zb_sense_open(zb_sense *s, void *library);

/* Reads the values of a GPU. Values that the library does not report are 0. */
void zb_sense_read(const zb_sense *s, const char *pci, unsigned *mw, unsigned *limit,
                   unsigned *celsius, unsigned long long *reasons);

#endif
