package cache

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The tests are named for the rules of compilation caching that they hold, as far as they concern
// this package: what is left is the driver's.

func TestC1SavingAndRetrieval(t *testing.T) {
	for _, tc := range []struct{ modelFiles, dataFiles, model, data int }{
		{1, 1, 1000, 50_000}, {1, 1, 0, 0}, {1, 1, 1, 0}, {1, 1, 0, 1}, {2, 3, 1013, 40_009}, {3, 2, 2, 1}, {32, 32, 997, 300_007},
	} {
		t.Run(fmt.Sprintf("%d model, %d data files, %d and %d bytes", tc.modelFiles, tc.dataFiles, tc.model, tc.data), func(t *testing.T) {
			o := options(t)
			o.ModelFiles, o.DataFiles = tc.modelFiles, tc.dataFiles
			model, data := noise(1, tc.model), noise(2, tc.data)
			f := newFiles(t, tc.modelFiles, tc.dataFiles)
			require.NoError(t, openMap(t, o).Save(Token{1}, model, data, f.model, f.data))
			// Another map stands for another process.
			e, err := openMap(t, o).Load(Token{1}, f.model, f.data)
			require.NoError(t, err)
			requireEntry(t, e, model, data)
		})
	}
}

func TestC3NonZeroOffset(t *testing.T) {
	m, f := openMap(t, options(t)), newFiles(t, 1, 1)
	model, data := noise(1, 3000), noise(2, 7000)
	seek := func(to int64) {
		for _, h := range []*os.File{f.model[0], f.data[0]} {
			_, err := h.Seek(to, io.SeekStart)
			require.NoError(t, err)
		}
	}
	overwrite(t, f.model[0], noise(3, 9000))
	overwrite(t, f.data[0], noise(3, 9000))
	seek(777)
	require.NoError(t, m.Save(Token{}, model, data, f.model, f.data))
	require.Equal(t, data, content(t, f.data[0]))
	seek(1)
	e, err := m.Load(Token{}, f.model, f.data)
	require.NoError(t, err)
	requireEntry(t, e, model, data)
}

func TestC4C5WrongNumberOfFiles(t *testing.T) {
	o := options(t)
	o.ModelFiles, o.DataFiles = 2, 2
	for _, tc := range []struct{ model, data int }{{1, 2}, {3, 2}, {2, 1}, {2, 3}, {0, 2}, {2, 0}, {33, 2}} {
		m, token := openMap(t, o), Token{byte(tc.model), byte(tc.data)}
		good, bad := newFiles(t, 2, 2), newFiles(t, tc.model, tc.data)
		require.NoError(t, m.Save(token, noise(1, 100), nil, good.model, good.data))
		_, err := m.Load(token, bad.model, bad.data)
		require.ErrorIs(t, err, ErrInvalid, "%+v", tc)
		require.ErrorIs(t, m.Save(token, noise(1, 100), nil, bad.model, bad.data), ErrInvalid)
		_, err = m.Load(token, good.model, good.data)
		require.ErrorIs(t, err, ErrMiss, "a failed save leaves nothing behind")
	}
}

func TestC6HandlesWithoutFile(t *testing.T) {
	m, f := openMap(t, options(t)), newFiles(t, 1, 1)
	closed := openRW(t, filepath.Join(f.dir, "closed"))
	closed.Close()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	dir, err := os.Open(f.dir)
	require.NoError(t, err)
	defer dir.Close()
	for name, tc := range map[string]struct {
		bad  *os.File
		want error
	}{
		"none": {nil, ErrInvalid}, "same file twice": {f.data[0], ErrInvalid},
		"closed": {closed, ErrUnusable}, "pipe": {r, ErrUnusable}, "directory": {dir, ErrUnusable},
		"path only": {openMode(t, f.model[0].Name(), unix.O_PATH), ErrUnusable},
	} {
		require.ErrorIs(t, m.Save(Token{1}, nil, nil, []*os.File{tc.bad}, f.data), tc.want, name)
		_, err := m.Load(Token{1}, []*os.File{tc.bad}, f.data)
		require.ErrorIs(t, err, tc.want, name)
	}
}

func TestC7C8AccessMode(t *testing.T) {
	m := openMap(t, options(t))
	for i, tc := range []struct {
		name         string
		flag         int
		model        bool
		saves, loads bool
	}{
		{"model read-only", os.O_RDONLY, true, false, true}, {"data read-only", os.O_RDONLY, false, false, true},
		{"model write-only", os.O_WRONLY, true, false, false}, {"data write-only", os.O_WRONLY, false, false, false},
		{"model for appending", os.O_RDWR | os.O_APPEND, true, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			token, good := Token{byte(i)}, newFiles(t, 1, 1)
			bad := *good
			if tc.model {
				bad.model = []*os.File{openMode(t, good.model[0].Name(), tc.flag)}
			} else {
				bad.data = []*os.File{openMode(t, good.data[0].Name(), tc.flag)}
			}
			require.NoError(t, m.Save(token, noise(1, 99), noise(2, 99), good.model, good.data))
			e, err := m.Load(token, bad.model, bad.data)
			if tc.loads {
				require.NoError(t, err)
				requireEntry(t, e, noise(1, 99), noise(2, 99))
			} else {
				require.ErrorIs(t, err, ErrUnusable)
			}
			require.ErrorIs(t, m.Save(token, noise(1, 99), nil, bad.model, bad.data), ErrUnusable)
			_, err = m.Load(token, good.model, good.data)
			require.ErrorIs(t, err, ErrMiss)
		})
	}
}

