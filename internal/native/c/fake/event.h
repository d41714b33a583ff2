/* Events: a mark in a stream that takes the stream's time when it runs. */
#ifndef ZBL_EVENT_H
#define ZBL_EVENT_H

#include "stream.h"

enum { ZBL_EVENT = 0x65766e74 };

typedef struct zbl_event {
  uint32_t magic;
  int device;
  int pending; /* records that have not run */
  int recorded;
  int waiting; /* operations that wait for one of its records */
  int untimed; /* made without timing */
  uint64_t made, done; /* records, and those that ran or went with their stream */
  double at;
  zbl_stream *on; /* where it was recorded last */
  uint64_t captured; /* the capture that it was recorded in, 0 for none */
} zbl_event;

zbl_event *zbl_event_of(void *handle);
void zbl_event_drop(zbl_event *e);

#endif
