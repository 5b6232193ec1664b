package cache

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sampleHashes is a file of so many records, of three owners.
func sampleHashes(n int) []byte {
	rs := records{}
	for i := range n {
		k := recordKey{ownerOf(Identity{"device", fmt.Sprint(i % 3)}), Token(noise(uint64(i), TokenSize))}
		rs[k] = record{mac: [macSize]byte(noise(uint64(i), macSize)), saved: int64(i), size: int64(2 * i)}
	}
	return rs.encode()
}

func TestRecordsComeBack(t *testing.T) {
	for _, n := range []int{0, 1, 40, 700} {
		b := sampleHashes(n)
		rs, err := decodeRecords(b)
		require.NoError(t, err)
		require.Len(t, rs, n)
		again, err := decodeRecords(rs.encode())
		require.NoError(t, err)
		require.Equal(t, rs, again)
	}
}

// TestOwnersDiffer: no two identities are one, however their words are divided.
func TestOwnersDiffer(t *testing.T) {
	seen := map[owner]bool{}
	for _, id := range []Identity{{}, {"a", ""}, {"", "a"}, {"ab", "c"}, {"a", "bc"}, {"abc", ""}} {
		require.False(t, seen[ownerOf(id)], "%v", id)
		seen[ownerOf(id)] = true
	}
}

// exercise does to a file of hashes what the cache does. It must then be as good as a new one.
func exercise(t testing.TB, path string, b []byte) {
	require.NoError(t, os.WriteFile(path, b, 0o600))
	h := &hashFile{path: path, timeout: time.Second, warn: &warner{}}
	before, err := h.read()
	require.NoError(t, err)
	k := recordKey{token: Token{1, 2, 3}}
	require.NoError(t, h.update(func(rs records) { rs[k] = record{size: 5} }))
	after, err := h.read()
	require.NoError(t, err)
	before[k] = record{size: 5}
	require.Equal(t, before, after)
}

// TestDamagedHashes: a file that was changed in any place is an empty one.
func TestDamagedHashes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hashes")
	good := sampleHashes(20)
	rng := rand.New(rand.NewPCG(1, 3))
	for at := range 2 * hashHead {
		b := bytes.Clone(good)
		b[at] ^= 1 << rng.IntN(8)
		_, err := decodeRecords(b)
		require.Error(t, err, "byte %d", at)
		if at%8 == 0 {
			exercise(t, path, b)
		}
		_, err = decodeRecords(good[:rng.IntN(len(good))])
		require.Error(t, err)
		_, err = decodeRecords(append(bytes.Clone(good), good[:1+rng.IntN(2*recordSize)]...))
		require.Error(t, err)
	}
}

// TestLeftover: what a process left that was killed while it wrote is nobody's hashes, keeps nobody out, and goes.
func TestLeftover(t *testing.T) {
	for name, left := range map[string][]byte{"nothing yet": nil, "half": sampleHashes(5)[:200], "all": sampleHashes(5)} {
		t.Run(name, func(t *testing.T) {
			o, f := options(t), newFiles(t, 1, 1)
			require.NoError(t, openMap(t, o).Save(Token{1}, noise(1, 10), nil, f.model, f.data))
			next := filepath.Join(o.StateDir, databaseName+".next")
			m := openMap(t, o)
			require.NoError(t, os.WriteFile(next, left, 0o600))
			require.NoError(t, m.put(Token{2}, record{}))
			require.NoFileExists(t, next)
			require.Equal(t, 2, openMap(t, o).Len())
			require.NoError(t, os.WriteFile(next, left, 0o600))
			require.Equal(t, 2, openMap(t, o).Len())
			require.NoFileExists(t, next)
		})
	}
}

// TestHashesHeldElsewhere: while another process writes, what is there is still found, and a save fails after the timeout.
func TestHashesHeldElsewhere(t *testing.T) {
	var w warnings
	o := options(t)
	o.LockTimeout, o.Warn = 20*time.Millisecond, w.add
	m := openMap(t, o)
	require.NoError(t, m.put(Token{1}, record{}))
	held, err := m.file.lock(time.Second)
	require.NoError(t, err)
	defer held.Close()
	other := openMap(t, o)
	require.Equal(t, 1, other.Len())
	require.FileExists(t, held.Name(), "who holds it still writes")
	require.ErrorIs(t, other.put(Token{2}, record{}), ErrUnavailable)
	require.Equal(t, 1, w.count())
	require.NoError(t, held.Close())
	require.NoError(t, other.put(Token{3}, record{}))
}

// FuzzHashes reads any bytes; what is accepted says the same again.
func FuzzHashes(f *testing.F) {
	for _, n := range []int{0, 3, 50} {
		f.Add(sampleHashes(n))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= hashHead { // as if its maker had wanted it
			sum := sumHashes(b)
			copy(b[hashSum:], sum[:])
		}
		rs, err := decodeRecords(b)
		if err != nil {
			return
		}
		again, err := decodeRecords(rs.encode())
		require.NoError(t, err)
		require.Equal(t, rs, again)
	})
}

func BenchmarkHashes(b *testing.B) {
	for _, n := range []int{10, 4000} {
		o := options(b)
		m := openMap(b, o)
		require.NoError(b, os.WriteFile(m.stateFile(), sampleHashes(n), 0o600))
		b.Run(fmt.Sprintf("read %d", n), func(b *testing.B) {
			for b.Loop() {
				m.refresh()
			}
		})
		b.Run(fmt.Sprintf("change %d", n), func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, m.put(Token{}, record{}))
			}
		})
	}
}
