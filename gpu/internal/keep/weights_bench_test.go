//go:build linux

package keep

import (
	"bytes"
	"hash/maphash"
	"testing"
)

// BenchmarkKeep is what surviving a loss costs a preparation, for 4 MiB of constants.
func BenchmarkKeep(b *testing.B) {
	data := make([]byte, 4<<20)
	b.SetBytes(int64(len(data)))
	b.Run("checksum", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			maphash.Bytes(sumSeed, data)
		}
	})
	b.Run("copy", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			var k Weights
			if _, err := k.Take(bytes.NewReader(data), int64(len(data)), false); err != nil {
				b.Fatal(err)
			}
			k.Close()
		}
	})
}
