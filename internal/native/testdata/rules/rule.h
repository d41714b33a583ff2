/* Included before the loopback's sources where each of their rules can be turned off: see
 * rules_test.go. RULE_OFF names the one that is; the numbers of those that were broken are
 * appended to the file RULES_BROKEN. */
#ifndef RULE_H
#define RULE_H

#include <stdio.h>
#include <stdlib.h>

enum { RULES = 4096 };
static unsigned char rule_broken[RULES];

/* A program breaks a rule: whether that is not to be noticed. */
static inline int rule_off(int n) {
  static int off = -1;
  if (off < 0) {
    const char *text = getenv("RULE_OFF");
    off = text != NULL ? atoi(text) : RULES;
  }
  rule_broken[n] = 1;
  return n == off;
}

__attribute__((destructor)) static void rule_report(void) {
  const char *path = getenv("RULES_BROKEN");
  FILE *f = path != NULL ? fopen(path, "a") : NULL;
  for (int i = 0; f != NULL && i < RULES; i++) {
    if (rule_broken[i]) {
      fprintf(f, "%d\n", i);
    }
  }
  if (f != NULL) {
    fclose(f);
  }
}

/* An error that is returned, a condition that is refused, one that is asked for. */
#define RULE_CODE(n, code) (rule_off(n) ? 0 : (code))
#define RULE_BAD(n, what) ((what) && !rule_off(n))
#define RULE_GOOD(n, what) ((what) || rule_off(n))

#endif
