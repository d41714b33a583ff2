/* Variables of the device code that the program is registered with. Files of ROCm/clr are those
 * of hipamd/src at rocm-6.2.2. */

/* What stands for the device's variable on the host; its value is not the device's. */
static float table_of_host[3], counts_of_host[CODE_ZEROS / 4];
static int *shared_of_host;

/* hip_memory.cpp, hipMemcpyToSymbol_common and its like; hip_platform.cpp. */
static void wrong_symbols(void) {
  float value = 1;
  void *p;
  size_t bytes;
  IS(ERR_SYMBOL, toSymbol(plain, &value, 4, 0, ZB_TO_DEVICE));
  IS(ERR_SYMBOL, toSymbol(NULL, &value, 4, 0, ZB_TO_DEVICE));
  IS(ERR_SYMBOL, fromSymbolAsync(&value, plain, 4, 0, ZB_TO_HOST, stream[0]));
  IS(ERR_SYMBOL, symbolAddress(&p, plain));
  IS(ERR_SYMBOL, symbolSize(&bytes, plain));
  IS(ZB_ERR_VALUE, symbolAddress(NULL, table_of_host));
  IS(ZB_ERR_VALUE, symbolSize(NULL, table_of_host));
  IS(ZB_ERR_VALUE, toSymbol(table_of_host, &value, 4, 9, ZB_TO_DEVICE));
  IS(ZB_ERR_VALUE, toSymbol(table_of_host, &value, 4, SIZE_MAX, ZB_TO_DEVICE));
  IS(ZB_ERR_VALUE, toSymbolAsync(table_of_host, &value, 13, 0, ZB_TO_DEVICE, stream[0]));
  IS(ZB_ERR_VALUE, fromSymbol(&value, table_of_host, 4, 9, ZB_TO_HOST));
  IS(ZB_ERR_DIRECTION, toSymbol(table_of_host, &value, 4, 0, ZB_TO_HOST));
  IS(ZB_ERR_DIRECTION, toSymbolAsync(table_of_host, &value, 4, 0, ZB_INFERRED, stream[0]));
  IS(ZB_ERR_DIRECTION, fromSymbol(&value, table_of_host, 4, 0, ZB_TO_DEVICE));
  IS(ZB_ERR_DIRECTION, fromSymbolAsync(&value, table_of_host, 4, 0, ZB_INFERRED, stream[0]));
  IS(DESTROYED, toSymbolAsync(table_of_host, &value, 4, 0, ZB_TO_DEVICE, none));
  IS(DESTROYED, fromSymbolAsync(&value, table_of_host, 4, 0, ZB_TO_HOST, none));
}

/* Values go there and come back, in a stream's order; each device has its own. */
static void symbols_hold(void) {
  float seen[3] = {0}, value = 8;
  void *p, *graph, *exec;
  size_t bytes;
  IS(0, fromSymbol(seen, table_of_host, 12, 0, ZB_TO_HOST));
  CHECK(seen[0] == 1.5F && seen[1] == 2.5F && seen[2] == 3.5F);
  IS(0, toSymbol(table_of_host, &value, 4, 4, ZB_TO_DEVICE));
  IS(0, symbolAddress(&p, table_of_host));
  CHECK(((float *)p)[0] == 1.5F && ((float *)p)[1] == 8);
  IS(0, symbolSize(&bytes, table_of_host));
  CHECK(bytes == 12);
  IS(0, toSymbol(table_of_host, out[0], 4, 8, ZB_DEVICE_TO_DEVICE));
  IS(0, fromSymbol(out[0], table_of_host, 4, 8, 1024)); /* hipMemcpyDeviceToDeviceNoCU */
  IS(0, setDevice(1));
  IS(0, fromSymbol(seen, table_of_host, 12, 0, ZB_TO_HOST));
  CHECK(seen[1] == 2.5F);
  IS(0, setDevice(0));
  IS(0, streamBeginCapture(stream[0], ZB_CAPTURE_THREAD)); /* its memory is made in a capture */
  IS(0, toSymbolAsync(counts_of_host, &value, 4, 8, ZB_TO_DEVICE, stream[0]));
  IS(ZB_ERR_CAPTURE, toSymbol(counts_of_host, &value, 4, 8, ZB_TO_DEVICE));
  IS(ZB_ERR_CAPTURE_INVALID, streamEndCapture(stream[0], &graph));
  IS(0, streamBeginCapture(stream[0], ZB_CAPTURE_THREAD));
  IS(0, toSymbolAsync(counts_of_host, &value, 4, 8, ZB_TO_DEVICE, stream[0]));
  IS(0, streamEndCapture(stream[0], &graph));
  IS(0, graphInstantiate(&exec, graph, 0));
  IS(0, graphLaunch(exec, stream[0]));
  IS(0, fromSymbolAsync(seen, counts_of_host, 12, 0, ZB_TO_HOST, stream[0]));
  IS(0, streamSynchronize(stream[0]));
  CHECK(seen[0] == 0 && seen[2] == 8);
  IS(0, graphExecDestroy(exec));
  IS(0, graphDestroy(graph));
  IS(0, symbolAddress(&p, table_of_host));
  IS(0, freeDevice(p)); /* as hipDeviceReset does; the next one is as at first */
  IS(0, fromSymbol(seen, table_of_host, 12, 0, ZB_TO_HOST));
  CHECK(seen[1] == 2.5F);
}

/* A kernel's version for the host sees the variables of its launch's device. */
static void kernels_see_symbols(void **module) {
  static const char known = 0;
  const zbs_dim3 one = {1, 1, 1};
  float value = 3, seen;
  int more = 4;
  void *args[] = {&more};
  registerFunction(module, &known, NULL, "_Z3addi", 0, NULL, NULL, NULL, NULL, NULL);
  IS(0, setDevice(1));
  IS(0, toSymbol(table_of_host, &value, 4, 0, ZB_TO_DEVICE));
  IS(0, launchFunction(&known, one, one, args, 0, stream[1]));
  IS(0, streamSynchronize(stream[1]));
  IS(0, fromSymbol(&seen, table_of_host, 4, 0, ZB_TO_HOST));
  CHECK(seen == 7 && *shared_of_host == 5 + 4);
  IS(0, setDevice(0));
}

static void symbols(void) {
  static code_bundle b;
  static int first = 5;
  static struct {
    uint32_t magic, version;
    void *binary, *unused;
  } wrapper = {0x48495046, 1, &b, NULL};
  char table[] = "table", counts[] = "counts";
  void **module;
  float seen = 0;
  b = make_code_bundle();
  module = registerFatBinary(&wrapper);
  registerVar(module, table_of_host, table, table, 0, 12, 0, 0);
  registerVar(module, counts_of_host, counts, counts, 0, CODE_ZEROS, 1, 0);
  registerManagedVar(module, (void **)&shared_of_host, &first, "shared", sizeof first, 4);
  CHECK(*shared_of_host == 5);
  wrong_symbols();
  symbols_hold();
  kernels_see_symbols(module);
  unregisterFatBinary(module);
  IS(ERR_SYMBOL, fromSymbol(&seen, table_of_host, 4, 0, ZB_TO_HOST));
  module = registerFatBinary("no code"); /* without a code object zeros are what it has */
  registerVar(module, table_of_host, table, table, 0, 12, 0, 0);
  IS(0, fromSymbol(&seen, table_of_host, 4, 0, ZB_TO_HOST));
  CHECK(seen == 0);
  unregisterFatBinary(module);
}
