/* A program that was linked with HSA's runtime: what UCX's rocm transport and RCCL's UnitTests
 * do with it. It prints how many GPUs it counted. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct { uint64_t handle; } hsa_agent_t;
int hsa_init(void), hsa_shut_down(void), hsa_iterate_agents(int (*)(hsa_agent_t, void *), void *);
int hsa_agent_get_info(hsa_agent_t, int, void *), hsa_status_string(int, const char **);
int hsa_amd_pointer_info(const void *, void *, void *, void *, void *);
__asm__(".symver hsa_init,hsa_init@ROCR_1");
__asm__(".symver hsa_amd_pointer_info,hsa_amd_pointer_info@ROCR_1");

enum { NAME = 0, DEVICE = 17, GPU = 1, NOT_INITIALIZED = 0x100b };

static int count(hsa_agent_t agent, void *data) {
  int device = 0;
  char name[64] = "";
  if (hsa_agent_get_info(agent, DEVICE, &device) != 0 || hsa_agent_get_info(agent, NAME, name) != 0) {
    return 1;
  }
  *(int *)data += device == GPU && strcmp(name, "gfx942") == 0;
  return 0;
}

static int stop(hsa_agent_t agent, void *data) {
  (void)agent;
  ++*(int *)data;
  return 1; /* HSA_STATUS_INFO_BREAK */
}

int main(void) {
  const char *why = NULL;
  int gpus = 0, stopped = 0, status = hsa_init();
  if (status == 0 || hsa_status_string(status, &why) != 0 || why == NULL || hsa_status_string(0, NULL) == 0) {
    return 1;
  }
  if (hsa_amd_pointer_info(&gpus, NULL, NULL, NULL, NULL) != NOT_INITIALIZED) {
    return 2;
  }
  if (hsa_iterate_agents(count, &gpus) != 0 || hsa_iterate_agents(NULL, NULL) == 0 ||
      hsa_agent_get_info((hsa_agent_t){1}, 99, &status) == 0) {
    return 3;
  }
  if (gpus > 0 && (hsa_iterate_agents(stop, &stopped) != 1 || stopped != 1)) {
    return 4;
  }
  hsa_shut_down();
  printf("%d", gpus);
  return 0;
}
