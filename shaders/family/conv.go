package family

import "fmt"

// Gemm is the key of the matrix products of conv/: convolutions and fully connected layers whose filter is packed.
type Gemm struct {
	Elem   Elem
	Window bool // any window, stride, dilation and padding; else 1x1 without any of them
	M, N   int  // pixels and output channels of a tile: of an invocation or, Shared, of a workgroup
	Access Access
	// Quad: four invocations that follow each other have their pixels in common and read each a quarter of them. Of floats, and
	// of sums of floats.
	Quad bool
	// Blocks: the filter is an array of storage buffers, and a workgroup has one tile of channels. Of floats.
	Blocks bool
	// Of 8-bit types. Dot: packed dot products, which read texels; else sums of floats. ZeroPoint: the filter has one.
	// Flush: sums that floats do not hold exactly go to integers.
	Dot, ZeroPoint, Flush bool
	// Shared: a workgroup brings the operands of its tile to shared memory; the filter is a storage buffer, in the type of
	// x. M is 1 where its invocations share the sums of a single row instead.
	Shared bool
	Split  bool // Shared: workgroups sum parts of the products, which GemmSum adds up
	Rows   bool // the filter is bound as it is, channel by channel; without Shared, of floats that texels hold
	// Columns, of floats that texels hold: the filter is bound as it is, term of the sums by term.
	Columns bool
	// Matrix: by cooperative matrices in shared memory; the filter is a storage buffer. Floats of 32 bits become ones of 16
	// on the way there. Whether sums are in parts, and whether the filter is a tensor, push constants say. The zero value:
	// without.
	Matrix Matrix
}

// Name implements Key.
func (k Gemm) Name() string {
	access := k.Access.suffix()
	if k.Dot {
		access = on(k.Access == TexelStores, "_store")
	}
	if m := k.Matrix; m != (Matrix{}) {
		return fmt.Sprintf("conv_matrix%s_%s_%dx%dx%d_%dx%d%s", on(k.Window, "_window"), k.Elem, m.M, m.N, m.K, k.M, k.N, on(k.ZeroPoint, "_wzp"))
	}
	return fmt.Sprintf("conv_gemm%s_%s%s%s%s_%dx%d%s%s%s%s%s", on(k.Window, "_window"), k.Elem, on(k.Dot, "_dot"), on(k.Shared, "_shared"),
		on(k.Quad, "_quad")+on(k.Blocks, "_blocks"), k.M, k.N, on(k.Split, "_split"), on(k.Rows, "_rows")+on(k.Columns, "_columns"), on(k.ZeroPoint, "_wzp"), on(k.Flush, "_flush"), access)
}

// Floor implements Varied.
func (k Gemm) Floor() bool {
	return k.N == 8 && k.Access == Buffers && !k.Dot && !k.Shared && !k.Quad && !k.Blocks && !k.Columns && k.Matrix == (Matrix{})
}

// GemmSum is the key of conv/gemm_sum.comp, which ends products that were computed in parts (Gemm.Split).
type GemmSum struct{ Elem Elem }

// Name implements Key.
func (k GemmSum) Name() string { return "conv_gemm_sum_" + string(k.Elem) }

// Depthwise is the key of conv/depthwise.comp. Width 0 is any window; else its width, with the same Stride both ways and
// no dilation.
type Depthwise struct {
	Elem          Elem
	Width, Stride int
	Access        Access
	Shift         bool // 8-bit results are scaled with shifts of vectors by variables
	// Across and Rows are the pixels of the output that an invocation computes by conv/depthwise_rows.comp, of windows as high
	// as wide. No rows: four pixels of one row, by depthwise.comp.
	Across, Rows int
	// Walk: an invocation goes down rows, as many as a push constant says, by conv/depthwise_walk.comp, of windows of 3x3.
	Walk bool
}

// Pixels are the output pixels of an invocation, along rows and columns.
func (k Depthwise) Pixels() (across, down int) {
	if k.Rows == 0 {
		return 4, 1
	}
	return k.Across, k.Rows
}

// Name implements Key.
func (k Depthwise) Name() string {
	window := ""
	if k.Width != 0 {
		window = fmt.Sprintf("_k%ds%d", k.Width, k.Stride)
	}
	if k.Rows > 0 {
		window += fmt.Sprintf("_%dx%d", k.Across, k.Rows)
	}
	return fmt.Sprintf("conv_depthwise_%s%s%s%s%s", k.Elem, window, on(k.Walk, "_walk"), k.Access.suffix(), on(k.Shift, "_shift"))
}

// Floor implements Varied.
func (k Depthwise) Floor() bool { return k.Width == 0 && k.Access == Buffers && !k.Shift }

// Patches is the key of conv/patches.comp and, of whole quads of channels, conv/patches_quads.comp.
type Patches struct {
	Elem   Elem
	Access Access // Buffers, or Texels of two or three channels
	Quads  bool
}

// Name implements Key.
func (k Patches) Name() string {
	return "conv_patches_" + string(k.Elem) + on(k.Quads, "_quads") + k.Access.suffix()
}

// Direct is the key of conv/direct.comp, which takes any convolution and binds its filter as it is.
type Direct struct {
	Elem Elem
	// At most one is set; none: all channels of the input make each of the output.
	Depthwise, Grouped, Transposed bool
}

// Name implements Key.
func (k Direct) Name() string {
	return "conv_direct" + on(k.Depthwise, "_depthwise") + on(k.Grouped, "_grouped") + on(k.Transposed, "_transposed") + "_" + string(k.Elem)
}

// Winograd is the key of conv/winograd_input.comp, conv/winograd_filter.comp and conv/winograd_output.comp, which bring inputs,
// filters that are no constants, and results of convolutions of 3x3 to and from the points of F(Tile, 3). The products between
// them are those of a Gemm of several filters.
type Winograd struct {
	Op     WinogradOp
	Elem   Elem
	Tile   int
	Access Access
}

// WinogradOp is one of the transforms.
type WinogradOp string

// Transforms.
const (
	WinogradInput  WinogradOp = "input"
	WinogradFilter WinogradOp = "filter" // Buffers
	WinogradOutput WinogradOp = "output"
)

// Name implements Key.
func (k Winograd) Name() string {
	return fmt.Sprintf("conv_winograd_%s_%s_%dx%d%s", k.Op, k.Elem, k.Tile, k.Tile, k.Access.suffix())
}

// Pack is the key of conv/pack.comp, which makes the tiles of filters and matrices that are known at run time only. Columns:
// what makes an output channel lies in a column, not in a row.
type Pack struct {
	Elem    Elem
	Columns bool
	Access  Access // of what is packed: Buffers, or Texels of float32
}

// Name implements Key.
func (k Pack) Name() string {
	return "conv_pack" + on(k.Columns, "_columns") + "_" + string(k.Elem) + k.Access.suffix()
}

// Channels is the key of conv/channels.comp, which knows of 8-bit output channels what comes out of such filters and matrices.
type Channels struct{ Columns bool }

// Name implements Key.
func (k Channels) Name() string { return "conv_channels" + on(k.Columns, "_columns") }
