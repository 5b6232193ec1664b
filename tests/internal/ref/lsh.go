package ref

import (
	"encoding/binary"
	"math/bits"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(nn.OpLshProjection, kernel{inputs: []int{4}, optional: []int{2}, run: func(c *call) *Tensor {
		return LSHProjection(c.in[0], c.in[1], c.in[2], c.int(3))
	}})
}

// LSHProjection is LSH_PROJECTION of the rows of x, with weights for each or, nil, without, by seeds for each hash and bit. The
// type is 1 (sparse, deprecated), 2 (dense) or 3 (sparse).
func LSHProjection(seeds, x, weights *Tensor, typ int) *Tensor {
	if len(seeds.Shape) != 2 || len(x.Shape) == 0 || typ < 1 || typ > 3 || weights != nil && len(weights.V) != x.Shape[0] {
		refuse("hash %v, input %v, type %d", seeds.Shape, x.Shape, typ)
	}
	hashes, n := seeds.Shape[0], seeds.Shape[1]
	if n > 32 || typ == 3 && n+bits.Len(uint(hashes-1)) > 32 {
		refuse("%d hashes of %d bits", hashes, n)
	}
	data, keys := x.Bytes(), seeds.Bytes()
	row, seed := len(data)/x.Shape[0], len(keys)/len(seeds.V)
	y := &Tensor{Type: nn.TensorInt32}
	for h := range hashes {
		var signature uint32
		for b := range n {
			var sum float64
			for i := range x.Shape[0] {
				key := append(append([]byte(nil), keys[(h*n+b)*seed:][:seed]...), data[i*row:][:row]...)
				term := float64(int64(Fingerprint64(key)))
				if weights != nil {
					term = float64(term * weights.V[i])
				}
				sum += term
			}
			bit := 0
			if sum > 0 {
				bit = 1
			}
			signature = signature<<1 | uint32(bit)
			if typ == 2 {
				y.V = append(y.V, float64(bit))
			}
		}
		switch typ {
		case 3:
			signature += uint32(h) << n
			fallthrough
		case 1:
			y.V = append(y.V, float64(int32(signature)))
		}
	}
	y.Shape = []int{len(y.V)}
	return y
}

// The constants of FarmHash.
const (
	farm0 uint64 = 0xc3a5c85c97cb3127
	farm1 uint64 = 0xb492b66fbe98f273
	farm2 uint64 = 0x9ae16a3b2f90404f
)

func farmShift(v uint64) uint64 { return v ^ v>>47 }

func farmPair(u, v, mul uint64) uint64 {
	a := farmShift((u ^ v) * mul)
	return farmShift((v^a)*mul) * mul
}

func farmRotate(v uint64, right int) uint64 { return bits.RotateLeft64(v, -right) }

// Fingerprint64 is that of FarmHash.
func Fingerprint64(s []byte) uint64 {
	n := len(s)
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(s[i:]) }
	mul := farm2 + 2*uint64(n)
	switch {
	case n == 0:
		return farm2
	case n < 4:
		y := uint64(s[0]) + uint64(s[n/2])<<8
		z := uint64(n) + uint64(s[n-1])<<2
		return farmShift(y*farm2^z*farm0) * farm2
	case n < 8:
		first, last := uint64(binary.LittleEndian.Uint32(s)), uint64(binary.LittleEndian.Uint32(s[n-4:]))
		return farmPair(uint64(n)+first<<3, last, mul)
	case n <= 16:
		a, b := at(0)+farm2, at(n-8)
		return farmPair(farmRotate(b, 37)*mul+a, (farmRotate(a, 25)+b)*mul, mul)
	case n <= 32:
		a, b, c, d := at(0)*farm1, at(8), at(n-8)*mul, at(n-16)*farm2
		return farmPair(farmRotate(a+b, 43)+farmRotate(c, 30)+d, a+farmRotate(b+farm2, 18)+c, mul)
	case n <= 64:
		a, b, c, d := at(0)*farm2, at(8), at(n-8)*mul, at(n-16)*farm2
		y := farmRotate(a+b, 43) + farmRotate(c, 30) + d
		z := farmPair(y, a+farmRotate(b+farm2, 18)+c, mul)
		e, f, g, h := at(16)*mul, at(24), (y+at(n-32))*mul, (z+at(n-24))*mul
		return farmPair(farmRotate(e+f, 43)+farmRotate(g, 30)+h, e+farmRotate(f+a, 18)+g, mul)
	}
	return farmLong(s)
}

// farmLong is Fingerprint64 of more than 64 bytes.
func farmLong(s []byte) uint64 {
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(s[i:]) }
	weak := func(i int, a, b uint64) (uint64, uint64) {
		a += at(i)
		b = farmRotate(b+a+at(i+24), 21)
		c := a
		a += at(i+8) + at(i+16)
		return a + at(i+24), b + farmRotate(a, 44) + c
	}
	x := uint64(81)
	y := x*farm1 + 113
	z := farmShift(y*farm2+113) * farm2
	var v1, v2, w1, w2 uint64
	x = x*farm2 + at(0)
	chunk := func(i int, mul, factor uint64) {
		x = farmRotate(x+y+v1+at(i+8), 37) * mul
		y = farmRotate(y+v2+at(i+48), 42) * mul
		x ^= w2 * factor
		y += v1*factor + at(i+40)
		z = farmRotate(z+w1, 33) * mul
		v1, v2 = weak(i, v2*mul, x+w1)
		w1, w2 = weak(i+32, z+w2, y+at(i+16))
		z, x = x, z
	}
	for i := 0; i < (len(s)-1)/64*64; i += 64 {
		chunk(i, farm1, 1)
	}
	mul := farm1 + z&0xff<<1
	w1 += uint64(len(s)-1) & 63
	v1 += w1
	w1 += v1
	chunk(len(s)-64, mul, 9)
	return farmPair(farmPair(v1, w1, mul)+farmShift(y)*farm0+z, farmPair(v2, w2, mul)+x, mul)
}
