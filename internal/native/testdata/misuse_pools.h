/* Memory pools: ROCm/clr, hipamd/src/hip_mempool.cpp and hip_mempool_impl.cpp at rocm-6.2.2. */

enum { POOL_USED = 7, POOL_USED_HIGH = 8, POOL_RESERVED_HIGH = 6, POOL_THRESHOLD = 4 };

static unsigned long long pool_fact(void *pool, int about) {
  unsigned long long value = 0;
  IS(0, getPoolFact(pool, about, &value));
  return value;
}

static void pools_are_made(void) {
  struct {
    int allocation, handles, type, id;
    void *security;
    char reserved[64];
  } props = {1, 0, 1, 1, NULL, {0}};
  void *pool, *first, *p;
  IS(ZB_ERR_VALUE, createPool(NULL, &props));
  IS(ZB_ERR_VALUE, createPool(&pool, NULL));
  props.allocation = 0;
  IS(ZB_ERR_VALUE, createPool(&pool, &props));
  props.allocation = 1;
  props.type = 0;
  IS(ZB_ERR_VALUE, createPool(&pool, &props));
  props.type = 1;
  props.id = DEVICES;
  IS(ZB_ERR_VALUE, createPool(&pool, &props));
  props.id = 1;
  IS(0, createPool(&pool, &props));
  IS(ZB_ERR_VALUE, firstPool(NULL, 0));
  IS(ZB_ERR_DEVICE, firstPool(&first, -1));
  IS(ZB_ERR_DEVICE, firstPool(&first, DEVICES));
  IS(0, firstPool(&first, 1));
  IS(ZB_ERR_VALUE, getPool(NULL, 1));
  IS(ZB_ERR_VALUE, getPool(&p, DEVICES));
  IS(0, getPool(&p, 1));
  CHECK(p == first && p != pool);
  IS(ZB_ERR_VALUE, setPool(1, NULL));
  IS(ZB_ERR_VALUE, setPool(DEVICES, pool));
  IS(ZB_ERR_DEVICE, setPool(0, pool));
  IS(0, setPool(1, pool));
  IS(0, getPool(&p, 1));
  CHECK(p == pool);
  IS(0, mallocAsync(&p, 100, stream[1])); /* of the stream's device, not of the current one */
  CHECK(pool_fact(pool, POOL_USED) == 100 && pool_fact(first, POOL_USED) == 0);
  IS(ZB_ERR_VALUE, destroyPool(first));
  IS(ZB_ERR_VALUE, destroyPool(NULL));
  IS(0, destroyPool(pool)); /* its memory stays, and the device takes its first again */
  IS(ZB_ERR_VALUE, destroyPool(pool));
  IS(0, set(p, 1, 100));
  IS(0, freeAsync(p, stream[1]));
  IS(0, getPool(&p, 1));
  CHECK(p == first);
}

