package cache

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func key(i int) Key { return KeyOf([]byte(fmt.Sprint(i))) }

// entryFiles are the paths of the files of an entry.
func entryFiles(s *Store, k Key) (model, data string) {
	return filepath.Join(s.dir, s.ID(k), modelName), filepath.Join(s.dir, s.ID(k), dataName)
}

func TestPutGet(t *testing.T) {
	for _, tc := range []struct{ model, data int }{
		{1000, 50_000}, {0, 0}, {1, 0}, {0, 1}, {13, defaultChunk}, {13, defaultChunk + 1}, {13, 3*defaultChunk - 1}, {300_007, 2_000_003},
	} {
		t.Run(fmt.Sprintf("%d and %d bytes", tc.model, tc.data), func(t *testing.T) {
			o := options(t)
			model, data := noise(1, tc.model), noise(2, tc.data)
			s := openStore(t, o)
			_, err := s.Get(key(1))
			require.ErrorIs(t, err, ErrMiss)
			require.NoError(t, s.Put(key(1), "a model", model, data))
			for _, s := range []*Store{s, openStore(t, o)} {
				e, err := s.Get(key(1))
				require.NoError(t, err)
				requireEntry(t, e, model, data)
			}
			require.NoError(t, s.Put(key(1), "a model", data, model))
			e, err := s.Get(key(1))
			require.NoError(t, err)
			requireEntry(t, e, data, model)
			st, err := s.Stats()
			require.NoError(t, err)
			require.Equal(t, 1, st.Entries)
			require.EqualValues(t, []int64{2, 1, 0, 2}, []int64{st.Hits, st.Misses, st.Rejected, st.Puts})
			n, err := s.Clean()
			require.NoError(t, err)
			require.Zero(t, n)
		})
	}
}

func TestDataReadAt(t *testing.T) {
	s := openStore(t, options(t))
	data := noise(2, 3*defaultChunk+777)
	require.NoError(t, s.Put(key(1), "", nil, data))
	e, err := s.Get(key(1))
	require.NoError(t, err)
	defer e.Close()
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		off, n := rng.IntN(len(data)), rng.IntN(len(data))
		p := make([]byte, n)
		got, err := e.Data.ReadAt(p, int64(off))
		want := data[off:min(off+n, len(data))]
		require.Equal(t, len(want), got)
		require.True(t, bytes.Equal(want, p[:got]))
		require.Equal(t, len(want) < n, err == io.EOF)
	}
	_, err = e.Data.ReadAt(make([]byte, 1), int64(len(data)))
	require.Equal(t, io.EOF, err)
	_, err = e.Data.ReadAt(make([]byte, 1), -1)
	require.ErrorIs(t, err, ErrInvalid)
}

// TestEveryBitOfAStoredModel flips every bit of an entry's model file, and cuts it everywhere.
func TestEveryBitOfAStoredModel(t *testing.T) {
	s := openStore(t, options(t))
	require.NoError(t, s.Put(key(1), "label", noise(1, 300), noise(2, 100)))
	path, _ := entryFiles(s, key(1))
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	f := openRW(t, path)
	for bit := range 8 * len(good) {
		_, err := f.WriteAt([]byte{good[bit/8] ^ 1<<(bit%8)}, int64(bit/8))
		require.NoError(t, err)
		_, err = s.Get(key(1))
		require.ErrorIs(t, err, ErrRejected, "bit %d", bit)
		_, err = f.WriteAt(good[bit/8:bit/8+1], int64(bit/8))
		require.NoError(t, err)
	}
	for n := range good {
		overwrite(t, f, good[:n])
		_, err := s.Get(key(1))
		require.ErrorIs(t, err, ErrRejected, "%d bytes", n)
	}
	for n := 1; n < 256; n++ {
		overwrite(t, f, append(bytes.Clone(good), noise(1, n)...))
		_, err := s.Get(key(1))
		require.ErrorIs(t, err, ErrRejected, "%d bytes more", n)
	}
	overwrite(t, f, good)
	e, err := s.Get(key(1))
	require.NoError(t, err)
	requireEntry(t, e, noise(1, 300), noise(2, 100))
}

