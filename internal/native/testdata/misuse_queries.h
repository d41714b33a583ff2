/* What is asked of kernels, devices and streams. Files of ROCm/clr are those of hipamd/src at
 * rocm-6.2.2. */

enum { ERR_FUNCTION = 98, ERR_LIMIT = 215 };

/* hip_platform.cpp: 2,048 threads of a compute unit in waves of 64, 64 KiB of shared memory,
 * 304 units. */
static void occupancies(const void *known) {
  int blocks = 9, grid = 9, block = 9;
  IS(ZB_ERR_VALUE, occupancy(NULL, known, 64, 0));
  IS(ERR_FUNCTION, occupancy(&blocks, none, 64, 0));
  IS(ZB_ERR_VALUE, occupancy(&blocks, known, 0, 0));
  IS(ZB_ERR_VALUE, occupancyWith(&blocks, known, 64, 0, 2));
  IS(0, occupancyWith(&blocks, known, 65, 0, 1));
  CHECK(blocks == 16);
  IS(0, occupancy(&blocks, known, 64, 10000));
  CHECK(blocks == 6);
  IS(0, occupancy(&blocks, known, 1024, 0));
  CHECK(blocks == 2);
  IS(0, occupancy(&blocks, known, 1025, 0)); /* of such blocks there is none */
  CHECK(blocks == 0);
  IS(ZB_ERR_VALUE, blockSize(NULL, &block, known, 0, 0));
  IS(ZB_ERR_VALUE, blockSize(&grid, NULL, known, 0, 0));
  IS(ERR_FUNCTION, blockSize(&grid, &block, none, 0, 0));
  IS(0, blockSize(&grid, &block, known, 0, 0));
  CHECK(block == 1024 && grid == 304 * 2);
  IS(0, blockSize(&grid, &block, known, 0, 100));
  CHECK(block == 128 && grid == 304 * 16);
  IS(0, blockSize(&grid, &block, known, 40000, 100));
  CHECK(grid == 304);
}

/* hip_module.cpp and hip_global.cpp. */
static void facts_of_functions(const void *known) {
  struct {
    int binary, cache;
    size_t constant, local;
    int most_shared, most_threads, registers, carveout, ptx;
    size_t shared;
  } facts;
  IS(ZB_ERR_VALUE, functionFacts(NULL, known));
  IS(ERR_FUNCTION, functionFacts(&facts, none));
  IS(0, functionFacts(&facts, known));
  CHECK(facts.most_shared == 65536 && facts.most_threads == 1024 && facts.shared == 0);
  IS(0, functionSet(known, 8, 1024));
  IS(0, functionCache(known, 1));
  IS(0, functionBanks(known, 1));
}

/* hip_module.cpp, hipExtLaunchKernel. */
static void launches_with_events(const void *known) {
  const zbs_dim3 one = {1, 1, 1};
  float *to = (float *)(void *)in[0], value = 4, seen = 0, ms = -1;
  int n = 1;
  void *args[] = {&to, &value, &n}, *start, *stop;
  IS(0, eventCreate(&start));
  IS(0, eventCreate(&stop));
  IS(ZB_ERR_VALUE, launchTimed(known, one, one, args, 0, none, start, stop, 0));
  IS(ZB_ERR_VALUE, launchTimed(known, one, one, args, 0, stream[0], none, stop, 0));
  IS(ZB_ERR_VALUE, launchTimed(known, one, one, args, 0, stream[0], start, none, 0));
  IS(0, launchTimed(known, one, one, args, 0, stream[0], start, stop, 0));
  IS(0, launchTimed(known, one, one, args, 0, stream[0], NULL, NULL, 0));
  IS(0, streamSynchronize(stream[0]));
  IS(0, eventElapsed(&ms, start, stop));
  IS(0, copy(&seen, to, sizeof seen, ZB_TO_HOST));
  CHECK(ms > 0.004F && ms < 1 && seen == 4);
  IS(0, eventDestroy(start));
  IS(0, eventDestroy(stop));
}

static void functions_are_asked(void) {
  static const char known = 0;
  void **module = registerFatBinary("no code");
  registerFunction(module, &known, NULL, "_Z4fillPffi", 0, NULL, NULL, NULL, NULL, NULL);
  occupancies(&known);
  facts_of_functions(&known);
  launches_with_events(&known);
  unregisterFatBinary(module);
}

