package vulkan

import "time"

// Bare returns a function that hands the commands of e, an execution with all in host memory, to the device by itself and
// waits for their end: Vulkan's calls and nothing else. Precondition: nobody uses the device meanwhile, nor e's slot.
func (e *Execution) Bare() func() error {
	q, cmds := e.slot.x.queue(), e.slot.base.cmds
	d := q.dev.dev
	return func() error {
		q.next++
		if err := d.Submit(q.index, cmds, q.next); err != nil {
			return err
		}
		for {
			if done, err := d.WaitSpinning(q.index, q.next, q.dev.spin, time.Second); done || err != nil {
				return err
			}
		}
	}
}
