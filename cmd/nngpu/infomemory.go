package main

import (
	"text/tabwriter"
)

// printMemory prints what the device does with each kind of pool, and its queues.
func (a *app) printMemory(d *infoDevice) {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	title := "memory"
	for _, p := range d.Memory {
		kind := p.Kind
		if p.Source != "" {
			kind += ", " + p.Source
		}
		printf(w, "     %-8s %s\t%s\t%s\n", title, kind, p.Use, p.Why)
		title = ""
	}
	printf(w, "     %-8s %s\t%s\t%s\n", title, "buffers of the driver", exported(d.ExportsBuffers), "to other processes, as opaque fds")
	_ = w.Flush()
	if d.Queues > 0 {
		printf(a.out, "     queues   %d, of global priority %s\n", d.Queues, d.GlobalPriority)
	}
}

func exported(b bool) string {
	if b {
		return "exported"
	}
	return "kept"
}