/* hip_peer.cpp. */
static void links(void) {
  uint32_t type = 9, hops = 9;
  int value = 9;
  IS(ZB_ERR_VALUE, linkType(0, 1, NULL, &hops));
  IS(ZB_ERR_VALUE, linkType(0, 1, &type, NULL));
  IS(ZB_ERR_VALUE, linkType(1, 1, &type, &hops));
  IS(ZB_ERR_VALUE, linkType(-1, 1, &type, &hops));
  IS(ZB_ERR_VALUE, linkType(1, -1, &type, &hops));
  IS(ZB_ERR_DEVICE, linkType(0, DEVICES, &type, &hops));
  IS(ZB_ERR_DEVICE, linkType(DEVICES, 0, &type, &hops));
  IS(0, linkType(0, 7, &type, &hops));
  CHECK(type == 4 && hops == 1);
  IS(ZB_ERR_VALUE, peerAttribute(NULL, 1, 0, 1));
  IS(ZB_ERR_DEVICE, peerAttribute(&value, 1, 1, 1));
  for (int bad = -1; bad <= DEVICES; bad += DEVICES + 1) {
    IS(ZB_ERR_DEVICE, peerAttribute(&value, 1, bad, 1));
    IS(ZB_ERR_DEVICE, peerAttribute(&value, 1, 0, bad));
  }
  IS(ZB_ERR_VALUE, peerAttribute(&value, -1, 0, 1));
  IS(ZB_ERR_VALUE, peerAttribute(&value, 4, 0, 1));
  IS(0, peerAttribute(&value, 1, 0, 1));
  CHECK(value == 1);
}

/* hip_device_runtime.cpp and rocclr/device/device.cpp. */
static void limits(void) {
  size_t value = 9, memory;
  IS(0, deviceMemory(&memory, 0));
  for (int bad = -1; bad <= 3; bad += 4) {
    IS(ZB_ERR_VALUE, setLimit(bad, 1));
    IS(ZB_ERR_VALUE, getLimit(&value, bad));
  }
  IS(ZB_ERR_VALUE, getLimit(NULL, 0));
  IS(ERR_LIMIT, setLimit(1, 1));
  IS(ERR_LIMIT, getLimit(&value, 1));
  IS(0, getLimit(&value, 0));
  CHECK(value == 1024);
  IS(ZB_ERR_VALUE, setLimit(0, (128 << 10) - 15));
  IS(0, setLimit(0, (128 << 10) - 16));
  IS(0, getLimit(&value, 0));
  CHECK(value == (128 << 10) - 16);
  IS(0, setDevice(1));
  IS(0, getLimit(&value, 0)); /* each device has its own */
  CHECK(value == 1024);
  IS(0, setDevice(0));
  IS(ZB_ERR_VALUE, setLimit(2, memory));
  IS(0, setLimit(2, memory - 1));
  IS(0, getLimit(&value, 2));
  CHECK(value == memory);
}

/* hip_device_runtime.cpp, hip_device.cpp and hip_stream.cpp. */
static void flags_and_streams(void) {
  unsigned flags = 9;
  char uuid[16], other[16];
  int device = 9;
  IS(ZB_ERR_VALUE, deviceFlags(NULL));
  for (unsigned way = 0; way < 8; way++) {
    IS(way == 0 || way == 1 || way == 2 || way == 4 ? 0 : ZB_ERR_VALUE, setDeviceFlags(way | 8));
  }
  IS(ZB_ERR_VALUE, setDeviceFlags(0x20));
  IS(0, deviceFlags(&flags));
  CHECK(flags == 4);
  IS(ZB_ERR_DEVICE, deviceUUID(uuid, DEVICES));
  IS(ZB_ERR_DEVICE, deviceUUID(uuid, -1));
  IS(ZB_ERR_VALUE, deviceUUID(NULL, 0));
  IS(0, deviceUUID(uuid, 0));
  IS(0, deviceUUID(other, 1));
  CHECK(memcmp(uuid, other, 16) != 0);
  IS(ZB_ERR_VALUE, streamDevice(stream[3], NULL));
  IS(DESTROYED, streamDevice(none, &device));
  IS(0, streamDevice(stream[3], &device));
  CHECK(device == 3);
  IS(0, streamDevice(NULL, &device));
  CHECK(device == 0);
}

static void queries(void) {
  functions_are_asked();
  links();
  limits();
  flags_and_streams();
}
