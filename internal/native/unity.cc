/* All kernels of the loopback in one file, as unity.c is for C. They use no
 * exceptions, no RTTI and nothing of the C++ library, because the binary must
 * not need libstdc++.
 *
 * A source of plain loops is compiled three times: folded into loops for AVX2
 * (which is chosen at run time), folded into loops for any CPU, and with one
 * call per GPU thread. A source whose threads wait for each other is compiled
 * only with one call per GPU thread. See kernels/host.h. */
#include "kernels/host.h"
#include "kernels/prelude.h"
#include "kernels/host_block.h"
#include "kernels/host_mma.h"
#include "kernels/stream_list.h"
#include "kernels/norm_list.h"

#define ZB_FOLDED 1
#define ZB_LANE 0u
#define ZB_LANES 1u

/* With -O2 alone, loops of unknown length stay scalar. A pragma requests the
 * vectorisation, because cgo does not allow the compiler flag for it. */
#pragma GCC push_options
#pragma GCC optimize("tree-vectorize", "vect-cost-model=dynamic")

#if defined(__x86_64__)
#define ZBK_WIDE 1
#pragma GCC push_options
#pragma GCC target("avx2")
#define ZB_VECTOR 32
namespace zbk_wide {
#include "kernels/loops.h"
}
#pragma GCC pop_options
#endif

namespace zbk_plain {
#include "kernels/loops.h"
}
#pragma GCC pop_options

#undef ZB_FOLDED
#undef ZB_LANE
#undef ZB_LANES
#define ZB_LANE threadIdx.x
#define ZB_LANES blockDim.x
namespace zbk_threads {
#include "kernels/loops.h"

/* Kernels with emulated threads need to be right, not fast. The unrolling that
 * a GPU needs would take half of the build's time. */
#undef ZB_UNROLLED
#define ZB_UNROLLED
#pragma GCC push_options
#pragma GCC optimize("O1")
#include "kernels/number.h"
#include "kernels/norm_held.h"
#include "kernels/norm.hip"
#include "kernels/norm_steps.hip"
#include "kernels/accumulate.hip"
#include "kernels/clock.hip"

#include "kernels/quad.h"
#include "kernels/muon_mma.h"
#include "kernels/muon_feed.h"
#include "kernels/muon_out.h"
#include "kernels/muon_place.h"
#include "kernels/muon_tensors.h"
#include "kernels/muon_product.hip"
#include "kernels/muon_mirror.hip"
#include "kernels/muon_step.hip"
#pragma GCC pop_options
}

#include "kernels/table.cc"
