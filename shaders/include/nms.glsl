// Shared by the kernels of BOX_WITH_NMS_LIMIT. The boxes of a class of an image are a list: they follow one another. Data of the
// box of row r, for class c, lies at slot r * stride + c of a buffer; data of a list, at the slot of its first box; the n boxes
// selected from it, from its first slot on in n consecutive rows of the class.
#ifndef NNGPU_NMS
#define NNGPU_NMS

const uint nnNone = 0xffffffffu;

// Sums of runs of so many elements; lower/nms.go.
const uint nnRun = 64u;

bool isNumber(uint bits) { return (bits & 0x7fffffffu) <= 0x7f800000u; }

#endif
