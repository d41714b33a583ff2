/* All C of the package in one file: Go does not see that a header of another
 * package, or one in a subfolder, has changed. c/ is also embedded (see
 * sources.go), which makes the build depend on every file in it. */
#include "c/dl.c"
#include "c/loop.c"

#include "c/fake/clock.c"
#include "c/fake/coll.c"
#include "c/fake/comm.c"
#include "c/fake/device.c"
#include "c/fake/group.c"
#include "c/fake/machine.c"
#include "c/fake/table.c"
