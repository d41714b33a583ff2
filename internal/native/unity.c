/* All C of the package in one file: Go does not see that a header of another
 * package, or one in a subfolder, has changed. c/ is also embedded (see
 * sources.go), which makes the build depend on every file in it. */
#include "c/dl.c"
#include "c/isolated.c"
#include "c/launch.c"
#include "c/loop.c"
#include "c/verify.c"

#include "c/fake/calls.c"
#include "c/fake/clock.c"
#include "c/fake/coll.c"
#include "c/fake/comm.c"
#include "c/fake/data.c"
#include "c/fake/device.c"
#include "c/fake/event.c"
#include "c/fake/fault.c"
#include "c/fake/group.c"
#include "c/fake/machine.c"
#include "c/fake/module.c"
#include "c/fake/number.c"
#include "c/fake/p2p.c"
#include "c/fake/stream.c"
#include "c/fake/table.c"
