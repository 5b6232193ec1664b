package cache

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The tests of programs that share the directories and are not the same build.

// of is a store of another identity in the directories of o.
func of(t *testing.T, o Options, device, build string) *Store {
	t.Helper()
	o.Identity = Identity{device, build}
	return openStore(t, o)
}

func hits(t *testing.T, s *Store, k Key) bool {
	t.Helper()
	e, err := s.Get(k)
	if err != nil {
		require.ErrorIs(t, err, ErrMiss)
		return false
	}
	require.NoError(t, e.Close())
	return true
}

// TestStoreIdentities: entries of others are never found, and stay.
func TestStoreIdentities(t *testing.T) {
	o := options(t)
	require.NoError(t, of(t, o, "a", "1").Put(key(1), "", noise(1, 10), nil))
	require.NoError(t, of(t, o, "b", "1").Put(key(1), "", noise(2, 10), nil))
	require.False(t, hits(t, of(t, o, "a", "2"), key(1)))
	require.NoError(t, of(t, o, "a", "2").Put(key(1), "", noise(3, 10), nil))
	for i, id := range []Identity{{"a", "1"}, {"b", "1"}, {"a", "2"}} {
		e, err := of(t, o, id.Device, id.Build).Get(key(1))
		require.NoError(t, err, "%v", id)
		requireEntry(t, e, noise(uint64(1+i), 10), nil)
	}
}

// TestLeastRecentlyUsedOfAll: where the bound is exceeded the least recently used entry goes, whoever made it, and its
// folders with it.
func TestLeastRecentlyUsedOfAll(t *testing.T) {
	o := options(t)
	o.MaxBytes = 40_000
	old, own, other := of(t, o, "a", "1"), of(t, o, "a", "2"), of(t, o, "b", "1")
	for i, s := range []*Store{old, own, other} {
		require.NoError(t, s.Put(key(i), "", nil, noise(1, 10_000)))
		setUsed(t, s, key(i), time.Duration(i-10)*time.Minute)
	}
	require.True(t, hits(t, old, key(0)), "now the last used")
	require.NoError(t, other.Put(key(3), "", nil, noise(1, 15_000)))
	require.Equal(t, []bool{true, false, true, true}, []bool{
		hits(t, old, key(0)), hits(t, own, key(1)), hits(t, other, key(2)), hits(t, other, key(3)),
	})
	require.NoDirExists(t, filepath.Join(o.Dir, short("a"), short("2")))
	require.DirExists(t, filepath.Join(o.Dir, short("a"), short("1")))
	require.NoError(t, other.Remove(old.ID(key(0))))
	require.NoDirExists(t, filepath.Join(o.Dir, short("a")))
	st, err := own.Stats()
	require.NoError(t, err)
	require.LessOrEqual(t, st.Bytes, o.MaxBytes)
	require.Equal(t, 2, st.Entries)
}

// TestNumberOfEntries: entries that are small are bounded by their number, of which the time of a Put depends.
func TestNumberOfEntries(t *testing.T) {
	o := options(t)
	o.MaxEntries = 5
	for i := range 12 {
		s := of(t, o, "a", fmt.Sprint(i%2))
		require.NoError(t, s.Put(key(i), "", nil, nil))
		setUsed(t, s, key(i), time.Duration(i-100)*time.Minute)
	}
	for i := range 12 {
		require.Equal(t, i >= 7, hits(t, of(t, o, "a", fmt.Sprint(i%2)), key(i)), "%d", i)
	}
	s := of(t, o, "a", "0")
	require.NoError(t, s.Put(key(8), "", noise(1, 10), nil), "in place of what is there")
	st, err := s.Stats()
	require.NoError(t, err)
	require.Equal(t, 5, st.Entries)
}

// sharedKeys and sharedRounds are how often each program of TestProgramsAlternate wants how many models.
const sharedKeys, sharedRounds = 4, 25

func sharedOptions(base, build string) Options {
	return Options{
		Dir: filepath.Join(base, "cache"), StateDir: filepath.Join(base, "state"), Identity: Identity{"device", build},
		LockTimeout: 10 * time.Second,
	}
}

// wantAll does what a program does that prepares models, in both forms, again and again, and counts those that it had to
// prepare in full.
func wantAll(base, build string) (prepared int, err error) {
	s, err := Open(sharedOptions(base, build))
	if err != nil {
		return 0, err
	}
	for i := range sharedKeys {
		model, data := noise(uint64(i), 100), []byte(build)
		e, err := s.Get(key(i))
		if err != nil {
			prepared++
			err = s.Put(key(i), "", model, data)
		} else {
			err = e.Close()
		}
		if err != nil {
			return 0, err
		}
		f, err := halFiles(filepath.Join(base, build), i)
		if err != nil {
			return 0, err
		}
		if e, err = s.Load(Token{byte(i)}, f[:1], f[1:]); err != nil {
			prepared++
			err = s.Save(Token{byte(i)}, model, data, f[:1], f[1:])
		} else {
			err = e.Close()
		}
		closeAll(f)
		if err != nil {
			return 0, err
		}
	}
	return prepared, nil
}

func init() {
	children["want all"] = func(args []string) error {
		sum := 0
		for range sharedRounds {
			n, err := wantAll(args[0], args[1])
			if err != nil {
				return err
			}
			sum += n
		}
		fmt.Print(sum)
		return nil
	}
}

// TestProgramsAlternate: two programs in the same directories, in turn and at once, prepare each model once.
func TestProgramsAlternate(t *testing.T) {
	for _, atOnce := range []bool{false, true} {
		base := t.TempDir()
		builds := []string{"one", "two"}
		var running []*exec.Cmd
		for _, build := range builds {
			require.NoError(t, os.Mkdir(filepath.Join(base, build), 0o700))
			if atOnce {
				running = append(running, child(t, "want all", base, build))
			}
		}
		var errs []error
		got := make([]int, len(builds))
		if !atOnce {
			for range sharedRounds {
				for i, build := range builds {
					n, err := wantAll(base, build)
					errs, got[i] = append(errs, err), got[i]+n
				}
			}
		}
		outs := make([]chan error, len(running))
		for i, cmd := range running {
			outs[i] = make(chan error, 1)
			go func() {
				out, err := cmd.Output()
				_, scanErr := fmt.Sscan(string(out), &got[i])
				outs[i] <- errors.Join(err, scanErr)
			}()
		}
		for _, c := range outs {
			errs = append(errs, <-c)
		}
		require.NoError(t, errors.Join(errs...))
		require.Equal(t, []int{2 * sharedKeys, 2 * sharedKeys}, got, "at once: %t", atOnce)
	}
}
