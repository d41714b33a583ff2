/* The collectives of the loopback, one row each:
 *
 * ROW(NUMBER, name, field, arguments, send_all, recv_all, root_only)
 *   name       in the machine file
 *   field      field of zb_table; NULL if the collective is made of messages
 *   arguments  PLAIN, OP, ROOT or OP_ROOT; MESSAGE if the collective is made of
 *              sends and receives
 *   send_all   1 if a rank sends n blocks of count elements, one to each rank; 0
 *              if it sends one block
 *   recv_all   1 if a rank receives n blocks, one from each rank; 0 if it receives
 *              one block
 *   root_only  SENDS if only the root sends, RECEIVES if only the root receives,
 *              else NEITHER
 *
 * A row with an operator reduces over the ranks' send buffers. A row without an
 * operator copies blocks: from every rank if n blocks are received, otherwise from
 * the root. These facts determine the data that each rank receives (data.c), and
 * the number of bytes in a call (coll.c). */
#ifndef ZBL_COLLECTIVES_H
#define ZBL_COLLECTIVES_H

#define ZBL_ROWS(ROW)                                                          \
  ROW(ALL_REDUCE, "all_reduce", allReduce, OP, 0, 0, NEITHER)                  \
  ROW(REDUCE_SCATTER, "reduce_scatter", reduceScatter, OP, 1, 0, NEITHER)      \
  ROW(ALL_GATHER, "all_gather", allGather, PLAIN, 0, 1, NEITHER)               \
  ROW(BROADCAST, "broadcast", broadcast, ROOT, 0, 0, SENDS)                    \
  ROW(REDUCE, "reduce", reduce, OP_ROOT, 0, 0, RECEIVES)                       \
  ROW(ALL_TO_ALL, "all_to_all", allToAll, PLAIN, 1, 1, NEITHER)                \
  ROW(SEND_RECV, "send_recv", NULL, MESSAGE, 0, 0, NEITHER)                    \
  ROW(GATHER, "gather", gather, ROOT, 0, 1, RECEIVES)                          \
  ROW(SCATTER, "scatter", scatter, ROOT, 1, 0, SENDS)                          \
  ROW(ALL_TO_ALLV, "all_to_allv", NULL, MESSAGE, 1, 1, NEITHER)

enum zbl_collective {
#define ZBL_NUMBER(number, ...) ZBL_##number,
  ZBL_ROWS(ZBL_NUMBER)
#undef ZBL_NUMBER
  ZBL_COLLECTIVES
};

/* The collective in which a rank uses all its links at once. */
enum { ZBL_ALL_LINKS = ZBL_ALL_TO_ALL };

enum zbl_root_only { ZBL_NEITHER, ZBL_SENDS, ZBL_RECEIVES };

/* A row as data. */
typedef struct zbl_shape {
  const char *name, *field;
  int reduces, send_all, recv_all;
  enum zbl_root_only root_only;
} zbl_shape;

/* 1 if a list of arguments has an operator, else 0. */
enum { ZBL_HAS_PLAIN, ZBL_HAS_OP, ZBL_HAS_ROOT = 0, ZBL_HAS_OP_ROOT,
       ZBL_HAS_MESSAGE = 0 };

static const zbl_shape zbl_shapes[ZBL_COLLECTIVES] = {
#define ZBL_SHAPE(number, name, field, arguments, send_all, recv_all, only)    \
  {name, #field, ZBL_HAS_##arguments, send_all, recv_all, ZBL_##only},
    ZBL_ROWS(ZBL_SHAPE)
#undef ZBL_SHAPE
};

/* Defines the entry points, used in calls.c, with the arguments of the vendor's functions. */
#define ZBL_ENTRY_PLAIN(number, field)                                         \
  static int zbl_##field(const void *send, void *recv, size_t count,           \
                         int dtype, void *comm, void *stream) {                \
    return zbl_collective_call(send, recv, number, dtype, 0, 0, count, comm,   \
                               stream);                                        \
  }
#define ZBL_ENTRY_OP(number, field)                                            \
  static int zbl_##field(const void *send, void *recv, size_t count,           \
                         int dtype, int op, void *comm, void *stream) {        \
    return zbl_collective_call(send, recv, number, dtype, op, 0, count, comm,  \
                               stream);                                        \
  }
#define ZBL_ENTRY_ROOT(number, field)                                          \
  static int zbl_##field(const void *send, void *recv, size_t count,           \
                         int dtype, int root, void *comm, void *stream) {      \
    return zbl_collective_call(send, recv, number, dtype, 0, root, count,      \
                               comm, stream);                                  \
  }
#define ZBL_ENTRY_OP_ROOT(number, field)                                       \
  static int zbl_##field(const void *send, void *recv, size_t count,           \
                         int dtype, int op, int root, void *comm,              \
                         void *stream) {                                       \
    return zbl_collective_call(send, recv, number, dtype, op, root, count,     \
                               comm, stream);                                  \
  }
#define ZBL_ENTRY_MESSAGE(number, field)

#endif
