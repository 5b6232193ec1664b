// BOX_WITH_NMS_LIMIT: what its kernels share. Boxes of a class of an image are a list: they follow one another. What belongs to
// the box of row r, for class c, lies at slot r * stride + c of a buffer; what belongs to a list, at the slot of its first box;
// the n boxes that were selected of it, from its first slot on in the next n rows of the class.
#ifndef NNGPU_NMS
#define NNGPU_NMS

const uint nnNone = 0xffffffffu;

// Sums of runs of so many elements; lower/nms.go.
const uint nnRun = 64u;

bool isNumber(uint bits) { return (bits & 0x7fffffffu) <= 0x7f800000u; }

#endif