// TestDamagedStoredData: a damaged data file never gives a byte that was not saved.
func TestDamagedStoredData(t *testing.T) {
	s := openStore(t, options(t))
	data := noise(2, 2*defaultChunk+1000)
	require.NoError(t, s.Put(key(1), "", noise(1, 10), data))
	_, path := entryFiles(s, key(1))
	f := openRW(t, path)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		at := rng.IntN(len(data))
		_, err := f.WriteAt([]byte{data[at] ^ 1<<rng.IntN(8)}, int64(at))
		require.NoError(t, err)
		e, err := s.Get(key(1))
		require.NoError(t, err)
		p := noise(3, len(data))
		n, err := e.Data.ReadAt(p, 0)
		require.ErrorIs(t, err, ErrRejected)
		require.True(t, bytes.Equal(data[:n], p[:n]))
		chunk := at / defaultChunk * defaultChunk
		end := min(chunk+defaultChunk, len(data))
		require.True(t, bytes.Equal(noise(3, len(data))[chunk:end], p[chunk:end]), "untouched")
		e.Close()
		_, err = f.WriteAt(data[at:at+1], int64(at))
		require.NoError(t, err)
	}
	e, err := s.Get(key(1))
	require.NoError(t, err)
	defer e.Close()
	require.NoError(t, f.Truncate(defaultChunk+5))
	n, err := e.Data.ReadAt(make([]byte, len(data)), 0)
	require.ErrorIs(t, err, ErrRejected, "shortened after Get")
	require.Equal(t, defaultChunk, n)
	for _, size := range []int{0, len(data) - 1, len(data) + 1} {
		require.NoError(t, f.Truncate(int64(size)))
		_, err = s.Get(key(1))
		require.ErrorIs(t, err, ErrRejected)
	}
	require.NoError(t, os.Remove(path))
	_, err = s.Get(key(1))
	require.ErrorIs(t, err, ErrRejected)
}

func TestSwappedEntries(t *testing.T) {
	o := options(t)
	s := openStore(t, o)
	for i := range 2 {
		require.NoError(t, s.Put(key(i), "", noise(uint64(i), 100), noise(uint64(i), 100)))
	}
	swap := func(a, b string) {
		require.NoError(t, os.Rename(a, a+"x"))
		require.NoError(t, os.Rename(b, a))
		require.NoError(t, os.Rename(a+"x", b))
	}
	m0, d0 := entryFiles(s, key(0))
	m1, d1 := entryFiles(s, key(1))
	rejected := func(want int) {
		t.Helper()
		infos, err := s.Verify()
		require.NoError(t, err)
		require.Len(t, infos, 2)
		bad := 0
		for i, info := range infos {
			if info.Err != nil {
				require.ErrorIs(t, info.Err, ErrRejected)
				bad++
			}
			e, err := s.Get(key(i))
			if err == nil {
				_, err = io.ReadAll(io.NewSectionReader(e.Data, 0, e.Data.Size()))
				e.Close()
			}
			require.Equal(t, want == 0, err == nil)
		}
		require.Equal(t, want, bad)
	}
	rejected(0)
	swap(m0, m1)
	rejected(2)
	swap(d0, d1)
	rejected(2) // whole entries in each other's places
	swap(m0, m1)
	rejected(2)
	swap(d0, d1)
	rejected(0)

	// The same key of another build, put in this build's place.
	o.Identity.Device = "other device"
	other := openStore(t, o)
	require.NoError(t, other.Put(key(0), "", noise(7, 100), nil))
	require.NoError(t, os.RemoveAll(filepath.Dir(m0)))
	require.NoError(t, os.Rename(filepath.Join(other.dir, other.ID(key(0))), filepath.Dir(m0)))
	_, err := s.Get(key(0))
	require.ErrorIs(t, err, ErrRejected)

	// Another key.
	o.StateDir = filepath.Join(t.TempDir(), "state")
	_, err = openStore(t, o).Get(key(1))
	require.ErrorIs(t, err, ErrMiss)
	o.Identity = testIdentity
	_, err = openStore(t, o).Get(key(1))
	require.ErrorIs(t, err, ErrRejected)
}

