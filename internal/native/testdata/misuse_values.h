/* Streams that wait for values and write them. Files of ROCm/clr are those of hipamd/src at
 * rocm-6.2.2; conditions are those of hip_runtime_api.h. */

enum { AT_LEAST, EQUAL, AND, NOR, ALL = 0xffffffff };

/* hip_stream_ops.cpp, ihipStreamOperation. */
static void wrong_values(char *at) {
  IS(ZB_ERR_VALUE, waitValue32(stream[0], NULL, 1, AT_LEAST, ALL));
  IS(DESTROYED, waitValue32(none, at, 1, AT_LEAST, ALL));
  IS(DESTROYED, writeValue64(none, at, 1, 0));
  IS(ZB_ERR_VALUE, waitValue32(stream[0], plain, 1, AT_LEAST, ALL));
  IS(ZB_ERR_VALUE, writeValue32(stream[0], plain, 1, 0));
  IS(ZB_ERR_VALUE, writeValue32(stream[0], at + 2, 1, 0));
  IS(ZB_ERR_VALUE, writeValue64(stream[0], at + SIZE, 1, 0));
  IS(ZB_ERR_VALUE, waitValue32(stream[0], at, 1, NOR + 1, ALL));
  IS(ZB_ERR_VALUE, waitValue64(stream[0], at, 1, 0x80000001, ALL));
}

/* Whether a stream waits: by an event, for a query of the stream takes a while where nobody
 * acts. */
static int is_waiting(void *s) {
  void *e;
  int code;
  IS(0, eventCreate(&e));
  IS(0, eventRecord(e, s));
  code = eventQuery(e);
  IS(0, eventDestroy(e));
  return code == ZB_ERR_NOT_READY;
}

/* Each condition waits while it does not hold, and no longer. */
static void conditions(char *at) {
  static const struct {
    uint64_t before, after, value, mask;
    unsigned until;
    int wide;
  } turns[] = {{4, 5, 5, ALL, AT_LEAST, 0},
               {4, 6, 5, ALL, AT_LEAST, 0},
               {6, 5, 5, ALL, EQUAL, 0},
               {4, 0x85, 5, 0xf, EQUAL, 0},
               {0xf0, 0xf1, 1, ALL, AND, 0},
               {0xf0, 0xe0, 0x0f, 0xff, NOR, 0},
               {5, 5ull << 32 | 5, 5ull << 32, UINT64_MAX, AT_LEAST, 1},
               {5ull << 32, 5ull << 32 | 7, 7, ALL, EQUAL, 1}};
  for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++) {
    uint64_t value = turns[i].value, mask = turns[i].mask;
    for (int late = 0; late < 2; late++) { /* the value comes later, or is there */
      IS(0, writeValue64(stream[1], at, late ? turns[i].before : turns[i].after, 0));
      IS(0, turns[i].wide ? waitValue64(stream[0], at, value, turns[i].until, mask)
                          : waitValue32(stream[0], at, (uint32_t)value, turns[i].until, (uint32_t)mask));
      CHECK(is_waiting(stream[0]) == late);
      IS(0, late ? writeValue64(stream[1], at, turns[i].after, 0) : 0);
      IS(0, streamSynchronize(stream[0]));
    }
  }
  IS(0, writeValue64(stream[1], at, UINT64_MAX, 0));
  IS(0, writeValue32(stream[1], at, 1, 0)); /* half of it */
  IS(0, streamSynchronize(stream[1]));
  CHECK(*(uint64_t *)(void *)at == (UINT64_MAX << 32 | 1));
}

/* The wait takes until the other stream's write, on the model's clock, whichever was called
 * first. */
static void waits_take_time(char *at) {
  enum { LAUNCHES = 20 };
  static const char known = 0;
  const zbs_dim3 one = {1, 1, 1};
  float *to = (float *)(void *)in[0], value = 1, ms = 0;
  int n = 1;
  void *args[] = {&to, &value, &n}, **module = registerFatBinary("no code"), *s, *begin, *end;
  registerFunction(module, &known, NULL, "_Z4fillPffi", 0, NULL, NULL, NULL, NULL, NULL);
  IS(0, streamCreate(&s, ZB_STREAM_NON_BLOCKING));
  IS(0, eventCreate(&begin));
  IS(0, eventCreate(&end));
  for (int first = 0; first < 2; first++) {
    IS(0, writeValue32(s, at, 0, 0));
    IS(0, streamSynchronize(s));
    IS(0, eventRecord(begin, stream[0]));
    IS(0, first ? waitValue32(stream[0], at, 1, EQUAL, ALL) : 0);
    IS(0, first ? eventRecord(end, stream[0]) : 0); /* before the host has come to the launches */
    for (int i = 0; i < LAUNCHES; i++) {
      IS(0, launchFunction(&known, one, one, args, 0, s));
    }
    IS(0, writeValue32(s, at, 1, 0));
    IS(0, first ? 0 : waitValue32(stream[0], at, 1, EQUAL, ALL));
    IS(0, first ? 0 : eventRecord(end, stream[0]));
    IS(0, streamSynchronize(stream[0]));
    IS(0, eventElapsed(&ms, begin, end));
    CHECK(ms >= LAUNCHES * 0.005F); /* a small kernel's time */
  }
  IS(0, waitValue32(s, at, 7, EQUAL, ALL));
  CHECK(is_waiting(s));
  IS(0, streamDestroy(s)); /* with what it waits for */
  IS(0, eventDestroy(begin));
  IS(0, eventDestroy(end));
  unregisterFatBinary(module);
}

/* The host may write the value, without a call. */
static void host_writes(char *at) {
  IS(0, writeValue32(stream[0], at, 0, 0));
  IS(0, waitValue32(stream[0], at, 9, EQUAL, ALL));
  CHECK(is_waiting(stream[0]));
  __atomic_store_n((uint32_t *)(void *)at, 9, __ATOMIC_RELEASE);
  IS(0, streamSynchronize(stream[0]));
}

static void values(void) {
  char *at = out[0];
  wrong_values(at);
  conditions(at);
  waits_take_time(at);
  host_writes(at);
}
