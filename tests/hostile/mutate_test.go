//go:build linux

package hostile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/internal/conformancedata"
	"github.com/nngpu/nngpu/internal/devices"
)

const (
	mutateVariable = "NNGPU_HOSTILE_MUTATE" // device:seed:mutations, of a child of TestMutatedModels
	mutateOne      = "NNGPU_HOSTILE_ONE"    // name:seed of the one mutation that a child does
	lastMutation   = "NNGPU_HOSTILE_LAST"   // the file that a child writes before each
)

// TestMutatedModels changes conformance models at random (indexes, dimensions, types, lifetimes, places of constants, values
// of scalars, operations), prepares them and runs what the device takes: 100,000 on each device with NNGPU_SOAK=1, else 750.
// It does so in processes of its own with robust buffer access, so that a crash or a hang is seen with the mutation that
// caused it.
func TestMutatedModels(t *testing.T) {
	if os.Getenv(mutateVariable) != "" {
		t.Skip("this is a child")
	}
	nntest.Shared(t, "conformance")
	total, batch := 750, 750
	if os.Getenv("NNGPU_SOAK") == "1" {
		total, batch = 100_000, 5000
	}
	for _, name := range nntest.Devices() {
		t.Run(name, func(t *testing.T) {
			devices.Open(t, name) // skips where it is absent
			for seed := 0; seed*batch < total; seed++ {
				mutationsInChild(t, name, seed, batch)
			}
		})
	}
}

func mutationsInChild(t *testing.T, device string, seed, n int) {
	last := filepath.Join(t.TempDir(), "last")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute+time.Duration(n)*100*time.Millisecond)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestMutationsChild$", "-test.v", "-test.timeout=0")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s:%d:%d", mutateVariable, device, seed, n), lastMutation+"="+last, "NNGPU_POISON=1",
		"NNGPU_ROBUST=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	text := out.String()
	if err != nil || !strings.Contains(text, "mutations: done") {
		which, _ := os.ReadFile(last) // empty where there was none yet
		t.Errorf("mutation %s, of %s=%s: %v\n%s", which, mutateOne, which, errors.Join(err, ctx.Err()), text[max(0, len(text)-6000):])
		return
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, "mutations: ") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

// TestMutationsChild is the child's part of TestMutatedModels.
func TestMutationsChild(t *testing.T) {
	what := strings.Split(os.Getenv(mutateVariable), ":")
	if len(what) != 3 {
		t.Skip("this is no child")
	}
	seed, err := strconv.Atoi(what[1])
	require.NoError(t, err)
	n, err := strconv.Atoi(what[2])
	require.NoError(t, err)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: addressSpace, Max: addressSpace}))
	d := devices.OpenWith(t, what[0], gpu.Options{MemoryBudget: budget})
	client, err := d.NewClient("hostile")
	require.NoError(t, err)
	last, err := os.Create(os.Getenv(lastMutation))
	require.NoError(t, err)
	defer last.Close()
	m := &mutations{t: t, dev: d, client: client, last: bufio.NewWriterSize(last, 1), ends: map[nn.Status]int{}}
	if one, number, ok := strings.Cut(os.Getenv(mutateOne), ":"); ok {
		s, err := strconv.ParseUint(number, 10, 64)
		require.NoError(t, err)
		require.NoError(t, conformancedata.Load(nntest.Shared(t, "conformance"), func(name string) bool { return name == one },
			func(c *conformancedata.Case) error { m.take(c, s); return nil }))
		return
	}
	m.some(uint64(seed), n)
	fmt.Println("mutations:", m.done, m.ends)
	fmt.Println("mutations: done")
}

// mutations are those of one process.
type mutations struct {
	t      *testing.T
	dev    *driver.Device
	client *driver.Client
	last   *bufio.Writer
	done   int
	ends   map[nn.Status]int // how they ended; NONE: they ran
}

// some makes n mutations of models spread over the suite.
func (m *mutations) some(seed uint64, n int) {
	const models = 7000 // about as many as there are that may be mutated
	rng := rand.New(rand.NewPCG(seed, 11))
	err := conformancedata.Load(nntest.Shared(m.t, "conformance"), nil, func(c *conformancedata.Case) error {
		for share := float64(n) / models; rng.Float64() < share; share-- {
			m.take(c, rng.Uint64())
		}
		return nil
	})
	require.NoError(m.t, err)
}

// take makes mutation seed of c and does with it what a client does.
func (m *mutations) take(c *conformancedata.Case, seed uint64) {
	m.t.Helper()
	where := fmt.Sprintf("%s:%d", c.Name, seed)
	fmt.Fprintln(m.last, where)
	m.last.Flush()
	rng := rand.New(rand.NewPCG(seed, 5))
	model := clone(c.Model)
	for range 1 + rng.IntN(3) {
		mutate(model, rng)
	}
	m.done++
	_, reasons, serr := m.dev.SupportedOperations(model)
	p, err := m.client.PrepareModel(m.t.Context(), model)
	switch exhausted := isExhausted(err); {
	case serr != nil && (err == nil || nn.StatusOf(serr) != nn.StatusInvalidArgument):
		m.t.Errorf("%s: supported: %v, prepared: %v", where, serr, err)
	case serr == nil && !exhausted && (errors.Join(reasons...) == nil) != (err == nil):
		m.t.Errorf("%s: supported: %v, prepared: %v", where, errors.Join(reasons...), err)
	case err == nil:
		err = m.execute(p, model, c.Inputs, rng)
		if cerr := p.Close(); cerr != nil {
			m.t.Errorf("%s: %v", where, cerr)
		}
	}
	status := nn.StatusOf(err)
	if m.ends[status]++; len(fmt.Sprint(err)) > 100_000 {
		m.t.Errorf("%s: an error of %d bytes", where, len(err.Error()))
	}
}

