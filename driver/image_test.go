package driver_test

import (
	"bytes"
	"context"
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu/null"
	"github.com/nngpu/nngpu/memory"
)

// picture is an image pool of 2×3 texels of 4 bytes, rows 5 texels apart.
type picture struct {
	layout nn.ImageLayout
	texels nn.Memory
}

func (picture) Size() int64              { return 0 }
func (picture) Bytes() ([]byte, error)   { panic("an image has no bytes") }
func (p picture) Layout() nn.ImageLayout { return p.layout }
func (p picture) Texels() nn.Memory      { return p.texels }

var pictureLayout = nn.ImageLayout{Width: 3, Height: 2, Layers: 1, Stride: 5, TexelBytes: 4, Channels: 3}

// imageModel is y = RELU(x) of one image with c channels.
func imageModel(t nn.OperandType, c uint32) *nn.Model {
	d := nn.Dims{1, 2, 3, c}
	if t == nn.TensorQuant8Asymm {
		return reluModel(t, 1, 0, d, d)
	}
	return reluModel(t, 0, 0, d, d)
}

// imageRequest feeds p to imageModel of 2 channels.
func imageRequest(p nn.Memory) *nn.Request {
	return &nn.Request{
		Inputs:  []nn.RequestArgument{{}},
		Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Length: 12}}},
		Pools:   []nn.Memory{p, make(nn.HostMemory, 12)},
	}
}

func copyOut(inputs, outputs [][]byte) error {
	copy(outputs[0], inputs[0])
	return nil
}

// TestM27Images: the texels feed an input, by way of the device, whatever memory they lie in.
func TestM27Images(t *testing.T) {
	texels := make([]byte, 40)
	for i := range texels {
		texels[i] = byte(i)
	}
	want := []byte{0, 1, 4, 5, 8, 9, 20, 21, 24, 25, 28, 29}
	for name, kind := range pools {
		t.Run(name, func(t *testing.T) {
			b := &null.Backend{Compute: copyOut}
			_, c := open(t, b)
			pm := prepareOn(t, c, imageModel(nn.TensorQuant8Asymm, 2))
			held := c.Memory()
			p := picture{pictureLayout, kind(bytes.Clone(texels))}
			for range 2 {
				r := imageRequest(p)
				res, err := pm.Execute(t.Context(), r)
				require.NoError(t, err)
				require.Equal(t, want, []byte(r.Pools[1].(nn.HostMemory)))
				require.EqualValues(t, 40, res.Traffic.Converted)
				require.Equal(t, held+12, c.Memory())
				require.EqualValues(t, 12, b.Used())
			}
			require.Equal(t, 1, count(b.Calls(), "compile image"))
			require.Equal(t, 1, count(b.Calls(), "allocate"))
			if pin, ok := p.texels.(*pinnedPool); ok {
				require.Equal(t, 1, count(b.Calls(), "import"))
				require.Zero(t, pin.users())
			}
			require.NoError(t, pm.Close())
			require.Zero(t, b.Used())
			require.Zero(t, c.Memory())
			require.Equal(t, 2, count(b.Calls(), "close executable"))
		})
	}
}

