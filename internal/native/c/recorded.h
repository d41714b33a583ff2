/* A table whose calls are recorded; see recorded.c. */
#ifndef ZB_RECORDED_H
#define ZB_RECORDED_H

#include "abi.h"

/* Records the calls of t from now on. Returns 0 if the compiler lacks support. A process can record
 * only one table at a time. */
int zbr_record(zb_table *t);
/* Removes the rows of t that no vendor's library has, so that t looks like a vendor's. */
void zbr_as_vendor(zb_table *t);
int zbr_count(void);
const char *zbr_at(int i);
void zbr_forget(void);

#endif
