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
  uint64_t made, done; /* records; records that ran or were dropped with their stream */
  double at;
  zbl_stream *on; /* where it was last recorded */
  uint64_t captured; /* the capture in which it was recorded, 0 for none */
} zbl_event;

zbl_event *zbl_event_of(void *handle);
void zbl_event_drop(zbl_event *e);

#endif
