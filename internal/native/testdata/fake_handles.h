/* The handles: however many are there and in whatever order they go and come back, each
 * that is there is found by its kind, and no other address is. */

enum {
  HANDLES = 100003, /* of more chunks than there is room for at first */
  HANDLE_STEP = 77, /* shares no divisor with the number */
  HANDLE_BYTES = 150 /* three lines */
};

static const uint32_t handle_magic = 0x68616e64;

/* How many handles are found that are none, or the other way round, where the first
 * so many by steps have gone. */
static int handles_wrong(uint32_t *const *thing, int gone) {
  int wrong = 0;
  for (int k = 0; k < HANDLES; k++) {
    uint32_t *p = thing[k * HANDLE_STEP % HANDLES];
    wrong += zbl_behind(p, handle_magic) != (k >= gone ? p : NULL);
    wrong += zbl_behind(p, handle_magic + 1) != NULL;
    wrong += zbl_behind(p + 2, handle_magic) != NULL;
  }
  return wrong;
}

/* Addresses that no handle has, before any was found and after the world has ended. */
static void no_handle_is_found(void) {
  CHECK(zbl_behind(NULL, handle_magic) == NULL);
  CHECK(zbl_behind((void *)64, handle_magic) == NULL);
  CHECK(zbl_behind((void *)4096, handle_magic) == NULL);
}

/* A world ends with its handles, and the next one has its own. */
static void handles_end(void) {
  for (int world = 0; world < 3; world++) {
    uint32_t *p;
    no_handle_is_found();
    p = zbl_new_handle(HANDLE_BYTES);
    CHECK(p != NULL);
    *p = handle_magic;
    CHECK(zbl_behind(p, handle_magic) == p);
    no_handle_is_found();
    zbl_forget_handles();
    CHECK(zbl_behind(p, handle_magic) == NULL);
  }
}

static void handles_are_found(void) {
  static uint32_t *thing[HANDLES], *again[HANDLES];
  uint32_t beside[64] = {handle_magic, handle_magic};
  int wrong = 0;
  for (int i = 0; i < HANDLES; i++) {
    thing[i] = zbl_new_handle(HANDLE_BYTES);
    CHECK(thing[i] != NULL && zbl_behind(thing[i], handle_magic) == NULL); /* not yet */
    thing[i][0] = thing[i][2] = handle_magic;
  }
  CHECK(handles_wrong(thing, 0) == 0);
  CHECK(zbl_behind(NULL, handle_magic) == NULL);
  for (size_t i = 0; i < 64; i++) {
    wrong += zbl_behind(beside + i, handle_magic) != NULL;
  }
  CHECK(wrong == 0);
  for (int gone = 0; gone < HANDLES; gone++) {
    zbl_free_handle(thing[gone * HANDLE_STEP % HANDLES]);
    wrong += gone % 10000 == 0 ? handles_wrong(thing, gone + 1) : 0;
  }
  CHECK(wrong == 0);
  for (int i = 0; i < HANDLES; i++) { /* the last that went comes first, of zeros */
    again[i] = zbl_new_handle(HANDLE_BYTES);
    wrong += again[i] != thing[(HANDLES - 1 - i) * HANDLE_STEP % HANDLES];
    wrong += again[i][0] != 0 || again[i][2] != 0 || zbl_behind(again[i], 0) != again[i];
  }
  CHECK(wrong == 0);
  for (int i = 0; i < HANDLES; i++) {
    zbl_free_handle(again[i]);
  }
}
