package caching

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
)

// C6 is about HIDL's handles of 0 or 2 descriptors, which *os.File cannot be. C25 (the deadline of a load) is the
// context of PrepareModelFromCache until deadlines are scheduled.

func TestC1SaveAndLoad(t *testing.T) {
	eachOpener(t, func(t *testing.T, open func() *bed) {
		b := open()
		add, mul := b.saved(t, 1, addChain(), addResult), b.saved(t, 2, mulChain(), mulResult)
		require.NotEmpty(t, content(t, add.model[0]))
		b.loads(t, add, addResult)
		for range 2 { // the next process
			b = open()
			b.loads(t, add, addResult)
			b.loads(t, mul, mulResult)
		}
	})
}

func TestC3OffsetsDoNotCount(t *testing.T) {
	eachDevice(t, func(t *testing.T, b *bed) {
		e := b.newEntry(t, 1)
		for _, path := range []string{e.model[0], e.data[0]} {
			overwrite(t, path, make([]byte, 100_000))
		}
		seek := func(list []*os.File) []*os.File {
			_, err := list[0].Seek(77, 0)
			require.NoError(t, err)
			return list
		}
		b.save(t, addChain(), e, seek(handles(t, os.O_RDWR, e.model...)), seek(handles(t, os.O_RDWR, e.data...)), addResult)
		pm, err := b.loadFrom(t, e.token, seek(handles(t, os.O_RDWR, e.model...)), seek(handles(t, os.O_RDWR, e.data...)))
		require.NoError(t, err)
		requireResult(t, pm, addResult)
	})
}

// counts are lists with one file too many or too few.
func counts(t *testing.T, mode int, e *entry) map[string][2][]*os.File {
	t.Helper()
	open := func(paths ...string) []*os.File { return handles(t, mode, paths...) }
	more := func(paths []string) []*os.File {
		return open(append([]string{touch(t, filepath.Join(t.TempDir(), "more"))}, paths...)...)
	}
	return map[string][2][]*os.File{
		"model file missing":  {nil, open(e.data...)},
		"model file too many": {more(e.model), open(e.data...)},
		"data file missing":   {open(e.model...), nil},
		"data file too many":  {open(e.model...), more(e.data)},
	}
}

func TestC4SaveWithAWrongNumberOfFiles(t *testing.T) {
	eachBadSave(t, func(t *testing.T, b *bed) {
		e := b.newEntry(t, 1)
		for name, lists := range counts(t, os.O_RDWR, e) {
			b.save(t, addChain(), e, lists[0], lists[1], addResult)
			_, err := b.load(t, e)
			require.Error(t, err, name)
			requireRefused(t, err)
		}
	})
}

func TestC5LoadWithAWrongNumberOfFiles(t *testing.T) {
	eachBadSave(t, func(t *testing.T, b *bed) {
		for name := range counts(t, os.O_RDWR, b.newEntry(t, 1)) {
			e := b.saved(t, 1, addChain(), addResult)
			lists := counts(t, os.O_RDWR, e)[name]
			_, err := b.loadFrom(t, e.token, lists[0], lists[1])
			require.Error(t, err, name)
			requireRefused(t, err)
			b.save(t, addChain(), e, lists[0], lists[1], addResult) // a full preparation with the same lists
		}
	})
}

func TestC7SaveToAFileThatIsReadOnly(t *testing.T) {
	eachBadSave(t, func(t *testing.T, b *bed) {
		for _, readOnly := range []string{"model", "data"} {
			e := b.newEntry(t, 1)
			model, data := handles(t, os.O_RDWR, e.model...), handles(t, os.O_RDWR, e.data...)
			if readOnly == "model" {
				model = handles(t, os.O_RDONLY, e.model...)
			} else {
				data = handles(t, os.O_RDONLY, e.data...)
			}
			b.save(t, addChain(), e, model, data, addResult)
			_, err := b.load(t, e)
			requireRefused(t, err)
		}
	})
}

