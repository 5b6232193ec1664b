package memory_test

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/memory"
)

// A client makes a pool and hands it over; the driver opens the handle and finds memory that a device may use in
// place.
func Example() {
	client, err := memory.NewAshmem("example", 4096)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	bytes, _ := client.Bytes()
	copy(bytes, "a tensor")
	handle, err := client.Handle()
	if err != nil {
		fmt.Println(err)
		return
	}

	pool, err := memory.Open(handle)
	handle.Close() // Open has its own descriptor
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	if shared, ok := pool.(nn.Pinned); ok {
		release, err := shared.Acquire()
		if err != nil {
			fmt.Println(err)
			return
		}
		defer release()
		b, _ := shared.Bytes()
		fmt.Printf("%s of %d bytes: %s\n", pool.Kind(), pool.Size(), b[:8])
	}
	// Output: ashmem of 4096 bytes: a tensor
}
