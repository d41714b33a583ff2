/* Vectors of ZB_VECTOR bytes, which a thread loads and stores at once; 16 on a
 * GPU. NT selects non-temporal accesses, so that data that are used only once do
 * not evict other data from the caches.
 *
 * On AMD and on the host zb_vec<T>::type is the compiler's own vector type.
 * NVIDIA's compiler has no vector type with arithmetic, so there it is a struct
 * with the operations that the kernels need. */
#ifndef ZB_VECTOR
#define ZB_VECTOR 16
#endif

#if defined(ZB_HOST)
template <typename T> struct zb_vec {
  typedef T type __attribute__((vector_size(ZB_VECTOR)));
};
/* a vector of as many doubles as a vector has elements of type T */
template <typename T> struct zb_doubles {
  typedef double type __attribute__((vector_size(ZB_VECTOR / sizeof(T) * 8)));
};
#elif defined(ZB_AMD)
template <typename T> struct zb_vec {
  typedef T type __attribute__((ext_vector_type(ZB_VECTOR / sizeof(T))));
};
template <typename T> struct zb_doubles {
  typedef double type __attribute__((ext_vector_type(ZB_VECTOR / sizeof(T))));
};
#else
template <typename T> struct zb_vec {
  enum { N = ZB_VECTOR / sizeof(T) };
  union type {
    uint4 raw;
    T at[N];
    ZB_METHOD T &operator[](int i) { return at[i]; }
    ZB_METHOD const T &operator[](int i) const { return at[i]; }
    ZB_METHOD friend type operator+(const type &a, const type &b) {
      type r;
      ZB_UNROLLED
      for (int i = 0; i < N; i++) {
        r.at[i] = a.at[i] + b.at[i];
      }
      return r;
    }
    ZB_METHOD friend type operator*(T a, const type &b) {
      type r;
      ZB_UNROLLED
      for (int i = 0; i < N; i++) {
        r.at[i] = a * b.at[i];
      }
      return r;
    }
  };
};
#endif

#if defined(ZB_HOST) || defined(ZB_AMD)
template <typename T>
ZB_FN void zb_add_products(typename zb_doubles<T>::type &sum,
                           typename zb_vec<T>::type a,
                           typename zb_vec<T>::type b) {
  typedef typename zb_doubles<T>::type doubles;
  sum += __builtin_convertvector(a, doubles) *
         __builtin_convertvector(b, doubles);
}
#else
template <typename T> struct zb_doubles {
  struct type {
    double at[ZB_VECTOR / sizeof(T)];
    ZB_METHOD double &operator[](int i) { return at[i]; }
  };
};
template <typename T>
ZB_FN void zb_add_products(typename zb_doubles<T>::type &sum,
                           const typename zb_vec<T>::type &a,
                           const typename zb_vec<T>::type &b) {
  ZB_UNROLLED
  for (int i = 0; i < (int)(ZB_VECTOR / sizeof(T)); i++) {
    sum[i] += (double)a[i] * (double)b[i];
  }
}
#endif

template <typename T> ZB_FN typename zb_vec<T>::type zb_splat(T v) {
  typename zb_vec<T>::type r;
  ZB_UNROLLED
  for (int i = 0; i < (int)(ZB_VECTOR / sizeof(T)); i++) {
    r[i] = v;
  }
  return r;
}

template <typename T, int NT>
ZB_FN typename zb_vec<T>::type zb_load(const T *p) {
  typedef typename zb_vec<T>::type vec;
#if defined(ZB_AMD)
  return NT ? __builtin_nontemporal_load((const vec *)p) : *(const vec *)p;
#elif defined(ZB_NVIDIA)
  vec r;
  r.raw = NT ? __ldcs((const uint4 *)p) : *(const uint4 *)p;
  return r;
#else
  return *(const vec *)p; /* the host has no non-temporal load from ordinary memory */
#endif
}

template <typename T, int NT>
ZB_FN void zb_store(T *p, typename zb_vec<T>::type v) {
  typedef typename zb_vec<T>::type vec;
#if defined(ZB_AMD)
  if (NT) {
    __builtin_nontemporal_store(v, (vec *)p);
    return;
  }
#elif defined(ZB_HOST) && defined(__x86_64__)
  typedef long long words __attribute__((vector_size(ZB_VECTOR)));
  if (NT) {
#if ZB_VECTOR == 64
    __builtin_ia32_movntdq512((words *)p, (words)v);
#elif ZB_VECTOR == 32
    __builtin_ia32_movntdq256((words *)p, (words)v);
#else
    __builtin_ia32_movntdq((words *)p, (words)v);
#endif
    return;
  }
#elif defined(ZB_NVIDIA)
  if (NT) {
    __stcs((uint4 *)p, v.raw);
    return;
  }
  /* nvrtc would split an assignment in a loop into stores of 8 and 4 bytes */
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(p), "r"(v.raw.x), "r"(v.raw.y), "r"(v.raw.z), "r"(v.raw.w)
               : "memory");
  return;
#endif
  *(vec *)p = v;
}
