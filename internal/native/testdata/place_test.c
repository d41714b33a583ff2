/* Which GPUs a process sees, by its environment: place_test prints them for a world of so
 * many ranks, or what is wrong with the environment. */
#define ZB_NAMES 0
#define ZBL_VENDOR ZB_NAMES
#include "../unity.c"

#include "../c/shared/place.c"

#include <stdio.h>

int main(int argc, char **argv) {
  zbl_share how = {0};
  const char *why = zbs_place(argc > 1 ? atoi(argv[1]) : 0, &how);
  if (why != NULL) {
    printf("refused: %s\n", why);
  } else if (how.count == 0) {
    printf("all\n");
  } else {
    printf("%d %d\n", how.first, how.count);
  }
  return 0;
}