func TestC11OtherModelInItsPlace(t *testing.T) {
	m := openMap(t, options(t))
	a, b := newFiles(t, 1, 1), newFiles(t, 1, 1)
	require.NoError(t, m.Save(Token{1}, noise(1, 500), noise(2, 500), a.model, a.data))
	require.NoError(t, m.Save(Token{2}, noise(3, 500), noise(4, 500), b.model, b.data))
	mine, other := content(t, a.model[0]), content(t, b.model[0])
	overwrite(t, a.model[0], other)
	overwrite(t, b.model[0], mine)
	for token, f := range map[Token]*files{{1}: a, {2}: b} {
		_, err := m.Load(token, f.model, f.data)
		require.ErrorIs(t, err, ErrRejected)
	}
	// The same content under another token is not the other token's either.
	_, err := m.Load(Token{2}, a.model, a.data)
	require.NoError(t, err)
	_, err = m.Load(Token{1}, a.model, a.data)
	require.ErrorIs(t, err, ErrRejected)
}

// TestC12EveryBitOfTheModel flips every bit of a small entry's model files, one at a time.
func TestC12EveryBitOfTheModel(t *testing.T) {
	o := options(t)
	o.ModelFiles = 2
	m, f := openMap(t, o), newFiles(t, 2, 1)
	model, data := noise(1, 600), noise(2, 100)
	require.NoError(t, m.Save(Token{9}, model, data, f.model, f.data))
	n := 0
	for _, h := range f.model {
		b := content(t, h)
		for bit := range 8 * len(b) {
			one := []byte{b[bit/8] ^ 1<<(bit%8)}
			_, err := h.WriteAt(one, int64(bit/8))
			require.NoError(t, err)
			_, err = m.Load(Token{9}, f.model, f.data)
			require.ErrorIs(t, err, ErrRejected, "bit %d", bit)
			_, err = h.WriteAt(b[bit/8:bit/8+1], int64(bit/8))
			require.NoError(t, err)
			if n++; n%1000 == 0 {
				e, err := m.Load(Token{9}, f.model, f.data)
				require.NoError(t, err)
				requireEntry(t, e, model, data)
			}
		}
	}
	require.Greater(t, n, 5000)
}

func TestC13WrongLengthOfTheModel(t *testing.T) {
	m, f := openMap(t, options(t)), newFiles(t, 1, 1)
	model := noise(1, 700)
	require.NoError(t, m.Save(Token{}, model, nil, f.model, f.data))
	b := content(t, f.model[0])
	for n := range b {
		overwrite(t, f.model[0], b[:n])
		_, err := m.Load(Token{}, f.model, f.data)
		require.ErrorIs(t, err, ErrRejected, "%d of %d bytes", n, len(b))
	}
	for n := 1; n <= 256; n++ {
		overwrite(t, f.model[0], append(bytes.Clone(b), noise(uint64(n), n)...))
		_, err := m.Load(Token{}, f.model, f.data)
		require.ErrorIs(t, err, ErrRejected, "%d bytes more", n)
	}
	overwrite(t, f.model[0], b)
	_, err := m.Load(Token{}, f.model, f.data)
	require.NoError(t, err)
}

// TestC13HugeModel wants a huge file refused before anything is allocated for it.
func TestC13HugeModel(t *testing.T) {
	m, f := openMap(t, options(t)), newFiles(t, 1, 1)
	require.NoError(t, m.Save(Token{}, noise(1, 10), nil, f.model, f.data))
	require.NoError(t, f.model[0].Truncate(1<<40))
	var err error
	allocated := testing.AllocsPerRun(1, func() { _, err = m.Load(Token{}, f.model, f.data) })
	require.ErrorIs(t, err, ErrRejected)
	require.Less(t, allocated, 1000.0)
}

func TestC15WrongToken(t *testing.T) {
	m, f := openMap(t, options(t)), newFiles(t, 1, 1)
	token := Token(noise(7, TokenSize))
	require.NoError(t, m.Save(token, noise(1, 10), nil, f.model, f.data))
	for bit := range 8 * TokenSize {
		wrong := token
		wrong[bit/8] ^= 1 << (bit % 8)
		_, err := m.Load(wrong, f.model, f.data)
		require.ErrorIs(t, err, ErrMiss)
	}
}

