package family

import "fmt"

// MoveOp is what a kernel of data/ does with elements.
type MoveOp string

// Movements; those with Fed read paddings or permutations from memory.
const (
	Reshape          MoveOp = "reshape"
	Transpose        MoveOp = "transpose"
	TransposeRuntime MoveOp = "transpose_fed"
	Concat           MoveOp = "concat"
	PadRows          MoveOp = "pad" // whole quads
	PadLanes         MoveOp = "pad_lanes"
	PadRuntime       MoveOp = "pad_fed"
	MirrorRows       MoveOp = "mirror"
	MirrorLanes      MoveOp = "mirror_lanes"
	MirrorRuntime    MoveOp = "mirror_fed"
	Strided          MoveOp = "strided"
	GatherLanes      MoveOp = "gather_lanes"
	Select           MoveOp = "select"
	RGB              MoveOp = "rgb" // rows of three elements to the device's form
)

// Move is the key of the kernels that move elements by their size.
type Move struct {
	Op     MoveOp
	Bytes  int    // of an element
	Access Access // of GatherLanes
}

// Name implements Key.
func (k Move) Name() string { return fmt.Sprintf("data_%s_e%d%s", k.Op, k.Bytes, k.Access.suffix()) }

// TransposeWide is the key of data/transpose_wide.comp: a transposition of bytes, 16 by 16.
type TransposeWide struct{ Access Access }

// Name implements Key.
func (k TransposeWide) Name() string { return "data_transpose_wide" + k.Access.suffix() }

// Copy is the key of data/copy.comp, a strided copy.
type Copy struct {
	Words, Dims int
	Access      Access
}

// Name implements Key.
func (k Copy) Name() string {
	return fmt.Sprintf("data_copy_w%d_d%d%s", k.Words, k.Dims, k.Access.suffix())
}

// GatherRows is the key of the variant of data/gather.comp that moves so many words at a time.
type GatherRows struct {
	Words  int
	Access Access
}

// Name implements Key.
func (k GatherRows) Name() string {
	return fmt.Sprintf("data_gather_w%d%s", k.Words, k.Access.suffix())
}

// Image is the key of data/image.comp: from bytes or half floats to a tensor.
type Image struct {
	Half bool
	Elem Elem
}

// Name implements Key.
func (k Image) Name() string {
	from := "u8"
	if k.Half {
		from = "f16"
	}
	return "data_image_" + from + "_" + string(k.Elem)
}

// Nearest is the key of resize/nearest.comp, by the words that it moves at a time.
type Nearest struct {
	Words  int
	Access Access
}

// Name implements Key.
func (k Nearest) Name() string {
	return fmt.Sprintf("resize_nearest_w%d%s", k.Words, k.Access.suffix())
}
