/* The data of a verified collective, and the reasons for it.
 *
 * COPIED data (all_gather, broadcast, ...) is a hash of source, index and seed: any
 * finite, normal value of the type, compared bit for bit.
 *
 * REDUCED data must give one known result in any order and association. Therefore
 * every PARTIAL result must be exact in the type itself; a chain of 1,024 ones, for
 * example, stalls at 256 in bfloat16. And a wrong partner must change the result.
 * Below, p is the number of bits of the significand, n is the number of ranks, and h
 * = hash(index, seed).
 *
 * Sum. The ranks form groups of 2^k consecutive ranks, and hash(index, group) makes
 * one rank of each group its member. With k = 1 a rank contributes w*u, where w is 2
 * for a member and 1 for others, and h determines u = +-2^e. Any subset sums to j*u
 * with j <= n + n/2. One rank too many gives at most j + 2 <= 2^p, which is still
 * representable. A missing or doubled rank is therefore seen in EVERY element. A
 * rank in place of another is seen in every second element, and always if the two
 * are a pair. If n + n/2 + 2 > 2^p (bfloat16: 170 ranks or more; half: 1,365 ranks
 * or more), w is 1 or 0, and k is the smallest number with ceil(n/2^k) + 1 <= 2^p. A
 * fault is then seen in one of 2^k elements.
 *
 * Sum of integers. Integers wrap modulo 2^width, which is exact. The unit u is any
 * odd number, so that w*u is 1 or 2 modulo 4 and never 0. A rotating holder adds any
 * multiple of 4; otherwise all results would be equal where n + n/2 is a multiple of
 * a power of two.
 *
 * Avg of floats. Libraries multiply by fl(1/n) before the sum, or divide by n after
 * it. If n is a power of two, both are exact, and the rule of Sum applies. Otherwise
 * the sum of two contributions c*fl(1/n) may round, so one holder has +-2^e and all
 * others have 0; 2^e*fl(1/n) and fl(2^e/n) have the same bits. Holders rotate: within
 * a row (4,096 elements), each rank is the holder once in n elements.
 *
 * Avg of integers. They are summed, then divided. The sum must not leave the type,
 * and w must count in units of n. The rule of Sum applies with u = +-n*U as long as
 * 8*n*(n + n/2 + 2) fits. For larger n, w is 0 or 1; for still larger n, one holder
 * has n*U. All divisions are exact. If n exceeds the type (int8 from 128 ranks,
 * uint8 from 256), every true average is 0: a missing rank cannot be seen, only a
 * wrong or unwritten result.
 *
 * Prod of floats. All factors are +-2^x. A member (k = 1) changes the sign. While n
 * is small (6 ranks in half, 60 in bfloat16 and float, 900 in double) every rank has
 * 2^+-1, with the same direction within an element. One rotating holder also has
 * +-2^E. No subset leaves the normal range. A missing or doubled rank is seen in
 * every element while n is small, otherwise in every second one.
 *
 * Prod of integers. A member has the factor 3; any other rank has 1/3 modulo 2^width.
 * The holder also has any odd factor. 3^a is not 1 for small a, so a fault is always
 * seen.
 *
 * Mulsum. The library multiplies the data of each rank by the rank's own factor before
 * the sum: floats by 2 on even and by 4 on odd ranks, integers by 3 and by 9. A rank
 * therefore contributes what it would to Sum, divided by its factor, and the result is
 * that of Sum. The division is exact: it lowers the exponent of a float, and 3 has an
 * inverse modulo 2^width. A library that omits a factor, or takes another rank's, changes
 * every element whose contribution is not 0.
 *
 * Max and min. The rotating holder has the extreme, and all others have one other
 * value: half the time the extreme's neighbour in the last bit, otherwise any value.
 * A missing rank is seen where it is the holder (1 element in n). A doubled rank
 * changes no maximum.
 *
 * Swapped blocks, stale and poisoned buffers, and other operators are seen because
 * sign, exponent or value is a hash of the global index. One wrong bit is seen
 * because results are compared as bits. If one of N results is right by chance (N =
 * 32 for a sum in half), a few elements are needed to see a fault. Nothing here
 * computes in floating point: contributions and results are made as bit patterns, so
 * that no compiler flag or device mode can change them. */

enum { ZB_SUM, ZB_PROD, ZB_MAX, ZB_MIN, ZB_AVG, ZB_MULSUM };
enum { ZB_REDUCED, ZB_COPIED };
/* How contributions are made: by weights of members and others, by one holder,
 * as factors, as extremes, or as copied values. */
