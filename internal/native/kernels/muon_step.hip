/* after: prelude.h number.h quad.h muon_mma.h muon_out.h muon_tensors.h */
/* The parts of a Muon step other than the products, each in one launch for all
 * tensors (KellerJordan/Muon, muon.py):
 *
 *   zb_muon_prepare   momentum += (1 - beta)(gradient - momentum)
 *                     cast = bf16(nesterov ? gradient + beta(momentum -
 *                     gradient) : momentum), and each chunk's sum of squares
 *   zb_muon_norm      inverse[tensor] = 1 / (safety·norm of cast + epsilon)
 *   zb_muon_orient    cast *= inverse; flipped = its transpose
 *   zb_muon_apply     weight = (1 - rate·decay) weight - rate·scale·update
 *
 * A block of zb_muon_prepare or zb_muon_apply takes a chunk, a block of
 * zb_muon_norm takes a tensor, and a block of zb_muon_orient takes a tile of
 * 64 x 64. A block has 256 threads; a block of zb_muon_orient has
 * 4 * zb_mma::WAVE. */

struct zb_momentum {
  float beta;
  int nesterov;

  /* Updates the momentum. Returns the value that is orthogonalised. */
  ZB_METHOD float step(float &momentum, float gradient) const {
    momentum += (1 - beta) * (gradient - momentum);
    return nesterov ? gradient + beta * (momentum - gradient) : momentum;
  }
};

ZB_FN float zb_square_bf16(zb_u32 bits) {
  float x = zb_widen(bits);
  return x * x;
}

/* Handles eight elements from i on. Returns the sum of squares of the cast values. */
ZB_FN float zb_prepare8(zb_u8 *memory, const zb_tensor &t, zb_u32 i,
                        zb_momentum by, int bf16) {
  zb_u8 *m = memory + t.momentum + 4ull * i;
  const zb_u8 *g = memory + t.gradient;
  zb_eight gradient =
      bf16 ? zb_load_bf16(g + 2ull * i) : zb_load_float(g + 4ull * i);
  zb_eight momentum = zb_load_float(m), u;
  float sum = 0;
  ZB_UNROLLED
  for (int e = 0; e < 8; e++) {
    u.v[e] = by.step(momentum.v[e], gradient.v[e]);
  }
  zb_store_float(m, momentum);
  zb_quad q = zb_narrow8(u);
  *(zb_quad *)(memory + t.cast + 2ull * i) = q;
  ZB_UNROLLED
  for (int e = 0; e < 8; e++) {
    sum += zb_square_bf16(q.w[e / 2] >> (16 * (e % 2)) & 0xffff);
  }
  return sum;
}

/* Handles one element of a tensor whose rows do not end at a multiple of 16 bytes. */
ZB_FN float zb_prepare1(zb_u8 *memory, const zb_tensor &t, zb_u32 i,
                        zb_momentum by, int bf16) {
  const zb_u8 *g = memory + t.gradient;
  float *m = (float *)(memory + t.momentum) + i;
  float gradient = bf16 ? zb_widen(((const zb_u16 *)g)[i]) : ((const float *)g)[i];
  float momentum = *m;
  zb_u32 bits = zb_bf16::narrow(by.step(momentum, gradient));
  *m = momentum;
  ((zb_u16 *)(memory + t.cast))[zb_padded(t, i)] = (zb_u16)bits;
  return zb_square_bf16(bits);
}

ZB_KERNEL_OF(zb_muon_prepare, ZB_STEP_THREADS)
(zb_u8 *memory, const zb_tensor *tensors, zb_u32 n, float beta, int nesterov,
 int bf16, float *partial) {
  ZB_SHARED(float, shared, ZB_STEP_THREADS);
  zb_tensor t = tensors[zb_tensor_of(tensors, n, blockIdx.x, false)];
  zb_u32 count = t.rows * t.cols, from = (blockIdx.x - t.chunk) * ZB_CHUNK;
  zb_u32 end = count - from < ZB_CHUNK ? count : from + ZB_CHUNK;
  zb_momentum by = {beta, nesterov};
  float sum = 0;
  if (t.cols % 8 == 0) {
    for (zb_u32 i = from + threadIdx.x * 8; i < end; i += ZB_STEP_THREADS * 8) {
      sum += zb_prepare8(memory, t, i, by, bf16);
    }
  } else {
    for (zb_u32 i = from + threadIdx.x; i < end; i += ZB_STEP_THREADS) {
      sum += zb_prepare1(memory, t, i, by, bf16);
    }
  }
  sum = zb_block_sum(shared, sum);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
  }
}

