package conformancedata

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

type modelJSON struct {
	Name                 string          `json:"name"`
	MinHAL               string          `json:"min_hal"`
	ExpectFailure        bool            `json:"expect_failure"`
	Relaxed              bool            `json:"relaxed"`
	MultinomialTolerance *float64        `json:"multinomial_tolerance"`
	Main                 graphJSON       `json:"main"`
	Referenced           list[graphJSON] `json:"referenced"`
}

// levels are the versions that models and folders state.
var levels = map[string]nn.Level{
	"V1_0": nn.HAL10, "V1_1": nn.HAL11, "V1_2": nn.HAL12, "V1_3": nn.HAL13, "V1_3_cts_only": nn.HAL13,
	"AIDL_V2": nn.AIDL2, "AIDL_V3": nn.AIDL3,
}

// maxItems bounds each list of objects in a model. The longest of the suite has 218.
const maxItems = 1 << 14

// list is a list of objects, which take far more memory than their text: it is decoded one by one and no further than
// maxItems.
type list[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (l *list[T]) UnmarshalJSON(text []byte) error {
	*l = nil
	dec := json.NewDecoder(bytes.NewReader(text))
	switch start, err := dec.Token(); {
	case err != nil:
		return err
	case start == nil: // null
		return nil
	case start != json.Delim('['):
		return fmt.Errorf("%v instead of a list", start)
	}
	for dec.More() {
		if len(*l) == maxItems {
			return fmt.Errorf("a list of more than %d", maxItems)
		}
		var v T
		if err := dec.Decode(&v); err != nil {
			return err
		}
		*l = append(*l, v)
	}
	return nil
}

type graphJSON struct {
	Operands   list[operandJSON]   `json:"operands"`
	Operations list[operationJSON] `json:"operations"`
	Inputs     []uint32            `json:"inputs"`
	Outputs    []uint32            `json:"outputs"`
}

type operandJSON struct {
	Type         string    `json:"type"`
	Dims         []uint32  `json:"dims"`
	Scale        float32   `json:"scale"`
	ZeroPoint    int32     `json:"zero_point"`
	ChannelQuant *chanJSON `json:"channel_quant"`
	Lifetime     string    `json:"lifetime"`
	Ignored      bool      `json:"ignored"`
	Data         *[]byte   `json:"data"` // base64
}

type chanJSON struct {
	Scales     []float32 `json:"scales"`
	ChannelDim uint32    `json:"channel_dim"`
}

type operationJSON struct {
	Type    string   `json:"type"`
	Inputs  []uint32 `json:"inputs"`
	Outputs []uint32 `json:"outputs"`
}

// Parse decodes one line of a model file. Folder of the result is left empty.
//
// Structure is checked as far as building the model needs: known names, data of the right length,
// inputs and outputs that exist. Whether the model is valid is for a driver to say, since some are
// meant to be refused.
func Parse(line []byte) (*Case, error) {
	var j modelJSON
	if err := json.Unmarshal(line, &j); err != nil {
		return nil, err
	}
	c := &Case{Name: j.Name, ExpectFailure: j.ExpectFailure, Relaxed: j.Relaxed}
	if j.MultinomialTolerance != nil {
		c.MultinomialTolerance = *j.MultinomialTolerance
	}
	b := builder{seen: map[nn.OperationType]bool{}}
	main, err := b.graph(&j.Main)
	if err != nil {
		return nil, fmt.Errorf("%s: main: %w", j.Name, err)
	}
	c.Model = &nn.Model{Main: main, RelaxFloat32: j.Relaxed, Level: levels[j.MinHAL]}
	for i := range j.Referenced {
		g, err := b.graph(&j.Referenced[i])
		if err != nil {
			return nil, fmt.Errorf("%s: referenced %d: %w", j.Name, i, err)
		}
		c.Model.Referenced = append(c.Model.Referenced, g)
	}
	c.Model.Values = b.values
	if b.usesPool {
		c.Model.Pools = []nn.Memory{nn.HostMemory(b.pool)}
	}
	c.Operations = b.operations
	if err := c.fill(&j.Main); err != nil {
		return nil, fmt.Errorf("%s: %w", j.Name, err)
	}
	return c, nil
}

// fill takes the request data out of the main graph's operands.
func (c *Case) fill(g *graphJSON) error {
	for _, i := range g.Inputs {
		if uint64(i) >= uint64(len(g.Operands)) {
			return fmt.Errorf("input operand %d of %d", i, len(g.Operands))
		}
		o := &g.Operands[i]
		if o.Data == nil {
			c.Inputs = append(c.Inputs, nil)
			continue
		}
		c.Inputs = append(c.Inputs, *o.Data)
	}
	for _, i := range g.Outputs {
		if uint64(i) >= uint64(len(g.Operands)) {
			return fmt.Errorf("output operand %d of %d", i, len(g.Operands))
		}
		o := &g.Operands[i]
		out := Output{Dims: nn.Dims(o.Dims), Ignored: o.Ignored}
		if o.Data != nil {
			out.Data = *o.Data
		}
		if want, err := c.Model.Main.Operands[i].ByteSize(); err != nil || int(want) != len(out.Data) {
			return fmt.Errorf("output operand %d: %d expected bytes for dimensions %v", i, len(out.Data), o.Dims)
		}
		c.Expected = append(c.Expected, out)
	}
	return nil
}

type builder struct {
	values, pool []byte
	usesPool     bool
	operations   []nn.OperationType
	seen         map[nn.OperationType]bool
}

func (b *builder) graph(j *graphJSON) (nn.Graph, error) {
	g := nn.Graph{Inputs: j.Inputs, Outputs: j.Outputs}
	for i := range j.Operands {
		o, err := b.operand(&j.Operands[i])
		if err != nil {
			return g, fmt.Errorf("operand %d: %w", i, err)
		}
		g.Operands = append(g.Operands, o)
	}
	for i, op := range j.Operations {
		t, err := nn.ParseOperationType(op.Type)
		if err != nil {
			return g, fmt.Errorf("operation %d: %w", i, err)
		}
		if !b.seen[t] {
			b.seen[t] = true
			b.operations = append(b.operations, t)
		}
		g.Operations = append(g.Operations, nn.Operation{Type: t, Inputs: op.Inputs, Outputs: op.Outputs})
	}
	return g, nil
}

func (b *builder) operand(j *operandJSON) (nn.Operand, error) {
	t, err := nn.ParseOperandType(j.Type)
	if err != nil {
		return nn.Operand{}, err
	}
	life, err := nn.ParseLifetime(j.Lifetime)
	if err != nil {
		return nn.Operand{}, err
	}
	o := nn.Operand{Type: t, Scale: j.Scale, ZeroPoint: j.ZeroPoint, Lifetime: life}
	if len(j.Dims) > 0 {
		o.Dims = nn.Dims(j.Dims)
	}
	if q := j.ChannelQuant; q != nil {
		o.Channel = &nn.ChannelQuant{Scales: q.Scales, ChannelDim: q.ChannelDim}
	}
	if j.Data != nil && life != nn.Subgraph {
		want, err := o.ByteSize()
		if err != nil {
			return o, err
		}
		if int(want) != len(*j.Data) {
			return o, fmt.Errorf("%d bytes of data for %s%v", len(*j.Data), t, j.Dims)
		}
	}
	switch life {
	case nn.ConstantCopy, nn.ConstantReference:
		if j.Data == nil {
			return o, fmt.Errorf("constant without data")
		}
		into := &b.values
		if life == nn.ConstantReference {
			into, b.usesPool = &b.pool, true
		}
		o.Location = place(into, *j.Data)
	case nn.Subgraph:
		if j.Data == nil || len(*j.Data) != 4 {
			return o, fmt.Errorf("subgraph reference without an index")
		}
		// From NN HAL 1.3 types.hal, OperandLifeTime SUBGRAPH: the offset is the index, the length 0.
		o.Location.Offset = binary.LittleEndian.Uint32(*j.Data)
	}
	return o, nil
}

// place appends data to buf at the next 4-byte boundary.
func place(buf *[]byte, data []byte) nn.Location {
	for len(*buf)%4 != 0 {
		*buf = append(*buf, 0)
	}
	at := len(*buf)
	*buf = append(*buf, data...)
	return nn.Location{Offset: uint32(at), Length: uint32(len(data))}
}
