#version 450
// Convolution as an implicit matrix product by cooperative matrices. One workgroup computes BM output pixels times BN
// output channels; each of its ROWS x COLS subgroups computes a part of that, as products of matrices added up in its
// registers.
//
// Floats: y[p][n] = clamp(bias[n] + s[p][n], lo, hi); 8 bits: y[p][n] = clamp(requantise(bias[n] + s[p][n]) + zero, lo, hi);
// s[p][n] = sum over taps t, channels k of x[window(p) at t][k] * w[t][k][n]; r[p][n] may be added to the result (added.glsl).
//
// With xs = x ^ flip and the weights signed, and their zero points xz and wz:
// sum (xs - xz)(w - wz) = sum xs w - wz sum xs + c[n]; the host folds c[n] into the bias. What lies in the padding of a
// quad of x meets weights of wz, and so adds nothing.
//
// The workgroups along z of one tile either sum a part of the products each, for gemm_sum.comp, or compute products of a
// batch; the push constants say which.
//
// macro               | meaning
// BM, BN              | tile of a workgroup: pixels, channels
// ROWS, COLS          | its subgroups, along each of them
// TM, TN, TK          | shape of a product of matrices: [TM, TK] times [TK, TN]
// TAPS                | 1: any window, stride, dilation, padding; 0: 1x1 without any of them, pixels are rows of x
// WZP                 | 1: wz is not 0
// LANES               | a subgroup has at least so many invocations
// ELEM_F32, _F16, _Q8 | type of x and y; floats of 32 bits become ones of 16 on the way to shared memory; sums are float32
//                     | or int32
//
// A sum goes along one line of taps, and along the channels of each, in quads: 64 bytes of a row in shared memory at a time.
// So do weights, in cells of 16 bytes, of floats of 16 bits or of 8-bit integers: [tile of BN channels][step][channel of
// BN][64 bytes], with zeroes behind the last quad and in channels beyond the last one, or a tensor [channel][tap][k] whose
// rows are whole cells. Workgroups: x counts tiles of pixels, y tiles of channels; their size is a number of whole
// subgroups, each a multiple of 4 invocations.
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#include "common.glsl"
#include "divide.glsl"
#include "tensor.glsl"
#include "window.glsl"

layout(set = 0, binding = 0) readonly buffer X { QUAD x[]; };
layout(set = 0, binding = 1) readonly buffer W { uvec4 w[]; };
#ifdef ELEM_Q8
#define SHIFT 1
#define IN int8_t
#define SUM int
const int QUADS = 4; // of a cell
layout(set = 0, binding = 2) readonly buffer C { ivec4 channel[]; };
#include "channels.glsl"
#else
#define IN float16_t
#define SUM float
const int QUADS = 2;
layout(set = 0, binding = 2) readonly buffer B { vec4 bias[]; };
#endif
layout(set = 0, binding = 3) writeonly buffer Y { QUAD y[]; };
layout(set = 0, binding = 3) writeonly buffer S { uvec4 sums[]; }; // [part][pixel][quad]
layout(set = 0, binding = 4) readonly buffer R { QUAD r[]; };

layout(push_constant) uniform P {
    int pixels;    // rows of y
    int outQuads;  // quads of a row of y
    int partSteps; // steps of a part; 0: sums are complete, and y is written
    int rowCells;  // cells of a row of w if that is a tensor; 0: tiles
    int rows;      // of w: the number of channels
#ifdef ELEM_Q8
    uint flip;      // makes x signed: 0 or 0x80808080
    int wz;         // zero point of w
    int doubleMask; // rounding, see requant.glsl
    int zero;       // zero point of y
    int lo, hi;     // clamp of y
#else
    float lo, hi;
#endif
    int added; // see added.glsl
#if TAPS
#ifdef ELEM_Q8
    uint outside; // xs outside of the image: four times its zero point
#endif
    int pitch;               // quads of a row of x
    int groupQuads;          // quads of y computed from the same channels of x
    Divisor tapQuads, width; // quads of x that a sum reads at a tap; taps in a row of the window
    int taps;
    int inH, inW, outH, outW;
    int strideH, strideW, dilationH, dilationW, padTop, padLeft;
#else
    int kq;                  // quads of a row of x
    int nextX, nextW, nextY; // how far the next product of a batch is: quads, cells, quads
#endif
};

