/* Device memory that other processes open (HIP's IPC). Its bytes move into the file where
 * processes meet, at the same address in its own process; another process maps that part of the
 * file. */
#ifndef ZBL_EXPORTED_H
#define ZBL_EXPORTED_H

#include "world.h"

static const uint64_t ZBL_EXPORTED = 0x6578706f72746564; /* "exported" */

/* Stands before the memory, in the arena. */
typedef struct zbl_exported {
  uint64_t magic, bytes;
  zbl_ref data; /* starts at a page */
  int users;    /* blocks of processes: the exporter's and each opened one */
} zbl_exported;

#endif
