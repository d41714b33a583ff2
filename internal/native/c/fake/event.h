/* Events. An event is a mark in a stream; when the mark runs, the event gets the stream's time. */
#ifndef ZBL_EVENT_H
#define ZBL_EVENT_H

#include "stream.h"

enum { ZBL_EVENT = 0x65766e74 };

typedef struct zbl_event {
  uint32_t magic;
  int device;
  int pending; /* number of records that have not run */
  int recorded;
  int waiting; /* number of operations that wait for a record of the event */
  int untimed; /* 1 if the event was made without timing */
  uint64_t made, done; /* made: number of records; done: number of records that ran or were dropped
                        * with their stream */
  double at;
  zbl_stream *on; /* the stream of the last record */
  uint64_t captured; /* the capture that contains the last record, 0 for none */
} zbl_event;

zbl_event *zbl_event_of(void *handle);
void zbl_event_drop(zbl_event *e);

#endif
