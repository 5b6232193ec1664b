// Package vulkan executes plans on Vulkan devices.
//
// Open picks a device; NewExecutable turns a plan.Plan and its packed weights into memory, descriptor sets
// and command buffers that are recorded once. An execution takes a slot (arena, host memory, sets, command
// buffers), copies the inputs into its mapped host memory, submits the recorded segments and copies the
// outputs out; nothing else happens per run. On a device with memory of its own, all of which the host can write to, the
// inputs' part of host memory lies there.
//
// Bound memory takes the place of a slot's host memory, and of the device form of a tensor in its arena. A slot keeps
// recordings for the latest ways in which inputs and outputs were bound, so that the same way again costs nothing; a
// recording for bound memory leaves out the steps that only bring a tensor from one form to the other.
//
// Urgent work goes to the device's first queue, everything else to its last, which may be the same (Queues says how
// many there are). Each has a timeline semaphore, and each submission takes the next value, so that a fence is one
// number. Nothing that waits for the host enters a queue.
//
// Memory from outside (host pages, opaque fds, dma-bufs) becomes a block that takes nothing from the account; External
// says which of it a device can use, and the rest is copied.
//
// The device keeps its own account of memory against a budget, checked before Vulkan is asked, because
// some implementations never refuse. Device loss is sticky: every later call fails with vk.ErrDeviceLost. A lost
// device is drained before what it may use is freed; one that hangs is abandoned. Reopen opens it once more.
//
// No lock is held while another is taken, except that of a Memory, which comes before all others.
//
// Must not know: models, operations, how plans are made.
package vulkan
