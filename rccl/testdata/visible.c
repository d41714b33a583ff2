/* Prints how many GPUs the process sees, and the PCI addresses of the first and the last. */
#include <stdio.h>

int hipGetDeviceCount(int *);
int hipDeviceGetPCIBusId(char *, int, int);

int main(void) {
  char first[32] = "", last[32] = "";
  int n = 0;
  if (hipGetDeviceCount(&n) != 0 || n == 0) {
    printf("none\n");
    return 0;
  }
  if (hipDeviceGetPCIBusId(first, sizeof first, 0) != 0 || hipDeviceGetPCIBusId(last, sizeof last, n - 1) != 0) {
    return 1;
  }
  printf("%d %s %s\n", n, first, last);
  return 0;
}
