/* Opens libraries in a child process first; see trial.c. */
#ifndef ZB_TRIAL_H
#define ZB_TRIAL_H

#include <stddef.h>

typedef struct zb_trial zb_trial;

/* The results of zb_trial_wait. */
enum {
  ZB_TRIAL_NOTHING = 0,  /* no answer yet */
  ZB_TRIAL_OPENED = 1,   /* the child returned from opening the file, with or without a library */
  ZB_TRIAL_ENDED = 2,    /* the child ended, or closed its link */
  ZB_TRIAL_FLOODED = 3   /* the child printed more than ZB_TRIAL_PRINTED bytes */
};

enum { ZB_TRIAL_PRINTED = 1 << 20, ZB_TRIAL_WORDS = 512 };

zb_trial *zb_trial_start(void);
int zb_trial_ask(zb_trial *t, const char *path);
int zb_trial_wait(zb_trial *t, int ms);
int zb_trial_end(zb_trial *t, int patience_ms, char *words, size_t len);

#endif
