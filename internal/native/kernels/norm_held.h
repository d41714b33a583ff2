/* The part of a row that a thread of norm.hip keeps in registers between reading and
 * writing:
 *
 *   take      r = round(x + residual), written back; returns the sum of r, or its
 *             sum of squares for RMSNorm
 *   value     an element of r
 *   give      y = round((r - mean) * scale * weight + bias)
 *
 * The next load might read the bytes that were just stored, so a compiler keeps loads
 * behind earlier stores: zb_in_turn waits for memory once per vector. zb_at_once,
 * which GPUs use, requests several vectors before it stores any. */
enum { ZB_NORM_rms, ZB_NORM_layer };
enum { ZB_BY_wave, ZB_BY_block, ZB_BY_large };

/* N neighbouring elements: 16 bytes, or one element. */
template <typename B, int N> struct alignas(N * sizeof(B)) zb_few { B at[N]; };

template <int BY> struct zb_shape {
  enum {
    THREADS = BY == ZB_BY_wave ? ZB_WAVE : BY == ZB_BY_block ? 256 : 1024,
    MOST = BY == ZB_BY_wave ? 1024 : BY == ZB_BY_block ? 8192 : 32768,
    BLOCK = BY == ZB_BY_large ? 1024 : 256
  };
};

/* zb_sharers returns how many threads share a row. zb_row_in_block returns which of
 * the block's rows a thread works on. Except for `wave`, the launch determines the
 * number. For example, each of 64 threads on a row of 2,048 elements requests four
 * vectors at once; each of 256 threads requests only one. On AMD the number must be
 * a constant for the compiler. */
template <int BY> ZB_FN zb_u32 zb_sharers() {
#if defined(ZB_AMD)
  return zb_shape<BY>::THREADS;
#else
  return BY == ZB_BY_wave ? (zb_u32)ZB_WAVE : blockDim.x;
#endif
}
template <int BY> ZB_FN zb_u32 zb_row_in_block() {
#if defined(ZB_AMD)
  return threadIdx.x / zb_shape<BY>::THREADS;
#else
  return BY == ZB_BY_wave ? threadIdx.x / ZB_WAVE : 0;
#endif
}

template <class T, int KIND, int WIDE, int BY> struct zb_in_turn {
  typedef typename T::bits bits;
  typedef zb_shape<BY> shape;
  enum {
    N = WIDE ? 16 / sizeof(bits) : 1,
    ROOM = (int)shape::MOST / ((int)shape::THREADS * N),
    HELD = WIDE || ROOM < 16 ? ROOM : 16
  };
  typedef zb_few<bits, N> few;
  zb_u64 start;
  zb_u32 lane, hidden;
  float v[HELD][N];

  ZB_METHOD zb_u32 place(int k) const {
    return ((zb_u32)k * zb_sharers<BY>() + lane) * N;
  }
  /* All of a vector's work depends on whether the vector exists, so that a wave
   * without the vector branches past it. */
  ZB_METHOD float take(bits *r_out, const bits *x, const bits *residual) {
    float sum = 0;
    ZB_UNROLLED
    for (int k = 0; k < HELD; k++) {
      zb_u32 i = place(k);
      if (i < hidden) {
        few a = *(const few *)(x + start + i);
        few b = *(const few *)(residual + start + i);
        ZB_UNROLLED
        for (int e = 0; e < N; e++) {
          a.at[e] = T::narrow(T::wide(a.at[e]) + T::wide(b.at[e]));
          v[k][e] = T::wide(a.at[e]);
          sum += KIND == ZB_NORM_layer ? v[k][e] : v[k][e] * v[k][e];
        }
        *(few *)(r_out + start + i) = a;
      }
    }
    return sum;
  }
  ZB_METHOD float value(int k, int e) const { return v[k][e]; }
  ZB_METHOD void give(bits *y, const bits *weight, const bits *bias, float mean,
                      float scale) const {
    ZB_UNROLLED
    for (int k = 0; k < HELD; k++) {
      zb_u32 i = place(k);
      if (i < hidden) {
        few w = *(const few *)(weight + i), out, b = {};
        if (KIND == ZB_NORM_layer) {
          b = *(const few *)(bias + i);
        }
        ZB_UNROLLED
        for (int e = 0; e < N; e++) {
          float f = (v[k][e] - mean) * scale * T::wide(w.at[e]);
          out.at[e] = T::narrow(f + T::wide(b.at[e]));
        }
        *(few *)(y + start + i) = out;
      }
    }
  }
};

