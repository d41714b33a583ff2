/* The loopback as a provider: the same table, filled with its own functions. */
#include "world.h"

void zbl_fill(zb_table *t) {
#define ZBL_SET(field, ...) t->field = zbl_##field;
  ZB_SYMBOLS(ZBL_SET)
#undef ZBL_SET
}
