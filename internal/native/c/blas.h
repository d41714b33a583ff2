/* The vendor's matrix product, optional and by a table of its own: rocBLAS or
 * cuBLAS. bf16 in and out, sums in float. */
#ifndef ZB_BLAS_H
#define ZB_BLAS_H

#include "abi.h"

/* A library that is open, and its handle for one stream. */
typedef struct zb_blas {
  int vendor; /* ZB_ROCM or ZB_CUDA */
  void *handle;
  int (*create)(void **handle);
  int (*destroy)(void *handle);
  int (*setStream)(void *handle, void *stream);
  void (*gemm)(void); /* of the vendor's own type */
} zb_blas;

/* C = A·Bᵀ by rows, as zb_product_*: C m x n, A m x k, B n x k, rows of so many
 * elements, batch of each one behind the other. */
typedef struct zb_gemm {
  const zb_blas *blas;
  void *c;
  const void *a, *b;
  int m, n, k, row_c, row_k, batch;
} zb_gemm;

/* Fills a table from a library; 0 and the name of what it lacks, or 1. */
int zb_blas_fill(zb_blas *blas, int vendor, void *library, const char **lacks);

/* Makes a handle on a device for a stream; 0 or the library's result. The
 * table is of the device's provider. */
int zb_blas_open(const zb_table *t, zb_blas *blas, int device, void *stream);
void zb_blas_end(zb_blas *blas);

/* The vendor's result, 0 for success. */
int zb_gemm_call(void *gemm);

#endif
