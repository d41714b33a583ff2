/* The sources whose work can be folded into plain loops. unity.cc includes this
 * file once for each variant, so it has no include guard. */
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
