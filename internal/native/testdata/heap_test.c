/* How many heaps threads have that allocate at once: heap_test [one]. It prints the C
 * library's own description. */
#include "../c/shim.h"

#include <pthread.h>

enum { THREADS = 4 };

static pthread_barrier_t all;

static void *allocates(void *unused) {
  void *volatile block = malloc(1000);
  pthread_barrier_wait(&all);
  free(block);
  pthread_barrier_wait(&all);
  return unused;
}

int main(int argc, char **argv) {
  pthread_t thread[THREADS];
  (void)argv;
  if (argc > 1) {
    zb_one_heap();
  }
  pthread_barrier_init(&all, NULL, THREADS + 1);
  for (int i = 0; i < THREADS; i++) {
    if (pthread_create(&thread[i], NULL, allocates, NULL) != 0) {
      return 1;
    }
  }
  pthread_barrier_wait(&all);
  malloc_info(0, stdout);
  pthread_barrier_wait(&all);
  for (int i = 0; i < THREADS; i++) {
    pthread_join(thread[i], NULL);
  }
  return 0;
}
