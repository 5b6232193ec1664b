//go:build linux

package hostile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/importer/tflite"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/internal/devices"
	"github.com/nngpu/nngpu/tests/differential"
)

// outcome is what becomes of a model.
type outcome string

const (
	runs      outcome = "runs"
	compiles  outcome = "compiles" // running it would only take time, or wants dimensions
	invalid   outcome = "invalid"  // breaks a rule: INVALID_ARGUMENT from validation
	refused   outcome = "refused"  // valid, but an operation is not supported
	exhausted outcome = "exhausted"
)

// hostileCase is a model and what must become of it.
type hostileCase struct {
	name  string
	model func(b *nn.Builder)
	// instead of model: one that a builder does not make, or a file.
	whole func() *nn.Model
	file  func() []byte
	want  outcome
	says  string // part of the error
	// exact compares the outputs with the oracle's; else any bytes will do.
	exact bool
	// fills is the number of runs on different inputs; 0 for one on random bytes.
	fills int
	// only names the device to run on; "" for both.
	only string
	// limits; 0 for the usual ones.
	time      time.Duration
	megabytes int64
}

// What a child may take: of memory beside the budget of the device mostly the implementation itself.
const (
	budget        = 384 << 20        // of the device
	usualTime     = 30 * time.Second // of the wall clock: two cases at a time, beside other packages; none takes 4 s of a processor
	usualMemory   = 900              // MB resident
	addressSpace  = 64 << 30         // lavapipe and Go reserve much more than they use
	childVariable = "NNGPU_HOSTILE_CASE"
)

func cases() []hostileCase {
	var all []hostileCase
	for _, list := range [][]hostileCase{windowCases, moveCases, sumCases, quantCases, graphCases, sizeCases, fileCases} {
		all = append(all, list...)
	}
	return all
}

// TestHostile takes each model through the driver in a process of its own, so that one that brings the process
// down is seen, with its output.
func TestHostile(t *testing.T) {
	if os.Getenv(childVariable) != "" {
		t.Skip("this is a child")
	}
	seen := map[string]bool{}
	for _, tc := range cases() {
		require.False(t, seen[tc.name], "two cases are called %s", tc.name)
		seen[tc.name] = true
	}
	for _, name := range nntest.Devices() {
		t.Run(name, func(t *testing.T) {
			devices.Open(t, name) // skips where it is absent
			onDevice(t, name)
		})
	}
}

// onDevice takes all cases to one device, two at a time.
func onDevice(t *testing.T, name string) {
	var wg sync.WaitGroup
	turn := make(chan bool, 2)
	for _, tc := range cases() {
		if tc.only != "" && tc.only != name {
			continue
		}
		turn <- true
		wg.Go(func() {
			if err := tc.inChild(name); err != nil {
				t.Errorf("%s: %v", tc.name, err)
			}
			<-turn
		})
	}
	wg.Wait()
}

// inChild runs the case on a device in a process of its own.
func (tc *hostileCase) inChild(device string) error {
	limit, memory := tc.time, tc.megabytes
	if limit == 0 {
		limit = usualTime
	}
	if memory == 0 {
		memory = usualMemory
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestChild$", "-test.v")
	cmd.Env = append(os.Environ(), childVariable+"="+tc.name, "NNGPU_DEVICE="+device, "NNGPU_POISON=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	err := cmd.Run()
	text := out.String()
	if len(text) > 6000 {
		text = text[:3000] + "\n...\n" + text[len(text)-3000:]
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("not done after %v\n%s", limit, text)
	case err != nil:
		return fmt.Errorf("%w\n%s", err, text)
	case !strings.Contains(text, "child: done"):
		return fmt.Errorf("the child did nothing\n%s", text)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if mb := usage.Maxrss >> 10; mb > memory {
		return fmt.Errorf("took %d MB of memory, more than %d", mb, memory)
	}
	if os.Getenv("NNGPU_HOSTILE_VERBOSE") != "" {
		fmt.Printf("%-12s %-50s %6.2fs %5d MB\n", device, tc.name, time.Since(start).Seconds(), usage.Maxrss>>10)
	}
	return nil
}

// TestChild is the child's part of TestHostile.
func TestChild(t *testing.T) {
	name := os.Getenv(childVariable)
	if name == "" {
		t.Skip("this is no child")
	}
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: addressSpace, Max: addressSpace}))
	for _, tc := range cases() {
		if tc.name == name {
			tc.run(t, devices.OpenWith(t, os.Getenv("NNGPU_DEVICE"), gpu.Options{MemoryBudget: budget}))
			fmt.Println("child: done")
			return
		}
	}
	t.Fatalf("no case is called %s", name)
}

