/* What every kernel source starts with. For hiprtc and nvrtc it is prepended as
 * text; on the host unity.cc includes it after host.h. No #include and no name
 * without the prefix: hiprtc brings a header of its own that could clash. */
#ifndef ZB_PRELUDE_H
#define ZB_PRELUDE_H

typedef unsigned char zb_u8;
typedef unsigned short zb_u16;
typedef unsigned int zb_u32;
typedef unsigned long long zb_u64;

#ifndef ZB_HOST
#define ZB_KERNEL(name) extern "C" __global__ void name
#define ZB_FN static __device__ __forceinline__
#define ZB_METHOD __device__ __forceinline__
/* Threads are the vector: loops made into more of one spill registers. */
#if defined(__clang__)
#define ZB_ROLLED _Pragma("clang loop vectorize(disable) unroll(disable)")
#else
#define ZB_ROLLED _Pragma("unroll 1")
#endif
/* A thread's place among those that share a block's work; see host.h. */
#define ZB_LANE threadIdx.x
#define ZB_LANES blockDim.x
#define ZB_ATOMIC_ADD(p, v) atomicAdd(p, v)
#define ZB_ATOMIC_MIN(p, v) atomicMin(p, v)
#endif

#endif
