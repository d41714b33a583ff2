// NVML's header, as power and temperature are held against it.
#include <nvml.h>

#include "compatible.h"

template <> constexpr std::string_view zb::called<nvmlTemperatureSensors_t> = "sensor";

#define ZB_SENSE_IS(field, args, name)                                         \
  static_assert(zb::row<decltype(zb_sense::field),                             \
                        decltype(&name)>::difference(#args) == zb::agrees,     \
                #field " is not " #name);

#define ZB_SENSE_VALUES                                                        \
  ZB_VALUE_IS(ZB_SENSE_GPU, NVML_TEMPERATURE_GPU)                              \
  ZB_VALUE_IS(ZB_SENSE_POWER, nvmlClocksThrottleReasonSwPowerCap |             \
                                  nvmlClocksThrottleReasonHwPowerBrakeSlowdown) \
  ZB_VALUE_IS(ZB_SENSE_TEMPERATURE,                                            \
              nvmlClocksThrottleReasonSwThermalSlowdown |                      \
                  nvmlClocksThrottleReasonHwThermalSlowdown)                   \
  ZB_VALUE_IS(ZB_SENSE_HARDWARE, nvmlClocksThrottleReasonHwSlowdown)           \
  ZB_VALUE_IS(0, NVML_SUCCESS)
