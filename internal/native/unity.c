/* All C of the package in one file, because Go does not notice a changed header
 * in a subfolder or in another package. c/ is also embedded (see sources.go),
 * which makes the build depend on every file in it. */
#include "c/compile.c"
#include "c/blas.c"
#include "c/dl.c"
#include "c/elf.c"
#include "c/graph.c"
#include "c/isolated.c"
#include "c/launch.c"
#include "c/loop.c"
#include "c/lt.c"
#include "c/noop.c"
#include "c/play.c"
#include "c/progress.c"
#include "c/recorded.c"
#include "c/sense.c"
#include "c/timer.c"
#include "c/trial.c"
#include "c/verify.c"

#include "c/fake/fake.c"