#include "added.glsl"

// A cell is 16 bytes: of a row of operands, with 4 cells a step, or a quad of sums. Rows are a cell longer than needed, so that
// the rows of a matrix begin in different banks. Matrices with rows of 8 bytes need pointers to 8 bytes.
const int CELLS = 4;
const int PITCH = CELLS + 1;
const int SUMS = BN / 4 + 1; // pitch of the sums
const int RM = BM / ROWS / TM, RN = BN / COLS / TN; // products of a subgroup
#define MOST(a, b) ((a) > (b) ? (a) : (b))
#ifdef ELEM_Q8
const int K_CELL = 16; // elements of a cell
#else
const int K_CELL = 8;
#endif
#if defined(ELEM_Q8) && TK == 8
const int SCALE = 2;
shared uvec2 staged[SCALE * MOST((BM + BN) * PITCH, ROWS * TM * SUMS)];
void put(int i, uvec4 v) { staged[2 * i] = v.xy; staged[2 * i + 1] = v.zw; }
uvec4 get(int i) { return uvec4(staged[2 * i], staged[2 * i + 1]); }
#else
const int SCALE = 1;
shared uvec4 staged[MOST((BM + BN) * PITCH, ROWS * TM * SUMS)];
void put(int i, uvec4 v) { staged[i] = v; }
uvec4 get(int i) { return staged[i]; }
#endif

const int THREADS = int(gl_WorkGroupSize.x);
const int LOAD_X = BM * CELLS / (ROWS * COLS * LANES); // cells of x that an invocation loads in a step at most
const int LOAD_W = BN * CELLS / (ROWS * COLS * LANES); // and cells of w
#define loads(i, rows) ((i) * THREADS < (rows) * CELLS)

#define MATRIX_A coopmat<IN, gl_ScopeSubgroup, TM, TK, gl_MatrixUseA>
#define MATRIX_B coopmat<IN, gl_ScopeSubgroup, TK, TN, gl_MatrixUseB>
#define MATRIX_C coopmat<SUM, gl_ScopeSubgroup, TM, TN, gl_MatrixUseAccumulator>

// The cells that an invocation loads have the same place in all rows. They are in flight while the step before is computed,
// which is why nothing is made of them before they go to shared memory: whoever uses a value waits for it.
QUAD heldX[LOAD_X][QUADS];
uvec4 heldW[LOAD_W];
// Bit i * QUADS + j tells of quad j of cell i of x. kept: it belongs to the sum; seen, of 8 bits: it lies in the image.
#define BITS ((LOAD_X * QUADS + 31) / 32)
uint kept[BITS];
#if defined(ELEM_Q8) && TAPS
uint seen[BITS];
#endif
bool keptW; // the cells of w are in their rows
#if TAPS
ivec3 origin[LOAD_X]; // of the window of each row
int behind;           // channels of x before those of the group, in quads
#else
int rowX[LOAD_X]; // where each row begins
#endif
int rowW[LOAD_W];    // the same for w, and
bool knownW[LOAD_W]; // whether that row exists
int stepCells;       // from a step to the next
int cells;           // in a row

