package gpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// BenchmarkRecurrentStep is a step of a small recurrent model: with its tensors in host memory, and on the device
// with two state buffers that change places.
func BenchmarkRecurrentStep(b *testing.B) {
	b.Setenv("NNGPU_VALIDATION", "0")
	for _, selector := range vktest.Selectors() {
		device := openBackend(b, selector, Options{})
		p := compileGraph(b, device, filter)
		x := tensor{nn.TensorFloat32, nn.Dims{5, 3}}
		var hosts, memories [4]backend.Binding
		for i := range hosts {
			hosts[i].Host = make([]byte, x.bytes())
			memories[i] = backend.Binding{Memory: allocate(b, device, x), Length: int64(x.bytes())}
		}
		for io, list := range map[string][4]backend.Binding{"host": hosts, "device": memories} {
			b.Run(selector+"/"+io, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, err := p.execute(b.Context(), list[:2], list[2:])
					require.NoError(b, err)
					list[0], list[2] = list[2], list[0]
				}
			})
		}
	}
}
