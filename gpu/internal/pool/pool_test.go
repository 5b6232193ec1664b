package pool

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
)

// counted makes numbers from 1 on.
func counted(most int) *Pool[int] {
	var mu sync.Mutex
	made := 0
	return New(most, func(context.Context) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		made++
		return made, nil
	})
}

// TestPoolIsBounded: what was given back comes first, and who finds nothing waits for it or for the end of its context.
func TestPoolIsBounded(t *testing.T) {
	p := counted(2)
	take := func() int {
		x, err := p.Take(t.Context())
		require.NoError(t, err)
		return x
	}
	require.Equal(t, 1, take())
	p.Give(1)
	require.Equal(t, 1, take())
	require.Equal(t, 2, take())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Take(ended)
	require.ErrorIs(t, err, context.Canceled)
	var got int
	var wait sync.WaitGroup
	wait.Go(func() { got, err = p.Take(t.Context()) })
	p.Give(2)
	wait.Wait()
	require.NoError(t, err)
	require.Equal(t, 2, got)
}

// TestPoolWithoutMemory: where there is none for one more, others will do; where there are none, and for other reasons, making
// one fails. All leave room.
func TestPoolWithoutMemory(t *testing.T) {
	broken := errors.New("broken")
	why := nn.Errorf(nn.StatusResourceExhaustedTransient, "test", "full")
	p := New(3, func(context.Context) (string, error) { return "new", why })
	_, err := p.Take(t.Context())
	require.ErrorIs(t, err, why)
	p.Add("old")
	for range 5 {
		x, err := p.Take(t.Context())
		require.NoError(t, err)
		require.Equal(t, "old", x)
		var second string
		var wait sync.WaitGroup
		wait.Go(func() { second, err = p.Take(t.Context()) })
		p.Give(x)
		wait.Wait()
		require.NoError(t, err)
		require.Equal(t, "old", second)
		p.Give(second)
	}
	why = broken
	_, err = p.Take(t.Context())
	require.NoError(t, err)
	for range 5 {
		_, err = p.Take(t.Context())
		require.ErrorIs(t, err, broken)
	}
	why = nil
	for range 2 {
		x, err := p.Take(t.Context())
		require.NoError(t, err)
		require.Equal(t, "new", x)
	}
}

// TestPoolCloses: Close destroys all there are when they were given back and nobody uses the pool, and ends those that wait.
func TestPoolCloses(t *testing.T) {
	p := counted(2)
	for range 2 {
		_, err := p.Take(t.Context())
		require.NoError(t, err)
	}
	done, err := p.Use()
	require.NoError(t, err)
	waits := make(chan error)
	go func() {
		_, err := p.Take(context.Background())
		waits <- err
	}()
	var destroyed []int
	closed := make(chan bool)
	go func() { closed <- p.Close(func(x int) { destroyed = append(destroyed, x) }) }()
	require.ErrorIs(t, <-waits, nn.ErrClosed)
	p.Give(2)
	p.Give(1)
	select {
	case <-closed:
		t.Fatal("it is in use")
	default:
	}
	done()
	require.True(t, <-closed)
	require.Equal(t, []int{2, 1}, destroyed)
	require.False(t, p.Close(func(int) { t.Error("destroyed again") }))
	_, err = p.Take(t.Context())
	require.ErrorIs(t, err, nn.ErrClosed)
	_, err = p.Use()
	require.ErrorIs(t, err, nn.ErrClosed)
}

// TestPoolClosesWhileItMakes: what is being made then is destroyed as well.
func TestPoolClosesWhileItMakes(t *testing.T) {
	making, goOn := make(chan bool), make(chan bool)
	p := New(1, func(context.Context) (int, error) {
		making <- true
		<-goOn
		return 7, nil
	})
	failed := make(chan error)
	go func() {
		_, err := p.Take(context.Background())
		failed <- err
	}()
	<-making
	destroyed := make(chan int, 1)
	go p.Close(func(x int) { destroyed <- x })
	<-p.closing
	goOn <- true
	require.ErrorIs(t, <-failed, nn.ErrClosed)
	require.Equal(t, 7, <-destroyed)
}
