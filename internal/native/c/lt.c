/* Matrix products that a vendor's heuristics choose. */
#include "blas.h"

#include <dlfcn.h>
#include <string.h>

static const struct {
  size_t offset;
  const char *name[ZB_VENDORS];
} zb_lt_rows[] = {
#define ZB_LT_ROW(field, args, ...) {offsetof(zb_lt, field), ZB_WORDS(__VA_ARGS__)},
    ZB_LT_SYMBOLS(ZB_LT_ROW)};

static const struct {
#define ZB_LT_ROOM(name, ...) int name[ZB_VENDORS];
  ZB_LT_NUMBERS(ZB_LT_ROOM)
} zb_lt_numbers = {
#define ZB_LT_DATA(name, ...) {__VA_ARGS__},
    ZB_LT_NUMBERS(ZB_LT_DATA)};

#define ZB_LT_OF(lt, name) zb_lt_numbers.name[(lt)->vendor]

int zb_lt_fill(zb_lt *lt, int vendor, void *library, const char **lacks) {
  lt->vendor = vendor;
  for (size_t i = 0; i < sizeof zb_lt_rows / sizeof zb_lt_rows[0]; i++) {
    void *symbol = dlsym(library, zb_lt_rows[i].name[vendor]);
    if (symbol == NULL) {
      *lacks = zb_lt_rows[i].name[vendor];
      return 0;
    }
    memcpy((char *)lt + zb_lt_rows[i].offset, &symbol, sizeof symbol);
  }
  return 1;
}

int zb_lt_open(const zb_table *t, zb_lt *lt, int device) {
  int code = t->setDevice(device);
  return code == 0 ? lt->create(&lt->handle) : code;
}

void zb_lt_end(zb_lt *lt) {
  if (lt->handle != NULL) {
    lt->destroy(lt->handle);
    lt->handle = NULL;
  }
}

/* Describes a matrix that is stored by columns, and its place in a batch. */
static int zb_lt_layout(const zb_lt *lt, void **layout, int type, int64_t rows,
                        int64_t cols, int batch) {
  int64_t each = rows * cols;
  int32_t count = batch;
  int code = lt->layoutCreate(layout, type, (uint64_t)rows, (uint64_t)cols, rows);
  if (code == 0 && batch > 1) {
    code = lt->layoutSet(*layout, ZB_LT_OF(lt, LAYOUT_BATCH), &count, sizeof count);
  }
  if (code == 0 && batch > 1) {
    code = lt->layoutSet(*layout, ZB_LT_OF(lt, LAYOUT_STRIDE), &each, sizeof each);
  }
  return code;
}

static int zb_lt_turn(zb_lt_plan *p, int attribute, int turned) {
  const int32_t value = turned ? ZB_LT_OF(p->lt, T) : ZB_LT_OF(p->lt, N);
  return p->lt->descSet(p->desc, attribute, &value, sizeof value);
}

static int zb_lt_ask(zb_lt_plan *p, const zb_lt_shape *s) {
  const zb_lt *lt = p->lt;
  char answers[ZB_LT_MOST * ZB_LT_CHOICE_MOST] = {0};
  size_t bytes = (size_t)ZB_LT_OF(lt, CHOICE_BYTES);
  int found = 0;
  void *pref = NULL;
  int code = lt->prefCreate(&pref);
  if (code != 0) {
    return code;
  }
  code = lt->prefSet(pref, ZB_LT_OF(lt, PREF_WORKSPACE), &s->workspace, sizeof s->workspace);
  if (code == 0) {
    code = lt->heuristic(lt->handle, p->desc, p->a, p->b, p->c, p->c, pref,
                         s->most < ZB_LT_MOST ? s->most : ZB_LT_MOST, answers, &found);
  }
  lt->prefDestroy(pref);
  for (int i = 0; code == 0 && i < found && i < ZB_LT_MOST; i++) {
    int state;
    memcpy(&state, answers + (size_t)i * bytes + ZB_LT_OF(lt, CHOICE_STATE), sizeof state);
    if (state == 0) {
      memcpy(p->choices[p->found++], answers + (size_t)i * bytes, bytes);
    }
  }
  return code;
}

/* Describes a product. The libraries store matrices by columns, so the product is Cᵀ =
 * op(B)ᵀ·op(A)ᵀ: a matrix stored by rows is its transpose stored by columns. The library's first
 * operand is B. */
int zb_lt_make(zb_lt_plan *p, const zb_lt_shape *s) {
  const zb_lt *lt = p->lt;
  int code;
#define ZB_LT_TRY(what, does)                                                  \
  if ((code = (does)) != 0) {                                                  \
    p->call = what;                                                            \
    return code;                                                               \
  }
  ZB_LT_TRY("describe", lt->descCreate(&p->desc, ZB_LT_OF(lt, SUMS), ZB_LT_F32))
  ZB_LT_TRY("describe", zb_lt_turn(p, ZB_LT_OF(lt, DESC_A), s->turn_b))
  ZB_LT_TRY("describe", zb_lt_turn(p, ZB_LT_OF(lt, DESC_B), s->turn_a))
  ZB_LT_TRY("lay out", zb_lt_layout(lt, &p->a, s->type, s->turn_b ? s->k : s->n,
                                    s->turn_b ? s->n : s->k, s->batch))
  ZB_LT_TRY("lay out", zb_lt_layout(lt, &p->b, s->type, s->turn_a ? s->m : s->k,
                                    s->turn_a ? s->k : s->m, s->batch))
  ZB_LT_TRY("lay out", zb_lt_layout(lt, &p->c, s->out_type, s->n, s->m, s->batch))
  ZB_LT_TRY("heuristics", zb_lt_ask(p, s))
#undef ZB_LT_TRY
  return 0;
}

void zb_lt_drop(zb_lt_plan *p) {
  void **layouts[] = {&p->a, &p->b, &p->c};
  for (int i = 0; i < 3; i++) {
    if (*layouts[i] != NULL) {
      p->lt->layoutDestroy(*layouts[i]);
      *layouts[i] = NULL;
    }
  }
  if (p->desc != NULL) {
    p->lt->descDestroy(p->desc);
    p->desc = NULL;
  }
}

uint64_t zb_lt_workspace(const zb_lt_plan *p, int choice) {
  size_t bytes;
  memcpy(&bytes, p->choices[choice] + ZB_LT_OF(p->lt, CHOICE_WORKSPACE), sizeof bytes);
  return bytes;
}

int zb_lt_call(void *launch) {
  static const float one = 1, zero = 0;
  const zb_lt_launch *l = launch;
  const zb_lt_plan *p = l->plan;
  return p->lt->matmul(p->lt->handle, p->desc, &one, l->b, p->a, l->a, p->b, &zero, l->c,
                       p->c, l->c, p->c, p->choices[l->choice], l->workspace,
                       l->workspace_bytes, l->stream);
}