// TestC8LoadFromFilesThatCannotBeRead: whatever is wrong with a file is a GENERAL_FAILURE, as VTS 1.3 has it for those that
// are write-only.
func TestC8LoadFromFilesThatCannotBeRead(t *testing.T) {
	eachDevice(t, func(t *testing.T, b *bed) {
		e := b.saved(t, 1, addChain(), addResult)
		closed := handles(t, os.O_RDWR, e.data...)
		require.NoError(t, closed[0].Close())
		r, w, err := os.Pipe()
		require.NoError(t, err)
		defer r.Close()
		defer w.Close()
		fifo := filepath.Join(t.TempDir(), "fifo")
		require.NoError(t, unix.Mkfifo(fifo, 0o600))
		for name, bad := range map[string]func(path string) []*os.File{
			"write-only":     func(path string) []*os.File { return handles(t, os.O_WRONLY, path) },
			"without access": func(path string) []*os.File { return handles(t, unix.O_PATH, path) },
			"closed":         func(string) []*os.File { return closed },
			"folder":         func(path string) []*os.File { return handles(t, os.O_RDONLY, filepath.Dir(path)) },
			"pipe to read":   func(string) []*os.File { return []*os.File{r} },
			"pipe to write":  func(string) []*os.File { return []*os.File{w} },
			"FIFO":           func(string) []*os.File { return handles(t, os.O_RDWR, fifo) },
			"device":         func(string) []*os.File { return handles(t, os.O_RDWR, "/dev/zero") },
		} {
			_, err := b.loadFrom(t, e.token, bad(e.model[0]), handles(t, os.O_RDWR, e.data...))
			requireGeneralFailure(t, err, "model: "+name)
			_, err = b.loadFrom(t, e.token, handles(t, os.O_RDWR, e.model...), bad(e.data[0]))
			requireGeneralFailure(t, err, "data: "+name)
		}
		for name, lists := range counts(t, os.O_RDWR, e) {
			_, err := b.loadFrom(t, e.token, lists[0], lists[1])
			require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), name)
		}
		_, err = b.loadFrom(t, e.token, []*os.File{nil}, handles(t, os.O_RDWR, e.data...))
		require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
		b.loads(t, e, addResult)
	})
}

func TestC11ReplacedModelCache(t *testing.T) {
	eachDevice(t, func(t *testing.T, b *bed) {
		add, mul := b.saved(t, 1, addChain(), addResult), b.saved(t, 2, mulChain(), mulResult)
		overwrite(t, add.model[0], content(t, mul.model[0]))
		_, err := b.load(t, add)
		requireGeneralFailure(t, err)
		b.loads(t, mul, mulResult)
	})
}

func TestC12FlippedBitInModelCache(t *testing.T) {
	eachDevice(t, func(t *testing.T, b *bed) {
		e := b.saved(t, 1, addChain(), addResult)
		good := content(t, e.model[0])
		for seed := range 10 {
			rng := rand.New(rand.NewPCG(uint64(seed), 12))
			bad := append([]byte(nil), good...)
			bad[rng.IntN(len(bad))] ^= 1 << rng.IntN(8)
			overwrite(t, e.model[0], bad)
			_, err := b.load(t, e)
			requireGeneralFailure(t, err)
		}
		overwrite(t, e.model[0], good)
		b.loads(t, e, addResult)
	})
}

func TestC13LongerModelCache(t *testing.T) {
	eachDevice(t, func(t *testing.T, b *bed) {
		e := b.saved(t, 1, addChain(), addResult)
		good := content(t, e.model[0])
		for _, n := range []int{1, 2, 63, 256} {
			overwrite(t, e.model[0], append(append([]byte(nil), good...), make([]byte, n)...))
			_, err := b.load(t, e)
			requireGeneralFailure(t, err)
		}
		for _, n := range []int{0, 1, len(good) / 2, len(good) - 1} {
			overwrite(t, e.model[0], good[:n])
			_, err := b.load(t, e)
			requireGeneralFailure(t, err)
		}
	})
}

