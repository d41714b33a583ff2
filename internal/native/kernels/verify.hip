/* after: prelude.h mix.h verify_rule.h verify_value.h */
/* Fills buffers with the data of verify_rule.h, and checks results against it.
 *
 * A launch may have any grid and block; 256 threads per block are fast. The
 * blocks take tiles of ZB_ROW elements in turn, and the threads of a block
 * share a tile. No kernel waits for a thread. */

/* The data that a launch works on. Element j of REDUCED data is global element
 * base + j. Element j of COPIED data is in block b = j / block, which came from
 * rank src0 + b * step. */
struct zb_job {
  zb_u64 count, block, base, seed;
  zb_u32 source, step;
};

/* Consecutive elements from j on that have the same source and are in one row. */
struct zb_stretch {
  zb_u64 index;
  zb_u32 length, stream; /* stream of the hash: 0, or 1 + the source */
};

ZB_FN zb_stretch zb_stretch_at(zb_u64 index, zb_u64 left, zb_u32 stream) {
  return {index, zb_least(left, ZB_ROW - index % ZB_ROW), stream};
}

/* Returns the stretch at element j of a received buffer, which has many sources if the data are
 * COPIED. */
template <int LAW>
ZB_FN zb_stretch zb_stretch_of(const zb_rule &r, const zb_job &job, zb_u64 j,
                               zb_u64 left) {
  zb_u64 b, k;
  if (LAW != ZB_COPY) {
    return zb_stretch_at(job.base + j, left, 0);
  }
  b = j / job.block;
  k = j % job.block;
  return zb_stretch_at(
      job.base + k, left < job.block - k ? left : job.block - k,
      (zb_u32)((job.source + b % r.n * job.step) % r.n) + 1);
}

/* Calls work.run<type, whether floats, law>. */
template <typename T, int FLOATS, class Work>
ZB_FN void zb_by_law(const zb_rule &r, const zb_job &job, Work &work) {
  switch (r.law) {
  case ZB_WEIGHT:
    return work.template run<T, FLOATS, ZB_WEIGHT>(r, job);
  case ZB_SINGLE:
    return work.template run<T, FLOATS, ZB_SINGLE>(r, job);
  case ZB_PRODUCT:
    return work.template run<T, FLOATS, ZB_PRODUCT>(r, job);
  case ZB_EXTREME:
    return work.template run<T, FLOATS, ZB_EXTREME>(r, job);
  }
}

template <class Work>
ZB_FN void zb_by_type(const zb_rule &r, const zb_job &job, Work &work) {
  int floats = r.type.bias != 0;
  if (r.law == ZB_COPY) {
    switch (r.type.width) {
    case 8:
      return work.template run<zb_u8, 0, ZB_COPY>(r, job);
    case 16:
      return work.template run<zb_u16, 0, ZB_COPY>(r, job);
    case 32:
      return work.template run<zb_u32, 0, ZB_COPY>(r, job);
    case 64:
      return work.template run<zb_u64, 0, ZB_COPY>(r, job);
    }
  }
  switch (r.type.width + floats) {
  case 8:
    return zb_by_law<zb_u8, 0>(r, job, work);
  case 17:
    return zb_by_law<zb_u16, 1>(r, job, work);
  case 32:
    return zb_by_law<zb_u32, 0>(r, job, work);
  case 33:
    return zb_by_law<zb_u32, 1>(r, job, work);
  case 64:
    return zb_by_law<zb_u64, 0>(r, job, work);
  case 65:
    return zb_by_law<zb_u64, 1>(r, job, work);
  }
}

/* Calls work.stretch<type, whether floats, law> for all stretches of this block.
 * The threads of the block share each stretch. */
template <typename T, int FLOATS, int LAW, class Work>
ZB_FN void zb_walk(const zb_rule &r, const zb_job &job, Work &work) {
  zb_u64 step = (zb_u64)gridDim.x * ZB_ROW;
  for (zb_u64 tile = (zb_u64)blockIdx.x * ZB_ROW; tile < job.count;
       tile += step) {
    zb_u64 end = tile + zb_least(job.count - tile, ZB_ROW), j = tile;
    while (j < end) {
      zb_stretch s = work.template find<LAW>(r, job, j, end - j);
      work.template stretch<T, FLOATS, LAW>(r, job, s, j);
      j += s.length;
    }
  }
}

