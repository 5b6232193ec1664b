package driver_test

import (
	"context"
	"fmt"
	"time"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
)

// An urgent model goes before others of its client, and an execution that cannot be in time is refused at once.
func ExamplePreparedModel_Execute() {
	dev := exampleDevice()
	defer dev.Close()
	client, err := dev.NewClient("example")
	check(err)
	model, err := client.PrepareModel(context.Background(), doubling(), driver.WithPriority(nn.PriorityHigh))
	check(err)

	data := nn.HostMemory(append(nn.Bytes([]float32{1, 2, 3, 4}), make([]byte, 16)...))
	_, err = model.Execute(context.Background(), doublingIn(data), driver.WithDeadline(time.Now().Add(time.Minute)))
	fmt.Println(nn.StatusOf(err), floatsOf(data[16:])) // NONE [2 4 6 8]

	// No device is that fast; where only others are in the way the status is MISSED_DEADLINE_TRANSIENT.
	_, err = model.Execute(context.Background(), doublingIn(data), driver.WithDeadline(time.Now().Add(time.Nanosecond)))
	fmt.Println(nn.StatusOf(err)) // MISSED_DEADLINE_PERSISTENT
}

// The second execution waits for the first, and that for a fence; nobody waits on the host until the end.
func ExamplePreparedModel_ExecuteFenced() {
	dev := exampleDevice()
	defer dev.Close()
	client, err := dev.NewClient("example")
	check(err)
	model, err := client.PrepareModel(context.Background(), doubling())
	check(err)

	data := nn.HostMemory(make([]byte, 48))
	ready := driver.NewFence() // driver.ImportFence makes one of another program's eventfd or sync_file
	first, err := model.ExecuteFenced(context.Background(), doublingIn(data[:32]), []*driver.Fence{ready})
	check(err)
	second, err := model.ExecuteFenced(context.Background(), doublingIn(data[16:]), []*driver.Fence{first.Fence()})
	check(err)
	event, err := second.Fence().File() // an eventfd, for another program to wait for
	check(err)
	defer event.Close()

	copy(data, nn.Bytes([]float32{1, 2, 3, 4}))
	ready.Signal(nil)
	check(second.Fence().Wait(context.Background()))
	_, err = second.Result()
	fmt.Println(floatsOf(data[32:]), err) // [4 8 12 16] <nil>
}

// A burst repeats executions over memories that stay bound: slots say which is which from call to call.
func ExamplePreparedModel_Burst() {
	dev := exampleDevice()
	defer dev.Close()
	client, err := dev.NewClient("example")
	check(err)
	model, err := client.PrepareModel(context.Background(), doubling())
	check(err)

	burst := model.Burst()
	data := nn.HostMemory(make([]byte, 32))
	for i := range 3 {
		copy(data, nn.Bytes([]float32{float32(i), 0, 0, 0}))
		_, err := burst.Execute(context.Background(), doublingIn(data), []int32{0}) // one slot for each pool
		check(err)
		fmt.Println(floatsOf(data[16:])[0]) // 0 2 4
	}
}
