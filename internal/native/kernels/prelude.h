/* The beginning of every kernel source. For hiprtc and nvrtc it is prepended as
 * text; on the host unity.cc includes it after host.h. It has no #include, and all
 * names have the prefix, because hiprtc adds a header of its own whose names could
 * clash.
 *
 *   ZB_KERNEL(name)(...)            a kernel; ZB_KERNEL_OF(name, most) also gives
 *                                   the most threads per block
 *   ZB_WAVE                         threads in a wave: 64 on AMD, 32 on NVIDIA
 *   ZB_SHARED(type, name, n)        an array that the block shares, undefined at
 *                                   first; at most 64 KiB for all arrays
 *   ZB_SHARED_AT_LAUNCH(type, name) the bytes that the launch requested
 *   ZB_BARRIER()                    all threads of the block call it, or none
 *   ZB_SHFL_XOR(v, mask)            the value of v in the lane whose number is
 *                                   this lane's xor mask; all lanes call it
 *
 * Grids and blocks have up to three dimensions. */
#ifndef ZB_PRELUDE_H
#define ZB_PRELUDE_H

typedef unsigned char zb_u8;
typedef unsigned short zb_u16;
typedef unsigned int zb_u32;
typedef unsigned long long zb_u64;

#ifndef ZB_HOST
#define ZB_KERNEL(name) extern "C" __global__ void name
#define ZB_KERNEL_OF(name, most)                                               \
  extern "C" __global__ __launch_bounds__(most) void name
#define ZB_FN static __device__ __forceinline__
#define ZB_APART ZB_FN
#define ZB_METHOD __device__ __forceinline__
/* The threads of a wave already work like the elements of a vector. Loops that a compiler
 * vectorises or unrolls further spill registers. */
#if defined(__clang__)
#define ZB_ROLLED _Pragma("clang loop vectorize(disable) unroll(disable)")
#else
#define ZB_ROLLED _Pragma("unroll 1")
#endif
#define ZB_UNROLLED _Pragma("unroll")
/* A thread's place among the threads that share a block's work; see host.h. */
#define ZB_LANE threadIdx.x
#define ZB_LANES blockDim.x
#define ZB_ATOMIC_ADD(p, v) atomicAdd(p, v)
#define ZB_ATOMIC_MIN(p, v) atomicMin(p, v)

#define ZB_BARRIER() __syncthreads()
#define ZB_SHARED(type, name, n) __shared__ type name[n]
#define ZB_SHARED_AT_LAUNCH(type, name)                                        \
  extern __shared__ __attribute__((aligned(16))) zb_u8 zb_shared_at_launch[];  \
  type *name = (type *)zb_shared_at_launch
/* CUDA's shuffle takes a mask of the participating lanes. In HIP 7 that mask
 * has 64 bits. HIP's shuffle without a mask means all lanes. */
#if defined(__AMDGCN__)
#define ZB_AMD 1
#define ZB_SHFL_XOR(v, mask) __shfl_xor(v, mask)
#elif defined(__CUDA_ARCH__)
#define ZB_NVIDIA 1
#define ZB_SHFL_XOR(v, mask) __shfl_xor_sync(0xffffffffu, v, mask)
#elif !defined(ZB_SHFL_XOR) /* a vendor's compiler options may already define it */
#define ZB_SHFL_XOR(v, mask) __shfl_xor(v, mask)
#endif
#endif

#ifndef ZB_WAVE
#if defined(ZB_AMD) || defined(ZB_HOST)
#define ZB_WAVE 64
#else
#define ZB_WAVE 32
#endif
#endif

#endif
