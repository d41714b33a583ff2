/* Single elements: the contribution of a rank, and the expected result. The
 * rules and their reasons are in verify_rule.h. */

/* A run of elements within one row, so that an index is first + t. It holds the
 * values that all of its elements share. */
struct zb_run {
  zb_u32 key, salt; /* key and salt of the hash */
  zb_u32 first;     /* low half of the first element's index */
  zb_u32 place;     /* a multiple of n where the rank in question is the holder */
  zb_u32 ratio;     /* ceil(2^32 / n) */
  zb_u32 group;     /* odd hash of the group in question */
  zb_u64 undo;      /* divides a contribution by the rank's factor: floats subtract it from the bits,
                     * integers multiply by it */
  zb_u32 member;    /* the group's member, or the size of a smaller last group */
};

/* Returns the run at an index. stream distinguishes the sources of copied data. */
ZB_FN zb_run zb_run_at(const zb_rule &r, zb_u64 index, zb_u64 seed,
                       zb_u32 stream) {
  zb_run s = {};
  zb_u64 key = zb_mix64(seed ^ zb_mix64((index >> 32) << 32 | stream));
  s.key = (zb_u32)key;
  s.salt = (zb_u32)(key >> 32);
  s.first = (zb_u32)index;
  s.ratio = 0xffffffffu / r.n + 1;
  return s;
}

/* Returns 1/3 modulo 2^64. Its low bits are 1/3 modulo smaller powers. */
template <typename T> ZB_FN T zb_third() {
  return (T)(zb_u64)0xaaaaaaaaaaaaaaabu;
}

/* Completes a run for a rank that contributes. Each row begins its rotation of
 * holders at another rank, so that no stride of a fault can coincide with the
 * rotation. */
ZB_FN void zb_run_rank(zb_run *s, const zb_rule &r, zb_u64 index, zb_u64 seed,
                       zb_u32 rank) {
  zb_u32 turn = (zb_u32)zb_mix64(seed ^ zb_mix64(~(index / ZB_ROW))) % r.n;
  s->place = (zb_u32)(index % ZB_ROW) + turn + r.n - rank;
  s->group = (zb_u32)zb_mix64(rank >> r.k) | 1;
  s->member = rank & ((1u << r.k) - 1);
  if (r.type.bias != 0) {
    s->undo = r.scaled ? (zb_u64)(1 + (rank & 1)) << r.type.mant : 0;
  } else {
    s->undo = !r.scaled ? 1 : rank & 1 ? zb_third<zb_u64>() * zb_third<zb_u64>() : zb_third<zb_u64>();
  }
}

/* Completes a run for the check of a result. Only the member of the last group
 * is then still unknown. */
ZB_FN void zb_run_all(zb_run *s, const zb_rule &r) {
  s->group = (zb_u32)zb_mix64(r.n >> r.k) | 1;
  s->member = r.n & ((1u << r.k) - 1);
}

/* Returns lowbias32 (Wellons 2018) with a key and a salt. It uses 32 bits and
 * no branch, so that the host's compiler can vectorise the loops. */
ZB_FN zb_u32 zb_hash(const zb_run &s, zb_u32 t) {
  zb_u32 x = (s.first + t) ^ s.key;
  x = (x ^ x >> 16) * 0x7feb352du;
  x = ((x ^ x >> 15) + s.salt) * 0x846ca68bu;
  return x ^ x >> 16;
}

/* Returns a group's member by multiply-shift hashing. Over h, the members of two groups are
 * independent. */
ZB_FN zb_u32 zb_drawn(const zb_rule &r, const zb_run &s, zb_u32 h) {
  return h * s.group >> (32 - r.k);
}

/* Reports whether n divides place + t, by a product (Lemire, Kaser & Kurz
 * 2019). This is valid while n (ZB_ROW + 2 n) < 2^32. */
ZB_FN zb_u32 zb_holds(const zb_run &s, zb_u32 t) {
  return (s.place + t) * s.ratio <= s.ratio - 1;
}

template <typename T> struct zb_bits {
  ZB_FN T spread(zb_u32 h) { return (T)h; }
  ZB_FN T times(T a, T b) { return (T)((zb_u32)a * (zb_u32)b); }
};
template <> struct zb_bits<zb_u64> {
  ZB_FN zb_u64 spread(zb_u32 h) {
    zb_u64 x = h * (zb_u64)0x9e3779b97f4a7c15u;
    return x ^ x >> 32;
  }
  ZB_FN zb_u64 times(zb_u64 a, zb_u64 b) { return a * b; }
};

/* Returns any value of the type. For floats the exponent begins with 01 or 10, so that the value is
 * normal and finite. */
template <typename T> ZB_FN T zb_any(const zb_rule &r, zb_u32 h) {
  T v = zb_bits<T>::spread(h), gap = (T)r.gap;
  return (T)((v & (T)~gap) | ((T)((T)~v >> 1) & gap));
}

/* Maps bit patterns so that they are ordered as the values are. */
template <typename T, int FLOATS> ZB_FN T zb_order(const zb_rule &r, T v) {
  T sign = (T)r.sign;
  T rest = FLOATS && (v & sign) ? (T)~sign : (T)0;
  return (T)(v ^ sign ^ rest);
}

