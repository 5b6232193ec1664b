package cache

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// dataDamage is every kind of damage to a data file of several chunks, good, and what it is called: flipped bits of every
// position in a byte, in the first and last byte of every chunk and in between; every truncation at and beside a chunk's end;
// lengthenings; zeroed pages; chunks that changed places.
func dataDamage(good []byte, seed uint64) map[string][]byte {
	rng := rand.New(rand.NewPCG(seed, 14))
	bad := map[string][]byte{}
	flip := func(at, bit int) {
		b := bytes.Clone(good)
		b[at] ^= 1 << bit
		bad[fmt.Sprintf("bit %d of byte %d", bit, at)] = b
	}
	for bit := range 8 {
		flip(rng.IntN(len(good)), bit)
	}
	for from := 0; from < len(good); from += defaultChunk {
		end := min(from+defaultChunk, len(good))
		for _, at := range []int{from, (from + end) / 2, end - 1} {
			flip(at, rng.IntN(8))
		}
		for _, n := range []int{from, from + 1, end - 1} {
			bad[fmt.Sprintf("%d of %d bytes", n, len(good))] = good[:n]
		}
		page := bytes.Clone(good)
		clear(page[end-min(4096, end-from) : end])
		bad[fmt.Sprintf("zeros before byte %d", end)] = page
		if end-from == defaultChunk && from > 0 {
			exchanged := bytes.Clone(good)
			copy(exchanged, good[from:end])
			copy(exchanged[from:], good[:defaultChunk])
			bad[fmt.Sprintf("chunks at 0 and %d exchanged", from)] = exchanged
		}
	}
	for _, n := range []int{1, 255, 4096, defaultChunk} {
		bad[fmt.Sprintf("%d zeros more", n)] = append(bytes.Clone(good), make([]byte, n)...)
		bad[fmt.Sprintf("its first %d bytes again", n)] = append(bytes.Clone(good), good[:n]...)
	}
	return bad
}

// requireDataRejected wants damaged data found by Load or by reading what it returns, which leaves no byte that was not
// saved.
func requireDataRejected(t *testing.T, m *HashMap, token Token, f *files, good []byte, what string) {
	t.Helper()
	e, err := m.Load(token, f.model, f.data)
	if err != nil {
		require.ErrorIs(t, err, ErrRejected, what)
		return
	}
	defer e.Close()
	require.EqualValues(t, len(good), e.Data.Size(), what)
	before := noise(3, len(good))
	p := bytes.Clone(before)
	n, err := e.Data.ReadAt(p, 0)
	require.ErrorIs(t, err, ErrRejected, what)
	require.True(t, bytes.Equal(good[:n], p[:n]), what)
	for from := 0; from < len(p); from += defaultChunk {
		end := min(from+defaultChunk, len(p))
		require.True(t, bytes.Equal(p[from:end], good[from:end]) || bytes.Equal(p[from:end], before[from:end]), what)
	}
}

// TestC14DamagedData: the rule allows damaged data any outcome but a crash; here it is always found.
func TestC14DamagedData(t *testing.T) {
	o := options(t)
	o.DataFiles = 2
	m, f := openMap(t, o), newFiles(t, 1, 2)
	model, data := noise(1, 100), noise(2, 5*defaultChunk+777)
	require.NoError(t, m.Save(Token{}, model, data, f.model, f.data))
	for k, h := range f.data {
		good := content(t, h)
		for what, bad := range dataDamage(good, uint64(k)) {
			overwrite(t, h, bad)
			requireDataRejected(t, m, Token{}, f, data, fmt.Sprintf("file %d, %s", k, what))
		}
		overwrite(t, h, good)
	}
	requireDataRejected(t, m, Token{}, &files{model: f.model, data: []*os.File{f.data[1], f.data[0]}}, data, "files exchanged")
	e, err := m.Load(Token{}, f.model, f.data)
	require.NoError(t, err)
	requireEntry(t, e, model, data)
}

