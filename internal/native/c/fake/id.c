/* Unique ids, and the cliques of ranks that share an id. */
#include "comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reports whether the text has a host and a port, as HOST:PORT or [IPv6]:PORT
 * (NVIDIA/nccl, src/misc/socket.cc, ncclSocketGetAddrFromString). */
static int zbl_address_ok(const char *text) {
  char digit[2];
  return sscanf(text, *text == '[' ? "[%*[^]]]:%1[1-9]" : "%*[^:]:%1[1-9]", digit) == 1;
}

/* Makes a unique id. NCCL_COMM_ID names the address where rank 0 listens. If it is set, every id
 * is that address, so that ranks that each make their own id get the same one (NVIDIA/nccl at
 * v2.22.3, src/bootstrap.cc, bootstrapGetUniqueId). zbench distributes its ids itself and ignores
 * the variable, because it makes many communicators. */
static int zbl_getUniqueId(zb_unique_id *id) {
  const char *address = zbl.waits ? getenv("NCCL_COMM_ID") : NULL;
  ZBL_ENTER;
  if (id == NULL) {
    return ZB_COLL_ARGUMENT;
  }
  ZBL_FAIL(zbl.count <= 0, ZB_COLL_UNHANDLED, "there is no device");
  memset(id, 0, sizeof *id);
  if (address == NULL) {
    snprintf(id->internal, sizeof id->internal, "zbl %llu", (unsigned long long)++zbl.hub->ids);
    return 0;
  }
  ZBL_FAIL(!zbl_address_ok(address),
           ZB_COLL_ARGUMENT, "NCCL_COMM_ID is not HOST:PORT or [IPv6]:PORT");
  snprintf(id->internal, sizeof id->internal, "zbl @%s", address);
  return 0;
}

/* Reports whether ranks with the id join this clique. An id that is an address can be used
 * again after all ranks have joined, because rank 0 then listens there again (ROCm/rccl at
 * rocm-6.2.2, src/init.cc, ncclCommInitRankDev). */
static int zbl_is_of(const zbl_clique *q, const zb_unique_id *id) {
  return memcmp(&q->id, id, sizeof *id) == 0 &&
         (q->inited < q->nranks || id->internal[4] != '@');
}

/* Reports whether a thread sleeps on one of the clique's bells. */
static int zbl_is_watched(const zbl_clique *q) {
  uint32_t waiting = q->whole.waiting;
  for (int i = 0; i < ZBL_BELLS; i++) {
    waiting += q->bell[i].waiting;
  }
  return waiting > 0;
}

/* Reports whether the clique is no longer needed and this process may free it. If one process
 * drove all ranks of the clique, only that process may free it, because the process also has
 * the ranks' data. */
static int zbl_is_over(const zbl_clique *q) {
  return q->users == 0 && q->inited == q->nranks && q->splits == 0 &&
         (q->slot < 0 || q->slot == zbl.slot) && !zbl_is_watched(q);
}

/* Frees cliques that all ranks have left. They are not freed when the last rank leaves,
 * because a woken host may still look at a bell in the clique. */
static void zbl_free_cliques(void) {
  for (zbl_ref *at = &zbl.hub->cliques; *at != 0;) {
    zbl_clique *q = zbl_at(*at);
    if (!zbl_is_over(q)) {
      at = &q->next;
      continue;
    }
    *at = q->next;
    zbl_free_rounds(q);
    for (int i = 0; i < q->nranks; i++) {
      zbl_free_unmatched(&q->member[i].unmatched);
    }
    zbl_drop(q);
  }
}

/* Returns the clique of an id. Returns NULL if the id was never handed out, is used up, or comes
 * with another number of ranks. */
zbl_clique *zbl_clique_for(const zb_unique_id *id, int nranks) {
  zbl_clique *q;
  size_t bytes;
  if (strncmp(id->internal, "zbl ", 4) != 0) {
    return NULL;
  }
  zbl_retire_comms(); /* the first caller retires the communicators of its process; a process that
                       * never calls keeps them */
  for (q = zbl_at(zbl.hub->cliques); q != NULL; q = zbl_at(q->next)) {
    if (zbl_is_of(q, id)) {
      return q->nranks == nranks && q->inited < nranks ? q : NULL;
    }
  }
  zbl_free_cliques();
  bytes = sizeof *q + (size_t)nranks * sizeof q->member[0];
  q = zbl_new(bytes);
  memset(q, 0, bytes);
  q->nranks = nranks;
  q->first = zbl.ranks;
  q->id = *id;
  q->next = zbl.hub->cliques;
  zbl.hub->cliques = zbl_ref_of(q);
  return q;
}
