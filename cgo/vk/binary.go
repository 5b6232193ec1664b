package vk

/*
#include "shim_pipeline.h"
*/
import "C"

import "fmt"

// Binary is a part of a compiled pipeline, VkPipelineBinaryKHR, as it can be stored.
type Binary struct {
	Key  []byte // 1 to MaxBinaryKey bytes
	Data []byte
}

// MaxBinaryKey is VK_MAX_PIPELINE_BINARY_KEY_SIZE_KHR.
const MaxBinaryKey = 32

// MaxBinaries bounds the binaries that a driver may make of one compute pipeline; known drivers make one or two.
const MaxBinaries = 16

// BinaryKey is the driver's key of all binaries: those that were stored under another are of no use. Precondition of
// all functions here: FeatureBinaries is on, else ErrNotSupported.
func (d *Device) BinaryKey() ([]byte, error) {
	b := C.nngpu_binary_global_key(d.c)
	if err := check("vkGetPipelineKeyKHR", b.result); err != nil {
		return nil, err
	}
	return keyOf(&b), nil
}

func keyOf(b *C.nngpu_binary) []byte {
	key := make([]byte, min(int(b.key_bytes), MaxBinaryKey))
	for i := range key {
		key[i] = byte(b.key[i])
	}
	return key
}

// CapturePipeline compiles as NewPipeline does, without a cache, and returns the binaries too: nil where the driver
// gives none, which is no error.
func (d *Device) CapturePipeline(code []uint32, layout PipelineLayout, w Workgroup) (Pipeline, []Binary, error) {
	p, err := d.pipelineOf(nil, code, layout, w)
	if err != nil {
		return 0, nil, err
	}
	list, err := d.capture(p)
	C.nngpu_binary_release(d.c, C.uint64_t(p)) // a failure costs memory until the pipeline is destroyed
	if err != nil {
		list = nil
	}
	return p, list, nil
}

// capture reads the binaries of p.
func (d *Device) capture(p Pipeline) ([]Binary, error) {
	handles := make([]uint64, MaxBinaries)
	v := C.nngpu_binary_capture(d.c, C.uint64_t(p), first(handles), C.uint32_t(len(handles)))
	defer func() {
		for _, h := range handles {
			C.nngpu_binary_destroy(d.c, C.uint64_t(h))
		}
	}()
	if err := check("vkCreatePipelineBinariesKHR", v.result); err != nil {
		return nil, err
	}
	list := make([]Binary, 0, int(v.value))
	for _, h := range handles[:min(int(v.value), len(handles))] {
		b, err := d.binary(h)
		if err != nil {
			return nil, err
		}
		list = append(list, b)
	}
	return list, nil
}

// binary reads one.
func (d *Device) binary(h uint64) (Binary, error) {
	r := C.nngpu_binary_data(d.c, C.uint64_t(h), nil, 0)
	if err := check("vkGetPipelineBinaryDataKHR", r.result); err != nil {
		return Binary{}, err
	}
	data := make([]byte, int(r.bytes))
	if len(data) > 0 {
		r = C.nngpu_binary_data(d.c, C.uint64_t(h), firstByte(data), C.uint64_t(len(data)))
		if err := check("vkGetPipelineBinaryDataKHR", r.result); err != nil {
			return Binary{}, err
		}
	}
	if r.key_bytes == 0 {
		return Binary{}, fmt.Errorf("%w: a pipeline binary without a key", ErrNotSupported)
	}
	return Binary{Key: keyOf(&r), Data: data[:min(int(r.bytes), len(data))]}, nil
}

// PipelineOf makes the pipeline that CapturePipeline made with the same code, layout and workgroup, from its binaries
// and without compiling. The driver trusts them: pass verified ones only, of the same BinaryKey.
func (d *Device) PipelineOf(list []Binary, code []uint32, layout PipelineLayout, w Workgroup) (Pipeline, error) {
	if len(list) == 0 {
		return 0, fmt.Errorf("%w: a pipeline of no binaries", ErrNotSupported)
	}
	handles := make([]uint64, 0, len(list))
	defer func() {
		for _, h := range handles {
			C.nngpu_binary_destroy(d.c, C.uint64_t(h))
		}
	}()
	for _, b := range list {
		v := C.nngpu_binary_create(d.c, firstByte(b.Key), C.uint32_t(len(b.Key)), firstByte(b.Data), C.uint64_t(len(b.Data)))
		if err := check("vkCreatePipelineBinariesKHR", v.result); err != nil {
			return 0, err
		}
		handles = append(handles, uint64(v.value))
	}
	return d.pipelineOf(handles, code, layout, w)
}

func (d *Device) pipelineOf(handles []uint64, code []uint32, layout PipelineLayout, w Workgroup) (Pipeline, error) {
	if err := d.fault(CallNewPipeline, "vkCreateComputePipelines"); err != nil {
		return 0, err
	}
	v := C.nngpu_pipeline_binary(d.c, firstWord32(code), C.uint64_t(len(code)*4), C.uint64_t(layout), firstWord32(w.words()),
		first(handles), C.uint32_t(len(handles)))
	return Pipeline(v.value), check("vkCreateComputePipelines", v.result)
}
