package vulkan

import (
	"errors"

	"github.com/nngpu/nngpu/cgo/vk"
)

// priorities lists what is asked of a device, best first: its queues before those of other processes, where driver
// and kernel permit that (Linux mostly wants CAP_SYS_NICE), else what everybody gets. Work goes to the device in
// segments of a few milliseconds, so that even then a desktop stays alive.
func priorities(p *vk.Properties) []vk.Priority {
	if !p.Priorities {
		return []vk.Priority{vk.PriorityDefault}
	}
	return []vk.Priority{vk.PriorityHigh, vk.PriorityDefault}
}

// queueCount is two where the family has them: urgent work goes to the first, the rest to the last, so that it need not
// queue behind what was submitted before.
func queueCount(f vk.QueueFamily) int { return max(min(f.Count, vk.MaxQueues), 1) }

// refused reports whether err says that a priority is not for us: SwiftShader knows no other than MEDIUM and calls the
// rest a failed initialization.
func refused(err error) bool {
	var e *vk.Error
	return errors.As(err, &e) && (e.Result == vk.ResultNotPermitted || e.Result == vk.ResultInitializationFailed)
}

// withPriority calls create with each priority until one is not refused, and returns that one.
func withPriority(list []vk.Priority, create func(vk.Priority) (*vk.Device, error)) (*vk.Device, vk.Priority, error) {
	var dev *vk.Device
	var err error
	for _, p := range list {
		if dev, err = create(p); err == nil {
			return dev, p, nil
		}
		if !refused(err) {
			break
		}
	}
	return nil, 0, err
}

// newDevice makes the device with the best queues that it gives.
func newDevice(p vk.Physical, props *vk.Properties, family int, f vk.QueueFamily, features vk.Features, o *Options) (*vk.Device, vk.Priority, error) {
	queues := vk.Queues{Family: family, Count: queueCount(f)}
	if o.TwoQueues && queues.Count == 1 {
		queues.Count, queues.Shared = 2, true
	}
	return withPriority(priorities(props), func(priority vk.Priority) (*vk.Device, error) {
		queues.Priority = priority
		return vk.NewDevice(p, props, queues, features)
	})
}

// Queues is how many queues the device has and how they rank beside those of other processes.
func (d *Device) Queues() (n int, priority vk.Priority) { return d.dev.Queues(), d.priority }