func isExhausted(err error) bool {
	s := nn.StatusOf(err)
	return s == nn.StatusResourceExhaustedPersistent || s == nn.StatusResourceExhaustedTransient
}

// execute runs p, of model, on the inputs given where they still fit, else on random ones, for a few seconds at most.
func (m *mutations) execute(p *driver.PreparedModel, model *nn.Model, given [][]byte, rng *rand.Rand) error {
	ctx, cancel := context.WithTimeout(m.t.Context(), 5*time.Second)
	defer cancel()
	inputs, total := slices.Clone(given), 0
	graph := &model.Main
	for i, at := range graph.Inputs {
		n, err := graph.Operands[at].ByteSize()
		if err != nil {
			return err
		}
		if i == len(inputs) {
			inputs = append(inputs, nil)
		}
		if total += int(n); total > 32<<20 {
			return nil // it would only take time
		}
		if inputs[i] == nil || uint64(len(inputs[i])) != uint64(n) {
			inputs[i] = make([]byte, n)
			for k := range inputs[i] {
				inputs[i][k] = byte(rng.Uint32())
			}
		}
	}
	for _, at := range graph.Outputs {
		if n, err := graph.Operands[at].ByteSize(); err != nil || n > 32<<20 {
			return err
		}
	}
	_, err := p.Run(ctx, inputs[:len(graph.Inputs)], p.NewOutputs(), driver.WithLoopTimeout(time.Second))
	return err
}

// clone copies all of m that mutate changes. The constants are its own.
func clone(m *nn.Model) *nn.Model {
	c := *m
	c.Values = slices.Clone(m.Values)
	graph := func(g *nn.Graph) nn.Graph {
		n := nn.Graph{Operands: slices.Clone(g.Operands), Operations: slices.Clone(g.Operations), Inputs: slices.Clone(g.Inputs), Outputs: slices.Clone(g.Outputs)}
		for i := range n.Operands {
			n.Operands[i].Dims = slices.Clone(n.Operands[i].Dims)
		}
		for i := range n.Operations {
			op := &n.Operations[i]
			op.Inputs, op.Outputs = slices.Clone(op.Inputs), slices.Clone(op.Outputs)
		}
		return n
	}
	c.Main = graph(&m.Main)
	c.Referenced = nil
	for i := range m.Referenced {
		c.Referenced = append(c.Referenced, graph(&m.Referenced[i]))
	}
	return &c
}

// odd are numbers at the ends of what kernels and checks may hold.
var odd = []uint32{0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 63, 64, 65, 127, 255, 256, 1000, 4096, 65535, 65536, 1 << 20, 1<<24 + 1, 1<<31 - 1, 1 << 31, 1<<32 - 2, 1<<32 - 1}

func pick[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }

// mutate changes one thing of m.
func mutate(m *nn.Model, rng *rand.Rand) {
	g := &m.Main
	if n := len(m.Referenced); n > 0 && rng.IntN(2) == 0 {
		g = &m.Referenced[rng.IntN(n)]
	}
	o, op := &g.Operands[rng.IntN(len(g.Operands))], &g.Operations[rng.IntN(len(g.Operations))]
	list := pick(rng, []*[]uint32{&op.Inputs, &op.Inputs, &op.Outputs, &g.Inputs, &g.Outputs})
	switch rng.IntN(12) {
	case 0, 1, 2: // a size; small ones more often, because they often still run
		if len(o.Dims) > 0 {
			o.Dims[rng.IntN(len(o.Dims))] = pick(rng, odd[:6+rng.IntN(len(odd)-5)])
		}
	case 3: // the rank
		switch n := len(o.Dims); {
		case n > 0 && rng.IntN(2) == 0:
			o.Dims = o.Dims[:n-1]
		default:
			o.Dims = append(o.Dims, 1+rng.Uint32N(3))
		}
	case 4, 5, 6: // bytes of a constant, a number of it most often
		if v, err := m.Value(o); err == nil && len(v) > 0 && o.Lifetime == nn.ConstantCopy {
			if at := rng.IntN(len(v)) &^ 3; at+4 <= len(v) && rng.IntN(4) > 0 {
				x := pick(rng, odd)
				if rng.IntN(2) == 0 {
					x = -x
				}
				binary.LittleEndian.PutUint32(v[at:], x)
			} else {
				v[rng.IntN(len(v))] ^= 1 << rng.IntN(8)
			}
		}
	case 7:
		o.Type = nn.OperandType(rng.IntN(17) - 1)
	case 8:
		o.Lifetime = nn.Lifetime(rng.IntN(8) - 1)
	case 9:
		switch rng.IntN(4) {
		case 0:
			o.Scale = pick(rng, []float32{0, -1, 1, 1e-30, 1e30, 0.5})
		case 1:
			o.ZeroPoint = int32(pick(rng, odd))
		case 2:
			o.Location.Length = pick(rng, odd)
		case 3:
			o.Location.Offset = pick(rng, odd)
		}
	case 10:
		switch n := len(*list); {
		case n == 0 || rng.IntN(4) == 0:
			*list = append(*list, rng.Uint32N(uint32(len(g.Operands))+1))
		case rng.IntN(3) == 0:
			*list = slices.Delete(*list, n-1, n)
		default:
			(*list)[rng.IntN(n)] = rng.Uint32N(uint32(len(g.Operands)) + 1)
		}
	case 11:
		op.Type = nn.OperationType(rng.IntN(108) - 1)
	}
}
