// Package vulkan executes plans on Vulkan devices.
//
// Open picks a device; NewExecutable turns a plan.Plan and its packed weights into memory, descriptor sets
// and command buffers that are recorded once. An execution takes a slot (arena, host memory, sets, command
// buffers), copies the inputs into its mapped host memory, submits the recorded segments and copies the
// outputs out; nothing else happens per run.
//
// A device has one queue and one timeline semaphore; each submission takes the next value, so a fence is
// one number. Nothing enters the queue that waits for the host, and nothing polls.
//
// The device keeps its own account of memory against a budget, checked before Vulkan is asked, because
// some implementations never refuse. Device loss is sticky: every later call fails with vk.ErrDeviceLost.
//
// No lock is held while another is taken.
//
// Must not know: models, operations, how plans are made.
package vulkan