func TestThingsThatAreNoFiles(t *testing.T) {
	s := openStore(t, options(t))
	outside := filepath.Join(t.TempDir(), "outside")
	model, data := entryFiles(s, key(1))
	for _, path := range []string{model, data, filepath.Dir(model)} {
		for name, put := range map[string]func() error{
			"pipe":        func() error { return unix.Mkfifo(path, 0o600) },
			"folder":      func() error { return os.MkdirAll(path+"/x", 0o700) },
			"link":        func() error { return os.Symlink(outside, path) },
			"link within": func() error { return os.Symlink(filepath.Base(path), path) },
			"file":        func() error { return os.WriteFile(path, []byte("x"), 0o600) },
		} {
			require.NoError(t, s.Put(key(1), "", noise(1, 10), noise(1, 10)))
			require.NoError(t, os.Rename(path, outside))
			require.NoError(t, put())
			_, err := s.Get(key(1))
			if err == nil || !isKnown(err) {
				t.Fatalf("%s in place of %s: %v", name, path, err)
			}
			if filepath.Base(path) == modelName {
				require.ErrorIs(t, err, ErrRejected, name)
			}
			require.NoError(t, os.RemoveAll(outside))
			require.NoError(t, s.Put(key(1), "", noise(1, 10), noise(1, 10)))
			e, err := s.Get(key(1))
			require.NoError(t, err)
			requireEntry(t, e, noise(1, 10), noise(1, 10))
		}
	}
}

// setUsed makes the entry one that was last used at that time from now: file systems tell times of some
// milliseconds only.
func setUsed(t *testing.T, s *Store, k Key, at time.Duration) {
	t.Helper()
	model, _ := entryFiles(s, k)
	when := time.Now().Add(at)
	require.NoError(t, os.Chtimes(model, when, when))
}

func TestLeastRecentlyUsedGoes(t *testing.T) {
	o := options(t)
	o.MaxBytes = 10_000
	s := openStore(t, o)
	put := func(i int) {
		require.NoError(t, s.Put(key(i), fmt.Sprint(i), noise(uint64(i), 100), noise(uint64(i), 2000)))
	}
	has := func(i int) bool {
		_, err := os.Stat(filepath.Join(s.dir, s.ID(key(i))))
		return err == nil
	}
	for i := range 4 {
		put(i)
		setUsed(t, s, key(i), time.Duration(i-10)*time.Minute)
	}
	for i := range 4 {
		require.True(t, has(i))
	}
	e, err := s.Get(key(0))
	require.NoError(t, err)
	e.Close()
	put(4)
	require.False(t, has(1), "the least recently used")
	put(0)
	require.Equal(t, []bool{true, false, true, true, true}, []bool{has(0), has(1), has(2), has(3), has(4)}, "replacing drops nothing")
	require.NoError(t, s.Put(key(5), "", nil, noise(1, 7000)))
	st, err := s.Stats()
	require.NoError(t, err)
	require.LessOrEqual(t, st.Bytes, o.MaxBytes)
	require.True(t, has(5))

	var w warnings
	o.Warn = w.add
	s = openStore(t, o)
	require.ErrorIs(t, s.Put(key(6), "", nil, noise(1, 10_000)), ErrInvalid)
	require.ErrorIs(t, s.Put(key(6), "", nil, noise(1, 10_000)), ErrInvalid)
	require.Equal(t, 1, w.count())
	require.True(t, has(5), "what can never fit drops nothing")
}

