package cache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
)

// sampleDatabase makes a database with branch pages, overflow pages, inline and other buckets, free pages.
func sampleDatabase(t testing.TB, entries int) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	d := &database{path: path, timeout: time.Second, warn: &warner{fn: func(err error) { t.Error(err) }}}
	for round := range 3 {
		require.NoError(t, d.update(func(tx *bbolt.Tx) error {
			for _, name := range []string{"large", "small"} {
				b, err := tx.CreateBucketIfNotExists([]byte(name))
				if err != nil {
					return err
				}
				n := entries
				if name == "small" {
					n = 3
				}
				for i := range n {
					key := noise(uint64(i), TokenSize)
					if err := b.Put(key, (record{saved: int64(round)}).encode()); err != nil {
						return err
					}
					if round == 1 && i%3 == 0 {
						if err := b.Delete(key); err != nil {
							return err
						}
					}
				}
			}
			b := tx.Bucket([]byte("large"))
			return b.Put([]byte("long"), make([]byte, 3*boltPageSize))
		}))
	}
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

func TestCheckBoltAcceptsWhatBoltWrites(t *testing.T) {
	for _, entries := range []int{0, 1, 40, 700, 5000} {
		require.NoError(t, checkBolt(sampleDatabase(t, entries)), "%d entries", entries)
	}
}

// TestCheckBoltAcceptsChangedTrees: whatever is put and deleted, in whatever order.
func TestCheckBoltAcceptsChangedTrees(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: boltPageSize, NoSync: true})
	require.NoError(t, err)
	defer db.Close()
	rng := rand.New(rand.NewPCG(1, 1))
	for round := range 300 {
		require.NoError(t, db.Update(func(tx *bbolt.Tx) error {
			name := []byte{byte('a' + rng.IntN(4))}
			if rng.IntN(20) == 0 && tx.Bucket(name) != nil {
				return tx.DeleteBucket(name)
			}
			b, err := tx.CreateBucketIfNotExists(name)
			for range rng.IntN(300) {
				key := noise(rng.Uint64N(1000), TokenSize)
				if round%7 < 4 {
					err = errors.Join(err, b.Put(key, make([]byte, rng.IntN(200))))
				} else {
					err = errors.Join(err, b.Delete(key))
				}
			}
			return err
		}))
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, checkBolt(b), "round %d", round)
	}
}

// TestMisplacedKeys makes keys differ from what the branches above them say.
func TestMisplacedKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	good := sampleDatabase(t, 200)
	for page := boltFirstData; page < len(good)/boltPageSize; page++ {
		for _, field := range []int{boltHeader + 4, boltHeader + 8, boltHeader + boltElement + 8} { // place and length of keys
			b := bytes.Clone(good)
			b[page*boltPageSize+field] = 1
			exercise(t, path, b)
		}
	}
}

func TestNewBolt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: boltPageSize})
	require.NoError(t, err)
	require.NoError(t, db.Close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(newBolt(), b))
	require.True(t, unfinishedBolt(b[:5000]))
	require.False(t, unfinishedBolt(b))
}

// exercise does to a database what the cache does. It must end, without ending the process.
func exercise(t testing.TB, path string, b []byte) {
	require.NoError(t, os.WriteFile(path, b, 0o600))
	d := &database{path: path, timeout: time.Second, warn: &warner{}}
	walk := func(tx *bbolt.Tx) error {
		return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error {
			return b.ForEach(func(k, v []byte) error { _ = bytes.Clone(k); _ = bytes.Clone(v); return nil })
		})
	}
	_ = d.view(walk)
	name := bucketName(testIdentity)
	put := func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(name)
		if err != nil {
			return err
		}
		if err := b.Put([]byte("key"), (record{}).encode()); err != nil {
			return err
		}
		return trim(tx, name, 10)
	}
	if err := d.update(put); err != nil {
		// Trouble that the check did not see empties the file, so the second time works.
		require.NoError(t, d.update(put), "after %v", err)
	}
	require.NoError(t, d.view(walk))
}

// TestDamagedDatabases damages a database in random places, with bytes that mean something to it.
func TestDamagedDatabases(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	rounds := 300
	if soak() {
		rounds = 20_000
	}
	for _, entries := range []int{2, 200} {
		good := sampleDatabase(t, entries)
		rng := rand.New(rand.NewPCG(uint64(entries), 3))
		refused := 0
		for range rounds / 2 {
			b := bytes.Clone(good)
			for range 1 + rng.IntN(3) {
				at := rng.IntN(len(b))
				if rng.IntN(2) == 0 {
					at = at/boltPageSize*boltPageSize + rng.IntN(64) // heads of pages
				}
				b[at] = []byte{0, 1, 2, 0x10, 0x7f, 0xff, byte(rng.Uint32())}[rng.IntN(7)]
			}
			if rng.IntN(10) == 0 {
				b = b[:rng.IntN(len(b))]
			}
			if checkBolt(b) != nil {
				refused++
			}
			exercise(t, path, b)
		}
		require.NotZero(t, refused)
	}
}

// resum makes a damaged meta page valid again, as only a bug or an enemy would.
func resum(b []byte) []byte {
	for i := range 2 {
		if len(b) >= (i+1)*boltPageSize {
			setMetaSum(b[i*boltPageSize+boltHeader:])
		}
	}
	return b
}

func TestDamagedMetas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	good := sampleDatabase(t, 100)
	for field := 8; field < boltMetaBytes; field += 4 {
		for _, v := range []byte{0, 1, 2, 3, 5, 0xff} {
			b := bytes.Clone(good)
			for page := range 2 {
				b[page*boltPageSize+boltHeader+field] = v
			}
			exercise(t, path, resum(b))
		}
	}
}

// FuzzDatabase edits a database: each group of four bytes is a page, an offset in it and a value.
func FuzzDatabase(f *testing.F) {
	samples := [][]byte{sampleDatabase(f, 0), sampleDatabase(f, 3), sampleDatabase(f, 200)}
	for i := range samples {
		f.Add(uint8(i), []byte{0, 0, 40, 9, 3, 0, 10, 2})
	}
	f.Fuzz(func(t *testing.T, sample uint8, edits []byte) {
		b := bytes.Clone(samples[int(sample)%len(samples)])
		for ; len(edits) >= 4; edits = edits[4:] {
			at := int(edits[0])*boltPageSize + (int(edits[1])<<8|int(edits[2]))%boltPageSize
			b[at%len(b)] = edits[3]
		}
		b = resum(b)
		if err := checkBolt(b); err != nil {
			if !errors.Is(err, errBolt) {
				t.Fatal(err)
			}
			return
		}
		exercise(t, filepath.Join(t.TempDir(), "db"), b)
	})
}

func BenchmarkDatabaseView(b *testing.B) {
	for _, entries := range []int{10, 4000} {
		b.Run(fmt.Sprintf("%d entries", entries), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "db")
			require.NoError(b, os.WriteFile(path, sampleDatabase(b, entries), 0o600))
			d := &database{path: path, timeout: time.Second, warn: &warner{}}
			for b.Loop() {
				require.NoError(b, d.view(func(tx *bbolt.Tx) error { return nil }))
			}
		})
	}
}

func setMetaSum(m []byte) {
	sum := fnv.New64a()
	sum.Write(m[:boltMetaBytes])
	binary.NativeEndian.PutUint64(m[boltMetaBytes:], sum.Sum64())
}