// TestC14EveryBitOfTheData flips every bit of a small data file and cuts it everywhere.
func TestC14EveryBitOfTheData(t *testing.T) {
	m, f := openMap(t, options(t)), newFiles(t, 1, 1)
	data := noise(2, 500)
	require.NoError(t, m.Save(Token{}, noise(1, 10), data, f.model, f.data))
	for bit := range 8 * len(data) {
		b := bytes.Clone(data)
		b[bit/8] ^= 1 << (bit % 8)
		overwrite(t, f.data[0], b)
		requireDataRejected(t, m, Token{}, f, data, fmt.Sprintf("bit %d", bit))
	}
	for n := range data {
		overwrite(t, f.data[0], data[:n])
		requireDataRejected(t, m, Token{}, f, data, fmt.Sprintf("%d bytes", n))
	}
}

// TestC14DataOfOthers: the data of another token or of an earlier save is not accepted.
func TestC14DataOfOthers(t *testing.T) {
	m, a, b := openMap(t, options(t)), newFiles(t, 1, 1), newFiles(t, 1, 1)
	first, second, other := noise(1, 5000), noise(2, 5000), noise(3, 5000)
	require.NoError(t, m.Save(Token{2}, noise(4, 50), other, b.model, b.data))
	require.NoError(t, m.Save(Token{1}, noise(4, 50), first, a.model, a.data))
	require.NoError(t, m.Save(Token{1}, noise(4, 50), second, a.model, a.data))
	requireDataRejected(t, m, Token{1}, &files{model: a.model, data: b.data}, second, "data file of token 2")
	overwrite(t, a.data[0], first)
	requireDataRejected(t, m, Token{1}, a, second, "data of before")
	overwrite(t, a.data[0], second)
	e, err := m.Load(Token{1}, a.model, a.data)
	require.NoError(t, err)
	requireEntry(t, e, noise(4, 50), second)
}

// TestC14DataChangesAfterTheLoad: what is judged is what is handed out.
func TestC14DataChangesAfterTheLoad(t *testing.T) {
	m, f := openMap(t, options(t)), newFiles(t, 1, 1)
	data := noise(2, 2*defaultChunk)
	require.NoError(t, m.Save(Token{}, noise(1, 10), data, f.model, f.data))
	for what, change := range map[string]func(){
		"shortened": func() { require.NoError(t, f.data[0].Truncate(defaultChunk+5)) },
		"changed":   func() { overwrite(t, f.data[0], append(bytes.Clone(data[:2*defaultChunk-1]), ^data[2*defaultChunk-1])) },
	} {
		overwrite(t, f.data[0], data)
		e, err := m.Load(Token{}, f.model, f.data)
		require.NoError(t, err)
		change()
		p := make([]byte, len(data))
		n, err := e.Data.ReadAt(p, 0)
		require.ErrorIs(t, err, ErrRejected, what)
		require.Equal(t, defaultChunk, n, what)
		require.True(t, bytes.Equal(data[:n], p[:n]), what)
		require.NoError(t, e.Close())
	}
}

// FuzzAssemble: whatever one authenticated model file holds, an entry of it can be read or is rejected.
func FuzzAssemble(f *testing.F) {
	data := noise(2, 2*minChunk+1)
	head := halData{[]int64{int64(len(data))}, minChunk}
	f.Add(encodeModelFiles(append(appendHashes(nil, hashChunks(data, head.chunk)), "model"...), 1, head)[0])
	f.Add(encodeModelFiles(nil, 1, head)[0])
	path := filepath.Join(f.TempDir(), "data")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		f.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { file.Close() })
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := assemble([][]byte{b}, []*os.File{file}, []int64{int64(len(data))})
		if err != nil {
			if !errors.Is(err, ErrRejected) {
				t.Fatal(err)
			}
			return
		}
		defer e.Close()
		p := make([]byte, e.Data.Size())
		if n, err := e.Data.ReadAt(p, 0); err == nil && !bytes.Equal(p, data[:n]) || err != nil && !errors.Is(err, ErrRejected) {
			t.Fatal(err)
		}
	})
}
