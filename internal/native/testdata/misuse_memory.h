/* Memory in rows and words, and what is asked of addresses. Files of ROCm/clr are those of
 * hipamd/src at rocm-6.2.2. */

enum { PITCH = 64, ROWS = 3, ERR_PITCH = 12 };

/* hip_memory.cpp, ihipMallocPitch and hipMemAllocPitch. */
static void rows_are_made(void) {
  void *p = out;
  size_t pitch = 0;
  IS(ZB_ERR_VALUE, mallocRows(NULL, &pitch, 5, 2));
  IS(ZB_ERR_VALUE, mallocRows(&p, NULL, 5, 2));
  IS(ZB_ERR_VALUE, mallocRows(&p, &pitch, SIZE_MAX - 3, 2));
  IS(ZB_ERR_MEMORY, mallocRows(&p, &pitch, SIZE_MAX / 2, 4));
  IS(0, mallocRows(&p, &pitch, 0, 2));
  CHECK(p == NULL);
  IS(0, mallocRows(&p, &pitch, 257, 2));
  CHECK(pitch == 512);
  IS(0, set(p, 1, 1024));
  IS(ZB_ERR_VALUE, set(p, 1, 1025));
  IS(0, freeDevice(p));
  for (unsigned element = 0; element < 20; element++) {
    int known = element == 4 || element == 8 || element == 16;
    IS(known ? 0 : ZB_ERR_VALUE, mallocRowsOf(&p, &pitch, 12, 2, element));
    IS(0, known ? freeDevice(p) : 0);
  }
  IS(ZB_ERR_VALUE, mallocRowsOf(&p, &pitch, 0, 2, 4));
  IS(ZB_ERR_VALUE, mallocRowsOf(&p, &pitch, 12, 0, 4));
}

/* hip_memory.cpp, hipMemcpy2D_common, ihipMemcpy2D and ihipMemcpyHtoDValidate. */
static void rows_are_copied(void) {
  char host[ROWS][PITCH], back[ROWS][PITCH] = {{0}};
  char *device = in[0], *other = out[1];
  for (int i = 0; i < ROWS * PITCH; i++) {
    host[i / PITCH][i % PITCH] = (char)i;
  }
  IS(ZB_ERR_DIRECTION, copyRows(device, PITCH, host, PITCH, 8, ROWS, 5));
  IS(ZB_ERR_DIRECTION, copyRowsAsync(device, PITCH, host, PITCH, 8, ROWS, -1, NULL));
  IS(ZB_ERR_DIRECTION, copyRows(device, 7, host, 7, 8, ROWS, 5)); /* before the pitch */
  IS(ZB_ERR_DIRECTION, copyRows(device, 7, host, 7, 0, ROWS, -1));
  IS(ERR_PITCH, copyRows(device, 7, host, PITCH, 8, ROWS, ZB_TO_DEVICE));
  IS(ERR_PITCH, copyRows(device, PITCH, host, 7, 8, ROWS, ZB_TO_DEVICE));
  IS(0, copyRows(device, 7, host, 7, 8, 0, ZB_TO_DEVICE)); /* nothing to copy */
  IS(0, copyRows(device, 7, host, 7, 0, ROWS, ZB_TO_DEVICE));
  IS(DESTROYED, copyRowsAsync(device, PITCH, host, PITCH, 8, ROWS, ZB_TO_DEVICE, none));
  IS(ZB_ERR_VALUE, copyRows(NULL, PITCH, host, PITCH, 8, ROWS, ZB_TO_DEVICE));
  IS(ZB_ERR_VALUE, copyRows(device, PITCH, NULL, PITCH, 8, ROWS, ZB_TO_DEVICE));
  /* the last row ends where the memory ends, and a byte later */
  IS(0, copyRows(device + SIZE - 2 * PITCH - 8, PITCH, host, PITCH, 8, ROWS, ZB_TO_DEVICE));
  IS(ZB_ERR_VALUE, copyRows(device + SIZE - 2 * PITCH - 7, PITCH, host, PITCH, 8, ROWS, ZB_TO_DEVICE));
  IS(ZB_ERR_VALUE, copyRowsAsync(host, PITCH, device, SIZE, 8, 2, ZB_TO_HOST, stream[0]));
  IS(ZB_ERR_VALUE, copyRows(device, SIZE_MAX / 2, host, PITCH, 8, 4, ZB_TO_DEVICE));
  IS(0, set(device, 9, SIZE));
  IS(0, copyRows(device + 3, 16, host, PITCH, 8, ROWS, ZB_TO_DEVICE));
  IS(0, copyRowsAsync(other, 24, device + 3, 16, 8, ROWS, ZB_DEVICE_TO_DEVICE, stream[1]));
  IS(0, streamSynchronize(stream[1]));
  IS(0, copyRows(back, PITCH, other, 24, 8, ROWS, ZB_INFERRED));
  for (int row = 0; row < ROWS; row++) {
    CHECK(memcmp(back[row], host[row], 8) == 0 && back[row][8] == 0);
  }
  IS(0, copy(back, device, 20, ZB_TO_HOST));
  CHECK(back[0][2] == 9 && back[0][3] == 0 && back[0][10] == 7 && back[0][11] == 9);
}