struct zb_filling {
  void *buf;
  zb_u32 rank;

  template <typename T, int FLOATS, int LAW>
  ZB_METHOD void run(const zb_rule &r, const zb_job &job) {
    zb_walk<T, FLOATS, LAW>(r, job, *this);
  }

  template <int LAW>
  ZB_METHOD zb_stretch find(const zb_rule &, const zb_job &job, zb_u64 j,
                            zb_u64 left) {
    return zb_stretch_at(job.base + j, left, LAW == ZB_COPY ? rank + 1 : 0);
  }

  template <typename T, int FLOATS, int LAW>
  ZB_METHOD void stretch(zb_rule r, const zb_job &job, const zb_stretch &at,
                         zb_u64 j) {
    T *__restrict__ p = (T *)buf + j;
    zb_run s = zb_run_at(r, at.index, job.seed, at.stream);
    zb_u32 n = at.length;
    zb_run_rank(&s, r, at.index, job.seed, rank);
    ZB_ROLLED
    for (zb_u32 t = ZB_LANE; t < n; t += ZB_LANES) {
      p[t] = zb_gives<T, FLOATS, LAW>(r, s, t);
    }
  }
};

struct zb_checking {
  const void *buf;
  zb_u64 wrong, lowest, seen;

  template <typename T, int FLOATS, int LAW>
  ZB_METHOD void run(const zb_rule &r, const zb_job &job) {
    zb_walk<T, FLOATS, LAW>(r, job, *this);
  }

  template <int LAW>
  ZB_METHOD zb_stretch find(const zb_rule &r, const zb_job &job, zb_u64 j,
                            zb_u64 left) {
    return zb_stretch_of<LAW>(r, job, j, left);
  }

  template <typename T, int FLOATS, int LAW>
  ZB_METHOD void stretch(zb_rule r, const zb_job &job, const zb_stretch &at,
                         zb_u64 j) {
    const T *__restrict__ p = (const T *)buf + j;
    zb_run s = zb_run_at(r, at.index, job.seed, at.stream);
    zb_u32 n = at.length, bad = 0, of = 0;
    zb_run_all(&s, r);
    ZB_ROLLED
    for (zb_u32 t = ZB_LANE; t < n; t += ZB_LANES) {
      bad += p[t] != zb_comes<T, FLOATS, LAW>(r, s, t);
      of++;
    }
    seen += of;
    if (bad == 0) {
      return;
    }
    wrong += bad;
    ZB_ROLLED
    for (zb_u32 t = ZB_LANE; t < n; t += ZB_LANES) {
      if (p[t] != zb_comes<T, FLOATS, LAW>(r, s, t)) {
        lowest = j + t < lowest ? j + t : lowest;
        return;
      }
    }
  }
};

struct zb_explaining {
  const void *buf;
  zb_u64 j;
  zb_u64 expected, got;

  template <typename T, int FLOATS, int LAW>
  ZB_METHOD void run(const zb_rule &r, const zb_job &job) {
    zb_stretch at = zb_stretch_of<LAW>(r, job, j, 1);
    zb_run s = zb_run_at(r, at.index, job.seed, at.stream);
    zb_run_all(&s, r);
    expected = zb_comes<T, FLOATS, LAW>(r, s, 0);
    got = ((const T *)buf)[j];
  }
};

/* Describes the blocks of a received buffer; step and source are taken modulo n. */
ZB_FN zb_job zb_job_of(const zb_rule &r, zb_u64 count, zb_u64 block, int src0,
                       int src_step, zb_u64 base, zb_u64 seed) {
  int n = (int)r.n;
  return {count, block, base, seed, (zb_u32)((src0 % n + n) % n),
          (zb_u32)((src_step % n + n) % n)};
}

/* Sets element i to the rank's contribution to global element base + i (kind
 * REDUCED), or to the source rank's value at index base + i (kind COPIED). If
 * there is no rule for a dtype, op or nranks, the buffer is left unchanged. */
