package lower

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

func init() {
	register(rule{check: checkProgram, lower: lowerProgram}, ops.Elementwise)
}

// What shaders/elementwise/program.comp has room for.
const (
	programOperands = 9
	programNumbers  = 6
	programSteps    = 16
	programResults  = 2
)

// boundCode is the operation of programs that bounds a value by two numbers.
const boundCode = 8

// programCodes are the operations of programs.
var programCodes = map[nn.OperationType]uint32{
	nn.OpAdd: 0, nn.OpSub: 1, nn.OpMul: 2, nn.OpDiv: 3, nn.OpMaximum: 4, nn.OpMinimum: 5, nn.OpSquaredDifference: 6, nn.OpPrelu: 7,
	nn.OpRelu: boundCode, nn.OpRelu1: boundCode, nn.OpRelu6: boundCode,
	nn.OpAbs: 9, nn.OpNeg: 10, nn.OpSqrt: 11, nn.OpRsqrt: 12, nn.OpHardSwish: 13, nn.OpExp: 14, nn.OpLogistic: 15, nn.OpTanh: 16,
}

// Programmable reports whether n can be a part of a program (ops.Elementwise) and is small enough for that: then the
// cost of a dispatch matters more than that programs take longer for the work than kernels made for one operation.
func Programmable(f *plan.Facts, g *ir.Graph, n *ir.Node) bool {
	if _, ok := programCodes[n.Op]; !ok || len(n.Out) != 1 {
		return false
	}
	z := g.T(n.Out[0])
	if !isFloatTensor(z.Type) || slices.ContainsFunc(n.In, func(id ir.ID) bool { return id == ir.None || g.T(id).Type != z.Type }) {
		return false
	}
	most := 1 << 18 // quads
	if f.Class == plan.ClassCPU {
		most = 1 << 10
	}
	return pack.LayoutOf(z).TotalQuads() <= most
}

// ProgramsPay reports whether programs pay that save so many dispatches. On software devices the kernel takes a fifth
// of a second to compile, longer than some kernels for one operation each, and a dispatch takes 10 to 20 microseconds:
// there they pay for recurrent cells, which have hundreds.
func ProgramsPay(f *plan.Facts, saved int) bool {
	return f.Class != plan.ClassCPU || saved >= 100 && !f.Quick
}

// program is the form of a program that the kernel reads.
type program struct {
	run     int      // quads after which an operand repeats or advances; 0: none does
	forms   []uint32 // of operands
	steps   []uint32
	numbers []float32
}

// programOf translates n.
func programOf(g *ir.Graph, n *ir.Node) (*program, error) {
	a, z := n.Attrs.(ops.Program), g.T(n.Out[0])
	if len(n.In) == 0 || len(n.In) > programOperands || len(n.Out) > programResults || len(a.Steps) > programSteps {
		return nil, fmt.Errorf("%d operands, %d steps, %d results", len(n.In), len(a.Steps), len(n.Out))
	}
	p := &program{numbers: slices.Clone(a.Numbers)}
	for _, id := range n.In {
		form, run, err := formOf(g.T(id), z)
		if err != nil {
			return nil, err
		}
		if run != 0 && p.run != 0 && run != p.run {
			return nil, fmt.Errorf("operands repeat after %d quads and after %d", p.run, run)
		}
		p.run = max(p.run, run)
		p.forms = append(p.forms, form)
	}
	const firstNumber, firstResult = programOperands, programOperands + programNumbers
	place := func(value int) uint32 {
		switch {
		case value < len(n.In):
			return uint32(value)
		case value < len(n.In)+len(a.Numbers):
			return uint32(value - len(n.In) + firstNumber)
		}
		return uint32(value - len(n.In) - len(a.Numbers) + firstResult)
	}
	for _, s := range a.Steps {
		code, second := programCodes[s.Op], uint32(0)
		switch {
		case code == boundCode:
			second = firstNumber + p.bounds(Relus[s.Op])
		case code < boundCode:
			second = place(s.B)
		}
		p.steps = append(p.steps, code|place(s.A)<<8|second<<16)
	}
	if len(p.numbers) > programNumbers {
		return nil, fmt.Errorf("%d numbers", len(p.numbers))
	}
	return p, nil
}

