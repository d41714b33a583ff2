/* Arithmetic in the collectives' element types; see number.c. */
#ifndef ZBL_NUMBER_H
#define ZBL_NUMBER_H

#include "world.h"

/* The operators of ncclRedOp_t, and pre-multiplied sums that the client makes. */
enum { ZBL_SUM, ZBL_PROD, ZBL_MAX, ZBL_MIN, ZBL_AVG, ZBL_MULTIPLIED };

void zbl_accumulate(void *acc, const void *in, uint64_t n, int dtype, int op,
                    int ranks, int first, const void *scalar);
void zbl_divide(void *acc, uint64_t n, int dtype, int op, int ranks);

#endif
