package differential

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/conformancedata"
	"github.com/nngpu/nngpu/internal/devices"
	"github.com/nngpu/nngpu/tests/internal/ref"
)

// question is a set of inputs with the outputs that the oracle gives.
type question struct {
	inputs, want [][]byte
	tolerances   []Tolerance
}

func questions(t *testing.T, m *nn.Model, rough map[uint32]bool, n int) []question {
	var list []question
	for i := range n {
		q := question{inputs: RandomInputs(m, rand.New(rand.NewPCG(uint64(i), 23)))}
		e, err := ref.Evaluate(m, q.inputs, ref.Options{Arithmetic: ref.ArithmeticOf(m)})
		require.NoError(t, err)
		largest := largestFloat(e.Operands)
		for k, index := range m.Main.Outputs {
			q.want = append(q.want, e.Outputs[k].Bytes())
			q.tolerances = append(q.tolerances, chainTolerance(m.Main.Operands[index].Type, rough[index], largest))
		}
		list = append(list, q)
	}
	return list
}

// ask runs pm on the inputs of q and compares; outputs may be reused from run to run.
func (q *question) ask(ctx context.Context, m *nn.Model, pm *driver.PreparedModel, outputs [][]byte) error {
	if _, err := pm.Run(ctx, q.inputs, outputs); err != nil {
		return err
	}
	for i, index := range m.Main.Outputs {
		if err := conformancedata.CompareValues(m.Main.Operands[index].Type, q.tolerances[i], outputs[i], q.want[i]); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return nil
}

// together calls f in n goroutines at the same time.
func together(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := f(i); err != nil {
				errs[i] = fmt.Errorf("goroutine %d: %w", i, err)
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
}

// bigChain is a random graph of the given types that takes the device a while.
func bigChain(seed uint64, types ...nn.OperandType) (*nn.Model, map[uint32]bool) {
	c := newChain(rand.New(rand.NewPCG(seed, 31)), types)
	c.grow(15)
	return nntest.Build(&c.b), c.rough
}

// TestOneModelManyGoroutines: executions of one prepared model overlap, each with its own inputs.
func TestOneModelManyGoroutines(t *testing.T) {
	const goroutines, runs = 8, 25
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for seed, types := range [][]nn.OperandType{
			{nn.TensorFloat32}, {nn.TensorQuant8Asymm}, {nn.TensorFloat32, nn.TensorInt32, nn.TensorFloat16}, {nn.TensorQuant8AsymmSigned},
		} {
			m, rough := bigChain(uint64(seed), types...)
			client, err := d.NewClient(t.Name())
			require.NoError(t, err)
			pm, err := client.PrepareModel(context.Background(), m)
			require.NoError(t, err)
			list := questions(t, m, rough, goroutines)
			together(t, goroutines, func(i int) error {
				outputs := pm.NewOutputs()
				for range runs {
					if err := list[i].ask(context.Background(), m, pm, outputs); err != nil {
						return err
					}
				}
				return nil
			})
			require.NoError(t, client.Close())
		}
	})
}

// TestModelsComeAndGo: goroutines prepare, run, close and abandon models of one device at the same time.
func TestModelsComeAndGo(t *testing.T) {
	const goroutines, rounds = 8, 6
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		type work struct {
			m    *nn.Model
			list []question
		}
		var models []work
		for i := range 6 {
			m, rough := bigChain(uint64(100+i), themes[i%len(themes)].types...)
			models = append(models, work{m, questions(t, m, rough, 3)})
		}
		shared, err := d.NewClient("shared")
		require.NoError(t, err)
		together(t, goroutines, func(i int) error {
			client := shared
			if i%2 == 0 {
				var err error
				if client, err = d.NewClient(fmt.Sprint(i)); err != nil {
					return err
				}
			}
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			for range rounds {
				w := &models[rng.IntN(len(models))]
				pm, err := client.PrepareModel(context.Background(), w.m)
				if err != nil {
					return err
				}
				ctx, cancel := context.WithCancel(context.Background())
				outputs := pm.NewOutputs()
				for k := range w.list {
					if err := w.list[k].ask(ctx, w.m, pm, outputs); err != nil {
						cancel()
						return err
					}
				}
				// A run that is given up while it goes on leaves the slot fit for the next.
				gone := make(chan struct{})
				go func() { cancel(); close(gone) }()
				if _, err := pm.Run(ctx, w.list[0].inputs, outputs); err != nil && !errors.Is(err, context.Canceled) {
					return err
				}
				<-gone
				if err := w.list[0].ask(context.Background(), w.m, pm, outputs); err != nil {
					return fmt.Errorf("after a run that was given up: %w", err)
				}
				if rng.IntN(3) > 0 { // else the client closes it
					if err := pm.Close(); err != nil {
						return err
					}
				}
			}
			if client != shared {
				return client.Close()
			}
			return nil
		})
		require.NoError(t, shared.Close())
	})
}
