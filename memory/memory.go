// Package memory holds the pools that models and requests refer to by handle and the buffers that the driver
// manages on the device.
//
// Pools have the names of the HAL. This file is the package's contract: what maps pools and manages device
// buffers is not there yet; requests use nn.HostMemory.
package memory

// Kind names a kind of pool; values are the HAL's names.
type Kind string

// Pool kinds of the HAL.
const (
	Ashmem             Kind = "ashmem"               // a memfd
	MmapFD             Kind = "mmap_fd"              // a file descriptor with protection and offset
	HardwareBufferBlob Kind = "hardware_buffer_blob" // linear device memory
	HardwareBuffer     Kind = "hardware_buffer"      // an image on the device
)