void fetch(int step) {
    int me = int(gl_LocalInvocationID.x);
    int q0 = (step * CELLS + (me & (CELLS - 1))) * QUADS;
#if TAPS
    int dy[QUADS], dx[QUADS], rest[QUADS];
    bool there[QUADS];
    [[unroll]] for (int j = 0; j < QUADS; j++) {
        uint q, kx;
        uint tap = divide(uint(q0 + j), tapQuads, q);
        dy[j] = int(divide(tap, width, kx)) * dilationH;
        dx[j] = int(kx) * dilationW;
        rest[j] = int(q);
        there[j] = int(tap) < taps;
    }
#endif
    [[unroll]] for (int i = 0; i < BITS; i++) {
        kept[i] = 0u;
#if defined(ELEM_Q8) && TAPS
        seen[i] = 0u;
#endif
    }
    [[unroll]] for (int i = 0; i < LOAD_X; i++) {
        if (loads(i, BM)) {
            [[unroll]] for (int j = 0; j < QUADS; j++) {
                int number = i * QUADS + j;
                uint bit = 1u << (number % 32);
#if TAPS
                int iy = origin[i].y + dy[j], ix = origin[i].z + dx[j];
                bool image = inside(iy, inH) && inside(ix, inW), on = there[j];
                int at = image && on ? ((origin[i].x + iy) * inW + ix) * pitch + behind + rest[j] : 0;
#ifdef ELEM_Q8
                seen[number / 32] |= image ? bit : 0u;
#else
                on = on && image;
#endif
#else
                bool on = q0 + j < kq;
                int at = rowX[i] + min(q0 + j, kq - 1);
#endif
                kept[number / 32] |= on ? bit : 0u;
                heldX[i][j] = x[at];
            }
        }
    }
    keptW = step * CELLS + (me & (CELLS - 1)) < cells;
    [[unroll]] for (int i = 0; i < LOAD_W; i++)
        if (loads(i, BN)) heldW[i] = w[keptW && knownW[i] ? rowW[i] + step * stepCells : 0];
}

// cellX is cell i of x as it is in shared memory.
uvec4 cellX(int i) {
    uvec4 v;
    [[unroll]] for (int j = 0; j < QUADS; j++) {
        int number = i * QUADS + j;
        uint bit = 1u << (number % 32);
        bool keep = (kept[number / 32] & bit) != 0u;
#ifdef ELEM_Q8
        uint q = heldX[i][j] ^ flip;
#if TAPS
        q = (seen[number / 32] & bit) != 0u ? q : outside;
#endif
        v[j] = keep ? q : 0u;
#else
#ifdef ELEM_F32
        uvec2 q = packHalf4(heldX[i][j]);
#else
        uvec2 q = heldX[i][j];
#endif
        q = keep ? q : uvec2(0u);
        v[2 * j] = q.x;
        v[2 * j + 1] = q.y;
#endif
    }
    return v;
}

