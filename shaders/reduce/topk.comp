#version 450
// The k largest elements of each row of x, sorted: blocks of a row are sorted, and sorted runs merged until one is left.
// Runs hold pairs of a key (order.glsl) and an index, in the order of decreasing keys and, among equal ones, of increasing
// indices. Only the first k pairs of a run matter, and it keeps no more. Runs of a row lie one behind the other.
//
// The variant defines one of
//   SORT   One invocation finds the places of the four elements of one quad of x in the run of its block, by counting the
//          elements that precede each. With ELEM_x, the type of x.
//   MERGE  One invocation finds the place of one pair in the merged run: its place in its own run, and for each of the
//          other runs the number of pairs that precede it, by bisection.
//   TAKE   One invocation writes one quad of the outputs from the last run: the indices, and the elements of x at these
//          indices, unchanged. With ELEM, the bytes of an element.
#include "common.glsl"
#include "divide.glsl"

#if defined(SORT)
#include "tensor.glsl"
#include "order.glsl"

#ifdef ELEM_Q8
#define BITS uint
#define keysOf(q) unpackQuad8(q, off)
#endif

const uint block = 16u; // quads; lower/topk.go

layout(set = 0, binding = 0) readonly buffer X { BITS x[]; };
layout(set = 0, binding = 1) writeonly buffer R { ivec2 run[]; };
layout(push_constant) uniform P {
    uint count;       // quads
    Divisor rowQuads; // in a row
    uint first;       // quad of x
    uint c;           // elements in a row
    uint blocks;      // in a row
    uint room;        // pairs that a run keeps
    uint off;         // 128 for signed 8-bit elements, else 0
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint q;
    uint row = divide(i, rowQuads, q);
    uint from = q / block * block, to = min(from + block, rowQuads.value);
    uint base = first + row * rowQuads.value;
    ivec4 keys = keysOf(x[base + q]);
    ivec4 index = int(4u * q) + ivec4(0, 1, 2, 3);
    ivec4 place = ivec4(0);
    for (uint k = from; k < to; k++) {
        ivec4 others = keysOf(x[base + k]);
        [[unroll]] for (uint lane = 0u; lane < 4u; lane++) {
            uint other = 4u * k + lane;
            if (other < c) { // else a padding lane
                bvec4 precedes = mix(greaterThan(ivec4(others[lane]), keys), greaterThanEqual(ivec4(others[lane]), keys), lessThan(ivec4(other), index));
                place += ivec4(precedes);
            }
        }
    }
    uint to0 = (row * blocks + q / block) * room;
    [[unroll]] for (uint lane = 0u; lane < 4u; lane++) {
        if (4u * q + lane < c && uint(place[lane]) < room) {
            run[to0 + uint(place[lane])] = ivec2(keys[lane], index[lane]);
        }
    }
}

#elif defined(MERGE)
const uint together = 4u; // runs that become one; lower/topk.go

layout(set = 0, binding = 0) readonly buffer F { ivec2 from[]; };
layout(set = 0, binding = 1) writeonly buffer R { ivec2 run[]; };
layout(push_constant) uniform P {
    uint count;    // pairs that all runs keep
    Divisor room;  // pairs that a run keeps
    Divisor runs;  // of a row
    uint c;        // elements in a row
    uint span;     // elements that a run covers; fewer for the last of a row
    uint merged;   // runs of a row afterwards
    uint newRoom;  // pairs that each of them keeps
};

// The pairs of run r of a row.
uint pairs(uint r) { return min(room.value, c - r * span); }

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint at, own;
    uint row = divide(divide(i, room, at), runs, own);
    if (at >= pairs(own)) return;
    ivec2 pair = from[i];
    uint begin = own / together * together, end = min(begin + together, runs.value);
    for (uint r = begin; r < end; r++) {
        if (r == own) continue;
        uint start = (row * runs.value + r) * room.value;
        uint low = 0u, high = pairs(r);
        while (low < high) {
            uint middle = (low + high) / 2u;
            int key = from[start + middle].x;
            if (key > pair.x || key == pair.x && r < own) {
                low = middle + 1u;
            } else {
                high = middle;
            }
        }
        at += low;
    }
    if (at < newRoom) {
        run[(row * merged + own / together) * newRoom + at] = pair;
    }
}

#elif defined(TAKE)
#if ELEM == 4
#define QUAD uvec4
#elif ELEM == 2
#define QUAD uvec2
#else
#define QUAD uint
#endif

layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) readonly buffer R { ivec2 run[]; };
layout(set = 0, binding = 2) writeonly buffer V { QUAD values[]; };
layout(set = 0, binding = 3) writeonly buffer I { ivec4 indices[]; };
layout(push_constant) uniform P {
    uint count;       // quads
    Divisor rowQuads; // in a row of the outputs
    uint k;           // elements in a row of the outputs
    uint c;           // elements in a row of x
    uint xQuads;      // in a row of x
    uint first;       // row of x and of the outputs
};

void main() {
    uint i = flatIndex();
    if (i >= count) return;
    uint q;
    uint row = divide(i, rowQuads, q);
    uint begin = (first + row) * xQuads * uint(ELEM); // words
    ivec4 index = ivec4(0);
    uvec4 value = uvec4(0u);
    [[unroll]] for (uint lane = 0u; lane < 4u; lane++) {
        if (4u * q + lane < k) {
            // If a client writes to x meanwhile, places of a run may be unwritten and hold anything.
            uint at = min(uint(run[row * k + 4u * q + lane].y), c - 1u);
            index[lane] = int(at);
            uint e = at * uint(ELEM); // bytes
            value[lane] = x[begin + e / 4u] >> (e % 4u * 8u);
        }
    }
    uint to = first * rowQuads.value + i;
    indices[to] = index;
#if ELEM == 4
    values[to] = value;
#elif ELEM == 2
    value &= 0xffffu;
    values[to] = value.xz | (value.yw << 16);
#else
    value &= 0xffu;
    values[to] = value.x | (value.y << 8) | (value.z << 16) | (value.w << 24);
#endif
}
#endif
