// Quads as four raw lanes, for kernels that move elements and never compute with them. The variant defines
// ELEM as the bytes of one element: 1, 2 or 4.
#ifndef NNGPU_LANES
#define NNGPU_LANES

#if ELEM == 4
#define QUAD uvec4
uvec4 lanes(QUAD q) { return q; }
QUAD pack(uvec4 v) { return v; }
#elif ELEM == 2
#define QUAD uvec2
uvec4 lanes(QUAD q) { return uvec4(q.x & 0xffffu, q.x >> 16, q.y & 0xffffu, q.y >> 16); }
QUAD pack(uvec4 v) { return uvec2(v.x | (v.y << 16), v.z | (v.w << 16)); }
#else
#define QUAD uint
uvec4 lanes(QUAD q) { return (uvec4(q) >> uvec4(0u, 8u, 16u, 24u)) & 0xffu; }
QUAD pack(uvec4 v) { return v.x | (v.y * 0x100u) | (v.z * 0x10000u) | (v.w * 0x1000000u); }
#endif

// Where element e lies in a buffer of 32-bit words, and how to take it out of its word.
#if ELEM == 4
uint wordOf(uint e) { return e; }
uint element(uint word, uint e) { return word; }
#elif ELEM == 2
uint wordOf(uint e) { return e >> 1; }
uint element(uint word, uint e) { return (word >> ((e & 1u) * 16u)) & 0xffffu; }
#else
uint wordOf(uint e) { return e >> 2; }
uint element(uint word, uint e) { return (word >> ((e & 3u) * 8u)) & 0xffu; }
#endif

const uvec4 laneIndex = uvec4(0u, 1u, 2u, 3u);

#endif