/* 16 bytes as words. A 16-bit element by itself would occupy a whole register. */
template <class T> struct alignas(16) zb_pack {
  enum { PACK = 4 / sizeof(typename T::bits), N = 4 * PACK };
  zb_u32 w[4];

  ZB_METHOD float wide(int e) const {
    return T::wide((typename T::bits)(w[e / PACK] >> 16 * (e % PACK)));
  }
  ZB_METHOD void narrow(const float *v) {
    ZB_UNROLLED
    for (int i = 0; i < 4; i++) {
      if constexpr (PACK == 2) {
        w[i] = T::narrow2(v[2 * i], v[2 * i + 1]);
      } else {
        w[i] = T::narrow(v[i]);
      }
    }
  }
  /* Makes the compiler forget how the words were computed. It then widens them
   * again instead of keeping the floats. */
  ZB_METHOD void keep() {
#if defined(__AMDGCN__)
    asm volatile("" : "+v"(w[0]), "+v"(w[1]), "+v"(w[2]), "+v"(w[3]));
#elif !defined(ZB_HOST)
    asm volatile("" : "+r"(w[0]), "+r"(w[1]), "+r"(w[2]), "+r"(w[3]));
#endif
  }
};

/* 1 if a wave branches past a vector that none of its lanes has. AMD's launches
 * have as many threads for a short row as for a long one. */
#if defined(ZB_AMD)
enum { ZB_SKIPS = 1 };
#else
enum { ZB_SKIPS = 0 };
#endif

/* The part of a row that a thread keeps, for rows of whole vectors only. r is kept in its rounded
 * form, because that takes half the registers. */
template <class T, int KIND, int BY> struct zb_at_once {
  typedef typename T::bits bits;
  typedef zb_shape<BY> shape;
  typedef zb_pack<T> pack;
  enum {
    N = pack::N,
    HELD = (int)shape::MOST / ((int)shape::THREADS * N),
    AHEAD = HELD <= 4 || ZB_SKIPS ? HELD : 2 /* with more, r alone takes 32 registers */
  };
  zb_u64 start;
  zb_u32 lane, hidden;
  pack r[HELD];

  ZB_METHOD zb_u32 place(int k) const {
    return ((zb_u32)k * zb_sharers<BY>() + lane) * N;
  }
  ZB_METHOD void load(pack *to, const bits *from, int first) const {
    ZB_UNROLLED
    for (int k = 0; k < AHEAD; k++) {
      to[k] = pack{};
      if (place(first + k) < hidden) {
        to[k] = *(const pack *)(from + place(first + k));
      }
    }
  }
  ZB_METHOD float take(bits *r_out, const bits *x, const bits *residual) {
    pack b[AHEAD];
    float sum = 0;
    ZB_UNROLLED
    for (int k = 0; k < HELD; k++) {
      float v[N];
      if (k % AHEAD == 0) {
        load(r + k, x + start, k);
        load(b, residual + start, k);
      }
      if (ZB_SKIPS && place(k) >= hidden) {
        continue;
      }
      ZB_UNROLLED
      for (int e = 0; e < N; e++) {
        v[e] = r[k].wide(e) + b[k % AHEAD].wide(e);
      }
      r[k].narrow(v);
      ZB_UNROLLED
      for (int e = 0; e < N; e++) {
        float f = r[k].wide(e);
        sum += KIND == ZB_NORM_layer ? f : f * f;
      }
      if (place(k) < hidden) {
        *(pack *)(r_out + start + place(k)) = r[k];
      }
      r[k].keep();
    }
    return sum;
  }
  ZB_METHOD float value(int k, int e) const { return r[k].wide(e); }
  ZB_METHOD void give(bits *y, const bits *weight, const bits *bias, float mean,
                      float scale) const {
    ZB_UNROLLED
    for (int from = 0; from < HELD; from += AHEAD) {
      pack w[AHEAD], b[AHEAD] = {};
      load(w, weight, from);
      if (KIND == ZB_NORM_layer) {
        load(b, bias, from);
      }
      ZB_UNROLLED
      for (int k = 0; k < AHEAD; k++) {
        float v[N];
        if (ZB_SKIPS && place(from + k) >= hidden) {
          continue;
        }
        ZB_UNROLLED
        for (int e = 0; e < N; e++) {
          float f = (r[from + k].wide(e) - mean) * scale * w[k].wide(e);
          v[e] = f + b[k].wide(e);
        }
        w[k].narrow(v);
        if (place(from + k) < hidden) {
          *(pack *)(y + start + place(from + k)) = w[k];
        }
      }
    }
  }
};

/* Returns the sum of squares of the held elements minus the mean. */
template <class H> ZB_FN float zb_squares(const H &part, float mean) {
  float sum = 0;
  ZB_UNROLLED
  for (int k = 0; k < H::HELD; k++) {
    if (part.place(k) < part.hidden) {
      ZB_UNROLLED
      for (int e = 0; e < H::N; e++) {
        float d = part.value(k, e) - mean;
        sum += d * d;
      }
    }
  }
  return sum;
}

template <class T, int KIND, int WIDE, int BY>
struct zb_held : zb_in_turn<T, KIND, WIDE, BY> {};
#if defined(ZB_NVIDIA) || defined(ZB_AMD)
template <class T, int KIND, int BY>
struct zb_held<T, KIND, 1, BY> : zb_at_once<T, KIND, BY> {};
#endif
#if defined(ZB_NVIDIA)
/* zb_at_once would spill registers here */
template <>
struct zb_held<zb_f32, ZB_NORM_layer, 1, ZB_BY_large>
    : zb_in_turn<zb_f32, ZB_NORM_layer, 1, ZB_BY_large> {};
#endif