/* hip_memory.cpp, ihipMemset, ihipMemset3D_validate and ihipMemset3DCommand. */
static void words_are_set(void) {
  unsigned char seen[SIZE];
  char *p = in[0];
  void *host;
  IS(0, setBytes(p, 0xfe, SIZE));
  IS(0, setHalvesAsync(p + 2, 0x1234, 3, stream[0]));
  IS(0, setWordsAsync(p + 8, 0x01020304, 2, stream[0]));
  IS(0, setBytesAsync(p + 16, 5, 1, stream[0]));
  IS(0, streamSynchronize(stream[0]));
  IS(0, copy(seen, p, SIZE, ZB_TO_HOST));
  CHECK(memcmp(seen, "\xfe\xfe\x34\x12\x34\x12\x34\x12\4\3\2\1\4\3\2\1\5\xfe", 18) == 0 && seen[SIZE - 1] == 0xfe);
  IS(0, setHalves(p, 0x0605, SIZE / 2));
  IS(0, setWords(p + 4, -2, 1));
  IS(0, setRows(p + 16, 8, 3, 4, 2));
  IS(0, setRowsAsync(p + 32, 4, 4, 4, 2, stream[0]));
  IS(0, streamSynchronize(stream[0]));
  IS(0, copy(seen, p, SIZE, ZB_TO_HOST));
  CHECK(memcmp(seen, "\5\6\5\6\xfe\xff\xff\xff\5\6\5\6\5\6\5\6\3\3\3\3\5\6\5\6\3\3\3\3\5\6\5\6\4\4\4\4\4\4\4\4\5", 41) == 0);
  IS(ZB_ERR_VALUE, setBytes(p, 1, SIZE + 1));
  IS(ZB_ERR_VALUE, setHalves(p, 1, SIZE / 2 + 1));
  IS(ZB_ERR_VALUE, setWordsAsync(p, 1, SIZE / 4 + 1, stream[0]));
  IS(ZB_ERR_VALUE, setRows(p, 8, 1, 9, 2)); /* rows overlap */
  IS(0, setRows(p, 0, 1, 9, 1));
  IS(ZB_ERR_VALUE, setRows(p, SIZE, 1, 1, 2));
  IS(0, setRows(p, SIZE - 1, 1, 1, 2));
  IS(0, setRows(NULL, 8, 1, 0, 2));
  IS(0, setRows(NULL, 8, 1, 8, 0));
  IS(ZB_ERR_VALUE, setRowsAsync(plain, 8, 1, 8, 2, stream[0]));
  IS(0, hostMalloc(&host, 8, 0));
  IS(0, setWords(host, 7, 2)); /* and has waited for it */
  CHECK(((int *)host)[1] == 7);
  IS(0, hostFree(host));
}