// TestC14DamagedDataCache: the rule allows any outcome but a crash; the driver always finds it.
func TestC14DamagedDataCache(t *testing.T) {
	eachDevice(t, func(t *testing.T, b *bed) {
		e := b.saved(t, 1, addChain(), addResult)
		good := content(t, e.data[0])
		rng := rand.New(rand.NewPCG(14, 14))
		for round := range 30 {
			bad := append([]byte(nil), good...)
			switch {
			case round%3 == 0 && len(bad) > 0:
				bad[rng.IntN(len(bad))] ^= 1 << rng.IntN(8)
			case round%3 == 1:
				bad = append(bad, make([]byte, 1+rng.IntN(256))...)
			case len(bad) > 0:
				bad = bad[:rng.IntN(len(bad))]
			}
			overwrite(t, e.data[0], bad)
			_, err := b.load(t, e)
			requireGeneralFailure(t, err)
		}
		overwrite(t, e.data[0], good)
		b.loads(t, e, addResult)
	})
}

func TestC15WrongToken(t *testing.T) {
	eachDevice(t, func(t *testing.T, b *bed) {
		e := b.saved(t, 1, addChain(), addResult)
		rng := rand.New(rand.NewPCG(15, 15))
		for range 10 {
			wrong := *e
			wrong.token[rng.IntN(len(wrong.token))] ^= 1 << rng.IntN(8)
			_, err := b.load(t, &wrong)
			requireGeneralFailure(t, err)
		}
		b.loads(t, e, addResult)
	})
}

// TestC19FilesMayBeClosed: by the client, as soon as a call has returned.
func TestC19FilesMayBeClosed(t *testing.T) {
	eachDevice(t, func(t *testing.T, b *bed) {
		e := b.newEntry(t, 1)
		closing := func(call func(model, data []*os.File) (*driver.PreparedModel, error)) {
			model, data := handles(t, os.O_RDWR, e.model...), handles(t, os.O_RDWR, e.data...)
			pm, err := call(model, data)
			require.NoError(t, err)
			require.NoError(t, model[0].Close())
			require.NoError(t, data[0].Close())
			for range 2 {
				requireResult(t, pm, addResult)
			}
		}
		closing(func(model, data []*os.File) (*driver.PreparedModel, error) {
			return b.client.PrepareModel(t.Context(), addChain(), driver.WithCacheFiles(e.token, model, data))
		})
		closing(func(model, data []*os.File) (*driver.PreparedModel, error) {
			return b.loadFrom(t, e.token, model, data)
		})
	})
}

// TestC20OrderOfFiles: files in another order are another entry.
func TestC20OrderOfFiles(t *testing.T) {
	eachDevice(t, func(t *testing.T, b *bed) {
		e := b.saved(t, 1, addChain(), addResult)
		_, err := b.loadFrom(t, e.token, handles(t, os.O_RDWR, e.data...), handles(t, os.O_RDWR, e.model...))
		requireRefused(t, err)
		b.loads(t, e, addResult)
	})
}

func TestTransparentCacheOnDevices(t *testing.T) {
	eachOpener(t, func(t *testing.T, open func() *bed) {
		for _, want := range []driver.CacheStatus{driver.CacheMiss, driver.CacheHit, driver.CacheHit} {
			c := open().client
			for _, tc := range []struct {
				name   string
				result float32
			}{{"add", addResult}, {"mul", mulResult}} {
				m := addChain()
				if tc.name == "mul" {
					m = mulChain()
				}
				pm, err := c.PrepareModel(t.Context(), m)
				require.NoError(t, err)
				require.Equal(t, want, pm.Cached())
				requireResult(t, pm, tc.result)
			}
		}
	})
}

// TestC24WorkflowOnDevices is WithCaching over processes after each other.
func TestC24WorkflowOnDevices(t *testing.T) {
	eachOpener(t, func(t *testing.T, open func() *bed) {
		dir := t.TempDir()
		for _, want := range []driver.CacheStatus{driver.CacheMiss, driver.CacheHit, driver.CacheHit} {
			pm, err := open().client.PrepareModel(t.Context(), addChain(), driver.WithCaching(dir, cache.Token{1}))
			require.NoError(t, err)
			require.Equal(t, want, pm.Cached())
			requireResult(t, pm, addResult)
		}
	})
}
