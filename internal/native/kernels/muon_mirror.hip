/* after: prelude.h number.h quad.h muon_mma.h muon_out.h muon_place.h */
/* Completes a symmetric product of which another library has computed the tiles of 64 on
 * and below the diagonal:
 *
 *   zb_mirror   C = C + beta·S + shift·I, in both halves. If beta and shift are 0,
 *               only the half above the diagonal is written, and S is not used.
 *
 * C and S are m x m matrices stored by rows; each row is padded to a multiple of eight
 * elements. S is symmetric. Grid: T(T+1)/2 for T = ⌈m / 64⌉, times the batch in y.
 * Threads: 4 * zb_mma::WAVE. */

ZB_KERNEL_OF(zb_mirror, 4 * zb_mma::WAVE)
(zb_u16 *c, const zb_u16 *s, float beta, float shift, zb_u32 m) {
  typedef zb_out<64> tile;
  ZB_SHARED(zb_quad, shared, 64 * tile::QUADS);
  zb_place at = zb_in_triangle(blockIdx.x);
  zb_u64 first = (zb_u64)blockIdx.y * m * (zb_quads(m) * 8);
  zb_product_job job = {};
  job.c = job.t = c + first;
  job.s = job.c;
  job.beta = beta;
  job.m = job.n = m;
  tile out = {shared, at.i * 64, at.j * 64};
  out.read(job);
  bool sums = beta != 0 || shift != 0;
  if (sums) {
    job.s = s + first;
    out.add(job, shift);
  }
  ZB_BARRIER();
  if (sums || at.i == at.j) {
    out.write(job, at.i == at.j);
  }
  if (at.i != at.j) {
    out.transpose(job);
  }
}
