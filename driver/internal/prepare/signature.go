package prepare

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// storedSignature is what a request is checked against, and how the model was prepared, for a model that no longer
// exists.
type storedSignature struct {
	Main       nn.Graph // inputs and outputs only
	Names      storedNames
	Needed     []string // of each input: validate.Needed
	OutputDims []nn.Dims
	Preference nn.Preference
	Priority   nn.Priority
	Quick      bool // the first form of a staged compilation
	Tuned      bool // kernels were chosen by measurement
	Template   bool // what follows is a storedTemplate, not a backend's form
}

func (s *storedSignature) model() *nn.Model {
	return &nn.Model{Main: s.Main, Names: nn.Names{Inputs: texts(s.Names.Inputs), Outputs: texts(s.Names.Outputs)}}
}

// storedNames are nn.Names as bytes: JSON would change names that are not UTF-8.
type storedNames struct{ Inputs, Outputs [][]byte }

func texts(list [][]byte) (out []string) {
	for _, b := range list {
		out = append(out, string(b))
	}
	return out
}

func textBytes(list []string) (out [][]byte) {
	for _, s := range list {
		out = append(out, []byte(s))
	}
	return out
}

const signatureMagic = "nngpusig"

// encodeSignature: magic, length (4 bytes, least significant first), JSON. The backend's form follows it, or the template.
func encodeSignature(m *nn.Model, o *backend.Options, k kind, template bool) ([]byte, error) {
	dims, err := outputDims(m)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(storedSignature{
		Main: interfaceOf(&m.Main), Names: storedNames{textBytes(m.Names.Inputs), textBytes(m.Names.Outputs)},
		Needed: validate.Needed(m), OutputDims: dims,
		Preference: o.Preference, Priority: o.Priority, Quick: k == quickForm, Tuned: k == tuned, Template: template,
	})
	if err != nil {
		return nil, err
	}
	b := binary.LittleEndian.AppendUint32([]byte(signatureMagic), uint32(len(text)))
	return append(b, text...), nil
}

// interfaceOf is g without what lies between its inputs and its outputs, which may take long to read.
func interfaceOf(g *nn.Graph) nn.Graph {
	var out nn.Graph
	add := func(list []uint32) (indexes []uint32) {
		for _, i := range list {
			indexes = append(indexes, uint32(len(out.Operands)))
			out.Operands = append(out.Operands, g.Operands[i])
		}
		return indexes
	}
	out.Inputs, out.Outputs = add(g.Inputs), add(g.Outputs)
	return out
}

// decodeSignature undoes encodeSignature. The content was verified; it is checked all the same, so that a
// mistake of ours cannot index out of range later.
func decodeSignature(b []byte) (*storedSignature, []byte, error) {
	const head = len(signatureMagic) + 4
	if len(b) < head || string(b[:len(signatureMagic)]) != signatureMagic {
		return nil, nil, errors.New("no signature")
	}
	n := binary.LittleEndian.Uint32(b[len(signatureMagic):])
	if uint64(n) > uint64(len(b)-head) {
		return nil, nil, fmt.Errorf("signature of %d bytes in %d", n, len(b)-head)
	}
	s := &storedSignature{}
	if err := json.Unmarshal(b[head:head+int(n)], s); err != nil {
		return nil, nil, fmt.Errorf("signature: %w", err)
	}
	if err := validate.Signature(&s.Main); err != nil {
		return nil, nil, err
	}
	if len(s.Needed) != len(s.Main.Inputs) || len(s.OutputDims) != len(s.Main.Outputs) {
		return nil, nil, fmt.Errorf("%d and %d entries for %d inputs and %d outputs",
			len(s.Needed), len(s.OutputDims), len(s.Main.Inputs), len(s.Main.Outputs))
	}
	return s, b[head+int(n):], nil
}

// signatureOf is what requests for m are checked against.
func signatureOf(m *nn.Model) *nn.Model {
	return &nn.Model{Main: m.Main, Pools: m.Pools, Names: nn.Names{
		Inputs: slices.Clone(m.Names.Inputs), Outputs: slices.Clone(m.Names.Outputs),
	}}
}

// outputDims returns the dimensions of each output; where the model leaves them open, those that follow from its
// inputs.
func outputDims(m *nn.Model) ([]nn.Dims, error) {
	dims, err := validate.Shapes(m)
	if err != nil {
		return nil, err
	}
	var out []nn.Dims
	for _, index := range m.Main.Outputs {
		out = append(out, dims[index])
	}
	return out, nil
}