ZB_KERNEL_OF(zb_muon_norm, ZB_STEP_THREADS)
(const zb_tensor *tensors, zb_u32 n, zb_u32 chunks, const float *partial,
 float safety, float epsilon, float *inverse) {
  ZB_SHARED(float, shared, ZB_STEP_THREADS);
  zb_u32 end = blockIdx.x + 1 < n ? tensors[blockIdx.x + 1].chunk : chunks;
  float sum = 0;
  for (zb_u32 i = tensors[blockIdx.x].chunk + threadIdx.x; i < end;
       i += ZB_STEP_THREADS) {
    sum += partial[i];
  }
  sum = zb_block_sum(shared, sum);
  if (threadIdx.x == 0) {
    inverse[blockIdx.x] = 1 / (safety * ZB_SQRT(sum) + epsilon);
  }
}

/* Reads 16 bytes of a tile, scales them, and sets the padding of the row to zero. */
ZB_FN zb_quad zb_scaled(const zb_quad *at, bool there, zb_u32 elements,
                        float by) {
  zb_eight x = zb_load_bf16((const zb_u8 *)at);
  ZB_UNROLLED
  for (zb_u32 e = 0; e < 8; e++) {
    x.v[e] = there && e < elements ? x.v[e] * by : 0;
  }
  return zb_narrow8(x);
}

ZB_KERNEL_OF(zb_muon_orient, 4 * zb_mma::WAVE)
(zb_u8 *memory, const zb_tensor *tensors, zb_u32 n, const float *inverse) {
  typedef zb_out<64> tile;
  ZB_SHARED(zb_quad, shared, 64 * tile::QUADS);
  zb_u32 which = zb_tensor_of(tensors, n, blockIdx.x, true);
  zb_tensor t = tensors[which];
  zb_u32 quads = zb_quads(t.cols), wide = (t.cols + 63) / 64;
  zb_u32 at = blockIdx.x - t.tile;
  tile out = {shared, at / wide * 64, at % wide * 64};
  zb_quad *cast = (zb_quad *)(memory + t.cast);
  float by = inverse[which];
  for (zb_u32 i = threadIdx.x; i < 64 * tile::QUADS; i += tile::THREADS) {
    zb_u32 row = out.row0 + i / tile::QUADS;
    zb_u32 quad = out.col0 / 8 + i % tile::QUADS;
    bool there = row < t.rows && quad < quads;
    zb_quad *p = cast + (there ? (zb_u64)row * quads + quad : 0);
    zb_quad q = zb_scaled(p, there, t.cols - quad * 8, by);
    if (there) {
      *p = q;
    }
    shared[tile::at(i / tile::QUADS, i % tile::QUADS)] = q;
  }
  ZB_BARRIER();
  zb_product_job job = {};
  job.t = (zb_u16 *)(memory + t.flipped);
  job.m = t.rows;
  job.n = t.cols;
  out.transpose(job);
}

ZB_KERNEL_OF(zb_muon_apply, ZB_STEP_THREADS)
(zb_u8 *memory, const zb_tensor *tensors, zb_u32 n, float rate, float decay) {
  zb_tensor t = tensors[zb_tensor_of(tensors, n, blockIdx.x, false)];
  zb_u32 count = t.rows * t.cols, from = (blockIdx.x - t.chunk) * ZB_CHUNK;
  zb_u32 end = count - from < ZB_CHUNK ? count : from + ZB_CHUNK;
  float keep = 1 - rate * decay, by = rate * t.scale;
  zb_u8 *weight = memory + t.weight;
  const zb_u8 *update = memory + t.update;
  if (t.cols % 8 != 0) {
    for (zb_u32 i = from + threadIdx.x; i < end; i += ZB_STEP_THREADS) {
      float *w = (float *)weight + i;
      zb_u32 u = ((const zb_u16 *)update)[zb_padded(t, i)];
      *w = keep * *w - by * zb_widen(u);
    }
    return;
  }
  for (zb_u32 i = from + threadIdx.x * 8; i < end; i += ZB_STEP_THREADS * 8) {
    zb_eight w = zb_load_float(weight + 4ull * i);
    zb_eight u = zb_load_bf16(update + 2ull * i);
    ZB_UNROLLED
    for (int e = 0; e < 8; e++) {
      w.v[e] = keep * w.v[e] - by * u.v[e];
    }
    zb_store_float(weight + 4ull * i, w);
  }
}
