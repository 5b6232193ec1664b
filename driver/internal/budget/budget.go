// Package budget keeps a client's account of memory, in bytes.
package budget

import (
	"fmt"
	"sync"

	"github.com/nngpu/nngpu/driver/nn"
)

// Account is what a client has taken of its budget. A nil one belongs to nobody and refuses nothing. Safe for
// concurrent use.
type Account struct {
	limit    int64 // 0: none
	outgrown func(used int64)

	mu   sync.Mutex
	used int64 // guarded by mu
}

// New returns an account of at most limit bytes; 0 for no limit. outgrown is called when Outgrow goes beyond that.
func New(limit int64, outgrown func(used int64)) *Account {
	return &Account{limit: limit, outgrown: outgrown}
}

// Limit is the budget; 0 for none.
func (a *Account) Limit() int64 { return a.limit }

// Used is how much is in use.
func (a *Account) Used() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used
}

// Take accounts for bytes of what. RESOURCE_EXHAUSTED_PERSISTENT if they could never fit, else
// RESOURCE_EXHAUSTED_TRANSIENT.
func (a *Account) Take(bytes int64, what string) error { return a.TakeBeside(0, bytes, what) }

// TakeBeside is Take for something that is needed together with taken bytes, which were taken before.
func (a *Account) TakeBeside(taken, bytes int64, what string) error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if all := taken + bytes; a.limit > 0 && all > a.limit {
		return nn.Errorf(nn.StatusResourceExhaustedPersistent, what, "%d bytes exceed the client's budget of %d", all, a.limit)
	}
	if a.limit > 0 && bytes > a.limit-a.used {
		return nn.Errorf(nn.StatusResourceExhaustedTransient, what, "%d bytes, %d of the client's budget of %d are in use",
			bytes, a.used, a.limit)
	}
	a.used += bytes
	return nil
}

// Give undoes Take.
func (a *Account) Give(bytes int64) { a.change(-bytes) }

// Outgrow takes bytes, or gives them back if they are below 0, whatever the limit is.
func (a *Account) Outgrow(bytes int64) {
	if used := a.change(bytes); bytes > 0 && a.limit > 0 && used > a.limit {
		a.outgrown(used)
	}
}

func (a *Account) change(bytes int64) (used int64) {
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.used += bytes; a.used < 0 {
		panic(fmt.Sprintf("driver: client gave back %d bytes too many", -a.used))
	}
	return a.used
}
