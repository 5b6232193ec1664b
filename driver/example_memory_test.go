package driver_test

import (
	"context"
	"fmt"
	"os"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/memory"
)

// A recurrent filter makes a hundred steps. Two buffers of the device hold its state and change places: each step
// reads one and writes the other, and nothing is copied or converted.
func ExampleClient_Allocate() {
	dev := exampleDevice()
	defer dev.Close()
	client, err := dev.NewClient("example")
	check(err)
	model, err := client.PrepareModel(context.Background(), smoothing())
	check(err)

	// What a buffer is used for says what it is like: of which type, of which size.
	signal := []driver.BufferRole{{Model: model, Index: 0, Probability: 1}}
	oldState := []driver.BufferRole{{Model: model, Index: 1, Probability: 1}}
	newState := []driver.BufferRole{{Model: model, Index: 0, Probability: 1}}
	x, err := client.Allocate(driver.BufferDesc{}, signal, nil)
	check(err)
	a, err := client.Allocate(driver.BufferDesc{}, oldState, newState)
	check(err)
	b, err := client.Allocate(driver.BufferDesc{}, oldState, newState)
	check(err)

	check(x.CopyFrom(context.Background(), nn.HostMemory(nn.Bytes([]float32{1, 2, 3, 4})), nil))
	check(a.CopyFrom(context.Background(), nn.HostMemory(nn.Bytes([]float32{0, 0, 0, 0})), nil))
	var moved int64
	for range 100 {
		result, err := model.Execute(context.Background(), &nn.Request{
			Inputs:  []nn.RequestArgument{inPool(0), inPool(1)},
			Outputs: []nn.RequestArgument{inPool(2)},
			Pools:   []nn.Memory{x.Token(), a.Token(), b.Token()},
		})
		check(err)
		moved += result.Traffic.Copied + result.Traffic.Converted
		a, b = b, a // a has the state again
	}
	state := make(nn.HostMemory, 16)
	check(a.CopyTo(context.Background(), state))
	fmt.Printf("%.3f\n", floatsOf(state)) // [0.867 1.735 2.602 3.470]
	fmt.Println(moved, "bytes moved")     // 0 bytes moved
}

// A pool is memory that is shared by its file descriptor. Here the second half of it becomes the double of the first,
// and is read through another descriptor, as another process would.
func Example_pool() {
	dev := exampleDevice()
	defer dev.Close()
	client, err := dev.NewClient("example")
	check(err)
	model, err := client.PrepareModel(context.Background(), doubling())
	check(err)

	pool, err := memory.NewAshmem("example", 32) // bytes; nobody can shrink it, so that devices may use it in place
	check(err)
	defer pool.Close()
	mapped, err := pool.Bytes()
	check(err)
	copy(mapped, nn.Bytes([]float32{1, 2, 3, 4}))
	_, err = model.Execute(context.Background(), doublingIn(pool))
	check(err)

	handle, err := pool.Handle() // what travels to another process
	check(err)
	other, err := memory.Open(handle) // and what that does with it
	check(err)
	check(handle.Close())
	defer other.Close()
	seen, err := other.Bytes()
	check(err)
	fmt.Println(floatsOf(seen[16:])) // [2 4 6 8]
}

// exampleDevice is the device that NNGPU_DEVICE names, or the best; it keeps no compiled models.
func exampleDevice() *driver.Device {
	vulkan, err := gpu.Open(os.Getenv("NNGPU_DEVICE"), gpu.Options{})
	check(err)
	return driver.NewDevice(vulkan, driver.WithCache(driver.CacheOptions{Off: true}))
}

// smoothing is the model of a filter: the state becomes 0.98 of itself and 0.02 of the signal.
func smoothing() *nn.Model {
	var b nn.Builder
	dims := nn.Dims{1, 4}
	temp := func() uint32 { return b.Temp(nn.TensorFloat32, dims, 0, 0) }
	none := b.Scalar(nn.ActNone)
	signal, state := b.Input(nn.TensorFloat32, dims, 0, 0), b.Input(nn.TensorFloat32, dims, 0, 0)
	old, fresh, sum := temp(), temp(), temp()
	b.Op(nn.OpMul, []uint32{state, b.Floats(nn.Dims{1}, 0.98), none}, []uint32{old})
	b.Op(nn.OpMul, []uint32{signal, b.Floats(nn.Dims{1}, 0.02), none}, []uint32{fresh})
	b.Op(nn.OpAdd, []uint32{old, fresh, none}, []uint32{sum})
	b.Output(sum)
	m, err := b.Build()
	check(err)
	return m
}

// doubling is the model of y = x + x for four numbers.
func doubling() *nn.Model {
	var b nn.Builder
	x := b.Input(nn.TensorFloat32, nn.Dims{1, 4}, 0, 0)
	y := b.Temp(nn.TensorFloat32, nn.Dims{1, 4}, 0, 0)
	b.Op(nn.OpAdd, []uint32{x, x, b.Scalar(nn.ActNone)}, []uint32{y})
	b.Output(y)
	m, err := b.Build()
	check(err)
	return m
}

// doublingIn asks for the double of the first 16 bytes of m in the next 16.
func doublingIn(m nn.Memory) *nn.Request {
	return &nn.Request{
		Inputs:  []nn.RequestArgument{{Location: nn.Location{Offset: 0, Length: 16}}},
		Outputs: []nn.RequestArgument{{Location: nn.Location{Offset: 16, Length: 16}}},
		Pools:   []nn.Memory{m},
	}
}

// inPool is the argument that stands for a whole buffer.
func inPool(i uint32) nn.RequestArgument {
	return nn.RequestArgument{Location: nn.Location{PoolIndex: i}}
}

// floatsOf reads a tensor of float32; nn.Bytes writes one.
func floatsOf(b []byte) []float32 {
	v, err := nn.Values[float32](b)
	check(err)
	return v
}