/* hip_memory.cpp, ihipPointerGetAttributes; 17 attributes of hip_runtime_api.h. */
static void addresses_are_asked(void) {
  static const int unsupported[] = {1, 5, 10, 14, 15, 17};
  int fact[] = {2, 9, 12}, device = 7;
  unsigned type = 9, bytes = 9;
  void *answers[] = {&type, &device, &bytes}, *p = NULL, *managed;
  char data[8], yes = 0;
  IS(ZB_ERR_VALUE, pointerAttribute(NULL, 2, in[0]));
  IS(ZB_ERR_VALUE, pointerAttribute(&type, 2, NULL));
  IS(ZB_ERR_VALUE, pointerAttribute(data, 0, in[0]));
  IS(ZB_ERR_VALUE, pointerAttribute(data, 18, in[0]));
  for (int i = 0; i < 6; i++) {
    IS(ZB_ERR_NOT_SUPPORTED, pointerAttribute(data, unsupported[i], in[0]));
  }
  IS(0, pointerFacts(3, fact, answers, in[3] + 5));
  CHECK(type == 2 && device == 3 && bytes == SIZE);
  IS(0, pointerFacts(3, fact, answers, plain)); /* none is known, which is no error */
  CHECK(type == 0 && device == -2 && bytes == 0);
  IS(ZB_ERR_VALUE, pointerFacts(0, fact, answers, in[0]));
  IS(ZB_ERR_VALUE, pointerFacts(3, NULL, answers, in[0]));
  IS(ZB_ERR_VALUE, pointerFacts(3, fact, NULL, in[0]));
  IS(ZB_ERR_VALUE, pointerFacts(3, fact, answers, NULL));
  for (int known = 2; known <= 13; known++) {
    if (known != 5 && known != 10) {
      IS(ZB_ERR_VALUE, pointerAttribute(data, known, plain));
    }
  }
  IS(0, pointerAttribute(data, 16, plain)); /* of the flags alone it is none */
  IS(0, pointerAttribute(&p, 3, in[0] + 5));
  CHECK(p == in[0] + 5);
  IS(ZB_ERR_VALUE, pointerAttribute(&p, 4, in[0] + 5)); /* the host does not reach it */
  CHECK(p == NULL);
  IS(0, pointerAttribute(&p, 11, in[0] + 5));
  CHECK(p == in[0]);
  IS(0, pointerAttribute(&bytes, 7, in[0]));
  IS(0, pointerAttribute(&type, 7, in[1]));
  CHECK(bytes != type);
  IS(0, pointerAttribute(&yes, 13, in[0]));
  CHECK(yes == 1);
  IS(0, pointerAttribute(&yes, 6, in[0]));
  CHECK(yes == 0);
  IS(0, mallocManaged(&managed, 64, 2));
  IS(0, pointerAttribute(&yes, 8, managed));
  IS(0, pointerAttribute(&p, 4, managed));
  IS(0, pointerAttribute(&type, 16, managed));
  CHECK(yes == 1 && p == managed && type == 2);
  IS(0, freeDevice(managed));
}

/* hip_memory.cpp, hipHostGetFlags and hipMemPtrGetInfo. */
static void flags_of_memory(void) {
  static char own[64];
  unsigned flags = 9;
  size_t bytes;
  void *p;
  IS(0, hostMalloc(&p, 64, 3));
  IS(ZB_ERR_VALUE, hostFlags(NULL, p));
  IS(ZB_ERR_VALUE, hostFlags(&flags, NULL));
  IS(ZB_ERR_VALUE, hostFlags(&flags, plain));
  IS(ZB_ERR_VALUE, hostFlags(&flags, in[0]));
  IS(0, hostFlags(&flags, (char *)p + 1));
  CHECK(flags == 3);
  IS(0, hostRegister(own, sizeof own, 1));
  IS(ZB_ERR_VALUE, hostFlags(&flags, own));
  IS(0, hostUnregister(own));
  IS(ZB_ERR_VALUE, pointerBytes(p, NULL));
  IS(ZB_ERR_VALUE, pointerBytes(plain, &bytes));
  IS(0, pointerBytes((char *)p + 1, &bytes));
  CHECK(bytes == 64);
  IS(0, hostFree(p));
}

static void memory_of_programs(void) {
  rows_are_made();
  rows_are_copied();
  words_are_set();
  addresses_are_asked();
  flags_of_memory();
}
