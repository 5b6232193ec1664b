package live

import (
	"context"
	"fmt"
	"sync"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
)

// rival runs the second network, at the priority and as long as is wanted. Safe for concurrent use.
type rival struct {
	session *session

	mu       sync.Mutex
	on       bool            // guarded by mu
	priority nn.Priority     // guarded by mu
	period   context.Context // guarded by mu: of executions that are as is wanted
	over     func()          // guarded by mu: ends period

	prepareMu sync.Mutex
	models    map[nn.Priority]*driver.PreparedModel // guarded by prepareMu
}

func newRival(x *session) *rival {
	r := &rival{session: x, on: true, priority: x.Rival.Priority, models: map[nn.Priority]*driver.PreparedModel{}}
	r.period, r.over = context.WithCancel(context.Background())
	return r
}

// change changes what is wanted, at once: what runs is given up.
func (r *rival) change(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	r.over()
	r.period, r.over = context.WithCancel(context.Background())
}

func (r *rival) wanted() (on bool, p nn.Priority, period context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.on, r.priority, r.period
}

// model is the network at a priority. Its first executions may find it being prepared, and wait.
func (r *rival) model(ctx context.Context, p nn.Priority) (*driver.PreparedModel, error) {
	r.prepareMu.Lock()
	defer r.prepareMu.Unlock()
	if m := r.models[p]; m != nil {
		return m, nil
	}
	s := r.session.Rival
	m, err := r.session.client.PrepareModel(ctx, s.Model, driver.WithPriority(p))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Path, err)
	}
	r.models[p] = m
	return m, nil
}

// loop runs the network again and again until ctx ends.
func (r *rival) loop(ctx context.Context) error {
	for ctx.Err() == nil {
		on, p, period := r.wanted()
		if !on {
			select {
			case <-ctx.Done():
			case <-period.Done():
			}
			continue
		}
		run, cancel := context.WithCancel(ctx)
		stop := context.AfterFunc(period, cancel)
		err := r.run(run, p)
		stop()
		cancel()
		if err != nil && ctx.Err() == nil && period.Err() == nil {
			return err
		}
	}
	return nil
}

// run runs the network once.
func (r *rival) run(ctx context.Context, p nn.Priority) error {
	m, err := r.model(ctx, p)
	if err != nil {
		return err
	}
	s, h := r.session.Rival, r.session.history
	res, err := m.Run(ctx, s.Inputs, m.NewOutputs(), driver.WithProfile())
	r.session.lost.note(err)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Path, err)
	}
	h.rivalEnded()
	h.busy(rivalLane, res)
	return nil
}