func TestListRemove(t *testing.T) {
	o := options(t)
	s := openStore(t, o)
	infos, err := s.List()
	require.NoError(t, err)
	require.Empty(t, infos)
	require.NoError(t, s.Remove(s.ID(key(1))))
	for i := range 3 {
		require.NoError(t, s.Put(key(i), fmt.Sprintf("model %d\x1b[31m%s", i, strings.Repeat("ä", 300)), noise(1, 10), noise(1, 20)))
		setUsed(t, s, key(i), time.Duration(i-10)*time.Minute)
	}
	infos, err = s.List()
	require.NoError(t, err)
	require.Len(t, infos, 3)
	require.Equal(t, key(2), infos[0].Key)
	require.Equal(t, s.ID(key(2)), infos[0].ID)
	require.Equal(t, testIdentity, infos[0].Identity)
	require.True(t, strings.HasPrefix(infos[0].Label, "model 2?[31mä"), infos[0].Label)
	require.LessOrEqual(t, len(infos[0].Label), maxLabelBytes)
	require.EqualValues(t, 20, infos[0].DataBytes)
	require.WithinDuration(t, time.Now(), infos[0].Made, time.Minute)
	require.NoError(t, s.Remove(infos[1].ID, infos[2].ID))
	_, err = s.Get(key(2))
	require.NoError(t, err)
	_, err = s.Get(key(1))
	require.ErrorIs(t, err, ErrMiss)
	for _, bad := range []string{"", "..", "../../x", strings.Repeat("a", 98), infos[0].ID + "/x", "/" + infos[0].ID[1:]} {
		require.ErrorIs(t, s.Remove(bad), ErrInvalid)
	}
	model, _ := entryFiles(s, key(2))
	require.NoError(t, os.Truncate(model, 20))
	infos, err = s.Verify()
	require.NoError(t, err)
	require.Len(t, infos, 1)
	require.ErrorIs(t, infos[0].Err, ErrRejected)
}

// TestCleanKeepsWhatIsInUse: of two temporary folders only the one without a living owner goes.
func TestCleanKeepsWhatIsInUse(t *testing.T) {
	s := openStore(t, options(t))
	require.NoError(t, s.Put(key(1), "", nil, nil))
	mine, err := s.newTemp()
	require.NoError(t, err)
	left, err := s.newTemp()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(left.path, dataName), noise(1, 100), 0o600))
	left.f.Close()
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, tempName, "stray"), nil, 0o600))
	require.NoError(t, os.Symlink("/nowhere", filepath.Join(s.dir, tempName, "link")))
	n, err := s.Clean()
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.DirExists(t, mine.path)
	require.NoDirExists(t, left.path)
	mine.discard()
}

func TestStoreHammer(t *testing.T) {
	o := options(t)
	o.MaxBytes = 200_000
	o.LockTimeout = 10 * time.Second
	var wg sync.WaitGroup
	for g := range 4 {
		s := openStore(t, o)
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			for range 60 {
				k := rng.IntN(5)
				if rng.IntN(3) == 0 {
					seed := rng.Uint64N(100)
					if err := s.Put(key(k), "", noise(seed, 1000), noise(seed, 20_000+k)); err != nil {
						t.Errorf("put: %v", err)
					}
					continue
				}
				e, err := s.Get(key(k))
				if errors.Is(err, ErrMiss) {
					continue
				}
				if err != nil {
					t.Errorf("get: %v", err)
					continue
				}
				b, err := io.ReadAll(io.NewSectionReader(e.Data, 0, e.Data.Size()))
				if err != nil || len(b) != 20_000+k || !bytes.HasPrefix(b, e.Model) {
					t.Errorf("torn entry: %v", err)
				}
				e.Close()
			}
		})
	}
	wg.Wait()
}

// FuzzEntryFile: nothing makes the decoder panic, and what it accepts has the length that it says.
func FuzzEntryFile(f *testing.F) {
	s := &secret{1}
	f.Add(s.encodeEntry(entryInfo{key: key(1), chunk: minChunk, identity: testIdentity, label: "x"}, noise(1, 10), noise(1, 10_000)))
	f.Add(s.encodeEntry(entryInfo{chunk: minChunk}, nil, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		info, hashes, model, err := decodeEntry(b)
		if err != nil {
			if !errors.Is(err, ErrRejected) {
				t.Fatal(err)
			}
			return
		}
		if int64(len(model)) != info.model || int64(len(hashes)) != info.chunks() || info.fileSize() != int64(len(b)) {
			t.Fatal("lengths")
		}
		_ = entryID(info.identity, info.key)
		_ = cleanLabel(info.label)
		_ = s.verifyEntry(b)
	})
}
