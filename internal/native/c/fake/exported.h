/* Device memory that other processes open (HIP's IPC). Exporting moves the bytes into the file
 * where processes meet; in the exporting process their address stays the same. Another process
 * maps that part of the file. */
#ifndef ZBL_EXPORTED_H
#define ZBL_EXPORTED_H

#include "world.h"

static const uint64_t ZBL_EXPORTED = 0x6578706f72746564; /* the letters "exported" */

/* The header of exported memory. It lies before the memory, in the arena. */
typedef struct zbl_exported {
  uint64_t magic, bytes;
  zbl_ref data; /* begins at a page boundary */
  int users;    /* number of processes' blocks: the exporter's, and one per opening */
} zbl_exported;

#endif