func (tc *hostileCase) run(t *testing.T, d *driver.Device) {
	m, err := tc.make()
	if err != nil {
		tc.check(t, invalid, err)
		return
	}
	_, reasons, err := d.SupportedOperations(m)
	if err != nil {
		require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "%v", err)
		client, cerr := d.NewClient("hostile")
		require.NoError(t, cerr)
		_, perr := client.PrepareModel(context.Background(), m)
		require.Error(t, perr, "prepared what is invalid: %v", err)
		tc.check(t, invalid, err)
		return
	}
	client, err := d.NewClient("hostile")
	require.NoError(t, err)
	p, err := client.PrepareModel(context.Background(), m)
	why := errors.Join(reasons...)
	if why != nil {
		require.Error(t, err, "prepared what is not supported: %v", why)
		tc.check(t, refused, err)
		return
	}
	if s := nn.StatusOf(err); s == nn.StatusResourceExhaustedPersistent || s == nn.StatusResourceExhaustedTransient {
		tc.check(t, exhausted, err)
		return
	}
	require.NoError(t, err, "does not prepare what it supports")
	if tc.want == compiles {
		return
	}
	for fill := range max(1, tc.fills) {
		inputs := tc.inputs(m, fill)
		if _, err = p.Run(context.Background(), inputs, p.NewOutputs()); err != nil {
			break
		}
		if tc.exact {
			differential.CompareOn(t, d, m, inputs, tolerance(m))
		}
	}
	if s := nn.StatusOf(err); s == nn.StatusResourceExhaustedPersistent || s == nn.StatusResourceExhaustedTransient {
		tc.check(t, exhausted, err)
		return
	}
	require.NoError(t, err)
	tc.check(t, runs, nil)
}

func (tc *hostileCase) make() (*nn.Model, error) {
	switch {
	case tc.whole != nil:
		return tc.whole(), nil
	case tc.file != nil:
		n, err := tflite.Import(tc.file())
		if err != nil {
			return nil, err
		}
		return n.Model, nil
	}
	var b nn.Builder
	tc.model(&b)
	return nntest.Build(&b), nil
}

func (tc *hostileCase) check(t *testing.T, got outcome, err error) {
	t.Helper()
	require.Equal(t, tc.want, got, "%v", err)
	if err != nil {
		require.Contains(t, err.Error(), tc.says)
		require.Less(t, len(err.Error()), 100_000)
	}
}

// inputs are random for exact cases, else of what kernels may not trust.
func (tc *hostileCase) inputs(m *nn.Model, fill int) [][]byte {
	rng := rand.New(rand.NewPCG(uint64(fill), 3))
	if tc.exact {
		return differential.RandomInputs(m, rng)
	}
	var inputs [][]byte
	for _, index := range m.Main.Inputs {
		o := &m.Main.Operands[index]
		n, err := o.ByteSize()
		if err != nil {
			panic(err) // validation passed
		}
		data := make([]byte, n)
		for i := range data {
			switch fill {
			case 0:
				data[i] = byte(rng.Uint32())
			case 1:
				data[i] = 0xff // NaN, -1
			case 2:
				data[i] = []byte{0, 0, 0, 0x80, 0xff, 0xff, 0xff, 0x7f}[i%8] // least and largest int32
			}
		}
		inputs = append(inputs, data)
	}
	return inputs
}

// tolerance allows for long sums.
func tolerance(m *nn.Model) differential.Tolerance {
	if m.Main.Operands[m.Main.Outputs[0]].Type == nn.TensorFloat32 {
		return differential.Tolerance{Abs: 1e-3, Rel: 1e-4}
	}
	return differential.ToleranceOf(m.Main.Operands[m.Main.Outputs[0]].Type)
}