// bounds returns the place of the bounds of act among the numbers.
func (p *program) bounds(act nn.Activation) uint32 {
	lo, hi := pack.FloatRange(act)
	for i := 1; i < len(p.numbers); i++ {
		if p.numbers[i-1] == float32(lo) && p.numbers[i] == float32(hi) {
			return uint32(i - 1)
		}
	}
	p.numbers = append(p.numbers, float32(lo), float32(hi))
	return uint32(len(p.numbers) - 2)
}

// Forms of operands, as the kernel has them.
const (
	formSame   = iota // as the result lies
	formRepeat        // every so many quads
	formAbove         // one quad for so many
	formOne           // one quad
	formSplat         // added to these: the first element stands for all four
)

// formOf is how operand t lies relative to result z, and after how many quads it repeats or advances.
func formOf(t, z *ir.Tensor) (form uint32, run int, err error) {
	g, err := broadcast(t, t, z)
	if err != nil {
		return 0, 0, err
	}
	switch s := g.strideA; {
	case g.dims == 0, g.dims == 1 && s[0] == 1:
		form = formSame
	case g.dims == 1:
		form = formOne
	case g.dims == 2 && s[0] == 1 && s[1] == 0:
		form, run = formRepeat, g.size[0]
	case g.dims == 2 && s[0] == 0 && s[1] == 1:
		form, run = formAbove, g.size[0]
	default:
		return 0, 0, fmt.Errorf("%v beside %v", t.Shape, z.Shape)
	}
	if g.splatA {
		form |= formSplat
	}
	return form, run, nil
}

func checkProgram(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	z := g.T(n.Out[0])
	for _, id := range slices.Concat(n.In, n.Out) {
		if t := g.T(id); t.Type != z.Type || !isFloatTensor(t.Type) {
			return fmt.Errorf("%v and %v", t.Type, z.Type)
		}
	}
	for _, id := range n.Out {
		if !slices.Equal(g.T(id).Shape, z.Shape) {
			return fmt.Errorf("results of shapes %v and %v", z.Shape, g.T(id).Shape)
		}
	}
	if _, err := programOf(g, n); err != nil {
		return err
	}
	return emit.CheckTensors(f, g, n)
}

func lowerProgram(b *emit.Builder, n *ir.Node) {
	p, err := programOf(b.Graph, n)
	if err != nil {
		panic(fmt.Sprintf("lower: what was checked fails: %v", err))
	}
	a, l := n.Attrs.(ops.Program), b.Layout(n.Out[0])
	p.place(b, n)
	first := len(n.In) + len(a.Numbers)
	results := [programResults]int{a.Results[0], a.Results[len(n.Out)-1]}
	head := uint32(len(a.Steps) << 8)
	for i, value := range results {
		head |= uint32(value-first+programOperands+programNumbers) << (16 + 8*i)
	}
	var bindings []emit.Binding
	forms := uint32(0)
	cost := emit.Cost{FLOP: float64(4 * l.TotalQuads() * len(a.Steps))}
	for i := range programOperands {
		id, form := n.In[0], uint32(formOne)
		if i < len(n.In) {
			id, form = n.In[i], p.forms[i]
			cost.Bytes += float64(b.Layout(id).Bytes())
		}
		forms |= form << (3 * i)
		bindings = append(bindings, b.In(id))
	}
	push := emit.Ints(l.TotalQuads()).Divisors(max(1, p.run)).Ints(l.Quads, l.C).Words(forms, head)
	push = push.Words(p.steps...).Words(make([]uint32, programSteps-len(p.steps))...)
	for i := range programNumbers {
		v := 0.0
		if i < len(p.numbers) {
			v = float64(p.numbers[i])
		}
		push = push.Floats(v)
	}
	for i := range programResults {
		bindings = append(bindings, b.Out(n.Out[min(i, len(n.Out)-1)]))
	}
	cost.Bytes += float64(len(n.Out)) * float64(l.Bytes())
	b.Quads(shaders.Of(family.Program{Elem: elem(b.Graph.T(n.Out[0]).Type)}), l.TotalQuads(), push, cost, bindings...)
}

// place lets results of n take the memory of operands that nothing reads again.
func (p *program) place(b *emit.Builder, n *ir.Node) {
	taken := map[ir.ID]bool{}
	for _, out := range n.Out {
		for k, in := range n.In {
			if p.forms[k] == formSame && !taken[in] && !b.Placed(out) {
				b.InPlace(out, in)
				taken[in] = b.Placed(out)
			}
		}
	}
}
