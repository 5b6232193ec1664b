package vk

/*
#include "shim.h"
*/
import "C"

// Handles for recording.
type (
	CommandPool   uint64
	CommandBuffer uint64
)

// Stages of work, VkPipelineStageFlags.
const (
	StageCompute  uint32 = 0x800
	StageTransfer uint32 = 0x1000
	StageBottom   uint32 = 0x2000
	StageHost     uint32 = 0x4000
)

// Kinds of memory access, VkAccessFlags.
const (
	AccessShaderRead    uint32 = 0x20
	AccessShaderWrite   uint32 = 0x40
	AccessTransferRead  uint32 = 0x800
	AccessTransferWrite uint32 = 0x1000
	AccessHostRead      uint32 = 0x2000
	AccessHostWrite     uint32 = 0x4000
)

// NewCommandPool makes a pool for the device's queue.
func (d *Device) NewCommandPool() (CommandPool, error) {
	v := C.nngpu_command_pool(d.c)
	return CommandPool(v.value), check("vkCreateCommandPool", v.result)
}

// NewCommandBuffers takes n command buffers out of pool; they go with it.
func (d *Device) NewCommandBuffers(pool CommandPool, n int) ([]CommandBuffer, error) {
	if n == 0 {
		return nil, nil
	}
	cmds := make([]CommandBuffer, n)
	r := C.nngpu_command_buffers(d.c, C.uint64_t(pool), C.uint32_t(n), first(cmds))
	return cmds, check("vkAllocateCommandBuffers", r)
}

// Commands collects the content of a command buffer as plain data, without calling Vulkan. The zero value
// is empty. Handles are borrowed as long as the recorded command buffer is used.
type Commands struct {
	ops  []C.nngpu_op
	push []uint32
}

// Reset empties c and keeps its memory.
func (c *Commands) Reset() { c.ops, c.push = c.ops[:0], c.push[:0] }

// Pipeline makes later dispatches run p.
func (c *Commands) Pipeline(p Pipeline) {
	c.ops = append(c.ops, C.nngpu_op{kind: C.NNGPU_OP_PIPELINE, h0: C.uint64_t(p)})
}

// Set makes later dispatches see s as set 0.
func (c *Commands) Set(s DescriptorSet, layout PipelineLayout) {
	c.ops = append(c.ops, C.nngpu_op{kind: C.NNGPU_OP_SET, h0: C.uint64_t(s), h1: C.uint64_t(layout)})
}

// Array makes later dispatches see a as set 1.
func (c *Commands) Array(a DescriptorSet, layout PipelineLayout) {
	c.ops = append(c.ops, C.nngpu_op{kind: C.NNGPU_OP_SET, h0: C.uint64_t(a), h1: C.uint64_t(layout), n0: 1})
}

// Push sets the first push constants; copies words.
func (c *Commands) Push(layout PipelineLayout, words []uint32) {
	if len(words) == 0 {
		return
	}
	c.ops = append(c.ops, C.nngpu_op{
		kind: C.NNGPU_OP_PUSH, h1: C.uint64_t(layout), n0: C.uint32_t(len(c.push)), n1: C.uint32_t(len(words)),
	})
	c.push = append(c.push, words...)
}

// Dispatch runs workgroups.
func (c *Commands) Dispatch(groups [3]uint32) {
	c.ops = append(c.ops, C.nngpu_op{
		kind: C.NNGPU_OP_DISPATCH, n0: C.uint32_t(groups[0]), n1: C.uint32_t(groups[1]), n2: C.uint32_t(groups[2]),
	})
}

// DispatchBase runs the workgroups from base on; their indexes start there.
func (c *Commands) DispatchBase(base, groups [3]uint32) {
	c.ops = append(c.ops, C.nngpu_op{
		kind: C.NNGPU_OP_DISPATCH_BASE,
		n0:   C.uint32_t(groups[0]), n1: C.uint32_t(groups[1]), n2: C.uint32_t(groups[2]),
		n3: C.uint32_t(base[0]), n4: C.uint32_t(base[1]), n5: C.uint32_t(base[2]),
	})
}

// Copy copies bytes between buffers; the ranges must not overlap.
func (c *Commands) Copy(src Buffer, srcOffset int64, dst Buffer, dstOffset, bytes int64) {
	c.ops = append(c.ops, C.nngpu_op{
		kind: C.NNGPU_OP_COPY, h0: C.uint64_t(src), h1: C.uint64_t(dst),
		s0: C.uint64_t(srcOffset), s1: C.uint64_t(dstOffset), s2: C.uint64_t(bytes),
	})
}

// Fill sets words; offset and bytes are multiples of 4.
func (c *Commands) Fill(dst Buffer, offset, bytes int64, word uint32) {
	c.ops = append(c.ops, C.nngpu_op{
		kind: C.NNGPU_OP_FILL, h0: C.uint64_t(dst), s0: C.uint64_t(offset), s2: C.uint64_t(bytes), n0: C.uint32_t(word),
	})
}

// Barrier is a global memory barrier.
func (c *Commands) Barrier(srcStages, srcAccess, dstStages, dstAccess uint32) {
	c.ops = append(c.ops, C.nngpu_op{
		kind: C.NNGPU_OP_BARRIER, n0: C.uint32_t(srcStages), n1: C.uint32_t(dstStages),
		n2: C.uint32_t(srcAccess), n3: C.uint32_t(dstAccess),
	})
}

// ResetQueries makes n queries from first on writable again.
func (c *Commands) ResetQueries(p QueryPool, first, n int) {
	c.ops = append(c.ops, C.nngpu_op{
		kind: C.NNGPU_OP_RESET_QUERIES, h0: C.uint64_t(p), n0: C.uint32_t(first), n1: C.uint32_t(n),
	})
}

// Timestamp writes the time at which all earlier work has passed the stage.
func (c *Commands) Timestamp(p QueryPool, query int, stage uint32) {
	c.ops = append(c.ops, C.nngpu_op{
		kind: C.NNGPU_OP_TIMESTAMP, h0: C.uint64_t(p), n0: C.uint32_t(query), n1: C.uint32_t(stage),
	})
}

// Record writes c into cmd in one call; cmd can then be submitted any number of times, once at a time.
// Precondition: cmd is new.
func (d *Device) Record(cmd CommandBuffer, c *Commands) error {
	if err := d.fault(CallRecord, "vkEndCommandBuffer"); err != nil {
		return err
	}
	var ops *C.nngpu_op
	if len(c.ops) > 0 {
		ops = &c.ops[0]
	}
	r := C.nngpu_record(d.c, C.uint64_t(cmd), ops, C.uint64_t(len(c.ops)), firstWord32(c.push), C.uint64_t(len(c.push)))
	return check("vkEndCommandBuffer", r)
}
