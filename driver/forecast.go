package driver

import (
	"cmp"
	"time"

	"github.com/nngpu/nngpu/qos"
)

// CanMeet says whether an execution with that deadline, called now, would be admitted: nil, or the error with which it
// would be refused. It asks the forecast that admission asks, before inputs are decoded and prepared; it queues
// nothing, reserves nothing, is not counted as a refusal, and needs no request, so that it does not include the time of
// making inputs of images. Of the options only WithExecutionPriority and a nearer WithDeadline change the answer.
// Without a deadline only the room in the queue counts.
func (p *PreparedModel) CanMeet(deadline time.Time, opts ...ExecuteOption) error {
	o, err := p.asking(opts)
	if err != nil {
		return err
	}
	if !deadline.IsZero() && (o.deadline.IsZero() || deadline.Before(o.deadline)) {
		o.deadline = deadline
	}
	if err := checkDeadline("execution", o.deadline, o.since); err != nil {
		return err
	}
	return p.ask(o, func(a *execution) error { return a.verdict(p.client.queue.CanMeet(&a.job)) })
}

// Forecast says when an execution that is called now would end, after all that goes before it, if nothing else came:
// the nearest deadline that could be promised to it. One that is refused for its deadline is likely to be admitted if
// it comes again, with as much time, after the difference between its deadline and the forecast: that is what a server
// can answer as Retry-After. Like CanMeet it queues, reserves and counts nothing and knows no request. Of the options
// only WithExecutionPriority and WithDeadline change the answer, the latter because executions of one priority go in
// the order of their deadlines; it may have passed.
//
// It is the zero time, without an error, where nothing is known of the model, because it is not compiled yet. Errors:
// INVALID_ARGUMENT for an option; GENERAL_FAILURE, with ErrClosed, for a closed model.
func (p *PreparedModel) Forecast(opts ...ExecuteOption) (end time.Time, err error) {
	o, err := p.asking(opts)
	if err != nil {
		return end, err
	}
	err = p.ask(o, func(a *execution) (err error) {
		end, err = p.client.queue.Forecast(&a.job)
		return err
	})
	return end, err
}

// asking decodes the options of a question about an execution.
func (p *PreparedModel) asking(opts []ExecuteOption) (o executeOptions, err error) {
	o.since = time.Now()
	if err := apply(opts, &o); err != nil {
		return o, err
	}
	return o, cmp.Or(o.err, p.checkPriority(&o))
}

// ask calls f with an execution whose job was made and will not be run. It does not where nothing is known of the model.
func (p *PreparedModel) ask(o executeOptions, f func(*execution) error) error {
	if err := p.enter(); err != nil {
		return err
	}
	defer p.running.Done()
	a := &execution{p: p, o: o, executionState: executionState{job: qos.Job{Deadline: o.deadline}}}
	if !a.plan() {
		return nil
	}
	return f(a)
}
