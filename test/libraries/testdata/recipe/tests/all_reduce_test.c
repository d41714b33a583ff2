/* The test of a project that uses RCCL: an all_reduce adds up the data of all ranks, and every
 * rank checks the result. Without MPI the program drives all GPUs that it sees. With MPI each
 * process drives one GPU. With -c 0 the result is not checked, as in rccl-tests. The program
 * ignores all other arguments. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { char internal[128]; } unique_id;
int hipGetDeviceCount(int *), hipSetDevice(int), hipMalloc(void **, size_t), hipFree(void *);
int hipMemcpy(void *, const void *, size_t, int), hipStreamCreate(void **), hipStreamSynchronize(void *);
int hipGetDevice(int *);
int ncclGetUniqueId(unique_id *), ncclCommInitRank(void **, int, unique_id, int), ncclCommDestroy(void *);
int ncclAllReduce(const void *, void *, size_t, int, int, void *, void *), ncclGroupStart(void), ncclGroupEnd(void);
int hsa_init(void); /* as HIP's programs are linked */

enum { MOST = 64, COUNT = 1000, FLOAT = 7, SUM = 0, TO_DEVICE = 1, TO_HOST = 2 };

#define OK(call)                                        \
  do {                                                  \
    int code = (call);                                  \
    if (code != 0) {                                    \
      fprintf(stderr, "%s gives %d\n", #call, code);    \
      exit(2);                                          \
    }                                                   \
  } while (0)

int main(int argc, char **argv) {
  void *comm[MOST], *stream[MOST], *in[MOST], *out[MOST];
  float values[COUNT];
  int rank, size, seen, mine, all, wrong = 0, check = 1;
  unique_id id;
  for (int i = 1; i + 1 < argc; i++) {
    check = check && !(strcmp(argv[i], "-c") == 0 && strcmp(argv[i + 1], "0") == 0);
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  OK(hsa_init() == 0); /* there is no GPU to talk to */
  OK(hipGetDeviceCount(&seen));
  mine = size > 1 ? 1 : seen;
  all = size > 1 ? size : seen;
  if (rank == 0) {
    OK(ncclGetUniqueId(&id));
  }
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  OK(ncclGroupStart());
  for (int i = 0; i < mine; i++) {
    OK(hipSetDevice(size > 1 ? rank % seen : i));
    OK(ncclCommInitRank(&comm[i], all, id, rank + i));
  }
  OK(ncclGroupEnd());
  for (int i = 0; i < mine; i++) {
    OK(hipSetDevice(size > 1 ? rank % seen : i));
    OK(hipStreamCreate(&stream[i]));
    OK(hipMalloc(&in[i], sizeof values));
    OK(hipMalloc(&out[i], sizeof values));
    for (int k = 0; k < COUNT; k++) {
      values[k] = (float)(rank + i + k);
    }
    OK(hipMemcpy(in[i], values, sizeof values, TO_DEVICE));
  }
  OK(ncclGroupStart());
  for (int i = 0; i < mine; i++) {
    OK(ncclAllReduce(in[i], out[i], COUNT, FLOAT, SUM, comm[i], stream[i]));
  }
  OK(ncclGroupEnd());
  for (int i = 0; i < mine; i++) {
    OK(hipStreamSynchronize(stream[i]));
    OK(hipMemcpy(values, out[i], sizeof values, TO_HOST));
    for (int k = 0; k < COUNT && check; k++) {
      wrong += values[k] != (float)(all * (all - 1) / 2 + all * k);
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("%d ranks, %d wrong\n", all, wrong);
  }
  for (int i = 0; i < mine; i++) {
    OK(ncclCommDestroy(comm[i]));
  }
  MPI_Finalize();
  return wrong > 0;
}
