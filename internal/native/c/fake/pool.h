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

#endif
