#include "abi.h"
#undef ZB_REQUIRED
#undef ZB_OPTIONAL
#undef NULL
#define ZB_REQUIRED REQUIRED
#define ZB_OPTIONAL(...) OPTIONAL
#define NULL none
#define ZB_OUT(field, need, ret, args, rl, rn, cl, cn, ...) @row field need rl rn cl cn @end
#define ZB_OUT_EXPAND(...) ZB_OUT(__VA_ARGS__)
#define ZB_OUT_ROW(...) ZB_OUT_EXPAND(__VA_ARGS__)
ZB_SYMBOLS(ZB_OUT_ROW)
#define ZB_OTHER(field, ...) ZB_OUT_EXPAND(field, OPTIONAL, ret, args, __VA_ARGS__)
ZB_OTHER_NAMES(ZB_OTHER)
