// Package networks builds well-known networks by name, so that engines and devices can be compared on equal work.
//
// Their shapes are the published ones; their weights are random numbers with a fixed seed for each layer, drawn so that
// activations neither vanish nor grow (He et al., "Delving Deep into Rectifiers"). So they classify nothing, but cost
// what the trained ones cost, and nothing needs to be fetched.
//
// Networks of int8 have a scale for each channel of their filters, and scales of activations from the ranges of the
// float network. These are computed once, by the reference in tests/internal/ref from random inputs, and kept in
// ranges.json: computing them whenever a network is built would take seconds, those computed on a device would depend
// on it, and bounds by analysis are too wide to be of use behind some layers. The test in tests/networks computes them
// again and writes them with -update. An activation's scale covers a quarter more than its range, since other inputs
// reach a little further.
//
// It knows no device. File writes a network for other engines.
package networks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nngpu/nngpu/driver/nn"
)

// Type is the type of a network's activations and weights.
type Type string

// Types of networks.
const (
	Float32 Type = "f32"
	Float16 Type = "f16"
	Int8    Type = "int8"
)

// Types are all types.
var Types = []Type{Float32, Float16, Int8}

// Spec says which network is meant.
type Spec struct {
	Name  string // one of Names, or gemm:M,N,K
	Type  Type   // "" for Float32
	Batch int    // examples at once; 0 for 1
	// Small is the network for inputs of 64x64 pixels instead of 224x224, or of 16 tokens instead of 128: with the same
	// layers and weights, for slow engines and devices. It does not change a gemm.
	Small bool
}

// Network is a network with what its builder knows of it.
type Network struct {
	Model *nn.Model
	// Ranged names the activations that have a range of their own, by their operands. Several have the same name where
	// they share a scale.
	Ranged map[uint32]string
}

// MaxBatch bounds Spec.Batch.
const MaxBatch = 4096

// builders make the networks that need only a name.
var builders = map[string]func(*network){
	"mobilenet_v1": mobilenetV1, "mobilenet_v2": mobilenetV2, "squeezenet_1.1": squeezenet, "resnet50": resnet50,
	"transformer_block": transformerBlock,
}

// Gemm is how the name of a matrix product begins.
const Gemm = "gemm:"

// Names are the networks that need only a name, in the order of their size.
func Names() []string {
	return []string{"squeezenet_1.1", "mobilenet_v2", "transformer_block", "mobilenet_v1", "resnet50"}
}

// Build makes a network. Its one input is called "input", its one output "output". Equal specs give equal models.
//
// It fails for a spec that names nothing, and for a gemm that is too large.
func Build(s Spec) (*Network, error) {
	s.complete()
	build, err := s.builder()
	if err != nil {
		return nil, err
	}
	n := &network{spec: s, ranged: map[uint32]string{}}
	if s.Type == Int8 {
		n.ranges = rangesOf(s)
	}
	build(n)
	m, err := n.b.Build()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	return &Network{Model: m, Ranged: n.ranged}, nil
}

// Check is the error that Build would return for the spec.
func (s Spec) Check() error {
	s.complete()
	_, err := s.builder()
	return err
}

func (s *Spec) complete() {
	if s.Type == "" {
		s.Type = Float32
	}
	if s.Batch == 0 {
		s.Batch = 1
	}
}

// builder is what makes the network of a complete spec.
func (s *Spec) builder() (func(*network), error) {
	if !slices.Contains(Types, s.Type) {
		return nil, fmt.Errorf("there is no network of type %q; types are %v", s.Type, Types)
	}
	if s.Batch < 1 || s.Batch > MaxBatch {
		return nil, fmt.Errorf("a batch is from 1 to %d, not %d", MaxBatch, s.Batch)
	}
	if sizes, isGemm := strings.CutPrefix(s.Name, Gemm); isGemm {
		p, err := parseProduct(sizes, s.Batch)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		return p.build, nil
	}
	build, known := builders[s.Name]
	if !known {
		return nil, fmt.Errorf("there is no network %q; known are %s and %sM,N,K", s.Name, strings.Join(Names(), ", "), Gemm)
	}
	return build, nil
}

// product is x [M, K] times a constant matrix [N, K], transposed, and a bias [N].
type product struct{ m, n, k int }

// maxElements bounds each of the three matrices of a product.
const maxElements = 1 << 28

func parseProduct(text string, batch int) (p product, err error) {
	fields := strings.Split(text, ",")
	if len(fields) != 3 {
		return p, fmt.Errorf("the sizes of a product are M,N,K, not %q", text)
	}
	for i, at := range []*int{&p.m, &p.n, &p.k} {
		v, err := strconv.ParseUint(fields[i], 10, 20)
		if err != nil || v == 0 {
			return p, fmt.Errorf("%q is no size of a product", fields[i])
		}
		*at = int(v)
	}
	p.m *= batch
	for _, elements := range []int{p.m * p.n, p.m * p.k, p.n * p.k} {
		if elements > maxElements {
			return p, fmt.Errorf("a matrix of %d elements; at most %d", elements, maxElements)
		}
	}
	return p, nil
}

func (p product) build(n *network) {
	x := n.input(nn.Dims{uint32(p.m), uint32(p.k)})
	n.output(n.dense("product", x, p.n, linear, 1))
}
