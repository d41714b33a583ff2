/* Arithmetic in the collectives' element types; see number.c. */
#ifndef ZBL_NUMBER_H
#define ZBL_NUMBER_H

#include "world.h"

void zbl_accumulate(void *acc, const void *in, uint64_t n, int dtype, int op,
                    int ranks, int first);
void zbl_divide(void *acc, uint64_t n, int dtype, int op, int ranks);

#endif
