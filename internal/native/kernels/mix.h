/* A hash that several sources use. */

/* splitmix64's finaliser (Steele, Lea & Flood 2014). */
ZB_FN zb_u64 zb_mix64(zb_u64 z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
