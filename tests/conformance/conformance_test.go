// Package conformance runs the NNAPI conformance models on every device.
package conformance

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/internal/conformancedata"
	"github.com/nngpu/nngpu/internal/conformancerun"
	"github.com/nngpu/nngpu/internal/devices"
)

// folder is the data: NNGPU_CONFORMANCE, else the shared one.
func folder(t *testing.T) string {
	if dir := os.Getenv("NNGPU_CONFORMANCE"); dir != "" {
		return dir
	}
	return nntest.Shared(t, "conformance")
}

// part is NNGPU_CONFORMANCE_PART: only every nth model is run.
func part(t *testing.T) int {
	s := os.Getenv("NNGPU_CONFORMANCE_PART")
	if s == "" {
		return 1
	}
	n, err := strconv.Atoi(s)
	require.NoError(t, err)
	require.Positive(t, n)
	return n
}

// TestConformance runs every model. None may fail; those of supported operations must pass.
func TestConformance(t *testing.T) {
	eachCase(t, part(t), conformancerun.Run)
}

// TestConformanceFromCache runs models as they come back from cache files: every one with NNGPU_SOAK=1, else every
// seventh, since each waits for the disk.
func TestConformanceFromCache(t *testing.T) {
	n := part(t)
	if os.Getenv("NNGPU_SOAK") != "1" {
		n *= 7
	}
	dir := t.TempDir()
	eachCase(t, n, func(ctx context.Context, d *driver.Device, client *driver.Client, c *conformancedata.Case) conformancerun.Outcome {
		return conformancerun.RunFromCache(ctx, d, client, c, dir)
	}, driver.WithCache(driver.CacheOptions{Off: true, StateDir: dir}))
}

// TestConformanceForms runs models in every form, those with IF or WHILE too: every model with NNGPU_SOAK=1, else every 11th.
// None may fail; those that pass as they stand must pass, also where their sizes depend on data.
func TestConformanceForms(t *testing.T) {
	n := part(t)
	if os.Getenv("NNGPU_SOAK") != "1" {
		n *= 11
	}
	dir := folder(t)
	devices.EachWith(t, gpu.Options{}, func(t *testing.T, d *driver.Device) {
		client, err := d.NewClient(t.Name())
		require.NoError(t, err)
		passed, refused := map[conformancerun.Form]int{}, map[conformancerun.Form]int{}
		seen := 0
		err = conformancedata.Load(dir, nil, func(c *conformancedata.Case) error {
			if seen++; seen%n != 0 || c.ExpectFailure || !inTable(c) {
				return nil
			}
			for _, f := range conformancerun.Forms {
				switch o := conformancerun.RunForm(t.Context(), d, client, c, f); o.Verdict {
				case conformancerun.Passed:
					passed[f]++
				case conformancerun.Refused:
					if refused[f]++; errors.Is(o.Err, conformancerun.ErrData) {
						t.Errorf("%s, %s: %v", c.Name, f, o.Err)
					}
				default:
					t.Errorf("%s, %s: %v", c.Name, f, o.Err)
				}
			}
			return nil
		})
		require.NoError(t, err)
		t.Logf("passed %v, refused %v", passed, refused)
		for _, f := range conformancerun.Forms {
			least := 3900 * 3 / 4 / n
			if f == conformancerun.Constants { // many have none
				least /= 2
			}
			require.Greater(t, passed[f], least, f)
		}
		require.Zero(t, client.Memory())
	})
}

type caseRunner func(context.Context, *driver.Device, *driver.Client, *conformancedata.Case) conformancerun.Outcome

// eachCase runs every nth model.
func eachCase(t *testing.T, n int, run caseRunner, opts ...driver.DeviceOption) {
	t.Helper()
	dir := folder(t)
	devices.EachWith(t, gpu.Options{}, func(t *testing.T, d *driver.Device) {
		client, err := d.NewClient(t.Name())
		require.NoError(t, err)
		counts := map[conformancerun.Verdict]int{}
		seen := 0
		err = conformancedata.Load(dir, nil, func(c *conformancedata.Case) error {
			seen++
			if seen%n != 0 {
				return nil
			}
			o := run(context.Background(), d, client, c)
			counts[o.Verdict]++
			if o.Verdict == conformancerun.Failed {
				t.Errorf("%s: %v", c.Name, o.Err)
			}
			if o.Verdict == conformancerun.Refused && inTable(c) {
				t.Errorf("refused: %s: %v", c.Name, o.Err)
			}
			return nil
		})
		require.NoError(t, err)
		t.Logf("%d passed, %d refused, %d failed as they must, %d failed", counts[conformancerun.Passed],
			counts[conformancerun.Refused], counts[conformancerun.FailedAsExpected], counts[conformancerun.Failed])
		least := 3300
		if n > 1 { // a sample has more or fewer of them
			least = 3300 * 3 / 4 / n
		}
		require.Greater(t, counts[conformancerun.Passed], least, "the data is not what it was")
	}, opts...)
}

func inTable(c *conformancedata.Case) bool {
	for _, t := range c.Operations {
		if ops.Lookup(t) == nil && t != nn.OpIf && t != nn.OpWhile {
			return false
		}
	}
	return true
}

// TestPerturbedExpectationsAreNoticed flips one expected value of each model and wants exactly those models
// to fail.
func TestPerturbedExpectationsAreNoticed(t *testing.T) {
	dir := folder(t)
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		client, err := d.NewClient(t.Name())
		require.NoError(t, err)
		seen, noticed := 0, 0
		err = conformancedata.Load(dir, nil, func(c *conformancedata.Case) error {
			seen++
			if seen%29 != 0 || c.ExpectFailure || !inTable(c) {
				return nil
			}
			if conformancerun.Run(context.Background(), d, client, c).Verdict != conformancerun.Passed {
				return nil
			}
			if !perturb(c) {
				return nil
			}
			o := conformancerun.Run(context.Background(), d, client, c)
			require.Equal(t, conformancerun.Failed, o.Verdict, "%s with a wrong expectation: %v", c.Name, o.Err)
			noticed++
			return nil
		})
		require.NoError(t, err)
		require.Greater(t, noticed, 50)
	})
}

// perturb makes the first element of the first compared output wrong; false where there is none.
func perturb(c *conformancedata.Case) bool {
	for i := range c.Expected {
		e := &c.Expected[i]
		if e.Ignored || len(e.Data) == 0 {
			continue
		}
		switch c.Model.Main.Operands[c.Model.Main.Outputs[i]].Type {
		case nn.TensorFloat32:
			v := math.Float32frombits(binary.LittleEndian.Uint32(e.Data))
			binary.LittleEndian.PutUint32(e.Data, math.Float32bits(v*1.1+1))
		case nn.TensorFloat16:
			if nn.Half(binary.LittleEndian.Uint16(e.Data)).Float32() > 512 {
				binary.LittleEndian.PutUint16(e.Data, 0)
			} else {
				binary.LittleEndian.PutUint16(e.Data, 0x6400) // 1024
			}
		case nn.TensorBool8:
			e.Data[0] ^= 1
		case nn.TensorInt32:
			binary.LittleEndian.PutUint32(e.Data, binary.LittleEndian.Uint32(e.Data)+1000)
		default:
			e.Data[0] += 100
		}
		return true
	}
	return false
}
