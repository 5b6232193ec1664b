package gpu

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// processorTime is what the machine's processors have done since they were started.
type processorTime struct {
	total, busy float64 // of all processors together, in ticks
	self        time.Duration
	known       bool
}

// tick is the unit of /proc/stat that Linux shows to programs (USER_HZ), on every architecture.
const tick = 10 * time.Millisecond

func readProcessors() (p processorTime) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return p
	}
	// From proc(5): user, nice, system, idle, iowait, irq, softirq, steal; what follows is in the first two already.
	var t [8]float64
	line, _, _ := strings.Cut(string(text), "\n")
	if _, err := fmt.Sscanf(line, "cpu %f %f %f %f %f %f %f %f", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]); err != nil {
		return p
	}
	for _, x := range t {
		p.total += x
	}
	p.busy = p.total - t[3] - t[4]
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return p
	}
	p.self = time.Duration(u.Utime.Nano() + u.Stime.Nano())
	p.known = true
	return p
}

// othersSince is the share of the machine's processor time, 0 to 1, that went to other processes since p was read;
// 0 where it is not known.
func (p processorTime) othersSince() float64 {
	now := readProcessors()
	if !p.known || !now.known || now.total <= p.total {
		return 0
	}
	others := now.busy - p.busy - float64(now.self-p.self)/float64(tick)
	return min(max(others/(now.total-p.total), 0), 1)
}