func TestM27ImagesAreUsedAsAWhole(t *testing.T) {
	good := func() *nn.Request { return imageRequest(picture{pictureLayout, make(nn.HostMemory, 40)}) }
	change := func(f func(l *nn.ImageLayout)) func(r *nn.Request) {
		return func(r *nn.Request) {
			l := pictureLayout
			f(&l)
			r.Pools[0] = picture{l, make(nn.HostMemory, 400)}
		}
	}
	refuse(t, imageModel(nn.TensorQuant8Asymm, 2), good, []badRequest{
		{"offset", func(r *nn.Request) { r.Inputs[0].Location.Offset = 1 }},
		{"length", func(r *nn.Request) { r.Inputs[0].Location.Length = 12 }},
		{"padding", func(r *nn.Request) { r.Inputs[0].Location.Padding = 4 }},
		{"without memory", func(r *nn.Request) { r.Pools[0] = picture{pictureLayout, nil} }},
		{"in too little memory", func(r *nn.Request) { r.Pools[0] = picture{pictureLayout, make(nn.HostMemory, 39)} }},
		{"as an output", func(r *nn.Request) {
			r.Inputs[0].Location = nn.Location{PoolIndex: 1, Length: 12}
			r.Outputs[0].Location = nn.Location{}
		}},
		{"over the output", func(r *nn.Request) {
			r.Pools[0] = picture{pictureLayout, make(nn.HostMemory, 40)}
			r.Pools[1] = r.Pools[0].(picture).texels
			r.Outputs[0].Location.Offset = 28
		}},
		{"height", change(func(l *nn.ImageLayout) { l.Height = 3 })},
		{"width", change(func(l *nn.ImageLayout) { l.Width = 2 })},
		{"layers", change(func(l *nn.ImageLayout) { l.Layers = 2 })},
		{"stride", change(func(l *nn.ImageLayout) { l.Stride = 2 })},
		{"channels", change(func(l *nn.ImageLayout) { l.Channels = 1 })},
		{"too large to count", change(func(l *nn.ImageLayout) { l.Stride, l.Height, l.Layers = 1<<32-1, 1<<32-1, 1<<32-1 })},
		{"texels", change(func(l *nn.ImageLayout) { l.TexelBytes = 0 })},
	})
	var mb nn.Builder
	x, y := mb.Input(nn.TensorInt32, nn.Dims{1, 2, 3, 2}, 0, 0), mb.Temp(nn.TensorInt32, nn.Dims{1, 2, 3, 2}, 0, 0)
	mb.Op(nn.OpAdd, []uint32{x, x, mb.Scalar(0)}, []uint32{y})
	mb.Output(y)
	refuse(t, nntest.Build(&mb), good, []badRequest{
		{"of another type", func(*nn.Request) {}},
	})
	refuse(t, openModel(nn.Dims{1, 2, 3, 0}, nil), good, []badRequest{{"open dimensions", func(*nn.Request) {}}})
}

func TestImagesThatFail(t *testing.T) {
	closed := newPinned(make([]byte, 40))
	closed.Close()
	b := &null.Backend{Compute: copyOut}
	_, c := open(t, b)
	pm := prepareOn(t, c, imageModel(nn.TensorQuant8Asymm, 2))
	_, err := pm.Execute(t.Context(), imageRequest(picture{pictureLayout, closed}))
	requireStatus(t, nn.StatusInvalidArgument, err)
	_, err = pm.Execute(t.Context(), imageRequest(picture{pictureLayout, &sharedPool{data: make([]byte, 40), unmapped: io.EOF}}))
	requireStatus(t, nn.StatusGeneralFailure, err)
	// What the device cannot convert.
	floats := prepareOn(t, c, imageModel(nn.TensorFloat32, 2))
	r := imageRequest(picture{pictureLayout, make(nn.HostMemory, 40)})
	r.Pools[1], r.Outputs[0].Location.Length = make(nn.HostMemory, 48), 48
	for range 2 {
		_, err := floats.Execute(t.Context(), r)
		requireStatus(t, nn.StatusGeneralFailure, err)
	}
	require.Zero(t, b.Used())
}

// TestManyKindsOfImages: a model remembers those that came last, and no more of them than it needs to.
func TestManyKindsOfImages(t *testing.T) {
	b := &null.Backend{Compute: copyOut}
	_, c := open(t, b)
	pm := prepareOn(t, c, imageModel(nn.TensorQuant8Asymm, 2))
	run := func(stride int) {
		layout := pictureLayout
		layout.Stride += uint32(stride)
		_, err := pm.Execute(t.Context(), imageRequest(picture{layout, make(nn.HostMemory, layout.Bytes())}))
		require.NoError(t, err)
	}
	for i := range 100 {
		run(i)
		run(0) // again and again
	}
	require.Equal(t, 100, count(b.Calls(), "compile image"))
	require.Equal(t, 92, count(b.Calls(), "close executable"))
	require.EqualValues(t, 8*12, b.Used())
	require.NoError(t, pm.Close())
	require.Equal(t, 101, count(b.Calls(), "close executable"))
	require.Zero(t, b.Used())
	require.Zero(t, c.Memory())
}

// TestImagesAtOnce: each execution has a tensor of its own, of which the model keeps a few.
func TestImagesAtOnce(t *testing.T) {
	b := &null.Backend{Compute: copyOut}
	_, c := open(t, b)
	pm := prepareOn(t, c, imageModel(nn.TensorQuant8Asymm, 2))
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			for k := range 50 {
				layout := pictureLayout
				layout.Stride += uint32(k % 3)
				texels := bytes.Repeat([]byte{byte(i*16 + k)}, int(layout.Bytes()))
				r := imageRequest(picture{layout, nn.HostMemory(texels)})
				_, err := pm.Execute(context.Background(), r)
				if assert.NoError(t, err) {
					assert.Equal(t, texels[:12], []byte(r.Pools[1].(nn.HostMemory)))
				}
			}
		})
	}
	group.Wait()
	require.LessOrEqual(t, b.Used(), int64(3*4*12))
	require.NoError(t, pm.Close())
	require.Zero(t, b.Used())
	require.Zero(t, c.Memory())
}

