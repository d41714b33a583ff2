/* Queries about a kernel before its launch, and the launch with events. The loopback does not look
 * at a kernel's code. It answers as for a kernel with few registers and no shared memory of its
 * own. */
#include "../fake/event.h"
#include "more.h"

#include <limits.h>
#include <string.h>

enum { ZBL_THREADS_OF_CU = 2048, ZBL_WAVE = 64 };

/* Returns how many blocks of `threads` threads fit on a compute unit at once. The limits are
 * the unit's waves and its shared memory (ROCm/clr, hipamd/src/hip_platform.cpp,
 * ihipOccupancyMaxActiveBlocksPerMultiprocessor; 8 waves on each of 4 SIMDs). */
static int zbl_blocks_at_once(int threads, size_t shared) {
  int waves = ZBL_THREADS_OF_CU / ((threads + ZBL_WAVE - 1) / ZBL_WAVE * ZBL_WAVE);
  size_t by_memory = shared > 0 ? (size_t)zbl_attribute("maxSharedPerBlock") / shared : INT_MAX;
  return by_memory < (size_t)waves ? (int)by_memory : waves;
}

static int zbl_occupancyWith(int *blocks, const void *function, int threads, size_t shared,
                             unsigned flags) {
  ZBL_REFUSE(blocks == NULL || flags > 1, ZB_ERR_VALUE);
  ZBL_REFUSE(zbl_registered_of(function) == NULL, ZBL_ERR_FUNCTION);
  *blocks = 0;
  ZBL_REFUSE(threads <= 0, ZB_ERR_VALUE);
  if (threads <= zbl_attribute("maxThreadsPerBlock")) {
    *blocks = zbl_blocks_at_once(threads, shared);
  }
  return ZB_OK;
}

static int zbl_occupancy(int *blocks, const void *function, int threads, size_t shared) {
  return zbl_occupancyWith(blocks, function, threads, shared, 0);
}

/* Returns the size of a block, at most `most` threads, with which a grid fills the device,
 * and the size of that grid (ROCm/clr, hipamd/src/hip_platform.cpp,
 * hipOccupancyMaxPotentialBlockSize). */
static int zbl_blockSize(int *grid, int *block, const void *function, size_t shared, int most) {
  int threads = zbl_attribute("maxThreadsPerBlock");
  ZBL_REFUSE(grid == NULL || block == NULL, ZB_ERR_VALUE);
  ZBL_REFUSE(zbl_registered_of(function) == NULL, ZBL_ERR_FUNCTION);
  if (most > 0 && most < threads) {
    threads = (most + ZBL_WAVE - 1) / ZBL_WAVE * ZBL_WAVE;
  }
  *block = threads;
  *grid = zbl_attribute("multiprocessorCount") * zbl_blocks_at_once(threads, shared);
  return ZB_OK;
}

/* The layout of hipFuncAttributes. */
typedef struct zbl_function_facts {
  int binary, cache;
  size_t constant, local;
  int most_shared, most_threads, registers, carveout, ptx;
  size_t shared;
} zbl_function_facts;

/* Returns a kernel's attributes as in ROCm/clr, hipamd/src/hip_platform.cpp, getStatFuncAttr;
 * the version of PTX is from hip_global.cpp. */
static int zbl_functionFacts(void *facts, const void *function) {
  ZBL_REFUSE(facts == NULL, ZB_ERR_VALUE);
  ZBL_REFUSE(zbl_registered_of(function) == NULL, ZBL_ERR_FUNCTION);
  *(zbl_function_facts *)facts =
      (zbl_function_facts){.most_shared = zbl_attribute("maxSharedPerBlock"),
                           .most_threads = zbl_attribute("maxThreadsPerBlock"), .ptx = 30};
  return ZB_OK;
}

/* Accepts a kernel's setting and ignores it, as HIP does (ROCm/clr,
 * hipamd/src/hip_module.cpp, hipFuncSetAttribute and the functions after it). */
static int zbl_functionSet(const void *function, int attribute, int value) {
  (void)function, (void)attribute, (void)value;
  return ZB_OK;
}

static int zbl_functionCache(const void *function, int config) {
  return zbl_functionSet(function, 0, config);
}

static int zbl_functionBanks(const void *function, int config) {
  return zbl_functionSet(function, 0, config);
}

/* Launches a kernel between two events. Either event may be NULL (ROCm/clr,
 * hipamd/src/hip_module.cpp, hipExtLaunchKernel). */
static int zbl_launchTimed(const void *function, zbs_dim3 grid, zbs_dim3 block, void **params,
                           size_t shared, void *stream, void *start, void *stop, int flags) {
  int code;
  ZBL_ENTER;
  (void)flags;
  ZBL_REFUSE(zbl_stream_of(stream) == NULL || (start != NULL && zbl_event_of(start) == NULL) ||
             (stop != NULL && zbl_event_of(stop) == NULL), ZB_ERR_VALUE);
  code = start != NULL ? zbl_eventRecord(start, stream) : ZB_OK;
  if (code == ZB_OK) {
    code = zbl_launchFunction(function, grid, block, params, shared, stream);
  }
  return code == ZB_OK && stop != NULL ? zbl_eventRecord(stop, stream) : code;
}