func TestC17FailedSave(t *testing.T) {
	o := options(t)
	o.MaxModelBytes = 1000
	m, f := openMap(t, o), newFiles(t, 1, 1)
	require.NoError(t, m.Save(Token{}, noise(1, 900), nil, f.model, f.data))
	require.ErrorIs(t, m.Save(Token{}, noise(1, 1001), nil, f.model, f.data), ErrInvalid)
	_, err := m.Load(Token{}, f.model, f.data)
	require.ErrorIs(t, err, ErrMiss)
	// A memory file that may not be written to.
	fd, err := unix.MemfdCreate("sealed", unix.MFD_ALLOW_SEALING)
	require.NoError(t, err)
	sealed := os.NewFile(uintptr(fd), "sealed")
	defer sealed.Close()
	_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE)
	require.NoError(t, err)
	require.ErrorIs(t, m.Save(Token{}, noise(1, 10), noise(1, 10), []*os.File{sealed}, f.data), ErrUnavailable)
	_, err = m.Load(Token{}, []*os.File{sealed}, f.data)
	require.ErrorIs(t, err, ErrMiss)
}

func TestC18NoFiles(t *testing.T) {
	m := openMap(t, options(t))
	require.NoError(t, m.Save(Token{1}, noise(1, 10), nil, nil, nil))
	_, err := m.Load(Token{1}, nil, nil)
	require.ErrorIs(t, err, ErrInvalid)
	require.Zero(t, m.Len())
}

func TestC19ClientClosesItsHandles(t *testing.T) {
	m, f := openMap(t, options(t)), newFiles(t, 1, 1)
	model, data := noise(1, 10), noise(2, 10_000)
	kept, err := Duplicate(append(f.model, f.data...))
	require.NoError(t, err)
	closeAll(f.model)
	closeAll(f.data)
	require.NoError(t, m.Save(Token{}, model, data, kept[:1], kept[1:]))
	e, err := m.Load(Token{}, kept[:1], kept[1:])
	require.NoError(t, err)
	closeAll(kept)
	requireEntry(t, e, model, data)
	_, err = Duplicate(f.model)
	require.Error(t, err)
}

func TestC20OrderOfFiles(t *testing.T) {
	o := options(t)
	o.ModelFiles, o.DataFiles = 2, 2
	m, f := openMap(t, o), newFiles(t, 2, 2)
	require.NoError(t, m.Save(Token{}, noise(1, 1000), noise(2, 20_000), f.model, f.data))
	_, err := m.Load(Token{}, []*os.File{f.model[1], f.model[0]}, f.data)
	require.ErrorIs(t, err, ErrRejected)
}

func TestOtherIdentityIsAMiss(t *testing.T) {
	o := options(t)
	f := newFiles(t, 1, 1)
	require.NoError(t, openMap(t, o).Save(Token{}, noise(1, 10), nil, f.model, f.data))
	o.Identity.Build = "build 2"
	_, err := openMap(t, o).Load(Token{}, f.model, f.data)
	require.ErrorIs(t, err, ErrMiss)
}

func TestHeldFileLock(t *testing.T) {
	o := options(t)
	o.LockTimeout = 20_000_000 // 20 ms
	m, f := openMap(t, o), newFiles(t, 1, 1)
	require.NoError(t, m.Save(Token{}, noise(1, 10), nil, f.model, f.data))
	rude := openRW(t, f.model[0].Name())
	require.NoError(t, flock(rude, unix.LOCK_EX, 0))
	_, err := m.Load(Token{}, f.model, f.data)
	require.ErrorIs(t, err, ErrMiss)
	require.ErrorIs(t, m.Save(Token{}, noise(1, 10), nil, f.model, f.data), ErrUnavailable)
	rude.Close()
	require.NoError(t, m.Save(Token{}, noise(1, 10), nil, f.model, f.data))
}

// FuzzModelFile: what the decoder accepts encodes to the same bytes, and nothing makes it panic.
func FuzzModelFile(f *testing.F) {
	for _, b := range encodeModelFiles(noise(1, 50), 2, halData{[]int64{3, 4}, minChunk}) {
		f.Add(b, 0, 2, 2)
	}
	f.Add(encodeModelFiles(nil, 1, halData{nil, defaultChunk})[0], 0, 1, 0)
	f.Fuzz(func(t *testing.T, b []byte, index, count, dataCount int) {
		if index < 0 || count < 1 || count > MaxFiles || dataCount < 0 || dataCount > MaxFiles {
			return
		}
		share, data, err := decodeModelFile(b, index, count, dataCount)
		if err != nil {
			if !errors.Is(err, ErrRejected) {
				t.Fatal(err)
			}
			return
		}
		again := encodeModelFiles(share, 1, data)[0]
		copy(again[12:16], b[12:16])
		if !bytes.Equal(again, b) {
			t.Fatal("accepted what it would not write")
		}
	})
}
