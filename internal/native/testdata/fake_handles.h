/* The set of handles: however many are there and in whatever order they go, each that is
 * there is found, and none that is not. */

enum { HANDLES = 500, HANDLE_STEP = 77 }; /* the step shares no divisor with the number */

static void handles_are_found(void) {
  static const uint32_t magic = 0x68616e64;
  static uint64_t thing[HANDLES];
  int wrong = 0;
  for (int i = 0; i < HANDLES; i++) {
    memcpy(&thing[i], &magic, sizeof magic);
    zbl_add_handle(&thing[i]);
  }
  for (int gone = 0; gone < HANDLES; gone++) {
    zbl_remove_handle(&thing[gone * HANDLE_STEP % HANDLES]);
    for (int k = 0; k < HANDLES; k++) {
      void *p = &thing[k * HANDLE_STEP % HANDLES];
      wrong += zbl_behind(p, magic) != (k > gone ? p : NULL);
      wrong += zbl_behind(p, magic + 1) != NULL;
    }
  }
  CHECK(wrong == 0);
}
