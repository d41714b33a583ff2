/* Operators that the client makes: sums whose inputs each rank first multiplies by its own
 * scalar. An operator belongs to one communicator. */
#include "comm.h"
#include "number.h"

#include <stdlib.h>
#include <string.h>

enum { ZBL_SCALAR_DEVICE }; /* the other ncclScalarResidence_t is ZB_SCALAR_HOST */

enum { ZBL_FIRST_OPERATOR = ZBL_MULTIPLIED, ZBL_LAST_OPERATOR = INT32_MAX };

typedef struct zbl_operator {
  int number, dtype;
  const void *device; /* address from which a call reads the scalar; NULL: use value */
  uint64_t value;
  struct zbl_operator *next;
} zbl_operator;

static zbl_operator **zbl_find_operator(zbl_comm *c, int number) {
  zbl_operator **at = &c->operators;
  while (*at != NULL && (*at)->number != number) {
    at = &(*at)->next;
  }
  return at;
}

/* Returns a number that no other communicator uses. NCCL mixes the communicator's address into
 * the number (NVIDIA/nccl, src/include/comm.h, ncclUserRedOpMangle). */
static int zbl_new_number(void) {
  static int last = ZBL_FIRST_OPERATOR - 1;
  last = last < ZBL_LAST_OPERATOR - 1 ? last + 1 : ZBL_FIRST_OPERATOR;
  return last;
}

static int zbl_opCreate(int *op, void *scalar, int dtype, int residence, void *comm) {
  zbl_comm *c = zbl_comm_of(comm);
  zbl_operator *o;
  ZBL_ENTER;
  if (c == NULL || op == NULL || scalar == NULL || dtype < 0 || dtype >= ZBL_DTYPES ||
      (residence != ZBL_SCALAR_DEVICE && residence != ZB_SCALAR_HOST) ||
      (residence == ZBL_SCALAR_DEVICE && !zbl_valid_range(scalar, zbl_width(dtype)))) {
    return zbl_failing(ZB_COLL_ARGUMENT, "ncclRedOpCreatePreMulSum: invalid argument");
  }
  o = calloc(1, sizeof *o);
  ZBL_FAIL(o == NULL, ZB_COLL_UNHANDLED, "out of memory");
  *o = (zbl_operator){.number = zbl_new_number(), .dtype = dtype, .next = c->operators};
  if (residence == ZBL_SCALAR_DEVICE) {
    o->device = scalar;
  } else {
    memcpy(&o->value, scalar, zbl_width(dtype));
  }
  c->operators = o;
  *op = o->number;
  return 0;
}

static int zbl_opDestroy(int op, void *comm) {
  zbl_comm *c = zbl_comm_of(comm);
  zbl_operator **at, *o;
  ZBL_ENTER;
  at = c != NULL ? zbl_find_operator(c, op) : NULL;
  ZBL_FAIL(at == NULL || *at == NULL,
           ZB_COLL_ARGUMENT, "ncclRedOpDestroy: unknown reduction operator");
  o = *at;
  *at = o->next;
  free(o);
  return 0;
}

/* Fills in the operator of a call. Between ranks, operators made by the client match whatever their
 * numbers are. An operator's type must be the call's (NVIDIA/nccl, src/enqueue.cc,
 * hostToDevRedOp). */
int zbl_operator_ok(zbl_comm *c, int op, int dtype, int32_t *is, uint64_t *scalar) {
  const zbl_operator *o;
  *is = op;
  *scalar = 0;
  if (op >= 0 && op < ZBL_FIRST_OPERATOR) {
    return 1;
  }
  o = *zbl_find_operator(c, op);
  if (o == NULL || o->dtype != dtype) {
    return 0;
  }
  *is = ZBL_MULTIPLIED;
  memcpy(scalar, o->device != NULL ? o->device : &o->value, zbl_width(dtype));
  return 1;
}

void zbl_free_operators(zbl_comm *c) {
  while (c->operators != NULL) {
    zbl_operator *o = c->operators;
    c->operators = o->next;
    free(o);
  }
}
