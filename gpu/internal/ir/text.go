package ir

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// maxTextConst is the largest constant, in bytes, whose value the text form shows; of a larger one it
// shows the size only, and parsing gives zeroes.
const maxTextConst = 64

// String is the text form, which Parse reads:
//
//	input %0 TENSOR_FLOAT32 [1,4]
//	const %1 TENSOR_FLOAT32 [2,4] zeroes
//	%2 TENSOR_FLOAT32 [1,2] = FULLY_CONNECTED %0 %1 _ {"act":1}
//	output %2
//
// A quantised type is followed by (scale,zero point).
func (g *Graph) String() string {
	var b strings.Builder
	if g.Relaxed {
		b.WriteString("relaxed\n")
	}
	for _, id := range g.Inputs {
		if id == None {
			b.WriteString("input _\n")
		} else {
			fmt.Fprintf(&b, "input %s\n", g.typed(id))
		}
	}
	for i := range g.Tensors {
		if c := g.Tensors[i].Const; c != nil {
			fmt.Fprintf(&b, "const %s %s\n", g.typed(ID(i)), constText(c))
		}
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		outs := make([]string, len(n.Out))
		for k, id := range n.Out {
			outs[k] = g.typed(id)
		}
		fmt.Fprintf(&b, "%s = %s", strings.Join(outs, ", "), opName(n.Op))
		for _, id := range n.In {
			b.WriteString(" " + name(id))
		}
		if n.Attrs != nil && !reflect.ValueOf(n.Attrs).IsZero() {
			attrs, err := json.Marshal(n.Attrs)
			if err != nil {
				panic(err) // plain numbers only
			}
			fmt.Fprintf(&b, " %s", attrs)
		}
		b.WriteByte('\n')
	}
	for _, id := range g.Outputs {
		fmt.Fprintf(&b, "output %s\n", name(id))
	}
	return b.String()
}

// elementwise is the name of the operation that no model has.
const elementwise = "ELEMENTWISE"

func opName(op nn.OperationType) string {
	if op == ops.Elementwise {
		return elementwise
	}
	return op.String()
}

func parseOp(name string) (nn.OperationType, error) {
	if name == elementwise {
		return ops.Elementwise, nil
	}
	return nn.ParseOperationType(name)
}

func name(id ID) string {
	if id == None {
		return "_"
	}
	return fmt.Sprintf("%%%d", int(id))
}

func (g *Graph) typed(id ID) string {
	t := g.T(id)
	shape, err := json.Marshal(append([]int{}, t.Shape...))
	if err != nil {
		panic(err) // integers
	}
	quant := ""
	if t.Scale != 0 || t.Zero != 0 {
		quant = fmt.Sprintf("(%v,%d)", t.Scale, t.Zero)
	}
	return fmt.Sprintf("%s %v%s %s", name(id), t.Type, quant, shape)
}

func constText(c []byte) string {
	for _, v := range c {
		if v != 0 && len(c) <= maxTextConst {
			return base64.StdEncoding.EncodeToString(c)
		}
	}
	return "zeroes"
}

// Parse reads the text form of a graph and verifies it.
func Parse(text string) (*Graph, error) {
	p := &parser{graph: &Graph{}, ids: map[string]ID{}}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if err := p.line(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	if err := p.graph.Verify(Inferred); err != nil {
		return nil, err
	}
	return p.graph, nil
}

type parser struct {
	graph *Graph
	ids   map[string]ID // by name in the text
}

func (p *parser) line(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "relaxed":
		p.graph.Relaxed = true
		return nil
	case "input":
		if rest == "_" {
			p.graph.Inputs = append(p.graph.Inputs, None)
			return nil
		}
		id, _, err := p.define(rest)
		p.graph.Inputs = append(p.graph.Inputs, id)
		return err
	case "const":
		id, value, err := p.define(rest)
		if err != nil {
			return err
		}
		t := p.graph.T(id)
		if value == "zeroes" {
			t.Const, err = zeroes(t)
			return err
		}
		t.Const, err = base64.StdEncoding.DecodeString(value)
		return err
	case "output":
		id, err := p.use(rest)
		p.graph.Outputs = append(p.graph.Outputs, id)
		return err
	}
	return p.node(line)
}

// maxZeroes bounds the size in bytes of a constant whose value the text leaves out.
const maxZeroes = 1 << 28

func zeroes(t *Tensor) ([]byte, error) {
	n := t.Type.Bytes()
	for _, d := range t.Shape {
		if d <= 0 || d > maxZeroes || n*d > maxZeroes {
			return nil, fmt.Errorf("constant of shape %v", t.Shape)
		}
		n *= d
	}
	return make([]byte, n), nil
}

func (p *parser) node(line string) error {
	left, right, ok := strings.Cut(line, " = ")
	if !ok {
		return fmt.Errorf("%q is no statement", line)
	}
	right, attrs, _ := strings.Cut(right, " {")
	fields := strings.Fields(right)
	if len(fields) == 0 {
		return errors.New("no operation")
	}
	op, err := parseOp(fields[0])
	if err != nil {
		return err
	}
	n := Node{Op: op, Source: len(p.graph.Nodes)}
	for _, f := range fields[1:] {
		id, err := p.use(f)
		if err != nil {
			return err
		}
		n.In = append(n.In, id)
	}
	row := ops.Lookup(op)
	if row == nil {
		return fmt.Errorf("%v is not in the table of operations", op)
	}
	if attrs == "" {
		attrs = "}"
	}
	if n.Attrs, err = row.ParseAttrs([]byte("{" + attrs)); err != nil {
		return err
	}
	for _, def := range strings.Split(left, ", ") {
		id, _, err := p.define(def)
		if err != nil {
			return err
		}
		n.Out = append(n.Out, id)
	}
	p.graph.Nodes = append(p.graph.Nodes, n)
	return nil
}

func (p *parser) use(name string) (ID, error) {
	if name == "_" {
		return None, nil
	}
	id, ok := p.ids[name]
	if !ok {
		return None, fmt.Errorf("%s is not defined", name)
	}
	return id, nil
}

// define reads "%1 TYPE(scale,zero) [shape] rest".
func (p *parser) define(text string) (ID, string, error) {
	fields := strings.Fields(text)
	if len(fields) < 3 {
		return None, "", fmt.Errorf("%q is no tensor", text)
	}
	if _, twice := p.ids[fields[0]]; twice {
		return None, "", fmt.Errorf("%s is defined twice", fields[0])
	}
	var t Tensor
	typeName, quant, quantised := strings.Cut(strings.TrimSuffix(fields[1], ")"), "(")
	var err error
	if t.Type, err = nn.ParseOperandType(typeName); err != nil {
		return None, "", err
	}
	if quantised {
		scale, zero, _ := strings.Cut(quant, ",")
		s, err := strconv.ParseFloat(scale, 32)
		if err != nil {
			return None, "", err
		}
		z, err := strconv.ParseInt(zero, 10, 32)
		if err != nil {
			return None, "", err
		}
		t.Scale, t.Zero = float32(s), int32(z)
	}
	if err := json.Unmarshal([]byte(fields[2]), &t.Shape); err != nil {
		return None, "", err
	}
	id := p.graph.Add(t)
	p.ids[fields[0]] = id
	return id, strings.Join(fields[3:], " "), nil
}
