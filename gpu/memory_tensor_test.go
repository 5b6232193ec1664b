package gpu

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// TestMemoryOfEveryType: what is written comes back, for all types that tensors have.
func TestMemoryOfEveryType(t *testing.T) {
	eachBackend(t, func(t *testing.T, b *Backend) {
		rng := rand.New(rand.NewPCG(6, 6))
		for kind := nn.Float32; kind.Valid(); kind++ {
			for _, dims := range []nn.Dims{nil, {1}, {5}, {3, 3}, {2, 3, 5}, {41, 3}, {16, 3}, {113, 89}, {8, 8}} {
				m, err := b.Allocate(kind, dims, 0)
				if kind == nn.SubgraphRef {
					require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), err)
					continue
				}
				require.NoError(t, err)
				x := tensor{kind, dims}
				got := bytes.Repeat([]byte{1}, x.bytes())
				require.NoError(t, m.Read(t.Context(), got))
				require.Equal(t, make([]byte, len(got)), got, "it is zeroed")
				want := x.random(rng)
				require.NoError(t, m.Write(t.Context(), want))
				require.NoError(t, m.Read(t.Context(), got))
				require.Equal(t, want, got, "%v %v", kind, dims)
				require.Error(t, m.Write(t.Context(), want[1:]))
				require.Error(t, m.Read(t.Context(), append(got, 0)))
				require.GreaterOrEqual(t, m.Bytes(), int64(len(want)))
				require.NoError(t, m.Close())
				require.Error(t, m.Read(t.Context(), got))
			}
		}
	})
}

// TestAllocateRefuses what no kernel handles and what does not fit.
func TestAllocateRefuses(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openBackend(t, selector, Options{MemoryBudget: 1 << 20})
			for _, tc := range []struct {
				name   string
				kind   nn.OperandType
				dims   nn.Dims
				budget int64
				want   nn.Status
			}{
				{"unknown type", 99, nn.Dims{1}, 0, nn.StatusInvalidArgument},
				{"negative type", -1, nn.Dims{1}, 0, nn.StatusInvalidArgument},
				{"open dimension", nn.TensorFloat32, nn.Dims{1, 0}, 0, nn.StatusInvalidArgument},
				{"too many elements", nn.TensorFloat32, nn.Dims{1 << 31, 1 << 31, 1 << 31}, 0, nn.StatusInvalidArgument},
				{"too many rows", nn.TensorQuant8Asymm, nn.Dims{1 << 30, 1}, 0, nn.StatusInvalidArgument},
				{"beyond the device's budget", nn.TensorFloat32, nn.Dims{1 << 18}, 0, nn.StatusResourceExhaustedPersistent},
				{"beyond the caller's budget", nn.TensorFloat32, nn.Dims{1 << 10}, 1 << 10, nn.StatusResourceExhaustedPersistent},
			} {
				_, err := b.Allocate(tc.kind, tc.dims, tc.budget)
				require.Equal(t, tc.want, nn.StatusOf(err), "%s: %v", tc.name, err)
			}
			var list []backend.Memory
			for {
				m, err := b.Allocate(nn.TensorFloat32, nn.Dims{1 << 16}, 0)
				if err != nil {
					require.Equal(t, nn.StatusResourceExhaustedTransient, nn.StatusOf(err), err)
					break
				}
				list = append(list, m)
			}
			require.Len(t, list, 3)
			for _, m := range list {
				require.NoError(t, m.Close())
			}
		})
	}
}

// TestMemoryIsSharedByManyExecutions: eight goroutines read one buffer and write their own, while others allocate,
// import and close, and the collector runs.
func TestMemoryIsSharedByManyExecutions(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openBackend(t, selector, Options{})
			p := compileGraph(t, b, filter)
			x := tensor{nn.TensorFloat32, nn.Dims{5, 3}}
			rng := rand.New(rand.NewPCG(7, 7))
			state, input := x.random(rng), x.random(rng)
			want := p.host(t, [][]byte{state, input})
			s, in := allocate(t, b, x), allocate(t, b, x)
			require.NoError(t, s.Write(t.Context(), state))
			require.NoError(t, in.Write(t.Context(), input))
			pool := pages(t, 8*4096)
			stop := make(chan struct{})
			var collector sync.WaitGroup
			collector.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						runtime.GC()
					}
				}
			})
			var wg sync.WaitGroup
			errs := make([]error, 8)
			for g := range errs {
				wg.Go(func() {
					for k := range 25 {
						if errs[g] = shareOnce(b, p, x, s, in, pool[4096*g:4096*(g+1)], want, k); errs[g] != nil {
							return
						}
					}
				})
			}
			wg.Wait()
			close(stop)
			collector.Wait()
			for _, err := range errs {
				require.NoError(t, err)
			}
		})
	}
}

func shareOnce(b *Backend, p *program, x tensor, s, in backend.Memory, page []byte, want [][]byte, k int) error {
	ctx := context.Background()
	out, err := b.Allocate(x.kind, x.dims, 0)
	if err != nil {
		return err
	}
	defer out.Close()
	shared, err := b.Import(page, false)
	if err != nil {
		return err
	}
	defer shared.Close()
	at := int64(256 * (k % 8))
	if _, err := p.execute(ctx, []backend.Binding{{Memory: s}, {Memory: in}}, []backend.Binding{{Memory: out}, {Memory: shared, Offset: at}}); err != nil {
		return err
	}
	got := make([]byte, x.bytes())
	if err := out.Read(ctx, got); err != nil {
		return err
	}
	if !bytes.Equal(got, want[0]) || !bytes.Equal(page[at:at+int64(len(got))], want[1]) {
		return fmt.Errorf("round %d gives another result", k)
	}
	return nil
}
