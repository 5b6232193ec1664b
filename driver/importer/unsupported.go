package importer

import (
	"errors"
	"fmt"
	"strings"
)

// UnsupportedError says that a model is sound but cannot be imported, and lists everything in the way.
type UnsupportedError struct {
	List []Unsupported
	// Network is what the file says of itself; its Model is nil.
	Network *Network
}

// Unsupported is one part of a model that cannot be imported.
type Unsupported struct {
	// Operator is the position in the main subgraph, -1 when the part is an input or output of the network.
	Operator int
	// Name is the operator's, such as "BATCH_MATMUL" or `custom "TFLite_Detection_PostProcess"`; for an
	// input or output, which one.
	Name    string
	Version int
	// Reason is empty when the operator is not supported in any form.
	Reason string
}

func (u Unsupported) String() string {
	s := u.Name
	if u.Operator >= 0 {
		s = fmt.Sprintf("operator %d %s v%d", u.Operator, u.Name, u.Version)
	}
	if u.Reason != "" {
		s += " (" + u.Reason + ")"
	}
	return s
}

// maxListed bounds the message for files that consist of nothing but unsupported operators.
const maxListed = 1000

func (e *UnsupportedError) Error() string {
	var parts []string
	for _, u := range e.List[:min(len(e.List), maxListed)] {
		parts = append(parts, u.String())
	}
	if n := len(e.List) - maxListed; n > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", n))
	}
	return "cannot import: " + strings.Join(parts, ", ")
}

// damage marks an error about a file that contradicts itself.
type damage struct{ error }

func (d damage) Unwrap() error { return d.error }

// Damaged is an error about a file that contradicts itself, as against one that is sound and not supported: an import ends
// with it at once.
func Damaged(format string, args ...any) error { return damage{fmt.Errorf(format, args...)} }

// IsDamage reports whether err is one of Damaged.
func IsDamage(err error) bool {
	var d damage
	return errors.As(err, &d)
}