// TestImagesAfterALoss: what was kept went with the device, and is made again.
func TestImagesAfterALoss(t *testing.T) {
	for name, kind := range pools {
		t.Run(name, func(t *testing.T) {
			b := &null.Backend{Compute: copyOut}
			_, c := open(t, b)
			pm := prepareOn(t, c, imageModel(nn.TensorQuant8Asymm, 2))
			r := imageRequest(picture{pictureLayout, kind(make([]byte, 40))})
			for range 3 {
				for range 2 {
					_, err := pm.Execute(t.Context(), r)
					require.NoError(t, err)
				}
				b.Lose()
			}
			require.Equal(t, 3, count(b.Calls(), "allocate"))
			require.EqualValues(t, 12, b.Used())
			require.EqualValues(t, 12, c.Memory())
		})
	}
}

// TestImagesBeyondTheBudget are those whose tensor the client has no room for; what is kept for others makes room.
func TestImagesBeyondTheBudget(t *testing.T) {
	for budget, want := range map[int64]nn.Status{11: nn.StatusResourceExhaustedPersistent, 12: nn.StatusNone, 23: nn.StatusNone, 24: nn.StatusNone} {
		b := &null.Backend{Compute: copyOut}
		d, _ := open(t, b)
		c, err := d.NewClient("images", driver.WithClientBudget(budget))
		require.NoError(t, err)
		pm := prepareOn(t, c, imageModel(nn.TensorQuant8Asymm, 2))
		for i := range 6 {
			layout := pictureLayout
			layout.Stride += uint32(i / 2)
			_, err := pm.Execute(t.Context(), imageRequest(picture{layout, make(nn.HostMemory, layout.Bytes())}))
			require.Equal(t, want, nn.StatusOf(err), "%v", err)
			require.LessOrEqual(t, c.Memory(), budget)
			require.Equal(t, c.Memory(), b.Used())
		}
		require.NoError(t, c.Close())
		require.Zero(t, b.Used())
		require.Zero(t, c.Memory())
	}
}

// TestM27HardwareBuffer: the image pool of package memory.
func TestM27HardwareBuffer(t *testing.T) {
	pool, err := memory.NewHardwareBuffer("test", memory.Descriptor{Width: 3, Height: 2, Layers: 1, Stride: 5, Format: memory.FormatRGBX8})
	require.NoError(t, err)
	image := pool.(*memory.Image)
	require.Equal(t, pictureLayout, image.Layout())
	texels := make([]byte, 24)
	for i := range texels {
		texels[i] = byte(i)
	}
	require.NoError(t, image.WriteTexels(texels))
	pm := prepare(t, &null.Backend{Compute: copyOut}, imageModel(nn.TensorQuant8Asymm, 2))
	r := imageRequest(image)
	_, err = pm.Execute(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, []byte{0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21}, []byte(r.Pools[1].(nn.HostMemory)))
	require.NoError(t, image.Close())
	_, err = pm.Execute(t.Context(), r)
	requireStatus(t, nn.StatusInvalidArgument, err)
}

// growing is an image that becomes higher after some calls of Layout.
type growing struct {
	picture
	calls, after *int
}

func (f growing) Layout() nn.ImageLayout {
	l := f.layout
	if *f.calls++; *f.calls > *f.after {
		l.Height = 4
	}
	return l
}

// TestImagesThatChange are what they were when the request came, or refused.
func TestImagesThatChange(t *testing.T) {
	_, c := open(t, &null.Backend{Compute: copyOut})
	pm := prepareOn(t, c, imageModel(nn.TensorQuant8Asymm, 2))
	for after := range 8 {
		var calls int
		p := growing{picture{pictureLayout, newPinned(make([]byte, 80))}, &calls, &after}
		_, err := pm.Execute(t.Context(), imageRequest(p))
		if after == 0 {
			requireStatus(t, nn.StatusInvalidArgument, err)
		} else {
			require.NoError(t, err)
		}
		require.Equal(t, 1, calls)
	}
}
