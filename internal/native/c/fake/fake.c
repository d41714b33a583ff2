/* The whole loopback, for the binary and for the shared libraries. */
#include "ahead.c"
#include "attribute.c"
#include "blocks.c"
#include "calls.c"
#include "clock.c"
#include "coll.c"
#include "comm.c"
#include "compiler.c"
#include "copy.c"
#include "data.c"
#include "derive.c"
#include "device.c"
#include "drive.c"
#include "event.c"
#include "failing.c"
#include "fault.c"
#include "file.c"
#include "graph.c"
#include "group.c"
#include "handle.c"
#include "heap.c"
#include "host.c"
#include "hub.c"
#include "id.c"
#include "later.c"
#include "lost.c"
#include "machine.c"
#include "module.c"
#include "lt.c" /* needs module.c */
#include "null.c"
#include "number.c"
#include "op.c"
#include "operator.c"
#include "p2p.c"
#include "pace.c"
#include "pool.c"
#include "result.c"
#include "silence.c" /* needs comm.c, coll.c and p2p.c, whose state it prints */
#include "split.c"
#include "stale.c"
#include "stream.c"
#include "wait.c"
#include "way.c"
#include "whole.c"
#include "window.c" /* needs comm.c and device.c */
#include "wide.c"

/* The loopback as a provider: the same table, filled with its own functions. */
void zbl_fill(zb_table *t) {
#define ZBL_SET(field, ...) t->field = zbl_##field;
  ZB_SYMBOLS(ZBL_SET)
#undef ZBL_SET
}
