package family

import "fmt"

// MatrixPeak is the key of measure/matrix.comp.
type MatrixPeak struct{ Matrix Matrix }

// Name implements Key.
func (k MatrixPeak) Name() string {
	return fmt.Sprintf("measure_matrix_%s_%dx%dx%d", k.Matrix.In, k.Matrix.M, k.Matrix.N, k.Matrix.K)
}