enum { ZB_WEIGHT, ZB_SINGLE, ZB_PRODUCT, ZB_EXTREME, ZB_COPY, ZB_INVALID };

enum { ZB_ROW = 4096, ZB_MAX_RANKS = 8192 };

/* An element type. The field `width` is in bits; `mant` and `bias` are 0 for integers. */
struct zb_type {
  int width, mant, bias, negative;
};

/* Returns a type by its ncclDataType_t; its `width` is 0 if the type is unknown. */
ZB_FN zb_type zb_type_of(int dtype) {
  switch (dtype) {
  case 0:
    return {8, 0, 0, 1};
  case 1:
    return {8, 0, 0, 0};
  case 2:
    return {32, 0, 0, 1};
  case 3:
    return {32, 0, 0, 0};
  case 4:
    return {64, 0, 0, 1};
  case 5:
    return {64, 0, 0, 0};
  case 6:
    return {16, 10, 15, 1};
  case 7:
    return {32, 23, 127, 1};
  case 8:
    return {64, 52, 1023, 1};
  case 9:
    return {16, 7, 127, 1};
  case 10:
    return {8, 3, 7, 1};
  case 11:
    return {8, 2, 15, 1};
  }
  return {0, 0, 0, 0};
}

/* Everything that follows from type, operator and n. Values are bit patterns. */
struct zb_rule {
  zb_type type;
  int law;
  zb_u32 n;
  int k;           /* groups of 2^k ranks have one member each */
  zb_u32 base;     /* weight of a rank that is no member, 0 or 1 */
  zb_u64 sign;     /* the sign bit, 0 for unsigned types */
  int low;         /* lowest exponent of a unit */
  zb_u32 spread;   /* number of possible exponents, minus 1 */
  zb_u64 one;      /* floats: the unit with exponent `low` */
  zb_u64 want;     /* sum of the weights without the member of a smaller last group */
  zb_u64 wants;    /* results without that member, and with that member; for floats times the lowest
                    * unit */
  zb_u64 mask;     /* integers: unit = ((value & mask) + add) * times */
  zb_u64 add;
  zb_u64 times;
  zb_u64 bonus;    /* integers: the holder also adds a value & bonus */
  int each;        /* prod of floats: 1 if every rank has a power of two */
  int lowest;      /* 1 if the extreme is the minimum */
  int scaled;      /* 1 if the library multiplies a rank's data by its factor */
  zb_u64 gap;      /* floats: the exponent bit that keeps values normal */
};

ZB_FN int zb_log2(zb_u64 x) {
  int l = 0;
  while (x >>= 1) {
    l++;
  }
  return l;
}

ZB_FN zb_u32 zb_least(zb_u64 a, zb_u64 b) { return (zb_u32)(a < b ? a : b); }

/* Returns the bits of x times 2^e, for an integer x below 2^(mant+1). */
ZB_FN zb_u64 zb_whole(zb_type t, zb_u64 x, int e) {
  int l = zb_log2(x);
  return ((zb_u64)(t.bias + e + l - 1) << t.mant) + (x << (t.mant - l));
}

/* Returns the bits of 1/n times 2^e, rounded to nearest even, by a long division. */
ZB_FN zb_u64 zb_inverse(zb_type t, zb_u64 n, int e) {
  int q = zb_log2(2 * n - 1);
  zb_u64 digits = 1, rest = ((zb_u64)1 << q) - n;
  for (int i = 0; i < t.mant; i++) {
    rest <<= 1;
    digits <<= 1;
    if (rest >= n) {
      rest -= n;
      digits |= 1;
    }
  }
  rest <<= 1;
  digits += rest > n || (rest == n && (digits & 1));
  return ((zb_u64)(t.bias + e - q - 1) << t.mant) + digits;
}

/* Sets the exponents: a power of two of them, within low to high. */
ZB_FN void zb_exponents(zb_rule *r, int low, int high) {
  int bits = zb_log2((zb_u64)(high - low + 1));
  r->low = low;
  r->spread = (1u << (bits < 6 ? bits : 6)) - 1;
}

/* Sets the groups so that `top` is at least any sum of weights plus one more rank. */
ZB_FN void zb_sets(zb_rule *r, zb_u64 top) {
  r->k = 1;
  r->base = r->n + (r->n + 1) / 2 + 2 <= top;
  while (!r->base && r->k < 16 && ((r->n - 1) >> r->k) + 2 > top) {
    r->k++;
  }
}

