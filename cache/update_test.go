package cache

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUpdateModel(t *testing.T) {
	o := options(t)
	s := openStore(t, o)
	replace := func(with []byte) func([]byte) []byte { return func([]byte) []byte { return with } }
	require.ErrorIs(t, s.UpdateModel(key(1), replace(noise(9, 9))), ErrMiss)

	model, data := noise(1, 1000), noise(2, 2*defaultChunk+7)
	require.NoError(t, s.Put(key(1), "label", model, data))
	require.NoError(t, s.Put(key(2), "", noise(3, 10), noise(4, 10)))
	for _, size := range []int{1000, 3, 40_000, 0} {
		next := append([]byte{}, noise(uint64(size), size)...)
		require.NoError(t, s.UpdateModel(key(1), func(old []byte) []byte {
			require.True(t, bytes.Equal(model, old))
			return next
		}))
		for _, s := range []*Store{s, openStore(t, o)} {
			e, err := s.Get(key(1))
			require.NoError(t, err)
			requireEntry(t, e, next, data)
		}
		model = next
	}
	require.NoError(t, s.UpdateModel(key(1), replace(nil)), "nothing to do")
	infos, err := s.Verify()
	require.NoError(t, err)
	require.Len(t, infos, 2)
	for _, i := range infos {
		require.NoError(t, i.Err)
		if i.Key == key(1) {
			require.Equal(t, "label", i.Label)
		}
	}
	n, err := s.Clean()
	require.NoError(t, err)
	require.Zero(t, n, "a temporary folder was left")
}

func TestUpdateModelRefuses(t *testing.T) {
	o := options(t)
	o.MaxBytes, o.MaxModelBytes = 10_000, 5000
	s := openStore(t, o)
	require.NoError(t, s.Put(key(1), "", noise(1, 100), noise(2, 100)))
	require.ErrorIs(t, s.UpdateModel(key(1), func([]byte) []byte { return noise(3, 6000) }), ErrInvalid)
	e, err := s.Get(key(1))
	require.NoError(t, err)
	requireEntry(t, e, noise(1, 100), noise(2, 100))

	path, _ := entryFiles(s, key(1))
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	good[len(good)-1] ^= 1
	require.NoError(t, os.WriteFile(path, good, 0o600))
	err = s.UpdateModel(key(1), func([]byte) []byte { panic("called with what does not verify") })
	require.ErrorIs(t, err, ErrRejected)

	off, err := Open(Options{Off: true, StateDir: o.StateDir, Identity: testIdentity})
	require.NoError(t, err)
	require.ErrorIs(t, off.UpdateModel(key(1), nil), ErrUnavailable)
}

// TestUpdateModelMakesRoom: a model part that grows drops others, the least recently used first.
func TestUpdateModelMakesRoom(t *testing.T) {
	o := options(t)
	o.MaxBytes = 10_000
	s := openStore(t, o)
	require.NoError(t, s.Put(key(1), "", noise(1, 100), nil))
	require.NoError(t, s.Put(key(2), "", noise(2, 5000), nil))
	require.NoError(t, s.UpdateModel(key(1), func([]byte) []byte { return noise(3, 6000) }))
	_, err := s.Get(key(2))
	require.ErrorIs(t, err, ErrMiss)
	e, err := s.Get(key(1))
	require.NoError(t, err)
	requireEntry(t, e, noise(3, 6000), nil)
}

// TestUpdateModelWhileOthersRead: each finds a whole entry, from any of the stores.
func TestUpdateModelWhileOthersRead(t *testing.T) {
	o := options(t)
	data := noise(2, 1000)
	require.NoError(t, openStore(t, o).Put(key(1), "", []byte{0}, data))
	var wg sync.WaitGroup
	for range 3 {
		s := openStore(t, o)
		wg.Go(func() {
			for range 50 {
				if err := s.UpdateModel(key(1), func(old []byte) []byte { return []byte{old[0] + 1} }); err != nil {
					t.Error(err)
				}
				e, err := s.Get(key(1))
				if err != nil {
					t.Error(err)
					continue
				}
				got := make([]byte, len(data))
				if _, err := e.Data.ReadAt(got, 0); err != nil || !bytes.Equal(got, data) || len(e.Model) != 1 {
					t.Errorf("%d bytes of model, data %v", len(e.Model), err)
				}
				e.Close()
			}
		})
	}
	wg.Wait()
	e, err := openStore(t, o).Get(key(1))
	require.NoError(t, err)
	requireEntry(t, e, []byte{150}, data)
	require.Equal(t, []string{"data", "model"}, names(t, filepath.Join(o.Dir, openStore(t, o).ID(key(1)))))
}

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}