ZB_KERNEL(zb_fill)
(void *buf, zb_u64 count, int dtype, int op, int kind, int rank, int nranks,
 zb_u64 base, zb_u64 seed) {
  zb_rule r = zb_rule_of(dtype, op, kind, nranks);
  zb_filling work = {buf, (zb_u32)rank};
  if (r.law != ZB_INVALID && rank >= 0 && rank < nranks) {
    zb_by_type(r, zb_job_of(r, count, 1, 0, 0, base, seed), work);
  }
}

/* Fills a buffer with the four bytes of the pattern, the lowest first. */
ZB_KERNEL(zb_poison)(void *buf, zb_u64 bytes, zb_u32 pattern) {
  zb_u64 at = (zb_u64)blockIdx.x * ZB_ROW, step = (zb_u64)gridDim.x * ZB_ROW;
  zb_u64 words = ((zb_u64)buf & 3) == 0 ? bytes / 4 : 0;
  zb_u32 *__restrict__ word = (zb_u32 *)buf;
  zb_u8 *__restrict__ byte = (zb_u8 *)buf;
  for (zb_u64 tile = at; tile < words; tile += step) {
    zb_u32 n = zb_least(words - tile, ZB_ROW);
    ZB_ROLLED
    for (zb_u32 t = ZB_LANE; t < n; t += ZB_LANES) {
      word[tile + t] = pattern;
    }
  }
  for (zb_u64 tile = 4 * words + at; tile < bytes; tile += step) {
    zb_u32 n = zb_least(bytes - tile, ZB_ROW);
    ZB_ROLLED
    for (zb_u32 t = ZB_LANE; t < n; t += ZB_LANES) {
      byte[tile + t] = (zb_u8)(pattern >> (8 * ((tile + t) & 3)));
    }
  }
}

/* Adds to the array `out`. The caller sets `out` to {0, ~0, 0, 0} first. out[0]
 * is the number of wrong elements. out[1] is the lowest index of a wrong
 * element. out[2] is the number of checked elements; it stays 0 if the launch
 * did not run. Elements without a rule all count as wrong. */
ZB_KERNEL(zb_check)
(const void *buf, zb_u64 count, int dtype, int op, int kind, int nranks,
 zb_u64 block, int src0, int src_step, zb_u64 base, zb_u64 seed, zb_u64 *out) {
  zb_rule r = zb_rule_of(dtype, op, kind, nranks);
  zb_checking work = {buf, 0, ~(zb_u64)0, 0};
  if (r.law == ZB_INVALID || (kind == ZB_COPIED && block == 0)) {
    if (blockIdx.x == 0 && ZB_LANE == 0) {
      ZB_ATOMIC_ADD(&out[0], count);
      ZB_ATOMIC_MIN(&out[1], (zb_u64)0);
    }
    return;
  }
  zb_by_type(r, zb_job_of(r, count, block, src0, src_step, base, seed), work);
  if (work.seen != 0) {
    ZB_ATOMIC_ADD(&out[2], work.seen);
  }
  if (work.wrong != 0) {
    ZB_ATOMIC_ADD(&out[0], work.wrong);
    ZB_ATOMIC_MIN(&out[1], work.lowest);
  }
}

/* Explains one element for a message: out[2] becomes the expected bits, and
 * out[3] becomes the actual bits. The other arguments are the same as for
 * zb_check, and out may be the array that zb_check filled. Launch one
 * thread. */
ZB_KERNEL(zb_explain)
(const void *buf, zb_u64 count, int dtype, int op, int kind, int nranks,
 zb_u64 block, int src0, int src_step, zb_u64 base, zb_u64 seed, zb_u64 index,
 zb_u64 *out) {
  zb_rule r = zb_rule_of(dtype, op, kind, nranks);
  zb_explaining work = {buf, index, 0, 0};
  if (blockIdx.x != 0 || ZB_LANE != 0 || r.law == ZB_INVALID ||
      index >= count || (kind == ZB_COPIED && block == 0)) {
    return;
  }
  zb_by_type(r, zb_job_of(r, count, block, src0, src_step, base, seed), work);
  out[2] = work.expected;
  out[3] = work.got;
}
