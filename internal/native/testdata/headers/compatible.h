// Holds a row of the symbol list against the vendor's own declaration. All is
// decided while compiling: a row that differs is a static_assert with the
// function's name and the number of the parameter.
//
// What has to agree: the number of parameters; pointer with pointer, and what
// they point at (a handle's void with the vendor's struct, const with const);
// an enum with int; size, sign and kind of numbers; the size and alignment of a
// struct by value. int stands for several enums, so the parameter's name has to
// say which: that finds two swapped ones.
#ifndef ZB_COMPATIBLE_H
#define ZB_COMPATIBLE_H

#include <string_view>
#include <type_traits>

namespace zb {

constexpr int agrees = -1, other_count = -2, other_result = -3;

// The name that a parameter of the vendor's enum must have in the list, or its
// last word where several have the same enum: "_type" of "a_type".
// headers/rocm.h and headers/cuda.h say it for each enum that is used.
template <class Enum> constexpr std::string_view called = "an enum unknown here";

template <class Ours, class Real> constexpr bool same();

// Functions that the library calls: their parameters, which have no names to compare.
template <class Ours, class Real> constexpr bool same_functions = false;
template <class OR, class... OA, class RR, class... RA>
constexpr bool same_functions<OR(OA...), RR(RA...)> = [] {
  if constexpr (sizeof...(OA) == sizeof...(RA)) {
    return same<OR, RR>() && (same<OA, RA>() && ...);
  }
  return false;
}();

template <class Ours, class Real> constexpr bool pointee() {
  using O = std::remove_cv_t<Ours>;
  using R = std::remove_cv_t<Real>;
  // HIP 7 made pointers to pointers const that HIP 5 has not: no difference
  if constexpr (!std::is_pointer_v<R> &&
                std::is_const_v<Ours> != std::is_const_v<Real>) {
    return false;
  } else if constexpr (std::is_void_v<O>) {
    return std::is_void_v<R> || std::is_class_v<R>;
  } else if constexpr (std::is_function_v<O>) {
    return same_functions<O, R>;
  } else {
    return same<O, R>();
  }
}

template <class Ours, class Real> constexpr bool same() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Real>) {
    return pointee<std::remove_pointer_t<Ours>, std::remove_pointer_t<Real>>();
  } else if constexpr (std::is_void_v<Ours> || std::is_void_v<Real>) {
    return std::is_void_v<Ours> && std::is_void_v<Real>;
  } else if constexpr (std::is_enum_v<Real>) {
    return std::is_same_v<Ours, int> && sizeof(Real) == sizeof(int);
  } else if constexpr (std::is_class_v<Ours> && std::is_class_v<Real>) {
    return sizeof(Ours) == sizeof(Real) && alignof(Ours) == alignof(Real) &&
           std::is_trivially_copyable_v<Real>;
  } else if constexpr (std::is_arithmetic_v<Ours> && std::is_arithmetic_v<Real>) {
    return sizeof(Ours) == sizeof(Real) &&
           std::is_signed_v<Ours> == std::is_signed_v<Real> &&
           std::is_floating_point_v<Ours> == std::is_floating_point_v<Real>;
  } else {
    return false;
  }
}

// The last word of the i-th parameter in "(int *count, size_t bytes)".
constexpr std::string_view parameter(std::string_view list, int i) {
  list = list.substr(1, list.size() - 2);
  for (; i > 0; i--) {
    list.remove_prefix(list.find(',') + 1);
  }
  list = list.substr(0, list.find(','));
  while (list.back() == ' ') {
    list.remove_suffix(1);
  }
  return list.substr(list.find_last_of(" *\n") + 1);
}

template <class Real> constexpr bool named(std::string_view name) {
  using Bare = std::remove_cv_t<std::remove_pointer_t<std::remove_cv_t<Real>>>;
  if constexpr (std::is_enum_v<Bare>) {
    constexpr std::string_view want = called<Bare>;
    return name == want || (want.front() == '_' && name.size() > want.size() &&
                            name.substr(name.size() - want.size()) == want);
  }
  return name != "dtype" && name != "op" && name != "kind" && name != "attribute" &&
         name != "algorithm" && name != "sums" &&
         name.find("_attribute") == name.npos &&
         name.find("_type") == name.npos && name.find("_turn") == name.npos;
}

template <class Ours, class Real> struct row;

template <class OR, class... OA, class RR, class... RA>
struct row<OR (*)(OA...), RR (*)(RA...)> {
  static constexpr int difference(std::string_view args) {
    if constexpr (sizeof...(OA) != sizeof...(RA)) {
      return other_count;
    } else if constexpr (!same<OR, RR>()) {
      return other_result;
    } else {
      int i = 0, found = agrees;
      ((found == agrees && !(same<OA, RA>() && named<RA>(parameter(args, i)))
            ? void(found = i)
            : void(),
        i++),
       ...);
      return found;
    }
  }
};

} // namespace zb

#define ZB_ARGS_OF(field, need, ret, args, ...)                                \
  constexpr std::string_view zb_args_##field = #args;

// field of zb_table is the vendor's function name
#define ZB_ROW_IS(field, name)                                                 \
  static_assert(zb::row<decltype(zb_table::field), decltype(&name)>::          \
                        difference(zb_args_##field) == zb::agrees,             \
                #field " is not " #name);

#define ZB_VALUE_IS(ours, name)                                                \
  static_assert((long)(ours) == (long)(name), #ours " is not " #name);

// without a name the vendor has none
#define ZB_BLAS_IS(field, args, ...)                                           \
  __VA_OPT__(static_assert(zb::row<decltype(zb_blas::field), decltype(&__VA_ARGS__)>:: \
                               difference(#args) == zb::agrees,                \
                           #field " is not " #__VA_ARGS__);)

#define ZB_LT_IS(field, args, name)                                            \
  static_assert(zb::row<decltype(zb_lt::field),                                \
                        decltype(&name)>::difference(#args) == zb::agrees,     \
                #field " is not " #name);

#endif
