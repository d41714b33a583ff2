/* Threads for the parts of a kernel; see pool.c. */
#ifndef ZBL_POOL_H
#define ZBL_POOL_H

#include "world.h"

int zbl_cpus(void);
void zbl_pool_start(int parts);
void zbl_pool_stop(void);
int zbl_pool_parts(void);
void zbl_pool_run(void (*work)(unsigned part, unsigned parts, void **params),
                  void **params);

/* wide.c */
void zbl_wide(void (*work)(unsigned part, unsigned parts, void **params),
              void **params, uint64_t bytes);
uint64_t zbl_part_of(uint64_t n, uint64_t unit, unsigned part, unsigned parts,
                     uint64_t *first);
void zbl_huge(char *to, uint64_t bytes);
void zbl_wide_copy(char *to, const char *from, uint64_t bytes);
void zbl_wide_fill(char *to, int value, uint64_t bytes);

#endif
