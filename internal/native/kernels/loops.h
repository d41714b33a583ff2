/* The sources whose work folds into plain loops; unity.cc includes them for each
 * way of compiling. No guard: that is on purpose. */
#include "mix.h"
#include "verify_rule.h"
#include "verify_value.h"
#include "verify.hip"
#include "delay.hip"
#include "vector.h"
#include "reduce.h"
#include "walk.h"
#include "stream.hip"
#include "value.h"
#include "data.hip"

#undef ZB_VECTOR
#undef ZB_LOADS