static void pools_count(void) {
  unsigned long long zero = 0, value = 1;
  void *pool, *p, *q;
  int flag = 0;
  IS(0, firstPool(&pool, 0));
  IS(ZB_ERR_VALUE, mallocFrom(NULL, 8, pool, stream[0]));
  IS(ZB_ERR_VALUE, mallocFrom(&p, 8, NULL, stream[0]));
  IS(ZB_ERR_HANDLE, mallocFrom(&p, 8, pool, none));
  IS(ZB_ERR_VALUE, mallocAsync(NULL, 8, stream[0]));
  IS(0, mallocFrom(&p, 0, pool, stream[0]));
  CHECK(p == NULL);
  IS(ZB_ERR_MEMORY, mallocFrom(&p, SIZE_MAX / 2, pool, stream[0]));
  IS(0, mallocFrom(&p, 64, pool, stream[0]));
  IS(0, mallocAsync(&q, 32, stream[0]));
  IS(0, freeAsync(p, stream[0]));
  CHECK(pool_fact(pool, POOL_USED) == 32 && pool_fact(pool, POOL_USED_HIGH) == 96);
  CHECK(pool_fact(pool, 5) == 32 && pool_fact(pool, POOL_RESERVED_HIGH) == 96);
  IS(0, setPoolFact(pool, POOL_USED_HIGH, &zero));
  CHECK(pool_fact(pool, POOL_USED_HIGH) == 0 && pool_fact(pool, POOL_RESERVED_HIGH) == 96);
  IS(0, setPoolFact(pool, POOL_RESERVED_HIGH, &zero));
  CHECK(pool_fact(pool, POOL_RESERVED_HIGH) == 0);
  IS(0, freeDevice(q)); /* either way */
  CHECK(pool_fact(pool, POOL_USED) == 0);
  for (int about = 5; about <= 8; about++) {
    IS(ZB_ERR_VALUE, setPoolFact(pool, about, &value));
  }
  IS(ZB_ERR_VALUE, setPoolFact(pool, 5, &zero));
  IS(ZB_ERR_VALUE, setPoolFact(pool, POOL_USED, &zero));
  for (int about = 0; about <= 9; about += 9) {
    IS(ZB_ERR_VALUE, setPoolFact(pool, about, &zero));
    IS(ZB_ERR_VALUE, getPoolFact(pool, about, &value));
  }
  IS(ZB_ERR_VALUE, setPoolFact(NULL, 1, &zero));
  IS(ZB_ERR_VALUE, setPoolFact(pool, 1, NULL));
  IS(ZB_ERR_VALUE, getPoolFact(NULL, 1, &value));
  IS(ZB_ERR_VALUE, getPoolFact(pool, 1, NULL));
  CHECK(pool_fact(pool, 2) == 1);
  IS(0, setPoolFact(pool, 2, &flag));
  CHECK(pool_fact(pool, 2) == 0 && pool_fact(pool, 3) == 1);
  IS(0, setPoolFact(pool, POOL_THRESHOLD, &value));
  CHECK(pool_fact(pool, POOL_THRESHOLD) == 1);
  IS(ZB_ERR_VALUE, trimPool(NULL, 0));
  IS(0, trimPool(pool, 0));
}

static void pools_are_reached(void) {
  struct {
    int type, id, flags;
  } list[DEVICES + 1] = {{1, 2, 3}, {1, 0, 1}};
  int at[2] = {1, 2}, access = 9;
  void *pool;
  IS(0, firstPool(&pool, 0));
  IS(ZB_ERR_VALUE, getPoolAccess(NULL, pool, at));
  IS(ZB_ERR_VALUE, getPoolAccess(&access, NULL, at));
  IS(ZB_ERR_VALUE, getPoolAccess(&access, pool, NULL));
  IS(0, getPoolAccess(&access, pool, at));
  CHECK(access == 0);
  IS(ZB_ERR_VALUE, setPoolAccess(NULL, list, 1));
  IS(ZB_ERR_VALUE, setPoolAccess(pool, NULL, 1));
  IS(ZB_ERR_DEVICE, setPoolAccess(pool, list, DEVICES + 1));
  IS(0, setPoolAccess(pool, list, 2));
  IS(0, getPoolAccess(&access, pool, at));
  CHECK(access == 3);
  at[1] = 0;
  IS(0, getPoolAccess(&access, pool, at)); /* of its own device it stays */
  CHECK(access == 3);
  at[1] = DEVICES;
  IS(ZB_ERR_VALUE, getPoolAccess(&access, pool, at));
  at[1] = 0;
  at[0] = 0;
  IS(ZB_ERR_VALUE, getPoolAccess(&access, pool, at));
  list[0].type = 0;
  IS(ZB_ERR_VALUE, setPoolAccess(pool, list, 1));
  list[0].type = 1;
  for (int flags = -1; flags <= 4; flags += 5) {
    list[0].flags = flags;
    IS(ZB_ERR_VALUE, setPoolAccess(pool, list, 1));
  }
  list[0].flags = 0;
  IS(ZB_ERR_DEVICE, setPoolAccess(pool, list, 1));
  list[0].flags = 1;
  list[0].id = DEVICES;
  IS(ZB_ERR_DEVICE, setPoolAccess(pool, list, 1));
}

static void pools(void) {
  pools_are_made();
  pools_count();
  pools_are_reached();
}