void main() {
    int me = int(gl_LocalInvocationID.x);
    int p0 = int(gl_WorkGroupID.x) * BM;
    int tile = int(gl_WorkGroupID.y), z = int(gl_WorkGroupID.z);
    int srow = int(gl_SubgroupID) / COLS, scol = int(gl_SubgroupID) - srow * COLS;
    [[unroll]] for (int i = 0; i < LOAD_X; i++) {
        int p = clamp(p0 + (me + i * THREADS) / CELLS, 0, max(pixels - 1, 0));
#if TAPS
        origin[i] = windowOrigin(p, max(outW, 1), max(outH, 1), inH, ivec2(strideH, strideW), ivec2(padTop, padLeft));
#else
        rowX[i] = z * nextX + p * kq;
#endif
    }
#if TAPS
    int quads = taps * int(tapQuads.value);
    behind = tile * (BN / 4) / max(groupQuads, 1) * int(tapQuads.value);
#else
    int quads = kq;
#endif
    int steps = (quads + CELLS * QUADS - 1) / (CELLS * QUADS);
    bool tiles = rowCells == 0;
    stepCells = tiles ? BN * CELLS : CELLS;
    cells = tiles ? steps * CELLS : rowCells;
    int channelCells = tiles ? CELLS : rowCells, tileCells = BN * (tiles ? steps * CELLS : rowCells);
    [[unroll]] for (int i = 0; i < LOAD_W; i++) {
        int n = min((me + i * THREADS) / CELLS, BN - 1);
        rowW[i] = tile * tileCells + n * channelCells + (me & (CELLS - 1));
#if !TAPS
        rowW[i] += z * nextW;
#endif
        knownW[i] = tile * BN + n < rows;
    }
    int first = z * partSteps, end = partSteps == 0 ? steps : min(first + partSteps, steps);

    MATRIX_C acc[RM][RN];
    [[unroll]] for (int m = 0; m < RM; m++)
        [[unroll]] for (int j = 0; j < RN; j++) acc[m][j] = MATRIX_C(SUM(0));
#if WZP
    MATRIX_C sumX[RM]; // sums of rows of x, the same in all columns
    MATRIX_B ones = MATRIX_B(IN(1));
    [[unroll]] for (int m = 0; m < RM; m++) sumX[m] = MATRIX_C(SUM(0));
#endif

    fetch(first);
    for (int step = first; step < end; step++) {
        barrier(); // nobody reads the previous operands any more
        [[unroll]] for (int i = 0; i < LOAD_X; i++) {
            int at = me + i * THREADS;
            if (at < BM * CELLS) put(at / CELLS * PITCH + at % CELLS, cellX(i));
        }
        [[unroll]] for (int i = 0; i < LOAD_W; i++) {
            int at = me + i * THREADS;
            if (at < BN * CELLS) put((BM + at / CELLS) * PITCH + at % CELLS, keptW && knownW[i] ? heldW[i] : uvec4(0u));
        }
        barrier();
        if (step + 1 < end) fetch(step + 1);
        [[unroll]] for (int k = 0; k < CELLS * K_CELL; k += TK) {
            MATRIX_A a[RM];
            [[unroll]] for (int m = 0; m < RM; m++)
                coopMatLoad(a[m], staged, uint((srow * RM + m) * TM * PITCH * SCALE + k * SCALE / K_CELL), uint(PITCH * SCALE),
                            gl_CooperativeMatrixLayoutRowMajor);
            [[unroll]] for (int j = 0; j < RN; j++) {
                MATRIX_B b;
                coopMatLoad(b, staged, uint((BM + (scol * RN + j) * TN) * PITCH * SCALE + k * SCALE / K_CELL), uint(PITCH * SCALE),
                            gl_CooperativeMatrixLayoutColumnMajor);
                [[unroll]] for (int m = 0; m < RM; m++) acc[m][j] = coopMatMulAdd(a[m], b, acc[m][j]);
            }
#if WZP
            [[unroll]] for (int m = 0; m < RM; m++) sumX[m] = coopMatMulAdd(a[m], ones, sumX[m]);
#endif
        }
    }

#if WZP
    [[unroll]] for (int m = 0; m < RM; m++)
        [[unroll]] for (int j = 0; j < RN; j++) acc[m][j] -= sumX[m] * wz;
#endif
    // Sums leave through shared memory, one row of matrices of each subgroup at a time, since it is undefined which invocation
    // holds which.
    for (int row = 0; row < RM; row++) {
        barrier();
        [[unroll]] for (int m = 0; m < RM; m++)
            if (m == row) // an index that is not constant would put all sums into memory
                [[unroll]] for (int j = 0; j < RN; j++)
                    coopMatStore(acc[m][j], staged, uint((srow * TM * SUMS + (scol * RN + j) * TN / 4) * SCALE),
                                 uint(SUMS * SCALE), gl_CooperativeMatrixLayoutRowMajor);
        barrier();
        for (int i = me; i < ROWS * TM * BN / 4; i += THREADS) {
            int r = i / (BN / 4), c = i % (BN / 4);
            int p = p0 + (r / TM * RM + row) * TM + r % TM, nq = tile * (BN / 4) + c;
            if (p < pixels && nq < outQuads) {
                uvec4 sum = get(r * SUMS + c);
                int to = p * outQuads + nq;
                if (partSteps != 0) {
                    sums[z * pixels * outQuads + to] = sum;
                    continue;
                }
#if !TAPS
                to += z * nextY;
#endif
#ifdef ELEM_Q8
                Channels of = channels(nq);
                y[to] = finished(clamp(requantize(ivec4(sum) + of.bias, of, doubleMask) + zero, lo, hi), to);
#else
                y[to] = finished(uintBitsToFloat(sum) + bias[nq], to);
#endif
            }
        }
    }
}
