/* Power and temperature of a GPU; see sense.h. */
#include "sense.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static const struct {
  size_t offset;
  const char *name;
} zb_sense_rows[] = {
#define ZB_SENSE_ROW(field, args, name) {offsetof(zb_sense, field), #name},
    ZB_SENSE_SYMBOLS(ZB_SENSE_ROW)
#undef ZB_SENSE_ROW
};

int zb_sense_open(zb_sense *s, void *library) {
  for (size_t i = 0; i < sizeof zb_sense_rows / sizeof zb_sense_rows[0]; i++) {
    void *symbol = dlsym(library, zb_sense_rows[i].name);
    if (symbol == NULL) {
      return 0;
    }
    memcpy((char *)s + zb_sense_rows[i].offset, &symbol, sizeof symbol);
  }
  return s->init() == 0;
}

void zb_sense_read(const zb_sense *s, const char *pci, unsigned *mw, unsigned *limit,
                   unsigned *celsius, unsigned long long *reasons) {
  void *device = NULL;
  *mw = *limit = *celsius = 0;
  *reasons = 0;
  if (s->find(pci, &device) != 0) {
    return;
  }
  if (s->power(device, mw) != 0) {
    *mw = 0;
  }
  if (s->limit(device, limit) != 0) {
    *limit = 0;
  }
  if (s->temperature(device, ZB_SENSE_GPU, celsius) != 0) {
    *celsius = 0;
  }
  if (s->reasons(device, reasons) != 0) {
    *reasons = 0;
  }
}