/* Returns the sum of the weights. `last` is 1 if the last group is smaller than
 * the other groups but has its member. */
ZB_FN zb_u64 zb_weights(const zb_rule *r, int last) {
  zb_u64 whole = r->n >> r->k;
  return (r->base ? r->n : 0) + whole + (last && whole << r->k != r->n);
}

ZB_FN void zb_rule_floats(zb_rule *r, int op) {
  zb_type t = r->type;
  int narrow = t.bias == 15, q = zb_log2(2 * (zb_u64)r->n - 1), low;
  int average = op == ZB_AVG, exact = !average || (r->n & (r->n - 1)) == 0;
  if (narrow) {
    zb_exponents(r, average ? q - 14 : -12, exact ? 4 : 14);
  } else {
    zb_exponents(r, -32, 31);
  }
  r->one = zb_whole(t, 1, r->low);
  if (!exact) {
    r->law = ZB_SINGLE;
    r->want = zb_inverse(t, r->n, r->low);
    return;
  }
  r->law = ZB_WEIGHT;
  zb_sets(r, (zb_u64)2 << t.mant);
  low = average ? r->low - q : r->low;
  r->want = zb_whole(t, zb_weights(r, 0), low);
  r->wants = zb_whole(t, zb_weights(r, 1), low);
}

ZB_FN void zb_rule_wrapping(zb_rule *r) {
  r->law = ZB_WEIGHT;
  r->k = 1;
  r->base = 1;
  r->mask = ~(zb_u64)1;
  r->add = 1;
  r->times = 1;
  r->bonus = ~(zb_u64)3;
  r->want = zb_weights(r, 0);
  r->wants = zb_weights(r, 1);
}

ZB_FN void zb_rule_quotients(zb_rule *r) {
  zb_u64 n = r->n, room;
  zb_u64 most = (~(zb_u64)0 >> (64 - r->type.width)) >> r->type.negative;
  /* leaves room for eight different units and one rank too many */
  zb_sets(r, most / (8 * n));
  room = most / (n * (r->base * (n + 1) + ((n - 1) >> r->k) + 2));
  r->law = ZB_WEIGHT;
  r->times = n;
  r->want = zb_weights(r, 0);
  r->wants = zb_weights(r, 1);
  if (r->want == 0 || room < 8) {
    r->law = ZB_SINGLE;
    room = most / n;
    r->want = room > 0;
    r->times = room > 0 ? n : most;
  }
  /* with only one value, every second element is 0 */
  r->add = room != 1;
  r->mask =
      room == 1 ? 1 : ((zb_u64)1 << zb_log2(zb_least(room | 1, 65536))) - 1;
}

ZB_FN void zb_rule_product(zb_rule *r) {
  zb_type t = r->type;
  zb_u32 few = t.width == 64 ? 900 : t.bias == 15 ? 6 : 60;
  r->law = ZB_PRODUCT;
  r->k = 1;
  r->each = r->n <= few;
  if (t.bias == 15) {
    zb_exponents(r, -8, 7);
  } else {
    zb_exponents(r, -32, 31);
  }
}

ZB_FN zb_rule zb_rule_of(int dtype, int op, int kind, int nranks) {
  zb_rule r = {};
  zb_type t = zb_type_of(dtype);
  r.type = t;
  r.law = ZB_INVALID;
  if (t.width == 0 || nranks < 1 || nranks > ZB_MAX_RANKS) {
    return r;
  }
  r.n = (zb_u32)nranks;
  r.k = 1;
  r.sign = t.negative ? (zb_u64)1 << (t.width - 1) : 0;
  r.scaled = op == ZB_MULSUM;
  r.gap = t.bias != 0 ? (zb_u64)1 << (t.width - 3) : 0;
  if (kind == ZB_COPIED) {
    r.law = ZB_COPY;
  } else if (kind != ZB_REDUCED || dtype > 9) {
    return r;
  } else if (op == ZB_PROD) {
    zb_rule_product(&r);
  } else if (op == ZB_MAX || op == ZB_MIN) {
    r.law = ZB_EXTREME;
    r.lowest = op == ZB_MIN;
  } else if ((op == ZB_SUM || op == ZB_MULSUM || op == ZB_AVG) && t.bias != 0) {
    zb_rule_floats(&r, op);
  } else if (op == ZB_SUM || op == ZB_MULSUM) {
    zb_rule_wrapping(&r);
  } else if (op == ZB_AVG) {
    zb_rule_quotients(&r);
  }
  return r;
}
