package family

// PoolOp is what pool/pool.comp makes of a window.
type PoolOp string

// Functions of windows.
const (
	Average PoolOp = "average"
	Maximum PoolOp = "max"
	L2      PoolOp = "l2"
)

// Pool is the key of pool/pool.comp.
type Pool struct {
	Op     PoolOp
	Elem   Elem
	Access Access
}

// Name implements Key.
func (k Pool) Name() string {
	return "pool_" + string(k.Op) + "_" + string(k.Elem) + k.Access.suffix()
}

// Floor implements Varied.
func (k Pool) Floor() bool { return k.Access == Buffers }

// Bilinear is the key of resize/bilinear.comp.
type Bilinear struct {
	Elem   Elem
	Access Access
}

// Name implements Key.
func (k Bilinear) Name() string { return "resize_bilinear_" + string(k.Elem) + k.Access.suffix() }

// Floor implements Varied.
func (k Bilinear) Floor() bool { return k.Access == Buffers }

// BilinearWide is the key of resize/bilinear.comp for bytes in pixels of whole groups of 16, which it reads as texels.
type BilinearWide struct{}

// Name implements Key.
func (k BilinearWide) Name() string { return "resize_bilinear_q8_wide" }