/* Returns a second hash of an element. */
ZB_FN zb_u32 zb_again(zb_u32 h) {
  zb_u32 g = h * 0x9e3779b1u;
  return g ^ g >> 15;
}

/* Returns one of the two values of an element of max or min. */
template <typename T, int FLOATS>
ZB_FN T zb_extreme(const zb_rule &r, zb_u32 h, zb_u32 best) {
  zb_u32 g = zb_again(h);
  T a = zb_any<T>(r, h), b = zb_any<T>(r, g), u, v;
  b = g >> 31 || a == b ? (T)(a ^ 1) : b;
  u = zb_order<T, FLOATS>(r, a);
  v = zb_order<T, FLOATS>(r, b);
  return ((u > v) ^ (zb_u32)r.lowest ^ best) != 0 ? b : a;
}

/* Returns an integer's unit in sums, including its sign. */
template <typename T> ZB_FN T zb_unit(const zb_rule &r, zb_u32 h) {
  T u = (T)((zb_bits<T>::spread(h) & (T)r.mask) + (T)r.add);
  return r.sign != 0 && h >> 31 ? (T)(0 - u) : u;
}

/* Returns the holder's additional contribution to an integer sum. */
template <typename T> ZB_FN T zb_bonus(const zb_rule &r, zb_u32 h) {
  return zb_bits<T>::spread(zb_again(h)) & (T)r.bonus;
}

/* Returns +-2^e as an offset to a float's bits; the hash determines exponent and sign. */
template <typename T> ZB_FN T zb_scale(const zb_rule &r, zb_u32 h) {
  return (T)((T)(h & r.spread) << r.type.mant) + (h >> 31 ? (T)r.sign : (T)0);
}

/* Returns the bits of the float +-2^e. */
template <typename T> ZB_FN T zb_power(const zb_rule &r, zb_u32 minus, int e) {
  return (T)((T)((T)(r.type.bias + e) << r.type.mant) |
             (minus ? (T)r.sign : (T)0));
}

ZB_FN int zb_direction(zb_u32 h) { return (int)(h >> 29 & 2) - 1; }
ZB_FN int zb_exponent(const zb_rule &r, zb_u32 h) {
  return r.low + (int)(h & r.spread);
}

/* Returns the contribution of the run's rank to element t. */
template <typename T, int FLOATS, int LAW>
ZB_FN T zb_gives(const zb_rule &r, const zb_run &s, zb_u32 t) {
  zb_u32 h = zb_hash(s, t), in, holder;
  if (LAW == ZB_COPY) {
    return zb_any<T>(r, h);
  }
  in = zb_drawn(r, s, h) == s.member;
  holder = zb_holds(s, t);
  if (LAW == ZB_EXTREME) {
    return zb_extreme<T, FLOATS>(r, h, holder);
  }
  if (LAW == ZB_PRODUCT && FLOATS) {
    return zb_power<T>(r, in ^ (holder & h >> 31),
                       r.each * zb_direction(h) +
                           (int)holder * zb_exponent(r, h));
  }
  if (LAW == ZB_PRODUCT) {
    T v = in ? (T)3 : zb_third<T>();
    return holder ? zb_bits<T>::times(v, zb_bits<T>::spread(h) | 1) : v;
  }
  if (LAW == ZB_SINGLE) {
    in = holder;
  }
  if (FLOATS) {
    T v = (T)((T)r.one + zb_scale<T>(r, h) +
              (T)((T)(r.base & in) << r.type.mant) - (T)s.undo);
    return r.base | in ? v : (T)0;
  }
  T v = zb_bits<T>::times(zb_unit<T>(r, h), (T)r.times);
  v = zb_bits<T>::times(v, (T)(r.base + in));
  return zb_bits<T>::times((T)(v + (holder ? zb_bonus<T>(r, h) : (T)0)), (T)s.undo);
}

/* Returns the expected value of element t after the contributions of all ranks. */
template <typename T, int FLOATS, int LAW>
ZB_FN T zb_comes(const zb_rule &r, const zb_run &s, zb_u32 t) {
  zb_u32 h = zb_hash(s, t), last;
  if (LAW == ZB_COPY) {
    return zb_any<T>(r, h);
  }
  if (LAW == ZB_EXTREME) {
    return zb_extreme<T, FLOATS>(r, h, 1);
  }
  last = zb_drawn(r, s, h) < s.member;
  if (LAW == ZB_PRODUCT && FLOATS) {
    return zb_power<T>(r, (((r.n >> 1) + last) & 1) ^ h >> 31,
                       r.each * (int)r.n * zb_direction(h) + zb_exponent(r, h));
  }
  if (LAW == ZB_PRODUCT) {
    T v = (r.n & 1) == 0 ? (T)1 : last ? (T)3 : zb_third<T>();
    return zb_bits<T>::times(v, zb_bits<T>::spread(h) | 1);
  }
  T want = (T)(LAW == ZB_WEIGHT && last ? r.wants : r.want);
  return FLOATS ? (T)(want + zb_scale<T>(r, h))
                : (T)(zb_bits<T>::times(zb_unit<T>(r, h), want) +
                      zb_bonus<T>(r, h));
}
